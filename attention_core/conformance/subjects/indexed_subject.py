"""Attention to the keys that indices name: how a target is called, the indices of a case, its truth and its budget.

Each row of indices (B, heads, n_q, topk) names keys, or blocks of keys; -1 names none. A row names a key once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from attention_core import oracle
from attention_core.conformance.subjects import masked_subject
from attention_core.conformance.subjects.axes import Arrangement
from attention_core.conformance.subjects.masked_subject import INPUTS, MaskedCall, MaskedSubject, whole
from attention_core.conformance.subjects.parameter_case import ParameterCase
from attention_core.conformance.worker.exchange import NDArray, Request, array
from attention_core.conformance.worker.runner import Runner
from attention_core.declaration.implementation import Implementation, TargetError

ROLES: Mapping[str, str] = {
    name: role
    for role, names in {
        "indices": "indices topk_indices topk_idx topk_idxs idx index gather_kv_indices sparse_indices block_indices",
        "counts": "topk_length topk_lengths topk_lens counts block_counts",
        "block": "block block_size BLOCK_SIZE",
        "causal": "causal is_causal",
        "scale": "scale softmax_scale sm_scale scaling",
        "grouped": "enable_gqa",
        "width": "d_v head_dim_v dim_v",
    }.items()
    for name in names.split()
}
"""A parameter's name -> what it is."""
JOINED = "kv"
"""The second parameter of DeepSeek's kernels: keys, whose first d_v features are the values."""
UNBATCHED = "topk_length"
"""A parameter by which FlashMLA's flash_mla_sparse_fwd is known, which takes one sequence."""
PADDING = -1
"""An index that names no key."""


def read_roles(parameters: list[dict[str, Any]] | None, bound: Iterable[str]) -> dict[str, str]:
    """Role -> the target's own name of it, of all parameters after query, key and value (or query and `kv`).

    A parameter of another name, first after these and without a default, holds the indices where nothing else does.

    Args: parameters: of the target, None where its signature cannot be read; bound: those with a value otherwise.

    Raises:
        TargetError: a parameter without a default whose meaning is not known, or nothing that can be the indices.

    Example:
        >>> read_roles([{"name": n, "kind": "", "default": False} for n in "q kv indices sm_scale".split()], ())
        {'indices': 'indices', 'scale': 'sm_scale'}
    """
    if parameters is None:
        return {"indices": "indices"}
    inputs = INPUTS - is_joined(parameters)
    known = "indices, block_size, sm_scale"
    roles = masked_subject.read_roles(parameters, bound, ROLES, ["indices"], "indices", known, inputs)
    if "indices" not in roles:
        raise TargetError("no parameter says which keys are attended: name it indices, or topk_indices")
    return roles


def is_joined(parameters: Iterable[Mapping[str, Any]] | None) -> bool:
    """Whether one array holds keys and values."""
    return [p["name"] for p in parameters or ()][1:2] == [JOINED]


@dataclass(frozen=True, eq=False)
class IndexedCall(MaskedCall):
    """Arrays of a call and the keys that it names.

    Args:
        indices: int (B or 1, heads, n_q, topk), of keys or of blocks of them; -1 for none.
        block: keys of a block.
        counts: how many indices of each row count, (B or 1, heads, n_q); None for all.
    """

    BY_HEAD = ("query", "bias", "indices", "counts")

    indices: NDArray
    block: int = 1
    causal: bool = False
    counts: NDArray | None = None


