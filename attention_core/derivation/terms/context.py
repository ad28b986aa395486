"""The record of declarations and hypotheses.

What a document has declared up to a place: sizes, indices, arrays, families, definitions, hypotheses.
A heading ends what its section declared; restating a symbol drops everything that mentions it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from attention_core.derivation.document.blocks import Paragraph
from attention_core.derivation.latex.syntax import Unreadable
from attention_core.derivation.terms.terms import ONE, Relation, Size, Term, Type, matrix

ENDED_ADVICE = (
    "declare it again, or where it holds for both sections: above their headings, or under a heading 'Notation'"
)


OVER_ALL = -1
"""The level of a reader's promise about a whole document: no heading ends it, and its author may define as he likes."""


@dataclass(frozen=True)
class Caveat:
    """Words or a relation of the prose that may be a hypothesis and were not assumed.

    `names` are the declared symbols it is about, None where it names none and may be about all; `formula` is a relation
    that can be tried as a hypothesis; `random` says that it may tell how a symbol is random; `plain` that it was meant
    as an assumption beyond doubt, so that even a step that is expected to be refuted depends on it. `words` are those
    that is not known to be harmless: such a caveat is the last that is looked at.
    """

    line: int
    quote: str
    level: int
    names: frozenset[str] | None
    formula: str = ""
    random: bool = False
    plain: bool = False
    words: tuple[str, ...] = ()
    maybe: tuple[str, ...] = ()  # words that matter to assignments, or to steps without symbols
    whole: bool = False  # a sentence that matches no pattern, whatever its words are
    value: bool = False  # words that lead to a value: a condition, where the display has a constant side
    ends: int = 0  # the last line of what it may take back, 0 if it takes nothing back
    written: bool = False  # a formula that was a condition elsewhere: a promise of formulas does not rule it out
    since: int = 0  # the first line of what it may take back
    made_by: frozenset[str] = frozenset()  # operations: a step that holds one needs the words for nothing


@dataclass(frozen=True)
class Symbol:
    """One symbol. `kind`: size, index, array, family, definition, function, complex.

    An array or family has `type`; an index and a family have `lowest` and `highest`; `lower` and `upper` are the ends
    of an interval its entries lie in, each (term, strict) or None; `law` says how it is random (see `moments`); a
    definition has `term` with `params`, the indices it is written with, and their `ranges`; a function has its written
    `body` and `params`.
    """

    name: str
    kind: str
    line: int
    level: int
    type: Type | None = None
    lowest: Size | None = None
    highest: Size | None = None
    lower: tuple[Term, bool] | None = None
    upper: tuple[Term, bool] | None = None
    values: tuple[int, ...] = ()
    law: Distribution | None = None
    term: Term | None = None
    params: tuple[str, ...] = ()
    ranges: tuple[tuple[Size, Size], ...] = ()
    body: Any = None
    mentions: frozenset[str] = frozenset()
    whole: bool = False  # a definition that stands for any integer, as a difference of sizes
    bold: bool | None = None  # whether it is declared in bold, if that is known
    unequal: bool = False  # declared by `x \ne 0` alone, which says a number or an array


ALL_MEMBERS = 10**9  # of a family, however many it has


@dataclass(frozen=True)
class Independence:
    """A statement that some blocks of symbols are independent of each other; `number` tells it from others of its line.

    Inside of a block the symbols may depend on each other. Of the `families` any `members` members are independent of
    each other. A symbol that is declared anew drops out of it, and a heading ends it as it ends a hypothesis.
    """

    line: int
    level: int
    number: int
    blocks: tuple[frozenset[str], ...] = ()
    families: frozenset[str] = frozenset()
    members: int = ALL_MEMBERS


@dataclass(frozen=True)
class Distribution:
    """The law of a random symbol: `name` (normal, uniform, bernoulli, geometric, categorical, range, moments).

    `parameters` are those of the law; `moments` is any law with this mean and (co)variance. `index` is the letter that
    stands for the member in the parameters of a family's law. `independent` holds the statements of independence that
    the symbol is part of.
    """

    name: str
    parameters: tuple[Term, ...]
    index: str = ""
    independent: frozenset[Independence] = frozenset()


@dataclass(frozen=True)
class Hypothesis:
    """A relation that cases are constructed to satisfy; `narrower` is what some authors mean by the same words."""

    relation: Relation
    line: int
    level: int
    text: str
    mentions: frozenset[str]
    narrower: Relation | None = None


@dataclass(frozen=True)
class Failed:
    """A paragraph of declarations that could not be read, and why."""

    paragraph: Paragraph
    level: int
    message: str


@dataclass(frozen=True)
class ProseEquation:
    """An equation of the prose that says what a symbol is: `head` is its letters, `formula` the whole."""

    level: int
    line: int
    head: str
    value: str
    formula: str
    follows: list[Any] = field(default_factory=list, init=False, repr=False, compare=False)  # contexts that it holds in


