"""A false step is not refuted beside a sentence by which its formula means something else, and is beside others."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document

FAR = "\n\nSome words.\n\nMore words.\n\nEven more.\n\nWe find\n"
SQUARE = r"(a - b)^2 = a^2 + 2 a b + b^2"
TWICE = r"a b + a b + c = a b + c"
PAIRS = r"\left(\sum_{i=1}^n x_i\right)^2 = \sum_{i=1}^n x_i^2 + 2 \sum_{i \neq j} x_i x_j"
GRASSMANN = r"\frac{\partial}{\partial \theta_1} \theta_2 \theta_1 = -\theta_2"
TIED = r"\frac{\partial}{\partial w} (w x + u x) = 2 x"
LARGE = r"\frac{N - 1}{N} \sigma^2 = \sigma^2"
ALTERNATING = r"\sum_{i=1}^n (x_i - y_i) = \sum_{i=1}^n x_i + \sum_{i=1}^n y_i"
CONSTANT = r"c (1 + x) + c x = c (1 + x)"
SCALED = r"2 e^{-x^2} e^{-y^2} = e^{-x^2 - y^2}"


def verdict(formula: str, above: str) -> str:
    return str(check_document(f"{above}\n\n$$ {formula} $$\n", infer=True).steps[-1].verdict)


ROWS = [
    (SQUARE, "Let $k$ be a field of characteristic $2$.", "Research in the field of statistics."),
    (SQUARE, "Every element is its own additive inverse.", "Every element has an additive inverse."),
    (SQUARE, "We only care whether a number is even or odd.", "We only care whether it is new or old."),
    (SQUARE, "The coefficients are bits.", "The coefficients are learned."),
    (TWICE, "Joins are idempotent.", "Notes are collected."),
    (TWICE, "A plus stands for a choice, a product for a sequence.", "A plus of this method is its speed."),
    (TWICE, "A tuple that is derived twice is stored once.", "A tuple is derived."),
    (PAIRS, "The sum runs over unordered pairs.", "The sum runs over the data."),
    (PAIRS, "No interaction is taken into account more than once.", "All is taken into account."),
    (GRASSMANN, "The generators anticommute.", "The generators are drawn."),
    (TIED, "The weights $u$ and $w$ are shared.", "The weights are trained."),
    (LARGE, "All formulas hold for a macroscopic number of particles.", "All formulas hold."),
    (CONSTANT, "The letter $c$ denotes a number whose value may differ at each appearance.", "The letter $c$ is red."),
    (SCALED, "Numerical factors are forgotten.", "Numerical methods are slow."),
    (r"1 + 1 = 1", "Velocities add up relativistically.", "Velocities add up."),
    (r"\frac{3 \pi}{2} + \pi = \frac{\pi}{2}", "After half a turn an angle is what it was.", "After that it is done."),
    (ALTERNATING, r"Below, $\sum$ denotes a sum of another kind.", r"Below, $\sum$ is used."),
    (TWICE, "An OR of both.", "It is one or the other."),
    (r"\frac{n}{2} + \frac{n}{2} = n - 1", "Here the slash throws the fraction away.", "Here the slash is straight."),
    (r"\int_0^{2 \pi} dx = 1", "We take the normalised measure.", "We take the usual measure."),
    ("n + 1 = n", "Here $n$ is an infinite cardinal.", "Here $n$ is a nice number."),
    (r"n! = (n + 1) (n - 1)!", "In this text $n!$ counts the orders of more things.", "In this text we count."),
]


@pytest.mark.parametrize(("formula", "words", "others"), ROWS, ids=range(len(ROWS)))
def test_a_sentence_about_what_formulas_mean_leaves_a_slip_open(formula: str, words: str, others: str) -> None:
    assert verdict(formula, words + FAR) == "UNDECIDED"
    assert verdict(formula, others + FAR) == "REFUTED"


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        (r"(a + b)^2 = a^2 + a b + b^2", "Let $k$ be a field of characteristic $2$."),  # false there as well
        (r"(a - b)^2 = a^2 - a b + b^2", "Joins are idempotent."),  # these have no minus
        (SQUARE, "The sum runs over unordered pairs."),  # no sum
        (r"\frac{\partial}{\partial w} w^2 = 3 w", "The weights $w$ are shared."),  # nothing else can move
        (TIED, "Some weights are shared, but not these.\n\nSome words."),  # far, and of no symbol of the step
        (LARGE, "The number of atoms in a drop is macroscopic."),  # far, and not about all
        (r"2 + 2 = 5", "The maximum of a list."),
        (SQUARE, "Here the slash throws the fraction away."),  # no quotient
    ],
)
def test_a_step_of_another_form_is_refuted_beside_it(formula: str, words: str) -> None:
    assert verdict(formula, words + FAR) == "REFUTED"


@pytest.mark.parametrize(
    ("formula", "words", "others"),
    [
        (SQUARE, "Chains are taken without orientation.", "Chains are taken without ornament."),
        (SQUARE, "Passing the wall costs a minus sign.", "Passing the wall costs a coin."),
        (SQUARE, "For us, equality means equality in distribution.", "For us, the gizmo is a model."),
        (r"a (b + c) = a b - a c", "The bracket of gizmos is antisymmetric.", "The bracket of gizmos is soft."),
        (r"(a + b)^2 = a^2 + a b + b^2", "Multiplicities of gizmos matter little.", "Gizmos matter little."),
        (SCALED, "Gizmos weigh twice as much.", "Gizmos weigh as much."),
    ],
)
def test_a_sentence_near_by_that_speaks_of_what_is_changed_counts(formula: str, words: str, others: str) -> None:
    assert verdict(formula, words) == "UNDECIDED"
    assert verdict(formula, others) == "REFUTED"
    assert verdict(formula, f"{words}\n\nSome words." + FAR) == "REFUTED"


def test_words_of_signs_say_nothing_of_a_factor() -> None:
    assert verdict(SCALED, "Chains are taken without orientation.") == "REFUTED"
    assert verdict(SQUARE, "Gizmos weigh twice as much.") == "REFUTED"


@pytest.mark.parametrize(
    ("formula", "words", "others"),
    [
        (r"\|p + q\| \ge \|p\| + \|q\|", "Two vectors are timelike.", "Two vectors are alike."),
        (r"2 a b \ge a^2 + b^2", "We write $a \\le b$ if $a$ is preferred.", "We write $a$ and $b$ for two prices."),
        (r"1 + x \ge e^x", "Divisibility is an order.", "Tidiness is a virtue."),
    ],
)
def test_an_inequality_of_something_else_may_hold_the_other_way_round(formula: str, words: str, others: str) -> None:
    assert verdict(formula, words) == "UNDECIDED"
    assert verdict(formula, others) == "REFUTED"
