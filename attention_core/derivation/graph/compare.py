"""Comparison of two sides at one case.

Both sides at one case: equal, ordered, or certified not to be. Balls that overlap are computed again with more bits.
A refutation needs exact values or disjoint balls, so no tolerance exists and no rounding can raise a false alarm.

Long numbers as text.

Rationals with many digits as people write them: 3 * 10^400, 2^-1400, 1 - 2^-100; whole only where nothing is short.
The text is exact unless it says "about".
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import eq, le, lt, ne
from typing import Any

from flint import arb, fmpq

from attention_core.derivation.graph.nodes import Graph
from attention_core.derivation.graph.numbers import (
    MAX_PRECISION,
    START_BITS,
    Imprecise,
    Value,
    ball,
    evaluate,
    exact,
    precision,
)

SHORT = 24  # digits
SHOWN = 400  # digits of a number that is shown whole


def long_text(value: fmpq) -> str:
    """A rational as text, short where there is an exact short form.

    Example:
        >>> long_text(fmpq(3 * 10**400)), long_text(fmpq(1, 2**1400)), long_text(1 - fmpq(1, 2**100))
        ('3 * 10^400', '2^-1400', '1 - 2^-100')
    """
    plain = str(value)
    if len(plain) <= SHORT + 1:
        return plain
    direct = _as_power(value)
    if direct:
        return direct
    whole = fmpq((value + fmpq(1, 2)).floor()) if abs(value) < 10**6 else fmpq(0)
    beside = _as_power(abs(value - whole)) if whole != 0 else ""
    if beside:
        return f"{whole} {'+' if value > whole else '-'} {beside}"
    return plain if len(plain) <= SHOWN else f"about {arb(value).str(SHORT, radius=False)}"


def _as_power(value: fmpq) -> str:
    """`m * 10^k`, `2^k` or one over such, '' where none is short."""
    sign, size = ("-" if value < 0 else ""), abs(value)
    if size.q > 1:
        inner, over = _power(int(size.q), "-"), _power(int(size.q), "")
        if size.p == 1 and inner and "*" not in inner:
            return sign + inner
        return f"{sign}{size.p}/({over})" if over and len(str(size.p)) <= SHORT else ""
    return sign + _power(int(size.p), "") if size.q == 1 and _power(int(size.p), "") else ""


def _power(whole: int, minus: str) -> str:
    """A whole number as a power of 2, or as a short number of noughts' digits."""
    if whole & (whole - 1) == 0:
        return f"2^{minus}{whole.bit_length() - 1}"
    digits = str(whole)
    head = digits.rstrip("0")
    noughts = len(digits) - len(head)
    if len(head) > SHORT or noughts < 3:
        return ""
    return f"10^{minus}{noughts}" if head == "1" else f"{head} * 10^{minus}{noughts}"


__all__ = ["long_text"]


VAGUE_BITS = 4  # a ball with fewer certain bits is shown by its ends
WRITTEN = 10_000  # bits before or behind the point of a number that is shown in digits
LEAST = sys.float_info.min
AGREE_BITS = 64  # `=` between enclosed values means |l - r| <= 2^-64 max(|l|, |r|), certified


@dataclass(frozen=True)
class Outcome:
    """`holds`: True, False (certified) or None (not settled at the highest precision); for False, where and what.

    Of a limit, `rate` is the order of the difference and `note` says why it is not decided.
    """

    holds: bool | None
    bits: int = 0
    margin: float | None = None
    place: int = 0
    left: str = ""
    right: str = ""
    slack: float = 0.0
    note: str = ""
    rate: Any = None


OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = {"=": eq, "!=": ne, "<": lt, "<=": le}
RELATIONS: dict[str, Callable[[Graph, Sequence[tuple[int, int]], Mapping[int, Any]], Outcome]] = {}
"""Relations that are not between the values at one case: `limits.evaluate` registers `->`."""


def compare(graph: Graph, pairs: Sequence[tuple[int, int]], op: str, leaves: Mapping[int, Any], order: Sequence[int],
            most: int = MAX_PRECISION, start: int = START_BITS) -> Outcome:  # fmt: skip
    """Compare all pairs at one case; raises `Undefined` where a side is not defined."""
    if op in RELATIONS:
        return RELATIONS[op](graph, pairs, leaves)
    roots = [node for pair in pairs for node in pair]
    bits = start
    while True:
        try:
            with precision(bits):
                values = evaluate(graph, roots, leaves, order)
                return _judge_values(values, op, bits)
        except Imprecise:
            if bits >= most:
                return Outcome(None, bits)
            bits *= 2


