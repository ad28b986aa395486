"""Laws of what a method of fine-tuning trains: the right numbers, all of them, and nothing else."""

from __future__ import annotations

import math
from contextlib import suppress

import numpy as np

from attention_core.conformance.budgets.rounding import UNIT_ROUNDOFF
from attention_core.conformance.subjects.evidence import Evidence, NotApplicable, Result, Shown, Violation
from attention_core.conformance.subjects.parameter_case import ParameterCase
from attention_core.conformance.worker.exchange import NDArray
from finetune.laws.checkpoint.interrupted import Interruptible, as_evidence
from finetune.laws.peft.adapting import Adapting, Texts

STEP = 2.0**-10
"""The first of the two steps by which `Adapted.slopes` goes aside."""


def as_many_numbers_are_trained_as_the_formula_says(subject: Adapting, case: ParameterCase) -> None:
    """The numbers that are trained are those of the method and the head, and no more.

    Formula: r (d_in + d_out) a matrix, P d, 2 L P d_kv, or all biases; plus the head
    Source: Hu et al. (2022), section 4.1; a base that is frozen only in the optimizer; huggingface/peft#3201
    Fault: base_is_not_frozen
    """
    run = subject.new(case)
    want = subject.facts(run).count
    if want < 0:
        raise NotApplicable("it does not say how many numbers it trains: write kind, or count()")
    flags = subject.array(run, "flags", mode=None)
    got = int((flags.values > 0).sum())
    if got != want:
        request = flags.request
        by_sum = Result(flags.values, request, "out", None, {}, lambda _: "int({out}.sum())")
        evidence = Evidence((by_sum.show((0,)),), float(got), float(want))
        raise Violation(f"trained numbers: got {got}, but should be {want}", evidence)


def a_step_changes_what_is_trained_and_nothing_else(subject: Adapting, case: ParameterCase) -> None:
    """A step of an optimizer that was given every parameter changes each trained one, and no bit of the others.

    Formula: frozen: theta' = theta bit by bit, and no gradient; trained: theta' != theta wherever it matters
    Source: microsoft/LoRA#34, Lightning-AI/lit-llama PR185 (train() and eval() do more than they say)
    Fault: thawed_in_training
    """
    run = subject.draw_trained_model(case)
    texts = subject.texts(case, run, "right")
    cotangent = subject.cotangent(case, subject.out(run, texts))
    before, trained = subject.row(run).values, subject.flags(run)
    matters = mattering(subject, case, run, texts, cotangent)
    request = subject.build_request(run, "learn", cotangent, texts.ids, texts.mask, mode="train")
    got_one = subject.result(request)
    run.calls.append(Result(np.zeros(0), request))
    after = subject.row(run)
    subject.same_row(run, after, np.where(trained, after.values, before), 0.0, "frozen")
    evidence = Evidence((Shown(request),), kind="crash", before=as_evidence(run.calls[:-1]))
    if got_one.values[~trained].any():
        name = subject.name_of(run, int((got_one.values * ~trained).argmax()))
        raise Violation(f"frozen: got a gradient for {name}, but should have none", evidence)
    require_change(subject, run, after, before, matters, "a step")


def require_change(
    subject: Adapting, run: Interruptible, after: Result, before: NDArray, matters: NDArray, what: str
) -> None:
    """Raise unless every trained parameter that matters has changed in some number."""
    place, trained = 0, 0
    flags = subject.flags(run)
    for name, size in subject.sizes_of(run):
        inside = slice(place, place + size)
        place += size
        if not flags[inside].any():
            continue
        trained += 1
        if matters[trained - 1] and (after.values[inside] == before[inside]).all():
            evidence = Evidence((Shown(after.request),), kind="crash", before=as_evidence(run.calls))
            raise Violation(f"{what}: got no change of {name}, but should be trained", evidence)


def mattering(subject: Adapting, case: ParameterCase, run: Interruptible, texts: Texts, cotangent: NDArray) -> NDArray:
    """For each trained parameter, whether the outputs depend on it: of keys' biases, say, no output does."""
    slopes, bound = both_slopes(subject, case, run, texts, cotangent)
    return np.asarray(np.abs(slopes.values[:, 2]) > 4 * bound)


def both_slopes(
    subject: Adapting, case: ParameterCase, run: Interruptible, texts: Texts, cotangent: NDArray
) -> tuple[Result, NDArray]:
    """The slopes of the trained parameters, and how far autograd's may be from the difference of the smaller step.

    The error of a central difference falls with the square of the step: that of the smaller one is a third of what the
    two differ by (doubled here, and more), and the rounding of the outputs, at most half of their digits
    (`model.noise`), divided by the step.
    """
    found = subject.array(run, "slopes", cotangent, case.seed % 1000, texts.ids, texts.mask)
    out = subject.out(run, texts)
    rounding = math.sqrt(UNIT_ROUNDOFF["float64"]) * float(np.abs(out.values).max()) * float(np.abs(cotangent).sum())
    bound = 2 * np.abs(found.values[:, 1] - found.values[:, 2]) + 2 * rounding / STEP
    return found, bound


