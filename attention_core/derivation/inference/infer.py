r"""Declarations of undeclared symbols, from how the section around a display uses them.

A reading, not a hypothesis: what holds under it is reported with it, and nothing is refuted by it alone (see `slips`).
One line that declares the symbol replaces it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

from attention_core.derivation.document.blocks import Block, Display, Heading
from attention_core.derivation.document.display import DisplayStatement, statements_of
from attention_core.derivation.elaborate.functions import function_form
from attention_core.derivation.elaborate.index_ranges import spread
from attention_core.derivation.elaborate.indicators import ONES, conditions_in
from attention_core.derivation.elaborate.row_functions import write_row_words
from attention_core.derivation.inference.angles import says_angles
from attention_core.derivation.inference.bold_letters import Bold, bold_letters
from attention_core.derivation.inference.constraints import (
    Builder,
    Hint,
    is_capital,
    typographic_hint,
)
from attention_core.derivation.inference.definable import definable
from attention_core.derivation.inference.described import Described, nearest
from attention_core.derivation.inference.fresh_sizes import free_name
from attention_core.derivation.inference.index_sets import index_sets
from attention_core.derivation.inference.inner_letters import integral_letters, limit_letters
from attention_core.derivation.inference.letters import add_missing_index, leads_everywhere, stands_above_everywhere
from attention_core.derivation.inference.opaque import Opaque
from attention_core.derivation.inference.sample_labels import forget_single, read_samples
from attention_core.derivation.inference.solve import Shape
from attention_core.derivation.inference.unit_vectors import bound_units, defines_units, unit_vector
from attention_core.derivation.inference.usage import (
    MEMBER,
    ONES_NAME,
    Need,
    Usage,
    is_constant,
    needs,
    usage_of,
    walk,
    whole_letters,
    whole_names,
)
from attention_core.derivation.inference.written_differentials import write_differentials
from attention_core.derivation.inference.written_domains import WrittenDomain, written_domains
from attention_core.derivation.latex.printer import all_names, symbol_name, to_latex
from attention_core.derivation.latex.syntax import (
    Big,
    Chain,
    Derivative,
    Group,
    Name,
    Sub,
    Times,
    Unreadable,
    children,
    names_in,
)
from attention_core.derivation.latex.tokens import UNREAD_BIG
from attention_core.derivation.terms.context import Context, Symbol, has_entries
from attention_core.derivation.terms.terms import ONE, SCALAR, Size, Term, Type, matrix, transpose

WINDOW = 20  # blocks before and after that are looked at
SURE = 3.0  # the weight of a transpose, a norm, bold letters
_ONES_WRITTEN = re.compile(re.escape(ONES_NAME) + r"_\{\d+\}")
_NEVER = frozenset(["'", "*"])


@dataclass
class _Reading:
    """Shapes of one section, as far as they follow, and the names that sizes of their own are given."""

    builder: Builder
    taken: set[str]
    names: dict[int, Size] = field(default_factory=dict)
    fresh: list[str] = field(default_factory=list)

    def size(self, extent: int) -> Size:
        """The size of an extent, of a name of its own if none is known."""
        extents = self.builder.solver.extents
        known = extents.size(extent)
        if known is not None:
            return known
        place = extents.find(extent)
        if place not in self.names:
            name = free_name(self.taken, self.may_number)
            self.taken.add(name)
            self.fresh.append(name)
            self.names[place] = Size.symbol(name)
        return self.names[place]

    def may_number(self, letter: str) -> bool:
        """Whether `n_1` with a letter is a name of its own, and no entry of an array."""
        symbol = self.builder.context.symbols.get(letter)
        entries = symbol is not None and has_entries(symbol)
        return letter not in self.builder.usage.arrays and not entries

    def type_of(self, shape: Shape) -> Type:
        """The type of a shape."""
        found = self.builder.solver.find(shape)
        if found.kind != "array":
            return SCALAR
        return matrix(self.size(found.rows), self.size(found.cols))


class Inference:
    """Infers declarations in one document."""

    def __init__(
        self,
        blocks: Sequence[Block],
        described: Sequence[Described] = (),
        inline: Mapping[int, Sequence[Display]] | None = None,
    ) -> None:
        self.blocks, self.described, self.inline = blocks, described, inline or {}
        self.domains = written_domains(blocks)
        self.parsed: dict[int, list[DisplayStatement]] = {}
        self.letters: set[str] | None = None
        self.ones: dict[tuple[int, str], str] = {}  # the names of vectors of ones, by section and place

    def statements(self, place: int) -> list[DisplayStatement]:
        """The statements of the display, or of the definitions in sentences, at a place, as far as they are read."""
        block = self.blocks[place]
        if place not in self.parsed:
            self.parsed[place] = []
            for one in [*self.inline.get(place, ()), *([block] if isinstance(block, Display) else [])]:
                with suppress(Unreadable, RecursionError):
                    self.parsed[place] = [*self.parsed[place], *statements_of(one, lenient=True)]
        return self.parsed[place]

    def section(self, place: int) -> tuple[list[Chain], Bold]:
        """The formulas of the section around a place, and its letters in bold."""
        first = last = place
        while first > 0 and not isinstance(self.blocks[first - 1], Heading) and place - first < WINDOW:
            first -= 1
        end = len(self.blocks) - 1
        while last < end and not isinstance(self.blocks[last + 1], Heading) and last - place < WINDOW:
            last += 1
        around = [one for k in range(first, last + 1) for one in self.statements(k)]
        bold = bold_letters("\n".join(block.text for block in self.blocks[first : last + 1]))
        return [chain for one in around for chain in one.statement.chains], bold

    def name_ones(self, section: int, place: str) -> str:
        """The name of the vector of ones at a place in a formula of a section."""
        return self.ones.setdefault((section, place), f"{ONES_NAME}_{{{len(self.ones) + 1}}}")

    def names_in_use(self, context: Context) -> set[str]:
        """The names that no size may be given: those of the document's formulas."""
        if self.letters is None:
            chains = [c for k in range(len(self.blocks)) for one in self.statements(k) for c in one.statement.chains]
            self.letters = {name for chain in chains for name in all_names(chain)}
        return self.letters | set(context.symbols)

    @cached_property
    def has_small_transposes(self) -> bool:
        """Whether the document writes `x^t` for a transpose: t is an exponent everywhere."""
        chains = [c for k in range(len(self.blocks)) for one in self.statements(k) for c in one.statement.chains]
        return stands_above_everywhere("t", chains)

    @cached_property
    def has_angles(self) -> bool:
        """Whether the document speaks of angles, and of no matrices: capitals may be angles."""
        return says_angles(block.text for block in self.blocks)

    def supply(
        self, context: Context, place: int, statement: DisplayStatement, left: bool = True, alone: bool = False
    ) -> DisplayStatement:
        """Declare the undeclared symbols that a statement needs.

        Args:
            context: What is declared; it is changed.
            place: Which block the display is.
            statement: The statement.
            left: Whether the left side of the first equation is to be declared as well, or may be defined by it.
            alone: Whether the statement alone says how its symbols are meant, and not the section around it.

        Returns:
            The statement, with symbols in the place of values of functions that are not defined.
        """
        plain, line = statement.statement.chains, statement.line
        written = write_differentials(context, plain, line, lambda: self.section(place)[0])
        statement = replace(statement, statement=replace(statement.statement, chains=written))
        single = forget_single(context, statement.statement.chains, statement.line)
        if not (single or context.loose) and _needs_nothing(context, statement):
            return statement
        around, bold = self.section(place)
        sets = index_sets(around)
        around = write_row_words(context, list(statement.statement.chains) if alone else around)
        around, statement = read_samples(context, around, statement)
        name_ones = partial(self.name_ones, sum(isinstance(block, Heading) for block in self.blocks[:place]))
        opaque = Opaque(context, usage_of(around), around, self.has_small_transposes, name_ones, sets)
        formulas = opaque.chains(around)
        usage = usage_of(formulas)
        chains = opaque.chains(statement.statement.chains)
        _note_missing_indices(context, statement)
        own: set[str] = set()
        name = "" if left or not chains else definable(context, statement.statement.chains[0])
        form = function_form(statement.statement.chains[0].exprs[0]) if name else None
        if form is not None and not set(form[1]) & all_names(chains[0].exprs[1]):
            name = ""  # H(X), whose right side depends on X in a way that nothing says
        if name:
            first = chains[0]
            own = {name} | all_names(statement.statement.chains[0].exprs[0])
            chains[0] = replace(first, exprs=(statement.statement.chains[0].exprs[0], *first.exprs[1:]))
        elif chains and not left and (name := definable(context, chains[0])):  # H(X), a symbol of its own
            own = {name}
        statement = replace(statement, statement=replace(statement.statement, chains=tuple(chains)))
        conditions = tuple(spread((*statement.conditions, *statement.offered, *statement.beside)))
        values = _letters_used_as_values(chains)
        own |= {n for c in conditions for n in _bound_by(c) if c.ops == ("in",) or n not in values}
        needed = [Chain(c.exprs[1:], c.ops[1:], c.lines[1:]) if name and k == 0 else c for k, c in enumerate(chains)]
        _forget_misread(context, usage, usage_of(chains), statement.line)
        builder = Builder(context, usage, bold)
        builder.defines_units, builder.has_angles = defines_units(around), self.has_angles
        self.declare(builder, [*needed, *conditions], own, formulas, statement.line, alone)
        return statement

    def declare(
        self,
        builder: Builder,
        chains: Sequence[Chain],
        own: set[str],
        formulas: Sequence[Chain],
        line: int,
        alone: bool = False,
    ) -> None:
        """Declare what some chains need, but for `own`; not `alone`, as a section above did."""
        context, usage = builder.context, builder.usage
        for name in dict.fromkeys(n.name for chain in chains for n in _needs_of(context, usage, chain)):
            if alone:
                break
            if name not in own and name in context.ended and not context.ended[name][1]:
                _declare_again(context, usage, name)
        wanted = dict.fromkeys(need for chain in chains for need in _needs_of(context, usage, chain))
        chosen = [need for need in wanted if need.name not in own | usage.functions | _NEVER]
        for symbol, text in self.declarations(builder, formulas, chosen, line) if chosen else ():
            context.declare(symbol)
            context.inferred[symbol.name] = _ONES_WRITTEN.sub(r"\\mathbf{1}", text)

    def declarations(
        self, builder: Builder, formulas: Sequence[Chain], wanted: Sequence[Need], line: int
    ) -> Iterator[tuple[Symbol, str]]:
        """Symbols with what they are read as, sizes first."""
        context = builder.context
        self.write_domains(builder, line)
        self.take_descriptions(builder, line)
        for base, last in builder.usage.runs.items():
            builder.size(last, rf"{base}_1, \dots, {base}_{last}")
            builder.solver.extents.join(builder.solver.extents.of(Size.symbol(last)), builder.extent(base, 0))
        for name, written in whole_letters(formulas):
            if name not in context.symbols:
                builder.size(name, written)
        for formula in formulas:
            try:
                builder.chain(formula)
            except RecursionError:
                continue
        _link_members(builder)
        _settle(builder)
        reading = _Reading(builder, self.names_in_use(context))
        bound_units(builder, wanted)
        differential = "d" not in builder.sizes and leads_everywhere("d", formulas)
        kept = [need for need in wanted if need.name != "d" or need.kind == "size" or not differential]
        found = [_declaration(reading, need, line) for need in kept]
        sizes = {n for symbol, _ in found for size in _sizes_of(symbol) for n in size.symbols()}
        done = {symbol.name for symbol, _ in found if symbol.kind == "size"}
        for name in sorted(sizes - set(context.symbols) - done):
            yield Symbol(name, "size", line, context.level), rf"{name} \in \mathbb{{N}} (a number of rows or columns)"
        yield from sorted(found, key=lambda one: (one[0].kind != "size", one[0].kind == "index"))

    def take_descriptions(self, builder: Builder, line: int) -> None:
        """Take over which symbols are matrices, square ones or vectors by the words above a line."""
        extents = builder.solver.extents
        for name, one in nearest(self.described, line).items():
            if name in builder.context.symbols:
                continue
            rows = extents.fresh()
            cols = rows if one.is_square else extents.fresh() if one.is_matrix else extents.of(ONE)
            extents.plural |= {extents.find(rows), extents.find(cols)} if one.is_matrix else {extents.find(rows)}
            if builder.solver.set_array(builder.symbol(name), rows, cols):
                builder.hints.setdefault(name, []).append(Hint(9, "written", f"line {one.line} says so"))

    def is_of_later_section(self, line: int, above: int) -> bool:
        """Whether a heading stands between a line and one above it."""
        return any(isinstance(block, Heading) and above < block.line <= line for block in self.blocks)

    def write_domains(self, builder: Builder, line: int) -> None:
        """Take over what sentences say with `\\in`: the nearest above a line, else the first below.

        Where that of a later section does not fit, the symbol is another one there (`Context.own_domains`).
        """
        chosen: dict[str, WrittenDomain] = {}
        for one in self.domains:
            name = symbol_name(one.symbol) or ""
            sizes = [] if one.type is None else [*one.type.rows.symbols(), *one.type.cols.symbols()]
            if any(builder.bold.holds(letter) for letter in (*sizes, *([name] if one.type is None else ()))):
                continue  # $\mathbf{q} \in \mathbb{R}^q$ has two letters q
            if builder.context.own_domains and self.is_of_later_section(one.line, line):
                continue
            if one.line <= line or name not in chosen:
                chosen[name] = one
        for name, one in chosen.items():
            if name in builder.context.symbols:
                continue
            reason = f"line {one.line} says so"
            if one.type is None:
                builder.size(name, reason)
                continue
            shape = builder.of_type(one.type)
            builder.hints.setdefault(name, []).append(Hint(9, "written", reason))
            base = symbol_name(one.symbol.base) if isinstance(one.symbol, Sub) else None
            if base in builder.usage.arrays:
                builder.members[base or ""] = shape
            builder.shapes[name] = shape
            for size in (one.type.rows, one.type.cols):
                for letter in size.symbols():
                    builder.size(letter, reason)


