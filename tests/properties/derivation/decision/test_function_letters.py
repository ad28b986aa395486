"""Letters that may be functions, bars that may be determinants, and values of O."""

from __future__ import annotations

import pytest

from attention_core.derivation import StepReport, check_document
from attention_core.derivation.records import GOOD


def last(formula: str, above: str = "") -> StepReport:
    return check_document(f"{above}\n\n$$ {formula} $$\n", infer=True).steps[-1]


@pytest.mark.parametrize(
    "formula",
    [
        r"\sigma^2(2 X + 2 Y) = 4 \sigma^2(X + Y)",  # a variance
        r"s^2(2 X + 2 Y) = 4 s^2(X + Y)",
        r"V[2 X + 2 Y] = 4 V[X + Y]",
        r"f^2(2 x + 2 y) = 4 f^2(x + y)",
        r"S[-x + y] = S[x - y]",  # an even functional
        r"\sigma_n^2 (2 x + 2 y) = 4 \sigma_n^2 (x + y)",
        r"x + 2\, o(x) = x + o(x)",
        r"2(1 + O(h)) = 2 + O(h)",
        r"-(x + \mathcal{O}(x^2)) = -x + \mathcal{O}(x^2)",
        r"|-A| = -|A|",  # a determinant of odd order
        r"\left(\frac{a}{p}\right) \left(\frac{b}{p}\right) = \left(\frac{a b}{p}\right)",  # Legendre's symbol
    ],
)
def test_what_may_be_a_value_is_not_refuted_as_a_product(formula: str) -> None:
    assert last(formula).verdict not in ("REFUTED", *GOOD)


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        (r"f^2(x + y) = f^2(x) + f^2(y)", "f"),
        (r"f^{-1}(2 x) = 2 f^{-1}(x)", "f"),
        (r"\sigma^2(X + Y) = \sigma^2(X) + \sigma^2(Y)", r"\sigma"),
        (r"|2 A| = 2 |A|", "determinants"),
        (r"|-A| = |A|", "determinants"),
        (r"O(n) - O(n) = 0", "of that order"),
        (r"\frac{O(h)}{O(h)} = 1", "of that order"),
    ],
)
def test_what_is_false_of_functions_or_determinants_is_ambiguous(formula: str, words: str) -> None:
    step = last(formula)
    assert step.verdict == "AMBIGUOUS" and words in step.evidence.text


@pytest.mark.parametrize(
    ("formula", "above"),
    [
        (r"\sigma^2 (1 - r) (1 + r) = \sigma^2 (1 - r^2)", ""),  # a factor
        (r"f^2 (x + y) = f^2 x + f^2 y", ""),  # it stands without brackets as well
        (r"|A B| = |A| |B|", ""),  # of determinants as well
        (r"|A^{-1}| = |A|^{-1}", ""),
        (r"|2 x| = 2 |x|", ""),
        (r"|2 A| = 2 |A|", "Let $A \\in \\mathbb{R}$."),
        (r"\lambda (a + b)^2 = \lambda a^2 + 2 \lambda a b + \lambda b^2", ""),
    ],
)
def test_factors_and_absolute_values_are_accepted(formula: str, above: str) -> None:
    assert last(formula, above).verdict in GOOD


def test_a_slip_with_a_factor_in_front_of_one_bracket_is_refuted() -> None:
    assert last(r"c (a + b) = c a - c b").verdict == "REFUTED"


@pytest.mark.parametrize(
    "formula",
    [
        r"2 (E_{t+1} - V) = 2 E_t - 2 V",  # it is conserved
        r"T_{ijk} + T_{jik} = 2 T_{ijk}",  # symmetric
        r"(A_{ij} + A_{ji}) x_i x_j = 2 A_{ij} x_i x_j",
        r"\epsilon_{ijk} + \epsilon_{jki} = 2 \epsilon_{ijk}",
    ],
)
def test_an_equation_that_says_what_another_entry_is_is_not_refuted(formula: str) -> None:
    assert last(formula).verdict == "UNDECIDED"


@pytest.mark.parametrize(
    "above",
    [
        "Let $a, b$ be quaternionic numbers.",
        "Let $a$ and $b$ be Grassmann numbers.",
        "Let $a$ and $b$ be floating-point numbers.",
        "Let $a$ and $b$ be ordinal numbers.",
        "Let $a, b$ be noncommuting numbers.",
        "Let $a$, $b$ be q-numbers.",
        "Let $a$ and $b$ be numbers modulo 12.",
    ],
)
def test_other_kinds_of_numbers_are_not_real_ones(above: str) -> None:
    assert last(r"(a + b) a = a^2 + b a", above).verdict not in GOOD
    assert last(r"(a + b) a = a^2 + b a", "Let $a$ and $b$ be real numbers.").verdict in GOOD


def test_a_dagger_makes_a_symbol_and_no_power() -> None:
    assert last(r"a a^\dagger = a^\dagger a").verdict == "AMBIGUOUS"
    assert last(r"a^\dagger a + a^\dagger a = 2 a^\dagger a").verdict in GOOD


@pytest.mark.parametrize(
    ("formula", "above", "words"),
    [
        (r"x[n + 1] - x[n] = x[1]", "Let $x[n]$ be a signal.", "x"),
        (r"y[n - 1] + y[1] = y[n]", "", "y"),
        (
            r"\left(\frac{a}{p}\right) + \left(\frac{b}{p}\right) = \left(\frac{a + b}{p}\right)",
            "For a prime:",
            "Legendre",
        ),
        (r"(a_i b_i)^2 = a_i^2 b_i^2", "We sum over repeated indices.", "$i$ is summed"),
        (r"(A B)^\dagger = A^\dagger B^\dagger", "$$ [A B, C] = A [B, C] + [A, C] B $$", ""),
        (r"|A B| = |A| |B|", "We count elements of sums and products of sets.", "count"),
        (r"\frac{\delta F}{\delta x} = \frac{F}{x}", "", "derivative"),
        (r"\frac{D u}{D t} = \frac{u}{t}", "", "derivative"),
        (r"[x] + [y] = [x + y]", "", "value"),
        (r"\{2 x\} = 2 \{x\}", "", "value"),
        (r"\log^{(2)} x = (\log x)^2", "", "applied"),
    ],
)
def test_what_is_true_of_products_may_be_false_of_values(formula: str, above: str, words: str) -> None:
    step = last(formula, above)
    assert step.verdict in ("AMBIGUOUS", "UNDECIDED")
    assert step.verdict == "UNDECIDED" or words in step.evidence.text


@pytest.mark.parametrize(
    ("formula", "above"),
    [
        (r"c [a + b] = c a + c b", "Let us multiply."),  # a factor stands in no brackets
        (r"\left(\frac{a}{p}\right) + \left(\frac{b}{p}\right) = \left(\frac{a + b}{p}\right)", "We add fractions:"),
        (r"(a_i b_i)^2 = a_i^2 b_i^2", "Here is the square of a product."),
        (r"a_i + b_i = b_i + a_i", "We sum over repeated indices."),
        (r"|A B| = |A| |B|", "Let us multiply numbers."),
        (r"[x] + [y] = [y] + [x]", ""),  # true of any value
        (r"2 [x + y] = [2 x + 2 y]", ""),  # brackets that are needed
        (r"\log^2 x = (\log x)^2", ""),
        (r"\frac{c y}{c x} = \frac{y}{x}", ""),
    ],
)
def test_products_beside_no_such_words_are_products(formula: str, above: str) -> None:
    assert last(formula, above).verdict in GOOD
