"""Attention over packed texts: how a target is called, the texts, their truth and its budget, text by text.

Queries are (T_q, H, d), keys (T_k, H_kv, d), values (T_k, H_kv, d_v): all texts one behind the other. What the
parameters of serving kernels mean is read from their names in libraries and in people's own code.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from attention_core import oracle
from attention_core.conformance.budgets import budget
from attention_core.conformance.subjects.axes import Arrangement
from attention_core.conformance.subjects.evidence import Evidence, NotApplicable, Result, Shown, Violation
from attention_core.conformance.subjects.packed_case import PackedCase, draw_texts
from attention_core.conformance.subjects.parameter_case import ParameterCase, ParameterSubject
from attention_core.conformance.worker.exchange import Array, NDArray, Request, Response, array
from attention_core.conformance.worker.runner import Runner
from attention_core.declaration.implementation import Implementation, TargetError
from attention_core.declaration.scales import scale_of

ROLES: Mapping[str, str] = {
    name: role
    for role, names in {
        "cu_q": "cu_seqlens_q cu_seq_q cu_q cu_seqlens_qo",
        "cu_k": "cu_seqlens_k cu_seq_k cu_k cu_seqlens_kv cu_kv",
        "cu": "cu_seqlens cu_seqlen cu cumulative_lengths offsets",
        "lengths_q": "lengths_q seqlens_q seq_lens_q q_lens query_lengths",
        "lengths_k": "lengths_k seqlens_k seq_lens_k kv_lens seqlens_kv key_lengths cache_seqlens context_lens",
        "lengths": "lengths seqlens seq_lens lens seq_lengths sequence_lengths",
        "max_q": "max_seqlen_q max_q",
        "max_k": "max_seqlen_k max_k max_seqlen_kv",
        "max": "max_seqlen max_len max_length max_seq_len",
        "causal": "causal is_causal",
        "scale": "softmax_scale scale sm_scale scaling",
        "sides": "window_size",
        "grouped": "enable_gqa",
        "table": "block_table block_tables page_table",
        "page_size": "page_size block_size",
        "new_key": "k",
        "new_value": "v",
    }.items()
    for name in names.split()
}
"""A parameter's name -> what it is. `k` and `v` are new tokens only behind a query and a cache of keys and values."""
INPUTS = 3
"""Query, key and value come first, whatever they are called."""


