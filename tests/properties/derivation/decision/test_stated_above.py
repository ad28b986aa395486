r"""What follows from the equations above a step is right, and what may not be meant to hold there is not used."""

from __future__ import annotations

import pytest

from attention_core.derivation import StepReport, check_document
from attention_core.derivation.check import document_steps
from attention_core.derivation.decision.stated_above import FEWEST_CASES, assume_equations, is_well_founded
from attention_core.derivation.effort import Effort
from attention_core.derivation.reading.step import Step
from attention_core.derivation.records import GOOD, Evidence, Finding, Verdict

EIGEN = "The multiplier gives\n\n$$ S u = \\lambda u $$\n\nof length one,\n\n$$ u^T u = 1 $$\n\nso the variance is\n\n"
TEST = "The rates are\n\n$$ P(T|D) = 0.9 $$\n\n$$ P(T|H) = 0.1 $$\n\n$$ P(D) = 0.2 $$\n\nThen\n\n"
LINE = "We solve\n\n$$ 2 x + 3 y = 7 $$\n\nSubtracting,\n\n"
SIZES = "Counting its entries,\n\n$$ \\|a\\| = r (d + k) $$\n\nSo the share is\n\n"


def last(text: str) -> StepReport:
    return check_document(text, effort=Effort(seconds=2), infer=True).steps[-1]


@pytest.mark.parametrize(
    ("above", "right", "false"),
    [
        (EIGEN, "u^T S u = \\lambda", "u^T S u = 2 \\lambda"),
        (TEST, "P(T|D) P(D) = 0.18", "P(T|D) P(D) = 0.28"),
        (LINE, "2 x = 7 - 3 y", "2 x = 7 + 3 y"),
        (SIZES, "\\frac{\\|a\\|}{r} = d + k", "\\frac{\\|a\\|}{d + k} = 2 r"),
        ("The budget is\n\n$$ a + b + c = 1 $$\n\nand so\n\n", "b + c = 1 - a", "b + c = 1 + a"),
        ("We know\n\n$$ 2 f(u) = a b $$\n\n$$ 2 f(v) = b c $$\n\nso\n\n", "c f(u) = a f(v)", "c f(u) = b f(v)"),
    ],
)
def test_a_consequence_is_accepted_and_its_twin_is_not(above: str, right: str, false: str) -> None:
    step = last(f"{above}$$ {right} $$\n")
    assert step.verdict in GOOD and "states above" in step.evidence.text, step.evidence.text
    assert step.evidence.figures["under"]
    twin = last(f"{above}$$ {false} $$\n")
    assert twin.verdict not in GOOD, twin.evidence.text


