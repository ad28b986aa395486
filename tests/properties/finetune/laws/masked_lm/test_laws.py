"""Power and false alarms of the laws of masking.

Laws of masking for masked language modelling: each refutes the fault it names, every fault is refuted, correct ones
conform.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
from judging import judged, refuted
from judging_contracts import conforming, counterexample, outcomes

from finetune.faults import masked_lm as faults
from finetune.laws.masked_lm import laws as masked_lm
from finetune.laws.masked_lm.laws import CONTRACT


def declared(target: Any) -> dict[str, Any]:
    return faults.DECLARED.get(target, {})


@pytest.mark.parametrize("target", faults.CORRECT)
def test_correct_maskings_conform(target: Any) -> None:
    """False alarms: each law about chance raises one with probability below 1e-12 a case."""
    results = conforming(target, CONTRACT, parameters=declared(target))
    silent = set() if declared(target).get("attention_mask") else {"the_attention_mask_is_that_of_the_text"}
    assert {law for law, r in results.items() if r.status != "held"} == silent


@pytest.mark.thorough(table=True)
@pytest.mark.parametrize("fault", faults.FAULTY)
def test_every_fault_is_refuted_by_the_law_that_is_about_it(fault: Any) -> None:
    result = judged(faults.SEEN_BY[fault], fault, contract=CONTRACT, parameters=declared(fault))
    assert result.status == "refuted", result.message


@pytest.mark.parametrize(
    "law", [law for law in masked_lm.LAWS if law.family != "process_state"], ids=lambda law: law.name
)
def test_every_law_names_a_fault_that_it_refutes(law: Any) -> None:
    assert faults.SEEN_BY[getattr(faults, law.fault)] == law.name


@pytest.mark.parametrize(
    ("fault", "law", "words"),
    [
        (
            faults.a_fifth_is_chosen,
            "fifteen_percent_are_chosen",
            r"got 0\.\d+, but should be 0\.15 .* --parameter rate",
        ),
        (faults.minus_one_asks_for_nothing, "labels_are_the_old_ids", r"--parameter ignore_index=.*got -1 at"),
        (
            faults.padding_is_chosen,
            "special_tokens_and_padding_stay",
            "labels of special tokens and padding: got 0 at",
        ),
        (faults.one_word_too_many, "a_chosen_token_becomes_a_word", r"but should be one of \d+ words below"),
        (faults.last_row_is_skipped, "no_row_is_skipped", r"row 399: got 0 of \d+ words chosen"),
        (faults.masks_in_place, "the_ids_are_left_as_they_are", "changed its argument ids"),
        (faults.seed_plus_place, "seeds_choose_independently", "next place: got .* chosen together"),
        (faults.labels_in_floats, "results_have_the_shape_of_the_ids", "got dtype float32, but should be int64"),
        (
            faults.crashes_where_nothing_is_chosen,
            "nothing_to_hide_comes_back",
            "nothing was chosen, but should be taken",
        ),
    ],
)
def test_the_message_says_what_was_got_and_what_should_be(fault: Any, law: str, words: str) -> None:
    assert re.search(words, refuted(law, fault, "quick", contract=CONTRACT, parameters=declared(fault)).message)


def test_what_is_no_pair_is_told() -> None:
    def inputs_alone(ids: Any, special: Any, vocab_size: int, mask_id: int, seed: int) -> Any:
        return faults.Plain(ids, special, vocab_size, mask_id, seed)[0]

    found = refuted("labels_are_the_old_ids", inputs_alone, "quick", contract=CONTRACT)
    assert "got 1 results, but should be inputs, labels" in found.message


CHOSEN = ("padding_is_chosen", "labels_of_the_chosen_alone", "one_word_too_many")


@pytest.mark.thorough
def test_counterexamples_are_programs_that_pass_on_a_correct_masking() -> None:
    programs = {}
    for name in CHOSEN:
        programs[name] = counterexample(
            faults.SEEN_BY[getattr(faults, name)], f"finetune.faults.masked_lm:{name}", CONTRACT
        )
    rate = judged("fifteen_percent_are_chosen", faults.a_fifth_is_chosen, contract=CONTRACT).counterexample
    assert rate is not None and len(rate.snippet) < 50000
    programs["a_fifth_is_chosen"] = rate.snippet
    right = {f"Plain for {name}": program.replace(name, "Plain") for name, program in programs.items()}
    found = outcomes(programs | right)
    assert {n for n, told in found.items() if told} == set(programs)
    assert all(found[n].startswith("AssertionError") for n in programs)
