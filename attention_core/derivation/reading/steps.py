"""The steps of a document.

From a document to its steps: blocks are read in turn, declarations enter the context, displays become relations.
A place that cannot be read is a step of its own that says so, and the rest of the document goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace

from attention_core.derivation.document.blocks import Block, Code, Display, Heading, Paragraph, sentences_of
from attention_core.derivation.document.display import DisplayStatement, statements_of
from attention_core.derivation.document.source import MAX_BLOCKS, blocks_of
from attention_core.derivation.elaborate.expressions import Elaborator
from attention_core.derivation.elaborate.index_ranges import spread
from attention_core.derivation.inference.infer import Inference, definable
from attention_core.derivation.inference.usage import whole_names
from attention_core.derivation.latex.printer import SIGNS, all_names, symbol_name, to_latex
from attention_core.derivation.latex.syntax import Chain, Dots, Name, Statement, Unreadable
from attention_core.derivation.reading.constraints import constrains
from attention_core.derivation.reading.continued import complete_displays
from attention_core.derivation.reading.declare import Reader, declare
from attention_core.derivation.reading.defining import Around, defining
from attention_core.derivation.reading.far_words import far_relations_in, far_words_in
from attention_core.derivation.reading.premises import (
    later,
    read_behind,
    read_prose,
    reads_on,
    split_paragraph,
    unread_declaration,
)
from attention_core.derivation.reading.references import (
    CONCLUDES,
    read_marks,
    referred,
    relations_of_steps,
    statements_in,
)
from attention_core.derivation.reading.references import Statement as Numbered
from attention_core.derivation.reading.scope_words import (
    words_behind,
    words_below,
    words_declared_behind,
    words_inside,
    words_of_code,
    words_of_heading,
    words_of_paragraph,
    words_of_remark,
    words_of_the_whole,
)
from attention_core.derivation.reading.sections import Remark, Sections, about_known, remarks_of
from attention_core.derivation.reading.step import Step, Unread
from attention_core.derivation.terms.context import Caveat, Context, Failed, Hypothesis
from attention_core.derivation.terms.terms import ShapeMismatch
from attention_core.derivation.words.caveats import caveats_of, shorten_quote
from attention_core.derivation.words.paragraphs import cause_above, going_on, is_declaration
from attention_core.derivation.words.phrase_patterns import is_title

Judge = Callable[[Step], str]  # why a step cannot be read, '' if it can


def steps_of(
    text: str, infer: bool = False, judge: Judge | None = None
) -> tuple[list[Step | Unread], list[tuple[int, str]]]:
    """All steps of a document, and what was understood of its declarations.

    Args:
        text: The document.
        infer: Whether undeclared symbols are read.
        judge: Says why a step cannot be read. A display that cannot as its section uses the symbols is read by itself.
    """
    context = Context()
    blocks = blocks_of(text)
    if len(blocks) > MAX_BLOCKS:
        line = blocks[MAX_BLOCKS].line
        message = f"the document has more than {MAX_BLOCKS} displays and paragraphs: split it above line {line}"
        return [Unread(f"line-{line}", line, "", message)], []
    if line := _too_many_formulas(blocks):
        message = f"the declarations have more than {MAX_BLOCKS} formulas: split the document above line {line}"
        return [Unread(f"line-{line}", line, "", message)], []
    codes = [block for block in blocks if isinstance(block, Code)]
    blocks = [block for block in blocks if not isinstance(block, Code)]
    blocks = complete_displays(blocks) if infer else blocks
    inference = Inference(blocks) if infer else None
    prose = "\n".join(block.text for block in blocks if isinstance(block, Paragraph))
    walk = _Walk(context, blocks, statements_in(blocks), codes, remarks_of(blocks), prose, inference, judge)
    for place in range(len(blocks)):
        walk.block(place)
    far_words, far_relations = far_words_in(text, blocks), far_relations_in(blocks)
    for step in walk.out:
        if isinstance(step, Step):
            step.far_words, step.far_relations = far_words, far_relations
    return _name_steps(walk.out), context.understood


@dataclass
class _Walk:
    """The way through the blocks of a document; `local` holds for the next display alone, `last` held for the last."""

    context: Context
    blocks: list[Block]
    numbered: list[Numbered]
    codes: list[Code]  # those that are not passed yet
    remarks: list[Remark]
    words: str  # all prose
    inference: Inference | None = None  # of undeclared symbols
    judge: Judge | None = None
    out: list[Step | Unread] = field(default_factory=list)
    read: set[int] = field(default_factory=set)
    local: list[Hypothesis] = field(default_factory=list)
    last: list[Hypothesis] = field(default_factory=list)
    whole: dict[int, list[Caveat]] = field(default_factory=dict)
    said: dict[int, list[Caveat]] = field(default_factory=dict)  # by remarks
    sections: Sections = field(default_factory=Sections)
    shown: list[Step] = field(default_factory=list)  # the steps of the last display in the section
    around_next: list[Caveat] = field(default_factory=list)  # words that lead into the next display

    def block(self, place: int) -> None:
        """Read one block."""
        block = self.blocks[place]
        while self.codes and self.codes[0].line < block.line:
            self.context.caveats.append(words_of_code(self.context, self.codes.pop(0)))
        if isinstance(block, Heading):
            self.sections.enter(self.context, block, self.blocks[:place])
            for sentence in sentences_of(Paragraph(block.line, block.text)) if not is_title(block.text) else ():
                self.context.caveats += caveats_of(self.context, sentence)
            self.context.caveats += words_of_heading(self.context, block)
            self.local, self.last, self.around_next, self.shown = [], [], [], []
        elif isinstance(block, Paragraph):
            if place not in self.read:
                self.paragraph(place, block)
        elif isinstance(block, Display):
            self.display(place, block)

    def is_display(self, place: int) -> bool:
        """Whether a display stands at a place."""
        return place < len(self.blocks) and isinstance(self.blocks[place], Display)

    def paragraph(self, place: int, block: Paragraph) -> None:
        """Read prose: declarations, assumptions, and what holds for the display it leads into."""
        leads = self.is_display(place + 1)
        if reads_on(self.context, block, self.last):
            self.local = list(self.last) if leads else []
            self.around_next += self.reasons(block) if leads else []
            return
        self.last, self.around_next = [], []
        declaring, rest = split_paragraph(block, leads)
        if declaring is not None:
            self.out += _declare(self.context, declaring)
        self.local = read_prose(self.context, rest, leads) if rest is not None else []
        for part in (declaring, rest):
            if part is not None:
                behind = place > 0 and isinstance(self.blocks[place - 1], Display)
                lasting, self.around_next = words_of_paragraph(self.context, part, leads, behind)
                self.context.caveats += lasting
        self.around_next += self.reasons(block) if leads else []

    def reasons(self, block: Paragraph, only: int | None = None) -> list[Caveat]:
        """What the reasons in a paragraph leave open, of its first sentences."""
        above = [one for one in self.out if isinstance(one, Step)]
        sentences = sentences_of(block)[:only]
        out = [one for each in sentences for one in referred(self.context, each, self.numbered, above)]
        if only is None and any(CONCLUDES.match(each.prose) for each in sentences):
            out += relations_of_steps(self.context, self.shown)
        return out

    def reasons_over(self, block: Display) -> list[Caveat]:
        """What the marks over the relations of a display leave open."""
        above = [one for one in self.out if isinstance(one, Step)]
        return read_marks(self.context, block, self.numbered, above, self.words)

    def farther_down(self, place: int) -> list[Caveat]:
        """What sentences from a place on say of the whole section."""
        out: list[Caveat] = []
        near = True  # no other display stands between
        for k in range(place, len(self.blocks)):
            block = self.blocks[k]
            if isinstance(block, Heading):
                break
            near = near and not isinstance(block, Display)
            if isinstance(block, Paragraph) and near:
                out += words_below(self.context, block, self.is_display(k + 1))
            if isinstance(block, Paragraph):
                if k not in self.whole:
                    self.whole[k] = words_of_the_whole(self.context, block)
                out += self.whole[k]
        end = next((b.line for b in self.blocks[place:] if isinstance(b, Heading)), None)
        codes = [one for one in self.codes if end is None or one.line < end]
        return out + [words_of_code(self.context, one) for one in codes] + self.remarks_below(end)

    def remarks_below(self, line: int | None) -> list[Caveat]:
        """What sentences of the sections from a line on say of the steps above them."""
        out: list[Caveat] = []
        for place, one in enumerate(self.remarks):
            if line is None or one.sentence.line < line:
                continue
            if place not in self.said:
                self.said[place] = words_of_remark(self.context, one.sentence, one.declares)
            out += about_known(self.context, [(caveat, True) for caveat in self.said[place]])
        return out

    def around(self, place: int) -> Around:
        """What stands around a display in its section."""
        before = [b.text for b in _until_heading(self.blocks[:place][::-1]) if isinstance(b, Display)]
        behind = [b.text for b in _until_heading(self.blocks[place + 1 :]) if isinstance(b, Display)]
        return Around("\n".join(before), "\n".join(behind))

    def display(self, place: int, block: Display) -> None:
        """Read a display under what holds for it alone."""
        context, local = self.context, self.local
        passing = [*self.around_next, *words_inside(context, block), *self.reasons_over(block)]
        next_alone: list[Caveat] = []
        following = self.blocks[place + 1] if place + 1 < len(self.blocks) else None
        leading = [c for c in self.around_next if c.words or c.whole]
        if isinstance(following, Paragraph):
            passing += self.reasons(following, 1) if following.text[:1].islower() or following.text[:1] in "([" else []
            continuation = going_on(following)
            if continuation is not None:
                self.read.add(place + 1)
                self.out += _declare(context, continuation)
                lasting, next_alone = words_of_paragraph(context, continuation, self.is_display(place + 2), True)
                context.caveats += lasting
            elif is_declaration(following):
                passing += self.declared_behind(following, self.is_display(place + 2))
            else:
                behind, more = read_behind(context, following, self.is_display(place + 2))
                local = local + behind
                context.caveats += more
                passing += words_behind(context, following, self.is_display(place + 2), bool(behind))
        passing += self.farther_down(place + (2 if isinstance(following, Paragraph) else 1))
        later_blocks = [b for b in _until_heading(self.blocks[place + 1 :]) if isinstance(b, Paragraph)]
        context.hypotheses += local
        context.caveats += passing
        found = _display(context, block, later_blocks, self.around(place), self.supply_at(place), self.judge)
        self.out += found
        self.shown = [one for one in found if isinstance(one, Step)]
        restricting = self.find_restricting(place)
        context.caveats = [c for c in context.caveats if not any(c is one for one in passing)]
        context.hypotheses = [h for h in context.hypotheses if not any(h is one for one in local)]
        context.caveats += later(local, context)
        # what is not known to be claimed may be a constraint of all that follows
        context.caveats += relations_of_steps(context, self.shown if leading else restricting)
        self.local, self.last, self.around_next = [], local, next_alone

    def supply_at(self, place: int) -> Supply | None:
        """What declares the missing symbols of a statement of the display at a place, if they are to be inferred."""
        inference = self.inference
        if inference is None:
            return None
        return lambda context, statement, left, alone: inference.supply(context, place, statement, left, alone)

    def find_restricting(self, place: int) -> list[Step]:
        """The steps of the last display that read as hypotheses; they are marked."""
        before = self.blocks[place - 1] if place else None
        led = isinstance(before, Paragraph) and not (is_declaration(before) and before.text.rstrip().endswith("."))
        for one in self.shown:
            with suppress(RecursionError):  # whoever decides it says so
                alone = not one.chained and not one.assumed
                one.restricts = alone and constrains(one.context, one.left, one.op, one.right, led, one.conditions)
        return [one for one in self.shown if one.restricts]

    def declared_behind(self, block: Paragraph, leads: bool) -> list[Caveat]:
        """What a paragraph that declares right behind a display leaves open for that display."""
        declaring, _ = split_paragraph(block, leads)
        if declaring is None:
            return []
        trial = self.context.copy()
        trial.understood = []
        _declare(trial, declaring)
        return words_declared_behind(self.context, trial, declaring)


def _too_many_formulas(blocks: list[Block]) -> int:
    """The line of the paragraph that brings the formulas of all declarations above what one document may have, or 0."""
    count = 0
    for block in blocks:
        if isinstance(block, Paragraph) and is_declaration(block):
            count += block.text.count("$") // 2
            if count > MAX_BLOCKS:
                return block.line
    return 0


def _declare(context: Context, block: Paragraph) -> list[Step | Unread]:
    try:
        declare(context, block)
    except Unreadable as error:
        line = error.line or block.line
        message = error.message + cause_above(context.failed, error.message)
        context.caveats.append(unread_declaration(context, block))
        context.failed.append(Failed(block, context.level, error.message))
        return [Unread("", line, " ".join(block.text.split())[:200], message)]
    except RecursionError:
        context.caveats.append(unread_declaration(context, block))
        return [Unread("", block.line, block.text[:200], "the paragraph is nested too deeply")]
    return []


def _until_heading(blocks: list[Block]) -> Iterator[Block]:
    for block in blocks:
        if isinstance(block, Heading):
            return
        yield block


Supply = Callable[[Context, DisplayStatement, bool, bool], DisplayStatement]


def _display(
    context: Context,
    block: Display,
    later: list[Paragraph],
    around: Around | None = None,
    supply: Supply | None = None,
    judge: Judge | None = None,
) -> list[Step | Unread]:
    try:
        statements = statements_of(block)
    except Unreadable as error:
        return [
            Unread("", error.line or block.line, " ".join(block.text.split())[:200], error.message, list(block.options))
        ]
    out: list[Step | Unread] = []
    asides: list[Caveat] = []
    for written_one in statements:
        if supply is not None:
            if _is_bare(written_one):
                context.understood.append((written_one.line, f"nothing to check: {written_one.source}"))
                asides.append(_beside(context, written_one.line, written_one.source))
                continue
            if _is_declaration(context, written_one):
                context.understood.append((written_one.line, f"declared by the display: {written_one.source}"))
                continue
            if _is_law(written_one):
                context.understood.append((written_one.line, f"declared by the display: {written_one.source}, unused"))
                context.caveats.append(_unused_law(context, written_one))
                continue
            if (updated := _find_update(written_one)) is not None:
                context.understood.append((written_one.line, f"an update, which states nothing: {written_one.source}"))
                context.forget(updated, written_one.line)
                continue
        before = None if supply is None or judge is None else context.copy()
        found = _read_statement(context, written_one, around, supply)
        if before is not None and judge is not None and (why := _unreadable(found, judge)):
            again = _read_alone(before, written_one, around, supply, judge)
            if again is not None:
                found = again
                context.understood += before.understood
                for one in again:
                    if isinstance(one, Step):
                        one.strange = why
        out += found
    unread = [one for one in out if isinstance(one, Unread)]
    for step in out:
        if isinstance(step, Step):
            step.later = later
            near = [one for one in unread if one.remark or one.line == step.line]
            step.context.caveats += [*asides, *(_beside(context, one.line, one.text) for one in near)]
    return out


def _read_statement(
    context: Context, written: DisplayStatement, around: Around | None, supply: Supply | None, alone: bool = False
) -> list[Step | Unread]:
    """The steps of one statement; what it defines enters the context. `alone`: no other display is looked at."""
    one: DisplayStatement | None = written if supply is None else supply(context, written, False, alone)
    if around is not None and one is not None:
        one = _without_definition(context, one, around, supply is not None)
    if one is None:
        return []
    if supply is not None and not _is_definition(one):
        one = supply(context, one, True, alone)
    return list(_statement_steps(context.copy(), one, context))


def _read_alone(
    context: Context, written: DisplayStatement, around: Around | None, supply: Supply | None, judge: Judge
) -> list[Step | Unread] | None:
    """The steps of a statement whose symbols are read by itself alone, with sums that are broadcast if need be.

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
    trial = context.copy()
    found = _read_statement(trial, written, around, supply, alone=True)
    why = _unreadable(found, judge)
    if "stand in one sum" in why:
        trial, trial.broadcast = context.copy(), context.level
        found = _read_statement(trial, written, around, supply, alone=True)
        why = _unreadable(found, judge)
        trial.understood.append((written.line, f"read with sums that are broadcast: {written.source}"))
    context.understood = trial.understood
    return None if why else found


