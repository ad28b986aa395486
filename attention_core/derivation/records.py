"""Verdicts and reports.

What a check answers: verdicts, their evidence, counterexamples, one report per step and one per document.
Plain frozen records, without any of the machinery that fills them in.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Verdict(StrEnum):
    """What is known about a step; never merged, never upgraded."""

    PROVED = "PROVED"
    EXACT = "EXACT"
    AGREES = "AGREES"
    STATISTICAL = "STATISTICAL"
    REFUTED = "REFUTED"
    VACUOUS = "VACUOUS"
    AMBIGUOUS = "AMBIGUOUS"
    UNDECIDED = "UNDECIDED"
    UNREADABLE = "UNREADABLE"


GOOD = frozenset({Verdict.PROVED, Verdict.EXACT, Verdict.AGREES, Verdict.STATISTICAL})
OPEN = (Verdict.UNDECIDED, Verdict.AMBIGUOUS, Verdict.UNREADABLE)
LEVELS = ("open", "slip", "refuted")
"""What may count against a document, from the strictest on, see `StepReport.fails`."""
STANDARD_INPUT = "<stdin>"
"""The name of a document that has none, since it was read from standard input."""
ORDER = (Verdict.STATISTICAL, Verdict.AGREES, Verdict.EXACT, Verdict.PROVED)


def count_steps(steps: Sequence[tuple[bool, str]]) -> str:
    """Say how many steps are as their document says, and of the others how many are wrong or have no answer.

    Args:
        steps: Whether each step is as the document says, and its verdict.

    Example:
        >>> count_steps([(True, "PROVED"), (False, "REFUTED"), (False, "UNDECIDED")])
        '1 of 3 steps are as the document says; 1 REFUTED; without an answer: 1 UNDECIDED'
    """
    left = [verdict for passed, verdict in steps if not passed]
    wrong, unanswered = (
        ", ".join(f"{count} {one}" for one in some if (count := left.count(one)))
        for some in ((Verdict.REFUTED, Verdict.VACUOUS), OPEN)
    )
    good = f"{len(steps) - len(left)} of {len(steps)} steps are as the document says"
    return "; ".join(filter(None, (good, wrong, unanswered and f"without an answer: {unanswered}")))


def count_results(steps: Sequence[StepReport]) -> str:
    """Say how many steps are as their document says, and how many sentences, which are not steps, were not read.

    Args:
        steps: The steps of a document, and what stands for its sentences that were not read.

    Example:
        >>> unread = StepReport("line-1", 1, "Let $x$ be.", Verdict.UNREADABLE, Evidence("", {"sentence": True}))
        >>> count_results([StepReport("line-3", 3, "a = a", Verdict.PROVED, Evidence("")), unread])
        '1 of 1 steps are as the document says; 1 sentence not read'
    """
    claims = [(step.passed, str(step.verdict)) for step in steps if not step.is_sentence]
    unread = len(steps) - len(claims)
    sentences = f"{unread} sentence{'s' * (unread > 1)} not read" if unread else ""
    return "; ".join(filter(None, (count_steps(claims) if claims or not unread else "", sentences)))


@dataclass(frozen=True)
class Counterexample:
    """A point that satisfies the hypotheses where the step fails, certified.

    `values` maps each symbol, sizes first, to a number or to rows of numbers as exact text; `left` and `right` are the
    two sides there; `where` says which entry differs.
    """

    values: dict[str, Any]
    left: str
    right: str
    where: str = ""


def point_out_slips(steps: Sequence[StepReport]) -> str:
    """Say which of the steps that were left open to look at first; '' where none is likely to have a slip.

    Args:
        steps: The steps of a document.

    Example:
        >>> slip = Evidence("as it was read it is false", {"slip": "with $y_i$ in place of $y_1$"})
        >>> point_out_slips([StepReport("line-7", 7, "a = b", Verdict.UNDECIDED, slip)])
        'look first at line 7: false as it was read, and one small change makes it hold'
    """
    lines = list(dict.fromkeys(str(step.line) for step in steps if step.likely_slip))
    if not lines:
        return ""
    if len(lines) == 1:
        return f"look first at line {lines[0]}: false as it was read, and one small change makes it hold"
    return f"look first at lines {', '.join(lines)}: false as they were read, and one small change each makes them hold"


@dataclass(frozen=True)
class Evidence:
    """What a verdict rests on, in words and in numbers.

    `figures` holds what the verdict's kind asks for: `rule`; `sizes`; `cases`, `bits`, `margin`; `alpha`, `beta`,
    `delta`, `samples`; `undefined` counts the cases where a side is not defined; `reading` is another one, with another
    verdict; `slip` is the one small change that makes a step hold that is false as it was read; `sentence` is true of a
    sentence of prose that was not read.
    """

    text: str
    figures: dict[str, Any] = field(default_factory=dict)
    advice: str = ""


@dataclass(frozen=True)
class Finding:
    """What was found out about one relation."""

    verdict: Verdict
    evidence: Evidence
    counterexample: Counterexample | None = None


@dataclass(frozen=True)
class StepReport:
    """One relation of one display: its name, its line, the step as written and what is known about it."""

    id: str
    line: int
    text: str
    verdict: Verdict
    evidence: Evidence
    counterexample: Counterexample | None = None
    seconds: float = 0.0
    expected: str = ""
    required: str = ""
    claim: Callable[[], Any] | None = field(default=None, repr=False, compare=False)  # writes it, see `to_sympy`
    opens: int = field(default=0, compare=False)  # the line on which its display begins

    def to_sympy(self) -> Any:
        """Write the step as a SymPy relation, not evaluated.

        Raises:
            ValueError: it was not read, or a part of it has no counterpart in SymPy.
        """
        if self.claim is None:
            raise ValueError(f"{self.id} was not read: {self.evidence.text}")
        return self.claim()

    @property
    def passed(self) -> bool:
        """Whether the step is as the document says: good enough, or refuted where refutation is expected."""
        if self.expected == "refuted":
            return self.verdict is Verdict.REFUTED
        if self.verdict not in GOOD:
            return False
        return not self.required or ORDER.index(self.verdict) >= ORDER.index(Verdict(self.required.upper()))

    @property
    def is_sentence(self) -> bool:
        """Whether it is a sentence of prose that was not read, and not a relation."""
        return bool(self.evidence.figures.get("sentence"))

    @property
    def likely_slip(self) -> str:
        """The one small change that makes a step hold that is false as it was read and left open; '' for none."""
        open_ = self.verdict in OPEN and not self.expected
        return str(self.evidence.figures.get("slip", "")) if open_ else ""

    def fails(self, level: str = "open") -> bool:
        """Whether a step counts against its document.

        Args:
            level: What counts: "open" whatever is not as the document says, "slip" what is wrong or likely to have a
                slip, "refuted" what is wrong. Less than is required counts always, and so does what is said of a whole
                document: that it cannot be read, has no display, or has no step of a name.

        Example:
            >>> step = StepReport("line-7", 7, "a = b", Verdict.UNDECIDED, Evidence("", {"slip": "with $a$"}))
            >>> [step.fails(level) for level in LEVELS]
            [True, True, False]
        """
        if level == "open" or self.passed or not self.text:
            return not self.passed
        less = bool(self.required) and self.verdict in GOOD
        return less or self.status == 1 or (level == "slip" and bool(self.likely_slip))

    @property
    def title(self) -> str:
        """The verdict, and whether a step that is left open is likely to have a slip."""
        return f"{self.verdict}, likely a slip" if self.likely_slip else str(self.verdict)

    @property
    def status(self) -> int:
        """0 passed; 1 refuted, vacuous, or not refuted where that is expected; else 2."""
        if self.passed:
            return 0
        if self.verdict in (Verdict.UNREADABLE, Verdict.UNDECIDED, Verdict.AMBIGUOUS):
            return 2
        refuted = self.verdict in (Verdict.REFUTED, Verdict.VACUOUS) or self.expected == "refuted"
        return 1 if refuted else 2

    def as_dict(self) -> dict[str, Any]:
        """The record that `--json` writes."""
        example = self.counterexample
        return {
            "id": self.id,
            "line": self.line,
            "text": self.text,
            "verdict": str(self.verdict),
            "passed": self.passed,
            "expected": self.expected or None,
            "evidence": {"text": self.evidence.text, "advice": self.evidence.advice, **self.evidence.figures},
            "counterexample": None
            if example is None
            else {"values": example.values, "left": example.left, "right": example.right, "where": example.where},
            "seconds": round(self.seconds, 4),
        }


UNDEFINED = "define the functions whose values were read as symbols of their own (--scaffold lists them)"
"""What a step needs that is false only because nothing ties such values to each other."""

BY_DISPLAY = "defined by the display: "
ONCE_MORE = "a definition once more: "
NO_RELATION = "nothing to check: "
UNCHECKED = (
    BY_DISPLAY,
    ONCE_MORE,
    "declared by the display: ",
    NO_RELATION,
    "a value, which states nothing: ",
    "an update, which states nothing: ",
    "not checked: ",
)
"""How the lines start that say why a relation of a display is not a step."""


@dataclass(frozen=True)
class DocumentReport:
    """All steps of one document; `understood` is what `--explain` prints: (line, text).

    `cells` are those of a notebook, each with its first line and its number.
    """

    file: str
    steps: tuple[StepReport, ...]
    understood: tuple[tuple[int, str], ...] = ()
    cells: tuple[tuple[int, int], ...] = ()

    def find_cell(self, line: int) -> int:
        """The number of a notebook's cell, among all of them, that a line is in; 0 in other documents.

        Example:
            >>> DocumentReport("notes.ipynb", (), cells=((1, 1), (7, 3))).find_cell(9)
            3
        """
        return max((number for first, number in self.cells if first <= line), default=0)

    @property
    def ignored_relations(self) -> tuple[tuple[int, str], ...]:
        """The relations in declaring paragraphs that are claims or talk and no hypotheses: (line, text)."""
        return tuple((line, text) for line, text in self.understood if text.startswith("not assumed: "))

    @property
    def unchecked_relations(self) -> tuple[tuple[int, str], ...]:
        """What stands in displays and is not a step, with the reason: (line, text)."""
        return tuple((line, text) for line, text in self.understood if text.startswith(UNCHECKED))

    @property
    def passed(self) -> bool:
        """Whether every step is as the document says, and there is one."""
        return bool(self.steps) and all(step.passed for step in self.steps)

    @property
    def status(self) -> int:
        """The exit status: 0, else 1 when a step is refuted or vacuous, else 2."""
        found = {step.status for step in self.steps} or {2}
        return 1 if 1 in found else max(found)

    def status_at(self, level: str) -> int:
        """The exit status where only some steps count (`StepReport.fails`): 1 if one does, 2 if nothing was checked."""
        if level == "open":
            return self.status
        failing = [step for step in self.steps if step.fails(level)]
        return 1 if any(step.text for step in failing) else 2 if failing else 0

    def as_dict(self) -> dict[str, Any]:
        """The record that `--json` writes."""
        steps = [step.as_dict() | ({"cell": self.find_cell(step.line)} if self.cells else {}) for step in self.steps]
        unused, unchecked = (
            [{"line": line, "text": text} for line, text in noted]
            for noted in (self.ignored_relations, self.unchecked_relations)
        )
        return {"file": self.file, "steps": steps, "not_assumed": unused, "unchecked": unchecked}


_READ_AS = re.compile(r";? ?read as: (.+?) \((?:not declared; a declaration would take precedence|taken as declared)\)")


def readings_of(step: StepReport) -> list[str]:
    """What the undeclared symbols of a step are read as."""
    if found := step.evidence.figures.get("read_as"):
        return [str(one) for one in found]
    return [one for part in _READ_AS.findall(step.evidence.text) for one in part.split("; ")]


def without_readings(text: str) -> str:
    """The evidence of a step without what its symbols are read as."""
    return _READ_AS.sub("", text)


def split_reading(reading: str) -> tuple[str, str]:
    r"""`\sigma \in \mathbb{R} (a power)`, or `x as in line 3`, as the symbol and what it is read as."""
    at = max(reading.rfind(r" \in "), reading.find(" as in line "))
    return (reading[:at], reading[at:]) if at > 0 else (reading, "")
