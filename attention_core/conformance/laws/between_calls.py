"""Laws of calls before a call and between it and the look at its results, the same for every contract of functions.

Each of them is the contract's own comparison with the truth, put where something remembers: a table, a mask, a list of
blocks, a buffer. What is kept by an array's address, by its length, by a dtype or by one of its numbers is found so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np

from attention_core.conformance.laws import (
    bias,
    block_mask,
    cross_cache,
    indexer,
    kv_cache,
    latent_attention,
    linear_attention,
    mask_builder,
    merge,
    paged,
    position_table,
    quantised,
    rotary,
    seed_attention,
    seed_steps,
    topk_index,
    tree_mask,
    variant_attention,
    varlen,
)
from attention_core.conformance.subjects.core import WITHOUT_ARRAYS
from attention_core.conformance.subjects.evidence import NotApplicable, Refused, Shown, Violation
from attention_core.conformance.subjects.law import Law
from attention_core.conformance.subjects.parameter_case import ParameterCase, Sizes, narrow_then_wide, supports
from attention_core.conformance.subjects.recording import record_calls
from attention_core.conformance.worker.exchange import Array, NDArray, Request, array, decode

FAMILY = "between_calls"
FUNCTIONS: tuple[ModuleType, ...] = (
    mask_builder, rotary, bias, position_table, seed_attention, seed_steps, merge, varlen, paged, linear_attention,
    quantised, block_mask, latent_attention, tree_mask, topk_index, indexer,
    variant_attention,
)  # fmt: skip
"""The laws of targets that are called themselves."""
OBJECTS: tuple[ModuleType, ...] = (kv_cache, cross_cache)
"""The laws of targets that are built."""
CENTRAL: Mapping[str, Law] = {
    family.CONTRACT: next(law for law in family.LAWS if law.central) for family in (*FUNCTIONS, *OBJECTS)
}
"""Contract -> its comparison with the truth."""
TREES = tree_mask.CONTRACT
"""Whole numbers of its arguments are of another kind in every form of a tree."""


# --- what is sent in place of a call -------------------------------------------------------------------------


def compare(subject: Any, case: ParameterCase) -> None:
    """The contract's comparison with the truth, on one case."""
    CENTRAL[subject.implementation.contract].check(subject, adapt(subject, case))


def adapt(subject: Any, case: ParameterCase) -> ParameterCase:
    """The case at sizes that the target's form allows."""
    found: ParameterCase = subject.adapt_case(case)
    return found


def name_arrays(request: Request) -> dict[str, Array]:
    """The arrays of a call by their places and names."""
    named = {**{str(i): a for i, a in enumerate(request.args)}, **request.kwargs}
    return {name: a for name, a in named.items() if isinstance(a, Array) and a.base.size and a.is_plain}


def with_array(request: Request, name: str, value: Array) -> Request:
    """The call with another array under a name."""
    if name in request.kwargs:
        return replace(request, kwargs={**request.kwargs, name: value})
    return replace(request, args=tuple(value if str(i) == name else a for i, a in enumerate(request.args)))


def first_of_a_like_case(subject: Any, case: ParameterCase) -> Request:
    """The first call of a case of the same sizes and other numbers.

    Raises: NotApplicable where there is none.
    """
    with record_calls(subject) as calls, suppress(Violation, Refused):
        compare(subject, case.with_(seed=case.seed + 1))
    found = next((request for request, _, response in calls.sent if response.status == "ok" and request.args), None)
    if found is None:
        raise NotApplicable("no call like it was answered")
    return found


# --- laws ----------------------------------------------------------------------------------------------------


