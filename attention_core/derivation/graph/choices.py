"""The sequence of choices a case is made from.

Every case is made from a list of small whole numbers; a simpler list gives a simpler case.
Shrinking edits the list and makes the case again, so that a shrunk case satisfies the hypotheses as well.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from flint import fmpq

SMALL = tuple(fmpq(p, q) for p, q in (
    (0, 1), (1, 1), (-1, 1), (2, 1), (-2, 1), (3, 1), (-3, 1), (1, 2), (-1, 2), (5, 1), (-4, 1), (7, 3), (-5, 7),
    (1, 3), (10, 1), (-13, 5),
))  # fmt: skip
LARGE = tuple(
    fmpq(p, q) for p, q in ((40, 1), (-35, 1), (1, 1000), (-90, 1), (120, 1), (1, 7), (0, 1), (200, 1), (-1, 64))
)
RAW = 64
MODES = ("generic", "generic", "zeros", "equal", "ends", "large", "units")
SPARSE = (*MODES, *("sparse",) * len(MODES))
POSITIVE = (*MODES, *("positive",) * len(MODES))  # of a logarithm or a root, few cases have a value otherwise


class Choices:
    """Draws whole numbers, at random or from a list that is replayed (0 where it has ended)."""

    def __init__(self, seed: int | None = None, replay: Sequence[int] = ()) -> None:
        self.random = random.Random(seed) if seed is not None else None
        self.replay = replay
        self.made: list[int] = []
        self.mode = "generic"

    def draw(self, count: int) -> int:
        """A number from 0 to count - 1; 0 is the simplest."""
        place = len(self.made)
        if self.random is None:
            value = self.replay[place] % count if place < len(self.replay) else 0
        else:
            value = self.random.randrange(count)
        self.made.append(value)
        return value

    def number(self) -> fmpq:
        """A rational without bounds; every mode spends one number, so that shrinking may change the mode alone."""
        place = self.draw(RAW)
        if self.mode == "zeros":
            return SMALL[0]
        if self.mode == "sparse":  # mostly 0, and each place has a 1 or a -1 now and then
            return SMALL[0 if place % 8 < 5 else 1 if place % 8 < 7 else 2]
        if self.mode == "units":
            return SMALL[place % 3]
        if self.mode == "positive":
            return abs(SMALL[place % len(SMALL)]) or SMALL[1]
        if self.mode == "large" and place % 2:
            return LARGE[place // 2 % len(LARGE)]
        return SMALL[place % len(SMALL)]

    def between(
        self, low: fmpq | None, high: fmpq | None, open_low: bool = False, open_high: bool = False
    ) -> fmpq | None:
        """A rational in an interval; None if it is empty."""
        if low is None and high is None:
            return self.number()
        if low is not None and high is not None:
            if low > high or (low == high and (open_low or open_high)):
                return None
            return self._inside(low, high, open_low, open_high)
        start, sign = (low, 1) if low is not None else (high, -1)
        assert start is not None
        strict = open_low if low is not None else open_high
        at_end = self.draw(4) == 0 or self.mode == "ends"
        offset = abs(self.number())
        if at_end:
            offset = fmpq(0)
        if strict and offset == 0:
            offset = fmpq(1)
        whole = fmpq(0)
        if start < 0 < sign and self.mode in ("generic", "zeros"):
            return whole + offset
        return start + sign * offset

    def _inside(self, low: fmpq, high: fmpq, open_low: bool, open_high: bool) -> fmpq:
        width = high - low
        spots: list[fmpq] = [] if open_low else [low]
        if not open_high and high != low:
            spots.append(high)
        if self.mode == "ends" and spots:
            return spots[self.draw(RAW) % len(spots)]
        simple = [v for v in SMALL[:7] if low < v < high and v not in spots]
        if self.mode == "zeros" and simple and simple[0] == 0:
            return simple[0]
        if width != 0:
            simple += [low + width * fmpq(k, 8) for k in (4, 2, 6, 1, 7, 3, 5)] + [low + width / 1000]
        options = spots + simple
        return options[self.draw(RAW) % len(options)]


def alter(choices: Sequence[int], rng: random.Random) -> list[int]:
    """A list that differs in one or a few places, for a search that goes on from a good case."""
    out = list(choices)
    for _ in range(1 + rng.randrange(3)):
        if out:
            out[rng.randrange(len(out))] = rng.randrange(RAW)
    return out


def shrink(
    choices: Sequence[int], fails: Callable[[Sequence[int]], Sequence[int] | None], budget: int = 250
) -> list[int]:
    """The simplest list that still fails; `fails` runs one and returns what it drew, or None where it holds."""
    best = list(choices)

    def attempt(candidate: list[int]) -> bool:
        nonlocal best, budget
        if budget <= 0 or candidate == best:
            return False
        budget -= 1
        made = fails(candidate)
        if made is None or _rank(list(made)) >= _rank(best):
            return False
        best = list(made)
        return True

    improved = True
    while improved and budget > 0:
        improved = False
        width = max(1, len(best) // 2)
        while width:
            for start in range(0, len(best), width):
                if any(best[start : start + width]):
                    improved |= attempt(best[:start] + [0] * len(best[start : start + width]) + best[start + width :])
            width //= 2
        for place in range(len(best)):
            for value in range(min(best[place] if place < len(best) else 0, 4)):
                if attempt([*best[:place], value, *best[place + 1 :]]):
                    improved = True
                    break
    return best


def _rank(values: list[int]) -> tuple[int, int, list[int]]:
    return sum(v != 0 for v in values), sum(values), values
