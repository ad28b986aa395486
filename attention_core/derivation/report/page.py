"""Checked documents as HTML.

`attention-core derive --html`: the documents as one self-contained page, each step coloured by its verdict.
Whatever comes from a document is escaped; the page loads nothing and runs no script.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

from attention_core.derivation.document.blocks import Block, Display, Heading, Paragraph
from attention_core.derivation.document.display import statements_of
from attention_core.derivation.document.source import blocks_of
from attention_core.derivation.latex.mathml import math, statement
from attention_core.derivation.latex.syntax import Unreadable
from attention_core.derivation.reading.steps import Step, Unread, steps_of
from attention_core.derivation.report.page_conditions import conditions, prose
from attention_core.derivation.report.page_steps import problem, problem_rows, step_row
from attention_core.html_page import render_page

if TYPE_CHECKING:
    from attention_core.derivation.records import DocumentReport, StepReport

STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.55 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
table.steps { border-collapse: collapse; width: 100%; margin: .6rem 0; }
table.steps td { padding: .25rem .5rem; vertical-align: middle; }
td.left { text-align: right; width: 1%; }
td.about { text-align: right; font-size: 80%; white-space: nowrap; width: 1%; }
tr.step > td:first-child, tr.found > td { border-left: .3rem solid var(--c); }
tr.step, tr.found { background: color-mix(in srgb, var(--c) 9%, transparent); }
.verdict { color: var(--c); font-weight: 700; }
.PROVED { --c: #0a6b2d; } .EXACT { --c: #0a6b2d; } .AGREES { --c: #3a9a4b; } .STATISTICAL { --c: #2a86a8; }
.REFUTED { --c: #c22; } .VACUOUS { --c: #b40; } .UNDECIDED { --c: #b80; } .UNREADABLE { --c: #b80; }
.expected { --c: #968; } .failed { --c: #c22; } .less { --c: #b80; }
tr.found td { font-size: 85%; } .values { margin: .2rem 0; } .values math, .option { margin-right: 1.2em; }
details { display: inline; } pre { background: #8881; padding: .6rem; overflow-x: auto; white-space: pre-wrap; }
.line { opacity: .6; } summary { cursor: pointer; display: inline; }
"""
_SECTION = re.compile(r"^\\[a-z]+\*?\{(.*)\}.*$")  # of a TeX document


def page(documents: Sequence[tuple[DocumentReport, str]]) -> str:
    """The page for reports with the texts they are about."""
    from markupsafe import Markup

    title = ", ".join(report.file for report, _ in documents)
    body = "".join(document(report, text) for report, text in documents)
    return render_page(title, STYLE, "{{ body }}", body=Markup(body))


def document(report: DocumentReport, text: str) -> str:
    """One document: its blocks in their order, every step where it stands."""
    good = sum(step.passed for step in report.steps)
    message = f"{good} of {len(report.steps)} steps are as the document says"
    out = [f"<article><p class='line'>{escape(report.file)}: {message}</p>"]
    shown = {step.id: step for step in report.steps}
    written = {step.id: step for step in steps_of(text)[0]}
    left = [(shown[name], written.get(name)) for name in shown]
    for block in blocks_of(text):
        if isinstance(block, Heading):
            level = min(block.level, 6)
            words = _SECTION.sub(r"\1", block.text)
            out.append(f"<h{level}>{prose(words)}</h{level}>")
            continue
        here = [pair for pair in left if block.line <= pair[0].line <= last_line(block)]
        left = [pair for pair in left if pair not in here]
        out.append(paragraph(block, here) if isinstance(block, Paragraph) else display(block, here))
        if isinstance(block, Paragraph):
            noted = [text for line, text in report.ignored_relations if block.line <= line <= last_line(block)]
            out += [f"<p class='line'>{prose(text)}</p>" for text in noted]
    out += [problem(step, source) for step, source in left]
    return "".join(out) + "</article>"


def last_line(block: Block) -> int:
    """The line a block ends on."""
    return block.line + getattr(block, "text", "").count("\n")


def paragraph(block: Paragraph, steps: Sequence[tuple[StepReport, Step | Unread | None]]) -> str:
    """Prose, and what could not be read in it."""
    return f"<p>{prose(block.text)}</p>" + "".join(problem(step, source) for step, source in steps)


def display(block: Display, steps: Sequence[tuple[StepReport, Step | Unread | None]]) -> str:
    """A display: its definitions, and one row for every relation."""
    rows = [(line, f"<tr><td colspan='3'>{math(inner, True)}</td></tr>") for line, inner in definitions(block)]
    texts = conditions(block)
    before: Step | None = None
    for step, source in steps:
        if isinstance(source, Step):
            goes_on = before is not None and before.right == source.left and not source.assumed
            rows.append((step.line, step_row(step, source, goes_on, texts)))
            before = source
        else:
            rows.append((step.line, problem_rows(step, source)))
    if not rows:
        return f"<pre>{escape(block.text)}</pre>"
    rows.sort(key=lambda pair: pair[0])
    return f"<table class='steps'>{''.join(text for _, text in rows)}</table>"


def definitions(block: Display) -> Iterator[tuple[int, str]]:
    """The statements of a display that define instead of claiming."""
    try:
        written = statements_of(block)
    except (Unreadable, RecursionError):
        return
    for one in written:
        chains = one.statement.chains
        if one.defines or (len(chains) == 1 and chains[0].ops[:1] == (":=",)):
            yield one.line, statement(one.statement)
