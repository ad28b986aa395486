"""Laws of sinks: a score for each head counts in the normaliser of its rows, and has no value.

A sink is neither scaled nor capped nor masked. A row that may attend no key gives 0: its sink has all the weight.
"""

from __future__ import annotations

import numpy as np

from attention_core.conformance.budgets.rounding import round_to
from attention_core.conformance.cases.case import Case
from attention_core.conformance.cases.features import Features
from attention_core.conformance.laws.features import FEW, SINGLE, USUAL, agrees, require_gradients, require_plain
from attention_core.conformance.laws.masking_gradients import NO_GRADIENTS
from attention_core.conformance.subjects.evidence import NotApplicable
from attention_core.conformance.subjects.law import Law, needs
from attention_core.conformance.subjects.subject import Subject

FAMILY = "sinks"
BELOW = 128.0
"""So far below the lowest log-sum-exp a sink has no weight in float32."""


def a_sink_takes_its_weight(subject: Subject, case: Case) -> None:
    """The sink of a head counts in the normaliser of its rows like a key of that score and the value 0.

    Formula: |f(x, z) - sum_j e^s_j v_j / (e^z + sum_j e^s_j)| <= E_o(x, z)
    Source: derivations/features.md (sink-key); PaddlePaddle/PaddleFleet PR1439
    Fault: sink_ignored
    """
    agrees(subject, case, a_sink_takes_its_weight.__name__, FAMILY)


def a_low_sink_takes_nothing(subject: Subject, case: Case) -> None:
    """A sink far below the scores, or of -inf, leaves the call as it is without one.

    Formula: z_h <= min_i lse_hi - 128, or -inf: |f(x, z) - f(x)| <= E_o(x) + |t(x, z) - t(x)|
    Source: derivations/features.md (low-sink)
    Fault: sink_of_minus_20_at_least
    """
    truth = subject.truth(case)
    if truth.dead.any() and subject.implementation.dead_rows != "zeros":
        raise NotApplicable("a sink takes all the weight of a row without a key")
    low = np.where(np.isfinite(truth.lse), truth.lse, 0.0).min(axis=(0, 2), initial=0.0)
    sinks = np.full(case.sizes[4], -np.inf) if case.seed % 4 == 0 else round_to(low - BELOW, case.dtype)
    require_plain(subject, case, Features(sinks=sinks), "output with sinks far below the scores")


def gradients_with_sinks_are_true(subject: Subject, case: Case) -> None:
    """The gradients of query, key and value are those of the softmax that the sink takes part in.

    Formula: |d_x' - d_x| <= E_x for x of query, key, value, the sink a further key of value 0
    Source: derivations/features.md (sink-key); derivations/softmax_backward.md (d-query, d-key, d-value)
    Fault: backward_without_the_sink
    """
    require_gradients(subject, case, FAMILY)


def the_sinks_gradient_is_true(subject: Subject, case: Case) -> None:
    """A sink gets the gradient of its score, summed over all rows of its head.

    Formula: dz_h = -sum_bi p_z D_i, D_i = dO_i . o_i, p_z the sink's weight: |dz' - dz| <= E_z
    Source: derivations/features.md (sink-gradient); Dao-AILab/flash-attention#1973
    Fault: sink_without_a_gradient
    """
    require_gradients(subject, case, FAMILY, ("query", "sinks"))


GRADIENTS = {"declares": lambda i: bool(i.gradients), "because": NO_GRADIENTS, "space": SINGLE, "small": 8}
LAWS = (
    Law(
        a_sink_takes_its_weight, FAMILY, needs=needs("sinks"), space=USUAL, large=12, small=16, compares=True,
        feature="sinks",
    ),
    Law(a_low_sink_takes_nothing, FAMILY, needs=needs("sinks"), space=FEW, large=6, small=8),
    Law(gradients_with_sinks_are_true, FAMILY, needs=needs("sinks"), large=4, **GRADIENTS),  # type: ignore[arg-type]
    Law(the_sinks_gradient_is_true, FAMILY, needs=needs("sinks"), large=6, **GRADIENTS),  # type: ignore[arg-type]
)  # fmt: skip
