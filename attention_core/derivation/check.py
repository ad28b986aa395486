# The way through a document: blocks, declarations, displays, statements, steps, verdicts.
# A step that cannot be read is reported as such and the rest of the document goes on.
"""Checking documents."""

from __future__ import annotations

import re
import time
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from attention_core.derivation.approximate import claim as approximate
from attention_core.derivation.approximate import membership, premise
from attention_core.derivation.ceiling import OutOfTime, ceiling
from attention_core.derivation.decide import Decider
from attention_core.derivation.declare import Reader, declare
from attention_core.derivation.declared import Context
from attention_core.derivation.display import Written, statements_of
from attention_core.derivation.effort import LATE, Effort
from attention_core.derivation.elaborate import Elaborator
from attention_core.derivation.graph import Unsettled
from attention_core.derivation.hypotheses import relations_of, typed_relation
from attention_core.derivation.index_ranges import between, index_ends, spread
from attention_core.derivation.limit_claims import bare_limit, endless, limit_claim
from attention_core.derivation.paragraphs import declared_later, going_on, is_declaration
from attention_core.derivation.parse import parse_statement
from attention_core.derivation.records import GOOD, DocumentReport, Evidence, Finding, StepReport, Verdict
from attention_core.derivation.source import (
    MAX_BLOCKS,
    MAX_CHARACTERS,
    Block,
    Display,
    Heading,
    Option,
    Paragraph,
    blocks_of,
)
from attention_core.derivation.syntax import Chain, Expr, Name, Unreadable
from attention_core.derivation.terms import Relation, ShapeMismatch
from attention_core.derivation.written import SIGNS, name_of, written

CEILING = 1.15  # of a step's time: what it does in one go may take longer than planned


@dataclass
class Step:
    """One relation to decide: its context, its two written sides, hypotheses of its own, options."""

    id: str
    line: int
    text: str
    context: Context
    left: Expr
    op: str
    right: Expr
    options: list[Option] = field(default_factory=list)
    assumed: list[tuple[Chain, list[Chain]]] = field(default_factory=list)
    conditions: tuple[Chain, ...] = ()
    quoted: tuple[str, ...] = ()  # reasons that hold a formula: they are named in the evidence, not checked
    later: list[Paragraph] = field(default_factory=list)  # those below in its section, for advice
    sharing: int = 1  # how many steps of the document are tested with random samples: they share alpha

    def option(self, key: str) -> str:
        """The value of an option, '' without."""
        return next((o.value for o in reversed(self.options) if o.key == key), "")


@dataclass
class Unread:
    """A place that cannot be read."""

    id: str
    line: int
    text: str
    message: str
    options: list[Option] = field(default_factory=list)


def steps_of(text: str) -> tuple[list[Step | Unread], list[tuple[int, str]]]:
    """All steps of a document, and what was understood of its declarations."""
    context = Context()
    out: list[Step | Unread] = []
    blocks = blocks_of(text)
    if len(blocks) > MAX_BLOCKS:
        line = blocks[MAX_BLOCKS].line
        message = f"the document has more than {MAX_BLOCKS} displays and paragraphs: split it above line {line}"
        return [Unread(f"line-{line}", line, "", message)], []
    if line := _too_many_formulas(blocks):
        message = f"the declarations have more than {MAX_BLOCKS} formulas: split the document above line {line}"
        return [Unread(f"line-{line}", line, "", message)], []
    read: set[int] = set()
    for place, block in enumerate(blocks):
        if isinstance(block, Heading):
            context.heading(block.level)
        elif isinstance(block, Paragraph):
            if place not in read and is_declaration(block):
                out += _declare(context, block)
        else:
            following = blocks[place + 1] if place + 1 < len(blocks) else None
            said = going_on(following) if isinstance(following, Paragraph) else None
            if said is not None:
                read.add(place + 1)
                out += _declare(context, said)
            later = [b for b in _until_heading(blocks[place + 1 :]) if isinstance(b, Paragraph)]
            out += _display(context, block, later)
    return _named(out), context.understood


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
        return [Unread("", line, " ".join(block.text.split())[:200], error.message)]
    except RecursionError:
        return [Unread("", block.line, block.text[:200], "the paragraph is nested too deeply")]
    return []


def _until_heading(blocks: list[Block]) -> Iterator[Block]:
    for block in blocks:
        if isinstance(block, Heading):
            return
        yield block


