"""What commands share: the console, the progress bar, files that reports are written to, and being interrupted.

Nothing heavy is imported before it is used.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from attention_core.console import make_console as make_console

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from attention_core.conformance.report.law_result import LawResult
    from attention_core.conformance.report.results import Report
    from attention_core.conformance.report.shards import Shard

OUTPUTS = ("json", "html", "junit", "sarif", "badge")
"""Files that reports are written to, by option."""
STANDARD_OUTPUT = "-"
LONGEST = 86400.0
"""The longest wait for one call that may be set, in seconds."""
CONTRACT_HELP = "Which laws apply; `attention-core contracts [NAME]` says what each contract calls."


def record_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """One option for every field of the `Implementation` record."""
    from attention_core.declaration.implementation import CHOICES, QKV_AXES
    from attention_core.declaration.options import DECLARED, FLAGS, HELP

    for name, words in DECLARED.items():
        text = (
            "What a mask builder builds; which step of the exercise."
            if name == "kind"
            else "How a rotary embedding pairs its coordinates."
        )
        command = click.option(f"--{name}", f"parameter_{name}", type=click.Choice(words), help=text)(command)
    repeatable = {"arguments": "--arg", "parameters": "--parameter", "config": "--config"}
    for name in reversed(list(HELP)):
        option = f"--{name.replace('_', '-')}"
        settings: dict[str, Any] = {"help": CONTRACT_HELP if name == "contract" else HELP[name], "default": None}
        if name in repeatable:
            option = repeatable[name]
            settings = {"help": HELP[name], "multiple": True, "metavar": "NAME=VALUE"}
        elif name in FLAGS:
            option = f"{option}/--no-{name.replace('_', '-')}"
        elif name in CHOICES:
            settings["type"] = click.Choice(CHOICES[name])
        elif name == "axes":
            settings["type"] = click.Choice(("4", "3", "2"))
        elif name == "qkv_axis":
            settings["type"] = click.Choice(tuple(map(str, QKV_AXES)))
        elif name == "declines":
            settings |= {"multiple": True, "metavar": "EXCEPTION"}
        elif name in ("dtypes", "untested"):
            option = "--dtype" if name == "dtypes" else option
            settings |= {"multiple": True, "metavar": "T" if name == "dtypes" else "NAME"}
        else:
            settings["metavar"] = "TEXT"
        command = click.option(option, name, **settings)(command)
    return command


def check_outputs(options: dict[str, Any]) -> None:
    """Refuse at the door what could not be written at the end of a long run.

    Raises:
        TargetError: a folder is not there, or may not be written to.
    """

    given = {f"--{name}": options.get(f"{name}_path") for name in OUTPUTS}
    named = [(option, path) for option, path in given.items() if path is not None and path != STANDARD_OUTPUT]
    check_apart(named)
    for option, path in named:
        check_output(option, path)


def check_output(option: str, path: str) -> None:
    """Refuse at the door a file that could not be written.

    Args: option, such as "--json"; path, its value.
    Raises: TargetError.
    """
    from attention_core.declaration.implementation import TargetError
    from attention_core.outputs import why_not_writable

    if reason := why_not_writable(path):
        raise TargetError(f"{option} {path or repr(path)} cannot be written: {reason}")


def check_apart(named: Iterable[tuple[str, str]]) -> None:
    """Refuse one file for two outputs, also where a link leads from one to the other.

    Args: named, (option, path) of every output. Raises: TargetError.
    """
    from attention_core.declaration.implementation import TargetError

    seen: dict[str, str] = {}
    for option, path in named:
        real = os.path.realpath(path)
        if real in seen:
            raise TargetError(f"{seen[real]} and {option} name one file, {path}: one would overwrite the other")
        seen[real] = option


def write_reports(reports: list[Report], options: dict[str, Any], shard: Shard | None = None) -> None:
    """The requested machine-readable outputs; JSON says which shard of a run it is.

    Raises:
        TargetError: one cannot be written.
    """
    from attention_core.declaration.implementation import TargetError

    for name in OUTPUTS:
        path = options.get(f"{name}_path")
        if path == STANDARD_OUTPUT:
            click.echo(_render(name, reports, shard), nl=False)
        elif path:
            try:
                Path(path).write_text(_render(name, reports, shard), encoding="utf-8", errors="replace")
            except OSError as error:
                raise TargetError(f"{path} cannot be written: {error.strerror}") from error


def _render(name: str, reports: list[Report], shard: Shard | None) -> str:
    """The text of one output."""
    if name == "json":
        from attention_core.conformance.report.results import to_json
        from attention_core.conformance.report.shards import shard_to_json

        return to_json(reports) if shard is None else shard_to_json(shard, reports)
    if name == "junit":
        from attention_core.conformance.report.render_ci import to_junit

        return to_junit(reports)
    if name == "sarif":
        from attention_core.conformance.report.render_ci import to_sarif

        return to_sarif(reports)
    if name == "badge":
        from attention_core.conformance.report.render_ci import to_badge

        return to_badge(reports)
    from attention_core.conformance.report.render_html import to_html

    return to_html(reports)


def annotate(reports: list[Report], *, aside: bool = False) -> None:
    """Print annotations of GitHub Actions, and append to the summary of the step where there is one.

    They go to standard error where they would be `aside` of what standard output holds; GitHub reads both.

    Raises:
        TargetError: the summary cannot be written.
    """
    from attention_core.annotations import append_summary
    from attention_core.conformance.report.render_ci import annotation_lines, to_markdown
    from attention_core.declaration.implementation import TargetError

    for line in annotation_lines(reports):
        click.echo(line, err=aside)
    try:
        append_summary(to_markdown(reports))
    except OSError as error:
        raise TargetError(f"the summary of the step cannot be written: {error.strerror}") from error


# The options for help and its width; a command that is also called by itself, as tests do, takes it too.
HELP: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 110}


def complete_target(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """What a shell offers for a TARGET: rows of the kernel table, and files.

    >>> [item.value for item in complete_target(None, None, "torch:flas")]
    ['torch:flash']
    """
    from click.shell_completion import CompletionItem

    from attention_core.registry.table import KERNELS

    rows = [CompletionItem(row.name) for row in KERNELS if row.name.startswith(incomplete)]
    return rows or [CompletionItem(incomplete, type="file")]


class ListedCommands(click.Group):
    """Commands whose list shows the whole first sentence of each, on as many lines as it takes."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the section of the commands."""
        found = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        shown = [(name, command) for name, command in found if command is not None and not command.hidden]
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.get_short_help_str(limit=1000)) for name, command in shown])


