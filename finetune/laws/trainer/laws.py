"""Laws of trainers: `finetune.laws.trainer.probe.make_target(train)` of `train(model, loss, examples, config)`.

The model's gradients are known, so every parameter after every step follows in closed form, in float64. So does what a
trainer draws and sees: examples in epochs, seeds, modes, and batches without any target.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from attention_core.conformance.laws.process_state import law_of
from attention_core.conformance.subjects.evidence import Evidence, Refused, Shown, Violation
from attention_core.conformance.subjects.law import Law
from attention_core.conformance.subjects.parameter_case import ParameterCase, Sizes
from finetune.laws.chance import far_seed
from finetune.laws.trainer.drawn_runs import Run, Seen, Training
from finetune.laws.trainer.probe_layout import FROZEN, name_of, where


def every_example_comes_once_an_epoch(subject: Training, case: ParameterCase) -> None:
    """An epoch holds every example once, the last incomplete batch included, and there are as many as requested.

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

    Formula: order(seed) != order(seed + 1), order(seed) != order(seed + 40960000), each with probability above
        1 - 2e-11 for N >= 14
    Source: an interval over seeds is none where the seed is not used
    Fault: seed_unused
    """
    run = subject.run(case, batch_size=1)
    one, own = subject.train(run), run.config["seed"]
    for seed in (own + 1, far_seed(own)):
        two = subject.train(run.with_(seed=seed))
        evidence = Evidence((Shown(two.history.request),), kind="crash", before=(Shown(one.history.request),))
        for what, first, second in (("order", one.order, two.order), ("draws", one.draws, two.draws)):
            if np.array_equal(first, second):
                message = f"the {what} of a run with seed {seed} after one with seed {own}"
                raise Violation(f"{message}: got the same, but should be others", evidence)


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


CONTRACT = "trainer"
NEAR_EPS = 1e-8
"""Gradients of this size: only there does a step of Adam depend on their scale, so on what they are divided by."""


def a_step_is_that_of_adamw(subject: Training, case: ParameterCase) -> None:
    """One step over all examples is AdamW's, with the gradient of the mean loss over all targets.

    Formula: g = sum_i G_i / sum_i tokens_i, theta' = theta - lr g / (|g| + eps)
    Source: Loshchilov and Hutter (2019), algorithm 2; the loss of a step is a mean over tokens
    Fault: summed_loss
    """
    run = subject.run(case, scale=NEAR_EPS)
    subject.compare(run, subject.train(run), "one step")


def moments_are_kept_over_steps(subject: Training, case: ParameterCase) -> None:
    """Several steps follow both running means, corrected for their start, each with its own batch's gradient.

    Formula: m = b1 m + (1 - b1) g, v = b2 v + (1 - b2) g^2, theta -= lr m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + eps)
    Source: Kingma and Ba (2015), algorithm 1; zero_grad missing, or after backward
    Fault: gradients_never_zeroed
    """
    run = subject.run(case, spread=1.5, epochs=3, batch_size=max(1, case["N"] // 2))
    subject.compare(run, subject.train(run), "several steps")


def matrices_decay(subject: Training, case: ParameterCase) -> None:
    """Without any gradient, the matrices that multiply shrink by the rate times the weight decay, decoupled.

    Formula: g = 0 implies theta' = (1 - lr decay) theta for weights of linear and convolutional modules
    Source: Loshchilov and Hutter (2019), algorithm 2 (decoupled); a coupled L2 term is divided by its own root
    Fault: decay_in_the_gradient
    """
    run = without_gradients(subject, case)
    subject.compare(run, subject.train(run), "decay alone")


def nothing_else_decays(subject: Training, case: ParameterCase) -> None:
    """Biases, norms, embeddings and tables of positions keep their bits where they have no gradient.

    Formula: g = 0 implies theta' = theta for all but matrices (tables excepted where decay=dims is declared)
    Source: the assignment's configure_optimizers; a filter by name misses what is called otherwise
    Fault: norms_and_biases_decay
    """
    run = without_gradients(subject, case)
    seen = subject.train(run)
    require_no_change(seen, ~subject.decay_mask & ~np.array(where(FROZEN)), "without a gradient")


def without_gradients(subject: Training, case: ParameterCase) -> Run:
    """A run of zero gradients and strong decay."""
    run = subject.run(case, epochs=2, weight_decay=0.5)
    return replace(run, gradients=np.zeros_like(run.gradients))


def require_no_change(seen: Seen, of: Any, what: str) -> None:
    """Raise unless the parameters in question end with the bits they began with."""
    first, last = seen.history.values[0], seen.history.values[-1]
    moved = of & ~((last == first) & (np.signbit(last) == np.signbit(first)))
    if moved.any():
        place = int(moved.argmax())
        message = f"{what}: got {last[place]!r} in {name_of(place)} at the end, but should still be {first[place]!r}"
        shown = seen.history.show((len(seen.history.values) - 1, place))
        raise Violation(message, Evidence((shown,), float(last[place]), float(first[place])))


def frozen_parameters_keep_their_bits(subject: Training, case: ParameterCase) -> None:
    """Parameters that ask for no gradient are neither stepped nor decayed.

    Formula: requires_grad = False implies theta' = theta, bit by bit
    Source: a base that is frozen only in the optimizer, or decayed with the rest
    Fault: frozen_decays
    """
    run = subject.run(case, epochs=2, weight_decay=0.5)
    require_no_change(subject.train(run), np.array(where(FROZEN)), "frozen")


def gradients_are_clipped_by_their_common_norm(subject: Training, case: ParameterCase) -> None:
    """Where the norm of all gradients together exceeds the bound they are scaled to it; below it they stay.

    Formula: g' = g min(1, clip / ||g||), ||g|| over all parameters, of the mean gradient of the whole step
    Source: Pascanu et al. (2013), algorithm 1; clipping before accumulated gradients are divided
    Fault: clipped_one_by_one
    """
    batch = max(1, case["N"] // 3)
    run = subject.run(case, spread=2.0, epochs=3, batch_size=batch, accumulate=min(batch, case.options["parts"]))
    norms = np.sqrt(((run.gradients / run.tokens[:, None]) ** 2).sum(1))
    run = run.with_(clip=float(np.sqrt(norms.min() * norms.max())))
    subject.compare(run, subject.train(run), f"clipped at {run.config['clip']:.3g}")


def accumulated_parts_are_the_whole_batch(subject: Training, case: ParameterCase) -> None:
    """A batch computed in parts gives the step of the whole batch, though its parts hold different numbers of targets.

    Formula: g = (sum over parts of sums of losses)' / sum over parts of tokens, not a mean of the parts' means
    Source: huggingface/transformers#34191 (accumulation normalised by micro-batch instead of by tokens)
    Fault: mean_of_the_parts
    """
    run = subject.run(case, scale=NEAR_EPS, epochs=2, accumulate=min(case["N"], case.options["parts"]))
    seen = subject.train(run)
    subject.compare(run, seen, f"in {run.config['accumulate']} parts")
    if case["N"] >= run.config["accumulate"] and any(step.parts == 1 for step in seen.steps):
        evidence = Evidence((Shown(seen.history.request),), kind="crash")
        message = "got a step computed at once, but should be computed in parts, as accumulate says"
        raise Violation(message, evidence)


# --- the learning rate ----------------------------------------------------------------------------------


def schedule(subject: Training, case: ParameterCase, what: str, tokens: int, **config: Any) -> None:
    """Steps of one constant gradient, so that each is the learning rate itself; `tokens` of each example."""
    run = subject.run(case, **config)
    run = replace(run, gradients=np.broadcast_to(run.gradients[:1], run.gradients.shape).copy())
    run = replace(run, tokens=np.full_like(run.tokens, tokens)) if tokens else run
    subject.compare(run, subject.train(run), what)


def the_rate_warms_up_by_tokens(subject: Training, case: ParameterCase) -> None:
    """The learning rate rises linearly with the targets seen, and is whole when the warm-up ends.

    Formula: lr_t = lr min(1, tokens_t / warmup)
    Source: the assignment's Trainer; a scheduler bound to another optimizer
    Fault: rate_of_another_optimizer
    """
    step = 3 * case["N"]
    schedule(subject, case, "warm-up", 3, epochs=6, warmup_tokens=4 * step)


def the_rate_follows_the_cosine(subject: Training, case: ParameterCase) -> None:
    """After the warm-up the learning rate follows half a cosine down to its floor.

    Formula: lr_t = lr max(floor, (1 + cos(pi p)) / 2), p = (tokens_t - warmup) / (final - warmup)
    Source: Loshchilov and Hutter (2017), eq. 5; the assignment's Trainer
    Fault: linear_in_place_of_the_cosine
    """
    step = 3 * case["N"]
    schedule(subject, case, "cosine", 3, epochs=7, warmup_tokens=2 * step, final_tokens=8 * step)


def the_rate_stays_at_its_floor(subject: Training, case: ParameterCase) -> None:
    """Beyond the end of the schedule the learning rate stays at its floor.

    Formula: lr_t = floor lr for tokens_t >= final
    Source: karpathy/minGPT's assignment fork lets p grow beyond 1, and the rate rises again
    Fault: cosine_comes_back
    """
    step = 3 * case["N"]
    schedule(subject, case, "beyond the end", 3, epochs=8, warmup_tokens=0, final_tokens=3 * step)


def padding_is_no_token(subject: Training, case: ParameterCase) -> None:
    """The schedule counts targets, not places: batches of different padding take different steps along it.

    Formula: tokens_t = sum over steps up to t of |{y real}|
    Source: Brown et al. (2020), appendix B (tokens); padding counted as tokens
    Fault: padding_counted
    """
    most = 6 * 6 * case["N"]
    schedule(subject, case, "padded", 0, epochs=6, batch_size=max(1, case["N"] // 2), warmup_tokens=most // 2)


def a_warm_up_beyond_the_schedule_is_told(subject: Training, case: ParameterCase) -> None:
    """A warm-up that ends after the schedule does is refused, or at least warned of.

    Formula: warmup >= final implies an exception or a warning
    Source: a warm-up longer than training learns at a rate that was never meant; accuracy may still reach 1
    Fault: long_warm_up_unnoticed
    """
    step = 3 * case["N"]
    run = subject.run(case, warmup_tokens=4 * step, final_tokens=(4 - case.options["parts"]) * step)
    try:
        seen = subject.train(run)
    except Refused:
        return
    if not seen.warned:
        evidence = Evidence((Shown(seen.history.request),), kind="must_raise")
        message = "a warm-up longer than the schedule: got no error and no warning, but should be reported"
        raise Violation(message, evidence)


FLOATS = ("float64", "float32")
SPACE = Sizes({"N": (2, 7)}, options={"parts": (2, 3)}, dtypes=FLOATS)
SEVERAL = Sizes({"N": (6, 9)}, options={"parts": (2,)}, dtypes=FLOATS)
MANY = Sizes({"N": (14, 18)}, options={"parts": (2,)}, dtypes=FLOATS)
ROW: dict[str, Any] = {"contract": CONTRACT, "family": "trainer", "large": 4, "small": 0, "space": SPACE}
LAWS = (
    *(
        Law(check, **ROW)
        for check in (
            a_step_is_that_of_adamw, moments_are_kept_over_steps, matrices_decay, nothing_else_decays,
            frozen_parameters_keep_their_bits,
        )
    ),
    Law(gradients_are_clipped_by_their_common_norm, **{**ROW, "space": SEVERAL}),
    *(
        Law(check, **ROW)
        for check in (
            accumulated_parts_are_the_whole_batch, the_rate_warms_up_by_tokens, the_rate_follows_the_cosine,
            the_rate_stays_at_its_floor, padding_is_no_token, a_warm_up_beyond_the_schedule_is_told,
        )
    ),
    Law(every_example_comes_once_an_epoch, **{**ROW, "space": SEVERAL}),
    *(
        Law(check, **{**ROW, "space": MANY, "large": 3})
        for check in (epochs_are_shuffled, one_seed_gives_one_run, another_seed_gives_another_run)
    ),
    Law(the_model_is_in_training_mode, **ROW),
    Law(a_step_without_targets_stays_finite, **ROW),
    law_of(CONTRACT, SPACE),
)  # fmt: skip
COMPARISONS = ("a_step_is_that_of_adamw", "moments_are_kept_over_steps")
