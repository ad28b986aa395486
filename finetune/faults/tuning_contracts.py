"""Rows of the contracts of training steps and of parameter-efficient fine-tuning: their faults, and correct ones."""

from __future__ import annotations

from finetune.faults import adapter_faults
from finetune.faults import adapters
from finetune.faults import training_steps
from finetune.faults.finetune_contracts import of
from attention_core.faults.row import Row

ROWS: tuple[Row, ...] = (
    *(of(made, "training-step", "law") for made in training_steps.FAULTY),
    *(of(made, "peft", "law") for made in adapter_faults.FAULTY),
)
CORRECT: tuple[Row, ...] = (
    *(of(made, "training-step", "odd", expected="conforms") for made in training_steps.CORRECT),
    *(of(made, "peft", "odd", expected="conforms") for made in adapters.CORRECT),
)
