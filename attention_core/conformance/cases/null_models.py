"""Null models: wrong answers that a case should be able to tell from the truth, computed in float64.

Each is the output of one plain fault (nothing written, a wrong scale, an ignored mask, ...) on a whole pack.

The power of a case: which null models it could tell from the truth, given the budget of the output.

A case on which no wrong answer would stand out says nothing, however well it agrees.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from attention_core import oracle
from attention_core.conformance.budgets.budget import UNIT_ROUNDOFF
from attention_core.conformance.cases.case import Case
from attention_core.conformance.worker.exchange import NDArray


@dataclass(frozen=True)
class Problem:
    """A case with its truth and the target's conventions, from which a null model computes its output."""

    case: Case
    truth: oracle.Truth
    alignment: str

    @property
    def scale(self) -> float:
        """The scale the case means."""
        return self.case.factor

    def value(self) -> NDArray:
        """The values of every query head, (B, H, n_kv, d_v)."""
        return np.repeat(self.case.value, self.case.group, axis=-3)

    def recompute(self, alignment: str | None = None, **changes: object) -> NDArray:
        """The oracle's output for the case with some fields changed."""
        case = replace(self.case, **changes)  # type: ignore[arg-type]
        return oracle.attention(
            case.query, case.key, case.value, case.mask, is_causal=case.is_causal, scale=case.factor,
            alignment=alignment or self.alignment,
        ).out  # fmt: skip

    def mask_with(self, more: NDArray) -> NDArray:
        """The case's mask with the pairs outside `more` (n_q, n_kv) forbidden as well."""
        mask = self.case.mask
        if mask is None:
            return more
        return mask & more if mask.dtype == bool else np.where(more, mask, -np.inf)

    def edge(self, shift: int) -> NDArray:
        """The causal set with its edge moved by `shift` keys: j <= i + o + shift."""
        n_q, n_kv = self.case.sizes[:2]
        offset = n_kv - n_q if self.alignment == "bottom_right" else 0
        i, j = np.arange(n_q)[:, None], np.arange(n_kv)
        return np.asarray(j <= i + offset + shift)


def zeros(p: Problem) -> NDArray:
    """All zeros: the output was never written."""
    return np.zeros_like(p.truth.out)


def plain_mean(p: Problem) -> NDArray:
    """The mean of all values, masked or not."""
    return np.broadcast_to(p.value().mean(axis=-2, keepdims=True), p.truth.out.shape)


def uniform(p: Problem) -> NDArray:
    """The mean of the attended values: scores are ignored."""
    seen = np.where(p.truth.scores > -np.inf, 1.0, 0.0)
    return np.asarray(seen @ p.value() / np.maximum(seen.sum(axis=-1, keepdims=True), 1.0))


def first_key(p: Problem) -> NDArray:
    """The first value, whatever the scores."""
    return np.broadcast_to(p.value()[..., :1, :], p.truth.out.shape)


def hard(p: Problem) -> NDArray:
    """The value of the largest score alone."""
    return np.take_along_axis(p.value(), p.truth.scores.argmax(axis=-1)[..., None], axis=-2)


def over_queries(p: Problem) -> NDArray:
    """Softmax over the queries of a key in place of the keys of a query."""
    top = p.truth.scores.max(axis=-2, keepdims=True)
    weights = np.exp(p.truth.scores - np.where(np.isfinite(top), top, 0.0))
    total = weights.sum(axis=-2, keepdims=True)
    return np.asarray(weights / np.where(total == 0, 1.0, total) @ p.value())


def unscaled(p: Problem) -> NDArray:
    """Scale 1."""
    return p.recompute(scale=1.0)


def scaled_by_model(p: Problem) -> NDArray:
    """Scale by the model's width, 1 / sqrt(H d), in place of the head's."""
    return p.recompute(scale=p.scale / np.sqrt(p.case.sizes[4]))


def scale_off(p: Problem) -> NDArray:
    """Scale 1 % off, or 128 roundoffs of the dtype where that is more (what is nearer drowns in rounding)."""
    return p.recompute(scale=p.scale * (1 + max(0.01, 128 * UNIT_ROUNDOFF[p.case.dtype])))


def scale_ignored(p: Problem) -> NDArray:
    """The default scale, whatever the call's scale is."""
    return p.recompute(scale=None)


def mask_ignored(p: Problem) -> NDArray:
    """No mask at all."""
    return p.recompute(mask=None)


def mask_inverted(p: Problem) -> NDArray:
    """A bool mask read the other way round."""
    assert p.case.mask is not None
    return p.recompute(mask=~p.case.mask)


def bias_ignored(p: Problem) -> NDArray:
    """Of a float mask only what forbids is kept, the finite biases are dropped."""
    assert p.case.mask is not None
    return p.recompute(mask=p.case.mask > -np.inf)


def bias_scaled(p: Problem) -> NDArray:
    """The bias is added before scaling and so scaled as well."""
    assert p.case.mask is not None
    return p.recompute(mask=np.where(np.isneginf(p.case.mask), -np.inf, p.case.mask * p.scale))


def causal_ignored(p: Problem) -> NDArray:
    """Every row sees later keys."""
    return p.recompute(is_causal=False)


def causal_late(p: Problem) -> NDArray:
    """Every row sees one key too many."""
    return p.recompute(is_causal=False, mask=p.mask_with(p.edge(1)))


def causal_early(p: Problem) -> NDArray:
    """No row sees the key of its own position."""
    return p.recompute(is_causal=False, mask=p.mask_with(p.edge(-1)))


def causal_other_corner(p: Problem) -> NDArray:
    """The diagonal starts at the other corner."""
    return p.recompute("top_left" if p.alignment == "bottom_right" else "bottom_right")


