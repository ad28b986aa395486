"""A law: one sentence that every correct implementation of a contract obeys, and the check that can refute it.

Checks stand in the table of the law's family; a law is called as its function, and its sentence, formula, source and
fault stand in the function's docstring, in that order, so that `attention-core laws` and the reader see the same text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from attention_core.conformance.cases.space import Space

ANYTHING = Space()
DETECT, DIAGNOSE = "detect", "diagnose"
"""Roles of laws; `roles` says how they were measured."""


@dataclass(frozen=True)
class Law:
    """One law of a contract.

    Args:
        check: `check(subject, case)`; raises `Violation`, `Refused` or `NotApplicable`, else the case is judged. May
            return the number of problems judged (default: all slices of the case).
        family: file of the law.
        contract: which targets it applies to.
        needs: claims ("attn_mask", "is_causal", "scale", "dropout_p", "enable_gqa") that must be made.
        declares: predicate over the implementation; False means the law does not apply (with `because`).
        space: which cases it wants.
        central: whether it is the contract's own comparison with the truth; a target that declines all of its cases
            does not conform.
        compares: whether it holds an output against a truth, or an exactly known answer; a target of which no such law
            judged a case does not conform.
        untested: what a target keeps untested where no case of this law says anything, as a name that `--untested`
            accepts.
        absent: what a report notes of a target of which no case of this law says anything, or "".
        large, small: cases at effort "quick" from each source; other efforts multiply them.
        role: "detect", or "diagnose" where other laws were measured to refute all that it refutes before it does.
    """

    check: Callable[[Any, Any], int | None]
    family: str
    contract: str = "attention"
    needs: frozenset[str] = frozenset()
    declares: Callable[[Any], bool] | None = None
    because: str = ""
    space: Any = ANYTHING
    central: bool = False
    compares: bool = False
    untested: str = ""
    absent: str = ""
    large: int = 4
    small: int = 12
    role: str = DETECT

    def _field(self, label: str) -> str:
        lines = [line.strip() for line in (self.check.__doc__ or "").splitlines()]
        for i, line in enumerate(lines):
            if line.startswith(f"{label}:"):
                rest = [line.removeprefix(f"{label}:").strip()]
                for more in lines[i + 1 :]:
                    if not more or more.split(":")[0] in ("Formula", "Source", "Fault"):
                        break
                    rest.append(more)
                return " ".join(rest)
        return ""

    @property
    def name(self) -> str:
        """What reports and `--law` call it."""
        return self.check.__name__

    @property
    def sentence(self) -> str:
        """The law in one sentence."""
        return (self.check.__doc__ or "").strip().splitlines()[0]

    @property
    def formula(self) -> str:
        return self._field("Formula")

    @property
    def source(self) -> str:
        return self._field("Source")

    @property
    def fault(self) -> str:
        """The fault this law was seen to refute (a fault of attention_core/faults or finetune/faults)."""
        return self._field("Fault")


def with_comparisons(laws: Sequence[Law], *names: str) -> tuple[Law, ...]:
    """The laws, those of these names marked as comparisons with a truth (as the central ones are anyway).

    Raises:
        ValueError: a name that none of them has, or no comparison at all.
    """
    unknown = set(names) - {law.name for law in laws}
    if unknown:
        raise ValueError(f"no law {sorted(unknown)[0]!r} among these")
    if not names and not any(law.central or law.compares for law in laws):
        raise ValueError("no law among these compares an output with a truth")
    return tuple(replace(law, compares=True) if law.central or law.name in names else law for law in laws)


def needs(*claims: str) -> frozenset[str]:
    """Short for `frozenset(claims)` in the tables of laws."""
    return frozenset(claims)
