r"""Values in a list, `b = 0,1`: b has each of them in its turn, and is not 0 from there on."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from attention_core.derivation.latex.syntax import Minus, Num, Statement, Unreadable


def lists_values(pieces: Sequence[Statement | Unreadable]) -> bool:
    """Whether a formula that commas cut into pieces equates a symbol with more than one number.

    Args:
        pieces: The pieces.
    """
    return any(_ends_with_number(one) and _is_number(other) for one, other in pairwise(pieces))


def _ends_with_number(piece: Statement | Unreadable) -> bool:
    if isinstance(piece, Unreadable) or not piece.chains:
        return False
    last = piece.chains[-1]
    return last.ops[-1:] == ("=",) and _is_numeral(last.exprs[-1])


def _is_number(piece: Statement | Unreadable) -> bool:
    if isinstance(piece, Unreadable) or len(piece.chains) != 1:
        return False
    return piece.chains[0].alone and _is_numeral(piece.chains[0].exprs[0])


def _is_numeral(expr: object) -> bool:
    return isinstance(expr.body if isinstance(expr, Minus) else expr, Num)


__all__ = ["lists_values"]