def _note_missing_indices(context: Context, statement: DisplayStatement) -> None:
    for chain in statement.statement.chains:
        if (complete := add_missing_index(chain)) != chain:
            context.understood.append((statement.line, f"a sum without an index, read as {to_latex(complete)}"))


def _forget_misread(context: Context, usage: Usage, own: Usage, line: int) -> None:
    """Forget a reading as a number of what this section writes with an index, or a definition of what a statement does.

    Args:
        context: What is declared; it is changed.
        usage: How the section uses its symbols, which may be others above what defines them.
        own: How the statement uses them.
        line: Its line.
    """
    for base in usage.arrays:
        symbol = context.symbols.get(base)
        if symbol is None or has_entries(symbol) or symbol.params:
            continue
        if base in context.inferred or (symbol.kind == "definition" and base in own.arrays):
            context.forget(base, line)


def _declare_again(context: Context, usage: Usage, name: str) -> None:
    """Declare a symbol of a section that has ended as it was there, with all that its declaration mentions."""
    wanted, chosen = [name], dict[str, Symbol]()
    while wanted:
        one = wanted.pop()
        if one in chosen or one in context.symbols:
            continue
        if one not in context.ended:
            continue
        chosen[one] = context.ended[one][0]
        if one in usage.arrays and not (has_entries(chosen[one]) or chosen[one].params):
            return  # this section means something else by the letter
        known = [context.symbols.get(name) or context.ended.get(name, (None,))[0] for name in chosen[one].mentions]
        if any(other is not None and other.line > chosen[one].line for other in known):
            return  # what the declaration mentions was declared anew after it
        wanted += sorted(chosen[one].mentions)
    for symbol in chosen.values():
        context.symbols[symbol.name] = replace(symbol, level=context.level)
        context.dropped.pop(symbol.name, None)
        context.inferred[symbol.name] = f"{symbol.name} as in line {symbol.line}{_say_ended(context, symbol.name)}"


