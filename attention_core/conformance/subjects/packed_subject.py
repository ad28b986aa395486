"""Attention over packed texts: how a target is called, the texts, their truth and its budget, text by text.

Queries are (T_q, H, d), keys (T_k, H_kv, d), values (T_k, H_kv, d_v): all texts one after the other. What the
parameters of serving kernels mean is read from their names in libraries and in people's own code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from attention_core import oracle
from attention_core.conformance.budgets.error_rows import Stored, float_format, gamma
from attention_core.conformance.budgets.quantised_bound import Numbers, stored_errors
from attention_core.conformance.cases.case import Case
from attention_core.conformance.cases.features import Features, Posed, Sides, fit_sides
from attention_core.conformance.subjects.axes import Arrangement, order_of_heads, put_heads_in_order
from attention_core.conformance.subjects.evidence import Evidence, NotApplicable, Result, Shown, Violation
from attention_core.conformance.subjects.featured import judge_call, truth_of
from attention_core.conformance.subjects.packed_case import (
    PackedCase,
    draw_head_sinks,
    draw_head_slopes,
    draw_texts,
)
from attention_core.conformance.subjects.parameter_case import ParameterCase, ParameterSubject
from attention_core.conformance.worker.exchange import Array, NDArray, Request, Response, array
from attention_core.conformance.worker.runner import Runner
from attention_core.declaration.features import (
    ALIASES,
    FEATURES,
    fit_cap,
    is_neutral_feature,
    spell_window,
    window_kind,
)
from attention_core.declaration.implementation import Implementation, TargetError
from attention_core.declaration.scales import scale_of

PACKED = tuple(feature for feature in FEATURES if feature != "key_lengths")
"""Features that a pack may have; lengths it has anyway."""
FEATURE_NAMES = {**{feature: feature for feature in FEATURES}, **ALIASES}
ROLES: Mapping[str, str] = {
    name: role
    for role, names in {
        "cu_q": "cu_seqlens_q cu_seq_q cu_q cu_seqlens_qo qo_indptr",
        "cu_k": "cu_seqlens_k cu_seq_k cu_k cu_seqlens_kv cu_kv",
        "cu": "cu_seqlens cu_seqlen cu cumulative_lengths offsets",
        "lengths_q": "lengths_q seqlens_q seq_lens_q q_lens query_lengths",
        "used_k": "seqused_k seqused_kv",
        "starts": "b_start_loc",
        "lengths_k": "lengths_k seqlens_k seq_lens_k kv_lens seqlens_kv key_lengths cache_seqlens context_lens",
        "lengths": "lengths seqlens seq_lens lens seq_lengths sequence_lengths b_seq_len",
        "max_q": "max_seqlen_q max_q",
        "max_k": "max_seqlen_k max_k max_seqlen_kv",
        "max": "max_seqlen max_len max_length max_seq_len max_input_len",
        "out": "out o output",
        "query_scale": "q_scale q_descale query_scale scale_q descale_q",
        "key_scale": "k_scale k_descale key_scale scale_k descale_k",
        "value_scale": "v_scale v_descale value_scale scale_v descale_v",
        "causal": "causal is_causal",
        "scale": "softmax_scale scale sm_scale scaling",
        "grouped": "enable_gqa",
        "table": "block_table block_tables page_table",
        "indptr": "kv_indptr paged_kv_indptr",
        "indices": "kv_indices paged_kv_indices",
        "last": "kv_last_page_len paged_kv_last_page_len last_page_len",
        "page_size": "page_size block_size",
        "scratch_out": "attn_logits",
        "scratch_lse": "attn_lse",
        "splits": "num_kv_splits",
        "most_splits": "max_kv_splits",
        "new_key": "k",
        "new_value": "v",
    }.items()
    for name in names.split()
} | {name: feature for name, feature in FEATURE_NAMES.items() if feature in PACKED}
"""A parameter's name -> what it is. `k` and `v` are new tokens only after a query and a cache of keys and values."""
INPUTS = 3
"""Query, key and value come first, whatever they are called."""


