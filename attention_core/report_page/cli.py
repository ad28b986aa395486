"""The commands `attention-core report` and `attention-core schema`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from attention_core.report_page.schemas import read_schema, schema_names

LARGEST = 3_000_000
"""Bytes of a page that every browser opens at once."""


@click.command("report", epilog="Exit status: 0 once the page is written, whatever it says; else 2.")
@click.argument("paths", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), default=Path("report.html"), show_default=True,
              help="The page.")  # fmt: skip
@click.option("--title", default="attention-core report", show_default=True, help="The heading of the page.")
@click.option(
    "--json",
    "json_path",
    type=click.Path(dir_okay=False, allow_dash=True),
    help="Write the verdict on each part as JSON; - writes it to standard output, and nothing else there.",
)
def write_page(paths: tuple[Path, ...], out: Path, title: str, json_path: str | None) -> None:
    """Join what commands wrote with --json into one page.

    FILE is what `verify`, `merge`, `derive`, `bench` (with or without --base), `audit` or `grade` wrote with --json, or
    the metrics.jsonl of a training run, or a folder of such files. The page loads nothing, and opens with the verdicts.
    """
    from attention_core.declaration.errors import plain
    from attention_core.declaration.implementation import TargetError
    from attention_core.report_page.page import to_json, to_page
    from attention_core.report_page.parts import read_parts
    from attention_core.report_page.sections import section_of
    from attention_core.terminal import STANDARD_OUTPUT, check_apart, check_output

    aside = json_path == STANDARD_OUTPUT
    try:
        check_output("--out", str(out))
        if json_path is not None and not aside:
            check_output("--json", json_path)
            check_apart([("--out", str(out)), ("--json", json_path)])
        if any(out.resolve() == path.resolve() for path in paths):
            raise TargetError(f"--out {out} would overwrite what is read: name another file")
        parts, left_out = read_parts(paths)
        sections = [section_of(part) for part in parts]
        text = to_page(sections, title)
        out.write_text(text, encoding="utf-8", errors="replace")
        if json_path is not None and not aside:
            Path(json_path).write_text(to_json(sections, title), encoding="utf-8", errors="replace")
    except (TargetError, OSError) as error:
        reason = f"{out} cannot be written: {error.strerror}" if isinstance(error, OSError) else plain(str(error))
        click.echo(f"attention-core: {reason}", err=True)
        sys.exit(2)
    for line in left_out:
        click.echo(f"left out: {plain(line)}", err=True)
    size = len(text.encode(errors="replace"))
    if aside:
        click.echo(to_json(sections, title), nl=False)
    click.echo(f"{out}: {len(parts)} {'part' if len(parts) == 1 else 'parts'}, {size / 1000:.0f} kB", err=aside)
    if size > LARGEST:
        click.echo(f"it is larger than {LARGEST / 1e6:.0f} MB, and may be slow: make pages of fewer files", err=True)


@click.command("schema", epilog="Exit status: 0.")
@click.argument("name", required=False, metavar="[COMMAND]", type=click.Choice(schema_names()))
def print_schema(name: str | None) -> None:
    """Print the JSON schema of what a COMMAND writes with --json.

    Without COMMAND: which there are.
    """
    if name is None:
        click.echo("\n".join(schema_names()))
    else:
        click.echo(read_schema(name), nl=False)