@dataclass
class Context:
    """Everything that holds at one place of a document."""

    symbols: dict[str, Symbol] = field(default_factory=dict)
    hypotheses: list[Hypothesis] = field(default_factory=list)
    dropped: dict[str, tuple[int, str]] = field(default_factory=dict)
    level: int = 0
    broadcast: int | None = None  # the level at which the document says that sums are broadcast
    formal: int | None = None  # the level at which it says that all hypotheses are declared as formulas
    understood: list[tuple[int, str]] = field(default_factory=list)
    same: dict[str, Size] = field(default_factory=dict)  # sizes that equations settle, see `same_sizes`
    caveats: list[Caveat] = field(default_factory=list)  # see `caveats`
    readings: frozenset[str] = frozenset()  # conventions other than ours, see `conventions`
    failed: list[Failed] = field(default_factory=list)  # declarations above that could not be read
    equations: list[ProseEquation] = field(default_factory=list)
    applied: int = 0  # how often functions of the document have been applied in the step that is read
    ended: dict[str, tuple[Symbol, bool]] = field(default_factory=dict)  # of past sections, and whether inferred
    homes: dict[str, str] = field(default_factory=dict)  # the titles of the sections of those, in quotation marks
    inferred: dict[str, str] = field(default_factory=dict)  # undeclared symbols, and what they are read as
    described: dict[str, Symbol] = field(default_factory=dict)  # of whom what words say of them is assumed
    repeated: int | None = None  # the level at which it says that repeated indices are summed over
    imaginary: int | None = None  # the level at which it has complex numbers, so that there is a unit
    unit: str = "i"  # the letter of that unit
    recursions: dict[str, Any] = field(default_factory=dict)  # sequences by name, see `recursions`
    stated: frozenset[str] = frozenset()  # what the document says that signs stand for, see `notation_words`
    loose: frozenset[str] = frozenset()  # forms that are symbols of their own in this statement, see `inference.opaque`
    arrays: frozenset[str] = frozenset()  # letters that the document writes as arrays, with an index or a transpose
    related: frozenset[str] = frozenset()  # undeclared symbols of relations that are assumed: no display defines them
    infers: bool = False  # whether undeclared symbols are read
    own_domains: bool = False  # whether domains that a later section states are left to it
    opens_sizes: bool = False  # whether an undeclared letter where a size must stand is one: the n of \mathbb{R}^n

    def copy(self) -> Context:
        """A context of its own with the same content."""
        tables = dict(self.symbols), list(self.hypotheses), dict(self.dropped)
        later = self.same, list(self.caveats), self.readings
        found = Context(*tables, self.level, self.broadcast, self.formal, self.understood, *later)
        found.failed, found.inferred, found.ended = list(self.failed), dict(self.inferred), self.ended
        found.equations = list(self.equations)
        found.described, found.repeated = dict(self.described), self.repeated
        found.imaginary, found.unit, found.recursions = self.imaginary, self.unit, dict(self.recursions)
        found.loose, found.stated, found.homes = self.loose, self.stated, self.homes
        found.arrays, found.own_domains = self.arrays, self.own_domains
        found.related = self.related
        return found

    def take(self, other: Context) -> None:
        """Take over what a copy of this context has become."""
        for name in self.__dataclass_fields__:
            setattr(self, name, getattr(other, name))

    @property
    def claims_all(self) -> bool:
        """Whether its author promises that all hypotheses are formulas: then a display claims, and does not define."""
        return self.formal is not None and self.formal != OVER_ALL

    def heading(self, level: int, title_at: Callable[[int], str] = lambda _: "") -> None:
        """A heading ends what was declared under one of its own or a lower level.

        Args:
            level: Its level.
            title_at: The title of the section that a line stands in.
        """
        for name in [n for n, d in self.symbols.items() if d.level >= level]:
            symbol, inferred = self.symbols.pop(name), self.inferred.pop(name, None) is not None
            self.ended[name] = symbol, inferred
            title = title_at(symbol.line)
            self.homes[name] = f" '{title}'" if title else ""
            if not inferred:
                why = (
                    f"the section{self.homes[name]} of its declaration in line {symbol.line} has ended; {ENDED_ADVICE}"
                )
                self.dropped[name] = (symbol.line, why)
        self.hypotheses = [h for h in self.hypotheses if h.level < level]
        self.end_independence(lambda one: one.level >= level)
        self.recursions = {n: r for n, r in self.recursions.items() if r.level < level}
        self.caveats = [c for c in self.caveats if c.level < level]
        self.failed = [f for f in self.failed if f.level < level]
        self.equations = [one for one in self.equations if one.level < level]
        if self.broadcast is not None and self.broadcast >= level:
            self.broadcast = None
        if self.repeated is not None and self.repeated >= level:
            self.repeated = None
        if self.imaginary is not None and self.imaginary >= level:
            self.imaginary, self.unit = None, "i"
        if self.formal is not None and self.formal >= level:
            self.formal = None
        self.level = level

    def end_independence(self, ends: Callable[[Independence], bool]) -> bool:
        """Drop the statements of independence that have ended; whether there was one."""
        found = False
        for name, symbol in list(self.symbols.items()):
            law = symbol.law
            if law is not None and any(ends(one) for one in law.independent):
                kept = frozenset(one for one in law.independent if not ends(one))
                self.symbols[name] = replace(symbol, law=replace(law, independent=kept))
                found = True
        return found

    def declare(self, symbol: Symbol) -> None:
        """Add a symbol; what mentioned its name before is dropped.

        Raises:
            Unreadable: What it mentions was declared by it: "Let $d = 4 - x$ and $x = 4 - d$."
        """
        both = sorted(symbol.mentions & (self._depend_on(symbol.name) - {symbol.name}))
        if both:
            raise Unreadable(f"{symbol.name} and {both[0]} define each other: declare one of them first", symbol.line)
        self.forget(symbol.name, symbol.line)
        self.dropped.pop(symbol.name, None)
        self.inferred.pop(symbol.name, None)
        self.symbols[symbol.name] = symbol

    def open_size(self, name: str, line: int) -> None:
        """Declare a letter as a size, since it stands where only a size can."""
        self.declare(Symbol(name, "size", line, self.level))
        self.understood.append((line, f"{name}: a size, as it is used here"))

    def forget(self, name: str, line: int) -> None:
        """Drop every declaration and hypothesis that mentions a name, and what mentions those."""
        gone = self._depend_on(name)
        for one in gone:
            self.symbols.pop(one, None)
            self.inferred.pop(one, None)
            why = f"line {line} restates {name}, which its declaration mentions; declare it again"
            self.dropped[one] = (line, f"{why} (it was declared before line {line})")
        self.hypotheses = [h for h in self.hypotheses if not h.mentions & (gone | {name})]

    def _depend_on(self, name: str) -> set[str]:
        """A declared name, what mentions it, and what mentions those."""
        found = {name} if name in self.symbols else set()
        while found:
            more = {n for n, d in self.symbols.items() if n not in found and d.mentions & found}
            if not more:
                break
            found |= more
        return found

    def forget_readings(self, line: int) -> None:
        """Drop every reading of an undeclared symbol."""
        for name in list(self.inferred):
            self.forget(name, line)
            self.dropped.pop(name, None)

    def assume(self, hypothesis: Hypothesis) -> None:
        """Add a hypothesis."""
        self.hypotheses.append(hypothesis)

    def find(self, match: Callable[[Symbol], Any]) -> list[Symbol]:
        """The symbols that match."""
        return [d for d in self.symbols.values() if match(d)]