def read_roles(parameters: list[dict[str, Any]] | None, bound: Iterable[str], usual: tuple[str, ...]) -> dict[str, str]:
    """Role -> the target's own name of it, of all parameters after query, key and value.

    Args:
        parameters: of the target, None where its signature cannot be read.
        bound: those that are given a value otherwise.
        usual: the names that are taken where there is no signature.

    Raises:
        TargetError: a parameter without a default whose meaning is not known.

    Example:
        >>> read_roles([{"name": n, "kind": "", "default": False} for n in "q k v cu_seqlens".split()], (), ())
        {'cu': 'cu_seqlens'}
    """
    if parameters is None:
        return {ROLES[name]: name for name in usual}
    named = [p for p in parameters if not p["kind"].startswith("VAR")][INPUTS:]
    unknown = [p["name"] for p in named if p["name"] not in ROLES and not p["default"] and p["name"] not in bound]
    if unknown:
        raise TargetError(
            f"what the parameter {unknown[0]} is given is not known: name it as its library does (such as "
            f"cu_seqlens_q, block_table, cache_seqlens), or fix it with --arg {unknown[0]}=VALUE"
        )
    found: dict[str, str] = {}
    for p in named:
        if p["name"] in ROLES and p["name"] not in bound:
            found.setdefault(ROLES[p["name"]], p["name"])
    return found


def is_plain(parameter: Mapping[str, Any]) -> bool:
    """Whether a call that leaves a parameter out is a plain one: not causal, scaled as declared, without features."""
    value = parameter.get("value")
    if ROLES[parameter["name"]] in ("causal", "grouped"):
        return bool(parameter["default"]) and not value
    if ROLES[parameter["name"]] == "scale":
        return bool(parameter["default"]) and value is None
    return bool(parameter["default"]) and is_neutral_feature(parameter["name"], value)


USUAL = ("cu_seqlens_q", "cu_seqlens_k", "max_seqlen_q", "max_seqlen_k")
"""What follows query, key and value where a signature cannot be read: the order of flash_attn_varlen_func."""
PARTS = 3
"""Parts into which a kernel cuts the keys of a text, where its caller says how many."""
FAR = 1 << 20
"""Keys to either side that no text has."""
SCALES = ("query_scale", "key_scale", "value_scale")
"""Roles of the scales of stored numbers, None where numbers are not stored."""
USUAL_CAP = 50.0
"""The cap of a target that needs one, where a case asks for none (Gemma 2)."""


@dataclass(frozen=True)
class Pack:
    """Arrays of a call: query (T_q, H, d), key and value (T_k, H_kv, d or d_v), and (n_q, n_kv) of every text.

    Rows beyond those of the texts belong to none. Where keys and values are stored as numbers, `scales` of both
    (T_k, H_kv) say what multiplies these.
    """

    query: NDArray
    key: NDArray
    value: NDArray
    texts: tuple[tuple[int, int], ...]
    scales: tuple[NDArray, NDArray] | None = None

    def ends(self, which: int) -> NDArray:
        """0 and the sums of lengths up to each text, of queries (0) or keys (1)."""
        return np.cumsum([0, *(pair[which] for pair in self.texts)])

    def rows(self, i: int, which: int = 0) -> slice:
        """The rows of a text."""
        ends = self.ends(which)
        return slice(int(ends[i]), int(ends[i + 1]))

    def reorder(self, order: Iterable[int]) -> Pack:
        """The texts in another order."""
        order = list(order)
        q, k = (
            np.array([row for i in order for row in range(*self.rows(i, which).indices(1 << 30))], dtype=np.int64)
            for which in (0, 1)
        )
        scales = None if self.scales is None else (self.scales[0][k], self.scales[1][k])
        return Pack(self.query[q], self.key[k], self.value[k], tuple(self.texts[i] for i in order), scales)


NO_FEATURES = Features()


@dataclass(frozen=True, eq=False)
class Setting:
    """What a call asks for beside its arrays: causality, a scale, and features."""

    causal: bool = False
    scale: float | None = None
    features: Features = NO_FEATURES

    def with_(self, **features: Any) -> Setting:
        """The setting with some features changed."""
        return replace(self, features=self.features.with_(**features))

    def describe(self) -> str:
        """The features in brackets, "" without any."""
        return f" ({self.features.describe()})" if self.features.given() else ""


