"""Power and false alarms of the laws of latent attention: each refutes the fault it names, right ones conform."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from judging import refuted
from judging_contracts import conforming
from torch import Tensor

from attention_core.conformance.laws import latent_attention
from attention_core.conformance.laws.latent_attention import CONTRACT
from attention_core.declaration.sizes import SizeCondition
from attention_core.faults import latent_attention as faults
from attention_core.kernels.latent import absorbed_latent_attention, materialised_latent_attention

SEEN_BY = {  # one law that must see it; the central one where none is named
    "given_scale_of_one_part": "a_given_scale_of_latent_scores_counts",
    "latent_features_beyond_128_dropped": "many_keys_heads_and_latent_features_are_read",
    "heads_beyond_16_are_the_first": "many_keys_heads_and_latent_features_are_read",
    "last_key_of_a_block_lost": "latents_at_the_edge_of_a_block_are_read",
    "latents_read_in_order": "strides_of_latents_are_followed",
    "projection_of_the_first_call": "an_earlier_call_leaves_no_projection",
    "positions_of_sequences_beyond_8_wrap": "many_keys_heads_and_latent_features_are_read",
}
WIDE: dict[str, Any] = {"contract": CONTRACT, "accumulate": "float32"}
GIVEN = "a_given_scale_of_latent_scores_counts"


@pytest.mark.parametrize("law", latent_attention.LAWS, ids=lambda law: law.name)
def test_every_law_refutes_the_fault_it_names(law: latent_attention.Law) -> None:
    refuted(law.name, getattr(faults, law.fault)(), "quick", **WIDE)


@pytest.mark.parametrize("fault", faults.FAULTY)
def test_every_fault_is_refuted(fault: Callable[..., Any]) -> None:
    refuted(SEEN_BY.get(fault.__name__, "latent_attention_agrees_with_the_truth"), fault(), "quick", **WIDE)


@pytest.mark.parametrize(
    "kernel", [absorbed_latent_attention, materialised_latent_attention, faults.absorbed(), faults.decoding()]
)
def test_right_kernels_conform(kernel: Callable[..., Any]) -> None:
    results = conforming(kernel, CONTRACT, accumulate="float32")
    assert not [name for name, r in results.items() if r.status == "not_applicable"]


def test_projections_may_lie_otherwise_and_tokens_before_heads() -> None:
    """W_UK (r, H, d) and W_UV (H, r, d_v), as vLLM has them, all in the query's dtype."""

    def attend(q_nope: Tensor, q_pe: Tensor, kv_c: Tensor, k_pe: Tensor, W_UK: Tensor, W_UV: Tensor) -> Tensor:
        q, rotated = q_nope.transpose(1, 2), q_pe.transpose(1, 2)
        keys, values = torch.einsum("rhd,bnr->bhnd", W_UK, kv_c), torch.einsum("hrd,bnr->bhnd", W_UV, kv_c)
        scores = (q @ keys.mT + rotated @ k_pe[:, None].mT) * (q.shape[-1] + rotated.shape[-1]) ** -0.5
        return (scores.softmax(-1) @ values).transpose(1, 2)

    record = {"layout": "bnhd", "parameters": {"w_uk": "rhd", "w_uv": "hrd"}}
    results = conforming(attend, CONTRACT, dtypes=("float32", "bfloat16", "float16"), **record)
    assert {name for name, r in results.items() if r.status == "not_applicable"} == {GIVEN}


def test_a_kernel_that_decodes_one_token_alone_conforms_at_the_sizes_it_declares() -> None:
    inner = faults.decoding()

    def decode(q_nope: Tensor, q_pe: Tensor, ckv: Tensor, kpe: Tensor, sm_scale: float) -> Tensor:
        if q_nope.shape[2] != 1:
            raise ValueError("one token a call")
        return inner(q_nope, q_pe, ckv, kpe, sm_scale)

    conforming(decode, CONTRACT, accumulate="float32", sizes=SizeCondition("n_q == 1"))
