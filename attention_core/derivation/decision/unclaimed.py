r"""Formulas that may claim nothing, whatever their symbols are: a new value, a condition, an equation to be solved.

`w = w - \eta g`, `A x - b = 0`, `|x| < \epsilon` and `A v = \lambda v` are false of most values of their symbols, and
no author says that they hold of all. Confirming what the symbols are does not make such a display a claim.
What tells them from claims that are false:

* a symbol that stands alone on the left of an equation, and once more on its right, has a new value; so may one that
  is defined above, and numbers alone may be rounded, or of another arithmetic;
* sides that have each a symbol of their own, or one of which has none, are equal for no two of its values: the
  equation says what that symbol is. `A^2 = A` and `a x^2 = b x` have nothing to work out on either side;
* words that ask, deny, set a condition or speak of a limit lead to it;
* `Attention(K, Q, V)` of letters is what the document says it is, with its own order and scale;
* C as a term may be any constant, and another one on each side: `(x - a)^2 + C = x^2 - 2 a x + C`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from attention_core.derivation.claims import claim_of
from attention_core.derivation.decision.conventions import collect_symbols
from attention_core.derivation.decision.doubts import Decide
from attention_core.derivation.decision.mends import TURNED
from attention_core.derivation.decision.other_intents import LEADS, is_led_to_otherwise
from attention_core.derivation.decision.slips import assigns, defines_anew, leaves_out, operates
from attention_core.derivation.decision.stated_above import MAX_STATED, assume_equations
from attention_core.derivation.decision.two_values import find_two_values
from attention_core.derivation.decision.usual import meant_by_words, words_of
from attention_core.derivation.decision.usual_domains import find_usual_domain
from attention_core.derivation.graph.nodes import Unsettled
from attention_core.derivation.inference.opaque import unknown_dependence
from attention_core.derivation.latex.printer import all_names, symbol_name, to_latex
from attention_core.derivation.latex.syntax import (
    Call,
    Expr,
    Group,
    Minus,
    Name,
    Num,
    Plus,
    Sub,
    Sup,
    Times,
    Unreadable,
)
from attention_core.derivation.reading.step import Step
from attention_core.derivation.records import GOOD, Evidence, Finding, Verdict
from attention_core.derivation.terms.terms import Relation, ShapeMismatch, Term

_CONSTANTS = frozenset(["C", r"\text{const}", r"\mathrm{const}", r"\text{const.}", r"\text{constant}"])
"""Letters that stand for whatever does not matter, where they are terms of a sum."""
_SMALL = frozenset("cK")
"""Those that do beside a logarithm, an integral or words of constants."""
_OF_CONSTANTS = re.compile(r"\\(?:log|ln|int)(?![a-zA-Z])|\bconstants?\b|\bproportional", re.IGNORECASE)


def may_claim_nothing(step: Step) -> bool:
    """Whether a step that is false as it was read may be no claim, or one that depends on what no reading gives.

    Args:
        step: The step.
    """
    try:
        claim = claim_of(step)[1]
    except (Unreadable, ShapeMismatch, Unsettled):
        return True
    if not collect_symbols(step) or unknown_dependence(claim) or defines_anew(step):
        return True
    if any(_is_attention_of_letters(side) for side in (step.left, step.right)):
        return True
    if is_led_to_otherwise(step) or leaves_out(step) or assigns(step) or operates(step):
        return True
    if step.assumed or step.conditions:
        return False  # an implication claims what stands behind its arrow
    return _restricts(step, claim)


def find_usual_meaning(step: Step, confirmed: Step, found: Finding, decide: Decide) -> Finding | None:
    """The finding on a false step that holds as authors mean it who leave something unsaid, None for any other.

    It holds under a usual hypothesis that a sentence may state which was not read, under an equation above it that
    claims nothing of its own ($b^2 = b$), or in a usual domain.

    Args:
        step: The step as its document has it.
        confirmed: The step with its readings declared, which is false so.
        found: What was found of that.
        decide: Decides a step under some more hypotheses.
    """
    if words := _find_meaning_of_words(step, confirmed, decide):
        return Finding(Verdict.UNDECIDED, Evidence(f"{words}; as it was read, {found.evidence.text}"))
    domain = find_usual_domain(step, confirmed, decide) or find_two_values(step, confirmed, decide)
    if not domain:
        return None
    text = f"it holds if ${domain}$; as it was read, {found.evidence.text}"
    figures = {**found.evidence.figures, "reading": f"if ${domain}$"}
    return Finding(Verdict.AMBIGUOUS, Evidence(text, figures, f"write 'Assume ${domain}$' above, if that is meant"))


def _find_meaning_of_words(step: Step, confirmed: Step, decide: Decide) -> str:
    """What to say of a false step that holds under a usual hypothesis of a sentence that was not read, '' for none."""
    context = confirmed.context.copy()
    context.formal = None  # a promise about words is not needed where they are understood
    context.caveats = step.context.caveats
    unread = {one.line for one in context.caveats if one.plain}  # an assumption counts, and what leads to the step
    words = [one for one in step.far_words if one.line in unread or 0 < step.line - one.line <= LEADS]
    meant = meant_by_words(replace(confirmed, context=context, far_words=words), decide)
    return _name_condition(confirmed, decide) if meant is None else words_of(meant)


def _name_condition(step: Step, decide: Decide) -> str:
    """What to say of a false step that follows from an equation above it that may restrict its symbols, '' for none."""
    known = step.context.symbols
    near = [one for one in step.peers if isinstance(one, Step) and one.line < step.line and one.op == "="]
    for one in sorted(near, key=lambda one: -one.line)[:MAX_STATED]:
        names = collect_symbols(one)
        same = names & collect_symbols(step) and all(one.context.symbols.get(name) == known.get(name) for name in names)
        if not same or one.text == step.text or not may_claim_nothing(one):
            continue
        try:
            if decide(assume_equations(step, [one]), ()).verdict in GOOD:
                return f"it holds by line {one.line} (${' '.join(one.text.split())}$), which may restrict its symbols"
        except (Unreadable, ShapeMismatch, Unsettled):
            continue
    return ""


def _restricts(step: Step, claim: Relation) -> bool:
    """Whether a relation of undeclared symbols may say what they are."""
    free = set(step.context.inferred) & collect_symbols(step)
    if not free:
        return False
    if _adds_any_constant(step, free):
        return True
    if symbol_name(step.left) in free & all_names(step.right) and isinstance(step.left, Name | Sub):
        return True
    left, right = (_find_own(step, side) for side in (claim.left, claim.right))
    first, last = (_find_free_indices(step, side) for side in (claim.left, claim.right))
    apart = bool(left - right and right - left) or not left or not right
    apart = apart or bool((left - right and last - first) or (right - left and first - last))  # of the label of a class
    apart = apart or step.op in TURNED  # how large a symbol may be that the other side lacks
    return (apart and bool(free & (left ^ right))) or (step.op == "=" and _is_worked_out(step.left, step.right))


def _is_attention_of_letters(side: Expr) -> bool:
    r"""Whether a side is attention of three letters: the other side says which kind, and in which order they stand."""
    if not isinstance(side, Call) or side.function != "attention":
        return False
    return len(set(side.args)) == len(side.args) and all(
        one.alone and isinstance(one.exprs[0], Name | Sub) for one in side.args
    )


def _adds_any_constant(step: Step, free: set[str]) -> bool:
    """Whether a side has an undeclared constant as a term."""
    terms = {symbol_name(term) for side in (step.left, step.right) for term in _list_terms(side)} & free
    if terms & _CONSTANTS:
        return True
    chain = [one.text for one in step.peers if isinstance(one, Step) and one.of is step.of]
    return bool(terms & _SMALL) and any(
        _OF_CONSTANTS.search(text) for text in (step.text, *chain, *(one.words for one in step.far_words))
    )


def _find_own(step: Step, side: Term) -> set[str]:
    """The symbols that a side depends on, with those that define its own and those that hypotheses tie to them."""
    known = step.context.symbols
    counts = {name for name, symbol in known.items() if symbol.kind != "index"}  # what a sum runs over is not its own
    found = {str(part.data) for part in side.walk() if part.op in ("leaf", "member", "int")} & counts
    tied = [one.mentions for one in step.context.hypotheses]
    while True:
        more = {name for one in found if known[one].term is not None for name in known[one].mentions}
        more |= {name for some in tied if some & found for name in some}
        more = {name for name in more if name in known and known[name].kind in ("array", "family", "definition")}
        if more <= found:
            return {one for one in found if known[one].term is None}
        found |= more


def _find_free_indices(step: Step, side: Term) -> set[str]:
    """The indices of a side that no sum of it binds."""
    if side.op == "int":
        symbol = step.context.symbols.get(str(side.data))
        return {symbol.name} if symbol is not None and symbol.kind == "index" else set()
    found = set[str]().union(*(_find_free_indices(step, one) for one in side.args))
    return found - {str(side.data[1])} if side.op == "reduce" else found


def _is_worked_out(*sides: Expr) -> bool:
    """Whether sides are sums of different products of different symbols, so that no step of a calculation is left."""
    return all(_are_different(_list_bases(term) for term in _list_terms(side)) for side in sides)


def _list_terms(side: Expr) -> list[Expr]:
    if isinstance(side, Plus):
        return [term for one in side.terms for term in _list_terms(one)]
    return _list_terms(side.body) if isinstance(side, Minus) else [side]


def _list_bases(term: Expr) -> list[str] | None:
    """The symbols whose product a term is, with their powers; None for any other term, or where one comes twice."""
    factors = term.factors if isinstance(term, Times) and "/" not in term.ops else (term,)
    numbers = [one for one in factors if isinstance(one, Num)]
    bases = [one.base if isinstance(one, Sup) else one for one in factors if not isinstance(one, Num)]
    names = [to_latex(one) for one in bases]
    plain = all(isinstance(one, Name | Sub) for one in bases) and not any(isinstance(one, Group) for one in factors)
    if not plain or len(set(names)) < len(names) or len(numbers) > 1:
        return None
    powers = [one.exponent for one in factors if isinstance(one, Sup)]
    if not all(isinstance(one, Num | Name) for one in powers):
        return None
    return sorted(to_latex(one) for one in factors if not isinstance(one, Num))


def _are_different(terms: Iterable[list[str] | None]) -> bool:
    listed = list(terms)
    return None not in listed and len({tuple(one) for one in listed if one is not None}) == len(listed)


__all__ = ["find_usual_meaning", "may_claim_nothing"]
