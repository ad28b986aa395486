"""Laws of key lengths: each sequence has as many keys as a parameter says, and what lies after them does not count.

Where the last query faces the last key (`--causal bottom_right`), that is the last key of its sequence.
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
    call_of,
    large_number,
    require_gradients,
    require_output,
    require_plain,
)
from attention_core.conformance.laws.masking_gradients import NO_GRADIENTS
from attention_core.conformance.subjects.evidence import NotApplicable
from attention_core.conformance.subjects.law import Law, needs
from attention_core.conformance.subjects.subject import Subject

FAMILY = "key_lengths"


def keys_beyond_a_length_do_not_count(subject: Subject, case: Case) -> None:
    """A sequence of L keys attends to its first L keys and to no other, with masks and causality beside it.

    Formula: |f(x, L)_b - softmax over j < L_b| <= E_o(x); bottom_right: row i sees keys up to i + L_b - n_q
    Source: derivations/features.md (first-keys); flash_attn_with_kvcache (cache_seqlens)
    Fault: lengths_ignored
    """
    agrees(subject, case, keys_beyond_a_length_do_not_count.__name__, FAMILY)


def what_lies_beyond_a_length_is_invisible(subject: Subject, case: Case) -> None:
    """Large numbers past a sequence's last key, and NaN where that is declared, change nothing.

    Formula: k', v' differ from k, v at j >= L_b alone: f(x', L) = f(x, L)
    Source: derivations/features.md (first-keys); Dao-AILab/flash-attention#2374 (0 * NaN past the last key)
    Fault: keys_beyond_a_length_weigh_little
    """
    call = call_of(subject, case, FAMILY)
    assert call.features.key_lengths is not None
    beyond = (np.arange(case.sizes[1]) >= call.features.key_lengths[:, None])[:, None, :, None]
    if not beyond.any():
        raise NotApplicable("no key lies beyond a length")
    nan = subject.implementation.masked_nan == "ignored" and case.seed % 2
    filled = np.nan if nan else large_number(case.dtype)
    changed = case.with_(key=np.where(beyond, filled, case.key), value=np.where(beyond, filled, case.value))
    require_output(subject, call, changed, f"output beside {'NaN' if nan else 'large numbers'} past the last key")


def full_lengths_change_nothing(subject: Subject, case: Case) -> None:
    """Lengths of all keys leave the call as it is without any.

    Formula: L_b = n_kv for all b implies f(x, L) = f(x)
    Source: derivations/features.md (first-keys)
    Fault: last_key_never_counted
    """
    features = Features(key_lengths=np.full(case.query.shape[0], case.sizes[1]))
    require_plain(subject, case, features, "output with lengths of all keys")


def gradients_with_key_lengths_are_true(subject: Subject, case: Case) -> None:
    """The gradients of query, key and value are those of the first keys, and the others get none.

    Formula: |d_x' - d_x| <= E_x for x of query, key, value, the lengths as a mask
    Source: derivations/softmax_backward.md (d-query, d-key, d-value); derivations/features.md (first-keys)
    Fault: backward_without_lengths
    """
    require_gradients(subject, case, FAMILY)


LAWS = (
    Law(
        keys_beyond_a_length_do_not_count, FAMILY, needs=needs(FAMILY), space=USUAL, large=12, small=16, compares=True,
        feature=FAMILY,
    ),
    Law(what_lies_beyond_a_length_is_invisible, FAMILY, needs=needs(FAMILY), space=FEW, large=6, small=8),
    Law(full_lengths_change_nothing, FAMILY, needs=needs(FAMILY), space=FEW, large=4, small=8),
    Law(
        gradients_with_key_lengths_are_true, FAMILY, needs=needs(FAMILY), space=SINGLE, large=4, small=8,
        declares=lambda i: bool(i.gradients), because=NO_GRADIENTS,
    ),
)  # fmt: skip
