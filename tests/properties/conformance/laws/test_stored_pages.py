"""Power and false alarms of the laws of stored pages, and of packed queries over pages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from judging import refuted
from judging_contracts import conforming, named_faults

from attention_core.conformance import Implementation
from attention_core.conformance.engine.session import Session
from attention_core.conformance.laws import packed_features, stored_pages
from attention_core.conformance.laws.paged import CONTRACT
from attention_core.declaration.implementation import TargetError
from attention_core.faults import stored_pages as faults

WIDE: dict[str, Any] = {"contract": CONTRACT, "accumulate": "float32"}
SEEN_BY = {  # one law that must see it
    "small_page_scales_raised": "scales_of_pages_may_lie_far_apart",
    "least_page_number_raised": "all_numbers_of_stored_pages_are_read",
    "page_scales_of_the_first_call": "an_earlier_call_leaves_no_page_scale",
    "page_scale_of_the_query_head": "query_heads_share_stored_heads_and_scales",
}
SILENT = {
    *(law.name for law in packed_features.LAWS), "new_tokens_are_appended", "values_may_have_more_features_than_keys",
}  # fmt: skip
"""Laws of what these targets have not."""


@pytest.mark.parametrize("law", stored_pages.LAWS, ids=lambda law: law.name)
def test_every_law_refutes_the_fault_it_names(law: stored_pages.Law) -> None:
    fault = getattr(faults, law.fault)
    refuted(law.name, fault(), "quick", **WIDE, parameters=faults.FAULTY[fault])


@pytest.mark.thorough(leave_out=named_faults(stored_pages.LAWS, faults.FAULTY))
@pytest.mark.parametrize("fault", faults.FAULTY, ids=lambda fault: fault.__name__)
def test_every_fault_is_refuted(fault: Callable[..., Any]) -> None:
    central = "paged_keys_agree_with_the_truth" if fault in faults.UNIFIED else "stored_pages_agree_with_the_truth"
    law = SEEN_BY.get(fault.__name__, central)
    refuted(law, fault(), "quick", **WIDE, parameters=faults.FAULTY[fault])


@pytest.mark.thorough(keep=("tensor-int8", "page-float8_e4m3fn", "token-float8_e5m2"))
@pytest.mark.parametrize("kind", ["int8", "float8_e4m3fn", "float8_e5m2"])
@pytest.mark.parametrize("scales", ["tensor", "head", "sequence", "page", "token"])
def test_right_kernels_conform_with_scales_of(scales: str, kind: str) -> None:
    made = faults.build_of_pages() if scales == "page" else faults.build()
    record = {"accumulate": "float32", "parameters": {"stored": kind, "scales": scales}}
    results = conforming(made, CONTRACT, "quick", 0, **record)
    silent = {law for law, r in results.items() if r.status == "not_applicable"}
    assert silent - SILENT <= ({"texts_may_share_pages"} if scales == "sequence" else set())


def test_dequantising_to_the_dtype_of_the_query_needs_no_declaration() -> None:
    def read(pages: Any, used: Any, factor: Any, wide: Any) -> Any:
        return (pages[used].bfloat16() * factor.bfloat16()).to(wide).flatten(0, 1)

    record = {"dtypes": ("bfloat16",), "parameters": {"stored": "int8", "scales": "head"}}
    conforming(faults.build(read=read, read_value=read), CONTRACT, "quick", 0, **record)


@pytest.mark.parametrize("seed", [0, 1])
def test_packed_queries_over_pages_conform(seed: int) -> None:
    results = conforming(faults.build_unified(), CONTRACT, "quick", seed, accumulate="float32")
    own = {law.name for law in stored_pages.LAWS}
    silent = {law for law, r in results.items() if r.status == "not_applicable"}
    assert silent - SILENT - own == set()


@pytest.mark.parametrize(
    ("target", "parameters", "words"),
    [
        (faults.build(), {}, "declare how pages are stored"),
        (faults.build(), {"stored": "int8", "scales": "block"}, "tensor, head, sequence, page or token"),
        (faults.build_unified(), {"stored": "int8"}, "name them k_scale and v_scale"),
    ],
)
def test_what_is_half_declared_says_what_to_do(target: Any, parameters: dict[str, Any], words: str) -> None:
    implementation = Implementation(target, **WIDE, parameters=parameters)
    with pytest.raises(TargetError, match=words):
        Session(implementation, effort="quick").close()


def test_lists_of_pages_with_their_ends_are_called_as_they_are() -> None:
    def decode(q: Any, k: Any, v: Any, kv_indptr: Any, kv_indices: Any, kv_last_page_len: Any) -> Any:
        table = kv_indices.new_zeros(len(q), max(int(kv_indptr.diff().max()), 1)) if len(q) else kv_indices[None]
        for b in range(len(q)):
            own = kv_indices[int(kv_indptr[b]) : int(kv_indptr[b + 1])]
            table[b, : len(own)] = own
        lengths = (kv_indptr.diff() - 1) * k.shape[1] + kv_last_page_len
        right = faults.build(given=lambda *_: (q.new_ones(()), q.new_ones(())))
        return right(q[:, None], k, v, table, lengths, None, None)[:, 0]

    parameters = {"query": "bhd"}
    wrong = decode

    def late(q: Any, k: Any, v: Any, kv_indptr: Any, kv_indices: Any, kv_last_page_len: Any) -> Any:
        return wrong(q, k, v, kv_indptr, kv_indices, kv_last_page_len % k.shape[1])  # a full last page counts as empty

    conforming(decode, CONTRACT, "quick", 0, accumulate="float32", parameters=parameters)
    refuted("paged_keys_agree_with_the_truth", late, "quick", **WIDE, parameters=parameters)
