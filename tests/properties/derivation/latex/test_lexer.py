"""Arguments with and without braces.

What LaTeX means by an argument without braces: one character. Inside braces a number keeps all its digits.
The readings are seen through the values of closed formulas.
"""

from __future__ import annotations

import string
from contextlib import suppress
from itertools import product

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.latex.lexer import tokenize
from attention_core.derivation.latex.parse import parse_statement
from attention_core.derivation.latex.syntax import Unreadable


@pytest.mark.parametrize(
    "formula",
    [
        r"\frac{25}{30} = 0.8333 + \frac{1}{30000}", r"\frac12 = 0.5", r"\frac{1}23 = 1.5", r"\frac{24}23 = 36",
        r"\frac{\frac{24}{12}}{10} = 0.2", r"\sqrt{16} = 4", r"\sqrt16 = 6", r"2^{10} = 1024", r"2^10 = 0",
        r"\frac{\sqrt{49}}{14} = \frac{10 + 15}{50}", r"\frac{0.25}{12} = \frac{1}{48}",
    ],
)  # fmt: skip
def test_a_number_in_braces_keeps_its_digits_and_one_without_gives_the_first(formula: str) -> None:
    (step,) = check_document(f"$$ {formula} $$\n").steps
    assert step.passed, step.evidence.text
    left, _, right = formula.partition("=")
    (wrong,) = check_document(f"$$ {left} = {right} + 1 $$\n").steps
    assert wrong.verdict == "REFUTED"


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        (
            r"2 \begin{bmatrix} 1 \\%[0.5em]" + "\n" + r" 2 \end{bmatrix} = [2; 4]",
            r"2 \begin{bmatrix} 1 \\ 2 \end{bmatrix} = [2; 4]",
        ),
        (r"{a \over b + 1} = c", r"\frac{a}{b + 1} = c"),
        (r"f_* + f_{*} = 2 f_*", r"g + g = 2 g"),
        (r"\mathop{\rm arg\,min}\limits_{c} g(c) = c", r"\operatorname{argmin}_{c} g(c) = c"),
    ],
)
def test_what_others_write_is_read_as_what_it_means(written: str, plain: str) -> None:
    found, expected = (check_document(f"$$ {one} $$\n", infer=True) for one in (written, plain))
    assert [str(step.verdict) for step in found.steps] == [str(step.verdict) for step in expected.steps]
    assert not any(step.verdict == "UNREADABLE" and step.text for step in found.steps)


@pytest.mark.parametrize(
    ("declared", "formula", "verdict"),
    [
        (r"a, b \in \mathbb{R}", r"\max \left\{ a, b \right\} \ge \min\{a, b\}", "AGREES"),
        (r"a \in \mathbb{R}_{\ge 0}", "|a| = a", "PROVED"),
        (r"a \in \mathbb{R}_{>0}", r"\frac{a}{a} = 1", "PROVED"),
        (r"a \in \mathbb{R}_{> 0}", r"a \ge 1", "REFUTED"),
        (r"a \in \mathbb{Z}_{\geq 1}", r"a \ge 1", "PROVED"),
    ],
)
def test_braces_of_a_maximum_and_half_lines(declared: str, formula: str, verdict: str) -> None:
    (step,) = check_document(f"Let ${declared}$.\n\n$$ {formula} $$\n").steps
    assert (step.verdict, step.text) == (verdict, formula), step.evidence.text  # the step is shown as it is written


STARTS = [*string.punctuation, "a", "1", " ", "\n", r"\tanh", r"\frac", r"\text{a}", r"\left(", r"\right)", r"\\", r"\sum", r"\not", r"\bar"]  # fmt: skip


def test_whatever_a_formula_starts_with_is_read_or_reported() -> None:
    for first, second in product(STARTS, repeat=2):
        with suppress(Unreadable):
            tokenize(first + second, 1)
        with suppress(Unreadable):
            parse_statement(first + second)
