"""Power and false alarms of the laws of attention heads: each refutes the fault it names, no right measure is refuted."""

from __future__ import annotations

import re
from typing import Any

import pytest
from judging import held, judged, refuted
from judging_contracts import conforming, counterexample

from finetune.faults import measured_heads, pruned_heads
from finetune.faults.bases import head_measures
from finetune.laws.head_importance import head_probe
from finetune.laws.head_importance.laws import CONTRACT, LAWS

FAULTY = (*measured_heads.FAULTY, *pruned_heads.FAULTY)
SEEN_BY = {kind.__name__: law for kind, law in (*measured_heads.SEEN_BY.items(), *pruned_heads.SEEN_BY.items())}
ABOUT_PRUNING = {law for kind, law in pruned_heads.SEEN_BY.items() if "gate" not in law}


@pytest.mark.parametrize("target", head_measures.CORRECT, ids=lambda target: target.__name__)
def test_right_measures_conform(target: Any) -> None:
    results = conforming(target, CONTRACT)
    judged_laws = {law for law, r in results.items() if r.status == "held"} - {"a_call_leaves_the_process_as_it_was"}
    whole = {law.name for law in LAWS} - {"a_call_leaves_the_process_as_it_was"}
    assert judged_laws == (ABOUT_PRUNING if target.__name__ == "PruningAlone" else whole)


@pytest.mark.thorough(one_for="law")
@pytest.mark.parametrize(
    ("law", "target"), [(SEEN_BY[t.__name__], t) for t in FAULTY], ids=lambda v: getattr(v, "__name__", v)
)
def test_every_fault_is_refuted_by_the_law_that_is_about_it(law: str, target: Any) -> None:
    result = judged(law, target, contract=CONTRACT)
    assert result.status == "refuted", result.message


@pytest.mark.parametrize("law", [law for law in LAWS if law.family != "process_state"], ids=lambda law: law.name)
def test_every_law_names_a_fault_that_it_refutes(law: Any) -> None:
    assert SEEN_BY[law.fault] == law.name


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("one_gradient_a_batch", r"importance by the gradient, of one batch: got \S+ at \[\d, \d\], but should be"),
        ("parameters_are_frozen", "got other parameters, or others that ask for gradients, but should be as before"),
        ("most_important_chosen", r"\d+ heads: got \[\(.*\)\], but should be \[\(.*\)\]"),
        ("zeroed_in_place_of_pruned", r"without \d of \d heads: got \d+ numbers, but should be \d+"),
        ("unknown_heads_are_left_out", r"head (\d) of \1: got a result, but should be refused"),
    ],
)
def test_the_message_says_what_was_got_and_what_should_be(name: str, words: str) -> None:
    (target,) = (target for target in FAULTY if target.__name__ == name)
    found = refuted(SEEN_BY[name], target, "quick", contract=CONTRACT)
    assert re.search(words, found.message), found.message


def test_one_gradient_a_batch_is_right_where_it_is_declared() -> None:
    target = measured_heads.targets.one_gradient_a_batch
    declared = {"contract": CONTRACT, "parameters": {"absolute": "batch"}}
    for law in ("texts_of_a_batch_do_not_cancel", "each_batch_has_its_own_slopes", "every_text_weighs_the_same"):
        held(law, target, **declared)
        refuted(law, head_measures.CORRECT[0], **declared)


def test_old_numbers_are_right_where_they_are_declared() -> None:
    law, target = "pruning_again_counts_as_declared", pruned_heads.targets.pruning_again_by_old_numbers
    held(law, target, contract=CONTRACT, parameters={"numbers": "old"})
    refuted(law, head_measures.CORRECT[0], contract=CONTRACT, parameters={"numbers": "old"})


def test_a_target_of_another_kind_or_of_nothing_is_told() -> None:
    def of_one_number(kind: str, *arrays: Any, **settings: Any) -> Any:
        return arrays[0]

    result = refuted("a_slope_counts_by_its_size", of_one_number, "quick", contract=CONTRACT)
    assert "is the target made by head_probe.make_target?" in result.message
    with pytest.raises(ValueError, match="was given no function: name one of gradient, ablation"):
        head_probe.make_target()


def test_counterexamples_are_programs_that_pass_on_a_right_measure(capsys: pytest.CaptureFixture[str]) -> None:
    for file, name in (("measured_heads", "the_rest_is_scaled_up"), ("pruned_heads", "zeroed_in_place_of_pruned")):
        program = counterexample(SEEN_BY[name], f"finetune.faults.{file}:targets.{name}", CONTRACT)
        with pytest.raises(AssertionError):
            exec(compile(program, name, "exec"), {"__name__": name})
        right = program.replace(f"finetune.faults.{file}", "finetune.faults.bases.head_measures").replace(name, "Plain")
        exec(compile(right, "Plain", "exec"), {"__name__": "Plain"})
    assert "but should be" in capsys.readouterr().out
