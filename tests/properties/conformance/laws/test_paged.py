"""Power and false alarms of the laws of paged keys: each refutes its fault, every fault is refuted, right ones conform."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest
import torch
from judging import judged, refuted
from judging_contracts import conforming, counterexample, named_faults, outcomes
from torch import Tensor

from attention_core.conformance import Implementation
from attention_core.conformance.engine.session import Session
from attention_core.conformance.laws import packed_features, paged, stored_pages
from attention_core.conformance.laws.paged import CONTRACT
from attention_core.declaration.implementation import TargetError
from attention_core.faults import paged as faults
from attention_core.kernels.packed import paged_attention

WIDE: dict[str, Any] = {"accumulate": "float32"}
SINGLE: dict[str, Any] = {**WIDE, "dtypes": ("float32", "bfloat16", "float16")}
SEEN_BY = {  # one law that must see it
    "last_page_read_whole_and_weighed_by_zero": "unused_pages_and_tails_do_not_matter",
    "length_from_the_table": "entries_behind_the_last_page_are_not_followed",
    "page_belongs_to_its_last_text": "texts_may_share_pages",
    "common_pages_counted_behind_others": "texts_may_share_pages",
    "empty_text_reads_its_first_page": "texts_without_keys_are_dead",
    "nan_of_a_text_without_keys": "texts_without_keys_are_dead",
    "one_maximum_for_all_heads_of_pages": "query_heads_share_pages_heads_in_order",
    "paged_heads_shared_in_turn": "query_heads_share_pages_heads_in_order",
    "pages_beyond_the_sixteenth_skipped": "many_pages_are_read_to_the_last",
    "new_tokens_at_the_start_of_their_page": "new_tokens_are_appended",
    "new_tokens_in_the_first_ones_page": "new_tokens_are_appended",
    "new_tokens_not_attended": "new_tokens_are_appended",
    "padding_of_new_tokens_is_written": "new_tokens_are_appended",
    "value_pages_by_the_strides_of_keys": "pages_are_read_by_their_own_strides",
    "pages_taken_as_contiguous": "pages_are_read_by_their_own_strides",
    "written_table_not_seen": "arguments_changed_in_place_are_read_anew",
    "paged_groups_of_four_in_turn": "query_heads_share_pages_heads_in_order",
}


def decode_attention_fwd(
    q: Tensor, k_buffer: Tensor, v_buffer: Tensor, o: Tensor, kv_indptr: Tensor, kv_indices: Tensor, attn_logits: Tensor,
    attn_lse: Tensor, num_kv_splits: Tensor, max_kv_splits: int, sm_scale: float, logit_cap: float = 0.0,
) -> None:  # fmt: skip
    """SGLang's call: keys one by one, in as many parts as it is told, into arrays that it is given."""
    assert attn_logits.shape == (*q.shape[:2], max_kv_splits, v_buffer.shape[-1])
    assert attn_lse.shape == attn_logits.shape[:-1]
    group = q.shape[1] // k_buffer.shape[1]
    for b, parts in enumerate(num_kv_splits.tolist()):
        own = kv_indices[int(kv_indptr[b]) : int(kv_indptr[b + 1])].long()
        attn_lse[b] = -torch.inf
        for part, slots in enumerate(own.tensor_split(parts)):
            k, v = (x[slots].float().repeat_interleave(group, 1) for x in (k_buffer, v_buffer))
            scores = torch.einsum("hd,jhd->hj", q[b].float(), k) * sm_scale
            scores = logit_cap * torch.tanh(scores / logit_cap) if logit_cap else scores
            attn_lse[b, :, part] = scores.logsumexp(-1)
            attn_logits[b, :, part] = torch.einsum("hj,jhe->he", scores.softmax(-1), v)
        weights = attn_lse[b].nan_to_num(neginf=-1e30).softmax(-1) * (attn_lse[b] > -torch.inf)
        o[b] = (weights[..., None] * attn_logits[b].nan_to_num(0.0)).sum(1).to(o.dtype)


def decode_without_its_last_part(*args: Any, **named: Any) -> None:
    """The same, but the merge leaves out the last part of several keys."""
    decode_attention_fwd(*args, **{**named, "num_kv_splits": named["num_kv_splits"]})
    lse, logits = named["attn_lse"], named["attn_logits"]
    weights = lse[..., :-1].nan_to_num(neginf=-1e30).softmax(-1) * (lse[..., :-1] > -torch.inf)
    named["o"].copy_((weights[..., None] * logits[..., :-1, :].nan_to_num(0.0)).sum(2))


