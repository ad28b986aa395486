"""What a run found out: one result per law, the verdict over them, and their JSON.

Rendering for people (terminal, JUnit, HTML) lives in `render_*` modules; these are the plain facts.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from attention_core.conformance.first_look.findings import FirstLook
from attention_core.conformance.report.flaky import SAME_CALL
from attention_core.conformance.report.law_result import Counterexample, LawResult
from attention_core.conformance.report.ranking import met_a_change, order_results
from attention_core.conformance.report.untested import what_to_do
from attention_core.declaration.errors import plain

SCHEMA_VERSION = 1
VERDICTS = ("conforms", "refuted", "incomplete", "error")
WORST_FIRST = ("refuted", "error", "incomplete", "conforms")
"""Verdicts in the order in which pages have them."""
NAMED = 5
"""So many laws are named in one line; the others are counted."""

FIXED = 3
"""So many fixed values of a constructor are named in the verdict's line; the notes hold all."""


class Refuted(AssertionError):
    """A target under test does not conform; the message is its smallest case."""


@dataclass(repr=False)
class Report:
    """Everything about one target; printed, it is one line: the verdict and its reason.

    Args:
        target: its name.
        declared: the conventions it was tested under.
        claims: parameter -> "tested", "refused" or why it was not tested.
        laws: one result per law.
        versions: of Python, the suite and the array library.
        seed, effort: of the run.
        problem: why there is no result (verdict "error"), or what is missing ("incomplete").
        isolated: whether the target ran in a process of its own.
        ratios: (dtype/quantity) -> largest error/bound seen.
        advice: conventions under which a refuted target would conform.
        explained: refuted laws that hold under the conventions of the advice.
        unavailable: why a known target cannot run on this machine.
        partial: whether only some laws were chosen; a verdict needs all, so such a report never says "conforms".
        asked: what came of them in words, where "the chosen laws held" is not it.
        first_look: what a few calls found before any law; None where the contract has no first look.
        under_found: the report under the conventions that the first look found, where these were judged as well.
        notes: what else the report says about how it was tested.
        untested: parameters that no law tests and that were not accepted.
        accepted_untested: those that were accepted.
        constructed: those of them that are parameters of a constructor.
        fixed: NAME=VALUE of what every module was built with: the verdict speaks of these values alone.
        waived: declaration -> the laws that it alone leaves unjudged.
    """

    target: str
    declared: Mapping[str, Any] = field(default_factory=dict)
    claims: Mapping[str, str] = field(default_factory=dict)
    laws: list[LawResult] = field(default_factory=list)
    versions: Mapping[str, str] = field(default_factory=dict)
    seed: int = 0
    effort: str = "standard"
    problem: str = ""
    failed: bool = False
    isolated: bool = True
    ratios: Mapping[str, float] = field(default_factory=dict)
    advice: list[str] = field(default_factory=list)
    explained: list[str] = field(default_factory=list)
    unavailable: str = ""
    traceback: str = ""
    partial: bool = False
    asked: str = ""
    first_look: FirstLook | None = None
    under_found: Report | None = None
    notes: list[str] = field(default_factory=list)
    untested: list[str] = field(default_factory=list)
    accepted_untested: list[str] = field(default_factory=list)
    constructed: list[str] = field(default_factory=list)
    fixed: list[str] = field(default_factory=list)
    waived: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("target", "problem", "unavailable", "traceback"):
            setattr(self, name, plain(getattr(self, name)))
        self.advice = [plain(line) for line in self.advice]

    def __str__(self) -> str:
        return f"{self.target}: {self.verdict} ({self.reason()})"

    def __repr__(self) -> str:
        return f"<Report {self}>"

    @property
    def verdict(self) -> str:
        """ "refuted" before "error" before "incomplete" before "conforms"."""
        found = self._verdict()
        return "incomplete" if self.partial and found == "conforms" else found

    @property
    def passed(self) -> bool:
        """Whether every requested law held: "conforms", or all of the chosen laws held (exit status 0)."""
        return self._verdict() == "conforms"

    def _verdict(self) -> str:
        statuses = {result.status for result in self.laws}
        if "refuted" in statuses:
            return "refuted"
        if self.failed or self.unavailable or "error" in statuses:
            return "error"
        short = any(not result.minimum_met for result in self.laws)
        if self.problem or short or self.untested or "unexpected_pass" in statuses or not self.laws:
            return "incomplete"
        return "conforms"

    @property
    def counterexamples(self) -> list[Counterexample]:
        """Those of refuted laws, the most telling first, then those of known failures."""
        found = order_results(self.with_status("refuted")) + order_results(self.with_status("known_failure"))
        return [r.counterexample for r in found if r.counterexample is not None]

    def with_status(self, status: str) -> list[LawResult]:
        """The laws that came to a status, in their order."""
        return [r for r in self.laws if r.status == status]

    @property
    def gaps(self) -> list[str]:
        """What laws met in the target and no law judges, each once."""
        return list(dict.fromkeys(result.unjudged for result in self.laws if result.unjudged))

    def reason(self) -> str:
        """Why the verdict is what it is, in one line."""
        if self.unavailable:
            return f"cannot run here: {self.unavailable}"
        if self.verdict == "refuted":
            passes = [f"{self._describe_passing_failures()}"] if self.with_status("unexpected_pass") else []
            return "; ".join([join_names(self.refuted_as()), *passes, *([self.problem] if self.problem else [])])
        if self.verdict == "conforms":
            accepted = f"; not tested: {', '.join(self.accepted_untested)}" if self.accepted_untested else ""
            fixed = f"; with {join_names(self.fixed, FIXED)}" if self.fixed else ""
            left = f"; not judged: {join_names(self.gaps)}" if self.gaps else ""
            waived = describe_waivers(self.waived)
            return describe_search(self.laws) + describe_sizes(self.declared) + fixed + left + waived + accepted
        # a problem (no core, a bad target) has its own words, and explains the refusals
        return "; ".join(self.missing()) + ("" if self.problem else describe_refusals(self.laws))

    def refuted_as(self) -> list[str]:
        """What refuted it, the most telling first: laws by name; what any law would have met, once."""
        ordered = order_results(self.with_status("refuted"))
        met = Counter(r.counterexample.event for r in ordered if r.counterexample is not None)
        changed = met_a_change(ordered)
        lines: dict[str, str] = {}
        for r in ordered:
            if r in changed:  # the first of them is the cause, and the others follow from it
                name = changed[0].law
                lines.setdefault(name, f"{name} ({count(len(changed) - 1, 'other law')} met the same)")
                continue
            event = "" if r.counterexample is None else r.counterexample.event
            laws = f" ({count(met[event], 'law')})" if met[event] > 1 else ""
            what = r.message.removeprefix("the call did not return: ").removeprefix(f"{SAME_CALL}: ")
            lines.setdefault(event or r.law, f"{event}: {what}{laws}" if event else r.law)
        return list(lines.values())

    def raise_if_refuted(self) -> None:
        """Fail a test of one's own with the verdict, its reason and the smallest case as a program.

        What is incomplete or in error fails too, since it was not judged; chosen laws that all held do not.

        Raises:
            Refuted: the target does not conform.
        """
        __tracebackhide__ = True  # pytest shows the smallest case, not these lines
        if self.passed:
            return
        lines = [str(self), *self.advice]
        for found in self.counterexamples[:1] if self.verdict == "refuted" else []:
            case = [f"{'smallest ' if found.shrunk else ''}case: {found.case}"] if found.case else []
            lines += [f"{found.title}: {found.message}", *case, "", found.snippet.rstrip()]
        raise Refuted("\n".join(lines))

    def _describe_passing_failures(self) -> str:
        names = [r.law for r in self.with_status("unexpected_pass")]
        fail = "failure no longer fails" if len(names) == 1 else "failures no longer fail"
        return f"{len(names)} known {fail}: {join_names(names)}"

    def missing(self) -> list[str]:
        """What keeps the verdict from "conforms", in sentences."""
        lines = [self.problem] if self.problem else []
        for r in self.laws:
            if not r.minimum_met and r.status == "refused":
                lines.append(f"{r.law}, the comparison with the truth: {r.message}")
            elif not r.minimum_met:
                lines.append(
                    f"{r.law}: too few cases could be judged ({r.cases})" + (f"; {r.message}" if r.powers else "")
                )
            if r.status == "error":
                lines.append(f"{r.law}: {r.message}")
            if r.status == "unexpected_pass":
                lines.append(f"{r.law}: a known failure no longer fails; take it off the list")
        if self.untested and (self.with_status("held") or not lines):  # where no law ran, none could test anything
            configured = self.declared.get("contract") == "multi-head"
            lines.append(what_to_do(self.untested, self.constructed, configured=configured))
        if self.partial and not lines and self.laws and not self.with_status("refuted"):
            lines.append(f"{self.asked or describe_chosen_laws(self.laws)}; a verdict needs all laws")
        return lines

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON values; the schema is documented in docs/report.md."""
        return {
            "schema_version": SCHEMA_VERSION,
            "target": self.target,
            "verdict": self.verdict,
            "declared": dict(self.declared),
            "claims": dict(self.claims),
            "laws": [asdict(result) for result in self.laws],
            "versions": dict(self.versions),
            "seed": self.seed,
            "effort": self.effort,
            "reason": self.reason(),
            "problem": self.problem,
            "failed": self.failed,
            "missing": self.missing(),
            "isolated": self.isolated,
            "ratios": dict(self.ratios),
            "advice": list(self.advice),
            "explained": list(self.explained),
            "unavailable": self.unavailable,
            "partial": self.partial,
            "asked": self.asked,
            "first_look": None if self.first_look is None else self.first_look.to_dict(),
            "notes": list(self.notes),
            "untested": list(self.untested),
            "accepted_untested": list(self.accepted_untested),
            "constructed": list(self.constructed),
            "fixed": list(self.fixed),
            "waived": {what: list(laws) for what, laws in self.waived.items()},
            "under_found": None if self.under_found is None else self.under_found.to_dict(),
        }

    def to_json(self) -> str:
        """The report as a JSON text (non-finite numbers as strings)."""
        return json.dumps(_finite(self.to_dict()), indent=2, allow_nan=False, default=repr)


def sort_by_verdict(reports: Sequence[Report]) -> list[Report]:
    """The reports as people read them: what is refuted first, what conforms last; equals keep their order."""
    return sorted(reports, key=lambda report: WORST_FIRST.index(report.verdict))


def count(number: int, thing: str) -> str:
    """A number of things: "1 law", "2 laws"."""
    return f"{number} {thing}{'' if number == 1 else 's'}"


def join_names(names: Sequence[str], most: int = NAMED) -> str:
    """The first few names, and how many there are besides."""
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} more" if rest > 0 else "")


def describe_search(laws: Sequence[LawResult]) -> str:
    """How hard the search looked, and what it could not look at."""
    held, known = ([r for r in laws if r.status == status] for status in ("held", "known_failure"))
    problems = count(sum(r.cases for r in held), "problem")
    extra = f", {count(len(known), 'known failure')}" if known else ""
    return f"{count(len(held), 'law')} held on {problems}, no counterexample{extra}{describe_refusals(laws)}"


def describe_sizes(declared: Mapping[str, Any]) -> str:
    """Which sizes alone were judged, as the end of a line; "" where all were.

    Example:
        >>> describe_sizes({"sizes": "d <= 32"}), describe_sizes({"sizes": None})
        ('; only sizes d <= 32', '')
    """
    sizes = declared.get("sizes")
    if not sizes:
        return ""
    return f"; only {'the sizes of its predicate' if sizes == 'predicate' else f'sizes {sizes}'}"


def describe_waivers(waived: Mapping[str, Sequence[str]]) -> str:
    """Which laws declarations leave unjudged, as the end of a line; "" where all that apply were judged.

    Example:
        >>> describe_waivers({"misfits=unspecified": ["lengths_of_key_and_value_must_agree"]})
        '; not judged, as misfits=unspecified is declared: lengths_of_key_and_value_must_agree'
    """
    return "".join(f"; not judged, as {what} is declared: {join_names(laws)}" for what, laws in waived.items())


def describe_chosen_laws(laws: Sequence[LawResult]) -> str:
    """What came of chosen laws of which none is refuted."""
    held, known = (sum(r.status == status for r in laws) for status in ("held", "known_failure"))
    chosen = "the chosen law held" if held == 1 else f"the {count(held, 'chosen law')} held"
    facts = [chosen] if held or not known else []
    return ", ".join(facts + ([f"{count(known, 'known failure')} still there"] if known else []))


def describe_refusals(laws: Sequence[LawResult]) -> str:
    """The laws of which every case was declined, as the end of a line."""
    names = [r.law for r in laws if r.status == "refused"]
    return f"; every case of {count(len(names), 'law')} was declined: {join_names(names)}" if names else ""


def to_json(reports: Sequence[Report]) -> str:
    """Several reports as one JSON text: a single report as itself, more under "reports"."""
    if len(reports) == 1:
        return reports[0].to_json() + "\n"
    data = {"schema_version": SCHEMA_VERSION, "reports": [report.to_dict() for report in reports]}
    return json.dumps(_finite(data), indent=2, allow_nan=False, default=repr) + "\n"


def _finite(value: Any) -> Any:
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return str(value)
    if isinstance(value, Mapping):
        return {k: _finite(v) for k, v in value.items()}
    return [_finite(v) for v in value] if isinstance(value, list | tuple) else value
