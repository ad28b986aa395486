"""Functions of a number that are applied entry by entry, where a document says so, and their slopes."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.records import GOOD, Verdict

HEAD = (
    r"Let $x \in \mathbb{R}^n$, $Z \in \mathbb{R}^{n \times m}$ and $W \in \mathbb{R}^{m \times n}$. "
    r"Put $s(t) := \frac{1}{1 + e^{-t}}$, applied element-wise. Put $z := W x$ and $a := s(z)$. "
    "All hypotheses are declared as formulas."
)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (r"a_i = s(z_i)", r"a_i = s(z_i)^2"),
        (r"\frac{\partial a}{\partial z} = \operatorname{diag}(a \odot (1 - a))",
         r"\frac{\partial a}{\partial z} = \operatorname{diag}(a \odot (1 - z))"),
        (r"s'(z) = a \odot (1 - a)", r"s'(z) = a"),
        (r"\frac{\partial a}{\partial x} = \operatorname{diag}(s'(z)) W", r"\frac{\partial a}{\partial x} = \operatorname{diag}(a) W"),
        (r"s(Z)_{ij} = s(Z_{ij})", r"s(Z)_{ij} = s(Z_{11})"),
    ],
)  # fmt: skip
def test_activations(right: str, wrong: str) -> None:
    for step, good in ((right, True), (wrong, False)):
        found = check_document(f"{HEAD}\n\n$$ {step} $$\n", infer=True).steps[-1]
        assert (found.verdict in GOOD) is good, (step, found.evidence.text)


def test_without_the_words_a_function_of_a_number_has_no_value_at_a_vector() -> None:
    text = HEAD.replace(", applied element-wise", "") + "\n\n$$ s(x)_i = s(x_i) $$\n"
    assert check_document(text, infer=True).steps[-1].verdict not in GOOD


def test_any_differentiable_function() -> None:
    head = (
        r"Let $x \in \mathbb{R}^d$, $W_1 \in \mathbb{R}^{m \times d}$ and $W_2 \in \mathbb{R}^{d \times m}$, and let $f$ be "
        r"a differentiable function applied element-wise. Put $a = W_1 x$, $h = f(a)$ and $y = W_2 h$. Let $L$ be a scalar "
        r"function of $y$ and $\delta_2 = \frac{\partial L}{\partial y}$."
    )
    for step, good in ((r"f'(a) \odot (W_2^\top \delta_2)", True), (r"f(a) \odot (W_2^\top \delta_2)", False)):
        (found,) = check_document(f"{head}\n\n$$ \\frac{{\\partial L}}{{\\partial a}} = {step} $$\n", infer=True).steps
        assert (found.verdict in GOOD) is good, found.evidence.text
        assert good or found.verdict in (Verdict.REFUTED, Verdict.UNDECIDED)