RIGHT: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "ours": (paged_attention, WIDE),
    "steps": (faults.build(), WIDE),
    "gathered": (faults.gathered_and_masked, SINGLE),
    "one token": (faults.decode_one_token, {**SINGLE, "parameters": {"query": "bhd", "pages": "phsd"}}),
    "sglang": (decode_attention_fwd, SINGLE),
}
FEATURES = {law.name for law in (*packed_features.LAWS, *stored_pages.LAWS)}
"""Laws that say something of kernels with a window, a cap, sinks or slopes, or of stored numbers, alone."""


@pytest.mark.parametrize("law", paged.LAWS, ids=lambda law: law.name)
def test_every_law_refutes_the_fault_it_names(law: paged.Law) -> None:
    refuted(law.name, getattr(faults, law.fault)(), effort="quick", contract=CONTRACT, **WIDE)


@pytest.mark.thorough(table=True, leave_out=named_faults(paged.LAWS, faults.FAULTY))
@pytest.mark.parametrize("fault", faults.FAULTY)
def test_every_fault_is_refuted(fault: Callable[..., Any]) -> None:
    law = SEEN_BY.get(fault.__name__, "paged_keys_agree_with_the_truth")
    refuted(law, fault(), "quick", contract=CONTRACT, **WIDE)


def test_a_kernel_of_parts_is_given_arrays_for_them() -> None:
    wrong = functools.wraps(decode_attention_fwd)(decode_without_its_last_part)
    refuted("paged_keys_agree_with_the_truth", wrong, "quick", contract=CONTRACT, **SINGLE)


@pytest.mark.thorough(keep=("ours-0", "sglang-0"))
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", RIGHT)
def test_right_kernels_conform(name: str, seed: int) -> None:
    target, record = RIGHT[name]
    results = conforming(target, CONTRACT, "quick", seed, **record)
    silent = {law for law, r in results.items() if r.status == "not_applicable"}
    assert silent - FEATURES == (set() if name == "steps" else {"new_tokens_are_appended"})


def test_heads_shared_in_turn_can_be_declared() -> None:
    law, turned = "query_heads_share_pages_heads_in_order", faults.paged_heads_shared_in_turn()
    assert judged(law, turned, "quick", contract=CONTRACT, grouping="modular", **WIDE).status == "held"
    refuted(law, faults.build(), "quick", contract=CONTRACT, grouping="modular", **WIDE)


def test_a_weight_of_zero_lets_nan_through_unless_that_is_declared() -> None:
    fault, law = faults.last_page_read_whole_and_weighed_by_zero(), "unused_pages_and_tails_do_not_matter"
    assert "declare --masked-nan unspecified" in refuted(law, fault, "quick", contract=CONTRACT, **WIDE).message
    assert judged(law, fault, contract=CONTRACT, masked_nan="unspecified", **WIDE).status == "held"


def test_heads_may_stand_before_tokens_and_a_log_sum_exp_may_come_back() -> None:
    def attention(
        query: Tensor, key_pages: Tensor, value_pages: Tensor, page_table: Tensor, seq_lens: Tensor
    ) -> tuple[Tensor, Tensor]:
        q = query.transpose(1, 2)
        out = paged_attention(q, key_pages, value_pages, page_table, seq_lens).transpose(1, 2)
        lse = torch.full(query.shape[:3], -torch.inf)
        for b, n in enumerate(seq_lens.tolist()):
            keys = faults.expand(faults.gather(key_pages, page_table[b], n), query.shape[1]).float()
            lse[b] = torch.einsum("hid,jhd->hij", query[b].float() * query.shape[-1] ** -0.5, keys).logsumexp(-1)
        return out, lse

    record = {**SINGLE, "returns": "out,lse", "parameters": {"query": "bhnd"}}
    conforming(attention, CONTRACT, **record)
    wrong = lambda query, key_pages, value_pages, page_table, seq_lens: (  # noqa: E731
        (found := attention(query, key_pages, value_pages, page_table, seq_lens))[0], 2 * found[1],
    )  # fmt: skip
    message = refuted("paged_keys_agree_with_the_truth", wrong, "quick", contract=CONTRACT, **record).message
    assert "lse of out of paged keys" in message


