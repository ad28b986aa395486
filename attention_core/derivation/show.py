"""Checked documents as text: the lines that `derive`, its watch and the notebook magic print.

A step is one line. Below it stands what is wrong with it, and what symbols that it has first are read as. All that a
verdict rests on is in the verbose report, in JSON and on the page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Any

import click

from attention_core.derivation.records import (
    GOOD,
    NO_RELATION,
    UNDEFINED,
    DocumentReport,
    StepReport,
    count_results,
    point_out_slips,
    readings_of,
    split_reading,
    without_readings,
)

COLOURS = {
    "PROVED": "green",
    "EXACT": "green",
    "AGREES": "green",
    "STATISTICAL": "green",
    "REFUTED": "red",
    "VACUOUS": "red",
}
LONGEST = 110  # characters of a formula
BRIEF = 240  # characters of a line below a step, unless the report is verbose
NAMED = 48  # characters of a symbol that is read, unless the report is verbose
MOST_LINES = 8  # numbers of lines in a note
_ROUTINE = re.compile(
    r"(?:^|[:,] )(?:holds for all|with symbolic entries|\d+ cases?\b|some cases at larger|so do |smallest margin"
    r"|modulo 2\^61|the difference is of order).*$",
    re.DOTALL,
)
"""What most verdicts rest on: it is left out, and whatever else their evidence says is shown."""
_OF_FUNCTION = "(a value of a function that is not defined)"  # --scaffold lists these
_REASON = "not checked: the reason "
_LAWS = "with its laws as "
_QUOTED = re.compile(r" \(\$.*?\$\)(?=$|[ ,:;])")


class Readings:
    """What was shown of undeclared symbols so far: each is shown once, until it is read as something else."""

    def __init__(self) -> None:
        self._shown: dict[str, str] = {}
        self._notes: set[str] = set()
        self._reasons: dict[str, int] = {}
        self._beside: dict[int, set[str]] = {}  # reasons that were shown, by the line on which their display begins

    def find_line(self, step: StepReport, reason: str) -> int:
        """The line of the step that was shown before with the same reason; 0 where it is shown first."""
        line = self._reasons.get(reason, 0)
        self._reasons.setdefault(reason, step.line)
        return line

    def leave_out_reasons(self, step: StepReport, notes: Sequence[str]) -> list[str]:
        """What is to be shown below a step without the reasons of its display that stand below one above it already."""
        reasons = {one for one in notes if one.startswith(_REASON)}
        before = self._beside.setdefault(step.opens, set()) if step.opens else set()
        left = [one for one in notes if one not in before]
        before |= reasons
        return left

    def is_new_note(self, note: str) -> bool:
        """Whether what an accepted step rests on is to be shown: what laws were read as is shown once."""
        shown = note in self._notes and note.startswith(_LAWS)
        self._notes.add(note)
        return not shown

    def take_new(self, step: StepReport) -> str:
        r"""What the symbols of a step are read as that was not shown before, alike ones together; '' for nothing new.

        Example:
            >>> from attention_core.derivation import check_document
            >>> report = check_document("$$ a^2 - b^2 = (a - b)(a + b) $$\n\n$$ a^2 \\ge 0 $$", infer=True)
            >>> shown = Readings()
            >>> [shown.take_new(step) for step in report.steps]
            ['read as: a, b \\in \\mathbb{R} (a power)', '']
        """
        alike: dict[str, list[str]] = {}
        for one in readings_of(step):
            name, domain = split_reading(one)
            if domain.endswith(_OF_FUNCTION):
                continue
            if self._shown.get(name) != domain:
                self._shown[name] = domain
                alike.setdefault(domain, []).append(_cut(name, NAMED))
        parts = [", ".join(names) + domain for domain, names in alike.items()]
        return f"read as: {'; '.join(parts)}" if parts else ""


def show_report(
    report: DocumentReport,
    explain: bool = False,
    quiet: bool = False,
    notes: bool = True,
    level: str = "open",
    verbose: bool = False,
) -> None:
    """Print a document: what was understood of it, its steps, and how many are as it says.

    Args:
        report: The report.
        explain: Whether all that was understood of the declarations is shown.
        quiet: Whether only steps that count against the document are.
        notes: Whether relations that are not steps are.
        level: What counts against the document, see `StepReport.fails`.
        verbose: Whether all that each verdict rests on is shown.
    """
    click.secho(report.file, bold=True)
    remarks: list[tuple[int, str]] = []
    if explain:
        remarks = sorted(report.understood, key=itemgetter(0))
    elif notes and (not quiet or (report.status and level == "open")):
        remarks = sorted([*report.ignored_relations, *report.unchecked_relations])
    bare = [] if verbose or explain else [one for one in remarks if one[1].startswith(NO_RELATION)]
    remarks = [one for one in remarks if one not in bare]
    cell = 0
    readings = None if verbose else Readings()
    for step in report.steps:
        if quiet and step.text and not step.fails(level):
            continue
        above = [one for one in remarks if not step.text or one[0] <= step.line]
        _show_remarks(above, explain, verbose)
        remarks = remarks[len(above) :]
        if report.find_cell(step.line) != cell:
            cell = report.find_cell(step.line)
            click.secho(f"  cell {cell}", bold=True)
        show_steps([step], readings)
    _show_remarks(remarks, explain, verbose)
    visible = [step for step in report.steps if not quiet or step.fails(level)]
    if readings is not None:
        _show_needs(visible)
    if bare:
        lines = list_lines([line for line, _ in bare])
        click.echo(f"  {lines}: nothing to check in {'a formula' if len(bare) == 1 else f'{len(bare)} formulas'}")
    show_count(report, visible)


def _show_remarks(remarks: Sequence[tuple[int, str]], explain: bool, verbose: bool) -> None:
    """Print what was understood, or what is not a step, each with its line."""
    for line, text in remarks:
        shown = text if explain or verbose else _cut(text.split(" (nothing else determines ")[0], BRIEF)
        click.secho(f"  {line:>5}  {shown}", dim=explain, fg=None if explain else "yellow")


def _show_needs(steps: Sequence[StepReport]) -> None:
    """Print what steps need for a verdict, once for all that need the same."""
    needs: dict[str, list[int]] = {}
    for step in steps:
        if need := _need_of(step):
            needs.setdefault(need, []).append(step.line)
    for need, lines in needs.items():
        click.echo(f"  {list_lines(lines)}: {need}")


def list_lines(lines: Sequence[int]) -> str:
    """Numbers of lines in words; of many the first ones.

    Example:
        >>> list_lines([3]), list_lines([3, 5, 5]), list_lines(range(1, 99))
        ('line 3', 'lines 3, 5', 'lines 1, 2, 3, 4, 5, 6, 7, 8 and 90 more')
    """
    some = list(dict.fromkeys(lines))
    more = f" and {len(some) - MOST_LINES} more" if len(some) > MOST_LINES else ""
    return f"{'line' if len(some) == 1 else 'lines'} {', '.join(map(str, some[:MOST_LINES]))}{more}"


def _need_of(step: StepReport) -> str:
    """What a step that is left open needs for a verdict, as its evidence says; '' if it says nothing of it."""
    need = str(step.evidence.figures.get("need", ""))
    return need if need and f"; {need}" in step.evidence.text else ""


def show_count(report: DocumentReport, visible: Sequence[StepReport] | None = None) -> None:
    """Print how many steps of a document are as it says, how many are not decided, and where to look first.

    Args:
        report: The report.
        visible: The steps that are shown, the only ones to look at first; all by default.
    """
    steps = [step for step in report.steps if step.text]
    if steps:
        click.echo(f"  {count_results(steps)}")
    if slips := point_out_slips(steps if visible is None else [step for step in visible if step.text]):
        click.secho(f"  {slips}", fg="magenta")


def show_steps(steps: Sequence[StepReport], readings: Readings | None = None) -> None:
    """Print steps, each with its verdict.

    Args:
        steps: The steps.
        readings: What was shown of their symbols so far; without it, all that the verdicts rest on is printed.
    """
    for step in steps:
        if not step.text and step.verdict == "UNREADABLE":  # about the document, or a place of it
            where = f"{step.line:>5}  " if step.line > 1 else ""
            click.secho(f"  {where}{step.verdict}", fg="yellow", nl=False)
            click.echo(f"  {step.evidence.text}")
        else:
            _show_step(step, readings)


def _show_step(step: StepReport, readings: Readings | None) -> None:
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
    same, details = ("", details_of(step)) if readings is None else brief_details_of(step, readings)
    click.secho(f"{step.title}{expected}{same}", fg=colour, nl=False)
    click.echo(f"  {step.id}: {_cut(step.text, LONGEST)}")
    for detail in details:
        click.secho(f"         {detail}", dim=step.passed)


def details_of(step: StepReport) -> list[str]:
    """What a step rests on: its evidence, both sides where they differ, advice, and the hypotheses it needs."""
    details: list[Any] = [step.evidence.text]
    example = step.counterexample
    if not step.passed or step.verdict == "REFUTED":
        if example is not None:
            where = f" in {example.where}" if example.where else ""
            details.append(f"left side{where}: {example.left}; right side: {example.right}")
        if step.evidence.advice:
            details.append(step.evidence.advice)
    return [*details, *_requirements_of(step)]


def _requirements_of(step: StepReport) -> Iterator[str]:
    if step.required and not step.passed and step.verdict in ("AGREES", "EXACT", "STATISTICAL"):
        yield f"{step.required.upper()} is required"
    for record in step.evidence.figures.get("necessity", ()):
        note = f"needed: without it the step fails at {record['at']}" if record["needed"] else "not shown to be needed"
        yield f"{record['hypothesis']} (line {record['line']}): {note}"


def brief_details_of(step: StepReport, readings: Readings) -> tuple[str, list[str]]:
    """What stands beside a verdict and below it in a report that is not verbose: what is wrong, and new readings.

    Args:
        step: The step.
        readings: What was shown so far.
    """
    same, text = "", without_readings(step.evidence.text)
    if need := _need_of(step):
        text = "" if need == UNDEFINED else text.replace(f"; {need}", "")
    if text and not step.passed and step.counterexample is None and (line := readings.find_line(step, text)):
        same, text = " (as above)" if line == step.line else f" (as line {line})", ""
    details = [text]
    if step.passed and step.verdict in GOOD:
        parts = (_ROUTINE.sub("", part).strip(" :,") for part in _QUOTED.sub("", text).split("; "))
        note = "; ".join(readings.leave_out_reasons(step, [part for part in parts if part]))
        details = [note] if readings.is_new_note(note) else []
    elif step.passed:
        details = []  # refuted, as the document says
    elif step.verdict not in GOOD:
        example = step.counterexample
        if example is not None and not (f"{example.left} " in text and example.right in text):
            details.append(f"left side: {example.left}; right side: {example.right}")
        if example is not None and example.where:
            details[0] += f" ({example.where})" if text else ""
        details.append(step.evidence.advice)
    shown = [_cut(one, BRIEF) for one in details if one]
    return same, [*shown, *_requirements_of(step), *filter(None, [_cut(readings.take_new(step), 2 * BRIEF)])]


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."


__all__ = [
    "COLOURS", "Readings", "brief_details_of", "details_of", "show_count", "show_report", "show_steps",
]  # fmt: skip
