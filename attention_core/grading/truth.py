"""Whether an answer is right: attention by the float64 truth and its derived budget, anything else by its reference.

The truth of a call is computed after the answer is in, while the process that gave it stands: until then it is nowhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from attention_core import oracle
from attention_core.bench.workloads.workload import Workload
from attention_core.conformance.budgets.budget import backward_bound, forward_bound
from attention_core.conformance.budgets.rounding import UNIT_ROUNDOFF
from attention_core.conformance.worker.exchange import decode

Array = npt.NDArray[np.float64]
Stored = npt.NDArray[Any]
PAIRS = 2**19
"""Pairs of query and key whose truth is computed for one call: rows of every head, drawn anew for each."""
GRADIENT_PAIRS = 2**21
"""Pairs of the key head whose gradients are judged, drawn anew for each call."""
TIMES_MOVED, ROUNDINGS = 8.0, 4.0
"""Of a result without a derived budget: so many times what one rounding of the inputs moves in its row, and so many
roundings of the row's largest entry, are allowed. A rule, not a bound: docs/how_to/grade.md says why it is one."""
SEPARATED = 4.0
"""So many times the allowed error must a wrong answer be off that a call has to tell from the right one."""


@dataclass(frozen=True)
class Judged:
    """The judgement on one answer.

    Args:
        worst: the largest error over what is allowed; above 1 it is wrong.
        where: the entry with it, in words; "" where there is none.
        share: of the entries that were judged.
    """

    worst: float
    where: str
    share: float

    @property
    def is_wrong(self) -> bool:
        """Whether an error leaves what is allowed."""
        return not self.worst <= 1


