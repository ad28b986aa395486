"""What is true of numbers is accepted only if it holds of the products that its document speaks of."""

from __future__ import annotations

from fractions import Fraction

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.decision.free_products import CROSS, expand, find_other_product
from attention_core.derivation.latex.parse import parse_expression

GOOD = ("PROVED", "EXACT", "AGREES")
STAR, DOT = "Here $*$ is a convolution of signals.", "The work is the dot product of force and displacement."
PAULI, WAVE = "The Pauli matrices are used.", "Two waves with complex amplitudes interfere."


def verdict(formula: str, above: str = "") -> str:
    return str(check_document(f"{above}\n\n$$ {formula} $$\n", infer=True).steps[-1].verdict)


ROWS = [
    (r"f * (g h) = (f * g) h", STAR),
    (r"(f * g)^2 = f^2 * g^2", STAR),
    (r"(F \cdot s)^2 = F^2 s^2", DOT),
    (r"|u \cdot v| = |u| |v|", DOT),
    (r"u \cdot (v w) = (u \cdot v) w", DOT),
    (r"a \times a = a^2", "The cross product of two vectors."),
    (r"(\sigma_x + \sigma_y)^2 = \sigma_x^2 + 2 \sigma_x \sigma_y + \sigma_y^2", PAULI),
    (r"g^{-1} h g = h", "We calculate in a group."),
    (r"(g h)^{-1} = g^{-1} h^{-1}", "We calculate in a group."),
    (r"(\hat a + \hat b)^2 = \hat a^2 + 2 \hat a \hat b + \hat b^2", "The quantum oscillator."),
    (r"|\psi|^2 = \psi^2", WAVE),
    (r"|\psi_1 + \psi_2|^2 = |\psi_1|^2 + |\psi_2|^2 + 2 \psi_1 \psi_2", WAVE),
]


@pytest.mark.parametrize(("formula", "words"), ROWS, ids=range(len(ROWS)))
def test_what_is_false_of_another_product_is_accepted_only_without_it(formula: str, words: str) -> None:
    assert verdict(formula, words) in ("AMBIGUOUS", "UNDECIDED")
    assert verdict(formula, "Let us multiply.") in GOOD


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        (r"f * (g + h) = f * g + h * f", STAR),
        (r"(f * g) * h = f * (g * h)", STAR),
        (r"u \cdot (v + w) = u \cdot v + w \cdot u", DOT),
        (r"2 \cdot x + 3 \cdot x = 5 \cdot x", DOT),
        (r"(\sigma_x + \sigma_y)^2 - \sigma_y^2 = \sigma_x^2 + \sigma_x \sigma_y + \sigma_y \sigma_x", PAULI),
        (r"g h h^{-1} g = g^2", "We calculate in a group."),
        (r"(a + b)^2 = a^2 + 2 a b + b^2", "The quantum oscillator."),  # plain letters are numbers
        (r"|z w|^2 = |z|^2 |w|^2", WAVE),
        (r"(\psi + 1)^2 = \psi^2 + 2 \psi + 1", WAVE),
    ],
)
def test_what_holds_of_the_other_product_too_is_accepted(formula: str, words: str) -> None:
    assert verdict(formula, words) in GOOD


@pytest.mark.parametrize(
    ("formula", "accepted"),
    [
        (r"|e^{i x}| = e^{i x}", False),
        (r"|a + i b|^2 = (a + i b)^2", False),
        (r"(e^{i x})^y = e^{i x y}", False),
        (r"\log(e^{2 \pi i}) = 2 \pi i", False),
        (r"e^{i x} e^{i y} = e^{i (x + y)}", True),  # it holds of every number in the place of i
        (r"|e^{k x}| = e^{k x}", True),
        (r"\sum_{i=1}^n |x_i|^2 = \sum_{i=1}^n x_i^2", True),  # an index
    ],
)
def test_a_letter_that_may_be_the_imaginary_unit_has_no_absolute_value_of_a_real_number(
    formula: str, accepted: bool
) -> None:
    assert (verdict(formula) in GOOD) == accepted


def test_products_are_multiplied_out_in_their_order() -> None:
    one = Fraction(1)
    assert expand(parse_expression("(a + b) a")) == {("a", "a"): one, ("b", "a"): one}
    assert expand(parse_expression("|z|^2")) == {("z", "conjugate of z"): one}
    assert expand(parse_expression("2 a * b c"), "*") == {("a * b c",): Fraction(2)}
    assert expand(parse_expression(r"a \times b"), CROSS) != expand(parse_expression(r"b \times a"), CROSS)
    assert expand(parse_expression("(a + b + c)^4 (a + b + c)^4")) is None


def test_a_document_that_speaks_of_no_other_product_has_none() -> None:
    from attention_core.derivation.check import document_steps

    (step,) = document_steps("Let us multiply.\n\n$$ f * (g h) = (f * g) h $$\n", infer=True)[1]
    assert find_other_product(step, ("f", "g", "h")) == ""  # type: ignore[arg-type]


def test_what_holds_by_a_condition_is_not_multiplied_out() -> None:
    assert verdict(r"c = \frac{1}{g^\top g} \implies c g^\top g = 1", "Here are the commutators.") in GOOD


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        (r"2 \times n \times d \times 2 = 4 n d", "Vectors, forces and cross products."),  # counts
        (r"(n \cdot q \cdot m)^2 = n^2 q^2 m^2", "Vectors have dot products."),
        (r"(a \times b)^2 = a^2 b^2", "A model of word vectors."),  # no vector product is spoken of
        (r"\max(u, k) = \max(k, u)", "Hilbert spaces."),  # nothing is multiplied
    ],
)
def test_products_of_counts_are_those_of_numbers(formula: str, words: str) -> None:
    assert verdict(formula, words) in GOOD


def test_a_cross_product_that_the_document_speaks_of_has_an_order() -> None:
    assert verdict(r"(a \times b)^2 = a^2 b^2", "The cross product of vectors.") not in GOOD