class Commands(ListedCommands):
    """Commands that end with the status of a program ended by Ctrl-C, also where it comes while they still import."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo("attention-core: interrupted", err=True)
            sys.exit(130)


class Seconds(click.FloatRange):
    """A number of seconds that a clock can wait for: a finite one."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number. Raises: click.BadParameter."""
        seconds = super().convert(value, param, ctx)
        if not math.isfinite(seconds) or seconds > LONGEST:
            self.fail(f"{value} is not a number of seconds below {LONGEST:g} (a day).", param, ctx)
        return seconds


@contextmanager
def interruptible(advice: str = "") -> Iterator[None]:
    """Ctrl-C and SIGTERM end workers too; the exit status is that of a program ended by the signal, not a verdict.

    `advice` says how to go on, where something is kept.
    """
    from attention_core.conformance.engine.verify import ended_by_signals

    try:
        with ended_by_signals():
            yield
    except KeyboardInterrupt:
        click.echo(f"attention-core: interrupted{advice and '; '}{advice}", err=True)
        sys.exit(130)


class progress:  # noqa: N801 (a context manager used like a function)
    """A progress bar on standard error while laws run, when somebody looks."""

    def __init__(self, target: str, quiet: bool) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        console = make_console(stderr=True)
        self.bar = Progress(*columns, console=console, transient=True, disable=quiet or not console.is_terminal)
        self.target = target

    def __enter__(self) -> Callable[[str, LawResult, int], None]:
        self.bar.start()
        from rich.markup import escape

        self.task = self.bar.add_task(escape(f"{self.target}: loading"), total=None)
        return self.tick

    def tick(self, target: str, result: LawResult, total: int) -> None:
        from rich.markup import escape

        self.bar.update(self.task, total=total, advance=1, description=escape(f"{target}: {result.law}"))

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Take the bar away while something else is printed."""
        self.bar.stop()
        yield
        self.bar.start()

    def __exit__(self, *_: object) -> None:
        self.bar.stop()