def read_roles(parameters: list[dict[str, Any]] | None, bound: Iterable[str], usual: tuple[str, ...]) -> dict[str, str]:
    """Role -> the target's own name of it, of all parameters behind query, key and value.

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


USUAL = ("cu_seqlens_q", "cu_seqlens_k", "max_seqlen_q", "max_seqlen_k")
"""What follows query, key and value where a signature cannot be read: the order of flash_attn_varlen_func."""
OUT, LSE = Arrangement("nhd", "nhd"), "nh"


@dataclass(frozen=True)
class Pack:
    """Arrays of a call: query (T_q, H, d), key and value (T_k, H_kv, d or d_v), and (n_q, n_kv) of every text.

    Rows beyond those of the texts belong to none.
    """

    query: NDArray
    key: NDArray
    value: NDArray
    texts: tuple[tuple[int, int], ...]

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
        return Pack(self.query[q], self.key[k], self.value[k], tuple(self.texts[i] for i in order))


@dataclass(frozen=True)
class Setting:
    """What a call asks for beside its arrays: causality, a scale, sides of a window."""

    causal: bool = False
    scale: float | None = None
    sides: tuple[int, int] | None = None


@dataclass(frozen=True)
class Judged:
    """Truth and budget of a pack, one behind the other: out (T_q, H, d_v), lse (T_q, H), dead rows (T_q, H)."""

    out: NDArray
    out_bound: NDArray
    lse: NDArray
    lse_bound: NDArray
    dead: NDArray


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
        return not self.roles.keys() & {"cu_k", "lengths_k"}

    # --- cases ------------------------------------------------------------------------------------------

    def adapt_case(self, case: ParameterCase) -> ParameterCase:
        """The case with lengths of texts drawn, of the kind that it wants."""
        if isinstance(case, PackedCase):
            return case
        kind = str(case.options.get("lengths", "any"))
        texts = draw_texts(kind, case.rng("lengths"), most=case.sizes.get("most", 12), alike=self.alike)
        sizes = {k: v for k, v in case.sizes.items() if k != "most"}
        minimum = {k: v for k, v in case.minimum.items() if k != "most"}
        options = {**case.options, "texts": texts}
        return PackedCase(sizes, minimum, options, case.dtype, case.seed, case.plain)

    def setting(self, case: ParameterCase) -> Setting:
        """What the call of a case asks for, as far as the target has a parameter for it."""
        causal = bool(case.options.get("causal")) if "causal" in self.roles else self.implementation.always_causal
        scale = case.options.get("scale") if "scale" in self.roles else None
        sides = case.options.get("sides") if "sides" in self.roles else None
        return Setting(causal, scale, None if sides is None else (int(sides[0]), int(sides[1])))

    def pack(self, case: PackedCase, more: int = 0) -> Pack:
        """The arrays of a case, drawn; `more` rows belong to no text."""
        T_q, T_k = (sum(pair[i] for pair in case.texts) + more for i in (0, 1))
        query = case.values("query", T_q, case.heads, case["d"])
        key = case.values("key", T_k, case["H_kv"], case["d"])
        value = case.values("value", T_k, case["H_kv"], case["d_v"])
        return Pack(query, key, value, tuple(case.texts))

    # --- calls ------------------------------------------------------------------------------------------

    def arguments(self, pack: Pack, setting: Setting, slack: int = 0) -> dict[str, Any]:
        """The arguments behind query, key and value, by the target's names; `slack` is added to the largest lengths."""
        lengths = [np.array([pair[i] for pair in pack.texts], dtype=np.int64) for i in (0, 1)]
        most = [int(x.max(initial=0)) + slack for x in lengths]
        values: dict[str, Any] = {
            "cu": whole(pack.ends(0)), "cu_q": whole(pack.ends(0)), "cu_k": whole(pack.ends(1)),
            "lengths": whole(lengths[0]), "lengths_q": whole(lengths[0]), "lengths_k": whole(lengths[1]),
            "max": most[0], "max_q": most[0], "max_k": most[1],
        }  # fmt: skip
        return self.by_name({**values, **self.options_of(setting, pack)})

    def by_name(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Values of roles, by the target's names."""
        return {self.roles[role]: value for role, value in values.items() if role in self.roles}

    def options_of(self, setting: Setting, pack: Pack) -> dict[str, Any]:
        """Causality, scale, window and shared heads by their roles, where a call sets them or they have no default."""
        plain = {"causal": False, "scale": self.scale(setting, pack), "sides": (-1, -1), "grouped": False}
        wanted = {
            "causal": setting.causal or None, "scale": setting.scale, "sides": setting.sides,
            "grouped": True if pack.query.shape[1] != pack.key.shape[1] else None,
        }  # fmt: skip
        needed = {p["name"] for p in self.description["parameters"] or () if not p["default"]}
        return {
            role: plain[role] if value is None else value
            for role, value in wanted.items() if value is not None or self.roles.get(role) in needed
        }  # fmt: skip

    def scale(self, setting: Setting, pack: Pack) -> float:
        """What scores are multiplied by."""
        plain = scale_of(self.implementation.scale, pack.query.shape[-1])
        return plain if setting.scale is None else setting.scale

    def request_of(
        self, case: ParameterCase, pack: Pack, setting: Setting, *, view: str = "contiguous", slack: int = 0,
        **extra: Any,
    ) -> Request:  # fmt: skip
        """The call for a pack; `extra` are fields of the request, with a trailing underscore."""
        arrays = tuple(array(x, case.dtype, view) for x in (pack.query, pack.key, pack.value))
        fields = {k[:-1]: v for k, v in extra.items()}
        given = self.arguments(pack, setting, slack)
        if self.description["parameters"] is None:
            return Request((*arrays, *given.values()), dict(self.implementation.arguments), **fields)
        return Request(arrays, {**given, **self.implementation.arguments}, **fields)

    def attend(self, case: ParameterCase, pack: Pack, setting: Setting, **how: Any) -> tuple[Result, Result | None]:
        """(out, lse) of one call, out (T_q, H, d_v) and lse (T_q, H) where it is declared to come back."""
        request = self.request_of(case, pack, setting, **how)
        return self.read(case, request, self.send(request), (*pack.query.shape[:2], pack.value.shape[-1]))

    def read(
        self, case: ParameterCase, request: Request, response: Response, shape: tuple[int, ...]
    ) -> tuple[Result, Result | None]:
        """The results of a call, in canonical axes."""
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
        """How the output lies."""
        return OUT

    @property
    def lse_axes(self) -> Arrangement:
        """How the log-sum-exp lies: (H, T_q), or as declared."""
        return Arrangement(LSE, str(self.parameters.get("lse", "hn")))

    # --- truth ------------------------------------------------------------------------------------------

    def how(self, setting: Setting) -> dict[str, Any]:
        """A setting as the oracle takes it."""
        return {"is_causal": setting.causal, "sides": setting.sides, "alignment": self.implementation.causal}

    def truths(self, pack: Pack, setting: Setting) -> tuple[oracle.Truth, ...]:
        """The truth of every text."""
        more: dict[str, Any] = {"scale": self.scale(setting, pack), "dead_rows": self.implementation.dead_rows}
        return oracle.packed_attention(pack.query, pack.key, pack.value, pack.texts, **self.how(setting), **more)

    def judge(self, case: ParameterCase, pack: Pack, setting: Setting) -> Judged:
        """Truth and budget of every text, one behind the other; rows of no text are 0, and should not be compared."""
        T, H, d_v = *pack.query.shape[:2], pack.value.shape[-1]
        outs, heights = (np.zeros((2, T, H, d_v)), np.zeros((2, T, H)))
        found = Judged(outs[0], outs[1], heights[0], heights[1], np.zeros((T, H), dtype=bool))
        inputs = oracle.split_texts(pack.query, pack.key, pack.value, pack.texts)
        for i, (truth, one) in enumerate(zip(self.truths(pack, setting), inputs, strict=True)):
            rows = pack.rows(i)
            if rows.start == rows.stop:
                continue
            out_bound, lse_bound = self._bounds(case, pack.texts[i], one, truth, setting)
            for whole_pack, part in ((found.out, truth.out), (found.out_bound, out_bound)):
                whole_pack[rows] = np.broadcast_to(part, truth.out.shape)[0].swapaxes(0, 1)
            for whole_pack, part in ((found.lse, truth.lse), (found.lse_bound, lse_bound), (found.dead, truth.dead)):
                whole_pack[rows] = part[0].T
        return found

    def _bounds(
        self, case: ParameterCase, text: tuple[int, int], inputs: tuple[NDArray, NDArray, NDArray], truth: oracle.Truth,
        setting: Setting,
    ) -> tuple[NDArray, NDArray]:  # fmt: skip
        """Budgets of the output and of the log-sum-exp of one text."""
        if not text[1]:
            return np.zeros(truth.out.shape), np.zeros(truth.lse.shape)
        bounds = budget.forward_bound(
            *inputs, truth, dead_rows=self.implementation.dead_rows, **self.numbers(case, text, setting)
        )
        return bounds.out, bounds.lse

    def numbers(self, case: ParameterCase, text: tuple[int, int], setting: Setting) -> dict[str, Any]:
        """What a budget of one text needs: mask, scale and formats."""
        d, declared = case["d"], self.implementation
        scale = setting.scale if setting.scale is not None else scale_of(declared.scale, d)
        mask = oracle.text_mask(*text, **self.how(setting))
        return {
            "mask": mask, "scale": scale, "dtype": case.dtype, "accumulate": declared.accumulate,
            "merges": declared.merges,
        }  # fmt: skip

    def true_gradients(
        self, case: ParameterCase, pack: Pack, setting: Setting, down: NDArray
    ) -> tuple[list[NDArray], list[NDArray]]:
        """Gradients of <out, down> by query, key and value, and their budgets; 0 and 0 where no text is.

        Raises: NotApplicable where scores are beyond the range of the dtype.
        """
        arrays = (pack.query, pack.key, pack.value)
        true, bounds = ([np.zeros(x.shape) for x in arrays] for _ in range(2))
        inputs = oracle.split_texts(*arrays, pack.texts)
        for i, (truth, one) in enumerate(zip(self.truths(pack, setting), inputs, strict=True)):
            if not all(pack.texts[i]):
                continue
            numbers = self.numbers(case, pack.texts[i], setting)
            own = down[pack.rows(i)].swapaxes(0, 1)[None]
            known = {"mask": numbers["mask"], "scale": numbers["scale"]}
            found = oracle.gradients(*one, own, truth=truth, **known)
            limits = budget.backward_bound(*one, own, truth, found, dead_rows=self.implementation.dead_rows, **numbers)
            if not limits.finite.all():
                raise NotApplicable
            for place, name in enumerate(("query", "key", "value")):
                rows = pack.rows(i, min(place, 1))
                for target, source in ((true, found), (bounds, limits)):
                    part = np.broadcast_to(getattr(source, name), one[place].shape)
                    target[place][rows] = part[0].swapaxes(0, 1)
        return true, bounds


def whole(values: NDArray) -> Array:
    """Whole numbers as kernels take them, int32."""
    return array(np.asarray(values), "int32")
