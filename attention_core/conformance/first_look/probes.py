"""Small problems on which other conventions give other truths, and a runner that asks each question once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from attention_core.conformance.budgets.budget import round_to
from attention_core.conformance.cases.case import Case
from attention_core.conformance.subjects.outcomes import LOST
from attention_core.conformance.worker.exchange import Array, Request, Response
from attention_core.conformance.worker.runner import Runner

SIZES = (
    (2, 3, 5, 7, 4, 4), (2, 3, 7, 5, 4, 4), (2, 3, 5, 5, 4, 4), (1, 1, 5, 7, 4, 4), (1, 1, 5, 5, 4, 4),
    (2, 2, 8, 16, 8, 8), (2, 2, 16, 16, 16, 16), (1, 2, 64, 64, 64, 64), (1, 2, 128, 128, 64, 64),
)  # fmt: skip
"""B, H, n_q, n_kv, d, d_v: distinct small ones first, so that swapped axes show; then what some targets ask for."""
ONE_QUERY = ((2, 3, 1, 7, 4, 4), (1, 2, 1, 64, 64, 64))
"""Sizes of decoding, for targets that declare one query alone."""


@dataclass
class Asker:
    """A runner that remembers: the same request is sent once, however many conventions it is compared under.

    What a call writes into its inputs is noted in `changed`, and its answer compared all the same.
    After a call that ended the process there are no further calls: the laws report what happened.
    """

    runner: Runner
    known: dict[Any, Response]
    isolated: bool = True
    changed: set[str] = field(default_factory=set)

    def run(self, request: Request, meanwhile: Callable[[], object] | None = None) -> Response:
        """The target's answer."""
        key = signature(request)
        if key not in self.known:
            lost = next((r for r in self.known.values() if r.status in LOST), None)
            answer = self.runner.run(replace(request, apart=True)) if lost is None else lost
            self.changed |= set(answer.mutated)
            self.known[key] = replace(answer, mutated=())
        return self.known[key]

    @property
    def gave_arrays(self) -> bool:
        """Whether any call of the runner gave arrays."""
        return self.runner.gave_arrays

    def describe(self) -> dict[str, Any]:
        return self.runner.describe()

    def with_array(self, array: str) -> Runner:
        return self.runner.with_array(array)

    def close(self) -> None:
        """The runner is somebody else's."""


def signature(request: Request) -> tuple[Any, ...]:
    """What makes two requests the same call."""
    named = [*enumerate(request.args), *sorted(request.kwargs.items())]
    arguments = tuple((name, as_hashable(value)) for name, value in named)
    return (*arguments, request.wrt, request.mode, request.stacked)


def as_hashable(value: Any) -> Any:
    """An argument as something that can be compared and hashed."""
    if isinstance(value, Array):
        return value.base.tobytes(), value.dtype, value.shape, value.strides, value.offset
    return repr(value)


def problem(sizes: tuple[int, ...], dtype: str, purpose: int = 0, heads: int | None = None) -> Case:
    """A plain problem of (B, H, n_q, n_kv, d, d_v); normal numbers."""
    batch, H, n_q, n_kv, d, d_v = sizes
    rng = np.random.default_rng([*sizes, purpose])
    shapes = ((batch, H, n_q, d), (batch, heads or H, n_kv, d), (batch, heads or H, n_kv, d_v))
    query, key, value = (round_to(rng.standard_normal(shape), dtype) for shape in shapes)
    return Case(dtype, query, key, value, seed=purpose)


def iterate_masks(case: Case) -> Iterator[tuple[str, Case]]:
    """The case with masks of every kind: (kind, case); rows of the first two keep a key whatever True means."""
    n_q, n_kv = case.sizes[:2]
    rng = np.random.default_rng([n_q, n_kv, case.seed])
    keep = rng.random((n_q, n_kv)) < 0.5
    keep[:, 0], keep[:, -1] = True, False
    bias = round_to(rng.standard_normal((n_q, n_kv)), case.dtype)
    bias[1:2] = 0.0  # a row that code made for bool masks takes for one without any key
    dead = keep.copy()
    dead[n_q // 2] = False
    for shape in ((n_q, n_kv), (case.query.shape[0], 1, n_q, n_kv)):
        whole = np.broadcast_to
        yield "bool", case.with_(mask=whole(keep, shape).copy())
        yield "bias", case.with_(mask=whole(bias, shape).copy())
        yield "biased and hidden", case.with_(mask=whole(np.where(keep, bias, -np.inf), shape).copy())
        yield "dead", case.with_(mask=whole(dead, shape).copy())


def low_logits(case: Case, low: float) -> Case:
    """The case with every second key masked, at a score of 0, and all others at a score of -low."""
    n_kv, hidden = case.sizes[1], np.arange(case.sizes[1]) % 2 == 1
    size = np.sqrt(low * np.sqrt(case.query.shape[-1]))
    query, key = np.zeros_like(case.query), np.zeros_like(case.key)
    query[..., 0], key[..., 0] = size, np.where(hidden, 0.0, -size)
    mask = np.broadcast_to(~hidden, (case.sizes[0], n_kv)).copy()
    return case.with_(query=query, key=key, mask=mask)


def hide_high_scores(case: Case, high: float) -> Case:
    """The case with every second key masked, at a score of `high`, and all others at a score of 0."""
    low = low_logits(case, high)
    size, hidden = low.query[..., :1, :1], ~np.asarray(low.mask)[0]
    return low.with_(key=np.where(np.arange(case.key.shape[-1]) == 0, hidden[:, None] * size, 0.0))
