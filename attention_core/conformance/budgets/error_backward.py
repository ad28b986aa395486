"""Errors of the gradients of the weights and of the scores, row by row: the inside of the backward bound.

Tags in comments name steps of derivations/error_budget.md, those of merges of derivations/merged_parts.md.
"""

from __future__ import annotations

import numpy as np

from attention_core.conformance.budgets.error_rows import (
    BoolArray,
    Forwarded,
    Rows,
    forward,
    gamma,
    magnitude,
    sum_count,
)
from attention_core.conformance.budgets.rounding import Array
from attention_core.oracle import Truth


class Backward:
    """Errors of the weights' and the scores' gradients, rows grouped by key head.

    Args: slack: how far the kernel's own cotangent may be from the one that is given, number by number; None for 0.
    """

    def __init__(
        self, rows: Rows, truth: Truth, cotangent: Array, inside: Forwarded | None = None, slack: Array | None = None
    ) -> None:
        f = rows.fmt
        if inside is None:
            out_error, _, excess, L = forward(rows, truth, stored_lse=True)
        else:
            out_error, excess, L = inside.error, inside.excess.copy(), inside.normaliser
        self.rows, self.cot, self.slack = rows, magnitude(cotangent), slack
        self.judged = rows.dead | (rows.exact & rows.finite)
        if slack is not None:  # (cotangent)
            slack = rows.group_heads(np.broadcast_to(slack, truth.out.shape))
            known = np.asarray(np.isfinite(slack).all(axis=-1))
            self.judged &= known
            self.slack = np.where(known[..., None], slack, 0.0)
            self.cot = self.cot + self.slack
        c: Array | float = (1 + rows.c_sum) * (1 + gamma(2, f.u)) * (1 + gamma(2, f.w)) - 1
        self.p = rows.p
        weight_error = excess
        if rows.factor is not None:
            c = (1 + c) * (1 + rows.factor) - 1  # (merged-weight)
        weight_error *= (1 + c) / L
        weight_error += self.p * ((c + 1 - L) / L)  # (weight) p R
        weight_error += f.flush_between  # (underflow) of a stored weight
        weight_error = rows.hide(weight_error)
        if not self.judged.all():
            self.p = np.where(self.judged[..., None], self.p, 0.0)
            weight_error = np.where(self.judged[..., None], weight_error, 0.0)
        self.weight_error = weight_error
        self._scores(np.where(np.isfinite(cotangent), cotangent, 0.0), truth, out_error)

    def _scores(self, cot: Array, truth: Truth, out_error: Array) -> None:
        """|dS| and E_dS: (dP), (D), (dS)."""
        rows, f, p = self.rows, self.rows.fmt, self.p
        d_v, floor = cot.shape[-1], f.flush_sum / f.a
        size = rows.hide((self.cot + floor) @ (rows.v + floor).swapaxes(-1, -2))
        dp = rows.hide(cot @ rows.signed_v.swapaxes(-1, -2))
        self.judged &= size.max(axis=-1, initial=0.0) < f.huge / 4  # (overflow)
        mean = np.einsum("...ij,...ij->...i", p, dp)[..., None]
        centred = np.abs(dp - mean)
        moved, moved_mean, mean = self._move(truth, np.abs(dp, out=dp), centred, np.abs(mean))
        lost = self._lost_in_quotients()
        all_values, all_channels = dp.sum(axis=-1), self.cot.sum(axis=-1)
        self.lead_error = self.error_of_largest(size, p + self.weight_error, gamma(d_v, f.a))
        self.lead_error += lost * (np.maximum(all_values, all_channels)[..., None] + 3)
        product, divided = gamma(d_v + 2, f.a) * (1 + f.native), gamma(2, f.native)
        of_cotangent = divided * size  # (divided)
        size *= product
        step = gamma(sum_count(rows.n_kv, None), f.a) + 2 * f.w
        grown = p + self.weight_error
        parts = self._parts((1 + step) * size + step * dp, grown)
        largest = (size.max(axis=-1, initial=0.0) + dp.max(axis=-1, initial=0.0))[..., None]
        size += f.u * dp  # E_dP, also rounded where the weights were rounded for their product
        out = self._size_of_output(truth, out_error)
        fused = (self.cot * ((product + divided + f.u) * (out + out_error) + out_error)).sum(axis=-1)
        rounded = gamma(sum_count(rows.n_kv, None), f.a) + 2 * f.u
        plain = (1 + rounded) * np.einsum("...ij,...ij->...i", grown, size)
        plain += rounded * np.einsum("...ij,...ij->...i", grown, dp)
        plain += np.einsum("...ij,...ij->...i", self.weight_error, dp)
        fused += lost[..., 0] * all_channels
        plain += lost[..., 0] * all_values
        mean_error = np.maximum(fused, plain)[..., None] + 2 * parts + moved_mean  # (cotangent), whichever way
        apart = self._steps_apart(largest, mean + mean_error)
        self.ds = p * centred
        dp *= 2 * f.w
        size += dp
        size += of_cotangent + 3 * lost + moved
        size += mean_error + 2 * f.w * mean
        size += apart
        size *= grown
        size += self.weight_error * centred
        self._round_scores(size)

    def _move(self, truth: Truth, dp: Array, centred: Array, mean: Array) -> tuple[Array, Array, Array]:
        """What the slack of the cotangent moves in dP and in D, and |D| with that; in place, that in |dP|, |dP - D|.

        Source: derivations/variants.md (cotangent).
        """
        rows = self.rows
        if self.slack is None:
            none = np.zeros((1,) * (len(rows.rows) + 1))
            return none, none, mean
        out = np.nan_to_num(np.abs(rows.group_heads(truth.out)))
        moved = rows.hide(self.slack @ rows.v.swapaxes(-1, -2))
        moved_mean = (self.slack * out).sum(axis=-1, keepdims=True)
        dp += moved
        centred += rows.hide(moved + moved_mean)
        return moved, moved_mean, mean + moved_mean

    def _size_of_output(self, truth: Truth, out_error: Array) -> Array:
        """|o| by key head, 0 where it is not judged."""
        rows = self.rows
        out = np.where(np.isfinite(out_error), np.abs(rows.group_heads(truth.out)), 0.0)
        return np.where(rows.dead[..., None] | rows.bad[..., None], 0.0, out)

    def _round_scores(self, size: Array) -> None:
        """E_dS from what its terms add up to, in place: rounded, hidden where a pair does not count, and kept."""
        rows, f = self.rows, self.rows.fmt
        size *= 1 + 2 * f.u
        size += 2 * f.u * self.ds
        size += f.flush / min(rows.scale, 1.0) if rows.scale else f.flush
        self.ds_error = rows.hide(size)
        if not self.judged.all():
            self.ds_error[~self.judged] = 0.0
            self.ds[~self.judged] = 0.0
            self.lead_error[~self.judged] = 0.0

    def _lost_in_quotients(self) -> Array:
        """What underflow takes from numbers that are divided by the normaliser, times the normaliser (quotients)."""
        rows = self.rows
        top = rows.zero_lost_rows(rows.s.max(axis=-1, keepdims=True, initial=-np.inf))
        return rows.zero_lost_rows(rows.fmt.flush_between * np.exp(rows.lse - top))

    def error_of_largest(self, size: Array, grown: Array, dot: float) -> Array:
        """What a gradient that runs through the row's largest score adds to it, row by row (leading).

        Args: size: the sums of magnitudes in dP. grown: p + E_p. dot: the relative error of a product with the values.
        """
        rows, f = self.rows, self.rows.fmt
        whole = np.einsum("...ij,...ij->...i", grown, size)[..., None]
        keys = gamma(sum_count(rows.n_kv, None), f.a)
        h, c = (1 + keys) * (1 + dot) * (1 + gamma(5, f.w)) - 1, (1 + keys) * (1 + f.w) - 1
        rho, sigma = gamma(4, f.w), (1 + keys) * (1 + gamma(3, f.w)) - 1
        factor = h + c * (1 + h) + (rho + sigma * (1 + rho)) * (1 + (1 + c) * (1 + h))
        return rows.zero_lost_rows(factor * whole + rows.n_kv * f.flush)

    def at_leading(self) -> Array:
        """That error at every key whose score may be the largest of its row, else 0."""
        return self.rows.hide(np.where(self.rows.may_lead, self.lead_error, 0.0))

    def _parts(self, errors: Array, grown: Array) -> Array:
        """The error of the mean over the part of the keys that each key lies in (D-parts), (part-share).

        Args: errors: what each key adds to it; grown: p + E_p.
        """
        whole = np.einsum("...ij,...ij->...i", grown, errors)[..., None]
        own = grown * whole / np.maximum(self.p * self.p, 1e-300)
        return np.asarray(np.minimum(errors.max(axis=-1, keepdims=True, initial=0.0), own))

    def _steps_apart(self, largest: Array, mean: Array) -> Array | float:
        """What the two steps of a merged score's gradient add (merged-score), (merged-stores)."""
        merge, factor = self.rows.merge, self.rows.factor
        if merge is None or factor is None:
            return 0.0
        K = merge.mismatch(factor)
        apart = K * largest + K * (2 + K) * mean + 4 * merge.parts * merge.store * (largest + mean)
        return self.rows.hide(np.where(self.judged[..., None], apart, 0.0))

    def unknown_keys(self) -> Array:
        """Infinity at every key that some unjudged row attends, else 0: (*batch, H_kv, n_kv, 1)."""
        rows = self.rows
        lost = ~self.judged
        if not lost.any():
            return np.zeros((*rows.rows[:-1], rows.n_kv, 1))
        seen: BoolArray = np.broadcast_to(lost[..., None], (*rows.rows, rows.n_kv))
        if rows.hidden is not None:
            seen = seen & ~rows.masked
        return np.where(seen.any(axis=-2), np.inf, 0.0)[..., None]

    def value(self) -> Array:
        """E_dV before its last rounding (dV)."""
        rows, f = self.rows, self.rows.fmt
        g = (1 + gamma(rows.rows[-1] + 4, f.a)) * (1 + 2 * f.u) - 1
        weight = (1 + g) * self.weight_error
        weight += g * self.p
        weight += f.flush
        off = np.asarray(rows.hide(weight).swapaxes(-1, -2) @ (self.cot + f.flush_sum / f.a))
        if self.slack is not None:
            off += rows.hide(self.p.copy()).swapaxes(-1, -2) @ self.slack  # (cotangent-value)
        return off

    def query_and_key(self) -> tuple[Array, Array]:
        """E_dQ and E_dK before their last roundings (dQ), (dK)."""
        rows, f = self.rows, self.rows.fmt
        floor = f.flush_sum / f.a
        count = max(sum_count(rows.n_kv, None), rows.rows[-1] + 4)
        g = (1 + gamma(count, f.a)) * (1 + gamma(4, f.native)) - 1
        ds, error = self.ds, self.ds_error
        if rows.cap is not None:
            ds, error = rows.cap.through(ds, error)
        both = (1 + g) * error
        both += g * ds
        grown = 1 + g
        if rows.parts:  # what one head or batch gives is rounded before the parts are added
            both += gamma(3, f.u) * (ds + error)
            grown += gamma(3, f.u)
        query = both @ (rows.k + floor) + grown * self.lead_error * self._leading_key(rows.k + floor)
        both += grown * self.at_leading()
        return rows.scale * query, rows.scale * (both.swapaxes(-1, -2) @ (rows.q + floor))

    def _leading_key(self, key: Array) -> Array:
        """The key of a row's largest score; where several may be it, the largest of all keys, number by number."""
        lead = self.rows.may_lead
        if not key.shape[-2]:
            return np.zeros((*lead.shape[:-1], key.shape[-1]))
        key = np.broadcast_to(key, (*lead.shape[:-2], *key.shape[-2:]))
        first = np.take_along_axis(key, lead.argmax(axis=-1)[..., None], axis=-2)
        return np.where(lead.sum(axis=-1, keepdims=True) > 1, key.max(axis=-2, keepdims=True), first)
