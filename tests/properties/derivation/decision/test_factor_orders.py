"""Undeclared letters that may not commute: no refutation by numbers alone, and no acceptance of an exchange."""

from __future__ import annotations

import pytest

from attention_core.derivation import StepReport, check_document
from attention_core.derivation.records import GOOD


def last(formula: str, above: str = "") -> StepReport:
    return check_document(f"{above}\n\n$$ {formula} $$\n", infer=True).steps[-1]


@pytest.mark.parametrize(
    "formula",
    [
        r"\mathcal{L}(x^2 y) = 2 x y \mathcal{L} x + x^2 \mathcal{L} y",  # a derivation
        r"X f^2 g = 2 f g X f + f^2 X g",  # a vector field
        r"\mathcal{D} u^2 v = 2 u v \mathcal{D} u + u^2 \mathcal{D} v",
        r"\hat{D} u^2 v = 2 u v \hat{D} u + u^2 \hat{D} v",
        r"\theta_1 \theta_2 - \theta_2 \theta_1 = 2 \theta_1 \theta_2",  # they anticommute
        r"\sigma_x \sigma_y - \sigma_y \sigma_x = 2 \sigma_x \sigma_y",
        r"u v - v u = 2 u v",
        r"(a + a^\dagger)^2 = a^2 + 2 a^\dagger a + (a^\dagger)^2 + 1",
        r"(a b)^2 = - a^2 b^2",
        r"c_i c_j + 2 c_j c_i = c_j c_i",
        r"a_1 a_2 (a_1 + a_2) = a_1 a_2 a_1 - a_2 a_1 a_2",
        r"\langle u, v \rangle - \langle v, u \rangle = 2 \langle u, v \rangle",  # a symplectic form
        r"\omega \times (\omega \times r) = \omega (\omega \cdot r) - \omega^2 r",  # the cross product
        r"a \times b - b \times a = 2 a \times b",
    ],
)
def test_a_step_that_keeps_orders_apart_is_not_refuted(formula: str) -> None:
    assert last(formula).verdict not in ("REFUTED", *GOOD)


@pytest.mark.parametrize(
    "formula",
    [
        r"(a + b)(a - b) = a^2 + b^2",
        r"x_1 (x_1 + x_2) = x_1^2 - x_1 x_2",
        r"\frac{u v - v u}{u v} = 2 - \frac{v}{u}",  # divided by: they are numbers
        r"u v \log u + v u \log v = 2 u v \log u - v u \log v + u v \log v",
    ],
)
def test_a_step_with_one_order_or_of_numbers_is_judged_as_one_of_numbers(formula: str) -> None:
    assert "do not commute" not in last(formula).evidence.text


def test_a_slip_with_one_order_is_refuted() -> None:
    assert last(r"(a + b)(a - b) = a^2 + b^2").verdict == "REFUTED"
    assert last(r"a b + \log a b = b a - \log a b").verdict == "UNDECIDED"  # two changes, and numbers


@pytest.mark.parametrize(
    "formula",
    [
        r"x p = p x",
        r"\gamma^\mu \gamma^\nu = \gamma^\nu \gamma^\mu",
        r"p x - x p = 0",
        r"\hat{x} \hat{p} = \hat{p} \hat{x}",
        r"\sigma_x \sigma_y = \sigma_y \sigma_x",
        r"T(x) S = S T(x)",
        r"a \times b = b \times a",
        r"L x y = x L y",
        r"\mathcal{L}(f g) = f \mathcal{L} g",
        r"\mathcal{L}(f g) = (\mathcal{L} f) g",
        r"\nabla^2 (f g) = f \nabla^2 g",
        r"\nabla^2 (f g) = (\nabla^2 f) g",
        r"(\nabla + a)^2 = \nabla^2 + 2 a \nabla + a^2",
        r"\delta^2 (u v) = u \delta^2 v",
        r"(\mathcal{A} + \mathcal{B})^2 = \mathcal{A}^2 + 2 \mathcal{A} \mathcal{B} + \mathcal{B}^2",
        r"\hat{L} u v = u \hat{L} v",
    ],
)
def test_an_exchange_of_undeclared_letters_is_ambiguous(formula: str) -> None:
    step = last(formula)
    assert step.verdict == "AMBIGUOUS" and step.evidence.text.startswith("it is false where $")


