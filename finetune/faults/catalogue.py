"""The whole table of the catalogue: attention's rows, then those of the contracts that `finetune` adds."""

from __future__ import annotations

from attention_core.faults import catalogue
from attention_core.faults.row import Row
from finetune.faults import classifier_contracts, finetune_contracts

FAULTS: tuple[Row, ...] = (
    *catalogue.FAULTS, *finetune_contracts.ROWS, *classifier_contracts.ROWS,
)  # fmt: skip
CORRECT: tuple[Row, ...] = (
    *catalogue.CORRECT, *finetune_contracts.CORRECT, *classifier_contracts.CORRECT,
)  # fmt: skip


def named(name: str) -> Row:
    """The row of a name.

    Raises: KeyError for an unknown one.
    """
    return {row.name: row for row in FAULTS}[name]
