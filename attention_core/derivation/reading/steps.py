"""The steps of a document.

From a document to its steps: blocks are read in turn, declarations enter the context, displays become relations.
A place that cannot be read is a step of its own that says so, and the rest of the document goes on.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

from attention_core.derivation.document.blocks import (
    Block,
    Code,
    Display,
    Heading,
    Paragraph,
    is_quotation,
    sentences_of,
)
from attention_core.derivation.document.display import DisplayStatement
from attention_core.derivation.document.source import MAX_BLOCKS, blocks_of
from attention_core.derivation.inference.described import nearest
from attention_core.derivation.inference.infer import Inference
from attention_core.derivation.latex.parse import parse_expression
from attention_core.derivation.latex.printer import symbol_name
from attention_core.derivation.latex.syntax import Unreadable
from attention_core.derivation.reading.array_letters import array_letters
from attention_core.derivation.reading.assumed_relations import infer_assumptions
from attention_core.derivation.reading.case_words import Cases, find_other_cases, split_label
from attention_core.derivation.reading.claimed_sides import equations_in
from attention_core.derivation.reading.complex_numbers import says_complex
from attention_core.derivation.reading.declare import declare
from attention_core.derivation.reading.declared_anew import only_declares
from attention_core.derivation.reading.densities import attach_tables
from attention_core.derivation.reading.derivative_words import take_conventions
from attention_core.derivation.reading.display_roles import Around, complete_displays, constrains, may_constrain
from attention_core.derivation.reading.displays import Judge, Supply, steps_of_display
from attention_core.derivation.reading.domains import require_space
from attention_core.derivation.reading.inline_definitions import take_definitions
from attention_core.derivation.reading.losses import spell_losses
from attention_core.derivation.reading.premises import (
    assume_descriptions,
    caveats_of_descriptions,
    later,
    read_behind,
    read_prose,
    reads_on,
    split_paragraph,
    unread_declaration,
)
from attention_core.derivation.reading.references import (
    CONCLUDES,
    look_up_reasons,
    read_marks,
    relations_of_steps,
    statements_in,
)
from attention_core.derivation.reading.references import Statement as Numbered
from attention_core.derivation.reading.repeated_indices import says_sums
from attention_core.derivation.reading.scope_words import (
    OPENS_CONDITION,
    drop_counts,
    names_document,
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
from attention_core.derivation.reading.sections import Remark, Sections, remarks_of, select_current, sets_scene
from attention_core.derivation.reading.spelled_domains import spell_out, take_descriptions
from attention_core.derivation.reading.spelled_openings import spell_openings
from attention_core.derivation.reading.spelled_phrases import is_order
from attention_core.derivation.reading.spelled_quantifiers import spell_quantifiers
from attention_core.derivation.reading.spelled_roles import drop_roles
from attention_core.derivation.reading.spelled_scopes import spell_scopes
from attention_core.derivation.reading.spelled_signs import spell_signs
from attention_core.derivation.reading.stated_shapes import take_out_shapes
from attention_core.derivation.reading.step import FarRelation, Step, Unread, far_relations_in, far_words_in
from attention_core.derivation.reading.typed_letters import mark_letters
from attention_core.derivation.reading.withdrawals import Passing, find_withdrawal
from attention_core.derivation.terms.context import OVER_ALL, Caveat, Context, Failed, Hypothesis
from attention_core.derivation.words.caveats import caveats_of, chains_of, real_complexes, relation_in
from attention_core.derivation.words.leftovers import left_over
from attention_core.derivation.words.paragraphs import cause_above, going_on, is_declaration, says_domain
from attention_core.derivation.words.phrase_patterns import is_title
from attention_core.derivation.words.vocabulary import PROPERTY

MOST_SHOWN = 200  # characters of a paragraph that cannot be read
QUOTED = 40  # of these, by which a paragraph is known


def steps_of(
    text: str, infer: bool = False, judge: Judge | None = None, formulas: bool = False
) -> tuple[list[Step | Unread], list[tuple[int, str]]]:
    """All steps of a document, and what was understood of its declarations.

    Args:
        text: The document.
        infer: Whether undeclared symbols are read.
        judge: Says why a step cannot be read. A display that cannot as its section uses the symbols is read by itself.
        formulas: Whether all hypotheses are promised to be formulas, whatever the document says.
    """
    context = Context(infers=infer, formal=OVER_ALL if formulas else None)
    blocks = blocks_of(text)
    line, message = _find_end(blocks)
    if line:
        return [Unread(f"line-{line}", line, "", message)], []
    passing = Passing.start(text, blocks)
    codes = [block for block in blocks if isinstance(block, Code)]
    paragraphs = [block for block in blocks if isinstance(block, Paragraph)]
    blocks = [block for block in blocks if not isinstance(block, Code)]
    blocks = take_conventions(context, spell_signs(blocks, infer), infer)
    context.arrays = array_letters(blocks)
    blocks = mark_letters(complete_displays(spell_quantifiers(spell_losses(blocks)))) if infer else blocks
    blocks, roles = drop_roles(spell_openings(blocks)) if infer else (blocks, [])
    blocks = spell_scopes(blocks, context.arrays) if infer else blocks
    ordered = any(sign in block.text for block in blocks for sign in (r"\succ", r"\prec"))
    orders = [one for one in far_relations_in(blocks) if is_order(one.formula)] if ordered else []  # they become words
    blocks = spell_out(blocks, words=infer)
    blocks, described = take_descriptions(blocks) if infer else (blocks, [])
    blocks, inline = take_definitions(blocks) if infer else (blocks, {})
    inference = Inference(blocks, described, inline) if infer else None
    prose = "\n".join(block.text for block in blocks if isinstance(block, Paragraph))
    walk = _Walk(
        context, blocks, statements_in(blocks), codes, remarks_of(blocks), prose, inference, judge, passing=passing
    )
    walk.read_all()
    far_words, far_relations = far_words_in(text, blocks, roles), [*far_relations_in(blocks), *orders]
    headings = [one for one in blocks if isinstance(one, Heading)]
    displays = [one.line for one in blocks if isinstance(one, Display)]
    for step in walk.out:
        if isinstance(step, Step):
            near = partial(_select_near, step, far_relations, headings, displays)
            step.share_words(far_words, far_relations if step.context.formal is None else near())
        else:
            _show_as_written(step, paragraphs, displays)
    return _name_steps(walk.out), context.understood


def _show_as_written(unread: Unread, paragraphs: Sequence[Paragraph], displays: Sequence[int]) -> None:
    """Show the sentences of the document where they were spelled out as formulas before they could not be read."""
    above = [one for one in paragraphs if one.line <= unread.line]
    if not above or unread.id or any(above[-1].line < line <= unread.line for line in displays):
        return
    written = " ".join(above[-1].text.split())
    if unread.text and " ".join(unread.text.split())[:QUOTED] not in written:
        unread.text = written[:MOST_SHOWN]


def _report_fault(block: Block, error: Exception) -> Unread:
    """A block that the checker fails to read, as a step that says so."""
    text = block.text.strip()
    message = "a definition leads back to itself, or a formula is nested too deeply"
    if not isinstance(error, RecursionError):
        message = f"internal error {type(error).__name__}: {error}: please report the document"
    return Unread(f"line-{block.line}", block.line, text if isinstance(block, Display) else "", message)


def _select_near(
    step: Step, relations: list[FarRelation], headings: list[Heading], displays: list[int]
) -> list[FarRelation]:
    """The relations of the prose around a step: of its section, down to the next display, and of those it is part of.

    What leads into another display is that one's own.
    """
    starts, over = [one.line for one in headings], _sections_over(step.line, headings)
    end = min([line for line in (*displays, *starts) if line > step.line], default=None)
    out = []
    for one in relations:
        before = bisect_right(displays, one.line)
        other = before < len(displays) and displays[before] < step.line  # a display of its own
        if one.quote.endswith(":") and (one.line > step.line or other):
            continue
        if _is_declared_anew(step, one) or _is_read_domain(step, one):
            continue
        place = bisect_right(starts, one.line)
        if (end is None or one.line < end) and (not place or starts[place - 1] in over):
            out.append(one)
    return out


_DEFINED = re.compile(r"^\s*(?P<name>\\?[A-Za-z]+(?:_\{?\w+\}?)?)\s*(?::=|=)")


def _is_declared_anew(step: Step, relation: FarRelation) -> bool:
    """Whether a relation says what a symbol is, and a declaration below it says so anew: "$r = 2$. Let $r > 0$"."""
    defined = _DEFINED.match(relation.formula)
    symbol = step.context.symbols.get(defined["name"]) if defined else None
    if symbol is None or symbol.name in step.context.inferred:  # read from the step itself, and not declared
        return False
    return symbol.line > relation.line and symbol.term is None


def _is_read_domain(step: Step, relation: FarRelation) -> bool:
    r"""Whether a relation only says where symbols live, and these are declared so: "Now let $k \in [d]$"."""
    if not only_declares(relation.quote) or not says_domain(relation.formula, relation.line, False):
        return False  # "if $k \in [3]$" restricts what is declared
    names = [symbol_name(chain.exprs[0]) for chain in chains_of(relation.formula, relation.line)]
    known = [step.context.symbols.get(name or "") for name in names]
    return bool(known) and all(one is not None and one.line == relation.line for one in known)


def _sections_over(line: int, headings: list[Heading]) -> set[int]:
    """The lines of the headings whose text holds at a line: those it stands under, and those that set the scene."""
    open_: list[Heading] = []
    scenes: list[Heading] = []
    for one in headings:
        if one.line <= line:
            open_ = [each for each in open_ if each.level < one.level] + [one]
            scenes = [each for each in scenes if each.level <= one.level] + [one] * sets_scene(one.text)
    return {one.line for one in (*open_, *scenes)}


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
    headings: set[int] = field(init=False)  # their lines
    read: set[int] = field(default_factory=set)
    local: list[Hypothesis] = field(default_factory=list)
    last: list[Hypothesis] = field(default_factory=list)
    whole: dict[int, list[Caveat]] = field(default_factory=dict)
    by_remark: dict[int, list[Caveat]] = field(default_factory=dict)
    sections: Sections = field(default_factory=Sections)
    shown: list[Step] = field(default_factory=list)  # the steps of the last display in the section
    cases: Cases = field(default_factory=Cases)
    around_next: list[Caveat] = field(default_factory=list)  # words that lead into the next display
    passing: Passing = field(default_factory=Passing)

    def __post_init__(self) -> None:
        self.headings = {block.line for block in self.blocks if isinstance(block, Heading)}

    def read_all(self) -> None:
        """Read the blocks one by one."""
        for place, block in enumerate(self.blocks):
            try:
                self.block(place)
            except Exception as error:  # a fault of the checker in one block: reported there, and the others are read
                self.out.append(_report_fault(block, error))

    def block(self, place: int) -> None:
        """Read one block."""
        block = self.blocks[place]
        while self.codes and self.codes[0].line < block.line:
            self.context.caveats.append(words_of_code(self.context, self.codes.pop(0)))
        self.passing.labels.reach(self.context, block, self.cases.line)
        if isinstance(block, Heading):
            self.cases.close(self.context)
            self.sections.enter(self.context, block, self.blocks[:place])
            if not names_document(block, self.blocks):
                for sentence in sentences_of(Paragraph(block.line, block.text)) if not is_title(block.text) else ():
                    self.context.caveats += caveats_of(self.context, sentence)
                self.context.caveats += words_of_heading(self.context, block)
                ended = [find_withdrawal(self.context, one) for one in sentences_of(Paragraph(block.line, block.text))]
                self.context.caveats += [one for one in ended if one is not None]
            self.local, self.last, self.around_next, self.shown = [], [], [], []
            self.passing.restart()
        elif isinstance(block, Paragraph):
            if place not in self.read:
                self.paragraph(place, block)
                for sentence in sentences_of(block):
                    self.context.caveats += real_complexes(self.context, sentence)
        elif isinstance(block, Display):
            self.define_inline(place)
            self.display(place, block)

    def is_display(self, place: int) -> bool:
        """Whether a display stands at a place."""
        return place < len(self.blocks) and isinstance(self.blocks[place], Display)

    def paragraph(self, place: int, block: Paragraph) -> None:
        """Read prose: declarations, assumptions, and what holds for the display it leads into."""
        leads = self.is_display(place + 1)
        self.define_inline(place)
        self.state_equations(block)
        if any(says_sums(one.prose) for one in sentences_of(block)):
            self.context.repeated = self.context.level
            self.context.understood.append((block.line, "repeated indices are summed over"))
        if any(says_complex(one.prose) for one in sentences_of(block)) and self.context.imaginary is None:
            self.context.imaginary = self.context.level
        shown = max((one.line for one in self.shown), default=0)
        another = self.passing.items.enter(self.context, block, shown)
        if (unlabelled := self.enter_case(block)) is None:
            return
        block = unlabelled
        if not another and reads_on(self.context, block, self.last):
            self.local = list(self.last) if leads else []
            self.around_next += self.reasons(block) if leads else []
            return
        self.passing.end_temporary(self.context, block, [step.line for step in self.shown])
        self.last, self.around_next = [], []
        self.infer_assumptions(place, block, leads)
        above = {id(one): one for one in self.context.hypotheses}
        declaring, rest = split_paragraph(block, leads)
        if self.inference is not None:
            self.context.caveats += caveats_of_descriptions(self.context, self.inference.described, block)
        if declaring is not None:
            self.out += _declare(self.context, declaring, self.inference is not None)
        self.local = read_prose(self.context, rest, leads) if rest is not None else []
        fresh = [h for h in self.context.hypotheses if id(h) not in above]
        quoted = _leave_to_others(self.context, block, fresh, self.local) if is_quotation(block) else []
        fresh, self.local = ([], []) if quoted else (fresh, self.local)
        self.passing.enter(self.context, block, bool(fresh or self.local), shown)
        self.context.caveats += find_other_cases(self.context, fresh, block, shown, self.blocks[:place])
        for part in (declaring, rest):
            if part is not None:
                behind = place > 0 and isinstance(self.blocks[place - 1], Display)
                lasting, self.around_next = words_of_paragraph(self.context, part, leads, behind)
                self.context.caveats += lasting
        self.context.caveats += quoted
        self.around_next += self.reasons(block) if leads else []

    def infer_assumptions(self, place: int, block: Paragraph, leads: bool) -> None:
        """Declare what the relations that a paragraph assumes need, where symbols are inferred."""
        if self.inference is not None:
            infer_assumptions(self.context, self.inference, place, block, leads)

    def define_inline(self, place: int) -> None:
        """Read the definitions in the sentences of a paragraph; what cannot be read defines nothing."""
        for one in () if self.inference is None else self.inference.inline.get(place, ()):
            trial = self.context.copy()
            trial.understood = []
            found = steps_of_display(trial, one, [], self.around(place), self.supply_at(place), self.judge)
            if all(_says_space(trial, one, step) for step in found):
                steps_of_display(self.context, one, [], self.around(place), self.supply_at(place), self.judge)
            else:
                self.state_equations(Paragraph(one.line, f"${one.text}$"))

    def state_equations(self, block: Paragraph) -> None:
        """Keep what the equations of a paragraph say that symbols are: no display below defines these otherwise."""
        self.context.equations += equations_in(block, self.context.level)

    def enter_case(self, block: Paragraph) -> Paragraph | None:
        """Open the case that a paragraph is labelled with, and return the rest of it, None if that is all."""
        behind = split_label(block)
        if behind is None:
            self.cases.pass_over(self.context, block, bool(self.shown))
            return block
        self.local, self.last, self.around_next, self.shown = [], [], [], []
        return self.cases.open(self.context, block, behind)

    def reasons(self, block: Paragraph, only: int | None = None) -> list[Caveat]:
        """What the reasons in a paragraph leave open, of its first sentences."""
        above = [one for one in self.out if isinstance(one, Step)]
        sentences = sentences_of(block)[:only]
        out = [one for each in sentences for one in look_up_reasons(self.context, each, self.numbered, above)]
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
            if place not in self.by_remark:
                self.by_remark[place] = words_of_remark(self.context, one.sentence, one.declares)
            found = self.by_remark[place]
            out += select_current(self.context, [(caveat, True) for caveat in found])
            if self.inference is not None:  # of symbols that the display will declare
                out += [one for one in found if one.names and not one.names & set(self.context.symbols)]
        return out

    def around(self, place: int) -> Around:
        """What stands around a display in its section."""
        before = [b.text for b in _until_heading(self.blocks[:place][::-1]) if isinstance(b, Display)]
        behind = [b.text for b in _until_heading(self.blocks[place + 1 :]) if isinstance(b, Display)]
        return Around("\n".join(before), "\n".join(behind))

    def display(self, place: int, block: Display) -> None:
        """Read a display under what holds for it alone."""
        context, local = self.context, self.local or self.carried_on(place)
        passing = [*self.around_next, *(inside := words_inside(context, block)), *self.reasons_over(block)]
        next_alone: list[Caveat] = []
        following = self.blocks[place + 1] if place + 1 < len(self.blocks) else None
        leading = [c for c in self.around_next if c.words or c.whole]
        if isinstance(following, Paragraph):
            passing += self.reasons(following, 1) if following.text[:1].islower() or following.text[:1] in "([" else []
            continuation = going_on(following)
            if continuation is not None:
                self.read.add(place + 1)
                self.infer_assumptions(place + 1, continuation, False)
                self.out += _declare(context, continuation, self.inference is not None)
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
        held = {one.text for one in local}
        context.caveats = [one for one in context.caveats if not (one.written and one.formula in held)]
        context.caveats += passing
        found = steps_of_display(context, block, later_blocks, self.around(place), self.supply_at(place), self.judge)
        self.out += attach_tables(found := take_out_shapes(context, found, self.judge), self.supply_at(place))
        self.shown = self.without_counts(found)
        restricting = self.find_restricting(place)
        passed = {id(one) for one in passing}
        context.caveats = [c for c in context.caveats if id(c) not in passed]
        context.hypotheses = [h for h in context.hypotheses if not any(h is one for one in local)]
        context.caveats += [*later(local, context), *(c for c in inside if c.words and OPENS_CONDITION.match(c.quote))]
        # what is not known to be claimed may be a constraint of all that follows
        demands = [one for one in self.shown if may_constrain(one.left, one.right)] if leading else restricting
        context.caveats += relations_of_steps(context, demands)
        self.local, self.last, self.around_next = [], local, next_alone

    def without_counts(self, found: list[Step | Unread]) -> list[Step]:
        """The steps among what a display holds, those of numbers without what headings count."""
        steps = [one for one in found if isinstance(one, Step)]
        for one in steps:
            drop_counts(one, self.headings)
        return steps

    def carried_on(self, place: int) -> list[Hypothesis]:
        """What was assumed for the display right above, where the assumption alone says what its symbols are.

        "For $0 < t < 1$:" in front of two displays is about the t of both, as nothing else names it.
        """
        if not place or not isinstance(self.blocks[place - 1], Display):
            return []
        known = self.context.symbols
        return [
            one
            for one in self.last
            if all(
                n in known and known[n].line == one.line for n in one.mentions if n in known and known[n].kind != "size"
            )
        ]

    def supply_at(self, place: int) -> Supply | None:
        """What declares the missing symbols of a statement of the display at a place, if they are to be inferred."""
        inference = self.inference
        if inference is None:
            return None

        def supply(context: Context, statement: DisplayStatement, left: bool, alone: bool) -> DisplayStatement:
            written = inference.supply(context, place, statement, left, alone)
            assume_descriptions(context, nearest(inference.described, statement.line))
            return written

        return supply

    def find_restricting(self, place: int) -> list[Step]:
        """The steps of the last display that read as hypotheses; they are marked."""
        before = self.blocks[place - 1] if place else None
        led = isinstance(before, Paragraph) and not (is_declaration(before) and before.text.rstrip().endswith("."))
        for one in self.shown:
            with suppress(RecursionError):  # deciding it reports that
                alone = not one.chained and not one.assumed
                one.restricts = alone and constrains(one.context, one.left, one.op, one.right, led, one.conditions)
        return [one for one in self.shown if one.restricts]

    def declared_behind(self, block: Paragraph, leads: bool) -> list[Caveat]:
        """What a paragraph that declares right after a display leaves open for that display."""
        declaring, _ = split_paragraph(block, leads)
        if declaring is None:
            return []
        trial = self.context.copy()
        trial.understood = []
        _declare(trial, declaring, self.inference is not None)
        return words_declared_behind(self.context, trial, declaring)


def _says_space(context: Context, display: Display, step: Step | Unread) -> bool:
    """Whether a step only says in which space what a display defines lies, and that is so."""
    if not isinstance(step, Step) or step.op != "in":
        return False
    try:
        require_space(context, parse_expression(display.text.split(" := ")[0], display.line), step.right, display.line)
    except Unreadable:
        return False
    return True


def _leave_to_others(
    context: Context, block: Paragraph, fresh: list[Hypothesis], local: list[Hypothesis]
) -> list[Caveat]:
    """What a quotation assumes, as caveats: it says what others assume, and is taken out of the context."""
    context.hypotheses = [h for h in context.hypotheses if not any(h is one for one in fresh)]
    lines = range(block.line, block.line + block.text.count("\n") + 1)
    assumed = [one for one in context.understood if one[0] in lines and one[1].startswith("assumed: ")]
    for line, text in assumed:
        context.understood.remove((line, text))
        context.understood.append((line, f"assumed in a quotation, and not here: {text.removeprefix('assumed: ')}"))
    return later([*fresh, *local], context)


def _find_end(blocks: list[Block]) -> tuple[int, str]:
    """The line above which a document that is too long has to be split, and why; (0, '') if it is not."""
    if len(blocks) > MAX_BLOCKS:
        line = blocks[MAX_BLOCKS].line
        return line, f"the document has more than {MAX_BLOCKS} displays and paragraphs: split it above line {line}"
    count = 0
    for block in blocks:
        if isinstance(block, Paragraph) and is_declaration(block):
            count += block.text.count("$") // 2
            if count > MAX_BLOCKS:
                message = f"the declarations have more than {MAX_BLOCKS} formulas: split the document above line "
                return block.line, f"{message}{block.line}"
    return 0, ""


def _declare(context: Context, block: Paragraph, infer: bool) -> list[Step | Unread]:
    try:
        declare(context, block, infer)
    except Unreadable as error:
        line = error.line or block.line
        message = error.message + cause_above(context.failed, error.message)
        context.caveats.append(unread_declaration(context, block))
        if infer and not _relates(block):  # "where $\\theta$ are the weights": nothing that could be checked
            lets = block.text.lstrip().startswith(("Let", "Given")) and not PROPERTY.search(block.text)
            if not lets or any(left_over(one.parts) for one in sentences_of(block)):
                context.failed.append(Failed(block, context.level, error.message))
            context.understood.append((line, f"not read as a declaration: {message}"))
            return []
        context.failed.append(Failed(block, context.level, error.message))
        return [Unread("", line, " ".join(block.text.split())[:MOST_SHOWN], message, sentence=True)]
    except RecursionError:
        context.caveats.append(unread_declaration(context, block))
        return [Unread("", block.line, block.text[:MOST_SHOWN], "the paragraph is nested too deeply", sentence=True)]
    return []


def _relates(block: Paragraph) -> bool:
    """Whether a paragraph opens with a word that assumes, or has a formula with a relation."""
    opens = not re.match(r"[\s,;]*(?:[Ww]here|Let|Given)\b", block.text)
    return opens or any(relation_in(one, block.line) for one in re.split(r"(?<!\\)\$", block.text)[1::2])


def _until_heading(blocks: list[Block]) -> Iterator[Block]:
    for block in blocks:
        if isinstance(block, Heading):
            return
        yield block


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
            step.share_peers(steps)
    return steps
