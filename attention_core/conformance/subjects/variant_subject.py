"""Sigmoid and differential attention: how a function is called, the arrays of a case, their truth and its budget.

Sigmoid attention weighs every key by itself, p_ij = 1 / (1 + exp(-(c q_i . k_j + b))). Differential attention is the
difference of two maps, softmax(c Q1 K1^T) - lambda softmax(c Q2 K2^T), times the values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from attention_core import oracle
from attention_core.conformance.budgets.budget import forward_bound
from attention_core.conformance.budgets.variant_bound import difference_bound, sigmoid_bound, sigmoid_weights
from attention_core.conformance.subjects.axes import Arrangement
from attention_core.conformance.subjects.evidence import Evidence, Result, Shown, Violation
from attention_core.conformance.subjects.parameter_case import ParameterCase, ParameterSubject
from attention_core.conformance.worker.exchange import Array, NDArray, Request, array
from attention_core.conformance.worker.runner import Runner
from attention_core.declaration.implementation import Implementation, TargetError
from attention_core.declaration.scales import scale_of

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
    }.items()
    for name in names.split()
}
"""A parameter's name -> what it is."""
USUAL_WEIGHT = 0.8
"""The lambda of calls that a law says nothing of (Ye et al., "Differential Transformer", 2024)."""


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
class VariantCall:
    """Arrays of a call.

    Args:
        query, key, value: (B, H, n_q, d), (B, H, n_kv, d), (B, H, n_kv, d_v); of two maps the first one's.
        query2, key2: of the second map; None of sigmoid attention. weight: lambda.
        mask: bool (n_q, n_kv); None without. causal: whether the call is causal. scale: None where none is given.
        bias: of the scores of sigmoid attention; None where none is given.
    """

    query: NDArray
    key: NDArray
    value: NDArray
    query2: NDArray | None = None
    key2: NDArray | None = None
    weight: float = USUAL_WEIGHT
    mask: NDArray | None = None
    causal: bool = False
    scale: float | None = None
    bias: float | None = None

    def with_(self, **changes: Any) -> VariantCall:
        """A copy with some fields changed."""
        return replace(self, **changes)

    @property
    def lengths(self) -> tuple[int, int]:
        """(n_q, n_kv)."""
        return self.query.shape[2], self.key.shape[2]


@dataclass(frozen=True)
class Judged:
    """The true output (B, H, n_q, d_v) and how far a right one may be from it, for a call in a dtype."""

    out: NDArray
    bound: NDArray


