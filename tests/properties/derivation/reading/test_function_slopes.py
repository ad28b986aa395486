r"""Derivatives of functions that a document defines, and matrices of second derivatives."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.effort import Effort
from attention_core.derivation.records import GOOD, StepReport, Verdict

HEAD = r"""Let $n \in \mathbb{N}$, $z, y \in \mathbb{R}^n$, $A \in \mathbb{R}^{n \times n}$ with $A = A^\top$, and $t, u \in \mathbb{R}$.
Put $f(x) := \frac12 x^\top A x - y^\top x$, $\sigma(s) := \frac{1}{1 + e^{-s}}$ and $g(s) := u s^2$. Let $p = \operatorname{softmax}(z)$.
All hypotheses are declared as formulas."""
LSE = r"\log \sum_{i=1}^n e^{z_i}"


def step_of(step: str) -> StepReport:
    return check_document(f"{HEAD}\n\n$$ {step} $$\n", effort=Effort(seconds=5.0), infer=True).steps[-1]


RIGHT_AND_WRONG = [
    (r"\nabla f(z) = A z - y", r"\nabla f(z) = A z + y"),
    (
        r"\nabla f(y) = A y - y",
        r"\nabla f(y) = A y - 2 y",
    ),  # y is a symbol of f as well, and f is not differentiated by it
    (r"\nabla^2 f(z) = A", r"\nabla^2 f(z) = 2 A"),
    (r"D^2 f(z) = A", r"D^2 f(z) = A + A^\top"),
    (r"\sigma'(t) = \sigma(t) (1 - \sigma(t))", r"\sigma'(t) = \sigma(t) (1 + \sigma(t))"),
    (r"\sigma'(t)^2 = \sigma(t)^2 (1 - \sigma(t))^2", r"\sigma'(t)^2 = \sigma(t) (1 - \sigma(t))"),
    (r"\sigma''(-2 t) = \sigma'(-2 t) (1 - 2 \sigma(-2 t))", r"\sigma''(-2 t) = \sigma'(-2 t) (1 - 2 \sigma(2 t))"),
    (r"\sigma'(0) = \frac14", r"\sigma'(0) = \frac12"),
    (r"g'(u) = 2 u^2", r"g'(u) = 3 u^2"),  # u stands in g as well
    (
        rf"\nabla_z^2 {LSE} = \operatorname{{diag}}(p) - p p^\top",
        rf"\nabla_z^2 {LSE} = \operatorname{{diag}}(p) + p p^\top",
    ),
    (rf"\nabla^2_{{zz}} {LSE} = \operatorname{{diag}}(p) - p p^\top", rf"\nabla^2_{{zz}} {LSE} = p p^\top"),
    (r"\nabla_z \nabla_z^\top (z^\top A z) = 2 A", r"\nabla_z \nabla_z^\top (z^\top A z) = A"),
]


@pytest.mark.parametrize(("right", "wrong"), RIGHT_AND_WRONG, ids=[right[:24] for right, _ in RIGHT_AND_WRONG])
def test_derivatives_are_decided(right: str, wrong: str) -> None:
    assert step_of(right).verdict in GOOD
    assert step_of(wrong).verdict is Verdict.REFUTED


@pytest.mark.parametrize("sign", [r"\nabla_{zy}^2", r"\nabla_z \nabla_y^\top", r"\nabla^2_{z y}"])
def test_rows_of_a_mixed_matrix_belong_to_the_first_variable(sign: str) -> None:
    head = r"Let $n, m \in \mathbb{N}$, $B \in \mathbb{R}^{n \times m}$, $z \in \mathbb{R}^n$ and $y \in \mathbb{R}^m$."
    texts = [f"{head}\n\n$$ {sign} (z^\\top B y) = {right} $$\n" for right in ("B", r"B^\top")]
    good, bad = (check_document(text, effort=Effort(seconds=3.0), infer=True).steps[-1].verdict for text in texts)
    assert good in GOOD
    assert bad not in GOOD


def test_a_laplacian_is_another_reading() -> None:
    step = step_of(r"\nabla_z^2 \|z\|^2 = 2 n")
    assert step.verdict is Verdict.AMBIGUOUS
    assert "Laplacian" in step.evidence.text


def test_a_defined_derivative_of_its_own_is_kept() -> None:
    text = r"Let $t \in \mathbb{R}$. Put $f(s) := s^2$ and $f'(s) := 3 s$." + "\n\n$$ f'(t) = 3 t $$\n"
    assert check_document(text, effort=Effort(seconds=3.0), infer=True).steps[-1].verdict in GOOD
