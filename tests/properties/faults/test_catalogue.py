"""A fault that is none, or a correct row that is wrong, would make every figure of docs/power.md a lie.

The catalogue of faults is sound: every row builds, faults leave their budget on a stated call, correct rows do not.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from judging import judged, refuted
from witnesses import (
    attention,
    caches_and_lse,
    gradients,
    masks_and_positions,
    measures,
    modules,
    stated,
)
from witnesses import calls as witnesses
from witnesses import state as state_witnesses

from attention_core.conformance.contracts import find_contract
from attention_core.conformance.engine.session import Session
from attention_core.faults import known
from attention_core.faults.odd import NEEDS
from attention_core.faults.row import Row, row
from finetune.faults.catalogue import CORRECT, FAULTS, named

OURS = [r for r in FAULTS if r.contract == "attention" and r.faulty and "law" not in r.tags]
SECOND = [r for r in FAULTS if "set-2" in r.tags]
THIRD = [r for r in FAULTS if "set-3" in r.tags]
FOURTH = [r for r in FAULTS if "set-4" in r.tags]
FIFTH = [r for r in FAULTS if "set-5" in r.tags]
ELSEWHERE = (*SECOND, *THIRD, *FOURTH, *FIFTH)
WITNESSED = [r for r in OURS if r.name.partition(".")[2] not in stated.BY_CHANCE and r not in ELSEWHERE]
JUDGED = [r for r in CORRECT if r.contract == "attention" and r.name not in NEEDS]
IN_TORCH = [r for r in JUDGED if "array" not in r.record]
NOT_TAKEN = (LookupError, ValueError, NotImplementedError)


def failures(rows: Iterable[Row], holds: Callable[[Row], bool]) -> dict[str, str]:
    """The rows that do not pass, by name, with what was raised: one test for many rows, which all are run."""
    found = {}
    for each in rows:
        try:
            if not holds(each):
                found[each.name] = "does not hold"
        except Exception as error:  # whatever a fault raises is reported beside its name
            found[each.name] = f"{type(error).__name__}: {error}"
    return found


def test_names_are_unique_and_sources_told() -> None:
    count = Counter(r.name for r in (*FAULTS, *CORRECT))
    assert [name for name, times in count.items() if times > 1] == []
    assert all(r.about and r.source for r in FAULTS)


def test_real_faults_name_their_threads() -> None:
    real = [r for r in FAULTS if "real" in r.tags]
    assert all(r.bug for r in real)
    told = {r.bug for r in real if r.source != ("own",)}
    # This one has no thread of its own in the list: it is the counterpart of a row that is "not a bug".
    assert {r.bug for r in real} - told <= {"mask after softmax WITH renormalise"}
    assert not told & known.NOT_REDUCIBLE.keys()


def test_enough_faults_are_of_our_making() -> None:
    hard = [r for r in FAULTS if "hard" in r.tags and r.faulty and r.source == ("own",)]
    assert len(hard) >= 60


laws_by_contract = cache(lambda name: find_contract(name).laws)


def lacking(found: Row) -> list[str]:
    """What a row would have to declare for its fault to be one: what its laws ask for, and what its words say."""
    own = found.name.rpartition(".")[2]
    laws = [law for law in laws_by_contract(found.contract) if law.fault == own and law.declares is not None]
    record = found.implementation()
    missing = [f"{law.name}: {law.because}" for law in laws if law.declares and not law.declares(record)]
    if found.contract == "attention":
        missing += [f for words, f, v in SAID if words.search(found.about) and found.record.get(f) != v]
    return missing


SAID: list[tuple[re.Pattern[str], str, Any]] = [
    (re.compile(r"mask's gradient|gradient of (a|the) mask"), "mask_gradient", True),
    (
        re.compile(r"\b(added|summed|sums?|accumulated)\b[^.]*\b(bfloat16|float16|dtype|two bytes)"),
        "accumulate",
        "float32",
    ),
]
"""Words that tell a fault which is none without a declaration: low precision is allowed, no gradient of a mask is asked."""


def test_a_row_declares_what_makes_its_fault_one() -> None:
    missing = {row.name: lacking(row) for row in FAULTS if row.faulty}
    assert {name: lines for name, lines in missing.items() if lines} == {}


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("gradients.key_gradient_added_in_its_dtype", "accumulate"), ("gradients.mask_not_summed", "mask_gradient"),
        ("refusal.large_mask_broadcasts_the_scores", "validates"),
    ],
)  # fmt: skip
def test_a_row_that_declares_nothing_is_noticed(name: str, field: str) -> None:
    assert any(field in line for line in lacking(replace(named(name), record={})))


def laws_of(row: Row) -> int:
    """How many laws are put to a row once it is built."""
    with Session(row.implementation(), effort="quick") as session:
        return len(session.laws)


@pytest.mark.thorough(table=True, leave_out=("multi-head",))
@pytest.mark.parametrize("contract", sorted({r.contract for r in FAULTS}))
def test_every_row_builds(contract: str) -> None:
    rows = [r for r in (*FAULTS, *CORRECT) if r.name not in NEEDS and r.contract == contract]
    assert failures(rows, lambda row: laws_of(row) > 0) == {}


def test_faults_leave_their_budget_on_a_stated_call() -> None:
    assert failures(WITNESSED, lambda row: witnesses.excess(row, stated.WITNESS[row.name]) > 1) == {}


SETS = {"second": SECOND, "third": THIRD, "fourth": FOURTH, "fifth": FIFTH}
WITNESS = {
    name: witness
    for subject in (attention, gradients, state_witnesses, caches_and_lse, masks_and_positions, modules)
    for name, witness in subject.WITNESS.items()
}
"""The call that shows each fault of these sets: how far off it is, and a correct target in its place."""


@pytest.mark.parametrize("name", SETS)
def test_faults_of_a_set_are_off_on_their_witness_and_a_correct_one_is_not(name: str) -> None:
    def shows(row: Row) -> bool:
        off, correct = WITNESS[row.name.partition(".")[2]]
        return off(row.make()) > 1 >= off(correct())

    assert failures(SETS[name], shows) == {}


def test_attention_faults_of_the_third_set_get_a_friendly_call_right() -> None:
    rows = [r for r in THIRD if r.contract == "attention"]
    assert failures(rows, lambda row: measures.friendly(row.make()) <= 1) == {}


def test_the_third_set_is_forty_faults_most_of_them_reported() -> None:
    assert len(THIRD) == 40
    assert sum(r.source != ("own",) for r in THIRD) >= 25


def test_the_fourth_set_is_forty_two_faults() -> None:
    assert len(FOURTH) == 42


def test_the_fifth_set_is_a_hundred_and_ten_faults() -> None:
    assert len(FIFTH) == 110


def test_every_fault_of_these_sets_has_its_witness() -> None:
    assert WITNESS.keys() == {r.name.partition(".")[2] for r in ELSEWHERE}


@pytest.mark.thorough(table=True)
@pytest.mark.parametrize("row", IN_TORCH, ids=lambda r: r.name)
def test_correct_rows_stay_within_it_on_all(row: Row) -> None:
    taken = 0
    for name in witnesses.CALLS:
        if row.record.get("dead_rows", "zeros") != "zeros" and "empty" in name:
            continue  # what the gradients of such rows are is for the laws to say
        try:
            worst = witnesses.excess(row, name)
        except NOT_TAKEN:
            continue
        taken += 1
        assert worst <= 1, name
    assert taken >= 5


@pytest.mark.parametrize("row", [r for r in JUDGED if r not in IN_TORCH], ids=lambda r: r.name)
def test_correct_rows_agree_with_the_truth(row: Row) -> None:
    result = judged("agrees_with_truth", row.make(), **row.record)
    assert result.status == "held", result.message


SAMPLE = (
    ("hard_tiles.rescaled_in_another_base", "agrees_with_truth"),
    ("hard_tiles.weights_in_bfloat16", "agrees_with_truth"),
    ("hard_tiles.small_weights_skipped_at_2_to_minus_20", "agrees_with_truth"),
    ("hard_tiles.maximum_starts_at_minus_10000", "a_very_low_bias_is_not_dead"),
    ("hard_inputs.scale_by_integer_root", "agrees_with_truth"),
    ("hard_inputs.group_by_shift", "agrees_with_truth"),
    ("hard_inputs.causal_in_bytes", "every_length_around_blocks_is_right"),
    ("hard_backward.query_gradient_needs_that_of_the_key", "one_gradient_alone_is_the_same"),
    ("hard_backward.group_of_three_loses_one", "key_gradient_is_true"),
    ("hard_contracts.short_chunks_are_not_causal", "chunks_equal_the_full_pass"),
    ("hard_contracts.odd_half_turned_short", "rotation_is_true"),
    ("hard_contracts.slopes_in_half_precision", "bias_falls_by_its_slope"),
    ("hard_contracts.lse_one_block_behind", "lse_agrees_with_truth"),
    ("reduced.causal_needs_four_axes", "one_problem_needs_no_batch_axis"),
)


@pytest.mark.parametrize(("name", "law"), SAMPLE, ids=[name for name, _ in SAMPLE])
def test_a_sample_is_refuted_by_its_law(name: str, law: str) -> None:
    row = named(name)
    refuted(law, row.make(), effort="standard", **row.record)


@pytest.mark.parametrize("argument", ["", "none"])
def test_rows_that_are_no_faults_need_an_argument(argument: str) -> None:
    def target() -> None:
        """A fault."""

    with pytest.raises(ValueError, match="argument"):
        row(target, expected="refuted" if argument else "equivalent", argument=argument)


def test_a_row_without_a_docstring_is_refused() -> None:
    with pytest.raises(ValueError, match="has no docstring"):
        row(lambda: None)