def compare(name: str, got: Array, want: Array, bound: Array, index: tuple[npt.NDArray[np.int64], ...]) -> Judged:
    """The worst of some entries; NaN and infinity that the truth has not are infinitely wrong.

    Args: index, for each axis the places of these entries in the whole result.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.abs(got - want)
        ratio = np.where(error == 0, 0.0, error / bound)
    same = (got == want) | (np.isnan(got) & np.isnan(want))  # infinity is itself, and NaN where it should be
    ratio = np.where(same, 0.0, np.where(np.isnan(ratio), np.inf, ratio))
    if not ratio.size:
        return Judged(0.0, "", 1.0)
    at = np.unravel_index(int(ratio.argmax()), ratio.shape)
    place = ", ".join(str(int(axis[i])) for axis, i in zip(index, at, strict=True))
    words = f"{name}[{place}] is {got[at]:.6g}, but should be {want[at]:.6g} to within {bound[at]:.2g}"
    return Judged(float(ratio[at]), words, 1.0)


class AttentionTruth:
    """Judges answers to attention.

    Args:
        workload: what is computed. accumulate, merges: as the task declares them.
    """

    def __init__(self, workload: Workload, accumulate: str = "input", merges: str = "none") -> None:
        self.workload = workload
        self.declared: dict[str, Any] = {"dtype": workload.dtype, "accumulate": accumulate, "merges": merges}

    def judge(self, inputs: Mapping[str, Stored], outputs: Mapping[str, Stored], rng: np.random.Generator) -> Judged:
        """The worst entry of what is judged of a call.

        Args:
            inputs, outputs: in storage type. rng: which rows and heads are judged, drawn when the answer is in.
        """
        w = self.workload
        values = {name: decode(value, w.dtype) for name, value in inputs.items()}
        found = [self._forward(values, decode(outputs["out"], w.dtype), rng)]
        if "d_query" in outputs:
            given = {n: decode(outputs[f"d_{n}"], w.dtype) for n in ("query", "key", "value")}
            found.append(self._backward(values, given, rng))
        worst = max(found, key=lambda each: each.worst if each.worst == each.worst else np.inf)
        return Judged(worst.worst, worst.where, found[0].share)

    def _mask(self, rows: npt.NDArray[np.int64]) -> Any:
        w = self.workload
        return None if w.mask.kind == "none" else w.mask.at(rows, w.n_q, w.n_kv, w.seed)

    def _forward(self, values: Mapping[str, Array], out: Array, rng: np.random.Generator) -> Judged:
        w = self.workload
        most = max(1, PAIRS // (w.B * w.H * w.n_kv))
        rows = np.arange(w.n_q) if most >= w.n_q else np.sort(rng.choice(w.n_q, most, replace=False))
        arguments: dict[str, Any] = {n: values[n] for n in ("key", "value")}
        arguments |= {"query": values["query"][:, :, rows], "mask": self._mask(rows)}
        truth = oracle.attention(**arguments)
        bound = forward_bound(**arguments, truth=truth, **self.declared).out
        got = out[:, :, rows]
        index = (np.arange(w.B), np.arange(w.H), rows, np.arange(w.d_v))
        dead = truth.dead[..., None]
        found = compare("out", np.where(dead, truth.out, got), truth.out, bound, index)
        broken = ~np.isfinite(out)
        if broken.any() and not found.is_wrong:  # a row that was not drawn holds what no finite input gives
            at = tuple(int(i) for i in np.argwhere(broken)[0])
            return Judged(np.inf, f"out[{', '.join(map(str, at))}] is {out[at]}, and every input is finite", 1.0)
        return Judged(found.worst, found.where, len(rows) / w.n_q)

    def _backward(self, values: Mapping[str, Array], given: Mapping[str, Array], rng: np.random.Generator) -> Judged:
        w, group = self.workload, self.workload.H // self.workload.H_kv
        b, h = int(rng.integers(w.B)), int(rng.integers(w.H_kv))
        heads = slice(h * group, (h + 1) * group)
        rows = np.arange(w.n_q)
        arguments: dict[str, Any] = {n: values[n][b : b + 1, h : h + 1] for n in ("key", "value")}
        arguments |= {"query": values["query"][b : b + 1, heads], "mask": self._mask(rows)}
        cotangent = values["cotangent"][b : b + 1, heads]
        truth = oracle.attention(**arguments)
        gradients = oracle.gradients(**arguments, cotangent=cotangent)
        bounds = backward_bound(**arguments, cotangent=cotangent, truth=truth, gradients=gradients, **self.declared)
        found = []
        for name in ("query", "key", "value"):
            own = heads if name == "query" else slice(h, h + 1)
            got, want = given[name][b : b + 1, own], getattr(gradients, name)
            axes = (np.array([b]), np.arange(own.start, own.stop), *(np.arange(n) for n in want.shape[2:]))
            found.append(compare(f"d_{name}", got, want, getattr(bounds, name), axes))
        return max(found, key=lambda each: each.worst)


class ReferenceTruth:
    """Judges answers by the float64 results of a task's reference, and how far these move with their inputs.

    Args:
        dtypes: of the outputs, by name.
    """

    def __init__(self, dtypes: Mapping[str, str]) -> None:
        self.dtypes = dict(dtypes)
        self.blind = 0  # answers that look like a wrong one

    def judge(self, outputs: Mapping[str, Stored], exact: Mapping[str, Array], moved: Mapping[str, Array]) -> Judged:
        """The worst entry over all outputs."""
        found = []
        for name, dtype in self.dtypes.items():
            want = exact[name]
            allowed = allowed_error(want, moved[name], dtype)
            self.blind += not tells_wrong(want, allowed)
            index = tuple(np.arange(n) for n in want.shape)
            if dtype in UNIT_ROUNDOFF:
                found.append(compare(name, decode(outputs[name], dtype), want, allowed, index))
            else:
                found.append(compare(name, outputs[name].astype(np.float64), want, np.zeros_like(want), index))
        return max(found, key=lambda each: each.worst)


def allowed_error(exact: Array, moved: Array, dtype: str) -> Array:
    """What a result without a derived budget may be off: a number for each entry, the same along its last axis.

    >>> allowed_error(np.array([1.0, 2.0]), np.array([0.0, 1.0]), "float64").round(6).tolist()
    [8.0, 8.0]
    """
    if dtype not in UNIT_ROUNDOFF:
        return np.zeros_like(exact)
    axis: Any = {"axis": -1, "keepdims": True} if exact.ndim else {}
    size = np.abs(np.where(np.isfinite(exact), exact, 0.0)).max(**axis, initial=0.0) if exact.size else 0.0
    largest = np.nan_to_num(moved, nan=0.0, posinf=0.0).max(**axis, initial=0.0) if exact.size else 0.0
    return np.array(np.broadcast_to(TIMES_MOVED * largest + ROUNDINGS * UNIT_ROUNDOFF[dtype] * size, exact.shape))


def tells_wrong(exact: Array, allowed: Array) -> bool:
    """Whether what is allowed separates the right answer from zeros, from its mean, and from itself turned round."""
    exact = np.where(np.isfinite(exact), exact, 0.0)
    if exact.size < 2:
        return bool((np.abs(exact) > SEPARATED * allowed).any())
    turned = np.roll(exact.reshape(-1), 1).reshape(exact.shape)
    others = (np.zeros_like(exact), np.full_like(exact, exact.mean()), turned)
    return all(bool((np.abs(exact - other) > SEPARATED * allowed).any()) for other in others)
