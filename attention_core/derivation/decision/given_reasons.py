r"""Reasons that an author gives for a step in its own display, and that were not read: `&& \text{(by symmetry)}`.

Words of other lines may be about anything. A reason in a row is about that row: it says what makes the step good. So it
is not set aside where a person confirms what the symbols are. A mark over a relation, as in `\stackrel{(a)}{=}`, points
to such a reason. "By symmetry" says that symbols of one letter may stand for one another, wherever it stands beside a
step: `x_1 x_1` for `x_1 x_2` is not a slip then, if the step holds where these are equal.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import combinations

from attention_core.derivation.decision.conventions import collect_symbols
from attention_core.derivation.decision.other_intents import is_beside
from attention_core.derivation.decision.usual import verdict_under
from attention_core.derivation.inference.usage import letter_of
from attention_core.derivation.reading.step import Step
from attention_core.derivation.records import GOOD, Finding
from attention_core.derivation.terms.terms import Relation

Decide = Callable[[Step, Sequence[Relation]], Finding]
MOST = 12
"""Pairs of symbols that are tried."""
_SYMMETRY = re.compile(
    r"\b(?:by (?:the )?(?:\w+ )?symmetry|symmetr(?:y|ic|ical|ically) (?:of|in|under) (?:the )?(?:problem|sum|two|three|"
    r"tokens?|indices|arguments?|roles?|samples?|users?|particles?|players?|terms?|all|both)|exchangeab\w+|"
    r"interchang\w+|identical(?:ly)?|i\W?i\W?d\b|indistinguishable|without loss of generality|w\W?l\W?o\W?g\b|"
    r"relabel\w*|renam\w+|alike|the same (?:law|distribution|mean|expectation|moments?|for all))",
    re.IGNORECASE,
)
_EXPLAINS = re.compile(
    r"\((?:[a-h]|i{1,3}|iv|[1-9]|\*)\) (?:uses?|follows?|holds?|is (?:by|due|because|from|where)|by|because|since|"
    r"comes|due|from|applies|assumes)\b"
)
"""What a sentence says of a mark over a relation: "where (a) uses that"."""


def has_reasons(step: Step) -> bool:
    r"""Whether a display gives a reason that was not read, as `&& \text{(by symmetry)}` in a row.

    Args:
        step: The step.
    """
    last = max(step.of.lines) if step.of is not None and step.of.lines else step.line
    first = step.opens or step.line
    return any(
        first <= one.line <= last or (_EXPLAINS.search(one.quote) and is_beside(step, one.line))
        for one in step.context.caveats
    )


def holds_by_symmetry(step: Step, decide: Decide) -> bool:
    """Whether words beside a false step speak of a symmetry, and it holds where two symbols of one letter are equal.

    Args:
        step: A step that is false as it was read.
        decide: Decides a step under some more hypotheses.
    """
    if not any(_SYMMETRY.search(one.words) for one in step.far_words if is_beside(step, one.line)):
        return False
    names = sorted(collect_symbols(step) & set(step.context.inferred))
    alike = [pair for pair in combinations(names, 2) if letter_of(pair[0]) == letter_of(pair[1])]
    return any(verdict_under(step, f"{a} = {b}", decide) in GOOD for a, b in alike[:MOST])


__all__ = ["has_reasons", "holds_by_symmetry"]