def _unreadable(steps: list[Step | Unread], judge: Judge) -> str:
    """Why the first of some steps that cannot be read cannot, '' if all can."""
    reasons = (one.message if isinstance(one, Unread) else judge(one) for one in steps)
    return next((why for why in reasons if why), "")


def _beside(context: Context, line: int, text: str) -> Caveat:
    """What a formula that was not read leaves open for the relation beside it: it may be its condition."""
    return Caveat(line, shorten_quote(text), context.level, None, whole=True)


def _is_bare(one: DisplayStatement) -> bool:
    """Whether a statement is an expression without a relation."""
    statement = one.statement
    return not statement.arrows and len(statement.chains) == 1 and statement.chains[0].alone


def _is_declaration(context: Context, one: DisplayStatement) -> bool:
    """Whether a statement says where a symbol lives that is not declared; `inference` takes it up."""
    chains = one.statement.chains
    if len(chains) != 1 or chains[0].ops != ("in",):
        return False
    name = symbol_name(chains[0].exprs[0])
    return name is not None and (name not in context.symbols or name in context.inferred)


def _is_law(one: DisplayStatement) -> bool:
    """Whether a statement says which law a symbol has."""
    statement = one.statement
    return not statement.arrows and len(statement.chains) == 1 and statement.chains[0].ops == ("sim",)


