"""Power and false alarms of the law of handed-out masks, biases and tables.

What builders hand out belongs to the caller: those that keep it are refuted, unless they declare that nobody may write.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from judging import held, judged, refuted
from judging_contracts import conforming, counterexample, outcomes, refuting

from attention_core.conformance.laws.handing_out import LAWS
from attention_core.declaration.implementation import TargetError
from attention_core.declaration.options import check_applies
from attention_core.faults import bias, mask_builder, position_table

LAW = "results_are_the_callers_own"
FAULTY: list[tuple[Callable[..., Any], str, dict[str, Any]]] = [
    *((made, "mask-builder", {"kind": kind}) for kind, all_of in mask_builder.STATEFUL.items() for made in all_of),
    *((made, "bias", {}) for made in bias.STATEFUL),
    *((made, "position-table", {}) for made in position_table.STATEFUL),
]
HANDED_OUT = [one for one in FAULTY if one[0].__name__ != "masks_share_one_buffer"]
"""Without the one that is written anew at each call, and has a law of its own."""


def ids(one: tuple[Callable[..., Any], str, dict[str, Any]]) -> str:
    return one[0].__name__


@pytest.mark.parametrize("one", HANDED_OUT, ids=ids)
def test_what_is_kept_and_handed_out_is_refuted_by_this_law_alone(one: Any) -> None:
    target, contract, parameters = one
    found = refuting(target, contract, parameters=parameters, factory=True)
    assert LAW in found
    told = refuted(LAW, target, "quick", contract=contract, parameters=parameters, factory=True).message
    assert "declare --parameter results=shared" in told


@pytest.mark.parametrize("one", HANDED_OUT, ids=ids)
def test_it_conforms_where_it_is_declared_to_be_shared(one: Any) -> None:
    target, contract, parameters = one
    results = conforming(target, contract, parameters={**parameters, "results": "shared"}, factory=True)
    assert results[LAW].status == "not_applicable"


def test_the_law_names_a_fault_that_it_refutes() -> None:
    assert {law.fault for law in LAWS} == {"one_mask_for_all_callers"}


def test_a_result_that_cannot_be_written_into_is_left_in_peace() -> None:
    """Rows that lie on one another, as those of an expanded tensor, take no numbers of their own."""
    held(LAW, bias.by_key_alone, contract="bias")


def test_arrays_of_jax_are_nobodys_to_write_into() -> None:
    pytest.importorskip("jax")
    import jax.numpy as jnp

    kept: dict[tuple[int, int], Any] = {}

    def table(n: int, d: int) -> Any:
        return kept.setdefault((n, d), jnp.asarray(position_table.correct(n, d).numpy()))

    assert judged(LAW, table, contract="position-table", array="jax").status == "not_applicable"


def test_arrays_of_numpy_are_written_into() -> None:
    kept: dict[tuple[int, int], Any] = {}

    def table(n: int, d: int) -> Any:
        return kept.setdefault((n, d), position_table.correct(n, d).numpy())

    refuted(LAW, table, "quick", contract="position-table", array="numpy")
    held(LAW, lambda n, d: table(n, d).copy(), contract="position-table", array="numpy")


@pytest.mark.thorough
def test_the_counterexample_runs_alone() -> None:
    name = "attention_core.faults.mask_builder:one_mask_for_all_callers"
    program = counterexample(LAW, name, "mask-builder", factory=True, parameters={"kind": "causal"})
    right = program.replace("one_mask_for_all_callers", "mask_of_each_call")
    told = outcomes({"fault": program, "right": right})
    assert told["fault"].startswith("AssertionError") and told["right"] == "", program


def test_one_word_declares_it() -> None:
    for contract in ("mask-builder", "bias", "position-table"):
        check_applies(contract, {"parameters": {"results": "shared"}})
        with pytest.raises(TargetError, match="results=copied: results is shared, or not declared"):
            check_applies(contract, {"parameters": {"results": "copied"}})
    assert torch.equal(mask_builder.one_mask_for_all_callers()(2, 2), torch.ones(2, 2, dtype=torch.bool).tril())
