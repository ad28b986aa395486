"""Caches under test: their calls step by step, the truth of every step, and how the two are compared.

The truth of a step is one causal pass over the whole sequence (over its last W keys where `window` is declared).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from attention_core import oracle
from attention_core.conformance.budgets import budget
from attention_core.conformance.subjects.axes import order_of_heads, put_heads_in_order
from attention_core.conformance.subjects.binding import advise_on_store
from attention_core.conformance.subjects.evidence import (
    NotApplicable,
    Refused,
    Result,
    require_close,
)
from attention_core.conformance.subjects.parameter_case import (
    ParameterCase,
    ParameterSubject,
    after,
    supports,
)
from attention_core.conformance.worker.exchange import NDArray
from attention_core.conformance.worker.runner import Runner
from attention_core.declaration.implementation import Implementation, TargetError
from attention_core.declaration.scales import scale_of


class Cache(ParameterSubject):
    """A cache factory; a declared `window` W keeps the last W keys, and is given to a factory that asks for it."""

    def __init__(
        self, runner: Runner, implementation: Implementation, description: Mapping[str, Any], seed: int = 0
    ) -> None:
        super().__init__(runner, implementation, description, seed)
        if description.get("is_class") and description.get("step", "") is None:
            message = f"objects of {implementation.name} cannot be called, and have no step(query, key, value)"
            raise TargetError(f"{message}{advise_on_store(description)}")

    def take_one_step(self, case: ParameterCase) -> None:
        """Let a new cache take the tokens of a case; raises where it cannot."""
        self.step(case, self.inputs(case), **self.step_fields(self.fresh_instance()))

    def step(self, case: ParameterCase, parts: Sequence[NDArray], **fields: Any) -> Result:
        """The output of one step, with the query heads in their canonical order (see `order_of_heads`)."""
        q, k, v = parts
        order = self.order(q, k)
        shape = (*q.shape[:-1], v.shape[-1])
        found = self.call(q if order is None else q[:, order], k, v, shape=shape, dtype=case.dtype, **fields)
        return put_heads_in_order(found, 1, order)

    def order(self, q: NDArray, k: NDArray) -> NDArray | None:
        """The canonical query head at each place of the target's; None where they are the same."""
        return order_of_heads(self.implementation.grouping, q.shape[1], k.shape[1])

    def step_fields(self, number: int) -> dict[str, Any]:
        """The fields of a request that make it a step of a cache: its number and arguments, and the method's name."""
        method = self.description.get("step")
        return {"instance_": (number, self.arguments), **({"method_": method} if method else {})}

    @property
    def window(self) -> int | None:
        found = self.parameters.get("window")
        return None if found is None else int(found)

    @property
    def arguments(self) -> tuple[int, ...]:
        """What the factory is called with."""
        first = (self.names() or [""])[:1]
        return () if self.window is None or first not in (["window"], ["window_size"]) else (self.window,)

    def inputs(self, case: ParameterCase, purpose: str = "") -> tuple[NDArray, NDArray, NDArray]:
        """Queries, keys and values of a whole sequence, with fewer heads of keys where a case has groups."""
        rest = (case["n"], case["d"])
        keys = case["H_kv"] if "group" in case.sizes else case["H"]
        q = case.queries(f"{purpose}q", case["B"], keys * case.sizes.get("group", 1), *rest)
        k = case.keys(f"{purpose}k", case["B"], keys, *rest)
        v = case.values(f"{purpose}v", case["B"], keys, *rest)
        return q, k, v

    def truth(
        self, case: ParameterCase, q: NDArray, k: NDArray, v: NDArray, rows: slice = slice(None)
    ) -> tuple[NDArray, NDArray]:
        """The full pass in float64, or some rows of it, and its budget."""
        n = q.shape[-2]
        mask = oracle.causal_mask(n, n) if self.window is None else oracle.sliding_window(n, n, self.window)
        q, mask = q[..., rows, :], mask[rows]
        declared = self.implementation
        scale = scale_of(declared.scale, q.shape[-1])
        true = oracle.attention(q, k, v, mask, scale=scale)
        bounds = budget.forward_bound(
            q, k, v, true, mask=mask, scale=scale, dtype=case.dtype, accumulate=declared.accumulate
        )
        assert bounds.out is not None
        return true.out, np.broadcast_to(bounds.out, true.out.shape)

    def true_gradients(
        self, case: ParameterCase, parts: Sequence[NDArray], start: int, down: NDArray
    ) -> tuple[list[NDArray], list[NDArray]]:
        """Gradients of the rows from `start` on by query, key and value of these rows, and their budgets.

        Raises: NotApplicable where scores are beyond the range of the dtype.
        """
        q, k, v = parts
        q, n, declared = q[..., start:, :], k.shape[-2], self.implementation
        mask = oracle.causal_mask(n, n) if self.window is None else oracle.sliding_window(n, n, self.window)
        given: dict[str, Any] = {"mask": mask[start:], "scale": scale_of(declared.scale, q.shape[-1])}
        truth = oracle.attention(q, k, v, **given)
        true = oracle.gradients(q, k, v, down, truth=truth, **given)
        numbers: dict[str, Any] = {**given, "dtype": case.dtype, "accumulate": declared.accumulate}
        bounds = budget.backward_bound(q, k, v, down, truth, true, **numbers)
        if not bounds.finite.all():
            raise NotApplicable
        new = slice(start, n)
        own = [np.broadcast_to(b, t.shape) for b, t in ((bounds.key, true.key), (bounds.value, true.value))]
        return (
            [true.query, true.key[..., new, :], true.value[..., new, :]],
            [bounds.query, *(bound[..., new, :] for bound in own)],
        )

    def run(
        self, case: ParameterCase, instance: int, parts: Sequence[NDArray], cuts: Sequence[int], **extra: Any
    ) -> list[Result]:
        """One step for every stretch between two cuts; `extra` are fields of each request."""
        results: list[Result] = []
        for start, stop in pairwise(cuts):
            chunk = [a[..., start:stop, :] for a in parts]
            with after(results):
                fields = {**self.step_fields(instance), **extra}
                try:
                    results.append(self.step(case, chunk, **fields))
                except Refused as refused:
                    refused.before = tuple(results)
                    raise
        return results


