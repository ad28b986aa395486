"""Complete TeX files: what stands outside of the body is no prose, unless it may change what a step says."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.document.macros import without_preamble
from attention_core.derivation.records import Verdict

HEAD = r"Let $n \in \mathbb{N}$, $s, t \in \mathbb{R}^n$ and $a \in \mathbb{R}$."
FALSE = r"$$ \operatorname{softmax}(s)_1 = \frac{1}{n} $$"


def tex(preamble: str, *body: str) -> str:
    lines = (r"\documentclass{article}", preamble, r"\begin{document}", r"\maketitle", *body, r"\end{document}")
    return "\n\n".join(lines) + "\n"


def test_a_preamble_is_no_prose() -> None:
    plain = "\\usepackage[a4paper]{geometry}\n\\newtheorem{lemma}{Lemma}\n\\DeclareMathOperator{\\softmax}{softmax}"
    (step,) = check_document(tex(plain, r"\section{Norm}", HEAD, FALSE)).steps
    assert step.verdict is Verdict.REFUTED and step.line == 15


@pytest.mark.parametrize(
    "preamble", [r"\title{Tied scores}", r"\newcommand{\operatorname}[1]{tied}", r"\input{assumptions}"]
)
def test_a_preamble_may_still_say_something(preamble: str) -> None:
    assert check_document(tex(preamble, r"\section{Norm}", HEAD, FALSE)).steps[0].verdict is Verdict.UNDECIDED


def test_a_file_without_a_body_stays_as_it_is() -> None:
    text = "\\section{Norm}\n% \\begin{document}\nLet $x > 0$.\n"
    assert without_preamble(text) == text


def test_words_of_the_body_still_count() -> None:
    body = (r"\section{Norm}", HEAD, r"\marginpar{tied scores}", FALSE)
    assert check_document(tex("", *body)).steps[0].verdict is Verdict.UNDECIDED
