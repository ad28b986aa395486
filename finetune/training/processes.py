"""One process, or several through Hugging Face Accelerate, behind one small face that the trainer uses.

With several, each takes its share of every batch, and gradients are averaged between them.
"""

from __future__ import annotations

import gc
import os
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from typing import Any

import torch
from torch import Tensor, nn

from finetune.errors import BadInput


class OneProcess:
    """This process alone, on one device."""

    rank, world = 0, 1

    def __init__(self, device: str | None = None) -> None:
        name = device or ("cuda" if torch.cuda.is_available() else "cpu")
        try:
            self.device = torch.device(name)
            torch.empty(1, device=self.device)
        except (RuntimeError, AssertionError) as error:
            raise BadInput(f"device {name} cannot be used here: {str(error).splitlines()[0]}") from None

    def wrap(self, model: nn.Module) -> nn.Module:
        """What is called in training; its gradients are those of the model."""
        return model

    def backward(self, loss: Tensor) -> None:
        """Add a loss's gradients to those there are."""
        loss.backward()  # type: ignore[no-untyped-call]

    def no_sync(self, model: nn.Module) -> AbstractContextManager[Any]:
        """Within, gradients stay in this process: more of the same step are to come."""
        return nullcontext()

    def all_reduce(self, value: Tensor) -> Tensor:
        """The sum over all processes."""
        return value

    def all_gather(self, value: Tensor) -> list[Tensor]:
        """The values of all processes, in their order."""
        return [value]

    def barrier(self) -> None:
        """Go on when all are here."""


class Accelerated(OneProcess):
    """Several processes, started by `accelerate launch` or torchrun."""

    def __init__(self, device: str | None = None) -> None:
        try:
            from accelerate import Accelerator
        except ModuleNotFoundError:
            raise BadInput(
                "several processes need Hugging Face Accelerate: python -m pip install 'attention-core[finetune]'"
            ) from None
        # Its functions have the group that is there when it is imported as a default, for good. DDP imports it late,
        # and the threads of a group that is kept so outlive `leave_group`.
        import_module("torch.distributed.nn.functional")
        self.accelerator = Accelerator(cpu=device == "cpu" or not torch.cuda.is_available())
        self.device = self.accelerator.device
        self.rank, self.world = self.accelerator.process_index, self.accelerator.num_processes

    def wrap(self, model: nn.Module) -> nn.Module:
        """The model, its gradients averaged over the processes after each backward."""
        wrapped: nn.Module = self.accelerator.prepare_model(model)
        return wrapped

    def no_sync(self, model: nn.Module) -> AbstractContextManager[Any]:
        """Within, gradients are not yet averaged."""
        held: AbstractContextManager[Any] = self.accelerator.no_sync(model)
        return held

    def all_reduce(self, value: Tensor) -> Tensor:
        """The sum over all processes."""
        summed: Tensor = self.accelerator.reduce(value.clone(), "sum")
        return summed

    def all_gather(self, value: Tensor) -> list[Tensor]:
        """The values of all processes, which have one shape, in their order."""
        return list(self.accelerator.gather(value.to(self.device)[None]).cpu())

    def barrier(self) -> None:
        """Go on when all are here."""
        self.accelerator.wait_for_everyone()


def processes(device: str | None = None) -> OneProcess:
    """This process alone, or its share of several where a launcher says that there are more.

    Raises: BadInput for a device that is not there, and for several processes without Accelerate.
    """
    return Accelerated(device) if int(os.environ.get("WORLD_SIZE", "1")) > 1 else OneProcess(device)


def leave_group() -> None:
    """End the group of processes once all have come here; alone, do nothing.

    The threads of a group that is still there when Python ends abort its process now and then, though its work is done.
    A model that is wrapped for several processes keeps the group, so this is called when all is done.
    """
    if not (torch.distributed.is_available() and torch.distributed.is_initialized()):
        return
    from accelerate.state import PartialState

    gc.collect()  # what is wrapped may be in a circle
    PartialState().wait_for_everyone()
    PartialState().destroy_process_group()
