"""Grades for the terminal: a line or two each, the smallest case, and a table of many."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from attention_core.grading.results import Grade
from attention_core.grading.rules import RULES

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

STYLES = {"accepted": "green", "refused": "red", "incomplete": "yellow", "error": "yellow"}

NOT_CITED = ("law", "changes_grader")
"""Rules without the threads of cheats that broke them: a wrong kernel is no cheat, and others change files, too."""


def headline(grade: Grade) -> str:
    """The verdict in a line.

    >>> headline(Grade("a.py", "t", "refused", rule="hung", reason="no answer within 20 s"))
    'a.py: refused (hung): no answer within 20 s'
    """
    rule = f" ({grade.rule})" if grade.rule else ""
    if grade.verdict == "accepted":
        words = f": {spoken}" if (spoken := speed_of(grade)) else ""
        laws = f", {grade.laws['held']} laws hold" if grade.laws else ""
        return f"{grade.submission}: accepted{words}{laws}"
    return f"{grade.submission}: {grade.verdict}{rule}: {grade.reason}"


def speed(ratio: float) -> str:
    """A ratio of times in words.

    >>> speed(0.5), speed(2.0)
    ('2.00 times as fast as the reference', '0.50 times as fast as the reference')
    """
    return f"{1 / ratio:.2f} times as fast as the reference"


def speed_of(grade: Grade) -> str:
    """How fast a submission is, '' where it was not timed; no claim where each interval has the reference's speed."""
    if grade.ratio is None:
        return ""
    compared = [each["comparison"] for each in grade.timings]
    if all(c["low"] <= 1 <= c["high"] for c in compared):
        if any(c["low"] <= 0 or math.isinf(c["high"]) for c in compared):
            return "its times vary too much to tell its speed from the reference's"
        slowest, fastest = min(1 / c["high"] for c in compared), max(1 / c["low"] for c in compared)
        return f"between {slowest:.2f} and {fastest:.2f} times as fast as the reference: no difference is shown"
    return speed(grade.ratio)


def details(grade: Grade) -> Iterator[str]:
    """What a person should know beside the verdict."""
    for each in grade.timings:
        c = each["comparison"]
        yield (
            f"{each['shape']}: {each['seconds'] * 1e3:.3g} ms, the reference {each['reference'] * 1e3:.3g} ms; "
            f"time over the reference's {c['ratio']:.2f}, 95 % interval {c['low']:.2f} to {c['high']:.2f}; "
            f"{each['calls']} calls judged, largest error {each['worst']:.2g} of what is allowed"
        )
    if grade.case:
        yield f"smallest case ({grade.law.replace('_', ' ')}): {grade.case}"
    if grade.hint:
        yield f"{'the law' if grade.law else 'what to do'}: {grade.hint}"
    if grade.law and grade.rule in RULES:  # the hint is what the law promises, and what was seen of it
        yield f"what to do: {RULES[grade.rule].hint}"
    yield from grade.notes
    if grade.rule in RULES and RULES[grade.rule].sources and grade.rule not in NOT_CITED:
        yield f"known from: {'; '.join(RULES[grade.rule].sources)}"


def print_grade(console: Console, grade: Grade, *, quiet: bool = False) -> None:
    """Print one grade."""
    console.print(headline(grade), style=STYLES[grade.verdict], highlight=False, markup=False, soft_wrap=True)
    if quiet:
        return
    for line in details(grade):
        console.print(f"  {line}", highlight=False, markup=False, soft_wrap=True)
    if grade.snippet:
        console.print(grade.snippet, highlight=False, markup=False, soft_wrap=True)


def grade_table(grades: Sequence[Grade]) -> Table:
    """One row a submission: accepted ones first, the fastest first."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name, right in (("submission", False), ("verdict", False), ("speed", True), ("why", False)):
        table.add_column(name, justify="right" if right else "left")
    for grade in sort_by_rank(grades):
        ratio = grade.ratio
        fast = "" if ratio is None or grade.verdict != "accepted" else f"{1 / ratio:.2f}x"
        why = f"{grade.rule}: {grade.reason}" if grade.rule else grade.reason
        table.add_row(grade.submission, grade.verdict, fast, why[:120], style=STYLES[grade.verdict])
    return table


def sort_by_rank(grades: Sequence[Grade]) -> list[Grade]:
    """Accepted submissions first, the fastest first."""
    return sorted(grades, key=lambda each: (each.verdict != "accepted", each.ratio or 0.0))


def rules_as_text() -> str:
    """The table of rules, for `--rules`."""
    lines = []
    for rule in RULES.values():
        lines.append(f"{rule.name}: {rule.sentence} {rule.hint}")
        if rule.sources:
            lines.append(f"    {'; '.join(rule.sources)}")
    return "\n".join(lines)
