"""The states of all random generators that a training step may draw from, as values that a checkpoint can hold."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch


def random_states() -> dict[str, Any]:
    """The states of the generators that a step may draw from: torch's, NumPy's and Python's."""
    kind, words, place, has_gauss, gauss = np.random.get_state(legacy=True)
    state = np.asarray(words).astype(np.int64)
    return {
        "torch": torch.get_rng_state(),
        "cuda": list(torch.cuda.get_rng_state_all()) if torch.cuda.is_available() else [],
        "numpy": (str(kind), torch.from_numpy(state), int(place), int(has_gauss), float(gauss)),
        "python": random.getstate(),
    }  # fmt: skip


def restore_random_states(states: Mapping[str, Any]) -> None:
    """Put the generators back where `random_states` found them."""
    torch.set_rng_state(states["torch"])
    if states["cuda"] and torch.cuda.is_available():
        torch.cuda.set_rng_state_all(states["cuda"])
    kind, words, *rest = states["numpy"]
    np.random.set_state((kind, words.numpy().astype(np.uint32), *rest))
    random.setstate(states["python"])
