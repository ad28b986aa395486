"""What came of a submission: the verdict, the rule that refused it, its time beside the reference's, and JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from attention_core import __version__
from attention_core.declaration.errors import plain
from attention_core.grading.rules import RULES

SCHEMA_VERSION = 1
VERDICTS = ("accepted", "refused", "incomplete", "error")


@dataclass
class Grade:
    """The grade of one submission.

    Args:
        submission, task: their names.
        verdict: one of `VERDICTS`. A submission that is not accepted has no time.
        rule: of `RULES`, where it is refused. reason: what was seen, in one line. hint: what to do about it.
        law, case, snippet: of the most telling counterexample, where a law is broken.
        laws: how many laws held, and how many are broken.
        timings: of each shape, as JSON values.
        seed: whence all inputs came; with --seed the same ones are drawn again.
        seconds: processor time of the grader and all its processes.
        notes: what else should be known.
        settings: of the task.
    """

    submission: str
    task: str
    verdict: str
    rule: str = ""
    reason: str = ""
    hint: str = ""
    law: str = ""
    case: str = ""
    snippet: str = ""
    laws: Mapping[str, int] = field(default_factory=dict)
    timings: Sequence[Mapping[str, Any]] = field(default_factory=list)
    seed: str = ""
    seconds: float = 0.0
    notes: Sequence[str] = field(default_factory=list)
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("submission", "reason", "hint", "case", "snippet"):
            setattr(self, name, plain(getattr(self, name)))

    def to_dict(self) -> dict[str, Any]:
        """The grade as JSON values."""
        sources = list(RULES[self.rule].sources) if self.rule in RULES else []
        return {
            "schema_version": SCHEMA_VERSION, "attention_core": __version__, **asdict(self), "sources": sources,
        }  # fmt: skip

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Grade:
        """The inverse of `to_dict`."""
        return Grade(**{k: v for k, v in data.items() if k in Grade.__dataclass_fields__})

    @property
    def ratio(self) -> float | None:
        """The geometric mean over shapes of the submission's time over the reference's; None without times."""
        ratios = [float(each["comparison"]["ratio"]) for each in self.timings]
        if not ratios:
            return None
        product = 1.0
        for each in ratios:
            product *= each
        return float(product ** (1 / len(ratios)))


def to_json(grades: Sequence[Grade]) -> str:
    """The grades as one JSON text.

    >>> json.loads(to_json([Grade("a.py", "t", "accepted")]))["grades"][0]["verdict"]
    'accepted'
    """
    data = {"schema_version": SCHEMA_VERSION, "grades": [grade.to_dict() for grade in grades]}
    return json.dumps(data, indent=1, default=str) + "\n"


def exit_status(grades: Sequence[Grade]) -> int:
    """1 if any is refused, else 2 if any is in error or incomplete, else 0.

    >>> exit_status([Grade("a", "t", "accepted"), Grade("b", "t", "refused")])
    1
    """
    verdicts = {grade.verdict for grade in grades}
    if "refused" in verdicts:
        return 1
    return 0 if verdicts == {"accepted"} else 2