def _display(context: Context, block: Display, later: list[Paragraph]) -> list[Step | Unread]:
    try:
        statements = statements_of(block)
    except Unreadable as error:
        return [
            Unread("", error.line or block.line, " ".join(block.text.split())[:200], error.message, list(block.options))
        ]
    out: list[Step | Unread] = []
    for one in statements:
        here = context.copy()
        out += list(_statement_steps(here, one, context))
    for step in out:
        if isinstance(step, Step):
            step.later = later
    return out


def _statement_steps(context: Context, one: Written, outer: Context) -> Iterator[Step | Unread]:
    """The steps of one statement: its relations, or its implications."""
    statement = one.statement
    for condition in spread(one.offered):
        if not _binds(context, condition):
            yield Unread(
                one.tag,
                one.line,
                one.source,
                f"behind the comma, '{written(condition)}' could be a condition or a claim: write \\text{{for}} before "
                "a condition, and give a claim a row of its own",
            )
            return
    one = replace(one, conditions=(*one.conditions, *one.offered))
    if one.defines or (len(statement.chains) == 1 and statement.chains[0].ops[:1] == (":=",)):
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
        yield Unread(one.tag, one.line, one.source, "the display has no relation: there is nothing to check")
        return
    yield from _chain_steps(context, one, chain, [])


def _binds(context: Context, condition: Chain) -> bool:
    """Whether a condition is about sizes and indices, or about a letter that it declares."""
    if condition.alone:
        return True
    elab = Elaborator(context)
    if condition.ops == ("in",):
        known = elab.lookup(name_of(condition.exprs[0]) or "")
        return known is None or known.kind == "index"
    names = [(e, name_of(e)) for e in condition.exprs]
    free = [n for e, n in names if isinstance(e, Name) and n is not None and elab.lookup(n) is None]
    return bool(free) or all(elab.is_integer(e) for e in condition.exprs)


def _chain_steps(
    context: Context, one: Written, chain: Chain, assumed: list[tuple[Chain, list[Chain]]]
) -> Iterator[Step]:
    first = sum(len(c.exprs) for c in one.statement.chains[: one.statement.chains.index(chain)])
    for k, op in enumerate(chain.ops):
        left, right, line = chain.exprs[k], chain.exprs[k + 1], chain.lines[k]
        text = f"{one.parts[first + k]} {SIGNS.get(op, op)} {one.parts[first + k + 1]}"
        tag = one.tags.get(line, one.tag)
        options = one.options.get(line, [])
        yield Step(tag, line, text, context, left, op, right, options, assumed, one.conditions, one.quoted)


def _implications(context: Context, one: Written) -> Iterator[Step | Unread]:
    """`P => Q`: each relation of Q under the hypotheses P; `<=>` both ways."""
    statement, groups = one.statement, one.statement.grouped()
    conditions = list(one.conditions)
    for k, arrow in enumerate(statement.arrows):
        before, after, line = groups[k], groups[k + 1], statement.lines[k]
        ways = [(before, after), (after, before)] if arrow == "<=>" else [(before, after)]
        lone = next((chain for chain in (*before, *after) if chain.alone), None)
        if lone is not None:
            message = f"'{written(lone)}' has no relation: there is nothing to check on that side of the implication"
            yield Unread(one.tag, line, one.source, message)
            continue
        for premises, conclusions in ways:
            said = " and ".join(written(p) for p in premises)
            for conclusion in conclusions:
                for step in _chain_steps(context, one, conclusion, [(p, conditions) for p in premises]):
                    options = step.options or one.options.get(line, [])
                    yield replace(step, line=line, text=f"{said} \\implies {step.text}", options=options)


def _named(steps: list[Step | Unread]) -> list[Step | Unread]:
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
    return steps


# -- one step ---------------------------------------------------------------------------------------------------------


