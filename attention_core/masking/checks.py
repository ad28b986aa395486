"""What the builders of structured masks check of their arguments: alignments, counts, tensors of integers.

Messages name the argument, since a wrong mask is otherwise noticed far from where it was made.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import torch
from jaxtyping import Int
from torch import Tensor

Align = Literal["top_left", "bottom_right"]
Integers = Int[Tensor, "..."] | Sequence[int] | Sequence[Sequence[int]]


def offset(n_q: int, n_kv: int, align: Align) -> int:
    """Position of query 0 among the keys."""
    check_sizes(n_q, n_kv)
    return 0 if align == "top_left" else n_kv - n_q


def check_sizes(n_q: int, n_kv: int) -> None:
    """Raise ValueError for a negative length."""
    if n_q < 0 or n_kv < 0:
        raise ValueError(f"lengths must not be negative, got n_q = {n_q}, n_kv = {n_kv}")


def checked_align(align: Align) -> Align:
    """The alignment, or ValueError."""
    if align not in get_args(Align):
        raise ValueError(f"align must be one of {', '.join(get_args(Align))}, got {align!r}")
    return align


def count(name: str, number: object, least: int) -> int:
    """An integer of at least `least`, or ValueError: a float or a bool is a mistake in the call."""
    if isinstance(number, bool) or not isinstance(number, int) or number < least:
        raise ValueError(f"{name} must be an integer of at least {least}, got {number!r}")
    return number


def integers(name: str, numbers: Integers, axes: int) -> Tensor:
    """A tensor of integers of its own: a mask does not change when the caller's tensor does."""
    tensor = torch.as_tensor(numbers)
    if tensor.numel() == 0 and not isinstance(numbers, Tensor):
        tensor = tensor.to(torch.int64)  # an empty list has no dtype of its own
    if tensor.is_floating_point() or tensor.is_complex() or tensor.dtype == torch.bool:
        raise ValueError(f"{name} must be integers, got {tensor.dtype}")
    if tensor.ndim != axes:
        hint = f"; for one sequence, {name}[None]" if (axes, tensor.ndim) == (2, 1) else ""
        raise ValueError(f"{name} must have {axes} axes, got shape {tuple(tensor.shape)}{hint}")
    return tensor.detach().clone()
