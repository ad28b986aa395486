"""Rows of the contracts of training steps and of parameter-efficient fine-tuning: their faults, and correct ones."""

from __future__ import annotations

from attention_core.faults.row import Row
from finetune.faults import adapter_faults, adapters, training_steps
from finetune.faults.finetune_contracts import of

ROWS: tuple[Row, ...] = (
    *(of(made, "training-step", "law") for made in training_steps.FAULTY),
    *(of(made, "peft", "law") for made in adapter_faults.FAULTY),
)
CORRECT: tuple[Row, ...] = (
    *(of(made, "training-step", "odd", expected="conforms") for made in training_steps.CORRECT),
    *(of(made, "peft", "odd", expected="conforms") for made in adapters.CORRECT),
)
