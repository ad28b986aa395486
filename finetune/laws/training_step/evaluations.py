"""Laws of evaluations between training steps: a mean over all targets, without dropout, that changes nothing."""

from __future__ import annotations

import numpy as np

from attention_core.conformance.subjects.evidence import Violation, require_close
from attention_core.conformance.subjects.parameter_case import ParameterCase
from finetune.laws.trainer.probe import name_of
from finetune.laws.training_step.steps import Batches, Event, Happened, Steps, split


def evaluate_twice(subject: Steps, case: ParameterCase) -> tuple[Happened, Batches]:
    """An evaluation right after a step, and once more; the same batches."""
    batches = split(case, range(case["N"]), case.options["parts"], "dev")
    events: list[Event] = [("step", [batches[0]]), ("evaluate", batches), ("evaluate", batches)]
    return subject.run_events(subject.run(case), events, training=True), batches


def evaluation_is_the_mean_over_all_targets(subject: Steps, case: ParameterCase) -> None:
    """An evaluation returns the mean loss over the targets of all batches, not the mean of their means.

    Formula: returned = sum_i l_i / sum_i tokens_i, at the parameters that it is given
    Source: evaluation as mean of batch means: the last, shorter batch weighs more than its targets
    Fault: evaluation_as_a_mean_of_means
    """
    run = subject.run(case)
    batches = split(case, range(case["N"]), case.options["parts"], "dev")
    found = subject.run_events(run, [("evaluate", batches)])
    want, bound = subject.mean(run, run.start, batches)
    require_close(found.number(0), np.array([want]), bound, "the mean loss over all targets")


def evaluation_turns_dropout_off(subject: Steps, case: ParameterCase) -> None:
    """An evaluation puts the whole model into evaluation mode, dropout in its depth too.

    Formula: no module's training is True whenever an evaluation computes a loss
    Source: huggingface/pytorch-image-models PR1978, pytorch/pytorch#124464 (dropout on in evaluation)
    Fault: evaluates_in_training_mode
    """
    found, _ = evaluate_twice(subject, case)
    for event in (1, 2):
        if found.calls_of(event)[:, 2].any():
            raise Violation("an evaluation: got modules in training mode, but should be none", found.as_evidence())


def evaluation_changes_no_number(subject: Steps, case: ParameterCase) -> None:
    """An evaluation leaves every parameter and every gradient as it was, and which of them are asked for.

    Formula: theta' = theta, grad' = grad and requires_grad' = requires_grad, bit by bit
    Source: a loop over dev that was copied from training
    Fault: evaluation_leaves_gradients
    """
    found, _ = evaluate_twice(subject, case)
    values = found.history.values
    off = values[-1] != values[1]
    if off.any():
        place = int(off.argmax())
        raise Violation(
            f"an evaluation: got other numbers in {name_of(place)}, but should be as before", found.as_evidence()
        )
    if not found.facts[1:, 4].all():
        raise Violation("an evaluation: got other gradients, but should be as before", found.as_evidence())
    if not found.facts[1:, 7].all():
        raise Violation(
            "an evaluation: got other parameters that ask for gradients, but should be as before", found.as_evidence()
        )


def evaluation_remembers_nothing(subject: Steps, case: ParameterCase) -> None:
    """The same evaluation again returns the same bits.

    Formula: evaluate(batches), evaluate(batches): equal
    Source: a running total that is not begun anew; draws in evaluation
    Fault: total_goes_on
    """
    found, _ = evaluate_twice(subject, case)
    first, again = found.number(1), found.number(2)
    require_close(again, first.values, 0.0, "the same evaluation again")


def evaluation_keeps_no_graph(subject: Steps, case: ParameterCase) -> None:
    """An evaluation computes no graph: it would cost the memory of training.

    Formula: gradients are off whenever an evaluation computes a loss
    Source: torch.no_grad() missing; evaluation runs out of memory where training did not
    Fault: evaluation_with_a_graph
    """
    found, _ = evaluate_twice(subject, case)
    for event in (1, 2):
        if found.calls_of(event)[:, 3].any():
            raise Violation("an evaluation: got a graph, but should be computed without one", found.as_evidence())