def _judge_values(values: list[Value], op: str, bits: int) -> Outcome:
    used, margin, slack, unclear = 0, None, float("inf"), False
    for place in range(0, len(values), 2):
        left, right = values[place], values[place + 1]
        if not (exact(left) and exact(right)):
            used = bits
        verdict, gap = relation(left, op, right, bits)
        if verdict is None:
            unclear = True
        elif not verdict:
            return Outcome(False, used, None, place // 2, *apart(left, right))
        else:
            if gap is not None:
                margin = gap if margin is None else min(margin, gap)
            slack = min(slack, _gap(left, right) if gap is None else gap)
    if unclear:
        raise Imprecise
    return Outcome(True, used, margin, slack=slack if values else 0.0)


def relation(left: Value, op: str, right: Value, bits: int) -> tuple[bool | None, float | None]:
    """Whether `left op right`, None where this precision cannot tell, and how far apart they are, relatively."""
    if op in (">", ">="):
        return relation(right, "<" if op == ">" else "<=", left, bits)
    if exact(left) and exact(right):
        unequal = op in ("<", "!=") or (op == "<=" and left != right)
        return bool(OPERATORS[op](left, right)), _gap(left, right) if unequal else None
    difference = ball(left) - ball(right)
    if not difference.is_finite():
        return None, None
    apart = not difference.contains(0)
    if op == "=":
        return False if apart else _close(left, right, difference), None
    if op == "!=":
        return (True, _gap(left, right)) if apart else (None, None)
    if difference < 0:
        return True, _gap(left, right)
    if difference > 0:
        return False, None
    if op == "<=" and bits >= 4 * START_BITS:
        return _close(left, right, difference), None
    return None, None


def _close(left: Value, right: Value, difference: arb) -> bool | None:
    """Whether the two are certified to agree to `AGREE_BITS` bits."""
    if difference.is_zero():
        return True
    size = ball(left).abs_lower().max(ball(right).abs_lower())
    return True if difference.abs_upper() <= size / (1 << AGREE_BITS) else None


def _gap(left: Value, right: Value) -> float:
    """The distance of two values over the larger magnitude, as a float for the report; 0 at equality."""
    if exact(left) and exact(right) and left == right:
        return 0.0
    size = ball(left).abs_upper().max(ball(right).abs_upper())
    if not size > 0:
        return 0.0
    found = abs(float(((ball(left) - ball(right)) / size).mid()))
    return found if found > 0 or left == right else LEAST


def apart(left: Value, right: Value) -> tuple[str, str]:
    """Two values as text, with so many digits that they are seen to differ."""
    for digits in (12, 24, 48, 96, 192, 384, 768):
        texts = format_value(left, digits), format_value(right, digits)
        if texts[0] != texts[1]:
            return texts
    whole = exact(left) and exact(right)
    if whole and left == right:
        return format_value(left), f"{format_value(right)} (the same number)"
    difference = left - right if whole else ball(left) - ball(right)
    return format_value(left), f"{format_value(right)} (the difference is {format_value(difference)})"


def format_value(value: Value, digits: int = 12) -> str:
    """A value as text: a rational as it is if it is short, else digits that are certain."""
    if not exact(value) and (beyond := _magnitude(value)):
        return beyond
    if not exact(value) and value.rel_accuracy_bits() < VAGUE_BITS and value.is_finite() and not value.is_zero():
        return f"between {value.lower().str(digits, radius=False)} and {value.upper().str(digits, radius=False)}"
    if exact(value):
        text = str(value)
        return text if len(text) <= 24 else f"{arb(value).str(digits, radius=False)}"
    return str(ball(value).str(digits, radius=False))


def _magnitude(value: arb) -> str:
    """A ball with so many digits that none is shown, as a power of two or less; '' of any other."""
    size = value.abs_upper()
    if not value.is_finite() or not size > 0:
        return ""
    digits, scale = (int(part) for part in size.man_exp())
    if abs(scale + digits.bit_length()) <= WRITTEN:
        return ""
    top = scale + digits.bit_length()
    power = f"2^{top}" if abs(top) < 10**24 else f"2^({'-' if top < 0 else ''}2^{abs(top).bit_length() - 1})"
    return f"about {'-' if value < 0 else ''}{power}" if not value.contains(0) else f"at most {power}, about"


def exact_text(value: Any) -> str:
    """A leaf's value as text."""
    if hasattr(value, "exponent"):
        return str(value)
    if callable(value):
        with precision(START_BITS):
            return format_value(value())
    return long_text(value) if isinstance(value, fmpq) else format_value(value)
