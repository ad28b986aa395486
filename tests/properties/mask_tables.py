"""Masks enumerated pair by pair, for tests of masks."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import settings
from hypothesis import strategies as st

SETTINGS = settings(deadline=None, max_examples=60)


ALIGN = st.sampled_from(["top_left", "bottom_right"])


def table(n_q: int, n_kv: int, allows: Callable[[int, int], bool]) -> list[list[bool]]:
    return [[allows(i, j) for j in range(n_kv)] for i in range(n_q)]