def claim_of(step: Step) -> tuple[Context, Relation, list[Relation]]:
    """The typed claim of a step with its own hypotheses; raises `Unreadable` or `ShapeMismatch`."""
    context = step.context
    context.applied = 0
    extra: list[Relation] = []
    for chain, conditions in step.assumed:
        if chain.ops == ("->",):
            continue  # says what moves: `limit_claims.moving` reads it
        extra += [premise(step, r) for r in relations_of(context, chain, conditions, step.line)]
    if step.option("assume"):
        parsed = parse_statement(step.option("assume"), step.line)
        extra += [r for chain in parsed.chains for r in relations_of(context, chain, [], step.line)]
    if step.conditions:
        context, more = _bind_conditions(step)
        extra += more
    elab = Elaborator(context, line=step.line)
    op = step.op
    if op == "in":
        return context, membership(step, elab), extra
    unbounded = endless(step, elab)
    if unbounded is not None:
        return context, unbounded, extra
    left, right = elab.term(step.left), elab.term(step.right)
    if op == "->":
        return context, limit_claim(step, elab, left, right), extra
    if op == "=" and (as_limit := bare_limit(left, right, step.line)) is not None:
        return context, as_limit, extra
    if op in ("~", ">>", "<<"):
        return context, approximate(step, elab, left, right), extra
    if op not in ("=", "!=", "<", "<=", ">", ">="):
        raise Unreadable(f"the relation {SIGNS.get(op, op)} is not understood as a step", step.line)
    return context, typed_relation(left, op, right, step.line), extra


def _bind_conditions(step: Step) -> tuple[Context, list[Relation]]:
    """`\\forall j \\ne a`: the index is declared for this step alone."""
    from attention_core.derivation.declared import Declared
    from attention_core.derivation.index_ranges import inferred_range

    context = step.context.copy()
    elab = Elaborator(context, line=step.line)
    rest: list[Chain] = []
    for chain in spread(step.conditions):
        within = chain.ops == ("in",)
        named = [name_of(e) for e in (chain.exprs[:1] if within else chain.exprs)]
        name = next((n for n in named if n is not None and n not in context.symbols), None)
        if name is not None:
            if within:
                first, last = index_ends(elab, chain.exprs[1])
                low, high = elab.size(first), elab.size(last)
            else:
                low, high = inferred_range(elab, name, (step.left, step.right), step.conditions)
            mentions = frozenset(low.symbols() | high.symbols())
            context.symbols[name] = Declared(name, "index", step.line, 9, None, low, high, mentions=mentions)
        elif within:
            chain = between(elab, chain)
        if not chain.alone and chain.ops != ("in",):
            rest.append(chain)
    found = [r for chain in rest for r in relations_of(context, chain, [], step.line)]
    return context, found


def decide_step(step: Step, effort: Effort, advise: bool = False) -> Finding:
    """The verdict on one step; with `advise`, a refuted one is shown with what would make it true, if that is found."""
    from attention_core.derivation.statistics import SECONDS as SAMPLING

    seconds = max(effort.seconds, SAMPLING) if step.option("check") else effort.seconds
    try:
        with ceiling(CEILING * seconds):
            found, decider, extra = _decided(step, effort)
        if advise and decider is not None and found.counterexample is not None:
            from attention_core.derivation.guess import guess

            found = replace(found, evidence=replace(found.evidence, advice=guess(decider, extra)))
        return found
    except Unreadable as error:
        return Finding(Verdict.UNREADABLE, Evidence(error.message + _declared_below(step, error.message)))
    except ShapeMismatch as error:
        return Finding(Verdict.REFUTED, Evidence(f"the shapes do not fit: {error}"))
    except Unsettled as error:
        return Finding(Verdict.UNDECIDED, Evidence(str(error)))
    except OutOfTime:
        return Finding(Verdict.UNDECIDED, Evidence(LATE))
    except RecursionError:
        return Finding(Verdict.UNREADABLE, Evidence("the formula is nested too deeply"))


def _decided(step: Step, effort: Effort) -> tuple[Finding, Decider | None, list[Relation]]:
    """The finding, and who found it under which hypotheses of the step's own (nobody, if random samples did)."""
    context, claim, extra = claim_of(step)
    if step.option("check"):
        from attention_core.derivation.statistics import Sampler, parse_check

        errors = parse_check(step.option("check"), step.line)
        errors = replace(errors, alpha=errors.alpha / max(1, step.sharing))
        return Sampler(context, claim, extra, effort, errors, step.text).decide(), None, extra
    decider = Decider(context, claim, extra, effort)
    return decider.decide(), decider, extra


def _declared_below(step: Step, message: str) -> str:
    """Where a symbol that is missing is declared too late."""
    missing = re.match(r"(\S+) is not (?:declared:|a size:)", message)
    line = declared_later(step.later, missing.group(1)) if missing else 0
    if not line:
        return ""
    return f"; line {line} declares it, below its use: move that above the display, or say it right behind with 'where'"


