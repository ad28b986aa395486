"""Sizes that a narrow declaration allows: drawn sizes, moved to the numbers that the declaration is written with."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np

Sizes = tuple[int, int, int, int, int, int]

BLOCKS = (8, 16, 32, 64, 128)
"""The numbers that a condition without a text is taken to be written with: those of most kernels."""


def list_numbers(condition: Callable[..., Any] | None) -> tuple[int, ...]:
    """The numbers of 2 and more in a condition over sizes, smallest first.

    Example:
        >>> from attention_core.declaration.sizes import SizeCondition
        >>> list_numbers(SizeCondition("d in (32, 64) and n_q % 16 == 0 and n_kv >= 1")), list_numbers(None)
        ((16, 32, 64), (8, 16, 32, 64, 128))
    """
    tree = getattr(condition, "tree", None)
    if not isinstance(tree, ast.AST):
        return BLOCKS
    numbers = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, int)}
    return tuple(sorted(number for number in numbers if number >= 2)) or BLOCKS


def fit_sizes(sizes: Sizes, numbers: tuple[int, ...], rng: np.random.Generator) -> Sizes:
    """Sizes (n_q, n_kv, d, d_v, H, H_kv) with lengths and widths moved to multiples of some of the numbers.

    Half of the time both lengths, or both widths, come out equal.
    """
    n_q, n_kv, d, d_v, heads, kv_heads = sizes
    n_q, n_kv, d, d_v = (_move(size, numbers, rng) for size in (n_q, n_kv, d, d_v))
    if rng.random() < 0.5:
        n_kv = n_q
    if rng.random() < 0.5:
        d_v = d
    return n_q, n_kv, d, d_v, heads, kv_heads


def _move(size: int, numbers: tuple[int, ...], rng: np.random.Generator) -> int:
    """A size as it is, one to three times one of the numbers, or the multiple of one that is next below (not 0)."""
    number, choice = int(rng.choice(numbers)), rng.random()
    if choice < 0.2:
        return size
    return number * int(rng.integers(1, 4)) if choice < 0.5 else max(number, size // number * number)
