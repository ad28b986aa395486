"""What an audit found: the fate of each fault, the score with its interval, and JSON with stable keys."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from attention_core.conformance.report.shards import Shard

SCHEMA = 1
KILLED = ("killed", "hung", "died")
"""Fates of faults that the suite would not let through."""
STATUSES = (*KILLED, "survived", "left_out")
"""left_out: no law sees it under the target's conventions, so that it is not a fault there."""
UNSEEN = "no law sees it under the target's conventions"
REFUSED = "it shows only in calls that the target refuses"
"""Why a fault is left out."""
Z = 1.959963984540054
"""Quantile of the normal distribution for 95 %."""


def wilson(part: int, whole: int) -> tuple[float, float]:
    """Wilson's 95 % interval for a share (E. B. Wilson, J. Amer. Statist. Assoc. 22, 1927).

    >>> [round(end, 3) for end in wilson(9, 10)]
    [0.596, 0.982]
    """
    if not whole:
        return 0.0, 1.0
    share, z = part / whole, Z**2 / whole
    middle, half = share + z / 2, Z * math.sqrt(share * (1 - share) / whole + z / (4 * whole))
    low, high = (middle - half) / (1 + z), (middle + half) / (1 + z)
    return max(0.0, low if part else 0.0), min(1.0, high if part < whole else 1.0)


@dataclass(frozen=True)
class Fate:
    """What became of one fault.

    Args:
        name: of the fault in the catalogue.
        about: what is wrong with it, in a sentence.
        subject: of the catalogue.
        source: the threads where people made it, or ("own",).
        status: one of `STATUSES`.
        law: the law that tells it from the target.
        killed_by: the test that failed, or that ran when the time was up.
        words: the failure of that test; of a fault that is left out, why.
        seconds: of the suite.
        calls: what became of the suite's calls of the target.
        case: of a survivor, the smallest case in a line; message, what was got and what should be.
        test: a test to paste that kills the survivor.
        confirmed: whether this test was seen to fail with the fault in place, and to pass with the user's function.
        caught_by: the survivors whose tests were seen to do so.
    """

    name: str
    about: str
    subject: str
    source: tuple[str, ...] = ("own",)
    status: str = "left_out"
    law: str = ""
    killed_by: str = ""
    words: str = ""
    seconds: float = 0.0
    calls: dict[str, int] = field(default_factory=dict)
    case: str = ""
    message: str = ""
    test: str = ""
    confirmed: bool = False
    caught_by: tuple[str, ...] = ()

    @property
    def reason(self) -> str:
        """What saw it, or why it does not count."""
        return self.words if self.status == "left_out" else self.killed_by

    @property
    def is_real(self) -> bool:
        """Whether people made it, in a public thread."""
        return self.source != ("own",)


