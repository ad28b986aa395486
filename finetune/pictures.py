"""Pictures of results: curves over epochs, bars over methods or models, counts of what is frozen and trained.

Drawn without a screen; matplotlib is imported here alone.
"""

from __future__ import annotations

import io
import math
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from finetune.errors import BadInput
from finetune.training import checkpoint


def figure(width: float, height: float) -> Any:
    """An empty picture. Raises: BadInput where matplotlib is not installed."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        raise BadInput("pictures need matplotlib: python -m pip install 'attention-core[finetune]'") from None
    return Figure(figsize=(width, height), layout="constrained")


def kind_of(path: str | Path) -> str:
    """The format that a picture's name ends with. Raises: BadInput where it is none of ours."""
    kind = Path(path).suffix.lstrip(".")
    if kind not in ("png", "svg", "pdf"):
        raise BadInput(f"{path}: a picture is a png, svg or pdf")
    return kind


def write(picture: Any, path: str | Path) -> None:
    """Write a picture in the format that its name ends with, all or nothing; the same data give the same bytes."""
    kind = kind_of(path)
    buffer = io.BytesIO()
    metadata = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}[kind]
    picture.savefig(buffer, format=kind, metadata=metadata)
    checkpoint.replace_file(path, buffer.getvalue())


def curves(records: Sequence[Mapping[str, Any]], best: Mapping[str, Any], baseline: float, path: str | Path) -> None:
    """Loss and accuracy of train and dev over epochs, with the best evaluation marked and the majority class as a line.

    Args: records, with epoch (a fraction counts), train_loss, train_accuracy, dev_loss, dev_accuracy; best, one of
        them; baseline, the accuracy of the majority class on dev; path.
    """
    picture = figure(9, 3.6)
    epochs = [record["epochs"] for record in records]
    for axes, kind in zip(picture.subplots(1, 2), ("loss", "accuracy"), strict=True):
        for side, style in (("train", "--"), ("dev", "-")):
            values = [record[f"{side}_{kind}"] for record in records]
            axes.plot(epochs, values, style, marker=".", label=side)
        axes.plot([best["epochs"]], [best[f"dev_{kind}"]], "o", ms=10, mfc="none", color="k", label="best on dev")
        if kind == "accuracy":
            axes.axhline(baseline, color="gray", lw=1, ls=":", label="majority class")
        axes.set_xlabel("epochs")
        axes.set_ylabel("loss, nats" if kind == "loss" else "accuracy")
        axes.legend(fontsize="small")
    write(picture, path)


def confusion_matrix(
    matrix: Sequence[Sequence[int]], classes: Sequence[str], path: str | Path, *, title: str = ""
) -> None:  # fmt: skip
    """Counts by true class (rows) and predicted class (columns), each cell shaded by its share of the row.

    Args: matrix, counts; classes, their names; path; title.
    """
    size = len(classes)
    picture = figure(max(3.6, 0.7 * size + 2), max(3.2, 0.6 * size + 1.6))
    axes = picture.subplots()
    shares = [[cell / max(sum(row), 1) for cell in row] for row in matrix]
    axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    if size <= 30:  # more numbers than that cannot be read
        for r, row in enumerate(matrix):
            for c, cell in enumerate(row):
                colour = "white" if shares[r][c] > 0.5 else "black"
                axes.text(c, r, str(cell), ha="center", va="center", color=colour, fontsize="small")
    names = [name if len(name) <= 24 else f"{name[:23]}…" for name in classes]
    axes.set_xticks(range(size), names, rotation=45, ha="right", fontsize="small")
    axes.set_yticks(range(size), names, fontsize="small")
    axes.set_xlabel("predicted")
    axes.set_ylabel("true")
    axes.set_title(title)
    write(picture, path)


