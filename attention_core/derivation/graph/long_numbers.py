"""Long numbers as text.

Rationals with many digits as people write them: 3 * 10^400, 2^-1400, 1 - 2^-100; whole only where nothing is short.
The text is exact unless it says "about".
"""

from __future__ import annotations

from flint import arb, fmpq

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
