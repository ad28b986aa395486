"""Steps with their verdicts as HTML.

One step as rows of a table: the relation with its verdict, what the verdict rests on, and what is wrong with it.
Its colour says whether it is as the document says and as well known as is required.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

from attention_core.derivation.cases.counterexamples import describe
from attention_core.derivation.latex.mathml import amount, chain, math, mathml, name, operator, relation, row, words
from attention_core.derivation.reading.steps import Step, Unread
from attention_core.derivation.records import GOOD
from attention_core.derivation.report.page_conditions import Conditions, inline, place_conditions, prose, readable

if TYPE_CHECKING:
    from attention_core.derivation.records import StepReport


def step_row(step: StepReport, source: Step, goes_on: bool, known: Sequence[Conditions] = ()) -> str:
    """One relation with its verdict; a chain that goes on does not repeat its left side."""
    front, premise, behind = place_conditions(source, known)
    left = "" if goes_on else mathml(source.left)
    if source.assumed:
        given = words("and").join(chain(one) for one, _ in source.assumed)
        left = row(given, *apart(premise), operator("⟹"), left)
    if front and not goes_on:
        left = row(*front, operator(":"), left)
    right = row(relation(source.op), mathml(source.right), *apart(behind))
    cells = f"<td class='left'>{math(left) if left else ''}</td><td>{math(right)}</td>"
    return f"<tr class='step {colour(step)}'>{cells}{about(step, source)}</tr>{details(step, source)}"


def apart(said: list[str]) -> list[str]:
    """Conditions with a gap before them."""
    return ["<mspace width='.8em'/>", *said] if said else []


def problem(step: StepReport, source: Step | Unread | None = None) -> str:
    """A step without a formula that could be shown."""
    return f"<table class='steps'>{problem_rows(step, source)}</table>"


def problem_rows(step: StepReport, source: Step | Unread | None) -> str:
    """The rows of such a step."""
    text = f"<td colspan='2'><pre>{escape(step.text)}</pre></td>"
    return f"<tr class='step {colour(step)}'>{text}{about(step, source)}</tr>{details(step, source)}"


def colour(step: StepReport) -> str:
    """The class of a step: its verdict, unless it is refuted as expected or should be, or less than required."""
    if step.expected:
        return "expected" if step.passed else "failed"
    return "less" if less(step) else str(step.verdict)


def less(step: StepReport) -> bool:
    """Whether a step is right, with less known about it than `--require` asks for."""
    return bool(step.required) and not step.passed and step.verdict in GOOD


def about(step: StepReport, source: Step | Unread | None = None) -> str:
    """Name, line, options and verdict; what the verdict rests on unfolds."""
    verdict = str(step.verdict) + (", as expected" if step.expected and step.passed else "")
    evidence = f"{step.evidence.text} ({step.seconds:.2f} s)\n{step.text}"
    for record in step.evidence.figures.get("necessity", ()):
        note = f"needed: without it the step fails at {record['at']}" if record["needed"] else "not shown to be needed"
        evidence += f"\n{record['hypothesis']} (line {record['line']}): {note}"
    title = f"{escape(step.id)} <span class='line'>line {step.line}</span>"
    unfolds = f"<details><summary class='verdict'>{escape(verdict)}</summary><pre>{escape(evidence)}</pre></details>"
    return f"<td class='about'>{title} {''.join(options(source))}{unfolds}</td>"


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


def details(step: StepReport, source: Step | Unread | None = None) -> str:
    """What is wrong with a step, in its place: the message, both sides, the values, what to change."""
    if step.passed and step.counterexample is None:
        return ""
    lines = ["<p>The document expects this step to be refuted.</p>"] if step.expected and not step.passed else []
    if less(step):
        lines.append(f"<p>{escape(step.required.upper())} is required.</p>")
    example = step.counterexample
    if example is None:
        lines.append(f"<p>{escape(step.evidence.text)}</p>")
    else:
        message = step.evidence.text.replace(f" at {describe(example.values)}", "", 1)
        where = f" in {escape(example.where)}" if example.where else ""
        left, right = sides(source)
        if not (message.startswith(f"{example.left} ") and message.endswith(example.right)):
            lines.append(f"<p>{escape(message)}</p>")  # it says more than what the two sides are
        lines.append(f"<p>{left}{where}: {escape(example.left)}; {right}: {escape(example.right)}</p>")
        if example.values:
            lines.append(f"<p class='values'>at {' '.join(value(*pair) for pair in example.values.items())}</p>")
    if step.evidence.advice:
        lines.append(f"<p>{prose(step.evidence.advice)}</p>")
    return f"<tr class='found {colour(step)}'><td colspan='3'>{''.join(lines)}</td></tr>"


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