def losses(
    training: Sequence[tuple[int, float]], held_out: Sequence[tuple[int, float]], token: str, path: str | Path,
    *, smoothing: float = 0.9,
) -> None:  # fmt: skip
    """Draw the loss of a language model over its steps, and the smoothed perplexity.

    Args:
        training: (step, nats a token) of single steps.
        held_out: the same, of the held-out text.
        token: what a token is, for the labels.
        path: of the picture.
        smoothing: the share of the last smoothed loss in the next one; perplexity is exp of it.
    """
    picture = figure(9, 3.6)
    left, right = picture.subplots(1, 2)
    smoothed = smooth([loss for _, loss in training], smoothing)
    steps = [step for step, _ in training]
    left.plot(steps, [loss for _, loss in training], lw=0.5, alpha=0.6, label="training")
    right.plot(steps, [math.exp(min(loss, 50)) for loss in smoothed], lw=1, label="training, smoothed")
    for axes, values in ((left, [v for _, v in held_out]), (right, [math.exp(min(v, 50)) for _, v in held_out])):
        axes.plot([step for step, _ in held_out], values, ".-", label="held out")
        axes.set_xlabel("step")
        axes.legend(fontsize="small")
    left.set_ylabel(f"loss, nats a {token}")
    right.set_ylabel(f"perplexity a {token}")
    right.set_yscale("log")
    write(picture, path)


def smooth(values: Sequence[float], share: float) -> list[float]:
    """Return the exponential moving average of values, without the pull of its start.

    >>> smooth([4.0, 2.0], 0.5)
    [4.0, 2.666...]
    """
    average, found = 0.0, []
    for count, value in enumerate(values, 1):
        average = share * average + (1 - share) * value
        found.append(average / (1 - share**count))
    return found


def bars(
    names: Sequence[str], groups: Mapping[str, Sequence[float]], path: str | Path, *, ylabel: str,
    reasons: Mapping[str, str] | None = None, line: tuple[float, str] | None = None,
) -> None:  # fmt: skip
    """Bars side by side: a cluster for each name, a colour for each group.

    Args: names, below the clusters; groups, a number for each name; reasons, words over a cluster that has none (its
        bars are at 0); line, a height with its name, such as that of the majority class.
    """
    picture = figure(max(5.0, 1.3 * len(names) + 1.5), 4)
    axes = picture.subplots()
    width = 0.8 / max(len(groups), 1)
    for number, (group, values) in enumerate(groups.items()):
        places = [n + (number - (len(groups) - 1) / 2) * width for n in range(len(names))]
        drawn = axes.bar(places, values, width, label=group)
        axes.bar_label(drawn, [f"{value:.3g}" for value in values], fontsize=7, padding=1)
    for name, reason in (reasons or {}).items():
        words = "\n".join(textwrap.wrap(" ".join(reason.split()), 18, max_lines=5, placeholder=" ..."))
        # Above the zeros of its bars, which would hide it.
        axes.annotate(
            words, (names.index(name), 0), (0, 12), textcoords="offset points", ha="center", va="bottom", fontsize=7
        )
    if line is not None:
        axes.axhline(line[0], color="gray", lw=1, ls=":", label=line[1], zorder=0)
    axes.margins(y=0.1)
    axes.set_xticks(range(len(names)), names, rotation=20, ha="right")
    axes.set_ylabel(ylabel)
    axes.legend(fontsize="small", loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=4, frameon=False)
    write(picture, path)


def parts(counts: Mapping[str, Sequence[tuple[str, int, int]]], path: str | Path) -> None:
    """For each method the parts of the model, those that are trained in another colour, with their counts.

    Args: counts, by method: (part, trained, frozen) from the input to the head; path.
    Source: the overview of fine-tuning methods in the assignment, figure 4.
    """
    picture = figure(2.4 * len(counts) + 0.6, 4.5)
    for axes, (method, rows) in zip(picture.subplots(1, len(counts), squeeze=False)[0], counts.items(), strict=True):
        for height, (part, trained, frozen) in enumerate(rows):
            colour = "#f2c14e" if trained else "#9dc3e6"
            axes.barh(height, 1, 0.85, color=colour, edgecolor="k", lw=0.5)
            message = f"{part}\n" + (f"{trained:,} trained" if trained else f"{frozen:,} frozen")
            axes.text(0.5, height, message, ha="center", va="center", fontsize=7)
        axes.set_title(f"{method}\n{sum(r[1] for r in rows):,} of {sum(r[1] + r[2] for r in rows):,}", fontsize=9)
        axes.set_axis_off()
    write(picture, path)
