"""Laws of what a trainer draws and sees: examples in epochs, seeds, modes, and batches without any target."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from attention_core.conformance.subjects.evidence import Evidence, Shown, Violation
from attention_core.conformance.subjects.parameter_case import ParameterCase
from finetune.laws.trainer.probe_layout import name_of
from finetune.laws.trainer.runs import Training


def every_example_comes_once_an_epoch(subject: Training, case: ParameterCase) -> None:
    """An epoch holds every example once, the last incomplete batch included, and there are as many as asked for.

    Formula: the batches of an epoch are a partition of {0, ..., N - 1} (whole batches alone where drop_last=True)
    Source: the assignment's Trainer; a sampler with replacement, or the last batch lost
    Fault: last_batch_lost
    """
    run = subject.run(case, epochs=3, batch_size=max(2, case["N"] // 3))
    seen, size = subject.train(run), run.config["batch_size"]
    crash = Evidence((Shown(seen.history.request),), kind="crash")
    counts = [sum(step.examples for step in epoch) for epoch in seen.epochs]
    want = case["N"] // size * size if subject.parameters.get("drop_last") else case["N"]
    if len(counts) != 3:
        raise Violation(f"got {len(counts)} epochs of {want} examples, but should be 3", crash)
    for epoch, count in enumerate(counts):
        if np.max(count) > 1 or np.sum(count) != want:
            raise Violation(
                f"epoch {epoch}: got examples {np.asarray(count).tolist()} times, but should be each once ({want})",
                crash,
            )
    largest = max(int(step.examples.sum()) for step in seen.steps)
    if largest != size:
        raise Violation(f"got batches of up to {largest} examples, but should be of {size}", crash)


def epochs_are_shuffled(subject: Training, case: ParameterCase) -> None:
    """Each epoch has an order of its own, and none is that of the data.

    Formula: N >= 14 examples one by one: two orders drawn at random are equal with probability 1 / N! < 2e-11
    Source: no shuffling
    Fault: never_shuffled
    """
    seen = subject.train(subject.run(case, epochs=3, batch_size=1))
    orders = [tuple(range(case["N"]))] + [tuple(int(s.examples.argmax()) for s in epoch) for epoch in seen.epochs]
    if len(set(orders)) < len(orders):
        evidence = Evidence((Shown(seen.history.request),), kind="crash")
        same = "the order of the data" if orders[0] in orders[1:] else "one order twice"
        raise Violation(f"orders of 3 epochs: got {same}, but should be drawn anew for each", evidence)


def one_seed_gives_one_run(subject: Training, case: ParameterCase) -> None:
    """The same seed gives the same order, the same draws inside the model and the same bits at the end.

    Formula: run(seed) = run(seed), whatever was drawn before
    Source: an unseeded split or order cannot be repeated
    Fault: order_from_the_clock
    """
    run = subject.run(case, epochs=2, batch_size=4)
    one, two = subject.train(run), subject.train(run)
    evidence = Evidence((Shown(two.history.request),), kind="crash", before=(Shown(one.history.request),))
    for what, first, second in (("order", one.order, two.order), ("draws", one.draws, two.draws)):
        if not np.array_equal(first, second):
            message = f"the {what} of a second run with the same seed: got others, but should be the same"
            raise Violation(message, evidence)
    if one.history.values[-1].tobytes() != two.history.values[-1].tobytes():
        raise Violation(
            "parameters after a second run with the same seed: got other bits, but should be the same", evidence
        )


def another_seed_gives_another_run(subject: Training, case: ParameterCase) -> None:
    """Another seed gives another order and other draws inside the model.

    Formula: order(seed) != order(seed + 1), with probability above 1 - 2e-11 for N >= 14
    Source: an interval over seeds is none where the seed is not used
    Fault: seed_unused
    """
    run = subject.run(case, batch_size=1)
    one, two = subject.train(run), subject.train(run.with_(seed=run.config["seed"] + 1))
    evidence = Evidence((Shown(two.history.request),), kind="crash", before=(Shown(one.history.request),))
    for what, first, second in (("order", one.order, two.order), ("draws", one.draws, two.draws)):
        if np.array_equal(first, second):
            raise Violation(f"the {what} of a run with another seed: got the same, but should be others", evidence)


def the_model_is_in_training_mode(subject: Training, case: ParameterCase) -> None:
    """The model is put into training mode, also where it was left in evaluation.

    Formula: model.training is True whenever its loss is computed
    Source: dropout that is never on trains another model
    Fault: left_in_evaluation
    """
    seen = subject.train(subject.run(case, epochs=2))
    if not seen.modes.all():
        evidence = Evidence((Shown(seen.history.request),), kind="crash")
        raise Violation("got a model in evaluation mode, but should be in training mode", evidence)


def a_step_without_targets_stays_finite(subject: Training, case: ParameterCase) -> None:
    """Examples that are padding alone leave the parameters finite.

    Formula: tokens_i = 0 implies |theta'| < inf
    Source: a mean over no token is 0 / 0
    Fault: divided_by_no_token
    """
    run = subject.run(case, epochs=2, batch_size=1)
    alone = case.rng("alone").integers(case["N"])
    tokens, gradients = run.tokens.copy(), run.gradients.copy()
    tokens[alone], gradients[alone] = 0, 0.0
    seen = subject.train(replace(run, tokens=tokens, gradients=gradients))
    bad = ~np.isfinite(seen.history.values)
    if bad.any():
        row, place = (int(i) for i in np.argwhere(bad)[0])
        got = float(seen.history.values[row, place])
        raise Violation(
            f"after a batch without targets: got {got} in {name_of(place)}, but should be finite",
            Evidence((seen.history.show((row, place)),), got, None, None, "nonfinite"),
        )
