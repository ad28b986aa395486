"""Sequence to sequence: who sees what, found by exchanging tokens."""

from __future__ import annotations

import pytest
import torch

from finetune.experiments.experiment import Setting
from finetune.experiments.sequence_to_sequence import LENGTH, LETTERS, PrefixSoftmax, make, right_sequences
from finetune.experiments.tasks import Reversal

SMALL = Setting(steps=300, n_layer=2, n_head=2, n_embd=16, initial=0.3)
TASK = Reversal(LETTERS, LENGTH)


def changed_places(variant: str, place: int) -> list[bool]:
    """Which places' logits change when the token at a place is exchanged."""
    model = make(variant, 0, SMALL, TASK.kinds).eval()
    x = TASK.batch(0, torch.arange(4).numpy())["x"]
    other = x.clone()
    other[:, place] = 2 + (x[:, place] - 1) % LETTERS
    with torch.no_grad():
        return [bool(b) for b in ((model(x) - model(other)).abs().amax((0, 2)) > 1e-7)]


@pytest.mark.parametrize("variant", ["decoder only", "prefix", "encoder-decoder"])
def test_the_target_is_written_from_left_to_right(variant: str) -> None:
    last_of_target = changed_places(variant, 2 * LENGTH - 2)
    assert not any(last_of_target[: 2 * LENGTH - 2]) and last_of_target[2 * LENGTH - 2]


def test_only_the_decoder_alone_keeps_the_source_from_looking_ahead() -> None:
    seen = {name: changed_places(name, LENGTH - 1) for name in ("decoder only", "prefix", "encoder-decoder")}
    assert not any(seen["decoder only"][: LENGTH - 1])
    assert all(seen["prefix"][: LENGTH - 1]) and all(seen["encoder-decoder"][: LENGTH - 1])
    assert all(places[LENGTH] for places in seen.values())


def test_the_prefix_sees_itself_and_the_rest_is_causal() -> None:
    weights = PrefixSoftmax(2)(torch.zeros(4, 4))
    assert (weights > 0).tolist() == [[1, 1, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]]


def test_a_sequence_is_right_if_all_of_it_is() -> None:
    batch = {"x": torch.tensor([[2, 3, 4], [2, 3, 5]]), "y": torch.tensor([[0, 3, 4], [0, 3, 4]])}
    assert right_sequences(torch.nn.Embedding.from_pretrained(torch.eye(6)), batch) == 0.5
