"""The other sides of the benchmark.

What finetune is measured against: minGPT from a checkout of its own, and span corruption item by item.
Nothing of minGPT is here but calls of it: its folder is named on the command line.
"""

from __future__ import annotations

import contextlib
import io
import random
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

from finetune.errors import BadInput
from finetune.models.gpt import GPTConfig

Step = Callable[[dict[str, Tensor]], tuple[float, int]]


class MinGPT:
    """minGPT's model and optimizer, in the order of its trainer: forward, zero_grad, backward, clip, step."""

    def __init__(self, folder: Path, config: GPTConfig, learning_rate: float) -> None:
        if not (folder / "mingpt" / "model.py").is_file():
            raise BadInput(f"{folder} is no checkout of minGPT: it has no mingpt/model.py")
        sys.path.insert(0, str(folder))
        with contextlib.redirect_stdout(io.StringIO()):  # it prints its number of parameters
            from mingpt.model import GPT  # type: ignore[import-not-found]

            told = GPT.get_default_config()
            told.model_type = None
            for name in ("vocab_size", "block_size", "n_layer", "n_head", "n_embd"):
                setattr(told, name, getattr(config, name))
            for name in ("embd_pdrop", "resid_pdrop", "attn_pdrop"):
                setattr(told, name, config.dropout)
            self.model: nn.Module = GPT(told)
        # As everywhere here, its positions start as zeros in our model and are drawn in its own: it keeps its own.
        settings = SimpleNamespace(learning_rate=learning_rate, betas=(0.9, 0.95), weight_decay=0.1)
        self.optimizer = self.model.configure_optimizers(settings)  # type: ignore[operator]
        self.model.train()

    def step(self, batch: dict[str, Tensor]) -> None:
        """One step on a batch; PAD (0) is what it calls -1."""
        y = torch.where(batch["y"] == 0, -1, batch["y"])
        _, loss = self.model(batch["x"], y)
        self.model.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()


class ItemByItem(torch.utils.data.Dataset[Any]):
    """Span corruption as the assignment words it, one document at a time, in Python: the yardstick of our batches.

    Written from the specification: cut to a random length of 4 to 7/8 of the block; a stretch of a quarter on average
    goes to the end, masks where it was and before it; padded; x and y are the string without its last and first.
    """

    def __init__(self, documents: list[str], ids: dict[str, int], block: int) -> None:
        self.documents, self.ids, self.block = documents, ids, block

    def __len__(self) -> int:
        return len(self.documents)

    def __getitem__(self, number: int) -> tuple[Tensor, Tensor]:
        document = self.documents[number]
        length = random.randint(4, int(self.block * 7 / 8))
        document = document[:length]
        masked = random.randint(1, max(1, len(document) // 2 - 1))
        start = random.randint(0, len(document) - masked)
        inside = document[start : start + masked]
        text = document[:start] + "\u2047" + document[start + masked :] + "\u2047" + inside
        text = text + "\u25a1" * (self.block + 1 - len(text))
        x = torch.tensor([self.ids[c] for c in text[:-1]], dtype=torch.long)
        y = torch.tensor([self.ids[c] for c in text[1:]], dtype=torch.long)
        return x, y