class VariantSubject(ParameterSubject):
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
        self.own = Arrangement("bhnd", implementation.layout)
        self.joins = self.kind == DIFFERENTIAL and "query2" not in self.roles

    # --- cases ------------------------------------------------------------------------------------------

    def draw(self, case: ParameterCase) -> VariantCall:
        """The call of a case. Options: "causal", "mask", "scale", "bias", "weight"."""
        B, H, n_q, n_kv, d, d_v = (case[name] for name in ("B", "H", "n_q", "n_kv", "d", "d_v"))
        options = case.options
        call = VariantCall(
            case.queries("query", B, H, n_q, d), case.keys("key", B, H, n_kv, d), case.values("value", B, H, n_kv, d_v),
            causal=self.is_causal(case), scale=options.get("scale") if "scale" in self.roles else None,
        )  # fmt: skip
        if options.get("mask") and "mask" in self.roles:
            mask = case.rng("mask").random((n_q, n_kv)) < 0.6
            mask[:, 0] |= ~mask.any(-1)
            call = call.with_(mask=mask)
        if self.kind == SIGMOID:
            return call.with_(bias=options.get("bias") if "bias" in self.roles else None)
        second = {"query2": case.queries("query2", B, H, n_q, d), "key2": case.keys("key2", B, H, n_kv, d)}
        return call.with_(weight=float(options.get("weight", USUAL_WEIGHT)), **second)

    def is_causal(self, case: ParameterCase) -> bool:
        """Whether a case's call is causal."""
        return bool(case.options.get("causal")) if "causal" in self.roles else self.implementation.always_causal

    # --- calls ------------------------------------------------------------------------------------------

    def request_of(self, case: ParameterCase, call: VariantCall, *, view: str = "contiguous", **extra: Any) -> Request:
        """The request of a call; `extra` are fields of the request, with a trailing underscore."""
        fields = {k[:-1]: v for k, v in extra.items()}
        values: dict[str, Any] = {"query": call.query, "key": call.key, "value": call.value}
        if self.joins:
            assert call.query2 is not None and call.key2 is not None
            values |= {"query": interleave(call.query, call.query2), "key": interleave(call.key, call.key2)}
        elif self.kind == DIFFERENTIAL:
            values |= {"query2": call.query2, "key2": call.key2}
        given: dict[str, Any] = {role: array(self.own.to_target(x), case.dtype, view) for role, x in values.items()}
        given |= {"weight": call.weight} if self.kind == DIFFERENTIAL else {}
        given |= self._options(call)
        named = {self.roles[role]: value for role, value in given.items() if role in self.roles}
        return Request((), {**named, **self.implementation.arguments}, loose=True, **fields)

    def _options(self, call: VariantCall) -> dict[str, Any]:
        """What a call may ask for, by role, as far as it has to be passed."""
        found: dict[str, Any] = {"causal": True} if call.causal else {}
        found |= {"mask": self._mask(call.mask)} if call.mask is not None else {}
        found |= {name: x for name, x in (("scale", call.scale), ("bias", call.bias)) if x is not None}
        plain = {
            "causal": False,
            "scale": self.scale(call),
            "bias": self.bias(call),
            "mask": None,
        }
        return {role: x for role, x in plain.items() if self._needs(role)} | found

    def _mask(self, mask: NDArray) -> Array:
        """A mask as the target takes it: bool, or 0 and -inf."""
        if self.implementation.masks == "additive":
            return array(np.where(mask, 0.0, -np.inf), "float32")
        return array(mask, "bool")

    def _needs(self, role: str) -> bool:
        """Whether a parameter has no default, or one that means something of its own (causal=True)."""
        own = self.roles.get(role)
        found = next((p for p in self.description["parameters"] or () if p["name"] == own), None)
        return found is not None and not (found["default"] and found.get("value") in (None, False))

    def attend(self, case: ParameterCase, call: VariantCall, **how: Any) -> Result:
        """The output of a call, (B, H, n_q, d_v).

        Raises: Violation for an output of another shape or dtype.
        """
        request = self.request_of(case, call, **how)
        value = self.send(request).outputs[0]
        if value.dtype != case.dtype:
            message = f"out: got dtype {value.dtype}, but should be {case.dtype}, as the query (cast it back)"
            raise Violation(message, Evidence((Shown(request, "out"),), kind="shape", event="wrong dtype"))
        return self.own.result(value, (*call.query.shape[:3], call.value.shape[3]), request, "out", "out")

    # --- truth ------------------------------------------------------------------------------------------

    def scale(self, call: VariantCall) -> float:
        """What products are multiplied by."""
        return scale_of("1/sqrt(d)", call.query.shape[-1]) if call.scale is None else call.scale

    def bias(self, call: VariantCall) -> float:
        """What is added to scores of sigmoid attention: -log of the number of keys where nothing else is given."""
        if call.bias is not None:
            return call.bias
        declared = self.parameters.get("bias")
        return -float(np.log(max(call.lengths[1], 1))) if declared is None else float(declared)

    def pairs(self, call: VariantCall) -> NDArray:
        """The pairs that a call attends, bool (n_q, n_kv)."""
        pairs = np.ones(call.lengths, dtype=bool)
        if call.causal:
            pairs &= oracle.causal_mask(*call.lengths, self.implementation.causal)
        return pairs if call.mask is None else pairs & call.mask

    def judge(self, case: ParameterCase, call: VariantCall) -> Judged:
        """Truth and budget of a call."""
        how: dict[str, Any] = {"dtype": case.dtype, "accumulate": self.implementation.accumulate}
        scale, pairs = self.scale(call), self.pairs(call)
        if self.kind == SIGMOID:
            arrays, bias = (call.query, call.key, call.value), self.bias(call)
            bound = sigmoid_bound(*arrays, pairs, scale=scale, bias=bias, **how)
            return Judged(sigmoid_weights(call.query, call.key, pairs, scale, bias) @ call.value, bound)
        assert call.query2 is not None and call.key2 is not None
        maps = []
        for q, k in ((call.query, call.key), (call.query2, call.key2)):
            truth = oracle.attention(q, k, call.value, pairs, scale=scale)
            bounds = forward_bound(q, k, call.value, truth, mask=pairs, scale=scale, dead_rows="zeros", **how)
            spread = oracle.attention(q, k, np.abs(call.value), pairs, scale=scale).out
            maps.append((truth.out, np.broadcast_to(bounds.out, truth.out.shape), spread))
        out = maps[0][0] - call.weight * maps[1][0]
        return Judged(out, difference_bound(maps[0], maps[1], call.weight, **how))

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
