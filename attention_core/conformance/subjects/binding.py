"""From a canonical case to a call in the target's own convention, and back.

Reads what the target claims from its parameters, picks its names for masks and flags, lays arrays out as declared,
turns mask polarity, and brings results back to (batch, head, row, column).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np

from attention_core.conformance.cases.case import Case
from attention_core.conformance.cases.features import Features
from attention_core.conformance.cases.space import Profile
from attention_core.conformance.subjects.axes import Axes, order_of_heads
from attention_core.conformance.subjects.evidence import NotApplicable
from attention_core.conformance.worker.bound_parameters import MODULES
from attention_core.conformance.worker.exchange import Array, NDArray, Request, array
from attention_core.declaration.aliases import PACKED, SIZES
from attention_core.declaration.features import (
    FEATURES,
    FILLED,
    fit_cap,
    is_neutral_feature,
    spell_window,
    window_kind,
)
from attention_core.declaration.implementation import ALIASES, CLAIMS, QKV_AXES, Implementation, OtherForm, TargetError
from attention_core.declaration.scales import scale_of
from attention_core.declaration.sizes import ATTENTION

INPUTS = ("query", "key", "value")
BIASES = ("bias", "attn_bias", "attention_bias", "position_bias", "relative_position_bias", "rel_pos_bias")
"""Masks by these names are added to the scores: they are claimed where additive masks alone are declared."""
WEIGHT = re.compile(r"w(?:eights?)?_?(?:q|k|v|o|out|qkv|kv|query|key|value)?|\w+_(?:weight|proj|w)", re.IGNORECASE)
"""Names of projections: W_q, wk, w_qkv, q_weight, out_proj."""
HOLDS_WEIGHTS = (
    "name a class that holds its weights and give --contract multi-head, or a function of query, key and value alone"
)
BUILD = "give --factory if calling it without arguments builds the attention, or name an instance or a function"
STAND_IN = (
    "; in place of transformers' module hand it "
    "types.SimpleNamespace(num_key_value_groups=query.shape[1] // key.shape[1], training=False, is_causal=False)"
)
TELLING: Mapping[str, frozenset[str]] = {
    contract: frozenset(words.split())
    for contract, words in {
        "paged": "block_table block_tables page_table kv_indptr paged_kv_indptr kv_indices paged_kv_indices "
        "total_sequence_length",
        "topk-index": "topk_indices topk_idx topk_idxs sparse_indices block_indices",
        "block-mask": "block_mask base_blockmask",
        "tree-mask": "parents tree_mask tree_attn_bias medusa_attn_mask",
        "quantised": "k_scale k_descale key_scale scale_k",
        "linear-attention": "initial_state output_final_state beta",
        "varlen": "cu_seqlens_q cu_seqlens_k cu_seqlens cu_seq_q cu_seq_k cu_q cu_k",
    }.items()
}
"""Contract -> names of parameters that its functions alone have; the first whose name is met counts."""
CUTS_HEADS = (
    "a function that cuts projected tokens (B, n, E) into heads itself is judged with --contract self-attention"
)
DEFAULTS = {"attn_mask": None, "is_causal": False, "dropout_p": 0.0, "enable_gqa": False}


@dataclass(frozen=True)
class Binding:
    """How canonical parameters are spelled by the target, and which of them it claims.

    Args:
        names: canonical parameter -> the target's name for it.
        claims: canonical parameters under test.
        unread: why the signature could not be read, or "".
        required: canonical parameters without a default, or with another one than the contract's, which each call gets.
        ungrouped: why grouped heads are not claimed although nothing declares so, or "".
        is_module: an `nn.Module`, called in evaluation mode unless a law says otherwise.
        pair_window: the default of the window's parameter is two numbers.
        whole_cap: whether the soft cap's parameter takes whole numbers alone; None where its default is one.
    """

    implementation: Implementation
    names: Mapping[str, str]
    claims: frozenset[str]
    unread: str = ""
    required: frozenset[str] = frozenset()
    ungrouped: str = ""
    is_module: bool = False
    pair_window: bool = False
    whole_cap: bool | None = False

    def profile(self) -> Profile:
        """What the case generators may ask for."""
        i = self.implementation
        return Profile(
            i.dtypes, self.claims, i.causal, i.dead_rows, i.sizes, i.axes, i.masks, i.always_causal, i.scale,
            pool=i.shapes == "pool",
        )  # fmt: skip

    @property
    def axes(self) -> Axes:
        """How query and value lie in the target's arguments, and the key where nothing else is declared of it."""
        return Axes(self.implementation.axes, self.implementation.layout)

    def axes_of(self, name: str) -> Axes:
        """How the query, the key or the value lies in the target's arguments."""
        own = self.implementation.key_layout if name == "key" else None
        return Axes(self.implementation.axes, own) if own else self.axes

    @property
    def out_axes(self) -> Axes:
        """How the output lies."""
        return Axes(self.implementation.axes, self.implementation.out_layout or self.implementation.layout)

    def request(self, case: Case, **extra: Any) -> Request:
        """The call for a case; `extra` sets further fields of the request.

        Raises:
            NotApplicable: the case is none of the calls that are declared.
        """
        if self.implementation.always_causal and not case.is_causal:
            raise NotApplicable("every call is causal")
        if self.implementation.axes < 4 and case.query.ndim != 4:
            raise NotApplicable(f"the target takes arrays of {self.implementation.axes} axes")
        if self.implementation.qkv_axis is not None:
            extra["stacked"] = self._axis_of_parts(case)
        args = []
        for name in INPUTS:
            values = getattr(case, name)
            values = self.axes_of(name).to_target(self.own_heads(values, case) if name == "query" else values)
            args.append(array(values, case.dtype, self.view(case, name)))
        defaults: dict[str, Any] = {**DEFAULTS, "scale": scale_of(case.default_scale, case.query.shape[-1])}
        kwargs = {self.names[name]: defaults[name] for name in sorted(self.required.difference(FEATURES))}
        kwargs |= self.implementation.arguments
        if case.mask is not None:
            kwargs[self.target_name("attn_mask")] = self._mask(case)
        if case.is_causal and ("is_causal" in self.names or not self.implementation.always_causal):
            kwargs[self.target_name("is_causal")] = True
        if case.scale is not None:
            kwargs[self.target_name("scale")] = case.scale
        if case.group != 1 and "enable_gqa" in self.names:
            kwargs[self.names["enable_gqa"]] = True
        kwargs |= self._features(case, extra.pop("features", None))
        dropout = extra.pop("dropout", None)
        if dropout is not None:
            kwargs[self.target_name("dropout_p")] = dropout
        if self.is_module:
            extra.setdefault("mode", "eval")
        return Request(tuple(args), kwargs, **extra)

    @property
    def window_kind(self) -> str:
        """What a window is given as: as declared, else a pair where its default is one, else as its name has it."""
        return window_kind(self.implementation.window or "sides" * self.pair_window, self.names.get("window", ""))

    def _features(self, case: Case, features: Features | None) -> dict[str, Any]:
        """The features of a call as the target names and spells them."""
        spelled = {name: neutral(name, case) for name in FILLED if name in self.required}
        spelled |= {} if features is None else features.given()
        return {self.target_name(name): self._spell(name, value, case) for name, value in spelled.items()}

    def _spell(self, name: str, value: Any, case: Case) -> Any:
        """A feature's value as the target takes it; slopes are float32 beside inputs of two bytes."""
        if name == "window":
            return spell_window(self.window_kind, value)
        if name == "softcap":
            return fit_cap(value, self.whole_cap)
        if self.implementation.axes < 4 and case.sizes[4] > 1:
            raise NotApplicable("the target has no axis of heads")
        if name == "key_lengths":
            return array(np.asarray(value, dtype=np.int64), "int32")
        order = self.heads_order(case)
        own = value if order is None else value[order]
        return array(own, case.dtype if name == "sinks" or case.dtype == "float64" else "float32")

    def _axis_of_parts(self, case: Case) -> int | None:
        """The axis of query, key and value in the one array that holds them.

        Raises:
            NotApplicable: they are not of one shape, or their axis has no place before these axes.
        """
        axis = self.implementation.qkv_axis
        if not case.query.shape == case.key.shape == case.value.shape:
            raise NotApplicable("one array holds query, key and value, which are of one shape")
        if axis == -5 and case.query.ndim != 4:
            raise NotApplicable("the target takes exactly one batch axis")
        return axis

    def target_name(self, name: str) -> str:
        """The target's name of a parameter.

        Raises:
            TargetError: it has none; only a saved case of another target can ask for one.
        """
        if name not in self.names:
            raise TargetError(f"{self.implementation.name} has no parameter for {name}, which this case needs")
        return self.names[name]

    def _mask(self, case: Case) -> Any:
        assert case.mask is not None
        kind, view = self.implementation.masks, self.view(case, "mask")
        heads = case.query.shape[0], case.sizes[4]
        mask = self.axes.mask_to_target(self.own_heads(case.mask, case), heads)
        if kind == "additive" and mask.dtype == bool:
            mask = np.where(mask, 0.0, -np.inf)
        if kind in ("bool", "binary") and mask.dtype != bool:
            if not np.all((mask == 0) | np.isneginf(mask)):
                raise NotApplicable("it takes no mask that is added to the scores")
            mask = mask == 0
        if mask.dtype != bool:
            return array(mask, case.dtype, view)
        attend = mask if self.implementation.mask_true == "attend" else ~mask
        return array(attend, "bool", view) if kind != "binary" else array(attend.astype(np.int64), "int64", view)

    def cotangent(self, case: Case) -> Array:
        """The case's own cotangent, as the output lies."""
        values = self.own_heads(case.cotangent(), case)
        return array(self.out_axes.to_target(values), case.dtype, self.view(case, "cotangent"))

    def view(self, case: Case, name: str) -> str:
        """The memory layout of an argument; where sequences have no leading axis, repeats are found axis by axis."""
        view = case.views.get(name, "contiguous")
        axes = self.out_axes if name == "cotangent" else self.axes_of(name)
        leading = name == "mask" or not axes.tokens_first
        return "broadcast" if view == "expanded" and not (axes.count == 4 and leading) else view

    def own_heads(self, values: NDArray, case: Case) -> NDArray:
        """Canonical (.., H, n, d), or a mask that broadcasts to it, with the heads in the target's order."""
        order = self.heads_order(case)
        alike = order is None or values.ndim < 3 or values.shape[-3] != len(order)
        return values if alike else values[..., order, :, :]

    def heads_order(self, case: Case) -> NDArray | None:
        """The canonical head at each place of the target's heads; None where they are the same."""
        return order_of_heads(self.implementation.grouping, case.query.shape[-3], case.key.shape[-3])

    def argument(self, name: str) -> str:
        """The request's name of a differentiable input: "0", "1", "2" or the mask's keyword."""
        return str(INPUTS.index(name)) if name in INPUTS else self.names["attn_mask" if name == "mask" else name]


