"""The tensors of a workload: drawn once from its seed, the same for every kernel of the cell.

Values are standard normal, drawn in float64 by NumPy and rounded to the dtype, so that the same seed gives the same
problem on every device.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from attention_core.bench.workloads.masks import ROWS
from attention_core.bench.workloads.workload import Workload


@dataclass
class Inputs:
    """query (B, H, n_q, d), key (B, H_kv, n_kv, d), value (B, H_kv, n_kv, d_v), cotangent like the output (or None)."""

    workload: Workload
    query: Tensor
    key: Tensor
    value: Tensor
    cotangent: Tensor | None
    dense: Tensor | None = None

    def mask_tensor(self) -> Tensor | None:
        """The mask written out, (n_q, n_kv): bool, or a bias in the dtype; made on first use."""
        if self.dense is None and self.workload.mask.kind != "none":
            self.dense = dense_mask(self.workload, self.query.device)
        return self.dense


def draw(workload: Workload, device: str = "cpu") -> Inputs:
    """The tensors of a workload.

    Example:
        >>> draw(Workload(n_q=3, n_kv=5)).key.shape
        torch.Size([1, 8, 5, 64])
    """
    w = workload
    shapes = {
        "query": (w.B, w.H, w.n_q, w.d), "key": (w.B, w.H_kv, w.n_kv, w.d), "value": (w.B, w.H_kv, w.n_kv, w.d_v),
        "cotangent": (w.B, w.H, w.n_q, w.d_v),
    }  # fmt: skip
    if w.direction == "fwd":
        del shapes["cotangent"]
    made: dict[str, Any] = {"cotangent": None}
    for name, shape in shapes.items():
        rng = np.random.default_rng([w.seed, *name.encode()])
        made[name] = torch.from_numpy(rng.standard_normal(shape)).to(getattr(torch, w.dtype)).to(device)
    if w.direction == "bwd":
        for name in ("query", "key", "value"):
            made[name].requires_grad_()
    return Inputs(w, **made)


def bias_rows(workload: Workload, start: int, stop: int) -> Tensor:
    """Rows of the drawn bias, in the dtype: (stop - start, n_kv)."""
    w = workload
    drawn = [np.random.default_rng([w.seed, row, *b"bias"]).standard_normal(w.n_kv) for row in range(start, stop)]
    return torch.from_numpy(np.array(drawn)).to(getattr(torch, w.dtype))


def dense_mask(workload: Workload, device: torch.device) -> Tensor:
    """The whole mask as a tensor (n_q, n_kv), True = attend, or the bias with -inf where forbidden."""
    w = workload
    bias = w.mask.kind == "bias"
    dense = torch.empty((w.n_q, w.n_kv), dtype=getattr(torch, w.dtype) if bias else torch.bool)
    for start in range(0, w.n_q, ROWS):
        stop = min(start + ROWS, w.n_q)
        allow = torch.from_numpy(w.mask.rows(w.n_q, w.n_kv, start, stop, w.seed))
        if bias:
            dense[start:stop] = bias_rows(w, start, stop).masked_fill(~allow, -torch.inf)
        else:
            dense[start:stop] = allow
    return dense.to(device)
