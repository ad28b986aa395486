"""Gradients of linear attention as a target gives them: by its own inputs, for its outputs or for its last state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from attention_core import oracle
from attention_core.conformance.budgets.error_rows import Format, float_format, gamma
from attention_core.conformance.budgets.recurrence_backward import GradientSum, gradient_sums
from attention_core.conformance.budgets.recurrence_terms import Tokens
from attention_core.conformance.subjects.axes import Arrangement
from attention_core.conformance.subjects.linear_subject import Lengths, LinearAttention, split_texts
from attention_core.conformance.subjects.parameter_case import ParameterCase
from attention_core.conformance.worker.exchange import NDArray

OF_HEADS = Arrangement("h", "h")


@dataclass(frozen=True)
class TrueGradient:
    """A gradient and how far a right one may be from it, in canonical axes, and how these lie in the target's."""

    values: NDArray
    bound: NDArray
    axes: Arrangement


@dataclass(frozen=True)
class _Sum:
    """A gradient and its sum with errors."""

    true: NDArray
    terms: GradientSum

    def times(self, factor: NDArray) -> _Sum:
        """The gradient of what is multiplied by an exact factor."""
        return _Sum(self.true * factor, self.terms.times(np.abs(factor)))

    def __add__(self, other: _Sum) -> _Sum:
        return _Sum(self.true + other.true, self.terms + other.terms)

    def sum_to(self, shape: tuple[int, ...], unit: float) -> _Sum:
        """The gradient of what is spread along some axes."""
        axes = tuple(axis for axis, n in enumerate(shape) if n == 1 and self.true.shape[axis] != 1)
        return _Sum(self.true.sum(axis=axes, keepdims=True), self.terms.sum_to(shape, unit))


def true_gradients(
    subject: LinearAttention, case: ParameterCase, tokens: Tokens, start: NDArray | None, down: tuple[NDArray, NDArray],
    lengths: Lengths = None,
) -> dict[str, TrueGradient]:  # fmt: skip
    """Gradients of <outputs, down[0]> + <last states, down[1]> by what a target is given, by role.

    Args: tokens, start, lengths: of the call; down: cotangents of outputs (B, H, n, d_v) and states (rows, H, d, d_v).
    """
    f = float_format(case.dtype, subject.implementation.accumulate)
    sums = _sums_of_call(subject, case, tokens, start, down, lengths)
    found = {"value": sums["value"], "query": sums["query"], "key": sums["key"]}
    by_exponent = sums["log_decay"]
    if tokens.step is not None and tokens.log_decay is not None:
        values = sums["value"].times(tokens.value).sum_to((*tokens.value.shape[:3], 1), f.a)
        rates = by_exponent.times(tokens.log_decay).sum_to((*tokens.key.shape[:3], 1), f.a)
        found["step"] = _Sum(*_drop_last(values + rates))
        found["value"] = sums["value"].times(tokens.step[..., None])
        by_exponent = by_exponent.times(tokens.step[..., None])
    role = subject.decay_role
    if role and tokens.log_decay is not None:
        if role == "decay" and not subject.call_form.is_state_space:
            by_exponent = by_exponent.times(np.exp(-tokens.log_decay))
        found[role] = by_exponent.sum_to(subject.decay_shape(tokens.key.shape), f.a)
    if tokens.beta is not None:
        found["beta"] = _Sum(*_drop_last(sums["beta"]))
    if start is not None:
        found["state"] = sums["state"]
    return {name: _arrange(subject, case, name, x, f) for name, x in found.items()}


def _drop_last(x: _Sum) -> tuple[NDArray, GradientSum]:
    """Without the last axis, of size 1."""
    return x.true[..., 0], GradientSum(x.terms.size[..., 0], x.terms.off[..., 0])


def _sums_of_call(
    subject: LinearAttention, case: ParameterCase, tokens: Tokens, start: NDArray | None, down: tuple[NDArray, NDArray],
    lengths: Lengths,
) -> dict[str, _Sum]:  # fmt: skip
    """The gradients of the resolved tokens, those of texts one after the other."""
    if lengths is None:
        return _sums(subject, case, tokens, start, down)
    ends = np.cumsum([0, *lengths])
    found = []
    for i, (one, first) in enumerate(zip(*split_texts(tokens, lengths, start), strict=True)):
        rows = slice(int(ends[i]), int(ends[i + 1]))
        found.append(_sums(subject, case, one, first, (down[0][:, :, rows], down[1][i : i + 1])))
    return {name: _join([x[name] for x in found], 0 if name == "state" else 2) for name in found[0]}


def _join(sums: Sequence[_Sum], axis: int) -> _Sum:
    true, size, off = (
        np.concatenate(x, axis=axis) for x in zip(*((s.true, s.terms.size, s.terms.off) for s in sums), strict=True)
    )
    return _Sum(true, GradientSum(size, off))


def _sums(
    subject: LinearAttention, case: ParameterCase, tokens: Tokens, start: NDArray | None, down: tuple[NDArray, NDArray]
) -> dict[str, _Sum]:
    """The gradients of one row of texts, none of which are packed."""
    factor, resolved = subject.scale(case), tokens.resolve()
    true = oracle.linear_attention_gradients(*resolved.recur(), start, scale=factor, out=down[0], state=down[1])
    how: dict[str, Any] = {"dtype": case.dtype, "accumulate": subject.implementation.accumulate}
    terms = gradient_sums(resolved, start, down, true, scale=factor, parts=1 if tokens.step is None else 2, **how)
    arrays = {name: getattr(true, name) for name in terms}
    if "beta" in arrays:
        arrays["beta"] = arrays["beta"][..., None]
    return {name: _Sum(arrays[name], terms[name]) for name in terms}


def _arrange(subject: LinearAttention, case: ParameterCase, name: str, x: _Sum, f: Format) -> TrueGradient:
    """A gradient in the form that the target has of what it is of."""
    axes = {"beta": subject.own_gates, "step": subject.own_gates, "state": subject.own_state}.get(name, subject.own)
    if name in ("query", "key") and subject.groups(case) != case["H"]:
        x = _share(x, subject.groups(case), f.a)
    if name in ("decay", "log_decay") and subject.decays_of == "heads":
        x, axes = _Sum(x.true[0, :, 0, 0], GradientSum(x.terms.size[0, :, 0, 0], x.terms.off[0, :, 0, 0])), OF_HEADS
    elif name in ("decay", "log_decay") and subject.decays_of == "tokens":
        x, axes = _Sum(*_drop_last(x)), subject.own_gates
    return TrueGradient(x.true, x.terms.bound(x.true, f), axes)


def _share(x: _Sum, groups: int, unit: float) -> _Sum:
    """Summed over the heads that share a query or key."""

    def fold(values: NDArray) -> NDArray:
        return np.asarray(values.reshape(len(values), groups, -1, *values.shape[2:]).sum(axis=2))

    true, size, off = fold(x.true), fold(x.terms.size), fold(x.terms.off)
    return _Sum(true, GradientSum(size, off + gamma(x.true.shape[1] // groups, unit) * (size + off)))
