"""What the commands train with where no option says otherwise: plain numbers, for the recipes and for their --help.

Nothing heavy is imported here, so that help is quick; `TrainConfig` has what no command sets.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

ANY: Mapping[str, Any] = {
    "weight_decay": 0.1, "optimizer": "adamw", "accumulate": 1, "precision": "float32", "log_every": 10,
    "save_every": 1, "seed": 0,
}  # fmt: skip
"""`TrainConfig`'s own; a test holds the two together."""
PRETRAINING: Mapping[str, Any] = {"epochs": 650, "batch_size": 128, "learning_rate": 6e-3, "warmup_tokens": 512 * 20}
FINETUNING: Mapping[str, Any] = {**PRETRAINING, "epochs": 75, "batch_size": 256, "learning_rate": 6e-4}
"""From scratch; after pretraining there are `EPOCHS_AFTER_PRETRAINING`."""
EPOCHS_AFTER_PRETRAINING = 10
CHARACTERS: Mapping[str, Any] = {
    "epochs": 10**6, "batch_size": 64, "learning_rate": 1e-3, "warmup_tokens": 0, "final_tokens": None, "log_every": 20,
}  # fmt: skip
"""More epochs than any number of minutes has; the rate stays what it is."""
