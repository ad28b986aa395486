"""Training: the trainer, optimizers, checkpoints, and everything that lets a run stop and go on."""

from __future__ import annotations
