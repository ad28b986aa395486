r"""Derivatives of known functions that a prime says: `\\tanh'(x)`, `\\sin''(2 x)`."""

from __future__ import annotations

from attention_core.derivation.latex.syntax import SLOPE, Call, Chain, Expr, Sup, Unreadable


def apply_head(head: Call, args: tuple[Chain, ...]) -> Expr:
    """The value of a known function at its arguments, or of its derivative if its name has a prime.

    Args:
        head: The function without arguments, with what stands below and above it.
        args: The arguments.

    Raises:
        Unreadable: A derivative is not of one number.
    """
    function = head.function.rstrip("'")
    order = len(head.function) - len(function)
    if not order:
        return Call(head.function, args, head.sub, head.power)
    if len(args) != 1 or head.sub:
        raise Unreadable(f"{head.function} is the derivative of a function of one number: write {function}'(x)", 0)
    slope = Call(f"{SLOPE}{order}", (Chain((Call(function, ()),)), args[0]))
    return slope if head.power is None else Sup(slope, head.power)
