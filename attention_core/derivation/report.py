"""Checked documents as HTML.

`attention-core derive --html`: the documents as one self-contained page. A step is rows of a table: the relation with
its verdict, what the verdict rests on, and what is wrong with it. Its colour says whether it is as the document says
and as well known as is required. Conditions stand where the document has them: in front of a statement, after a
premise or after the conclusion.

Formulas between dollar signs become MathML, and one that cannot be read stays as it is written. Whatever comes from a
document is escaped; the page loads nothing and runs no script.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from html import escape, unescape
from typing import TYPE_CHECKING

from attention_core.derivation.cases.counterexamples import describe
from attention_core.derivation.claims import why_unreadable
from attention_core.derivation.document.blocks import Block, Code, Display, Heading, Paragraph
from attention_core.derivation.document.display import relation_lines, statements_of, without_frames
from attention_core.derivation.document.segments import ARROWS, bare
from attention_core.derivation.document.source import blocks_of
from attention_core.derivation.document.splitter import split_statements
from attention_core.derivation.inference.opaque import is_opaque
from attention_core.derivation.latex.lexer import tokenize
from attention_core.derivation.latex.mathml import (
    amount,
    chain,
    math,
    mathml,
    name,
    operator,
    relation,
    row,
    statement,
    words,
)
from attention_core.derivation.latex.parse import parse_statement, parse_tokens
from attention_core.derivation.latex.shown_names import find_closing, split_at_commas
from attention_core.derivation.latex.syntax import Chain, Expr, Statement, Unreadable, names_in
from attention_core.derivation.latex.tokens import Tok
from attention_core.derivation.reading.step import Step, Unread
from attention_core.derivation.reading.steps import steps_of
from attention_core.derivation.records import (
    GOOD,
    UNCHECKED,
    count_results,
    point_out_slips,
    readings_of,
    split_reading,
    without_readings,
)
from attention_core.derivation.words.paragraphs import cut_at_commas
from attention_core.html_page import render_page

if TYPE_CHECKING:
    from attention_core.derivation.records import DocumentReport, StepReport


_SPANS = re.compile(
    r"(?<![\\$])\$(?!\$)(?P<formula>.+?)(?<!\\)\$(?!\$)|`(?P<code>[^`\n]+)`|\*\*(?P<b>.+?)\*\*"
    r"|(?<![\w*])\*(?P<i>[^\s*](?:[^*\n]*[^\s*])?)\*(?![\w*])"
    r"|\\textbf\s*\{(?P<strong>[^{}]*)\}|\\(?:emph|textit|textsl)\s*\{(?P<em>[^{}]*)\}|\\(?:texttt|url)\s*\{(?P<tt>[^{}]*)\}"
    r"|!?\[(?P<link>[^\[\]\n]*)\]\((?:[^()\s]|\([^()\s]*\))*(?:\s+\"[^\"\n]*\")?\)",
    re.DOTALL,
)
_NEW_LINE = re.compile(r"\n(?=[ \t]*(?:[-*+]|\d+[.)])[ \t]|[ \t]*(?:\||&gt;))")
_TEX_WORDS = tuple(
    (re.compile(pattern), written)
    for pattern, written in (
        (r"\\item\b[ \t]*", "\n- "),
        (r"``(.+?)''", "\u201c\\1\u201d"),
        (r"\{([\[\]])\}", r"\1"),
        (r"(?<=[\w.,)])~(?=\w|$)", "\u00a0"),
        (r"\\(?:noindent|newpage|clearpage|maketitle|centering|bigskip|medskip|smallskip|par)\b[ \t]*", ""),
        (r"\\(?:label|vspace\*?|hspace\*?)\s*\{[^{}]*\}", ""),
        (r"\\([%&#_])", r"\1"),
    )
)
"""What TeX writes in prose, and what is shown for it; formulas and code are not touched."""
_FRONT_MATTER = re.compile(r"(---|\+\+\+)[ \t]*\n.*?^\1[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)


def prose(text: str) -> str:
    """Words with formulas between dollar signs, code between backquotes, bold and italic words, and links as words."""
    out, at = [], 0
    for found in _SPANS.finditer(text):
        out.append(_plain(text[at : found.start()]))
        kind = found.lastgroup or ""
        words = found[kind]
        if kind == "formula":
            out.append(inline(words))
        elif kind in ("code", "tt"):
            out.append(f"<code>{escape(words)}</code>")
        else:
            out.append(prose(words) if kind == "link" else f"<{kind}>{prose(words)}</{kind}>")
        at = found.end()
    return "".join(out) + _plain(text[at:])


def _plain(text: str) -> str:
    """Words alone, with the characters that Markdown writes as `&#39;` and TeX as commands; items begin a line."""
    if "\\" in text or "``" in text or "{" in text:
        for pattern, written in _TEX_WORDS:
            text = pattern.sub(written, text)
    return _NEW_LINE.sub("<br>\n", escape(unescape(text)))


def inline(formula: str) -> str:
    """A formula between dollar signs; one that cannot be read is shown as it is written.

    A term that a mend names has its sign in front, which the tree of a formula drops where it is a plus.
    """
    read = readable(formula)
    plus = operator("+") if formula.lstrip().startswith("+") else ""
    return f"<code>{escape(formula)}</code>" if read is None else math(row(plus, read) if plus else read)


def readable(formula: str) -> str | None:
    """A formula without its dollar signs, None if it cannot be read."""
    try:
        parts = [statement(parse_tokens(tokens)) for tokens in cut_at_commas(tokenize(formula))]
    except (Unreadable, RecursionError):
        return None
    return row(*(operator(",") * bool(i) + part for i, part in enumerate(parts)))


@dataclass(frozen=True)
class Conditions:
    """The conditions of one statement: each with the words before it and how many arrows, -1 in front of everything."""

    statement: Statement
    written: tuple[tuple[str, Chain, int], ...]

    def belong_to(self, step: Step) -> bool:
        """Whether a step is one of this statement."""
        chains = [one for _, one, _ in self.written]
        sides = [expr for one in self.statement.chains for expr in one.exprs]
        same = len(chains) == len(step.conditions) and all(one in chains for one in step.conditions)
        return same and step.line in relation_lines(self.statement) and step.left in sides and step.right in sides


def conditions(block: Display) -> list[Conditions]:
    """Where the document has the conditions of a display's statements."""
    try:
        tokens = tokenize(without_frames(block.text), block.line)
        pieces = split_statements(tokens)
        return [Conditions(parse_tokens(piece.tokens), tuple(_parse_conditions(piece.tokens, runs, tokens)))
                for piece in pieces if (runs := [*piece.conditions, *piece.offered])]  # fmt: skip
    except (Unreadable, RecursionError):
        return []


