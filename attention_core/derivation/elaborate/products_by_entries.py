r"""Products and quotients of arrays without a sign that are meant entry by entry: `\sin z \cos z` of a vector z.

Two columns have no product of their shapes. Where both are functions of the entries of one array, each entry of one
goes with that of the other. Where only one is, or the arrays differ, such a product stays open and refutes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from attention_core.derivation.terms.terms import ShapeMismatch, Term, hadamard, quotient

BY_ENTRIES = "may be meant entry by entry"
"""What the message of shapes that do not fit says, where a product or a quotient of entries does."""
_FUNCTIONS = frozenset(
    ["exp", "log", "sin", "cos", "tan", "cot", "sec", "csc", "sinh", "cosh", "tanh", "coth", "sech", "csch", "arcsin",
     "arccos", "arctan", "arsinh", "arcosh", "artanh", "erf", "erfc", "relu", "sign", "sigmoid", "ceil", "floor"]
)  # fmt: skip
_PARTS = frozenset(["add", "neg", "mul", "hadamard", "div", "pow"])


def multiply_by_entries(left: Term, right: Term) -> Term | None:
    """The product of the entries of two arrays that have no other product; None where it is not meant.

    Args:
        left: An array.
        right: Another one.

    Raises:
        ShapeMismatch: It may be meant.
    """
    if left.type.scalar or left.type != right.type:
        return None
    found = arrays_of_function(left), arrays_of_function(right)
    if found[0] and found[0] == found[1]:
        return hadamard(left, right)
    if any(found):
        raise ShapeMismatch(f"{left.type} cannot be multiplied by {right.type}; a product {BY_ENTRIES}")
    return None


def divide(top: Term, bottom: Term) -> Term:
    """A quotient by a number.

    Args:
        top: What is divided.
        bottom: The divisor.

    Raises:
        ShapeMismatch: The divisor is an array; its message says where its entries may be meant.
    """
    try:
        return quotient(top, bottom)
    except ShapeMismatch as error:
        if arrays_of_function(bottom) and (top.type.scalar or top.type == bottom.type):
            raise ShapeMismatch(f"{error}; a quotient {BY_ENTRIES}") from None
        raise


def arrays_of_function(term: Term) -> frozenset[str]:
    """The arrays whose entries a term is a function of, none where it is anything else.

    Args:
        term: The term.
    """
    found = None if term.type.scalar else _arrays_of(term)
    return found or frozenset()


def _arrays_of(term: Term) -> frozenset[str] | None:
    """The arrays under functions of entries, None where an array stands outside of these."""
    if term.type.scalar or term.op in ("ones", "const"):
        return frozenset()
    if term.op in _FUNCTIONS or (term.op == "reduce" and _is_array_of_entries(term)):
        return frozenset(_leaves(term))
    if term.op not in _PARTS:
        return None
    parts = [_arrays_of(one) for one in term.args]
    return None if None in parts else frozenset().union(*(one for one in parts if one is not None))


def _is_array_of_entries(term: Term) -> bool:
    """Whether a term is an array that is written by its entries: its index is not a letter of the document."""
    return isinstance(term.data, tuple) and str(term.data[-1]).startswith("§")


def _leaves(term: Term) -> Iterator[str]:
    return (str(one.data) for one in term.walk() if one.op in ("leaf", "member") and not one.type.scalar)


__all__ = ["BY_ENTRIES", "arrays_of_function", "divide", "multiply_by_entries"]
