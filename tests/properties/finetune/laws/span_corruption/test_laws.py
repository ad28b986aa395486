"""Power and false alarms of the laws of span corruption.

Laws of span corruption: each refutes the fault it names, every fault is refuted, and no correct data set is.
"""

from __future__ import annotations

import math
import random
import re
from typing import Any

import pytest
from judging import judged, refuted
from judging_contracts import conforming

from finetune.data.span_corruption import CharCorruptionDataset
from finetune.faults import span_corruption as faults
from finetune.laws.span_corruption import laws as span_corruption
from finetune.laws.span_corruption.laws import CONTRACT

DECLARED: dict[Any, dict[str, Any]] = {
    faults.InTheBlock: {"variant": "block"},
    faults.WithAThirdMask: {"trailing_mask": True},
}
SEEN_BY = {  # one law that must see it
    "one_character_short": "pairs_have_the_declared_length",
    "targets_are_the_inputs": "targets_are_inputs_one_place_ahead",
    "targets_two_ahead": "targets_are_inputs_one_place_ahead",
    "padded_in_front": "strings_have_the_form",
    "empty_now_and_then": "the_masked_stretch_is_not_empty",
    "masked_and_suffix_swapped": "documents_come_back",
    "masked_text_reversed": "documents_come_back",
    "cut_to_the_whole_block": "lengths_stay_in_range",
    "may_be_cut_to_one": "lengths_stay_in_range",
    "always_as_long_as_possible": "every_length_is_possible",
    "longest_never_chosen": "every_length_is_possible",
    "more_than_a_quarter": "a_quarter_is_masked",
    "a_fifth": "a_quarter_is_masked",
    "seeds_when_it_is_built": "a_call_leaves_the_process_as_it_was",
    "always_a_quarter": "the_masked_length_varies",
    "first_character_never_masked": "every_place_is_masked_at_times",
    "never_beyond_56": "long_blocks_are_used_to_their_end",
    "last_of_a_long_text_never_masked": "every_place_is_masked_at_times",
    "last_character_never_masked": "every_place_is_masked_at_times",
    "masks_in_the_middle": "every_place_is_masked_at_times",
    "neighbour_document": "documents_come_back",
    "a_third_mask": "strings_have_the_form",
}


@pytest.fixture(autouse=True)
def repeatable() -> None:
    """The data sets of `faults` draw from Python's generator, which no engine seeds."""
    random.seed(0)


@pytest.mark.thorough(keep=("CharCorruptionDataset",))
@pytest.mark.parametrize("target", [*faults.CORRECT, CharCorruptionDataset])
def test_correct_data_sets_conform(target: Any) -> None:
    """False alarms: each law about chance raises one with probability below 1e-9."""
    results = conforming(target, CONTRACT, parameters=DECLARED.get(target, {}))
    assert {r.status for r in results.values()} == {"held"}


@pytest.mark.thorough(table=True)
@pytest.mark.parametrize("fault", faults.FAULTY)
def test_every_fault_is_refuted_by_the_law_that_is_about_it(fault: Any) -> None:
    result = judged(SEEN_BY[fault.__name__], fault, contract=CONTRACT)
    assert result.status == "refuted", result.message


@pytest.mark.parametrize(
    "law", [law for law in span_corruption.LAWS if law.family != "process_state"], ids=lambda law: law.name
)
def test_every_law_names_a_fault_that_it_refutes(law: Any) -> None:
    """With the table above: the named fault is one that this law must see."""
    assert SEEN_BY[law.fault] == law.name


@pytest.mark.parametrize(
    ("target", "law", "words"),
    [
        (faults.InTheBlock, "pairs_have_the_declared_length", "declare --parameter 'variant=block'"),
        (faults.a_third_mask, "strings_have_the_form", "declare --parameter trailing_mask=True"),
        (faults.always_as_long_as_possible, "every_length_is_possible", r"\[4, 5, 6, 7, 8, 9\] never occur"),
        (faults.first_character_never_masked, "every_place_is_masked_at_times", "got place 0 never"),
        (faults.last_character_never_masked, "every_place_is_masked_at_times", "got the last character of .* never"),
    ],
)
def test_the_message_says_what_was_got_and_what_should_be(target: Any, law: str, words: str) -> None:
    assert re.search(words, refuted(law, target, "quick", contract=CONTRACT).message)


def test_the_masked_length_of_few_choices_is_left_in_peace() -> None:
    """Four lengths about a quarter are random enough; the rate of false alarms is that of the law's docstring."""

    class FourLengths(faults.Plain):
        def masked(self, t: int) -> int:
            return max(1, t // 4 + random.randint(-1, 2))

    assert judged("the_masked_length_varies", FourLengths, contract=CONTRACT).status == "held"
    divergence = 0.5 * math.log(0.5 / 0.25) + 0.5 * math.log(0.5 / 0.75)
    assert math.ceil(math.log(1e12) / divergence) == span_corruption.PAIRS


def test_what_is_no_data_set_is_told() -> None:
    class OneArray(faults.Plain):
        def __getitem__(self, idx: int) -> Any:
            return super().__getitem__(idx)[0]

    assert "should be a pair x, y" in refuted("strings_have_the_form", OneArray, "quick", contract=CONTRACT).message

    class Unequal(faults.Plain):
        def cut(self, s: str) -> tuple[str, str]:
            return s[:-2], s[1:]

    law = "targets_are_inputs_one_place_ahead"
    assert "should be equally long" in refuted(law, Unequal, "quick", contract=CONTRACT).message