def _parse_conditions(
    statement: list[Tok], runs: list[list[Tok]], tokens: list[Tok]
) -> Iterator[tuple[str, Chain, int]]:
    first = statement[0].start
    arrows = [t for t in tokens if t.kind == "ARROW" or (t.kind == "TEXT" and bare(t.value) in ARROWS)]
    for run in sorted(runs, key=lambda run: run[0].start):
        start = run[0].start
        spot = sum(first < t.start < start for t in arrows) if start > first else -1
        before = next((t for t in reversed(tokens) if t.start < start and t.kind not in ("GAP", "AMP")), None)
        word = "," if before is None or before.kind not in ("TEXT", "FORALL") else before.value.strip(" ,:~")
        word = "∀" if before is not None and before.kind == "FORALL" else word
        for one in parse_tokens(run).chains:
            yield word, one, spot
            word = ","


def place_conditions(step: Step, known: Sequence[Conditions]) -> tuple[list[str], list[str], list[str]]:
    """A step's conditions in front of it, after its premises and after its conclusion, as the document has them."""
    front: list[str] = []
    premise: list[str] = []
    behind: list[str] = []
    whole = next((one for one in known if one.belong_to(step)), None)
    if whole is None:
        return front, premise, [operator("," if k else "∀") + chain(one) for k, one in enumerate(step.conditions)]
    groups = whole.statement.group_chains()
    given = tuple(one for one, _ in step.assumed)
    at = groups.index(given) if given in groups else -1
    ahead = at + 1 < len(groups) and any(step.left in one.exprs for one in groups[at + 1])
    for word, one, spot in whole.written:
        with_premise = at >= 0 and (spot <= at if ahead else spot >= at)
        place = front if spot < 0 else premise if with_premise else behind
        place.append((operator(word) if word in (",", "∀") else words(word)) + chain(one))
    return front, premise, behind


