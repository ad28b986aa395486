"""Power and false alarms of the laws of classifiers.

Laws of sequence classifiers: each refutes the fault it names, every fault is refuted, no correct classifier is.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
from judging import judged, refuted
from judging_contracts import conforming, counterexample, outcomes

from finetune.faults import classifiers as faults
from finetune.faults.bases import classifiers as models
from finetune.laws.classifier import laws as classifier
from finetune.laws.classifier.laws import CONTRACT

UNTYPED = {"segments_count", "no_segments_are_the_first"}
SILENT = {  # laws that have nothing to say, since something is not declared or not there
    models.Plain: {"a_text_said_twice_has_the_same_mean"},
    models.Meaned: set(),
    models.RightSided: {
        "padding_in_front_changes_nothing", "training_draws_after_an_evaluation", "a_text_said_twice_has_the_same_mean", *UNTYPED,
    },
    models.LastByIds: {
        "padding_behind_changes_nothing", "the_ids_of_padding_do_not_matter", "a_word_with_the_id_of_padding_counts",
        "no_mask_means_no_padding", "the_pooling_is_the_stated_one", "a_text_said_twice_has_the_same_mean", *UNTYPED,
    },
    models.Convolved: {
        "no_mask_means_no_padding", "the_pooling_is_the_stated_one", "a_text_said_twice_has_the_same_mean",
        "training_draws_after_an_evaluation", "what_moves_the_logits_has_a_gradient",
        "padding_adds_nothing_to_gradients", *UNTYPED,
    },
    models.Prompted: {"the_pooling_is_the_stated_one", "a_text_said_twice_has_the_same_mean", *UNTYPED},
}  # fmt: skip


def declared(target: Any) -> dict[str, Any]:
    return faults.DECLARED.get(target, {})


@pytest.mark.thorough(keep=("Meaned", "Prompted"))
@pytest.mark.parametrize("target", models.CORRECT)
def test_correct_classifiers_conform(target: Any) -> None:
    results = conforming(target, CONTRACT, parameters=declared(target))
    assert {law for law, r in results.items() if r.status != "held"} == SILENT[target]


@pytest.mark.thorough(table=True)
@pytest.mark.parametrize("fault", faults.FAULTY)
def test_every_fault_is_refuted_by_the_law_that_is_about_it(fault: Any) -> None:
    result = judged(faults.SEEN_BY[fault], fault, contract=CONTRACT, parameters=declared(fault))
    assert result.status == "refuted", result.message


@pytest.mark.parametrize(
    "law", [law for law in classifier.LAWS if law.family != "process_state"], ids=lambda law: law.name
)
def test_every_law_names_a_fault_that_it_refutes(law: Any) -> None:
    fault = getattr(faults, law.fault)
    if faults.SEEN_BY[fault] != law.name:
        refuted(law.name, fault, "quick", contract=CONTRACT, parameters=declared(fault))


@pytest.mark.parametrize(
    ("fault", "law", "words"),
    [
        (
            faults.padding_in_the_mean,
            "padding_behind_changes_nothing",
            r"padded at the end to \d+ tokens, against each alone: got",
        ),
        (faults.positions_count_the_padding, "padding_in_front_changes_nothing", "declare --parameter side=right"),
        (faults.squeezed_at_one, "logits_are_a_row_for_each_text", r"got shape \(\d,\), but should be \(1, \d\)"),
        (faults.logits_in_single, "logits_are_a_row_for_each_text", "got dtype float32, but should be float64"),
        (
            faults.first_in_place_of_the_mean,
            "the_pooling_is_the_stated_one",
            "pool=mean, .* got other logits, but should",
        ),
        (faults.head_detached, "what_moves_the_logits_has_a_gradient", "head.weight: got no gradient"),
        (faults.padding_in_the_gradient, "padding_adds_nothing_to_gradients", r"gradient of \w+.*: got"),
        (faults.dropout_never_on, "training_draws_after_an_evaluation", "got the same logits in 8 passes"),
        (faults.mask_changed_in_place, "every_token_counts", "changed its argument attention_mask"),
    ],
)
def test_the_message_says_what_was_got_and_what_should_be(fault: Any, law: str, words: str) -> None:
    found = judged(law, fault, contract=CONTRACT, parameters=declared(fault))
    assert found.status == "refuted" and re.search(words, found.message), found.message


@pytest.mark.parametrize(
    ("target", "law", "parameters", "words"),
    [
        (
            models.Convolved,
            "padding_adds_nothing_to_gradients",
            {},
            "build it with finetune.laws.classifier.logits_probe.make_target",
        ),
        (models.Convolved, "no_mask_means_no_padding", {}, "it wants attention_mask"),
        (
            models.Plain,
            "the_pooling_is_the_stated_one",
            {"pool": "best"},
            "pool='best' is not one of first, last, mean",
        ),
        (
            models.LastByIds,
            "the_pooling_is_the_stated_one",
            {"side": "left", "pool": "last"},
            "it still tells places apart",
        ),
        (models.RightSided, "training_draws_after_an_evaluation", {}, "nothing is drawn"),
    ],
)
def test_a_law_that_has_nothing_to_say_tells_why(target: Any, law: str, parameters: dict[str, Any], words: str) -> None:
    result = judged(law, target, contract=CONTRACT, parameters=parameters)
    assert result.status == "not_applicable" and words in result.message, result.message


CHOSEN = {"padding_in_the_mean": "Meaned", "mask_of_the_first_text": "Plain", "padding_in_the_gradient": "Meaned"}


@pytest.mark.thorough
def test_counterexamples_are_programs_that_pass_on_a_correct_classifier() -> None:
    programs = {}
    for name, correct in CHOSEN.items():
        program = counterexample(faults.SEEN_BY[getattr(faults, name)], f"finetune.faults.classifiers:{name}", CONTRACT)
        programs |= {name: program, f"{correct} for {name}": program.replace(name, correct)}
    found = outcomes(programs)
    assert {n for n, told in found.items() if told} == set(CHOSEN)
    assert all(found[n].startswith("AssertionError") for n in CHOSEN)
