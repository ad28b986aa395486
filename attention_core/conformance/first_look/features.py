"""What a window is given as, found by a few calls: a pair or a number of keys, the query's own counted or not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from attention_core.conformance.cases.case import Case
from attention_core.conformance.cases.features import Features, Sides
from attention_core.conformance.first_look.candidates import DEAD, Changes, list_changes, records
from attention_core.conformance.first_look.ranking import Comparer, apply_record
from attention_core.conformance.subjects.evidence import NotApplicable, Refused, Violation, excess
from attention_core.conformance.subjects.featured import judge_call
from attention_core.declaration.features import PAIRS, WINDOW_KINDS, sides_of
from attention_core.declaration.implementation import CHOICES, Implementation, TargetError

WIDTHS = (1, 2, 3)
"""With the least of them some rows have no key where queries are more."""
SIDES: Mapping[str, Sequence[Sides]] = {
    kind: ((2, 0), (1, 2), (2, -1), (-1, 1)) if kind == "sides" else ((2, 0), (1, 2)) for kind in PAIRS
}  # fmt: skip
"""The windows for a target whose window is a pair."""


def window_convention(
    comparer: Comparer, record: Implementation, claims: frozenset[str], cases: Sequence[Case]
) -> Changes | None:
    """What to change in the record so that windowed calls agree with the truth; None where nothing helps.

    What rows without a key hold is looked for where no mask has shown it before.
    """
    corners = (record.causal,) if "is_causal" in claims or record.always_causal else CHOICES["causal"]
    kinds = (record.window, *WINDOW_KINDS)  # first what its name says
    dead = (record.dead_rows,) if "attn_mask" in claims else tuple(dict.fromkeys((record.dead_rows, *DEAD)))
    ways: list[dict[str, Any]] = [
        {"window": kind, "causal": corner, "dead_rows": rows} for corner, kind, rows in product(corners, kinds, dead)
    ]
    for changes, other in records(record, list_changes(record, ways)):
        kind = comparer.subject(other).binding.window_kind
        tried = SIDES.get(kind) or tuple(sides_of(kind, width) for width in WIDTHS)
        calls = [
            (case.with_(is_causal=causal), sides)
            for case in cases for sides in tried for causal in ((False, True) if "is_causal" in claims else (False,))
        ]  # fmt: skip
        outcomes = {window_outcome(comparer, other, *call) for call in calls}
        if "agrees" in outcomes and "differs" not in outcomes:
            return changes
    return None


def window_outcome(comparer: Comparer, record: Implementation, case: Case, sides: Sides) -> str:
    """ "agrees", "differs", "declines", or "absent" where the record does not have such a call."""
    try:
        subject, case = comparer.subject(record), apply_record(record, case)
        call = judge_call(record, case, Features(window=sides))
        out = subject.forward(case, features=call.features, fresh=True).out.values
    except Refused:
        return "declines"
    except NotApplicable:
        return "absent"
    except (Violation, TargetError):
        return "differs"
    judged = np.broadcast_to(call.rows_to_judge, out.shape)
    return "agrees" if bool(np.all((excess(out, call.truth.out, call.limit) <= 1)[judged])) else "differs"
