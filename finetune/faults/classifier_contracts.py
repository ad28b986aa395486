"""Rows of the contracts `masked-lm` and `classifier`: faults of maskings and of classifiers, and correct ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attention_core.faults.row import Row, row
from finetune.faults import classifiers, masked_lm
from finetune.faults.bases import classifiers as right_classifiers

DECLARED: Mapping[str, Mapping[Any, dict[str, Any]]] = {
    "masked-lm": masked_lm.DECLARED,
    "classifier": classifiers.DECLARED,
}
"""What some of them declare with `--parameter`, by contract."""


def of(target: Any, contract: str, *tags: str, expected: str = "refuted") -> Row:
    """A row of a class or function that is the target itself."""
    declared = DECLARED[contract].get(target, {})
    return row(target, *tags, direct=True, expected=expected, contract=contract, parameters=declared)


ROWS: tuple[Row, ...] = (
    *(of(made, "masked-lm", "law") for made in masked_lm.FAULTY),
    *(of(made, "classifier", "law") for made in classifiers.FAULTY),
)
CORRECT: tuple[Row, ...] = (
    *(of(made, "masked-lm", "odd", expected="conforms") for made in masked_lm.CORRECT),
    *(of(made, "classifier", "odd", expected="conforms") for made in right_classifiers.CORRECT),
)
