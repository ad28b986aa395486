"""The first look finds what a window is given as, and explains no fault by a convention."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from attention_core.conformance import Implementation
from attention_core.conformance.engine.session import Session
from attention_core.faults import features as faults

NUMBERS = [make for make, kind in faults.CORRECT.items() if kind != "sides"]


@pytest.mark.parametrize("make", [faults.build, *NUMBERS], ids=lambda make: make.__name__)
def test_the_first_look_finds_what_a_window_is_given_as(make: Callable[[], Any]) -> None:
    with Session(Implementation(make(), name="f", accumulate="float32"), effort="quick") as session:
        look, kind = session.first_look, faults.CORRECT[make]
        assert look is not None and look.agrees
        assert look.found == ({} if kind in ("sides", "last") else {"window": kind})


def test_no_convention_explains_a_fault() -> None:
    record = Implementation(faults.window_one_key_wider(), name="f", accumulate="float32")
    with Session(record, effort="quick") as session:
        look = session.first_look
    assert look is not None and look.found == {}
    assert "no convention explains its calls with a window" in look.lines[-1]


def test_what_rows_without_a_key_in_their_window_hold_is_found() -> None:
    """A plain softmax gives NaN there, and no mask has shown it before."""

    def attention(query: Tensor, key: Tensor, value: Tensor, sliding_window: int | None = None) -> Tensor:
        if query.shape[-3] != key.shape[-3]:
            raise ValueError("heads differ")
        s = query @ key.transpose(-1, -2) * query.shape[-1] ** -0.5
        behind = torch.arange(s.shape[-2])[:, None] - torch.arange(s.shape[-1])
        if sliding_window is not None:
            s = s.masked_fill((behind < 0) | (behind > sliding_window), -torch.inf)
        return torch.softmax(s, -1) @ value

    with Session(Implementation(attention, name="f"), effort="quick") as session:
        look = session.first_look
    assert look is not None and look.found == {"window": "before", "dead_rows": "nan"}
