"""The interpreter in place of a GPU: tensors answer code that checks for one that they are on it.

A launcher often says `assert x.is_cuda` or `with torch.cuda.device(x.device.index):` around a kernel that runs in
Triton's interpreter all the same. No property of a GPU is made up: what asks for a name, a capability or a number of
processors learns that there is none.
"""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from typing import Any

LIBRARIES = ("torch", "triton", "attention_core", "numpy")
"""Packages that hear the truth: they choose how to compute by it."""


def stand_in_for_a_gpu() -> None:
    """Let tensors say to a target that they are on a GPU, and its device be one that can be entered."""
    import torch

    truth: Any = torch.Tensor.is_cuda
    enter = torch.cuda.device

    def is_cuda(tensor: Any) -> bool:
        asking = sys._getframe(1).f_globals.get("__name__", "").partition(".")[0]
        return bool(truth.__get__(tensor)) or asking not in LIBRARIES

    def device(where: Any) -> AbstractContextManager[Any]:
        index = where.index if isinstance(where, torch.device) else where
        return nullcontext() if index is None else enter(index)

    torch.Tensor.is_cuda = property(is_cuda)  # type: ignore[assignment]
    torch.cuda.device = device  # type: ignore[assignment, misc]
