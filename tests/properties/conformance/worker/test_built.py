"""What is built or wrapped beside the code under test: configs, classes by their contract, functions with a module."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from attention_core.conformance import Implementation, check_implementation
from attention_core.conformance.worker.built import (
    config_class_of,
    contract_of_class,
    names_of_config,
    step_of_class,
    store_of_class,
    takes_a_module,
)

pytestmark = pytest.mark.usefixtures("fewest_cases")


def test_a_config_made_of_two_others_is_passed_over_for_one_with_heads() -> None:
    from transformers.models.siglip.configuration_siglip import SiglipConfig
    from transformers.models.siglip.modeling_siglip import SiglipAttention

    found = config_class_of(SiglipAttention)
    assert found is not None and "num_attention_heads" in found["names"] and "hidden_size" in found["names"]
    assert "num_attention_heads" not in names_of_config(SiglipConfig)


def test_an_annotated_config_is_taken() -> None:
    from transformers.models.llama.modeling_llama import LlamaAttention

    found = config_class_of(LlamaAttention)
    assert found is not None and found["of"].endswith(":LlamaConfig")


def shared(module: Any, x: Tensor) -> Tensor:
    """Fewer heads of keys, each for as many heads of queries as the module says."""
    return x.repeat_interleave(module.num_key_value_groups, dim=1)


def eager_attention_forward(
    module: Any, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, scaling: float,
    dropout: float = 0.0, **kwargs: Any,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """As transformers has it; the returned weights are those after dropout."""
    weights = query @ shared(module, key).transpose(2, 3) * scaling
    if attention_mask is not None:
        weights = weights + attention_mask[:, :, :, : key.shape[-2]]
    weights = weights.softmax(-1, dtype=torch.float32).to(query.dtype)
    weights = nn.functional.dropout(weights, p=dropout, training=module.training)
    return (weights @ shared(module, value)).transpose(1, 2).contiguous(), weights


def repeated(
    module: Any, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, scaling: float
) -> Any:
    """`repeat` in place of `repeat_interleave`."""
    key, value = (x.repeat(1, module.num_key_value_groups, 1, 1) for x in (key, value))
    return (query @ key.transpose(2, 3) * scaling).softmax(-1) @ value


def test_a_function_that_wants_its_module_gets_a_stand_in_and_conforms_under_what_is_found() -> None:
    report = check_implementation(eager_attention_forward, "quick")
    assert report.first_look is not None
    assert any("--out-layout bnhd" in note and "--dropped-weights" in note for note in report.notes), report.notes
    assert report.under_found is not None and report.under_found.verdict == "conforms", report.under_found
    assert any(note.startswith("its module is a stand-in") for note in report.notes)


def two_masks_of_dropout(query: Tensor, key: Tensor, value: Tensor, dropout: float = 0.0) -> tuple[Tensor, Tensor]:
    """The weights that it returns are dropped anew, and are not those of the output."""
    weights = (query @ key.transpose(-2, -1) * query.shape[-1] ** -0.5).softmax(-1)
    used, told = (nn.functional.dropout(weights, dropout) for _ in range(2))
    return used @ value, told


def test_weights_declared_to_be_those_after_dropout_are_those_of_the_output() -> None:
    record = Implementation(two_masks_of_dropout, returns="out,weights", dropped_weights=True, dtypes=("float32",))
    report = check_implementation(record, "quick", laws=("returned_weights_are_before_dropout",))
    assert report.verdict == "refuted"


def test_a_wrong_function_with_a_module_is_refuted() -> None:
    record = Implementation(repeated, dtypes=("float32",), gradients=False, claims=("scale", "enable_gqa"))
    report = check_implementation(record, "quick", laws=("grouped_query_equals_repeated_keys",))
    assert report.verdict == "refuted"
    (found,) = report.counterexamples
    assert "module = SimpleNamespace(num_key_value_groups=groups" in found.snippet


@pytest.mark.parametrize("function", [torch.softmax, nn.Softmax(-1), lambda query, key, value: value])
def test_other_callables_want_no_module(function: Any) -> None:
    assert not takes_a_module(function)


class Sized(nn.Module):
    """Sizes have defaults."""

    def __init__(self, dim: int = 8, heads: int = 2) -> None:
        super().__init__()

    def forward(self, x: Tensor) -> Tensor:
        return x


class Unsized(nn.Module):
    """Has no size, and is called with one input."""

    def forward(self, x: Tensor) -> Tensor:
        return x


class Store:
    """Keeps keys and values, and attends to nothing."""

    def update(self, key: Tensor, value: Tensor) -> None:
        """Keep them."""


class Stepwise(Store):
    def step(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        return query


class Called(Stepwise):
    def __call__(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        return query


class Rotated:
    """Takes its inputs by Llama's names."""

    def forward(self, xq: Tensor, xk: Tensor, xv: Tensor) -> Tensor:
        return xq


STEPS = [(Store, None), (Stepwise, "step"), (Called, ""), (Unsized, ""), (Rotated, "forward")]


@pytest.mark.parametrize(("kind", "step"), STEPS)
def test_how_the_objects_of_a_class_take_their_inputs(kind: type, step: str | None) -> None:
    assert step_of_class(kind) == step
    assert store_of_class(kind) == ("update" if issubclass(kind, Store) else "")


@pytest.mark.parametrize(("kind", "contract"), [(Sized, "multi-head"), (Unsized, ""), (nn.Linear, "")])
def test_the_contract_of_a_class(kind: type, contract: str) -> None:
    assert contract_of_class(kind, True) == contract
