"""Demonstrations of a few-shot prompt: drawn with a seed, balanced or not, in an order that can be varied."""

from __future__ import annotations

import random
from typing import Literal, get_args

from finetune.classification.data import draw_examples
from finetune.data.examples import Examples
from finetune.data.splits import normal
from finetune.errors import BadInput

Order = Literal["interleaved", "blocked", "reversed", "shuffled"]
ORDERS: tuple[Order, ...] = get_args(Order)


def choose_demonstrations(
    train: Examples,
    evaluated: Examples,
    count: int,
    *,
    seed: int = 0,
    balanced: bool = True,
    order: Order = "interleaved",
) -> Examples:
    """Draw demonstrations from the training examples, never one whose text is evaluated.

    Balanced, each class gives count / C of them, the first classes one more where that is not whole; otherwise they
    come as drawn. The draws of a larger count contain those of a smaller one.

    Args:
        train: where they come from.
        evaluated: the examples that are going to be judged.
        count: how many; 0 is zero-shot.
        seed: of the draw and of a shuffled order.
        balanced: the same number from each class.
        order: "interleaved" (the classes take turns), "blocked" (class after class), "reversed" (of interleaved),
            "shuffled".
    Raises:
        BadInput: if a class has too few examples.
    Source: few-shot prompts are biased towards frequent and recent labels: Zhao et al. (2021), "Calibrate before use".
    """
    taken = {key for column in (evaluated.first, evaluated.second or ()) for key in map(normal, column)}
    free = [
        n for n in range(len(train))
        if normal(train.first[n]) not in taken and (train.second is None or normal(train.second[n]) not in taken)
    ]  # fmt: skip
    pool = draw_examples(train.take(free), len(free), seed)
    if not balanced:
        chosen = list(range(min(count, len(pool))))
    else:
        classes = len(train.classes)
        chosen = []
        for label in range(classes):
            share = count // classes + (label < count % classes)
            own = [n for n, other in enumerate(pool.labels) if other == label][:share]
            if len(own) < share:
                raise BadInput(
                    f"{share} demonstrations of {train.classes[label]!r} are wanted, and train has {len(own)} "
                    "whose text is not evaluated"
                )
            chosen += own
    if len(chosen) < count:
        raise BadInput(f"{count} demonstrations of {len(pool)} training examples cannot be had")
    return pool.take(_order(chosen, [pool.labels[n] for n in chosen], order, seed))


def _order(chosen: list[int], labels: list[int], order: Order, seed: int) -> list[int]:
    by_class: dict[int, list[int]] = {}
    for number, label in zip(chosen, labels, strict=True):
        by_class.setdefault(label, []).append(number)
    groups = [by_class[label] for label in sorted(by_class)]
    if order == "blocked":
        return [number for group in groups for number in group]
    if order == "shuffled":
        return random.Random(seed).sample(chosen, len(chosen))
    turns = max(map(len, groups), default=0)
    interleaved = [group[turn] for turn in range(turns) for group in groups if turn < len(group)]
    return interleaved[::-1] if order == "reversed" else interleaved
