"""Scales of growth.

How fast things grow: products of exponentials, powers and logarithms of one variable that tends to infinity.
Orders are decided by exact signs; a ball that holds 0 asks for more bits and is never taken for 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cmp_to_key
from typing import Any

from flint import fmpq

from attention_core.derivation.algebra.roots import Roots
from attention_core.derivation.graph.nodes import Unsettled
from attention_core.derivation.graph.numbers import exact, sign_of
from attention_core.derivation.limits.regions import Piece

ZERO = fmpq(0)
Coefficient = Any  # fmpq, arb, `roots.Roots` or a `regions.Piece`


def sign(value: Coefficient) -> int:
    """The sign of a coefficient; raises `Imprecise` or `regions.Divided` where it is not settled."""
    if isinstance(value, Roots):
        return sign_of(value.ball())
    return value.sign() if isinstance(value, Piece) else sign_of(value)


def is_zero(value: Coefficient) -> bool:
    """Whether a coefficient is exactly 0 (a ball around 0 is not)."""
    if isinstance(value, Roots):
        return False
    if isinstance(value, Piece):
        return value.is_zero()
    return bool(value == 0) if exact(value) else bool(value.is_zero())


@dataclass(frozen=True, eq=False)
class Scale:
    r"""e^{sum c t^e (log t)^q} t^power (log t)^logs; `vague` counts factors that tend to 0, nobody knows how fast.

    `big` holds (e, q, c) with growing t^e (log t)^q, the fastest first.
    """

    big: tuple[tuple[Fraction, Fraction, Coefficient], ...] = ()
    power: Coefficient = ZERO
    logs: Fraction = Fraction(0)
    vague: int = 0

    def __mul__(self, other: Scale) -> Scale:
        table = {(e, q): c for e, q, c in self.big}
        for e, q, c in other.big:
            table[e, q] = table[e, q] + c if (e, q) in table else c
        big = tuple(
            (e, q, c) for (e, q), c in sorted(table.items(), key=lambda p: p[0], reverse=True) if not is_zero(c)
        )
        return Scale(big, self.power + other.power, self.logs + other.logs, self.vague + other.vague)

    def raise_to(self, to: Coefficient) -> Scale:
        """This scale to a constant power."""
        if self.logs and not exact(to):
            raise Unsettled("a power of a logarithm with an exponent that is not rational")
        logs = self.logs * Fraction(int(to.p), int(to.q)) if self.logs else Fraction(0)
        return Scale(tuple((e, q, c * to) for e, q, c in self.big), self.power * to, logs, self.vague)

    def over(self, other: Scale) -> Scale:
        """The quotient of two scales."""
        return self * Scale(tuple((e, q, -c) for e, q, c in other.big), -other.power, -other.logs, -other.vague)

    def growth(self) -> int:
        """1 if it tends to infinity, 0 if it is 1, -1 if it tends to 0."""
        for _, _, c in self.big:
            return sign(c)
        found = 0 if is_zero(self.power) else sign(self.power)
        if found:
            return found
        if self.logs:
            return 1 if self.logs > 0 else -1
        return (self.vague < 0) - (self.vague > 0)

    def text(self, variable: str) -> str:
        """The scale as text, such as e^{-2 S} S^{3}."""
        parts = []
        if self.big:
            inner = []
            for e, q, c in self.big:
                grown = ("" if not e else variable if e == 1 else f"{variable}^{{{e}}}") + (
                    "" if not q else f" \\log^{{{q}}} {variable}"
                )
                head = {"1": "", "-1": "-"}.get(number_text(c), number_text(c) + " ")
                inner.append(head + grown)
            parts.append(f"e^{{{' + '.join(inner)}}}".replace("+ -", "- "))
        if not is_zero(self.power):
            parts.append(variable if number_text(self.power) == "1" else f"{variable}^{{{number_text(self.power)}}}")
        if self.logs:
            parts.append(f"\\log^{{{self.logs}}} {variable}")
        if self.vague:
            parts.append("o(1)")
        return " ".join(parts) or "1"


def number_text(value: Coefficient) -> str:
    """A coefficient as text."""
    return str(value) if exact(value) or isinstance(value, Piece | Roots) else str(value.str(8, radius=False))


ONE = Scale()
VAGUE = Scale(vague=1)


def compare(left: Scale, right: Scale) -> int:
    """1 if the left grows faster, 0 if they are the same, -1 if slower."""
    return left.over(right).growth()


def _slower_last(left: tuple[Coefficient, Scale], right: tuple[Coefficient, Scale]) -> int:
    return -compare(left[1], right[1])


FASTEST_FIRST = cmp_to_key(_slower_last)


def faster(left: Scale | None, right: Scale | None) -> Scale | None:
    """The faster of two scales; None stands for 0."""
    if left is None or right is None:
        return left or right
    return left if compare(left, right) >= 0 else right
