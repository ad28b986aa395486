"""Masked language modelling, 80/10/10.

finetune.data.masked_lm: what may be chosen, how often, what becomes of it, and that inputs stay.
"""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

from finetune.data import draws
from finetune.data.masked_lm import IGNORED, mask_tokens
from finetune.errors import BadInput

SIZE, HIDDEN, SPECIAL = 50, 4, (0, 1, 2)


def batch(rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    of = draws.keys(seed, 0, np.arange(rows))
    ids = 5 + (draws.uniform(of[:, None], np.arange(30)[None]) * 45).astype(np.int64)
    ids[:, 0], ids[:, 25], ids[:, 26:] = 1, 2, 0  # first, last, padding
    return ids, draws.keys(seed + 1, 0, np.arange(rows))


def test_special_tokens_are_never_chosen_and_labels_are_the_old_ids() -> None:
    ids, of = batch(500)
    inputs, labels = mask_tokens(ids, of, vocabulary_size=SIZE, mask_id=HIDDEN, special=SPECIAL, rate=1.0)
    special = np.isin(ids, SPECIAL)
    assert (labels[special] == IGNORED).all() and (inputs[special] == ids[special]).all()
    assert (labels[~special] == ids[~special]).all()
    inputs, labels = mask_tokens(ids, of, vocabulary_size=SIZE, mask_id=HIDDEN, special=SPECIAL)
    assert (inputs[labels == IGNORED] == ids[labels == IGNORED]).all()


def test_shares_are_15_percent_and_80_10_10(stats: ModuleType) -> None:
    """Binomial counts: p-values above 1e-6 with a fixed seed."""
    ids, of = batch(4000)
    inputs, labels = mask_tokens(ids, of, vocabulary_size=SIZE, mask_id=HIDDEN, special=SPECIAL)
    able, chosen = int((~np.isin(ids, SPECIAL)).sum()), labels != IGNORED
    assert stats.binomtest(int(chosen.sum()), able, 0.15).pvalue > 1e-6
    n, new, old = int(chosen.sum()), inputs[chosen], ids[chosen]
    # A random id is the mask or the old one, each once in 50.
    assert stats.binomtest(int((new == HIDDEN).sum()), n, 0.8 + 0.1 / SIZE).pvalue > 1e-6
    assert stats.binomtest(int((new == old).sum()), n, 0.1 + 0.1 / SIZE).pvalue > 1e-6
    others = new[(new != HIDDEN) & (new != old)]
    assert set(others) >= set(range(4)) and others.max() == SIZE - 1
    per_place = chosen[:, 1:25].sum(0)
    assert stats.chisquare(per_place).pvalue > 1e-6


def test_the_batch_around_a_row_does_not_matter_and_inputs_stay() -> None:
    ids, of = batch(6)
    before = ids.copy()
    options = {"vocabulary_size": SIZE, "mask_id": HIDDEN, "special": SPECIAL}
    whole = mask_tokens(ids, of, **options)
    part = mask_tokens(ids[[4, 2]], of[[4, 2]], **options)
    assert (ids == before).all() and all((p == w[[4, 2]]).all() for p, w in zip(part, whole, strict=True))


@pytest.mark.parametrize(
    ("shares", "words"),
    [
        ({"rate": 1.5}, "rate"),
        ({"masked": -0.1}, "masked"),
        ({"masked": 0.95}, r"masked \+ random"),
        ({"random": 2}, "random"),
    ],
)
def test_bad_shares_are_refused(shares: dict[str, float], words: str) -> None:
    ids, of = batch(1)
    with pytest.raises(BadInput, match=words):
        mask_tokens(ids, of, vocabulary_size=SIZE, mask_id=HIDDEN, special=SPECIAL, **shares)
