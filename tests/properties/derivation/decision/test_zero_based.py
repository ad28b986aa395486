"""Entries that a document counts from 0: a step has a verdict only if both readings agree."""

from __future__ import annotations

import pytest

from attention_core.derivation.check import check_document, document_steps
from attention_core.derivation.decision.zero_based import count_from_zero
from attention_core.derivation.latex.printer import to_latex
from attention_core.derivation.reading.step import Step

W = "Let $W = \\begin{pmatrix} 1 & 2 \\\\ 3 & 4 \\end{pmatrix}$ and $v = \\begin{pmatrix} 5 \\\\ 6 \\end{pmatrix}$."
FROM_ZERO = [
    "The states are $0$ and $1$.",
    "The states of the chain are $\\{0, 1\\}$.",
    "Rows and columns are counted from zero.",
    "Indices start at $0$.",
    "We use zero-based indices.",
]


def read(text: str) -> Step:
    step = document_steps(text, infer=True)[1][-1]
    assert isinstance(step, Step)
    return step


@pytest.mark.parametrize("words", FROM_ZERO)
@pytest.mark.parametrize("as_read", [False, True])
def test_what_holds_in_one_way_to_count_is_ambiguous(words: str, as_read: bool) -> None:
    for formula, verdict in (("W_{11} = 4", "AMBIGUOUS"), ("W_{11} = 1", "AMBIGUOUS"), ("v_1 = 6", "AMBIGUOUS")):
        step = check_document(f"{W} {words}\n\n$$ {formula} $$\n", infer=True, as_read=as_read).steps[-1]
        assert str(step.verdict) == verdict and "counted from 0" in step.evidence.text, step.evidence.text
    step = check_document(f"{W} {words}\n\n$$ W_{{11}} = 7 $$\n", as_read=True).steps[-1]
    assert str(step.verdict) == "REFUTED"


def test_elsewhere_they_count_from_one() -> None:
    for words in ("The states are healthy and sick.", "The count is small.", "There are $10$ and $1$ of them."):
        assert str(check_document(f"{W} {words}\n\n$$ W_{{11}} = 1 $$\n", infer=True).steps[-1].verdict) == "PROVED"
        assert count_from_zero(read(f"{W} {words}\n\n$$ W_{{11}} = 1 $$\n")) is None


def test_numerals_below_arrays_alone_are_shifted() -> None:
    text = f"{W} Let $u_1, \\dots, u_3 \\in \\mathbb{{R}}$. {FROM_ZERO[0]}\n\n$$ W_{{1,2}} v_1 + u_1 = 2 x_1 $$\n"
    words, step = count_from_zero(read(text)) or ("", read(text))
    assert "line 1" in words and (to_latex(step.left), to_latex(step.right)) == ("W_{2,3} v_{2} + u_{1}", "2 x_{1}")


@pytest.mark.parametrize(
    ("more", "formula"),
    [
        ("Let $x, x_1, x_2 \\in \\mathbb{R}^2$ with $x_1 = x$.", r"x_1^\top x = x^\top x"),  # names of their own
        (
            "Let $c \\in \\mathbb{R}$. Put $y_i := i c$ for $i \\in \\{1, 2\\}$.",
            "y_1 + y_2 = 3 c",
        ),  # of all that i may be
        ("Let $c \\in \\mathbb{R}$.", "c + c = 2 c"),
    ],
)
def test_what_is_no_entry_is_not_shifted(more: str, formula: str) -> None:
    text = f"{FROM_ZERO[-1]}\n\n{more}\n\n$$ {formula} $$\n"
    assert count_from_zero(read(text)) is None
