"""Checked documents as text: the lines that `derive`, its watch and the notebook magic print."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any

import click

from attention_core.derivation.records import DocumentReport, StepReport, count_steps, point_out_slips

COLOURS = {
    "PROVED": "green",
    "EXACT": "green",
    "AGREES": "green",
    "STATISTICAL": "green",
    "REFUTED": "red",
    "VACUOUS": "red",
}
LONGEST = 110  # characters of a formula


def show_report(
    report: DocumentReport, explain: bool = False, quiet: bool = False, notes: bool = True, level: str = "open"
) -> None:
    """Print a document: what was understood of it, its steps, and how many are as it says.

    Args:
        report: The report.
        explain: Whether all that was understood of the declarations is shown.
        quiet: Whether only steps that count against the document are.
        notes: Whether relations that are not steps are.
        level: What counts against the document, see `StepReport.fails`.
    """
    click.secho(report.file, bold=True)
    remarks: list[tuple[int, str]] = []
    if explain:
        remarks = sorted(report.understood, key=itemgetter(0))
    elif notes and (not quiet or (report.status and level == "open")):
        remarks = sorted([*report.ignored_relations, *report.unchecked_relations])
    cell = 0
    for step in report.steps:
        if quiet and step.text and not step.fails(level):
            continue
        above = [one for one in remarks if not step.text or one[0] <= step.line]
        _show_remarks(above, explain)
        remarks = remarks[len(above) :]
        if report.find_cell(step.line) != cell:
            cell = report.find_cell(step.line)
            click.secho(f"  cell {cell}", bold=True)
        show_steps([step])
    _show_remarks(remarks, explain)
    show_count(report)


def _show_remarks(remarks: Sequence[tuple[int, str]], explain: bool) -> None:
    """Print what was understood, or what is not a step, each with its line."""
    for line, text in remarks:
        click.secho(f"  {line:>5}  {text}", dim=explain, fg=None if explain else "yellow")


def show_count(report: DocumentReport) -> None:
    """Print how many steps of a document are as it says, and how many are not decided."""
    steps = [step for step in report.steps if step.text]
    if steps:
        click.echo(f"  {count_steps([(step.passed, step.verdict) for step in steps])}")
    if slips := point_out_slips(steps):
        click.secho(f"  {slips}", fg="magenta")


def show_steps(steps: Sequence[StepReport]) -> None:
    """Print steps, each with its verdict and what that rests on."""
    for step in steps:
        if not step.text and step.verdict == "UNREADABLE":  # about the document: no display, or no such name
            click.secho(f"  {step.verdict}", fg="yellow", nl=False)
            click.echo(f"  {step.evidence.text}")
        else:
            _show_step(step)


def _show_step(step: StepReport) -> None:
    verdict = str(step.verdict)
    colour = (
        "green"
        if step.passed
        else "magenta"
        if step.likely_slip
        else COLOURS.get(verdict, "yellow")
        if verdict not in COLOURS or step.verdict != "AGREES"
        else "red"
    )
    expected = " (expected)" if step.expected and step.passed else " (expected: refuted)" if step.expected else ""
    click.echo(f"  {step.line:>5}  ", nl=False)
    click.secho(f"{step.title}{expected}", fg=colour, nl=False)
    click.echo(f"  {step.id}: {_short(step.text)}")
    for detail in details_of(step):
        click.secho(f"         {detail}", dim=step.passed)


def details_of(step: StepReport) -> list[str]:
    """What stands below a step: its evidence, both sides where they differ, advice, and the hypotheses it needs."""
    details: list[Any] = [step.evidence.text]
    example = step.counterexample
    if not step.passed or step.verdict == "REFUTED":
        if example is not None:
            where = f" in {example.where}" if example.where else ""
            details.append(f"left side{where}: {example.left}; right side: {example.right}")
        if step.evidence.advice:
            details.append(step.evidence.advice)
    if step.required and not step.passed and step.verdict in ("AGREES", "EXACT", "STATISTICAL"):
        details.append(f"{step.required.upper()} is required")
    for record in step.evidence.figures.get("necessity", ()):
        note = f"needed: without it the step fails at {record['at']}" if record["needed"] else "not shown to be needed"
        details.append(f"{record['hypothesis']} (line {record['line']}): {note}")
    return details


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."


__all__ = ["COLOURS", "details_of", "show_count", "show_report", "show_steps"]
