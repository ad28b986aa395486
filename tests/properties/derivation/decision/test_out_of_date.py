"""attention_core.derivation.decision.out_of_date: a display may give a symbol a new value."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document

FIRST = "The first vector is\n\n$$ v_1 = \\begin{pmatrix} 1 \\\\ -1 \\end{pmatrix} $$\n\n"
STEP = "The axes are\n\n$$ %s c v_1 = c \\begin{pmatrix} 2 \\\\ -1 \\end{pmatrix} $$\n"


def check(between: str, promise: str = "") -> str:
    return str(check_document(f"{promise}{FIRST}{between}{STEP % ''}", infer=True).steps[-1].verdict)


@pytest.mark.parametrize(
    ("between", "verdict"),
    [
        ("", "REFUTED"),
        ("They are found to be\n\n$$ v_1 = \\begin{pmatrix} 2 \\\\ -1 \\end{pmatrix} $$\n\n", "UNDECIDED"),
        ("As above,\n\n$$ v_1 = \\begin{pmatrix} 1 \\\\ -1 \\end{pmatrix} $$\n\n", "REFUTED"),  # the same value
        ("They are found to be\n\n$$ v_2 = \\begin{pmatrix} 2 \\\\ -1 \\end{pmatrix} $$\n\n", "REFUTED"),
    ],
)
def test_a_value_that_another_display_may_have_replaced_refutes_nothing(between: str, verdict: str) -> None:
    assert check(between) == verdict


def test_no_likely_slip_rests_on_a_value_that_may_be_old() -> None:
    between = "They are found to be\n\n$$ v_1 = \\begin{pmatrix} 2 \\\\ -1 \\end{pmatrix} $$\n\n"
    step = check_document(f"{FIRST}{between}{STEP % ''}", infer=True).steps[-1]
    assert not step.likely_slip and str(step.verdict) == "UNDECIDED"
