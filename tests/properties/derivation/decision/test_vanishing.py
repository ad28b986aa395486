"""A hypothesis by which both sides vanish makes no factor good, whatever words mention it."""

from __future__ import annotations

from attention_core.derivation import check_document
from attention_core.derivation.check import document_steps
from attention_core.derivation.decision.vanishing import double_right
from attention_core.derivation.latex.printer import to_latex
from attention_core.derivation.reading.step import Step


def test_skew_matrices_excuse_no_factor_of_a_symmetric_part() -> None:
    wrong = r"2 (S + S^\top) x = 3 (S^\top x + S x)"
    for words in ("The skew-symmetric part is another matter.", "The frobs are another matter."):
        text = f"{words}\n\nSome words.\n\nMore words.\n\nNow we find\n\n$$ {wrong} $$\n"
        assert check_document(text, infer=True).steps[-1].verdict == "REFUTED"


def test_twice_the_right_side() -> None:
    (step,) = document_steps("$$ 2 x + z = x + z + x $$\n", infer=True)[1]
    assert isinstance(step, Step)
    doubled = double_right(step)
    assert (to_latex(doubled.left), to_latex(doubled.right)) == ("2 x + z", "2 (x + z + x)")