@pytest.mark.parametrize(
    ("formula", "above"),
    [
        (r"\mathcal{L}(2 f + g) = 2 \mathcal{L} f + \mathcal{L} g", ""),  # linear operators do so
        (r"\nabla^2 (3 f - g) = 3 \nabla^2 f - \nabla^2 g", ""),
        (r"(a + b)^2 = a^2 + 2 a b + b^2", ""),
        (r"(x + \delta)^2 = x^2 + 2 x \delta + \delta^2", ""),
        (r"\lambda A = A \lambda", ""),
        (r"\mathcal{L}(a f + b g) = a \mathcal{L} f + b \mathcal{L} g", "Let $a, b \\in \\mathbb{R}$."),
        (r"a b c = a c b = c b a", ""),  # reordered on the way
        (r"a b = b a", "Multiplication of numbers is commutative."),
        (r"x p = p x", "Let $x, p \\in \\mathbb{R}$."),
        (r"x p = p x", "Divide by $p$:\n\n$$ \\frac{x p}{p} = x $$\n\n$$ \\frac{x p}{x} = p $$"),
        (r"\frac{1}{2} m v^2 = \frac{v^2 m}{2}", ""),
    ],
)
def test_what_needs_no_exchange_or_is_about_numbers_is_accepted(formula: str, above: str) -> None:
    assert last(formula, above).verdict in GOOD


def test_words_that_deny_that_letters_commute_are_no_words_of_numbers() -> None:
    assert last(r"x p = p x", "These do not commute as numbers do.").verdict not in GOOD


def test_an_exponential_of_a_capital_does_not_move_past_a_letter() -> None:
    assert last(r"e^{L} f = f e^{L}").verdict == "AMBIGUOUS"
    assert last(r"e^{-x} f = f e^{-x}").verdict in GOOD


@pytest.mark.parametrize(
    ("above", "accepted"),
    [
        ("With $D$ the derivative with respect to $x$ and a function $u$,", False),
        ("Let $D$ be the differentiation,", False),
        ("With $D$ the diameter,", True),
    ],
)
def test_a_letter_that_is_called_a_derivative_is_no_number(above: str, accepted: bool) -> None:
    assert (last(r"(D + x) (D - x) = D^2 - x^2", above).verdict in GOOD) == accepted


def test_words_over_an_alphabet_are_no_numbers() -> None:
    assert last(r"(u v)^2 = u^2 v^2", "Let $u$ and $v$ be words.").verdict not in GOOD
    assert last(r"(u v)^2 = u^2 v^2", "Let $u$ and $v$ be weights.").verdict in GOOD


def test_a_sum_of_pauli_matrices_makes_no_numbers_of_them() -> None:
    below = "The Pauli matrices:\n\n$$ \\sigma_x + \\sigma_y = \\sigma_y + \\sigma_x $$"
    assert last(r"\sigma_x \sigma_y = \sigma_y \sigma_x", below).verdict not in GOOD
    assert last(r"\sigma_x \sigma_y = \sigma_y \sigma_x", below.replace("Pauli matrices", "deviations")).verdict in GOOD


def test_the_vectors_of_an_inner_product_are_no_factors() -> None:
    right = r"\langle s, u \rangle (s + v) - \langle s, v \rangle \langle s, u \rangle s"
    other = r"\langle s, u \rangle s + \langle s, u \rangle v - \langle s, u \rangle \langle s, v \rangle s"
    assert last(f"{right} = {other}").verdict in GOOD
    assert last(f"{right.replace('-', '+')} = {other}").verdict == "REFUTED"
    assert last(r"s u - u s = 2 s u").verdict == "UNDECIDED"


def test_the_inner_product_of_a_norm_is_symmetric() -> None:
    assert (
        last(r"\frac{\langle x, b \rangle}{\langle b, b \rangle} = - \frac{\langle b, x \rangle}{\|b\|^2}").verdict
        == "REFUTED"
    )
    assert last(r"\langle x, b \rangle + c = - \langle b, x \rangle + c").verdict == "UNDECIDED"


def test_one_vector_twice_in_an_inner_product_has_one_order() -> None:
    assert last(r"2 \langle x, x \rangle + c = \langle x, x \rangle + 3 \langle x, x \rangle + c").verdict == "REFUTED"
