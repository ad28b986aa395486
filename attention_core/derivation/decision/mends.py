r"""The mend nearest to a false step: "with $+ 2 a b$ in place of $- 2 a b$", found by trying the mistakes people make.

A mend changes one place of the step as it is written: a sign, the direction of an inequality, a transpose, the order of
two factors, an index, a number, the ends of a sum, one of two symbols of the same shape. It is named if no
counterexample of the mended step is found. No verdict changes by it but that of a slip (see `slips`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, is_dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import chain, islice, product, zip_longest
from operator import itemgetter
from typing import Any

from attention_core.derivation.cases.problem import Problem
from attention_core.derivation.claims import claim_of
from attention_core.derivation.decision.advice import LIGHT
from attention_core.derivation.decision.decide import decide
from attention_core.derivation.decision.spots import Point, fails_at_spots, has_no_sites
from attention_core.derivation.decision.vanishing import double_right
from attention_core.derivation.effort import Effort, OutOfTime, ceiling
from attention_core.derivation.graph.nodes import TooLarge, Unsettled
from attention_core.derivation.latex.printer import SIGNS, symbol_name, to_latex
from attention_core.derivation.latex.syntax import (
    Big,
    Chain,
    Dots,
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
    Transpose,
    Unreadable,
    names_in,
)
from attention_core.derivation.proofs.all_sizes import is_proved_everywhere
from attention_core.derivation.reading.step import Step
from attention_core.derivation.records import GOOD, Verdict
from attention_core.derivation.terms.terms import ShapeMismatch

Wanted = Callable[["Mend", Verdict], bool]
MAX_TRIED = 150  # mends of one step
MAX_MADE = 600  # mends that are put in order
MAX_LISTED = MAX_MADE + 3  # with those of another direction
SHARE = 0.25  # of a step's time, for all of them
EACH, EACH_OF_FEW = 0.08, 0.2  # of a step's time, for one; where points rule out most, those that are left are few
SHARE_OF_MANY = 0.4  # where points rule out most changes in a hundredth of a second
SHORT = 12  # characters of a sum that is quoted whole
TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_E = Name("e")
_ZERO, _ONE, _TWO = Num(Fraction(0)), Num(Fraction(1)), Num(Fraction(2))


@dataclass(frozen=True)
class Mend:
    """A step with one change, the change in words, and its kind: what was tried."""

    words: str
    step: Step
    kind: str = ""


@dataclass(frozen=True)
class Search:
    """How mends of a step are searched for.

    `seconds` are the processor time of the step, of which a share is used; `seed` is of the cases; each mend is tried
    at the points `spots` first (see there); `tried` keeps the verdicts, and `made` the mends, for the next search.
    """

    seconds: float
    seed: int = 0
    spots: Sequence[Point] = ()
    tried: dict[tuple[str, str, str], Verdict | None] = field(default_factory=dict)
    made: list[tuple[Step, bool, list[Mend]]] = field(default_factory=list)

    def list_mends(self, step: Step, alike: bool = False) -> Iterator[Mend]:
        """The mends of a step, see `mends_of`; those of the same step are made once."""
        for one, with_alike, mends in self.made:
            if one is step and with_alike is alike:
                return iter(mends)
        mends = list(islice(mends_of(step, alike), MAX_LISTED))
        self.made.append((step, alike, mends))
        return iter(mends)

    def decide(self, step: Step) -> Verdict | None:
        """The verdict on a mended step, which is looked for once."""
        written = _written(step)
        if written not in self.tried:
            each = EACH_OF_FEW if self.spots else EACH
            self.tried[written] = verdict_of(step, each * self.seconds, self.seed, self.spots)
        return self.tried[written]


def find_mend(step: Step, search: Search) -> str:
    """What to write instead in one place of a false step, '' if nothing that was tried helps.

    A change by which both sides vanish is not named ("with $t$ in place of $a$" of $(a - t) x = 0$): it says nothing.

    Args:
        step: The step.
        search: The time of it, and where to try first.
    """

    def says_something(one: Mend, verdict: Verdict) -> bool:
        sides = (step.left, step.right, one.step.left, one.step.right)
        wrote_zero = _ZERO in sides and one.kind not in ("symbols", "subscripts")
        return wrote_zero or step.op != "=" or search.decide(double_right(one.step)) not in GOOD

    return _advise(_first_good(search.list_mends(step), search, says_something))


def find_good_mend(step: Step, search: Search, kinds: frozenset[str], wanted: Wanted) -> Mend | None:
    """The first mend of some kinds under which a step holds, None if none of those that were tried.

    Args:
        step: The step.
        search: The time of it, and where to try first.
        kinds: Those that are tried.
        wanted: Whether a mend that holds so will do.
    """
    mends = (one for one in search.list_mends(step, alike=True) if one.kind in kinds)
    found = _first_good(mends, search, wanted)
    return None if found is None else found[0]


def find_direction(step: Step, search: Search) -> str:
    """A false inequality without a minus in front of a side, or the other way round, if it holds so.

    Args:
        step: The step.
        search: The time of it, and where to try first.
    """
    return _advise(_first_good(_other_direction(step), search))


def _advise(found: tuple[Mend, Verdict] | None) -> str:
    """What a mend that holds says, '' for none."""
    if found is None:
        return ""
    one, verdict = found
    sure = verdict in (Verdict.PROVED, Verdict.EXACT)
    return f"{'the step holds' if sure else 'no counterexample was found'} {one.words}: is that meant?"


def _first_good(
    mends: Iterator[Mend], search: Search, wanted: Wanted = lambda one, verdict: True
) -> tuple[Mend, Verdict] | None:
    """The first of some mends that holds and is wanted."""
    share = SHARE_OF_MANY if search.spots else SHARE
    try:
        with ceiling(share * search.seconds):
            for one in islice(mends, MAX_TRIED):
                verdict = search.decide(one.step)
                if verdict is not None and verdict in GOOD and wanted(one, verdict):
                    return one, verdict
    except OutOfTime:
        return None
    return None


def verdict_of(step: Step, seconds: float, seed: int, spots: Sequence[Point] = ()) -> Verdict | None:
    """The verdict on a mended step after a few cases, None if it cannot be read or is met by too few.

    Args:
        step: The step.
        seconds: Its processor time.
        seed: Of the cases.
        spots: Points of the step as it stood: one that is false at them is tried nowhere else.
    """
    for effort in (LIGHT, Effort(ladder=0)):  # of all that hypotheses tie together, few cases are met
        try:
            context, claim, extra = claim_of(step)
            problem = Problem(context, claim, extra, replace(effort, seed=seed, seconds=seconds))
            with ceiling(seconds):
                if fails_at_spots(problem, spots):
                    return Verdict.REFUTED
                if has_no_sites(problem, spots):
                    return Verdict.UNDECIDED
                if spots and is_proved_everywhere(problem):  # and both sides have values at the points
                    return Verdict.PROVED
                found = decide(problem)
        except (Unreadable, ShapeMismatch, RecursionError, Unsettled, TooLarge, OutOfTime):
            return None
        free = problem.symbols or problem.tuples.sizes or problem.tuples.indices
        if found.verdict not in GOOD or found.evidence.figures.get("cases", 0) >= (3 if free else 1):
            return found.verdict
    return None


def mends_of(step: Step, alike: bool = False) -> Iterator[Mend]:
    """The steps that one change makes of a step, the likeliest first.

    What is taken away comes first, then what is changed, then what is added: of a sign, a factor or an index too much
    both `m + 1 = m` without the 1 and with another 1 are true, and the shorter one is meant.

    Args:
        step: The step.
        alike: Whether to make those as well that have the same formula on both sides.
    """
    seen = {_written(step)}
    longer: list[list[Mend]] = [[], [], []]
    rules = (_without, *(rule for rule in _RULES if rule is not _without)) if step.op in TURNED else _RULES
    yield from _other_direction(step)
    length = sum(map(len, _written(step)))
    for one in _share(_local(step, rule) for rule in rules):
        left, op, right = _written(one.step)
        twice = any(r"\top^\top" in side for side in (left, right))
        if (left, op, right) not in seen and (alike or left != right) and not twice:
            seen.add((left, op, right))
            more = len(left) + len(op) + len(right) - length
            longer[0 if more < 0 else 1 if more == 0 else 2].append(one)
    yield from chain.from_iterable(longer)


def _share(rules: Iterable[Iterator[Mend]]) -> list[Mend]:
    """The mends of some rules in their order; where they are too many, as many of each rule as there are of others."""
    numbered = ([(place, one) for one in islice(mends, MAX_MADE)] for place, mends in enumerate(rules))
    turns = (one for turn in zip_longest(*numbered) for one in turn if one is not None)
    return [one for _, one in sorted(islice(turns, MAX_MADE), key=itemgetter(0))]


def _written(step: Step) -> tuple[str, str, str]:
    return to_latex(step.left), step.op, to_latex(step.right)


def _other_direction(step: Step) -> Iterator[Mend]:
    """The inequality without a minus in front of a side, then the other way round."""
    if step.op in TURNED:
        for name, side in (("right", step.right), ("left", step.left)):
            if isinstance(side, Minus):
                bare: Any = {name: side.body}
                yield Mend(_in_place(to_latex(side.body), to_latex(side)), replace(step, **bare), "signs")
        op = TURNED[step.op]
        yield Mend(
            f"with ${SIGNS.get(op, op)}$ in place of ${SIGNS.get(step.op, step.op)}$", replace(step, op=op), "direction"
        )


Change = tuple[Expr, str]  # what stands in the place of a node, and words for it ('' for "with new in place of old")
Rule = Callable[[Step, Any], Iterator[Change]]


def _local(step: Step, rule: Rule) -> Iterator[Mend]:
    """The mends that a rule makes of each node of either side, the right side first."""
    for side in ("right", "left"):
        whole = getattr(step, side)
        for old, put, small in sorted(_walk(whole), key=itemgetter(2)):  # those in an exponent come last
            kind = "places" if rule is _powers or small else rule.__name__.strip("_")
            for new, words in rule(step, old):
                changed: Any = {side: put(new)}
                yield Mend(words or _in_place(to_latex(new), to_latex(old)), replace(step, **changed), kind)


def _in_place(new: str, old: str) -> str:
    return f"with ${new}$ in place of ${old}$"


Put = Callable[[Any], Any]


def _walk(node: Any, small: bool = False) -> Iterator[tuple[Any, Put, bool]]:
    """Every node of a tree, with what puts another one in its place, and whether it is small: see `_is_small`."""
    yield node, lambda new: new, small
    for name in getattr(node, "__slots__", ()):
        for child, into in _members(getattr(node, name)):
            for one, put, inner in _walk(child, small or _is_small(node, name)):
                yield one, partial(_put_field, node, name, into, put), inner


def _is_small(node: Any, name: str) -> bool:
    r"""Whether a field of a node is an exponent, an index, or the ends of a sum; $e^x$ is $\exp(x)$."""
    if isinstance(node, Sup):
        return name == "exponent" and node.base != _E
    return (isinstance(node, Sub) and name == "items") or (isinstance(node, Big) and name in ("below", "above"))


def _members(value: Any) -> Iterator[tuple[Any, Put]]:
    """The nodes in a field, with what puts another one into it: itself, or those of a tuple or of rows."""
    if isinstance(value, tuple):
        for place, child in enumerate(value):
            for one, put in _members(child):
                yield one, partial(_put_member, value, place, put)
    elif is_dataclass(value):
        yield value, lambda new: new


def _put_field(node: Any, name: str, into: Put, put: Put, new: Any) -> Any:
    return replace(node, **{name: into(put(new))})


def _put_member(value: tuple[Any, ...], place: int, put: Put, new: Any) -> tuple[Any, ...]:
    return (*value[:place], put(new), *value[place + 1 :])


def _negative(node: Expr) -> Expr:
    if isinstance(node, Minus):
        return node.body
    return Minus(Group("(", (Chain((node,)),), ")") if isinstance(node, Plus) else node)


def _signs(step: Step, node: Any) -> Iterator[Change]:
    """A sum with the other sign at one term; a negative without its sign."""
    if isinstance(node, Plus) and not any(isinstance(term, Dots) for term in node.terms):
        for place in reversed(range(len(node.terms))):
            term = node.terms[place]
            body = to_latex(term.body if isinstance(term, Minus) else term)
            new, old = ("+", "-") if isinstance(term, Minus) else ("-", "+")
            words = _in_place(f"{new} {body}", f"{old} {body}") if len(to_latex(node)) > SHORT else ""
            yield Plus((*node.terms[:place], _negative(term), *node.terms[place + 1 :])), words
    elif isinstance(node, Minus):
        yield node.body, ""
    elif isinstance(node, Sup) and not isinstance(node.exponent, Num | Minus):
        yield replace(node, exponent=_negative(node.exponent)), ""


def _without(step: Step, node: Any) -> Iterator[Change]:
    """A product without a number, a sum without one."""
    if isinstance(node, Times):
        for place, factor in enumerate(node.factors):
            if _is_numeral(factor) and (place or node.ops[0] != "/"):
                rest = (*node.factors[:place], *node.factors[place + 1 :])
                ops = (*node.ops[: max(0, place - 1)], *node.ops[max(1, place) :])
                yield rest[0] if len(rest) == 1 else Times(rest, ops), ""
    elif isinstance(node, Plus) and not any(isinstance(term, Dots) for term in node.terms):
        for place, term in enumerate(node.terms):
            if _is_numeral(term.body if isinstance(term, Minus) else term):
                rest = (*node.terms[:place], *node.terms[place + 1 :])
                yield rest[0] if len(rest) == 1 else Plus(rest), ""


def _is_numeral(node: Expr) -> bool:
    """Whether a number stands here, as in `2` and `\\frac{1}{3}`."""
    return isinstance(node, Num) or (isinstance(node, Frac) and _is_numeral(node.top) and _is_numeral(node.bottom))


def _side_signs(step: Step, node: Any) -> Iterator[Change]:
    """A whole side of an equation with the other sign; of a bound it would say something else."""
    if (node is step.left or node is step.right) and not isinstance(node, Minus) and step.op not in TURNED:
        yield _negative(node), ""


def _coefficients(step: Step, node: Any) -> Iterator[Change]:
    """A sum with twice or half of one term, where the term has no number."""
    if isinstance(node, Plus) and not any(isinstance(term, Dots) for term in node.terms):
        for place, term in enumerate(node.terms):
            body = term.body if isinstance(term, Minus) else term
            for number in (_TWO, Num(Fraction(1, 2))) if not isinstance(body, Num) else ():
                scaled: Expr = Times((number, body), ("",))
                new = Minus(scaled) if isinstance(term, Minus) else scaled
                words = _in_place(to_latex(scaled), to_latex(body))
                yield Plus((*node.terms[:place], new, *node.terms[place + 1 :])), words


def _transposes(step: Step, node: Any) -> Iterator[Change]:
    """A factor with a transpose, or without."""
    if isinstance(node, Transpose):
        yield node.base, ""
    elif _is_matrix(step, node) if isinstance(node, Name | Sub) else _holds_matrix(step, node):
        yield Transpose(node), ""


def _holds_matrix(step: Step, node: Any) -> bool:
    """Whether a matrix stands in round brackets, as in `(X K)`."""
    return isinstance(node, Group) and node.bracket == "(" and any(_is_matrix(step, Name(n)) for n in names_in(node))


def _is_matrix(step: Step, node: Expr) -> bool:
    symbol = step.context.symbols.get(symbol_name(node) or "")
    if symbol is None and isinstance(node, Sub):  # a member of a family
        symbol = step.context.symbols.get(symbol_name(node.base) or "")
        symbol = symbol if symbol is not None and symbol.kind == "family" else None
    if symbol is None:
        return isinstance(node, Sub) and node.base == Name(r"\mathbf{1}")
    kind = symbol.type if symbol.term is None else symbol.term.type
    return symbol.kind in ("array", "definition", "family") and kind is not None and kind.kind == "matrix"


def _order(step: Step, node: Any) -> Iterator[Change]:
    """Two neighbouring factors the other way round."""
    if isinstance(node, Times) and not any(node.ops):
        for place in range(len(node.factors) - 1):
            first, second = node.factors[place : place + 2]
            if any(_is_matrix(step, _bare(one)) for one in (first, second)):
                yield Times((*node.factors[:place], second, first, *node.factors[place + 2 :]), node.ops), ""


def _bare(node: Expr) -> Expr:
    return _bare(node.base) if isinstance(node, Transpose) else node


def _indices(step: Step, node: Any) -> Iterator[Change]:
    """An entry with two indices exchanged, or with another index of the step."""
    if not isinstance(node, Sub):
        return
    parts = [item.exprs[0] for item in node.items]
    if len(parts) == 1 and isinstance(parts[0], Times) and len(parts[0].factors) == 2:
        first, second = parts[0].factors
        yield Sub(node.base, (Chain((Times((second, first), parts[0].ops),)),)), ""
    letters: list[Expr] = [Name(letter) for letter in sorted(_index_letters(step))]
    for place, part in enumerate(parts):
        for other in (*letters, *_beside(step, node, place)) if isinstance(part, Name | Num | Plus) else ():
            if other != part:
                changed = (*node.items[:place], Chain((other,)), *node.items[place + 1 :])
                yield Sub(node.base, changed), ""


def _replace_paired_index(step: Step, node: Any) -> Iterator[Change]:
    """An entry `P_{ij}` with another index of the step in the place of one of both."""
    match node:
        case Sub(base, (Chain((Times((Name() | Num(), Name() | Num()) as pair, ops),), ()),)):
            for place, other in product(range(2), map(Name, sorted(_index_letters(step)))):
                if other != pair[place]:
                    changed = (*pair[:place], other, *pair[place + 1 :])
                    yield Sub(base, (Chain((Times(changed, ops),)),)), ""


def _beside(step: Step, node: Sub, place: int) -> list[Expr]:
    """The other numbers and sums that a symbol has as its index in a step, as in `x_1` and `a_{t - 1}`."""
    found: dict[Expr, None] = {}
    for other, _, _ in chain(_walk(step.left), _walk(step.right)):
        if isinstance(other, Sub) and other.base == node.base and len(other.items) == len(node.items):
            part = other.items[place].exprs[0]
            if isinstance(part, Num | Plus):
                found[part] = None
    return list(found)


def _index_letters(step: Step) -> set[str]:
    """The letters that a step uses as indices, those that its sums bind included."""
    found: set[str] = set()
    for node, _, _ in chain(_walk(step.left), _walk(step.right)):
        if isinstance(node, Sub):
            found |= {name for item in node.items for name in names_in(item)}
        elif isinstance(node, Big):
            found |= {e.text for one in node.below for e in one.exprs[:1] if isinstance(e, Name)}
    known = step.context.symbols
    indices = {name for name, symbol in known.items() if symbol.kind == "index"}
    used = {name for name in found if name not in known or known[name].kind in ("index", "size")}
    return used | (indices & (names_in(step.left) | names_in(step.right))) or indices


def _numbers(step: Step, node: Any) -> Iterator[Change]:
    """A number that is one less or more, half or twice as large, or the other way up."""
    if isinstance(node, Num) and node.value != 0:
        value = node.value
        for new in dict.fromkeys((value - 1, value + 1, value / 2, 2 * value, 1 / value)):
            yield Num(new), ""
    elif isinstance(node, Minus) and node.body == _ONE:
        yield Num(Fraction(0)), ""  # and not -0


def _powers(step: Step, node: Any) -> Iterator[Change]:
    """An exponent that is lost; a symbol that is squared."""
    if isinstance(node, Sup) and isinstance(node.exponent, Num):
        yield node.base, ""
    elif isinstance(node, Name | Sub) and symbol_name(node) in step.context.symbols:
        yield Sup(node, _TWO), ""


def _ends(step: Step, node: Any) -> Iterator[Change]:
    """A sum that ends or begins one earlier or later; a size that is one less or more, or its neighbour."""
    if isinstance(node, Big) and node.above is not None:
        for new in _neighbours(node.above):
            yield replace(node, above=new), ""
    elif isinstance(node, Name) and _is_size(step, node):
        yield from ((Group("(", (Chain((new,)),), ")"), "") for new in _neighbours(node))
    elif isinstance(node, Plus) and len(node.terms) == 2 and node.terms[1] in (_ONE, Minus(_ONE)):
        yield node.terms[0], ""


def _neighbours(node: Expr) -> Iterator[Expr]:
    """One more and one less; of n - 1 also n."""
    if isinstance(node, Plus) and len(node.terms) == 2 and node.terms[1] in (_ONE, Minus(_ONE)):
        yield node.terms[0]
    elif isinstance(node, Name):
        yield Plus((node, Minus(_ONE)))
        yield Plus((node, _ONE))


def _is_size(step: Step, node: Name) -> bool:
    symbol = step.context.symbols.get(node.text)
    return symbol is not None and symbol.kind == "size"


def _symbols(step: Step, node: Any) -> Iterator[Change]:
    """Another symbol of the same kind that the step, or its hypotheses, mention."""
    known = step.context.symbols
    own = known.get(symbol_name(node) or "") if isinstance(node, Name | Sub) else None
    if own is None or own.kind not in ("array", "size", "family") or own.term is not None:
        return
    for name, other in known.items():
        if name != own.name and (other.kind, other.type) == (own.kind, own.type) and other.term is None:
            yield Name(name), ""


def _subscripts(step: Step, node: Any) -> Iterator[Change]:
    """Another symbol of the same letter, as in `x_1` and `x_2`."""
    return ((new, "") for new, _ in _symbols(step, node) if _letter(new) and _letter(new) == _letter(node))


def _letter(node: Expr) -> str:
    letter, index, _ = (symbol_name(node) or "").partition("_")
    return letter if index else ""


_RULES: tuple[Rule, ...] = (
    _signs, _without, _side_signs, _transposes, _indices, _replace_paired_index, _subscripts, _ends, _numbers, _powers,
    _coefficients, _order, _symbols,
)  # fmt: skip
