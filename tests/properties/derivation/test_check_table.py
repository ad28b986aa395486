"""A table of false and true relations.

No false relation of the table is accepted, and no true one refuted; the table was written before the search was read.
"""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from tests.properties.derivation_table import FALSE, OPEN, TRUE


def verdict(declared: str, display: str) -> tuple[str, str]:
    (step, *_) = check_document(f"{declared}\n\n$$ {display} $$\n").steps
    return str(step.verdict), step.evidence.text


@pytest.mark.usefixtures("searched")
@pytest.mark.parametrize(("kind", "declared", "display"), FALSE)
def test_a_false_relation_is_refuted(kind: str, declared: str, display: str) -> None:
    found, said = verdict(declared, display)
    assert found == "REFUTED", f"{kind}: {said}"


@pytest.mark.usefixtures("searched")
@pytest.mark.thorough(leave_out=("n2-*2^k*", "growth-*sqrt{k}*"))
@pytest.mark.parametrize(("kind", "declared", "display"), TRUE)
def test_a_true_relation_is_accepted(kind: str, declared: str, display: str) -> None:
    found, said = verdict(declared, display)
    assert found in ("PROVED", "EXACT", "AGREES"), f"{kind}: {said}"


@pytest.mark.parametrize(("kind", "declared", "display"), OPEN)
def test_what_is_not_read_is_neither(kind: str, declared: str, display: str) -> None:
    found, said = verdict(declared, display)
    assert found in ("UNREADABLE", "UNDECIDED"), f"{kind}: {said}"
    assert "internal error" not in said
