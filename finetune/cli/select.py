"""The command line of selection.

`finetune select`: the options of `finetune classify`, several of them with several values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from finetune.cli.classify import FLAGS, METHODS, OPTIONS, RENAMED, add_options
from finetune.cli.options import config_option
from finetune.errors import BadInput

LISTS = {
    "model": "Models, folders or names on the hub.",
    "method": "Methods.  [default: full]",
    "lr": "Rates, or one range LOW..HIGH for --search.  [default: 1e-4,5e-4,1e-3]",
    "num_epochs": "Epochs.  [default: 7,9]",
    "batch_size": "Examples of a step.  [default: 64]",
}
"""Options that take several values, separated by commas or given again."""
LEFT_OUT = {
    "output_dir",
    "cache_dir",
    "overwrite_output_dir",
    "do_train",
    "do_eval",
    "evaluate_during_training",
    "model_type",
}


def select_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of a run that are not searched, then those that are."""
    command = add_options(
        command, {n: text for n, text in OPTIONS.items() if n not in LEFT_OUT and n not in LISTS},
        {n: text for n, text in FLAGS.items() if n not in LEFT_OUT},
    )  # fmt: skip
    for name, text in reversed(list(LISTS.items())):
        others = [f"--{other}" for other in OPTIONS[name][0]]
        command = click.option(f"--{name}", *others, name, multiple=True, help=text)(command)
    return command


def values(given: tuple[str, ...], kind: Callable[[str], Any], name: str) -> tuple[Any, ...]:
    """The values of an option. Raises: BadInput for one that is none."""
    parts = [part.strip() for text in given for part in text.split(",") if part.strip()]
    try:
        return tuple(kind(part) for part in parts)
    except ValueError:
        raise BadInput(f"--{name} should be numbers, separated by commas, got {', '.join(parts)}") from None


def space_of(options: dict[str, Any], trials: int | None) -> Any:
    """The `Space` of a command's options; they are taken out. Raises: BadInput for values that cannot be."""
    from finetune.selection.optuna_study import Space

    given = {name: options.pop(name) for name in LISTS}
    models, methods = values(given["model"], str, "model"), values(given["method"], str, "method") or ("full",)
    for method in methods:
        if method not in METHODS:
            raise BadInput(f"method {method!r} is not one of {', '.join(METHODS)}")
    if not models:
        raise BadInput("give at least one --model")
    rates = given["lr"]
    is_range = len(rates) == 1 and ".." in rates[0]
    found = values(tuple(rates[0].split("..")) if is_range else rates, float, "lr") or (1e-4, 5e-4, 1e-3)
    return Space(
        models, methods, found, values(given["num_epochs"], int, "num_epochs") or (7, 9),
        values(given["batch_size"], int, "batch_size") or (64,), trials, is_range,
    )  # fmt: skip


@click.command()
@config_option
@click.option("--study", required=True, metavar="FOLDER", help="Where everything is kept; the same command continues.")
@click.option("--storage", metavar="URL", help="An Optuna database, for many machines.  [default: SQLite in --study]")
@click.option("--search", "trials", type=click.IntRange(1), help="Trials, chosen by TPE.  [default: every combination]")
@click.option("--trials_here", type=click.IntRange(1), help="Trials in this process, at most.")
@select_options
def select(study: str, storage: str | None, trials: int | None, trials_here: int | None, **options: Any) -> None:
    """Choose models, methods and hyperparameters by dev; the test set is read once, when every trial is done."""
    from finetune.classification.config import ClassifyConfig
    from finetune.selection.select import Selection, table

    space = space_of(options, trials)
    if options.pop("threads") is not None:
        import torch

        torch.set_num_threads(click.get_current_context().params["threads"])
    base = ClassifyConfig("", **{RENAMED.get(k, k): v for k, v in options.items()})
    click.echo(f"finetune select: {', '.join(space.models)}; {', '.join(space.methods)}; kept in {study}")
    selection = Selection(base, space, study, storage, click.echo)
    for line in selection.data.report():
        click.echo(line)
    found = selection.work(trials_here).finish()
    if found is not None:
        click.echo(table(found))
        click.echo(f"written to {study}")
