"""Steps of faults that treat a mask whose rows are expanded from one row in a way of its own."""

from __future__ import annotations

import torch
from torch import Tensor


def is_one_row(choice: Tensor) -> bool:
    """Whether all rows of a mask, a map or indices lie in the memory of one."""
    return choice.dim() > 1 and choice.shape[-2] > 1 and choice.stride(-2) == 0


def write_into_the_row(choice: Tensor) -> Tensor:
    """A copy of a mask or of indices, whose one row is set to its largest number afterwards, as by a buffer in use."""
    own = choice.clone()
    if is_one_row(choice):
        row = choice[..., 0, :]
        row.copy_(row.amax(-1, keepdim=True).expand(row.shape))
    return own


def read_behind_the_row(choice: Tensor) -> Tensor:
    """What lies in memory where the rows would be if there were as many; itself where that is not the mask's memory."""
    strides = torch.empty(choice.shape, device="meta").stride()
    room = choice.untyped_storage().nbytes() // choice.element_size() - choice.storage_offset()
    return choice.as_strided(choice.shape, strides) if is_one_row(choice) and choice.numel() <= room else choice
