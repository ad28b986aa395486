"""SymPy as an independent witness of equations between numbers.

SymPy decides whether the difference of the two sides is 0, where the step rests on no hypothesis but signs. It decides
little, and is sometimes wrong itself; so an answer that contradicts the verdict changes nothing, and is shown.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import sympy

from attention_core.derivation.claims import claim_of
from attention_core.derivation.exchange.to_sympy import Untranslatable, relation_to_sympy
from attention_core.derivation.graph.nodes import Unsettled
from attention_core.derivation.latex.syntax import Unreadable
from attention_core.derivation.reading.step import Step, Unread
from attention_core.derivation.records import GOOD, StepReport, Verdict
from attention_core.derivation.terms.relevance import relevant
from attention_core.derivation.terms.terms import Relation, ShapeMismatch

SECONDS = 5.0  # of processor time for one step


class Late(Exception):
    """SymPy took too long."""


def ask_sympy(step: Step, seconds: float = SECONDS) -> bool | None:
    """Ask SymPy whether the equation of a step holds.

    Args:
        step: A step that can be read.
        seconds: Processor time after which no answer is waited for (in the main thread; elsewhere SymPy is not called).

    Returns:
        Its answer; None where it gives none, or where a hypothesis other than a sign matters.
    """
    try:
        context, claim, extra = claim_of(step)
        if claim.op != "=" or not (claim.left.type.scalar and claim.right.type.scalar):
            return None
        _, hypotheses, _ = relevant(context, [claim.left, claim.right], extra)
        if not all(_is_sign(one) for one in hypotheses):
            return None
        relation = relation_to_sympy(context, claim)
        if relation.has(sympy.MatrixSymbol):
            return None
        with _time_limit(seconds):
            answer = sympy.simplify((relation.lhs - relation.rhs).doit()).equals(0)
    except (Untranslatable, Unreadable, ShapeMismatch, Unsettled, Late, RecursionError):
        return None
    except Exception:  # a fault of SymPy answers nothing
        return None
    return answer if isinstance(answer, bool) else None


def compare_answer(verdict: Verdict, answer: bool | None) -> str:
    """What an answer says of a verdict, in words; '' where there is no answer or no verdict.

    Example:
        >>> compare_answer(Verdict.PROVED, True), compare_answer(Verdict.REFUTED, True)
        ('SymPy agrees', 'SymPy disagrees: one of the two is wrong, please report it')
    """
    if answer is None or (verdict not in GOOD and verdict is not Verdict.REFUTED):
        return ""
    agrees = answer is (verdict in GOOD)
    return "SymPy agrees" if agrees else "SymPy disagrees: one of the two is wrong, please report it"


def add_answer(step: Step | Unread, report: StepReport) -> StepReport:
    """The report on a step with what SymPy answers, where it answers.

    Args:
        step: The step.
        report: What was found of it.
    """
    words = "" if isinstance(step, Unread) else compare_answer(report.verdict, ask_sympy(step))
    if not words:
        return report
    evidence = report.evidence
    figures = {**evidence.figures, "witness": words}
    return replace(report, evidence=replace(evidence, text=f"{evidence.text}; {words}", figures=figures))


def _is_sign(hypothesis: Relation) -> bool:
    """Whether a hypothesis compares one symbol with a number."""
    sides = (hypothesis.left, hypothesis.right)
    return hypothesis.op != "=" and any(a.op in ("leaf", "size") and b.op == "const" for a, b in (sides, sides[::-1]))


@contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    """Raise `Late` after some processor time."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        raise Late

    def stop(number: int, frame: Any) -> None:
        raise Late

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
