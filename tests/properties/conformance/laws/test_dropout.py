"""Power, false alarms and stated risks of the laws of dropout.

Laws of dropout: each refutes the faults it names; correct dropout, in bytes too, is left in peace.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
from judging import held, judged, refuted

from attention_core.conformance.laws import dropout, dropout_options
from attention_core.conformance.laws.chance import (
    TESTS_PER_RUN,
)
from attention_core.conformance.search.search import EFFORTS
from attention_core.conformance.subjects.evidence import Evidence, Violation
from attention_core.declaration.implementation import CLAIMS
from attention_core.faults import dropout as faults
from attention_core.faults.bases.reference import correct
from attention_core.kernels.dot_product import dot_product_attention

WEIGHTS = "returned_weights_are_before_dropout"


TABLE = (*dropout.LAWS, *dropout_options.LAWS)


LAWS = [law.name for law in TABLE if law.name != WEIGHTS]


CAUGHT = {
    "dropout_zero_is_no_dropout": ("keep_probability_for_dropout",),
    "full_dropout_gives_zeros": ("full_dropout_divides_by_zero", "dropout_ignored"),
    "dropped_weights_are_zero_and_kept_ones_scaled": (
        "dropout_without_scaling", "dropout_renormalised", "dropout_on_the_output", "dropout_ignored",
    ),
    "dropout_takes_the_stated_share": (
        "keep_probability_for_dropout", "dropout_ignored", "dropout_at_half_its_rate",
    ),
    "dropout_differs_within_a_call": (
        "one_mask_for_all_heads", "one_mask_for_the_batch", "one_mask_for_all_queries", "whole_rows_dropped",
        "mask_repeats_every_16_rows", "dropout_ignored", "every_other_sequence_shares_its_dropout",
    ),
    "dropout_goes_on_along_rows_and_keys": (
        "dropout_repeats_every_32_keys", "rate_off_by_one_per_cent", "rows_share_their_random_numbers",
        "heads_start_a_few_rows_further_on",
    ),
    "dropout_differs_from_call_to_call": ("the_same_mask_every_call", "the_next_call_starts_a_row_further_on"),
    "the_backward_drops_what_the_forward_dropped": ("backward_draws_another_mask",),
    "dropout_heeds_every_option": (
        "causal_lost_under_dropout", "mask_lost_under_dropout", "scale_lost_under_dropout", "rate_in_sixteenths",
        "last_odd_key_never_dropped", "no_dropout_for_a_single_query",
    ),
    "gradients_under_dropout_heed_every_option": (
        "backward_mask_of_another_group_member", "masked_backward_forgets_dropout",
        "gradient_of_dropped_scores_unscaled",
    ),
    "dropped_weights_pass_no_gradient": ("scores_gradient_ignores_dropout", "backward_draws_another_mask"),
}  # fmt: skip


@pytest.mark.thorough(one_for="law")
@pytest.mark.parametrize(("law", "fault"), [(law, name) for law, names in CAUGHT.items() for name in names])
def test_refutes(law: str, fault: str) -> None:
    refuted(law, getattr(faults, fault)())


def scaled_by_what_is_kept(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, dropout_p: float = 0.0) -> Any:
    weights = torch.softmax(query @ key.transpose(-1, -2) * query.shape[-1] ** -0.5, -1)
    kept = torch.rand(weights.shape) >= dropout_p
    return (weights * kept * (1 - dropout_p if dropout_p else 1)) @ value


def test_a_wrong_factor_is_called_a_wrong_factor() -> None:
    """Weights times 1 - p, not 1/(1 - p), are there: no law says that all were dropped."""
    message = refuted("dropped_weights_are_zero_and_kept_ones_scaled", scaled_by_what_is_kept).message
    assert "got 0.25 " in message and "but should be 1 " in message, message
    for law in ("dropout_takes_the_stated_share", "dropout_differs_within_a_call", "dropout_differs_from_call_to_call"):
        held(law, scaled_by_what_is_kept)


@pytest.mark.thorough(table=True)
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(
    ("function", "record"),
    [
        (correct, {}),
        (torch.nn.functional.scaled_dot_product_attention, {"claims": CLAIMS}),
        (dot_product_attention, {}),
        (faults.dropout_in_bytes(), {}),
    ],
    ids=["correct", "torch", "dot_product", "bytes"],
)
def test_holds_for_correct(law: str, function: Callable[..., Any], record: dict[str, Any]) -> None:
    held(law, function, **record)


def test_returned_weights() -> None:
    held(WEIGHTS, faults.returns_weights(), returns="out,weights")
    refuted(WEIGHTS, faults.returns_dropped_weights(), returns="out,weights")
    assert judged(WEIGHTS, correct).status == "not_applicable"


@pytest.mark.thorough(keep=("dropout_zero_is_no_dropout", "the_backward_drops_what_the_forward_dropped"))
@pytest.mark.parametrize("law", [law.name for law in dropout.LAWS])
def test_a_counterexample_of_dropout_can_be_read(law: str) -> None:
    """Statements about a distribution need many weights, but no packed bytes: the probe is written as a pattern."""
    fault = CAUGHT[law][0] if law in CAUGHT else "returns_dropped_weights"
    record = {"returns": "out,weights"} if law == WEIGHTS else {}
    found = judged(law, getattr(faults, fault)(), shrink=True, **record).counterexample
    assert found is not None
    assert len(found.snippet) < 2000 and "zlib" not in found.snippet


@pytest.mark.parametrize(
    ("law", "fault", "most"),
    [
        ("dropped_weights_are_zero_and_kept_ones_scaled", "dropout_without_scaling", 2),
        ("dropout_takes_the_stated_share", "keep_probability_for_dropout", 16),
        ("dropout_differs_within_a_call", "one_mask_for_all_heads", 16),
        ("dropout_heeds_every_option", "causal_lost_under_dropout", 9),
        ("gradients_under_dropout_heed_every_option", "masked_backward_forgets_dropout", 5),
    ],
)
def test_what_a_law_of_dropout_refutes_is_shown_on_a_small_probe(law: str, fault: str, most: int) -> None:
    found = refuted(law, getattr(faults, fault)()).counterexample
    assert found is not None
    sizes = re.search(r"B=(\d+) H=(\d+) .*n_kv=(\d+)", found.case)
    assert sizes is not None
    batch, heads, n = sizes.groups()
    assert int(n) <= most and int(batch) * int(heads) <= 2, found.case


def test_no_smaller_probe_is_asked_where_the_first_holds() -> None:
    asked: list[Any] = []

    def law(subject: Any, case: Any, sizes: Any = None) -> None:
        asked.append(sizes)
        if sizes is not None:
            raise Violation("chance", Evidence((), kind="raises"))

    dropout.shown_on_smaller([1, 2])(law)(None, None)  # type: ignore[arg-type]
    assert asked == [None]


def test_every_law_has_its_fault() -> None:
    for law in TABLE:
        assert law.fault in CAUGHT.get(law.name, ("returns_dropped_weights",)), law.name


def test_a_run_makes_fewer_tests_than_its_risk_allows() -> None:
    cases = sum(law.large for law in TABLE) * max(EFFORTS.values())
    assert 5 * cases <= TESTS_PER_RUN