class Readings:
    """What undeclared symbols were read as so far on a page: each reading stands once, and later steps link to it."""

    def __init__(self, prefix: str = "reading") -> None:
        self._prefix = prefix
        self._marks: dict[str, str] = {}  # of the places where readings stand

    def take(self, step: StepReport) -> tuple[str, str]:
        """What the symbols of a step are read as that stands nowhere above, and links to what does; '' for neither."""
        new: list[str] = []
        links: list[str] = []
        for one in dict.fromkeys(readings_of(step)):
            if one in self._marks:
                links.append(f"<a href='#{self._marks[one]}'>{inline(split_reading(one)[0])}</a>")
                continue
            self._marks[one] = f"{self._prefix}-{len(self._marks) + 1}"
            new.append(f"<span id='{self._marks[one]}'>{reading(one)}</span>")
        shown = f"<p class='read'>read as: {'; '.join(new)}</p>" if new else ""
        return shown, f"<p class='read'>read as above: {', '.join(links)}</p>" if links else ""


def step_row(
    step: StepReport, source: Step, goes_on: bool, known: Sequence[Conditions] = (), readings: Readings | None = None
) -> str:
    """One relation with its verdict; a chain that goes on does not repeat its left side."""
    front, premise, behind = place_conditions(source, known)
    first, second = written_sides(step, source)
    left = "" if goes_on else mathml(first)
    if source.assumed:
        given = words("and").join(chain(one) for one, _ in source.assumed)
        left = row(given, *apart(premise), operator("⟹"), left)
    if front and not goes_on:
        left = row(*front, operator(":"), left)
    right = row(relation(source.op), mathml(second), *apart(behind))
    cells = f"<td class='left'>{math(left) if left else ''}</td><td>{math(right)}</td>"
    return rows_of(step, source, cells, readings)


def rows_of(step: StepReport, source: Step | Unread | None, cells: str, readings: Readings | None) -> str:
    """The row of a step, and the one below it with what is wrong and with new readings, if there is any of both."""
    new, above = (readings or Readings()).take(step)
    found = details(step, source)
    open_ = bool(found)
    below = "".join((*found, new, above if open_ else ""))
    row_below = f"<tr class='found {colour(step)}'><td colspan='3'>{below}</td></tr>" if below else ""
    return f"<tr class='step {colour(step)}'>{cells}{about(step, source, '' if open_ else above)}</tr>{row_below}"


def written_sides(step: StepReport, source: Step) -> tuple[Expr, Expr]:
    """Both sides, as the document writes them where the checker has names of its own for what it could not read."""
    named = any(is_opaque(one) or one.startswith(r"\begin") for one in names_in((source.left, source.right)))
    try:
        chains = parse_statement(step.text).chains if named else ()
    except (Unreadable, RecursionError):
        chains = ()
    if len(chains) == 1 and chains[0].ops == (source.op,):
        return chains[0].exprs[0], chains[0].exprs[1]
    return source.left, source.right


def apart(parts: list[str]) -> list[str]:
    """Conditions with a gap before them."""
    return ["<mspace width='.8em'/>", *parts] if parts else []


def problem(step: StepReport, source: Step | Unread | None = None, readings: Readings | None = None) -> str:
    """A step without a formula that could be shown."""
    return f"<table class='steps'>{problem_rows(step, source, readings)}</table>"


def problem_rows(step: StepReport, source: Step | Unread | None, readings: Readings | None) -> str:
    """The rows of such a step."""
    return rows_of(step, source, f"<td colspan='2'><pre>{escape(step.text)}</pre></td>", readings)


def colour(step: StepReport) -> str:
    """The class of a step: its verdict, unless it is as expected or should be, less than required, or likely a slip."""
    if step.expected:
        return "expected" if step.passed else "failed"
    return "less" if less(step) else "slip" if step.likely_slip else str(step.verdict)


def less(step: StepReport) -> bool:
    """Whether a step is right, with less known about it than `--require` asks for."""
    return bool(step.required) and not step.passed and step.verdict in GOOD


