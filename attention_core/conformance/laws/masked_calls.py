"""What laws share whose calls choose the keys of a query: whether a case can fail, and a result against its truth."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from attention_core.conformance.cases.null_models import SEPARATION
from attention_core.conformance.subjects.evidence import NotApplicable, Result, require_close
from attention_core.conformance.subjects.masked_subject import Judged, MaskedSubject
from attention_core.conformance.subjects.parameter_case import ParameterCase
from attention_core.conformance.worker.exchange import NDArray

NOISE = 1e-9
"""What rounding alone moves a float64 output by, generously: a null model below it is none of the case."""


def count_power(subject: MaskedSubject, law: str, nulls: Mapping[str, NDArray], judged: Judged) -> None:
    """Note which null models a case could tell from the truth.

    Raises: NotApplicable where it could tell none: such a case cannot fail.
    """
    rows, some = judged.rows, False
    for name, out in nulls.items():
        apart = np.where(rows & ~(np.isnan(out) & np.isnan(judged.truth.out)), np.abs(out - judged.truth.out), 0.0)
        separated = bool(((apart > SEPARATION * judged.bound) | np.isnan(apart)).any())
        subject.relevant[law, name] += bool(((apart > NOISE) | np.isnan(apart)).any())
        subject.powers[law, name] += separated
        some |= separated
    if not some:
        raise NotApplicable("no wrong call that is tried would stand out")


def compare(subject: MaskedSubject, case: ParameterCase, out: Result, judged: Judged, what: str) -> None:
    """A result against truth and budget."""
    ratio = require_close(out, judged.truth.out, judged.bound, what, where=judged.rows)
    key = (case.dtype, subject.implementation.contract)
    subject.ratios[key] = max(subject.ratios.get(key, 0.0), ratio)