def _say_ended(context: Context, name: str) -> str:
    """That the section which declares a symbol has ended; '' of what only its declaration mentions."""
    return f" (its section{context.homes[name]} has ended)" if name in context.homes else ""


def _needs_nothing(context: Context, statement: DisplayStatement) -> bool:
    """Whether every name in a statement is declared, and nothing is differentiated."""
    nodes = (node for chain in statement.statement.chains for node in walk(chain))
    return _is_declared(context, statement) and not any(isinstance(node, Derivative) for node in nodes)


def _is_declared(context: Context, statement: DisplayStatement) -> bool:
    """Whether every name in a statement is declared."""
    conditions = (*statement.conditions, *statement.offered, *statement.beside)
    chains = (*statement.statement.chains, *conditions)
    names = {name for chain in chains for name in names_in(chain)}
    if {name for name in names - set(context.symbols) if not is_constant(name)}:
        return False
    if ONES not in context.symbols and any(_is_bare_ones(node) for chain in chains for node in walk(chain)):
        return False
    operators = [node for chain in chains for node in walk(chain) if isinstance(node, Big)]
    if any(node.op in UNREAD_BIG or any(one.alone for one in node.below) for node in operators):
        return False  # `\max_\pi`: a letter without a range; `\bigotimes` is a symbol of its own
    return all(_is_known_part(context, node) for chain in chains for node in walk(chain) if isinstance(node, Sub))