def about(step: StepReport, source: Step | Unread | None, above: str) -> str:
    """Name, line, options and verdict; what the verdict rests on unfolds, with links to readings `above`."""
    verdict = step.title + (", as expected" if step.expected and step.passed else "")
    source_lines = step.text
    for record in step.evidence.figures.get("necessity", ()):
        note = f"needed: without it the step fails at {record['at']}" if record["needed"] else "not shown to be needed"
        source_lines += f"\n{record['hypothesis']} (line {record['line']}): {note}"
    where = f"<span class='line'>line {step.line}</span>"
    title = where if step.id == f"line-{step.line}" else f"{escape(step.id)} {where}"
    rests = f"<p>{evidence_of(step)} ({step.seconds:.2f} s)</p>{above}<pre>{escape(source_lines)}</pre>"
    unfolds = f"<details><summary class='verdict'>{escape(verdict)}</summary>{rests}</details>"
    return f"<td class='about'>{title} {''.join(options(source))}{unfolds}</td>"


def evidence_of(step: StepReport, text: str | None = None) -> str:
    """What a verdict rests on, without what undeclared symbols are read as, which stands once on a page.

    Args:
        step: The step.
        text: What is shown of its evidence; all of it if this is left out.
    """
    text = without_readings(step.evidence.text if text is None else text)
    out, at = "", 0
    if (opens := _FALSE.match(text)) and " at " in (
        shown := text[opens.end() : find_closing(text, opens.end() - 1) - 1]
    ):
        sides, _, point = shown.partition(" at ")
        at = opens.end() + len(shown)
        out = f"{prose(opens[0])}{prose(sides)} at {', '.join(map(_show_value, split_at_commas(point)))}"
    return out + prose(text[at:])


def _show_value(text: str) -> str:
    """`x = [1; 2]` of a point, with its symbol as a formula."""
    symbol, equals, amounts = text.strip().rpartition(" = ")
    return (
        f"{inline(symbol)}{equals}{escape(amounts)}"
        if equals and readable(symbol) is not None
        else escape(text.strip())
    )


_FALSE = re.compile(
    r"(?:as it was read it is false|(?:nothing here defines|no law was read) .*?, and it is not true of all \w+) \("
)


def reading(text: str) -> str:
    r"""What a symbol is read as, `x \in \mathbb{R}^{n} (a norm)`, with its domain and the reason as formulas."""
    symbol, inside, rest = text.partition(r" \in ")
    domain, _, reason = rest.partition(" (")
    if not inside or readable(symbol + inside + domain) is None:
        return escape(text)
    why = reason.removesuffix(")")
    formula = next((one for one in (why, rf"{why} \dots") if readable(one) is not None), why)  # of a sum its head alone
    shown = inline(formula) if re.search(r"[\\^_]", why) else escape(why)
    return f"{inline(symbol + inside + domain)} ({shown})"


def options(source: Step | Unread | None) -> Iterator[str]:
    """The options a verdict rests on: a bound or a factor only where the step has a sign that it belongs to."""
    given = {} if source is None else {option.key: option.value for option in source.options}
    signs = {">>", "<<", "~", "->"}
    if isinstance(source, Step):
        signs = {source.op, *(op for one, _ in source.assumed for op in one.ops)}
    for key, value in given.items():
        if key == "expect" or (key == "within" and "~" not in signs) or (key == "margin" and not signs & {">>", "<<"}):
            continue
        shown = f"<code>{escape(value)}</code>" if key == "check" else inline(value)
        yield f"<span class='option'>{key} {shown}</span> "


def details(step: StepReport, source: Step | Unread | None = None) -> list[str]:
    """What is wrong with a step, in its place: the message, both sides, the values, what to change."""
    if step.passed and step.counterexample is None:
        return []
    lines = ["<p>The document expects this step to be refuted.</p>"] if step.expected and not step.passed else []
    if less(step):
        lines.append(f"<p>{escape(step.required.upper())} is required.</p>")
    example = step.counterexample
    if example is None:
        lines.append(f"<p>{evidence_of(step)}</p>")
    else:
        shown = step.evidence.text.replace(f" at {describe(example.values)}", "", 1)
        where = f" in {escape(example.where)}" if example.where else ""
        left, right = sides(source)
        if not (shown.startswith(f"{example.left} ") and shown.endswith(example.right)):
            lines.append(f"<p>{evidence_of(step, shown)}</p>")  # it says more than what the two sides are
        lines.append(f"<p>{left}{where}: {escape(example.left)}; {right}: {escape(example.right)}</p>")
        if example.values:
            lines.append(f"<p class='values'>at {' '.join(value(*pair) for pair in example.values.items())}</p>")
    if step.evidence.advice:
        lines.append(f"<p>{prose(step.evidence.advice)}</p>")
    return lines


