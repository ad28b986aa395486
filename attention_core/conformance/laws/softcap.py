"""Laws of a soft cap: scaled scores s become c tanh(s / c) before anything is added to them or masked."""

from __future__ import annotations

from attention_core.conformance.cases.case import Case
from attention_core.conformance.cases.features import Features
from attention_core.conformance.laws.features import FEW, SINGLE, USUAL, agrees, require_gradients, require_plain
from attention_core.conformance.laws.masking_gradients import NO_GRADIENTS
from attention_core.conformance.subjects.law import Law, needs
from attention_core.conformance.subjects.subject import Subject

FAMILY = "softcap"
HIGH = 2.0**13
"""A cap beyond the scores of most cases, which every dtype holds."""


def scores_are_capped(subject: Subject, case: Case) -> None:
    """A soft cap c turns a scaled score s into c tanh(s / c), before the mask.

    Formula: |f(x, c) - softmax(c tanh(scale q k^T / c) + b) v| <= E_o(x), c near the largest score
    Source: derivations/features.md (capped); onnx/onnx#7865, microsoft/onnxruntime PR28379 (the cap after the mask)
    Fault: cap_ignored
    """
    agrees(subject, case, scores_are_capped.__name__, FAMILY)


def a_cap_beyond_all_scores_is_none(subject: Subject, case: Case) -> None:
    """A cap far above every score leaves the call as it is without one.

    Formula: c = 2^13: |f(x, c) - f(x)| <= E_o(x) + |t(x, c) - t(x)|
    Source: derivations/features.md (high-cap)
    Fault: cap_of_50_at_most
    """
    require_plain(subject, case, Features(softcap=HIGH), "output with a cap beyond all scores")


def gradients_through_the_cap_are_true(subject: Subject, case: Case) -> None:
    """The gradients of query and key have the slope of the cap, 1 - tanh^2(s / c).

    Formula: |d_x' - d_x| <= E_x for x of query, key, value; dS = (1 - tanh^2(s / c)) P (dP - D)
    Source: derivations/features.md (cap-derivative); derivations/softmax_backward.md (d-query, d-key)
    Fault: backward_without_the_cap
    """
    require_gradients(subject, case, FAMILY)


LAWS = (
    Law(
        scores_are_capped, FAMILY, needs=needs("softcap"), space=USUAL, large=12, small=16, compares=True,
        feature="softcap",
    ),
    Law(a_cap_beyond_all_scores_is_none, FAMILY, needs=needs("softcap"), space=FEW, large=6, small=8),
    Law(
        gradients_through_the_cap_are_true, FAMILY, needs=needs("softcap"), space=SINGLE, large=6, small=8,
        declares=lambda i: bool(i.gradients), because=NO_GRADIENTS,
    ),
)  # fmt: skip
