r"""Marks beside symbols: `x_{<t}`, `W^{(2) \top}`, the bar of a value at a point, stars, sets and orders."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.latex.parse import parse_statement
from attention_core.derivation.latex.printer import to_latex


@pytest.mark.parametrize(
    ("formula", "read"),
    [
        (r"x_{<t} + x_{\le t}", r"x^{<}_{t} + x^{\le}_{t}"),
        (r"\mathbf{x_{<i}}", r"x^{<}_{i}"),
        (r"W^{(2)\top} v^{\text{post} \top}", r"W^{(2)}^\top v^{\text{post}}^\top"),
        (r"f'(x)\bigg|_{x = 0}", r"f' (x)|_{x = 0}"),
        (r"\left. g \right|_{t = 0}", r"g|_{t = 0}"),
        (r"\pi_\star + \pi^\star + \pi_{\star}", r"\pi_{*} + \pi^{*} + \pi_{*}"),
        (r"P(A \cup B \cap C)", r"P (A \cup B \cap C)"),
        (r"f_\bullet + a \oslash b", r"f_{\bullet} + a \oslash b"),
        (r"p(y \succ z \mid x)", r"p (y \succ z \mid x)"),
        (r"a^\top [W h \| W k]", r"a^\top [W h \parallel W k]"),
        (r"\|_{k=1}^{K} s_k", r"\concat_{k = 1}^{K} s_{k}"),
        (r"P(&x_1 \leq X)", r"P (x_{1} \le X)"),
        (r"\left\{ f : X \to Y \mid w > 0 \right\}", r"\{f : X \to Y \mid w > 0\}"),
        (r"\{|a|, |b|\}", r"\{|a|,|b|\}"),
        (r"\frac{\partial L}{\partial (B A)}", r"\nabla_{(B A)} L"),
        (r"\sum_{i, j \in \{1, 2\}} a", r"\sum_{i \in \{1,2\}, j \in \{1,2\}} a"),
        (r"\sum_{\substack{i < n \\ j < m}} a", r"\sum_{i < n, j < m} a"),
    ],
)
def test_the_formula_is_read(formula: str, read: str) -> None:
    assert to_latex(parse_statement(formula).chains[0]) == read


def test_a_value_at_a_point_is_not_the_function() -> None:
    text = "Let $x \\in \\mathbb{R}$.\n\n$$ 2 \\frac{\\partial}{\\partial x} x^2 \\big|_{x = 3} = 4 x $$\n"
    (step,) = check_document(text, infer=True).steps
    assert step.verdict == "UNDECIDED", step.evidence.text
    (step,) = check_document("$$ 1 + x y|_{x = 0} = y|_{x = 0} x + 1 $$\n", infer=True).steps
    assert step.verdict == "UNDECIDED", step.evidence.text  # the bar may stand behind the product


@pytest.mark.parametrize("sign", [r"\preceq", r"\succ", r"\subseteq", r"\lesssim"])
def test_orders_of_matrices_and_sets_are_read_and_not_decided(sign: str) -> None:
    head = "Let $n \\in \\mathbb{N}$ and $A, B \\in \\mathbb{R}^{n \\times n}$.\n\n"
    (step,) = check_document(f"{head}$$ A {sign} B $$\n").steps
    assert step.verdict == "UNDECIDED" and sign in step.evidence.text
    steps = check_document(f"$$ u = W v $$\n\n$$ A {sign} B $$\n", infer=True).steps
    assert all("internal" not in one.evidence.text for one in steps)
