"""The formulas of derivations/error_budget.md, one row at a time.

The error budget written a second time, number by number: loops over rows, keys and columns, no arrays.
Slow and plain on purpose: what the module says in whole arrays must come out here as well.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from attention_core.oracle import Truth

UNIT = {"float64": 2.0**-53, "float32": 2.0**-24, "bfloat16": 2.0**-8, "float16": 2.0**-11}
FLUSH = {"float64": 2.0**-1022, "float32": 2.0**-126, "bfloat16": 2.0**-126, "float16": 2.0**-24}
HUGE = {
    "float64": np.finfo(np.float64).max,
    "float32": np.finfo(np.float32).max,
    "bfloat16": 255 * 2.0**120,
    "float16": 65504.0,
}


def gamma(count: float, unit: float) -> float:
    """Relative error of `count` roundings."""
    return count * unit / (1 - count * unit)


def over(x: float, L: float) -> float:
    """x / L, infinite where nothing is left of the normaliser."""
    return x / L if L > 0 else math.inf


def summed(n: int, blocks: int | None) -> int:
    """Roundings that one of n terms passes through."""
    parts = max(1, math.ceil(n / 16)) if blocks is None else max(1, blocks)
    return max(n, min(n, math.ceil(n / parts)) + 7 * (parts - 1)) + 4


def last(error: float, truth: float, count: int, u: float, flush: float, huge: float) -> float:
    """Bound after the last roundings; infinite where the result may leave the format."""
    g = gamma(count, u)
    bound = (1 + g) * error + g * abs(truth) + flush
    return bound if abs(truth) + bound < huge else math.inf


@dataclass
class Row:
    """What is known of one query's row."""

    keys: list[int]  # those attended, if the row is judged by its weights at all
    dead: bool
    bad: bool
    delta: dict[int, float]
    excess: dict[int, float]
    L: float
    total: float
    exact: bool
    close: bool
    finite: bool


