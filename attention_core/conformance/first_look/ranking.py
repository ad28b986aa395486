"""How a target's answers compare with the truth under a record, and which record agrees on most probes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import Any

import numpy as np

from attention_core.conformance.cases.case import Case
from attention_core.conformance.first_look.candidates import Changes, records
from attention_core.conformance.first_look.probes import Asker
from attention_core.conformance.subjects.binding import bind
from attention_core.conformance.subjects.evidence import NotApplicable, Refused, Violation, excess
from attention_core.conformance.subjects.subject import Forward, Memory, Subject
from attention_core.declaration.implementation import Implementation, TargetError

ENOUGH = 2
"""Plain problems on which a target must agree with the truth for a way of calling it to count as found."""

OF_ANSWERS = ("returns", "out_layout", "causal", "dead_rows")
"""Fields of a record that say how an answer is read: records that differ in these alone make the same call."""
OBJECTS = ("function", "arguments", "sizes", "claims", "known_failures", "parameters", "config")
"""Fields that may not be hashed, and are the same objects in records that were made of one."""
_plain_fields = attrgetter(*(f.name for f in fields(Implementation) if f.name not in (*OF_ANSWERS, *OBJECTS)))
_objects = attrgetter(*OBJECTS)
FRUITLESS = (Refused, NotApplicable, Violation, TargetError)
"""What is raised where a call has no answer that could agree."""


@dataclass(frozen=True)
class Comparer:
    """Compares what a target returns with the truth, under any record."""

    asker: Asker
    description: Mapping[str, Any]
    truths: Memory = field(default_factory=Memory)
    """Truths and budgets, which many records share."""
    fruitless: dict[tuple[Any, ...], tuple[str, Implementation, Case]] = field(default_factory=dict)
    """Calls without an answer to read -> outcome; record and case are kept, so that their identities stay theirs."""

    def subject(self, record: Implementation) -> Subject:
        """The target bound to a record.

        Raises: TargetError.
        """
        return Subject(self.asker, bind(record, self.description), truths=self.truths)

    def outcome(self, record: Implementation, case: Case) -> str:
        """ "agrees", "differs", "declines", or "absent" where the record does not have such a call."""
        call = (id(case), _plain_fields(record), *map(id, _objects(record)))
        if call in self.fruitless:
            return self.fruitless[call][0]
        try:
            subject, own_case = self.subject(record), apply_record(record, case)
            subject.send(subject.binding.request(own_case))
        except FRUITLESS as error:
            self.fruitless[call] = (_outcome_of(error), record, case)
            return self.fruitless[call][0]
        try:
            return "agrees" if agrees(subject, own_case, subject.forward(own_case, fresh=True)) else "differs"
        except FRUITLESS as error:
            return _outcome_of(error)

    def plain(self, record: Implementation, every: Iterable[Changes], cases: Sequence[Case]) -> Changes | None:
        """The fewest changes under which the target agrees on `ENOUGH` plain problems and differs on none before."""
        for changes, other in records(record, every):
            agreed = 0
            for case in cases:
                outcome = self.outcome(other, case)
                agreed += outcome == "agrees"
                if outcome == "differs" or agreed == ENOUGH:
                    break
            else:
                outcome = "agrees" if agreed else "differs"  # all other sizes are declined
            if outcome != "differs" and agreed:
                return changes
        return None

    def best(self, record: Implementation, every: Iterable[Changes], groups: Mapping[str, Sequence[Case]]) -> Changes:
        """The changes under which most groups of cases agree, the fewest of them; {} if the record is as good."""
        best: Changes = {}
        most = -1
        for changes, other in records(record, every):
            score = sum(self.is_confirmed(other, cases) for cases in groups.values())
            if score > most:
                best, most = changes, score
            if most == len(groups):  # no other record can be better, and those that come later change more
                break
        return best

    def is_confirmed(self, record: Implementation, cases: Sequence[Case]) -> bool:
        """Whether some of the cases agree, and all others are declined, or are not calls under the record."""
        agreed = False
        for case in cases:
            outcome = self.outcome(record, case)
            if outcome == "differs":
                return False
            agreed = agreed or outcome == "agrees"
        return agreed


def _outcome_of(error: Exception) -> str:
    return "declines" if isinstance(error, Refused) else "absent" if isinstance(error, NotApplicable) else "differs"


def apply_record(record: Implementation, case: Case) -> Case:
    """The case as calls under a record mean it."""
    return case.with_(default_scale=record.scale, is_causal=case.is_causal or record.always_causal)


def agrees(subject: Subject, case: Case, forward: Forward) -> bool:
    """Whether every number lies within the laws' own budget of the truth; rows of which nothing is declared do."""
    truth, bounds = subject.truth(case), subject.bounds(case)
    pairs = [(forward.out.values, truth.out, bounds.out)]
    if forward.lse is not None:
        pairs.append((forward.lse.values, truth.lse, bounds.lse))
    free = truth.dead if subject.implementation.dead_rows == "unspecified" else np.zeros_like(truth.dead)
    return all(bool(np.all((excess(got, want, bound) <= 1)[~free])) for got, want, bound in pairs)
