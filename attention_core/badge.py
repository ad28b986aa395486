"""A badge: two words side by side, as an SVG that stands alone."""

from __future__ import annotations

from markupsafe import escape

WIDTH, PAD = 6.6, 7
"""Pixels of a character at 11 px, and beside a word."""


def draw_badge(label: str, word: str, colour: str) -> str:
    """Return the SVG of a label and a word on a colour.

    >>> "12 &lt; 40" in draw_badge("audit", "12 < 40", "#c0392b")
    True
    """
    left, right = (round(len(text) * WIDTH) + 2 * PAD for text in (label, word))
    label, word = str(escape(label)), str(escape(word))
    texts = "".join(
        f'<text x="{x:g}" y="14" text-anchor="middle">{text}</text>'
        for x, text in ((left / 2, label), (left + right / 2, word))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img" '
        f'aria-label="{label}: {word}"><title>{label}: {word}</title>'
        f'<clipPath id="r"><rect width="{left + right}" height="20" rx="3"/></clipPath><g clip-path="url(#r)">'
        f'<rect width="{left}" height="20" fill="#444"/><rect x="{left}" width="{right}" height="20" '
        f'fill="{colour}"/></g><g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">'
        f"{texts}</g></svg>\n"
    )
