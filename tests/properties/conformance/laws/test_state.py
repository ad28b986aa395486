"""Power and false alarms of the laws of state.

Laws of state: each refutes the faults it names; correct kernels, even with random sums, are left in peace.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from judging import held, judged, refuted

from attention_core.conformance import Implementation
from attention_core.conformance.engine.session import Session, select_laws
from attention_core.conformance.laws import modes, state
from attention_core.declaration.implementation import CLAIMS
from attention_core.faults import state as faults
from attention_core.faults.bases.reference import correct
from attention_core.kernels.dot_product import dot_product_attention
from attention_core.kernels.tiled import tiled_attention

CAUGHT = {
    "the_same_call_twice_agrees": ("forward_race",),
    "the_same_gradients_twice_agree": ("backward_race",),
    "graphs_alive_together_keep_their_own": ("backward_of_the_last_call",),
    "a_graph_gives_its_gradients_twice": ("backward_destroys_what_it_saved",),
    "calls_in_between_leave_no_trace": (
        "causal_sized_by_the_first_call", "causal_kept_by_query_length", "padded_to_the_longest_so_far",
        "scale_of_the_first_call", "scale_of_the_last_call", "keys_kept_by_shape",
    ),
    "the_order_of_calls_does_not_matter": ("padded_to_the_longest_so_far", "scale_of_the_last_call"),
    "earlier_masks_are_forgotten": ("mask_of_the_last_call", "mask_kept_by_shape"),
    "an_earlier_dtype_leaves_no_trace": ("causal_fill_of_the_first_dtype",),
    "evaluation_has_no_dropout": ("drops_in_evaluation",),
    "training_leaves_evaluation_alone": ("training_moves_the_temperature",),
    "training_keeps_its_dropout_after_evaluation": ("dropout_lost_in_evaluation",),
}  # fmt: skip
FUNCTION_LAWS = [law.name for law in state.LAWS if law.declares is None or "gradients" in law.name]
KERNELS: list[tuple[Callable[..., Any], dict[str, Any]]] = [
    (correct, {}),
    (torch.nn.functional.scaled_dot_product_attention, {"claims": CLAIMS}),
    (dot_product_attention, {}),
    (tiled_attention, {}),
]
IDS = ["correct", "torch", "dot_product", "tiled"]


@pytest.mark.thorough(one_for="law")
@pytest.mark.parametrize(("law", "fault"), [(law, name) for law, names in CAUGHT.items() for name in names])
def test_refutes(law: str, fault: str) -> None:
    refuted(law, getattr(faults, fault)())


@pytest.mark.thorough(table=True)
@pytest.mark.parametrize("law", FUNCTION_LAWS)
@pytest.mark.parametrize(("function", "record"), KERNELS, ids=IDS)
def test_holds_for_correct(law: str, function: Callable[..., Any], record: dict[str, Any]) -> None:
    held(law, function, **record)


@pytest.mark.parametrize(("function", "record"), KERNELS, ids=IDS)
def test_correct_kernels_are_deterministic(function: Callable[..., Any], record: dict[str, Any]) -> None:
    held("declared_deterministic_gives_the_same_bits", function, deterministic=True, **record)


def test_random_order_of_sums_is_allowed_unless_declared_deterministic() -> None:
    held("the_same_call_twice_agrees", faults.sums_in_random_order())
    refuted("declared_deterministic_gives_the_same_bits", faults.sums_in_random_order(), deterministic=True)
    result = judged("declared_deterministic_gives_the_same_bits", faults.sums_in_random_order())
    assert result.status == "not_applicable"


@pytest.mark.parametrize("law", [law.name for law in modes.LAWS])
def test_modules_with_dropout_are_left_in_peace(law: str) -> None:
    held(law, faults.dropout_module())


@pytest.mark.thorough(leave_out=("*-drops_in_evaluation",))
@pytest.mark.parametrize(
    ("law", "fault"), [(law.name, name) for law in modes.LAWS for name in CAUGHT[law.name]]
)  # fmt: skip
@pytest.mark.usefixtures("unshrunk")
def test_early_calls_spoil_no_module(law: str, fault: str) -> None:
    with Session(Implementation(getattr(faults, fault)()), effort="standard") as session:
        (result,) = session.results(select_laws(session.laws, [law]))
        assert session.first_look is not None  # made before the law
    assert result.status == "refuted", result.message


def test_functions_have_no_training_mode() -> None:
    assert judged("training_keeps_its_dropout_after_evaluation", correct).status == "not_applicable"


def test_snippet_makes_the_earlier_calls_too() -> None:
    fault = faults.mask_of_the_last_call()
    result = judged("earlier_masks_are_forgotten", fault, shrink=True)
    assert result.counterexample is not None
    text = result.counterexample.snippet.replace("# put your implementation here:  attention = ...", "")
    space = {"attention": faults.mask_of_the_last_call()}
    with pytest.raises(AssertionError, match="after a call with another mask"):
        exec(text, space)
    exec(text, {"attention": correct})


def test_snippet_goes_back_through_one_graph_twice() -> None:
    result = judged("a_graph_gives_its_gradients_twice", faults.backward_destroys_what_it_saved(), shrink=True)
    assert result.counterexample is not None
    text = result.counterexample.snippet.replace("# put your implementation here:  attention = ...", "")
    assert len(text.splitlines()) < 25
    with pytest.raises(AssertionError, match="second backward"):
        exec(text, {"attention": faults.backward_destroys_what_it_saved()})
    exec(text, {"attention": correct})


def test_an_accepted_call_may_not_be_refused_later() -> None:
    seen: set[bytes] = set()

    def moody(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        call = b"".join(x.double().numpy().tobytes() for x in (query, key, value))
        if call in seen:
            raise ValueError("not again")
        seen.add(call)
        return correct(query, key, value)

    result = refuted("calls_in_between_leave_no_trace", moody, "quick")
    assert "had answered before" in result.message


def test_every_law_has_its_fault() -> None:
    for law in (*state.LAWS, *modes.LAWS):
        assert law.fault in CAUGHT.get(law.name, ("sums_in_random_order",)), law.name
        assert hasattr(faults, law.fault)
