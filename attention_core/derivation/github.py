"""Checked documents on GitHub: annotations at the lines of steps, and the table of verdicts in the step's summary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attention_core.annotations import annotation, cell
from attention_core.derivation.records import STANDARD_INPUT, DocumentReport, StepReport, count_results
from attention_core.derivation.show import COLOURS

MOST_ROWS = 200  # of one document; GitHub shows 1 MB of a summary


def annotation_lines(reports: Sequence[DocumentReport], level: str, unread: Mapping[str, str]) -> list[str]:
    """One annotation for each step that counts against its document: an error where it is wrong, else a warning.

    Args:
        reports: The documents that were checked.
        level: What counts against a document, see `StepReport.fails`.
        unread: The files that cannot be read, with the reason.

    Example:
        >>> annotation_lines([], "open", {"notes.md": "No such file or directory"})
        ['::error title=attention-core::notes.md cannot be read: No such file or directory']
    """
    found = [
        annotation("error", "attention-core", f"{file} cannot be read: {reason}") for file, reason in unread.items()
    ]
    return found + [_annotate(report.file, step) for report in reports for step in report.steps if step.fails(level)]


def _annotate(file: str, step: StepReport) -> str:
    file = "" if file == STANDARD_INPUT else file
    example = step.counterexample
    sides = "" if example is None else f"\nleft side: {example.left}; right side: {example.right}"
    advice = f"\n{step.evidence.advice}" if step.evidence.advice else ""
    mark = "error" if COLOURS.get(str(step.verdict)) == "red" else "warning"
    message = f"{step.evidence.text}{sides}{advice}"
    if step.text:
        return annotation(mark, f"{step.title}: {step.id}", f"{step.text}\n{message}", file, step.line)
    return annotation(mark, str(step.verdict), message, file)  # about the document: no display, or no such name


def to_markdown(reports: Sequence[DocumentReport], level: str, unread: Mapping[str, str]) -> str:
    """The summary: a table of documents, and below it one of the steps that count against them.

    Args:
        reports: The documents that were checked.
        level: What counts against a document, see `StepReport.fails`.
        unread: The files that cannot be read, with the reason.
    """
    rows = [f"| {cell(file)} | :warning: cannot be read: {cell(reason)} |\n" for file, reason in unread.items()]
    rows += [f"| {cell(one.file)} | {_mark(one.status_at(level))} {cell(_count(one))} |\n" for one in reports]
    text = "### attention-core derive\n\n| document | steps |\n|---|---|\n" + "".join(rows) + "\n"
    for report in reports:
        failing = [step for step in report.steps if step.fails(level)]
        if failing:
            shown = "".join(_row(step) for step in failing[:MOST_ROWS])
            more = f"\n{len(failing) - MOST_ROWS} more\n" if len(failing) > MOST_ROWS else ""
            heads = "| line | verdict | step | |\n|---|---|---|---|\n"
            text += f"**{cell(report.file)}**\n\n{heads}{shown}{more}\n"
    return text


def _mark(status: int) -> str:
    return (":white_check_mark:", ":x:", ":warning:")[status]


def _count(report: DocumentReport) -> str:
    steps = [step for step in report.steps if step.text]
    return count_results(steps) if steps else "; ".join(step.evidence.text for step in report.steps)


def _row(step: StepReport) -> str:
    step_cell, evidence = (cell(text).replace("$", "&#36;") for text in (step.text, step.evidence.text))
    return f"| {step.line} | {step.title} | {step_cell} | {evidence} |\n"


__all__ = ["annotation_lines", "to_markdown"]
