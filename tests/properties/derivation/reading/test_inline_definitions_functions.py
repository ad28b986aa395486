"""Functions and sums that sentences define: no declaration reads them, or a definition beside them uses them."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.records import GOOD


@pytest.mark.parametrize(
    ("words", "right", "wrong"),
    [
        (r"Let $x \in \mathbb{R}^n$. The gradient is the softmax, $p_i = e^{x_i}/\sum_{j=1}^n e^{x_j}$:",
         r"\sum_{i=1}^n p_i = 1", r"\sum_{i=1}^n p_i = n"),
        (r"Let $\sigma(z) = \frac{1}{1 + e^{-z}}$ be the logistic sigmoid and $\operatorname{silu}(z) = z\,\sigma(z)$. For a "
         r"real number $z$:", r"\operatorname{silu}'(z) = \sigma(z) (1 + z (1 - \sigma(z)))", r"\operatorname{silu}'(z) = \sigma(z)"),
        (r"Let $x, h \in \mathbb{R}^n$. For the function $f(x) = x^\top A x$ with $A \in \mathbb{R}^{n \times n}$,",
         r"Df(x)[h] = x^\top (A + A^\top) h", r"Df(x)[h] = x^\top A h"),
        (r"Let $x \in \mathbb{R}^d$, $m(x) = \frac1d\sum_{i=1}^d x_i$ and $s(x) = \sqrt{\frac1d\sum_{i=1}^d (x_i - m(x))^2}$. "
         r"The total derivatives along $h\in\mathbb{R}^d$ are", r"ds(x)h = \frac{1}{d\,s(x)}\sum_{i=1}^d (x_i - m(x)) h_i",
         r"ds(x)h = \frac{1}{s(x)}\sum_{i=1}^d (x_i - m(x)) h_i"),
        (r"Let $X \in \mathbb{R}^{n \times d}$ and $W_Q, W_V \in \mathbb{R}^{d \times k}$. Set $Q = XW_Q$ and $V = XW_V$.",
         r"Q^\top V = W_Q^\top X^\top X W_V", r"Q^\top V = W_V^\top X^\top X W_Q"),
        (r"Let $z \in \mathbb{R}^m$ and $\delta \in \mathbb{R}^m$.", r"\frac{\partial z_i}{\partial z_j} = \delta_{ij}",
         r"\frac{\partial z_i}{\partial z_j} = 2 \delta_{ij}"),
    ],
)  # fmt: skip
def test_what_a_sentence_defines(words: str, right: str, wrong: str) -> None:
    for step, good in ((right, True), (wrong, False)):
        found = check_document(f"{words}\n\n$$ {step} $$\n", infer=True).steps[-1]
        assert (found.verdict in GOOD) is good, (step, found.evidence.text)
