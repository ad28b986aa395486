"""A false step beside words by which its author does not claim it is not refuted."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.check import document_steps
from attention_core.derivation.decision.other_intents import is_posed
from attention_core.derivation.reading.step import Step

WRONG = r"(a - b)^2 = a^2 - a b + b^2"
MASKED = r"\sum_{j=1}^n e^{s_j} = \sum_{j=1}^{n-1} e^{s_j}"
SPLIT = r"x^3 + 1 = (x + 1)(x^2 + x + 1)"


def verdict(formula: str, above: str, below: str = "") -> str:
    return str(check_document(f"{above}\n\n$$ {formula} $$\n\n{below}\n", infer=True).steps[-1].verdict)


@pytest.mark.parametrize(
    ("formula", "above"),
    [
        (r"(n + 1)^2 = n^2 + n + 1", "Exercise. Find all $n$ with"),
        (r"\sin(-x) = \sin x", "Which angles satisfy this equation?"),
        (r"\sin(-x) = \sin x", "When are both the same?"),
        (WRONG, "A common mistake of students is"),
        (WRONG, "It would be wonderful if this were true, but it is not:"),
        (WRONG, "A naive implementation would compute"),
        (r"\frac{n - 1}{n} = 1", "For large $n$, one gets"),
        (r"\frac{n - 1}{n} \sigma^2 = \sigma^2", "In the limit of many samples:"),
        (r"\frac{2 (m + 1)}{m} = 2", "Asymptotically,"),
        (r"\frac{2 (m + 1)}{m} = 2", "Let us see where $m \\to \\infty$ leads."),
        (r"2 (x + C) = 2 x + C", "Here $C$ denotes a constant that may change from line to line."),
        (SPLIT, "The binary cyclic code of length three."),
        (SPLIT, "Over $\\mathbb{F}_2$ the polynomial splits:"),
        (SPLIT, "A CRC is the remainder of a division."),
        (WRONG, "Suppose that"),
        (WRONG, "We require"),
        (WRONG, "The condition is"),
        (WRONG, "The curves intersect if"),
        (WRONG, "Equating the two gives"),
        (WRONG, "Do we have"),
        (WRONG, "Consider the equation"),
        (WRONG, "Numbers with the following property are called dual:"),
        (WRONG, "Two numbers are called dual by"),
        (WRONG, "The boundary of the region is described by"),
        (WRONG, "The equation of the plane curve is"),
        (r"\frac{d}{dx} \frac{1}{2} x^2 = 2 x", "For the sum instead of the mean we get"),
    ],
)
def test_words_that_ask_deny_or_speak_of_other_numbers_leave_it_open(formula: str, above: str) -> None:
    assert verdict(formula, above) == "UNDECIDED"


def test_words_of_another_place_do_not() -> None:
    far = "A common mistake is to forget a term.\n\nSome words.\n\nMore words.\n\nNow we expand"
    assert verdict(WRONG, far) == "REFUTED"
    assert verdict(WRONG, "Now we expand", "and go on.") == "REFUTED"


def test_a_denial_below_counts() -> None:
    assert verdict(WRONG, "We look at", "This fails for $a = b = 1$.") == "UNDECIDED"


def test_a_condition_farther_above_does_not() -> None:
    assert verdict(WRONG, "We require care.\n\nNow we expand") == "REFUTED"
    assert verdict(WRONG, "Where we assumed that all is well, we get") == "REFUTED"


def test_words_of_other_arithmetic_count_anywhere() -> None:
    text = "# Cyclic codes\n\nSome words.\n\nMore words.\n\nEven more.\n\nWe factor"
    assert verdict(SPLIT, text) == "UNDECIDED"
    assert verdict(SPLIT, "We factor") == "REFUTED"


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        (r"(x + 3)^2 = x^2 + 3 x + 9", "The XOR of two bits."),  # bits have no 3 and no 9
        (r"\frac{-2}{3} (1 + 2 + 6) = \frac{-2}{3} \cdot 8", "A perceptron learns no XOR."),
        (r"\sum_{i=1}^n (x_i + c) = \sum_{i=1}^n x_i + 2 n c", "The step $k \\mod s$ of a convolution."),
    ],
)
def test_words_of_other_arithmetic_do_not_count_where_its_numbers_are_others(formula: str, words: str) -> None:
    text = f"{words}\n\nSome words.\n\nMore words.\n\nEven more.\n\nWe expand"
    assert verdict(formula, text) == "REFUTED"
    assert verdict(SPLIT, f"Here $a \\equiv b \\mod 2$.\n\nSome words.\n\nMore words.\n\n{words}") == "UNDECIDED"


@pytest.mark.parametrize(
    ("counts", "does_not"),
    [
        ("The curves cross where", "The cross-entropy is"),
        ("The gradients vanish:", "Vanishing gradients:"),
        ("We do not claim this:", "We do not need to wait:"),
    ],
)
def test_a_word_within_another_one_does_not_count(counts: str, does_not: str) -> None:
    assert verdict(WRONG, counts) == "UNDECIDED"
    assert verdict(WRONG, does_not) == "REFUTED"


def test_an_implication_has_its_condition_in_itself() -> None:
    wrong = r"a \ge b \implies (a - b)^2 = a^2 - a b + b^2"
    assert verdict(wrong, "The unit fires when") == "REFUTED"
    assert verdict(WRONG, "The unit fires when") == "UNDECIDED"


@pytest.mark.parametrize(
    "above",
    [
        "Given the constraint that all weights sum to one, we obtain",
        "The line is given by its slope, so we get",
        "Substituting into the equation of the line gives",
        "Consider the system above. Then",
        "Functions with this property satisfy",
        "The matrix is called the frob, and hence",
        "This is called the binomial formula:",
    ],
)
def test_words_that_go_on_to_a_result_do_not(above: str) -> None:
    assert not is_posed(_read(above)), above
    assert is_posed(_read("Consider the following system of equations:"))


def _read(above: str) -> Step:
    step = document_steps(f"{above}\n\n$$ {WRONG} $$\n", infer=True)[1][-1]
    assert isinstance(step, Step)
    return step


@pytest.mark.parametrize(
    ("words", "verdict_there"),
    [
        ("With $s_n = -\\infty$ the normalizer is", "UNDECIDED"),
        ("We set $s_n := -\\infty$. Then", "UNDECIDED"),
        ("The last score is set to minus infinity. Therefore", "UNDECIDED"),
        ("We take $g = -\\infty$ elsewhere. The normalizer is", "REFUTED"),
        ("We sum them up. The normalizer is", "REFUTED"),
    ],
)
def test_a_value_that_is_infinite_was_not_tried(words: str, verdict_there: str) -> None:
    assert verdict(MASKED, words) == verdict_there
    far = f"{words.partition('.')[0]}.\n\nMore words.\n\nMore of them.\n\nEven more.\n\nNow"
    assert "s_n" not in words or verdict(MASKED, far) == verdict_there


BAYES = r"p(x \\mid y) = -\\frac{p(y \\mid x) p(x)}{p(y)}"
ASKED = "How do the two relate?"


@pytest.mark.parametrize(
    ("above", "below", "wrong"),
    [
        ("We cannot apply", "directly.", True),
        ("We cannot accept", "here.", False),
        ("We cannot simply use", "here.", False),
        ("You cannot use the shortcut", "directly.", False),
        ("We cannot evaluate the square as", "", False),
        ("Now we expand", "directly is not possible because of the normalization constant.", True),
        ("Now we expand", "is not possible because one term is lost.", False),
        (f"{ASKED} We expand both and find", "", True),
        (ASKED, "", False),
        ("Does the following hold? Think before you read on.", "", False),
        ("Quiz: Which of these are correct? Tick all that apply.", "", False),
        ("What did Tom do here? He wrote this line in the exam:", "", False),
        ("Do we need the factor two? Let us leave it away.", "", False),
        (f"We expand both and find a sum. {ASKED}", "", False),
        ("Now we expand", "To make the result nicer, we can instead look at its root.", True),
        ("Now we expand", "Instead of the sum we take half of it.", False),
        ("Now we expand", "This implies that for sufficiently large $n$,", True),
        ("Now we expand", "It holds for sufficiently large $n$.", False),
        ("We have $c = d$\n\n$$ c = d $$\n\nwhere", "", True),
        ("The lines cross where", "", False),
        ("We have $c = d$\n\n$$ c = d $$\n\nwhere", "is the constraint.", False),
        ("Now we expand", "In the following, we look for all solutions of this equation.", False),
        ("Now we expand", "Next we find all $n$ that satisfy it.", False),
        ("The parabolas touch each other where their slopes agree at", "", False),
        ("Marginal cost equals average cost:", "", False),
    ],
)
def test_words_of_what_comes_before_and_after_are_told_from_those_of_a_step(
    above: str, below: str, wrong: bool
) -> None:
    assert (verdict(WRONG, above, below) == "REFUTED") is wrong


def test_what_has_no_solution_is_no_claim() -> None:
    assert (
        verdict(r"\sum_{j=1}^n e^{s_j} = \sum_{j=1}^{n-1} e^{s_j}", "There is no solution of finite scores:")
        == "UNDECIDED"
    )


INTEGRALS = [
    (r"\int_{-\infty}^{\infty} \frac{1}{\sqrt{2 \pi}} z^3 e^{-z^2/2} \, dz = 1", True),
    (r"\int_{-\infty}^{\infty} e^{-z^2/2} \, dz = -\sqrt{2 \pi}", True),
    (r"\int_0^1 e^{-z^2/2} \, dz = 0.86", False),  # rounded
]


@pytest.mark.parametrize(
    "words",
    [
        r"We abbreviate $\int_0^{2\pi} f$ for the mean over the circle.",
        "Here the integral sign denotes the mean value.",
        r"In this note $\int_a^b$ stands for the average over the interval.",
        r"Below, $dx$ is the normalised volume element.",
        "All integrals are taken with respect to the Gaussian measure.",
        "We use Berezin's rules.",
        "By analytic continuation we find values of divergent integrals.",
        "The integral sign stands for a sum.",
    ],
)
def test_an_integral_may_be_taken_in_another_way(words: str) -> None:
    for formula in (r"\int_0^{2\pi} 1 \, dx = 1", r"\int_0^\infty e^x \, dx = -1"):
        assert verdict(formula, f"{words}\n\nSome words.\n\nMore words.\n\nWe find") == "UNDECIDED"


@pytest.mark.parametrize(("formula", "wrong"), INTEGRALS, ids=range(len(INTEGRALS)))
def test_an_integral_is_a_real_number_whatever_stands_elsewhere(formula: str, wrong: bool) -> None:
    far = (
        "# Normal distributions\n\nThe first principles of clocks are short.\n\nHere $z \\in S$ is a state.\n\nWe find"
    )
    assert (verdict(formula, far) == "REFUTED") is wrong
