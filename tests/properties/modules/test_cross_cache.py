"""attention_core.modules.cross_cache: what it refuses; the laws of its contract are in the suite."""

from __future__ import annotations

import pytest
import torch

from attention_core.modules.cross_cache import CrossCache

X = torch.ones(1, 1, 2, 3)


def test_there_is_no_step_without_a_text() -> None:
    cache = CrossCache()
    with pytest.raises(ValueError, match="there is no text yet"):
        cache(X)
    with pytest.raises(ValueError, match="there is no text to reorder"):
        cache.reorder(torch.zeros(1, dtype=torch.long))
    cache(X, X, X)
    cache.reset()
    with pytest.raises(ValueError, match="there is no text yet"):
        cache(X)


def test_keys_values_and_lengths_come_together() -> None:
    for given in ({"key": X}, {"value": X}, {"lengths": torch.ones(1, dtype=torch.long)}):
        with pytest.raises(ValueError, match="key and value come together, and lengths with them"):
            CrossCache()(X, **given)


def test_a_new_text_may_have_another_shape() -> None:
    cache = CrossCache()
    cache(X, X, X)
    value = torch.arange(8.0).view(2, 1, 4, 1)
    out = cache(0 * torch.ones(2, 1, 1, 3), torch.ones(2, 1, 4, 3), value, torch.tensor([4, 2]))
    assert out.flatten().tolist() == [1.5, 4.5]
