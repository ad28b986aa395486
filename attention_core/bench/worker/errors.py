"""Errors of a kernel on the very inputs that it is timed on, against the float64 truth and its derived budget.

Large problems are judged on a part: some query rows of every head forward, some heads backward. What was judged is
told.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from attention_core import oracle
from attention_core.bench.workloads.inputs import Inputs, bias_rows
from attention_core.conformance.budgets.budget import backward_bound, forward_bound
from attention_core.declaration.implementation import Implementation

Array = npt.NDArray[np.float64]
PAIRS = 2**23
"""Pairs whose truth is computed forward: a second or two of NumPy, whatever the problem's size."""
GRADIENT_PAIRS = 2**24
"""The same backward, where a key's gradient needs all queries: at least one key head is judged."""
BLOCK = 2**21
"""Pairs in memory at once; a head with no more has its gradients judged by the budget, which needs them together."""


@dataclass
class Errors:
    """Sums over what was judged of one quantity."""

    squares: float = 0.0
    truth: float = 0.0
    largest: float = 0.0
    ratio: float | None = None
    entries: int = 0

    def add(self, got: Array, want: Array, bound: Array | None, rows: Any = None) -> None:
        """Compare entries; a NaN or infinity that the truth has not is an infinite error."""
        if rows is not None:
            got, want, bound = got[rows], want[rows], None if bound is None else bound[rows]
        error = np.abs(got - want)
        error = np.where(np.isnan(error), np.inf, error)
        self.squares += float(np.square(error).sum())
        self.truth += float(np.square(want).sum())
        self.largest = max(self.largest, float(error.max(initial=0.0)))
        self.entries += error.size
        if bound is not None:
            with np.errstate(divide="ignore", invalid="ignore"):
                share = np.where(error == 0, 0.0, error / bound)
            self.ratio = max(self.ratio or 0.0, float(share.max(initial=0.0)))

    def summarize(self, of: int) -> dict[str, Any]:
        """RMS and largest error over the truth's RMS, the largest error over its bound, and how much was judged."""
        scale = math.sqrt(self.truth / self.entries) if self.entries and self.truth else 1.0
        ratio = self.ratio
        return {
            "rms": math.sqrt(self.squares / max(self.entries, 1)) / scale, "max": self.largest / scale,
            "over_bound": ratio, "judged": self.entries, "of": of,
            "refuted": not math.isfinite(self.squares) or (ratio is not None and ratio > 1),
        }  # fmt: skip


@dataclass
class Part:
    """Truth for some rows of the query heads of one key head; arrays with leading axes (1, G) or (1, 1)."""

    batch: int
    heads: slice
    rows: npt.NDArray[np.int64]
    arguments: dict[str, Any]
    truth: oracle.Truth
    bounds: dict[str, Array] = field(default_factory=dict)

    def bound(self, dtype: str, accumulate: str) -> Array:
        """The budget of the output under a declared accumulation."""
        if accumulate not in self.bounds:
            found = forward_bound(**self.arguments, truth=self.truth, dtype=dtype, accumulate=accumulate)
            self.bounds[accumulate] = found.out
        return self.bounds[accumulate]


