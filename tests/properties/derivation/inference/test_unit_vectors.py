r"""`e_1` and `e_i` that nothing declares are the standard basis vectors, where a formula makes them vectors."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.effort import Effort
from attention_core.derivation.records import GOOD, StepReport, Verdict

HEAD = r"""Let $n \in \mathbb{N}$, $x, z \in \mathbb{R}^n$, $A \in \mathbb{R}^{n \times n}$, $y \in \{1, \dots, n\}$ and
$p = \operatorname{softmax}(z)$."""


def step_of(step: str, head: str = HEAD) -> StepReport:
    return check_document(f"{head}\n\n$$ {step} $$\n", effort=Effort(seconds=4.0), infer=True).steps[-1]


RIGHT_AND_WRONG = [
    (r"\nabla_z \log p_1 = e_1 - p", r"\nabla_z \log p_1 = p - e_1"),
    (r"\nabla_z \log p_y = e_y - p", r"\nabla_z \log p_y = e_y + p"),
    (r"\sum_{i=1}^n x_i e_i = x", r"\sum_{i=1}^n x_i e_i = 2 x"),
    (r"e_i^\top x = x_i", r"e_i^\top x = 2 x_i"),
    (r"\mathbf{e}_j^\top A \mathbf{e}_j = A_{jj}", r"\mathbf{e}_j^\top A \mathbf{e}_j = 2 A_{jj}"),
]


@pytest.mark.parametrize(("right", "wrong"), RIGHT_AND_WRONG, ids=[right for right, _ in RIGHT_AND_WRONG])
def test_they_are_the_standard_basis(right: str, wrong: str) -> None:
    step = step_of(right)
    assert step.verdict in GOOD
    assert "unit vector" in step.evidence.text
    assert step_of(wrong).verdict is Verdict.REFUTED  # one change away from what holds


def test_they_are_read_where_all_else_is_known() -> None:
    """The index is known from the display above, so nothing but the unit vector is missing."""
    text = f"{HEAD}\n\n$$ x_i = x_i $$\n\n$$ e_i^\\top x = x_i $$\n"
    assert check_document(text, effort=Effort(seconds=4.0), infer=True).steps[-1].verdict in GOOD


def test_they_are_certain_where_the_document_says_so() -> None:
    head = f"{HEAD} We write $e_i$ for the $i$-th standard basis vector and $\\mathbf{{1}}$ for the vector of ones."
    assert step_of(r"e_1^\top x = x_1", head).verdict in GOOD
    assert step_of(r"e_1^\top x = 2 x_1", head).verdict is Verdict.REFUTED


def test_a_declaration_takes_precedence() -> None:
    head = f"{HEAD} Let $e_1 \\in \\mathbb{{R}}^n$."
    assert step_of(r"e_1^\top x = x_1", head).verdict is Verdict.REFUTED


def test_a_formula_that_says_what_they_are_takes_precedence() -> None:
    text = f"{HEAD}\n\n$$ e_i = x - i z $$\n\n$$ e_i^\\top x = x_i $$\n"
    found = check_document(text, effort=Effort(seconds=4.0), infer=True).steps
    assert found[-1].verdict not in GOOD
