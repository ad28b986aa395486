"""Power and false alarms of the laws of sinks: every fault is refuted, right functions hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from judging import held, refuted
from torch import Tensor

from attention_core.conformance.laws import sinks
from attention_core.faults import features as faults

WIDE: dict[str, Any] = {"accumulate": "float32"}
SEEN_BY = {
    "sink_of_minus_20_at_least": "a_low_sink_takes_nothing",
    "sink_without_a_gradient": "the_sinks_gradient_is_true",
    "sink_gradient_with_the_other_sign": "the_sinks_gradient_is_true",
    "backward_without_the_sink": "gradients_with_sinks_are_true",
}
"""One law that must see it, where that is not the comparison with the truth."""


@pytest.mark.parametrize("law", sinks.LAWS, ids=lambda law: law.name)
def test_every_law_refutes_the_fault_it_names(law: sinks.Law) -> None:
    refuted(law.name, getattr(faults, law.fault)(), effort="quick", **WIDE)


@pytest.mark.parametrize("fault", faults.SINKS)
@pytest.mark.parametrize("seed", [0, 1])
def test_every_fault_is_refuted(fault: Callable[..., Any], seed: int) -> None:
    refuted(SEEN_BY.get(fault.__name__, "a_sink_takes_its_weight"), fault(), "quick", seed=seed, **WIDE)


@pytest.mark.thorough(keep=("0", "1"))
@pytest.mark.parametrize("seed", range(4))
def test_a_right_function_holds(seed: int) -> None:
    for law in sinks.LAWS:
        held(law.name, faults.build(), seed=seed, **WIDE)


@pytest.mark.thorough(keep=("0",))
@pytest.mark.parametrize("seed", range(4))
def test_gpt_oss_of_transformers_holds(seed: int) -> None:
    gpt_oss = pytest.importorskip("transformers.models.gpt_oss.modeling_gpt_oss")

    def attention(query: Tensor, key: Tensor, value: Tensor, sinks: Tensor, attn_mask: Tensor | None = None) -> Tensor:
        from types import SimpleNamespace

        module = SimpleNamespace(num_key_value_groups=1, training=False, sinks=sinks)
        out: Tensor = gpt_oss.eager_attention_forward(
            module, query, key, value, attn_mask, scaling=query.shape[-1] ** -0.5
        )[0].transpose(1, 2)
        return out

    for law in sinks.LAWS:
        held(law.name, attention, seed=seed, masks="additive", dead_rows="nan", dtypes=("float32", "bfloat16"))


@pytest.mark.thorough(keep=("[01]-*",))
@pytest.mark.parametrize("make", [faults.by_a_further_key, faults.sink_by_the_log_sum_exp])
@pytest.mark.parametrize("seed", range(4))
def test_other_ways_to_a_sink_hold(make: Callable[[], Any], seed: int) -> None:
    record = WIDE if make is faults.sink_by_the_log_sum_exp else {**WIDE, "dead_rows": "unspecified"}
    for law in sinks.LAWS:
        held(law.name, make(), seed=seed, **record)


def test_sinks_without_a_default_are_given_minus_infinity() -> None:
    right = faults.build()

    def attention(query: Tensor, key: Tensor, value: Tensor, s_aux: Tensor) -> Tensor:
        out: Tensor = right(query, key, value, sinks=s_aux)
        return out

    for law in sinks.LAWS:
        held(law.name, attention, **WIDE)
    held("agrees_with_truth", attention, **WIDE)
