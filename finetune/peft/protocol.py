"""What every method of fine-tuning a part of a model can do: inject, name, merge, disable, save, load.

An adapter remembers the values of what it trains and was there before, so that the model can be had as it was.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from finetune.errors import BadInput
from finetune.peft.files import Saved, write_adapter
from finetune.peft.model_parts import modules_of, task_of


class Method(ABC):
    """Options of one method; a frozen record with the two ways to make an adapter of it."""

    name: ClassVar[str]
    peft_types: ClassVar[tuple[str, ...]]
    """What adapter_config.json may call it, the usual word first; one of `peft`'s where that library has the method."""

    @abstractmethod
    def inject(self, model: nn.Module) -> Adapter:
        """Put it into a model that holds no adapter."""

    @classmethod
    @abstractmethod
    def of_config(cls, saved: Saved, model: nn.Module) -> Method:
        """The options that a saved adapter was made with. Raises: BadInput for those that are not supported here."""


class Adapter:
    """A method in a model.

    Args: model; method; head, own, inner: names of parameters that are trained: the head's, those that the method
        added, and others that were there before. What was there is remembered as it was.
    """

    prefix: ClassVar[str] = "base_model."
    """What `peft` puts before the names of the model's own tensors; another with matrices inside the model."""

    def __init__(
        self, model: nn.Module, method: Method, head: list[str], own: Sequence[str] = (), inner: Sequence[str] = ()
    ) -> None:
        self.model, self.method, self.head, self.own, self.enabled = model, method, head, list(own), True
        trained = [*inner, *head]
        parameters = dict(model.named_parameters())
        self.trained = {name: parameters[name] for name in trained}
        self.before = {name: parameter.detach().clone() for name, parameter in self.trained.items()}
        wanted = {*trained, *own}
        for name, parameter in parameters.items():
            parameter.requires_grad_(name in wanted)

    def trainable(self) -> list[str]:
        """The names of the parameters that are trained, the head's among them."""
        return [name for name, parameter in self.model.named_parameters() if parameter.requires_grad]

    def merge(self) -> None:
        """Put the adapter into the weights; a second time does nothing. Raises: BadInput where a method cannot."""
        raise BadInput(f"{self.method.name} cannot be merged into the weights")

    def unmerge(self) -> None:
        """Take the adapter out of the weights again, to the bits that were there; a second time does nothing.

        Raises: BadInput where a method cannot.
        """
        raise BadInput(f"{self.method.name} cannot be merged into the weights")

    @contextmanager
    def disabled(self) -> Iterator[None]:
        """The model as it was before, its head too, while the context lasts; nested ones are one."""
        if not self.enabled:
            yield
            return
        self.enabled = False
        self._swap()
        try:
            yield
        finally:
            self._swap()
            self.enabled = True

    @torch.no_grad()
    def _swap(self) -> None:
        """Exchange the values of what is trained with those that were there; the parameters stay the same objects."""
        for name, parameter in self.trained.items():
            now = parameter.detach().clone()
            parameter.copy_(self.before[name])
            self.before[name] = now

    # --- files ----------------------------------------------------------------------------------------

    def config(self) -> dict[str, Any]:
        """What adapter_config.json says of the method."""
        return {}

    def tensors(self) -> Mapping[str, Tensor]:
        """The method's own tensors under the names of the file."""
        return {}

    def put_tensors(self, found: dict[str, Tensor], misfit: str) -> None:
        """Put the method's own tensors into place, and take them out of `found`. Raises: BadInput as `put`."""

    def save(self, folder: str | Path) -> None:
        """Write the adapter and the head, and nothing else of the model, into a folder, made where it is not there.

        Raises: BadInput where a file cannot be written; each is written all or nothing.
        """
        if not self.enabled:
            raise BadInput("the adapter is disabled: its values are not in the model, and are not saved")
        config = {
            "peft_type": self.method.peft_types[0], "task_type": task_of(self.model), "inference_mode": True,
            "base_model_name_or_path": getattr(getattr(self.model, "config", None), "_name_or_path", None) or None,
            "modules_to_save": modules_of(self.model, self.head) or None, **self.config(),
        }  # fmt: skip
        write_adapter(folder, config, {**self.tensors(), **{self.prefix + name: p for name, p in self.trained.items()}})

    def put(self, saved: Saved) -> None:
        """Put what was saved into the adapter that is in the model.

        Raises: BadInput, naming the first difference, where tensors are missing, left over, or of another shape.
        """
        found = dict(saved.tensors)
        message = f"{saved.path} does not fit this model"
        listed = saved.config.get("modules_to_save") or []
        if not isinstance(listed, list):
            raise BadInput(f"{saved.path}: modules_to_save should be a list, got {listed!r}")
        for name, parameter in self.trained.items():
            # The library takes less to be the head, and a pooler never: what it did not train stays as it is.
            wanted = name not in self.head or any(f".{part}." in f".{name}." for part in listed)
            if not wanted and self.prefix + name not in found:
                continue
            take(found, self.prefix + name, parameter, message)
        self.put_tensors(found, message)
        if found:
            raise BadInput(f"{message}: it has no place for {min(found)}")


@torch.no_grad()
def take(found: dict[str, Tensor], name: str, parameter: Tensor, misfit: str) -> None:
    """Copy a tensor of a file into a parameter, and take it out.

    Raises: BadInput where it is absent or of another shape.
    """
    if name not in found:
        raise BadInput(f"{misfit}: {name} is missing")
    value = found.pop(name)
    if value.shape != parameter.shape:
        raise BadInput(f"{misfit}: {name} has the shape {tuple(value.shape)}, but should have {tuple(parameter.shape)}")
    parameter.copy_(value)
