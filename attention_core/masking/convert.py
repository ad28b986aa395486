"""Between the two tensor forms of a mask: bool (True = attend) and additive (0 or -inf, added to scores)."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor


def to_additive(mask: Bool[Tensor, "*shape"], dtype: torch.dtype = torch.float32) -> Float[Tensor, "*shape"]:
    """The bias with the same meaning: 0 where True, -inf where False.

    Raises: ValueError for a mask that is not bool. Example: to_additive(tensor([True, False])) is [0, -inf].
    """
    if mask.dtype != torch.bool:
        raise ValueError(f"expected a bool mask, got {mask.dtype}")
    return torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill(~mask, -torch.inf)


def to_bool(additive: Float[Tensor, "*shape"]) -> Bool[Tensor, "*shape"]:
    """The bool mask with the same meaning as a bias of 0 and -inf; the inverse of `to_additive`.

    Raises: ValueError for any other entry: a finite bias is not a mask, -1e9 included, and would be lost.
    Example:
        >>> to_bool(torch.tensor([0.0, -torch.inf]))
        tensor([ True, False])
    """
    if not additive.is_floating_point():
        raise ValueError(f"expected a floating bias, got {additive.dtype}")
    if not bool(((additive == 0) | (additive == -torch.inf)).all()):
        raise ValueError("only biases of 0 and -inf are masks; this one has other entries")
    return additive == 0
