"""Heads of keys that are shared by h mod H_kv: declared and judged in every contract that has fewer of them, and found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from judging import held, refuted
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from attention_core.conformance import Implementation, check_implementation
from attention_core.conformance.engine.second_judgement import judge_further
from attention_core.conformance.engine.session import Session, select_laws
from attention_core.conformance.report.results import Report
from attention_core.conformance.subjects.indexed_subject import IndexedCall
from attention_core.declaration.options import APPLIES
from attention_core.faults import block_mask as block_mask_faults
from attention_core.faults import quantised, topk_index, tree_mask
from attention_core.faults.cross_cache import Cross

WIDE: dict[str, Any] = {"accumulate": "float32", "dtypes": ("float32",)}


def repeat(x: Tensor, heads: int) -> Tensor:
    """Key heads for all query heads, in turn."""
    return x.repeat(1, heads // x.shape[1], *(1 for _ in x.shape[2:]))


def quantised_in_turn(
    q: Tensor, k: Tensor, v: Tensor, k_scale: Tensor, v_scale: Tensor, causal: bool = False
) -> Tensor:  # fmt: skip
    """Attention to stored numbers with a scale for each token."""
    k, v, k_scale, v_scale = (repeat(x, q.shape[1]) for x in (k, v, k_scale, v_scale))
    out: Tensor = quantised.build()(q, k, v, k_scale, v_scale, causal)
    return out


def stored_queries_in_turn(
    q: Tensor, k: Tensor, v: Tensor, q_descale: Tensor, k_descale: Tensor, v_descale: Tensor
) -> Tensor:
    """The same with queries that are stored, too, in (B, n, H, d)."""
    queries, keys, values = (
        (x.float() * s[..., None]).transpose(1, 2) for x, s in ((q, q_descale), (k, k_descale), (v, v_descale))
    )
    heads = queries.shape[1]
    return scaled_dot_product_attention(queries, repeat(keys, heads), repeat(values, heads)).transpose(1, 2)


def blocks_in_turn(query: Tensor, key: Tensor, value: Tensor, block_mask: Tensor, block_size: int) -> Tensor:
    """Attention in the blocks of a map (B, H, rows, columns)."""
    pairs = block_mask.repeat_interleave(block_size, 2).repeat_interleave(block_size, 3)
    key, value = (repeat(x, query.shape[1]) for x in (key, value))
    return scaled_dot_product_attention(query, key, value, pairs[:, :, : query.shape[2], : key.shape[2]])


def flexible_in_turn(
    query: Tensor, key: Tensor, value: Tensor, score_mod: Any = None, block_mask: Any = None, enable_gqa: bool = False
) -> Tensor:
    """FlexAttention's call."""
    out: Tensor = block_mask_faults.flexible()(
        query, repeat(key, query.shape[1]), repeat(value, query.shape[1]), score_mod, block_mask
    )
    return out


def trees_in_turn(query: Tensor, key: Tensor, value: Tensor, tree_mask: Tensor) -> Tensor:
    """Attention of draft tokens to a context and to their ancestors."""
    context = key.shape[2] - tree_mask.shape[-1]
    pairs = nn.functional.pad(tree_mask, (context, 0), value=True)[:, None]
    key, value = (repeat(x, query.shape[1]) for x in (key, value))
    return scaled_dot_product_attention(query, key, value, pairs)


def indices_in_turn(query: Tensor, key: Tensor, value: Tensor, indices: Tensor) -> Tensor:
    """Attention to the keys that indices name; each key head has rows of its own."""
    key, value, indices = (repeat(x, query.shape[1]) for x in (key, value, indices))
    out: Tensor = topk_index.build()(query, key, value, indices)
    return out


def indices_of_queries_in_turn(
    query: Tensor, key: Tensor, value: Tensor, indices: Tensor, counts: Tensor | None = None
) -> Tensor:
    """The same with rows of its own for each query head, and so many indices in each."""
    key, value = (repeat(x, query.shape[1]) for x in (key, value))
    if counts is not None:
        indices = indices.where(torch.arange(indices.shape[-1]) < counts[..., None], -1)
    out: Tensor = topk_index.build()(query, key, value, indices)
    return out


class CrossInTurn(Cross):
    """Cross attention over a text that is kept."""

    def share(self, x: Tensor, group: int) -> Tensor:
        return x.repeat(1, group, 1, 1)


class ModuleInTurn(nn.Module):
    """Multi-head attention with fewer heads of keys."""

    def __init__(self, embed_dim: int, num_heads: int, num_kv_heads: int) -> None:
        super().__init__()
        self.d = embed_dim // num_heads
        self.q_proj, self.out_proj = nn.Linear(embed_dim, embed_dim), nn.Linear(embed_dim, embed_dim)
        self.k_proj, self.v_proj = (nn.Linear(embed_dim, num_kv_heads * self.d) for _ in range(2))

    def share(self, x: Tensor, heads: int) -> Tensor:
        """Key heads for all query heads."""
        return repeat(x, heads)

    def forward(self, x: Tensor, is_causal: bool = False, need_weights: bool = False) -> Any:
        q, k, v = (p(x).unflatten(-1, (-1, self.d)).transpose(1, 2) for p in (self.q_proj, self.k_proj, self.v_proj))
        scores = self.d**-0.5 * q @ self.share(k, q.shape[1]).mT
        if is_causal:
            scores = scores.masked_fill(torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1), -torch.inf)
        weights = scores.softmax(-1)
        y = self.out_proj((weights @ self.share(v, q.shape[1])).transpose(1, 2).flatten(2))
        return (y, weights) if need_weights else y


