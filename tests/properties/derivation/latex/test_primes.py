r"""Derivatives of known functions that a prime says, `\tanh'(x)`, and powers of functions of arrays."""

from __future__ import annotations

import pytest

from attention_core.derivation.check import check_document
from attention_core.derivation.latex.parse import parse_expression
from attention_core.derivation.latex.printer import to_latex
from attention_core.derivation.records import GOOD

DECLARED = r"Let $m, n \in \mathbb{N}$, $x \in \mathbb{R}$ with $x > 0$, $W \in \mathbb{R}^{m \times n}$ and $v \in \mathbb{R}^n$."


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (r"\tanh'(x) = 1 - \tanh^2(x)", r"\tanh'(x) = 1 + \tanh^2(x)"),
        (r"\mathrm{ReLU}'(x) = 1", r"\mathrm{ReLU}'(x) = 0"),
        (r"\sin''(x) = -\sin(x)", r"\sin''(x) = \sin(x)"),
        (r"\cos^{\prime}(x) = -\sin(x)", r"\cos^{\prime}(x) = \sin(x)"),
        (r"\log'(x)^2 = 1/x^2", r"\log'(x)^2 = 1/x"),
        (
            r"\frac{\partial}{\partial x} \exp(3 x) = 3 \exp'(3 x)",
            r"\frac{\partial}{\partial x} \exp(3 x) = \exp'(3 x)",
        ),
        (r"\tanh'(W v)_i = 1 - \tanh(W v)_i^2 \text{ for } i = 1, \dots, m", r"\tanh'(W v)_1 = 1 - \tanh(W v)_1"),
        (r"\tanh^2(W v) = \tanh(W v) \odot \tanh(W v)", r"\tanh^2(W v) = \tanh(W v)"),
    ],
)
def test_derivatives_of_known_functions(right: str, wrong: str) -> None:
    found = [check_document(f"{DECLARED}\n\n$$ {one} $$\n").steps[-1] for one in (right, wrong)]
    assert found[0].verdict in GOOD, found[0].evidence.text
    assert str(found[1].verdict) == "REFUTED", found[1].evidence.text


def test_a_derivative_is_written_as_it_was() -> None:
    assert to_latex(parse_expression(r"\sin''(2 x)", 1)) == r"\sin''(2 x)"


@pytest.mark.parametrize("formula", [r"\max'(x) = 1", r"\tanh'(x, 2) = 1", r"\log_2'(x) = 1"])
def test_what_is_no_derivative_of_one_number_is_refused(formula: str) -> None:
    assert str(check_document(f"{DECLARED}\n\n$$ {formula} $$\n").steps[-1].verdict) == "UNREADABLE"


def test_a_prime_without_a_name_is_reported() -> None:
    for formula in ("'", "'a = b", "''' = 1", "= ' b", "{'} = a"):
        report = check_document(f"Some $'$ here, and ${formula}$.\n\n$$ {formula} $$\n\n$$ a = a $$\n", infer=True)
        assert str(report.steps[-1].verdict) in ("PROVED", "EXACT")


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (r"\operatorname{lse}_j(x_j + c) = \operatorname{lse}_j(x_j) + c",
         r"\operatorname{lse}_j(x_j + c) = \operatorname{lse}_j(x_j) - c"),
        (r"\mathrm{lse}_{j} x_j = \log \sum_{j=1}^n e^{x_j}", r"\mathrm{lse}_{j} x_j = \sum_{j=1}^n e^{x_j}"),
        (r"\operatorname{lse}_{j=1}^n x_j = \operatorname{lse}(x)", r"\operatorname{lse}_{j=1}^n x_j = \max(x)"),
        (r"\operatorname{softmax}(S)_{ij} = e^{S_{ij} - \operatorname{logsumexp}_k(S_{ik})}",
         r"\operatorname{softmax}(S)_{ij} = e^{S_{ij} + \operatorname{logsumexp}_k(S_{ik})}"),
    ],
)  # fmt: skip
def test_a_logsumexp_over_an_index_is_a_sum_over_it(right: str, wrong: str) -> None:
    head = r"Let $x \in \mathbb{R}^n$, $c \in \mathbb{R}$ and $S \in \mathbb{R}^{n \times n}$."
    found = [check_document(f"{head}\n\n$$ {one} $$\n", infer=True).steps[-1] for one in (right, wrong)]
    assert found[0].verdict in GOOD, found[0].evidence.text
    assert str(found[1].verdict) == "REFUTED", found[1].evidence.text


def test_another_subscript_of_a_logsumexp_is_not_an_index() -> None:
    text = (
        "Let $x \\in \\mathbb{R}^n$ and $\\beta > 0$.\n\n$$ \\operatorname{lse}_\\beta(x) = \\operatorname{lse}(x) $$\n"
    )
    assert str(check_document(text, infer=True).steps[-1].verdict) not in {"PROVED", "EXACT", "AGREES", "REFUTED"}
