"""Power and false alarms of the laws of soft caps: every fault is refuted, right functions hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from judging import held, refuted
from torch import Tensor

from attention_core.conformance.laws import softcap
from attention_core.faults import features as faults

WIDE: dict[str, Any] = {"accumulate": "float32"}
SEEN_BY = {
    "cap_of_50_at_most": "a_cap_beyond_all_scores_is_none",
    "backward_without_the_cap": "gradients_through_the_cap_are_true",
}
"""One law that must see it, where that is not the comparison with the truth."""


@pytest.mark.parametrize("law", softcap.LAWS, ids=lambda law: law.name)
def test_every_law_refutes_the_fault_it_names(law: softcap.Law) -> None:
    refuted(law.name, getattr(faults, law.fault)(), effort="quick", **WIDE)


@pytest.mark.parametrize("fault", faults.CAPS)
@pytest.mark.parametrize("seed", [0, 1])
def test_every_fault_is_refuted(fault: Callable[..., Any], seed: int) -> None:
    refuted(SEEN_BY.get(fault.__name__, "scores_are_capped"), fault(), "quick", seed=seed, **WIDE)


@pytest.mark.thorough(keep=("0", "1"))
@pytest.mark.parametrize("seed", range(4))
def test_a_right_function_holds(seed: int) -> None:
    for law in softcap.LAWS:
        held(law.name, faults.build(), seed=seed, **WIDE)


@pytest.mark.thorough(keep=("0",))
@pytest.mark.parametrize("seed", range(4))
def test_gemma2_of_transformers_holds(seed: int) -> None:
    gemma2 = pytest.importorskip("transformers.models.gemma2.modeling_gemma2")

    def attention(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, softcap: float | None = None
    ) -> Tensor:
        from types import SimpleNamespace

        module = SimpleNamespace(num_key_value_groups=1, training=False, head_dim=query.shape[-1], is_causal=False)
        out: Tensor = gemma2.eager_attention_forward(
            module, query, key, value, attn_mask, scaling=query.shape[-1] ** -0.5, softcap=softcap
        )[0].transpose(1, 2)
        return out

    for law in softcap.LAWS:
        held(law.name, attention, seed=seed, masks="additive", dead_rows="nan", dtypes=("float32", "bfloat16"))
    assert torch.is_grad_enabled()
