"""How far right gradients of linear attention may be from the float64 truth.

A gradient is a sum of products: of what passes forward in the state, and of what passes back. Both are sums over
tokens. Tags in comments name steps of derivations/linear_attention.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from attention_core.conformance.budgets.error_rows import Format, float_format, gamma
from attention_core.conformance.budgets.recurrence_bound import (
    delta_system,
    find_new_values,
    log_decays,
    solution_error,
)
from attention_core.conformance.budgets.recurrence_terms import NO_DIGIT, Roundings, Terms, Tokens, exact, stack
from attention_core.conformance.budgets.rounding import Array
from attention_core.oracle import LinearGradients


@dataclass(frozen=True)
class GradientSum:
    """A gradient before it is stored: the sizes of its terms, added up, and by how much it may be off."""

    size: Array
    off: Array

    def times(self, factor: Array | float) -> GradientSum:
        """The same of a multiple by something exact, at least 0."""
        return GradientSum(self.size * factor, self.off * factor)

    def __add__(self, other: GradientSum) -> GradientSum:
        return GradientSum(self.size + other.size, self.off + other.off)

    def sum_to(self, shape: tuple[int, ...], unit: float) -> GradientSum:
        """The sum over all axes along which an array of a shape is spread; adding up is rounded by `unit`."""
        axes = tuple(axis for axis, n in enumerate(shape) if n == 1 and self.size.shape[axis] != 1)
        count = int(np.prod([self.size.shape[axis] for axis in axes], dtype=int))
        size, off = (x.sum(axis=axes, keepdims=True) for x in (self.size, self.off))
        return GradientSum(size, off + gamma(count, unit) * (size + off))

    def bound(self, true: Array, f: Format) -> Array:
        """How far the stored sum may be from the truth."""
        return np.asarray((1 + f.u) * self.off + f.u * np.abs(true) + 4 * f.flush)


def gradient_sums(
    tokens: Tokens, start: Array | None, down: tuple[Array, Array], true: LinearGradients, *, scale: float, dtype: str,
    accumulate: str, parts: int = 1,
) -> Mapping[str, GradientSum]:  # fmt: skip
    """The gradients of linear attention with their errors, by the names of `LinearGradients`.

    Args:
        tokens, start: as the target reads them, a step multiplied in. down: cotangents of outputs and last state.
        true: the true gradients. scale, dtype, accumulate, parts: as in `recurrence_bound`.
    Returns: name -> GradientSum, of the shapes of the inputs; the log decay's is (B, H, n, d).
    Raises: ValueError for an unknown accumulate.
    Source: derivations/linear_attention.md (d-token, d-fade, product-off).
    """
    f = float_format(dtype, accumulate)
    roundings = Roundings(f, tokens.log_decay is not None)
    q, k, v = (np.abs(x) for x in tokens[:3])
    c, last = abs(scale) * np.abs(down[0]), np.abs(down[1])
    first = np.zeros(last.shape) if start is None else np.abs(start)
    new = exact(v) if tokens.beta is None else find_new_values(tokens, start, roundings)
    faded, states = _pass_forward(first, tokens, new)
    back = _gradients_of_new(tokens, c, last, true, roundings)
    found = _pass_back(tokens, (c, last), (new, back), (faded, states))
    n = k.shape[2]
    count, reach = n + sum(last.shape[-2:]) + 8 + 4 * parts, np.abs(log_decays(tokens)).sum(axis=2, keepdims=True)

    def finish(terms: Terms, reach: Array) -> GradientSum:
        return GradientSum(terms.size, roundings.error(terms, count, reach))

    farthest = reach.max(axis=-1, keepdims=True)
    ends = states[-1].times(last).sum(-1)[:, :, None] if states else exact(np.zeros((*k.shape[:2], 0, k.shape[3])))
    sums = {name: finish(x, reach if name in ("query", "key") else farthest) for name, x in found.items()}
    by_exponent = sums["query"].times(q) + sums["key"].times(k)
    behind = GradientSum(*(np.flip(np.flip(x, 2).cumsum(axis=2), 2) for x in (by_exponent.size, by_exponent.off)))
    behind = behind + finish(ends, reach)
    sums["log_decay"] = GradientSum(
        behind.size, behind.off + gamma(n + 2, f.a) * (behind.size + behind.off)
    )  # (d-fade)
    lost = _bound_underflow(f, (q, k, v, c, last, np.abs(true.new), *(state.size for state in states[-1:])), n)
    return {name: GradientSum(x.size, x.off + lost) for name, x in sums.items()}


def _pass_forward(first: Array, tokens: Tokens, new: Terms) -> tuple[list[Terms], list[Terms]]:
    """The faded state of every token, and the state after it."""
    k, fade = np.abs(tokens.key), np.exp(log_decays(tokens))
    state, faded, states = exact(first), [], []
    for t in range(k.shape[2]):
        faded.append(state.fade(fade[:, :, t, :, None]))
        state = faded[-1] + new[:, :, t, None].times(k[:, :, t, :, None])
        states.append(state)
    return faded, states


def _gradients_of_new(tokens: Tokens, c: Array, last: Array, true: LinearGradients, roundings: Roundings) -> Terms:
    """Gradients of what the tokens add: of the values, or the solution of the delta rule's system (delta-residual)."""
    q, k, fade = np.abs(tokens.query), np.abs(tokens.key), np.exp(log_decays(tokens))
    reach, right = exact(last), []
    for t in reversed(range(k.shape[2])):
        reach = reach + exact(q[:, :, t, :, None] * c[:, :, t, None])
        right.append(reach.times(k[:, :, t, :, None]).sum(-2))
        reach = reach.fade(fade[:, :, t, :, None])
    if not right:
        return exact(c)
    given = stack(right[::-1])
    if tokens.beta is None:
        return given
    system, sizes = delta_system(tokens)
    inverse = np.asarray(np.linalg.inv(np.eye(k.shape[2]) + system.swapaxes(-1, -2)), dtype=np.float64)
    off = solution_error(inverse, sizes.turn(), given, tokens, roundings)
    return Terms(np.abs(true.new), np.zeros(off.shape), off)


