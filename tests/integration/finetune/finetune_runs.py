"""What each process of the test does.

A small run of the trainer in float64 without dropout, started in one or several processes by test_finetune_processes.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import torch

from finetune.models.gpt import GPT, GPTConfig, next_token_loss
from finetune.training.config import TrainConfig
from finetune.training.processes import leave_group
from finetune.training.train import Trainer

THREADS = Path("/proc/self/task")


class Texts:
    """Nine examples with 1 to 6 targets each."""

    def __init__(self) -> None:
        generator = torch.Generator().manual_seed(0)
        self.x = torch.randint(1, 9, (9, 6), generator=generator)
        self.y = torch.randint(1, 9, (9, 6), generator=generator)
        for row in range(9):
            self.y[row, 1 + row % 6 :] = 0

    def __len__(self) -> int:
        return 9

    def batch(self, epoch: int, indices: Any) -> dict[str, torch.Tensor]:
        return {"x": self.x[indices], "y": self.y[indices]}


def run(path: str, *, resume: bool = False, stop: int | None = None) -> list[dict[str, Any]]:
    """The records of a run, without times; with `stop` it is saved after so many steps."""
    torch.manual_seed(0)
    model = GPT(GPTConfig(9, 6, 1, 2, 8, dropout=0.0)).double()
    records: list[dict[str, Any]] = []
    config = TrainConfig(epochs=3, batch_size=4, learning_rate=1e-2, accumulate=2, log_every=1, save_every=9)
    trainer = Trainer(model, next_token_loss, Texts(), config, path=Path(path), sinks=[records.append])
    trainer.run(resume=resume, stop_after=stop)
    if stop is not None:
        trainer.save()
    return [{k: v for k, v in record.items() if k != "seconds"} for record in records]


def all_runs(folder: str) -> list[list[dict[str, Any]]]:
    """A whole run, one that stops after four steps, and its rest, in the same processes."""
    whole, cut = run(f"{folder}/whole"), run(f"{folder}/cut", stop=4)
    return [whole, cut, run(f"{folder}/cut", resume=True)]


if __name__ == "__main__":
    torch.set_num_threads(1)
    found = all_runs(sys.argv[1])
    first, world = True, 1
    if torch.distributed.is_initialized():
        world = torch.distributed.get_world_size()
        first = torch.distributed.get_rank() == 0
    leave_group()
    left = sum(1 for _ in THREADS.iterdir()) - 1 if THREADS.exists() else 0  # Linux alone lists those of C++
    if first:
        print(f"{world} processes, {left} threads left")
        print(json.dumps(found), flush=True)
