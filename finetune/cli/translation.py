"""The command line of translation by entailment: a classifier of pairs scores translations, beside BLEU."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import click

from finetune.cli.options import check_writable
from finetune.cli.prompt import write_text
from finetune.errors import BadInput


@click.command()
@click.argument("folder", metavar="RUN")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option(
    "--entails", default="ENTAILMENT", show_default=True, metavar="CLASS", help="The run's class of entailment."
)
@click.option("--model", metavar="FOLDER", help="The pretrained encoder, where it has moved.")
@click.option("--batch_size", type=click.IntRange(1), default=64, show_default=True, help="Pairs at once.")
@click.option("--threads", type=click.IntRange(1), help="Of the processor.  [default: torch's choice]")
@click.option("--output", metavar="FILE", help="Correlations and scores as JSON.")
def translation(
    folder: str, files: tuple[str, ...], entails: str, model: str | None, batch_size: int, threads: int | None,
    output: str | None,
) -> None:  # fmt: skip
    """Score translations by the entailment classifier of RUN, and correlate with human scores, beside BLEU.

    RUN is an --output_dir of `finetune classify` on pairs (SICK, SNLI, MNLI). A FILE has one language pair: tabs
    between the columns LP, translation, reference, HUMAN_score and sentBLEU, as WMT17's segments are published.

    Example: finetune translation runs/sick testset_de-en.tsv testset_cs-en.tsv
    """
    check_writable(output, read=files)
    click.echo(f"finetune translation: {len(files)} language pairs by the classifier in {folder}")
    if threads:
        import torch

        torch.set_num_threads(threads)
    from finetune.classification import translation as judged
    from finetune.classification.predict import probabilities_of
    from finetune.classification.result import config_of_run, load_trained

    config = config_of_run(folder, model)
    classifier, pretrained, classes = load_trained(folder, model)
    if entails not in classes:
        raise BadInput(f"--entails {entails}: the classes of {folder} are {', '.join(classes)}")
    every = [judged.read_judgements(path) for path in files]
    click.echo(f"{'':8} {'score':12} {'Pearson (95 % interval)':28} {'Kendall (95 % interval)':28}")
    record: dict[str, Any] = {}
    for judgements in every:
        found, cut = probabilities_of(classifier, pretrained, judgements.both_directions(), config, batch_size)
        scores = {"entailment": judged.entailment_scores(found, classes.index(entails)), "BLEU": judgements.bleu}
        table = judged.correlations(judgements, scores)
        for name, kinds in table.items():
            cells = (f"{c.value:.3f} ({c.low:.3f} to {c.high:.3f})" for c in (kinds["pearson"], kinds["kendall"]))
            click.echo(f"{judgements.pair:8} {name:12} {'{:28} {:28}'.format(*cells)}".rstrip())
        record[judgements.pair] = {
            "translations": len(judgements), "cut": cut, "scores": scores["entailment"].tolist(),
            "correlations": {name: {k: asdict(c) for k, c in kinds.items()} for name, kinds in table.items()},
        }  # fmt: skip
    write_text(output, json.dumps(record, indent=1) + "\n")
