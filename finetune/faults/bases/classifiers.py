"""Correct sequence classifiers in several styles.

`Plain` is cut into steps, as most people write them; each fault changes one.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from finetune.laws.classifier.logits_probe import Gradients

E, H, LAYERS, P = 16, 2, 2, 2

PAD = 0


class Plain(Gradients, nn.Module):
    """Two layers with segments; positions count from the first real token, the first real token is pooled."""

    rate = 0.1

    def __init__(self, vocab_size: int, length: int, classes: int) -> None:
        super().__init__()
        self.length, self.classes = length, classes
        self.tokens, self.segments = nn.Embedding(vocab_size, E), nn.Embedding(2, E)
        self.places = nn.Embedding(length, E)
        self.norms = nn.ModuleList(nn.LayerNorm(E) for _ in range(2 * LAYERS + 1))
        self.qkv = nn.ModuleList(nn.Linear(E, 3 * E) for _ in range(LAYERS))
        self.out = nn.ModuleList(nn.Linear(E, E) for _ in range(LAYERS))
        self.mlp = nn.ModuleList(
            nn.Sequential(nn.Linear(E, 2 * E), nn.GELU(), nn.Linear(2 * E, E)) for _ in range(LAYERS)
        )
        self.head = nn.Linear(E, classes)

    # --- one pass

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, token_type_ids: Tensor | None = None
    ) -> Any:
        real = self.real(input_ids, attention_mask)
        types = self.types(input_ids, token_type_ids)
        x = self.encoded(self.embedded(input_ids, real, types), real)
        return self.given(self.scored(self.drop(self.pooled(x, real))))

    def real(self, ids: Tensor, mask: Tensor | None) -> Tensor:
        """(B, n): which tokens are no padding."""
        return torch.ones_like(ids, dtype=torch.bool) if mask is None else mask.bool()

    def types(self, ids: Tensor, types: Tensor | None) -> Tensor:
        return torch.zeros_like(ids) if types is None else types

    def numbers(self, real: Tensor) -> Tensor:
        """The position of each token."""
        return (real.cumsum(1) - 1).clamp(min=0)

    def embedded(self, ids: Tensor, real: Tensor, types: Tensor) -> Tensor:
        x = self.tokens(ids) + self.places(self.numbers(real)) + self.segments(types)
        return self.drop(self.normed(2 * LAYERS, x))

    def encoded(self, x: Tensor, real: Tensor) -> Tensor:
        for number in range(LAYERS):
            x = self.normed(2 * number, x + self.drop(self.attend(number, x, real)))
            x = self.normed(2 * number + 1, x + self.drop(self.mlp[number](x)))
        return x

    def normed(self, number: int, x: Tensor) -> Tensor:
        return self.norms[number](x)

    def drop(self, x: Tensor) -> Tensor:
        return nn.functional.dropout(x, self.rate, self.training)

    def attend(self, number: int, x: Tensor, real: Tensor) -> Tensor:
        B, n, _ = x.shape
        q, k, v = (part.view(B, n, H, -1).transpose(1, 2) for part in self.qkv[number](x).split(E, dim=-1))
        weights = self.drop(self.masked(q @ k.transpose(-1, -2) / math.sqrt(E / H), real).softmax(-1))
        return self.out[number]((weights @ v).transpose(1, 2).reshape(B, n, E))

    def masked(self, scores: Tensor, real: Tensor) -> Tensor:
        return scores.masked_fill(~real[:, None, None, :], torch.finfo(scores.dtype).min)

    def pooled(self, x: Tensor, real: Tensor) -> Tensor:
        return x[torch.arange(len(x)), real.to(torch.int8).argmax(1)]

    def scored(self, x: Tensor) -> Tensor:
        return self.head(x)

    def given(self, logits: Tensor) -> Any:
        return logits


class Meaned(Plain):
    """The mean over real tokens; a tuple that begins with the logits, as transformers gives it."""

    def pooled(self, x: Tensor, real: Tensor) -> Tensor:
        return (x * real[..., None]).sum(1) / real.sum(1, keepdim=True).clamp(min=1)

    def gradients(self, labels: Tensor, **batch: Tensor) -> Any:
        self.alone = True
        try:
            return super().gradients(labels, **batch)
        finally:
            self.alone = False

    alone = False

    def given(self, logits: Tensor) -> Any:
        return logits if self.alone else (logits,)


class RightSided(Plain):
    """Positions count all places, as BERT's in transformers: padding stands behind. No dropout, no segments."""

    rate = 0.0

    def numbers(self, real: Tensor) -> Tensor:
        return torch.arange(real.shape[1]).expand(real.shape)


class LastByIds(Plain):
    """A decoder's classifier: causal, padding in front is told by its id, too, and the last token is pooled."""

    def forward(  # type: ignore[override]
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor | None = None
    ) -> Any:
        return super().forward(input_ids, attention_mask * (input_ids != PAD), token_type_ids)

    def masked(self, scores: Tensor, real: Tensor) -> Tensor:
        n = scores.shape[-1]
        return super().masked(scores.masked_fill(~torch.ones(n, n, dtype=torch.bool).tril(), -1e9), real)

    def pooled(self, x: Tensor, real: Tensor) -> Tensor:
        return x[:, -1]


class Convolved(nn.Module):
    """No attention: words, a convolution that sees zeros beside a text, and the largest of each feature."""

    def __init__(self, vocab_size: int, length: int, classes: int) -> None:
        super().__init__()
        self.words, self.filters = nn.Embedding(vocab_size, E), nn.Conv1d(E, 4 * E, 3, padding=1)
        self.score = nn.Linear(4 * E, classes)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        real = attention_mask[:, None, :].bool()
        x = self.words(input_ids).transpose(1, 2).masked_fill(~real, 0.0)
        return self.score(self.filters(x).masked_fill(~real, -1e4).amax(2))


class Prompted(Plain):
    """P trained vectors in front of the text; the mask has ones for them, positions count from the first real token."""

    def __init__(self, vocab_size: int, length: int, classes: int) -> None:
        super().__init__(vocab_size, length, classes)
        self.prompt = nn.Parameter(0.1 * torch.randn(P, E))
        self.places = nn.Embedding(length + P, E)

    def extended(self, real: Tensor) -> Tensor:
        return torch.cat([torch.ones(len(real), P, dtype=torch.bool), real], 1)

    def numbers(self, real: Tensor) -> Tensor:
        return P + super().numbers(real)

    def encoded(self, x: Tensor, real: Tensor) -> Tensor:
        front = (self.prompt + self.places.weight[:P]).expand(len(x), P, E)
        return super().encoded(torch.cat([front, x], 1), self.extended(real))[:, P:]


CORRECT: dict[type[nn.Module], dict[str, Any]] = {
    Plain: {"token_types": True, "pool": "first", "dropout": True},
    Meaned: {"token_types": True, "pool": "mean"},
    RightSided: {"side": "right", "pool": "first"},
    LastByIds: {"side": "left", "pool": "last", "padding": "ids"},
    Convolved: {},
    Prompted: {"dropout": True},
}
