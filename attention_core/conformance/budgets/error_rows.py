"""Rows of attention with the errors of their weights: what forward and backward bounds share.

Tags in comments name steps of derivations/error_budget.md, those of caps and computed biases of features.md.

What merging parts of the keys by exp(lse - total) adds to the errors of a row's weights.

The shares of the parts are not divided by their sum, so that the rounding of the total moves the whole output. Tags in
comments name steps of derivations/merged_parts.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import numpy.typing as npt

from attention_core.conformance.budgets.rounding import FLUSH, HUGE, UNIT_ROUNDOFF, Array
from attention_core.oracle import Truth

KEYS_OF_A_PART = 16
FEW_PARTS = 4


def part_count(n: int) -> int:
    """Parts that a kernel may cut n keys into (parts).

    Example:
        >>> [part_count(n) for n in (1, 3, 64, 65)]
        [1, 3, 4, 5]
    """
    return max(1, min(n, FEW_PARTS), -(-n // KEYS_OF_A_PART))


@dataclass(frozen=True)
class Merge:
    """The errors of a merge, entry by entry of the scores: 0 where a query may not attend.

    part: that of a part's log-sum-exp (part-lse). total: that of the scores of the total (total). share: that of
    a part's share (share). parts: how many parts there are; store: the roundoff of what is stored between.
    """

    part: Array
    total: Array
    share: Array
    parts: int
    store: float

    def factor(self, grown: Array, L: Array) -> tuple[Array, Array]:
        """M_ij, the error of a weight that no normaliser cancels (factor), and X_i (total-spread).

        Args: grown: p e^Delta, (..., n_q, n_kv); L: as in (normaliser), (..., n_q, 1).
        """
        spread = (grown * np.expm1(self.total)).sum(axis=-1, keepdims=True) / L
        room = np.maximum(1 - spread, 0.0)
        return (np.expm1(self.share) + spread) / room, spread

    def mismatch(self, factor: Array) -> Array:
        """K_ij, by which the two steps of a score's gradient differ (mismatch)."""
        return np.asarray((1 + factor) ** 2 * np.exp(2 * self.part) - 1)


def merge_errors(scores: Array, lse: Array, hidden: BoolArray | None, *, a: float, w: float, c_sum: float) -> Merge:
    """The errors of a merge for scores (..., n_q, n_kv) and their log-sum-exp (..., n_q, 1).

    Args: a, w: roundoffs of sums and of what is stored; c_sum: gamma_2N of (part-lse); hidden: pairs to leave out.
    """
    n = scores.shape[-1]
    parts = part_count(n)
    live = scores if hidden is None else np.where(hidden, lse, scores)
    size = np.maximum(np.abs(lse), np.abs(live))
    part = c_sum / (1 - c_sum) + (4 * a + w) * size + 2 * a * math.log(max(n, 1))
    total = (parts - 1) * (w * size + 4 * w + 10 * a)
    share = w * np.maximum(lse - live, 0.0) + parts * (4 * w + 4 * a)
    if hidden is not None:
        part, total, share = (np.where(hidden, 0.0, x) for x in (part, total, share))
    return Merge(part, total, share, parts, w)


BoolArray = npt.NDArray[np.bool_]
ORACLE = UNIT_ROUNDOFF["float64"]  # the truth is itself rounded: its own error belongs to the bound
EXACT = 1 / 2  # beyond this error of a score, only finiteness and the hull are judged (exact)
SMALL = 4096  # products n_q n_kv d_v up to here afford the sharper (spread-exact)


@dataclass(frozen=True)
class Format:
    """Roundoffs of one kernel: u of inputs and output, a of sums, w of stored weights, native or 0; and underflows."""

    u: float
    a: float
    w: float
    native: float
    flush: float
    flush_between: float
    flush_sum: float
    huge: float
    huge_score: float
    huge_sum: float


