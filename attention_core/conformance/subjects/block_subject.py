"""Attention in the blocks of a map: how a target is called, the map of a case, its truth and its budget.

Queries are (B, H, n_q, d), maps (B or 1, H or 1, rows, columns), True where a block of queries attends to one of keys.
A target takes the map as an array, as the block rows of a sparse matrix, or as FlexAttention does, as a BlockMask.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from attention_core import oracle
from attention_core.conformance.subjects import masked_subject
from attention_core.conformance.subjects.axes import Arrangement
from attention_core.conformance.subjects.masked_subject import MaskedCall, MaskedSubject, whole
from attention_core.conformance.subjects.parameter_case import ParameterCase
from attention_core.conformance.worker.exchange import FlexArgument, NDArray, Request, array
from attention_core.conformance.worker.runner import Runner
from attention_core.declaration.implementation import Implementation, TargetError

ROLES: Mapping[str, str] = {
    name: role
    for role, names in {
        "map": "block_mask block_map block_masks block_attn_mask block_sparse_mask blockmask base_blockmask "
        "mask_blocks sparse_layout layout block_layout blocks",
        "mask_mod": "mask_mod",
        "score_mod": "score_mod",
        "row_ends": "indptr kv_indptr block_indptr",
        "columns": "indices kv_indices block_indices",
        "block": "block block_size BLOCK BLOCK_SIZE",
        "q_block": "q_block block_q q_block_size block_size_q block_size_M block_m BLOCK_M BLOCK_Q",
        "k_block": "k_block block_k kv_block block_kv k_block_size kv_block_size block_size_k block_size_kv "
        "block_size_N block_n BLOCK_N BLOCK_KV",
        "causal": "causal is_causal",
        "scale": "scale softmax_scale sm_scale scaling",
        "grouped": "enable_gqa",
        "cu_q": "cu_seqlens_q cu_seqlens_q_",
        "cu_k": "cu_seqlens_k cu_seqlens_k_",
        "max_q": "max_seqlen_q max_seqlen_q_",
        "max_k": "max_seqlen_k max_seqlen_k_",
        "head_kinds": "head_mask_type",
        "streams": "streaming_info",
        "dropped": "p_dropout dropout_p",
    }.items()
    for name in names.split()
}
"""A parameter's name -> what it is. Packed queries (`cu_seqlens_q`) are texts of one length, one after the other."""
LARGE_BLOCK, FEW_BLOCKS, MOST_BLOCKS, LONG = 16, 3, 20, 256
"""Blocks that are larger than this come in so many rows and columns at most; longer sequences are few."""
MAPS = ("map", "mask_mod", "row_ends")
"""Roles of which a target has one: they say which blocks are attended."""
BLOCK_SIZES: Mapping[str, int] = {"base_blockmask": 128}
"""Names of a map whose library has one size of blocks (Block-Sparse-Attention)."""
AXES: Mapping[str, str] = {"layout": "hqk", "sparse_layout": "hqk", "row_ends": "qk"}
"""Names of a map (or its role) that has fewer axes than (B, H, rows, columns): xFormers, DeepSpeed; FlashInfer."""


def read_roles(parameters: list[dict[str, Any]] | None, bound: Iterable[str]) -> dict[str, str]:
    """Role -> the target's own name of it, of all parameters after query, key and value.

    A parameter of another name, first after the value and without a default, is the map where nothing else is.

    Args:
        parameters: of the target, None where its signature cannot be read.
        bound: those that are given a value otherwise.

    Raises:
        TargetError: a parameter without a default whose meaning is not known, or nothing that can be the map.

    Example:
        >>> read_roles([{"name": n, "kind": "", "default": False} for n in "q k v M block_size".split()], ())
        {'map': 'M', 'block': 'block_size'}
    """
    if parameters is None:
        return {"map": "block_mask"}
    known = "block_mask, block_size, causal"
    roles = masked_subject.read_roles(parameters, bound, ROLES, MAPS, "map", known)
    if not any(roles.get(role) for role in MAPS):
        raise TargetError("no parameter says which blocks are attended: name it block_mask, or mask_mod, or indptr")
    return roles


