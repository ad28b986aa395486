"""Sums of a recurrence with their errors: sizes of terms, how many tokens they have passed, and what they are off by.

Tags in comments name steps of derivations/linear_attention.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from attention_core.conformance.budgets.error_rows import Format, gamma
from attention_core.conformance.budgets.rounding import Array

NO_DIGIT = 1e30
"""An error in place of infinity, where so many roundings leave no digit: times a size of 0 it is 0."""


class Tokens(NamedTuple):
    """What linear attention reads: query, key (B, H, n, d), value (B, H, n, d_v), log decay (B, H, n, d) or None.

    `beta` (B, H, n) is that of the delta rule, None without. `step` (B, H, n), of a state space, is what values and log
    decays are multiplied by before anything else, None without.
    """

    query: Array
    key: Array
    value: Array
    log_decay: Array | None = None
    beta: Array | None = None
    step: Array | None = None

    def resolve(self) -> Tokens:
        """The same with its step multiplied in."""
        if self.step is None:
            return self
        decay = None if self.log_decay is None else self.log_decay * self.step[..., None]
        return Tokens(self.query, self.key, self.value * self.step[..., None], decay, self.beta)

    def recur(self) -> tuple[Array, Array, Array, Array | None, Array | None]:
        """What the recurrence takes, in its order."""
        query, key, value, log_decay, beta, _ = self.resolve()
        return query, key, value, log_decay, beta


@dataclass(frozen=True)
class Terms:
    """A sum of terms: their sizes, added up; the sizes times the tokens that each has passed; and what it is off by.

    `off` comes from what the terms are made of. The roundings of the sum itself are added last (see `Roundings`).
    """

    size: Array
    age: Array
    off: Array

    def __add__(self, other: Terms) -> Terms:
        return Terms(self.size + other.size, self.age + other.age, self.off + other.off)

    def __getitem__(self, index: Any) -> Terms:
        return Terms(self.size[index], self.age[index], self.off[index])

    def times(self, factor: Array | float) -> Terms:
        """The same of a multiple by something exact, at least 0."""
        return Terms(self.size * factor, self.age * factor, self.off * factor)

    def fade(self, factor: Array) -> Terms:
        """The same one token later."""
        return Terms(self.size * factor, (self.age + self.size) * factor, self.off * factor)

    def matmul(self, other: Terms) -> Terms:
        """Sums of products of two things that are both off (product-off)."""
        off = self.off @ (other.size + other.off) + self.size @ other.off
        return Terms(self.size @ other.size, self.age @ other.size + self.size @ other.age, off)

    def turn(self) -> Terms:
        """With the last two axes exchanged."""
        return Terms(self.size.swapaxes(-1, -2), self.age.swapaxes(-1, -2), self.off.swapaxes(-1, -2))

    def sum(self, axis: int, *, keepdims: bool = False) -> Terms:
        """The sum over an axis."""
        return Terms(*(x.sum(axis=axis, keepdims=keepdims) for x in (self.size, self.age, self.off)))


def exact(size: Array) -> Terms:
    """Terms that have passed no token and are not off."""
    return Terms(size, np.zeros(size.shape), np.zeros(size.shape))


def stack(terms: list[Terms]) -> Terms:
    """Terms of tokens (B, H, ...) along an axis of their own, the third."""
    parts = zip(*((x.size, x.age, x.off) for x in terms), strict=True)
    return Terms(*(np.stack(part, axis=2) for part in parts))


@dataclass(frozen=True)
class Roundings:
    """The roundings of such sums.

    Args: f: the formats; decays: whether a state fades.
    """

    f: Format
    decays: bool

    def error(self, terms: Terms, count: int, reach: Array) -> Array:
        """By how much a sum is off, that of what its terms are made of included (term-error).

        Args: count: roundings of a term that has passed no token; reach: sums of sizes of log decays (exponent-off).
        """
        a, w = self.f.a, self.f.w if self.f.w > self.f.a else 0.0
        depth = 2 * math.ceil(math.log2(max(count, 2))) + 4
        passed = (5 * a if self.decays else 0.0) + 3 * w + a * reach
        once = gamma(count, a) + 9 * w + depth * a * reach
        most = np.minimum(once + count * passed, 60.0)
        return np.asarray(np.minimum(np.exp(most) * (once * terms.size + passed * terms.age + terms.off), NO_DIGIT))
