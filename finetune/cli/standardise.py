"""The command line of standardising labels: into sectors, beside a reference, and the check of a printed result."""

from __future__ import annotations

import csv
import io
import json
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import click

from finetune.cli.options import Finite
from finetune.cli.prompt import MODES, bar, check_output, model_of, store_of, write_text
from finetune.errors import BadInput, count_columns


@click.command()
@click.argument("labels", metavar="LABELS")
@click.option("--into", metavar="SECTORS", help="A file with one sector per line.")
@click.option("--mapping", metavar="FILE", help="The known sectors: CSV, label,sector.")
@click.option("--reference", metavar="FILE", help="Labels by sector: CSV, sector,count; without --mapping.")
@click.option("--aware", is_flag=True, help="Show the distribution so far and the reference's in each question.")
@click.option("--constrained", is_flag=True, help="Take the likeliest sector, so that no answer is outside the set.")
@click.option("--strict", is_flag=True, help="Accept a sector's name only as it is written.")
@click.option("--check", is_flag=True, help="LABELS is a result (JSON): report what does not add up.")
@click.option("--model", "models", multiple=True, default=["smollm2"], show_default=True, metavar="NAME",
              help="A model, as for `finetune prompt`; several are compared.")  # fmt: skip
@click.option("--server", metavar="URL", help="An OpenAI-compatible API, or `openai`.")
@click.option("--server_field", "server_fields", multiple=True, metavar="NAME=VALUE",
              help="A further field of each request to a server, as repeat_penalty=1. Repeatable.")  # fmt: skip
@click.option("--mode", type=MODES, default="completion", show_default=True, help="Complete a text, or chat.")
@click.option("--store", metavar="FILE", help="Keep answers here (SQLite), and do not send what is kept.")
@click.option("--parallel", type=click.IntRange(1, 256), default=8, show_default=True, help="Requests at once.")
@click.option("--retries", type=click.IntRange(0, 20), default=6, show_default=True, help="Retries of one request.")
@click.option("--timeout", type=Finite(0, min_open=True), default=120.0, show_default=True, help="Seconds per attempt.")
@click.option("--device", default="cpu", show_default=True, help="Device of a local model.")
@click.option("--threads", type=click.IntRange(1), help="Threads of the processor, for a local model.")
@click.option("--output", metavar="FILE", help="Write the results as JSON.")
@click.option("--picture", metavar="FILE", help="Draw the counts by sector: png, svg or pdf.")
def standardise(labels: str, models: tuple[str, ...], check: bool, **options: Any) -> None:
    """Assign each line of LABELS to one of the sectors of a file, with a language model, and count.

    Example: finetune standardise industries.txt --into sectors.txt --mapping known.csv --model smollm2
    """
    if check:
        check_result(labels)
        return
    if not options["into"]:
        raise BadInput("name the sectors: --into FILE, with one sector per line")
    check_output(options["output"])
    check_output(options["picture"])
    from finetune.standardise.run import standardise as run

    task, reference = task_of(labels, options)
    outcomes = []
    how = {name: options[name] for name in ("mode", "constrained", "strict")}
    with store_of(options["store"]) as store, ExitStack() as stack:
        for name in models:
            model = stack.enter_context(closing(model_of(options | {"model": name})))
            click.echo(f"finetune standardise: {len(task.labels)} labels into {len(task.sectors)} by {name}", err=True)
            with bar(len(task.labels)) as progress:
                outcomes.append(run(model, task, store=store, progress=progress, **how))
            for line in outcomes[-1].lines(reference):
                click.echo(line)
    write_text(options["output"], json.dumps([outcome.to_json() for outcome in outcomes], indent=1) + "\n")
    if options["picture"]:
        draw(outcomes, reference, options["picture"])


def task_of(labels: str, options: dict[str, Any]) -> tuple[Any, list[int] | None]:
    """Return the task of a command's files, and reference counts in the order of the sectors. Raises: BadInput."""
    from finetune.standardise.run import Task

    sectors = read_lines(options["into"])
    mapping = None if options["mapping"] is None else read_pairs(options["mapping"], ("label", "sector"))
    counts = None
    if options["reference"] is not None:
        table = read_pairs(options["reference"], ("sector", "count"))
        if not all(number.strip().isdigit() for number in table.values()):
            raise BadInput(f"{options['reference']}: a count is a whole number")
        counts = {sector: int(number) for sector, number in table.items()}
    texts = read_lines(labels)
    plain = Task(texts, sectors, mapping, counts)
    if mapping is not None:
        counts = {sector: sum(mapping[label] == sector for label in texts) for sector in sectors}
    if options["aware"] and counts is None:
        raise BadInput("--aware shows a distribution: give it with --reference or --mapping")
    reference = None if counts is None else [counts.get(sector, 0) for sector in sectors]
    return Task(plain.labels, sectors, mapping, counts if options["aware"] else None), reference


def check_result(path: str) -> None:
    """Say what does not add up in a result; exit status 1 if anything does not."""
    from finetune.data.corpus import read_text
    from finetune.standardise.outcome import check_outcomes, read_outcomes

    outcomes = read_outcomes(read_text(path), path)
    lines = check_outcomes(outcomes)
    for line in lines:
        click.echo(line)
    if lines:
        raise SystemExit(1)
    click.echo(f"all {len(outcomes)} results add up")


def read_lines(path: str) -> tuple[str, ...]:
    """Return the lines of a file that are not empty."""
    from finetune.data.corpus import read_text

    return tuple(line.strip() for line in read_text(path).splitlines() if line.strip())


def read_pairs(path: str, head: tuple[str, str]) -> dict[str, str]:
    """Return the rows of a CSV file of two columns, with or without the given head. Raises: BadInput."""
    from finetune.data.corpus import read_text

    pairs: dict[str, str] = {}
    for number, row in enumerate(csv.reader(io.StringIO(read_text(path), newline="")), 1):
        if not row or (number == 1 and tuple(cell.strip() for cell in row) == head):
            continue
        if len(row) != 2:
            raise BadInput(f"{path}, row {number}: {count_columns(len(row))}, but should be 2 ({','.join(head)})")
        if row[0].strip() in pairs:
            raise BadInput(f"{path}, row {number}: {row[0].strip()!r} stands twice")
        pairs[row[0].strip()] = row[1].strip()
    return pairs


def draw(outcomes: list[Any], reference: list[int] | None, path: str | Path) -> None:
    """Draw the counts by sector, a line a model and one for the reference."""
    from finetune.pictures import figure, write

    picture = figure(9, 5)
    axes = picture.subplots()
    places = range(len(outcomes[0].sectors))
    if reference is not None:
        axes.plot(places, reference, color="k", lw=2, label="reference")
    for outcome in outcomes:
        axes.plot(places, outcome.counts, marker=".", label=f"{outcome.model} ({outcome.invalid} invalid)")
    axes.set_xticks(places, outcomes[0].sectors, rotation=85)
    axes.set_ylabel("labels")
    axes.legend(fontsize="small")
    write(picture, path)
    click.echo(f"drawn in {path}")
