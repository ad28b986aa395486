"""The command line of head importance: which attention heads a trained classifier needs, and how it does without."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from finetune.cli.options import check_writable
from finetune.errors import BadInput


@click.command()
@click.argument("folder", metavar="RUN")
@click.option("--model", metavar="FOLDER", help="The pretrained encoder, if it was moved.")
@click.option("--limit", type=click.IntRange(2), default=200, show_default=True,
              help="Dev examples for importance, test examples for pruning; chosen by hash.")  # fmt: skip
@click.option("--batch_size", type=click.IntRange(1), default=32, show_default=True, help="Texts per batch.")
@click.option("--shares", default="0.1,0.2,0.3,0.4,0.5,0.6,0.8", show_default=True, help="Shares of heads to take out.")
@click.option("--output", metavar="FILE", help="Write everything as JSON.")
@click.option(
    "--picture", metavar="FILE", help="Both measures by layer and head, and accuracy against heads taken out."
)
@click.option("--threads", type=click.IntRange(1), help="Processor threads.  [default: torch's choice]")
def heads(
    folder: str, model: str | None, limit: int, batch_size: int, shares: str, output: str | None, picture: str | None,
    threads: int | None,
) -> None:  # fmt: skip
    """Measure the importance of every attention head of RUN, an --output_dir of `finetune classify`, and prune.

    Two measures on dev: how the loss rises without the head (ablation), and the size of its slope along a gate on the
    head. Then the least important heads are taken out, by each measure, and accuracy and time are measured on test.

    Example: finetune heads runs/sst2 --picture heads.png
    """
    check_writable(output, picture)
    steps = read_shares(shares)
    click.echo(f"finetune heads: {folder}")
    if threads:
        import torch

        torch.set_num_threads(threads)
    from finetune.models.quiet import quiet_libraries

    with quiet_libraries():
        result = measure(folder, model, limit, batch_size, steps)
    for line in lines(result):
        click.echo(line)
    if output is not None:
        Path(output).write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
        click.echo(f"written to {output}")
    if picture is not None:
        draw(result, picture)
        click.echo(f"drawn in {picture}")


def read_shares(text: str) -> list[float]:
    """The shares of --shares. Raises: BadInput for one that is not between 0 and 1."""
    try:
        found = [float(part) for part in text.split(",")]
    except ValueError:
        found = []
    if not found or not all(0 < share < 1 for share in found):
        raise BadInput(f"--shares {text!r}: numbers between 0 and 1 with commas, such as 0.2,0.5")
    return found


def measure(folder: str, model: str | None, limit: int, batch_size: int, shares: Sequence[float]) -> dict[str, Any]:
    """Importance on dev, then accuracy and seconds without the least important heads. Raises: BadInput."""
    from finetune.classification.classify import data_of
    from finetune.classification.data import draw_examples
    from finetune.classification.head_importance import attentions, importance_of
    from finetune.classification.result import config_of_run, load_trained

    config = config_of_run(folder, model)
    if config.method not in ("full", "head"):
        raise BadInput(f"{folder} was trained by {config.method}: heads are pruned of runs with --method full or head")
    classifier, pretrained, _ = load_trained(folder, model)
    attentions(classifier)  # refused before anything is measured
    sides = data_of(config)
    judged = "dev" if sides.test is None else "test"
    parts = {}
    for side in dict.fromkeys(("dev", judged)):
        examples = sides.by_name()[side]
        chosen = draw_examples(examples, min(limit, len(examples)), config.seed)
        parts[side] = batches_of(chosen, pretrained, config, batch_size)
    found = importance_of(classifier, parts["dev"])
    return {
        "run": str(folder), "examples": found.examples, "judged_on": judged, "ablation": found.rises.tolist(),
        "gradient": found.slopes.tolist(), "correlation": found.correlation, "interval": list(found.interval),
        "pruned": prune(classifier, found, parts[judged], shares),
    }  # fmt: skip


def batches_of(examples: Any, pretrained: Any, config: Any, batch_size: int) -> list[Any]:
    """Padded batches of examples, texts of like lengths together."""
    from finetune.data.collate import LabelledTexts, in_order
    from finetune.data.texts import encode

    encoded = encode(pretrained.tokenizer, examples, min(config.max_seq_length, pretrained.block_size))
    source = LabelledTexts(encoded, examples.labels, pretrained.tokenizer.pad_id, types=pretrained.segments)
    return list(in_order(source, batch_size, source.lengths))


def prune(classifier: Any, importance: Any, batches: Sequence[Any], shares: Sequence[float]) -> list[dict[str, Any]]:
    """Accuracy and seconds of the processor for a pass, with so many heads taken out by each measure.

    The whole model and the pruned ones take turns, three times, and the median counts.
    """
    from statistics import median

    from finetune.characters.evaluate import wilson
    from finetune.classification.head_importance import least_important, without_heads

    count = importance.rises.size
    made: list[tuple[dict[str, Any], Any]] = [({"measure": "none", "share": 0.0, "heads": 0}, classifier)]
    for name, values in (("ablation", importance.rises), ("gradient", importance.slopes)):
        for share in shares:
            gone = least_important(values, round(share * count))
            made.append(({"measure": name, "share": share, "heads": len(gone)}, without_heads(classifier, gone)))
    times: list[list[float]] = [[] for _ in made]
    rows: list[dict[str, Any]] = []
    for _ in range(3):
        for place, (_, model) in enumerate(made):
            right, total, seconds = run_once(model, batches)
            times[place].append(seconds)
            if len(times[place]) == 1:
                rows.append({"right": right, "examples": total, "interval": list(wilson(right, total))})
    return [
        {**head, **row, "accuracy": row["right"] / row["examples"], "seconds": median(taken)}
        for (head, _), row, taken in zip(made, rows, times, strict=True)
    ]


def run_once(model: Any, batches: Sequence[Any]) -> tuple[int, int, float]:
    """Right answers, examples and seconds of the processor for one pass; other programs do not count."""
    import torch

    from finetune.classification.scores import evaluating
    from finetune.models.classifier import TEXTS

    right = total = 0
    start = time.process_time()
    with evaluating(model):
        for batch in batches:
            logits = model(**{name: batch[name] for name in TEXTS if name in batch})
            right += int((torch.argmax(logits, -1) == batch["labels"]).sum())
            total += len(batch["labels"])
    return right, total, time.process_time() - start


def lines(result: Mapping[str, Any]) -> list[str]:
    """What came out, for a terminal."""
    low, high = result["interval"]
    found = [
        f"{sum(map(len, result['ablation']))} heads on {result['examples']} examples of dev: rank correlation of "
        f"ablation and gradient {result['correlation']:.2f} (95 % interval {low:.2f} to {high:.2f})",
        f"heads taken out, judged on {result['judged_on']}:", "  by        heads  accuracy  95 % interval     time",
    ]  # fmt: skip
    whole = result["pruned"][0]["seconds"]
    for row in result["pruned"]:
        low, high = row["interval"]
        found.append(
            f"  {row['measure']:<9} {row['heads']:>5}  {row['accuracy']:>8.4f}  {low:.4f} to {high:.4f}  "
            f"{row['seconds'] / whole:>5.0%}"
        )
    return found


def draw(result: Mapping[str, Any], path: str) -> None:
    """Both measures by layer and head, and accuracy against the share of heads taken out."""
    from finetune.pictures import figure, write

    picture = figure(12, 3.6)
    axes = picture.subplots(1, 3)
    titles = {"ablation": "rise of the loss without it", "gradient": "slope of a gate"}
    for axis, (name, words) in zip(axes, titles.items(), strict=False):
        image = axis.imshow(result[name], cmap="viridis", aspect="auto")
        axis.set_title(words, fontsize="medium")
        axis.set_xlabel("head")
        axis.set_ylabel("layer")
        picture.colorbar(image, ax=axis)
    whole = result["pruned"][0]
    for name in ("ablation", "gradient"):
        rows = [whole, *(row for row in result["pruned"] if row["measure"] == name)]
        below = [row["accuracy"] - row["interval"][0] for row in rows]
        above = [row["interval"][1] - row["accuracy"] for row in rows]
        spread = [below, above]
        places, values = [row["share"] for row in rows], [row["accuracy"] for row in rows]
        axes[2].errorbar(places, values, spread, marker=".", capsize=2, label=f"least important by {name}")
    axes[2].set_xlabel("share of heads taken out")
    axes[2].set_ylabel(f"accuracy on {result['judged_on']}")
    axes[2].legend(fontsize="small")
    write(picture, path)
