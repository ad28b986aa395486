"""`Put $f(t) := ...$`.

Functions that a document defines are put in where they are applied, with their own indices and shapes.
Every true statement stands beside a false one.
"""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.effort import Effort
from attention_core.derivation.elaborate.expressions import Elaborator
from attention_core.derivation.elaborate.functions import slope_at
from attention_core.derivation.latex.syntax import Name, Unreadable
from attention_core.derivation.terms.context import Context

LIGHT = Effort(small=4, tuples=1, large=2, altered=40, seconds=120)
HEAD = (
    "Let $n \\in \\mathbb{N}$, $x, y \\in \\mathbb{R}^{n}$ and $a, b \\in \\mathbb{R}$. Put $\\sigma(t) := \\frac{1}{1 + e^{-t}}$, "
    "$f(z) := \\log \\sum_{i=1}^n e^{z_i}$, $g(u, v) := \\sum_{i=1}^{n} u_i v_i$, $h(x) = \\frac{1}{2} \\|x\\|^2$ and "
    "$R(t) := \\begin{bmatrix} \\cos t & -\\sin t \\\\ \\sin t & \\cos t \\end{bmatrix}$.\n\n"
)


def verdict(formula: str, head: str = HEAD) -> tuple[str, str]:
    (step,) = check_document(f"{head}$$ {formula} $$\n", effort=LIGHT).steps
    return str(step.verdict), step.evidence.text


@pytest.mark.parametrize(
    ("true", "false"),
    [
        (r"\sigma(-a) = 1 - \sigma(a)", r"\sigma(-a) = \sigma(a) - 1"),
        (r"\sigma(2 a)^2 \le \sigma(2 a)", r"\sigma(2 a)^2 \ge \sigma(2 a)"),
        (r"\frac{d}{d a} \sigma(a) = \sigma(a) (1 - \sigma(a))", r"\frac{d}{d a} \sigma(a) = \sigma(a) (1 + \sigma(a))"),
        (r"\nabla_x f(x) = \operatorname{softmax}(x)", r"\nabla_x f(x) = \operatorname{softmax}(-x)"),
        (r"f(x + a \mathbf{1}_n) = f(x) + a", r"f(x + a \mathbf{1}_n) = f(x) + n a"),
        (r"R(a)^\top R(b) = R(b - a)", r"R(a)^\top R(b) = R(a - b)"),
        (r"R(a)_{2,1} = \sin a", r"R(a)_{1,2} = \sin a"),
        (r"\nabla_x h = x", r"\nabla_x h = 2 x"),
        (r"h(2 y) = 4 h(y)", r"h(2 y) = 2 h(y)"),
        # an index bound in the body does not catch one in the argument
        (r"\sum_{i=1}^n g(x_i y, x) = \left( \sum_{i=1}^n x_i \right) y^\top x", r"\sum_{i=1}^n g(x_i y, x) = (x^\top x) \sum_i y_i"),
        (r"g(x, g(x, y) y) = g(x, y)^2", r"g(x, g(x, y) y) = g(x, y) g(y, y)"),
    ],
)  # fmt: skip
def test_a_function_is_its_body_at_the_arguments(true: str, false: str) -> None:
    good, words = verdict(true)
    assert good in ("PROVED", "EXACT", "AGREES"), words
    assert verdict(false)[0] == "REFUTED"


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        ("f(x, y) = 1", "was defined with 1 arguments"),
        ("g(x) = 1", "was defined with 2 arguments"),
        (r"\sigma = 1", r"\sigma is a function: write \sigma(t)"),
        (r"q(x) = 1", "q is not declared"),
    ],
)
def test_a_function_needs_its_arguments(formula: str, words: str) -> None:
    found, text = verdict(formula)
    assert found == "UNREADABLE" and words in text


@pytest.mark.parametrize(
    ("paragraph", "words"),
    [
        ("Put $k(t) := k(t) + 1$.", "k is defined by itself"),
        ("Put $k(t) := x$.", "the argument t does not occur"),
    ],
)
def test_what_defines_no_function_says_so(paragraph: str, words: str) -> None:
    (first, *_) = check_document(f"{HEAD}{paragraph}\n\n$$ a = a $$\n").steps
    assert first.verdict == "UNREADABLE" and words in first.evidence.text


def test_functions_that_double_their_arguments_end() -> None:
    for body in ("t + t", "\\sum_{i=1}^{n} (t + t)"):
        head = f"Let $n \\in \\mathbb{{N}}$ and $x \\in \\mathbb{{R}}$. Put $f(t) := {body}$.\n\n"
        found, words = verdict("f(" * 24 + "x" + ")" * 24 + " = x", head)
        assert found == "UNREADABLE" and "applied more than" in words


def test_restating_what_the_body_mentions_drops_the_function() -> None:
    head = "Let $c \\in \\mathbb{R}$. Put $f(t) := c t$.\n\nLet $c \\in \\mathbb{R}$ and $x \\in \\mathbb{R}$.\n\n"
    found, words = verdict("f(x) = c x", head)
    assert found == "UNREADABLE" and "restates c" in words


def test_a_square_that_is_defined_defines_its_root() -> None:
    head = "Let $x \\in \\mathbb{R}$ and $\\epsilon > 0$. Put $\\sigma^2 := x^2 + \\epsilon$.\n\n"
    assert verdict(r"\sigma^2 = x^2 + \epsilon", head)[0] == "PROVED"
    assert verdict(r"\sigma = \sqrt{x^2 + \epsilon}", head)[0] == "PROVED"
    assert verdict(r"\sigma = x^2 + \epsilon", head)[0] == "REFUTED"


@pytest.mark.parametrize(
    "formula",
    [
        r"(f \circ g)(x) = 2 x^2 (x + 1)", r"f^{-1}(x) = \frac{x}{x + 1}", r"f^2(x) = x (x + 1)^2",
        r"(f + f)(x) = 2 x (x + 1)", r"f g(x) = 2 x (x + 1)", r"f \circ g = 2 x (x + 1)",
    ],
)  # fmt: skip
def test_a_function_beside_brackets_is_not_a_factor(formula: str) -> None:
    head = "Let $f(x) := x + 1$, $g(x) := 2 x$ and $x \\in \\mathbb{R}$.\n\n"
    found, words = verdict(formula, head)
    assert found == "UNREADABLE" and "without its argument" in words, words
    assert verdict("2 f (x + 1) = 2 (x + 2)", head)[0] == "PROVED"


def test_the_slope_of_what_is_not_a_function_is_refused() -> None:
    with pytest.raises(Unreadable, match=r"y is not a function here: define it, as in 'Put \$y\(t\) := ...\$'"):
        slope_at(Elaborator(Context(), line=1), 1, Name("y"), Name("t"))