def neutral(name: str, case: Case) -> NDArray:
    """The value of a feature that leaves a call as it is."""
    if name == "key_lengths":
        return np.full(case.query.shape[0], case.sizes[1])
    return np.full(case.sizes[4], -np.inf if name == "sinks" else 0.0)


def bind(implementation: Implementation, description: Mapping[str, Any]) -> Binding:
    """Read the claims of a target from its description.

    Raises:
        TargetError: the target is not callable, or has a parameter without default that gets no value.
    """
    binding = replace(_read_claims(implementation, description), is_module=bool(description.get("is_module")))
    pairs = [p["name"] for p in description["parameters"] or () if p.get("pair")]
    whole = {p["name"]: p.get("whole", False) for p in description["parameters"] or ()}
    binding = replace(
        binding, pair_window=binding.names.get("window") in pairs,
        whole_cap=whole.get(binding.names.get("softcap", ""), False),
    )  # fmt: skip
    return replace(binding, claims=binding.claims | {"is_causal"}) if implementation.always_causal else binding


PLANS = (
    "an object that plans and runs is called where its plan names indptr, indices, last_page_len and page_size (or "
    "paged_kv_indptr, ...): write them out in the place of *args, or write a function that plans and runs"
)


def advise_on_class(description: Mapping[str, Any]) -> str:
    """What to do about a class where something is called.

    Example:
        >>> advise_on_class({"plans": True})[:38], advise_on_class({})[:14]
        ('an object that plans and runs is calle', 'give --factory')
    """
    return PLANS if description.get("plans") else BUILD + other_contract(description)