class ModuleInOrder(ModuleInTurn):
    """The same, neighbours sharing a head."""

    def share(self, x: Tensor, heads: int) -> Tensor:
        return x.repeat_interleave(heads // x.shape[1], 1)


TOKEN = {"parameters": {"scales": "token"}, **WIDE}
BY_QUERY = {"parameters": {"index_heads": "query"}, **WIDE}
SHARED: dict[str, tuple[Callable[..., Any], Callable[..., Any] | None, str, dict[str, Any]]] = {
    "quantised": (quantised_in_turn, quantised.build(), "query_heads_share_heads_and_their_scales", TOKEN),
    "quantised queries": (stored_queries_in_turn, None, "query_heads_share_heads_and_their_scales", TOKEN),
    "block-mask": (blocks_in_turn, block_mask_faults.build(), "every_head_has_its_own_map", WIDE),
    "block-mask of FlexAttention": (flexible_in_turn, None, "every_head_has_its_own_map", WIDE),
    "tree-mask": (trees_in_turn, tree_mask.build(), "query_heads_share_key_heads_in_a_tree", WIDE),
    "topk-index": (indices_in_turn, topk_index.build(), "heads_and_sequences_have_their_own_indices", WIDE),
    "topk-index queries": (
        indices_of_queries_in_turn, topk_index.build(), "heads_and_sequences_have_their_own_indices", BY_QUERY
    ),
    "cross-cache": (CrossInTurn, Cross, "query_heads_share_kept_key_heads_in_order", WIDE),
    "multi-head": (ModuleInTurn, ModuleInOrder, "heads_attend_as_the_formula_says", {}),
}  # fmt: skip
"""Contract -> a target that shares by h mod H_kv, one that shares by h // g, a law that tells them apart, the record."""
MORE = {
    "block-mask": ("gradients_under_a_map_are_true",),
    "block-mask of FlexAttention": ("a_score_mod_is_added_to_scaled_scores", "gradients_under_a_map_are_true"),
    "topk-index queries": ("gradients_through_indices_are_true", "counts_end_rows_of_indices"),
    "multi-head": (
        "causal_heads_attend_as_the_formula_says", "returned_weights_are_those_of_the_heads",
        "gradients_of_parameters_are_true", "gradients_of_inputs_are_true",
    ),
}  # fmt: skip
"""Contract -> further laws in which the order of heads takes part."""


@pytest.mark.thorough(table=True)
@pytest.mark.parametrize("row", SHARED)
def test_heads_shared_in_turn_can_be_declared(row: str) -> None:
    in_turn, in_order, law, record = SHARED[row]
    contract = row.partition(" ")[0]
    held(law, in_turn, contract=contract, grouping="modular", **record)
    refuted(law, in_turn, "quick", contract=contract, **record)
    if in_order is not None:
        refuted(law, in_order, "quick", contract=contract, grouping="modular", **record)


@pytest.mark.parametrize(("row", "law"), [(c, law) for c, laws in MORE.items() for law in laws])
def test_whatever_a_head_has_goes_with_it(row: str, law: str) -> None:
    in_turn, _, _, record = SHARED[row]
    held(law, in_turn, contract=row.partition(" ")[0], grouping="modular", **record)


def judge(row: str) -> Report:
    target, _, law, record = SHARED[row]
    declared = Implementation(target, "t", row.partition(" ")[0], **record)
    if declared.contract == "multi-head":
        return check_implementation(declared, "quick", laws=[law])
    with Session(declared, effort="quick") as session:
        report = session.report([session.run(one) for one in select_laws(session.laws, [law])])
        judge_further(session, report, [law])
    return report


@pytest.mark.thorough(leave_out=("multi-head",))
@pytest.mark.usefixtures("unshrunk")
@pytest.mark.parametrize("row", SHARED)
def test_heads_shared_in_turn_are_found(row: str) -> None:
    report = judge(row)
    assert report.with_status("refuted") and report.under_found is not None
    assert report.under_found.with_status("held")
    assert report.advice[0].endswith("consistent with --grouping modular")


def test_latents_are_one_for_all_heads() -> None:
    assert "grouping" not in APPLIES["mla"]


def test_what_query_heads_have_follows_them() -> None:
    x, order = np.arange(4.0).reshape(1, 4, 1, 1), np.array([0, 2, 1, 3])
    call = IndexedCall(x, x[:, :2], x[:, :2], x.astype(int), counts=x[..., 0].astype(int), bias=x)
    turned = call.put_in_order(order)
    for name in ("query", "bias", "indices", "counts"):
        assert getattr(turned, name).ravel().tolist() == order.tolist(), name
    assert call.with_(indices=x[:, :2].astype(int)).put_in_order(order).indices.ravel().tolist() == [0, 1]
