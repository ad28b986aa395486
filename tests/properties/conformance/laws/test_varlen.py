"""Power and false alarms of the laws of packed texts: each refutes its fault, every fault is refuted, right ones conform."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from judging import held, judged, refuted
from judging_contracts import conforming, counterexample, named_faults, outcomes
from torch import Tensor

from attention_core.conformance.laws import packed_features, varlen
from attention_core.conformance.laws.varlen import CONTRACT
from attention_core.faults import varlen as faults
from attention_core.kernels.packed import packed_attention

WIDE: dict[str, Any] = {"accumulate": "float32"}
SEEN_BY = {  # one law that must see it
    "empty_text_gets_the_next_ones_key": "empty_texts_take_no_rows",
    "nan_where_a_text_has_no_keys": "empty_texts_take_no_rows",
    "empty_texts_counted_out": "empty_texts_take_no_rows",
    "block_reads_into_the_next_text": "nothing_leaks_between_texts",
    "last_text_reaches_the_end": "rows_beyond_the_last_text_do_not_matter",
    "lengths_from_the_maximum": "a_larger_maximum_changes_nothing",
    "last_key_hidden_from_single_queries": "long_and_many_texts_are_attended_whole",
    "one_maximum_for_all_heads": "query_heads_share_key_heads_in_order",
    "heads_shared_in_turn": "query_heads_share_key_heads_in_order",
    "gradients_of_the_first_shared_head": "packed_gradients_are_true",
    "first_key_head_for_few_tokens": "packed_texts_agree_with_the_truth",
    "keys_beyond_128_skipped": "long_and_many_texts_are_attended_whole",
    "sixteen_texts_at_most": "long_and_many_texts_are_attended_whole",
    "rows_read_one_after_the_other": "slices_of_a_projection_are_read_by_their_strides",
    "first_text_offsets_all": "the_order_of_texts_does_not_matter",
    "gradients_of_the_first_text": "packed_gradients_are_true",
    "gradient_nan_beyond_the_last_text": "packed_gradients_are_true",
    "gradients_of_large_groups_averaged": "packed_gradients_are_true",
    "groups_of_four_in_turn": "query_heads_share_key_heads_in_order",
}


def rows_of_texts_alone(
    q: Tensor, k: Tensor, v: Tensor, cu_q: Tensor, cu_k: Tensor, is_causal: bool = False
) -> tuple[Tensor, Tensor]:
    """Rows behind the last text do not come back."""
    out, lse = faults.with_lse(q, k, v, cu_q, cu_k, is_causal)
    return out[: cu_q[-1]], lse[:, : cu_q[-1]]


RIGHT: list[tuple[Callable[..., Any], dict[str, Any]]] = [
    (packed_attention, WIDE),
    (faults.build(), WIDE),
    (faults.a_loop_over_texts, {}),
    (faults.by_a_mask_of_texts, {"masked_nan": "unspecified", "dtypes": ("float32", "bfloat16", "float16")}),
    (rows_of_texts_alone, {**WIDE, "returns": "out,lse"}),
    (faults.with_lse, {**WIDE, "returns": "out,lse"}),
]


@pytest.mark.parametrize("law", varlen.LAWS, ids=lambda law: law.name)
def test_every_law_refutes_the_fault_it_names(law: varlen.Law) -> None:
    refuted(law.name, getattr(faults, law.fault)(), effort="quick", contract=CONTRACT, **WIDE)


@pytest.mark.thorough(table=True, leave_out=named_faults(varlen.LAWS, faults.FAULTY))
@pytest.mark.parametrize("fault", faults.FAULTY)
def test_every_fault_is_refuted(fault: Callable[..., Any]) -> None:
    law = SEEN_BY.get(fault.__name__, "packed_texts_agree_with_the_truth")
    refuted(law, fault(), "quick", contract=CONTRACT, **WIDE)


@pytest.mark.thorough(table=True, keep=("*-0",))
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(("target", "record"), RIGHT, ids=["packed", "steps", "loop", "mask", "used", "lse"])
def test_right_kernels_conform(target: Callable[..., Any], record: dict[str, Any], seed: int) -> None:
    with_refusals = target in (faults.a_loop_over_texts, faults.by_a_mask_of_texts)
    results = {}
    if with_refusals:  # shared heads are refused, which is allowed
        for law in varlen.LAWS:
            results[law.name] = judged(law.name, target, seed=seed, contract=CONTRACT, **record)
        assert {r.status for r in results.values()} <= {"held", "refused", "not_applicable"}
        assert [n for n, r in results.items() if r.status == "refused"] == ["query_heads_share_key_heads_in_order"]
    else:
        conforming(target, CONTRACT, "quick", seed, **record)


def in_turn(
    q: Tensor, k: Tensor, v: Tensor, cu_seqlens_q: Tensor, cu_seqlens_k: Tensor, *, causal: bool = False,
    sinks: Tensor | None = None, alibi_slopes: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Ours, with key heads shared by h mod H_kv."""
    group = max(q.shape[1] // max(k.shape[1], 1), 1)
    order = torch.arange(q.shape[1]).reshape(group, -1).T.reshape(-1)
    more = {"sinks": sinks if sinks is None else sinks[order], "alibi_slopes": alibi_slopes}
    if alibi_slopes is not None:
        more["alibi_slopes"] = alibi_slopes[order]
    out = packed_attention(q[:, order], k, v, cu_seqlens_q, cu_seqlens_k, causal=causal, **more)
    return out[:, torch.argsort(order)]


@pytest.mark.parametrize(
    "law",
    [
        "query_heads_share_key_heads_in_order", "packed_gradients_are_true", "packed_sinks_take_their_weight",
        "packed_scores_fall_with_distance", "packed_gradients_with_features_are_true",
    ],
)  # fmt: skip
def test_heads_shared_in_turn_can_be_declared(law: str) -> None:
    held(law, in_turn, "quick", contract=CONTRACT, grouping="modular", **WIDE)
    refuted(law, packed_attention, "quick", contract=CONTRACT, grouping="modular", **WIDE)


def test_a_mask_of_texts_lets_nan_through() -> None:
    record = {"dtypes": ("float32",)}
    result = refuted("nothing_leaks_between_texts", faults.by_a_mask_of_texts, "quick", contract=CONTRACT, **record)
    assert "if that may leak, declare --masked-nan unspecified" in result.message


def test_the_diagonal_is_declared() -> None:
    law = "packed_texts_agree_with_the_truth"
    held(
        law,
        faults.causal_from_the_first_key(),
        contract=CONTRACT,
        causal="top_left",
        claims=(),
        **WIDE,
        arguments={"window_size": (-1, -1)},
    )
    refuted(law, faults.build(), "quick", contract=CONTRACT, causal="top_left", **WIDE)


def test_a_wrong_log_sum_exp_is_seen() -> None:
    def with_log2(
        q: Tensor, k: Tensor, v: Tensor, cu_q: Tensor, cu_k: Tensor, is_causal: bool = False
    ) -> tuple[Tensor, Tensor]:
        out, lse = faults.with_lse(q, k, v, cu_q, cu_k, is_causal)
        return out, lse / 0.6931471805599453

    law, record = "packed_texts_agree_with_the_truth", {**WIDE, "returns": "out,lse"}
    assert "lse of out of packed texts" in refuted(law, with_log2, "quick", contract=CONTRACT, **record).message
    refuted(law, faults.with_lse, "quick", contract=CONTRACT, **record, parameters={"lse": "nh"})


def test_torchs_own_names_are_known() -> None:
    """torch's varlen_attn runs on no processor: here a right function of its names, causal by a window."""

    def varlen_attn(
        query: Tensor, key: Tensor, value: Tensor, cu_seq_q: Tensor, cu_seq_k: Tensor | None, max_q: int, max_k: int, *,
        scale: float | None = None, window_size: tuple[int, int] = (-1, -1), enable_gqa: bool = False,
    ) -> Tensor:  # fmt: skip
        if query.shape[1] != key.shape[1] and not enable_gqa:
            raise ValueError("enable_gqa")
        assert cu_seq_k is not None
        how: dict[str, Any] = {"softmax_scale": scale, "window_size": window_size}
        return packed_attention(query, key, value, cu_seq_q, cu_seq_k, **how)

    results = conforming(varlen_attn, CONTRACT, **WIDE)
    without = {law.name for law in packed_features.LAWS} - {"packed_windows_are_the_texts_own"}
    assert {r.status for name, r in results.items() if name not in without} == {"held"}


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["one_text_of_all", "heads_shared_in_turn", "gradients_of_the_first_text"])
def test_counterexamples_are_programs_that_fail_on_the_fault_alone(name: str, tmp_path: Any) -> None:
    law = SEEN_BY.get(name, "packed_texts_agree_with_the_truth")
    path = tmp_path / "packs.py"
    text = "from attention_core.faults import varlen\n\nattention = varlen.{}()\n"
    path.write_text(text.format(name), encoding="utf-8")
    snippet = counterexample(law, f"{path}:attention", CONTRACT, **WIDE)
    assert outcomes({"fault": snippet})["fault"].startswith("AssertionError"), snippet
    path.write_text(text.format("build"), encoding="utf-8")
    assert outcomes({"right": snippet}) == {"right": ""}
    assert len(snippet) < 1500, snippet


