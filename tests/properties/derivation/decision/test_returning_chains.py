"""A chain that comes back to where it began says no more than the change in its middle, which is meant."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.check import document_steps
from attention_core.derivation.decision.returning_chains import is_short, list_neighbours
from attention_core.derivation.latex.syntax import Name, Plus
from attention_core.derivation.reading.step import Step
from attention_core.derivation.records import Verdict

FAR = "# Notes\n\nThese notes follow a talk.\n\nThey are short.\n\n\n\n## Results\n\n\n\n"
"""Nothing stands right above the display."""

RETURNING = [
    "a + b + c = a - b + c = c + a + b",  # a bit is its own negative
    "- a x - b y = a x + b y = - (b y + a x)",  # a state has no sign
    "(x - y) + d = (y - x) + d = d + x - y",  # a distance has none
    "x + 1 + y = x + y = y + 1 + x",  # on a circle
    r"\sum_{i=1}^n v_i = \sum_{i=1}^n v_1 = \sum_{i=1}^n v_i",  # all are alike
    r"\frac{1}{2} \epsilon_{ii} \epsilon_{jj} = \frac{1}{2} \epsilon_{ii} \epsilon_{ii} = \frac{1}{2} \epsilon_{jj} \epsilon_{ii}",
    "127 + 1 = -128 = 128",  # signed bytes
]  # fmt: skip


def refuted(formula: str, above: str = FAR, below: str = "") -> int:
    report = check_document(f"{above}$$\n{formula}\n$$\n{below}", infer=True)
    return sum(step.verdict is Verdict.REFUTED for step in report.steps)


@pytest.mark.parametrize("formula", RETURNING, ids=range(len(RETURNING)))
def test_what_a_chain_says_between_one_formula_and_itself_stays_open(formula: str) -> None:
    assert not refuted(formula)


def test_a_term_that_would_repeat_what_stands_beside_it_stays_open() -> None:
    report = check_document(f"{FAR}$$\n\\log (x y) = \\log x - \\log y = \\log x + \\log y\n$$\n", infer=True)
    assert report.steps[1].verdict is not Verdict.REFUTED
    assert not any("both hold" in step.evidence.text for step in report.steps)


CALCULATED = [
    "(a + b)(c - d) = a c - a d + b c + b d = a (c - d) + b c - b d",
    "a - (b - c) = a - b - c = c + a - b",
    "7 \\cdot 6 + 3 \\cdot 5 = 42 - 15 = 57",
]


@pytest.mark.parametrize("formula", CALCULATED, ids=range(len(CALCULATED)))
def test_a_wrong_term_of_a_chain_that_calculates_is_refuted(formula: str) -> None:
    assert refuted(formula) == 2


def test_neighbours_share_a_formula_of_one_chain() -> None:
    text = "$$ a + b = b + a = a + b + 0 $$\n\n$$ a + b + 0 = c + c $$\n\n$$ x y = z = z + 0 $$\n"
    steps = [step for step in document_steps(text, infer=True)[1] if isinstance(step, Step)]
    assert [[side for side, _ in list_neighbours(step)] for step in steps] == [
        ["right"],
        ["left"],
        [],
        ["right"],
        ["left"],
    ]


def test_a_symbol_alone_is_short() -> None:
    assert is_short(Name("a"))
    assert not is_short(Plus((Name("a"), Name("b"))))


SLOPES = [
    (r"\frac{\partial L}{\partial a_j} = -t_j + y_j = -(y_j - t_j)", True),
    (r"\frac{dy}{dx} = \frac{dy}{du} \cdot \frac{du}{dx} = 2 (3 x + 5) \cdot 3 = -6 (3 x + 5)", True),
    (r"\frac{\partial L}{\partial a_j} = -t_j + y_j = y_j - t_j", False),
    (r"f'(x) = 2 x = 3 x = g'(x)", False),  # to be solved
    (r"\frac{\partial f}{\partial x} = 2 x = 3 x = \frac{\partial g}{\partial x}", False),
    ("y = 2 x = -2 x", False),  # two lines meet
]


@pytest.mark.parametrize(("formula", "wrong"), SLOPES, ids=range(len(SLOPES)))
def test_what_goes_on_from_a_derivative_is_not_to_be_solved(formula: str, wrong: bool) -> None:
    assert refuted(formula) == wrong


def test_where_a_slope_is_extreme_two_formulas_of_it_may_be_equal() -> None:
    formula = r"\frac{\partial L}{\partial x} = 2 x - 4 = 4 - 2 x"
    assert refuted(formula)
    assert not refuted(formula, above=FAR + "At the minimum, we have\n")
