"""Made-up sequences: the same whoever asks, and as likely as they say."""

from __future__ import annotations

import numpy as np
import torch

from finetune.data.running_text import RunningText
from finetune.data.vocabulary import MASK_ID
from finetune.experiments.tasks import FIRST, Lookup, MaskedText, RandomTokens, Reversal, tokens


def test_a_stretch_does_not_depend_on_its_batch() -> None:
    source = RandomTokens(4, 8, seed=3)
    alone, together = source.batch(1, np.array([7])), source.batch(1, np.array([5, 7]))
    assert torch.equal(alone["x"][0], together["x"][1]) and torch.equal(alone["x"][:, 1:], alone["y"][:, :-1])
    assert not torch.equal(source.batch(2, np.array([7]))["x"], alone["x"])


def test_tokens_are_uniform() -> None:
    counts = torch.bincount(tokens(0, 0, np.arange(4000), 4, 5).flatten(), minlength=FIRST + 5)
    assert not counts[:FIRST].any()
    # five standard deviations of a binomial of 16,000 draws with p = 1/5
    assert ((counts[FIRST:] - 3200).abs() < 5 * (16_000 * 0.16) ** 0.5).all()


def test_a_lookup_has_each_key_once_and_the_letter_of_the_one_asked_for() -> None:
    task = Lookup(4, 3, seed=1)
    batch = task.batch(0, np.arange(300))
    pairs, asked = batch["x"][:, :-1] - FIRST, batch["x"][:, -1] - FIRST - 12
    keys, letters = pairs // 3, pairs % 3
    assert torch.equal(keys.sort(1)[0], torch.arange(4).expand(300, 4)) and task.kinds == FIRST + 12 + 4
    wanted = letters[keys == asked[:, None]]
    assert torch.equal(batch["y"][:, -1] - FIRST, wanted) and not batch["y"][:, :-1].any()
    # each key stands first in about a quarter of the sequences: five standard deviations
    assert ((torch.bincount(keys[:, 0]) - 75).abs() < 5 * (300 * 3 / 16) ** 0.5).all()


def test_a_reversal_is_the_source_backwards_by_the_rule() -> None:
    batch = Reversal(5, 4).batch(0, np.arange(50))
    source, target = batch["x"][:, :4] - FIRST, batch["y"][:, 4:] - FIRST
    assert torch.equal(target, (source.flip(1) + 1) % 5) and not batch["y"][:, :4].any()
    assert torch.equal(batch["x"][:, 5:] - FIRST, target[:, :-1]) and (batch["x"][:, 4] == FIRST + 5).all()


def test_masked_text_hides_its_targets_and_nothing_else() -> None:
    stretches = RunningText(np.arange(2, 500), 20)
    batch = MaskedText(stretches, 0.3, 7).batch(2, np.arange(40))
    text = stretches.batch(2, np.arange(40))["x"]
    masked = batch["x"] == MASK_ID
    assert torch.equal(batch["y"] != 0, masked) and torch.equal(torch.where(masked, batch["y"], batch["x"]), text)
    assert masked.any(1).all()
    # five standard deviations of 800 draws with p = 0.3
    assert abs(int(masked.sum()) - 240) < 5 * (800 * 0.21) ** 0.5
    alone = MaskedText(stretches, 0.3, 7).batch(2, np.array([5]))
    assert torch.equal(alone["x"][0], batch["x"][5])
