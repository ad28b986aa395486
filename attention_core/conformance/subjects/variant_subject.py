"""Sigmoid and differential attention: how a function is called, the arrays of a case, their truth and its budget.

Sigmoid attention weighs every key by itself, p_ij = 1 / (1 + exp(-(c q_i . k_j + b))). Differential attention is the
difference of two maps, softmax(c Q1 K1^T) - lambda softmax(c Q2 K2^T), times the values. Either may divide the output
of each head by its root mean square, or its deviation, and query heads may share key heads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from attention_core import oracle
from attention_core.conformance.budgets.budget import ForwardBounds, forward_bound, round_to
from attention_core.conformance.budgets.head_norm_bound import HeadNorm, head_norm_bound, norm_heads
from attention_core.conformance.budgets.head_norm_gradient import norm_gradients
from attention_core.conformance.budgets.variant_bound import difference_bound, sigmoid_bound, sigmoid_weights
from attention_core.conformance.budgets.variant_gradients import (
    Gradients,
    difference_gradients,
    map_gradients,
    sigmoid_gradients,
)
from attention_core.conformance.subjects.axes import put_heads_in_order
from attention_core.conformance.subjects.evidence import NotApplicable, Result
from attention_core.conformance.subjects.masked_subject import MaskedCall, MaskedSubject
from attention_core.conformance.subjects.parameter_case import ParameterCase
from attention_core.conformance.worker.exchange import Array, NDArray, Request, Value, array
from attention_core.conformance.worker.runner import Runner
from attention_core.declaration.implementation import Implementation, TargetError

SIGMOID, DIFFERENTIAL = "sigmoid", "differential"
ROLES: Mapping[str, str] = {
    name: role
    for role, names in {
        "query": "q query Q q1 query1 q_1 Q1",
        "key": "k key K k1 key1 k_1 K1",
        "value": "v value V",
        "query2": "q2 query2 q_2 Q2",
        "key2": "k2 key2 k_2 K2",
        "weight": "lam lambda_ lmbda lambda_full lam_full lambda_value",
        "bias": "bias sigmoid_bias logit_bias attn_bias b",
        "mask": "attn_mask mask",
        "causal": "causal is_causal",
        "scale": "softmax_scale scale sm_scale scaling",
        "grouped": "enable_gqa",
        "norm_weight": "norm_weight subln_weight head_norm_weight rms_weight",
        "eps": "eps norm_eps",
        "init": "lambda_init",
    }.items()
    for name in names.split()
}
"""A parameter's name -> what it is."""
USUAL_WEIGHT = 0.8
"""The lambda of calls that a law says nothing of (Ye et al., "Differential Transformer", 2024)."""
USUAL_EPS, USUAL_INIT = 1e-5, 0.2
"""The epsilon of a norm, and the lambda_init whose complement multiplies it, where no others are declared or given."""
OF_NORMS = ("norm_weight", "eps", "init")
"""Roles of parameters that say how the output of a head is normalised."""
SCALARS = ("bias", "weight")
"""Roles of single numbers that may be learned."""


def read_roles(parameters: list[dict[str, Any]] | None, bound: Iterable[str]) -> dict[str, str]:
    """Role -> the target's own name of it, of all its parameters in any order.

    Args: parameters: of the target, None where its signature cannot be read; bound: those that have a value otherwise.

    Raises:
        TargetError: a parameter without a default whose meaning is not known, or one that is needed is not there.

    Example:
        >>> read_roles([{"name": n, "kind": "", "default": False} for n in "q k v lam".split()], ())
        {'query': 'q', 'key': 'k', 'value': 'v', 'weight': 'lam'}
    """
    if parameters is None:
        raise TargetError("its signature cannot be read: name a function with parameters (query, key, value, ...)")
    roles: dict[str, str] = {}
    for p in parameters:
        if p["kind"].startswith("VAR") or p["name"] in bound:
            continue
        if p["name"] in ROLES:
            roles.setdefault(ROLES[p["name"]], p["name"])
        elif not p["default"]:
            raise TargetError(
                f"what the parameter {p['name']} is given is not known: name it as papers do (query, key, value, bias; "
                f"q1, k1, q2, k2, v, lam), or fix it with --arg {p['name']}=VALUE"
            )
    lacking = [name for name in ("query", "key", "value") if name not in roles]
    if lacking or ("query2" in roles) != ("key2" in roles):
        name = lacking[0] if lacking else "key2" if "query2" in roles else "query2"
        raise TargetError(f"the target has no parameter for its {name}: name it {name}")
    if "query2" in roles and "weight" not in roles:
        raise TargetError("no parameter says how the second map is weighed: name it lam, or fix --arg lam=0.8")
    return roles