@dataclass(frozen=True)
class Judged:
    """Truth and budget of a pack, one after the other: out (T_q, H, d_v), lse (T_q, H).

    Args: dead: rows without a key (T_q, H). declared: those of which something is declared, of an output (T_q, H).
        has_lse: whether it is known what the log-sum-exp counts: libraries differ about sinks.
    """

    out: NDArray
    out_bound: NDArray
    lse: NDArray
    lse_bound: NDArray
    dead: NDArray
    declared: NDArray
    has_lse: bool = True


class PackedSubject(ParameterSubject):
    """A function of packed texts."""

    usual: tuple[str, ...] = USUAL

    def __init__(
        self, runner: Runner, implementation: Implementation, description: Mapping[str, Any], seed: int = 0
    ) -> None:
        super().__init__(runner, implementation, description, seed)
        self.roles = read_roles(description["parameters"], implementation.arguments, self.usual)
        self.check_roles()

    def check_roles(self) -> None:
        """Raise TargetError where nothing says which rows belong to which text."""
        if not self.roles.keys() & {"cu", "cu_q", "lengths", "lengths_q"}:
            raise TargetError(
                f"{self.implementation.name} has no parameter that says where texts end: cu_seqlens (or cu_seqlens_q "
                "and cu_seqlens_k), or lengths"
            )

    @property
    def alike(self) -> bool:
        """Whether texts have as many queries as keys: nothing tells the lengths of keys apart."""
        return not self.roles.keys() & {"cu_k", "lengths_k", "used_k"}

    # --- cases ------------------------------------------------------------------------------------------

    def adapt_case(self, case: ParameterCase) -> ParameterCase:
        """The case with lengths of texts drawn, of the kind that it wants."""
        if isinstance(case, PackedCase):
            return case
        kind = str(case.options.get("lengths", "any"))
        most, reach = case.sizes.get("most", 12), "near" in case.options
        texts = draw_texts(kind, case.rng("lengths"), most=most, alike=self.alike, reach=reach)
        sizes = {k: v for k, v in case.sizes.items() if k != "most"}
        minimum = {k: v for k, v in case.minimum.items() if k != "most"}
        options = {**case.options, "texts": texts}
        return PackedCase(sizes, minimum, options, case.dtype, case.seed, case.plain)

    def setting(self, case: ParameterCase) -> Setting:
        """What the call of a case asks for, as far as the target has a parameter for it."""
        causal = bool(case.options.get("causal")) if "causal" in self.roles else self.implementation.always_causal
        scale = case.options.get("scale") if "scale" in self.roles else None
        drawn: dict[str, Any] = {
            "window": self._window(case.options.get("sides")), "softcap": self._softcap(case.options.get("softcap")),
            "sinks": draw_head_sinks(case) if case.options.get("sinks") else None,
            "alibi_slopes": draw_head_slopes(case) if case.options.get("slopes") else None,
        }  # fmt: skip
        return Setting(causal, scale, Features(**{k: v for k, v in drawn.items() if k in self.roles}))

    @property
    def window_kind(self) -> str:
        """What a window is given as."""
        return window_kind(self.implementation.window, self.roles.get("window", ""))

    @property
    def needed(self) -> frozenset[str]:
        """The roles of parameters without a default, or whose default means something of its own (causal=True)."""
        given = {p["name"] for p in self.description["parameters"] or () if p["name"] in ROLES and not is_plain(p)}
        return frozenset(role for role, name in self.roles.items() if name in given)

    @property
    def mandatory(self) -> frozenset[str]:
        """The roles of parameters without a default."""
        named = {p["name"] for p in self.description["parameters"] or () if not p["default"]}
        return frozenset(role for role, name in self.roles.items() if name in named)

    def _window(self, sides: Any) -> Sides | None:
        """Sides as a window of the target's kind can have them; one beyond all keys where it needs some window."""
        kind = self.window_kind
        found = None if sides is None else fit_sides(kind, (int(sides[0]), int(sides[1])))
        if found is None and "window" in self.needed:
            return fit_sides(kind, (-1, -1)) or fit_sides(kind, (FAR, FAR))
        return found

    def _softcap(self, cap: Any) -> float | None:
        """A cap, one that is usual in models where the target needs some."""
        cap = USUAL_CAP if cap is None and "softcap" in self.needed else cap
        return None if cap is None else fit_cap(cap, self.whole_cap)

    @property
    def whole_cap(self) -> bool | None:
        """Whether the soft cap's parameter takes whole numbers alone; None where its default is one."""
        parameters: list[dict[str, Any]] = self.description["parameters"] or []
        whole: dict[str, bool | None] = {p["name"]: p.get("whole", False) for p in parameters}
        return whole.get(self.roles.get("softcap", ""), False)

    def pack(self, case: PackedCase, more: int = 0) -> Pack:
        """The arrays of a case, drawn; `more` rows belong to no text."""
        T_q, T_k = (sum(pair[i] for pair in case.texts) + more for i in (0, 1))
        query = case.queries("query", T_q, case.heads, case["d"])
        key = case.keys("key", T_k, case["H_kv"], case["d"])
        value = case.values("value", T_k, case["H_kv"], case["d_v"])
        return Pack(query, key, value, tuple(case.texts))

    # --- calls ------------------------------------------------------------------------------------------

    def arguments(self, case: ParameterCase, pack: Pack, setting: Setting, slack: int = 0) -> dict[str, Any]:
        """The arguments after query, key and value, by the target's names; `slack` is added to the largest lengths."""
        lengths = [np.array([pair[i] for pair in pack.texts], dtype=np.int64) for i in (0, 1)]
        most = [int(x.max(initial=0)) + slack for x in lengths]
        values: dict[str, Any] = {
            "cu": whole(pack.ends(0)), "cu_q": whole(pack.ends(0)), "cu_k": whole(pack.ends(1)),
            "lengths": whole(lengths[0]), "lengths_q": whole(lengths[0]), "lengths_k": whole(lengths[1]),
            "max": most[0], "max_q": most[0], "max_k": most[1], "starts": whole(pack.ends(0)[:-1]),
        }  # fmt: skip
        if not self.roles.keys() & {"cu_k", "lengths_k"}:  # a library takes one of them
            values["used_k"] = whole(lengths[1])
        return self.by_name({**values, **self.options_of(case, setting, pack), **self.fillers(case, pack)})

    def fillers(self, case: ParameterCase, pack: Pack) -> dict[str, Any]:
        """What parameters without a default get: NaN to write the output over, and no scale of stored numbers."""
        values = {"out": self._empty(case, self.shape_of_out(pack)), **dict.fromkeys(SCALES)}
        values |= self.scratch(pack)
        return {role: value for role, value in values.items() if role in self.mandatory}

    def scratch(self, pack: Pack) -> dict[str, Any]:
        """Arrays that a kernel of several parts is given to keep them in: their outputs and log-sum-exps, NaN before.

        Every text is cut into as many parts.
        """
        B, H, d_v = len(pack.texts), pack.query.shape[1], pack.value.shape[-1]
        return {
            "scratch_out": array(np.full((B, H, PARTS, d_v), np.nan), "float32"),
            "scratch_lse": array(np.full((B, H, PARTS), np.nan), "float32"),
            "splits": whole(np.full(B, PARTS)), "most_splits": PARTS,
        }  # fmt: skip

    def shape_of_out(self, pack: Pack) -> tuple[int, ...]:
        """The output's canonical shape, (1, T_q, H, d_v)."""
        return (1, *pack.query.shape[:2], pack.value.shape[-1])

    def _empty(self, case: ParameterCase, shape: tuple[int, ...]) -> Array:
        """An output before it is written."""
        return array(self.out_axes.to_target(np.full(shape, np.nan)), case.dtype)

    def output_argument(self) -> tuple[str, ...]:
        """The name of the array that the target writes its output into, if it is given one."""
        scratch = [role for role in ("scratch_out", "scratch_lse") if role in self.mandatory]
        return tuple(self.roles[role] for role in ("out", *scratch)) if "out" in self.mandatory else ()

    def by_name(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Values of roles, by the target's names."""
        return {self.roles[role]: value for role, value in values.items() if role in self.roles}

    def options_of(self, case: ParameterCase, setting: Setting, pack: Pack) -> dict[str, Any]:
        """Causality, scale, features and shared heads by role, where a call sets them or they have no default."""
        heads = pack.query.shape[1]
        plain = {
            "causal": False, "scale": self.scale(setting, pack), "grouped": False,
            "sinks": np.full(heads, -np.inf), "alibi_slopes": np.zeros(heads),
        }  # fmt: skip
        wanted: dict[str, Any] = {name: plain[name] for name in plain if name in self.needed}
        wanted |= {"causal": True} if setting.causal else {}
        wanted |= {"scale": setting.scale} if setting.scale is not None else {}
        wanted |= {"grouped": True} if heads != pack.key.shape[1] else {}
        wanted |= setting.features.given()
        order = self.order(pack)
        return {role: self._spell(case, role, value, order) for role, value in wanted.items()}

    def order(self, pack: Pack) -> NDArray | None:
        """The canonical query head at each place of the target's; None where they are the same."""
        return order_of_heads(self.implementation.grouping, pack.query.shape[1], pack.key.shape[1])

    def own_heads(self, pack: Pack, values: NDArray) -> NDArray:
        """Values (T_q, H, ...) with the query heads in the target's order."""
        order = self.order(pack)
        return values if order is None else values[:, order]

    def _spell(self, case: ParameterCase, role: str, value: Any, order: NDArray | None) -> Any:
        """A value as the target takes it; slopes are float32 beside inputs of two bytes."""
        if role == "window":
            return spell_window(self.window_kind, value)
        if role == "softcap":
            return fit_cap(value, self.whole_cap)
        if isinstance(value, np.ndarray):
            value = value if order is None else value[order]
            return array(value, case.dtype if role == "sinks" or case.dtype == "float64" else "float32")
        return value

    def scale(self, setting: Setting, pack: Pack) -> float:
        """What scores are multiplied by."""
        plain = scale_of(self.implementation.scale, pack.query.shape[-1])
        return plain if setting.scale is None else setting.scale

    def request_of(
        self, case: ParameterCase, pack: Pack, setting: Setting, *, view: str = "contiguous", slack: int = 0,
        **extra: Any,
    ) -> Request:  # fmt: skip
        """The call for a pack; `extra` are fields of the request, with a trailing underscore."""
        own = (self.own_heads(pack, pack.query), pack.key, pack.value)
        arrays = tuple(array(self.tokens_axes.to_target(x[None]), case.dtype, view) for x in own)
        fields = {"written": self.output_argument(), **{k[:-1]: v for k, v in extra.items()}}
        given = self.arguments(case, pack, setting, slack)
        if self.description["parameters"] is None:
            return Request((*arrays, *given.values()), dict(self.implementation.arguments), **fields)
        return Request(arrays, {**given, **self.implementation.arguments}, **fields)

    def attend(self, case: ParameterCase, pack: Pack, setting: Setting, **how: Any) -> tuple[Result, Result | None]:
        """(out, lse) of one call, out (T_q, H, d_v) and lse (T_q, H) where it is declared to come back.

        Rows that belong to no text are 0 where they do not come back.
        """
        request = self.request_of(case, pack, setting, **how)
        response = self.send(request)
        rows = self._rows_in(response, pack)
        out, lse = self.read(case, request, response, (1, rows, pack.query.shape[1], pack.value.shape[-1]))
        out, *heights = (
            put_heads_in_order(self._fill_up(without_batch(one), pack), 1, self.order(pack))
            for one in (out, lse)
            if one is not None
        )
        return out, heights[0] if heights else None

    def rows_that_come_back(self, case: ParameterCase, pack: Pack, setting: Setting) -> int:
        """The rows of an output: those of the queries' array, or those of the texts alone."""
        if pack.ends(0)[-1] == len(pack.query):
            return len(pack.query)
        return self._rows_in(self.send(self.request_of(case, pack, setting)), pack)

    def _rows_in(self, response: Response, pack: Pack) -> int:
        shape = response.outputs[0].shape if response.outputs else ()
        used, place = int(pack.ends(0)[-1]), self.tokens_axes.own.index("n")
        return used if shape[place : place + 1] == (used,) else len(pack.query)

    @staticmethod
    def _fill_up(result: Result, pack: Pack) -> Result:
        missing = len(pack.query) - len(result.values)
        widths = [(0, missing), *((0, 0) for _ in result.values.shape[1:])]
        return replace(result, values=np.pad(result.values, widths)) if missing else result

    def read(
        self, case: ParameterCase, request: Request, response: Response, shape: tuple[int, ...]
    ) -> tuple[Result, Result | None]:
        """The results of a call, in canonical axes."""
        if "scratch_out" in self.mandatory:  # what it keeps between its parts comes after the output
            response = replace(response, outputs=response.outputs[:1])
        wants_lse, got = self.implementation.returns == "out,lse", len(response.outputs)
        if got < 2 if wants_lse else got != 1:
            message = f"the call returns {got} value(s), but is declared to return {self.implementation.returns!r}"
            raise Violation(message, Evidence((Shown(request),), kind="shape"))
        out = self.out_axes.result(response.outputs[0], shape, request, "out", "out")
        if response.outputs[0].dtype != case.dtype:
            message = (
                f"out: got dtype {response.outputs[0].dtype}, but should be {case.dtype}, as the query (cast it back)"
            )
            raise Violation(message, Evidence((Shown(request, "out"),), kind="shape", event="wrong dtype"))
        if not wants_lse:
            return out, None
        return out, self.lse_axes.result(response.outputs[1], shape[:-1], request, "out1", "lse")

    @property
    def out_axes(self) -> Arrangement:
        """How the output lies, as the queries do."""
        return self.tokens_axes

    @property
    def tokens_axes(self) -> Arrangement:
        """How tokens lie: (T, H, d), or as declared, with an axis of one batch or without."""
        return Arrangement("bnhd", str(self.parameters.get("tokens", "nhd")))

    @property
    def lse_axes(self) -> Arrangement:
        """How the log-sum-exp lies: (H, T_q), or as declared, after an axis of one batch where tokens have one."""
        batch = "b" if "b" in self.tokens_axes.own else ""
        return Arrangement("bnh", batch + str(self.parameters.get("lse", "hn")))

    def read_gradient(self, result: Result) -> Result:
        """A gradient of query, key or value in the target's axes, as canonical (T, H, d)."""
        axes = self.tokens_axes
        moved = replace(result, values=axes.from_target(result.values), place=axes.place, back=axes.back)
        return without_batch(moved)

    def write_cotangent(self, down: NDArray) -> NDArray:
        """A cotangent (T_q, H, d_v) in the target's axes."""
        return np.ascontiguousarray(self.tokens_axes.to_target(down[None]))

    # --- truth ------------------------------------------------------------------------------------------

    def calls_of(self, dtype: str, pack: Pack, setting: Setting) -> Iterator[tuple[int, Case]]:
        """The texts that have queries, each with its number, as a case of its own: one sequence."""
        inputs = oracle.split_texts(pack.query, pack.key, pack.value, pack.texts)
        for i, one in enumerate(inputs):
            if pack.texts[i][0]:
                how = {"is_causal": setting.causal, "scale": setting.scale}
                yield i, Case(dtype, *one, **how, default_scale=self.implementation.scale)  # type: ignore[arg-type]

    def judge(self, case: ParameterCase, pack: Pack, setting: Setting) -> Judged:
        """Truth and budget of every text, one after the other; rows of no text are 0, and should not be compared."""
        T, H, d_v = *pack.query.shape[:2], pack.value.shape[-1]
        outs, heights = (np.zeros((2, T, H, d_v)), np.zeros((2, T, H)))
        dead, declared = np.zeros((T, H), dtype=bool), np.ones((T, H), dtype=bool)
        for i, one in self.calls_of(case.dtype, pack, setting):
            stored = self.errors_of_storage(case.dtype, pack, i)
            rows, call = pack.rows(i), judge_call(self.implementation, one, setting.features, stored)
            bounds = (call.limit, call.bounds.lse) if pack.texts[i][1] else (0.0, 0.0)
            for target, part in zip(outs, (call.truth.out, bounds[0]), strict=True):
                target[rows] = np.broadcast_to(part, call.truth.out.shape)[0].swapaxes(0, 1)
            for target, part in zip(heights, (call.truth.lse, bounds[1]), strict=True):
                target[rows] = np.broadcast_to(part, call.truth.lse.shape)[0].T
            dead[rows], declared[rows] = call.posed.dead[0].T, call.rows_to_judge[0, ..., 0].T
        return Judged(outs[0], outs[1], heights[0], heights[1], dead, declared, setting.features.sinks is None)

    def errors_of_storage(self, dtype: str, pack: Pack, i: int) -> Stored | None:
        """What a text's budget is wider by because its keys and values are stored numbers times scales."""
        if pack.scales is None:
            return None
        query = np.zeros((1, pack.query.shape[1], 1, pack.query.shape[2]))
        numbers = []
        for values, scale in zip((pack.key, pack.value), pack.scales, strict=True):
            own = scale[pack.rows(i, 1)].T[None, ..., None]
            numbers.append(Numbers(values[pack.rows(i, 1)].swapaxes(0, 1)[None] / own, own))
        accumulate = self.implementation.accumulate
        return stored_errors(Numbers(query), *numbers, dtype=dtype, accumulate=accumulate)

    def outputs(self, pack: Pack, setting: Setting, how: Callable[[int, Case, Features], Posed]) -> NDArray:
        """The outputs of a pack in float64 where each text's call is posed in a way of one's own."""
        out = np.zeros((*pack.query.shape[:2], pack.value.shape[-1]))
        for i, one in self.calls_of("float64", pack, setting):
            truth = truth_of(self.implementation, how(i, one, setting.features))
            out[pack.rows(i)] = truth.out[0].swapaxes(0, 1)
        return out

    def true_gradients(
        self, case: ParameterCase, pack: Pack, setting: Setting, down: NDArray
    ) -> dict[str, tuple[NDArray, NDArray]]:
        """Gradients of <out, down> by query, key, value and sinks, with their budgets; 0 and 0 where no text is.

        Raises: NotApplicable where scores are beyond the range of the dtype.
        """
        arrays = {"query": pack.query, "key": pack.key, "value": pack.value}
        found = {name: (np.zeros(x.shape), np.zeros(x.shape)) for name, x in arrays.items()}
        sinks: list[tuple[NDArray, NDArray]] = []
        for i, one in self.calls_of(case.dtype, pack, setting):
            if not pack.texts[i][1]:
                continue
            call = judge_call(self.implementation, one, setting.features)
            true, bounds, judged = call.gradients(down[pack.rows(i)].swapaxes(0, 1)[None])
            if not judged:
                raise NotApplicable
            for name in arrays:
                rows = pack.rows(i, int(name != "query"))
                for target, source in zip(found[name], (true[name], bounds[name]), strict=True):
                    target[rows] = np.broadcast_to(source, getattr(one, name).shape)[0].swapaxes(0, 1)
            if setting.features.sinks is not None:
                sinks.append((true["sinks"], bounds["sinks"]))
        if setting.features.sinks is not None:
            found["sinks"] = sum_of_sinks(case.dtype, self.implementation.accumulate, pack.query.shape[1], sinks)
        return found


def without_batch(result: Result) -> Result:
    """A result of one batch without the axis of it."""
    place, back = result.place, result.back
    assert place is not None and back is not None
    return replace(result, values=result.values[0], place=lambda at: place((0, *at)), back=lambda at: back(at)[1:])


def sum_of_sinks(
    dtype: str, accumulate: str, heads: int, parts: list[tuple[NDArray, NDArray]]
) -> tuple[NDArray, NDArray]:
    """The gradient of sinks and its budget from those of every text: a sum of one more term for each (sink-sum)."""
    fmt = float_format(dtype, accumulate)
    true, bound, size = np.zeros(heads), np.zeros(heads), np.zeros(heads)
    for part, error in parts:
        true, bound, size = true + part, bound + error, size + np.abs(part) + error
    return true, bound + (gamma(len(parts), fmt.a) + gamma(1, fmt.u)) * size


def whole(values: NDArray) -> Array:
    """Whole numbers as kernels take them, int32."""
    return array(np.asarray(values), "int32")
