"""Curves: one panel for quantities of one kind, finite points alone, and the last point is always drawn."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from attention_core.report_page.curves import HEIGHT, LONGEST, WIDTH, draw_curves, points_of


def test_quantities_of_one_kind_share_a_panel() -> None:
    records = [{"step": k, "train_loss": 1.0 / k, "dev_loss": 2.0, "dev_accuracy": 0.5, "epochs": k} for k in (1, 2, 3)]
    first, second = draw_curves(records)
    assert first.count("<polyline") == 2 and second.count("<polyline") == 1 and "accuracy against" in second


def test_what_is_not_a_finite_number_has_no_point() -> None:
    records = [{"step": 1, "loss": float("nan")}, {"step": 2, "loss": None}, {"step": 3, "loss": 1.5}]
    assert points_of(records, "loss") == [(3.0, 1.5)] and draw_curves(records) == []


def test_a_long_curve_is_thinned_and_keeps_its_end() -> None:
    records = [{"step": k, "loss": float(k)} for k in range(5003)]
    points = points_of(records, "loss")
    assert len(points) <= LONGEST + 1 and points[0] == (0.0, 0.0) and points[-1] == (5002.0, 5002.0)


@given(st.lists(st.floats(-1e300, 1e300), min_size=2, max_size=9))
def test_every_point_lies_in_the_picture(values: list[float]) -> None:
    (picture,) = draw_curves([{"step": k, "loss": value} for k, value in enumerate(values)])
    (line,) = re.findall(r'points="([^"]*)"', picture)
    for pair in line.split():
        x, y = map(float, pair.split(","))
        assert 0 <= x <= WIDTH and 0 <= y <= HEIGHT


def test_a_name_is_text() -> None:
    (picture,) = draw_curves([{"step": k, "<b>_loss": 1.0} for k in range(2)])
    assert "<b>" not in picture and "&lt;b&gt;_loss" in picture
