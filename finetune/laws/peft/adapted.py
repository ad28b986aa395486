"""What `--contract peft` grades: a small model with a method of fine-tuning in it, as a class derived from `Adapted`.

It runs on the side of the code under test. Write `model` and `inject`, and what else the method can do; the rest stands
here, and asks for nothing but torch.
"""

from __future__ import annotations

import copy
import math
from contextlib import AbstractContextManager
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from finetune.laws.peft import formulas as adapted_formulas
from finetune.laws.peft.formulas import Lacks, is_of, result_of, rows_of, wide

RATE = 0.5
STEP = 2.0**-10
KINDS = ("lora", "prompt", "prefix", "bias", "head")


class Adapted(nn.Module):
    """A model and its adapter.

    What the laws are to expect stands in attributes:

    * `kind`: "lora", "prompt", "prefix", "bias", "head"; another word for a method of your own (then write `count`).
    * `head`: names of modules of the plain model that are trained and saved along, such as ("classifier", "pooler").
    * `targets`, `rank`, `scale`: of LoRA: ends of the names of its matrices, r, and s in W + s B A.
    * `length`: P of prompts and prefixes; `layers`, `width` of prefixes: L, and the numbers of a key in all key heads.
    * `neutral`: whether a new adapter changes nothing (default: for all but prompts and prefixes).
    * `tokens`, `pad`, `longest`, `segments`: real ids from the first to below the second, the id of padding, how long a
      text may be, and how many kinds of segments `call` reads (0: none).

    Args: seed, of the model and of what the method draws; dtype, a name such as "float64"; saved, a folder that the
        adapter is loaded from, "" for a new one.
    Example: attention-core verify --contract peft my.py:Mine
    """

    kind: ClassVar[str] = ""
    head: ClassVar[tuple[str, ...]] = ()
    targets: ClassVar[tuple[str, ...]] = ()
    rank: ClassVar[int] = 0
    scale: ClassVar[float] = 1.0
    length: ClassVar[int] = 0
    layers: ClassVar[int] = 0
    width: ClassVar[int] = 0
    neutral: ClassVar[bool | None] = None
    tokens: ClassVar[tuple[int, int]] = (2, 20)
    pad: ClassVar[int] = 0
    longest: ClassVar[int] = 8
    segments: ClassVar[int] = 0

    # --- what is to be written ------------------------------------------------------------------------

    def model(self) -> nn.Module:
        """The model without any adapter; small. Its parameters are drawn anew: fresh biases and norms hide faults."""
        raise Lacks("model() is to be written")

    def inject(self, model: nn.Module) -> nn.Module:
        """Put the method into a model, in place or around it; returns what is called from now on (`self.adapted`)."""
        raise Lacks("inject() is to be written")

    def call(self, model: nn.Module, ids: Tensor, mask: Tensor | None, segments: Tensor | None) -> Tensor:
        """Outputs of a model, plain or adapted: logits (B, C), or a vector for each token of the text, (B, n, E).

        Args: ids (B, n); mask (B, n), 1 where real, None for everywhere; segments (B, n), None for 0.
        """
        named = {"input_ids": ids, "attention_mask": mask, "token_type_ids": segments}
        return result_of(model(**{name: value for name, value in named.items() if value is not None}))

    def merge(self) -> None:
        """Put the adapter into the weights."""
        raise Lacks("it has no merge()")

    def unmerge(self) -> None:
        """Take it out of them again."""
        raise Lacks("it has no unmerge()")

    def disabled(self) -> AbstractContextManager[Any]:
        """A context in which `self.adapted` is the plain model."""
        raise Lacks("it has no disabled()")

    def save(self, folder: str) -> None:
        """Write the adapter, with the head, into a folder that is not there yet."""
        raise Lacks("it has no save()")

    def load(self, model: nn.Module, folder: str) -> nn.Module:
        """Put what was saved into a plain model whose head is another; returns what `inject` does."""
        raise Lacks("it has no load()")

    def checkpoint(self) -> None:
        """Turn gradient checkpointing on, as a user does after the method is in the model."""
        raise Lacks("it has no checkpoint()")

    def by_hand(self, ids: Tensor, mask: Tensor | None) -> Tensor:
        """The adapted outputs, computed from the plain model and the trained numbers without the method's own code.

        Here for LoRA whose matrices are called lora_A (r, in) and lora_B (out, r), for prompts of one vector a row on a
        model that takes inputs_embeds, and for biases and heads. For a prefix, write the concatenation out.
        """
        return adapted_formulas.by_hand(self, ids, mask)

    def count(self) -> int:
        """How many numbers are trained: r (d_in + d_out) a matrix, P d, 2 L P d_kv or all biases; and the head."""
        return adapted_formulas.count(self)

    # --- what the laws ask ------------------------------------------------------------------------------

    def __init__(self, seed: int, dtype: str, saved: str = "") -> None:
        super().__init__()
        torch.manual_seed(seed)
        base = self.model()
        redrawn(dict(base.named_parameters()), seed)
        base = base.to(getattr(torch, dtype)).eval()
        self.__dict__["plain"] = copy.deepcopy(base)  # no part of this module: it is not trained, nor listed
        if saved:
            head = {name: p for name, p in base.named_parameters() if is_of(name, self.head)}
            redrawn(head, seed + 1_000_003)
            self.adapted = self.load(base, saved)
        else:
            self.adapted = self.inject(base)
        self.adapted.to(getattr(torch, dtype))

    def forward(self, ids: Tensor, mask: Tensor | None = None, segments: Tensor | None = None) -> Tensor:
        """Outputs with the adapter."""
        return self.call(self.adapted, ids, mask, segments)

    def before(self, ids: Tensor, mask: Tensor | None = None, segments: Tensor | None = None) -> Tensor:
        """Outputs of the model as it was before."""
        plain: nn.Module = self.__dict__["plain"]
        return self.call(plain.eval(), ids, mask, segments)

    def off(self, ids: Tensor, mask: Tensor | None = None, segments: Tensor | None = None) -> Tensor:
        """Outputs with the adapter disabled."""
        with self.disabled():
            return self.forward(ids, mask, segments)

    def facts(self) -> Tensor:
        """The count (-1: none is given), whether a new adapter changes nothing, and what texts may be."""
        neutral = self.kind in ("lora", "bias", "head") if self.neutral is None else self.neutral
        try:
            count = self.count() if self.kind in KINDS or type(self).count is not Adapted.count else -1
        except Lacks:
            count = -1
        found = [count, neutral, *self.tokens, self.pad, self.longest, self.segments]
        return torch.tensor(found, dtype=torch.float64)

    def draw(self, seed: int, head: bool = True) -> Tensor:
        """Draw what is trained anew, as after training; the head, too, or not. Returns how many parameters it was."""
        trained = {name: p for name, p in self.adapted.named_parameters() if p.requires_grad}
        chosen = {name: p for name, p in trained.items() if head or not is_of(name, self.head)}
        redrawn(chosen, seed)
        return torch.tensor([float(len(chosen))])

    def numbers(self) -> Tensor:
        """All parameters in one row."""
        return wide(rows_of(self, lambda p: p.detach()))

    def flags(self) -> Tensor:
        """For each of them, whether it is trained."""
        return wide(rows_of(self, lambda p: torch.full_like(p, float(p.requires_grad))))

    def freeze(self) -> Tensor:
        """Let no parameter be trained any more, as when an adapter is loaded to serve it. Returns how many were."""
        trained = [p for p in self.adapted.parameters() if p.requires_grad]
        self.adapted.requires_grad_(False)
        return torch.tensor([float(len(trained))])

    def statistics(self) -> Tensor:
        """All buffers in one row."""
        return wide([b.detach().reshape(-1) for b in self.adapted.buffers()] or [torch.zeros(0)])

    def learn(self, cotangent: Tensor, ids: Tensor, mask: Tensor | None = None) -> Tensor:
        """One step of SGD by an optimizer that was given all parameters; for each number, whether it got a gradient."""
        with torch.enable_grad():
            for parameter in self.adapted.parameters():
                parameter.grad = None
            optimizer = torch.optim.SGD(self.adapted.parameters(), lr=RATE)
            total = (self.forward(ids, mask) * cotangent).sum()
            if total.requires_grad:
                torch.autograd.backward(total)
            has = wide(rows_of(self, lambda p: torch.full_like(p, float(p.grad is not None))))
            optimizer.step()
        return has

    def slopes(self, cotangent: Tensor, seed: int, ids: Tensor, mask: Tensor | None = None) -> Tensor:
        """The slope of each trained parameter along a drawn direction: by autograd, and as two central differences."""
        generator = torch.Generator().manual_seed(seed)
        rows = []
        for parameter in [p for p in self.adapted.parameters() if p.requires_grad]:
            way = torch.randn(parameter.shape, generator=generator, dtype=torch.float64).to(parameter.dtype)
            with torch.enable_grad():
                total = (self.forward(ids, mask) * cotangent).sum()
                found = torch.autograd.grad(total, parameter, allow_unused=True)[0] if total.requires_grad else None
            row = [0.0 if found is None else float((found * way).sum())]
            start = parameter.detach().clone()
            for step in (STEP, STEP / 2):
                ends = []
                for sign in (1, -1):
                    parameter.data.copy_(start + sign * step * way)
                    ends.append(float((self.forward(ids, mask) * cotangent).sum()))
                row.append((ends[0] - ends[1]) / (2 * step))
            parameter.data.copy_(start)
            rows.append(row)
        return torch.tensor(rows, dtype=torch.float64).reshape(-1, 3)


@torch.no_grad()
def redrawn(parameters: dict[str, nn.Parameter], seed: int) -> None:
    """Draw parameters anew: noise of a matrix's usual size, around what was set where that was one number."""
    generator = torch.Generator().manual_seed(seed)
    for parameter in parameters.values():
        noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
        one = bool((parameter == parameter.reshape(-1)[0]).all()) if parameter.numel() else True
        kept = parameter.double() if one and not parameter.shape[1:] else torch.zeros(())
        parameter.copy_(kept + noise / math.sqrt(max(4, *parameter.shape, 0)))
