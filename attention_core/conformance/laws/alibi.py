"""Laws of ALiBi: a score falls by its head's slope for every key between it and the query.

The distance is |i + o - j|, with positions aligned as `--causal` says. Slopes are a parameter, (H,).
"""

from __future__ import annotations

import numpy as np

from attention_core.conformance.cases.case import Case
from attention_core.conformance.cases.features import Features
from attention_core.conformance.laws.features import FEW, SINGLE, USUAL, agrees, require_gradients, require_plain
from attention_core.conformance.laws.masking_gradients import NO_GRADIENTS
from attention_core.conformance.subjects.law import Law, needs
from attention_core.conformance.subjects.subject import Subject

FAMILY, FEATURE = "alibi", "alibi_slopes"


def scores_fall_with_distance(subject: Subject, case: Case) -> None:
    """A score falls by the slope of its head times the distance of query and key.

    Formula: |f(x, m) - softmax(scale q k^T - m_h |i + o - j|) v| <= E_o(x), o = 0 or n_kv - n_q
    Source: derivations/features.md (distance); Press et al., ALiBi (2022); Dao-AILab/flash-attention (alibi_slopes)
    Fault: slopes_ignored
    """
    agrees(subject, case, scores_fall_with_distance.__name__, FEATURE)


def slopes_of_zero_change_nothing(subject: Subject, case: Case) -> None:
    """Slopes of 0 leave the call as it is without any.

    Formula: m = 0 implies f(x, m) = f(x)
    Source: derivations/features.md (flat)
    Fault: slope_of_zero_is_the_usual_one
    """
    features = Features(alibi_slopes=np.zeros(case.sizes[4]))
    require_plain(subject, case, features, "output with slopes of 0")


def gradients_with_slopes_are_true(subject: Subject, case: Case) -> None:
    """The gradients of query, key and value are those of the softmax of the scores with their distances.

    Formula: |d_x' - d_x| <= E_x for x of query, key, value, the distances as a bias
    Source: derivations/softmax_backward.md (d-query, d-key, d-value); derivations/features.md (distance)
    Fault: backward_without_slopes
    """
    require_gradients(subject, case, FEATURE)


LAWS = (
    Law(scores_fall_with_distance, FAMILY, needs=needs(FEATURE), space=USUAL, large=12, small=16, compares=True),
    Law(slopes_of_zero_change_nothing, FAMILY, needs=needs(FEATURE), space=FEW, large=4, small=8),
    Law(
        gradients_with_slopes_are_true, FAMILY, needs=needs(FEATURE), space=SINGLE, large=4, small=8,
        declares=lambda i: bool(i.gradients), because=NO_GRADIENTS,
    ),
)  # fmt: skip
