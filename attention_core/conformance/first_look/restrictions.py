"""What a function leaves out: sizes that it declines, float64 that it computes in float32, masks of a finite number."""

from __future__ import annotations

from collections.abc import Sequence

from attention_core.conformance.cases.case import Case
from attention_core.conformance.first_look.candidates import Changes
from attention_core.conformance.first_look.probes import hide_high_scores, low_logits, problem
from attention_core.conformance.first_look.ranking import Comparer, agrees, apply_record
from attention_core.conformance.first_look.size_conditions import find_conditions
from attention_core.conformance.subjects.evidence import NotApplicable, Refused, Violation
from attention_core.declaration.implementation import Implementation, TargetError

HEAD_SIZES_DIFFER = (1, 1, 5, 5, 4, 6)
"""A problem whose values have another head size than its queries; n_q == n_kv, one sequence and one head."""
SCALE_ROUNDED = ((1, 2, 5, 7, 6, 6), (1, 1, 5, 5, 6, 6))
"""B, H, n_q, n_kv, d, d_v of problems whose scale 1/sqrt(d) float32 has to round."""
FILLS = ("-1e9", "-1e8", "-1e7")
"""Finite numbers in place of masked scores that are tried, the lowest first: what lies lower hides as -inf does."""


def declined_sizes(comparer: Comparer, record: Implementation, cases: Sequence[Case]) -> Changes:
    """The condition that sizes meet where all calls of other sizes are declined; {} where none is needed."""
    from attention_core.declaration.sizes import SizeCondition

    if record.sizes is not None:
        return {}
    outcomes = [(case, comparer.outcome(record, case)) for case in cases]
    taken = [case for case, outcome in outcomes if case.sizes[0] == case.sizes[1] and outcome == "agrees"]
    others = {outcome for case, outcome in outcomes if case.sizes[0] != case.sizes[1]}
    if taken and others - {"absent"} == {"declines"}:  # for their lengths, or since no such call has sizes that fit
        conditions = find_conditions(comparer, record, taken[0])
        return {"sizes": SizeCondition(" and ".join(conditions))} if conditions else {}
    conditions = []
    if comparer.outcome(record, problem(HEAD_SIZES_DIFFER, cases[0].dtype)) == "declines":
        equal = problem((*HEAD_SIZES_DIFFER[:-1], HEAD_SIZES_DIFFER[-2]), cases[0].dtype)
        conditions += ["d == d_v"] if comparer.outcome(record, equal) == "agrees" else []
    return {"sizes": SizeCondition(" and ".join(conditions))} if conditions else {}


def one_batch_axis(comparer: Comparer, record: Implementation, cases: Sequence[Case]) -> Changes:
    """Whether it goes wrong without a batch axis, or with two of them, where it agrees with one (a transpose(2, 3))."""
    declared = record.layout == "bhnd" and record.out_layout in (None, "bhnd") and record.axes == 4
    if not declared or record.batch_axes == "one":
        return {}
    right = [case for case in cases if comparer.outcome(record, case) == "agrees"]
    square = [case for case in right if case.sizes[0] == case.sizes[1]]  # other lengths it may decline (a repeat by H)
    for case in (*right[:1], *square[:1]):
        inputs = {name: getattr(case, name) for name in ("query", "key", "value")}
        ranks = ({n: x[0] for n, x in inputs.items()}, {n: x[None] for n, x in inputs.items()})
        if any(comparer.outcome(record, case.with_(**arrays)) == "differs" for arrays in ranks):
            return {"batch_axes": "one"}
    return {}


def is_single_inside(comparer: Comparer, record: Implementation, cases: Sequence[Case]) -> bool:
    """Whether float64 answers are right to float32 alone; `cases` hold numbers of float32.

    Those whose scale float32 has to round come first: who agrees there is right, and who does not may agree elsewhere.
    """
    seen = False
    rounded = [problem(sizes, "float32") for sizes in SCALE_ROUNDED if allows_sizes(record, sizes)]
    for case in (one.with_(dtype="float64") for one in (*rounded, *cases)):
        outcome = comparer.outcome(record, case)
        if outcome == "agrees" and not seen:
            return False
        if outcome == "differs":
            if not agrees_as_single(comparer, record, case):
                return False
            seen = True
    return seen


def allows_sizes(record: Implementation, sizes: tuple[int, ...]) -> bool:
    """Whether the sizes (B, H, n_q, n_kv, d, d_v) of a problem are declared."""
    return record.sizes is None or bool(record.sizes(*sizes[2:], sizes[1], sizes[1]))


def agrees_as_single(comparer: Comparer, record: Implementation, case: Case) -> bool:
    """Whether the answer to a float64 case lies within the budget of float32."""
    try:
        subject, case = comparer.subject(record), apply_record(record, case)
        return agrees(subject, case.with_(dtype="float32"), subject.forward(case, fresh=True))
    except (NotApplicable, Refused, TargetError, Violation):
        return False


def mask_fill(comparer: Comparer, record: Implementation, case: Case) -> Changes:
    """The finite number that stands for a masked score, where masked keys come back beside lower scores in float64."""
    if "float64" not in record.dtypes or record.masks == "additive" or record.mask_fill != "-inf":
        return {}
    case = case.with_(dtype="float64")
    if comparer.outcome(record, low_logits(case, 2.0**31)) != "differs":
        return {}
    for fill in FILLS:
        if comparer.outcome(record, low_logits(case, abs(float(fill)) / 2)) == "agrees":
            filled = record.with_(mask_fill=fill)
            return {"mask_fill": fill, **detect_added_mask(comparer, filled, case)}
    return {}


def detect_added_mask(comparer: Comparer, record: Implementation, case: Case) -> Changes:
    """Whether the finite number is added to masked scores: keys of huge ones come back, those of large ones do not."""
    fill = abs(float(record.mask_fill))
    added = comparer.outcome(record, hide_high_scores(case, 4 * fill)) == "differs"
    return (
        {"mask_added": True} if added and comparer.outcome(record, hide_high_scores(case, fill / 4)) == "agrees" else {}
    )
