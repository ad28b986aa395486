r"""Words whose hypotheses were tried, and which therefore do not make a step good.

"The rows are normalized." may make good what a slip changes, if it is about the step. It means one of few formulas,
though: the norms, or the sums, of its arrays are 1. Where the step is false under each of them, the sentence leaves it
false. So it is with each kind of words that has a few formulas for all that it may mean; "the same" and
"zero" have none, since any two entries may be alike.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from attention_core.derivation.decision.conventions import collect_symbols
from attention_core.derivation.decision.usual import verdict_under
from attention_core.derivation.quick_patterns import QuickPattern, compile_quick
from attention_core.derivation.reading.step import Step
from attention_core.derivation.records import Finding, Verdict
from attention_core.derivation.terms.context import Context, Symbol
from attention_core.derivation.terms.terms import Relation

Decide = Callable[[Step, Sequence[Relation]], Finding]
Write = Callable[["Item"], Iterator[str]]
MOST = 80  # formulas that are tried of one step


@dataclass(frozen=True)
class Item:
    """An array of a step, or a member of a family, and how it is written.

    Args:
        name: The array; of a family the member, with its index.
        shape: "number", "column" or "matrix".
        rows, cols: How many there are.
        other: Another member of the family, with an index of its own; '' of a single array.
        index: The indices of both members.
        ends: The first and the last index of the family.
    """

    name: str
    shape: str
    rows: str
    cols: str
    other: str = ""
    index: tuple[str, str] = ("", "")
    ends: tuple[str, str] = ("", "")

    @property
    def is_square(self) -> bool:
        """Whether it is a square matrix."""
        return self.shape == "matrix" and self.rows == self.cols

    def add(self, what: str) -> str:
        """The sum of a formula over the family."""
        low, high = self.ends
        return rf"\sum_{{{self.index[0]}={low}}}^{{{high}}} {what}"


def _unit(one: Item) -> Iterator[str]:
    if one.shape == "column":
        yield rf"\|{one.name}\| = 1"
    if one.shape == "number":
        yield f"{one.name} = 1"
        yield from ([f"{one.add(f'{one.name}^2')} = {end}" for end in ("1", one.ends[1])] if one.other else ())


def _orthogonal(one: Item) -> Iterator[str]:
    if one.shape == "matrix":
        yield rf"{one.name}^\top {one.name} = I_{{{one.cols}}}"
        yield rf"{one.name} {one.name}^\top = I_{{{one.rows}}}"
    if one.is_square:
        yield rf"{one.name}^\top {one.name} = I_{{{one.cols}}}, {one.name} = {one.name}^\top"
    if one.shape == "column" and one.other:
        same = rf"\mathbf{{1}}[{one.index[0]} = {one.index[1]}]"
        yield from (rf"{one.name}^\top {one.other} = {same}{end}" for end in ("", rf" {one.name}^\top {one.name}"))


def _of_squares(*texts: str) -> Write:
    return lambda one: (text.replace("A", one.name) for text in texts if one.is_square)


def _diagonal(one: Item) -> Iterator[str]:
    yield from ([rf"{one.name} = {one.name} \odot I_{{{one.rows}}}"] if one.is_square else ())


def _sum_to(value: str) -> Write:
    def write(one: Item) -> Iterator[str]:
        if one.shape == "column":
            yield rf"\mathbf{{1}}_{{{one.rows}}}^\top {one.name} = {value}"
        if one.other and (one.shape == "number" or value == "0"):
            yield f"{one.add(one.name)} = {value}"
        if one.shape == "matrix":
            yield rf"{one.name} \mathbf{{1}}_{{{one.cols}}} = {value} \mathbf{{1}}_{{{one.rows}}}"
            yield rf"{one.name}^\top \mathbf{{1}}_{{{one.rows}}} = {value} \mathbf{{1}}_{{{one.cols}}}"

    return write


def _positive(one: Item) -> Iterator[str]:
    if one.shape != "matrix":
        name = one.name if one.shape == "number" else f"{one.name}_{one.index[0]}"
        yield from (f"{name} > 0", f"{name} < 0")


def _one_hot(one: Item) -> Iterator[str]:
    if one.shape == "column":
        yield rf"{one.name} \odot {one.name} = {one.name}, \mathbf{{1}}_{{{one.rows}}}^\top {one.name} = 1"
    if one.shape == "matrix":
        ones = rf"\mathbf{{1}}_{{{one.rows}}}"
        yield rf"{one.name} \odot {one.name} = {one.name}, {one.name} \mathbf{{1}}_{{{one.cols}}} = {ones}"
    if one.shape == "number" and one.other:
        yield f"{one.name}^2 = {one.name}, {one.add(one.name)} = 1"


def _two_values(one: Item) -> Iterator[str]:
    if one.shape == "number":
        yield from (f"{one.name}^2 = {value}" for value in (one.name, "1"))
    else:
        yield rf"{one.name} \odot {one.name} = {one.name}"
        yield rf"{one.name} \odot {one.name} \odot {one.name} = {one.name}"


def _turned(one: Item) -> Iterator[str]:
    """Entries that are the same from both ends, as of a symmetric filter."""
    low, high = one.ends
    if one.other and one.shape == "number":
        first = one.index[0]
        at = one.name.removesuffix(f"_{first}")
        yield from (f"{one.name} = {at}_{{{high} {'+' + low if low != '0' else ''} - {first}}}",)


def _words(pattern: str) -> QuickPattern:
    return compile_quick(rf"(?<![\w-])(?:{pattern})(?![\w-])", re.IGNORECASE)


_SYMMETRIC = _of_squares(r"A = A^\top")
KINDS: tuple[tuple[QuickPattern, tuple[Write, ...]], ...] = (
    (
        _words(r"orthogonal(?:ity|ly)?|orthonormal(?:ity)?|perpendicular|unitary|rotations?|rotation[_ ]matri(?:x|ces)|"
               r"reflections?"),
        (_orthogonal,),
    ),
    (_words(r"unit(?:[ _](?:vectors?|norms?|length))?|normali[sz]\w+|standardi[sz]ed|probability vectors?|stochastic|"
            r"sums? (?:up )?to|simplex"),
     (_unit, _sum_to("1"), _sum_to("0"))),
    (_words(r"symmetric(?:al)?|symmetry|covariances?|covariance[_ ]matri(?:x|ces)|gram(?:[_ ]matri(?:x|ces))?|kernels?|"
            r"hessians?|laplacians?|self-?adjoint|hermitian|undirected|positive[_ ](?:semi-?)?definite|psd|"
            r"semi-?definite"),
     (_SYMMETRIC, _turned)),
    (_words(r"skew|skew[- ]symmetric|anti-?symmetric"), (_of_squares(r"A = -A^\top"),)),
    (_words(r"projections?|projectors?|projected|projects?|projection[_ ]matri(?:x|ces)|idempotent"),
     (_of_squares("A A = A", r"A A = A, A = A^\top"), _SYMMETRIC)),
    (_words(r"diagonal|off-diagonal"), (_diagonal,)),
    (_words(r"centered|centred|zero[- ]mean|mean[- ]zero|mean[_ ]zero|zero[_ ]mean"), (_sum_to("0"),)),
    (_words(r"one[- ]hot(?! (?:\w+ )*of\b)(?: (?:encod\w+|vectors?|labels?|representations?))*"), (_one_hot,)),
    (_words(r"binary|boolean|bernoulli"), (_two_values,)),
    (_words(r"positive|negative|non-?negative|non-?positive|strictly[_ ]positive"), (_positive,)),
)  # fmt: skip
"""Kinds of words, each with what writes all that it may mean of one array."""


def find_harmless_words(step: Step, decide: Decide) -> list[QuickPattern]:
    """The kinds of words that make a false step good by none of their formulas.

    Args:
        step: A step that is false as it was read.
        decide: Decides a step under some more hypotheses.
    """
    items = list(_iterate_items(step))
    found, tried = [], dict[str, bool]()
    indexed = any(one.shape != "number" or one.other for one in items)
    for words, rules in KINDS:
        formulas = dict.fromkeys(text for one in items for write in rules for text in write(one))
        if indexed and not formulas and _SYMMETRIC in rules:
            continue  # it may be a filter, or a function of two points, that is symmetric, and no formula was tried
        for text in formulas:
            if text not in tried and len(tried) < MOST:
                tried[text] = verdict_under(step, text, decide) in (Verdict.REFUTED, Verdict.VACUOUS)
        if all(tried.get(text, False) for text in formulas):
            found.append(words)
    return found


def _iterate_items(step: Step) -> Iterator[Item]:
    context = step.context
    known = [context.symbols[name] for name in sorted(collect_symbols(step)) if name in context.symbols]
    for symbol in known:
        if symbol.kind in ("array", "family") and symbol.type is not None and symbol.term is None:
            yield _item_of(context, symbol)


def _item_of(context: Context, symbol: Symbol) -> Item:
    """A symbol as an item; of a family the member at a letter that nothing else has."""
    kind = symbol.type
    assert kind is not None
    shape = "number" if kind.scalar else "column" if kind.vector else "matrix"
    sizes = (str(kind.rows), str(kind.cols))
    free = [letter for letter in ("i", "j", "k", "l", "r", "s", "t", "i'", "j'") if letter not in context.symbols]
    first, second = free[:2]
    if symbol.kind == "array":
        return Item(symbol.name, shape, *sizes, index=(first, second))
    ends = (str(symbol.lowest), str(symbol.highest))
    return Item(f"{symbol.name}_{first}", shape, *sizes, f"{symbol.name}_{second}", (first, second), ends)


__all__ = ["KINDS", "find_harmless_words"]
