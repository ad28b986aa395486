"""Laws of one training step: `finetune.laws.training_step.step_probe.make_target(step, evaluate)`.

A step is called as `step(model, optimizer, loss, batches, clip)`. The gradients are known and the optimizer is SGD with
momentum, so the parameters after every step follow in closed form. An evaluation between steps is a mean over all
targets, without dropout, and changes nothing. What makes a run of steps (the optimizer, its groups, schedules, epochs,
seeds) is for the contract `trainer`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from attention_core.conformance.laws.process_state import law_of
from attention_core.conformance.subjects.evidence import Evidence, Violation, require_close
from attention_core.conformance.subjects.law import Law
from attention_core.conformance.subjects.parameter_case import ParameterCase, Sizes
from finetune.laws.trainer.probe_layout import FROZEN, name_of, where
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


def evaluation_goes_on_behind_padding(subject: Steps, case: ParameterCase) -> None:
    """A batch of padding alone adds nothing to an evaluation, and what comes after it counts.

    Formula: returned = sum_i l_i / sum_i tokens_i where l_i = tokens_i = 0 in the first batch
    Source: a loop that takes a batch without targets for the end of the data
    Fault: evaluation_ends_at_padding
    """
    run, batches = subject.run(case), split(case, range(case["N"]), case.options["parts"], "dev")
    tokens, gradients = run.tokens.copy(), run.gradients.copy()
    tokens[batches[0]], gradients[batches[0]] = 0, 0.0
    run = replace(run, tokens=tokens, gradients=gradients)
    found = subject.run_events(run, [("evaluate", batches)])
    want, bound = subject.mean(run, run.start, batches)
    require_close(found.number(0), np.array([want]), bound, "the mean loss after a batch of padding")


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
    """An evaluation leaves every parameter and every gradient as it was, and which of them are computed.

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


CONTRACT = "training-step"


def whole(case: ParameterCase) -> Batches:
    """All examples in one batch."""
    return [list(range(case["N"]))]


def split_batches(case: ParameterCase, purpose: str = "parts") -> Batches:
    """All examples in two or three batches of unequal sizes."""
    return split(case, range(case["N"]), case.options["parts"], purpose)


def a_step_follows_the_mean_gradient(subject: Steps, case: ParameterCase) -> None:
    """One step goes along the gradient of the mean loss over the targets of its batch.

    Formula: theta' = theta - lr sum_i G_i / sum_i tokens_i
    Source: Robbins and Monro (1951); the loss of a step is a mean over tokens; zero_grad between backward and step
    Fault: zeroed_before_the_step
    """
    subject.follow(subject.run(case), [whole(case)], "one step")


def each_step_has_its_own_gradient(subject: Steps, case: ParameterCase) -> None:
    """Of several steps each goes along the gradient of its own batch: what earlier ones left is zeroed.

    Formula: m_t = mu m_(t-1) + g_t, theta_t = theta_(t-1) - lr m_t, g_t of batch t alone
    Source: zero_grad missing; gradients of gates that were not zeroed between batches rank heads wrongly
    Fault: never_zeroed
    """
    run = subject.run(case, spread=1.5)
    subject.follow(run, [[part] for part in split_batches(case)], "several steps")


def batches_of_a_step_are_one_batch(subject: Steps, case: ParameterCase) -> None:
    """A step over several batches is the step over all of their examples, though they hold unequal numbers of targets.

    Formula: g = (sum over batches of summed losses)' / sum over batches of tokens, not a mean of the batches' means
    Source: huggingface/transformers#34191 (accumulation normalised by micro-batch instead of by tokens)
    Fault: mean_of_the_batches
    """
    subject.follow(subject.run(case), [split_batches(case)], f"a step over {case.options['parts']} batches")


