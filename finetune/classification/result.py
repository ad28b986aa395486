"""What comes out of a classification run: test read once, result.json, curves, and the model to be used again.

What a classifier does class by class: the confusion matrix, precision, recall and F1.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import torch

from finetune.classification.classify import Run, run_of
from finetune.classification.config import ClassifyConfig, method_of
from finetune.classification.frozen_features import weights_digest
from finetune.classification.monitor import Monitor
from finetune.classification.pretrained import Pretrained, load_pretrained
from finetune.classification.sealed_test_set import SealedTest
from finetune.data.examples import Examples
from finetune.errors import BadInput
from finetune.models.classifier import Classifier
from finetune.models.huggingface import read_json
from finetune.peft import inject
from finetune.pictures import confusion_matrix, curves
from finetune.training import checkpoint
from finetune.training.locks import only_run_in


def confusion(labels: Sequence[int], predictions: Sequence[int], classes: int) -> list[list[int]]:
    """Count examples by true class (row) and predicted class (column).

    >>> confusion([0, 0, 1], [0, 1, 1], 2)
    [[1, 1], [0, 1]]
    """
    matrix = [[0] * classes for _ in range(classes)]
    for label, prediction in zip(labels, predictions, strict=True):
        matrix[label][prediction] += 1
    return matrix


def by_class(matrix: Sequence[Sequence[int]], names: Sequence[str]) -> dict[str, Any]:
    """Figures of each class and their plain mean, from a confusion matrix M.

    precision_c = M_cc / sum_r M_rc, recall_c = M_cc / sum_k M_ck, F1 = 2 M_cc / (row sum + column sum). A share of
    nothing is None: a class that was never predicted has no precision, one without an example no recall. F1 is None
    if both sums are 0. macro_f1 is the mean over the classes that have one.

    >>> by_class([[1, 1], [0, 1]], ["no", "yes"])["classes"]["yes"]
    {'precision': 0.5, 'recall': 1.0, 'f1': 0.666..., 'examples': 1}
    """
    found: dict[str, Any] = {}
    for number, name in enumerate(names):
        right, examples = matrix[number][number], sum(matrix[number])
        predicted = sum(row[number] for row in matrix)
        found[name] = {
            "precision": right / predicted if predicted else None, "recall": right / examples if examples else None,
            "f1": 2 * right / (examples + predicted) if examples + predicted else None, "examples": examples,
        }  # fmt: skip
    scores = [row["f1"] for row in found.values() if row["f1"] is not None]
    return {"classes": found, "macro_f1": sum(scores) / len(scores) if scores else None}


def report(labels: Sequence[int], predictions: Sequence[int], names: Sequence[str]) -> dict[str, Any]:
    """The confusion matrix with the figures of `by_class`, as JSON values."""
    matrix = confusion(labels, predictions, len(names))
    return {"confusion": matrix, **by_class(matrix, names)}


def lines(found: Mapping[str, Any]) -> Iterator[str]:
    """A report as a table for a terminal."""
    width = max(map(len, [*found["classes"], "class"]))
    yield f"{'class':<{width}}  precision  recall      F1  examples"
    for name, row in found["classes"].items():
        cells = ("-" if row[key] is None else f"{row[key]:.3f}" for key in ("precision", "recall", "f1"))
        precision, recall, f1 = cells
        yield f"{name:<{width}}  {precision:>9}  {recall:>6}  {f1:>6}  {row['examples']:>8}"


def classify(
    config: ClassifyConfig, say: Callable[[str], None] = print, on_step: Callable[[int, int], None] | None = None
) -> dict[str, Any]:
    """Train, choose by dev, read the test set once, write result.json and pictures into output_dir.

    Args: config; say, called with lines for a person; on_step, as `Run.train` calls it.
    Returns: the result, as JSON values. Raises: BadInput for whatever a user can mend.
    """
    run = run_of(config, say)
    with only_run_in(run.folder if run.team.rank == 0 else None):
        return classify_under_lock(run, on_step)


def classify_under_lock(run: Run, on_step: Callable[[int, int], None] | None = None) -> dict[str, Any]:
    """`classify` of a run whose folder is locked."""
    start, config = time.perf_counter(), run.config
    trained, every = run.parameters()
    run.say(f"{config.method}: {trained:,} of {every:,} parameters are trained")

    def show(record: Mapping[str, Any]) -> None:
        run.say(
            f"epoch {record['epochs']:.2f}: train loss {record['train_loss']:.4f}, accuracy "
            f"{record['train_accuracy']:.3f}; dev loss {record['dev_loss']:.4f}, accuracy {record['dev_accuracy']:.3f}"
        )

    monitor = run.train(show, on_step)
    result = outcome(run, monitor)
    for problem in result["problems"]:
        run.say(problem)
    earlier = 0.0 if monitor.trainer is None else monitor.trainer.seconds_before
    result["seconds"] = earlier + time.perf_counter() - start  # the steps of runs that were interrupted count too
    if run.folder is not None and run.team.rank == 0:
        checkpoint.replace_file(run.folder / "result.json", (json.dumps(result, indent=2) + "\n").encode())
        curves(monitor.records, result["best"], result["majority"]["dev"], run.folder / "curves.png")
        side = "test" if result["test"] is not None and "confusion" in result["test"] else "dev"
        confusion_matrix(result[side]["confusion"], result["classes"], run.folder / "confusion.png", title=side)
        if run.adapter is not None:
            run.adapter.save(run.folder / "adapter")
    run.team.barrier()
    return result


def problems_of(run: Run, monitor: Monitor) -> list[str]:
    """What went wrong in a run that came to its end, a sentence each."""
    found = [] if (words := monitor.describe_divergence(len(run.sides.train.classes))) is None else [words]
    if run.config.small_subset and max(record["train_accuracy"] for record in monitor.records) < 1:
        found.append(
            "the small subset was not learnt by heart, which it should be: more epochs or a larger rate; if that does "
            "not help, something is wrong"
        )
    return found


def outcome(run: Run, monitor: Monitor) -> dict[str, Any]:
    """The result of a run that has been trained, its test set read for the best by dev."""
    best = monitor.best
    assert best is not None  # training ends with an evaluation
    trained, every = run.parameters()
    test = None
    if run.sides.test is not None:
        choice = {"step": best["step"], "dev_accuracy": best["dev_accuracy"], "run": run.identity()}
        test = read_test(run, run.sides.test, choice)
        if "test" not in run.cut:
            run.texts("test", run.sides.test)  # read before, by an earlier run: what was cut is counted all the same
    return {
        "config": asdict(run.config), "classes": list(run.sides.train.classes), "best": best,
        "parameters": {"trained": trained, "all": every}, "majority": run.sides.baselines(),
        "labels": {side: examples.counts() for side, examples in run.sides.by_name().items()},
        "leaks": [str(leak) for leak in run.sides.leaks], "cut": run.cut,
        "dev": full_scores(run, "dev", run.sides.dev), "test": test, "last": monitor.records[-1],
        "problems": problems_of(run, monitor),
    }  # fmt: skip


def full_scores(run: Run, side: str, examples: Examples) -> dict[str, Any]:
    """Accuracy with interval, loss, confusion matrix and figures of each class, of what is in the model."""
    tally = run.score(run.source(side, examples))
    return {**tally.to_json(), **report(tally.labels, tally.predictions, examples.classes)}


def read_test(run: Run, test: Examples, choice: Mapping[str, Any]) -> dict[str, Any]:
    """The scores on test of what is in the model; in a folder, once."""

    def measure(examples: Examples) -> dict[str, Any]:
        return full_scores(run, "test", examples)

    if run.folder is None or run.team.rank:  # of several processes the first keeps the ledger
        return measure(test)
    return SealedTest(test, run.folder / "test.json").read(choice, measure)


def config_of_run(folder: str | Path, model: str | None = None) -> ClassifyConfig:
    """The configuration of a finished run. Raises: BadInput where the folder holds none."""
    path = Path(folder) / "result.json"
    if (Path(folder) / "run.json").is_file() and not path.exists():
        raise BadInput(f"{folder} holds an unfinished run ({path} is missing): the same `classify` continues it")
    result = read_json(path)
    known = {field.name for field in fields(ClassifyConfig)}
    try:
        options = {name: value for name, value in result["config"].items() if name in known}
        return ClassifyConfig(**{**options, "model": model or options["model"]})
    except (KeyError, TypeError, AttributeError) as error:
        raise BadInput(f"{folder} holds no finished run ({type(error).__name__}: {error})") from None


def load_trained(folder: str | Path, model: str | None = None) -> tuple[Classifier, Pretrained, tuple[str, ...]]:
    """The classifier that `classify` left in a folder, in evaluation mode, with its tokenizer and classes.

    Args: folder; model, the pretrained encoder's folder where it has moved.
    Raises: BadInput where the folder holds no finished run, or the encoder's weights are not those that it was made of.
    """
    folder = Path(folder)
    config = config_of_run(folder, model)
    result, made = read_json(folder / "result.json"), read_json(folder / "run.json")
    try:
        classes = tuple(str(name) for name in result["classes"])
        weights = made["weights"]
    except (KeyError, TypeError, AttributeError) as error:
        raise BadInput(f"{folder} holds no finished run ({type(error).__name__}: {error})") from None
    pretrained = load_pretrained(config.model, config.backend)
    if weights_digest(pretrained.encoder) != weights:
        raise BadInput(f"{config.model} is not the encoder that {folder} was trained on: its weights are others")
    classifier = Classifier(pretrained.encoder, len(classes), pool=config.pool, dropout=config.dropout)
    method = method_of(config)
    if method is not None:
        inject(classifier, method)
    kept = checkpoint.load_record(folder / "best", {"trained": dict}, "the best weights of a run")["trained"]
    own = {name: p for name, p in classifier.named_parameters() if p.requires_grad}
    if {n: getattr(v, "shape", None) for n, v in kept.items()} != {n: p.shape for n, p in own.items()}:
        raise BadInput(f"{folder / 'best'} does not hold what its run.json says")
    with torch.no_grad():
        for name, value in kept.items():
            own[name].copy_(value)
    return classifier.eval(), pretrained, classes
