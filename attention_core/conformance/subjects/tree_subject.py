"""Draft tokens in a tree: how a target is called, the tree of a case, its truth and its budget.

A call has n queries, one a draft token, and the keys of a context and of the draft tokens themselves. A token attends
to the whole context, to its ancestors and to itself. In a case the context comes first, padded to the longest one.
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
from attention_core.conformance.worker.exchange import NDArray, Request, array
from attention_core.conformance.worker.runner import Runner
from attention_core.declaration.implementation import Implementation, TargetError

ROLES: Mapping[str, str] = {
    name: role
    for role, names in {
        "parents": "parents parent parent_ids parent_indices parent_idx tree_parents retrieve_parent topology_map",
        "mask": "tree_mask tree_attn_mask tree_attention_mask medusa_mask medusa_attn_mask draft_mask ancestor_mask",
        "bias": "tree_attn_bias tree_bias qq_bias",
        "full": "custom_mask",
        "bits": "packed_mask packed_tree_mask spec_decoding_packed_mask packed_custom_mask",
        "context_lengths": "context_lens context_lengths prefix_lens prefix_lengths past_lens cache_seqlens",
        "all_lengths": "seq_lens kv_lens seqlens_k kv_lengths",
        "context": "context_len prefix_len context_length prefix_length n_context",
        "context_key": "k_cache key_cache past_key k_context k_prefix context_key",
        "context_value": "v_cache value_cache past_value v_context v_prefix context_value",
        "causal": "causal is_causal",
        "scale": "scale softmax_scale sm_scale scaling",
        "grouped": "enable_gqa",
    }.items()
    for name in names.split()
}
"""A parameter's name -> what it is."""
TREES = ("parents", "mask", "bias", "full", "bits")
"""Roles of which a target has one: they say which tokens are whose ancestors."""
AXES: Mapping[str, str] = {"medusa_mask": "b1qk", "medusa_attn_mask": "b1qk", "tree_attn_bias": "qk", "qq_bias": "qk"}
"""Names of a tree that has other axes than (B, n, n): Medusa's, and vLLM's, where one tree is that of all sequences."""
WORD = 32
"""Draft tokens in a number of a packed mask (TensorRT-LLM)."""
UNBATCHED = "kv_layout"
"""A parameter by which FlashInfer's single_prefill_with_kv_cache is known, which takes one sequence."""


def read_roles(parameters: list[dict[str, Any]] | None, bound: Iterable[str]) -> dict[str, str]:
    """Role -> the target's own name of it, of all parameters after query, key and value.

    A parameter of another name, first after the value and without a default, is a mask where nothing else is a tree.

    Args: parameters: of the target, None where its signature cannot be read; bound: those with a value otherwise.

    Raises:
        TargetError: a parameter without a default whose meaning is not known, or nothing that can be the tree.

    Example:
        >>> read_roles([{"name": n, "kind": "", "default": False} for n in "q k v parents".split()], ())
        {'parents': 'parents'}
    """
    if parameters is None:
        return {"mask": "tree_mask"}
    known = "parents, tree_mask, context_lens"
    roles = masked_subject.read_roles(parameters, bound, ROLES, TREES, "mask", known)
    if not any(role in roles for role in TREES):
        raise TargetError("no parameter says what the tree of draft tokens is: name it parents, or tree_mask")
    if ("context_key" in roles) != ("context_value" in roles):
        raise TargetError("the context's keys and values come together: name them k_cache and v_cache")
    return roles


@dataclass(frozen=True, eq=False)
class TreeCall(MaskedCall):
    """Arrays of a call and its trees.

    Args:
        parents: int (B, n): the number of each token's parent, -1 for a root. A parent comes before its children.
        contexts: int (B,): how many keys of each context there are; keys after them are padding.
    """

    parents: NDArray
    contexts: NDArray

    @property
    def ancestors(self) -> NDArray:
        """Whom each token attends to in its tree: its ancestors and itself, bool (B, n, n)."""
        return find_ancestors(self.parents)

    @property
    def room(self) -> int:
        """The keys that a case keeps for a context."""
        n, n_kv = self.lengths
        return n_kv - n