def has_open_functions(context: Context) -> bool:
    """Whether a function or a loss of which no more is known than its argument is declared: words may restrict it."""
    return any("_{[" in name for name in context.symbols)


def has_entries(symbol: Symbol) -> bool:
    """Whether a symbol may be indexed."""
    kind = symbol.type if symbol.term is None else symbol.term.type
    return symbol.kind == "family" or bool(symbol.params) or (kind is not None and kind.kind == "matrix")


def range_of_member(symbol: Symbol, place: int) -> tuple[Size, Size] | None:
    """The range of an index of a family, or of a definition with indices; None where there is none at that place.

    Args:
        symbol: What stands before the subscript.
        place: Which of its indices, from 0.
    """
    if symbol.ranges:
        return symbol.ranges[place] if place < len(symbol.ranges) else None
    return (symbol.lowest, symbol.highest) if place == 0 and symbol.lowest and symbol.highest else None


def is_entrywise(symbol: Symbol) -> bool:
    """Whether a definition gives each entry of a vector or a matrix: `y_i := 2 x_i`, with indices that count from 1."""
    if symbol.kind != "definition" or symbol.term is None or symbol.term.type.kind != "scalar":
        return False
    return (
        len(symbol.ranges) == len(symbol.params)
        and len(symbol.params) in (1, 2)
        and all(low == ONE for low, _ in symbol.ranges)
    )


def type_of_whole(symbol: Symbol) -> Type | None:
    """The shape of a symbol that stands without an index: of all entries, where a definition gives each of them."""
    if is_entrywise(symbol):
        (_, rows), (_, cols) = (*symbol.ranges, (ONE, ONE))[:2]
        return matrix(rows, cols)
    return symbol.type if symbol.term is None else symbol.term.type
