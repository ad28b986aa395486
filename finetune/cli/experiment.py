"""`finetune experiment`: run one of the experiments with attention, or list them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from finetune.errors import BadInput


@click.command()
@click.argument("name", required=False)
@click.option("--text", "text_path", metavar="FILE", help="The text to train on.  [default: tinyshakespeare of "
              "ATTENTION_CORE_DATA, else Python's own reference]")  # fmt: skip
@click.option("--seeds", type=click.IntRange(2), help="Runs of each variant.  [default: the experiment's, at least 5]")
@click.option("--steps", type=click.IntRange(1), help="Training steps.  [default: the experiment's]")
@click.option("--folder", default="build/experiments", show_default=True, metavar="FOLDER",
              help="Where runs are kept; an interrupted experiment continues.")  # fmt: skip
@click.option("--write", "write_path", metavar="FOLDER", help="Write NAME.md, NAME.png and NAME.json there.")
def experiment(
    name: str | None, text_path: str | None, seeds: int | None, steps: int | None, folder: str, write_path: str | None
) -> None:
    """Run the experiment NAME: variants of attention in a tiny GPT, paired seeds, intervals, conclusions by a rule.

    Without NAME the experiments are listed; `all` runs every one.
    """
    from finetune.experiments.table import EXPERIMENTS

    if name is None:
        for each, about in EXPERIMENTS.items():
            click.echo(f"  {each:<{max(map(len, EXPERIMENTS))}}  {about}")
        return
    import torch

    torch.set_num_threads(1)  # the models are so small that threads only wait for each other
    for each in EXPERIMENTS if name == "all" else [name]:
        run_experiment(each, text_path, seeds, steps, Path(folder), write_path)


def run_experiment(
    name: str, text_path: str | None, seeds: int | None, steps: int | None, folder: Path, write_path: str | None
) -> None:
    """Run one experiment, print its table and conclusions, and write its page with `--write`. Raises: BadInput."""
    from finetune.experiments.report import conclusion_lines, table, write_report
    from finetune.experiments.runs import run_all
    from finetune.experiments.table import load_experiment
    from finetune.experiments.texts import NO_TEXT, read_experiment_text

    chosen = load_experiment(name)
    if write_path is not None and Path(write_path).exists() and not Path(write_path).is_dir():
        raise BadInput(f"--write {write_path}: it is a file, but pages go into a folder")
    text = read_experiment_text(text_path) if chosen.uses_text else NO_TEXT
    setting = chosen.setting.with_numbers(seeds=seeds, steps=steps)
    count = setting.seeds * len(chosen.variants)
    click.echo(f"{name}: {count} runs of {setting.steps} steps on {text.name}, kept in {folder / name}", err=True)
    with progress(name) as show:
        results = run_all(chosen, setting, text, folder, show)
    click.echo(f"{chosen.title}\n\n{table(chosen, results)}\n")
    for line in conclusion_lines(chosen, results):
        click.echo(line)
    if write_path is not None:
        for path in write_report(chosen, results, setting, text, Path(write_path)):
            click.echo(f"written: {path}", err=True)


@contextmanager
def progress(name: str) -> Iterator[Callable[[int, int, str], None]]:
    """Within, a bar on a terminal's standard error, elsewhere a line a run."""
    if not sys.stderr.isatty():
        yield lambda done, count, what: click.echo(f"{name}: {done} of {count} runs done, {what}", err=True)
        return
    with click.progressbar(length=1, label=name, file=sys.stderr, item_show_func=str) as bar:

        def show(done: int, count: int, what: str) -> None:
            bar.length = count
            bar.update(done - bar.pos, what)

        yield show
