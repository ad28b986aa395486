"""Functions of quantised keys and values: how they are called, what is stored, its truth and its budget.

Queries are (B, H, n_q, d), stored keys (B, H_kv, n_kv, d) and values (B, H_kv, n_kv, d_v), with scales of the whole
tensor, of heads, sequences, tokens or blocks of tokens. A target has its own order of axes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from attention_core import oracle
from attention_core.conformance.budgets.budget import forward_bound, round_to
from attention_core.conformance.budgets.quantised_bound import Numbers, stored_errors
from attention_core.conformance.subjects.axes import Arrangement, order_of_heads, put_heads_in_order
from attention_core.conformance.subjects.evidence import Evidence, Result, Shown, Violation
from attention_core.conformance.subjects.parameter_case import BESIDE_IT, WIDE, ParameterCase, ParameterSubject
from attention_core.conformance.worker.exchange import Array, NDArray, Request, array
from attention_core.conformance.worker.runner import Runner
from attention_core.conformance.worker.small_floats import FORMATS, decode_float8, encode_float8
from attention_core.declaration.implementation import Implementation, TargetError
from attention_core.declaration.scales import scale_of

ROLES: Mapping[str, str] = {
    name: role
    for role, names in {
        "query_scale": "q_scale q_descale query_scale scale_q descale_q",
        "key_scale": "k_scale k_descale key_scale scale_k descale_k k_scales key_scales",
        "value_scale": "v_scale v_descale value_scale scale_v descale_v v_scales value_scales",
        "key_zero": "k_zero k_zero_point k_zp key_zero k_zeros zero_k",
        "value_zero": "v_zero v_zero_point v_zp value_zero v_zeros zero_v",
        "causal": "causal is_causal",
        "scale": "scale softmax_scale sm_scale scaling",
        "grouped": "enable_gqa",
        "kv_layout": "kv_layout",
    }.items()
    for name in names.split()
}
"""A parameter's name -> what it is."""
INPUTS = 3
"""Query, key and value come first, whatever they are called."""
STORED_QUERY = ("q_descale", "descale_q")
"""Scales of queries that are stored as keys are, also where they have a default."""


@dataclass(frozen=True)
class CallForm:
    """How a target is called.

    Args: query, key: own axes of queries, and of keys and values; scales: what has a scale of its own.
    """

    query: str
    key: str
    scales: str


KNOWN: Mapping[tuple[str, ...], CallForm] = {
    ("q_descale", "k_descale", "v_descale"): CallForm("bnhd", "bnhd", "sequence"),  # flash_attn_interface (3)
    ("kv_layout", "k_scale", "v_scale"): CallForm("hd", "nhd", "tensor"),  # flashinfer.single_decode_with_kv_cache
    ("kv_layout", "scale_k", "scale_v"): CallForm("nhd", "nhd", "head"),  # flashinfer.single_prefill_with_kv_cache
}
"""Parameters by which a library's function is known -> how it is called."""
SPREAD = {"int8": 40.0, **dict.fromkeys(FORMATS, 16.0)}
"""Standard deviation of stored numbers."""
ENDS = {"int8": (-128.0, 127.0), **dict.fromkeys(FORMATS, (-448.0, 448.0))}
"""The least and the largest number that is stored."""
USUAL_BLOCK = 16
FAR_AWAY = ("low", "high", "apart")
"""Scores that are far from 0 by the first feature of queries and keys."""
STORED_BESIDE_IT = 64.0
"""What the first feature of such keys is stored as."""
SINK = 84.0
"""The score of a first key that holds zeros and takes nearly all the weight, as a sink does: exp(-84) is a number of
float32, and exponents that are clamped at -80 are seen."""