def every_trained_parameter_has_its_gradient(subject: Adapting, case: ParameterCase) -> None:
    """The gradient of every trained parameter is the slope of the outputs along it.

    Formula: <df/dp, w> = (f(p + h w) - f(p - h w)) / 2 h for every trained p, up to h^2
    Source: an adapter that is computed with .data or under no_grad is never trained, silently
    Fault: product_is_detached
    """
    run = subject.draw_trained_model(case)
    texts = subject.texts(case, run, "right")
    cotangent = subject.cotangent(case, subject.out(run, texts))
    slopes, bound = both_slopes(subject, case, run, texts, cotangent)
    off = ~(np.abs(slopes.values[:, 0] - slopes.values[:, 2]) <= bound)
    if off.any():
        number = int(off.argmax())
        got, want = float(slopes.values[number, 0]), float(slopes.values[number, 2])
        name = trained_names(subject, run)[number]
        message = f"slope along {name}: got {got:.6g}, but should be {want:.6g} (allowed error {bound[number]:.2g})"
        evidence = Evidence((slopes.show((number, 0)),), got, want, float(bound[number]), before=as_evidence(run.calls))
        raise Violation(message, evidence)


def trained_names(subject: Adapting, run: Interruptible) -> list[str]:
    """The trained parameters, in their order."""
    flags, place, found = subject.flags(run), 0, []
    for name, size in subject.sizes_of(run):
        if flags[place : place + size].any():
            found.append(name)
        place += size
    return found


def what_is_trained_stays_trained(subject: Adapting, case: ParameterCase) -> None:
    """Disabling for a while, merging and unmerging change nothing about which numbers are trained.

    While it is merged an adapter may be frozen; what was frozen before is not trained then either.

    Formula: requires_grad after disabled(), and after merge(), unmerge() = requires_grad before; merged: no more
    Source: huggingface/peft#3447, PR2936 (enabling sets requires_grad anew); a weight put back as a new parameter
    Fault: unmerging_thaws_the_base
    """
    run = subject.draw_trained_model(case)
    flags_stay(subject, case, run, subject.flags(run).astype(float))


def what_was_frozen_stays_frozen(subject: Adapting, case: ParameterCase) -> None:
    """An adapter that was frozen, to serve or to be compared with, is frozen after it was disabled or merged, too.

    Formula: requires_grad = False everywhere; after disabled(), merge(), unmerge(): still False everywhere
    Source: huggingface/peft#3447 (disable_adapter() thaws an adapter that was loaded for inference)
    Fault: enabling_thaws_the_adapter
    """
    run = subject.draw_trained_model(case)
    subject.do(run, "freeze")
    flags_stay(subject, case, run, np.zeros(subject.flags(run).shape))


def flags_stay(subject: Adapting, case: ParameterCase, run: Interruptible, want: NDArray) -> None:
    """Ask which numbers are trained after each thing that the method can do."""
    texts, done = subject.texts(case, run), 0
    with suppress(NotApplicable):
        run.calls.append(subject.out(run, texts, "off"))
        done += 1
        subject.same_row(
            run, subject.array(run, "flags", mode=None), want, 0.0, "trained (1) or not (0), after disabled()"
        )
    with suppress(NotApplicable):
        subject.do(run, "merge")
        merged = subject.array(run, "flags", mode=None)
        if merged.values.shape == want.shape:  # else the adapter has gone into the weights
            message = "trained (1) or not (0), merged"
            subject.same_row(run, merged, np.minimum(merged.values, want), 0.0, message)
        subject.do(run, "unmerge")
        done += 1
        subject.same_row(
            run, subject.array(run, "flags", mode=None), want, 0.0, "trained (1) or not (0), after unmerge()"
        )
    if not done:
        raise NotApplicable("it has neither disabled() nor unmerge()")


def checkpointing_lets_everything_learn(subject: Adapting, case: ParameterCase) -> None:
    """With gradient checkpointing a step changes every trained parameter, or is refused.

    Formula: as a_step_changes_what_is_trained_and_nothing_else, after checkpoint()
    Source: PEFT 0.21.2 with transformers 5.23.0: a prefix has no gradient; reentrant checkpoints of frozen inputs
    Fault: checkpoint_of_frozen_inputs
    """
    run = subject.draw_trained_model(case)
    texts = subject.texts(case, run)
    cotangent = subject.cotangent(case, subject.out(run, texts))
    matters, before = mattering(subject, case, run, texts, cotangent), subject.row(run).values
    subject.do(run, "checkpoint")
    request = subject.build_request(
        run, "learn", cotangent, texts.ids, mode="train"
    )  # a mask would betray what is dropped
    subject.result(request)
    run.calls.append(Result(np.zeros(0), request))
    require_change(subject, run, subject.row(run), before, matters, "a step with checkpointing")


def frozen_statistics_stay(subject: Adapting, case: ParameterCase) -> None:
    """Buffers, such as running means, are as they were after passes in training mode.

    Formula: buffers after = buffers before, bit by bit
    Source: running statistics drifting while frozen: requires_grad says nothing of them
    Fault: statistics_drift
    """
    run = subject.draw_trained_model(case)
    texts = subject.texts(case, run, "right")
    before = subject.array(run, "statistics", mode=None)
    if not before.values.size:
        raise NotApplicable("the model has no buffers")
    given = subject.build_request(run, "forward", texts.ids, texts.mask, mode="train")
    subject.result(given)
    run.calls.append(Result(np.zeros(0), given))
    after = subject.array(run, "statistics", mode=None)
    off = ~((after.values == before.values) | (np.isnan(after.values) & np.isnan(before.values)))
    if off.any():
        place = int(off.argmax())
        got, want = float(after.values[place]), float(before.values[place])
        evidence = Evidence((after.show((place,)),), got, want, before=as_evidence(run.calls))
        message = f"a buffer after a pass in training: got {got!r} at [{place}], but should be {want!r}"
        raise Violation(message, evidence)