def _is_bare_ones(node: object) -> bool:
    r"""Whether a part of a formula holds `\mathbf{1}` without a size, and not as an indicator."""
    if isinstance(node, Times):
        behind = [None if op else one for op, one in zip(node.ops, node.factors[1:], strict=True)]
        pairs = zip(node.factors, [*behind, None], strict=True)
        return any(
            one == Name(ONES) and not (isinstance(other, Group) and conditions_in(other.items)) for one, other in pairs
        )
    return not isinstance(node, Sub) and Name(ONES) in children(node)


def _is_known_part(context: Context, node: Sub) -> bool:
    """Whether a subscript spells a symbol, or an entry of one; `e_i` is a unit vector, and not one of e."""
    base = symbol_name(node.base)
    known = context.symbols.get(base or "")
    if base is None or known is None or symbol_name(node) in context.symbols:
        return base != "e" or known is not None or symbol_name(node) in context.symbols
    return base not in context.inferred or has_entries(known) or bool(known.params)


def _needs_of(context: Context, usage: Usage, chain: Chain) -> Iterator[Need]:
    yield from needs(context, usage, chain)


def _bound_by(condition: Chain) -> set[str]:
    """The index that a condition binds."""
    first = condition.exprs[0]
    return {first.text} if isinstance(first, Name) else set()


