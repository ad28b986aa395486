"""How to train, as numbers: what a trainer is given, checked at the door."""

from __future__ import annotations

from dataclasses import dataclass

from finetune.errors import BadInput
from finetune.training.optimizer import OPTIMIZERS, SCHEDULES, rate


@dataclass(frozen=True)
class TrainConfig:
    """How to train; the defaults are the assignment's for pretraining, its rates by tokens left out.

    Args:
        epochs: passes over the source, each in an order of its own.
        batch_size: examples of one step, over all processes and accumulated parts.
        learning_rate, betas, weight_decay: of AdamW; decay on matrices alone.
        clip: largest norm of all gradients together; 0 for none.
        optimizer: a row of `optimizer.OPTIMIZERS`; betas are AdamW's alone; Muon's
            momentum is 0.95, and it leaves all but matrices to AdamW.
        warmup_tokens, final_tokens, floor, schedule: see `optimizer.rate`; tokens are targets, padding is none.
        accumulate: parts in which the examples of a step are computed, one after the other; a source that has
            `widths(epoch, indices)` gets parts of like widths, and so less padding.
        precision: "float32", "bfloat16" (autocast), or "auto": bfloat16 where the processor multiplies in it.
        compile: use torch.compile.
        seed: of the order of examples, and of dropout.
        log_every: steps between two records of metrics; the last step of an epoch has one always.
        save_every: epochs between two checkpoints, where there is a path for one.

    Raises: BadInput for values that cannot be.
    """

    epochs: int = 650
    batch_size: int = 128
    learning_rate: float = 6e-3
    betas: tuple[float, float] = (0.9, 0.95)
    weight_decay: float = 0.1
    clip: float = 1.0
    warmup_tokens: int = 0
    final_tokens: int | None = None
    floor: float = 0.1
    optimizer: str = "adamw"
    schedule: str = "cosine"
    accumulate: int = 1
    precision: str = "float32"
    compile: bool = False
    seed: int = 0
    log_every: int = 10
    save_every: int = 1

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size", "accumulate", "log_every", "save_every"):
            if getattr(self, name) < 1:
                raise BadInput(f"{name} must be at least 1, got {getattr(self, name)}")
        for name in ("learning_rate", "weight_decay", "clip", "warmup_tokens"):
            if not getattr(self, name) >= 0:
                raise BadInput(f"{name} must not be negative, got {getattr(self, name)}")
        for name, rows in (("optimizer", OPTIMIZERS), ("schedule", SCHEDULES)):
            if getattr(self, name) not in rows:
                raise BadInput(f"{name} {getattr(self, name)!r} is not one of {', '.join(rows)}")
        if self.precision not in ("float32", "bfloat16", "auto"):
            raise BadInput(f"precision {self.precision!r} is not one of float32, bfloat16, auto")
        if self.accumulate > self.batch_size:
            raise BadInput(f"{self.batch_size} examples cannot be computed in {self.accumulate} parts")
        rate(0, self.warmup_tokens, self.final_tokens, self.floor)
