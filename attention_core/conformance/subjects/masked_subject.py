"""Functions whose calls say which keys a query attends to: what a call is, how it is sent, its truth and its budget.

Whatever says it (a map of blocks, a tree, indices), the truth is attention to the pairs of a mask, in float64.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from attention_core import oracle
from attention_core.conformance.budgets import budget
from attention_core.conformance.subjects.axes import Arrangement, order_of_heads, put_heads_in_order
from attention_core.conformance.subjects.evidence import Evidence, NotApplicable, Result, Shown, Violation
from attention_core.conformance.subjects.parameter_case import ParameterCase, ParameterSubject
from attention_core.conformance.worker.exchange import Array, NDArray, Request, Value, array
from attention_core.conformance.worker.runner import Runner
from attention_core.declaration.implementation import Implementation, TargetError
from attention_core.declaration.scales import scale_of

INPUTS = 3
"""Query, key and value come first, whatever they are called."""
PLAIN: Mapping[str, tuple[Any, ...]] = {"causal": (False, None), "scale": (None,), "grouped": (False, None)}
"""Defaults by role that mean what a call without the parameter means."""


def read_roles(
    parameters: Iterable[Mapping[str, Any]],
    bound: Iterable[str],
    names: Mapping[str, str],
    chosen: Collection[str],
    first: str,
    known: str,
    inputs: int = INPUTS,
) -> dict[str, str]:
    """Role -> the target's own name of it, of all parameters after query, key and value.

    A parameter of another name, first after the value and without a default, has the role `first` where no other
    parameter has one of `chosen`.

    Args:
        parameters: of the target. bound: those that are given a value otherwise.
        names: a parameter's name -> its role. known: some names, as examples for a message.
        inputs: how many parameters come first, whatever they are called.

    Raises:
        TargetError: a parameter without a default whose meaning is not known.

    Example:
        >>> p = [{"name": n, "kind": "", "default": False} for n in "q k v M".split()]
        >>> read_roles(p, (), {"block_mask": "map"}, ["map"], "map", "block_mask")
        {'map': 'M'}
    """
    named = [p for p in parameters if not p["kind"].startswith("VAR")][inputs:]
    named = [p for p in named if p["name"] not in bound]
    roles: dict[str, str] = {}
    if not any(names.get(p["name"]) in chosen for p in named):
        unnamed = named[:1] if named and named[0]["name"] not in names and not named[0]["default"] else []
        roles, named = {first: unnamed[0]["name"]} if unnamed else {}, named[len(unnamed) :]
    for p in named:
        if p["name"] in names:
            roles.setdefault(names[p["name"]], p["name"])
        elif not p["default"]:
            raise TargetError(
                f"what the parameter {p['name']} is given is not known: name it as its library does (such as "
                f"{known}), or fix it with --arg {p['name']}=VALUE"
            )
    return roles


@dataclass(frozen=True, eq=False)
class MaskedCall:
    """Arrays of a call and what every call may ask for.

    Args:
        query, key, value: (B, H, n_q, d), (B, H_kv, n_kv, d or d_v).
        scale: as it is given; None without.
        bias: what is added to scaled scores, (B or 1, H or 1, n_q, n_kv); None for nothing.
    """

    query: NDArray
    key: NDArray
    value: NDArray
    BY_HEAD: ClassVar[tuple[str, ...]] = ("query", "bias")
    """The arrays whose second axis may be that of query heads."""

    scale: float | None = field(default=None, kw_only=True)
    bias: NDArray | None = field(default=None, kw_only=True)

    def with_(self, **changes: Any) -> Any:
        """A copy with some fields changed."""
        return replace(self, **changes)

    def put_in_order(self, order: NDArray | None) -> Any:
        """The call with its query heads in another order, and whatever it holds for each of them.

        Example:
            >>> x = np.arange(4.0).reshape(1, 4, 1, 1)
            >>> MaskedCall(x, x[:, :2], x[:, :2]).put_in_order(np.array([0, 2, 1, 3])).query.ravel().tolist()
            [0.0, 2.0, 1.0, 3.0]
        """
        if order is None:
            return self
        own = {name: values for name in self.BY_HEAD if (values := getattr(self, name)) is not None}
        turned = {name: values[:, order] for name, values in own.items() if values.shape[1] == len(order)}
        return self.with_(**turned)

    @property
    def lengths(self) -> tuple[int, int]:
        """(n_q, n_kv)."""
        return self.query.shape[2], self.key.shape[2]


@dataclass(frozen=True, eq=False)
class Judged:
    """Truth and budget of a call, its mask, and the rows to compare (B, H, n_q, 1)."""

    truth: oracle.Truth
    bounds: budget.ForwardBounds
    mask: NDArray
    rows: NDArray

    @property
    def out(self) -> NDArray:
        """The true output."""
        return self.truth.out

    @property
    def bound(self) -> NDArray:
        """The budget of the output."""
        return np.broadcast_to(self.bounds.out, self.truth.out.shape)


class MaskedSubject(ParameterSubject):
    """A function that attends to the keys that something in its call chooses.

    A contract's own subject says what `roles` its parameters have, which `mask` a call has, and its `request_of`.
    """

    roles: dict[str, str]

    def __init__(
        self, runner: Runner, implementation: Implementation, description: Mapping[str, Any], seed: int = 0
    ) -> None:
        super().__init__(runner, implementation, description, seed)
        self.own = Arrangement("bhnd", implementation.layout)

    def mask(self, call: Any) -> NDArray:
        """The pairs that a call attends, bool (B or 1, H or 1, n_q, n_kv)."""
        raise NotImplementedError

    def request_of(self, case: ParameterCase, call: Any, **how: Any) -> Request:
        """The request of a call; `how` may hold fields of the request, with a trailing underscore."""
        raise NotImplementedError

    # --- calls ------------------------------------------------------------------------------------------

    @property
    def needed(self) -> frozenset[str]:
        """The roles of parameters without a default, or whose default means something of its own (causal=True)."""
        values = {p["name"]: (p["default"], p.get("value")) for p in self.description["parameters"] or ()}
        return frozenset(
            role
            for role, usual in PLAIN.items()
            if role in self.roles and not (values[self.roles[role]][0] and values[self.roles[role]][1] in usual)
        )

    def options(self, call: Any, *, causal: bool = False) -> dict[str, Any]:
        """Causality, scale and shared heads of a call, by role, as far as they have to be passed."""
        plain = {"causal": False, "scale": scale_of(self.implementation.scale, call.query.shape[-1]), "grouped": False}
        wanted: dict[str, Any] = {role: plain[role] for role in self.needed}
        wanted |= {"causal": True} if causal else {}
        wanted |= {"scale": call.scale} if call.scale is not None else {}
        return wanted | ({"grouped": True} if call.key.shape[1] != call.query.shape[1] else {})

    def order(self, call: Any) -> NDArray | None:
        """The canonical query head at each place of the target's; None where they are the same."""
        return order_of_heads(self.implementation.grouping, call.query.shape[1], call.key.shape[1])

    def axes(self, like: NDArray) -> Arrangement:
        """How an array (B, H, n, d) lies on the target's side."""
        return self.own

    def attend(self, case: ParameterCase, call: Any, **how: Any) -> Result:
        """The output of a call, (B, H, n_q, d_v).

        Raises: Violation for an output of another shape or dtype.
        """
        request = self.request_of(case, call, **how)
        value = self.send(request).outputs[0]
        if value.dtype != case.dtype:
            message = f"out: got dtype {value.dtype}, but should be {case.dtype}, as the query (cast it back)"
            raise Violation(message, Evidence((Shown(request, "out"),), kind="shape", event="wrong dtype"))
        shape = (*call.query.shape[:3], call.value.shape[3])
        result = self.axes(call.query).result(value, shape, request, "out", "out")
        return put_heads_in_order(result, 1, self.order(call))

    def read_gradient(self, value: Value | None, place: str, request: Request, like: NDArray) -> Result:
        """A gradient as it came back, in canonical axes; zeros where none came."""
        axes = self.axes(like)
        got = Result(np.zeros(like.shape), request, f"grad:{place}", axes.place, back=axes.back)
        got.extra["missing"] = value is None
        if value is not None:
            got.values = axes.from_target(value.values.astype(np.float64))
        return got

    # --- truth ------------------------------------------------------------------------------------------

    def scale(self, call: Any) -> float:
        """What scores are multiplied by."""
        return scale_of(self.implementation.scale, call.query.shape[-1]) if call.scale is None else call.scale

    def truth(self, call: Any, mask: NDArray) -> oracle.Truth:
        """Attention of a call to some pairs, dead rows as declared, in float64."""
        biased = mask if call.bias is None else np.where(mask, call.bias, -np.inf)
        dead_rows = self.implementation.dead_rows
        return oracle.attention(call.query, call.key, call.value, biased, scale=self.scale(call), dead_rows=dead_rows)

    def judge(self, case: ParameterCase, call: Any) -> Judged:
        """Truth and budget of a call: those of masked attention."""
        mask = self.mask(call)
        truth = self.truth(call, mask)
        mask = mask if call.bias is None else np.where(mask, call.bias, -np.inf)
        declared = self.implementation
        bounds = budget.forward_bound(
            call.query, call.key, call.value, truth, mask=mask, scale=self.scale(call), dtype=case.dtype,
            accumulate=declared.accumulate, dead_rows=declared.dead_rows, merges=declared.merges,
        )  # fmt: skip
        rows = ~truth.dead if declared.dead_rows == "unspecified" else np.ones_like(truth.dead)
        return Judged(truth, bounds, mask, rows[..., None])

    def gradients(
        self, case: ParameterCase, call: Any, judged: Judged, down: NDArray
    ) -> dict[str, tuple[NDArray, NDArray]]:
        """Gradients of <out, down> by query, key and value, with their budgets.

        Raises: NotApplicable where scores are beyond the range of the dtype.
        """
        declared = self.implementation
        arrays = (call.query, call.key, call.value)
        how: dict[str, Any] = {"mask": judged.mask, "scale": self.scale(call)}
        true = oracle.gradients(*arrays, down, **how, truth=judged.truth, dead_rows=declared.dead_rows)
        limits = budget.backward_bound(
            *arrays, down, judged.truth, true, **how, dtype=case.dtype, accumulate=declared.accumulate,
            dead_rows=declared.dead_rows, merges=declared.merges, forward_bounds=judged.bounds,
        )  # fmt: skip
        if not limits.finite.all():
            raise NotApplicable
        return {name: (getattr(true, name), getattr(limits, name)) for name in ("query", "key", "value")}


def whole(values: NDArray) -> Array:
    """Whole numbers as kernels take them, int32."""
    return array(np.asarray(values), "int32")
