"""Numbers made of roots and exponentials.

Exact sums of roots and exponentials: arithmetic against balls, and zero recognised where balls cannot.
Random numbers of the form q sqrt(n) e^r with small n.
"""

from __future__ import annotations

import random
from typing import Any

import pytest
from flint import arb, fmpq

from attention_core.derivation.algebra.roots import Roots, exponential, logarithm, square_root


def enclosed(value: Any) -> arb:
    return value.ball() if isinstance(value, Roots) else arb(value)


def drawn(rng: random.Random) -> Any:
    total: Any = fmpq(rng.randint(-3, 3), rng.randint(1, 4))
    for _ in range(rng.randint(0, 2)):
        part = square_root(fmpq(rng.randint(1, 20), rng.randint(1, 5))) * fmpq(rng.randint(-2, 2))
        if rng.random() < 0.5:
            part = part * exponential(square_root(fmpq(rng.randint(0, 3))) * fmpq(rng.randint(-1, 2)))
        total = total + part
    return total


@pytest.mark.parametrize("seed", range(40))
def test_arithmetic_is_that_of_the_reals(seed: int) -> None:
    rng = random.Random(seed)
    a, b, c = (drawn(rng) for _ in range(3))
    x, y, z = (enclosed(v) for v in (a, b, c))
    assert enclosed(a * b + c).overlaps(x * y + z)
    assert enclosed(a - b).overlaps(x - y)
    assert enclosed((a + 1) ** 3).overlaps((x + 1) ** 3) if isinstance(a, Roots) else True
    if b != 0:
        assert enclosed(a / b).overlaps(x / y)
    assert a - a == 0 and type(a - a) is fmpq
    assert (a + b) * c - a * c - b * c == 0


def test_zero_is_recognised() -> None:
    root = square_root(fmpq(3))
    assert root * root == 3
    assert square_root(fmpq(12)) - 2 * root == 0
    assert 1 / root - root / 3 == 0
    e = exponential(1 / root)
    assert e / (e + e) == fmpq(1, 2)
    assert logarithm(e) - 1 / root == 0
    assert exponential(fmpq(0)) == 1
    assert exponential(e) is None and logarithm(root) is None
    assert isinstance(square_root(fmpq(2) ** 400 + 1), arb)
