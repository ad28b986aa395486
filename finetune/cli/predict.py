"""The command line of prediction: a trained classifier on the texts of a file."""

from __future__ import annotations

import json
from pathlib import Path

import click

from finetune.cli.options import check_writable


@click.command()
@click.argument("folder", metavar="RUN")
@click.argument("data", metavar="FILE")
@click.option("--output", required=True, metavar="FILE", help="Predictions: .csv, .tsv or .jsonl.")
@click.option("--text_column", "--text-column", help="Column of the text, if FILE is a table.  [default: the run's]")
@click.option("--pair_column", "--pair-column", help="Column of the second text.  [default: the run's]")
@click.option("--label_column", "--label-column", help="Column of the labels, if there are any.  [default: the run's]")
@click.option(
    "--task",
    type=click.Choice(["boolq", "sst2", "yelp"]),
    help="The data set of FILE.  [default: the run's]",
)
@click.option("--model", metavar="FOLDER", help="The pretrained encoder, if it was moved.")
@click.option("--batch_size", type=click.IntRange(1), default=64, show_default=True, help="Texts per batch.")
@click.option("--threads", type=click.IntRange(1), help="Processor threads.  [default: torch's choice]")
def predict(
    folder: str, data: str, output: str, text_column: str | None, pair_column: str | None, label_column: str | None,
    task: str | None, model: str | None, batch_size: int, threads: int | None,
) -> None:  # fmt: skip
    """Classify the texts of FILE with the classifier of RUN, an --output_dir of `finetune classify`.

    FILE is a table like the one that it was trained on (labels are optional), or a .txt with one text a line. With
    labels, accuracy and the figures of each class are printed, and written beside the predictions as .json.

    Example: finetune predict runs/reviews new.csv --output answers.csv
    """
    check_writable(output, read=[data])
    click.echo(f"finetune predict: {data} by the classifier in {folder}")
    from finetune.classification import predict as predictions
    from finetune.classification.result import config_of_run, lines
    from finetune.data.tables import Columns
    from finetune.models.quiet import quiet_libraries
    from finetune.pictures import confusion_matrix
    from finetune.training.checkpoint import replace_file

    predictions.check_ending(output)
    if threads:
        import torch

        torch.set_num_threads(threads)
    own = config_of_run(folder)
    text = text_column or (None if task else own.text_column)
    columns = None if text is None else Columns(text, label_column or own.label_column, pair_column or own.pair_column)
    with quiet_libraries():
        found = predictions.predict(folder, data, model=model, columns=columns, task=task, batch_size=batch_size)
    scores = found.scores()
    if found.cut:
        click.echo(f"{found.cut} of {len(found.rows)} texts are cut to what the model was trained on")
    predictions.write_predictions(found, output)
    counts = ", ".join(f"{found.chosen.count(n)} {name}" for n, name in enumerate(found.classes))
    click.echo(f"{len(found.rows)} predictions ({counts}) written to {output}")
    if scores is None:
        return
    low, high = scores["interval"]
    click.echo(f"accuracy {scores['accuracy']:.4f} (95 % interval {low:.4f} to {high:.4f})")
    for line in lines(scores):
        click.echo(f"  {line}")
    beside = Path(output).with_suffix(".json")
    replace_file(beside, (json.dumps(scores, indent=2) + "\n").encode())
    confusion_matrix(scores["confusion"], found.classes, Path(output).with_suffix(".png"), title=Path(data).name)
    click.echo(f"figures written to {beside}, confusion matrix to {Path(output).with_suffix('.png')}")