@pytest.mark.parametrize(
    ("above", "display"),
    [
        ("We iterate\n\n$$ w = w - \\eta g $$\n\nand find\n\n", "\\eta g = 0"),  # an update
        ("Expanding,\n\n$$ (x + y)^2 = x^2 + y^2 $$\n\nand so\n\n", "(x + y)^2 - x^2 = y^2"),  # a wrong identity
        ("The constraint is\n\n$$ a + b = 1 $$\n\nand it holds\n\n", "a + b = 1"),  # the display once more
        ("On the left\n\n$$ a y = 3 x $$\n\nOtherwise,\n\n", "2 a y = 6 x"),
        ("If they meet,\n\n$$ a y = 3 x $$\n\nthey are alike.\n\n", "2 a y = 6 x"),
        ("It is false that\n\n$$ a y = 3 x $$\n\nand so\n\n", "2 a y = 6 x"),
        ("# One\n\n$$ a y = 3 x $$\n\n# Two\n\nNext\n\n", "2 a y = 6 x"),  # its section has ended
        (
            "The gradient is\n\n$$ \\frac{\\partial L}{\\partial w} = 2 w - 4 b $$\n\nso\n\n",
            "2 w = 4 b",
        ),  # L depends on w
        ("The slope is\n\n$$ \\frac{d y}{d x} = 2 x + 3 c $$\n\nso\n\n", "2 x + 3 c = 0"),
        ("On average\n\n$$ \\mathbb{E}[x] = 2 m $$\n\nso\n\n", "x - 2 m = 0"),  # x is not its average
        ("We know\n\n$$ \\lim_{x \\to 0} F(x) = 0 $$\n\nso\n\n", "\\lim_{x \\to \\infty} F(x) = 0"),
        ("The matrices satisfy\n\n$$ A B = C $$\n\nso that\n\n", "B A = C"),
        ("We get\n\n$$ \\gamma v = 0 $$\n\nand\n\n$$ v = 1 $$\n\nso\n\n", "\\gamma w = 0"),  # which factor is zero?
        ("We know\n\n$$ f(a) = 2 b $$\n\n$$ f(a) = 3 c $$\n\nso\n\n", "f(a) + 1 = 3 c + 1"),  # two values of one symbol
        ("We have\n\n$$ p(a, b) + p(a | b) = p(a) $$\n\nso\n\n", "p(a, b) \\le p(a) - p(a | b)"),  # no rule
        ("For polyhedra\n\n$$ v + f = e + 2 $$\n\nFor tori\n\n", "v + f - e = 2"),  # of others
        ("For polyhedra\n\n$$ v + f = e + 2 $$\n\nSo for tori\n\n", "v + f - e = 2"),
        ("The blue ones obey\n\n$$ a y = 3 x $$\n\nThe red ones obey\n\n", "2 a y = 6 x"),  # no result
        ("Either\n\n$$ a y = 2 x $$\n\nor\n\n$$ a y = 3 x $$\n\nHence\n\n", "2 a y = 6 x"),
        ("The roots obey\n\n$$ a y = 2 x $$\n\nor\n\n$$ a z = 3 x $$\n\nHence\n\n", "2 a y = 4 x"),
        ("The roots obey\n\n$$ a y = 2 x $$\n\nor\n\n$$ a z = 3 x $$\n\nHence\n\n", "2 a z = 6 x"),
        ("We want to show that\n\n$$ a y = 3 x $$\n\nSo\n\n", "2 a y = 6 x"),  # a goal
        ("Is it true that\n\n$$ a y = 3 x $$\n\nhere? So\n\n", "2 a y = 6 x"),
        ("Up to a constant\n\n$$ a y = 3 x $$\n\nSo\n\n", "2 a y = 6 x"),  # not exact
        ("The law is\n\n$$ a y = 3 x $$\n\nprovided that it is cold. So\n\n", "2 a y = 6 x"),
        ("The law is\n\n$$ a y = 3 x $$\n\nIt does not hold. So\n\n", "2 a y = 6 x"),
        ("The width is\n\n$$ 2 w = 3 u $$\n\nFrom here on $w$ stands for the weight. So\n\n", "4 w = 6 u"),
        ("Now\n\n$$ 2 \\|u\\| = 3 \\|v\\| $$\n\n$$ \\|v\\| = 0 $$\n\nso\n\n", "5 \\|u\\| = 4 \\|u\\|"),  # both vanish
    ],
)
def test_what_may_not_hold_below_is_not_used(above: str, display: str) -> None:
    step = last(f"{above}$$ {display} $$\n")
    assert step.verdict not in GOOD, step.evidence.text


def test_a_capital_number_beside_vectors_may_be_a_matrix() -> None:
    above = "We have\n\n$$ S = \\frac{1}{n} \\sum_{i=1}^n x_i^2 $$\n\n$$ S u = \\lambda u $$\n\n$$ u^T u = 1 $$\n\n"
    step = last(f"{above}so\n\n$$ u^T S w = \\lambda u^T w $$\n")
    assert step.verdict not in GOOD, step.evidence.text


def test_equations_become_hypotheses() -> None:
    first, second = (
        one for one in document_steps(LINE + "$$ 2 x = 7 - 3 y $$\n", infer=True)[1] if isinstance(one, Step)
    )
    ((chain, conditions),) = assume_equations(second, [first]).assumed
    assert chain.exprs == (first.left, first.right) and not conditions


def test_few_cases_are_no_ground() -> None:
    few, many = (Finding(Verdict.AGREES, Evidence("", {"cases": one})) for one in (FEWEST_CASES - 1, FEWEST_CASES))
    assert not is_well_founded(few) and is_well_founded(many)
    assert is_well_founded(Finding(Verdict.PROVED, Evidence("")))
