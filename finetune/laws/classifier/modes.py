"""Laws of sequence classifiers: evaluation, training, and logits that are looked at later."""

from __future__ import annotations

import numpy as np

from attention_core.conformance.subjects.evidence import (
    Evidence,
    NotApplicable,
    Result,
    Shown,
    Violation,
    require_same,
)
from attention_core.conformance.subjects.parameter_case import ParameterCase, after, require_same_later
from finetune.laws.causal_lm.model import noise
from finetune.laws.classifier.classified import Classified

DRAWS = 8
"""Passes in training mode, of which one at least must differ."""


def evaluation_gives_the_same_logits(subject: Classified, case: ParameterCase) -> None:
    """In evaluation the same batch gives the same logits, twice in turn, after other texts, and after training.

    Formula: z_eval(x) = z_eval(x), z_eval(x') or z_train(x) before them
    Source: huggingface/pytorch-image-models PR1978 (dropout in evaluation); running statistics that drift
    Fault: dropout_in_evaluation
    """
    held, batch = subject.new_model(case), subject.batch(subject.texts(case))
    other = subject.batch(subject.texts(case, "others"))
    first = subject.score(case, held, batch)
    between = subject.score(case, held, other)
    again = subject.score(case, held, batch)
    with held.report_calls():
        require_same_later(again, first, [between], noise(first, again), "logits of the same batch again")
    trained = subject.score(case, held, batch, mode="train")
    later, last = (subject.score(case, held, batch) for _ in range(2))
    with held.report_calls(), after([trained]):
        require_same_later(last, later, [], noise(later, last), "logits of the same batch twice after training")


def training_draws_after_an_evaluation(subject: Classified, case: ParameterCase) -> None:
    """A model that draws in training mode does so after an evaluation, too; with dropout=True declared, it must draw.

    Formula: z_train(x) != z_train(x), before z_eval(x) and after it
    Source: NVIDIA/Megatron-LM PR411 (evaluation sets p to 0 for ever)
    Fault: evaluation_ends_dropout
    """
    held, batch = subject.new_model(case, mode="train"), subject.batch(subject.texts(case))

    def draws() -> tuple[bool, list[Result]]:
        # Seeds of their own: two draws at p = 0.1 may otherwise be the same in a model as small as this.
        found = [subject.score(case, held, batch, mode="train", seed_=case.seed + n) for n in range(DRAWS)]
        return any(float(np.abs(r.values - found[0].values).max()) > noise(r, found[0]) for r in found[1:]), found

    before, calls = draws()
    if not before and not subject.parameters.get("dropout"):
        raise NotApplicable("passes in training mode are the same: nothing is drawn")
    calls.append(subject.score(case, held, batch))
    later, more = draws()
    if not (before and later):
        evidence = Evidence(tuple(Shown(r.request) for r in more[:2]), kind="crash")
        with after([*held.before, *calls[-1:]]):
            when = "after an evaluation" if before else f"in {DRAWS} passes"
            raise Violation(f"training: got the same logits {when}, but should be drawn", evidence)


def logits_outlive_the_next_batch(subject: Classified, case: ParameterCase) -> None:
    """Logits still hold their numbers after the next batch.

    Formula: y = z(x), z(x'), then y = z(x)
    Source: the definition of a function; a buffer that is reused is not one
    Fault: logits_in_one_buffer
    """
    held, batch = subject.new_model(case), subject.batch(subject.texts(case))
    plain = subject.score(case, held, batch)
    between = subject.build_request(case, held, **subject.arguments(subject.batch(subject.texts(case, "others"))))
    late = subject.score(case, held, batch, between_=between)
    with held.report_calls():
        require_same(late, plain, noise(plain, late), "logits, looked at after another batch")
