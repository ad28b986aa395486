"""Laws of a window: a row sees the keys to either side of its own position, as many as a parameter says.

What the window is given as, and whether its number counts the query's own key, is declared by `--window`. Where n_q
differs from n_kv, positions are aligned as `--causal` says.
"""

from __future__ import annotations

import numpy as np

from attention_core.conformance.budgets.rounding import round_to
from attention_core.conformance.cases.case import Case
from attention_core.conformance.cases.features import Features, visible
from attention_core.conformance.laws.derived import require_declared_sizes, take_queries
from attention_core.conformance.laws.features import (
    FEW,
    LONG,
    SINGLE,
    USUAL,
    agrees,
    call_of,
    large_number,
    require_gradients,
    require_output,
    require_plain,
)
from attention_core.conformance.laws.masking_gradients import NO_GRADIENTS
from attention_core.conformance.laws.visibility import by_key_head
from attention_core.conformance.subjects.evidence import NotApplicable
from attention_core.conformance.subjects.law import Law, needs
from attention_core.conformance.subjects.subject import Subject
from attention_core.declaration.features import SYMMETRIC

FAMILY = "window"


def a_window_agrees_with_the_truth(subject: Subject, case: Case) -> None:
    """A row sees the keys that lie in its window and nothing else, with masks and causality beside it.

    Formula: |f(x, window) - softmax over i + o - l <= j <= i + o + r| <= E_o(x), o = 0 or n_kv - n_q
    Source: derivations/features.md (in-window); huggingface/transformers#39408 (one key more)
    Fault: window_one_key_wider
    """
    agrees(subject, case, a_window_agrees_with_the_truth.__name__, FAMILY)


def keys_outside_the_window_are_invisible(subject: Subject, case: Case) -> None:
    """Large keys and values that no row has in its window change nothing: through the value, score or normaliser.

    Formula: k', v' differ from k, v at keys outside of every window alone: f(x', window) = f(x, window)
    Source: derivations/features.md (in-window)
    Fault: window_weakens
    """
    few = np.arange(min(case.sizes[0], 1 + case.seed % 3))
    case = require_declared_sizes(subject, take_queries(case, few))
    call = call_of(subject, case, FAMILY)
    seen = np.broadcast_to(
        visible(case, call.features, subject.implementation.causal), (*case.query.shape[:-1], case.sizes[1])
    )
    unseen = np.asarray(~by_key_head(case, seen).any(axis=2))[..., None]
    if not unseen.any():
        raise NotApplicable("every key lies in some window")
    large = large_number(case.dtype)
    sign = np.where(case.rng("signs").random(case.key.shape) < 0.5, -1.0, 1.0)
    changed = case.with_(
        key=round_to(np.where(unseen, large * sign / max(case.query.shape[-1], 1), case.key), case.dtype),
        value=round_to(np.where(unseen, large, case.value), case.dtype),
    )  # fmt: skip
    require_output(subject, call, changed, "output beside large keys out of reach")


def a_window_beyond_all_keys_is_none(subject: Subject, case: Case) -> None:
    """A window that reaches all keys leaves the call as it is without one, and so does -1 for any number.

    Formula: l, r >= n_q + n_kv, or -1, imply f(x, window) = f(x)
    Source: derivations/features.md (wide-window); Dao-AILab/flash-attention (window_size=(-1, -1))
    Fault: window_at_most_32
    """
    kind, far = subject.binding.window_kind, sum(case.sizes[:2])
    causal = case.is_causal or subject.implementation.always_causal
    if kind in ("last", "before") and not causal:
        raise NotApplicable("such a window hides later keys")
    if kind in SYMMETRIC:
        sides = (far, far)
    elif kind == "sides":
        sides = ((-1, -1), (far, -1), (-1, far), (far, far))[case.seed % 4]
    else:
        sides = (far, far if kind == "bounded_sides" else 0 if kind in ("last", "before") else -1)
    require_plain(subject, case, Features(window=sides), "output with a window beyond all keys")


def gradients_of_a_window_are_true(subject: Subject, case: Case) -> None:
    """The gradients of query, key and value are those of the windowed softmax: keys out of a row's window get none.

    Formula: |d_x' - d_x| <= E_x for x of query, key, value, the window as a mask
    Source: derivations/softmax_backward.md (d-query, d-key, d-value); derivations/features.md (in-window)
    Fault: backward_without_the_window
    """
    require_gradients(subject, case, FAMILY)


LAWS = (
    Law(
        a_window_agrees_with_the_truth, FAMILY, needs=needs("window"), space=USUAL, large=12, small=16, compares=True,
        feature="window",
    ),
    Law(keys_outside_the_window_are_invisible, FAMILY, needs=needs("window"), space=FEW, large=6, small=8),
    Law(a_window_beyond_all_keys_is_none, FAMILY, needs=needs("window"), space=LONG, large=8, small=0),
    Law(
        gradients_of_a_window_are_true, FAMILY, needs=needs("window"), space=SINGLE, large=4, small=8,
        declares=lambda i: bool(i.gradients), because=NO_GRADIENTS,
    ),
)  # fmt: skip
