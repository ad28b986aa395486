"""Displays that may claim nothing are not refuted, even once the readings of their symbols are confirmed."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.records import Verdict


def verdict(formula: str, above: str = "") -> Verdict:
    return check_document(f"{above}\n\n$$ {formula} $$\n", as_read=True).steps[-1].verdict


@pytest.mark.parametrize(
    "formula",
    [
        r"w = w - \eta g",
        r"p = p / \sum_i p_i",
        r"A x - b = 0",
        r"0 = A x - b",
        r"x^2 + y^2 = 1",
        r"2 x + 3 = 7",
        r"w^\top x + b \ge 1",
        r"0 < \alpha < \frac{2}{L}",
        r"\|x - y\| \le \delta",
        r"a < b",
        r"A v = \lambda v",
        r"X^\top X w = X^\top y",
        r"\frac{1}{R} = \frac{1}{R_1} + \frac{1}{R_2}",
        r"\cos \theta = \frac{u^\top v}{\|u\| \|v\|}",
        r"A^2 = A",
        r"a x^2 = b x",
        r"A \succ 0",
    ],
)
def test_values_conditions_and_equations_to_be_solved_stay_open(formula: str) -> None:
    assert verdict(formula) is Verdict.UNDECIDED


WRONG = "(a + b)^2 = a^2 + 3 b^2"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (r"v_1 = \begin{pmatrix} 1 \\ -1 \end{pmatrix}", r"v_1 = \begin{pmatrix} 2 \\ -1 \end{pmatrix}"),
        (r"y = 3 x + 1", r"y = 4 x + 1"),  # the next example
    ],
)
def test_what_a_display_may_define_anew_stays_open(first: str, second: str) -> None:
    text = f"The first one is\n\n$$ {first} $$\n\nThe second one is\n\n$$ {second} $$\n"
    assert check_document(text, as_read=True).steps[-1].verdict is Verdict.UNDECIDED


def test_shapes_that_were_read_refute_nothing() -> None:
    assert verdict(r"\pi = \pi P + x^\top x I_3", "We find") is not Verdict.REFUTED


@pytest.mark.parametrize(
    "above",
    ["A common mistake is", "Find all $a$ and $b$ with", "We look for numbers such that", "The constraint is",
     "To leading order,", "Ignoring constants,", "Suppose that"],
)  # fmt: skip
def test_words_by_which_an_author_does_not_claim_it_leave_it_open(above: str) -> None:
    assert verdict(WRONG, above) is Verdict.UNDECIDED


def test_what_is_claimed_is_refuted() -> None:
    assert verdict(WRONG, "Suppose that all is frobnicated.") is Verdict.REFUTED
    assert verdict(WRONG, "Now we expand") is Verdict.REFUTED
    assert verdict(r"a = 2 b \implies a^2 = 2 b^2") is Verdict.REFUTED
    assert verdict(r"2 x + 3 x = 6 x + a - a") is Verdict.REFUTED


@pytest.mark.parametrize(
    ("sentence", "formula", "hypothesis"),
    [
        ("Let $x$ and $y$ be positive.", "|x| = x", "x > 0"),
        ("Assume $A$ is symmetric.", r"x^\top A y = y^\top A x", r"A = A^\top"),
    ],
)
def test_what_words_may_mean_and_makes_it_hold_is_named(sentence: str, formula: str, hypothesis: str) -> None:
    step = check_document(f"{sentence}\n\n$$ {formula} $$\n", as_read=True).steps[-1]
    assert step.verdict is Verdict.UNDECIDED and hypothesis in step.evidence.text


@pytest.mark.parametrize(
    ("above", "formula"),
    [
        ("Vectors with the following property are called orthogonal:", r"x^\top y = y^\top x + x^\top y"),
        ("A matrix with this property is called normal:", r"A^\top A = A A^\top"),
        ("The curve is given by", r"(x + y)^2 = x^2 + y^2"),
        ("Here the equation of the ellipse is", r"(x + y)^2 = x^2 + y^2"),
        ("Consider the equation", r"(x + y)^2 = x^2 + y^2"),
        ("Next we consider the following system of equations:", r"(x + y)^2 = x^2 + y^2"),
    ],
)
@pytest.mark.parametrize("declared", ["", "Let $x, y \\in \\mathbb{R}$ and $A \\in \\mathbb{R}^{n \\times n}$.\n\n"])
def test_what_words_pose_or_define_is_not_claimed(above: str, formula: str, declared: str) -> None:
    if declared and "\\top y" in formula:
        declared = declared.replace("y \\in \\mathbb{R}$", "y \\in \\mathbb{R}^n$")
    assert verdict(formula, declared + above) is Verdict.UNDECIDED


@pytest.mark.parametrize(
    "above",
    ["The gradient is given by", "This is called the binomial formula:", "Consider the equation above.", "We consider"],
)
def test_other_words_lead_to_a_claim(above: str) -> None:
    assert verdict("(x + y)^2 = x^2 + y^2", above) is Verdict.REFUTED


@pytest.mark.parametrize("formula", ["x = x + y", "y = 2 y"])
def test_a_new_value_of_a_declared_symbol_stays_open_beside_words_that_were_not_read(formula: str) -> None:
    declared = "Let $x, y \\in \\mathbb{R}$."
    assert verdict(formula, f"{declared} The loop is frobnicated each time.") is Verdict.UNDECIDED
    assert verdict(formula, declared) is Verdict.REFUTED  # nothing around it was set aside
    own = f"{declared} All hypotheses are declared as formulas. The loop is frobnicated each time."
    (step,) = check_document(f"{own}\n\n$$ {formula} $$\n").steps
    assert step.verdict is Verdict.REFUTED  # its author promises that it claims


@pytest.mark.parametrize(
    ("above", "display"),
    [
        ("The bits satisfy\n\n$$ b^2 = b $$\n\nso\n\n", "(1 - b)^2 = 1 - b"),  # what a display says
        ("The matrix $S$ is symmetric.\n\n", "S^\\top x + x = S x + x"),
    ],
)
def test_a_condition_above_a_step_leaves_it_open(above: str, display: str) -> None:
    step = check_document(f"{above}$$ {display} $$\n", as_read=True).steps[-1]
    assert step.verdict is not Verdict.REFUTED, step.evidence.text
    alone = check_document(f"We have\n\n$$ {display} $$\n", as_read=True).steps[-1]
    assert alone.verdict is Verdict.REFUTED, alone.evidence.text


@pytest.mark.parametrize("above", ["c^2 = c", "(1 - b)^2 = 1 - b", "b (b - 1) (b + 1) = b^3 - b"])
def test_another_equation_above_a_step_is_no_condition_of_it(above: str) -> None:
    text = f"We have\n\n$$ {above} $$\n\nso\n\n$$ (1 - b)^2 = 1 - b $$\n"
    step = check_document(text, as_read=True).steps[-1]
    assert step.verdict is Verdict.REFUTED, step.evidence.text


@pytest.mark.parametrize(
    ("constant", "above"),
    [("C", "We find"), (r"\text{const}", "We find"), ("c", "We find, with a constant,")],
)
def test_a_constant_as_a_term_may_be_any_and_another_one_on_each_side(constant: str, above: str) -> None:
    for right in (rf"x^2 - 2 a x + {constant}", "x^2 - 2 a x"):
        assert verdict(rf"(x - a)^2 + {constant} = {right}", above) is not Verdict.REFUTED
    assert verdict("(x - a)^2 + b = x^2 - 2 a x + b", above) is Verdict.REFUTED


def test_a_small_c_or_one_that_is_a_factor_is_a_number() -> None:
    assert verdict("(x - a)^2 + c = x^2 - 2 a x + c", "We expand and find") is Verdict.REFUTED
    assert verdict("c (x - a)^2 = c x^2 - 2 c a x", "Here $c$ is a constant. We find") is Verdict.REFUTED
    chain = r"\log p = -(x - m)^2 + c = -x^2 + 2 m x + c"
    assert verdict(chain, "We expand and find") is not Verdict.REFUTED


def test_an_inequality_may_say_how_large_a_symbol_is() -> None:
    assert verdict(r"r b \eta \sqrt{n} \le \frac{r^2 b^2}{n}", "Setting up the bound:") is not Verdict.REFUTED
    assert verdict(r"r b + 3 r^2 \le r b + r^2 + b - b", "We find") is Verdict.REFUTED


@pytest.mark.parametrize("order", ["Q, K, V", "K, Q, V"])
@pytest.mark.parametrize("scores", [r"\frac{Q K^\top}{\sqrt{d_k}}", r"Q K^\top"])
def test_attention_of_letters_is_what_the_document_says_it_is(order: str, scores: str) -> None:
    formula = rf"\text{{Attention}}({order}) = \text{{softmax}}({scores}) V"
    assert verdict(formula, "Attention is") is Verdict.UNDECIDED
    assert verdict(rf"2 {formula}", "We find") is Verdict.REFUTED
