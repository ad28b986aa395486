"""Numbers of a training that cannot be are refused at the door, by name."""

from __future__ import annotations

from typing import Any

import pytest

from finetune.errors import BadInput
from finetune.training.config import TrainConfig

WRONG: list[tuple[dict[str, Any], str]] = [
    ({"epochs": 0}, "epochs must be at least 1, got 0"),
    ({"save_every": -1}, "save_every must be at least 1, got -1"),
    ({"learning_rate": -1e-3}, "learning_rate must not be negative, got -0.001"),
    ({"clip": float("nan")}, "clip must not be negative, got nan"),
    ({"optimizer": "adam"}, "optimizer 'adam' is not one of adamw"),
    ({"schedule": "sine"}, "schedule 'sine' is not one of"),
    ({"precision": "float16"}, "precision 'float16' is not one of float32, bfloat16, auto"),
    ({"batch_size": 3, "accumulate": 4}, "3 examples cannot be computed in 4 parts"),
]


@pytest.mark.parametrize(("fields", "words"), WRONG, ids=[next(iter(fields)) for fields, _ in WRONG])
def test_a_number_that_cannot_be_is_named(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        TrainConfig(**fields)


def test_the_edges_are_allowed() -> None:
    assert TrainConfig(epochs=1, learning_rate=0.0, clip=0.0, batch_size=2, accumulate=2).accumulate == 2
