r"""Sets of indices that a document has by a letter, as in `\frac{1}{|B|} \sum_{i \in B} x_i`.

No declaration says what such a set holds. A sum over it is a symbol of its own, and so is the number of its elements.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from attention_core.derivation.inference.usage import walk
from attention_core.derivation.latex.parse import parse_statement
from attention_core.derivation.latex.syntax import (
    Big,
    Chain,
    Expr,
    Fence,
    Group,
    Name,
    Sub,
    Times,
    Unreadable,
    names_in,
)

OPERATIONS = frozenset(["setminus", "cup", "cap"])  # of sets, as the parser names them


def is_set(condition: Chain) -> bool:
    r"""Whether a condition of a sum is `i \in B` or `i \notin B`, and not a range, `\{1, \dots, n\}` or `[n]`.

    Args:
        condition: The condition.
    """
    over = condition.exprs[-1]
    listed = isinstance(over, Group) and (over.bracket == "{" or (over.bracket == "[" and len(over.items) == 1))
    return condition.ops in (("in",), ("notin",)) and not listed


def index_sets(formulas: Iterable[object]) -> frozenset[str]:
    r"""Return the letters of the sets of indices in formulas: B of `B_k`, N of `N(i)`.

    Args:
        formulas: Trees of formulas.

    Example:
        >>> sums = parse_statement(r"\sum_{i \in B_k \setminus \{j\}} x_i + \sum_{i \in [n]} y_i = \sum_{j \in N(i)} 1")
        >>> sorted(index_sets(sums.chains))
        ['B', 'N']
    """
    operators = (one for formula in formulas for one in walk(formula) if isinstance(one, Big))
    conditions = (one for node in operators if _runs_over_indices(node) for one in node.below if is_set(one))
    return frozenset(letter for one in conditions for letter in _letters_of(one.exprs[1]))


def _runs_over_indices(node: Big) -> bool:
    """Whether an operator is a sum or a product, or takes the largest of what has a subscript: not of all policies."""
    if node.op in ("max", "min"):
        below = {name for one in walk(node.body) if isinstance(one, Sub) for name in names_in(one.items)}
        return bool(below & {name for one in node.below for name in names_in(one.exprs[0])})
    return node.op in ("sum", "prod")


def _letters_of(over: Expr) -> Iterator[str]:
    """The letters of a set as it is written."""
    match over:
        case Name(text) if not text.startswith(r"\mathbb"):
            yield text
        case Sub(base):
            yield from _letters_of(base)
        case Times((head, Group("(")), ("",)):
            yield from _letters_of(head)
        case Times(factors, ops) if OPERATIONS & set(ops):
            for one in factors:
                yield from _letters_of(one)


def is_count(node: object, sets: frozenset[str]) -> bool:
    """Whether a node is the number of elements of one of some sets, `|B|`.

    Args:
        node: The node.
        sets: Their letters.
    """
    return isinstance(node, Fence) and node.kind == "abs" and bool(sets & {*_letters_of(node.body)})


def sets_behind(name: str, sets: frozenset[str] = frozenset()) -> frozenset[str]:
    r"""Return the letters of the sets because of which `\sum_{i \in B} x_i` or `|B|` is a symbol of its own.

    Args:
        name: The name of the symbol: the formula that it stands for.
        sets: The letters of sets that are known already; the number of elements of others is an absolute value.

    Example:
        >>> sorted(sets_behind(r"\sum_{i \in B} x_i")), sorted(sets_behind("|B|", frozenset("B")))
        (['B'], ['B'])
    """
    try:
        formula = parse_statement(name).chains[0]
    except (Unreadable, RecursionError):
        return frozenset()
    counted = (_letters_of(one.body) for one in walk(formula) if isinstance(one, Fence) and is_count(one, sets))
    return index_sets([formula]) | {letter for letters in counted for letter in letters if letter in sets}


__all__ = ["index_sets", "is_count", "is_set", "sets_behind"]
