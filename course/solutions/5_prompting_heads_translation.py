"""Answers to the exercises of notebook 5."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise

import torch


# %% best_pair
def best_pair(words):
    """Return the most frequent pair of neighbours, a tuple of two symbols."""
    counts = {}
    for word, often in words.items():
        for pair in pairwise(word):
            counts[pair] = counts.get(pair, 0) + often
    return min(counts, key=lambda pair: (-counts[pair], pair))


# %% take_turns
def take_turns(labels, count):
    """Return the numbers of `count` examples; count is a multiple of the number of classes."""
    classes = sorted(set(labels))
    groups = [[n for n, label in enumerate(labels) if label == wanted] for wanted in classes]
    return [group[turn] for turn in range(count // len(classes)) for group in groups]


# %% read_answer
def read_answer(answer, words):
    """Return the number of the class whose word the answer says, or None."""
    said = set()
    for number, word in enumerate(words):
        for match in re.finditer(rf"\b{re.escape(word)}\b", answer, re.IGNORECASE):
            if re.search(r"\b(not|never)\s+$", answer[: match.start()], re.IGNORECASE):
                return None
            said.add(number)
    return said.pop() if len(said) == 1 else None


# %% compare_sectors
def compare_sectors(answers, sectors, reference):
    """Return (invalid answers, distance); `reference` has a count for each sector."""
    invalid = sum(answer not in sectors for answer in answers)
    distance = sum(abs(answers.count(sector) - there) for sector, there in zip(sectors, reference, strict=True))
    return invalid, float(distance)


# %% next_probabilities
def next_probabilities(logits, temperature, top_k, top_p):
    """Return the probabilities to draw from, (vocabulary,)."""
    scaled = logits / temperature
    edge = scaled.topk(min(top_k, len(scaled))).values[-1]
    p = torch.softmax(scaled.masked_fill(scaled < edge, -torch.inf), -1)
    ordered, order = p.sort(descending=True)
    kept = order[ordered.cumsum(-1) - ordered < top_p]  # those that come before p is reached
    left = torch.zeros_like(p).scatter(0, kept, p[kept])
    return left / left.sum()


# %% Cache
class Cache:
    """Attention for decoding: an object that is called step by step."""

    def __init__(self):
        self.keys = self.values = None

    def __call__(self, query, key, value):
        """Return the outputs of the new tokens, (B, H, n, d)."""
        self.keys = key.clone() if self.keys is None else torch.cat([self.keys, key], -2)
        self.values = value.clone() if self.values is None else torch.cat([self.values, value], -2)
        n, total = query.shape[-2], self.keys.shape[-2]
        seen = torch.ones(n, total, dtype=torch.bool).tril(total - n)
        scores = query @ self.keys.transpose(-1, -2) * query.shape[-1] ** -0.5
        return torch.softmax(scores.masked_fill(~seen, -torch.inf), -1) @ self.values


# %% scores
scores = r"\frac{n (n + 1)}{2}"


# %% head_importance
def head_importance(loss_of, examples, n_heads):
    """Return (H,): the mean size of the slopes at gates of 1."""
    total = torch.zeros(n_heads)
    for example in examples:
        gates = torch.ones(n_heads, requires_grad=True)
        (slope,) = torch.autograd.grad(loss_of(gates, example), gates)
        total += slope.abs()
    return total / len(examples)


# %% chrf
def chrf(translation, reference):
    """Return chrF, a float from 0 to 1; 0 if nothing is shared."""
    a, b = translation.replace(" ", ""), reference.replace(" ", "")
    precisions, recalls = [], []
    for n in range(1, 7):
        own, other = (Counter(text[i : i + n] for i in range(len(text) - n + 1)) for text in (a, b))
        if own and other:
            shared = (own & other).total()
            precisions.append(shared / own.total())
            recalls.append(shared / other.total())
    if not sum(precisions):
        return 0.0
    p, r = sum(precisions) / len(precisions), sum(recalls) / len(recalls)
    return 5 * p * r / (4 * p + r)


# %% entailment_scores
def entailment_scores(probabilities, entails):
    """Return the mean of both directions for each sentence; `entails` is the column of entailment."""
    half = len(probabilities) // 2
    both = zip(probabilities[:half], probabilities[half:], strict=True)
    return [(there[entails] + back[entails]) / 2 for there, back in both]
