"""What a comparison of two revisions found, and its JSON; the schema is attention_core/schemas/revisions.json."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from attention_core.bench.revisions.rounds import Change, RoundTimes
from attention_core.bench.timing.statistics import SHOWN, median_interval
from attention_core.declaration.implementation import TargetError

SCHEMA_VERSION = 1
KIND = "attention-core bench --base"
UNJUDGED = "UNJUDGED"
"""The verdict where a revision is wrong, or cannot be timed."""


@dataclass
class Side:
    """A kernel in one revision.

    Args:
        seconds: the median of a call, with low and high (95 %, over rounds).
        errors: of its results on the timed inputs, by quantity.
        samples: seconds a call, by round, block and place in the block.
    """

    seconds: float | None = None
    low: float | None = None
    high: float | None = None
    errors: dict[str, Any] = field(default_factory=dict)
    samples: list[list[list[float]]] = field(default_factory=list)


@dataclass
class Outcome:
    """One kernel on one workload in both revisions.

    Args:
        kernel, workload: in words.
        verdict: of `rounds.Change`, or UNJUDGED.
        message: why nothing was judged.
        change: the ratio; None where nothing was judged.
        clock: "processor", the time that a kernel computes, where it waits for nothing; else "wall".
    """

    kernel: str
    workload: str
    verdict: str = UNJUDGED
    message: str = ""
    change: Change | None = None
    clock: str = "processor"
    base: Side = field(default_factory=Side)
    head: Side = field(default_factory=Side)

    def fill(self, change: Change, rounds: Sequence[RoundTimes]) -> None:
        """Keep the results of the rounds."""
        self.verdict, self.change = change.verdict, change
        for side, times in ((self.base, [r.base for r in rounds]), (self.head, [r.head for r in rounds])):
            middle = median_interval(np.array([np.median(one) for one in times]), SHOWN)
            side.seconds, side.low, side.high = middle.value, middle.low, middle.high
            side.samples = [one.tolist() for one in times]


@dataclass
class Revision:
    """A revision: its name as it was given, and its commit; a plus sign stands for files that differ from it."""

    name: str
    commit: str

    @property
    def words(self) -> str:
        """The name with the beginning of the commit.

        >>> Revision("main", "0123456789abcdef+").words, Revision("01234567", "0123456789abcdef").words
        ('main (01234567+)', '01234567')
        """
        short = self.commit[:8] + "+" * self.commit.endswith("+")
        return short if self.commit.startswith(self.name) else f"{self.name} ({short})"


@dataclass
class Comparison:
    """A run.

    Args: base, head, the revisions; limit, the ratio from which a head is slower; machine, versions, settings as JSON
        values; outcomes, kernel by kernel.
    """

    base: Revision
    head: Revision
    limit: float
    machine: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    outcomes: list[Outcome] = field(default_factory=list)

    @property
    def exit_status(self) -> int:
        """1 if a kernel is slower; else 2 if one could not be judged or decided, or there is none; else 0."""
        verdicts = [one.verdict for one in self.outcomes]
        if "SLOWER" in verdicts:
            return 1
        return 2 if not verdicts or UNJUDGED in verdicts or "AMBIGUOUS" in verdicts else 0

    def to_json(self) -> str:
        """As a JSON text; null stands for what is not finite."""
        data = {"schema_version": SCHEMA_VERSION, "kind": KIND, "exit_status": self.exit_status, **asdict(self)}
        return json.dumps(_finite(data), indent=1, allow_nan=False) + "\n"

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Comparison:
        """Return the comparison of a JSON value that `to_json` wrote.

        Raises:
            TargetError: it is of another version.

        >>> found = Comparison(Revision("main", "a" * 40), Revision("HEAD", "b" * 40), 1.02)
        >>> Comparison.from_dict(json.loads(found.to_json())) == found
        True
        """
        if data.get("kind") != KIND or data.get("schema_version") != SCHEMA_VERSION:
            raise TargetError(f"schema_version {data.get('schema_version')!r} should be {SCHEMA_VERSION}")
        return Comparison(
            Revision(**data["base"]), Revision(**data["head"]), float(data["limit"]), dict(data["machine"]),
            dict(data["versions"]), dict(data["settings"]), [_outcome_from_dict(one) for one in data["outcomes"]],
        )  # fmt: skip


def _outcome_from_dict(data: Mapping[str, Any]) -> Outcome:
    change = data["change"]
    if change is not None:
        low, high = (math.nan if change[end] is None else float(change[end]) for end in ("low", "high"))
        change = Change(float(change["ratio"]), low, high, change["verdict"], list(change["rounds"]))
    kernel, workload, verdict, message, clock = (
        str(data[name]) for name in ("kernel", "workload", "verdict", "message", "clock")
    )
    return Outcome(kernel, workload, verdict, message, change, clock, Side(**data["base"]), Side(**data["head"]))


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    if isinstance(value, dict):
        return {k: _finite(v) for k, v in value.items()}
    return [_finite(v) for v in value] if isinstance(value, list) else value
