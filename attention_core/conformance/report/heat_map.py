"""Weights as pictures: what a right attention gives in the case of a counterexample, and maps side by side."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from attention_core.conformance.cases.case import Case
from attention_core.oracle import attention

if TYPE_CHECKING:
    from markupsafe import Markup

    from attention_core.conformance.report.law_result import Counterexample

CELL = 18
"""Width of a cell of a map of a few keys, in pixels."""
WIDEST = 420
"""Width of a map: cells of many keys are narrower."""
MOST = 1024
"""Pairs of a query and a key that are still drawn."""
PLACE = re.compile(r"got \S+ at \[(\d+), (\d+), (\d+), (\d+)\]")
"""The entry of the output that a message names."""


def draw_case(found: Counterexample, declared: Mapping[str, Any]) -> Markup:
    """Return an SVG of the true weights of a counterexample's case, with a frame around the row that it is about.

    Args:
        found: the counterexample.
        declared: the conventions of its target, as a report holds them.

    Returns:
        The picture; nothing where the failing call is another one than that of the case, and where there are more pairs
        than an eye can tell apart.

    >>> from attention_core.conformance.report.law_result import Counterexample
    >>> str(draw_case(Counterexample("a_law", "", "", {}, ""), {}))
    ''
    """
    from markupsafe import Markup

    case = read_case(found.data) if found.calls_case else None
    if case is None or not 0 < case.query.shape[-2] * case.key.shape[-2] <= MOST:
        return Markup("")
    alignment = declared.get("causal") if declared.get("causal") in ("top_left", "bottom_right") else "top_left"
    weights = attention(
        case.query, case.key, case.value, case.mask, is_causal=case.is_causal, alignment=str(alignment),
        scale=case.factor,
    ).weights  # fmt: skip
    place = find_place(found.message, case)
    batch, head = place[:2] if place else (0, 0)
    words = f"right weights of batch {batch}, head {head}" if weights[..., 0, 0].size > 1 else "right weights"
    return Markup(one_picture(words, weights[batch, head], place[2] if place else None))


def read_case(data: Mapping[str, Any]) -> Case | None:
    """The case of a counterexample where it is one call of attention."""
    if data.get("type") != "attention":
        return None
    try:
        return Case.from_json(data)
    except (KeyError, TypeError, ValueError):  # a file that was edited has no picture
        return None


def find_place(message: str, case: Case) -> tuple[int, ...] | None:
    """The entry of the output that a message is about; None where it is about something else."""
    found = PLACE.search(message)
    if found is None or "gradient" in message or message.startswith("lse"):
        return None
    place = tuple(int(number) for number in found.groups())
    shape = (*case.query.shape[:-1], case.value.shape[-1])
    return place if all(i < n for i, n in zip(place, shape, strict=True)) else None


def one_picture(words: str, weights: np.ndarray, row: int | None) -> str:
    """A map of the weights below its words; a frame around one of its rows."""
    cell = min(CELL, WIDEST // max(weights.shape))
    width, height = max(weights.shape[1] * cell + 30, 320), weights.shape[0] * cell + 70
    frame = "" if row is None else (
        f'<rect x="14" y="{29 + row * cell}" width="{weights.shape[1] * cell + 1}" height="{cell + 1}" fill="none" '
        'stroke="#c62828" stroke-width="2"/>'
    )  # fmt: skip
    below = "queries in rows, keys in columns" + ("" if row is None else f"; framed: query {row}")
    return "".join(
        [
            *begin(width, height, f"{words}; {below}"), *one_map(15, words, weights, cell), frame,
            caption(height - 12, below), "</svg>",
        ]
    )  # fmt: skip


def begin(width: float, height: float, words: str) -> Sequence[str]:
    """The head of a picture, with words for who cannot see it."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" aria-label="{escape(words)}" font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" rx="6" fill="#ffffff"/>',
    )


def caption(y: float, words: str) -> str:
    """A line below a map."""
    return f'<text x="15" y="{y}" fill="#333" font-size="11">{escape(words)}</text>'


def one_map(left: int, title: str, weights: np.ndarray, cell: int = CELL) -> Iterator[str]:
    """One map under its title."""
    yield f'<text x="{left}" y="20" fill="#333">{escape(title)}</text>'
    for i, j in np.ndindex(*weights.shape):
        weight = float(weights[i, j])
        place = f'x="{left + j * cell}" y="{30 + i * cell}" width="{cell - 1}" height="{cell - 1}"'
        yield f'<rect {place} fill="{colour(weight)}"><title>{weight:.3g}</title></rect>'


def colour(weight: float) -> str:
    """White for 0 to dark blue for 1; red for what is not a weight (NaN, below 0, above 1).

    >>> colour(1.0), colour(2.0)
    ('#0d47a1', '#c62828')
    """
    if not -1e-6 <= weight <= 1 + 1e-6:
        return "#c62828"
    shade = math.sqrt(min(max(weight, 0.0), 1.0))
    low, high = (236, 241, 248), (13, 71, 161)
    red, green, blue = (round(a + (b - a) * shade) for a, b in zip(low, high, strict=True))
    return f"#{red:02x}{green:02x}{blue:02x}"
