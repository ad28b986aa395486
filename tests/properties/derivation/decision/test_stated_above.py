r"""What follows from the equations above a step is right, and what may not be meant to hold there is not used."""

from __future__ import annotations

from dataclasses import replace

import pytest

from attention_core.derivation import StepReport, check_document
from attention_core.derivation.check import document_steps
from attention_core.derivation.decision.mends import Search
from attention_core.derivation.decision.stated_above import (
    FEWEST_CASES,
    assume_equations,
    find_equations,
    is_unproved_result,
    is_well_founded,
    read_by_equations,
)
from attention_core.derivation.effort import Effort
from attention_core.derivation.latex.printer import to_latex
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
        (LINE, "2 x + 3 y - 7 = 0", "2 x - 3 y - 7 = 0"),
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
        ("The constraint is\n\n$$ a + b = 1 $$\n\nand so\n\n", "a + b = 1"),  # the display once more
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
        ("We have\n\n$$ k m = 3 t $$\n\nso\n\n", "2 k (m) = 6 t"),  # a value of k
        ("We have\n\n$$ 2 y = 3 c $$\n\nso\n\n", "\\frac{d}{dx} 2 y x = 3 c"),  # y may depend on x
        ("We have\n\n$$ a y \\le 3 x $$\n\nso\n\n", "2 a y \\le 6 x"),  # a claim
        ("We have\n\n$$ x > 0 \\implies a y = 3 x $$\n\nso\n\n", "2 a y = 6 x"),
        ("We have\n\n$$ a y = 3 x \\quad \\text{if } x > 0 $$\n\nso\n\n", "2 a y = 6 x"),
        ("We have\n\n$$ a y = 3 x \\quad \\text{since $x = 0$} $$\n\nso\n\n", "2 a y = 6 x"),
        ("We have\n\n$$\n% expect: refuted\na y = 3 x\n$$\n\nso\n\n", "2 a y = 6 x"),
        ("We know that $s = 3 q$ for all.\n\n$$ s r = 2 b $$\n\nso\n\n", "2 s r = 4 b"),  # it claims something
        ("We get\n\n$$ \\gamma v = 0 $$\n\n$$ v - 1 = 0 $$\n\nso\n\n", "\\gamma w = 0"),
        ("We get\n\n$$ \\mathbb{E}[x] = 2 m $$\n\nso\n\n", "x - 2 m = 0"),
        ("We know\n\n$$ \\lim_{x \\to 0} a x = 2 b $$\n\nso\n\n", "2 b c = 0"),
        ("Beware of the trap\n\n$$ a y = 3 x $$\n\nand so\n\n", "2 a y = 6 x"),
        ("Does one have\n\n$$ a y = 3 x $$\n\nhere? So\n\n", "2 a y = 6 x"),
        ("For blue ones\n\n$$ a y = 3 x $$\n\nSo for red ones\n\n", "2 a y = 6 x"),
        ("We know\n\n$$ a + b = 0 $$\n\nso\n\n", "5 a + 5 b = 4 a + 4 b"),  # both sides vanish
        (
            "We cancel\n\n$$ \\frac{a b}{b c} = \\frac{2 a}{c} $$\n\nso\n\n",
            "(\\frac{a b}{b c})^2 x + \\frac{a b}{b c} y + x = \\frac{4 a^2 x}{c^2} + \\frac{2 a y}{c} + x",
        ),  # a slip
        (
            "# T\n\nLet $a, b \\in \\mathbb{R}$.\n\n## One\n\n$$ 2 a = 3 b $$\n\n## Two\n\nSo\n\n",
            "2 a c = 3 b c",
        ),
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


RESULTS = [
    "Hence", "and so", "It follows that", "We conclude that", "The law is known. Thus", "This shows that", "And therefore we have",
]  # fmt: skip


@pytest.mark.parametrize("words", RESULTS)
def test_nothing_rests_on_a_result_that_is_not_known_to_be_right(words: str) -> None:
    law = "We know\n\n$$ 2 a = 3 b $$\n\n"
    step = last(f"{law}{words}\n\n$$ 4 a = 7 b $$\n\nso\n\n$$ 8 a = 14 b $$\n")
    assert step.verdict not in GOOD, step.evidence.text
    assert last(f"{words}\n\n$$ 2 a = 3 b $$\n\nso\n\n$$ 4 a = 6 b $$\n").verdict not in GOOD


