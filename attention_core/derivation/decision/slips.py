r"""Slips: false steps of undeclared symbols that one small change makes identities.

An undeclared symbol may be something else than it was read as, so a step that is false as it was read is not refuted
by that. Where one change of a sign, a factor, an exponent, a transpose, an index or the end of a sum makes an equation
an identity of what its symbols were read as, they were read right: formulas that mean something else are not one
change away from an identity. So such a step is refuted, unless

* the change leaves nothing to hold: both sides vanish with it;
* the changed step would not be accepted: it averages what has no law, or a sentence calls its symbols something else;
* the step holds as it stands under a hypothesis of the usual ones, all of which are tried, whether words of the
  document mention them or not (`P^2` is P for a projection), but where one term of a sum has the wrong sign or number:
  an author who knows that it vanishes leaves it out;
* it may be a definition, a new value, or an equation that restricts a symbol; a symbol that stands alone and is defined
  above may be defined anew, if no words lead to it as to a result, and no person has confirmed what was read;
* its section uses its symbols in another way, and the changed step is not proved;
* a letter may be an operator, as in `\delta x^2 = 2 x \delta x`, or two letters may not commute (see `factor_orders`);
* words beside it say that something is left out, or words anywhere that numbers are calculated with in another way, or
  words by which its author does not claim it (see `other_intents`);
* a sentence anywhere may say that its formulas mean something else (see `other_meanings`);
* a symbol has the value of a section that has ended, which its own section need not keep;
* a letter may be a function of what stands in brackets (see `function_letters`), a function stands at two arguments in
  both orders, as a distance may, or a symbol has no other place in the
  step than the one whose index is changed: such an equation says what the symbol is;
* a chain that comes back to where it began says no more than what is changed (see `returning_chains`), the sign of
  any constant, or of what is small, says nothing ($+ C$, $- O(n)$), and a sign in $(-x)^n$ is that of an even n;
* anything else in the document leaves it open (see `doubts`), or another reading makes it true.

Where all hypotheses are promised to be formulas, an equation of one formula on both sides but for a sign or a number is
not to be solved, as long as its factors stand in one order; where its author promises it, a display does not restrict.

Of sentences that were not read few count. Where the changed step L = R' is an identity, the step L = R holds under a
hypothesis only if R = R' does. If R' is R with another sign or number, what is changed is zero then, and an author who
knows that leaves it out: no sentence makes such a step good but those near it that speak of signs or factors. Nor does
any where an inequality holds the other way round, since its sides are equal then. Where R' has another index, exponent,
transpose or end of a sum, entries are alike then, or 0 or 1, or a matrix is its transpose: what says so is a relation,
or a word that restricts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from typing import Any

from attention_core.derivation.claims import find_claim
from attention_core.derivation.decision.conventions import collect_symbols
from attention_core.derivation.decision.doubts import Decide
from attention_core.derivation.decision.factor_orders import keeps_orders
from attention_core.derivation.decision.function_letters import may_be_values
from attention_core.derivation.decision.made_good import Trial, may_be_alike, may_make_good
from attention_core.derivation.decision.mends import TURNED, Mend, Search, find_good_mend
from attention_core.derivation.decision.other_arithmetics import equates_numbers, may_hold_otherwise
from attention_core.derivation.decision.other_intents import is_meant_otherwise
from attention_core.derivation.decision.other_meanings import may_mean_otherwise, speaks_of_change
from attention_core.derivation.decision.out_of_date import find_newer_value
from attention_core.derivation.decision.returning_chains import goes_on, returns
from attention_core.derivation.decision.slip_sites import find_fixed_index, keeps_running_index, pulls_out_of_sum
from attention_core.derivation.decision.solved_nearby import find_solution
from attention_core.derivation.decision.trivial_sides import is_trivial, list_terms
from attention_core.derivation.decision.two_values import mentions_two_values
from attention_core.derivation.decision.usual import operations_of, usual_hypotheses, verdict_under
from attention_core.derivation.decision.vanishing import double_right
from attention_core.derivation.decision.words_below import is_of_later_section, list_words
from attention_core.derivation.elaborate.functions import substitute
from attention_core.derivation.inference.members import exchanges_indices
from attention_core.derivation.inference.opaque import is_opaque
from attention_core.derivation.inference.usage import walk, whole_names
from attention_core.derivation.latex.commands import unknown_command
from attention_core.derivation.latex.printer import all_names, symbol_name, to_latex
from attention_core.derivation.latex.syntax import (
    Expr,
    Frac,
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
from attention_core.derivation.quick_patterns import compile_quick
from attention_core.derivation.reading.confirmed import has_old_value
from attention_core.derivation.reading.step import Step
from attention_core.derivation.records import GOOD, Verdict
from attention_core.derivation.terms.context import Context
from attention_core.derivation.terms.terms import ShapeMismatch

SCALES = frozenset({"signs", "without", "side_signs", "numbers", "coefficients"})
"""Changes of a sign or a number: the step holds as it stands only where what they change is zero."""
ENTRIES = frozenset({"transposes", "indices", "ends", "places"})
"""Changes that a hypothesis may make good, as of equal entries; another symbol, or another order, is not among them."""
SURE = frozenset({"subscripts"})
"""Those that count where the changed step is proved: another symbol of the same letter."""
_SURELY = frozenset({Verdict.PROVED, Verdict.EXACT})

_LEAVES_OUT = compile_quick(
    r"\b(?:up to|ignor\w*|neglect\w*|drop(?:s|ped|ping)? (?:the|this|these|all|any|a|some|constants?|factors?|terms?)|"
    r"omit\w*|discard\w*|absorb\w*|proportional\w*|"
    r"approximat\w*(?! (?:inference|posteriors?|pseudo-?inverses?|algorithms?|solvers?|ratios?\W*$))|"
    r"roughly|float\w*|bfloat\w*|bf16|fp\d+|"
    r"precision|round\w*|truncat\w*)\b",
    re.IGNORECASE,
)
_ARITHMETIC = compile_quick(
    r"\b(?:modulo (?:\d|two|[a-z]\b|a prime)|mod \d|characteristic (?:\d|two|[a-z]\b)|integer division|in degrees|"
    r"(?:modular|binary|boolean|integer|saturating) (?:arithmetic|algebra|ring|semiring)|finite fields?|"
    r"quaternions?(?![- ]like))\b",
    re.IGNORECASE,
)
_NORMS = compile_quick(
    r"\b(?:(?:max(?:imum)?|sup(?:remum)?|infinity|uniform|l_?1|taxicab|manhattan|spectral|operator|nuclear|weighted|"
    r"energy)[- ]norms?|norms? (?:is|are|here|means?|denotes?))\b",
    re.IGNORECASE,
)
_BARS = re.compile(r"\\(?:[lr]?Vert|norm)(?![a-zA-Z])|\\?\|+")
_EUCLIDEAN = re.compile(r"(?:\\r?Vert|\|)\s*_\s*(?:2|\{\s*2\s*\})")
_IDENTITIES = compile_quick(r"\b(?:identit(?:y|ies)|isotropic|whiten\w*|orthonormal|equal|same|unit)\b", re.IGNORECASE)
_LEADS = compile_quick(
    r"\b(?:so|hence|thus|therefore|consequently|gets?|obtains?|finds?|yields?|follows?|gives?|becomes?|implies|"
    r"substitut\w*|insert\w*|plug\w*|equivalently|simplif\w*|expand\w*|rearrang\w*|reduces?)\b",
    re.IGNORECASE,
)
_RECALLS = re.compile(
    r"\W*(?:(?:now|we|let us|first|also|can|may) )*(?:recall|remember|rewrite)(?: that| it| this| now| here)*"
    r"(?: in terms of [^.;]*)?\W*$",
    re.IGNORECASE,
)
"""Words that lead back to a definition: "Recall that", and nothing of another setting."""
_CASE = re.compile(
    r"^\W*(?:(?:now|and|but|then)\W+)?(?:with|without|under|for|in|if|when|after|adding|including|using)\b.*\bbecomes?\b",
    re.IGNORECASE,
)
"""Words that lead to what a symbol is in a case of its own: "With weight decay the loss becomes"."""
_CHANGES = compile_quick(
    r"\b(?:chang\w+|becomes?|turns? into|grows?|as well|append\w*|augment\w*|extend\w*|updat\w*|swamp\w*)\b",
    re.IGNORECASE,
)
_OPERATORS = frozenset(["d", "D", r"\delta", r"\Delta", r"\nabla", r"\partial"])
r"""Letters that may be no factor: `\delta x^2 = 2 x \delta x` is one change away from an identity of numbers."""
_ACTS = re.compile(r"(?:\\Delta|\\partial|\\nabla|D)_\{?[^{}]*\}?$")  # a backpropagated `\delta_k` is a number
_WORD = re.compile(r"\\(?:text\w*|mathrm|operatorname)\s*\{[a-zA-Z]{2,}\}$")
_VALUE = re.compile(r"\\?[a-zA-Z]+'*(?:_\{?[^{}=\s]*\}?)?\s*=\s*-?[01]$")
_REST = re.compile(r"[CK](?:_\{?\w+\}?)?$|(?:[oO]|\\mathcal\s*\{O\}) ?\(|\\(?:text|mathrm|operatorname)\s*\{const")
"""A constant of integration, or what is left out."""
BESIDE = 2  # lines from a step to the display right above it
NEAR = 3  # lines around a step whose words may say that something is left out, or lead to it


def find_slip(step: Step, decide: Decide, search: Search) -> Mend | None:
    """The one change that makes a false step an identity; None where it does not tell that the step is wrong.

    Args:
        step: A step that is false as it was read.
        decide: Decides a step under some more hypotheses.
        search: The time of a step, and where mends are tried first.
    """
    strange = bool(step.strange and collect_symbols(step))  # numbers are read in one way
    if step.op not in (("=",) if strange else ("=", *TURNED)) or step.context.loose or leaves_out(step):
        return None
    if is_meant_otherwise(step) or may_mean_otherwise(step) or may_be_values(step) or assigns(step):
        return None
    if find_newer_value(step, decide) or (not collect_symbols(step) and may_hold_otherwise(step)):
        return None
    if any(has_old_value(step, name) for name in collect_symbols(step)) or find_solution(step, decide):
        return None
    if defines_anew(step) or _names_a_whole(step) or operates(step) or keeps_orders(step):
        return None
    if exchanges_indices((step.left, step.right)):
        return None
    promised = step.context.formal is not None

    def tells(one: Mend, verdict: Verdict) -> bool:
        sure = verdict in _SURELY
        if step.op in TURNED:
            return sure or decide(one.step, ()).verdict in GOOD
        if strange and not sure:
            return False
        if "with $0$ in place" in one.words and (_differentiates(step) or Num(Fraction(0)) in (step.left, step.right)):
            return False
        if (one.kind in SURE and not sure) or turns_rest(step, one) or pulls_out_of_sum(step, one.step):
            return False
        if one.kind in ENTRIES | SURE and not step.context.claims_all and loses_symbol(step, one.step):
            return False
        if _is_to_be_solved(step, one.step, promised and one.kind not in SURE) and not goes_on(step, decide):
            return False
        return not vanishes(one.step, search)

    kinds = frozenset({"direction"}) if step.op in TURNED else SCALES | ENTRIES | SURE
    slip = find_good_mend(step, search, kinds, tells)
    if slip is None or returns(step, slip.step) or ("sign" in slip.kind and has_parity(step, decide)):
        return None
    if slip.kind in SCALES and _scales_a_term(step, slip.step):
        return slip
    return None if _holds_under_usual(step, slip, decide) else slip


def find_likely_slip(step: Step, decide: Decide, search: Search) -> Mend | None:
    """The one change that makes a false step an identity, whatever its document says around it; None for none.

    Where words, or another meaning of its symbols, leave such a step open, this is where to look first. A step that
    holds under a usual hypothesis, such as that of a projection, has none.

    Args:
        step: A step that is false as it was read.
        decide: Decides a step under some more hypotheses.
        search: The time of a step, and where mends are tried first.
    """
    if step.op != "=" or step.context.loose or assigns(step) or operates(step) or keeps_orders(step, forms=False):
        return None
    if _names_a_whole(step) or find_newer_value(step, decide) or exchanges_indices((step.left, step.right)):
        return None
    if any(has_old_value(step, name) or unknown_command(name) for name in collect_symbols(step)):
        return None
    if (not collect_symbols(step) and may_hold_otherwise(step)) or find_solution(step, decide):
        return None  # any numbers are one change away from an identity
    opaque = any(map(is_opaque, collect_symbols(step)))
    named = opaque or isinstance(step.left, Name | Sub)  # one change says little

    def tells(one: Mend, verdict: Verdict) -> bool:
        if "with $0$ in place" in one.words or (one.kind in SURE and (opaque or verdict not in _SURELY)):
            return False
        if one.kind in ENTRIES | SURE and loses_symbol(step, one.step):
            return False
        return not (named and is_trivial(one.step)) and not vanishes(one.step, search)

    likely = find_good_mend(step, search, SCALES | ENTRIES | SURE, tells)
    return None if likely is None or find_usual(step, decide, is_value) else likely


def without_talk(step: Step, slip: Mend, decide: Decide) -> Step:
    """A step without those of the words around it that cannot make good what a slip changes.

    Of a wrong sign or number none can but those that speak of signs, of factors or of what equality means: an author
    leaves out what is zero, and what is found to be zero further down was not known to be. Of an index, an exponent or
    a transpose those can that state a relation, or have a word that restricts. Numbers alone are one change away from
    an identity whatever they mean, so beside them every sentence counts, and one that equates numbers anywhere.

    Where the sides are equal for no values, no relation makes a step good.

    Args:
        step: The step.
        slip: The change.
        decide: Decides a step under some more hypotheses.
    """
    context = step.context.copy()
    if not collect_symbols(step):
        context.caveats = [one for one in context.caveats if abs(one.line - step.line) <= NEAR or equates_numbers(one)]
        return replace(step, context=context)
    differs = differs_everywhere(step, decide)
    if differs:  # no hypothesis makes it good: a sentence may say what its numbers mean
        step = replace(step, far_relations=[])
    if slip.kind not in SCALES | {"direction"}:
        if differs:
            context.caveats = [one for one in context.caveats if speaks_of_change(one, slip.kind, step.line)]
            return replace(step, context=context)
        trial = Trial(step, decide)
        fixed = find_fixed_index(step, slip.step)
        fixed = fixed if fixed and keeps_running_index(step, slip.step, fixed) else ""
        kept = [
            one
            for one in context.caveats
            if (may_be_alike(step, one, fixed, trial) if fixed else may_make_good(step, one, trial))
        ]
        context.caveats = kept if kept or trial.are_false_together() else context.caveats
        return replace(step, context=context)
    spoken = (one for one in context.caveats if speaks_of_change(one, slip.kind, step.line))
    context.caveats = [one for one in spoken if not is_of_later_section(step, one)]
    known = [one for one in step.far_relations if one.line <= step.line + NEAR]
    if step.context.formal is not None:  # what cannot be read counts as little as a sentence
        known = [one for one in known if verdict_under(step, one.formula, decide) in GOOD]
    words = [] if _scales_a_term(step, slip.step) else step.far_words
    return replace(step, context=context, far_relations=known, far_words=words)


def differs_everywhere(step: Step, decide: Decide) -> bool:
    """Whether the sides of an equation of numbers were found equal for no values of its symbols.

    Args:
        step: A step that is false as it was read.
        decide: Decides a step under some more hypotheses.
    """
    if step.op != "=" or not _is_of_numbers(step):
        return False
    try:
        return decide(replace(step, op="!="), ()).verdict in GOOD
    except (Unreadable, ShapeMismatch):
        return False


def _is_of_numbers(step: Step) -> bool:
    """Whether both sides are numbers: arrays may be equal in some of their entries."""
    claim = find_claim(step)
    return claim is not None and claim.left.type.scalar and claim.right.type.scalar


def _holds_under_usual(step: Step, slip: Mend, decide: Decide) -> bool:
    """Whether a step holds under a usual hypothesis; that two symbols are identities is one of words that say it."""
    apart = slip.kind in SURE and not any(_IDENTITIES.search(one.words) for one in step.far_words)
    return find_usual(step, decide, lambda formula: apart and formula.count("= I_{") > 1) is not None


def find_usual(step: Step, decide: Decide, skip: Callable[[str], bool] = lambda formula: False) -> str | None:
    """The usual hypothesis under which a step holds as it stands and its sides do not vanish; None for none.

    Args:
        step: The step.
        decide: Decides a step under some more hypotheses.
        skip: Whether a hypothesis is left out.
    """

    def holds(formula: str) -> bool:
        if skip(formula) or verdict_under(step, formula, decide) not in GOOD:
            return False
        return verdict_under(double_right(step), formula, decide) not in GOOD

    return next(filter(holds, usual_hypotheses(step, _further(step))), None)


def is_value(formula: str) -> bool:
    """Whether a hypothesis says that a symbol is 0, 1 or -1.

    Args:
        formula: The hypothesis.
    """
    return bool(_VALUE.match(formula))


def _is_to_be_solved(step: Step, changed: Step, promised: bool) -> bool:
    """Whether the sides of a changed step are one formula: `2 x = x` may be an equation to be solved."""
    same = promised and list_terms(changed.left) == list_terms(changed.right)
    return not same and not _adds_a_number(step, changed) and is_trivial(changed)


def _terms_apart(step: Step, changed: Step) -> tuple[list[Expr], list[Expr], int]:
    """The terms of a sum that a change takes away, those it puts there, and how many it leaves alone."""
    for before, after in ((step.left, changed.left), (step.right, changed.right)):
        if before != after:
            before, after = _numerators(before, after)
            old, new = _list_terms(before), _list_terms(after)
            kept = [one for one in old if one in new]
            return [one for one in old if one not in kept], [one for one in new if one not in kept], len(kept)
    return [], [], 0


def _numerators(before: Expr, after: Expr) -> tuple[Expr, Expr]:
    """What differs between two quotients by the same, as far down as they are such quotients."""
    while isinstance(before, Frac) and isinstance(after, Frac) and before.bottom == after.bottom:
        before, after = before.top, after.top
    return before, after


def _list_terms(side: Expr) -> list[Expr]:
    """The terms of a side, those in brackets that stand alone among them."""
    if isinstance(side, Group) and len(side.items) == 1 and side.items[0].alone:
        return _list_terms(side.items[0].exprs[0])
    if isinstance(side, Plus):
        return [one for term in side.terms for one in _list_terms(term)]
    return [side]


def _adds_a_number(step: Step, changed: Step) -> bool:
    """Whether a side has a number too much or too little as a term: no values of its symbols make such a step good."""
    old, new, _ = _terms_apart(step, changed)
    return bool(old or new) and all(isinstance(_positive(one), Num) for one in (*old, *new))


def _scales_a_term(step: Step, changed: Step) -> bool:
    """Whether one term among others of a side has the wrong sign or number."""
    old, new, kept = _terms_apart(step, changed)
    if not kept or len(old) != 1 or len(new) > 1:
        return False
    return not new or _without_number(old[0]) == _without_number(new[0])


def _without_number(term: Expr) -> list[str]:
    r"""The factors of a term, without its sign and its numbers: those of `-\frac{2 a b}{3}` are a and b."""
    if isinstance(term, Minus):
        return _without_number(term.body)
    if isinstance(term, Group) and len(term.items) == 1 and term.items[0].alone:
        return _without_number(term.items[0].exprs[0])
    if isinstance(term, Times) and "/" not in term.ops:
        return [name for factor in term.factors for name in _without_number(factor)]
    if isinstance(term, Frac) and isinstance(term.bottom, Num):
        return _without_number(term.top)
    return [] if isinstance(term, Num) else [to_latex(term)]


def turns_rest(step: Step, mend: Mend) -> bool:
    """Whether a term has another sign that stands for any constant, or for what is small: C or O(n).

    Args:
        step: The step as it stands.
        mend: The change.
    """
    if "sign" not in mend.kind:
        return False
    pairs = ((step.left, mend.step.left), (step.right, mend.step.right))
    turned = [term for old, new in pairs for _, term in set(list_terms(old)) - set(list_terms(new))]
    return len(turned) == 1 and bool(_REST.match(turned[0]))


def has_parity(step: Step, decide: Decide) -> bool:
    """Whether a step holds where a symbol in its exponents is even, or where it is odd.

    Args:
        step: A step that is false as it was read.
        decide: Decides a step under some more hypotheses.
    """
    sides = (step.left, step.right)
    powers = {
        node.exponent.text
        for side in sides
        for node in walk(side)
        if isinstance(node, Sup) and isinstance(node.exponent, Name)
    }
    if len(powers) != 1:
        return False
    (name,) = powers
    try:
        return any(
            all(decide(_with_exponent(step, name, Num(Fraction(number))), ()).verdict in GOOD for number in numbers)
            for numbers in ((2, 4), (3, 5))
        )
    except (Unreadable, ShapeMismatch):
        return False  # something is differentiated by it, or it is an index


def _with_exponent(step: Step, name: str, number: Expr) -> Step:
    def put(one: object) -> object | None:
        return number if one == Name(name) else None

    sides: Any = {side: substitute(getattr(step, side), put) for side in ("left", "right")}
    return replace(step, **sides)


def _positive(term: Expr) -> Expr:
    return term.body if isinstance(term, Minus) else term


def loses_symbol(step: Step, changed: Step) -> bool:
    """Whether a symbol is lost with a change of its index: the step may say what it is, as in `2 x_{t + 1} = 2 x_t`.

    Args:
        step: The step as it stands.
        changed: The step with the change.
    """
    before, after = (whole_names(one.left) | whole_names(one.right) for one in (step, changed))
    return bool((before - after) & set(step.context.symbols))


def _differentiates(step: Step) -> bool:
    """Whether a step has a derivative: a term of it too much may be how another symbol depends on the variable."""
    return "deriv" in operations_of(step)


def vanishes(step: Step, search: Search) -> bool:
    """Whether both sides of a step that holds are zero.

    Args:
        step: The step.
        search: The time of a step.
    """
    return search.decide(double_right(step)) in GOOD


def assigns(step: Step) -> bool:
    r"""Whether the left side is a symbol that stands once on the right, or a term of it: a value, as in `y = y + 1`.

    A value of a function may be a term as well: `Q(s, a) = Q(s, a) + \alpha (G - Q(s, a))`. But
    `S = 2 (\frac{S + S^\top}{2} + \frac{S - S^\top}{2})` is not one of these: it is put together from parts. Beside
    words of a change any formula may grow by a term: "It changes to $\|x\|^2 = \|x\|^2 + 1$".

    Args:
        step: The step.
    """
    name = _head(step.left)
    if name and isinstance(step.right, Plus) and step.left in step.right.terms:
        return True
    if not step.chained and any(
        _CHANGES.search(one.words) for one in step.far_words if abs(step.line - one.line) <= NEAR
    ):
        pairs = ((step.left, step.right), (step.right, step.left))
        return any(isinstance(other, Plus) and side in other.terms for side, other in pairs)
    if not isinstance(step.left, Name | Sub) or not name or name not in all_names(step.right):
        return False
    return sum(symbol_name(one) == name for one in walk(step.right) if isinstance(one, Name | Sub)) == 1


def _names_a_whole(step: Step) -> bool:
    r"""Whether a side has a word as its subscript: `L_{\text{batch}}` is not one of those it is a mean of."""
    return any(
        isinstance(side, Sub) and any(_WORD.match(to_latex(one)) for item in side.items for one in item.exprs)
        for side in (step.left, step.right)
    )


def operates(step: Step) -> bool:
    r"""Whether an undeclared letter that may be an operator stands in front of a factor: `\delta x^2 = 2 x \delta x`.

    The last factor of a product acts on nothing: `\sigma'(z) \delta` is a product.

    Args:
        step: The step.
    """
    known = step.context.symbols
    counts = {name for name, symbol in known.items() if symbol.kind in ("size", "index")}
    letters = {one for one in step.context.inferred if one in _OPERATORS or _ACTS.match(one)} - counts
    for side in (step.left, step.right):
        for node in walk(side):
            for factor in node.factors[:-1] if isinstance(node, Times) else ():
                if isinstance(factor, Name | Sub) and letters & {symbol_name(factor), _head(factor)}:
                    return True
    return False


def defines_anew(step: Step) -> bool:
    """Whether a side is a symbol, or a value of a function, that the document says something of, and no result.

    Args:
        step: The step.
    """
    pairs = ((step.left, step.right), (step.right, step.left))
    heads = {_head(side) for side, other in pairs if not _is_one_value(step.context, side, other)}
    if step.assumed or not any(_is_tied(step.context, name) for name in heads) or _goes_on(step, heads):
        return False
    first = min(step.line, step.opens or step.line)
    leads = (one.words for one in step.far_words if first - NEAR <= one.line < step.line)
    return not any((_LEADS.search(words) and not _CASE.search(words)) or _RECALLS.match(words) for words in leads)


def _is_one_value(context: Context, side: Expr, other: Expr) -> bool:
    """Whether a side is a defined function at numbers or at a formula, `f(1, 2)`, `f(a + b)`: nothing is defined.

    An equation of two of its values, `f(-x) = -f(x)`, may be one of another function of that name.
    """
    symbol = context.symbols.get(_head(side))
    if symbol is None or symbol.kind != "function" or not isinstance(side, Times) or symbol.name in whole_names(other):
        return False
    inside = side.factors[1]
    items = inside.items if isinstance(inside, Group) else ()
    return bool(items) and not any(isinstance(one, Name | Sub) for item in items for one in item.exprs)


def _goes_on(step: Step, heads: set[str]) -> bool:
    """Whether the display right above says something of the same symbol: `z = a + b`, then `z = b + a`."""
    near = (one for one in step.peers if isinstance(one, Step) and 0 < step.line - one.line <= BESIDE)
    return any(heads & {_head(one.left), _head(one.right)} - {""} for one in near)


def _head(side: Expr) -> str:
    """The symbol that a side is, is an entry of, or is a value of, '' for any other formula."""
    if isinstance(side, Times) and len(side.factors) == 2 and isinstance(side.factors[1], Group):
        side = side.factors[0]
    return (symbol_name(side) or "") if isinstance(side, Name | Sub) else ""


def _is_tied(context: Context, name: str) -> bool:
    symbol = context.symbols.get(name)
    if symbol is None or symbol.kind == "function":
        return symbol is not None
    return symbol.term is not None or any(name in one.mentions for one in context.hypotheses)


def leaves_out(step: Step) -> bool:
    """Whether words may say that the author of a step left something out, or calculates in another way.

    Args:
        step: The step.
    """
    norms = len(_BARS.findall(step.text)) > 2 * len(_EUCLIDEAN.findall(step.text))
    return any(
        _ARITHMETIC.search(one.words)
        or (norms and _NORMS.search(one.words))
        or (abs(one.line - step.line) <= NEAR and _LEAVES_OUT.search(one.words))
        for one in list_words(step)
    )


def _further(step: Step) -> Iterator[str]:
    """Hypotheses beside the usual ones: entries that are 0 and 1, or signs; shares; one that is at most another."""
    known = step.context.symbols
    own = [known[name] for name in sorted(collect_symbols(step)) if name in known]
    arrays = [one for one in own if one.kind == "array" and one.type is not None and one.name not in _OPERATORS]
    numbers = [one.name for one in arrays if one.type is not None and one.type.scalar]
    yield from (f"{a} + {b} = 1" for a, b in combinations(numbers, 2))
    yield from (f"{one.name} \\odot {one.name} = {one.name}" for one in arrays if one.name not in numbers)
    letter = next((one for one in "ijklrst" if one not in known), "i'")
    members = [f"{one.name}_{letter}" for one in own if one.kind == "family"]
    two = [one for one in (*members, *numbers) if mentions_two_values(step, re.sub("_.*", "", one))]
    yield from (f"{one}^2 = {value}" for one in two for value in (one, "1"))
    counts = [one.name for one in own if one.kind in ("size", "index")]
    if "(-1)" in step.text.replace(" ", ""):  # of an even, or odd, exponent
        yield from (f"(-1)^{{{name}}} = {sign}" for name in (*counts, *numbers) for sign in ("1", "-1"))
    for some in (counts, numbers):
        yield from (f"{a} \\le {b}" for a, b in (*combinations(some, 2), *combinations(reversed(some), 2)))