def _pass_back(
    tokens: Tokens, given: tuple[Array, Array], solved: tuple[Terms, Terms], states: tuple[list[Terms], list[Terms]]
) -> dict[str, Terms]:
    """The gradients of query, key, value, beta and the first state (d-token)."""
    (c, last), (new, back), fade = given, solved, np.exp(log_decays(tokens))
    q, k, v = (np.abs(x) for x in tokens[:3])
    value = back if tokens.beta is None else back.times(np.abs(tokens.beta)[..., None])
    passed, found, n = exact(last), {name: list[Terms]() for name in ("query", "key", "beta")}, k.shape[2]
    for t in reversed(range(n)):
        faded, state = states[0][t], states[1][t]
        found["query"].append(state.matmul(exact(c[:, :, t, :, None]))[..., 0])
        passed = passed + exact(q[:, :, t, :, None] * c[:, :, t, None])
        key = passed.matmul(new[:, :, t, None].turn())
        if tokens.beta is not None:
            rest = exact(v[:, :, t, None]) + exact(k[:, :, t, None]).matmul(faded)
            found["beta"].append(back[:, :, t, None].matmul(rest.turn())[..., 0, 0])
            key = key + faded.matmul(value[:, :, t, None].turn())
            passed = passed + value[:, :, t, None].times(k[:, :, t, :, None])
        found["key"].append(key[..., 0])
        passed = passed.fade(fade[:, :, t, :, None])
    gradients = {name: stack(found[name][::-1]) if n else exact(k) for name in ("query", "key")}
    if tokens.beta is not None:
        gradients["beta"] = stack(found["beta"][::-1])[..., None] if n else exact(k[..., :1])
    return {**gradients, "value": value, "state": passed}


def _bound_underflow(f: Format, arrays: tuple[Array, ...], n: int) -> float:
    """What numbers that are lost below the smallest of their format may add up to."""
    factor = np.prod([1 + x.max(initial=0.0) for x in arrays])
    return float(4 * f.flush_between * n * sum(arrays[4].shape[-2:], n) * min(factor, NO_DIGIT))
