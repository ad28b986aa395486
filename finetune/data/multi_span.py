"""T5's span corruption: several random stretches, each replaced by a sentinel and listed in the target.

The rule of the published code, for a whole batch of equal lengths at once: equal in distribution to it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from finetune.data import draws
from finetune.data.vocabulary import Ids
from finetune.errors import BadInput

Mask = npt.NDArray[np.bool_]


def noise_counts(length: int, noise_density: float = 0.15, mean_span_length: float = 3.0) -> tuple[int, int]:
    """How many tokens are noise, and in how many spans.

    noise = round(length density), at least 1 and at most length - 1; spans = round(noise / mean span), at least 1, and
    never more than there are tokens of either kind: each span stands after at least one token that is kept.

    Raises: BadInput for length < 2, a density outside (0, 1) or a mean span below 1.
    Example:
        >>> noise_counts(512)
        (77, 26)

    Source: google-research/text-to-text-transfer-transformer, `random_spans_noise_mask`; the last bound is
        huggingface/transformers PR22938 (without it a dense noise asks for more spans than there are gaps).
    """
    if length < 2 or not 0 < noise_density < 1 or mean_span_length < 1:
        raise BadInput(
            "span corruption needs at least 2 tokens, a noise density between 0 and 1 and a mean span of at least 1; "
            f"got {length}, {noise_density}, {mean_span_length}"
        )
    noise = min(max(round(length * noise_density), 1), length - 1)
    spans = max(round(noise / mean_span_length), 1)
    return noise, min(spans, noise, length - noise)


def random_parts(of: draws.Keys, total: int, parts: int, number: int) -> Ids:
    """`total` things in `parts` non-empty runs, every way equally likely. Returns: (B, parts), rows sum to total."""
    order = np.argsort(draws.uniform(of[:, None], number + np.arange(total - 1)[None]), axis=1)
    ends = np.sort(order[:, : parts - 1], axis=1) + 1
    edge = np.zeros((len(of), 1), np.int64)
    return np.diff(np.concatenate([edge, ends, edge + total], axis=1), axis=1)


def noise_mask(
    of: draws.Keys, length: int, noise_density: float = 0.15, mean_span_length: float = 3.0, *, roll: bool = False
) -> Mask:
    """Which tokens are noise: kept run, noise run, kept run, ... in turn, beginning with a kept one.

    So the first token is never noise and the last one always is, as in the published code, unless `roll` turns every
    row round by a random distance (the code's `random_roll`), which makes all places equally likely.

    Args: of (B,), keys; length, of every row. Returns: (B, length) bool. Raises: as `noise_counts`.
    Source: `random_spans_noise_mask` (see `noise_counts`).
    """
    noise, spans = noise_counts(length, noise_density, mean_span_length)
    kept = random_parts(of, length - noise, spans, 0)
    lost = random_parts(of, noise, spans, length)
    runs = np.stack([kept, lost], axis=2).reshape(len(of), 2 * spans)
    starts = np.zeros((len(of), length), np.int64)
    np.put_along_axis(starts, runs.cumsum(1)[:, :-1], 1, axis=1)
    mask: Mask = starts.cumsum(1) % 2 == 1
    if roll:
        turned = (np.arange(length)[None] - draws.integer(of, 2 * length, 0, length - 1)[:, None]) % length
        mask = np.take_along_axis(mask, turned, axis=1)
    return mask


def with_sentinels(ids: Ids, mask: Mask, vocabulary_size: int) -> Ids:
    """Replace every stretch of the mask by one sentinel: vocabulary_size - 1, then - 2, ..., from left to right.

    Rows of the mask must leave equally many tokens. Returns: (B, that many).
    Raises: BadInput where they do not.
    Example:
        >>> ids, mask = np.array([[5, 6, 7, 8]]), np.array([[False, True, True, False]])
        >>> [row.tolist() for row in with_sentinels(ids, mask, 100)]
        [[5, 99, 8]]
    """
    before = np.concatenate([np.zeros((len(mask), 1), bool), mask[:, :-1]], axis=1)
    first = mask & ~before
    numbered = np.where(first, vocabulary_size - first.cumsum(1), ids)
    left = ~mask | first
    sizes = left.sum(1)
    if len(sizes) and (sizes != sizes[0]).any():
        raise BadInput("rows of the mask leave different numbers of tokens")
    rows: Ids = numbered[left].reshape(len(ids), -1)
    return rows


def corrupt_spans(
    ids: Ids, of: draws.Keys, vocabulary_size: int, noise_density: float = 0.15, mean_span_length: float = 3.0
) -> tuple[Ids, Ids]:
    """Inputs and targets of T5: noise replaced by sentinels, and sentinels each followed by what it stands for.

    Sentinels descend from vocabulary_size - 1. The target begins with a kept run, so its first token is a sentinel,
    and it has no sentinel at its end (the published code's two masks are each other's complements).

    Args: ids (B, n), without padding, below the sentinels. Returns: inputs (B, n - noise + spans), targets
        (B, noise + spans). Raises: BadInput where an id is as large as a sentinel, and as `noise_counts`.
    Source: Raffel et al. (2020), figure 2, and the published code; huggingface/transformers#14282 (sentinels that
        ascend).
    """
    mask = noise_mask(of, ids.shape[1], noise_density, mean_span_length)
    spans = noise_counts(ids.shape[1], noise_density, mean_span_length)[1]
    if ids.size and ids.max() >= vocabulary_size - spans:
        raise BadInput(f"id {int(ids.max())} is one of the {spans} sentinels below {vocabulary_size}")
    return with_sentinels(ids, mask, vocabulary_size), with_sentinels(ids, ~mask, vocabulary_size)


def restore_spans(inputs: Ids, targets: Ids, vocabulary_size: int) -> list[Ids]:
    """The inverse of `corrupt_spans`: each sentinel of the inputs gives way to what follows it in the targets.

    Raises: BadInput where the sentinels of the two do not belong together.
    """
    found = []
    for line, target in zip(inputs, targets, strict=True):
        runs: dict[int, list[int]] = {}
        expected = vocabulary_size - 1
        for token in target.tolist():
            if token == expected:
                runs[token] = []
                expected -= 1
            elif not runs:
                raise BadInput("the targets do not begin with a sentinel")
            else:
                runs[expected + 1].append(token)
        tokens = line.tolist()
        if sorted(t for t in tokens if t in runs) != sorted(runs):
            raise BadInput("inputs and targets do not have the same sentinels")
        found.append(np.array([u for t in tokens for u in runs.get(t, [t])], np.int64))
    return found
