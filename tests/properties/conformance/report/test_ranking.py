"""The order of refuted laws.

What a person reads first: the law that names the cause, then the law that compares with the truth.
Results are made by hand, except in the last test, where faulty functions are judged and ordered.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest
import torch
from torch import Tensor

from attention_core.conformance import Implementation, check_implementation
from attention_core.conformance.contracts import contracts
from attention_core.conformance.engine.session import Session
from attention_core.conformance.report.flaky import DIFFERENT
from attention_core.conformance.report.law_result import AS_WRONG_ALONE, Counterexample, LawResult
from attention_core.conformance.report.ranking import (
    CAUSES,
    FAMILIES,
    LAST,
    PLAIN,
    SHOWN,
    choose_counterexamples,
    order_results,
    without_consequences,
)
from attention_core.conformance.subjects.outcomes import CHANGED
from attention_core.faults import value
from attention_core.faults.bases import reference
from attention_core.faults.bases.reference import build

FAMILY = {law.name: law.family for contract in contracts().values() for law in contract.laws}


def result(name: str, got: float | None = None, **data: Any) -> LawResult:
    """A refuted law; with `data` of its case it has a number that is wrong, else no call gave any."""
    got = 1.0 if data and got is None else got
    found = Counterexample(name, "m", "c", data, "s", got, None if got is None else 2.0)
    return LawResult(name, "refuted", 0, 0.0, found, family=FAMILY[name])


ORDERS = [
    ["no_row_sees_a_later_one", "query_gradient_is_true", "mask_must_not_enlarge_the_result"],
    [
        "masked_keys_are_invisible",
        "a_common_offset_cancels",
        "lengths_of_key_and_value_must_agree",
        "mask_must_not_enlarge_the_result",
    ],
    ["dead_rows_are_as_declared", "bool_and_additive_masks_agree", "dead_rows_have_finite_gradients"],
]


@pytest.mark.parametrize("names", ORDERS, ids=lambda names: names[0])
def test_causes_before_consequences(names: list[str]) -> None:
    for order in permutations(map(result, names)):
        assert [r.law for r in order_results(order)] == names


def test_a_plain_call_says_more_than_one_with_a_mask() -> None:
    truth, cause = "agrees_with_truth", "masked_keys_are_invisible"
    for data, first in (({}, truth), ({"mask": 1}, cause), ({"is_causal": True}, cause)):
        found = order_results([result(cause, mask=1), result(truth, **data)])
        assert found[0].law == first, data


def test_two_paths_that_differ_come_before_what_is_wrong_on_one_of_them() -> None:
    names = ["output_is_the_same_with_gradients", "no_row_sees_a_later_one", "agrees_with_truth"]
    found = [result(name, is_causal=True) for name in names]
    assert [r.law for r in order_results(found[::-1])] == names
    found[0] = result(names[0])  # no number came back: another law says why
    assert order_results(found)[0].law == names[1]


def wrong(name: str, message: str, query: tuple[int, ...] = (1, 1, 1, 2), key: tuple[int, ...] = ()) -> LawResult:
    """A refuted law whose message says what is wrong, with the shapes of its counterexample."""
    found = result(name, query={"shape": list(query)}, key={"shape": list(key or query)})
    assert found.counterexample is not None
    return replace(found, message=message, counterexample=replace(found.counterexample, message=message))


OF_KEY, OF_VALUE = "gradient of key against the closed form: got 1", "gradient of value of a call: got 1"
CIRCUMSTANCES = [  # (law of a circumstance, its message, plain law, its message, whether the plain law comes first)
    ("graphs_alive_together_keep_their_own", OF_KEY, "key_gradient_is_true", OF_KEY, True),
    ("graphs_alive_together_keep_their_own", OF_VALUE, "key_gradient_is_true", OF_KEY, False),
    ("one_tensor_may_be_several_inputs", "gradient of one tensor for key and value: got 1", "key_gradient_is_true",
     OF_KEY, True),
    ("one_tensor_may_be_several_inputs", "output for one tensor: got 1", "key_gradient_is_true", OF_KEY, False),
    ("calls_in_between_leave_no_trace", "output after other calls: got 1", "stays_finite", "output for large: got 0",
     True),
    ("coinciding_sizes_are_not_confused", "output where: got 1", "key_gradient_is_true", OF_KEY, False),
    ("broadcast_keys_are_refused_or_right", "output for: got 1", "two_matching_keys_are_averaged", "output: got 2",
     True),
    ("a_slice_alone_equals_itself_in_the_batch", "output of one slice: got 1", "weights_are_a_distribution",
     "output for constant values: got 2", True),
]  # fmt: skip


@pytest.mark.parametrize("name, message, plain, plain_message, first", CIRCUMSTANCES)
def test_a_circumstance_is_no_cause_where_the_plain_law_fails_too(
    name: str, message: str, plain: str, plain_message: str, first: bool
) -> None:
    found = [wrong(name, message), wrong(plain, plain_message)]
    shown = without_consequences(found)
    assert [r.law for r in shown] == [plain] if first else name in [r.law for r in shown]
    assert (order_results(found)[0].law == plain) or not first


def test_a_slice_tells_of_the_batch_where_one_slice_alone_is_right() -> None:
    slices = "a_slice_alone_equals_itself_in_the_batch"
    plain = wrong("weights_are_a_distribution", "output for constant values: got 2", (2, 1, 1, 2))
    assert slices in [r.law for r in without_consequences([wrong(slices, "output of one slice: got 1"), plain])]


def test_the_law_of_groups_tells_most_where_only_groups_are_wrong() -> None:
    groups = wrong("grouped_gradients_are_summed_over_the_group", OF_KEY, (1, 4, 1, 1), (1, 2, 1, 1))
    grouped = wrong("key_gradient_is_true", OF_KEY, (1, 4, 1, 1), (1, 2, 1, 1))
    assert order_results([grouped, groups])[0] is groups
    assert order_results([wrong("key_gradient_is_true", OF_KEY), groups])[0].law == "key_gradient_is_true"


def test_what_is_wrong_with_the_log_sum_exp_is_no_consequence_of_a_wrong_output() -> None:
    names = ["agrees_with_truth", "lse_gradient_is_true", "key_gradient_is_true"]
    assert [
        r.law for r in without_consequences([result(name, query={"shape": [1, 1, 1, 1]}) for name in names])
    ] == names[:2]


def test_answers_that_differ_from_call_to_call_come_before_every_law_about_numbers() -> None:
    names = ["key_gradient_is_true", "weights_are_a_distribution", "earlier_masks_are_forgotten"]
    found = [result(name, query={"shape": [1, 1, 1, 1]}) for name in names]
    assert found[0].counterexample is not None
    found[0].counterexample = replace(found[0].counterexample, event="different answers")
    assert [r.law for r in without_consequences(found)] == [names[0], names[2]]


def test_a_law_about_mixing_needs_numbers_and_one_about_overflow_none() -> None:
    mixed, mask = "a_slice_alone_equals_itself_in_the_batch", "masked_keys_are_invisible"
    assert order_results([result(mask, mask=1), result(mixed, mask=1)])[0].law == mixed
    assert order_results([result(mask, mask=1), result(mixed, math.nan, mask=1)])[0].law == mask
    truth, large = "agrees_with_truth", "stays_finite"
    assert order_results([result(truth, mask=1), result(large, math.inf, mask=1)])[0].law == large
    assert order_results([result(truth, mask=1), result(large, mask=1)])[0].law == truth


def test_nan_in_any_batch_is_told_by_a_law_about_values_before_laws_about_mixing() -> None:
    """A causal row that loses its only key is NaN in every call, and in a batch of one the case is smaller."""
    mixing = ["a_slice_alone_equals_itself_in_the_batch", "permuting_heads_permutes_the_output"]
    names = [*mixing, "the_same_call_twice_agrees", "output_lies_in_the_hull"]
    found = [result(name, math.nan, dtype="float32", is_causal=True) for name in names]
    assert order_results(found)[0].law == "output_lies_in_the_hull"


def test_numbers_a_rounding_apart_do_not_tell_of_a_mixed_up_batch() -> None:
    """Both are wrong where 0 is right, and the order of sums differs; a later key is the cause."""
    batch, later = "permuting_the_batch_permutes_the_output", "no_row_sees_a_later_one"
    mixed, seen = result(batch, dtype="float32", is_causal=True), result(later, dtype="float32", is_causal=True)
    assert [r.law for r in order_results([seen, mixed])] == [batch, later]
    assert mixed.counterexample is not None
    near = replace(mixed, counterexample=replace(mixed.counterexample, got=0.344125479, want=0.34412545))
    assert [r.law for r in order_results([near, seen])] == [later, batch]


def test_where_no_call_works_the_plain_law_speaks() -> None:
    names = ["weights_are_a_distribution", "agrees_with_truth", "no_row_sees_a_later_one"]
    assert [r.law for r in order_results([result(name) for name in names])] == [names[1], names[0], names[2]]


def test_what_is_wrong_in_low_precision_alone_comes_after_what_is_wrong_in_float64() -> None:
    low, fine = result("agrees_with_truth", dtype="float16"), result("key_gradient_is_true", dtype="float64")
    assert [r.law for r in without_consequences([low, fine])] == [fine.law, low.law]
    both = result("agrees_with_truth", dtype="float32"), fine
    assert [r.law for r in without_consequences(both)] == ["agrees_with_truth"]  # the gradient is its consequence
    declared_low = [result(r.law, dtype="bfloat16") for r in (low, fine)]
    assert [r.law for r in order_results(declared_low)] == [low.law, fine.law]


def test_a_wrong_gradient_is_told_by_the_law_of_the_truth_before_laws_of_sizes() -> None:
    names = [
        "key_gradient_is_true", "gradients_of_doubled_keys_add_up", "round_sizes_and_sizes_beyond_are_right",
        "head_sizes_may_be_odd_and_differ",
    ]  # fmt: skip
    met = [wrong(name, "gradient of key for d=3: got 1") for name in names]
    assert [r.law for r in order_results(met[2:] + met[:2])] == names


def of_lengths(name: str, n: int, message: str = "m") -> LawResult:
    """A refuted law whose counterexample has n keys."""
    shapes = {"query": {"shape": [1, 1, 1, 2]}, "key": {"shape": [1, 1, n, 2]}}
    return replace(result(name, **shapes), message=message)


def test_a_gradient_wrong_at_some_lengths_is_told_by_the_law_of_lengths() -> None:
    lengths, sums, widths = (
        "every_length_around_blocks_has_true_gradients", "gradients_of_doubled_keys_add_up",
        "head_sizes_may_be_odd_and_differ",
    )  # fmt: skip
    wrong = "gradient of key for d=3 d_v=1: got 0, but should be 1"
    met = [
        of_lengths(widths, 65, wrong),
        of_lengths(sums, 33),
        of_lengths(lengths, 65),
        of_lengths("key_gradient_is_true", 65),
    ]
    assert [r.law for r in order_results(met)] == [lengths, widths, sums, "key_gradient_is_true"]
    met[0] = of_lengths(widths, 1, wrong)  # within any block: the widths it is
    assert [r.law for r in order_results(met)][:2] == [widths, lengths]
    met.append(of_lengths("key_gradient_is_true", 2))
    assert [r.law for r in order_results(met[1:])][:2] == ["key_gradient_is_true", lengths]


def test_equals_keep_their_order() -> None:
    names = ["a", "c", "b"]
    assert [r.law for r in order_results([LawResult(n, "refuted", 0, 0.0) for n in names])] == names


def test_consequences_of_a_named_cause_are_left_out() -> None:
    names = ["coinciding_sizes_are_not_confused", "no_row_sees_a_later_one", "agrees_with_truth", "key_gradient_is_true",
             "mask_must_not_enlarge_the_result"]  # fmt: skip
    laws = [result(name, mask=1) for name in names]
    assert [r.law for r in without_consequences(laws)] == [names[1], names[2], names[4]]
    assert [r.law for r in without_consequences(laws[:1] + laws[2:])] == [names[2], names[0], names[3], names[4]]
    assert without_consequences([]) == []


def test_every_name_is_a_law() -> None:
    assert {*PLAIN, *CAUSES, *LAST} <= set(FAMILY)
    assert set(FAMILIES) <= set(FAMILY.values())


def without_its_scale(q: Tensor, k: Tensor, scale: float | None) -> Tensor:
    return reference.scores(q, k, 1.0 if scale is None else scale)


def after_the_softmax(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None) -> Tensor:
    weights = torch.softmax(reference.scores(query, key, None), -1)
    return (weights if attn_mask is None else weights * attn_mask) @ value


FAULTS: dict[str, tuple[Callable[..., Any], str]] = {
    "scale": (build(scores=without_its_scale), "scale_may_move_into_the_query"),
    "softmax over queries": (build(weights=lambda s: torch.softmax(s, -2)), "weights_are_a_distribution"),
    "causal edge": (
        build(causal_allowed=lambda n_q, n_kv: torch.ones(n_q, n_kv, dtype=torch.bool).tril(1)),
        "no_row_sees_a_later_one",
    ),
    "mask of the first sequence": (
        build(bias=lambda s, m, c: reference.bias(s, m[:1] if m is not None and m.ndim == 4 else m, c)),
        "a_slice_alone_equals_itself_in_the_batch",
    ),
    "mask after the softmax": (
        lambda query, key, value, attn_mask=None: after_the_softmax(query, key, value, attn_mask),
        "masked_keys_are_invisible",
    ),
    "rows without keys": (build(weights=lambda s: torch.softmax(s, -1)), "dead_rows_are_as_declared"),
}
LAWS = (*PLAIN, *CAUSES, "query_gradient_is_true", "evaluation_has_no_dropout", "dead_rows_have_finite_gradients")


@pytest.mark.thorough(keep=("scale",))
@pytest.mark.parametrize("fault", FAULTS)
def test_the_first_counterexample_names_the_cause(monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    monkeypatch.setattr("attention_core.conformance.engine.session.SHRINK_CALLS", 20)
    monkeypatch.setattr("attention_core.conformance.engine.session.Session.first_look", None)
    function, law = FAULTS[fault]
    record = Implementation(function, name="f", dtypes=("float32",))
    report = check_implementation(record, "quick", laws=LAWS)
    assert report.counterexamples[0].law == law, [c.law for c in report.counterexamples]
    assert report.reason().startswith(law)


def test_what_a_report_writes_out_is_as_small_as_can_be_and_the_rest_says_that_it_is_not() -> None:
    record = Implementation(value.wrong_scale(), name="f", dtypes=("float32",))
    with Session(record, effort="quick", looks=False) as session:
        results = list(session.results(session.laws[:24]))
    found = [r.counterexample for r in results if r.counterexample is not None]
    shown = choose_counterexamples(results)
    assert len(found) > len(shown) == SHOWN
    assert [c.shrunk for c in shown] == [True] * SHOWN
    assert not all(c.shrunk for c in found)
    with Session(record, effort="quick", looks=False) as session:  # as --law NAME has it
        (alone,) = session.results([law for law in session.laws if law.name == shown[0].law])
    assert alone.counterexample is not None
    assert (alone.counterexample.shrunk, alone.counterexample.case) == (True, shown[0].case)


def test_a_call_that_writes_into_its_inputs_is_named_by_the_law_of_that() -> None:
    laws = ("agrees_with_truth", "weights_are_a_distribution", "inputs_stay_as_they_were", "no_row_sees_a_later_one")
    results = [replace(result(law), message=f"{CHANGED} query, but should leave inputs as they are") for law in laws]
    assert order_results(results)[0].law == "inputs_stay_as_they_were"
    assert [r.law for r in without_consequences(results)] == ["inputs_stay_as_they_were"]


def test_answers_that_differ_are_explained_by_arrays_that_are_not_read_anew() -> None:
    names = ("two_batch_axes_are_a_batch", "agrees_with_truth", "arrays_written_into_are_read_anew")
    other, differing, anew = (result(name, dtype="float32") for name in names)
    assert differing.counterexample is not None and anew.counterexample is not None
    differing = replace(differing, counterexample=replace(differing.counterexample, event=DIFFERENT))
    results = [other, differing, anew]
    assert [r.law for r in order_results(results)[:2]] == [names[2], names[1]]
    assert choose_counterexamples(results)[0].law == names[2]
    after_others = replace(anew, counterexample=replace(anew.counterexample, alone=False))
    assert order_results([other, differing, after_others])[0].law == names[1]  # its case shows nothing by itself


def test_a_law_of_state_that_needs_no_earlier_call_comes_last() -> None:
    state = result("earlier_masks_are_forgotten", dtype="float16")
    blamed = [state, result("long_sums_keep_their_precision", dtype="float16")]
    assert order_results(blamed)[0].law == "earlier_masks_are_forgotten"
    cleared = [replace(state, message=f"output is off{AS_WRONG_ALONE}"), blamed[1]]
    assert [r.law for r in order_results(cleared)] == ["long_sums_keep_their_precision", "earlier_masks_are_forgotten"]