@pytest.mark.parametrize("words", RESULTS)
def test_what_follows_from_a_result_rests_on_what_was_given(words: str) -> None:
    law = "We know\n\n$$ 2 a = 3 b $$\n\n"
    step = last(f"{law}{words}\n\n$$ 4 a = 6 b $$\n\nso\n\n$$ 8 a = 12 b $$\n")
    assert step.verdict in GOOD and step.evidence.figures["under"] == [3]
    assert "line 3 ($2 a = 3 b$), taken as given and not judged here" in step.evidence.text


@pytest.mark.parametrize(
    "words", ["So far so good. The law is", "The law then says", "Hence we study\n\n$$ x = x $$\n\nThe law is"]
)
def test_other_words_give_an_equation(words: str) -> None:
    assert last(f"{words}\n\n$$ 2 a = 3 b $$\n\nso\n\n$$ 4 a = 6 b $$\n").verdict in GOOD


def test_which_equations_are_results() -> None:
    steps = steps_of(
        "Hence\n\n$$ 2 a = 3 b $$\n\nThe sum\n\n$$ 2 a = c + b $$\n\nThus\n\n$$ 2 s = 3 c $$\n\n$$ a s = b $$\n"
    )
    assert [is_unproved_result(one) for one in steps] == [True, False, True, True]


def test_equations_below_a_step_are_not_used() -> None:
    steps = check_document("So\n\n$$ 2 a y = 6 x $$\n\nsince\n\n$$ a y = 3 x $$\n", infer=True).steps
    assert steps[0].verdict not in GOOD


def test_equations_of_other_symbols_do_not_count() -> None:
    others = "".join(f"$$ {name}_1 + {name}_2 = {name} $$\n\n" for name in "cdghkm")
    step = last(f"We have\n\n$$ a y = 3 x $$\n\n$$ 2 x = z $$\n\n{others[:-2]}\n\nso\n\n$$ a y = z + x $$\n")
    assert step.evidence.figures.get("under") == [3, 5], step.evidence.text


def steps_of(text: str) -> list[Step]:
    return [one for one in document_steps(text, infer=True)[1] if isinstance(one, Step)]


def find(step: Step, verdict: Verdict, cases: int = FEWEST_CASES) -> list[Step]:
    """The equations above a step that is false by itself, and has this verdict under any."""
    false, other = Finding(Verdict.REFUTED, Evidence("")), Finding(verdict, Evidence("", {"cases": cases}))
    doubled = "2 (" in to_latex(step.right)

    def decide(one: Step, _: object) -> Finding:
        return other if one.assumed and ("2 (" in to_latex(one.right)) is doubled else false

    return find_equations(step, decide, Search(1.0, 0))


def test_a_step_under_few_cases_is_not_found() -> None:
    above, step = steps_of(LINE + "$$ 2 x = 7 - 3 y $$\n")
    assert find(step, Verdict.AGREES) == [above] == find(step, Verdict.PROVED, 0)
    assert not find(step, Verdict.AGREES, FEWEST_CASES - 1)


def test_a_step_that_is_not_false_needs_no_equations() -> None:
    _, step = steps_of(LINE + "$$ 2 x = 7 - 3 y $$\n")

    def decide(one: Step, _: object) -> Finding:
        return Finding(Verdict.REFUTED if "2 (" in to_latex(one.right) else Verdict.PROVED, Evidence(""))

    assert not find_equations(step, decide, Search(1.0, 0))


def test_a_finding_under_few_cases_is_no_answer() -> None:
    _, step = steps_of(LINE + "$$ 2 x = 7 - 3 y $$\n")
    open_ = Finding(Verdict.UNDECIDED, Evidence("open"))

    def decide(one: Step, _: object) -> Finding:
        return Finding(
            Verdict.PROVED if one.assumed and "2 (" not in to_latex(one.right) else Verdict.REFUTED, Evidence("")
        )

    few, many = (Finding(Verdict.AGREES, Evidence("", {"cases": one})) for one in (FEWEST_CASES - 1, FEWEST_CASES))
    assert read_by_equations(step, open_, decide, Search(1.0, 0), lambda _: few) is open_
    assert read_by_equations(step, open_, decide, Search(1.0, 0), lambda _: many).verdict is Verdict.AGREES


def test_an_equation_of_symbols_of_other_kinds_is_not_used() -> None:
    above, step = steps_of(LINE + "$$ 2 x = 7 - 3 y $$\n")
    context = above.context.copy()
    context.symbols = {**context.symbols, "x": replace(context.symbols["x"], kind="size")}
    step.peers = [replace(above, context=context), step]
    assert not find(step, Verdict.PROVED)


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
