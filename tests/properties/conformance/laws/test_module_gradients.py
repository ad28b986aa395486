"""Laws of the gradients of modules: every planted fault is refuted, every right module is left in peace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from judging import held, judged, refuted
from torch import Tensor, nn

from attention_core.conformance import Implementation, check_implementation
from attention_core.conformance.laws import module_gradients
from attention_core.conformance.laws.multi_head import CONTRACT
from attention_core.faults import module_backward as faults
from attention_core.faults.bases import multi_head as modules
from attention_core.modules.self_attention import MultiHeadSelfAttention, shared_projection_attention
from attention_core.peers.torch_mha_module import mha_module

PARAMETERS, INPUTS = "gradients_of_parameters_are_true", "gradients_of_inputs_are_true"
SEEN_BY_INPUTS = (
    "input_gradient_without_keys", "backward_wrong_in_training_alone", "context_without_gradient",
    "value_gradient_through_the_key",
)  # fmt: skip


@pytest.mark.parametrize("law", module_gradients.LAWS, ids=lambda law: law.name)
def test_every_law_refutes_the_fault_it_names(law: module_gradients.Law) -> None:
    refuted(law.name, getattr(faults, law.fault), "quick", contract=CONTRACT)


@pytest.mark.thorough(table=True, one_for="fault")
@pytest.mark.parametrize("fault", faults.FAULTY)
@pytest.mark.parametrize("seed", range(2))
def test_every_fault_is_refuted_at_quick(fault: Callable[..., Any], seed: int) -> None:
    refuted(INPUTS if fault.__name__ in SEEN_BY_INPUTS else PARAMETERS, fault, "quick", contract=CONTRACT, seed=seed)


def sequence_first(embed_dim: int, num_heads: int) -> nn.Module:
    return nn.MultiheadAttention(embed_dim, num_heads)


class GroupedHeads(modules.MultiHead):
    """Fewer heads of keys than of queries."""

    def __init__(self, embed_dim: int, num_heads: int, num_kv_heads: int | None = None) -> None:
        self.keys = num_kv_heads or num_heads
        super().__init__(embed_dim, num_heads)

    def build(self) -> None:
        """The projections."""
        super().build()
        rows = self.keys * (self.embed // self.heads)
        self.k_proj, self.v_proj = (nn.Linear(self.embed, rows) for _ in range(2))

    def split(self, x: Tensor) -> Tensor:
        d = self.embed // self.heads
        y = x.unflatten(-1, (-1, d)).transpose(1, 2)
        return y.repeat_interleave(self.heads // y.shape[1], 1)


RIGHT: list[tuple[Callable[..., Any], dict[str, Any]]] = [
    (mha_module, {"mask_true": "ignore"}),
    (sequence_first, {"mask_true": "ignore", "parameters": {"batch_first": False}}),
    (MultiHeadSelfAttention, {}), (shared_projection_attention, {}), (GroupedHeads, {}),
    *((right, {}) for right in (*faults.RIGHT, *modules.NAMINGS, modules.with_dropout, modules.Crossing, modules.Apart)),
]  # fmt: skip


@pytest.mark.thorough(table=True, keep=("0-*",))
@pytest.mark.parametrize(("module", "record"), RIGHT, ids=[module.__name__ for module, _ in RIGHT])
@pytest.mark.parametrize("seed", range(4))
def test_right_modules_are_left_in_peace(module: Callable[..., Any], record: dict[str, Any], seed: int) -> None:
    for law in (PARAMETERS, INPUTS):
        held(law, module, contract=CONTRACT, seed=seed, **record)


class FirstOfItsGroup(GroupedHeads):
    """Keys and values get the gradient of the first head of their group alone."""

    def split(self, x: Tensor) -> Tensor:
        y = super().split(x)
        group = self.heads // (x.shape[-1] * self.heads // self.embed)
        first = torch.arange(y.shape[1]) % group == 0
        return torch.where(first[:, None, None], y, y.detach())


def test_the_gradients_of_a_group_are_added_up() -> None:
    refuted(PARAMETERS, FirstOfItsGroup, "quick", contract=CONTRACT)


class ForwardOnly(modules.MultiHead):
    """Computes without a graph."""

    @torch.no_grad()
    def forward(self, x: Tensor) -> Any:  # type: ignore[override]
        """Without masks."""
        return super().forward(x)


@pytest.mark.usefixtures("fewest_cases")
def test_a_module_that_is_forward_only_is_found_to_be_so() -> None:
    dtypes = ("float32", "float64")
    report = check_implementation(Implementation(ForwardOnly, "target", CONTRACT, dtypes=dtypes), "quick")
    assert report.first_look is not None and dict(report.first_look.found) == {"gradients": False}
    assert "--no-gradients" in report.first_look.options()
    assert report.under_found is not None and report.under_found.verdict == "conforms"


class AllFrozen(modules.MultiHead):
    def build(self) -> None:
        """Nothing trains."""
        super().build()
        self.requires_grad_(False)


def test_a_module_of_frozen_parameters_has_no_gradient_of_them_to_judge() -> None:
    result = judged(PARAMETERS, AllFrozen, contract=CONTRACT)
    assert result.status == "not_applicable" and "every parameter of the module is frozen" in result.message
    held(INPUTS, AllFrozen, contract=CONTRACT)


class LayerNormed(modules.MultiHead):
    """Queries pass a norm."""

    def build(self) -> None:
        super().build()
        self.q_norm = nn.LayerNorm(self.embed)

    def project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        q, k, v = super().project(x)
        return self.q_norm(q), k, v


def test_norms_of_queries_are_not_modelled_and_said_to_be_so() -> None:
    result = judged(PARAMETERS, LayerNormed, contract=CONTRACT)
    assert result.status == "not_applicable" and "pass a norm, whose gradient is not modelled" in result.message