def _letters_used_as_values(chains: Sequence[Chain]) -> set[str]:
    r"""The letters that stand in a formula and in no subscript: `\forall x` binds no index of it."""
    below = {name for chain in chains for node in walk(chain) if isinstance(node, Sub) for name in names_in(node.items)}
    return {name for chain in chains for name in whole_names(chain)} - below


def _link_members(builder: Builder) -> None:
    """An indexed base is a vector or a matrix of its members, if these are numbers."""
    solver = builder.solver
    for base, count in builder.usage.arrays.items():
        if base in builder.context.symbols:
            continue
        extents = [builder.extent(base, place) for place in range(count)]
        member = builder.members.setdefault(base, Shape())
        if count == 2 or base in builder.shapes:
            solver.equal(solver.number(), member)
            one = solver.extents.of(ONE)
            known = solver.find(builder.symbol(base))
            if count == 1 and known.kind == "array" and solver.extents.size(known.rows) == ONE:
                solver.set_array(known, one, extents[0])  # x = [x_1, ..., x_n]
            else:
                solver.set_array(known, extents[0], extents[1] if count == 2 else one)


def _settle(builder: Builder) -> None:
    """Decide what the equations leave open, what is most likely first."""
    solver = builder.solver
    named = {**builder.shapes, **{base + MEMBER: shape for base, shape in builder.members.items()}}
    open_names = [name for name in named if name not in builder.context.symbols]
    ranked = sorted(open_names, key=lambda name: -_best(builder, name)[0])
    for name in ranked:  # what is surely a vector, before an equation could make it a number
        weight, kind = _best(builder, name)
        if weight >= SURE and kind != "number" and not solver.find(named[name]).kind:
            _apply(builder, named[name], kind, name)
            found = solver.find(named[name])
            solver.extents.plural.add(solver.extents.find(found.cols if kind == "row" else found.rows))
    solver.propagate()
    for name in ranked:
        if not solver.find(named[name]).kind:
            _apply(builder, named[name], _best(builder, name)[1], name)
            solver.propagate()
    for name in ranked:
        _make_vector(builder, named[name], name)
    solver.propagate()


def _best(builder: Builder, name: str) -> tuple[float, str]:
    """The most likely kind of a symbol, and its weight."""
    weights: dict[str, float] = {}
    for hint in (typographic_hint(name, builder.bold), *builder.hints.get(name, ())):
        weights[hint.kind] = max(weights.get(hint.kind, 0), hint.weight)
    weights.pop("written", None)
    kind = max(weights, key=lambda one: weights[one])
    return weights[kind], "row" if kind == "column" and "row" in weights else kind


def _apply(builder: Builder, shape: Shape, kind: str, name: str) -> None:
    solver = builder.solver
    one = solver.extents.of(ONE)
    if kind == "number":
        solver.equal(solver.number(), shape)
    elif kind == "matrix":
        solver.set_array(shape, solver.extents.fresh(), solver.extents.fresh())
    else:
        ends = (one, solver.extents.fresh()) if kind == "row" else (solver.extents.fresh(), one)
        solver.set_array(shape, *ends)


