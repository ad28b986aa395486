"""A frozen encoder runs once: what it makes of each text is kept, and head tuning reads that in every epoch.

Kept under a hash of everything that it depends on: the texts as ids, the weights, the tokenizer, the pooling.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Float
from torch import Tensor, nn

from finetune.classification.scores import evaluating
from finetune.data.collate import LabelledTexts
from finetune.errors import BadInput
from finetune.models.classifier import TEXTS, Classifier
from finetune.training import checkpoint


class Features:
    """A source of pooled vectors with labels. Raises: BadInput where there are not as many of each."""

    def __init__(self, vectors: Float[Tensor, "N E"], labels: list[int]) -> None:
        if len(vectors) != len(labels):
            raise BadInput(f"{len(vectors)} vectors do not go together with {len(labels)} labels")
        self.vectors, self.labels = vectors, torch.tensor(labels)

    def __len__(self) -> int:
        return len(self.labels)

    def batch(self, epoch: int, indices: npt.NDArray[np.int64]) -> dict[str, Tensor]:
        """The vectors `indices`, (B, E), and their labels (B,)."""
        chosen = torch.from_numpy(np.asarray(indices, np.int64))
        return {"features": self.vectors[chosen], "labels": self.labels[chosen]}


class OnFeatures(nn.Module):
    """The head of a classifier on vectors that were computed before: the same modules, so the same weights."""

    def __init__(self, classifier: Classifier) -> None:
        super().__init__()
        self.between, self.drop, self.head = classifier.between, classifier.drop, classifier.head

    def forward(self, features: Float[Tensor, "B E"]) -> Float[Tensor, "B classes"]:
        """The logits."""
        logits: Tensor = self.head(self.drop(self.between(features)))
        return logits


def weights_digest(model: nn.Module) -> str:
    """A hash of a model's weights: names, kinds and every byte."""
    state = hashlib.sha256()
    for name, value in sorted(model.state_dict().items()):
        there = value.detach().to("cpu").contiguous()
        state.update(f"{name} {there.dtype} {tuple(there.shape)}\n".encode())
        state.update(there.view(torch.uint8).numpy().tobytes() if there.ndim else there[None].view(torch.uint8).numpy())
    return state.hexdigest()


def features_key(classifier: Classifier, texts: LabelledTexts, tokenizer_digest: str) -> str:
    """The name of the features: a hash of the texts' ids, the encoder's weights and class, the tokenizer, the pooling.

    Labels are none of it: the vectors do not depend on them.
    """
    encoder = classifier.encoder
    config = getattr(encoder, "config", None)
    parts = (
        texts.encoded.digest(), str(texts.types), texts.side, str(texts.pad_id), tokenizer_digest, classifier.pool,
        type(encoder).__name__, repr(config), weights_digest(encoder),
    )  # fmt: skip
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def features(
    classifier: Classifier, texts: LabelledTexts, tokenizer_digest: str, *, folder: Path | None, device: torch.device,
    batch_size: int = 64,
) -> tuple[Features, bool]:  # fmt: skip
    """The pooled vectors of texts, by the encoder in evaluation mode, so that they are always the same.

    Args: folder, where they are kept, None for nowhere. A file that is damaged, or of other sizes, is made anew.
    Returns: a source, and whether it was there already. Raises: BadInput where the file cannot be written.
    """
    path = None
    if folder is not None:
        path = folder / f"{features_key(classifier, texts, tokenizer_digest)}.features"
        found = _load_rows(path, len(texts))
        if found is not None:
            return Features(found, texts.labels), True
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BadInput(f"{folder} cannot be made: {error.strerror}") from None
    rows = torch.empty(0)
    order = np.argsort(texts.lengths, kind="stable")
    with evaluating(classifier):
        for start in range(0, len(order), batch_size):
            chosen = order[start : start + batch_size]
            batch = {k: v.to(device) for k, v in texts.batch(0, chosen).items() if k in TEXTS}
            vectors = classifier.pool_text(**batch).cpu()
            if not len(rows):
                rows = torch.empty(len(texts), vectors.shape[1], dtype=vectors.dtype)
            rows[torch.from_numpy(chosen)] = vectors
    if path is not None:
        checkpoint.save(path, {"features": rows})
    return Features(rows, texts.labels), False


def _load_rows(path: Path, count: int) -> Tensor | None:
    """What a file holds, where it is whole and has as many rows as there are texts."""
    if not path.exists():
        return None
    try:
        found = checkpoint.load_record(path, {"features": Tensor}, "the features of texts")["features"]
    except BadInput:
        return None
    return found if isinstance(found, Tensor) and found.ndim == 2 and len(found) == count else None