def _unused_law(context: Context, one: DisplayStatement) -> Caveat:
    """What a law that is not used leaves open: averages of its symbols."""
    names = frozenset(all_names(one.statement.chains[0].exprs[0])) & set(context.symbols)
    return Caveat(one.line, shorten_quote(one.source), context.level, names or None, random=True, plain=True)


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
    try:
        name = (infer and definable(context, chain)) or (defining(context, chain, around) if chain.ops else "")
    except RecursionError:
        return one  # whoever reads it as a step says so
    if not name:
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
    message = f"defined by the display: ${' = '.join(one.parts[:2])}$ (nothing else determines {name})"
    before, after = context.symbols.get(name), trial.symbols.get(name)
    if (
        not inferred
        and before is not None
        and after is not None
        and after.term is not None
        and before.type != after.term.type
    ):
        return one
    context.symbols, context.dropped, context.hypotheses = trial.symbols, trial.dropped, trial.hypotheses
    context.inferred = trial.inferred
    context.understood += [*trial.understood, (one.line, message)]
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
    one = replace(one, offered=(*one.offered, *(c for c in one.beside if c not in claims and c not in one.offered)))
    for claim in claims:  # it may be a condition all the same
        about = frozenset(all_names(claim) & set(context.symbols))
        quote = f"{one.source}, {to_latex(claim)}"
        context.caveats.append(Caveat(one.line, quote, context.level, about, to_latex(claim)))
    for condition in spread(one.offered):
        if not _binds(context, condition):
            yield Unread(
                one.tag,
                one.line,
                one.source,
                f"beside the statement, '{to_latex(condition)}' could be a condition or a claim: write \\text{{for}} "
                "before a condition, and give a claim a row of its own",
            )
            return
    one = replace(one, conditions=(*one.conditions, *one.offered))
    if _is_definition(one):
        try:
            Reader(outer, Paragraph(one.line, one.source)).define_chain(statement.chains[0], one.source, one.line)
        except Unreadable as error:
            yield Unread(one.tag, error.line or one.line, one.source, error.message)
        return
    if statement.arrows:
        yield from _implications(context, one)
        return
    chain = statement.chains[0]
    if chain.alone:
        message = "the display has no relation: there is nothing to check"
        yield Unread(one.tag, one.line, one.source, message, remark=True)
        return
    yield from _chain_steps(context, one, chain, [])
    for claim in claims:  # `a = b, \\quad c = d`
        parts = tuple(to_latex(e) for e in claim.exprs)
        apart = replace(
            one, statement=Statement((claim,)), parts=parts, own_tags={}, conditions=(), line=claim.lines[0]
        )
        yield from _chain_steps(context, apart, claim, [])


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
        options = one.options.get(line, [])
        many = len(chain.ops) > 1
        yield Step(tag, line, text, context, left, op, right, options, assumed, one.conditions, many, one.quoted)


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
                    options = step.options or one.options.get(line, [])
                    yield replace(step, line=line, text=f"{antecedent} \\implies {step.text}", options=options)


def _name_steps(steps: list[Step | Unread]) -> list[Step | Unread]:
    """Give every step a name of its own: its tag, numbered where several share it, else its line."""
    base = [s.id or f"line-{s.line}" for s in steps]
    counts = {name: base.count(name) for name in base}
    seen: dict[str, int] = {}
    for step, name in zip(steps, base, strict=True):
        seen[name] = seen.get(name, 0) + 1
        step.id = name if counts[name] == 1 else f"{name}[{seen[name]}]"
    random = [s for s in steps if isinstance(s, Step) and s.option("check")]
    for step in random:
        step.sharing = len(random)
    for step in steps:
        if isinstance(step, Step):
            step.peers = steps
    return steps
