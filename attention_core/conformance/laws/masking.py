"""Laws of masking: what a mask hides cannot be seen in the output.

Gradients stand in `masking_gradients.py`, the forms of masks in `mask_forms.py`, rows that lose every key in
`dead_rows.py`.
"""

from __future__ import annotations

import numpy as np

from attention_core.conformance.budgets.rounding import round_to
from attention_core.conformance.cases.case import Case
from attention_core.conformance.cases.space import Space
from attention_core.conformance.laws.pairs import same_output
from attention_core.conformance.laws.visibility import (
    CLEAR,
    Planting,
    added_fill,
    attractive_keys,
    far_values,
    huge_contents,
    nonfinite_contents,
    plant_by_row,
    plant_for_all,
    require_truth,
)
from attention_core.conformance.subjects.evidence import Evidence, Violation
from attention_core.conformance.subjects.law import Law, needs
from attention_core.conformance.subjects.subject import Subject

MASKED = Space(masks=("bool", "float"), causal=(False,), min_kv=2)
WITH_OR_WITHOUT = MASKED.with_(masks=("none", "bool", "float"))
UNMASKED = Space(masks=("none",), causal=(False,), min_kv=2)
LOW = 24576.0  # the logit (negated) of attended keys beside which a mask's fill value must still be lower
LOWER = 2.0**31  # the same in float64, which still resolves scores there


def masked_keys_are_invisible(subject: Subject, case: Case) -> None:
    """Other numbers in a key and value that a row may not attend leave that row's output as it is.

    Formula: m_ij = 0 for all j in J implies f(q, k', v')_i = f(q, k, v)_i where k, v change in J alone
    Source: derivations/laws.md (masked)
    Fault: mask_ignored
    """
    planting = plant_by_row(subject, case)
    other = planting.with_contents(attractive_keys(planting, "other", CLEAR), far_values(planting, "other"))
    same_output(subject, case, other, "output after masked keys changed", where=planting.rows[..., None])


def huge_masked_keys_are_invisible(subject: Subject, case: Case) -> None:
    """Masked keys and values stay invisible when they are as large as finite products and sums allow.

    Formula: m_ij = 0 for all i and j in J implies f(q, k', v') = f(q, k, v) where k, v change in J alone
    Source: derivations/laws.md (masked)
    Fault: additive_fill_1e9
    """
    planting = plant_for_all(subject, case)
    other = planting.with_contents(*huge_contents(planting, "huge", added_fill(subject.implementation)))
    same_output(subject, planting.case, other, "output after masked keys grew huge", where=planting.rows[..., None])


def nonfinite_masked_keys_are_invisible(subject: Subject, case: Case) -> None:
    """NaN and infinities in keys and values that a row may not attend leave that row's output as it is.

    Formula: m_ij = 0 for all j in J implies f(q, k', v')_i = f(q, k, v)_i with k', v' of NaN and +-inf in J
    Source: IEEE 754-2019, section 6.2: 0 * NaN = NaN, so a zero weight does not mask
    Fault: nan_leaks_through_zero_weight
    """
    planting = plant_by_row(subject, case)
    other = planting.with_contents(*nonfinite_contents(planting, "nonfinite"))
    same_output(subject, case, other, "output after masked keys became NaN or inf", where=planting.rows[..., None])


def masked_nan_propagates_where_declared(subject: Subject, case: Case) -> None:
    """Where masked NaN is declared to propagate it does, and stays in its own slice.

    Formula: v'_J = k'_J = NaN in the slices S: some f(q, k', v')_s is NaN for s in S, and none changes for
        s not in S
    Source: IEEE 754-2019, section 6.2
    Fault: masked_nan_removed
    """
    every = plant_for_all(subject, case)
    slices = every.keys.any(-1)
    drawn = case.rng("slices").random(slices.shape) < 0.5
    drawn |= ~(drawn & slices).any()  # at least one slice gets a NaN
    planting = Planting(every.case, every.keys & drawn[..., None], every.rows)
    other = planting.with_contents(np.nan, np.nan)
    planted = np.repeat(planting.keys.any(-1), case.group, axis=1)[..., None, None]
    live = ~subject.truth(planting.case).dead[..., None]
    same_output(subject, planting.case, other, "output beside a slice with a NaN", where=~planted & live)
    got = subject.forward(other).out
    if not np.isnan(got.values[np.broadcast_to(planted, got.values.shape)]).any():
        index = tuple(int(i) for i in np.argwhere(np.broadcast_to(planted, got.values.shape))[0])
        raise Violation(
            "a NaN in a masked key and value reaches no output, but masked NaN is declared to propagate "
            "(declare --masked-nan ignored, in Python masked_nan='ignored')",
            Evidence((got.show(index),), float(got.values[index]), float("nan"), None),
        )


def masked_keys_stay_masked_at_low_logits(subject: Subject, case: Case) -> None:
    """A masked key gets no weight however low the logits of the attended keys are.

    Formula: s_ij = -c for attended j, s_ij = 0 for masked j: f(x)_i is a mean of the attended v_j
    Source: derivations/laws.md (masked)
    Fault: fill_1e4
    """
    dtype = case.dtype
    if case.scale is None and "scale" in subject.binding.claims:
        case = case.with_(scale=1.0)
    scale = case.factor
    low = {"float64": LOWER, "float16": min(LOW, 28000.0 * abs(scale))}.get(dtype, LOW)
    low = min(low, -float(subject.implementation.mask_fill) / 2)  # half of it below, a weight is exactly 0
    planting = plant_for_all(subject, case)
    size = np.sqrt(low / abs(scale))
    query, key = planting.case.query.copy(), planting.case.key.copy()
    query[..., 0], key[..., 0] = size, -np.sign(scale) * size
    key[..., 1:] = 0.0
    low_case = planting.case.with_(query=round_to(query, dtype), key=round_to(key, dtype))
    other = Planting(low_case, planting.keys, planting.rows).with_contents(0.0, far_values(planting, "low"))
    require_truth(subject, other, "output where attended logits are low", where=planting.rows[..., None])


LAWS = (
    Law(masked_keys_are_invisible, "masking", needs=needs("attn_mask"), space=MASKED),
    Law(huge_masked_keys_are_invisible, "masking", needs=needs("attn_mask"), space=WITH_OR_WITHOUT),
    Law(
        nonfinite_masked_keys_are_invisible, "masking", needs=needs("attn_mask"), space=MASKED,
        declares=lambda i: bool(i.masked_nan == "ignored"), because="masked_nan='ignored' is not declared",
    ),
    Law(
        masked_nan_propagates_where_declared, "masking", needs=needs("attn_mask"), space=WITH_OR_WITHOUT,
        declares=lambda i: bool(i.masked_nan == "propagates"),
        because="masked_nan='propagates' is not declared", large=2, small=6,
    ),
    Law(masked_keys_stay_masked_at_low_logits, "masking", needs=needs("attn_mask"), space=UNMASKED),
)  # fmt: skip
