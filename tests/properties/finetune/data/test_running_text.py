"""Running text as a source.

finetune.data.running_text: stretches of a text, each with the character behind every place as its target.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from finetune.data.running_text import RunningText, split
from finetune.errors import BadInput


@given(st.integers(1, 12), st.integers(1, 60), st.integers(0, 5), st.integers(0, 3))
def test_targets_are_one_place_ahead(block: int, more: int, seed: int, epoch: int) -> None:
    source = RunningText(np.arange(block + more), block, seed)
    chosen = np.arange(len(source))
    batch = source.batch(epoch, chosen)
    assert batch["x"].shape == batch["y"].shape == (len(source), block)
    # The text counts up by one: so do x and y, and y is one ahead.
    assert (batch["y"] == batch["x"] + 1).all() and (batch["x"][:, 1:] == batch["x"][:, :-1] + 1).all()
    part = source.batch(epoch, chosen[::-1])
    assert (part["x"].flip(0) == batch["x"]).all()


def test_every_place_comes_about() -> None:
    """Seven places of a stretch, 400 draws: one is missed with probability below 7 (6/7)^400 < 1e-25."""
    source = RunningText(np.arange(10), 3)
    starts = {int(x) for epoch in range(200) for x in source.batch(epoch, np.arange(2))["x"][:, 0]}
    assert starts == set(range(7))
    assert not (source.batch(0, np.arange(3))["x"] == source.batch(1, np.arange(3))["x"]).all()


def test_stretches_beside_one_another_have_each_target_once() -> None:
    source = RunningText(np.arange(1000), 3)
    targets = [y for batch in source.beside() for y in batch["y"].flatten().tolist()]
    assert targets == list(range(1, 1000)) and len(source.beside()) == 6


def test_the_end_is_held_out() -> None:
    first, last = split(np.arange(50), 0.2)
    assert first.tolist() == list(range(40)) and last.tolist() == list(range(40, 50))


def test_a_text_that_is_too_short_is_told() -> None:
    with pytest.raises(BadInput, match="a text of 8 characters has no stretch of 8 and one more"):
        RunningText(np.arange(8), 8)