def mask_or_causal(p: Problem) -> NDArray:
    """With a mask given, causality is dropped."""
    return p.recompute(is_causal=False)


def heads_tiled(p: Problem) -> NDArray:
    """Query head h meets key head h mod H_kv."""
    index = np.arange(p.case.sizes[4]) % p.case.sizes[5]
    return p.recompute(key=p.case.key[:, index], value=p.case.value[:, index])


def heads_reversed(p: Problem) -> NDArray:
    """Query heads meet the key heads in reverse order."""
    return p.recompute(key=p.case.key[:, ::-1], value=p.case.value[:, ::-1])


def batch_shifted(p: Problem) -> NDArray:
    """Each problem of a batch meets the keys of its neighbour."""
    return p.recompute(key=np.roll(p.case.key, 1, axis=0), value=np.roll(p.case.value, 1, axis=0))


Condition = Callable[[Case], bool]


def _always(case: Case) -> bool:
    return True


def _bool(case: Case) -> bool:
    return case.mask is not None and case.mask.dtype == bool


def _float(case: Case) -> bool:
    return case.mask is not None and case.mask.dtype != bool


NULLS: Mapping[str, tuple[Callable[[Problem], NDArray], Condition]] = {
    "zeros": (zeros, _always),
    "plain_mean": (plain_mean, _always),
    "uniform": (uniform, _always),
    "first_key": (first_key, _always),
    "hard": (hard, _always),
    "over_queries": (over_queries, _always),
    "unscaled": (unscaled, lambda case: case.factor != 1.0),
    "scaled_by_model": (scaled_by_model, lambda case: case.sizes[4] > 1),
    "scale_off": (scale_off, lambda case: case.factor != 0.0),
    "scale_ignored": (scale_ignored, lambda case: case.scale is not None),
    "mask_ignored": (mask_ignored, lambda case: case.mask is not None),
    "mask_inverted": (mask_inverted, _bool),
    "bias_ignored": (bias_ignored, _float),
    "bias_scaled": (bias_scaled, _float),
    "causal_ignored": (causal_ignored, lambda case: case.is_causal),
    "causal_late": (causal_late, lambda case: case.is_causal),
    "causal_early": (causal_early, lambda case: case.is_causal),
    "causal_other_corner": (
        causal_other_corner,
        lambda case: case.is_causal and case.sizes[0] != case.sizes[1],
    ),
    "mask_or_causal": (mask_or_causal, lambda case: case.is_causal and case.mask is not None),
    "heads_tiled": (heads_tiled, lambda case: case.group > 1 and case.sizes[5] > 1),
    "heads_reversed": (heads_reversed, lambda case: case.sizes[5] > 1),
    "batch_shifted": (batch_shifted, lambda case: case.query.shape[0] > 1),
}
"""Null model -> (its output in float64, whether its one difference is present in a case at all)."""


MINIMUM: Mapping[str, int] = {"quick": 2, "standard": 10, "thorough": 50}
"""How many problems of a run must separate every null model that is relevant to the run, by effort."""
SEPARATION = 4.0
"""A null model stands out where its float64 result is further from the truth than this many budgets."""


@dataclass(frozen=True)
class Power:
    """What one case can tell apart.

    Args:
        relevant: null model -> problems (slices) whose truth it misses.
        separated: null model -> those of them where the budget lets it be seen.
        judged: slices on which at least one null model is seen.
    """

    relevant: Mapping[str, int]
    separated: Mapping[str, int]
    judged: int


def relevant(null: str, case: Case) -> bool:
    """Whether what the null model gets wrong is present in the case, e.g. a mask for an ignored mask."""
    return NULLS[null][1](case)


def noise(p: Problem) -> NDArray:
    """Float64 rounding of truth and null model, (B, H).

    2 (n_kv + d + 8) u (1 + max|b| + |scale| d max|q| max|k|) max|v|: sums over d and over n_kv, twice.
    """
    case = p.case
    _, n_kv, d, _, _, _ = case.sizes
    key = np.repeat(np.abs(case.key).max(axis=(-2, -1)), case.group, axis=-1)
    bias = 0.0
    if case.mask is not None and case.mask.dtype != bool:
        bias = float(np.abs(np.where(np.isfinite(case.mask), case.mask, 0.0)).max(initial=0.0))
    size = 1 + bias + abs(p.scale) * d * np.abs(case.query).max(axis=(-2, -1)) * key
    return np.asarray(2 * (n_kv + d + 8) * 2.0**-53 * size * np.abs(p.value()).max(axis=(-2, -1)))


def power(case: Case, truth: oracle.Truth, bound: NDArray, alignment: str = "top_left") -> Power:
    """Hold every null model against the truth, slice by slice.

    Args:
        case: the problems. truth: theirs. bound (B, H, n_q, d_v): the error budget of the output.
        alignment: of causality, as declared.
    """
    p = Problem(case, truth, alignment)
    live = ~truth.dead[..., None]
    found: dict[str, int] = {}
    seen: dict[str, int] = {}
    judged = np.zeros(case.query.shape[:-2], dtype=bool)
    if not truth.out.size or not truth.scores.size:
        return Power({}, {}, 0)
    floor = noise(p)
    for name, (make, applies) in NULLS.items():
        if not applies(case):
            continue
        distance = np.where(live, np.abs(make(p) - truth.out), 0.0)
        differs = distance.max(axis=(-2, -1)) > floor
        apart = (distance > SEPARATION * bound).any(axis=(-2, -1)) & differs
        found[name], seen[name] = int(differs.sum()), int(apart.sum())
        judged |= apart
    return Power(found, seen, int(judged.sum()))