def find_pairs(call: IndexedCall) -> NDArray:
    """The pairs that indices name, before causality, bool (B or 1, H, n_q, n_kv).

    Example:
        >>> x = np.zeros((1, 1, 3, 1))
        >>> find_pairs(IndexedCall(x[:, :, :1], x, x, np.array([[[[2, -1]]]]))).tolist()
        [[[[False, False, True]]]]
    """
    _, n_kv = call.lengths
    valid = call.indices >= 0
    if call.counts is not None:
        valid = valid & (np.arange(call.indices.shape[-1]) < call.counts[..., None])
    columns = -(-n_kv // call.block)
    named = np.zeros((*call.indices.shape[:-1], columns + 1), dtype=bool)
    inside = valid & (call.indices < columns)
    np.put_along_axis(named, np.where(inside, call.indices, columns), True, axis=-1)
    keys = named[..., np.arange(n_kv) // call.block]
    heads = call.query.shape[1]
    return np.repeat(keys, heads // keys.shape[1], axis=1)


class IndexedSubject(MaskedSubject):
    """A function of queries, keys, values and indices."""

    def __init__(
        self, runner: Runner, implementation: Implementation, description: Mapping[str, Any], seed: int = 0
    ) -> None:
        super().__init__(runner, implementation, description, seed)
        self.roles = read_roles(description["parameters"], implementation.arguments)
        names = self.names() or []
        self.joined = is_joined(description["parameters"])
        usual = "nhd" if self.joined and UNBATCHED in names else "bnhd" if self.joined else implementation.layout
        tokens = str(self.parameters.get("tokens", usual))
        self.own = Arrangement("bhnd", tokens)
        self.batched = "b" in tokens
        axes = tokens.replace("n", "q").replace("d", "k")
        self.index_axes = str(self.parameters.get("index_axes", axes))
        self.of_queries = self.parameters.get("index_heads") == "query"
        self.index_kind = str(self.parameters.get("index_dtype", "int32" if self.joined else "int64"))
        self.block = self.parameters.get("block")
        if self.roles["indices"] == "block_indices" and self.block is None and "block" not in self.roles:
            raise TargetError("no parameter says how many keys a block has: name it block_size, or --parameter block=N")

    # --- cases ------------------------------------------------------------------------------------------

    def adapt_case(self, case: ParameterCase) -> ParameterCase:
        """The case in blocks of the declared size, with one sequence where the target takes no more."""
        changes: dict[str, int] = {}
        if not self.batched:
            changes["B"] = 1
        if self.block is not None:
            columns, rest = divmod(case["n_kv"], case["block"])
            changes |= {"block": self.block, "n_kv": columns * self.block + bool(rest) * (1 + case.seed % self.block)}
        elif "block" not in self.roles:
            changes |= {"block": 1, "n_kv": -(-case["n_kv"] // case["block"])}
        if self.joined and case["d_v"] > case["d"]:
            changes["d"] = case["d_v"]
        changes = {name: size for name, size in changes.items() if case[name] != size}
        minimum = {**case.minimum, **{name: size for name, size in changes.items() if name in ("B", "block")}}
        return case.with_(**changes, minimum=minimum) if changes else case

    def draw(self, case: ParameterCase, turn: str = "") -> IndexedCall:
        """The call of a case; another `turn` draws other indices. Every row has one index at least."""
        B, H, n_q, n_kv, d = case["B"], case["H_kv"] * case["group"], case["n_q"], case["n_kv"], case["d"]
        key = case.keys("key", B, case["H_kv"], n_kv, d)
        value = key[..., : case["d_v"]] if self.joined else case.values("value", B, case["H_kv"], n_kv, case["d_v"])
        scale = case.options.get("scale") if "scale" in self.roles else None
        query = case.queries("query", B, H, n_q, d)
        none, causal = np.full((1, 1, n_q, 1), PADDING), self.is_causal(case)
        call = IndexedCall(query, key, value, none, case["block"], causal, scale=scale)
        return self.with_indices(case, call, turn)

    def is_causal(self, case: ParameterCase) -> bool:
        """Whether a case's call is causal."""
        return bool(case.options.get("causal")) if "causal" in self.roles else self.implementation.always_causal

    def with_indices(self, case: ParameterCase, call: IndexedCall, turn: str = "") -> IndexedCall:
        """The call with drawn indices, so many in a row as the case says; where there are fewer keys, -1 behind them.

        Options: "order" of a row, "padding" in its midst, "later" for keys that causality hides.
        """
        n_q, n_kv = call.lengths
        columns = -(-n_kv // call.block)
        rng, options = case.rng(f"indices{turn}"), case.options
        last = np.full(n_q, columns - 1)
        if call.causal and not options.get("later"):
            last = self._last_keys(n_q, n_kv) // call.block
        batch = len(call.query) if "b" in self.index_axes else 1
        rows = np.full((batch, self._index_heads(call), n_q, case["topk"]), PADDING)
        for at in np.ndindex(rows.shape[:3]):
            count = min(case["topk"], max(int(last[at[2]]), 0) + 1)
            places = np.arange(count)
            if options.get("padding") == "anywhere":
                count = max(1, min(count, case["topk"] - 1 - int(rng.integers(2))))
                places = np.sort(rng.permutation(case["topk"])[:count])
            chosen = rng.permutation(max(int(last[at[2]]), 0) + 1)[:count]
            rows[at][places] = chosen if options.get("order") == "any" else np.sort(chosen)
        found: IndexedCall = call.with_(indices=rows)
        return found

    def _index_heads(self, call: IndexedCall) -> int:
        """How many heads have indices of their own."""
        if "h" not in self.index_axes:
            return 1
        heads = (call.query if self.of_queries else call.key).shape[1]
        return int(heads)

    def _last_keys(self, n_q: int, n_kv: int) -> NDArray:
        """The last key that causality leaves each query, -1 for none."""
        pairs = oracle.causal_mask(n_q, n_kv, self.implementation.causal)
        return np.asarray(pairs.sum(-1) - 1)

    # --- calls ------------------------------------------------------------------------------------------

    def request_of(
        self, case: ParameterCase, call: IndexedCall, *, view: str = "contiguous", index_view: str = "contiguous",
        **extra: Any,
    ) -> Request:  # fmt: skip
        """The request of a call; `extra` are fields of the request, with a trailing underscore."""
        fields, call = {k[:-1]: v for k, v in extra.items()}, call.put_in_order(self.order(call))
        inputs = (call.query, call.key) if self.joined else (call.query, call.key, call.value)
        args = tuple(array(self.own.to_target(x), case.dtype, view) for x in inputs)
        counts = np.full(call.indices.shape[:3], call.indices.shape[3]) if call.counts is None else call.counts
        values = {
            "indices": array(self._turn(call.indices), self.index_kind, index_view), "block": call.block,
            "width": call.value.shape[3], **self.options(call, causal=call.causal),
        }  # fmt: skip
        if call.counts is not None or self._has_no_default("counts"):
            values["counts"] = whole(self._turn_counts(counts))
        if self.description["parameters"] is None:
            return Request((*args, values["indices"]), dict(self.implementation.arguments), **fields)
        given = {self.roles[role]: value for role, value in values.items() if role in self.roles}
        return Request(args, {**given, **self.implementation.arguments}, loose=True, **fields)

    def _turn(self, indices: NDArray) -> NDArray:
        """Indices in the target's axes."""
        return Arrangement("bhqk", self.index_axes).to_target(indices)

    def _turn_counts(self, counts: NDArray) -> NDArray:
        """Numbers of indices in the target's axes; FlashMLA's are those of all heads."""
        axes = self.index_axes.replace("k", "")
        if self.roles["counts"] == UNBATCHED:
            counts, axes = counts[:, :1], axes.replace("h", "")
        return Arrangement("bhq", axes).to_target(counts)

    def _has_no_default(self, role: str) -> bool:
        """Whether the target has a parameter of a role that must be given."""
        own = self.roles.get(role)
        return any(p["name"] == own and not p["default"] for p in self.description["parameters"] or ())

    # --- truth ------------------------------------------------------------------------------------------

    def mask(self, call: IndexedCall) -> NDArray:
        """The pairs that a call attends, bool (B or 1, H, n_q, n_kv)."""
        pairs = find_pairs(call)
        return pairs & oracle.causal_mask(*call.lengths, self.implementation.causal) if call.causal else pairs
