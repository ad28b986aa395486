"""Answers to the exercises of notebook 4."""

from __future__ import annotations

import random

import torch
from torch import nn

PAD, MASK = "\u25a1", "\u2047"


# %% encode
def encode(corpus, text):
    """Return the ids of the text's characters, int64 (n,)."""
    if PAD in corpus or MASK in corpus:
        raise ValueError("the corpus holds a reserved character")
    number = {c: n for n, c in enumerate([PAD, MASK, *sorted(set(corpus))])}
    return torch.tensor([number[c] for c in text], dtype=torch.int64)


# %% mean_length
mean_length = r"\frac{a + b}{2}"


# %% CharCorruptionDataset
class CharCorruptionDataset:
    """Pairs (x, y) of documents with a stretch taken out."""

    def __init__(self, data, block_size):
        self.data, self.block_size = data, block_size
        self.documents = data.split("\n")

    def __len__(self):
        return len(self.documents)

    def __getitem__(self, idx):
        """Return x and y, int64 (block_size,) each; another draw each time."""
        document = self.documents[idx]
        longest = min(len(document), self.block_size * 7 // 8)
        document = document[: random.randint(min(4, longest), longest)]
        widest = max(len(document) // 2 - 1, 1)  # from 1 to 2 (T / 4) - 1 the mean is T / 4
        if len(document) % 2 and widest > 1:
            widest += random.random() < 0.5
        masked = random.randint(1, widest)
        start = random.randint(0, len(document) - masked)
        prefix, stretch, suffix = document[:start], document[start : start + masked], document[start + masked :]
        string = (prefix + MASK + suffix + MASK + stretch).ljust(self.block_size + 1, PAD)
        ids = encode(self.data, string)
        return ids[:-1], ids[1:]


# %% next_token_loss
def next_token_loss(logits, targets):
    """Return the mean over the targets that are not 0."""
    scores = torch.log_softmax(logits, -1).gather(-1, targets[..., None])[..., 0]
    real = targets != 0
    return -scores[real].sum() / real.sum()


# %% TinyLM
class TinyLM(nn.Module):
    """A language model of one layer."""

    def __init__(self, vocab_size, block_size):
        super().__init__()
        self.token, self.place = nn.Embedding(vocab_size, 16), nn.Embedding(block_size, 16)
        self.qkv, self.out = nn.Linear(16, 48), nn.Linear(16, vocab_size)

    def forward(self, ids):
        """Return logits (B, n, vocab_size): those at place i are for token i + 1, and see tokens 0 to i."""
        n = ids.shape[1]
        x = self.token(ids) + self.place(torch.arange(n))
        q, k, v = self.qkv(x).chunk(3, -1)
        later = torch.ones(n, n, dtype=torch.bool).triu(1)
        scores = (q @ k.transpose(-1, -2) / 4).masked_fill(later, -torch.inf)
        return self.out(x + torch.softmax(scores, -1) @ v)


# %% best_constant
def best_constant(places):
    """Return the share of the most frequent entry of a list."""
    return max(places.count(place) for place in places) / len(places)