def _make_vector(builder: Builder, shape: Shape, name: str) -> None:
    """A small letter is a column, if the equations do not say otherwise."""
    found, extents = builder.solver.find(shape), builder.solver.extents
    if found.kind != "array" or is_capital(name) or builder.usage.arrays.get(name) == 2:
        return
    if extents.size(found.rows) != ONE and extents.size(found.cols) is None:
        extents.join(extents.of(ONE), found.cols)


def _declaration(reading: _Reading, need: Need, line: int) -> tuple[Symbol, str]:
    """The declaration of one thing that a formula needs, and what it is read as."""
    builder, name = reading.builder, need.name
    level = builder.context.level
    if need.kind == "size" or name in builder.sizes:
        reason = builder.sizes.get(name, "a size")
        return Symbol(name, "size", line, level), rf"{name} \in \mathbb{{N}} ({reason})"
    if need.kind == "index":
        if name not in builder.ranges:
            return Symbol(name, "size", line, level), rf"{name} \in \mathbb{{N}} (an index)"
        size = reading.size(builder.ranges[name])
        text = rf"{name} \in \{{1, \dots, {size}\}} (an index)"
        place = Symbol(name, "index", line, level, None, ONE, size, mentions=frozenset(size.symbols()))
        return place, text
    member = builder.members.get(name) if name in builder.usage.arrays and name not in builder.shapes else None
    if member is not None:
        kind = reading.type_of(member)
        if (unit := unit_vector(builder, name, kind, line, domain_text)) is not None:
            return unit
        size = reading.size(builder.extent(name, 0))
        about = frozenset(size.symbols() | kind.rows.symbols() | kind.cols.symbols())
        first = int(name not in builder.usage.zeros)
        family = Symbol(name, "family", line, level, kind, Size.number(first), size, mentions=about)
        text = rf"{name}_{first}, \dots, {name}_{{{size}}} \in {domain_text(kind)}"
        return family, f"{text} ({_reason(builder, name + MEMBER)})"
    kind = reading.type_of(builder.symbol(name))
    about = frozenset(kind.rows.symbols() | kind.cols.symbols())
    if (unit := unit_vector(builder, name, kind, line, domain_text)) is not None:
        return unit
    if name.startswith(ONES_NAME) and kind.kind == "matrix" and kind.vector:
        long = kind if kind.column else kind.transpose
        ones = Term("ones", (), long, long.rows)
        term = ones if kind.column else transpose(ones)
        symbol = Symbol(name, "definition", line, level, term=term, mentions=about)
        return symbol, rf"\mathbf{{1}} \in {domain_text(kind)} (a vector of ones)"
    return (
        Symbol(name, "array", line, level, kind, mentions=about),
        rf"{name} \in {domain_text(kind)} ({_reason(builder, name)})",
    )


def domain_text(kind: Type) -> str:
    r"""A type as a domain: `\mathbb{R}^{n \times d}`."""
    if kind.kind != "matrix":
        return r"\mathbb{R}"
    return rf"\mathbb{{R}}^{{{kind.rows}}}" if kind.column else rf"\mathbb{{R}}^{{{kind.rows} \times {kind.cols}}}"


def _reason(builder: Builder, name: str) -> str:
    """What says most about a symbol."""
    hints = [*builder.hints.get(name, ()), typographic_hint(name, builder.bold)]
    shape = builder.members.get(name.removesuffix(MEMBER)) if name.endswith(MEMBER) else builder.shapes.get(name)
    number = shape is not None and builder.solver.find(shape).kind != "array"
    fitting = [hint for hint in hints if hint.kind == "written" or (hint.kind == "number") == number]
    return max(fitting, key=lambda hint: hint.weight).reason if fitting else "from the formulas around it"


def _sizes_of(symbol: Symbol) -> Iterable[Size]:
    kind = symbol.type if symbol.term is None else symbol.term.type
    sides = [] if kind is None else [kind.rows, kind.cols]
    return [*sides, *(one for one in (symbol.lowest, symbol.highest) if one is not None)]


def inferred_names(context: Context, exprs: Iterable[object]) -> list[str]:
    """The undeclared symbols that some expressions rest on."""
    found = fresh = {name for expr in exprs for name in all_names(expr) - limit_letters(expr) - integral_letters(expr)}
    while fresh:
        fresh = {m for n in fresh if n in context.symbols for m in context.symbols[n].mentions} - found
        found = found | fresh
    return [name for name in context.inferred if name in found]
