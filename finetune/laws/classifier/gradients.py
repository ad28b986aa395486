"""Laws of a classifier's gradients, for models that have `gradients` (see `logits_probe`)."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from attention_core.conformance.subjects.evidence import Evidence, Result, Shown, Violation, require_close
from attention_core.conformance.subjects.parameter_case import ParameterCase
from finetune.laws.causal_lm.model import Held, noise
from finetune.laws.classifier.classified import Classified


def parts(held: Held) -> Iterator[tuple[str, int, int]]:
    """Name, start and end of each parameter in the row of all gradients."""
    start = 0
    for name, weight in held.weights.items():
        yield name, start, start + weight.size
        start += weight.size


def what_moves_the_logits_has_a_gradient(subject: Classified, case: ParameterCase) -> None:
    """A parameter that asks for a gradient, and whose numbers move the logits, gets one.

    Formula: z(theta + e_p) != z(theta) implies dL/dtheta_p is there, for every parameter p that is not frozen
    Source: gradient checkpointing with frozen inputs, a detached head: what is not trained, and nobody says so
    Fault: encoder_under_no_grad
    """
    held, batch = subject.new_model(case), subject.batch(subject.texts(case))
    got, flags = subject.gradients(case, held, batch, subject.classes(case))
    before = subject.score(case, held, batch)
    for (name, _, _), flag in zip(parts(held), flags, strict=True):
        if flag != 0:
            continue
        own = held.weights[name]
        spread = 1 / math.sqrt(max(1, *own.shape, 0))
        held.weights[name] = own + spread * case.rng(f"moved {name}").standard_normal(own.shape)
        subject.fill(held)
        after = subject.score(case, held, batch)
        held.weights[name] = own
        if float(np.abs(after.values - before.values).max()) > noise(after, before):
            subject.fill(held)
            with held.report_calls():
                message = f"{name}: got no gradient, but should have one, since its numbers move the logits"
                raise Violation(message, Evidence((Shown(got.request),), kind="crash"))


def padding_adds_nothing_to_gradients(subject: Classified, case: ParameterCase) -> None:
    """The gradient of a padded batch is the sum of those of its texts, each alone and without padding.

    Formula: dL(x padded)/dtheta = sum_b dL(x_b)/dtheta for the summed loss L, tables of tokens and positions included
    Source: padding that is cut out of the forward pass by numbers alone still takes part in the backward pass
    Fault: padding_in_the_gradient
    """
    held, texts, labels = subject.new_model(case), subject.texts(case), subject.classes(case)
    whole, _ = subject.gradients(case, held, subject.batch(texts, case["n"] + case["more"]), labels)
    alone = [subject.gradients(case, held, subject.batch([text]), labels[b : b + 1])[0] for b, text in enumerate(texts)]
    want = np.sum([result.values for result in alone], axis=0)
    for name, start, end in parts(held):
        part = Result(whole.values[start:end], whole.request)
        part.expression = lambda i, start=start: f"{{out}}[{start + i}].item()"
        with held.report_calls():
            require_close(part, want[start:end], noise(whole, *alone), f"gradient of {name}")
