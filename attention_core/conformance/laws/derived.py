"""Cases made from a drawn one: some of its batch elements, heads, rows or keys, in another order.

Masks keep the broadcast form they have; an axis of size one stays.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from attention_core.conformance.cases.case import Case
from attention_core.conformance.subjects.evidence import NotApplicable
from attention_core.conformance.subjects.subject import Subject
from attention_core.conformance.worker.exchange import NDArray
from attention_core.declaration.implementation import Implementation

NO_GRADIENTS = "gradients are declared unsupported"


def has_gradients(implementation: Implementation) -> bool:
    """Whether laws of gradients apply."""
    return implementation.gradients


def take_mask(mask: NDArray | None, axis: int, index: NDArray) -> NDArray | None:
    """The mask with `index` taken along an axis of the scores (-4 ... -1), where the mask has that axis."""
    if mask is None or mask.ndim < -axis or mask.shape[axis] == 1:
        return mask
    return np.take(mask, index, axis=axis)


def take_batch(case: Case, index: NDArray) -> Case:
    """The case with some batch elements, in the order of `index`."""
    return case.with_(
        query=case.query[index], key=case.key[index], value=case.value[index],
        mask=take_mask(case.mask, -4, index),
    )  # fmt: skip


def take_heads(case: Case, heads: NDArray, kv_heads: NDArray) -> Case:
    """The case with some query heads and key heads; who meets whom is the caller's care."""
    return case.with_(
        query=case.query[:, heads], key=case.key[:, kv_heads], value=case.value[:, kv_heads],
        mask=take_mask(case.mask, -3, heads),
    )  # fmt: skip


def take_queries(case: Case, index: NDArray) -> Case:
    """The case with some query rows, in the order of `index`."""
    return case.with_(query=case.query[..., index, :], mask=take_mask(case.mask, -2, index))


def take_keys(case: Case, index: NDArray) -> Case:
    """The case with some keys and their values and mask columns, in the order of `index`."""
    return case.with_(
        key=case.key[..., index, :], value=case.value[..., index, :], mask=take_mask(case.mask, -1, index)
    )


def more_keys(case: Case, count: int, rng: np.random.Generator) -> Case:
    """The case with `count` keys and values more, of numbers that it has elsewhere; masks repeat some of their columns.

    No row loses a key, and bottom-right causality shows as many more to each.
    """
    n_kv = case.sizes[1]
    index = np.concatenate([np.arange(n_kv), rng.integers(n_kv, size=count)])
    found = {"mask": take_mask(case.mask, -1, index)}
    for name in ("key", "value"):
        old: NDArray = getattr(case, name)
        new = rng.choice(old.reshape(-1), (*old.shape[:-2], count, old.shape[-1])) if old.size else old[..., :0, :]
        found[name] = np.concatenate([old, new], axis=-2)
    return case.with_(**found)


def require_declared_sizes(subject: Subject, case: Case) -> Case:
    """The case, if its sizes are declared as supported."""
    if not subject.binding.profile().allows(case.sizes):
        raise NotApplicable("the derived sizes are not declared")
    return case


def output_bound(subject: Subject, case: Case) -> NDArray:
    """The budget of the output, like it."""
    bound = subject.bounds(case).out
    assert bound is not None
    return bound


def require_live(subject: Subject, case: Case) -> None:
    """Pass over cases with dead rows where nothing is declared about the gradients there."""
    if subject.implementation.dead_rows in ("nan", "unspecified") and subject.truth(case).dead.any():
        raise NotApplicable("gradients of dead rows are not declared")


def another_order(case: Case, count: int, purpose: str) -> NDArray:
    """A drawn permutation of `count` that moves at least one place."""
    if count < 2:
        raise NotApplicable("one element has one order")
    order = case.rng(purpose).permutation(count)
    return np.roll(order, 1) if np.array_equal(order, np.arange(count)) else order


def reorder(axis: int, order: NDArray) -> Callable[[NDArray], NDArray]:
    """`np.take` along one axis, as a move of results."""
    return lambda values: np.take(values, order, axis=axis)