class Judge:
    """Holds the truth of one set of inputs; computed once, kernel after kernel is compared with it."""

    def __init__(self, inputs: Inputs) -> None:
        self.inputs, self.workload = inputs, inputs.workload
        self.parts: list[Part] = []
        self.gradients: dict[tuple[int, int], dict[str, Array]] = {}
        self.limits: dict[tuple[int, int, str], Any] = {}

    def judge(self, results: dict[str, Tensor], implementation: Implementation) -> dict[str, dict[str, Any]]:
        """RMS and largest relative error and error over budget by quantity ("out", "query", "key", "value").

        Raises: ValueError where a result has another shape or dtype than it should.
        """
        self.check_shapes(results)
        found = {"out": self._forward(results["out"], implementation)}
        if len(results) > 1:
            found |= self._backward(results, implementation)
        return {name: errors.summarize(results[name].numel()) for name, errors in found.items()}

    def check_shapes(self, results: Mapping[str, Tensor]) -> None:
        """Raises: ValueError where a result has another shape or dtype than it should."""
        w = self.workload
        q, k, v = self.inputs.query, self.inputs.key, self.inputs.value
        shapes = {"out": (w.B, w.H, w.n_q, w.d_v), "query": q.shape, "key": k.shape, "value": v.shape}
        for name, got in results.items():
            if tuple(got.shape) != tuple(shapes[name]) or got.dtype != q.dtype:
                want = f"{tuple(shapes[name])} {q.dtype}"
                raise ValueError(f"{name}: got shape {tuple(got.shape)} {got.dtype}, but should be {want}")

    def forget(self) -> None:
        """Free the truth, which the timing does not need."""
        self.parts, self.gradients, self.limits = [], {}, {}

    # --- forward -----------------------------------------------------------------------------------------

    def _forward(self, out: Tensor, implementation: Implementation) -> Errors:
        errors = Errors()
        if not self.parts:
            self.parts = [self._part(b, h, rows) for b, h, rows in self._choose_rows()]
        for part in self.parts:
            got = as_array(out[part.batch, part.heads][:, torch.from_numpy(part.rows)])[None]
            bound = part.bound(self.workload.dtype, implementation.accumulate)
            errors.add(got, part.truth.out, bound, ~part.truth.dead)
        return errors

    def _choose_rows(self) -> list[tuple[int, int, npt.NDArray[np.int64]]]:
        """Batch, key head and query rows to judge: all of them, or evenly spread ones, first and last included."""
        w = self.workload
        most = max(2, PAIRS // (w.B * w.H * w.n_kv))
        if most >= w.n_q:
            rows = np.arange(w.n_q)
        else:
            rows = np.unique(np.linspace(0, w.n_q - 1, most).astype(np.int64))
        slices = [(b, h) for b in range(w.B) for h in range(w.H_kv)]
        most = max(1, PAIRS // (len(rows) * w.n_kv * (w.H // w.H_kv)))
        if len(slices) > most:
            slices = [slices[i] for i in np.unique(np.linspace(0, len(slices) - 1, most).astype(int))]
        return [(b, h, rows) for b, h in slices]

    def _part(self, b: int, h: int, rows: npt.NDArray[np.int64]) -> Part:
        arguments, heads = self._arguments(b, h, rows)
        return Part(b, heads, rows, arguments, oracle.attention(**arguments))

    def _arguments(self, b: int, h: int, rows: npt.NDArray[np.int64]) -> tuple[dict[str, Any], slice]:
        """What the oracle and the budget take for some rows of one key head, and its query heads."""
        w, group = self.workload, self.workload.H // self.workload.H_kv
        heads = slice(h * group, (h + 1) * group)
        query = as_array(self.inputs.query[b, heads][:, torch.from_numpy(rows)])
        key, value = as_array(self.inputs.key[b, h]), as_array(self.inputs.value[b, h])
        mask: Any = None
        if w.mask.kind != "none":
            mask = w.mask.at(rows, w.n_q, w.n_kv, w.seed)
        if w.mask.kind == "bias":
            bias = np.concatenate([as_array(bias_rows(w, int(r), int(r) + 1)) for r in rows])
            mask = np.where(mask, bias, -np.inf)
        return {"query": query[None], "key": key[None, None], "value": value[None, None], "mask": mask}, heads

    # --- backward ----------------------------------------------------------------------------------------

    def _backward(self, results: dict[str, Tensor], implementation: Implementation) -> dict[str, Errors]:
        w = self.workload
        group = w.H // w.H_kv
        slices = [(b, h) for b in range(w.B) for h in range(w.H_kv)]
        most = max(1, GRADIENT_PAIRS // (group * w.n_q * w.n_kv))
        chosen = [slices[i] for i in np.unique(np.linspace(0, len(slices) - 1, min(most, len(slices))).astype(int))]
        errors = {name: Errors() for name in ("query", "key", "value")}
        for b, h in chosen:
            heads = slice(h * group, (h + 1) * group)
            truth, limits = self._gradients(b, h, implementation.accumulate)
            for name, found in errors.items():
                got = as_array(results[name][b, heads if name == "query" else slice(h, h + 1)])[None]
                found.add(got, truth[name], None if limits is None else getattr(limits, name))
        return errors

    def _gradients(self, b: int, h: int, accumulate: str) -> tuple[dict[str, Array], Any]:
        """The true gradients of one key head, summed over blocks of rows, and their bounds where it is one block."""
        w, group = self.workload, self.workload.H // self.workload.H_kv
        size = max(1, BLOCK // (group * w.n_kv))
        whole = size >= w.n_q
        if (b, h) not in self.gradients:
            total: dict[str, Any] = {"query": [], "key": 0.0, "value": 0.0}
            for start in range(0, w.n_q, size):
                arguments, cotangent = self._with_cotangent(b, h, np.arange(start, min(start + size, w.n_q)))
                block = oracle.gradients(**arguments, cotangent=cotangent)
                total["query"].append(block.query)
                total["key"], total["value"] = total["key"] + block.key, total["value"] + block.value
            self.gradients[b, h] = {**total, "query": np.concatenate(total["query"], axis=-2)}
        truth = self.gradients[b, h]
        if whole and (b, h, accumulate) not in self.limits:
            arguments, cotangent = self._with_cotangent(b, h, np.arange(w.n_q))
            self.limits[b, h, accumulate] = backward_bound(
                **arguments, cotangent=cotangent, truth=oracle.attention(**arguments),
                gradients=oracle.Gradients(**truth), dtype=w.dtype, accumulate=accumulate,
            )  # fmt: skip
        return truth, self.limits.get((b, h, accumulate))

    def _with_cotangent(self, b: int, h: int, rows: npt.NDArray[np.int64]) -> tuple[dict[str, Any], Array]:
        arguments, heads = self._arguments(b, h, rows)
        assert self.inputs.cotangent is not None
        return arguments, as_array(self.inputs.cotangent[b, heads][:, torch.from_numpy(rows)])[None]


def as_array(tensor: Tensor) -> Array:
    """A tensor's values in float64."""
    return np.asarray(tensor.detach().to("cpu", torch.float64).numpy())