@dataclass(frozen=True)
class PackedSequences(Arrangement):
    """Sequences of `n` tokens one behind the other, (B n, H, d).

    Example:
        >>> PackedSequences("bhnd", "nhd", 3).to_target(np.zeros((2, 4, 3, 5))).shape
        (6, 4, 5)
    """

    n: int = 1

    def to_target(self, values: NDArray) -> NDArray:
        """The values in the target's order of axes."""
        return values.transpose(0, 2, 1, 3).reshape(-1, values.shape[1], values.shape[3])

    def from_target(self, values: NDArray) -> NDArray:
        """The inverse of `to_target`."""
        return values.reshape(-1, self.n, *values.shape[1:]).transpose(0, 2, 1, 3)

    def place(self, index: tuple[int, ...]) -> tuple[int, ...]:
        """A canonical index as the target's."""
        return (index[0] * self.n + index[2], index[1], index[3])

    def back(self, index: tuple[int, ...]) -> tuple[int, ...]:
        """A target's index as the canonical one."""
        return (index[0] // self.n, index[1], index[0] % self.n, index[2])


@dataclass(frozen=True, eq=False)
class BlockCall(MaskedCall):
    """Arrays of a call and what it asks for.

    Args:
        blocks: bool (B or 1, H or 1, rows, columns).
        block: queries and keys of a block.
        pairs: what a mask_mod allows beside the map, bool (n_q, n_kv); None for everything.
    """

    BY_HEAD = ("query", "bias", "blocks")

    blocks: NDArray
    block: tuple[int, int]
    causal: bool = False
    pairs: NDArray | None = None


class BlockSubject(MaskedSubject):
    """A function that attends in the blocks of a map."""

    def __init__(
        self, runner: Runner, implementation: Implementation, description: Mapping[str, Any], seed: int = 0
    ) -> None:
        super().__init__(runner, implementation, description, seed)
        self.roles = read_roles(description["parameters"], implementation.arguments)
        which = next(role for role in MAPS if self.roles.get(role))
        declared, name = str(self.parameters.get("map", "")), self.roles[which]
        self.is_flex = which == "mask_mod" or declared == "flex" or (not declared and "score_mod" in self.roles)
        self.map_axes = declared or AXES.get(which, AXES.get(name, "bhqk"))
        self.map_name = name
        self._check_blocks()

    def _check_blocks(self) -> None:
        """Raise TargetError where nothing says how large blocks are."""
        q_block, k_block = self._declared_block()
        for own, role in ((q_block, "q_block"), (k_block, "k_block")):
            if own is None and not self.is_flex and not {"block", role} & self.roles.keys():
                raise TargetError(
                    f"{self.implementation.name} has no parameter for the size of its blocks (block_size, or block_q "
                    "and block_k): declare --parameter block=64, or q_block and k_block"
                )

    def _declared_block(self) -> tuple[int | None, int | None]:
        """(b_q, b_kv) as they are declared, or as the library of the map's name has them; None where calls say it."""
        usual = self.parameters.get("block", BLOCK_SIZES.get(self.map_name))
        return self.parameters.get("q_block", usual), self.parameters.get("k_block", usual)

    # --- cases ------------------------------------------------------------------------------------------

    def adapt_case(self, case: ParameterCase) -> ParameterCase:
        """The case in blocks of the declared sizes: as many blocks, and a short last one where there was one."""
        sizes: dict[str, int] = {}
        minimum = dict(case.minimum)
        own = self._declared_block()
        for role, length, size in (("q_block", "n_q", own[0]), ("k_block", "n_kv", own[1])):
            if size is None or case[role] == size:
                continue
            whole, rest = divmod(case[length], case[role])
            whole = min(whole, FEW_BLOCKS if length == "n_q" else MOST_BLOCKS) if size > LARGE_BLOCK else whole
            few = (1, size - 1, max(1, rest * size // case[role]))[case.seed % 3]
            sizes |= {role: size, length: whole * size + few * bool(rest)}
            minimum[role] = size
        if not sizes:
            return case
        if max(sizes.values()) > LONG:
            sizes |= {"B": min(case["B"], 2), "H_kv": min(case["H_kv"], 2)}
        return case.with_(**sizes, minimum=minimum)

    def block(self, case: ParameterCase) -> tuple[int, int]:
        """(b_q, b_kv) of a case; one parameter of the target says both."""
        declared = self._declared_block()
        one = "block" in self.roles and not {"q_block", "k_block"} & self.roles.keys()
        q_block = declared[0] or case["q_block"]
        return q_block, declared[1] or (q_block if one else case["k_block"])

    def draw(self, case: ParameterCase, turn: str = "") -> BlockCall:
        """The call of a case; another `turn` draws another map. Every row of blocks has one block at least."""
        B, H, n_q, n_kv = case["B"], case["H_kv"] * case["group"], case["n_q"], case["n_kv"]
        block, rng = self.block(case), case.rng(f"blocks{turn}")
        rows, columns = -(-n_q // block[0]), -(-n_kv // block[1])
        leading = [B if "b" in self.map_axes else 1, H if "h" in self.map_axes else 1]
        if self.is_flex:  # whose maps may be those of all sequences or heads
            leading = [n if rng.random() < 0.7 else 1 for n in (B, H)]
        blocks = rng.random((*leading, rows, columns)) < float(case.options.get("share", 0.5))
        always = rng.integers(columns, size=(*leading, rows, 1))
        blocks |= np.arange(columns) == always
        causal = bool(case.options.get("causal")) if "causal" in self.roles else self.implementation.always_causal
        scale = case.options.get("scale") if "scale" in self.roles else None
        return BlockCall(
            case.queries("query", B, H, n_q, case["d"]), case.keys("key", B, case["H_kv"], n_kv, case["d"]),
            case.values("value", B, case["H_kv"], n_kv, case["d_v"]), blocks, block, causal, scale=scale,
        )  # fmt: skip

    # --- calls ------------------------------------------------------------------------------------------

    def request_of(
        self,
        case: ParameterCase,
        call: BlockCall,
        *,
        view: str = "contiguous",
        map_view: str = "contiguous",
        **extra: Any,
    ) -> Request:
        """The request of a call; `extra` are fields of the request, with a trailing underscore."""
        call = call.put_in_order(self.order(call))
        qkv = tuple(array(self.axes(x).to_target(x), case.dtype, view) for x in (call.query, call.key, call.value))
        fields = {k[:-1]: v for k, v in extra.items()}
        values = {**self._maps(case, call, map_view), **self._options(call)}
        if self.description["parameters"] is None:
            return Request((*qkv, values["map"]), dict(self.implementation.arguments), **fields)
        given = {self.roles[role]: value for role, value in values.items() if role in self.roles}
        return Request(qkv, {**given, **self.implementation.arguments}, loose=True, **fields)

    def _maps(self, case: ParameterCase, call: BlockCall, view: str) -> dict[str, Any]:
        """What says which pairs are attended, by role."""
        if self.is_flex:
            pairs = oracle.block_pairs(call.blocks, *call.lengths, call.block)
            pairs = pairs if call.pairs is None else pairs & call.pairs
            table = array(pairs, "bool")
            found: dict[str, Any] = {
                "map": FlexArgument("block_mask", table, call.block), "mask_mod": FlexArgument("mask_mod", table)
            }  # fmt: skip
            if call.bias is not None:
                found["score_mod"] = FlexArgument("score_mod", array(call.bias, case.dtype))
            return found
        kept = tuple(0 if axis not in self.map_axes else slice(None) for axis in "bh")
        blocks = call.blocks[kept]
        if "row_ends" in self.roles:
            return {
                "row_ends": whole(np.cumsum([0, *blocks.sum(-1)])), "columns": whole(np.nonzero(blocks)[1]),
                **self._sizes(call),
            }  # fmt: skip
        blocks = blocks if self.implementation.mask_true == "attend" else ~blocks
        kind = "int64" if self.implementation.masks == "binary" else "bool"
        return {"map": array(blocks.astype(np.int64) if kind == "int64" else blocks, kind, view), **self._sizes(call)}

    def _sizes(self, call: BlockCall) -> dict[str, int]:
        """The sizes of blocks, by role."""
        return {"block": call.block[0], "q_block": call.block[0], "k_block": call.block[1]}

    def _options(self, call: BlockCall) -> dict[str, Any]:
        """Causality, scale, shared heads and what packed sequences need, by role."""
        B, H, n_q = call.query.shape[:3]
        n_kv = call.key.shape[2]
        wanted: dict[str, Any] = {"dropped": 0.0, "streams": None, "head_kinds": whole(np.arange(1, H + 1))}
        wanted |= {"cu_q": whole(n_q * np.arange(B + 1)), "cu_k": whole(n_kv * np.arange(B + 1))}
        wanted |= {"max_q": n_q, "max_k": n_kv}
        return wanted | self.options(call, causal=call.causal)

    def axes(self, like: NDArray) -> Arrangement:
        """How an array (B, H, n, d) lies on the target's side."""
        return PackedSequences("bhnd", "nhd", like.shape[2]) if "cu_q" in self.roles else self.own

    # --- truth ------------------------------------------------------------------------------------------

    def mask(self, call: BlockCall) -> NDArray:
        """The pairs that a call attends, bool (B or 1, H or 1, n_q, n_kv)."""
        pairs = oracle.block_pairs(call.blocks, *call.lengths, call.block)
        pairs = pairs if call.pairs is None else pairs & call.pairs
        return pairs & oracle.causal_mask(*call.lengths, self.implementation.causal) if call.causal else pairs
