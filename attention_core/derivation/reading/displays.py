"""The steps of one display.

A statement enters the context as a declaration or a definition, or its relations and implications become steps. What
stands beside it is a condition, or leaves open whether it is one. A statement that cannot be read as its section uses
the symbols is read by itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from attention_core.derivation.document.blocks import Display, Paragraph
from attention_core.derivation.document.display import DisplayStatement, statements_of, without_frames
from attention_core.derivation.document.optimization import is_problem
from attention_core.derivation.document.segments import WRITTEN_RELATION
from attention_core.derivation.elaborate.expressions import Elaborator
from attention_core.derivation.elaborate.index_ranges import spread
from attention_core.derivation.inference.definable import definable
from attention_core.derivation.inference.later_domains import without_later_domains
from attention_core.derivation.inference.loose_forms import LOOSENS, TERMS, keep_loose_forms
from attention_core.derivation.inference.opaque import is_opaque
from attention_core.derivation.inference.usage import bound_letters, is_constant, walk, whole_names
from attention_core.derivation.latex.labels import labels_of_braces
from attention_core.derivation.latex.printer import SIGNS, all_names, symbol_name, to_latex
from attention_core.derivation.latex.syntax import (
    Big,
    Chain,
    Dots,
    Group,
    Minus,
    Name,
    Num,
    Statement,
    Sub,
    Sup,
    Unreadable,
)
from attention_core.derivation.reading.claimed_sides import find_same_definition, is_claim, is_stated_above
from attention_core.derivation.reading.declare import Reader
from attention_core.derivation.reading.display_roles import (
    Around,
    find_defined_symbol,
    note_side_relations,
    split_definitions,
    stand_apart,
)
from attention_core.derivation.reading.domains import domain_of
from attention_core.derivation.reading.repeated_indices import with_repeated_indices
from attention_core.derivation.reading.step import FarRelation, Step, Unread, select_new, without_defined
from attention_core.derivation.reading.written_forms import write_forms
from attention_core.derivation.records import BY_DISPLAY, ONCE_MORE
from attention_core.derivation.terms.context import Caveat, Context, Symbol, has_entries
from attention_core.derivation.terms.terms import ShapeMismatch
from attention_core.derivation.words.caveats import shorten_quote

Judge = Callable[[Step], str]  # why a step cannot be read, '' if it can

Supply = Callable[[Context, DisplayStatement, bool, bool], DisplayStatement]


def steps_of_display(
    context: Context,
    block: Display,
    later: list[Paragraph],
    around: Around | None = None,
    supply: Supply | None = None,
    judge: Judge | None = None,
) -> list[Step | Unread]:
    """Read a display.

    Args:
        context: What is declared above it; its definitions enter it.
        block: The display.
        later: The paragraphs below it in its section.
        around: The displays around it.
        supply: Declares what is missing in a statement.
        judge: Says why a step cannot be read.
    """
    if supply is not None and is_problem(without_frames(block.text)):
        return _note_problem(context, block)
    try:
        statements = statements_of(block, lenient=supply is not None)
    except Unreadable as error:
        return [_unread(block, error)]
    out: list[Step | Unread] = []
    asides: list[Caveat] = []
    if supply is not None:
        statements = [part for one in statements for part in split_definitions(context, one)]
    for written_one in (write_forms(context, one) for one in statements):
        if supply is not None:
            if _states_nothing(context, written_one, asides):
                continue
            written_one = _without_map(context, _without_last_law(context, written_one))
        try:
            out += _read_somehow(context, written_one, around, supply, judge)
        except Unreadable as error:  # of a condition beside it
            out.append(_unread(block, error))
    if supply is not None:
        note_side_relations(context, block, statements, out)
    _look_around(block, [one for one in out if isinstance(one, Step)], statements)
    unread = [one for one in out if isinstance(one, Unread)]
    for step in out:
        if isinstance(step, Step):
            step.later = later
            near = [one for one in unread if one.remark or one.line == step.line]
            step.unread_words += tuple(w for one in statements for w in one.unread_words)
            if step.of is not None and "mid" in step.of.ops:
                step.unread_words += (r"\mid",)  # `a = b \mid c` may say b under a condition
            step.context.caveats += [*asides, *(_beside(context, one.line, one.text) for one in near)]
    return out


def _note_problem(context: Context, block: Display) -> list[Step | Unread]:
    """Note an optimization problem; its constraints may hold for what follows, whatever is promised of words."""
    context.understood.append((block.line, f"nothing to check: {' '.join(block.text.split())}"))
    context.caveats.append(replace(_beside(context, block.line, " ".join(block.text.split())), written=True))
    return []


def _unread(block: Display, error: Unreadable) -> Unread:
    return Unread("", error.line or block.line, " ".join(block.text.split())[:200], error.message, list(block.options))


def _states_nothing(context: Context, one: DisplayStatement, asides: list[Caveat]) -> bool:
    """Whether a statement is not a claim; what it declares enters the context, what it leaves open the asides."""
    understood = context.understood
    if _is_bare(one) and not _relations_in_brackets(one):
        understood.append((one.line, f"nothing to check: {one.source}"))
        asides.append(_beside(context, one.line, one.source))
    elif _is_map(one) or _is_declaration(context, one):
        understood.append((one.line, f"declared by the display: {one.source}"))
    elif _sets_value(context, one):
        understood.append((one.line, f"a value, which states nothing: {one.source}"))
        asides.append(_beside(context, one.line, one.source))
    elif _is_law(one):
        understood.append((one.line, f"declared by the display: {one.source}, unused"))
        context.caveats.append(_unused_law(context, one))
    elif (updated := _find_update(one)) is not None:
        understood.append((one.line, f"an update, which states nothing: {one.source}"))
        context.forget(updated, one.line)
    else:
        return False
    return True


_IN_WORDS = re.compile(r"(?<!\\)\$([^$]*)\$")
_TAG = re.compile(r"\\tag\*?\s*\{((?:[^{}]|\{[^{}]*\})*)\}")


def _look_around(block: Display, steps: list[Step], statements: list[DisplayStatement]) -> None:
    """Give the steps of a display what else it says: its other claims, and relations in its words, reasons and tags."""
    relations = {one: None for step in steps for one in step.beside}
    for found in _IN_WORDS.finditer(block.text):
        line = block.line + block.text.count("\n", 0, found.start())
        relations[FarRelation(line, found.group(), found.group(1))] = None
    for written in statements:
        for found in _TAG.finditer(block.text):
            if WRITTEN_RELATION.search(found[1]) and "$" not in found[1]:
                relations[FarRelation(block.line + block.text.count("\n", 0, found.start()), found[0], found[1])] = None
        for start, label in labels_of_braces(block.text):
            relations[FarRelation(block.line + block.text.count("\n", 0, start), label, label)] = None
        for item in _relations_in_brackets(written):
            relations[FarRelation(written.line, written.source, to_latex(item))] = None
    tags = tuple(tag for tag in _TAG.findall(block.text) if WRITTEN_RELATION.search(tag))
    for step in steps:
        step.opens, step.beside = block.line, list(relations)
        step.quoted = (*step.quoted, *(f"tag {tag}" for tag in tags))
        step.companions = [one for one in steps if one.of is not step.of and not one.assumed]


def _read_somehow(
    context: Context, written: DisplayStatement, around: Around | None, supply: Supply | None, judge: Judge | None
) -> list[Step | Unread]:
    """The steps of one statement, read as its section uses the symbols, or by itself where that cannot be."""
    before, noted = None if supply is None or judge is None else context.copy(), len(context.understood)
    found = _read_statement(context, written, around, supply)
    if before is None or judge is None or not (why := _unreadable(found, judge)):
        return found
    if (trial := without_later_domains(context, before, written.line)) is not None:
        near = _read_statement(trial, written, around, supply)
        if not _unreadable(near, judge):
            context.understood[noted:] = trial.understood
            trial.understood, trial.own_domains = context.understood, False
            context.take(trial)
            return near
    if (again := _read_alone(before, written, around, supply, judge)) is None:
        return found
    again = without_defined(again, notes := context.understood[noted:])
    context.understood += select_new(before.understood, notes)
    for one, plain in zip(again, found if len(again) == len(found) else [None] * len(again), strict=True):
        if isinstance(one, Step):
            one.strange = why
            one.plain = plain if TERMS in one.context.loose and isinstance(plain, Step) else None
            one.context = keep_loose_forms(one.context, one.text, one.line)
    return again


def _read_statement(
    context: Context, written: DisplayStatement, around: Around | None, supply: Supply | None, alone: bool = False
) -> list[Step | Unread]:
    """The steps of one statement; what it defines enters the context. `alone`: no other display is looked at."""
    if supply is not None:
        _free_indices(context, written)
        written = _declare_bound(context, written)
    one: DisplayStatement | None = written if supply is None else supply(context, written, False, alone)
    if around is not None and one is not None and not one.unread_words and not is_claim(context, written):
        one = _without_definition(context, one, around, supply is not None)
    if one is None:
        return []
    if supply is not None and not _is_definition(one):
        one = supply(context, one, True, alone)
    elif supply is not None and not one.defines:
        trial = context.copy()
        found = list(_statement_steps(context.copy(), one, trial))
        if TERMS in context.loose or any(isinstance(step, Unread) for step in found):  # an equation
            return _read_statement(context, _as_equation(one), around, supply, alone)
        context.take(trial)
        return found
    return list(_statement_steps(context.copy(), one, context))


def _declare_bound(context: Context, one: DisplayStatement) -> DisplayStatement:
    r"""A statement without its conditions `x \in \mathbb{R}^d`, which say how x is read."""
    kept = []
    for chain in one.conditions:
        name = symbol_name(chain.exprs[0])
        base = chain.exprs[-1].base if isinstance(chain.exprs[-1], Sup) else chain.exprs[-1]
        free = name not in context.symbols or name in context.inferred
        if chain.ops != ("in",) or base != Name(r"\mathbb{R}") or not free or name is None:
            kept.append(chain)
            continue
        trial = context.copy()
        trial.opens_sizes, trial.understood = True, []
        try:
            kind = domain_of(Elaborator(trial, line=one.line), chain.exprs[-1]).type
        except (Unreadable, ShapeMismatch):
            context.caveats.append(_beside(context, one.line, to_latex(chain)))
            continue
        context.symbols |= {n: s for n, s in trial.symbols.items() if n not in context.symbols}
        context.declare(Symbol(name, "array", one.line, context.level, kind))
        context.inferred[name] = f"{to_latex(chain)} (line {one.line} says so)"
    return one if len(kept) == len(one.conditions) else replace(one, conditions=tuple(kept))


def _as_equation(one: DisplayStatement) -> DisplayStatement:
    """A statement with `=` in the place of `:=`."""
    chain = one.statement.chains[0]
    chain = replace(chain, ops=tuple("=" if op == ":=" else op for op in chain.ops))
    return replace(one, statement=Statement((chain,)))


def _read_alone(
    context: Context, written: DisplayStatement, around: Around | None, supply: Supply | None, judge: Judge
) -> list[Step | Unread] | None:
    """The steps of a statement whose symbols are read by itself alone.

    If need be sums are broadcast, and arrays with dots, powers of matrices or derivatives are symbols of their own.

    Args:
        context: What was known before the statement; it is changed.
        written: The statement.
        around: What stands around its display.
        supply: Declares what is missing.
        judge: Says why a step cannot be read.

    Returns:
        None if it cannot be read like this either.
    """
    context.understood = []
    context.forget_readings(written.line)
    inferred = _has_undeclared(context, written)  # else what does not fit is false
    notes: list[tuple[int, str]] = []
    while True:
        trial = context.copy()
        trial.understood = []
        found = _read_statement(trial, written, around, supply, alone=True)
        why = _unreadable(found, judge)
        fitting = (form for form, words in LOOSENS.items() if any(one in why for one in words))
        form = next(
            (form for form in fitting if form not in context.loose),
            TERMS if why and inferred and "not understood" not in why else "",
        )
        if "stand in one sum" in why and context.broadcast is None:
            context.broadcast = context.level
            notes.append((written.line, f"read with sums that are broadcast: {written.source}"))
        elif form and TERMS not in context.loose:
            context.loose = context.loose | {form} if form != TERMS else frozenset([TERMS])
            if form == TERMS and (shorter := _without_domain(written)) is not written:
                written = shorter
                notes.append((written.line, f"its domain is not checked: {written.source}"))
            notes.append((written.line, f"read with {form} as symbols of their own: {written.source}"))
        else:
            context.understood = [*trial.understood, *notes]
            return None if why else found


def _without_domain(one: DisplayStatement) -> DisplayStatement:
    r"""A statement without the domain at the end of its chain, `A = B \in \mathbb{R}^{n \times n}`."""
    chains = one.statement.chains
    if one.statement.arrows or len(chains) != 1 or len(chains[0].ops) < 2 or chains[0].ops[-1] != "in":
        return one
    kept = Chain(chains[0].exprs[:-1], chains[0].ops[:-1], chains[0].lines[:-1])
    return replace(one, statement=Statement((kept,)), parts=one.parts[:-1])


def _has_undeclared(context: Context, one: DisplayStatement) -> bool:
    """Whether a statement has a symbol that nothing declares, with its index or without."""
    chains = one.statement.chains
    bound = {name for node in walk(chains) if isinstance(node, Big) for name in bound_letters(node)}
    known = bound | set(context.symbols)
    names = {name for chain in chains for name in whole_names(chain) if not is_constant(name)}
    return any(name not in known and name.split("_{")[0] not in known for name in names)


def _unreadable(steps: list[Step | Unread], judge: Judge) -> str:
    """Why the first of some steps that cannot be read cannot, '' if all can."""
    reasons = (one.message if isinstance(one, Unread) else judge(one) for one in steps)
    return next((why for why in reasons if why), "")


def _beside(context: Context, line: int, text: str) -> Caveat:
    """What a formula that was not read leaves open for the relation beside it: it may be its condition."""
    return Caveat(line, shorten_quote(text), context.level, None, whole=True, written=bool(_PLACED.match(text)))


_PLACED = re.compile(r"\s*\\text\w*\s*\{\s*(?:on|for|in|if|when|where|over|at|with|within|inside|near)\b[^{}]*\}\s*\S")


def _is_bare(one: DisplayStatement) -> bool:
    """Whether a statement is an expression without a relation."""
    statement = one.statement
    return not statement.arrows and len(statement.chains) == 1 and statement.chains[0].alone


def _relations_in_brackets(one: DisplayStatement) -> list[Chain]:
    """The relations of an expression that is nothing but these in brackets: `[x = 1]`."""
    chains = one.statement.chains
    body = chains[0].exprs[0] if len(chains) == 1 and chains[0].alone else None
    return [item for item in body.items if not item.alone] if isinstance(body, Group) else []


def _is_declaration(context: Context, one: DisplayStatement) -> bool:
    """Whether a statement says where a symbol lives that is not declared; `inference` takes it up."""
    chains = one.statement.chains
    if len(chains) != 1 or chains[0].ops != ("in",):
        return False
    name = symbol_name(chains[0].exprs[0])
    return name is not None and (name not in context.symbols or name in context.inferred)


def _is_map(one: DisplayStatement) -> bool:
    r"""Whether a statement says between which sets a function goes: `f : \mathbb{R}^n \to \mathbb{R}`."""
    ops = one.statement.chains[0].ops
    return len(one.statement.chains) == 1 and (ops[:1] == ("mapsto",) if len(ops) == 1 else ops[:1] == (":",))


def _is_law(one: DisplayStatement) -> bool:
    """Whether a statement says which law a symbol has."""
    statement = one.statement
    if statement.arrows or len(statement.chains) != 1:
        return False
    ops = statement.chains[0].ops  # and that under a condition: `X \mid Y = y \sim \mathcal{N}(0, 1)`
    return ops == ("sim",) or (ops[:1] == ("mid",) and ops[-1] == "sim" and set(ops[1:-1]) <= {"=", "in"})


def _without_last_law(context: Context, one: DisplayStatement) -> DisplayStatement:
    r"""A statement without the law at its end: `x = a z + b \sim \mathcal{N}(b, a^2)`."""
    chains = one.statement.chains
    if one.statement.arrows or len(chains) != 1 or len(chains[0].ops) < 2 or chains[0].ops[-1] != "sim":
        return one
    context.understood.append((one.line, f"declared by the display: {one.source}, its law unused"))
    context.caveats.append(_unused_law(context, one))
    kept = Chain(chains[0].exprs[:-1], chains[0].ops[:-1], chains[0].lines[:-1])
    return replace(one, statement=Statement((kept,)), parts=one.parts[:-1])


def _without_map(context: Context, one: DisplayStatement) -> DisplayStatement:
    r"""A statement without the sets at its end, `F = g \circ f : A \to B`, or its argument, `x \mapsto y`."""
    chains = one.statement.chains
    if one.statement.arrows or len(chains) != 1 or len(chains[0].ops) < 2:
        return one
    chain, parts, note = chains[0], one.parts, ""
    if chain.ops[-2:] == (":", "->"):
        chain = Chain(chain.exprs[:-2], chain.ops[:-2], chain.lines[:-2])
        parts, note = parts[:-2], "its sets unused"
    elif chain.ops[0] == "mapsto":
        chain = Chain(chain.exprs[1:], chain.ops[1:], chain.lines[1:])
        parts, note = parts[1:], "its argument unused"
    if not note:
        return one
    context.understood.append((one.line, f"declared by the display: {one.source}, {note}"))
    return replace(one, statement=Statement((chain,)), parts=parts)


def _unused_law(context: Context, one: DisplayStatement) -> Caveat:
    """What a law that is not used leaves open: averages of its symbols."""
    names = frozenset(all_names(one.statement.chains[0].exprs[0])) & set(context.symbols)
    return Caveat(one.line, shorten_quote(one.source), context.level, names or None, random=True, plain=True)


def _sets_value(context: Context, one: DisplayStatement) -> bool:
    """Whether a statement gives a number to a symbol that nothing declares or defines: `D = 3`."""
    chains = one.statement.chains
    if len(chains) != 1 or one.statement.arrows or chains[0].ops != ("=",):
        return False
    left, right = chains[0].exprs
    name = symbol_name(left.base if isinstance(left, Sup) else left)
    number = isinstance(right, Num) or (isinstance(right, Minus) and isinstance(right.body, Num))
    symbol = context.symbols.get(name or "")
    inner = left.base if isinstance(left, Sup) else left
    array = context.symbols.get(symbol_name(inner.base) or "") if isinstance(inner, Sub) else None
    if array is not None and array.name not in context.inferred and has_entries(array):
        return False  # of an entry of a declared array, which the context knows
    free = symbol is None or (name in context.inferred and symbol.term is None)
    return name is not None and number and free and name not in context.dropped and not is_opaque(name)


def _find_update(one: DisplayStatement) -> str | None:
    """The symbol that `x := x - g` gives another value, None of any other statement."""
    chains = one.statement.chains
    if len(chains) != 1 or chains[0].ops != (":=",):
        return None
    name = symbol_name(chains[0].exprs[0])
    return name if name in whole_names(chains[0].exprs[1]) else None


def _is_definition(one: DisplayStatement) -> bool:
    return one.defines or (len(one.statement.chains) == 1 and one.statement.chains[0].ops[:1] == (":=",))


def _without_definition(
    context: Context, one: DisplayStatement, around: Around, infer: bool = False
) -> DisplayStatement | None:
    """A statement without the equation that defines its first symbol, which enters the context; None if that is all."""
    if len(one.statement.chains) != 1 or one.statement.arrows or one.conditions or one.offered or one.defines:
        return one
    chain = one.statement.chains[0]
    if infer and (line := find_same_definition(context, one)):
        text = f"{ONCE_MORE}${' = '.join(one.parts[:2])}$ (line {line} is read as one: nothing is compared)"
        context.understood.append((one.line, text))
        return _without_first_side(one, chain)
    try:
        name = (infer and definable(context, chain)) or (
            find_defined_symbol(context, chain, around) if chain.ops else ""
        )
    except RecursionError:
        return one  # reading it as a step reports that
    if not name or is_stated_above(context, name, chain.exprs[1]):
        return one
    trial = context.copy()
    trial.understood = []
    inferred = infer and name in trial.inferred
    if inferred:
        trial.forget(name, one.line)
    first = Chain(chain.exprs[:2], chain.ops[:1], chain.lines[:1])
    try:
        Reader(trial, Paragraph(one.line, one.source)).define_chain(first, one.source, one.line)
    except (Unreadable, ShapeMismatch):
        return one
    message = f"{BY_DISPLAY}${' = '.join(one.parts[:2])}$ (nothing else determines {name})"
    before, after = context.symbols.get(name), trial.symbols.get(name)
    known = None if inferred or before is None or after is None else after.term
    if known is not None and before is not None and before.type != known.type:
        return one
    context.symbols, context.dropped, context.hypotheses = trial.symbols, trial.dropped, trial.hypotheses
    context.inferred = trial.inferred
    context.understood += [*trial.understood, (one.line, message)]
    return _without_first_side(one, chain)


def _without_first_side(one: DisplayStatement, chain: Chain) -> DisplayStatement | None:
    """A statement of one chain without its first side; None where nothing is left to compare."""
    if len(chain.ops) == 1:
        return None
    rest = Chain(chain.exprs[1:], chain.ops[1:], chain.lines[1:])
    return replace(one, statement=Statement((rest,)), parts=one.parts[1:])


def _statement_steps(context: Context, one: DisplayStatement, outer: Context) -> Iterator[Step | Unread]:
    """The steps of one statement: its relations, or its implications."""
    statement = one.statement
    claims = [c for c in one.beside if not _binds(context, c)]
    if any(c.alone and isinstance(c.exprs[0], Dots) for c in one.offered):  # `x = 1, \\dots, n`
        one, claims = replace(one, offered=(*one.beside, *one.offered)), []
    more = tuple(c for c in one.beside if c not in claims and c not in one.offered)
    one = replace(one, offered=(*one.offered, *more)) if more else one
    _doubt_claims(context, one, claims)
    open_ones = [condition for condition in spread(one.offered) if not _binds(context, condition)]
    if open_ones and one.lenient:
        kept = tuple(each for each in spread(one.offered) if each not in open_ones)
        one = replace(one, offered=kept, unread_words=(*one.unread_words, *map(to_latex, open_ones)))
    elif open_ones:
        message = (
            f"beside the statement, '{to_latex(open_ones[0])}' could be a condition or a claim: write \\text{{for}} "
            "before a condition, and give a claim a row of its own"
        )
        yield Unread(one.tag, one.line, one.source, message)
        return
    one = replace(one, conditions=(*one.conditions, *one.offered)) if one.offered else one
    chain = statement.chains[0]
    if _is_definition(one):
        try:
            Reader(outer, Paragraph(one.line, one.source)).define_chain(chain, one.source, one.line)
        except Unreadable as error:
            yield Unread(one.tag, error.line or one.line, one.source, error.message)
        return
    if statement.arrows:
        yield from _implications(context, one)
        return
    if chain.alone:
        message = "the display has no relation: there is nothing to check"
        if _relations_in_brackets(one):
            message = "a relation in brackets is not read: write \\text{for} before a condition, a claim without"
        yield Unread(one.tag, one.line, one.source, message, remark=True)
        return
    yield from _chain_steps(context, one, chain, [])
    for claim in claims:  # `a = b, \\quad c = d`
        yield from _chain_steps(context, stand_apart(one, claim), claim, [])


def _doubt_claims(context: Context, one: DisplayStatement, claims: list[Chain]) -> None:
    """Keep as caveats the claims beside a statement: each may be a condition of it all the same."""
    for claim in claims:
        about = frozenset(all_names(claim) & set(context.symbols))
        quote = f"{one.source}, {to_latex(claim)}"
        context.caveats.append(Caveat(one.line, quote, context.level, about, to_latex(claim), written=True))


def _binds(context: Context, condition: Chain) -> bool:
    """Whether a condition is about sizes and indices, or about a letter that it declares."""
    if condition.alone:
        return True
    elab = Elaborator(context)
    if condition.ops == ("in",):
        known = elab.lookup(symbol_name(condition.exprs[0]) or "")
        return known is None or known.kind == "index"
    names = [(e, symbol_name(e)) for e in condition.exprs]
    free = [n for e, n in names if isinstance(e, Name) and n is not None and elab.lookup(n) is None]
    return bool(free) or all(elab.is_integer(e) for e in condition.exprs)


def _free_indices(context: Context, one: DisplayStatement) -> None:
    r"""Forget what the letters of `i = 1, \dots, n` after a statement were read as."""
    for chain in spread((*one.conditions, *one.offered, *one.beside)):
        name = symbol_name(chain.exprs[0]) or ""
        if chain.ops == ("in",) and isinstance(chain.exprs[1], Group) and name in context.inferred:
            context.forget(name, one.line)
            context.dropped.pop(name, None)


def _chain_steps(
    context: Context, one: DisplayStatement, chain: Chain, assumed: list[tuple[Chain, list[Chain]]]
) -> Iterator[Step]:
    first = sum(len(c.exprs) for c in one.statement.chains[: one.statement.chains.index(chain)])
    for k, op in enumerate(chain.ops):
        left, right, line = chain.exprs[k], chain.exprs[k + 1], chain.lines[k]
        text = f"{one.parts[first + k]} {SIGNS.get(op, op)} {one.parts[first + k + 1]}"
        tag = one.tags.get(line, one.tag)
        if len(one.statement.chains) == 1:
            tag = one.own_tags.get(k, tag)
        options = list(one.options.get(line, ()))
        many = len(chain.ops) > 1
        step = Step(tag, line, text, context, left, op, right, options, assumed, one.conditions, many, one.quoted)
        if context.repeated is not None:
            step = with_repeated_indices(step)
        step.of, step.unread_words = chain, one.unread_words
        step.beside = [
            FarRelation(line, words, formula) for words, formula in zip(one.quoted, one.reasons, strict=True)
        ]
        yield step


def _implications(context: Context, one: DisplayStatement) -> Iterator[Step | Unread]:
    """`P => Q`: each relation of Q under the hypotheses P; `<=>` both ways."""
    statement, groups = one.statement, one.statement.group_chains()
    conditions = list(one.conditions)
    for k, arrow in enumerate(statement.arrows):
        before, after, line = groups[k], groups[k + 1], statement.lines[k]
        ways = [(before, after), (after, before)] if arrow == "<=>" else [(before, after)]
        lone = next((chain for chain in (*before, *after) if chain.alone), None)
        if lone is not None:
            message = f"'{to_latex(lone)}' has no relation: there is nothing to check on that side of the implication"
            yield Unread(one.tag, line, one.source, message)
            continue
        for premises, conclusions in ways:
            antecedent = " and ".join(to_latex(p) for p in premises)
            for conclusion in conclusions:
                for step in _chain_steps(context, one, conclusion, [(p, conditions) for p in premises]):
                    options = step.options or list(one.options.get(line, ()))
                    yield replace(step, line=line, text=f"{antecedent} \\implies {step.text}", options=options)
