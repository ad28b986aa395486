"""Axes of a target's own order: there and back, for values and for places."""

from __future__ import annotations

import numpy as np
import pytest

from attention_core.conformance.subjects.axes import Arrangement
from attention_core.conformance.subjects.evidence import Violation
from attention_core.conformance.worker.exchange import Request, Value


@pytest.mark.parametrize(
    ("own", "shape"), [("bhnd", (1, 3, 5, 7)), ("bnhd", (1, 5, 3, 7)), ("nhd", (5, 3, 7)), ("hnd", (3, 5, 7))]
)
def test_there_and_back(own: str, shape: tuple[int, ...]) -> None:
    arranged, values = Arrangement("bhnd", own), np.arange(105.0).reshape(1, 3, 5, 7)
    there = arranged.to_target(values)
    assert there.shape == shape and (arranged.from_target(there) == values).all()
    for index in [(0, 2, 4, 6), (0, 1, 3, 2)]:
        assert there[arranged.place(index)] == values[index] and arranged.back(arranged.place(index)) == index


def test_another_shape_is_a_violation() -> None:
    value = Value("float32", (5, 3), np.zeros((5, 3)))
    with pytest.raises(Violation, match=r"lse: got shape \(5, 3\), but should be \(3, 5\)"):
        Arrangement("bhn", "hn").result(value, (1, 3, 5), Request(), "out1", "lse")
