"""Durations, ratios and intervals as people read them."""

from __future__ import annotations

import pytest

from attention_core.bench.report.number_words import duration, factor, format_end


@pytest.mark.parametrize(
    ("seconds", "words"), [(2.5, "2.5 s"), (1.25e-2, "12.5 ms"), (3e-6, "3 µs"), (4.2e-8, "42 ns")]
)
def test_durations(seconds: float, words: str) -> None:
    assert duration(seconds) == words


@pytest.mark.parametrize(("end", "words"), [(1.2, "1.200"), (None, "?"), (float("inf"), "?"), (0.0, "?")])
def test_ends_of_intervals(end: float | None, words: str) -> None:
    assert format_end(end) == words


@pytest.mark.parametrize(
    ("ratio", "words"),
    [(1.04, "1.040"), (0.5, "0.500"), (0.0031, "0.0031"), (3.14159e-5, "3.14e-05"), (123.4567, "123.457")],
)
def test_no_ratio_reads_as_nothing(ratio: float, words: str) -> None:
    assert factor(ratio) == words
    assert format_end(0.0003) == "0.0003" and factor(0.0031, 2) == "0.0031" and factor(0.04, 2) == "0.04"
