"""Power and false alarms of the laws of trainers.

Laws of trainers: each refutes the fault it names, every fault is refuted, no correct trainer is.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch
from judging import judged, refuted
from judging_contracts import conforming, counterexample, outcomes

from attention_core.conformance import Implementation
from attention_core.conformance.engine.session import Session
from attention_core.conformance.subjects.parameter_case import ParameterCase
from finetune.faults import trainers as faults
from finetune.faults.bases import trainers as loops
from finetune.laws.trainer import laws as trainer
from finetune.laws.trainer.laws import CONTRACT

SEEN_BY = {loop.__name__: law for loop, law in faults.SEEN_BY.items()}


@pytest.mark.parametrize("target", loops.CORRECT, ids=lambda target: target.__name__)
def test_correct_trainers_conform(target: Any) -> None:
    results = conforming(target, CONTRACT, parameters=loops.DECLARED.get(target.__name__, {}))
    assert {r.status for r in results.values()} == {"held"}


@pytest.mark.thorough(table=True)
@pytest.mark.parametrize("target", faults.FAULTY, ids=lambda target: target.__name__)
def test_every_fault_is_refuted_by_the_law_that_is_about_it(target: Any) -> None:
    result = judged(SEEN_BY[target.__name__], target, contract=CONTRACT)
    assert result.status == "refuted", result.message


@pytest.mark.parametrize(
    "law", [law for law in trainer.LAWS if law.family != "process_state"], ids=lambda law: law.name
)
def test_every_law_names_a_fault_that_it_refutes(law: Any) -> None:
    assert SEEN_BY[law.fault] == law.name


@pytest.mark.parametrize(
    ("name", "law"), [("WithALoader", "nothing_else_decays"), ("ByHand", "the_rate_follows_the_cosine")]
)
def test_another_convention_must_be_declared(name: str, law: str) -> None:
    refuted(law, getattr(faults.targets, name), "quick", contract=CONTRACT)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("decay_by_name", r"without a gradient: got .* in a\.weight at the end, but should still be"),
        ("rate_of_another_optimizer", r"warm-up: after step 1 got \S+ in \S+, but should be"),
        ("never_shuffled", "got the order of the data, but should be drawn anew"),
        ("drawn_with_replacement", r"epoch 0: got examples \[.*\] times, but should be each once"),
        ("long_warm_up_unnoticed", "got no error and no warning, but should be reported"),
        ("accumulation_ignored", "got a step computed at once, but should be computed in parts"),
    ],
)
def test_the_message_says_what_was_got_and_what_should_be(name: str, words: str) -> None:
    found = refuted(SEEN_BY[name], getattr(faults.targets, name), "quick", contract=CONTRACT)
    assert re.search(words, found.message), found.message


def test_a_function_that_is_not_graded_is_told() -> None:
    def returns_too_much(gradients: Any, tokens: Any, start: Any, **config: Any) -> Any:
        return start

    result = refuted("a_step_is_that_of_adamw", returns_too_much, "quick", contract=CONTRACT)
    assert "is the target made by probe.make_target?" in result.message


def test_the_bounds_are_far_below_a_step() -> None:
    """A bound that grew to the size of a step could not fail."""
    with Session(Implementation(loops.CORRECT[0], "under test", CONTRACT), effort="quick") as session:
        for dtype, largest in (("float32", 1e-3), ("float64", 1e-11)):
            case = ParameterCase({"N": 7}, options={"parts": 2}, dtype=dtype, seed=3)
            run = session.subject.run(case, spread=1.5, epochs=3, batch_size=3)
            seen = session.subject.train(run)
            want, bound = session.subject.truth(run, seen.steps)
            assert len(want) == 10 and bound.max() < largest * run.config["learning_rate"]


@pytest.mark.thorough
def test_counterexamples_are_programs_that_pass_on_a_correct_trainer() -> None:
    programs = {}
    for name in ("summed_loss", "norms_and_biases_decay"):
        program = counterexample(SEEN_BY[name], f"finetune.faults.trainers:targets.{name}", CONTRACT)
        programs[name], programs[f"Loop for {name}"] = program, program.replace(name, "Loop")
    found = outcomes(programs)
    assert {n: told.partition(":")[0] for n, told in found.items() if told} == {
        "summed_loss": "AssertionError", "norms_and_biases_decay": "AssertionError",
    }  # fmt: skip


def test_an_evaluation_between_epochs_is_no_step() -> None:
    class Evaluates(loops.Loop):
        def batches(self, epoch: int) -> Any:
            with torch.no_grad():
                self.loss(self.model, self.collated(list(range(len(self.examples)))))
            yield from super().batches(epoch)

    for law in ("moments_are_kept_over_steps", "every_example_comes_once_an_epoch"):
        result = judged(law, faults.make_target(Evaluates), contract=CONTRACT)
        assert result.status == "held", result.message
