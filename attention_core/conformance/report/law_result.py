"""What came of one law: its status, and the counterexample where it is refuted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from attention_core.declaration.errors import plain

STATUSES = ("held", "refuted", "refused", "not_applicable", "known_failure", "unexpected_pass", "error")
LOST = ("hang", "flood", "exit", "crash")
"""Events that cost the process of the target."""
NOT_RUN = "not run: "
"""How the message of a law begins that was left out, because an earlier one showed that it could say nothing."""

AS_WRONG_ALONE = "; the same call alone in a new process is as wrong, so earlier calls are not its cause"
"""How the message of a law of state ends whose counterexample needs no earlier call."""


@dataclass(frozen=True)
class Counterexample:
    """A failing case, as small as it became.

    Args:
        law: name of the broken law.
        message: "got X, but should be Y".
        case: the case in one line, as the failing call has it; "" where the law made another call of it.
        data: the case as JSON, for `attention-core replay`.
        snippet: a runnable text that shows the failure without this package.
        got, want, bound: the numbers at the worst element, where there are any.
        event: what happened where it has nothing to do with the law ("hang", "exit", "wrong shape", ...), else "".
        shrunk: whether it was made as small as can be; a report does so with those that it writes out. `verify --law`
            with the law's name does it with any.
        alone: whether it fails where no other call was made before, as far as that was tried.
        calls_case: whether the failing call is the very call of `data`; laws make other calls of a case, too.
    """

    law: str
    message: str
    case: str
    data: Mapping[str, Any]
    snippet: str
    got: float | None = None
    want: float | None = None
    bound: float | None = None
    event: str = ""
    shrunk: bool = False
    alone: bool = True
    calls_case: bool = False

    def __post_init__(self) -> None:
        for name in ("message", "case", "snippet"):
            object.__setattr__(self, name, plain(getattr(self, name)))

    @property
    def title(self) -> str:
        """What it is called: what happened, or else the law that it breaks."""
        return self.event or self.law


@dataclass
class LawResult:
    """One law's outcome.

    Args:
        law: its name.
        status: one of `STATUSES`.
        cases: problems judged (a packed call counts each of its slices).
        seconds: time spent.
        counterexample: set when refuted (or known to fail).
        message: one line on why.
        family: the law's family.
        refused: calls the target declined.
        minimum_met: whether enough cases were judged for the verdict.
        powers: null model -> problems on which it would have stood out (laws that compare with the truth).
        unjudged: what it met in the target and no law judges, as the dropout of a module in training; else "".
    """

    law: str
    status: str
    cases: int
    seconds: float
    counterexample: Counterexample | None = None
    message: str = ""
    family: str = ""
    refused: int = 0
    minimum_met: bool = True
    powers: dict[str, int] = field(default_factory=dict)
    unjudged: str = ""

    def __post_init__(self) -> None:
        self.message = plain(self.message)


def law_result_from_dict(data: Mapping[str, Any]) -> LawResult:
    """The inverse of `asdict` for a law's result (used between test processes)."""
    found = data.get("counterexample")
    return LawResult(**{**data, "counterexample": None if found is None else Counterexample(**found)})
