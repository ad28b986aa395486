"""Power and false alarms of the laws of parameter-efficient fine-tuning.

Laws of fine-tuning methods: each refutes the fault it names, every fault is refuted, no correct method is, nor ours.
"""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path
from typing import Any

import pytest
import torch
from judging import judged, refuted
from judging_contracts import conforming, counterexample
from torch import Tensor

from attention_core.conformance import Implementation
from attention_core.conformance.engine.session import Session
from attention_core.conformance.search.search import run_law
from finetune.contract_adapters import peft as graded_adapters
from finetune.faults import adapter_faults, adapters
from finetune.faults import adapter_state_faults as state_faults
from finetune.laws.peft import laws as peft
from finetune.laws.peft.adapted import Adapted
from finetune.laws.peft.laws import CONTRACT

MERGING = {
    "merging_changes_no_output", "merging_changes_the_weights", "merging_twice_is_once",
    "merging_again_holds_what_was_trained_since",
    "unmerging_restores_the_weights", "unmerging_twice_is_once", "disabling_a_merged_adapter_gives_the_plain_outputs",
    "a_merged_adapter_is_saved_as_it_is",
}  # fmt: skip


BY_KIND = {
    "lora": set(), "bias": MERGING, "head": MERGING | {"a_drawn_adapter_changes_the_outputs"}, "scales": MERGING,
    "prompt": MERGING | {"a_new_adapter_changes_nothing"}, "prefix": MERGING | {"a_new_adapter_changes_nothing"},
}  # fmt: skip
"""What methods have nothing to say of."""


SEEN_BY = adapter_faults.SEEN_BY | state_faults.SEEN_BY


HERE = {"another_process_reads_the_adapter"}


SOME = (adapters.LowRank, adapters.SoftPrompt, adapters.Tokens, adapters.KeysAndValues, adapters.Scales)


OURS = (graded_adapters.GradedLoRA, graded_adapters.GradedPrompt, graded_adapters.GradedPrefix)


def left_behind() -> set[str]:
    """Files of this process's checkpoints: other runs of the tests share the folder."""
    return {p.name for p in Path(tempfile.gettempdir()).glob(f"attention-core-{os.getpid()}-*.epoch-7*")}


@pytest.mark.thorough(keep=("GradedLoRA", "GradedPrefix", "LowRank", "Tokens"))
@pytest.mark.parametrize("target", [*SOME, *OURS], ids=lambda target: target.__name__)
def test_correct_methods_and_ours_conform_and_leave_nothing_behind(target: Any) -> None:
    before = left_behind()
    declared = {"unmerge": "exact"} if target.__module__ == graded_adapters.__name__ else {}
    results = conforming(target, CONTRACT, parameters=declared)
    silent = BY_KIND[target.kind] | HERE | {"frozen_statistics_stay"}
    assert {law for law, r in results.items() if r.status != "held"} == silent
    assert left_behind() <= before


@pytest.mark.parametrize("law", [
    "as_many_numbers_are_trained_as_the_formula_says", "a_step_changes_what_is_trained_and_nothing_else",
    "disabling_gives_the_plain_outputs", "a_saved_adapter_comes_back", "the_outputs_are_those_of_the_formula",
])  # fmt: skip
@pytest.mark.parametrize("target", [graded_adapters.GradedHead, graded_adapters.GradedBias])
def test_our_heads_and_biases_obey(target: Any, law: str) -> None:
    """What sets them apart from the others; all laws are put to them by the command in their docstring."""
    assert judged(law, target, contract=CONTRACT).status == "held"


@pytest.mark.thorough(table=True)
@pytest.mark.parametrize("target", SEEN_BY, ids=lambda target: target.__name__)
def test_every_fault_is_refuted_by_the_law_that_is_about_it(target: Any) -> None:
    before = left_behind()
    result = judged(SEEN_BY[target], target, contract=CONTRACT)
    assert result.status == "refuted", result.message
    assert left_behind() <= before


@pytest.mark.parametrize("law", [law for law in peft.LAWS if law.family != "process_state"], ids=lambda law: law.name)
def test_every_law_names_a_fault_that_it_refutes(law: Any) -> None:
    seen = state_faults.IN_ANOTHER_PROCESS if law.name in HERE else SEEN_BY
    assert {fault.__name__: seen[fault] for fault in seen}[law.fault] == law.name


class ThawsWhenEnabled(adapters.SoftPrompt):
    """A prompt has nothing to merge: what is asked after disabled() alone finds it."""

    def switch(self, on: bool) -> None:
        super().switch(on)
        self.adapted.requires_grad_(on)


def test_a_prompt_that_was_frozen_stays_frozen() -> None:
    found = judged("what_was_frozen_stays_frozen", ThawsWhenEnabled, contract=CONTRACT)
    assert found.status == "refuted" and "after disabled()" in found.message
    assert judged("what_was_frozen_stays_frozen", adapters.SoftPrompt, contract=CONTRACT).status == "held"


def test_frozen_statistics_that_are_kept_conform() -> None:
    assert judged("frozen_statistics_stay", adapters.WithStatistics, contract=CONTRACT).status == "held"


