"""How canonical arrays (B, H, n, d) lie in the target's own axes, and back.

A target of 3 axes (B, n, d) gets the problems of all heads along its batch axis, one of 2 axes (n, d) a single problem.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attention_core.conformance.evidence import NotApplicable
from attention_core.conformance.exchange import NDArray


@dataclass(frozen=True)
class Axes:
    """The axes of an array on the target's side.

    Args:
        count: 4 for (B, H, n, d) or, with layout "bnhd", (B, n, H, d); 3 for (B, n, d); 2 for (n, d).
        layout: "bhnd" or "bnhd"; of 4 axes alone. An output may also be "bne", (B, n, H d): its heads are joined.

    Example:
        >>> Axes(3).to_target(np.zeros((2, 3, 5, 7))).shape
        (6, 5, 7)
    """

    count: int = 4
    layout: str = "bhnd"

    def to_target(self, values: NDArray) -> NDArray:
        """A canonical array in the target's axes.

        Raises:
            NotApplicable: it has more problems, or other axes, than the target takes.
        """
        if self.count == 4:
            turned = np.swapaxes(values, -3, -2) if self.layout != "bhnd" and values.ndim >= 3 else values
            if self.layout == "bne" and values.ndim >= 3:
                return turned.reshape(*turned.shape[:-2], turned.shape[-2] * turned.shape[-1])
            return turned
        if values.ndim < 3:
            raise NotApplicable(f"the target takes arrays of {self.count} axes")
        shape = values.shape
        if self.count == 3:
            return values.reshape(shape[0] * shape[1], *shape[2:])
        if shape[0] != 1 or shape[1] != 1:
            raise NotApplicable("the target takes one problem at a time")
        return values.reshape(shape[2:])

    def from_target(self, values: NDArray, shape: tuple[int, ...]) -> NDArray:
        """An array in the target's axes as the canonical array of a shape."""
        if self.count == 4:
            if self.layout == "bne" and len(shape) >= 3:
                values = values.reshape(*shape[:-3], shape[-2], shape[-3], shape[-1])
            return np.swapaxes(values, -3, -2) if self.layout != "bhnd" and values.ndim >= 3 else values
        return values.reshape(shape)

    def place(self, index: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, ...]:
        """Where the element of a canonical array of a shape lies on the target's side."""
        if self.count == 4 and self.layout == "bne" and len(index) >= 3:
            return (*index[:-3], index[-2], index[-3] * shape[-1] + index[-1])
        if self.count == 4:
            swapped = self.layout == "bnhd" and len(index) >= 3
            return (*index[:-3], index[-2], index[-3], index[-1]) if swapped else index
        return (index[0] * shape[1] + index[1], *index[2:]) if self.count == 3 else index[2:]

    def canonical(self, place: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, ...]:
        """The inverse of `place`."""
        if self.count == 4 and self.layout == "bne":
            return (*place[:-2], place[-1] // shape[-1], place[-2], place[-1] % shape[-1])
        if self.count == 4:
            return self.place(place, shape)
        return (*divmod(place[0], shape[1]), *place[1:]) if self.count == 3 else (0, 0, *place)

    def mask_to_target(self, mask: NDArray, heads: tuple[int, int]) -> NDArray:
        """A mask for scores of (batch, heads) problems; of two axes it fits as it is.

        Raises:
            NotApplicable: it holds more than one mask for a target of 2 axes.
        """
        if self.count == 4 or mask.ndim <= 2:
            return mask
        leading, matrix = mask.shape[:-2], mask.shape[-2:]
        if self.count == 2:
            if int(np.prod(leading)) != 1:
                raise NotApplicable("the target takes one problem at a time")
            return mask.reshape(matrix)
        if all(n in (1, whole) for n, whole in zip(reversed(leading), reversed(heads), strict=False)):
            mask = np.broadcast_to(mask, (*heads, *matrix))
        return np.ascontiguousarray(mask).reshape(int(np.prod(mask.shape[:-2])), *matrix)
