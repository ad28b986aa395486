"""The law of builders of masks, biases and tables: what a call hands out belongs to the caller."""

from __future__ import annotations

from typing import Any

import numpy as np

from attention_core.conformance.laws import bias, mask_builder, position_table
from attention_core.conformance.subjects.evidence import Result
from attention_core.conformance.subjects.law import Law
from attention_core.conformance.subjects.parameter_case import (
    ParameterCase,
    Sizes,
    require_same_later,
    require_sizes,
)
from attention_core.conformance.worker.exchange import NDArray
from attention_core.declaration.implementation import Implementation

FAMILY = "handing_out"


def results_are_the_callers_own(subject: Any, case: ParameterCase) -> None:
    """After the caller wrote into their results, a call and a smaller one give what they gave before.

    Formula: f(y), r = f(x), r <- other numbers, then f(x)' = f(x) and f(y)' = f(y)
    Source: the definition of a function; a builder behind functools.lru_cache, a module that hands out its buffer
    Fault: one_mask_for_all_callers
    """
    smaller = case.with_(**{name: case[name] - 1 for name in SHORTENED[subject.implementation.contract]})
    require_sizes(subject.implementation, smaller)
    what = "after the caller wrote into a result (if nobody may, declare --parameter results=shared)"
    other, first = (ask(subject, one, overwrite_="outputs") for one in (smaller, case))
    require_same_later(ask(subject, case), first, [], bound_of(subject, case), f"the same call {what}")
    require_same_later(ask(subject, smaller), other, [first], bound_of(subject, smaller), f"a smaller call {what}")


def ask(subject: Any, case: ParameterCase, **fields: Any) -> Result:
    """The plain call of a contract."""
    if subject.implementation.contract == mask_builder.CONTRACT:
        mask: Result = subject.build_mask(case, **fields)
        return mask
    sizes = (case["n"], case["d"]) if subject.implementation.contract == position_table.CONTRACT else _of_bias(case)
    found: Result = subject.call(*sizes, shape=sizes, **fields)
    return found


def _of_bias(case: ParameterCase) -> tuple[int, ...]:
    return case["H"], case["n_q"], case["n_kv"]


def bound_of(subject: Any, case: ParameterCase) -> NDArray | float:
    """How far two calls alike may be apart: masks not at all, other numbers by the rounding of each."""
    contract = subject.implementation.contract
    if contract == mask_builder.CONTRACT:
        return 0.0
    if contract == position_table.CONTRACT:
        return np.asarray(2 * position_table.entry_bound(subject, case["n"], case["d"])[:, None])
    return 2 * bias.difference_bound(subject, case)


def _own(implementation: Implementation) -> bool:
    return implementation.array != "jax" and implementation.parameters.get("results") != "shared"


SHORTENED = {
    mask_builder.CONTRACT: ("n_q", "n_kv"), bias.CONTRACT: ("n_q", "n_kv"), position_table.CONTRACT: ("n",)
}  # fmt: skip
"""What is one less in the smaller call: a builder may keep its largest result, and hand out pieces of it."""
SPACES = {
    mask_builder.CONTRACT: Sizes({"n_q": (2, 40), "n_kv": (2, 40), "size": (1, 20), "B": (1, 3)}),
    bias.CONTRACT: Sizes(
        {"H": (1, 12), "n_q": (2, 24), "n_kv": (3, 24)},
        adjust=lambda sizes, rng: {**sizes, "n_q": min(sizes["n_q"], sizes["n_kv"])},
        related=lambda sizes: sizes["n_q"] <= sizes["n_kv"],
    ),
    position_table.CONTRACT: Sizes({"n": (2, 60), "d": (42, 64)}),  # widths that no other law asks for,
}
LAWS = tuple(
    Law(
        results_are_the_callers_own, FAMILY, contract, space=space, large=6, small=0, declares=_own,
        because="results=shared is declared (or arrays of JAX cannot be written into)",
    )
    for contract, space in SPACES.items()
)  # fmt: skip