@dataclass
class Audit:
    """The result of an audit.

    Args:
        target, tests: what was audited.
        declared: the conventions of the target, declared and found.
        options: those found, as options of the command line. claims: the parameters that the target has.
        fates: of the faults that were judged, in the catalogue's order.
        baseline: what the suite does as it is: tests, seconds, calls, tests that call the target.
        too_strict: tests that fail with another right implementation in place, which are left out.
        seed, floor: of the run.
        whole: whether all faults of the contract were wanted.
        problem: why nothing could be judged, else "".
        shard: which part of a run it is, with the names of all its faults; None for a whole run.
    """

    target: str
    tests: tuple[str, ...]
    declared: dict[str, Any] = field(default_factory=dict)
    options: str = ""
    claims: tuple[str, ...] = ()
    fates: list[Fate] = field(default_factory=list)
    baseline: dict[str, Any] = field(default_factory=dict)
    too_strict: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    seed: int = 0
    floor: float = 1.0
    whole: bool = False
    problem: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    shard: Shard | None = None

    @property
    def faults(self) -> list[Fate]:
        """The fates of what is a fault in the target's place."""
        return [fate for fate in self.fates if fate.status != "left_out"]

    @property
    def kills(self) -> list[Fate]:
        """The fates of faults that the suite sees."""
        return [fate for fate in self.fates if fate.status in KILLED]

    @property
    def survivors(self) -> list[Fate]:
        """The faults that the suite lets through: those that people made first, then those with the smallest case."""
        found = [fate for fate in self.fates if fate.status == "survived"]
        return sorted(found, key=lambda fate: (not fate.confirmed, not fate.is_real, len(fate.test), fate.name))

    @property
    def score(self) -> float | None:
        """The share of faults that the suite sees; None where there were none."""
        return len(self.kills) / len(self.faults) if self.faults else None

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval of the score."""
        return wilson(len(self.kills), len(self.faults))

    @property
    def verdict(self) -> str:
        """ "passes" where the score reaches the floor, "survivors" where it does not, "not judged"."""
        if self.problem or self.score is None:
            return "not judged"
        return "passes" if self.score >= self.floor else "survivors"

    @property
    def exit_status(self) -> int:
        """0 where the score reaches the floor, 1 where it does not, 2 where nothing could be judged.

        A shard has no score to be held to: it is 0 where it was judged.
        """
        if self.shard is not None:
            return 2 if self.problem else 0
        return {"passes": 0, "survivors": 1, "not judged": 2}[self.verdict]

    @property
    def few(self) -> list[str]:
        """Survivors whose tests catch together all that any of the tests catches."""
        tests = {name for fate in self.survivors for name in fate.caught_by}
        caught = {t: [f.name for f in self.survivors if t in f.caught_by] for t in sorted(tests)}
        return fewest_tests(caught)

    def subjects(self) -> list[tuple[str, int, int]]:
        """Each subject with the faults seen and counted."""
        names = sorted({fate.subject for fate in self.faults})
        return [
            (name, sum(f.status in KILLED for f in own), len(own))
            for name in names for own in [[f for f in self.faults if f.subject == name]]
        ]  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """As JSON values; keys stay as they are, and some may be added."""
        low, high = self.interval
        return {
            "schema_version": SCHEMA, "target": self.target, "tests": list(self.tests), "verdict": self.verdict,
            "problem": self.problem, "score": self.score, "interval": [low, high], "counted": len(self.faults),
            "killed": len(self.kills), "hung": sum(f.status == "hung" for f in self.fates),
            "survived": len(self.survivors), "left_out": len(self.fates) - len(self.faults), "floor": self.floor,
            "seed": self.seed, "whole": self.whole, "declared": self.declared, "options": self.options,
            "claims": list(self.claims),
            "baseline": self.baseline, "too_strict": self.too_strict, "notes": self.notes,
            "subjects": [{"subject": name, "killed": k, "counted": n} for name, k, n in self.subjects()],
            "survivors": [fate.name for fate in self.survivors], "few": self.few,
            "faults": [asdict(fate) for fate in self.fates], "versions": self.versions, **self._shard(),
        }  # fmt: skip

    def _shard(self) -> dict[str, Any]:
        shard = self.shard
        if shard is None:
            return {}
        return {"shard": {"index": shard.index, "of": shard.of, "targets": list(shard.targets)}}

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Audit:
        """The inverse of `to_dict`. Raises: KeyError, TypeError: it was not written so.

        >>> Audit.from_dict(Audit("m:f", ("tests",), seed=3).to_dict()).seed
        3
        """
        copied = (
            "target", "declared", "options", "baseline", "too_strict", "notes", "seed", "floor", "whole", "problem",
            "versions",
        )  # fmt: skip
        fates = [
            Fate(**{**one, "source": tuple(one["source"]), "caught_by": tuple(one["caught_by"])})
            for one in data["faults"]
        ]
        tests, claims = tuple(data["tests"]), tuple(data["claims"])
        return Audit(**{name: data[name] for name in copied}, tests=tests, claims=claims, fates=fates)

    def to_json(self) -> str:
        """As text."""
        return json.dumps(self.to_dict(), indent=1) + "\n"


def as_test(snippet: str, name: str) -> str:
    """A snippet of a counterexample as a test to paste: imports on top, the rest in a function.

    >>> print(as_test("# says why\\nimport torch\\nx = torch.ones(1)\\nassert x[0] == 1\\n", "test_one"))
    # says why
    import torch
    <BLANKLINE>
    <BLANKLINE>
    def test_one():
        x = torch.ones(1)
        assert x[0] == 1
    <BLANKLINE>
    """
    top: list[str] = []
    lines = [line for line in snippet.splitlines() if not line.startswith("print(")]
    while lines and lines[0].startswith(("#", "import ", "from ", "attention = ")):
        top.append(lines.pop(0))
    body = [f"    {line}" if line else "" for line in lines]
    return "\n".join([*top, "", "", f"def {name}():", *body]) + "\n"


def fewest_tests(caught: Mapping[str, Sequence[str]]) -> list[str]:
    """A few tests that catch together what all catch: the one that catches most is taken first, and so on.

    >>> fewest_tests({"a": ["x", "y"], "b": ["y"], "c": ["z"]})
    ['a', 'c']
    """
    left = {fault for faults in caught.values() for fault in faults}
    chosen: list[str] = []
    while left:
        best = max(caught, key=lambda test: len(left.intersection(caught[test])))
        chosen.append(best)
        left -= set(caught[best])
    return chosen
