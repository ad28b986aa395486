"""Laws of training and evaluation for modules: dropout belongs to training, neither mode spoils the other.

They stand first in the table: what the first evaluation spoils, an evaluation of another law would hide.
Functions have no mode; for them these laws repeat a call, or have nothing to say.
"""

from __future__ import annotations

import numpy as np

from attention_core.conformance.cases.case import Case
from attention_core.conformance.cases.space import Space
from attention_core.conformance.laws.chance import DROPOUT, FALSE_ALARM, SEEDS
from attention_core.conformance.laws.derived import output_bound
from attention_core.conformance.laws.dropout import observe, probe_of
from attention_core.conformance.laws.visibility import judged_rows
from attention_core.conformance.subjects.evidence import Evidence, NotApplicable, Shown, Violation, require_close
from attention_core.conformance.subjects.law import Law
from attention_core.conformance.subjects.subject import Subject


def training_keeps_its_dropout_after_evaluation(subject: Subject, case: Case) -> int:
    """A module that drops weights in training still drops them after an evaluation.

    The probe shows every weight. With k weights dropped before and none after, at one rate, chance has at
    most 2^-k: each of the k was as likely to fall in the second call. Seen: dropout lost altogether.

    Formula: k(train), eval, k(train)': k > 0 implies k' > 0
    Source: the definition of training mode
    Fault: dropout_lost_in_evaluation
    """
    if not subject.binding.is_module:
        raise NotApplicable("a function has no training mode")
    probe = probe_of(subject, case)
    before = subject.forward(probe, mode="train", seed=probe.seed).out
    count = int((~observe(subject, probe, before).kept).sum())
    if 2.0**-count > FALSE_ALARM:
        raise NotApplicable("training drops nothing")
    subject.unjudged = DROPOUT
    between = subject.forward(probe, mode="eval").out
    after = subject.forward(probe, mode="train", seed=probe.seed + 1).out
    if observe(subject, probe, after).kept.all():
        message = f"training dropped {count} weights before an evaluation, but none after it"
        earlier = (Shown(before.request), Shown(between.request))
        raise Violation(message, Evidence((Shown(after.request),), kind="raises", before=earlier))
    return 1


def evaluation_has_no_dropout(subject: Subject, case: Case) -> None:
    """In evaluation mode the output is the one without dropout.

    Formula: |f_eval(x) - t(x)| <= E_o(x)
    Source: derivations/error_budget.md (output)
    Fault: drops_in_evaluation
    """
    truth, where = subject.truth(case), judged_rows(subject, case)
    out = subject.forward(case, mode="eval").out
    require_close(out, truth.out, output_bound(subject, case), "output in evaluation mode", where=where)


def training_leaves_evaluation_alone(subject: Subject, case: Case) -> None:
    """A call in training mode changes nothing for evaluation, and without dropout it gives the same.

    A module that gives something else for another seed is random in training: its dropout is not judged. One that
    drops half of its weights is taken for one without dropout with a probability below 2^-24.

    Formula: f_eval(x), f_train(x), f_eval(x)': |f_eval(x)' - f_eval(x)| <= 2 E_o(x), and f_train(x) likewise
    Source: derivations/error_budget.md (output)
    Fault: training_moves_the_temperature
    """
    where, bound = judged_rows(subject, case), output_bound(subject, case)
    first = subject.forward(case, mode="eval").out
    trained = subject.forward(case, mode="train", seed=case.seed).out
    again = subject.forward(case, mode="eval").out
    what = "output in evaluation mode, after training mode"
    require_close(again, first.values, 2 * bound, what, where=where)
    if subject.binding.is_module:
        try:
            require_close(trained, first.values, 2 * bound, "output in training mode", where=where)
        except Violation:
            calls = (subject.forward(case, mode="train", seed=case.seed + i).out for i in range(1, SEEDS + 1))
            if all(np.array_equal(call.values, trained.values, equal_nan=True) for call in calls):
                raise
            subject.unjudged = DROPOUT


LAWS = (
    Law(
        training_keeps_its_dropout_after_evaluation, "state", large=2, small=0,
        space=Space(masks=("none",), causal=(False,), small=False, max_n=8),
    ),
    Law(evaluation_has_no_dropout, "state", space=Space(max_n=65), large=2, small=6),
    Law(training_leaves_evaluation_alone, "state", space=Space(max_n=65), large=2, small=4),
)  # fmt: skip
