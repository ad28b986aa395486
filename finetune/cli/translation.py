"""The command line of translation by entailment: a classifier of pairs scores translations, beside BLEU."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
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
    "--entails", default="ENTAILMENT", show_default=True, metavar="CLASS", help="The run's class that means entailment."
)
@click.option("--model", metavar="FOLDER", help="The pretrained encoder, if it was moved.")
@click.option("--batch_size", type=click.IntRange(1), default=64, show_default=True, help="Pairs per batch.")
@click.option("--threads", type=click.IntRange(1), help="Processor threads.  [default: torch's choice]")
@click.option(
    "--altered",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    metavar="N",
    help="Also score references with a negation, number or name changed, at most N of each.",
)
@click.option("--output", metavar="FILE", help="Write correlations and scores as JSON.")
def translation(
    folder: str, files: tuple[str, ...], entails: str, model: str | None, batch_size: int, threads: int | None,
    altered: int, output: str | None,
) -> None:  # fmt: skip
    """Score translations with the entailment classifier of RUN, and correlate the scores with human ones, beside
    BLEU and chrF.

    RUN is an --output_dir of `finetune classify` on pairs (SICK, SNLI, MNLI). A FILE has one language pair: tabs
    between the columns LP, translation, reference, HUMAN_score and sentBLEU, as WMT17's segments are published.

    Example: finetune translation runs/sick testset_de-en.tsv testset_cs-en.tsv
    """
    check_writable(output, read=files)
    pairs = "1 language pair" if len(files) == 1 else f"{len(files)} language pairs"
    click.echo(f"finetune translation: {pairs} by the classifier in {folder}")
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

    def scores_of(pairs: Any) -> tuple[Any, int]:
        found, cut = probabilities_of(classifier, pretrained, pairs, config, batch_size)
        return judged.entailment_scores(found, classes.index(entails)), cut

    click.echo(f"{'':8} {'score':12} {'Pearson (95 % interval)':28} {'Kendall (95 % interval)':28}")
    record: dict[str, Any] = {}
    for judgements in every:
        record[judgements.pair] = show_correlations(judgements, scores_of)
    if altered:
        record["altered"] = show_altered(every, altered, scores_of)
    write_text(output, json.dumps(record, indent=1) + "\n")


def show_correlations(judgements: Any, scores_of: Callable[[Any], tuple[Any, int]]) -> dict[str, Any]:
    """Print how each score of a language pair correlates with its human ones; return the figures."""
    import numpy as np

    from finetune.classification import translation as judged

    entailment, cut = scores_of(judgements.both_directions())
    surface = np.array(
        [judged.chrf(*pair) for pair in zip(judgements.translations, judgements.references, strict=True)]
    )
    scores = {"entailment": entailment, "BLEU": judgements.bleu, "chrF": surface}
    table = judged.correlations(judgements, scores)
    for name, kinds in table.items():
        cells = (f"{c.value:.3f} ({c.low:.3f} to {c.high:.3f})" for c in (kinds["pearson"], kinds["kendall"]))
        click.echo(f"{judgements.pair:8} {name:12} {'{:28} {:28}'.format(*cells)}".rstrip())
    return {
        "translations": len(judgements), "cut": cut, "scores": scores["entailment"].tolist(),
        "correlations": {name: {k: asdict(c) for k, c in kinds.items()} for name, kinds in table.items()},
    }  # fmt: skip


def show_altered(every: Sequence[Any], most: int, scores_of: Callable[[Any], tuple[Any, int]]) -> dict[str, Any]:
    """Print what BLEU, chrF and entailment make of altered references, at most so many a kind; return the figures."""
    from finetune.characters.evaluate import wilson
    from finetune.classification import translation as judged

    record: dict[str, Any] = {}
    click.echo("references that are altered, against themselves; noticed: entailment below 0.5")
    for kind in ("nothing", "negation", "number", "name"):
        pairs = [pair for judgements in every for pair in judged.altered_references(judgements)[kind]]
        chosen = pairs[:: max(1, -(-len(pairs) // most))]
        if not chosen:
            click.echo(f"  {kind:10} no pair")
            continue
        scores, _ = scores_of(judged.both_ways([b for _, b in chosen], [a for a, _ in chosen]))
        surface = sum(judged.chrf(b, a) for a, b in chosen) / len(chosen)
        words = sum(judged.sentence_bleu(b, a) for a, b in chosen) / len(chosen)
        noticed = int((scores < 0.5).sum())
        low, high = wilson(noticed, len(chosen))
        record[kind] = {
            "pairs": len(chosen), "BLEU": words, "chrF": surface, "entailment": float(scores.mean()),
            "noticed": noticed,
        }  # fmt: skip
        click.echo(
            f"  {kind:10} {len(chosen):4} pairs, BLEU {words:.3f}, chrF {surface:.3f}, entailment {scores.mean():.3f}, "
            f"noticed {noticed / len(chosen):.3f} ({low:.3f} to {high:.3f})"
        )
    return record
