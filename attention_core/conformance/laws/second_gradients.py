"""Laws of the second derivatives, for targets that declare them, in float64.

Against the closed form, within the bound of `second_budget`, and against themselves in the other order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from attention_core.conformance.budgets.second_budget import second_bound
from attention_core.conformance.cases.case import Case
from attention_core.conformance.cases.space import Space
from attention_core.conformance.laws.gradients import INPUTS, differentiable, limits
from attention_core.conformance.subjects.evidence import Evidence, Result, Violation, require_close, round_up
from attention_core.conformance.subjects.law import Law
from attention_core.conformance.subjects.subject import Subject
from attention_core.conformance.worker.exchange import NDArray
from attention_core.declaration.implementation import Implementation
from attention_core.oracle import Gradients, second_gradients

Index = tuple[NDArray, ...]


def second_bounds(subject: Subject, case: Case, directions: tuple[NDArray, NDArray, NDArray]) -> Gradients:
    """The budget of the second derivatives of a float64 case, for its own cotangent."""
    limits(subject, case)
    inputs, truth = (case.query, case.key, case.value), subject.truth(case)
    return second_bound(inputs, case.cotangent(), directions, truth, case.mask, case.factor)


def second_gradients_are_true(subject: Subject, case: Case) -> None:
    """The second derivatives along drawn directions agree with the float64 closed form.

    Formula: |grad(<dQ,wq> + <dK,wk> + <dV,wv>)' - H w| <= E_2(x)
    Source: derivations/second_gradients.md (distance)
    Fault: weights_constant_in_backward
    """
    rng = case.rng("directions")
    wq, wk, wv = (rng.standard_normal(getattr(case, name).shape) for name in INPUTS)
    directions = (wq, wk, wv)
    bounds = second_bounds(subject, case, directions)
    true = second_gradients(
        case.query, case.key, case.value, case.cotangent(), directions, case.mask, is_causal=case.is_causal,
        alignment=subject.implementation.causal, scale=case.factor, truth=subject.truth(case),
    )  # fmt: skip
    found = subject.backward(case, case.cotangent(), directions=directions)
    for name in INPUTS:
        what = f"second derivative by {name} against the float64 closed form"
        ratio = require_close(found.second[name], getattr(true, name), getattr(bounds, name), what)
        subject.record_ratio(case, f"second {name}", ratio)


def second_gradients_are_symmetric(subject: Subject, case: Case) -> None:
    """Second derivatives do not depend on the order of differentiation.

    Formula: |d/dy_b (df/dq_a) - d/dq_a (df/dy_b)| <= E_2 + E_2, q_a of the query, y_b of key or value
    Source: derivations/softmax_backward.md (tangent)
    Fault: weights_constant_in_backward
    """
    rng = case.rng("entries")
    other = str(rng.choice(["key", "value"]))
    a, b = entries(case, "query", rng), entries(case, other, rng)
    first, left = _along(subject, case, "query", a, other, b)
    second, right = _along(subject, case, other, b, "query", a)
    got, want, bound = first.values[b], second.values[a], left + right
    wrong = ~(np.abs(got - want) <= bound) & np.isfinite(bound)
    if not wrong.any():
        return
    worst = tuple(np.argwhere(wrong)[0])
    at_a, at_b = (tuple(int(x[worst]) for x in index) for index in (a, b))
    g, w, limit = float(got[worst]), float(want[worst]), float(bound[worst])
    raise Violation(
        f"second derivative by query{list(at_a)}, then {other}{list(at_b)}: got {g:.9g}, but should be "
        f"{w:.9g} as in the other order (allowed error {round_up(limit)})",
        Evidence((first.show(at_b), second.show(at_a)), g, w, limit, "pair"),
    )


def entries(case: Case, name: str, rng: np.random.Generator) -> Index:
    """The index of one drawn entry of an input per key head, each index array of shape (*batch, H_kv)."""
    *_, n, width = getattr(case, name).shape
    lead = case.key.shape[:-2]
    places: list[NDArray] = list(np.indices(lead))
    if name == "query":
        places[-1] = places[-1] * case.group + rng.integers(case.group, size=lead)
    return (*places, rng.integers(n, size=lead), rng.integers(width, size=lead))


def _along(subject: Subject, case: Case, by: str, at: Index, read: str, read_at: Index) -> tuple[Result, NDArray]:
    """Second derivatives by the entries `at` of `by`, in the shape of `read`; their bound at `read_at`."""
    directions = {name: np.zeros(getattr(case, name).shape) for name in INPUTS}
    directions[by][at] = 1.0
    along = (directions["query"], directions["key"], directions["value"])
    bounds = second_bounds(subject, case, along)
    found = subject.backward(case, case.cotangent(), directions=along)
    return found.second[read], getattr(bounds, read)[read_at]


SPACE = Space(dtypes=("float64",), max_n=33)


def _has_second_gradients(i: Implementation) -> bool:
    return differentiable(i) and i.second_gradients


ROW: dict[str, Any] = {"declares": _has_second_gradients, "because": "second gradients not declared", "space": SPACE}
LAWS = (
    Law(second_gradients_are_true, "gradients", **ROW),
    # one pair of entries a case: many cases
    Law(second_gradients_are_symmetric, "gradients", **ROW, large=12, small=32),
)
