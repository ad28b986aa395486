"""Truth, gradients and budgets of calls with features, by the plain problems that they pose."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attention_core import oracle
from attention_core.conformance.budgets import budget
from attention_core.conformance.budgets.error_rows import float_format, gamma
from attention_core.conformance.cases.case import Case
from attention_core.conformance.cases.features import Features, Posed, distances, pose
from attention_core.conformance.worker.exchange import NDArray
from attention_core.declaration.implementation import Implementation


@dataclass(frozen=True, eq=False)
class Featured:
    """A call with features: what is declared, the case, what it asks for, the plain problem, its truth and budget."""

    declared: Implementation
    case: Case
    features: Features
    posed: Posed
    truth: oracle.Truth
    bounds: budget.ForwardBounds

    @property
    def rows_to_judge(self) -> NDArray:
        """Rows about which something is declared, (B, H, n_q, 1)."""
        dead_rows = self.declared.dead_rows
        open_rows = dead_rows == "unspecified" or (self.features.sinks is not None and dead_rows != "zeros")
        return np.asarray((~self.posed.dead if open_rows else np.ones_like(self.posed.dead))[..., None])

    @property
    def limit(self) -> NDArray:
        """The budget of the output, (B, H, n_q, d_v)."""
        return np.broadcast_to(self.bounds.out, self.truth.out.shape)

    def gradients(self, down: NDArray | None = None) -> tuple[dict[str, NDArray], dict[str, NDArray], bool]:
        """Gradients of <out, down> by name, their budgets, and whether all of them can be judged.

        Args: down: a cotangent of the output; the case's own where none is given.
        """
        case, declared = self.posed.case, self.declared
        sinks, slopes = (x is not None for x in (self.features.sinks, self.features.alibi_slopes))
        down = self.case.cotangent() if down is None else down
        true = oracle.gradients(
            case.query, case.key, case.value, down, case.mask, scale=case.factor, truth=self.truth,
            want_mask=sinks or slopes, dead_rows=declared.dead_rows, softcap=self.posed.softcap,
        )  # fmt: skip
        limits = budget.backward_bound(
            case.query, case.key, case.value, down, self.truth, true, mask=case.mask, scale=case.factor,
            dtype=case.dtype, accumulate=declared.accumulate, dead_rows=declared.dead_rows, merges=declared.merges,
            forward_bounds=self.bounds, want_mask=sinks or slopes,
        )  # fmt: skip
        n_kv = self.case.sizes[1]
        found, bounds = (
            {"query": x.query, "key": x.key[..., :n_kv, :], "value": x.value[..., :n_kv, :]} for x in (true, limits)
        )
        if sinks:
            found["sinks"], bounds["sinks"] = self._sinks(true, limits, down)
        if slopes:
            found["alibi_slopes"], bounds["alibi_slopes"] = self._slopes(true, limits)
        return found, bounds, bool(limits.finite.all())

    def _sinks(self, true: oracle.Gradients, limits: budget.BackwardBounds, down: NDArray) -> tuple[NDArray, NDArray]:
        """The gradient of the sinks and its budget: sums over sequences and queries of that of their key's score."""
        assert true.mask is not None and limits.mask is not None
        each, error = true.mask[..., -1], limits.mask[..., -1]
        fmt = float_format(self.case.dtype, self.declared.accumulate)
        total = each.sum(axis=(0, 2))
        error = error + 2 * fmt.a * np.abs((down * self.truth.out).sum(axis=-1))  # (sink-complement)
        wide = gamma(each.shape[0] * each.shape[2], fmt.a) * (np.abs(each) + error).sum(axis=(0, 2))  # (sink-sum)
        bound = error.sum(axis=(0, 2)) + wide
        return total, (1 + gamma(2, fmt.u)) * bound + gamma(2, fmt.u) * np.abs(total) + fmt.flush

    def _slopes(self, true: oracle.Gradients, limits: budget.BackwardBounds) -> tuple[NDArray, NDArray]:
        """The gradient of the slopes and its budget: sums of those of the scores, each times its distance."""
        assert true.mask is not None and limits.mask is not None
        n_kv, fmt = self.case.sizes[1], float_format(self.case.dtype, self.declared.accumulate)
        each, error = true.mask[..., :n_kv], limits.mask[..., :n_kv]
        far = np.abs(distances(self.case, self.features, self.declared.causal))
        error = np.where(far == 0, 0.0, error)  # a pair at no distance adds nothing, even where its error has no bound
        size = ((np.abs(each) + error) * far).sum(axis=(0, 2, 3))
        terms = each.size // max(each.shape[1], 1)
        bound = (error * far).sum(axis=(0, 2, 3)) + (gamma(terms, fmt.a) + gamma(3, fmt.w)) * size  # (slope-sum)
        total = -(each * far).sum(axis=(0, 2, 3))
        return total, (1 + gamma(2, fmt.u)) * bound + gamma(2, fmt.u) * np.abs(total) + fmt.flush


def truth_of(declared: Implementation, posed: Posed) -> oracle.Truth:
    """The float64 truth of a posed problem, dead rows as declared."""
    case = posed.case
    return oracle.attention(
        case.query, case.key, case.value, case.mask, scale=case.factor, dead_rows=declared.dead_rows,
        softcap=posed.softcap,
    )  # fmt: skip


def judge_call(
    declared: Implementation, case: Case, features: Features, stored: budget.Stored | None = None
) -> Featured:  # fmt: skip
    """A call with features, its truth and its budget, wider where keys and values are `stored` numbers."""
    posed = pose(case, features, declared.causal)
    truth, plain = truth_of(declared, posed), posed.case
    if stored is not None:
        stored = stored.with_keys(plain.sizes[1])
    bounds = budget.forward_bound(
        plain.query, plain.key, plain.value, truth, mask=plain.mask, scale=plain.factor, dtype=plain.dtype,
        accumulate=declared.accumulate, dead_rows=declared.dead_rows, merges=declared.merges, softcap=posed.softcap,
        computed_bias=posed.computed_bias, stored=stored,
    )  # fmt: skip
    return Featured(declared, case, features, posed, truth, bounds)
