"""Questions with places as training examples: `question M place M`, the loss on what follows the question.

The source of batches for fine-tuning, and the prompts for evaluation.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from finetune.data.span_corruption import Form
from finetune.data.vocabulary import MASK, PAD_ID, Ids, Vocabulary
from finetune.errors import BadInput, prefix_errors


def examples(vocabulary: Vocabulary, questions: Sequence[str], places: Sequence[str], form: Form) -> tuple[Ids, Ids]:
    """Questions and places as padded (x, y).

    s = question M place M + PAD, as long as the form's string; x = s[:-1]; y = PAD (len(question) - 1) times, then
    s[len(question):], so that the first target is the M after the question and the loss, which ignores PAD, sees
    M place M alone.

    Returns: x, y (n, total - 1). Raises: BadInput naming the first example that does not fit.
    For "Where?", "Rome" x is `Where?⁇Rome⁇□...` and y is `□□□□□⁇Rome⁇□...`.
    Source: the assignment's NameDataset; it drops letters outside ASCII from training (and not from evaluation),
        we keep them in both.
    """
    texts = [f"{q}{MASK}{p}{MASK}" for q, p in zip(questions, places, strict=True)]
    for n, text in enumerate(texts, 1):
        if len(text) > form.total:
            raise BadInput(
                f"example {n} needs {len(text)} characters, a block of {form.block} has {form.total}: {text[:60]!r}"
            )
    ids, _ = vocabulary.encode_batch(texts)
    string = np.full((len(texts), form.total), PAD_ID, np.int64)
    string[:, : ids.shape[1]] = ids
    lengths = np.array([len(q) for q in questions])[:, None]
    y = np.where(np.arange(1, form.total)[None] < lengths, PAD_ID, string[:, 1:])
    return string[:, :-1], y


def prompts(vocabulary: Vocabulary, questions: Sequence[str]) -> list[Ids]:
    """`question M` for each question: what the model goes on from. Raises: BadInput, naming the question."""
    found = []
    for n, question in enumerate(questions, 1):
        with prefix_errors(f"question {n}"):
            found.append(vocabulary.encode(question + MASK))
    return found


class NamePlaces:
    """A source of batches: the examples of `examples`, the same in every epoch.

    Raises: BadInput where there is none, or one does not fit.
    """

    def __init__(self, vocabulary: Vocabulary, questions: Sequence[str], places: Sequence[str], form: Form) -> None:
        if not questions:
            raise BadInput("there is no example to train on")
        self.x, self.y = (torch.from_numpy(a) for a in examples(vocabulary, questions, places, form))

    def __len__(self) -> int:
        return len(self.x)

    def widths(self, epoch: int, indices: Ids) -> Ids:
        """How many places of each example's x are read, up to the last target."""
        wanted = self.y.numpy()[indices] != PAD_ID
        return np.asarray(wanted.shape[1] - wanted[:, ::-1].argmax(1), np.int64)

    def batch(self, epoch: int, indices: Ids) -> dict[str, Tensor]:
        """The examples `indices`."""
        chosen = torch.from_numpy(np.asarray(indices, np.int64))
        return {"x": self.x[chosen], "y": self.y[chosen]}
