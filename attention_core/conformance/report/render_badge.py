"""The verdict over all targets as a badge: an SVG that stands alone."""

from __future__ import annotations

from collections.abc import Sequence

from attention_core.conformance.report.results import VERDICTS, Report

COLOURS = {"conforms": "#2a7d3f", "refuted": "#c0392b", "incomplete": "#a66a00", "error": "#5f6368"}
WORST = ("refuted", "error", "incomplete", "conforms")
LABEL = "attention"
WIDTH, PAD = 6.6, 7
"""Pixels of a character at 11 px, and beside a word."""


def to_badge(reports: Sequence[Report]) -> str:
    """Return the SVG of the worst verdict: refuted before error before incomplete before conforms.

    >>> from attention_core.conformance.report.results import Report
    >>> "incomplete" in to_badge([Report("mine.py:attention")])
    True
    """
    assert set(WORST) == set(VERDICTS)
    found = {report.verdict for report in reports} or {"incomplete"}
    word = next(verdict for verdict in WORST if verdict in found)
    left, right = (round(len(text) * WIDTH) + 2 * PAD for text in (LABEL, word))
    texts = "".join(
        f'<text x="{x:g}" y="14" text-anchor="middle">{text}</text>'
        for x, text in ((left / 2, LABEL), (left + right / 2, word))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img" '
        f'aria-label="{LABEL}: {word}"><title>{LABEL}: {word}</title>'
        f'<clipPath id="r"><rect width="{left + right}" height="20" rx="3"/></clipPath><g clip-path="url(#r)">'
        f'<rect width="{left}" height="20" fill="#444"/><rect x="{left}" width="{right}" height="20" '
        f'fill="{COLOURS[word]}"/></g><g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">'
        f"{texts}</g></svg>\n"
    )