def internal(error: Exception) -> str:
    """What is said where a step raises what none should: the exception, and where it came from."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return f"internal error {what} ({Path(last.filename).name}, {last.name}): please report the document"


def _found(step: Step, effort: Effort, advise: bool, necessity: bool) -> Finding:
    """The finding on one step, with the reasons that were not checked and, if asked for, what is needed."""
    found = decide_step(step, effort, advise=advise)
    if step.quoted:
        said = "".join(f"; not checked: the reason '{reason}'" for reason in step.quoted)
        evidence = replace(found.evidence, text=found.evidence.text + said)
        found = replace(found, evidence=evidence)
    if necessity and found.verdict in GOOD:
        from attention_core.derivation.necessity import necessity as drop_each

        figures = {**found.evidence.figures, "necessity": drop_each(step, effort)}
        found = replace(found, evidence=replace(found.evidence, figures=figures))
    return found


def report_step(step: Step | Unread, effort: Effort, require: str = "", necessity: bool = False) -> StepReport:
    """Decide and report one step."""
    start = time.perf_counter()
    expected = next((o.value for o in reversed(step.options) if o.key == "expect"), "")
    if expected not in ("", "refuted"):
        step = Unread(step.id, step.line, step.text, f"'% expect: {expected}' is not understood: only 'refuted' is", [])
        expected = ""
    if isinstance(step, Unread):
        return StepReport(step.id, step.line, step.text, Verdict.UNREADABLE, Evidence(step.message), expected=expected)
    try:
        found = _found(step, effort, not expected, necessity)
    except Exception as error:  # a fault of the checker in one step: said there, and the other steps are checked
        found = Finding(Verdict.UNDECIDED, Evidence(internal(error)))
    seconds = time.perf_counter() - start
    about = (step.id, step.line, step.text, found.verdict, found.evidence, found.counterexample)
    return StepReport(*about, seconds, expected, required=require)


def read_document(path_or_text: str | Path) -> tuple[str, str]:
    """Name and text of a document; text is recognised by a line break or a `$`."""
    if isinstance(path_or_text, str) and ("\n" in path_or_text or "$" in path_or_text):
        return "<text>", path_or_text
    path = Path(path_or_text)
    return str(path_or_text), path.read_bytes().decode("utf-8")


def document_steps(path_or_text: str | Path) -> tuple[str, list[Step | Unread], list[tuple[int, str]]]:
    """Name, steps and understood declarations of a document; there is at least one step, if only one that says why."""
    try:
        name, text = read_document(path_or_text)
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        message = f"the file is not UTF-8 (byte {error.start}, in line {line}): save it as UTF-8"
        return str(path_or_text), [Unread(f"line-{line}", line, "", message)], []
    if len(text) > MAX_CHARACTERS:
        return name, [Unread("line-1", 1, "", f"the document has more than {MAX_CHARACTERS} characters: split it")], []
    steps, understood = steps_of(text)
    if not steps:
        steps = [Unread("line-1", 1, "", "the document has no display: there is nothing to check")]
    return name, steps, understood


def check_document(
    path_or_text: str | Path,
    *,
    effort: Effort | None = None,
    require: str = "",
    only: Sequence[str] = (),
    necessity: bool = False,
) -> DocumentReport:
    r"""Check every step of a document.

    Args:
        path_or_text: a path, or the text itself (recognised by a line break or a `$`).
        effort: how much is tried, see `Effort`.
        require: "exact" or "proved" to ask for more than agreement.
        only: names of the steps to check; a name without its number means all that share it.
        necessity: also drop each hypothesis in turn; `evidence.figures["necessity"]` says which are needed.

    Returns:
        The report with one record for each relation, in the order of the document.

    Raises:
        OSError: the file cannot be read.

    Example:
        >>> check_document("Let $x \\in \\mathbb{R}$.\n\n$$ (x + 1)^2 = x^2 + 2 x + 1 $$\n").passed
        True
    """
    name, steps, understood = document_steps(path_or_text)
    chosen = [s for s in steps if not only or s.id in only or s.id.split("[")[0] in only]
    if only and not chosen:
        names = ", ".join(s.id for s in steps[:12]) + (f" and {len(steps) - 12} more" if len(steps) > 12 else "")
        chosen = [Unread("line-1", 1, "", f"no step is named {', '.join(only)}; there are {names}")]
    effort = effort or Effort()
    reports = tuple(report_step(s, effort, require, necessity) for s in chosen)
    return DocumentReport(name, reports, tuple(understood))