class Again:
    """All bounds of one call with batch dimension 1: q (H, n_q, d), k (H_kv, n_kv, d), v (H_kv, n_kv, d_v)."""

    def __init__(
        self, q: Any, k: Any, v: Any, truth: Truth, *, mask: Any, scale: float | None, dtype: str, accumulate: str,
        blocks: int | None = None,
    ) -> None:  # fmt: skip
        sums = dtype if dtype == "float64" else "float32"
        between = dtype if accumulate == "input" else sums
        self.u, self.a, self.w = (UNIT[x] + 2.0**-53 for x in (dtype, sums, between))
        self.y = UNIT[dtype] if accumulate == "input" else 0.0
        self.flush, self.flush_between, self.flush_sum = FLUSH[dtype], FLUSH[between], FLUSH[sums]
        self.huge, self.huge_score, self.huge_sum = HUGE[dtype], HUGE[between], HUGE[sums]
        self.q, self.k, self.v, self.truth, self.blocks = q, k, v, truth, blocks
        self.H, self.n_q, self.d = q.shape
        self.G, self.n_kv, self.d_v = self.H // k.shape[0], k.shape[1], v.shape[2]
        self.scale = 1 / math.sqrt(self.d) if scale is None else abs(scale)
        self.parts = 1 if self.G == 1 else 2
        self.bias = (
            None if mask is None or mask.dtype == np.bool_ else np.broadcast_to(mask, (self.H, self.n_q, self.n_kv))
        )
        self.c_sum = gamma(2 * summed(self.n_kv, blocks), self.a)
        self.floor = self.flush_sum / self.a
        self.rows = {(h, i): self.row(h, i) for h in range(self.H) for i in range(self.n_q)}
        self.errors = {at: self.forward(*at) for at in self.rows}

    def row(self, h: int, i: int) -> Row:
        """The errors of the scores of one row, and what they do to its weights."""
        t = self.truth
        s, p, lse = t.scores[0, h, i], t.weights[0, h, i], float(t.lse[0, h, i])
        dead = bool(t.dead[0, h, i])
        bad = not dead and not (math.isfinite(lse) and np.isfinite(t.out[0, h, i]).all())
        keys = [] if dead or bad else [j for j in range(self.n_kv) if s[j] != -math.inf]
        lse = 0.0 if dead or bad else lse
        dot = (1 + gamma(4, self.y)) * (1 + gamma(self.d + 6, self.a)) - 1
        dot *= (1 + gamma(3, self.y)) * (1 + self.w)
        stored = 2 * self.a + (1 + self.y) * gamma(2, self.y)
        at_score, at_bias = (stored + self.y) * (1 + self.w) + 3 * self.a, stored * (1 + self.w)
        floor = self.floor / min(self.scale, 1.0)
        top = max((s[j] for j in keys), default=0.0)
        delta, largest = {}, 0.0
        for j in keys:
            key = self.k[h // self.G, j]
            size = sum((abs(self.q[h, i, c]) + floor) * (abs(key[c]) + floor) for c in range(self.d))
            largest = max(largest, size)
            delta[j] = self.scale * dot * size + at_score * abs(s[j]) + self.w * (top - s[j])
            delta[j] += 4 * self.w + 4 * self.a + 5 * self.a * abs(lse)
            if self.bias is not None and math.isfinite(self.bias[h, i, j]):
                delta[j] += at_bias * abs(self.bias[h, i, j])
        limit = self.huge_score / max(self.scale, 1.0) / 2
        excess = {
            j: p[j] * math.expm1(x) if x <= 0.5 else max(math.exp(min(s[j] - lse + x, 600.0)) - p[j], 0.0)
            for j, x in delta.items()
        }
        total = sum(excess.values())
        L = 1.0 if not keys else 1 - total if total <= 1 / 16 else sum(p[j] * math.exp(-delta[j]) for j in keys)
        exact, close = (sum(excess[j] for j in keys if delta[j] > x) <= self.u for x in (0.5, 1.0))
        return Row(
            keys, dead, bad, delta, excess, L, total, exact, close, largest < limit and abs(lse) < limit and not bad
        )

    def hull(self, h: int, c: int) -> list[float]:
        """Values of column c that some row of these query heads attends."""
        first = h - h % self.G
        seen = {j for g in range(first, first + self.G) for i in range(self.n_q) for j in self.rows[g, i].keys}
        return [float(self.v[h // self.G, j, c]) for j in sorted(seen)]

    def forward(self, h: int, i: int) -> list[float]:
        """E_o of one row, before the format's end is looked at; settles whether sums may overflow."""
        row, p, v = self.rows[h, i], self.truth.weights[0, h, i], self.v[h // self.G]
        rho = (1 + self.c_sum) * (1 + gamma(2, self.w)) * (1 + gamma(2, self.u)) - 1 + self.n_kv * self.flush
        parts = max(1, math.ceil(self.n_kv / 16)) if self.blocks is None else max(1, self.blocks)
        errors, mixes = [], []
        for c in range(self.d_v):
            o = 0.0 if row.dead or row.bad else float(self.truth.out[0, h, i, c])
            mix = over(sum((p[j] + row.excess[j] + self.flush / rho) * abs(v[j, c]) for j in row.keys), row.L)
            values = self.hull(h, c) or [0.0]
            hull = max(max(values) - o, o - min(values), 0.0)
            mix = min(mix, max(abs(min(values)), abs(max(values))) * (1 + self.n_kv * self.flush / rho))
            spread = over(sum(row.excess[j] * abs(v[j, c] - o) for j in row.keys), row.L)
            error = (spread if row.close and spread <= hull else hull) + rho * mix
            errors.append((1 + self.u) * error + self.u * abs(o) + (2 + parts) * self.flush)
            mixes.append(mix)
        row.finite = row.finite and self.n_kv * max(mixes) < self.huge_sum / 2
        return errors

    def dead_value(self, h: int, c: int) -> float:
        """Error of the plain mean of a column, which is what a dead row of the `uniform` kind gives."""
        mean = sum(abs(self.v[h // self.G, j, c]) for j in range(self.n_kv)) / self.n_kv
        return (gamma(summed(self.n_kv, self.blocks), self.a) + gamma(4, self.u)) * mean + self.flush

    def out(self, h: int, i: int, uniform: bool) -> tuple[list[float], float, bool, bool]:
        """Bounds of the output and of the log-sum-exp of a row, exact, finite."""
        row = self.rows[h, i]
        if row.dead:
            return [self.dead_value(h, c) if uniform else 0.0 for c in range(self.d_v)], 0.0, row.exact, True
        bounds = []
        for c, error in enumerate(self.errors[h, i]):
            fits = abs(self.truth.out[0, h, i, c]) + error < self.huge
            bounds.append(error if fits else math.inf)
        if not row.finite or math.inf in bounds:
            return [math.inf] * self.d_v, math.inf, False, False
        size = abs(float(self.truth.lse[0, h, i]))
        lse = max(math.log1p(row.total), math.log(over(1.0, row.L))) + self.c_sum / (1 - self.c_sum)
        lse = (1 + self.w) * lse + (4 * self.a + self.w) * size + 2 * self.a * math.log(self.n_kv) + self.flush
        return bounds, lse, row.exact, True

    def weight_errors(self, h: int, i: int) -> tuple[dict[int, float], dict[int, float]]:
        """Weights of a row and the errors of those that the backward pass recomputes."""
        row, p = self.rows[h, i], self.truth.weights[0, h, i]
        c = (1 + self.c_sum) * (1 + gamma(2, self.u)) * (1 + gamma(2, self.w)) - 1
        errors = {
            j: row.excess[j] * (1 + c) / row.L + p[j] * (c + 1 - row.L) / row.L + self.flush_between for j in row.keys
        }
        return {j: float(p[j]) for j in row.keys}, errors

    def scores(self, h: int, i: int, cot: Any) -> tuple[dict[int, float], dict[int, float], bool]:
        """|dS| and E_dS of a row, and whether the row can be judged."""
        row, v = self.rows[h, i], self.v[h // self.G]
        if not row.dead and not (row.exact and row.finite):
            return {}, {}, False
        p, errors = self.weight_errors(h, i)
        columns = range(self.d_v)
        size = {j: sum((abs(cot[c]) + self.floor) * (abs(v[j, c]) + self.floor) for c in columns) for j in row.keys}
        if max(size.values(), default=0.0) >= self.huge / 4:
            return {}, {}, False
        dp = {j: sum(cot[c] * v[j, c] for c in columns) for j in row.keys}
        mean = sum(p[j] * dp[j] for j in row.keys)
        product, divided = gamma(self.d_v + 2, self.a) * (1 + self.y), gamma(2, self.y)
        error = {j: size[j] * product + self.u * abs(dp[j]) for j in row.keys}
        of_mean = self.error_of_mean((h, i), cot, product, p, errors, dp, error)
        ds, ds_error = {}, {}
        for j in row.keys:
            grown, centred = p[j] + errors[j], abs(dp[j] - mean)
            ds[j] = p[j] * centred
            inner = (
                error[j]
                + divided * size[j]
                + 3 * self.lost_in_quotients(h, i)
                + 2 * self.w * abs(dp[j])
                + of_mean[j]
                + 2 * self.w * abs(mean)
            )
            e = (inner * grown + errors[j] * centred) * (1 + 2 * self.u) + 2 * self.u * ds[j]
            ds_error[j] = e + (self.flush / min(self.scale, 1.0) if self.scale else self.flush)
        return ds, ds_error, True

    def lost_in_quotients(self, h: int, i: int) -> float:
        """What underflow takes from numbers that are divided by the normaliser, times the normaliser."""
        keys = self.rows[h, i].keys
        top = max((self.truth.scores[0, h, i, j] for j in keys), default=0.0)
        return self.flush_between * math.exp(float(self.truth.lse[0, h, i]) - top) if keys else 0.0

    def mean_of_magnitudes(self, h: int, i: int, cot: Any) -> float:
        """The mean of sum_c |x_c v_c| under weights that are as large as they may be."""
        p, errors = self.weight_errors(h, i)
        v = self.v[h // self.G]
        columns = range(self.d_v)
        return sum(
            (p[j] + errors[j]) * sum((abs(cot[c]) + self.floor) * (abs(v[j, c]) + self.floor) for c in columns)
            for j in p
        )

    def error_of_mean(
        self, at: tuple[int, int], cot: Any, product: float, p: dict[int, float], errors: dict[int, float],
        dp: dict[int, float], error: dict[int, float],
    ) -> dict[int, float]:  # fmt: skip
        """E_D of every key: of the sum over the row, or of the product of cotangent and output, and of its part."""
        fused = 0.0
        for c in range(self.d_v) if p else ():
            o, o_error = abs(float(self.truth.out[0, at[0], at[1], c])), self.errors[at][c]
            fused += abs(cot[c]) * ((product + gamma(2, self.y) + self.u) * (o + o_error) + o_error)
        rounded = gamma(summed(self.n_kv, None), self.a) + 2 * self.u
        plain = sum(
            (p[j] + errors[j]) * ((1 + rounded) * error[j] + rounded * abs(dp[j])) + errors[j] * abs(dp[j]) for j in p
        )
        step = gamma(summed(self.n_kv, None), self.a) + 2 * self.w
        lost = self.lost_in_quotients(*at)
        plain += lost * sum(abs(x) for x in dp.values())
        fused += lost * sum(abs(x) for x in cot) if p else 0.0
        each = {j: (1 + step) * (error[j] - self.u * abs(dp[j])) + step * abs(dp[j]) for j in error}
        whole, most = sum((p[j] + errors[j]) * each[j] for j in each), max(each.values(), default=0.0)
        shares = {j: (p[j] + errors[j]) * whole / max(p[j] ** 2, 1e-300) for j in each}
        return {j: max(fused, plain) + 2 * min(most, shares[j]) for j in each}

    def backward(self, cotangent: Any) -> dict[str, Any]:
        """E_dQ, E_dK, E_dV before their last roundings, with E_dS and |dS|; inf where a row is not judged."""
        H_kv = self.H // self.G
        found = {
            "query": np.zeros((self.H, self.n_q, self.d)), "key": np.zeros((H_kv, self.n_kv, self.d)),
            "value": np.zeros((H_kv, self.n_kv, self.d_v)), "ds": np.zeros((self.H, self.n_q, self.n_kv)),
            "ds_error": np.zeros((self.H, self.n_q, self.n_kv)), "judged": np.zeros((self.H, self.n_q), dtype=bool),
            "lead": np.zeros((self.H, self.n_q)), "leads": np.zeros((self.H, self.n_q, self.n_kv), dtype=bool),
        }  # fmt: skip
        for (h, i), row in self.rows.items():
            g, cot = h // self.G, cotangent[h, i]
            ds, ds_error, found["judged"][h, i] = self.scores(h, i, cot)
            if not found["judged"][h, i]:
                keys = [j for j in range(self.n_kv) if self.truth.scores[0, h, i, j] != -math.inf]
                found["query"][h, i] = math.inf
                for name in ("key", "value"):
                    found[name][g, keys] = math.inf
                found["ds_error"][h, i, keys] = math.inf
                continue
            p, errors = self.weight_errors(h, i)
            found["lead"][h, i] = self.error_of_largest(self.mean_of_magnitudes(h, i, cot), self.d_v)
            values = sum(abs(sum(cot[c] * self.v[g, j, c] for c in range(self.d_v))) for j in row.keys)
            found["lead"][h, i] += self.lost_in_quotients(h, i) * (max(values, sum(abs(x) for x in cot)) + 3)
            found["leads"][h, i, self.leading(h, i)] = True
            for j in row.keys:
                found["ds"][h, i, j], found["ds_error"][h, i, j] = ds[j], ds_error[j]
                r = (1 + gamma(self.G * self.n_q + 4, self.a)) * (1 + 2 * self.u) - 1
                passed = (1 + r) * errors[j] + r * p[j] + self.flush
                found["value"][g, j] += [passed * (abs(x) + self.floor) for x in cot]
                self.add_query_and_key(found, h, i, j)
        return found

    def add_query_and_key(self, found: dict[str, Any], h: int, i: int, j: int) -> None:
        """What one score passes to the gradients of its query and of its key."""
        ds, error = found["ds"][h, i, j], found["ds_error"][h, i, j]
        count = max(summed(self.n_kv, None), self.G * self.n_q + 4)
        r = (1 + gamma(count, self.a)) * (1 + gamma(4, self.y)) - 1
        both = (1 + r) * error + r * ds
        if self.parts > 1:
            both += gamma(3, self.u) * (ds + error)
        leads = self.leading(h, i)
        if j in leads:
            self.add_leading(found, h, i, leads, (1 + r) + (gamma(3, self.u) if self.parts > 1 else 0.0), j)
        for c in range(self.d):
            found["query"][h, i, c] += self.scale * both * (abs(self.k[h // self.G, j, c]) + self.floor)
            found["key"][h // self.G, j, c] += self.scale * both * (abs(self.q[h, i, c]) + self.floor)

    def leading(self, h: int, i: int) -> list[int]:
        """Keys of a row whose score may be its largest."""
        row, s = self.rows[h, i], self.truth.scores[0, h, i]
        least = max((s[j] - row.delta[j] for j in row.keys), default=0.0)
        return [j for j in row.keys if s[j] + row.delta[j] >= least]

    def error_of_largest(self, whole: float, d_v: int) -> float:
        """What the gradient that runs through a row's largest score adds there; whole: the mean of the magnitudes."""
        keys = gamma(summed(self.n_kv, None), self.a)
        h, c = (1 + keys) * (1 + gamma(d_v, self.a)) * (1 + gamma(5, self.w)) - 1, (1 + keys) * (1 + self.w) - 1
        rho, sigma = gamma(4, self.w), (1 + keys) * (1 + gamma(3, self.w)) - 1
        once = h + c * (1 + h) + (rho + sigma * (1 + rho)) * (1 + (1 + c) * (1 + h))
        return once * whole + self.n_kv * self.flush

    def add_leading(self, found: dict[str, Any], h: int, i: int, leads: list[int], grown: float, j: int) -> None:
        """The error at the largest score: to every key that may have it, and once to the query."""
        keys = self.k[h // self.G]
        error = self.scale * grown * found["lead"][h, i]
        for c in range(self.d):
            found["key"][h // self.G, j, c] += error * (abs(self.q[h, i, c]) + self.floor)
            if j == leads[0]:
                key = abs(keys[j, c]) if len(leads) == 1 else max(abs(x) for x in keys[:, c])
                found["query"][h, i, c] += error * (key + self.floor)