def batches_without_targets_add_nothing(subject: Steps, case: ParameterCase) -> None:
    """A batch of padding alone among others changes nothing about the step.

    Formula: tokens_i = 0 and G_i = 0 for all i of a batch: theta' as without that batch
    Source: a mean over no token is 0 / 0
    Fault: nothing_by_nothing
    """
    run, batches = subject.run(case), split_batches(case)
    tokens, gradients = run.tokens.copy(), run.gradients.copy()
    empty = batches[int(case.rng("empty").integers(len(batches)))]
    tokens[empty], gradients[empty] = 0, 0.0
    subject.follow(replace(run, tokens=tokens, gradients=gradients), [batches], "a batch without targets among others")


def all_gradients_are_clipped_together(subject: Steps, case: ParameterCase) -> None:
    """Where the norm of all gradients together exceeds the bound they are scaled to it; below it they stay.

    Formula: g' = g min(1, clip / ||g||), ||g|| over all parameters, of the mean gradient of the whole step
    Source: Pascanu et al. (2013), algorithm 1; clipping batch by batch, or before the division
    Fault: clipped_batch_by_batch
    """
    run, parts = subject.run(case, spread=2.0), split_batches(case)
    steps = [[part] for part in parts] + [parts]
    sums = [run.gradients[[n for b in step for n in b]].sum(0) for step in steps]
    counts = [int(run.tokens[[n for b in step for n in b]].sum()) for step in steps]
    norms = [float(np.sqrt(((s / c) ** 2 * ~np.array(where(FROZEN))).sum())) for s, c in zip(sums, counts, strict=True)]
    clip = float(np.sqrt(min(norms) * max(norms)))
    subject.follow(run, steps, f"clipped at {clip:.3g}", clip)


def what_asks_for_no_gradient_stays(subject: Steps, case: ParameterCase) -> None:
    """Parameters that ask for no gradient keep their bits, and get none.

    Formula: requires_grad = False implies theta' = theta bit by bit, and no gradient
    Source: a base that is frozen only in the optimizer costs its gradients, and is one step from being trained
    Fault: thawed_for_the_step
    """
    found = happened_twice(subject, case)
    frozen = np.array(where(FROZEN))
    off = frozen & (found.history.values[-1] != found.history.values[0])
    if off.any():
        place = int(off.argmax())
        got, want = (float(found.history.values[row, place]) for row in (-1, 0))
        message = f"frozen: got {got!r} in {name_of(place)}, but should be {want!r} as at first"
        raise Violation(message, Evidence((found.history.show((2, place)),), got, want))
    if found.facts[:, 5].any():
        raise Violation("frozen: got gradients, but should have none", found.as_evidence())


def happened_twice(subject: Steps, case: ParameterCase, events: tuple[str, ...] = ("step", "step")) -> Happened:
    """Two events over several batches each."""
    given: list[Event] = [(kind, split_batches(case, f"event {number}")) for number, kind in enumerate(events)]
    return subject.run_events(subject.run(case), given)


def the_optimiser_is_stepped_once(subject: Steps, case: ParameterCase) -> None:
    """However many batches a step is computed in, the optimizer makes one step.

    Formula: steps of the optimizer = 1 for each call
    Source: a step for every batch in place of an accumulation: moments and schedules run ahead
    Fault: stepped_for_every_batch
    """
    found = happened_twice(subject, case)
    made = found.facts[:, 2].astype(int)
    if (made != 1).any():
        raise Violation(f"got {made.tolist()} steps of the optimizer, but should be 1 in each", found.as_evidence())


def every_batch_counts_once(subject: Steps, case: ParameterCase) -> None:
    """The loss of every example is asked for once in a step.

    Formula: the calls of the loss with gradients are a partition of the step's examples
    Source: the last batch of an accumulation lost; a needless second pass
    Fault: last_batch_forgotten
    """
    found = happened_twice(subject, case)
    for event in (0, 1):
        with_gradients = (found.calls[:, 0] == event) & (found.calls[:, 3] > 0)
        times = found.seen[with_gradients].sum(0).astype(int)
        if (times != 1).any():
            message = f"step {event + 1}: got examples {times.tolist()} times, but should be each once"
            raise Violation(message, found.as_evidence())


