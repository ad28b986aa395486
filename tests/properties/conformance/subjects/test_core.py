"""The core of every contract.

Refusing is allowed, but what refuses everything, or all but one tiny size, conforms to no contract.
Targets refuse in every place a call can reach: the function itself, the factory, or what a factory built.
"""

from __future__ import annotations

import functools
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from attention_core.conformance import Implementation
from attention_core.conformance.contracts import built_in
from attention_core.conformance.engine.session import Session
from attention_core.conformance.report.results import Report
from attention_core.conformance.subjects.core import PLAIN, SIZES
from attention_core.declaration.gpu_advice import NO_GPU
from attention_core.declaration.sizes import ATTENTION
from attention_core.faults import (
    batch_invariance,
    bias,
    block_mask,
    cross_cache,
    indexer,
    latent_attention,
    linear_attention,
    merge,
    multi_head,
    paged,
    position_table,
    quantised,
    rotary,
    split_merge_heads,
    topk_index,
    tree_mask,
    variant_attention,
    varlen,
)
from attention_core.faults.bases.cache import Cache
from attention_core.faults.bases.reference import correct
from attention_core.modules import self_attention as ours


def with_lse(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    scores = query.double() @ key.double().transpose(-1, -2) * query.shape[-1] ** -0.5
    return correct(query, key, value), torch.logsumexp(scores, -1).to(query.dtype)


def causal(n_q: int, n_kv: int) -> Tensor:
    return torch.ones(n_q, n_kv, dtype=torch.bool).tril()


RECORDS: dict[str, dict[str, Any]] = {
    "attention": {"dtypes": ("float32",), "gradients": False},
    "attention-lse": {"dtypes": ("float32",), "gradients": False},
    "mask-builder": {"parameters": {"kind": "causal"}},
    "heads": {"dtypes": ("float32",)},
    "rotary": {"dtypes": ("float32",)},
    "kv-cache": {"dtypes": ("float32",), "accumulate": "input"},
    "merge": {"dtypes": ("float32",)},
    "varlen": {"dtypes": ("float32",)},
    "paged": {"dtypes": ("float32",)},
    "linear-attention": {"dtypes": ("float32",)},
    "quantised": {"dtypes": ("float32",)},
    "block-mask": {"dtypes": ("float32",)},
    "mla": {"dtypes": ("float32",)},
    "tree-mask": {"dtypes": ("float32",)},
    "topk-index": {"dtypes": ("float32",)},
    "indexer": {"dtypes": ("float32",)},
    "variant-attention": {"dtypes": ("float32",)},
    "cross-cache": {"dtypes": ("float32",)},
    "self-attention": {"dtypes": ("float32",)},
    "batch-invariant": {"dtypes": ("float32",), "gradients": False},
    "self-attention-steps": {"dtypes": ("float32",), "parameters": {"kind": "attn_softmax"}},
}
RIGHT: dict[str, Any] = {
    "attention": correct, "attention-lse": with_lse, "batch-invariant": batch_invariance.keys_one_by_one(), "mask-builder": causal, "heads": split_merge_heads.correct(),
    "multi-head": multi_head.MultiHead, "rotary": rotary.correct, "bias": bias.correct,
    "position-table": position_table.correct, "kv-cache": Cache,
    "self-attention": ours.self_attention, "self-attention-steps": ours.attn_softmax,
    "merge": merge.correct, "varlen": varlen.a_loop_over_texts,
    "paged": paged.gathered_and_masked, "linear-attention": linear_attention.build("gla"),
    "quantised": quantised.build(),
    "block-mask": block_mask.build(),
    "mla": latent_attention.build(),
    "tree-mask": tree_mask.build(),
    "topk-index": topk_index.build(),
    "indexer": indexer.build(),
    "variant-attention": variant_attention.sigmoid(),
    "cross-cache": cross_cache.Cross,
}  # fmt: skip


def refuse(*args: Any, **kwargs: Any) -> Any:
    raise ValueError("not today")


class Refusing(nn.Module):
    """Can be built; refuses every call."""

    def __init__(self, *args: Any) -> None:
        super().__init__()

    def forward(self, query: Tensor, key: Tensor | None = None, value: Tensor | None = None) -> Tensor:
        raise ValueError("not today")


def refuses_everything(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    raise ValueError("not today")


def refuse_texts(query: Any, key: Any, value: Any, block_table: Any = None, lengths: Any = None) -> Any:
    raise ValueError("not today")


def refuse_scales(query: Any, key: Any, value: Any, k_scale: Any) -> Any:
    raise ValueError("not today")


def refuse_maps(query: Any, key: Any, value: Any, block_mask: Any, block_size: Any) -> Any:
    raise ValueError("not today")


def refuse_latents(q_nope: Any, q_rope: Any, c_kv: Any, k_rope: Any) -> Any:
    raise ValueError("not today")


def refuse_trees(query: Any, key: Any, value: Any, parents: Any) -> Any:
    raise ValueError("not today")


def refuse_indices(query: Any, key: Any, value: Any, indices: Any) -> Any:
    raise ValueError("not today")


def refuse_scores(scores: Any, topk: Any) -> Any:
    raise ValueError("not today")


SERVED = {
    "varlen": refuse_texts, "paged": refuse_texts, "quantised": refuse_scales, "block-mask": refuse_maps,
    "mla": refuse_latents, "tree-mask": refuse_trees, "topk-index": refuse_indices,
    "indexer": refuse_scores, "variant-attention": refuses_everything,
}  # fmt: skip
NEVER: list[tuple[str, Any]] = [
    *(
        (name, refuses_everything if name in ATTENTION else SERVED.get(name, refuse))
        for name in RIGHT
        if name != "heads"
    ),
    ("heads", (refuse, refuse)),
    ("multi-head", Refusing),
    ("kv-cache", Refusing),
]


def checked(contract: str, target: Any) -> Report:
    """The verdict on a target as it is declared: no other form is looked for, which for some contracts are many."""
    record = Implementation(target, "f", contract, **RECORDS.get(contract, {}))
    with Session(record, effort="quick", shrink=False, looks=False) as session:
        return session.report(list(session.results(session.laws)))


def tiny_only(target: Any) -> Any:
    """Takes calls whose arrays (or numbers) are all of size 2 at most; refuses the rest."""
    if isinstance(target, tuple):
        return tuple(map(tiny_only, target))
    if isinstance(target, type):
        return lambda *args: tiny_only(target(*args))

    @functools.wraps(target)  # contracts of serving go by the names of parameters
    def call(query: Any, key: Any = None, value: Any = None, *more: Any, **kwargs: Any) -> Any:
        given = [a for a in (query, key, value) if a is not None]
        sizes = [n for a in given for n in (a.shape if isinstance(a, Tensor) else [a])]
        if max(sizes, default=0) > 2:
            raise ValueError("too large")
        return target(*given, *more, **kwargs)

    return call


def test_every_contract_is_here() -> None:
    assert {name for name, _ in NEVER} == set(RIGHT) == set(built_in())
    assert set(SIZES) == set(PLAIN) == set(built_in()) - set(ATTENTION)


@pytest.mark.thorough(table=True, leave_out=("attention-lse-*", "rotary-*", "batch-invariant-*"))
@pytest.mark.parametrize(("contract", "target"), NEVER, ids=lambda x: x if isinstance(x, str) else "")
def test_what_refuses_everything_does_not_conform(contract: str, target: Any) -> None:
    report = checked(contract, target)
    assert report.verdict == "incomplete"
    assert report.problem.startswith("it declined a plain call, which every implementation should answer: float32 ")
    assert "ValueError: not today" in report.problem


def test_what_refuses_for_want_of_a_gpu_is_told_where_to_run() -> None:
    def on_gpus(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        raise AssertionError("query must be a CUDA tensor")

    with Session(Implementation(on_gpus, "f", dtypes=("float32",)), effort="quick") as session:
        lacks = session.core()
    assert lacks.endswith(f"AssertionError: query must be a CUDA tensor; {NO_GPU}")


@pytest.mark.thorough(table=True, leave_out=("batch-invariant",))
@pytest.mark.parametrize("contract", RIGHT)
def test_what_takes_one_tiny_size_alone_does_not_conform(contract: str) -> None:
    report = checked(contract, tiny_only(RIGHT[contract]))
    assert report.verdict != "conforms"
    if report.verdict == "incomplete":
        assert "ValueError: too large" in report.problem


@pytest.mark.parametrize("contract", [name for name in RIGHT if name not in ATTENTION])
def test_the_right_target_has_its_core(contract: str) -> None:
    record = Implementation(RIGHT[contract], "f", contract, **RECORDS.get(contract, {}))
    with Session(record, effort="quick") as session:
        assert session.core() == ""


def test_a_pair_in_the_wrong_order_is_told() -> None:
    split, merge = split_merge_heads.correct()
    report = checked("heads", (merge, split))
    assert report.verdict == "incomplete"
    assert "TypeError" in report.problem
    assert report.problem.endswith("(is the pair given as split,merge, in this order?)")