def sides(source: Step | Unread | None) -> tuple[str, str]:
    """What the two numbers of a counterexample are: an approximate step is checked as an exact inequality."""
    if isinstance(source, Step) and source.op == "~" and source.option("within"):
        return "distance of the two sides", "bound"
    if isinstance(source, Step) and source.op in (">>", "<<"):
        return "the larger side", "the smaller side times the margin"
    if isinstance(source, Step) and source.op in ("->", "~"):
        return "limit of the left side", "right side"
    return "left side", "right side"


def value(symbol: str, found: object) -> str:
    """One value of a counterexample."""
    return math(row(readable(symbol) or name(symbol), operator("="), amount(found)))


STYLE = """
:root { color-scheme: light dark; }
body {
  font: 16px/1.55 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem;
  overflow-wrap: break-word;
  background: light-dark(#fff, #16181c); color: light-dark(#1a1a1a, #e8e8e8);
}
table.steps { border-collapse: collapse; width: 100%; margin: .6rem 0; }
table.steps td { padding: .25rem .5rem; vertical-align: middle; }
td.left { text-align: right; width: 1%; }
td.about { text-align: right; font-size: 80%; white-space: nowrap; width: 1%; }
tr.step > td:first-child, tr.found > td { border-left: .3rem solid var(--c); }
/* On a phone a step's name and verdict stand above its formula, which alone may be wider than the screen. */
@media (max-width: 40rem) {
  table.steps, table.steps tbody, tr.found, tr.found > td { display: block; }
  tr.step { display: flex; flex-wrap: wrap; border-left: .3rem solid var(--c); }
  tr.step > td:first-child { border-left: 0; } tr.step > td { flex: none; } td.left { width: auto; }
  tr.step > td[colspan] { flex: 0 1 auto; min-width: 0; }
  tr.step > td.about { order: -1; flex: 0 0 100%; box-sizing: border-box; white-space: normal; text-align: left; }
}
tr.step, tr.found { background: color-mix(in srgb, var(--c) 9%, transparent); }
.verdict { color: var(--c); font-weight: 700; }
.PROVED, .EXACT { --c: light-dark(#0a6b2d, #6bd089); } .AGREES { --c: light-dark(#1f7330, #8ad69a); }
.STATISTICAL { --c: light-dark(#14607d, #7cc4e0); } .VACUOUS { --c: light-dark(#a33a00, #ffa070); }
.REFUTED, .failed { --c: light-dark(#b31b1b, #ff8d8d); } .expected { --c: light-dark(#7a4f6c, #d3a6c4); }
.slip { --c: light-dark(#9c3a86, #e79ad2); }
.AMBIGUOUS, .UNDECIDED, .UNREADABLE, .less { --c: light-dark(#7d5200, #e8b04a); }
tr.found td { font-size: 85%; }
.read { margin: .2rem 0; } .read a { color: inherit; }
.values { margin: .2rem 0; } .values math, .option { margin-right: 1.2em; }
details { display: inline; } pre { background: #8881; padding: .6rem; overflow-x: auto; white-space: pre-wrap; }
.line { opacity: .8; } summary { cursor: pointer; display: inline; }
"""
_SECTION = re.compile(r"^\\[a-z]+\*?(?:\[[^\]]*\])?\{((?:[^{}]|\{[^{}]*\})*)\}.*$")  # of a TeX document


def page(documents: Sequence[tuple[DocumentReport, str]], infer: bool = False, formulas: bool = False) -> str:
    """The page for reports with the texts they are about; `infer` and `formulas` as they were checked."""
    from markupsafe import Markup

    title = ", ".join(report.file for report, _ in documents)
    body = "".join(
        document(report, text, infer, formulas, Readings(f"reading-{place}"))
        for place, (report, text) in enumerate(documents, 1)
    )
    return render_page(title, STYLE, "{{ body }}", body=Markup(body))


