"""Laws of ALiBi: a score falls by its head's slope for every key between it and the query.

The distance is |i + o - j|, with positions aligned as `--causal` says. Slopes are a parameter, (H,).
"""

from __future__ import annotations

import numpy as np

from attention_core.conformance.cases.case import Case
from attention_core.conformance.cases.features import Features
from attention_core.conformance.laws.features import (
    FEW,
    SINGLE,
    USUAL,
    agrees,
    require_gradients,
    require_output,
    require_plain,
)
from attention_core.conformance.laws.masking_gradients import NO_GRADIENTS
from attention_core.conformance.laws.shapes import attribute_failures
from attention_core.conformance.subjects.evidence import NotApplicable, Refused, Violation
from attention_core.conformance.subjects.featured import judge_call
from attention_core.conformance.subjects.law import Law, needs
from attention_core.conformance.subjects.subject import Subject

FAMILY, FEATURE = "alibi", "alibi_slopes"
FAR, FEW_HEADS = 2, 4
"""Of so many cases one is far out, with one head, or with so many at most where a case of one is not declared."""


def scores_fall_with_distance(subject: Subject, case: Case) -> None:
    """A score falls by the slope of its head times the distance of query and key.

    Positions beyond 256 are whole numbers, too, beside inputs of bfloat16, which has no 257.

    Formula: |f(x, m) - softmax(scale q k^T - m_h |i + o - j|) v| <= E_o(x), o = 0 or n_kv - n_q
    Source: derivations/features.md (distance); Press et al., ALiBi (2022); Dao-AILab/flash-attention (alibi_slopes)
    Fault: slopes_ignored
    """
    if not case.given:
        agrees(subject, case, scores_fall_with_distance.__name__, FEATURE)
    far = case if case.given else far_out(subject, case)
    if far is not None:
        with attribute_failures(far):
            features = Features(alibi_slopes=0.5 ** (np.arange(far.sizes[4]) % 2))
            call = judge_call(subject.implementation, far, features)
            require_output(subject, call, far, "output of many keys in bfloat16")


def far_out(subject: Subject, case: Case) -> Case | None:
    """In one of `FAR` cases a problem in bfloat16 with queries beyond position 256, whose scores are distances alone.

    Each feature of the output is the weight of one key: a sum of many may be rounded more coarsely.
    """
    profile, rng = subject.binding.profile(), case.rng("far out")
    _, _, d, d_v, heads, kv_heads = case.sizes
    if case.seed % FAR != 1 or "bfloat16" not in profile.dtypes:
        return None
    n_kv = int(rng.integers(262, 280))
    n_q = min(case.sizes[0], 4) if profile.alignment == "bottom_right" else n_kv
    if profile.allows((n_q, n_kv, 2, 2, 1, 1)):
        d, d_v, heads, kv_heads = 2, 2, 1, 1
    elif heads > FEW_HEADS:
        return None
    query, key = np.zeros((1, heads, n_q, d)), np.zeros((1, kv_heads, n_kv, d))
    value = np.zeros((1, kv_heads, n_kv, d_v))
    value[..., n_kv - 1 - n_kv % 2 - 2 * rng.integers(3, size=d_v), np.arange(d_v)] = 1.0  # keys of odd positions
    far = case.with_(dtype="bfloat16", query=query, key=key, value=value, mask=None, given=True)
    return far if profile.allows(far.sizes) else None


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


def the_slopes_gradient_is_true(subject: Subject, case: Case) -> None:
    """A slope gets the gradient of its scores, each times its distance, summed over sequences and rows of its head.

    Slopes are constants in most libraries: without a gradient of theirs nothing is judged, unless one is declared,
    `--parameter learned=alibi_slopes`.

    Formula: dm_h = -sum_bij |i + o - j| dS_bhij: |dm' - dm| <= E_m
    Source: derivations/features.md (slope-gradient), (slope-sum)
    Fault: gradient_of_slopes_of_the_other_sign
    """
    try:
        require_gradients(subject, case, FEATURE, ("query", FEATURE))
    except (Refused, Violation) as error:
        fails = isinstance(error, Refused) or error.evidence.kind == "crash"
        if not fails or subject.implementation.parameters.get("learned") == FEATURE:
            raise
        raise NotApplicable("it takes slopes as constants") from error


LAWS = (
    Law(
        scores_fall_with_distance, FAMILY, needs=needs(FEATURE), space=USUAL, large=12, small=16, compares=True,
        feature=FEATURE,
    ),
    Law(slopes_of_zero_change_nothing, FAMILY, needs=needs(FEATURE), space=FEW, large=4, small=8),
    Law(
        gradients_with_slopes_are_true, FAMILY, needs=needs(FEATURE), space=SINGLE, large=4, small=8,
        declares=lambda i: bool(i.gradients), because=NO_GRADIENTS,
    ),
    Law(
        the_slopes_gradient_is_true, FAMILY, needs=needs(FEATURE), space=SINGLE, large=6, small=8,
        declares=lambda i: bool(i.gradients), because=NO_GRADIENTS,
    ),
)  # fmt: skip
