"""A document that is checked again whenever it is saved.

The times of files are looked at twice a second; nothing is installed for it. What changed is printed first: steps
that are new, and those whose verdict is another one than before.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import click

from attention_core.derivation.records import DocumentReport, StepReport
from attention_core.derivation.show import Readings, show_count, show_report, show_steps

PAUSE = 0.5  # seconds between two looks
Stamp = tuple[int, int] | None  # time of the last change and size, None where there is no file
Check = Callable[[str], DocumentReport]


def watch(
    files: Sequence[str],
    check: Check,
    pause: Callable[[float], object] = time.sleep,
    *,
    explain: bool = False,
    quiet: bool = False,
    verbose: bool = False,
) -> int:
    """Check files, and each again when it changes, until Ctrl-C.

    Args:
        files: The paths of documents.
        check: Makes the report of one of them.
        pause: Waits for some seconds.
        explain: Whether all that was understood is shown, of the first report.
        quiet: Whether steps that are as the document says are left out there.
        verbose: Whether all that the verdicts rest on is shown, in all reports.

    Returns:
        The exit status of what was found last.
    """
    stamps: dict[str, Stamp] = {}
    reports: dict[str, DocumentReport] = {}
    try:
        while True:
            for file in files:
                stamp = _stamp(file)
                if file in stamps and stamp == stamps[file]:
                    continue
                stamps[file] = stamp
                try:
                    report = check(file)
                except OSError as error:
                    click.echo(f"attention-core: {file} cannot be read: {error.strerror}", err=True)
                    continue
                before, reports[file] = reports.get(file), report
                if before is None:
                    show_report(report, explain, quiet, verbose=verbose)
                else:
                    show_changes(before, report, verbose)
            pause(PAUSE)
    except KeyboardInterrupt:
        click.echo()
    found = {report.status for report in reports.values()} or {2}
    return 1 if 1 in found else max(found)


def _stamp(file: str) -> Stamp:
    try:
        status = Path(file).stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def show_changes(before: DocumentReport, report: DocumentReport, verbose: bool = False) -> None:
    """Print the steps that changed, and then the others that are not as the document says.

    Args:
        before: The report before the document was saved.
        report: The new one.
        verbose: Whether all that the verdicts rest on is shown.
    """
    readings = None if verbose else Readings()
    changed = changed_steps(before, report)
    click.secho(f"{report.file}, at {time.strftime('%H:%M:%S')}", bold=True)
    if not changed:
        click.echo("  no step changed")
    show_steps(changed, readings)
    rest = [step for step in report.steps if not step.passed and not any(step is one for one in changed)]
    if rest:
        click.secho("  as before:", dim=True)
        show_steps(rest, readings)
    show_count(report)


def changed_steps(before: DocumentReport, now: DocumentReport) -> list[StepReport]:
    """The steps that are new or have another verdict; a step that only moved, or stands twice, is none.

    Example:
        >>> from attention_core.derivation import check_document
        >>> report = check_document("$$ 1 + 1 = 2 $$ and $$ 2 + 2 = 5 $$")
        >>> changed_steps(report, report)
        []
    """
    known = {(step.text, step.verdict, step.passed) for step in before.steps}
    return [step for step in now.steps if (step.text, step.verdict, step.passed) not in known]


__all__ = ["changed_steps", "show_changes", "watch"]