def document(
    report: DocumentReport, text: str, infer: bool = False, formulas: bool = False, readings: Readings | None = None
) -> str:
    """One document: its blocks in their order, every step where it stands."""
    readings = readings or Readings()
    message = count_results(report.steps)
    state = "PROVED" if report.passed else "failed" if report.status == 1 else "UNDECIDED"
    out = [f"<article><p class='verdict {state}'>{escape(report.file)}: {message}</p>"]
    out += [f"<p class='verdict slip'>{slips}</p>"] if (slips := point_out_slips(report.steps)) else []
    shown = {step.id: step for step in report.steps}
    written = {step.id: step for step in steps_of(text, infer, why_unreadable, formulas)[0]}
    left = [(shown[name], written.get(name)) for name in shown]
    notes = sorted([*report.ignored_relations, *report.unchecked_relations])
    blocks = blocks_of(text)
    shown_by = [range(one.line, last_line(one) + 1) for one in blocks if isinstance(one, Display)]
    for block in blocks:
        if isinstance(block, Heading):
            level = min(block.level, 6)
            words = _SECTION.sub(r"\1", block.text)
            out.append(f"<h{level}>{prose(words)}</h{level}>")
            continue
        if isinstance(block, Code):
            continue
        here = [pair for pair in left if block.line <= pair[0].line <= last_line(block)]
        left = [pair for pair in left if pair not in here]
        out.append(paragraph(block, here, readings) if isinstance(block, Paragraph) else display(block, here, readings))
        own = [one for one in notes if block.line <= one[0] <= last_line(block)]
        if isinstance(block, Paragraph):  # of a display inside it, the display has the note
            own = [one for one in own if not any(one[0] in lines for lines in shown_by) or one[1].startswith("not ass")]
        notes = [one for one in notes if one not in own]
        out += _notes_of(block, own, {step.line for step, _ in here})
    out += [problem(step, source, readings) for step, source in left]
    return "".join([*out, *(note(text) for _, text in notes)]) + "</article>"


def _notes_of(block: Block, notes: Sequence[tuple[int, str]], lines: Container[int]) -> Iterator[str]:
    """What a block says that is not a step; formulas are not repeated where the display shows all of their line."""
    shown = [line for line, _ in definitions(block, lines)] if isinstance(block, Display) else []
    noted = [line for line, _ in notes]
    brief = (
        note(text.partition(":")[0] if shown.count(line) == noted.count(line) and text.startswith(UNCHECKED) else text)
        for line, text in notes
    )
    yield from dict.fromkeys(brief)


def note(text: str) -> str:
    """A line about a relation that is not a step: what it is, and the relation as a formula if there is one."""
    what, colon, formula = text.split(" (nothing else determines ")[0].partition(": ")
    shown = prose(what + colon + formula) if "$" in formula or not colon else f"{escape(what)}: {inline(formula)}"
    return f"<p class='line'>{shown}</p>"


def last_line(block: Block) -> int:
    """The line a block ends on."""
    return block.line + getattr(block, "text", "").count("\n")


def paragraph(block: Paragraph, steps: Sequence[tuple[StepReport, Step | Unread | None]], readings: Readings) -> str:
    """Prose, and what could not be read in it."""
    words = (
        _FRONT_MATTER.sub("", block.text, count=1)
        if block.line == 1 and _FRONT_MATTER.match(block.text)
        else block.text
    )
    shown = f"<p>{prose(words).removeprefix('<br>').strip()}</p>" if words.strip() else ""
    return shown + "".join(problem(step, source, readings) for step, source in steps)


def display(block: Display, steps: Sequence[tuple[StepReport, Step | Unread | None]], readings: Readings) -> str:
    """A display: its definitions, and one row for every relation."""
    lines = {step.line for step, _ in steps}
    rows = [(line, f"<tr><td colspan='3'>{math(inner, True)}</td></tr>") for line, inner in definitions(block, lines)]
    texts = conditions(block)
    before: Step | None = None
    for step, source in steps:
        if isinstance(source, Step):
            goes_on = before is not None and before.right == source.left and not source.assumed
            rows.append((step.line, step_row(step, source, goes_on, texts, readings)))
            before = source
        else:
            rows.append((step.line, problem_rows(step, source, readings)))
    if not rows:
        return f"<pre>{escape(block.text)}</pre>"
    rows.sort(key=lambda pair: pair[0])
    return f"<table class='steps'>{''.join(text for _, text in rows)}</table>"


def definitions(block: Display, lines: Container[int]) -> Iterator[tuple[int, str]]:
    """The statements of a display that define instead of claiming, or have no step; `lines` are those of the steps."""
    try:
        written = statements_of(block)
    except (Unreadable, RecursionError):
        return
    for one in written:
        chains = one.statement.chains
        defines = one.defines or (len(chains) == 1 and chains[0].ops[:1] == (":=",))
        if defines or not any(line in lines for line in (one.line, *relation_lines(one.statement))):
            yield one.line, statement(one.statement)
