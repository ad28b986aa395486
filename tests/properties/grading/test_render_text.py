"""Grades on the terminal."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO

from rich.console import Console

from attention_core.grading.render_text import details, grade_table, headline, rules_as_text
from attention_core.grading.results import Grade
from attention_core.grading.rules import RULES

TIMING = {"shape": "n=3", "seconds": 0.5, "reference": 1.0, "comparison": {"ratio": 0.5, "low": 0.4, "high": 0.6},
          "calls": 18, "worst": 0.1}  # fmt: skip
FAST = Grade("fast.py", "t", "accepted", timings=[TIMING], laws={"held": 70, "broken": 0})
STALE = Grade("stale.py", "t", "refused", rule="stale_answer", reason="call 3", hint="Compute.", timings=[TIMING])


def test_the_verdict_comes_first_and_a_refused_one_has_no_speed() -> None:
    assert headline(FAST) == "fast.py: accepted: 2.00 times as fast as the reference, 70 laws hold"
    assert headline(STALE) == "stale.py: refused (stale_answer): call 3"
    assert any("known from" in line and "flashinfer" in line for line in details(STALE))


def test_a_broken_law_is_named_as_one_and_then_what_to_do() -> None:
    broken = Grade("a.py", "t", "refused", rule="law", reason="agrees", hint="It agrees. got 1", law="agrees")
    said = list(details(broken))
    assert "the law: It agrees. got 1" in said and f"what to do: {RULES['law'].hint}" in said
    assert "what to do: Compute." in list(details(STALE))


def test_the_table_has_the_fastest_first() -> None:
    slow = Grade("slow.py", "t", "accepted", timings=[{**TIMING, "comparison": {"ratio": 4.0}}])
    console = Console(width=120, record=True, file=StringIO())
    console.print(grade_table([STALE, slow, FAST]))
    lines = console.export_text().splitlines()
    assert [line.split()[0] for line in lines[1:]] == ["fast.py", "slow.py", "stale.py"]
    assert "2.00x" in lines[1] and "0.25x" in lines[2] and "x" not in lines[3].split()[1]


def test_the_table_of_rules() -> None:
    assert all(f"{name}: " in rules_as_text() for name in RULES)


def test_no_speed_is_claimed_where_the_intervals_have_that_of_the_reference() -> None:
    (timing,) = FAST.timings
    even = timing | {"comparison": timing["comparison"] | {"ratio": 1.35, "low": 0.82, "high": 1.71}}
    told = headline(replace(FAST, timings=[even]))
    assert "between 0.58 and 1.22 times as fast as the reference: no difference is shown" in told
    faster = headline(replace(FAST, timings=[even, timing]))
    assert "times as fast as the reference" in faster  # one shape tells them apart


def test_an_interval_without_ends_is_told_in_words() -> None:
    """As blocks on a busy machine have it: one over its lower end is no number."""
    (timing,) = FAST.timings
    for low, high in ((0.0, float("inf")), (0.0, 2.0), (0.5, float("inf"))):
        loose = timing | {"comparison": timing["comparison"] | {"ratio": 1.0, "low": low, "high": high}}
        assert "vary too much to tell its speed from the reference's" in headline(replace(FAST, timings=[loose]))
