"""The command `attention-core grade`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from attention_core.terminal import STANDARD_OUTPUT, Seconds, check_outputs, interruptible, make_console

if TYPE_CHECKING:
    from attention_core.grading.batch import Batch
    from attention_core.grading.results import Grade

EXIT_STATUS = """Exit status: 1 if any submission is refused, else 2 if any could not be graded, else 0."""
"""Of `grade`."""


def print_rules(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    """Print the rules, and end."""
    if value:
        from attention_core.grading.render_text import rules_as_text

        click.echo(rules_as_text())
        context.exit()


@click.command(epilog=EXIT_STATUS)
@click.argument("submissions", nargs=-1, required=True, metavar="SUBMISSION...")
@click.option(
    "--task", "task_path", required=True, metavar="TASK", type=click.Path(dir_okay=False, path_type=Path),
    help="A TOML file, a KernelBench problem (.py) or a flashinfer-bench definition (.json).",
)  # fmt: skip
@click.option("--seed", metavar="HEX", default="", help="Seed of an earlier grade, for the same inputs again.")
@click.option("--limit", type=Seconds(1.0), default=300.0, show_default=True,
              help="Seconds for one submission; waiting on a busy machine does not count.")  # fmt: skip
@click.option(
    "--jobs", type=click.IntRange(1, 64), default=None,
    help="Submissions judged side by side; they are timed one by one.  [default: as many as there are cores]",
)  # fmt: skip
@click.option("--json", "json_path", type=click.Path(dir_okay=False, allow_dash=True),
              help="Write the grades as JSON; - writes them to standard output, and nothing else there.")  # fmt: skip
@click.option("--html", "html_path", type=click.Path(dir_okay=False), help="Write the grades as one HTML page.")
@click.option("--rules", is_flag=True, is_eager=True, expose_value=False, callback=print_rules,
              help="List the rules by which submissions are refused, and exit.")  # fmt: skip
@click.option("-q", "--quiet", is_flag=True, help="Show only the verdicts.")
def grade(submissions: tuple[str, ...], **options: Any) -> None:
    """Verify and time generated kernels: each timed answer is judged.

    SUBMISSION is a Python file or a folder. It is accepted, or refused by a rule; only an accepted one has a time,
    beside that of the task's reference.
    """
    from attention_core.declaration.errors import plain
    from attention_core.declaration.implementation import TargetError
    from attention_core.grading.batch import grade_all
    from attention_core.grading.render_text import print_grade
    from attention_core.grading.results import exit_status

    console = make_console(stderr=options["json_path"] == STANDARD_OUTPUT)
    try:
        check_outputs(options)
        paths, batch = read_request(submissions, options)
    except TargetError as error:
        click.echo(f"attention-core: {plain(str(error))}", err=True)
        sys.exit(2)

    def show(found: Grade) -> None:
        print_grade(console, found, quiet=options["quiet"] or len(paths) > 1)

    with interruptible():
        grades = grade_all(paths, batch, show)
    finish(console, grades, options)
    sys.exit(exit_status(grades))


def read_request(submissions: tuple[str, ...], options: dict[str, Any]) -> tuple[list[Path], Batch]:
    """The submissions and how they are graded. Raises: TargetError."""
    from attention_core.declaration.implementation import TargetError
    from attention_core.grading.batch import Batch
    from attention_core.grading.fresh_inputs import check_secret
    from attention_core.grading.task import read_task
    from attention_core.registry.load import implementation_for

    secret = check_secret(options["seed"]) if options["seed"] else ""
    task = read_task(options["task_path"])
    if task.format == "attention":
        implementation_for(task.reference, {})  # a name that no kernel has
    paths = [Path(text) for text in submissions]
    for path in paths:
        if not path.exists():
            raise TargetError(f"no such submission: {path}")
    jobs = min(options["jobs"] or os.cpu_count() or 1, len(paths))
    return paths, Batch(options["task_path"], secret, options["limit"], jobs)


def finish(console: Any, grades: list[Grade], options: dict[str, Any]) -> None:
    """Show the table of many, and write what is wanted."""
    from attention_core.grading.render_text import grade_table
    from attention_core.grading.results import to_json

    if len(grades) > 1:
        console.print(grade_table(grades))
    path = options["json_path"]
    if path == STANDARD_OUTPUT:
        click.echo(to_json(grades), nl=False)
    elif path:
        Path(path).write_text(to_json(grades), encoding="utf-8", errors="replace")
    if options["html_path"]:
        from attention_core.grading.render_html import to_html

        Path(options["html_path"]).write_text(to_html(grades), encoding="utf-8", errors="replace")