def arguments_changed_in_place_are_read_anew(subject: Any, case: ParameterCase) -> None:
    """A call reads each of its arrays as it is then, also where the call before got it with other numbers in it.

    One array is changed at a time, so that nothing else tells the two calls apart.

    Formula: f(.., y, ..), then x's numbers into the array y, then f(.., x, ..) is right
    Source: the definition of a function; block tables, lengths and weights are written into where they lie
    Fault: written_table_not_seen
    """
    if subject.implementation.contract == cross_cache.CONTRACT and subject.protocol.reset:
        raise NotApplicable("a new text comes after a reset")
    like, rng = first_of_a_like_case(subject, case), case.rng("in place")

    def change(request: Request) -> Request:
        turned = {name: turn(subject, a, name_arrays(like).get(name)) for name, a in name_arrays(request).items()}
        names = [name for name, other in turned.items() if other is not None]
        if not names:
            return request
        whole = [name for name in names if request_dtype(request, name) in ("int32", "int64", "bool", "uint8")]
        name = str(rng.choice(whole if whole and rng.random() < 0.6 else names))
        return replace(request, earlier=with_array(request, name, turned[name]))  # type: ignore[arg-type]

    with record_calls(subject, change, "after the caller wrote other numbers into an array of the call before"):
        compare(subject, case)


def request_dtype(request: Request, name: str) -> str:
    """The dtype of an array of a call."""
    return name_arrays(request)[name].dtype


def turn(subject: Any, own: Array, other: Array | None) -> Array | None:
    """An array of the form of one, with other numbers that a call may hold in its place; None where there is none.

    Arrays of whole numbers differ in what they hold: ends of texts are those of the texts in reverse, numbers of pages
    and keys are counted from the other end, and lengths are one less. Other arrays are those of another case.
    """
    values = decode(own.base.reshape(own.shape), own.dtype)
    if own.dtype in ("int32", "int64") and subject.implementation.contract != TREES:
        new = turn_numbers(values, subject.implementation.contract)
        return None if new is None or (new == values).all() else array(new, own.dtype)
    if other is None or (other.shape, other.dtype) != (own.shape, own.dtype) or (other.base == own.base).all():
        return array(-values, own.dtype) if own.dtype.startswith(("float", "bfloat")) and values.ndim > 2 else None
    return other


def turn_numbers(values: NDArray, contract: str) -> NDArray | None:
    """Whole numbers with others in their place."""
    if contract == rotary.CONTRACT:  # positions: the inner ones in reverse, or all moved
        inner = np.concatenate([values[..., :1], values[..., -2:0:-1], values[..., -1:]], -1)
        return inner if values.shape[-1] > 2 and (inner != values).any() else np.asarray(values + 1)
    if values.ndim == 1 and len(values) > 1 and values[0] == 0 and (np.diff(values) >= 0).all():
        if contract == paged.CONTRACT:  # lengths that happen to rise, or ends of queries
            return None
        return np.concatenate([[0], np.cumsum(np.diff(values)[::-1])])
    if values.ndim == 1:
        return np.where(values > 1, values - 1, values)
    return np.where(values >= 0, values.max() - values, values) if values.max() > 0 else None


def results_outlive_another_call(subject: Any, case: ParameterCase) -> None:
    """Every result still holds its numbers after another call of the same sizes.

    Formula: y = f(x), f(x'), then y = t(x)
    Source: the definition of a function; workspaces and states that are kept by their size
    Fault: state_in_a_kept_buffer
    """
    like = first_of_a_like_case(subject, case)

    def change(request: Request) -> Request:
        return replace(request, between=replace(like, instance=request.instance))

    with record_calls(subject, change, "looked at after another call"):
        if subject.implementation.contract == linear_attention.CONTRACT and case.seed % 2:
            linear_attention.the_final_state_is_true(subject, case)
        else:
            compare(subject, case)