def test_the_smallest_case_of_a_lost_boundary_is_two_texts() -> None:
    result = judged(
        "packed_texts_agree_with_the_truth", faults.one_text_of_all(), contract=CONTRACT, shrink=True, **WIDE
    )
    assert result.counterexample is not None
    texts = result.counterexample.data["options"]["texts"]
    assert len(texts) == 2 and sum(map(sum, texts)) <= 4, texts


def test_a_text_without_rows_is_no_shape_to_fear() -> None:
    x, ends = torch.ones(0, 2, 3), torch.zeros(3, dtype=torch.int32)
    assert packed_attention(x, x, x, ends, ends).shape == (0, 2, 3)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_gradients_of_a_function_that_declines_shared_heads_are_judged(seed: int) -> None:
    def with_as_many_heads(attend: Callable[..., Any]) -> Callable[..., Any]:
        def attention(q: Tensor, k: Tensor, v: Tensor, cu_seqlens: Tensor) -> Any:
            if q.shape[1] != k.shape[1]:
                raise ValueError("as many heads of keys as of queries")
            return attend(q, k, v, cu_seqlens)

        return attention

    def detached(q: Tensor, k: Tensor, v: Tensor, cu_seqlens: Tensor) -> Any:
        return faults.a_loop_over_texts(q, k.detach(), v, cu_seqlens)

    law = "packed_gradients_are_true"
    held(law, with_as_many_heads(faults.a_loop_over_texts), contract=CONTRACT, seed=seed)
    refuted(law, with_as_many_heads(detached), "quick", contract=CONTRACT, seed=seed)
