"""A counterexample's case in one line, true of the call that failed: some laws make another call of their case."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from attention_core.conformance.cases.case import Case
from attention_core.conformance.subjects.binding import INPUTS, Binding
from attention_core.conformance.subjects.evidence import Evidence, NotApplicable
from attention_core.conformance.worker.exchange import Array, NDArray, Request, decode


def case_line(subject: Any, case: Any, evidence: Evidence) -> str:
    """The case, or the sizes of the call in question where these are others; "" where it is unknown."""
    request = evidence.calls[0].request if evidence.calls else None
    if request is None:
        return str(case.describe())
    if not isinstance(case, Case):
        return str(case.describe()) if starts_there(case, request) else ""
    called = call_line(subject, request)
    return case.describe() if called in ("", case.with_(label="").describe()) else called


def call_line(subject: Any, request: Request) -> str:
    """A call of attention as a case describes itself; "" where its first arguments are not query, key and value."""
    arrays = request.args[:3]
    if len(arrays) < 3 or not all(isinstance(a, Array) and len(a.shape) >= 2 for a in arrays):
        return ""
    batch, (heads, n_q, d), (kv_heads, n_kv, _), (_, _, d_v) = _sizes(arrays, subject.binding)
    parts = [f"{arrays[0].dtype} B={batch} H={heads}", *([f"H_kv={kv_heads}"] if kv_heads != heads else [])]
    parts.append(f"n_q={n_q} n_kv={n_kv} d={d}" + (f" d_v={d_v}" if d_v != d else ""))
    names = subject.binding.names
    mask, causal, scale, dropout = (
        request.kwargs.get(names.get(name, name)) for name in ("attn_mask", "is_causal", "scale", "dropout_p")
    )
    if isinstance(mask, Array):
        parts.append(f"{'bool' if mask.dtype == 'bool' else 'float'} mask {tuple(mask.shape)}")
    parts += ["causal"] if causal else []
    parts += [f"scale={scale:g}"] if isinstance(scale, float | int) else []
    parts += [f"dropout={dropout:g}"] if dropout else []
    return " ".join(parts)


def _sizes(arrays: Any, binding: Binding) -> tuple[int, tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """How many sequences, and (H, n, d) of query, key and value."""
    shapes = []
    for a, axes in zip(arrays, map(binding.axes_of, INPUTS), strict=True):
        rank = len(a.shape)
        order = axes.order(rank) if axes.count == 4 else axes.places(rank)
        shape = (1,) * (3 - rank) + tuple(a.shape[order.index(axis)] for axis in range(rank))
        shapes.append((prod(shape[:-3]), shape[-3:]))
    return shapes[0][0], shapes[0][1], shapes[1][1], shapes[2][1]


def starts_there(case: Any, request: Request) -> bool:
    """Whether the positions of a call begin where its case says."""
    start = getattr(case, "sizes", {}).get("start")
    given = [a for a in (*request.args, *request.kwargs.values()) if isinstance(a, Array) and a.dtype.startswith("int")]
    return start is None or not any(a.base.size for a in given) or any(np.any(a.base == start) for a in given)


def calls_its_case(subject: Any, case: Any, evidence: Evidence) -> bool:
    """Whether the call in question is the plain call of its case; laws make other calls of a case, too."""
    request = evidence.calls[0].request if evidence.calls else None
    if request is None or not isinstance(case, Case) or not isinstance(subject.binding, Binding):
        return False
    try:
        plain = subject.binding.request(case)
    except NotApplicable:
        return False
    if len(request.args) != len(plain.args) or set(request.kwargs) != set(plain.kwargs):
        return False
    pairs = [*zip(request.args, plain.args, strict=True), *((request.kwargs[k], plain.kwargs[k]) for k in plain.kwargs)]
    return all(is_same(one, other) for one, other in pairs)


def is_same(one: Any, other: Any) -> bool:
    """Whether two arguments are one array of numbers, or equal otherwise."""
    if isinstance(one, Array) and isinstance(other, Array):
        return one.dtype == other.dtype and np.array_equal(numbers_of(one), numbers_of(other), equal_nan=True)
    return not isinstance(one, Array) and not isinstance(other, Array) and bool(one == other)


def numbers_of(argument: Array) -> NDArray:
    """The numbers that a target sees, as float64 or as they are."""
    base = argument.base.reshape(-1)[argument.offset :]
    steps = tuple(step * base.itemsize for step in argument.strides)
    return decode(np.lib.stride_tricks.as_strided(base, argument.shape, steps), argument.dtype)
