"""What the results of the laws say together: why a target could not be judged, and which parameters were tested."""

from __future__ import annotations

from collections.abc import Sequence

from attention_core.conformance.report.law_result import NOT_RUN, LawResult
from attention_core.conformance.subjects.binding import Binding
from attention_core.conformance.subjects.law import Law
from attention_core.declaration.features import FEATURES
from attention_core.declaration.implementation import CLAIMS

GIVEN_UP = "the target kept crashing or hanging"
EXPLAINED = "the conventions found explain the difference, and all laws were judged under these"
"""Why laws are left out under the declared conventions."""
JUDGED = ("held", "refuted", "known_failure", "unexpected_pass")


def explain_no_comparison(laws: Sequence[Law], results: Sequence[LawResult]) -> str:
    """Why no output was compared with a truth; "" where one was, or where something is refuted or wrong anyway."""
    comparing = {law.name: law for law in laws if law.compares}
    seen = [r for r in results if r.law in comparing]
    if any(r.status in JUDGED and (r.cases or r.status != "held") for r in seen) or not comparing:
        return ""
    why = sorted((r for r in seen if r.message), key=lambda r: not comparing[r.law].central)
    reason = f"{why[0].law}: {why[0].message}" if why else "no law that compares was run"
    return f"no output was compared with a truth, because of {reason}"


def broken_elsewhere(results: Sequence[LawResult]) -> str:
    """Why the target could not be judged in another process that ran a share of the laws; "" if it could.

    Example:
        >>> broken_elsewhere([LawResult("a_law", "not_applicable", 0, 0.0, message="not run: it returns no array")])
        'it returns no array'
    """
    reasons = [r.message.removeprefix(NOT_RUN) for r in results if r.message.startswith(NOT_RUN)]
    return next((why for why in reasons if why not in (GIVEN_UP, EXPLAINED)), "")


def list_claims(binding: Binding, laws: Sequence[Law], results: Sequence[LawResult]) -> dict[str, str]:
    """Parameter of a function of attention -> "tested", "refused" or why not tested."""
    status = {law.name: r.status for law in laws for r in results if r.law == law.name}
    left = {r.law for r in results if r.message.startswith(NOT_RUN)}
    tested: dict[str, str] = {}
    for claim in (*CLAIMS, *(feature for feature in FEATURES if feature in binding.names)):
        if claim not in binding.claims:
            ungrouped = binding.ungrouped if claim == "enable_gqa" else ""
            there = "no law of this contract asks for it" if claim in binding.names else "no such parameter"
            tested[claim] = ungrouped or binding.unread or f"not tested: {there}"
            continue
        about = [law.name for law in laws if claim in law.needs and law.name in status]
        ran = [status[name] for name in about if name not in left]
        compared = [status.get(law.name) for law in laws if law.feature == claim]
        declined = "refused" in compared or (bool(ran) and all(s in ("refused", "not_applicable") for s in ran))
        tested[claim] = "refused" if declined else "tested" if ran or not about else "not tested: its laws were not run"
    return tested
