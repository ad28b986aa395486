"""Other operations than softmax attention, with float64 truths and error bounds of their own.

They name what a target computes where it agrees with attention under no conventions. No law rests on them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from attention_core.conformance.cases.case import Case
from attention_core.conformance.first_look.running_error import FUNCTION_ROUNDINGS, Tracked
from attention_core.conformance.worker.exchange import NDArray
from attention_core.oracle.positions import alibi_slopes

CAPS = (1, 2, 5, 8, 10, 15, 20, 25, 30, 40, 50, 60, 80, 100)
"""Soft caps that are tried; Gemma 2 has 50, Grok 30."""
FROM_THE_END = " (the last query faces the last key)"
"""The words where positions are aligned at their ends."""
SLOPE_ROUNDINGS = 2 * math.ceil(8 * math.log(2)) + FUNCTION_ROUNDINGS + 3
"""Of a penalty 2^(-x) (i - j), 0 < x <= 8, whose exponent has two roundings, each times x log 2; the power itself; then
a product, and a rounding to the dtype of each factor."""
Named = Iterator[tuple[str, Tracked]]


def operations(case: Case) -> Named:
    """(name, what the operation gives on a plain case), the plainest first, without and with causality."""
    n_q, n_kv = case.sizes[:2]
    everything = np.ones((n_q, n_kv), bool)
    q, k, v = (Tracked.exact(x, case.dtype) for x in (case.query, case.key, case.value))
    dot = q @ k.transpose()
    for scale, unscaled in ((case.factor, ""), (1.0, "unscaled ")):
        scores = dot.times(scale) if scale != 1.0 else dot
        for allowed, causal in ((everything, ""), (np.tri(n_q, n_kv, dtype=bool), "causal ")):
            prefix = f"{unscaled}{causal}"
            for name, out in of_scores(scores, allowed, v, case):
                yield f"{prefix}{name}", out
    for allowed, causal in ((everything, ""), (np.tri(n_q, n_kv, dtype=bool), "causal ")):
        yield from ((f"{causal}{name}", out) for name, out in of_features(q, k, v, allowed))
        yield from ((f"{causal}{name}", out) for name, out in of_directions(q, k, v, allowed, case))


def apply_masks(case: Case, allowed: NDArray) -> Named:
    """(name, what it gives on a case where some pairs are allowed), of what may be made of a mask or a causal flag."""
    q, k, v = (Tracked.exact(x, case.dtype) for x in (case.query, case.key, case.value))
    scores, n_kv = (q @ k.transpose()).times(case.factor), allowed.shape[-1]
    everything = np.ones_like(allowed)
    yield "a mask after the softmax", softmax(scores, everything).only(allowed) @ v
    yield "no mask at all", softmax(scores, everything) @ v
    zeroed = Tracked(np.where(allowed, scores.value, 0), np.where(allowed, scores.error, 0), case.dtype)
    yield "masked scores of 0, which keep weight", softmax(zeroed, everything) @ v
    for off, name in ((1, "a diagonal one key too far"), (-1, "a diagonal one key too short")):
        moved = np.tril(everything, off) if (allowed == np.tril(everything)).all() else None
        moved = np.tril(everything, n_kv - len(allowed) + off) if moved is None else moved
        judged = moved.any(axis=-1)  # rows that lose their only key have an error without a bound: any answer does
        if (moved != allowed)[judged].any():
            yield name, softmax(scores, moved) @ v
    if (~allowed).any(axis=-1).all():
        yield "a mask of the reverse polarity", softmax(scores, ~allowed) @ v


def apply_biases(case: Case) -> Named:
    """(name, what it gives on a case with an added mask), of what may be made of such a mask instead."""
    assert case.mask is not None
    q, k, v, bias = (Tracked.exact(x, case.dtype) for x in (case.query, case.key, case.value, case.mask))
    dot = q @ k.transpose()
    everything = np.ones(bias.value.shape[-2:], bool)
    yield "a mask that is added is scaled as well", softmax((dot + bias).times(case.factor), everything) @ v
    yield "a mask that is to be added is subtracted", softmax(dot.times(case.factor) - bias, everything) @ v
    yield "a mask that is to be added multiplies the scores", softmax(dot.times(case.factor) * bias, everything) @ v
    yield "a mask that is to be added is added to the weights", (softmax(dot.times(case.factor), everything) + bias) @ v


def of_scores(scores: Tracked, allowed: NDArray, value: Tracked, case: Case) -> Named:
    """Operations that make weights out of scores in another way than softmax over the keys."""
    for name, weights in elementwise(scores, case.sizes[1]):
        hidden = weights.only(allowed)
        yield f"{name} attention", hidden @ value
        yield f"{name} attention with weights that are normalised", hidden / hidden.sum() @ value
    yield "attention with a softmax over the queries", over_queries(scores, allowed) @ value
    yield "attention with a sink (a key of logit 0 without a value)", softmax(scores, allowed, sink=True) @ value
    yield "attention with a mask after the softmax", softmax(scores, np.ones_like(allowed)).only(allowed) @ value
    for cap in CAPS:
        capped = scores.times(1 / cap).of(np.tanh).times(cap)
        yield f"attention with logits soft-capped at {cap}", softmax(capped, allowed) @ value
    yield from apply_bands(scores, allowed, value)
    yield from apply_penalties(scores, allowed, value)
    for k in range(1, case.sizes[1]):
        yield f"attention to the top {k} key{'s' if k > 1 else ''} of each query", top(scores, allowed, k) @ value


def elementwise(scores: Tracked, n_kv: int) -> Named:
    """Weights that are functions of one score each."""
    yield "dot-product (no softmax)", scores
    yield "sigmoid", scores.of(sigmoid)
    yield "sigmoid (logits less log n)", Tracked(scores.value - math.log(n_kv), scores.error, scores.dtype).of(sigmoid)
    yield "ReLU", scores.of(lambda x: np.maximum(x, 0))
    yield "ReLU (divided by n)", scores.of(lambda x: np.maximum(x, 0)).times(1 / n_kv)
    yield "squared ReLU", scores.of(lambda x: np.maximum(x, 0) ** 2)
    yield "tanh", scores.of(np.tanh)
    yield "exponential (not normalised)", scores.of(np.exp)


def apply_bands(scores: Tracked, allowed: NDArray, value: Tracked) -> Named:
    """Windows of every width; positions count from either end."""
    n_q, n_kv = allowed.shape
    for corner, shift in (("", 0), (FROM_THE_END, n_kv - n_q)):
        behind = np.arange(n_q)[:, None] + shift - np.arange(n_kv)
        for width in range(1, n_kv):
            inside = (behind >= 0) & (behind < width)
            if inside.any():
                yield f"attention in a causal window of {width}{corner}", softmax(scores, inside) @ value
            around = np.abs(behind) <= width
            if around.any(axis=-1).all():
                name = f"attention in a window of {width} on each side{corner}"
                yield name, softmax(scores, around & allowed) @ value


def apply_penalties(scores: Tracked, allowed: NDArray, value: Tracked) -> Named:
    """ALiBi: a penalty for each head on the distance; positions count from either end.

    What is taken from a whole row changes nothing: where the distance i - j counts from matters to causality alone.
    Rows without any key are not judged: their weights are 0/0, whose error has no bound.
    """
    n_q, n_kv = allowed.shape
    for slopes, of_slopes in all_slopes(scores.value.shape[-3]):
        for corner, shift in (("", 0), (FROM_THE_END, n_kv - n_q)):
            behind = np.arange(n_q)[:, None] + shift - np.arange(n_kv)
            ways: list[tuple[str, NDArray, NDArray]] = [("", behind, behind >= 0)]
            if allowed.all():
                ways = [(" on both sides", np.abs(behind), allowed), (" by i - j", behind, allowed)]
            for name, distance, seen in ways:
                if seen.any():
                    exact = np.broadcast_to(-slopes[:, None, None] * distance, scores.value.shape)
                    zeros = Tracked.exact(np.zeros_like(exact), scores.dtype)
                    penalty = zeros.round(exact, zeros.error, SLOPE_ROUNDINGS)
                    yield f"attention with ALiBi{name}{of_slopes}{corner}", softmax(scores + penalty, seen) @ value


def all_slopes(heads: int) -> Iterator[tuple[NDArray, str]]:
    """The slopes of the paper, and those of 2^(-8h/H), which differ unless H is a power of 2."""
    paper, geometric = alibi_slopes(heads), 2.0 ** (-8.0 * np.arange(1, heads + 1) / heads)
    yield paper, ""
    if not np.allclose(paper, geometric):
        yield geometric, " of slopes 2^(-8h/H)"


def of_features(q: Tracked, k: Tracked, v: Tracked, allowed: NDArray) -> Named:
    """Linear attention: weights phi(q) . phi(k)."""
    elu = "elu + 1", lambda x: np.where(x > 0, x + 1, np.exp(np.minimum(x, 0)))
    relu = "ReLU", lambda x: np.maximum(x, 0)
    for name, function in (elu, relu, ("exp", np.exp)):
        weights = (q.of(function) @ k.of(function).transpose()).only(allowed)
        yield f"linear attention (features {name})", weights / weights.sum() @ v
        yield f"linear attention (features {name}, not normalised)", weights @ v
    features = softmax(q, np.ones(1, bool)) @ softmax(k.transpose(), np.ones(1, bool))
    yield "efficient attention (softmax of queries and of keys)", features.only(allowed) @ v


def of_directions(q: Tracked, k: Tracked, v: Tracked, allowed: NDArray, case: Case) -> Named:
    """Cosine scores: queries and keys of length 1."""
    directions = [x / (x * x).sum().of(np.sqrt) for x in (q, k)]
    cosine = directions[0] @ directions[1].transpose()
    for scale in (1.0, case.factor, 1 / case.factor, 10.0, 20.0):
        yield f"attention with cosine scores times {scale:.4g}", softmax(cosine.times(scale), allowed) @ v


def softmax(scores: Tracked, allowed: NDArray, *, sink: bool = False) -> Tracked:
    """Softmax over the last axis of what is allowed; `sink` adds a key of logit 0."""
    top = np.where(allowed, scores.value, -np.inf).max(axis=-1, keepdims=True)
    top = np.maximum(top, 0.0) if sink else top
    shifted = scores - Tracked(top, np.zeros_like(top), scores.dtype)
    weights = shifted.of(np.exp).only(allowed)
    total = weights.sum()
    if sink:
        total = total + Tracked.exact(-top, scores.dtype).of(np.exp)
    return weights / total


def over_queries(scores: Tracked, allowed: NDArray) -> Tracked:
    """Softmax over the queries of each key."""
    return softmax(scores.transpose(), allowed.T).transpose() if allowed.any(axis=0).all() else scores.times(np.nan)


def top(scores: Tracked, allowed: NDArray, k: int) -> Tracked:
    """Softmax over the k best keys of each row."""
    values = np.where(allowed, scores.value, -np.inf)
    threshold = np.sort(values, axis=-1)[..., -k][..., None]
    return softmax(scores, allowed & (values >= threshold))


def sigmoid(x: NDArray) -> NDArray:
    """1 / (1 + exp(-x))."""
    return np.asarray(1 / (1 + np.exp(-x)))
