"""Laws of masking in the backward pass: what a mask hides gets no gradient and changes none.

Cotangents are zero at the rows that do see the changed keys, so every gradient that is compared comes from
rows which must not notice.
"""

from __future__ import annotations

import numpy as np

from attention_core.conformance.cases.case import Case
from attention_core.conformance.laws.masking import MASKED, WITH_OR_WITHOUT
from attention_core.conformance.laws.pairs import same_gradients
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
)
from attention_core.conformance.subjects.evidence import require_close
from attention_core.conformance.subjects.law import Law, needs
from attention_core.conformance.subjects.subject import Subject

NO_GRADIENTS = "gradients=False is declared"


def no_gradient_at(subject: Subject, planting: Planting, what: str) -> None:
    """Raise unless the planted keys and values get no gradient from the blind rows, within the budget."""
    case, cotangent = planting.case, planting.cotangent
    gradients = subject.backward(case, cotangent).gradients
    limits = subject.gradient_bounds(case, cotangent, subject.true_gradients(case, cotangent))
    for name in ("key", "value"):
        bound = getattr(limits, name)
        zero, where = np.zeros_like(bound), planting.keys[..., None]
        require_close(gradients[name], zero, bound, f"gradient of {what} {name}", where=where)


def unchanged_gradients(subject: Subject, planting: Planting, other: Case, what: str) -> None:
    """Raise unless the blind rows give the same gradients when the planted contents are those of `other`."""
    rest = ~planting.keys[..., None]
    same_gradients(
        subject, planting.case, other, what, cotangent=planting.cotangent, where={"key": rest, "value": rest}
    )


def masked_keys_get_no_gradient(subject: Subject, case: Case) -> None:
    """Keys and values get no gradient from a row that may not attend them.

    Formula: m_ij = 0 for all j in J implies d f(x)_i / d k_J = d f(x)_i / d v_J = 0
    Source: derivations/laws.md (masked-value-gradient)
    Fault: backward_ignores_mask
    """
    no_gradient_at(subject, plant_by_row(subject, case), "a masked")


def masked_keys_leave_gradients_alone(subject: Subject, case: Case) -> None:
    """Other numbers in a key and value that a row may not attend leave that row's gradients as they are.

    Formula: m_ij = 0 for all j in J implies d f(q, k', v')_i = d f(q, k, v)_i where k, v change in J alone
    Source: derivations/laws.md (masked)
    Fault: backward_renormalises_over_all_keys
    """
    planting = plant_by_row(subject, case)
    other = planting.with_contents(attractive_keys(planting, "other", CLEAR), far_values(planting, "other"))
    unchanged_gradients(subject, planting, other, "after masked keys changed")


def huge_masked_keys_leave_gradients_alone(subject: Subject, case: Case) -> None:
    """Masked keys and values as large as finite products and sums allow change no gradient.

    Formula: m_ij = 0 for all i and j in J implies d f(q, k', v') = d f(q, k, v) where k, v change in J alone
    Source: derivations/laws.md (masked)
    Fault: additive_fill_1e9
    """
    planting = plant_for_all(subject, case)
    other = planting.with_contents(*huge_contents(planting, "huge", added_fill(subject.implementation)))
    unchanged_gradients(subject, planting, other, "after masked keys grew huge")
    no_gradient_at(subject, Planting(other, planting.keys, planting.rows), "a huge masked")


def nonfinite_masked_keys_leave_gradients_alone(subject: Subject, case: Case) -> None:
    """NaN and infinities in keys and values that no row may attend to change no gradient and get none.

    Formula: m_ij = 0 for all i and j in J implies d f(q, k', v') = d f(q, k, v), k', v' NaN or +-inf in J
    Source: IEEE 754-2019, section 6.2: 0 * NaN = NaN, so a zero weight does not mask
    Fault: nan_leaks_in_backward
    """
    planting = plant_for_all(subject, case)
    other = planting.with_contents(*nonfinite_contents(planting, "nonfinite"))
    unchanged_gradients(subject, planting, other, "after masked keys became NaN or inf")
    no_gradient_at(subject, Planting(other, planting.keys, planting.rows), "a NaN or infinite masked")


LAWS = (
    Law(
        masked_keys_get_no_gradient, "masking", needs=needs("attn_mask"), space=MASKED,
        declares=lambda i: bool(i.gradients), because=NO_GRADIENTS, large=3, small=8,
    ),
    Law(
        masked_keys_leave_gradients_alone, "masking", needs=needs("attn_mask"), space=MASKED,
        declares=lambda i: bool(i.gradients), because=NO_GRADIENTS, large=3, small=8,
    ),
    Law(
        huge_masked_keys_leave_gradients_alone, "masking", needs=needs("attn_mask"), space=WITH_OR_WITHOUT,
        declares=lambda i: bool(i.gradients), because=NO_GRADIENTS, large=3, small=8,
    ),
    Law(
        nonfinite_masked_keys_leave_gradients_alone, "masking", needs=needs("attn_mask"),
        space=WITH_OR_WITHOUT,
        declares=lambda i: bool(i.gradients and i.masked_nan == "ignored"),
        because="masked_nan='ignored' is not declared, or gradients=False is", large=3, small=8,
    ),
)  # fmt: skip
