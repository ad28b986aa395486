"""How many heads, sequences and tokens a case has where the usual numbers hide a fault.

The functions wrap the `adjust` of a law's space, so that every contract draws groups and counts alike.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Adjust = Callable[[dict[str, int], np.random.Generator], dict[str, int]]

GROUPS = (2, 3, 3, 4, 4, 5, 6, 8)
"""Query heads of a key head: with two alone, a mistaken group may look like the whole, or the first like the last."""
MANY_HEADS = ((33, 41), (65, 73), (65, 73), (129, 131))
"""Beyond 32, 64 and 128 heads, which blocks, tables and bits are made for."""
MANY_SEQUENCES = ((9, 18), (33, 41), (65, 73), (65, 73))
"""Beyond 8, 32 and 64 sequences."""
LITTLE = {
    "n": 4,
    "n_q": 3,
    "n_kv": 4,
    "most": 4,
    "d": 3,
    "d_v": 3,
    "r": 3,
    "d_rope": 2,
    "half": 2,
    "topk": 3,
    "block": 1,
    "parts": 2,
    "context": 4,
}
"""The most that other sizes are beside so many heads or sequences."""


def share_heads(adjust: Adjust | None = None, share: float = 1.0) -> Adjust:
    """Return an `adjust` that draws groups of 2 to 8 query heads a key head, of two key heads at least.

    Args:
        adjust: what the sizes are put through before.
        share: of the cases; the others keep the heads that they have.

    Example:
        >>> share_heads()({"H_kv": 1, "group": 1}, np.random.default_rng(0))
        {'H_kv': 3, 'group': 6}
    """

    def draw(sizes: dict[str, int], rng: np.random.Generator) -> dict[str, int]:
        sizes = sizes if adjust is None else adjust(sizes, rng)
        if share < 1 and rng.random() >= share:
            return sizes
        group = int(rng.choice(GROUPS))
        return {**sizes, "H_kv": int(rng.integers(2, 6 if group < 5 else 4)), "group": group}

    return draw


def count_many(adjust: Adjust | None = None, share: float = 0.25) -> Adjust:
    """Return an `adjust` that draws a share of the cases with dozens of heads, or of sequences, of little else.

    Args:
        adjust: what the sizes are put through before.
        share: of all cases.

    Example:
        >>> count_many(share=1.0)({"H": 2, "n": 9}, np.random.default_rng(0))
        {'H': 67, 'n': 4}
    """

    def draw(sizes: dict[str, int], rng: np.random.Generator) -> dict[str, int]:
        sizes = sizes if adjust is None else adjust(sizes, rng)
        if rng.random() >= share:
            return sizes
        of_heads = "H_kv" if "H_kv" in sizes else "H"
        sizes = {**sizes, **{name: min(sizes[name], most) for name, most in LITTLE.items() if name in sizes}}
        if "B" in sizes and rng.random() < 0.5:
            low, high = MANY_SEQUENCES[int(rng.integers(len(MANY_SEQUENCES)))]
            return {**sizes, "B": int(rng.integers(low, high)), of_heads: min(sizes[of_heads], 2)}
        low, high = MANY_HEADS[int(rng.integers(len(MANY_HEADS)))]
        return {**sizes, of_heads: int(rng.integers(low, high)), **({"B": 1} if "B" in sizes else {})}

    return draw


def single_tokens(adjust: Adjust | None = None, share: float = 0.15) -> Adjust:
    """Return an `adjust` that draws a share of the cases with one token, half of them of one head and sequence.

    Args:
        adjust: what the sizes are put through before.
        share: of all cases.

    Example:
        >>> single_tokens(share=1.0)({"B": 2, "H": 3, "n": 5}, np.random.default_rng(0))
        {'B': 2, 'H': 3, 'n': 1}
    """

    def draw(sizes: dict[str, int], rng: np.random.Generator) -> dict[str, int]:
        sizes = sizes if adjust is None else adjust(sizes, rng)
        if rng.random() >= share:
            return sizes
        names = ("n", "n_q", "n_kv", "most") if rng.random() < 0.5 else ("n", "n_q", "n_kv", "most", "B", "H", "H_kv")
        return {**sizes, **{name: 1 for name in names if name in sizes}}

    return draw
