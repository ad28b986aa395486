r"""Known functions whose name says more: derivatives by a prime, `\\tanh'(x)`, and a logsumexp over an index."""

from __future__ import annotations

from collections.abc import Iterator

from attention_core.derivation.latex.syntax import (
    SLOPE,
    Big,
    Call,
    Chain,
    Expr,
    Name,
    Sub,
    Sup,
    Unreadable,
    children,
    names_in,
)


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
        return _over_index(head, args) or Call(head.function, args, head.sub, head.power)
    if len(args) != 1 or head.sub:
        raise Unreadable(f"{head.function} is the derivative of a function of one number: write {function}'(x)", 0)
    slope = Call(f"{SLOPE}{order}", (Chain((Call(function, ()),)), args[0]))
    return slope if head.power is None else Sup(slope, head.power)


def _over_index(head: Call, args: tuple[Chain, ...]) -> Expr | None:
    r"""`\operatorname{lse}_j(x_j)` as the logarithm of its sum over j; None of another function or subscript.

    The letter must stand below another one in the argument: that of `\operatorname{lse}_\beta(x)` is a number.
    """
    if head.function != "lse" or len(head.sub) != 1 or len(args) != 1 or not args[0].alone:
        return None
    below, body = head.sub[0], args[0].exprs[0]
    letter = below.exprs[0]
    if not isinstance(letter, Name) or (head.power is not None and below.ops != ("=",)):
        return None
    indices = {name for one in _subscripts(body) for name in names_in(one)}
    if letter.text not in indices:
        return None
    return Call("log", (Chain((Big("sum", head.sub, head.power, Call("exp", (Chain((body,)),))),)),))


def _subscripts(node: object) -> Iterator[object]:
    """What stands below the letters of a formula."""
    if isinstance(node, Sub):
        yield node.items
    for child in children(node):
        yield from _subscripts(child)