def check_steps(
    subject: Cache, case: ParameterCase, cuts: Sequence[int], what: str, instance: int | None = None,
    earlier: Sequence[Result] = (), **extra: Any,
) -> None:  # fmt: skip
    """Steps between the cuts give the rows of the full pass; `earlier` calls belong to a counterexample."""
    if not supports(subject.implementation, case):
        raise NotApplicable("it asks for more tokens than are declared")
    parts = subject.inputs(case)
    true, bound = subject.truth(case, *parts)
    number = subject.fresh_instance() if instance is None else instance
    with after(earlier):
        results = subject.run(case, number, parts, cuts, **extra)
    for i, result in enumerate(results):
        rows = slice(cuts[i], cuts[i + 1])
        message = f"{what}: rows {cuts[i]} to {cuts[i + 1] - 1}"
        with after([*earlier, *results[:i]]):
            require_close(result, true[..., rows, :], bound[..., rows, :], message)


def two_chunks(case: ParameterCase) -> list[int]:
    """Cuts after two thirds and at the end: chunks of one token would hide a wrong position."""
    return sorted({0, case["n"] * 2 // 3, case["n"]})


def larger_than(subject: Cache, case: ParameterCase) -> ParameterCase:
    """A case of more sequences of more tokens, at times: what it leaves behind would reach into the next one.

    Half of the time by 50 tokens or more: what a store of several pages, or one that has grown, leaves behind.
    """
    rng = case.rng("larger")
    low, high = (0, 9) if rng.random() < 0.5 else (50, 280)
    larger = case.with_(B=case["B"] + int(rng.integers(0, 3)), n=case["n"] + int(rng.integers(low, high)))
    return larger if supports(subject.implementation, larger) else case
