"""Answers of a model to questions: greedy, exact match, and how likely the model held each answer to be.

Questions of one length are answered together, so that no padding enters.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from finetune.data.names import prompts
from finetune.data.vocabulary import MASK, Vocabulary
from finetune.errors import BadInput
from finetune.models.gpt import GPT
from finetune.models.sampling import generate

STEPS = 32
"""Characters that an answer may have, as in the assignment."""


@dataclass(frozen=True)
class Answer:
    """What a model answers: the text between the first and the second mask, and its log-probability.

    The log-probability is in nats and includes the closing mask.
    """

    text: str
    log_probability: float


def answers(
    model: GPT, vocabulary: Vocabulary, questions: Sequence[str], *, steps: int = STEPS, together: int = 256
) -> list[Answer]:
    """The greedy answers, in the order of the questions.

    Args: steps, characters at most; together, questions in one batch.
    Raises: BadInput for a character that is not in the vocabulary, or a question longer than the block.
    """
    by_length = defaultdict[int, list[int]](list)
    encoded = prompts(vocabulary, questions)
    for number, prompt in enumerate(encoded):
        if len(prompt) > model.config.block_size:
            raise BadInput(f"question {number + 1} does not fit into a block of {model.config.block_size} characters")
        by_length[len(prompt)].append(number)
    device = next(model.parameters()).device
    stop = int(vocabulary.encode(MASK)[0])
    found: list[Answer | None] = [None] * len(encoded)
    for numbers in by_length.values():
        for start in range(0, len(numbers), together):
            chosen = numbers[start : start + together]
            batch = torch.tensor([encoded[n].tolist() for n in chosen], device=device)
            ids, scores = generate(model, batch, steps, greedy=True, stop=stop)
            for n, row, score in zip(chosen, ids.tolist(), scores.cpu(), strict=True):
                end = row.index(stop) if stop in row else len(row)
                found[n] = Answer(vocabulary.decode(row[:end]), float(score[: end + 1].sum()))
    return [answer for answer in found if answer is not None]


def right(given: Sequence[str], places: Sequence[str]) -> list[bool]:
    """Exact matches. Raises: BadInput where there are not as many answers as places."""
    if len(given) != len(places):
        raise BadInput(f"{len(given)} answers for {len(places)} questions")
    return [a == p for a, p in zip(given, places, strict=True)]


def wilson(successes: int, count: int, z: float = 1.959964) -> tuple[float, float]:
    """An interval for a probability from `successes` of `count`; z = 1.96 for 95 %.

    Example:
        >>> [round(end, 3) for end in wilson(25, 500)]
        [0.034, 0.073]

    Source: Wilson, JASA 22 (1927), p. 209. Raises: BadInput for none.
    """
    if count < 1:
        raise BadInput("no answers, no interval")
    p = successes / count
    centre = (p + z * z / (2 * count)) / (1 + z * z / count)
    half = z / (1 + z * z / count) * math.sqrt(p * (1 - p) / count + z * z / (4 * count * count))
    return max(0.0, centre - half), min(1.0, centre + half)


def difference(a: int, n_a: int, b: int, n_b: int, z: float = 1.959964) -> tuple[float, float]:
    """An interval for the difference of two independent shares, a/n_a - b/n_b; z = 1.96 for 95 %.

    Source: Newcombe, "Interval estimation for the difference between independent proportions" (1998), method 10.
    """
    (low_a, high_a), (low_b, high_b) = wilson(a, n_a, z), wilson(b, n_b, z)
    p, q = a / n_a, b / n_b
    return p - q - math.hypot(p - low_a, high_b - q), p - q + math.hypot(high_a - p, q - low_b)