def other_contract(description: Mapping[str, Any]) -> str:
    """The advice on a class that suits another contract; "" where none is known.

    Example:
        >>> other_contract({"suits": "kv-cache"})
        '; a cache of keys and values is judged with --contract kv-cache'
    """
    targets = {"multi-head": "a module of many heads", "kv-cache": "a cache of keys and values"}
    suits = str(description.get("suits", ""))
    return f"; {targets[suits]} is judged with --contract {suits}" if suits in targets else ""


def advise_on_store(description: Mapping[str, Any]) -> str:
    """The advice on a class that keeps keys and values, and attends to nothing; "" for another class.

    Example:
        >>> advise_on_store({"store": "update"})[:42]
        '; its update(key, value) is judged as part'
    """
    store = description.get("store")
    if not store:
        return ""
    return (
        f"; its {store}(key, value) is judged as part of a step: name a class with step(query, key, value), which "
        f"calls {store} and attends to what it gives back, with --contract kv-cache"
    )


def explain_class(implementation: Implementation, description: Mapping[str, Any]) -> TargetError:
    """The error of a class where something is called; it names the form that the class suits, if there is one."""
    stores = "" if other_contract(description) else advise_on_store(description)
    message = f"{implementation.name} is a class: {advise_on_class(description)}{stores}"
    suits = str(description.get("suits", ""))
    if not suits or implementation.factory or implementation.contract not in ATTENTION:
        return TargetError(message)
    return OtherForm(message, {"factory": True} if suits == "attention" else {"contract": suits})