def batches_are_left_as_they_were(subject: Steps, case: ParameterCase) -> None:
    """A step and an evaluation leave their batches as they were: the next epoch sees them again.

    Formula: batches after = batches before
    Source: inputs mutated by masking; labels overwritten in place
    Fault: padding_written_into_the_batch
    """
    found = happened_twice(subject, case)
    if not found.facts[:, 3].all():
        raise Violation("got other numbers in a batch after the step, but should be as they were", found.as_evidence())


def a_step_is_in_training_mode(subject: Steps, case: ParameterCase) -> None:
    """A step puts the whole model into training mode, also after an evaluation.

    Formula: every module's training is True whenever a step computes a loss
    Source: dropout that is off from the first evaluation on
    Fault: mode_left_as_it_was
    """
    found = happened_twice(subject, case)
    if not found.calls[:, 1].all():
        raise Violation("a step: got a model in evaluation mode, but should be in training mode", found.as_evidence())


def each_step_draws_anew(subject: Steps, case: ParameterCase) -> None:
    """Dropout draws anew in every batch and step: no step seeds the generator.

    Formula: numbers drawn from the generator in two calls of the loss differ (with probability above 1 - 2^-20)
    Source: Dao-AILab/flash-attention#314 (successive masks identical); a seed set inside of the step
    Fault: seeded_in_the_step
    """
    found = happened_twice(subject, case)
    draws = found.calls[:, 4]
    if len(set(draws.tolist())) < len(draws):
        raise Violation("got one draw twice, but should be drawn anew", found.as_evidence())


def the_loss_that_is_told_is_the_mean(subject: Steps, case: ParameterCase) -> None:
    """What a step returns is the mean loss over all its targets, of the parameters before it.

    Formula: returned = sum_i l_i / sum_i tokens_i
    Source: a mean of batch means; a loss that was divided for the accumulation, and is reported as it is
    Fault: told_divided_once_more
    """
    run, batches = subject.run(case), split_batches(case)
    found = subject.run_events(run, [("step", batches)])
    want, bound = subject.mean(run, run.start, batches)
    require_close(found.number(0), np.array([want]), bound, "the loss that the step returns")


def the_loss_that_is_told_holds_no_graph(subject: Steps, case: ParameterCase) -> None:
    """What a step or an evaluation returns holds no graph: summed over an epoch, it would hold every batch in memory.

    Formula: returned.requires_grad = False
    Source: total += loss in place of total += loss.item()
    Fault: loss_with_its_graph
    """
    found = happened_twice(subject, case)
    if found.facts[:, 1].any():
        raise Violation("got a loss with its graph, but should be a number", found.as_evidence())


FLOATS = ("float64", "float32")
SPACE = Sizes({"N": (4, 9)}, options={"parts": (2, 3)}, dtypes=FLOATS)
ROW: dict[str, Any] = {"contract": CONTRACT, "family": "training_step", "large": 3, "small": 0, "space": SPACE}
LAWS = (
    *(
        Law(check, **ROW)
        for check in (
            a_step_follows_the_mean_gradient, each_step_has_its_own_gradient, batches_of_a_step_are_one_batch,
            batches_without_targets_add_nothing, all_gradients_are_clipped_together, what_asks_for_no_gradient_stays,
            the_optimiser_is_stepped_once, every_batch_counts_once, batches_are_left_as_they_were,
            a_step_is_in_training_mode, each_step_draws_anew, the_loss_that_is_told_is_the_mean,
            the_loss_that_is_told_holds_no_graph, evaluation_is_the_mean_over_all_targets,
            evaluation_goes_on_behind_padding, evaluation_turns_dropout_off,
            evaluation_changes_no_number, evaluation_remembers_nothing, evaluation_keeps_no_graph,
        )
    ),
    law_of(CONTRACT, SPACE),
)  # fmt: skip
COMPARISONS = ("a_step_follows_the_mean_gradient", "each_step_has_its_own_gradient")