def read_roles(parameters: list[dict[str, Any]] | None, bound: Iterable[str]) -> dict[str, str]:
    """Role -> the target's own name of it, of all parameters after query, key and value.

    Args: parameters: of the target, None where its signature cannot be read; bound: those that have a value otherwise.

    Raises:
        TargetError: a parameter without a default whose meaning is not known, or none for the scale of keys.

    Example:
        >>> read_roles([{"name": n, "kind": "", "default": False} for n in "q k v k_descale".split()], ())
        {'key_scale': 'k_descale'}
    """
    named = [p for p in parameters or [] if not p["kind"].startswith("VAR")][INPUTS:]
    named = [p for p in named if p["name"] not in bound]
    for p in named:
        if p["name"] not in ROLES and not p["default"]:
            raise TargetError(
                f"what the parameter {p['name']} is given is not known: name it as its library does (such as k_scale, "
                f"v_descale), or fix it with --arg {p['name']}=VALUE"
            )
    roles: dict[str, str] = {}
    for p in named:
        if p["name"] in ROLES:
            roles.setdefault(ROLES[p["name"]], p["name"])
    if "key_scale" not in roles:
        raise TargetError("the target has no parameter for the scale of keys: name it k_scale, k_descale or key_scale")
    return roles


@dataclass(frozen=True)
class Operands:
    """Query, keys and values as they are stored: numbers, scales in the target's form, zero points or None.

    Args:
        kinds: dtypes of the three. scales: by "query", "key", "value"; without one, the numbers are the values.
        granularity: what has a scale of its own; block: keys of a block.
    """

    numbers: Mapping[str, NDArray]
    kinds: Mapping[str, str]
    scales: Mapping[str, NDArray]
    zeros: Mapping[str, NDArray]
    granularity: str
    block: int = USUAL_BLOCK

    def with_(
        self, scales: Mapping[str, NDArray] | None = None, zeros: Mapping[str, NDArray] | None = None
    ) -> Operands:
        """The operands with some scales or zero points replaced."""
        return replace(self, scales={**self.scales, **(scales or {})}, zeros={**self.zeros, **(zeros or {})})

    def read(self, name: str) -> Numbers:
        """One operand with its scale and zero point spread over its numbers."""
        numbers = self.numbers[name]
        one, none = np.ones(()), np.zeros(())
        spread = [self.spread(x.get(name, y), numbers) for x, y in ((self.scales, one), (self.zeros, none))]
        return Numbers(numbers, *spread)

    def spread(self, own: NDArray, numbers: NDArray) -> NDArray:
        """Scales or zero points in the target's form, broadcastable to the numbers (B, H, n, c)."""
        if own.ndim == 0:
            return own
        if self.granularity == "head":
            return own[None, :, None, None]
        if self.granularity == "sequence":
            return np.repeat(own, numbers.shape[1] // own.shape[1], axis=1)[:, :, None, None]
        if self.granularity == "block":
            own = np.repeat(own, self.block, axis=-1)[..., : numbers.shape[2]]
        return own[..., None]

    def read_all(self) -> tuple[Numbers, Numbers, Numbers]:
        """Query, key and value."""
        return self.read("query"), self.read("key"), self.read("value")


@dataclass(frozen=True)
class Judged:
    """The true output (B, H, n_q, d_v), and how far a right one may be from it."""

    out: NDArray
    bound: NDArray


def draw_numbers(case: ParameterCase, name: str, shape: tuple[int, ...], stored: str, regime: str) -> NDArray:
    """Numbers that a format holds; in the regime "ends" half of them its least, largest and smallest ones."""
    low, high = ENDS[stored]
    drawn = case.rng(name).standard_normal(shape)
    if case.plain:
        drawn = np.rint(2 * drawn) if case.plain == 1 else (drawn > 0).astype(float)
    else:
        drawn = SPREAD[stored] * drawn
    if regime == "ends":
        rng = case.rng(f"ends of {name}")
        tiny = 1.0 if stored == "int8" else float(rng.choice([1.0, 2.0**-9, 3 * 2.0**-9]))
        ends = rng.choice([low, high, low, high, tiny, -tiny, 0.0], size=shape)
        drawn = np.where(rng.random(shape) < 0.5, ends, drawn)
    if name == "key" and case.options.get("scores") in FAR_AWAY:
        drawn[..., 0] = STORED_BESIDE_IT
    drawn = np.clip(drawn, low, high)
    if stored == "int8":
        return np.rint(drawn)
    return decode_float8(encode_float8(drawn, stored), stored)


def draw_scales(case: ParameterCase, name: str, size: tuple[int, ...], stored: str, regime: str) -> NDArray:
    """Scales of numbers of spread 1: within a factor of 5 of each other, or (regime "apart") far from 1."""
    rng = case.rng(f"scale of {name}")
    if case.plain:
        return SPREAD[stored] * 2.0 ** ((rng.integers(3) + np.arange(np.prod(size)).reshape(size)) % 3 - 1.0)
    powers = rng.uniform(-1.2, 1.2, size=size)
    if regime == "apart":
        far = {"query": (-3, 0), "key": (-9, 0), "value": (-7, 3) if case.dtype == "float16" else (-12, 10)}
        powers = rng.uniform(*far[name], size=size)
    return np.asarray(2.0**powers)


class QuantisedSubject(ParameterSubject):
    """A function of quantised keys and values."""

    def __init__(
        self, runner: Runner, implementation: Implementation, description: Mapping[str, Any], seed: int = 0
    ) -> None:
        super().__init__(runner, implementation, description, seed)
        self.roles = read_roles(description["parameters"], implementation.arguments)
        self.stored = str(self.parameters.get("stored", "int8"))
        names = {*(self.names() or ())}
        layout = implementation.layout
        form = next((form for known, form in KNOWN.items() if names.issuperset(known)), None)
        form = form or CallForm(layout, layout, "tensor")
        self.granularity = str(self.parameters.get("scales", form.scales))
        if self.granularity == "page":
            raise TargetError("--parameter scales=page is for --contract paged: here keys do not lie in pages")
        self.block = int(self.parameters.get("block", USUAL_BLOCK))
        self.own_query, self.own_key = Arrangement("bhnd", form.query), Arrangement("bhnd", form.key)
        self.own_tokens = Arrangement("bhn", form.key.replace("d", ""))
        zeros = [self.roles[role] for role in ("key_zero", "value_zero") if role in self.roles]
        if zeros and self.stored != "int8":
            raise TargetError(
                f"--parameter stored={self.stored}: float8 has no zero point, and the target takes {zeros[0]}"
            )

    def _parameter(self, role: str) -> Mapping[str, Any]:
        """What is known of the target's parameter of a role."""
        return next(p for p in self.description["parameters"] if p["name"] == self.roles[role])

    @property
    def stores_query(self) -> bool:
        """Whether queries are stored as keys are."""
        if "query_scale" not in self.roles:
            return False
        return self.roles["query_scale"] in STORED_QUERY or not self._parameter("query_scale")["default"]

    def adapt_case(self, case: ParameterCase) -> ParameterCase:
        """The case with one sequence, or one query, where the target takes no more; half of blocks are not alone."""
        own = self.own_query.own
        sizes = {name: 1 for name, axis in (("B", "b"), ("n_q", "n")) if axis not in own}
        minimum = {**case.minimum, **sizes}
        if self.granularity == "block" and case["n_kv"] <= self.block and case.seed % 2:
            sizes["n_kv"] = case["n_kv"] + self.block
        return case.with_(**sizes, minimum=minimum) if sizes else case

    def is_causal(self, case: ParameterCase) -> bool:
        """Whether a case's call is causal."""
        return bool(case.options.get("causal")) if "causal" in self.roles else self.implementation.always_causal

    # --- what is stored ---------------------------------------------------------------------------------

    def operands(self, case: ParameterCase, regime: str = "", *, scaled_query: bool = False) -> Operands:
        """What a case stores, drawn in a regime; `scaled_query` gives queries a scale where they have none."""
        regime = regime or str(case.options.get("regime", "normal"))
        B, H_kv, n_q, n_kv = (case[name] for name in ("B", "H_kv", "n_q", "n_kv"))
        H = H_kv * case["group"]
        shapes = {
            "query": (B, H, n_q, case["d"]), "key": (B, H_kv, n_kv, case["d"]), "value": (B, H_kv, n_kv, case["d_v"]),
        }  # fmt: skip
        stored = {"query": self.stores_query, "key": True, "value": "value_scale" in self.roles}
        kinds = {name: self.stored if stored[name] else case.dtype for name in shapes}
        numbers = {
            name: draw_numbers(case, name, shape, self.stored, regime)
            if stored[name]
            else self._draw_plain(case, name, shape)
            for name, shape in shapes.items()
        }
        scaled = {name: stored[name] or (name == "query" and scaled_query) for name in shapes}
        size = {name: SPREAD[self.stored] if stored[name] else 1.0 for name in shapes}
        scales = {
            name: draw_scales(case, name, self.scale_shape(name, shape, case["H_kv"]), self.stored, regime) / size[name]
            for name, shape in shapes.items() if scaled[name]
        }  # fmt: skip
        scales = {name: round_to(x, "float32") for name, x in scales.items()}
        zeros = {
            name: np.asarray(case.rng(f"zero of {name}").integers(-20, 21, size=scales[name].shape), dtype=np.float64)
            for name in ("key", "value") if f"{name}_zero" in self.roles
        }  # fmt: skip
        found = Operands(numbers, kinds, scales, zeros, self.granularity, self.block)
        sinks = case.options.get("scores") == "sink" and case.dtype in WIDE and not stored["query"]
        return self._with_sink(case, found) if sinks else found

    def _with_sink(self, case: ParameterCase, operands: Operands) -> Operands:
        """The operands with a first key whose value is zero and whose score is `SINK`, far above those of others."""
        key, value = operands.numbers["key"].copy(), operands.numbers["value"].copy()
        none = {
            name: np.broadcast_to(operands.read(name).zero, operands.numbers[name].shape) for name in ("key", "value")
        }
        key[..., 0] = none["key"][..., 0]
        key[:, :, 0, 0], value[:, :, 0] = STORED_BESIDE_IT, none["value"][:, :, 0]
        operands = replace(operands, numbers={**operands.numbers, "key": key, "value": value})
        first = SINK / (scale_of(self.implementation.scale, case["d"]) * operands.read("key").values[:, :, 0, 0])
        query = operands.numbers["query"].copy()
        query[..., 0] = round_to(first.repeat(case["group"], axis=1), case.dtype)[..., None]
        return replace(operands, numbers={**operands.numbers, "query": query})

    def _draw_plain(self, case: ParameterCase, name: str, shape: tuple[int, ...]) -> NDArray:
        """Numbers that are not stored; queries make the scores that the case asks for with keys as they are stored."""
        if name != "query":
            return case.values(name, *shape)
        drawn = case.queries(name, *shape)
        if case.options.get("scores") in FAR_AWAY:
            drawn[..., 0] *= BESIDE_IT * SPREAD[self.stored] / STORED_BESIDE_IT
        return drawn

    def scale_shape(self, name: str, shape: tuple[int, ...], H_kv: int) -> tuple[int, ...]:
        """The shape of an operand's scales, canonical."""
        B, H, n, _ = shape
        blocks = -(-n // self.block)
        return {
            "tensor": (), "head": (H,), "sequence": (B, H_kv), "token": (B, H, n), "block": (B, H, blocks),
        }[self.granularity]  # fmt: skip

    # --- calls ------------------------------------------------------------------------------------------

    def request_of(
        self, case: ParameterCase, operands: Operands, *, scale: float | None = None, view: str = "contiguous",
        view_of_scales: str = "contiguous",
    ) -> Request:  # fmt: skip
        """The call for some operands; the views are how numbers and scales lie in memory."""
        operands = self._put_in_order(operands)
        numbers, kinds = operands.numbers, operands.kinds
        qkv = [
            array((self.own_query if name == "query" else self.own_key).to_target(numbers[name]), kinds[name], view)
            for name in ("query", "key", "value")
        ]
        extra: dict[str, Any] = {}
        for name in ("query", "key", "value"):
            for part, own in (("scale", operands.scales), ("zero", operands.zeros)):
                if name in own:
                    extra[f"{name}_{part}"] = self._send_scale(f"{name}_{part}", own[name], view_of_scales)
        causal = self.is_causal(case)
        if "causal" in self.roles and (causal or self._parameter("causal").get("value")):
            extra["causal"] = causal
        if scale is None and "scale" in self.roles and self._parameter("scale").get("value") is not None:
            scale = scale_of(self.implementation.scale, case["d"])
        if scale is not None:
            extra["scale"] = scale
        if case["group"] > 1:
            extra["grouped"] = True
        extra["kv_layout"] = "NHD"
        named = {self.roles[role]: value for role, value in extra.items() if role in self.roles}
        return Request(tuple(qkv), {**named, **self.implementation.arguments}, loose=True)

    def order(self, operands: Operands) -> NDArray | None:
        """The canonical query head at each place of the target's; None where they are the same."""
        heads, kv_heads = (operands.numbers[name].shape[1] for name in ("query", "key"))
        return order_of_heads(self.implementation.grouping, heads, kv_heads)

    def _put_in_order(self, operands: Operands) -> Operands:
        """The operands with query heads in the target's order, and their scales where each head has its own."""
        order = self.order(operands)
        if order is None:
            return operands
        numbers = {**operands.numbers, "query": operands.numbers["query"][:, order]}
        own, axis = operands.scales.get("query"), {"head": 0, "token": 1, "block": 1}.get(operands.granularity)
        scales = {} if own is None or axis is None else {"query": own.take(order, axis)}
        return replace(operands, numbers=numbers).with_(scales)

    def _send_scale(self, role: str, own: NDArray, view: str) -> Array | float:
        """Scales as the target takes them: a number where its default is one, else an array of float32."""
        if own.ndim == 0:
            value = self._parameter(role).get("value") if role in self.roles else None
            return float(own) if isinstance(value, float | int) else array(own, "float32")
        if self.granularity == "token":
            turned = self.own_tokens.to_target(own)
        else:
            turned = own if "b" in self.own_key.own or self.granularity == "head" else own[0]
        return array(turned, "float32", view if turned.ndim > 1 else "contiguous")

    def attend(self, case: ParameterCase, operands: Operands, **how: Any) -> Result:
        """The output of one call, canonical.

        Raises: Violation where it has another shape, or another dtype than the query's (where that is stored, than
            the case's).
        """
        request = self.request_of(case, operands, **how)
        outputs = self.send(request).outputs
        shape = (*operands.numbers["query"].shape[:-1], case["d_v"])
        out = self.own_query.result(outputs[0], shape, request, "out", "out")
        out = put_heads_in_order(out, 1, self.order(operands))
        if outputs[0].dtype != case.dtype:
            because = "as is declared (--dtype)" if self.stores_query else "as the query (cast it back)"
            message = f"out: got dtype {outputs[0].dtype}, but should be {case.dtype}, {because}"
            raise Violation(message, Evidence((Shown(request, "out"),), kind="shape", event="wrong dtype"))
        return out

    # --- truth ------------------------------------------------------------------------------------------

    def outputs(self, case: ParameterCase, operands: Operands, *, scale: float | None = None) -> oracle.Truth:
        """The float64 truth of a call: attention on the values that the stored numbers stand for."""
        values = (x.values for x in operands.read_all())
        factor = scale_of(self.implementation.scale, case["d"]) if scale is None else scale
        return oracle.attention(
            *values, is_causal=self.is_causal(case), alignment=self.implementation.causal, scale=factor
        )

    def judge(self, case: ParameterCase, operands: Operands, *, scale: float | None = None) -> Judged:
        """The truth of a call with its budget."""
        truth = self.outputs(case, operands, scale=scale)
        read = operands.read_all()
        how: dict[str, Any] = {"dtype": case.dtype, "accumulate": self.implementation.accumulate}
        query, key, value = (x.values for x in read)
        bounds = forward_bound(
            query, key, value, truth,
            scale=scale_of(self.implementation.scale, case["d"]) if scale is None else scale,
            merges=self.implementation.merges, stored=stored_errors(*read, **how), **how,
        )  # fmt: skip
        return Judged(truth.out, bounds.out)
