r"""Equations that a section states above a step, as its hypotheses: $S u = \lambda u$ and $u^\top u = 1$.

A display about symbols that nothing declares is false of any symbols, and true of those that its author means: it
defines, restricts or asks to be solved. What follows from such displays ($u^\top S u = \lambda$) is a right step, and
its verdict says under which lines it holds. An equation counts as stated if it stands above the step in a section that
has not ended, and is of the same symbols. It does not count if

* both of its sides speak of the same symbols: then it claims an identity;
* a sentence says what a symbol of it is: then it claims something;
* it, or the step, has a derivative, a limit or an average: of free symbols these say something else;
* it sets a symbol anew ($w = w - \eta g$), or one that has a value;
* words between it and the step may turn to something else ("otherwise", "case 2", "instead"), or do not lead to the
  step as to a result ("so", "substituting"): "For tori" is about other symbols;
* words beside it may be its condition ("if", "in the special case"), or say that it is a goal, or not exact;
* words deny it, or one small change makes an identity of it: then it is a slip, and not a restriction.

What the step says must be more than the display once more, and it must not be that both of its sides vanish.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from attention_core.derivation.decision.conventions import collect_symbols
from attention_core.derivation.decision.free_products import expand
from attention_core.derivation.decision.mends import Search
from attention_core.derivation.decision.other_intents import is_denied
from attention_core.derivation.decision.slips import find_likely_slip, leaves_out
from attention_core.derivation.decision.vanishing import double_right
from attention_core.derivation.graph.nodes import Unsettled
from attention_core.derivation.inference.opaque import AVERAGES
from attention_core.derivation.inference.usage import is_ordinary, walk, whole_names
from attention_core.derivation.latex.printer import symbol_name, to_latex
from attention_core.derivation.latex.syntax import (
    Big,
    Call,
    Chain,
    Derivative,
    Expr,
    Frac,
    Group,
    Name,
    Num,
    Sub,
    Sup,
    Times,
    Unreadable,
)
from attention_core.derivation.quick_patterns import compile_quick
from attention_core.derivation.reading.claimed_sides import is_stated_above
from attention_core.derivation.reading.step import Step
from attention_core.derivation.records import GOOD, Finding, Verdict
from attention_core.derivation.terms.terms import SCALAR, Relation, ShapeMismatch

MAX_STATED = 8  # equations above a step that are looked at
MAX_USED = 5  # those that are tried together
NEAR = 2  # lines above a display whose words may be its condition
FEWEST_CASES = 20  # that agree, where nothing is proved
Decide = Callable[[Step, Sequence[Relation]], Finding]
Holds = Callable[[Step], bool]
Judge = Callable[[Step], Finding]
_TURNS = compile_quick(
    r"\b(?:cases?|otherwise|instead|alternativ\w+|in general|on the other hand|whereas|unlike|conversely|contrary|"
    r"contradict\w*|suppose|assum\w+|another|examples?|exercises?|initial\w*|iterat\w*|updat\w*|becomes?|"
    r"if and only if|iff|imagine|drop|no longer|wrong\w*|incorrect\w*|naive\w*|mistake\w*|versus|counter\w*|"
    r"problems?|questions?|remarks?|theorems?|new|later|different|redefin\w*|replac\w*|doubl\w+|halv\w+|remov\w+|"
    r"without|stands? for|denotes?|(?:now|we) write|from (?:here|now) on|(?:is|are|do|does|can|was|would) ?(?:not|n't)|"
    r"cannot|never|impossible|absurd\w*|fail\w*|false\w*|untrue|refut\w*)\b|^\W*or\b",
    re.IGNORECASE,
)
"""Words below an equation after which it may not hold."""

_CONDITION = compile_quick(
    r"\b(?:if|when|whenever|unless|provided|given that|in case|in the case|special case|only|would|could|might|either|"
    r"want|goals?|show|prove|proof|conjectur\w*|hypothes\w+|claim\w*|tempt\w*|hope|like to|wish|desired?|target|must|"
    r"need|should|expect\w*|believe|suspect|guess|(?:is|was) it|average|large|small|limit|order|asymptot\w*|modulo|"
    r"mod|clock)\b|^\W*or\b",
    re.IGNORECASE,
)
"""Words beside an equation by which it may not hold, not exactly, or not in general."""

RESULT = compile_quick(
    r"\b(?:so|hence|thus|therefore|then|consequently|gets?|obtain\w*|finds?|found|yield\w*|follow\w*|gives?|giving|"
    r"impl(?:y|ies|ying)|means|that is|equivalently|in other words|substitut\w*|insert\w*|plug\w*|simplif\w*|"
    r"expand\w*|rearrang\w*|reduc\w*|divid\w*|multipl\w*|subtract\w*|adding|combin\w*|solv\w*|using|cancel\w*|"
    r"eliminat\w*|conclud\w*|deduc\w*|leads?|from (?:this|these|which))\b",
    re.IGNORECASE,
)
"""Words that lead to a step as to a result."""

_ELSEWHERE = compile_quick(
    r"^\W*(?:(?:so|hence|thus|then|and|but|now|therefore)\W+)*(?:for|on|at|in|under|with|without|before|after|during|when|"
    r"if|once|among|outside)\b(?! (?:other words|particular|total|all|this|that|these|both)\b)",
    re.IGNORECASE,
)
"""Openings that name a place, a time or a case of its own."""

_CONCLUDES = compile_quick(
    r"^\W*(?:(?:and|but|so|now)\W+)*(?:so|hence|thus|therefore|then|consequently|accordingly|it follows|"
    r"this (?:implies|shows|proves|means)|which (?:implies|shows|proves|means)|we (?:conclude|deduce))\b|"
    r"\b(?:hence|thus|therefore|consequently|it follows(?: that)?|we (?:conclude|deduce)(?: that)?)\W*$",
    re.IGNORECASE,
)
"""Words that lead to an equation as to a result of what stands above it."""


def read_by_equations(step: Step, found: Finding, decide: Decide, search: Search, judge: Judge) -> Finding:
    """The finding on a step that is left open, by the equations above it where it follows from these.

    Args:
        step: The step.
        found: What was found of it.
        decide: Decides a step under some more hypotheses, as it is read.
        search: The time of a search for slips.
        judge: Gives the verdict on a step, with the words around it.
    """
    stated = find_equations(step, decide, search)
    if not stated:
        return found
    other = judge(assume_equations(step, stated))
    if not is_well_founded(other):
        return found
    return name_equations(other, stated)


def name_equations(found: Finding, stated: Sequence[Step]) -> Finding:
    """The finding, with the equations above that it rests on.

    Args:
        found: The finding.
        stated: The equations, nearest first.
    """
    lines = " and ".join(f"line {one.line} (${' '.join(one.text.split())}$)" for one in stated[::-1])
    figures = {**found.evidence.figures, "under": [one.line for one in stated[::-1]]}
    text = f"by what the document states above, {lines}, taken as given and not judged here: {found.evidence.text}"
    return replace(found, evidence=replace(found.evidence, text=text, figures=figures))


def find_equations(step: Step, decide: Decide, search: Search) -> list[Step]:
    """The equations above a step under which it holds, nearest first and none too many; [] if there are none.

    Args:
        step: A step that is false as it was read.
        decide: Decides a step under some more hypotheses.
        search: The time of a search for slips.
    """
    if may_be_value(step) or varies(step):
        return []

    def holds(one: Step) -> bool:
        try:
            return is_well_founded(decide(one, ()))
        except (Unreadable, ShapeMismatch, Unsettled):
            return False

    above = [one for one in iterate_links(step) if not is_unproved_result(one)]
    if not above or not _is_false(step, decide):
        return []
    for count in range(1, min(len(above), MAX_USED) + 1):
        if holds(assume_equations(step, above[:count])):
            used = drop_needless(step, above[:count], holds)
            if not is_result(step, used):
                return []
            slips = (find_likely_slip(one, decide, search) for one in (step, *used))
            return [] if (step.op == "=" and _vanishes(step, used, holds)) or any(slips) else used
    return []


def assume_equations(step: Step, stated: Sequence[Step]) -> Step:
    """The step with some equations as hypotheses of its own.

    Args:
        step: The step.
        stated: The equations above it.
    """
    chains: list[tuple[Chain, list[Chain]]] = [
        (Chain((one.left, one.right), ("=",), (one.line,)), []) for one in stated
    ]
    return replace(step, assumed=[*step.assumed, *chains])


def is_unproved_result(step: Step) -> bool:
    """Whether words lead to an equation as to a result, and it does not say what a new symbol is.

    Nothing rests on it: what follows from it follows from what it is the result of, or is not known to be right.

    Args:
        step: The equation.
    """
    name = _set_symbol(step)
    above = [one for one in step.peers if isinstance(one, Step) and one.line < step.line]
    if name and not any(name in collect_symbols(one) for one in above):
        return False
    words = [one for one in step.far_words if one.line < step.line and not one.title]
    lead = [one for one in words if one.line == max(other.line for other in words)]
    if len(lead) > 1 and lead[-1].quote != lead[-2].quote and lead[-1].quote.endswith(lead[-2].quote):
        lead.pop()  # the whole paragraph, behind its sentences
    return any(_CONCLUDES.search(one.words) for one in lead if one.quote == lead[-1].quote)


def is_well_founded(found: Finding) -> bool:
    """Whether a finding under hypotheses rests on a proof, or on cases enough.

    Args:
        found: The finding.
    """
    if found.verdict not in GOOD:
        return False
    return found.verdict is not Verdict.AGREES or int(found.evidence.figures.get("cases", 0)) >= FEWEST_CASES


def _is_false(step: Step, decide: Decide) -> bool:
    """Whether a step is false of some symbols as they are read."""
    try:
        return decide(step, ()).verdict is Verdict.REFUTED
    except (Unreadable, ShapeMismatch, Unsettled):
        return False


def iterate_links(step: Step) -> Iterator[Step]:
    """Equations above a step that speak of its symbols, or of those of such an equation; the nearest first.

    Args:
        step: The step.
    """
    near = list(_iterate_above(step))[:MAX_STATED]
    reached = collect_symbols(step)
    while linked := next((one for one in near if collect_symbols(one) & reached), None):
        near.remove(linked)
        reached |= collect_symbols(linked)
        yield linked


def _iterate_above(step: Step) -> Iterator[Step]:
    """The equations that the section of a step states above it, from the nearest on."""
    turns = [one.line for one in step.far_words if one.line <= step.line and _TURNS.search(one.words)]
    ended = [(one.line, one.until) for one in step.far_words if one.title and one.until <= step.line]
    relations = {relation_of(step)}
    for one in sorted((p for p in step.peers if isinstance(p, Step)), key=lambda p: -p.line):
        if one.line >= step.line or any(start <= one.line < end for start, end in ended):
            continue
        if any(one.line < line for line in turns) or _is_declared_below(one, step):
            return
        if relation_of(one) in relations or not _states(one) or not _has_same_symbols(one, step):
            continue
        relations.add(relation_of(one))
        yield one


def _is_declared_below(one: Step, step: Step) -> bool:
    """Whether a sentence between an equation and a step says anew what a symbol of the equation is."""
    below = [words.quote for words in step.far_words if words.declares and one.line < words.line <= step.line]
    names = [rf"(?<![a-zA-Z\\]){re.escape(name)}(?![a-zA-Z])" for name in collect_symbols(one)]
    return any(re.search(name, quote) for quote in below for name in names)


def _states(step: Step) -> bool:
    """Whether a display may be a restriction or a definition that is meant to hold below it."""
    if step.op != "=" or step.assumed or step.conditions or step.options or step.quoted:
        return False
    if whole_names(step.left) == whole_names(step.right):
        return False
    if step.tables is not None and not any(isinstance(side, Num) for side in (step.left, step.right)):
        return False  # a rule of probability holds by itself
    symbol = step.context.symbols.get(_set_symbol(step))
    if symbol is not None and symbol.term is not None:
        return False  # what has a value has no other one
    names = collect_symbols(step)
    if any(is_stated_above(step.context, part) for name in names for part in {name, name.partition("(")[0]}):
        return False  # a sentence says otherwise what it is, and this claims something
    if _sets_anew(step) or _divides_zero(step) or varies(step) or is_denied(step):
        return False
    near = [one for one in step.far_words if abs(step.line - one.line) <= NEAR]
    return not any("?" in one.quote or _CONDITION.search(one.words) for one in near) and not leaves_out(step)


def is_result(step: Step, used: Sequence[Step]) -> bool:
    """Whether a step stands right below an equation, or words lead from there to it as to a result.

    Args:
        step: The step.
        used: Equations above it.
    """
    nearest = max(one.line for one in used)
    between = [one for one in step.far_words if nearest < one.line < step.line and not one.title]
    lead = [one for one in between if one.line == max(other.line for other in between)]
    if any(_ELSEWHERE.search(one.words) for one in lead):
        return False
    return not lead or any(RESULT.search(one.words) for one in lead)


def varies(step: Step) -> bool:
    r"""Whether a derivative, a limit or an average stands in a step.

    Read as free symbols, L does not depend on w, and $\partial L / \partial w = 2 w$ would say that w is zero.

    Args:
        step: The step.
    """
    for node in (one for side in (step.left, step.right) for one in walk(side)):
        if isinstance(node, Derivative) or (isinstance(node, Big) and node.op == "lim"):
            return True
        if isinstance(node, Call) and node.function in AVERAGES:
            return True
        if isinstance(node, Frac) and is_ordinary(step.context, node):
            return True
    return False


def _divides_zero(step: Step) -> bool:
    r"""Whether a product of numbers is stated to be zero: which of them is so, $\gamma v = 0$ leaves open."""
    for side, other in ((step.left, step.right), (step.right, step.left)):
        if side == Num(Fraction(0)) and len(collect_symbols(step)) > 1:
            words = expand(other)
            symbols = [step.context.symbols.get(name) for name in collect_symbols(step)]
            return words is not None and len(words) == 1 and all(one is None or one.type == SCALAR for one in symbols)
    return False


def _has_same_symbols(one: Step, step: Step) -> bool:
    known, other = one.context.symbols, step.context.symbols
    return all(name in known and known[name] == other.get(name) for name in collect_symbols(one))


def relation_of(step: Step) -> frozenset[str]:
    """The two sides of a step as they are written, in any order.

    Args:
        step: The step.
    """
    return frozenset((to_latex(step.left), to_latex(step.right)))


def _set_symbol(step: Step) -> str:
    """The symbol that is a side of an equation, '' if none is."""
    sides = (side for side in (step.left, step.right) if isinstance(side, Name | Sub))
    return next((name for side in sides if (name := symbol_name(side))), "")


def _sets_anew(step: Step) -> bool:
    """Whether a side is a symbol that the other side has as well: $w = w - g$ gives it another value."""
    for side, other in ((step.left, step.right), (step.right, step.left)):
        if isinstance(side, Name | Sub) and symbol_name(side) in whole_names(other):
            return True
    return False


def may_be_value(step: Step) -> bool:
    """Whether a letter stands in front of letters in brackets, p(x), and was read as a factor.

    Args:
        step: The step.
    """
    products = (one for side in (step.left, step.right) for one in walk(side) if isinstance(one, Times))
    pairs = (pair for one in products for pair in zip(one.factors, one.factors[1:], one.ops, strict=False))
    return any(not op and _is_letter(head) and _is_letters(inside) for head, inside, op in pairs)


def _is_letter(head: Expr) -> bool:
    base = head.base if isinstance(head, Sup) else head
    return isinstance(base, Name | Sub)


def _is_letters(inside: Expr) -> bool:
    return isinstance(inside, Group) and inside.bracket == "(" and all(_is_plain(one) for one in inside.items)


def _is_plain(item: Chain) -> bool:
    return item.alone and isinstance(item.exprs[0], Name | Sub | Num)


def drop_needless(step: Step, used: Sequence[Step], holds: Holds) -> list[Step]:
    """Those of some equations without which the step does not hold.

    Args:
        step: The step.
        used: The equations.
        holds: Whether a step holds.
    """
    kept = list(used)
    for one in used:
        rest = [other for other in kept if other is not one]
        if rest and holds(assume_equations(step, rest)):
            kept = rest
    return kept


def _vanishes(step: Step, used: Sequence[Step], holds: Holds) -> bool:
    """Whether both sides of a step are zero under its hypotheses, and neither is written as 0."""
    zero = Num(Fraction(0))
    return zero not in (step.left, step.right) and holds(double_right(assume_equations(step, used)))


__all__ = [
    "RESULT",
    "assume_equations",
    "drop_needless",
    "find_equations",
    "is_result",
    "is_unproved_result",
    "is_well_founded",
    "iterate_links",
    "may_be_value",
    "name_equations",
    "read_by_equations",
    "relation_of",
    "varies",
]
