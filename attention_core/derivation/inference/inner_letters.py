r"""Letters that stand for themselves inside a limit or an integral alone: a step does not depend on them."""

from __future__ import annotations

from collections.abc import Callable

from attention_core.derivation.latex.syntax import Big, Group, Name, children


def limit_letters(expr: object) -> set[str]:
    r"""The letters that stand only in limits over them, as the n of `\lim_{n \to \infty} (1 + 1/n)^n`.

    Args:
        expr: The expression.
    """

    def find(node: object) -> set[str]:
        if not isinstance(node, Big) or node.op != "lim":
            return set()
        return {chain.exprs[0].text for chain in node.below if isinstance(chain.exprs[0], Name)}

    return _letters_inside(expr, find)


def integral_letters(expr: object) -> set[str]:
    r"""The letters that stand only in integrals over them, as the x of `\int_0^1 x^2 \, dx`.

    Args:
        expr: The expression.
    """

    def find(node: object) -> set[str]:
        if not isinstance(node, Big) or node.op != "int" or not isinstance(node.body, Group):
            return set()
        variables = (item.exprs[0] for item in node.body.items[1:] if item.exprs)
        return {one.text for one in variables if isinstance(one, Name)}

    return _letters_inside(expr, find)


def _letters_inside(expr: object, find: Callable[[object], set[str]]) -> set[str]:
    """The letters that stand only below nodes that bind them."""
    free, bound = set[str](), set[str]()
    stack: list[tuple[object, frozenset[str]]] = [(expr, frozenset())]
    while stack:
        node, held = stack.pop()
        if isinstance(node, Name) and node.text not in held:
            free.add(node.text)
        if found := find(node):
            held |= found
            bound |= held
        stack += [(child, held) for child in children(node)]
    return bound - free


__all__ = ["integral_letters", "limit_letters"]
