r"""The relations in the reasons of a step: `a = b \quad \text{since } c = d`, `\tag{as $c = d$}`.

A reason is not a step of its own, and whether the step follows from it is not checked. But a reader takes what it says
for true. So a step with a reason that is false is not accepted, even where it holds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice

from attention_core.derivation.document.segments import EQUALITY, bare
from attention_core.derivation.graph.nodes import Unsettled
from attention_core.derivation.latex.printer import SIGNS, to_latex
from attention_core.derivation.latex.syntax import Chain, Unreadable
from attention_core.derivation.reading.step import Step
from attention_core.derivation.records import GOOD, Evidence, Finding, Verdict
from attention_core.derivation.terms.terms import ShapeMismatch
from attention_core.derivation.words.caveats import chains_of

MAX_TRIED = 4  # reasons of a step, and relations of a reason
_IN_WORDS = re.compile(r"(?<!\\)\$([^$]+)\$")
_TAG = "tag "
_CONTRARY = {"<": ">=", ">": "<=", "<=": ">", ">=": "<"}


def judge_reasons(step: Step, found: Finding, decide: Callable[[Step], Finding]) -> Finding:
    """The finding on a step with what its reasons say: named as not checked, or why they are false.

    Args:
        step: A step.
        found: What was found without a look at its reasons.
        decide: Decides a step.
    """
    text, figures = found.evidence.text, found.evidence.figures
    reasons = [one for one in step.quoted if not EQUALITY.match(bare(one))]  # that says when both sides are equal
    for reason in reasons[:MAX_TRIED] if found.verdict in GOOD else ():
        wrong = _refute_reason(step, reason, decide)
        if wrong:
            return Finding(Verdict.UNDECIDED, Evidence(f"{wrong}; the step itself holds ({text})", figures))
    more = "".join(f"; not checked: the reason '{reason}'" for reason in dict.fromkeys(step.quoted))
    return replace(found, evidence=replace(found.evidence, text=text + more))


def _refute_reason(step: Step, reason: str, decide: Callable[[Step], Finding]) -> str:
    """What is wrong with a reason, '' if nothing was found; one in a tag may be the condition of a case."""
    for chain in islice(_chains_in(step, reason), MAX_TRIED):
        if reason.startswith(_TAG):
            if _is_impossible(step, chain, decide):
                return f"nothing satisfies what its {reason} says"
            continue
        for one in islice(_as_steps(step, chain), MAX_TRIED):
            other = decide(one)
            if other.verdict is Verdict.REFUTED:
                return f"its reason '{reason}' is false: {other.evidence.text}"
    return ""


def _chains_in(step: Step, reason: str) -> Iterator[Chain]:
    formula = next((one.formula for one in step.beside if one.quote == reason), reason.removeprefix(_TAG))
    for written in _IN_WORDS.findall(formula) or [formula]:
        try:
            yield from chains_of(written, step.line)
        except (Unreadable, ShapeMismatch, Unsettled, RecursionError):
            continue


def _is_impossible(step: Step, chain: Chain, decide: Callable[[Step], Finding]) -> bool:
    """Whether nothing satisfies a relation beside the hypotheses of a step, as far as can be proved."""
    under = replace(step, assumed=[*step.assumed, (chain, [])], quoted=(), beside=[], companions=[])
    if decide(under).verdict is Verdict.VACUOUS:
        return True
    contrary = (replace(one, op=_CONTRARY[one.op]) for one in _as_steps(step, chain) if one.op in _CONTRARY)
    return any(decide(one).verdict in (Verdict.PROVED, Verdict.EXACT) for one in contrary)


def _as_steps(step: Step, chain: Chain) -> Iterator[Step]:
    """The relations of a reason as steps under the hypotheses of the step."""
    for left, op, right in zip(chain.exprs, chain.ops, chain.exprs[1:], strict=False):
        text = f"{to_latex(left)} {SIGNS.get(op, op)} {to_latex(right)}"
        bare = replace(step, text=text, left=left, op=op, right=right, quoted=(), of=None, options=[], restricts=False)
        yield replace(bare, chained=False, beside=[], companions=[])
