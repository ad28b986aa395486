"""Numbers made of roots and exponentials.

Exact sums of roots and exponentials: arithmetic against balls, and zero recognised where balls cannot.
Numbers of the form q sqrt(n) e^r with small n.
"""

from __future__ import annotations

from typing import Any

from flint import arb, fmpq
from hypothesis import assume, given
from hypothesis import strategies as st

from attention_core.derivation.algebra.roots import Roots, exponential, logarithm, square_root


def enclosed(value: Any) -> arb:
    return value.ball() if isinstance(value, Roots) else arb(value)


@st.composite
def numbers(draw: st.DrawFn) -> Any:
    """A sum of a fraction and at most two roots, each with an exponential of a root or without one."""
    total: Any = fmpq(draw(st.integers(-3, 3)), draw(st.integers(1, 4)))
    for _ in range(draw(st.integers(0, 2))):
        part = square_root(fmpq(draw(st.integers(1, 20)), draw(st.integers(1, 5)))) * fmpq(draw(st.integers(-2, 2)))
        if draw(st.booleans()):
            part = part * exponential(square_root(fmpq(draw(st.integers(0, 3)))) * fmpq(draw(st.integers(-1, 2))))
        total = total + part
    return total


@given(numbers(), numbers(), numbers())
def test_arithmetic_is_that_of_the_reals(a: Any, b: Any, c: Any) -> None:
    x, y, z = (enclosed(v) for v in (a, b, c))
    assert enclosed(a * b + c).overlaps(x * y + z)
    assert enclosed(a - b).overlaps(x - y)
    assert enclosed((a + 1) ** 3).overlaps((x + 1) ** 3)
    assert a - a == 0 and type(a - a) is fmpq
    assert (a + b) * c - a * c - b * c == 0


@given(numbers(), numbers())
def test_quotients_are_those_of_the_reals(a: Any, b: Any) -> None:
    assume(b != 0)
    assert enclosed(a / b).overlaps(enclosed(a) / enclosed(b))


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
