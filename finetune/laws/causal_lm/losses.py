"""Laws of a language model's loss: the mean over the real targets of what its own logits give, in float64."""

from __future__ import annotations

import math

import numpy as np

from attention_core.conformance.subjects.evidence import Evidence, Refused, Violation, require_close
from attention_core.conformance.subjects.parameter_case import ParameterCase
from attention_core.conformance.worker.exchange import NDArray
from finetune.laws.causal_lm.model import Model, loss_bound, mean_loss, noise


def check_loss(subject: Model, case: ParameterCase, targets: NDArray, what: str) -> None:
    """The loss of drawn texts is that of the model's own logits in float64."""
    held, ids = subject.new_model(case), subject.ids(case)
    logits = subject.logits(case, held, ids)
    got = subject.loss(case, held, ids, targets)
    want = np.array([mean_loss(logits.values, targets, subject.ignore_index)])
    with held.report_calls():
        require_close(got, want, loss_bound(logits, got, targets, subject.ignore_index), what)


def one_target_is_judged_at_its_own_place(subject: Model, case: ParameterCase) -> None:
    """With one target alone, the loss is that of the logits at its place.

    Formula: l(x, y) = -log softmax(z(x)[b, t])[y_bt] where only y_bt is not an ignored target
    Source: the assignment's GPT.forward; targets shifted twice, or not at all, are learnt without complaint
    Fault: shifted_once_more
    """
    rng = case.rng("one")
    b, t = int(rng.integers(case["B"])), int(rng.integers(case["n"] - 1))
    targets = np.full((case["B"], case["n"]), subject.ignore_index)
    targets[b, t] = int(rng.integers(1, case["vocab"]))
    check_loss(subject, case, targets, f"loss of one target at place {t}")


def the_loss_is_the_mean_over_targets(subject: Model, case: ParameterCase) -> None:
    """The loss is the mean over all targets of the negative log-probability, in nats.

    Formula: l(x, y) = -mean_bt log softmax(z(x)[b, t])[y_bt]
    Source: Radford et al. (2018), eq. 1; torch.nn.functional.cross_entropy
    Fault: loss_in_bits
    """
    check_loss(subject, case, subject.targets(case, 0.0), "loss")


def ignored_targets_do_not_count(subject: Model, case: ParameterCase) -> None:
    """Ignored targets add nothing to the loss, nor to the number that it is divided by.

    Formula: l(x, y) = -sum_(y_bt real) log p(y_bt) / |{y_bt real}|, rows without any included
    Source: EricFillion/happy-transformer#128 (another ignore index); padding counted as tokens
    Fault: padding_counted_as_tokens
    """
    check_loss(subject, case, subject.targets(case, 0.6), "loss with ignored targets")


def no_target_gives_a_number(subject: Model, case: ParameterCase) -> None:
    """A batch whose targets are all ignored has a finite loss, or is refused (NaN where all_ignored=nan is declared).

    Formula: y_bt ignored for all b, t implies |l(x, y)| < inf, or it raises
    Source: torch's cross_entropy gives 0 / 0 = NaN, which one step spreads over all weights
    Fault: no_target_is_not_a_number
    """
    held, ids = subject.new_model(case), subject.ids(case)
    targets = np.full((case["B"], case["n"]), subject.ignore_index)
    try:
        got = subject.loss(case, held, ids, targets)
    except Refused:
        return
    declared = subject.parameters.get("all_ignored") == "nan"
    if declared or np.isfinite(got.values).all():
        return
    value = float(got.values[0])
    with held.report_calls():
        raise Violation(
            f"loss without any target: got {value}, but should be finite, or refused (if NaN is meant, declare "
            "--parameter all_ignored=nan)", Evidence((got.show((0,)),), value, None, None, "nonfinite"),
        )  # fmt: skip


def perplexity_is_the_exponential_of_the_loss(subject: Model, case: ParameterCase) -> None:
    """Perplexity is exp of the mean loss over all real targets, not a mean of perplexities.

    Formula: perplexity(x, y) = exp(l(x, y)), padding left out
    Source: Jurafsky and Martin, Speech and Language Processing, eq. 3.14; evaluation as a mean of batch means
    Fault: perplexity_as_a_mean_of_perplexities
    """
    held, ids, targets = subject.new_model(case), subject.ids(case), subject.targets(case, 0.5)
    got = subject.number(subject.build_request(case, held, ids, subject.labels(targets), method_="perplexity"))
    logits = subject.logits(case, held, ids)
    want = math.exp(mean_loss(logits.values, targets, subject.ignore_index))
    bound = want * (math.expm1(loss_bound(logits, got, targets, subject.ignore_index)) + noise(logits))
    with held.report_calls():
        require_close(got, np.array([want]), bound, "perplexity")