def find_ancestors(parents: NDArray) -> NDArray:
    """Whether token j is token i or one of its ancestors, bool (B, n, n).

    Example:
        >>> find_ancestors(np.array([[-1, 0, 0]])).astype(int).tolist()
        [[[1, 0, 0], [1, 1, 0], [1, 0, 1]]]
    """
    B, n = parents.shape
    found = np.zeros((B, n, n), dtype=bool)
    for b in range(B):
        for i, parent in enumerate(parents[b]):
            if parent >= 0:
                found[b, i] = found[b, parent]
            found[b, i, i] = True
    return found


class TreeSubject(MaskedSubject):
    """A function of draft tokens in a tree."""

    def __init__(
        self, runner: Runner, implementation: Implementation, description: Mapping[str, Any], seed: int = 0
    ) -> None:
        super().__init__(runner, implementation, description, seed)
        self.roles = read_roles(description["parameters"], implementation.arguments)
        role = next(role for role in TREES if role in self.roles)
        self.tree_form = str(self.parameters.get("tree", role))
        self.tree_name = self.roles[role]
        self.unbatched = UNBATCHED in (self.names() or ())
        usual = "qk" if self.unbatched else AXES.get(self.tree_name, "bqk")
        self.tree_axes = str(self.parameters.get("tree_axes", usual))
        if self.unbatched:
            layout = str(implementation.arguments.get(UNBATCHED, "NHD")).lower()
            self.own = Arrangement("bhnd", "nhd")
            self.own_key = Arrangement("bhnd", layout)
        else:
            self.own_key = self.own

    @property
    def has_lengths(self) -> bool:
        """Whether sequences have contexts of their own lengths."""
        return bool({"context_lengths", "all_lengths"} & self.roles.keys())

    # --- cases ------------------------------------------------------------------------------------------

    def adapt_case(self, case: ParameterCase) -> ParameterCase:
        """The case with one sequence where the target takes no more."""
        return case.with_(B=1, minimum={**case.minimum, "B": 1}) if self.unbatched and case["B"] > 1 else case

    def draw(self, case: ParameterCase, turn: str = "") -> TreeCall:
        """The call of a case; another `turn` draws another tree."""
        B, H, n, context = case["B"], case["H_kv"] * case["group"], case["n"], case["context"]
        trees = 1 if "b" not in self.tree_axes else B
        rng = case.rng(f"tree{turn}")
        parents = np.stack([self._draw_parents(case, n, rng) for _ in range(trees)])
        contexts = np.full(B, context)
        if self.has_lengths and context:
            contexts = case.rng("contexts").integers(0, context + 1, size=B)
            contexts[case.seed % B] = context
        return TreeCall(
            case.queries("query", B, H, n, case["d"]), case.keys("key", B, case["H_kv"], context + n, case["d"]),
            case.values("value", B, case["H_kv"], context + n, case["d_v"]), np.repeat(parents, B // trees, 0),
            contexts, scale=case.options.get("scale") if "scale" in self.roles else None,
        )  # fmt: skip

    def _draw_parents(self, case: ParameterCase, n: int, rng: np.random.Generator) -> NDArray:
        """The parents of one tree: any token before, or a close one, which makes deep trees."""
        shape = case.options.get("shape", "any")
        near = {"chain": 1, "deep": 2}.get(str(shape), int(rng.choice([2, 4, n])))
        parents = [-1] + [int(rng.integers(max(0, i - near), i)) for i in range(1, n)]
        if shape == "roots" and self.parameters.get("roots") != "one":
            parents = [-1 if rng.random() < 0.4 else parent for parent in parents]
        return np.array(parents)

    # --- calls ------------------------------------------------------------------------------------------

    def request_of(
        self, case: ParameterCase, call: TreeCall, *, view: str = "contiguous", tree_view: str = "contiguous",
        **extra: Any,
    ) -> Request:  # fmt: skip
        """The request of a call; `extra` are fields of the request, with a trailing underscore."""
        fields, call = {k[:-1]: v for k, v in extra.items()}, call.put_in_order(self.order(call))
        split, room = "context_key" in self.roles, call.room
        draft = [x[:, :, room:] if split else self._join(call, x) for x in (call.key, call.value)]
        query = array(self.own.to_target(call.query), case.dtype, view)
        args = (query, *(array(self.own_key.to_target(x), case.dtype, view) for x in draft))
        values = {**self._tree(case, call, tree_view), **self._lengths(call), **self.options(call)}
        for role, x in (("context_key", call.key), ("context_value", call.value)):
            values[role] = array(self.own_key.to_target(x[:, :, :room]), case.dtype, view)
        if self.description["parameters"] is None:
            return Request((*args, values["mask"]), dict(self.implementation.arguments), **fields)
        given = {self.roles[role]: value for role, value in values.items() if role in self.roles}
        return Request(args, {**given, **self.implementation.arguments}, loose=True, **fields)

    def _join(self, call: TreeCall, x: NDArray) -> NDArray:
        """Keys or values with each sequence's draft tokens right behind its context, and padding at the end."""
        room = call.room
        rows = [
            np.concatenate([x[b, :, :end], x[b, :, room:], x[b, :, end:room]], axis=1)
            for b, end in enumerate(call.contexts)
        ]
        return np.stack(rows)

    def _lengths(self, call: TreeCall) -> dict[str, Any]:
        """How long contexts are, by role."""
        n = call.query.shape[2]
        return {
            "context_lengths": whole(call.contexts), "all_lengths": whole(call.contexts + n),
            "context": int(call.contexts.max()),
        }  # fmt: skip

    def _tree(self, case: ParameterCase, call: TreeCall, view: str) -> dict[str, Any]:
        """The tree in the target's form, by the role of its parameter."""
        role = next(role for role in TREES if role in self.roles)
        if self.tree_form == "parents":
            return {role: array(self._cut(call.parents, 1), "int64", view)}
        tree = call.ancestors
        if self.tree_form == "full":
            tree = self.joined_mask(call)
        if self.tree_form == "bits":
            return {role: self._pack(call)}
        tree = self._cut(tree, 2)
        if self.tree_form == "bias":
            return {role: array(np.where(tree, 0.0, -np.inf), case.dtype, view)}
        tree = tree if self.implementation.mask_true == "attend" else ~tree
        kind = "int64" if self.implementation.masks == "binary" else "bool"
        return {role: array(tree.astype(np.int64) if kind == "int64" else tree, kind, view)}

    def _cut(self, tree: NDArray, axes: int) -> NDArray:
        """The tree with the target's leading axes, in front of so many of its own."""
        if self.tree_axes == "qk":
            return np.asarray(tree[0])
        return tree[:, None] if self.tree_axes == "b1qk" and axes == 2 else tree

    def joined_mask(self, call: TreeCall) -> NDArray:
        """The mask over the keys as they are joined, bool (B, n, n_kv)."""
        n = call.query.shape[2]
        found = np.zeros((len(call.parents), n, call.key.shape[2]), dtype=bool)
        for b, end in enumerate(call.contexts):
            found[b, :, :end], found[b, :, end : end + n] = True, call.ancestors[b]
        return found

    def _pack(self, call: TreeCall) -> Any:
        """Masks as bits: of draft tokens in numbers of 32, the lowest first; FlashInfer's in bytes, row behind row."""
        if self.tree_name == "packed_custom_mask":
            return array(np.packbits(self.joined_mask(call).reshape(-1), bitorder="little"), "uint8")
        tree = self._cut(call.ancestors, 2)
        missing = -tree.shape[-1] % WORD
        bits = np.pad(tree, [(0, 0)] * (tree.ndim - 1) + [(0, missing)])
        words = np.packbits(bits, axis=-1, bitorder="little").view("<i4")
        return array(words, "int32")

    # --- truth ------------------------------------------------------------------------------------------

    def mask(self, call: TreeCall) -> NDArray:
        """The pairs that a call attends, bool (B, 1, n, n_kv)."""
        return join_pairs(call, call.ancestors)

    def truth_of(self, call: TreeCall, tree: NDArray) -> oracle.Truth:
        """The truth of a call of another tree, bool (B, n, n)."""
        return self.truth(call, join_pairs(call, tree))


def join_pairs(call: TreeCall, tree: NDArray) -> NDArray:
    """The pairs of a whole context and of a tree, bool (B, 1, n, n_kv)."""
    context = np.arange(call.room) < call.contexts[:, None]
    context = np.broadcast_to(context[:, None], (*tree.shape[:2], call.room))
    return np.concatenate([context, tree], axis=-1)[:, None]