def an_earlier_call_of_another_kind_leaves_no_trace(subject: Any, case: ParameterCase) -> None:
    """A call is right after one of another dtype, another size, another option or other numbers, all else alike.

    Formula: f(y), then f(x) is right, where y has one of the dtype, a size, an option and the numbers of its own
    Source: the definition of a function; lucidrains/rotary-embedding-torch#11; tables that are kept by their length
    Fault: table_of_the_first_dtype
    """
    rng = case.rng("another kind")
    first, second = related_pair(subject, case, rng)
    with record_calls(subject) as before, suppress(Refused, NotApplicable):
        compare(subject, first)
    try:
        compare(subject, second)
    except Violation as violation:
        earlier = tuple(Shown(sent, declined=response.status != "ok") for _, sent, response in before.sent)
        evidence = replace(violation.evidence, before=(*earlier, *violation.evidence.before))
        raise Violation(f"after another call, {violation.message}", evidence) from None


def related_pair(subject: Any, case: ParameterCase, rng: np.random.Generator) -> tuple[ParameterCase, ParameterCase]:
    """A case that differs from another in one thing, and that other."""
    space, declared = CENTRAL[subject.implementation.contract].space, subject.implementation
    dtypes = None if declared.contract in WITHOUT_ARRAYS else narrow_then_wide(declared, rng, space.dtypes)
    way, others = rng.random(), [case.with_(seed=case.seed + 1)]
    if way < 0.3 and dtypes is not None:
        return case.with_(dtype=dtypes[0]), case.with_(dtype=dtypes[1])
    if way < 0.65:
        others = [resize(space, case, rng), *others]
    elif way < 0.9:
        named = [name for name, values in space.options.items() if len(set(map(str, values))) > 1 and name != "lengths"]
        for name in rng.permutation(named):
            values = [value for value in space.options[name] if value != case.options.get(name)]
            options = {**case.options, str(name): values[int(rng.integers(len(values)))]}
            others.insert(0, case.with_(options=options))
    return next(one for one in others if space.related(one.sizes) and supports(declared, adapt(subject, one))), case


def resize(space: Sizes, case: ParameterCase, rng: np.random.Generator) -> ParameterCase:
    """The case with another size, or with heads and features exchanged: both make arrays as wide as before.

    Values as wide as keys stay so: a law of its own asks for others, and a target need not take them.
    """
    tied = case.sizes.get("d_v") == case.sizes.get("d") and "d" in case.sizes
    if {"H", "d"} <= case.sizes.keys() and rng.random() < 0.5:
        changed = {"H": case["d"], "d": case["H"]}
    else:
        names = [name for name, (low, high) in space.ranges.items() if low < high and name in case.sizes]
        name = str(rng.choice([name for name in names if not (tied and name == "d_v")]))
        changed = {name: max(case.minimum.get(name, 1), case[name] + int(rng.choice([-1, 1, 2])))}
    return case.with_(**changed, **({"d_v": changed["d"]} if tied and "d" in changed else {}))


def _laws_of(family: ModuleType) -> Iterator[Law]:
    """The laws for one contract, where its comparison applies."""
    contract, central = family.CONTRACT, CENTRAL[family.CONTRACT]
    applies = central.declares or (lambda implementation: True)
    row: dict[str, Any] = {
        "family": FAMILY, "contract": contract, "large": 10, "small": 0, "space": central.space, "compares": True,
        "declares": central.declares, "because": central.because,
    }  # fmt: skip
    if contract not in (*WITHOUT_ARRAYS, kv_cache.CONTRACT):
        written = {
            "declares": lambda implementation: implementation.array != "jax" and applies(implementation),
            "because": central.because or "arrays of JAX cannot be written into",
        }
        yield Law(arguments_changed_in_place_are_read_anew, **{**row, **written})
        if contract != cross_cache.CONTRACT:
            yield Law(results_outlive_another_call, **row)
    often = 8 if contract == kv_cache.CONTRACT else 28
    yield Law(an_earlier_call_of_another_kind_leaves_no_trace, **{**row, "large": often})


LAWS = tuple(law for family in (*FUNCTIONS, *OBJECTS) for law in _laws_of(family))
