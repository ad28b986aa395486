"""Curves of training as SVG: what was recorded against the step, one panel for quantities that belong together."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from markupsafe import Markup

WIDTH, HEIGHT, LEFT, TOP, BELOW = 460, 240, 60, 30, 50
COLOURS = ("#1f5fbf", "#c2571a", "#2c7a3f", "#7d3aa8", "#8a6d00", "#a82a5a")
AXES = ("step", "epochs")
"""Records that say when, not what."""
LONGEST = 400
"""Points of a curve; of longer ones every so many are drawn, and the last."""


def draw_curves(records: Sequence[Mapping[str, Any]]) -> list[Markup]:
    """Return a panel for each kind of quantity: all whose names end alike (train_loss, dev_loss) share one.

    >>> len(draw_curves([{"step": 1, "train_loss": 2.0, "dev_loss": 3.0}, {"step": 2, "train_loss": 1.0}]))
    1
    """
    from markupsafe import Markup

    panels: dict[str, list[str]] = {}
    for name in dict.fromkeys(name for record in records for name in record):
        if name not in AXES and not name.endswith("_error") and len(points_of(records, name)) > 1:
            panels.setdefault(name.rpartition("_")[2], []).append(name)
    curves = [{name: points_of(records, name) for name in names} for names in panels.values()]
    return [Markup(panel(title, own)) for title, own in zip(panels, curves, strict=True)]


def points_of(records: Sequence[Mapping[str, Any]], name: str) -> list[tuple[float, float]]:
    """(step, value) of the records that have a finite number of this name."""
    found = [
        (float(record["step"]), float(record[name]))
        for record in records
        if isinstance(record.get(name), int | float) and math.isfinite(record[name])
    ]
    every = -(-len(found) // LONGEST)
    return found[:: max(every, 1)] + (found[-1:] if every > 1 else [])


def panel(title: str, curves: Mapping[str, Sequence[tuple[float, float]]]) -> str:
    """One panel with its axes and a legend."""
    xs = [x for points in curves.values() for x, _ in points]
    ys = [y for points in curves.values() for _, y in points]
    across, up = span(xs), span(ys)
    height = HEIGHT + 16 * len(curves)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'role="img" aria-label="{escape(title)} against the step" font-family="sans-serif" font-size="11">',
        f'<rect width="{WIDTH}" height="{height}" rx="6" fill="#ffffff"/>',
        f'<text x="{LEFT}" y="18" fill="#222" font-size="13">{escape(title)}</text>',
        *axis_lines(across, up),
    ]
    for number, (name, points) in enumerate(curves.items()):
        colour = COLOURS[number % len(COLOURS)]
        line = " ".join(f"{x_of(x, across):.1f},{y_of(y, up):.1f}" for x, y in points)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="1.8"/>')
        y = HEIGHT + 8 + 16 * number
        parts.append(f'<rect x="{LEFT}" y="{y - 8}" width="14" height="4" fill="{colour}"/>')
        last = f"{name}: {points[-1][1]:.4g} at the end"
        parts.append(f'<text x="{LEFT + 20}" y="{y - 2}" fill="#222">{escape(last)}</text>')
    return "".join([*parts, "</svg>"])


def axis_lines(across: tuple[float, float], up: tuple[float, float]) -> Sequence[str]:
    """The ends and the middle of both axes, with thin lines."""
    parts = []
    for share in (0.0, 0.5, 1.0):
        x, y = across[0] + share * (across[1] - across[0]), up[0] + share * (up[1] - up[0])
        px, py = x_of(x, across), y_of(y, up)
        parts += [
            f'<line x1="{LEFT}" x2="{WIDTH - 15}" y1="{py:.1f}" y2="{py:.1f}" stroke="#ddd"/>',
            f'<text x="{LEFT - 6}" y="{py + 4:.1f}" fill="#444" text-anchor="end">{y:.3g}</text>',
            f'<text x="{px:.1f}" y="{HEIGHT - BELOW + 16}" fill="#444" text-anchor="middle">{x:.6g}</text>',
        ]
    middle = (LEFT + WIDTH - 15) / 2
    return [*parts, f'<text x="{middle}" y="{HEIGHT - BELOW + 32}" fill="#444" text-anchor="middle">step</text>']


def span(values: Sequence[float]) -> tuple[float, float]:
    """The least and the largest value, apart."""
    low, high = min(values), max(values)
    half = max(0.5, abs(low) / 1000)  # of a constant
    return (low, high) if high > low else (low - half, high + half)


def x_of(value: float, ends: tuple[float, float]) -> float:
    """The place of a step in the picture."""
    return LEFT + (value - ends[0]) / (ends[1] - ends[0]) * (WIDTH - 15 - LEFT)


def y_of(value: float, ends: tuple[float, float]) -> float:
    """The place of a value in the picture."""
    return HEIGHT - BELOW - (value - ends[0]) / (ends[1] - ends[0]) * (HEIGHT - BELOW - TOP)