def test_an_adapter_that_float32_hardly_shows_is_not_called_left_out() -> None:
    """With this seed the scaled keys change the outputs of one text by less than half of the digits of float32."""
    found = judged("a_drawn_adapter_changes_the_outputs", adapters.Scales, "quick", 4, contract=CONTRACT)
    assert found.status == "held", found.message


def test_what_rounding_leaves_is_no_fault_unless_old_bits_are_declared() -> None:
    """Adding and subtracting the product is two roundings; with unmerge=exact it is refuted."""
    law = "unmerging_restores_the_weights"
    assert judged(law, adapters.LowRank, contract=CONTRACT).status == "held"
    exact = judged(law, adapters.LowRank, contract=CONTRACT, parameters={"unmerge": "exact"})
    assert exact.status == "refuted" and "allowed error 0" in exact.message


def in_turn(target: Any, forget: Any) -> str:
    """The law about another process, where ending the runner's process is forgetting what it held."""
    with Session(Implementation(target, "under test", CONTRACT), effort="quick") as session:
        runner: Any = session.runner
        close = runner.close

        def ended() -> None:
            close()
            forget()

        runner.isolated, runner.close = True, ended
        (law,) = (law for law in session.laws if law.name in HERE)
        return run_law(law, session.contract, session.subject, "quick", 0, shrink=0).status


def test_what_is_kept_in_the_process_is_refuted() -> None:
    state_faults.KEPT.clear()
    assert in_turn(state_faults.kept_beside_the_file, state_faults.KEPT.clear) == "refuted"
    assert judged("a_saved_adapter_comes_back", state_faults.kept_beside_the_file, contract=CONTRACT).status == "held"
    assert in_turn(adapters.SoftPrompt, state_faults.KEPT.clear) == "held"
    state_faults.KEPT.clear()


@pytest.mark.parametrize(
    ("target", "words"),
    [
        (adapter_faults.base_is_not_frozen, r"trained numbers: got 967, but should be 237"),
        (adapter_faults.base_shrinks_in_training, r"frozen: got \S+ in layers\.0\.\S+\.weight, but should be"),
        (adapter_faults.product_is_detached, r"slope along layers\.0\.query\.lora_A: got 0, but should be"),
        (adapter_faults.prefix_dropped_by_checkpoints, "got no change of vectors, but should be trained"),
        (state_faults.merges_a_clone, "merged: got the frozen weights as they were, but should hold the adapter"),
        (adapter_faults.segments_dropped, "two segments: got the outputs of one, but should be others"),
        (adapter_faults.mask_all_ones, r"text \d padded on the right: got \S+ at \[0, \d\], but should be"),
    ],
)
def test_the_message_says_what_was_got_and_what_should_be(target: Any, words: str) -> None:
    found = refuted(SEEN_BY[target], target, "quick", contract=CONTRACT)
    assert re.search(words, found.message), found.message


def test_what_is_not_derived_from_the_class_is_told() -> None:
    class Bare:
        def __init__(self, seed: int, dtype: str, saved: str) -> None:
            pass

    found = judged("as_many_numbers_are_trained_as_the_formula_says", Bare, contract=CONTRACT)
    assert found.status == "refuted" and "derived from finetune.laws.peft.adapted.Adapted?" in found.message


def test_what_a_method_of_ones_own_does_not_tell_is_not_asked() -> None:
    class Silent(adapters.Scales):
        count = Adapted.count
        by_hand = Adapted.by_hand

    for law in ("as_many_numbers_are_trained_as_the_formula_says", "the_outputs_are_those_of_the_formula"):
        assert judged(law, Silent, contract=CONTRACT).status == "not_applicable"


def test_counterexamples_are_programs_that_pass_on_a_correct_method(capsys: pytest.CaptureFixture[str]) -> None:
    for fault, right in ((state_faults.merged_transposed, "LowRank"), (adapter_faults.mask_all_ones, "SoftPrompt")):
        name = fault.__name__
        program = counterexample(SEEN_BY[fault], f"{fault.__module__}:{name}", CONTRACT)
        with pytest.raises(AssertionError):
            exec(compile(program, name, "exec"), {"__name__": name})
        exec(compile(program.replace(name, right), right, "exec"), {"__name__": right})
    assert "but should be" in capsys.readouterr().out


def test_what_the_class_draws_is_of_its_seed_alone() -> None:
    def row(seed: int, draws: int) -> Tensor:
        torch.rand(draws)
        return adapters.SoftPrompt(seed, "float32").numbers()

    assert torch.equal(row(1, 0), row(1, 5)) and not torch.equal(row(1, 0), row(2, 0))


class Biases(graded_adapters.GradedLoRA):
    """A method in a model without segments."""

    segments = 0


@pytest.mark.parametrize("target", [graded_adapters.GradedLoRA, Biases])
def test_segments_are_tested_where_there_are_some_and_not_asked_for_elsewhere(target: Any) -> None:
    with Session(Implementation(target, name="mine", contract=CONTRACT), effort="quick") as session:
        laws = [law for law in session.laws if law.name in TOLD]
        results = list(session.results(laws))
        assert "segments" not in session.list_untested_parameters(results)


TOLD = ("segments_count_as_before", "disabling_gives_the_plain_outputs", "the_outputs_are_those_of_the_formula")