def _read_claims(implementation: Implementation, description: Mapping[str, Any]) -> Binding:
    if not description["callable"]:
        raise TargetError(f"{implementation.name} is not callable (it is of type {description['type']})")
    if description.get("is_class"):
        raise explain_class(implementation, description)
    parameters = description["parameters"]
    declared = implementation.claims
    canonical = {name: name for name in (*CLAIMS, *(name for name in declared or () if name in FEATURES))}
    if parameters is None:
        claims = frozenset(declared or ())
        return Binding(implementation, canonical, claims, "it has no readable signature")
    require_declared_packing(implementation, parameters)
    names, unread = read_parameters(implementation, parameters)
    keywords = any(p["kind"] == "VAR_KEYWORD" for p in parameters)
    # A default that means something of its own (causal=True, scale=1.0) is never left to itself.
    demanded = {p["name"] for p in parameters if not p["default"] or not is_neutral(p["name"], p.get("value"))}
    required = frozenset(c for c, name in names.items() if name in demanded)
    if declared is None:
        return Binding(implementation, names, frozenset(names), unread, required)
    missing = [c for c in declared if c not in names and c != "enable_gqa"]
    if missing and not keywords:
        raise TargetError(f"{implementation.name} is declared to claim {', '.join(missing)}, but has no such parameter")
    spelled = {c: names.get(c, c) for c in declared if c in names or c != "enable_gqa" or keywords}
    return Binding(implementation, {c: names[c] for c in required} | spelled, frozenset(declared), unread, required)


def require_declared_packing(implementation: Implementation, parameters: list[Mapping[str, Any]]) -> None:
    """Refuse a target of one array for query, key and value, by its name, unless that is declared.

    Raises: OtherForm.
    """
    first = parameters[0]["name"] if parameters else ""
    if first in PACKED and implementation.qkv_axis is None:
        raise OtherForm(
            f"{implementation.name} takes {first!r}, one array that holds query, key and value: give "
            "--qkv-axis AXIS (-3 of (B, n, 3, H, d), with --layout bnhd)",
            {"qkv_axis": QKV_AXES[0]},
        )


def read_parameters(implementation: Implementation, parameters: list[Mapping[str, Any]]) -> tuple[dict[str, str], str]:
    """Canonical name -> own name for the recognised parameters, and a remark on what cannot be read."""
    names: dict[str, str] = {}
    star = [p["name"] for p in parameters if p["kind"].startswith("VAR_")]
    named = [p for p in parameters if not p["kind"].startswith("VAR_")]
    count = 3 if implementation.qkv_axis is None else 1
    inputs = [p for p in named if p["kind"] != "KEYWORD_ONLY"][:count]
    if named and named[0]["name"] == "self":
        raise TargetError(f"{implementation.name} is a method of a class, not of an object: name an instance's")
    if len(inputs) < count and not any(p["kind"] == "VAR_POSITIONAL" for p in parameters):
        only, advice = "", "for another contract use --contract NAME"
        if len(named) >= 3:
            first = ", ".join(p["name"] for p in named[:3])
            only, advice = " by position", f"name a function of ({first}) that passes them on by name"
        given = f"{len(inputs)} parameter{'' if len(inputs) == 1 else 's'}"
        raise TargetError(
            f"{implementation.name} takes {given}{only}, but attention needs query, key and value ({advice})"
        )
    if count == 3:
        require_inputs_first(implementation, [p["name"] for p in named], [p["name"] for p in inputs])
    rest = [p for p in named if p not in inputs and p["name"] not in implementation.arguments]
    for name in [p["name"] for p in named if p not in inputs and p not in rest]:
        require_neutral(implementation, name, implementation.arguments[name])
    for p in rest:
        canonical = ALIASES.get(p["name"], p["name"])
        if p["name"] in BIASES and implementation.masks == "additive":
            canonical = "attn_mask"
        if canonical not in (*CLAIMS, *FEATURES) or (canonical in FEATURES and not _can_be_left_out(p)):
            continue
        if canonical not in names or p["name"] == canonical:  # of several the contract's own
            names[canonical] = p["name"]
    unfilled = [p["name"] for p in rest if not p["default"] and p["name"] not in names.values()]
    if unfilled:
        require_values(implementation, unfilled)
    return names, f"*{', *'.join(star)} claims nothing by itself" if star else ""


