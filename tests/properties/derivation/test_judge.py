"""The verdict on one step, and what it says beside it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from attention_core.derivation.check import check_document, document_steps
from attention_core.derivation.effort import Effort
from attention_core.derivation.judge import decide_step, judge_step
from attention_core.derivation.reading.step import Step
from attention_core.derivation.records import Verdict

EFFORT = Effort(small=4, tuples=1, large=2, altered=10)
FALSE = "Let $x, y \\in \\mathbb{R}$.\n\n$$ (x + y)^2 = x^2 - 2 x y + y^2 $$\n"


def step_of(text: str, *, infer: bool = False, as_read: bool = False) -> Step:
    step = document_steps(text, infer=infer, as_read=as_read)[1][0]
    assert isinstance(step, Step)
    return step


def test_advice_is_given_on_request_alone() -> None:
    assert "$+ 2 x y$ in place of $- 2 x y$" in decide_step(step_of(FALSE), EFFORT, advise=True).evidence.advice
    found = decide_step(step_of(FALSE), EFFORT)
    assert (found.verdict, found.evidence.advice) == (Verdict.REFUTED, "")


def test_a_symbol_that_is_declared_below_is_named_with_its_line() -> None:
    found = decide_step(step_of("$$ 2 a = a + a $$\n\nLet $a \\in \\mathbb{R}$.\n"), EFFORT)
    assert found.verdict is Verdict.UNREADABLE
    assert "line 3 declares it, below its use" in found.evidence.text


def test_words_in_a_display_that_are_not_understood_leave_it_open() -> None:
    step = replace(step_of("Let $x \\in \\mathbb{R}$.\n\n$$ x + x = 2 x $$\n"), unread_words=("on Sundays",))
    found = judge_step(step, EFFORT, False, False)
    assert found.verdict is Verdict.UNDECIDED
    assert "'on Sundays'" in found.evidence.text


@pytest.mark.parametrize(("as_read", "verdict"), [(False, Verdict.UNDECIDED), (True, Verdict.REFUTED)])
def test_what_a_person_confirmed_counts_as_declared(as_read: bool, verdict: Verdict) -> None:
    text = "Suppose that everything here is frobnicated.\n\n$$ (a + b)^2 = a^2 + 2 a b + b^3 $$\n"
    assert judge_step(step_of(text, infer=True, as_read=as_read), EFFORT, False, False).verdict is verdict


def test_a_step_names_what_its_symbols_were_read_as() -> None:
    found = decide_step(step_of("$$ (a + b)^2 = a^2 + 2 a b + b^2 $$\n", infer=True), EFFORT)
    assert found.verdict in (Verdict.PROVED, Verdict.EXACT)
    assert "read as: a" in found.evidence.text


def test_hypotheses_are_dropped_in_turn_on_request() -> None:
    step = step_of("Let $x \\in \\mathbb{R}$ with $x > 0$.\n\n$$ \\sqrt{x^2} = x $$\n")
    assert "necessity" not in judge_step(step, EFFORT, False, False).evidence.figures
    assert "necessity" in judge_step(step, EFFORT, False, True).evidence.figures


WORDS = "Suppose that everything here is frobnicated, and that the first of them is the last."
"""What may restrict anything: beside it nothing is refuted as the document stands."""


@pytest.mark.parametrize(
    ("lead", "verdict"),
    [
        ("", Verdict.REFUTED),
        ("If we ignore the constant, then\n\n", Verdict.UNDECIDED),
        ("Is it true that\n\n", Verdict.UNDECIDED),
    ],
)
@pytest.mark.parametrize(
    "formula",
    [
        r"\frac{S_n - \mu}{\sigma / \sqrt{n + 1}} = \frac{\sqrt{n} (S_n - \mu)}{\sigma}",  # S_n stays undeclared
        "2 g(x) + 3 h(y) = g(x) + 3 h(y) - g(x)",  # g(x) and h(y) do
    ],
)
def test_a_slip_is_refuted_where_a_person_confirmed_the_readings(formula: str, lead: str, verdict: Verdict) -> None:
    document = f"{WORDS}\n\n{lead}$$ {formula} $$\n"
    (plain,) = check_document(document, infer=True).steps
    assert plain.verdict is Verdict.UNDECIDED
    (step,) = check_document(document, as_read=True).steps
    assert step.verdict is verdict
    if verdict is Verdict.REFUTED:
        assert step.evidence.figures["confirmed"] and step.counterexample is not None
        assert step.evidence.text.count("read as: ") == 1 and "(taken as declared)" in step.evidence.text


def test_a_symbol_that_may_be_defined_anew_is_left_open() -> None:
    document = f"{WORDS}\n\n$$ g(x) = a + 2 b $$\n\nNow another one.\n\n\n\n$$ g(x) = a - 2 b $$\n"
    assert check_document(document, as_read=True).steps[-1].verdict is Verdict.UNDECIDED


def test_an_equation_to_be_solved_has_no_slip() -> None:
    document = f"{WORDS}\n\n$$ \\frac{{1}}{{n}} X^\\top (X \\theta - y) = 0 $$\n"
    (step,) = check_document(document, as_read=True).steps
    assert step.verdict is Verdict.UNDECIDED
