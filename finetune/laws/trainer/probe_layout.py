"""The parameters of the model that trainers are graded with, in order, and which of them are what; no torch here."""

from __future__ import annotations

import math
from collections.abc import Mapping

LAYOUT: Mapping[str, tuple[int, ...]] = {
    "a.weight": (5, 3),
    "b.rows": (4, 3),
    "c.weight": (3,),
    "c.bias": (3,),
    "d.0.weight": (4, 3),
    "d.0.bias": (4,),
    "d.2.weight": (3, 4),
    "e.weight": (2, 3, 2),
    "e.bias": (2,),
    "f.weight": (3, 3),
    "f.bias": (3,),
}
"""Name -> shape: an embedding, a bare table, a norm, two linear layers, a convolution, a frozen linear layer."""
MATRICES = frozenset({"d.0.weight", "d.2.weight", "e.weight"})
"""Those that multiply, and are trained: weight decay is for them."""
TABLES = frozenset({"a.weight", "b.rows"})
"""Of two axes, but looked up: weight decay is for them only where `decay=dims` is declared."""
FROZEN = frozenset({"f.weight", "f.bias"})
LENGTH = 6
"""Places of an example, padding included."""
MOMENTUM = 0.5
"""Of the SGD that steps are graded with."""
SIZE = sum(math.prod(shape) for shape in LAYOUT.values())


def where(names: frozenset[str] | set[str]) -> list[bool]:
    """For each number of all parameters in a row: whether it is of one of these."""
    return [name in names for name, shape in LAYOUT.items() for _ in range(math.prod(shape))]


def name_of(place: int) -> str:
    """The parameter that a number of the row belongs to."""
    for name, shape in LAYOUT.items():
        place -= math.prod(shape)
        if place < 0:
            return name
    raise IndexError(place)
