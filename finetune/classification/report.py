"""What a classifier does class by class: the confusion matrix, precision, recall and F1."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any


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
