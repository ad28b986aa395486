"""Rows of the contracts of training steps and of parameter-efficient fine-tuning: their faults, and correct ones."""

from __future__ import annotations

from mutants import training_steps
from mutants.catalogue.finetune_contracts import of
from mutants.catalogue.rows import Row

ROWS: tuple[Row, ...] = tuple(of(made, "training-step", "law") for made in training_steps.FAULTY)
CORRECT: tuple[Row, ...] = tuple(
    of(made, "training-step", "odd", expected="conforms") for made in training_steps.CORRECT
)
