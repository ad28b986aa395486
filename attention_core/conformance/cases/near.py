"""Sizes around those that are written in a target: where its blocks, chunks, pages and tables begin and end.

A run draws usual sizes, and what goes wrong beyond a block of 128 is right at all of them. Where a target's source says
128, some cases have 127, 128, 129, 257, ... tokens, keys, features or heads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from attention_core.conformance.worker.written_sizes import MOST_SIZES, is_size

T = TypeVar("T")
Ranges = Mapping[str, tuple[int, int]]
Adjust = Callable[[dict[str, int], np.random.Generator], dict[str, int]]
MOST_WORK = 1 << 20
"""Bound on the products of one case."""


def neighbours(size: int) -> tuple[int, ...]:
    """Sizes around a written one, those first that most faults show at: beyond two and three blocks, beyond one.

    Example:
        >>> neighbours(32)
        (65, 98, 33, 34, 32, 66, 31, 64)
    """
    return 2 * size + 1, 3 * size + 2, size + 1, size + 2, size, 2 * size + 2, size - 1, 2 * size


@dataclass(frozen=True)
class Near:
    """A written size around which a case is to be drawn, and how many cases were drawn around it before."""

    size: int
    turn: int = 0

    def choose(self, kinds: Sequence[T]) -> tuple[T, int]:
        """The kind of sizes whose turn it is, and the neighbour that is next for this kind.

        Example:
            >>> [Near(32, turn).choose(("length", "length", "width")) for turn in (0, 1, 2, 3)]
            [('length', 65), ('length', 98), ('width', 65), ('length', 33)]
        """
        rounds, place = divmod(self.turn, len(kinds))
        kind, around = kinds[place], neighbours(self.size)
        number = rounds * kinds.count(kind) + kinds[:place].count(kind)
        return kind, around[number % len(around)]

    def another(self, rng: np.random.Generator) -> int:
        """Any of the neighbours."""
        return int(rng.choice(neighbours(self.size)))


def sizes_to_draw(described: Any, arguments: Mapping[str, Any]) -> tuple[int, ...]:
    """The sizes around which cases are drawn: those that a worker read in the target's source, and those declared.

    Args: described: what a worker says, where the target could write, too. arguments: name -> what is declared.

    Example:
        >>> sizes_to_draw([128, "64", 1 << 40], {"chunk_size": 32, "causal": True})
        (32, 128)
    """
    read = described if isinstance(described, list | tuple) else ()
    known = {value for value in (*read, *arguments.values()) if is_size(value)}
    return tuple(sorted(known)[-MOST_SIZES:])


# --- cases of sizes and options --------------------------------------------------------------------------------------

LENGTHS, WIDTHS = ("n", "n_q", "n_kv", "m", "most"), ("d", "d_v", "half")
PLACES = ("size", "start", "shift")
"""Windows, prefixes and positions, which are near the number beside a length."""
COUNTS = ("H", "H_kv", "group", "B", "parts", "page")
TURNS = (LENGTHS, LENGTHS, WIDTHS, LENGTHS, LENGTHS, COUNTS)
"""Which sizes of a case are near a written one, in turn."""
FEW = 2
"""Beyond its least, how large another size of such a case is at most."""
TEXTS = ("any", "same", "chunk", "decode", "one")
"""Kinds of texts whose lengths follow from the longest usual one."""


def small_sizes(ranges: Ranges, rng: np.random.Generator) -> dict[str, int]:
    """A size from the lower end of every range."""
    return {name: int(rng.integers(low, min(high, low + FEW) + 1)) for name, (low, high) in ranges.items()}


def sizes_near(ranges: Ranges, near: Near, rng: np.random.Generator, *, first: bool) -> dict[str, int] | None:
    """The sizes of a case that are near a written one, by name; None where a law's ranges leave none open.

    Args: first: whether one of them is the neighbour whose turn it is; else all are drawn among the neighbours.

    Example:
        >>> sizes_near({"n": (1, 9), "d": (1, 8)}, Near(32), np.random.default_rng(0), first=True)
        {'n': 65}
    """
    free = [name for name, (low, high) in ranges.items() if low < high]
    turns = [names for names in ([name for name in kind if name in free] for kind in TURNS) if names]
    if not turns:
        return None
    names, neighbour = near.choose(turns)
    chosen = names[int(rng.integers(len(names)))]
    sizes = {chosen: neighbour if first else near.another(rng)}
    for name in names if chosen not in COUNTS else ():
        if name != chosen and rng.random() < 0.9:
            sizes[name] = sizes[chosen] if rng.random() < 0.6 else near.another(rng)
    if chosen in LENGTHS:
        sizes |= {name: near.another(rng) for name in PLACES if name in free and rng.random() < 0.6}
    if "half" in sizes:
        sizes["half"] //= 2 if rng.random() < 0.5 else 1
    return {name: max(size, ranges[name][0]) for name, size in sizes.items()}


def complete_sizes(
    others: Mapping[str, int], near: Mapping[str, int], rng: np.random.Generator, adjust: Adjust | None = None
) -> dict[str, int]:
    """All sizes of a case: those near a written one, and others, as a law relates them by `adjust`.

    What it would draw anew in place of those near it stays near; values that are as wide as keys stay so. A written
    number may count pages as well as the keys that fill them.

    Example:
        >>> complete_sizes({"n": 2, "d": 3, "d_v": 3}, {"d": 33}, np.random.default_rng(0))
        {'n': 2, 'd': 33, 'd_v': 33}
    """
    sizes = {**others, **near}
    if others.get("d") == others.get("d_v", -1) and "d_v" not in near:
        sizes["d_v"] = sizes["d"]
    if "page" in sizes and "most" in near and rng.random() < 0.5:
        sizes["most"] *= sizes["page"]
    if adjust is None:
        return sizes
    related = adjust(dict(sizes), rng)
    kept = all(sizes[name] in related.values() for name in near)
    return related if kept else {**related, **{name: sizes[name] for name in near}}


def options_near(
    choices: Mapping[str, tuple[Any, ...]], drawn: Mapping[str, Any], near: Near, rng: np.random.Generator
) -> dict[str, Any] | None:
    """The options of a case near a written size; None where texts have lengths of their own.

    A window, if there is one, has sides near it, too, half of the time.
    """
    options = dict(drawn)
    if "lengths" in choices:
        kinds = [kind for kind in choices["lengths"] if kind in TEXTS]
        if not kinds:
            return None
        options |= {"lengths": str(rng.choice(kinds)), "near": near.size}
    if options.get("sides") is not None and rng.random() < 0.5:
        options["sides"] = (near.another(rng) - int(rng.integers(2)), options["sides"][1])
    return options


def work_of(sizes: Mapping[str, int]) -> int:
    """About how many products the truth of a case takes.

    Example:
        >>> work_of({"B": 2, "H": 3, "n": 10, "d": 4})
        7680
    """
    n_q = max(sizes.get(name, 1) for name in ("n", "n_q", "most"))
    n_kv = max(sizes.get(name, 1) for name in ("n", "n_kv", "m", "most"))
    width = max(sizes.get("d", 1), 2 * sizes.get("half", 0))
    heads = sizes.get("H", 1) * sizes.get("H_kv", 1) * sizes.get("group", 1)
    texts = sizes.get("B", 1) * (3 if "most" in sizes else 1) * sizes.get("parts", 1)
    scores = n_q * n_kv * (width + sizes.get("d_v", width))
    return texts * (heads * scores + n_q * (heads * width) ** 2)