@pytest.mark.parametrize(
    ("target", "words"),
    [
        (lambda q, k, v, lengths: q, r"has no parameter for a block table \(block_table\)"),
        (lambda q, k, v, block_table: q, r"has no parameter for lengths \(cache_seqlens\)"),
        (lambda q, k, v, block_table, lengths, salt: q, "what the parameter salt is given is not known"),
    ],
)
def test_what_cannot_be_called_is_one_line(target: Any, words: str) -> None:
    with pytest.raises(TargetError, match=words), Session(Implementation(target, "f", CONTRACT)):
        pass


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["pages_in_the_order_of_their_numbers", "new_tokens_at_the_start_of_their_page"])
def test_counterexamples_are_programs_that_fail_on_the_fault_alone(name: str, tmp_path: Any) -> None:
    law = SEEN_BY.get(name, "paged_keys_agree_with_the_truth")
    path = tmp_path / "pages.py"
    text = "from attention_core.faults import paged\n\nattention = paged.{}()\n"
    path.write_text(text.format(name), encoding="utf-8")
    snippet = counterexample(law, f"{path}:attention", CONTRACT, **WIDE)
    assert outcomes({"fault": snippet})["fault"].startswith("AssertionError"), snippet
    path.write_text(text.format("build"), encoding="utf-8")
    assert outcomes({"right": snippet}) == {"right": ""}, snippet
    assert len(snippet) < 2000, snippet


def test_the_smallest_case_has_one_text_and_a_few_keys() -> None:
    law = "paged_keys_agree_with_the_truth"
    result = judged(law, faults.one_key_fewer(), contract=CONTRACT, shrink=True, **WIDE)
    assert result.counterexample is not None
    texts = result.counterexample.data["options"]["texts"]
    assert len(texts) == 1 and texts[0][0] == 1 and texts[0][1] <= 3, texts


def test_a_call_of_one_token_a_text_keeps_its_token_when_it_is_made_small() -> None:
    def attention(
        query: Tensor, key_cache: Tensor, value_cache: Tensor, block_tables: Tensor, seq_lens: Tensor, scale: float
    ) -> Tensor:
        out = faults.decode_one_token(query, key_cache, value_cache, block_tables, seq_lens, scale)
        return torch.where((seq_lens == 0)[:, None, None], 1.0, out)

    record = {**SINGLE, "parameters": {"query": "bhd", "pages": "phsd"}}
    result = judged("texts_without_keys_are_dead", attention, contract=CONTRACT, shrink=True, **record)
    assert result.counterexample is not None
    assert result.counterexample.data["options"]["texts"] == [[1, 0]]


def values_of_the_keys_size(
    q: Tensor, k_cache: Tensor, v_cache: Tensor, cache_seqlens: Tensor, block_table: Tensor
) -> Tensor:
    return faults.build()(q, k_cache, v_cache[..., : q.shape[-1]], None, None, cache_seqlens, block_table)


def test_a_kernel_of_one_head_size_is_not_asked_for_wider_values() -> None:
    law = "values_may_have_more_features_than_keys"
    result = judged(law, values_of_the_keys_size, contract=CONTRACT, **WIDE)
    assert (result.status, result.message) == (
        "not_applicable", "its output has another size than values that are wider than keys",
    )  # fmt: skip

    def padded(q: Tensor, k_cache: Tensor, v_cache: Tensor, cache_seqlens: Tensor, block_table: Tensor) -> Tensor:
        out = values_of_the_keys_size(q, k_cache, v_cache, cache_seqlens, block_table)
        return torch.nn.functional.pad(out, (0, v_cache.shape[-1] - out.shape[-1]))

    assert "declare --sizes 'd == d_v'" in refuted(law, padded, "quick", contract=CONTRACT, **WIDE).message


@pytest.mark.parametrize("gradients", [True, False])
def test_a_report_says_that_gradients_are_not_tested(gradients: bool) -> None:
    record = Implementation(paged_attention, "f", CONTRACT, gradients=gradients, **WIDE)
    with Session(record, effort="quick") as session:
        told = [note for note in session.report([]).notes if note.startswith("gradients are not tested")]
    assert bool(told) is gradients