def contract_of(unfilled: Collection[str]) -> str:
    """The contract whose functions have such a parameter without a default, "" where no name tells.

    Example:
        >>> contract_of(["cu_seqlens_q"]), contract_of(["cu_seqlens_q", "block_table"]), contract_of(["x"])
        ('varlen', 'paged', '')
    """
    return next((name for name, words in TELLING.items() if not words.isdisjoint(unfilled)), "")


def require_values(implementation: Implementation, unfilled: list[str]) -> NoReturn:
    """Say what to give for parameters without a default that no claim fills.

    Raises: OtherForm where the only one is a number of heads, else TargetError.
    """
    which, one = ", ".join(map(repr, unfilled)), len(unfilled) == 1
    what = f"the parameter {which} without a default" if one else f"parameters without defaults: {which}"
    give = " ".join(f"--arg {name}=VALUE" for name in unfilled)
    if one and SIZES.get(unfilled[0]) == "H":
        own = f"{implementation.name} has {what}: {CUTS_HEADS}; else give {give}"
        raise OtherForm(own, {"contract": "self-attention"})
    if contract := contract_of(unfilled):
        own = f"{implementation.name} has {what}, as functions of another contract have: give --contract {contract}"
        raise OtherForm(own, {"contract": contract})
    if any(WEIGHT.fullmatch(name) for name in unfilled):
        raise TargetError(f"{implementation.name} has {what}, as a layer has: {HOLDS_WEIGHTS}")
    arrays = "an array needs a name that is known, such as sinks, s_aux, alibi_slopes or cache_seqlens"
    raise TargetError(f"{implementation.name} has {what}: give {give}; {arrays}")


def _can_be_left_out(parameter: Mapping[str, Any]) -> bool:
    """Whether a call without this feature, or with the value that stands for none, is a plain one."""
    if ALIASES.get(parameter["name"], parameter["name"]) in FILLED:
        return True
    return bool(parameter["default"]) and is_neutral_feature(parameter["name"], parameter.get("value"))


def require_inputs_first(implementation: Implementation, names: list[str], inputs: list[str]) -> None:
    """Refuse a target whose query, key and value, by their names, are not its first three parameters in this order.

    Raises: TargetError.
    """
    for spelling in (("query", "key", "value"), ("q", "k", "v"), ("Q", "K", "V")):
        if set(spelling) == set(inputs) and tuple(inputs) != spelling:
            raise TargetError(
                f"{implementation.name} takes {', '.join(inputs)}, but query, key and value are passed in this order: "
                f"name a function ({', '.join(spelling)}, ...) that calls it"
            )
        if set(spelling) <= set(names) and inputs and not set(spelling) <= set(inputs) and inputs[0] != spelling[0]:
            module = inputs[0] in MODULES
            raise TargetError(
                f"{implementation.name} takes {inputs[0]!r} before {', '.join(spelling)}: "
                f"name a function ({', '.join(spelling)}, ...) that calls it{STAND_IN if module else ''}"
            )


def is_neutral(name: str, value: Any) -> bool:
    """Whether a value of a parameter, by its own name, means what leaving it out means in the contract."""
    canonical = ALIASES.get(name, name)
    if canonical in FEATURES:
        return True  # one that is not is never claimed, and --arg may fix any
    if canonical == "scale":
        return value is None
    return canonical not in ("is_causal", "dropout_p") or not value


def require_neutral(implementation: Implementation, name: str, value: Any) -> None:
    """Refuse arguments that change what every call means: the laws would judge another function than is called.

    Raises: TargetError.
    """
    if not is_neutral(name, value):
        raise TargetError(
            f"--arg {name}={value!r} changes what every call of {implementation.name} means: leave it out, the laws "
            f"pass {name} themselves (a value that it does not take may be refused with a ValueError)"
        )