@cache
def float_format(dtype: str, accumulate: str) -> Format:
    """Sums are at least float32 everywhere; "input" means that what lies between is stored as dtype."""
    if accumulate not in ("input", "float32"):
        raise ValueError(f"accumulate must be 'input' or 'float32', got {accumulate!r}")
    sums = dtype if dtype == "float64" else "float32"
    between = dtype if accumulate == "input" else sums
    u, a, w = (UNIT_ROUNDOFF[name] + ORACLE for name in (dtype, sums, between))  # (truth)
    native = UNIT_ROUNDOFF[dtype] if accumulate == "input" else 0.0
    return Format(u, a, w, native, FLUSH[dtype], FLUSH[between], FLUSH[sums], HUGE[dtype], HUGE[between], HUGE[sums])


def gamma(count: int, unit: float) -> float:
    """count u / (1 - count u), the relative error of a product of `count` rounded factors (gamma)."""
    return count * unit / (1 - count * unit) if count * unit < 1 else math.inf


def block_count(n: int, blocks: int | None) -> int:
    """Parts of the keys whose results are merged; by default, blocks of 16 keys."""
    return max(1, -(-n // 16)) if blocks is None else max(1, blocks)


def sum_count(n: int, blocks: int | None) -> int:
    """Roundings that one term of a row sum passes through, blocked or not (count)."""
    B = block_count(n, blocks)
    return max(n, min(n, -(-n // B)) + 7 * (B - 1)) + 4


def magnitude(x: Array) -> Array:
    """|x|, and 0 for what is not finite: a truth that reads it is not finite either, and is not judged."""
    return finite_part(np.abs(x))


def finite_part(x: Array) -> Array:
    """x, and 0 for what is not finite; x itself where all of it is."""
    finite = np.isfinite(x)
    return x if finite.all() else np.where(finite, x, 0.0)


class Cap:
    """A soft cap c of the scores s, c tanh(s / c), with the errors that it adds (derivations/features.md).

    Args:
        softcap: c. raw: |s|, grouped. fmt: the roundoffs.
    """

    def __init__(self, softcap: float, raw: Array, fmt: Format) -> None:
        self.softcap, self.raw, self.fmt = softcap, raw, fmt
        self.tanh = np.tanh(raw / softcap)
        self.slope = 1 - self.tanh**2
        self.tanh_error: Array | float = 0.0  # of tanh(s / c), once `error` knows it

    def error(self, before: Array) -> Array:
        """The error of a capped score whose score is off by `before` (capped), (cap-roundings)."""
        f, c = self.fmt, self.softcap
        steps = (1 + gamma(3, f.native)) * (1 + gamma(8, f.a)) - 1
        steepest = 1 - np.tanh(np.maximum(self.raw - before, 0.0) / c) ** 2
        found = steepest * before + steps * c * self.tanh + c * (f.flush_between + f.flush_sum)
        self.tanh_error = found / c
        return np.asarray(found)

    def through(self, ds: Array, error: Array) -> tuple[Array, Array]:
        """|dS| of the scores and its error, from those of the capped scores (cap-gradient)."""
        f = self.fmt
        apart = (2 * self.tanh + self.tanh_error) * self.tanh_error + 3 * f.w + 3 * f.a  # (cap-slope)
        g = gamma(2, f.w)
        new_ds = self.slope * ds
        new_error = (self.slope + apart) * error + apart * ds
        return new_ds, (1 + g) * new_error + g * new_ds


@dataclass(frozen=True)
class Stored:
    """What it adds that keys and values are stored numbers times scales, or come from a latent.

    Source: derivations/quantised.md (stored-terms); derivations/latent.md (absorbed-key).

    Args:
        key_size, value_size: what the relative errors are of, entry by entry, like key and value.
        score: relative error of a product of a query and a key, beside those of the dot product (stored-terms).
        mean: relative error of a value, beside those of the weighted mean (stored-terms).
        lost: what underflow may take from an output, (*batch, H_kv, 1, d_v).
        score_lost: what underflow may take from a score, (*batch, H_kv, 1, n_kv).
    """

    key_size: Array
    value_size: Array
    score: float
    mean: float
    lost: Array
    score_lost: Array | float = 0.0

    def with_keys(self, n_kv: int) -> Stored:
        """The same with further keys and values of 0 after the others, such as those of sinks."""
        wide = [(0, 0), (0, 0), (0, n_kv - self.key_size.shape[-2]), (0, 0)]
        if not wide[2][1]:
            return self
        return replace(self, key_size=np.pad(self.key_size, wide), value_size=np.pad(self.value_size, wide))


class Rows:
    """What forward and backward share: rows grouped by key head, and the errors of their weights."""

    def __init__(
        self,
        inputs: tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike],
        truth: Truth,
        mask: npt.ArrayLike | None,
        scale: float | None,
        fmt: Format,
        blocks: int | None,
        merges: str = "none",
        softcap: float | None = None,
        computed_bias: bool = False,
        stored: Stored | None = None,
    ) -> None:
        q, k, v = (np.asarray(x, dtype=np.float64) for x in inputs)
        self.batch = truth.lse.shape[:-2]
        self.parts = q.shape[-3] > k.shape[-3] or any(x.shape[:-3] != self.batch for x in (q, k, v))
        if q.shape[:-3] != self.batch:
            q = np.broadcast_to(q, (*self.batch, *q.shape[-3:]))
        self.fmt, self.n_kv, self.d = fmt, k.shape[-2], q.shape[-1]
        self.scale = 1 / math.sqrt(max(self.d, 1)) if scale is None else abs(float(scale))
        H_kv = k.shape[-3]
        self.group = q.shape[-3] // H_kv if H_kv else 0
        self.rows = (*self.batch, H_kv, self.group * q.shape[-2])
        self.heads = truth.lse.shape
        self._mark_lost_rows(truth)
        self.q, self.k, self.v = magnitude(self.group_heads(q)), magnitude(k), magnitude(v)
        self.signed_v = finite_part(v)
        self.stored = stored
        if stored is not None:
            self.k, self.v = stored.key_size, stored.value_size
        self.computed_bias = computed_bias
        self.cap = None if softcap is None else self._cap_scores(softcap, q, k)
        self._take_weights(truth)
        biased = mask is not None and np.asarray(mask).dtype != np.bool_
        self.bias = self._size_of_bias(mask, truth) if biased else None
        self.blocks = block_count(self.n_kv, blocks)
        self.c_sum = gamma(2 * sum_count(self.n_kv, blocks), fmt.a)
        self.merge = self._merge_errors() if merges == "lse" else None
        self.factor: Array | None = None  # M_ij, once `forward` knows it
        self.may_lead: BoolArray = np.zeros((), dtype=np.bool_)  # scores that may be a row's largest, once known

    def _merge_errors(self) -> Merge:
        """The errors of parts of the keys that are merged by their log-sum-exps."""
        return merge_errors(self.s, self.lse, self.hidden, a=self.fmt.a, w=self.fmt.w, c_sum=self.c_sum)

    def _size_of_bias(self, mask: npt.ArrayLike | None, truth: Truth) -> Array:
        """|b| of every pair by key head."""
        full = np.broadcast_to(magnitude(np.asarray(mask, dtype=np.float64)), truth.scores.shape)
        return self.group_heads(full)

    def _cap_scores(self, softcap: float, q: Array, k: Array) -> Cap:
        """The soft cap over the scores without it."""
        raw = self.scale * self.group_heads(finite_part(q)) @ finite_part(k).swapaxes(-1, -2)
        return Cap(softcap, np.abs(raw), self.fmt)

    def _mark_lost_rows(self, truth: Truth) -> None:
        """Which rows have no key, and which have a truth that is not finite."""
        fine = np.isfinite(truth.lse) & np.isfinite(truth.out).all(axis=-1)
        self.bad = ~(fine | truth.dead).reshape(self.rows)
        self.dead = truth.dead.reshape(self.rows)
        lost = self.dead | self.bad
        self.lost: BoolArray | None = lost if lost.any() else None

    def _take_weights(self, truth: Truth) -> None:
        """The truth's weights and scores by key head, and which pairs of them do not count."""
        self.p, self.s = self.group_heads(truth.weights), self.group_heads(truth.scores)
        self.lse = self.zero_lost_rows(truth.lse.reshape(self.rows)[..., None])
        hidden = self.masked = self.s == -np.inf
        if self.bad.any():
            self.p = np.where(self.bad[..., None], 0.0, self.p)
            hidden = self.masked | self.bad[..., None]
        self.hidden: BoolArray | None = hidden if hidden.any() else None

    def group_heads(self, x: Array) -> Array:
        """(*batch, H, n_q, c) -> (*batch, H_kv, G n_q, c)."""
        return x.reshape(*self.rows, x.shape[-1])

    def hide(self, x: Array) -> Array:
        """Exact zeros, in place, where a query may not attend."""
        if self.hidden is not None:
            np.putmask(x, self.hidden, 0.0)  # in half the time of copyto
        return x

    def zero_lost_rows(self, x: Array) -> Array:
        """x (grouped, one row of numbers for each query), and 0 in rows that are dead or bad."""
        return x if self.lost is None else np.where(self.lost[..., None], 0.0, x)

    def delta(self, stored_lse: bool) -> Array:
        """Delta_ij, the error of a score as the exponential sees it (score), (exponent), (stored)."""
        f, s = self.fmt, self.s
        c_dot = (1 + gamma(4, f.native)) * (1 + gamma(self.d + 6, f.a)) - 1
        c_dot *= (1 + gamma(3, f.native)) * (1 + f.w)
        if self.stored is not None:
            c_dot = (1 + c_dot) * (1 + self.stored.score) - 1  # (stored-terms)
        c_score = (2 * f.a + (1 + f.native) * gamma(2, f.native) + f.native) * (1 + f.w)
        c_bias = (2 * f.a + (1 + f.native) * gamma(2, f.native)) * (1 + f.w)
        c_raw = c_score
        c_score += 3 * f.a if stored_lse else 0.0
        if self.computed_bias:
            c_bias += gamma(3, f.native) + gamma(3, f.a)  # (computed-bias)
        # Underflow of a product is an absolute error: (underflow) puts it into the magnitudes.
        floor = f.flush_sum / f.a / min(self.scale, 1.0) if self.scale else 0.0
        size = (self.q + floor) @ (self.k + floor).swapaxes(-1, -2)
        top = s.max(axis=-1, keepdims=True, initial=-np.inf)
        self.hide(size)
        limit = f.huge_score / max(self.scale, 1.0) / 2
        self.finite = (size.max(axis=-1, initial=0.0) < limit) & (np.abs(self.lse[..., 0]) < limit)
        self.finite &= ~self.bad
        delta = size
        delta *= self.scale * c_dot
        if self.stored is not None:
            delta += self.stored.score_lost
        if self.cap is not None:
            delta = self.hide(self.cap.error(delta + c_raw * self.cap.raw))
        part = np.abs(s)
        part *= c_score
        delta += part
        np.subtract(top, s, out=part)
        part *= f.w
        delta += part
        if self.bias is not None:
            delta += c_bias * self.bias
        delta += 4 * f.w + 4 * f.a + (5 * f.a * np.abs(self.lse) if stored_lse else 0.0)
        if self.merge is not None:
            delta += self.merge.part
        delta = self.hide(delta)
        self.may_lead = s + delta >= (s - delta).max(axis=-1, keepdims=True, initial=-np.inf)  # (leading)
        return delta

    def excess(self, delta: Array) -> tuple[Array, Array]:
        """A_ij = p_ij (e^Delta_ij - 1) and L_i <= sum_j p_ij e^-Delta_ij (excess), (normaliser)."""
        far = delta > EXACT
        self.exact, self.close = np.ones(self.rows, dtype=np.bool_), np.ones(self.rows, dtype=np.bool_)
        some = bool(far.any())
        excess = np.expm1(np.where(far, 0.0, delta) if some else delta)
        excess *= self.p
        if some:  # a weight below the range of float64 times an error above it: add the logarithms
            grown = np.exp(np.minimum((self.s - self.lse)[far] + delta[far], 600.0))
            excess[far] = np.maximum(grown - self.p[far], 0.0)
            for limit, name in ((EXACT, "exact"), (1.0, "close")):  # (exact), (close)
                part = np.where(delta > limit, excess, 0.0).sum(axis=-1)
                setattr(self, name, part <= self.fmt.u)
        self.total = excess.sum(axis=-1, keepdims=True)
        L = 1 - self.total  # since 1 - e^-x <= e^x - 1
        loose = np.asarray(self.total[..., 0] > 1 / 16)
        if loose.any():
            L[loose] = (self.p[loose] * np.exp(-delta[loose])).sum(axis=-1, keepdims=True)
        if self.lost is not None:
            L[self.lost] = 1.0
        return excess, L

    def hull(self, out: Array) -> tuple[Array, Array]:
        """How far the attended values of a slice lie from out, and their largest magnitude (hull)."""
        low = high = self.signed_v
        unseen = self.unseen_keys()
        if unseen is not None:
            low, high = np.where(unseen, np.inf, low), np.where(unseen, -np.inf, high)
        low, high = low.min(axis=-2, keepdims=True, initial=np.inf), high.max(axis=-2, keepdims=True, initial=-np.inf)
        if unseen is not None or not self.n_kv:
            nothing = low > high
            low, high = np.where(nothing, 0.0, low), np.where(nothing, 0.0, high)
        largest = np.maximum(np.abs(low), np.abs(high))
        if self.stored is not None:
            largest = np.maximum(largest, self.v.max(axis=-2, keepdims=True, initial=0.0))
        return np.maximum(np.maximum(high - out, out - low), 0.0), largest

    def unseen_keys(self) -> BoolArray | None:
        """(..., n_kv, 1), true at keys that no row of their group attends; None where there is none."""
        if self.hidden is None:
            return None
        unseen = np.asarray(self.hidden.all(axis=-2))
        return unseen[..., None] if unseen.any() else None

    def spread(self, excess: Array, out: Array) -> Array:
        """sum_j A_ij |v_j - o_i|, exactly where small, else by Cauchy-Schwarz; destroys `excess`."""
        v = self.signed_v
        if out.shape[-2] * v.shape[-2] * v.shape[-1] <= SMALL:  # (spread-exact)
            distance = v[..., None, :, :] - out[..., :, None, :]
            np.abs(distance, out=distance)
            exact: Array = (excess[..., None, :] @ distance)[..., 0, :]
            return exact
        # (spread-cs): the largest weight apart, as its value is close to out where it dominates.
        first = self.p.argmax(axis=-1)[..., None]
        lead = np.take_along_axis(excess, first, axis=-1)
        near = np.abs(rows_at(v, first[..., 0]) - out)
        np.put_along_axis(excess, first, 0.0, axis=-1)
        centre = out.mean(axis=-2, keepdims=True)
        x = v - centre
        unseen = self.unseen_keys()
        if unseen is not None:
            np.copyto(x, 0.0, where=unseen)
        unit = np.maximum(np.abs(x).max(axis=-2, keepdims=True, initial=0.0), 1e-300)
        x, y = x / unit, (out - centre) / unit
        mass = excess.sum(axis=-1, keepdims=True)
        square = excess @ (x * x) - 2 * y * (excess @ x) + y * y * mass
        square = np.maximum(square, 0.0) + 8 * (self.n_kv + 8) * ORACLE * (1 + y * y) * mass
        # two roots: the product of weights near 1e-200 with as small a mass would underflow
        return np.asarray(lead * near + unit * (np.sqrt(mass) * np.sqrt(square)))


def rows_at(x: Array, index: npt.NDArray[np.intp]) -> Array:
    """x (..., n, c) at an index (..., m) of its rows: whole rows, where `take_along_axis` takes number by number."""
    *batch, n, c = x.shape
    flat = index.reshape(-1, index.shape[-1]) + n * np.arange(math.prod(batch))[:, None]
    return np.asarray(x.reshape(-1, c)[flat.reshape(-1)]).reshape(*index.shape, c)


@dataclass(frozen=True)
class Forwarded:
    """What `forward` gives, beside the rows it was computed from: E_o and E_lse, both grouped, with A and L."""

    rows: Rows
    error: Array
    lse: Array
    excess: Array
    normaliser: Array


def forward(rows: Rows, truth: Truth, stored_lse: bool) -> tuple[Array, Array, Array, Array]:
    """E_o and E_lse, both grouped, with A and L (the caller may destroy A)."""
    f = rows.fmt
    delta = rows.delta(stored_lse)
    excess, L = rows.excess(delta)
    out = rows.zero_lost_rows(rows.group_heads(truth.out))
    rho = (1 + rows.c_sum) * (1 + gamma(2, f.w)) * (1 + gamma(2, f.u)) - 1 + rows.n_kv * f.flush  # (rho)
    if rows.stored is not None:
        rho = (1 + rho) * (1 + rows.stored.mean) - 1  # (stored-terms)
    mixed = rows.p + excess
    mixed += f.flush / rho  # (underflow) of a weight
    mix = rows.hide(mixed) @ rows.v / L
    hull, largest = rows.hull(out)
    largest = largest * (1 + rows.n_kv * f.flush / rho)
    mix = np.where(mix <= largest, mix, largest)
    rows.finite &= rows.n_kv * mix.max(axis=-1, initial=0.0) < f.huge_sum / 2  # (overflow)
    spread = rows.spread(excess.copy(), out) / L
    total: Array | float = 0.0
    if rows.merge is not None:
        moved, total = moved_by_merge(rows, rows.merge, excess, L)
        spread += (1 + rho) * moved  # (merged-output)
        hull = np.abs(out) + rows.merge.parts * largest  # (merged-hull)
        total = -np.log1p(-np.minimum(total, 1.0))[..., 0]
    capped = ~rows.close[..., None] | ~(spread <= hull)
    error = np.where(capped, hull, spread) + rho * mix
    lost: Array | float = (2 + rows.blocks) * f.flush  # (underflow) of parts, their products and the output
    if rows.stored is not None:
        lost = lost + rows.stored.lost
    error = (1 + f.u) * error + f.u * np.abs(out) + lost  # (output)
    up, down = np.log1p(rows.total[..., 0]), -np.log(L[..., 0])
    size = np.abs(rows.lse[..., 0])
    lse = np.maximum(up, down) + rows.c_sum / (1 - rows.c_sum) + total  # (lse)
    lse = (1 + f.w) * lse + (4 * f.a + f.w) * size + 2 * f.a * math.log(max(rows.n_kv, 1)) + f.flush
    return error, lse, excess, L


def moved_by_merge(rows: Rows, merge: Merge, excess: Array, L: Array) -> tuple[Array, Array]:
    """What shares that do not sum to one move the output by, and how far the total is off.

    Source: derivations/merged_parts.md (merged, total-factor).
    """
    grown = rows.p + excess
    factor, total = merge.factor(grown, L)
    rows.factor = factor
    rows.exact &= total[..., 0] < EXACT
    with np.errstate(all="ignore"):
        moved = rows.hide(grown * factor) @ rows.v / L
    return np.where(np.isnan(moved), np.inf, moved), total