@dataclass(frozen=True, eq=False)
class VariantCall(MaskedCall):
    """Arrays of a call.

    Args:
        query, key, value: (B, H, n_q, d), (B, H_kv, n_kv, d), (B, H_kv, n_kv, d_v); of two maps the first one's.
        query2, key2: of the second map; None of sigmoid attention. weight: lambda.
        mask: bool (n_q, n_kv); None without. causal: whether the call is causal. scale: None where none is given.
        shift: what is added to the scores of sigmoid attention; None where nothing is given.
        norm: how the output of each head is normalised; None where it is not.
    """

    BY_HEAD: ClassVar[tuple[str, ...]] = ("query", "query2")

    query2: NDArray | None = field(default=None, kw_only=True)
    key2: NDArray | None = field(default=None, kw_only=True)
    weight: float = field(default=USUAL_WEIGHT, kw_only=True)
    mask: NDArray | None = field(default=None, kw_only=True)
    causal: bool = field(default=False, kw_only=True)
    shift: float | None = field(default=None, kw_only=True)
    norm: HeadNorm | None = field(default=None, kw_only=True)

    @property
    def group(self) -> int:
        """Query heads of a key head."""
        return int(self.query.shape[1] // self.key.shape[1])


@dataclass(frozen=True)
class Judged:
    """The true output (B, H, n_q, d_v), how far a right one may be from it, and which rows are compared: all."""

    out: NDArray
    bound: NDArray
    rows: NDArray


class VariantSubject(MaskedSubject):
    """A function of sigmoid or of differential attention."""

    def __init__(
        self, runner: Runner, implementation: Implementation, description: Mapping[str, Any], seed: int = 0
    ) -> None:
        super().__init__(runner, implementation, description, seed)
        self.roles = read_roles(description["parameters"], implementation.arguments)
        found = DIFFERENTIAL if self.roles.keys() & {"weight", "query2"} else SIGMOID
        self.kind = str(self.parameters.get("kind", found))
        if self.kind not in (SIGMOID, DIFFERENTIAL):
            raise TargetError(f"--kind {self.kind}: choose from {SIGMOID}, {DIFFERENTIAL}")
        if self.kind == DIFFERENTIAL and "weight" not in self.roles:
            raise TargetError("no parameter says how the second map is weighed: name it lam")
        self.joins = self.kind == DIFFERENTIAL and "query2" not in self.roles
        self.norm_kind = str(self.parameters.get("norm", "rms" if "norm_weight" in self.roles else ""))
        if not self.norm_kind and (unused := [self.roles[role] for role in OF_NORMS if self._has_no_default(role)]):
            raise TargetError(f"{unused[0]} belongs to a norm of each head: declare --parameter norm=rms (or layer)")

    # --- cases ------------------------------------------------------------------------------------------

    def draw(self, case: ParameterCase) -> VariantCall:
        """The call of a case. Options: "causal", "mask", "scale", "bias", "weight", "eps", "init"."""
        B, H_kv, n_q, n_kv, d, d_v = (case[name] for name in ("B", "H_kv", "n_q", "n_kv", "d", "d_v"))
        H, options = H_kv * case["group"], case.options
        call = VariantCall(
            case.queries("query", B, H, n_q, d), case.keys("key", B, H_kv, n_kv, d),
            case.values("value", B, H_kv, n_kv, d_v), causal=self.is_causal(case),
            scale=options.get("scale") if "scale" in self.roles else None, norm=self._norm(case),
        )  # fmt: skip
        if options.get("mask") and "mask" in self.roles:
            mask = case.rng("mask").random((n_q, n_kv)) < 0.6
            mask[:, 0] |= ~mask.any(-1)
            call = call.with_(mask=mask)
        if self.kind == SIGMOID:
            found: VariantCall = call.with_(shift=options.get("bias") if "bias" in self.roles else None)
            return found
        second = {"query2": case.queries("query2", B, H, n_q, d), "key2": case.keys("key2", B, H_kv, n_kv, d)}
        found = call.with_(weight=float(options.get("weight", USUAL_WEIGHT)), **second)
        return found

    def _norm(self, case: ParameterCase) -> HeadNorm | None:
        """The norm of a case's call, as far as it is declared or the target has parameters for it."""
        if not self.norm_kind:
            return None
        drawn = round_to(1.0 + 0.5 * case.values("norm", case["d_v"]), case.dtype)
        eps = case.options.get("eps") if "eps" in self.roles else self.parameters.get("eps")
        init = case.options.get("init", USUAL_INIT) if "init" in self.roles else self.parameters.get("lambda_init", 0.0)
        return HeadNorm(
            self.norm_kind, drawn if "norm_weight" in self.roles else np.ones(case["d_v"]),
            float(USUAL_EPS if eps is None else eps), 1.0 - float(init),
        )  # fmt: skip

    def is_causal(self, case: ParameterCase) -> bool:
        """Whether a case's call is causal."""
        return bool(case.options.get("causal")) if "causal" in self.roles else self.implementation.always_causal

    # --- calls ------------------------------------------------------------------------------------------

    def request_of(
        self, case: ParameterCase, call: VariantCall, *, view: str = "contiguous", learned: bool = False, **extra: Any
    ) -> Request:
        """The request of a call; `extra` are fields of the request, with a trailing underscore.

        Args: learned: bias and lambda are given as arrays without axes, and not as numbers.
        """
        fields, call = {k[:-1]: v for k, v in extra.items()}, call.put_in_order(self.order(call))
        values: dict[str, Any] = {"query": call.query, "key": call.key, "value": call.value}
        if self.joins:
            assert call.query2 is not None and call.key2 is not None
            values |= {"query": interleave(call.query, call.query2), "key": interleave(call.key, call.key2)}
        elif self.kind == DIFFERENTIAL:
            values |= {"query2": call.query2, "key2": call.key2}
        given: dict[str, Any] = {role: array(self.own.to_target(x), case.dtype, view) for role, x in values.items()}
        given |= {"weight": call.weight} if self.kind == DIFFERENTIAL else {}
        given |= self._options(call)
        if call.norm is not None:
            given |= {"norm_weight": array(call.norm.weight, case.dtype), "eps": call.norm.eps}
            given |= {"init": 1.0 - call.norm.factor}
        if learned:
            given |= {role: array(np.array(given[role]), case.dtype) for role in SCALARS if role in given}
        named = {self.roles[role]: value for role, value in given.items() if role in self.roles}
        return Request((), {**named, **self.implementation.arguments}, loose=True, **fields)

    def _options(self, call: VariantCall) -> dict[str, Any]:
        """What a call may ask for, by role, as far as it has to be passed."""
        found: dict[str, Any] = {"causal": True} if call.causal else {}
        found |= {"mask": self._mask(call.mask)} if call.mask is not None else {}
        found |= {name: x for name, x in (("scale", call.scale), ("bias", call.shift)) if x is not None}
        found |= {"grouped": True} if call.group > 1 else {}
        plain = {
            "causal": False, "scale": self.scale(call), "bias": self.bias(call), "mask": None, "grouped": False,
        }  # fmt: skip
        return {role: x for role, x in plain.items() if self._needs(role)} | found

    def _mask(self, mask: NDArray) -> Array:
        """A mask as the target takes it: bool, or 0 and -inf."""
        if self.implementation.masks == "additive":
            return array(np.where(mask, 0.0, -np.inf), "float32")
        return array(mask, "bool")

    def _needs(self, role: str) -> bool:
        """Whether a parameter has no default, or one that means something of its own (causal=True, bias=0.0)."""
        found = self._parameter(role)
        value = None if found is None else found.get("value")
        return found is not None and not (found["default"] and (value is None or value is False))

    def _has_no_default(self, role: str) -> bool:
        """Whether the target has a parameter of a role that must be given."""
        found = self._parameter(role)
        return found is not None and not found["default"]

    def _parameter(self, role: str) -> Mapping[str, Any] | None:
        """The description of the parameter of a role."""
        own = self.roles.get(role)
        return next((p for p in self.description["parameters"] or () if p["name"] == own), None)

    def takes_an_array(self, role: str) -> bool:
        """Whether the annotation of a parameter says that it may be an array."""
        found = self._parameter(role)
        return found is not None and bool(found.get("array"))

    def put_in_order(self, call: VariantCall, values: NDArray) -> NDArray:
        """Values (B, H, ...) with the query heads in the target's order."""
        order = self.order(call)
        return values if order is None else values[:, order]

    def from_order(self, call: VariantCall, role: str, result: Result) -> Result:
        """A gradient of queries with the heads in canonical order; that of another input as it is."""
        order = self.order(call) if role in ("query", "query2") else None
        if order is not None and self.joins:
            order = np.stack([2 * order, 2 * order + 1], axis=1).ravel()
        return put_heads_in_order(result, 1, order)

    def read_gradient_of(self, role: str, value: Value | None, request: Request, like: NDArray) -> Result:
        """A gradient as it came back, in canonical axes; that of a number has none. Zeros where none came."""
        place = self.roles[role]
        if role == "norm_weight":
            got = np.zeros(like.shape) if value is None else value.values.astype(np.float64).reshape(like.shape)
            result = Result(got, request, f"grad:{place}", lambda at: at, back=lambda at: at)
            result.extra["missing"] = value is None
            return result
        if role not in SCALARS:
            return self.read_gradient(value, place, request, like)
        got = np.zeros(()) if value is None else value.values.astype(np.float64).reshape(())
        result = Result(got, request, f"grad:{place}", lambda at: at, back=lambda at: at)
        result.extra["missing"] = value is None
        return result

    # --- truth ------------------------------------------------------------------------------------------

    def bias(self, call: VariantCall) -> float:
        """What is added to scores of sigmoid attention: -log of the number of keys where nothing else is given."""
        if call.shift is not None:
            return call.shift
        declared = self.parameters.get("bias")
        return -float(np.log(max(call.lengths[1], 1))) if declared is None else float(declared)

    def pairs(self, call: VariantCall) -> NDArray:
        """The pairs that a call attends, bool (n_q, n_kv)."""
        pairs = np.ones(call.lengths, dtype=bool)
        if call.causal:
            pairs &= oracle.causal_mask(*call.lengths, self.implementation.causal)
        return pairs if call.mask is None else pairs & call.mask

    def judge(self, case: ParameterCase, call: VariantCall) -> Judged:  # type: ignore[override]  # of no one mask
        """Truth and budget of a call."""
        how: dict[str, Any] = {"dtype": case.dtype, "accumulate": self.implementation.accumulate}
        out, bound = self._heads(case, call)
        if call.norm is not None:
            bound = head_norm_bound(out, bound, call.norm, **how)
            out = norm_heads(out, call.norm)
        return Judged(out, bound, np.ones((*out.shape[:3], 1), dtype=bool))

    def _heads(self, case: ParameterCase, call: VariantCall) -> tuple[NDArray, NDArray]:
        """The true output of every head before its norm, and its budget."""
        how: dict[str, Any] = {"dtype": case.dtype, "accumulate": self.implementation.accumulate}
        if self.kind == SIGMOID:
            (query, key, value), pairs = self._arrays(call), self.pairs(call)
            scale, bias = self.scale(call), self.bias(call)
            bound = sigmoid_bound(query, key, value, pairs, scale=scale, bias=bias, **how)
            out = sigmoid_weights(query, key, pairs, scale, bias) @ value
        else:
            first, second = (self._map(case, call, which) for which in (False, True))
            out = first[0].out - call.weight * second[0].out
            parts = [(one[0].out, np.broadcast_to(one[1].out, out.shape), one[2]) for one in (first, second)]
            bound = difference_bound(parts[0], parts[1], call.weight, **how)
        return np.asarray(out), np.asarray(bound)

    def _arrays(self, call: VariantCall) -> tuple[NDArray, NDArray, NDArray]:
        """Query, key and value of one map, keys and values once for every query head."""
        return call.query, np.repeat(call.key, call.group, 1), np.repeat(call.value, call.group, 1)

    def _map(
        self, case: ParameterCase, call: VariantCall, second: bool
    ) -> tuple[oracle.Truth, ForwardBounds, NDArray]:  # fmt: skip
        """One map of differential attention: its truth, its budget, and sum_j p_j |v_j|."""
        query, key = (call.query2, call.key2) if second else (call.query, call.key)
        assert query is not None and key is not None
        how: dict[str, Any] = {"scale": self.scale(call), "dead_rows": "zeros"}
        pairs = self.pairs(call)
        truth = oracle.attention(query, key, call.value, pairs, **how)
        kernel: dict[str, Any] = {"dtype": case.dtype, "accumulate": self.implementation.accumulate}
        kernel["merges"] = self.implementation.merges
        bounds = forward_bound(query, key, call.value, truth, mask=pairs, **how, **kernel)
        return truth, bounds, oracle.attention(query, key, np.abs(call.value), pairs, **how).out

    def true_gradients(self, case: ParameterCase, call: VariantCall, down: NDArray) -> Gradients:
        """Gradients of <out, down> by role, with their budgets, that of a norm's weight among them.

        Raises: NotApplicable where scores are beyond the range of the dtype.
        """
        how: dict[str, Any] = {"dtype": case.dtype, "accumulate": self.implementation.accumulate}
        if call.norm is None:
            return self._gradients_of_heads(case, call, down, None)
        found = norm_gradients(*self._heads(case, call), down, call.norm, **how)
        inner = self._gradients_of_heads(case, call, found.out, found.out_off)
        return {**inner, "norm_weight": (found.weight, found.weight_off)}

    def _gradients_of_heads(
        self, case: ParameterCase, call: VariantCall, down: NDArray, slack: NDArray | None
    ) -> Gradients:  # fmt: skip
        """The gradients of <heads, down> before their norm, where `down` may be off by `slack`."""
        how: dict[str, Any] = {"dtype": case.dtype, "accumulate": self.implementation.accumulate}
        pairs, scale, off = self.pairs(call), self.scale(call), 0.0 if slack is None else slack
        if self.kind == SIGMOID:
            how |= {"scale": scale, "bias": self.bias(call), "group": call.group}
            return sigmoid_gradients(*self._arrays(call), down, pairs, slack=off, **how)
        maps = []
        for second, own, moved in ((False, down, slack), (True, -call.weight * down, abs(call.weight) * off)):
            truth, bounds, size = self._map(case, call, second)
            query, key = (call.query2, call.key2) if second else (call.query, call.key)
            assert query is not None and key is not None
            gradients = map_gradients(
                query, key, call.value, own, truth, bounds, mask=pairs, scale=scale,
                merges=self.implementation.merges, slack=None if slack is None else np.asarray(moved), **how,
            )  # fmt: skip
            if gradients is None:
                raise NotApplicable
            maps.append((gradients, truth.out, np.broadcast_to(bounds.out, truth.out.shape), size))
        found = difference_gradients(maps[0], maps[1], down, call.lengths[1], slack=off, **how)
        return join_maps(found) if self.joins else found

    def outputs(self, call: VariantCall) -> NDArray:
        """The true output of a call, which may be a wrong one."""
        return self.judge(ParameterCase({}, dtype="float64"), call).out


def interleave(first: NDArray, second: NDArray) -> NDArray:
    """Heads of both maps in one array, (B, 2 H, n, d): those of one head are neighbours.

    Example:
        >>> interleave(np.zeros((1, 2, 1, 1)), np.ones((1, 2, 1, 1))).ravel().tolist()
        [0.0, 1.0, 0.0, 1.0]
    """
    both = np.stack([first, second], axis=2)
    return both.reshape(both.shape[0], -1, *both.shape[3:])


def join_maps(gradients: Gradients) -> Gradients:
    """Gradients of queries and keys of both maps in one array each, and of the others."""
    joined = {}
    for role in ("query", "key"):
        (true, bound), (true2, bound2) = gradients[role], gradients[f"{role}2"]
        joined[role] = interleave(true, true2), interleave(bound, bound2)
    return {**gradients, **joined}
