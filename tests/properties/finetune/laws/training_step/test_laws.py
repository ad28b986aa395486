"""Power and false alarms of the laws of training steps.

Laws of training steps: each refutes the fault it names, every fault is refuted, no correct step is.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
from judging import judged, refuted
from judging_contracts import conforming, counterexample

from attention_core.conformance import Implementation
from attention_core.conformance.engine.session import Session
from attention_core.conformance.subjects.parameter_case import ParameterCase
from finetune.contract_adapters import training as graded
from finetune.faults import training_steps as faults
from finetune.laws.training_step import laws as training_step
from finetune.laws.training_step import step_probe
from finetune.laws.training_step.laws import CONTRACT
from finetune.laws.training_step.steps import RATE, split

SEEN_BY = {kind.__name__: law for kind, law in faults.SEEN_BY.items()}


TELLING = {
    "the_loss_that_is_told_is_the_mean", "evaluation_is_the_mean_over_all_targets", "evaluation_turns_dropout_off",
    "evaluation_goes_on_behind_padding",
    "evaluation_changes_no_number", "evaluation_remembers_nothing", "evaluation_keeps_no_graph",
}  # fmt: skip
"""What has nothing to say where a step returns None and no evaluation is given."""


@pytest.mark.parametrize("target", [*faults.CORRECT, graded.training_step], ids=lambda t: t.__name__)
def test_correct_steps_and_ours_conform(target: Any) -> None:
    results = conforming(target, CONTRACT)
    silent = {"the_loss_that_is_told_is_the_mean"} if target.__name__ == "InOne" else set()
    assert {law for law, r in results.items() if r.status != "held"} == silent


@pytest.mark.parametrize("target", faults.FAULTY, ids=lambda target: target.__name__)
def test_every_fault_is_refuted_by_the_law_that_is_about_it(target: Any) -> None:
    result = judged(SEEN_BY[target.__name__], target, contract=CONTRACT)
    assert result.status == "refuted", result.message


@pytest.mark.parametrize(
    "law", [law for law in training_step.LAWS if law.family != "process_state"], ids=lambda law: law.name
)
def test_every_law_names_a_fault_that_it_refutes(law: Any) -> None:
    assert SEEN_BY[law.fault] == law.name


def test_a_step_alone_is_asked_for_the_step_alone() -> None:
    results = conforming(step_probe.make_target(faults.InOne().step), CONTRACT)
    assert {law for law, r in results.items() if r.status == "not_applicable"} == TELLING


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("mean_of_the_batches", r"a step over \d batches: after step 1 got \S+ in \S+, but should be"),
        ("frozen_shrink", r"frozen: got \S+ in f\.weight, but should be \S+ as at first"),
        ("base_frozen_in_the_optimizer_alone", "frozen: got gradients, but should have none"),
        ("stepped_for_every_batch", r"got \[\d, \d\] steps of the optimizer, but should be 1 in each"),
        ("last_batch_forgotten", r"step 1: got examples \[.*0.*\] times, but should be each once"),
        ("evaluation_as_a_mean_of_means", "the mean loss over all targets: got"),
    ],
)
def test_the_message_says_what_was_got_and_what_should_be(name: str, words: str) -> None:
    found = refuted(SEEN_BY[name], getattr(faults.targets, name), "quick", contract=CONTRACT)
    assert re.search(words, found.message), found.message


def test_what_is_not_graded_or_never_asks_for_the_loss_is_told() -> None:
    def returns_too_much(gradients: Any, tokens: Any, start: Any, **config: Any) -> Any:
        return start

    result = refuted("a_step_follows_the_mean_gradient", returns_too_much, "quick", contract=CONTRACT)
    assert "is the target made by step_probe.make_target?" in result.message
    idle = step_probe.make_target(faults.Plain().step, lambda model, loss, batches: 0.0)
    result = refuted("evaluation_turns_dropout_off", idle, "quick", contract=CONTRACT)
    assert "got no call of the loss" in result.message


def test_the_bounds_are_far_below_a_step() -> None:
    """A bound that grew to the size of a step could not fail."""
    with Session(Implementation(faults.CORRECT[0], "under test", CONTRACT), effort="quick") as session:
        for dtype, largest in (("float32", 1e-4), ("float64", 1e-12)):
            case = ParameterCase({"N": 8}, options={"parts": 3}, dtype=dtype, seed=3)
            run, batches = session.subject.run(case), split(case, range(8), 3)
            assert sorted(n for b in batches for n in b) == list(range(8)) and len(batches) == 3
            want, bound = session.subject.path(run, [batches, batches])
            moved = abs(want[-1] - want[0])
            assert (bound[-1][moved > 0] < largest * (moved[moved > 0] + 1)).all() and moved.max() > RATE / 10


def test_counterexamples_are_programs_that_pass_on_a_correct_step(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("evaluation_as_a_mean_of_means", "frozen_shrink"):
        program = counterexample(SEEN_BY[name], f"finetune.faults.training_steps:targets.{name}", CONTRACT)
        with pytest.raises(AssertionError):
            exec(compile(program, name, "exec"), {"__name__": name})
        exec(compile(program.replace(name, "Plain"), "Plain", "exec"), {"__name__": "Plain"})
    assert "but should be" in capsys.readouterr().out
