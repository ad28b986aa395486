r"""The cell magic of notebooks: `%load_ext attention_core.derivation`, then `%%derive` above Markdown with LaTeX.

The cell is checked as a document is, and nothing in it is run. The shell is used by its methods alone, so that IPython
need not be installed.
"""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import Any

import click

from attention_core.derivation.show import show_report

NAME = "derive"


@click.command(name=f"%%{NAME}", add_help_option=False)
@click.argument("name", required=False)
@click.option("--explain", is_flag=True)
@click.option("-q", "--quiet", is_flag=True)
@click.option("-v", "--verbose", is_flag=True)
@click.option("--seconds", type=click.FloatRange(0.1, 86400), default=8.0)
@click.option("--strict", is_flag=True)
@click.option("--formulas", is_flag=True)
@click.option("--as-read", is_flag=True)
def options(**given: Any) -> dict[str, Any]:
    """The options of the line."""
    return given


def register(shell: Any) -> None:
    r"""Give a shell of IPython the cell magic `%%derive [NAME]`.

    Its options are those of `attention-core derive`: `--explain`, `--quiet`, `--verbose`, `--seconds`,
    `--strict`, `--formulas`, `--as-read`.
    With a NAME the report is kept in that variable.

    Args:
        shell: The shell; `%load_ext` hands it over.
    """

    def derive(line: str, cell: str) -> None:
        check_cell(shell, line, cell)

    shell.register_magic_function(derive, "cell", NAME)


def check_cell(shell: Any, line: str, cell: str) -> None:
    """Check the text of a cell and print its verdicts.

    Args:
        shell: The shell, whose variables a report is kept in.
        line: What stands after the magic's name: options, and the name of a variable.
        cell: The text below it.
    """
    from attention_core.derivation.check import check_document
    from attention_core.derivation.effort import Effort

    try:
        given = options.main(shlex.split(line), standalone_mode=False)
    except (click.ClickException, ValueError) as error:  # a quote that is not closed
        why = error.format_message() if isinstance(error, click.ClickException) else str(error)
        click.echo(f"%%{NAME}: {why}", err=True)
        return
    name = given["name"]
    if name is not None and not name.isidentifier():
        click.echo(f"%%{NAME}: {name} cannot be the name of a variable", err=True)
        return
    how = {"infer": not given["strict"], "formulas": given["formulas"], "as_read": given["as_read"]}
    report = check_document(f"{cell}\n", effort=Effort(seconds=given["seconds"]), **how)
    report = replace(report, file="cell")
    show_report(report, given["explain"], given["quiet"], verbose=given["verbose"])
    if name is not None:
        shell.user_ns[name] = report


__all__ = ["check_cell", "register"]
