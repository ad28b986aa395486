r"""Einstein's sums: an index that stands twice in a product is summed over.

`A_{ij} B_{jk} = (A B)_{ik}` says so where the document does ("We use Einstein's summation convention.", "Summation over
repeated indices is implied."). Where it does not, a step that is false without these sums is tried with them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import islice, product
from typing import Any

from attention_core.derivation.document.blocks import KEPT_SENTENCES
from attention_core.derivation.elaborate.expressions import Elaborator
from attention_core.derivation.elaborate.index_ranges import inferred_range
from attention_core.derivation.latex.printer import symbol_name
from attention_core.derivation.latex.syntax import (
    Big,
    Call,
    Chain,
    Expr,
    Fence,
    Frac,
    Group,
    Minus,
    Name,
    Plus,
    Root,
    Sub,
    Sup,
    Times,
    Unreadable,
    children,
    names_in,
)
from attention_core.derivation.quick_patterns import compile_quick
from attention_core.derivation.reading.step import Step
from attention_core.derivation.terms.context import Context
from attention_core.derivation.terms.terms import ShapeMismatch

_READ_AS_INDEX = "(an index)"
MAX_PRODUCTS = 64  # of one side, where brackets are expanded
_SAYS = compile_quick(
    r"\beinstein(?:['\u2019]?s)?(?: summation)? (?:convention|notation)|"
    r"\b(?:sum(?:mation|med|s)?|summing) over (?:all )?repeated indices|\brepeated indices are (?:summed|contracted)",
    re.IGNORECASE,
)
_DENIES = re.compile(
    r"\b(?:no|not|never|without|unless|except|do(?:es)? not|nothing|avoid\w*|instead|unlike|only|contrary|rather|"
    r"hardly|rarely|"
    r"seldom|often|sometimes|usually|commonly|frequently|many|most|some|others?|authors?|physicists|people|books?|textbooks?|"
    r"texts|literature|papers|elsewhere|later|could|might|would|may|whether|if|was|were|has been|introduced|invented|"
    r"explained|"
    r"explains?|dropped|abandoned|confus\w*|ambiguous|dangerous|misleading)\b",
    re.IGNORECASE,
)
_ADOPTS = re.compile(
    r"\b(?:we|us|i|you|throughout|here|below|henceforth|hereafter|in what follows|in the (?:following|sequel|rest)|"
    r"from (?:now|here) on|"
    r"(?:in )?(?:this|our) (?:note|section|document|text|paper|page|post|chapter|proof|appendix|article|convention))\b|"
    r"^\W*(?:(?:again|also|now|and|note that|recall that|as (?:usual|always|before|in physics)|conventions?|"
    r"notation)\W+)*"
    r"(?:(?:with|using|by|under|in|adopting|following|a|an|the|usual|standard|implicit|all|sums?|summation|over|any) )*"
    r"(?:einstein|repeated|sum|summing)",
    re.IGNORECASE,
)
"""Words with which a document makes the convention its own: of others it may tell as well."""


@lru_cache(maxsize=KEPT_SENTENCES)
def says_sums(prose: str) -> bool:
    """Whether a sentence says that repeated indices are summed over.

    Args:
        prose: The words of the sentence.

    Example:
        >>> [says_sums(one) for one in ("We use Einstein notation.", "No summation over repeated indices is meant.")]
        [True, False]
    """
    words = " ".join(prose.split())
    return bool(_SAYS.search(words) and _ADOPTS.search(words)) and not _DENIES.search(words)


def sum_repeats(step: Step) -> Step | None:
    """The step with a sum over each index that is repeated in a product, None where there is none.

    Args:
        step: The step; an index of one side that stands on the other as well is not summed over.
    """
    context = step.context
    left = _sum(context, step.left, names_in(step.right))
    right = _sum(context, step.right, names_in(step.left))
    return None if (left, right) == (step.left, step.right) else _with_sums(step, left, right)


def _with_sums(step: Step, left: Expr, right: Expr) -> Step:
    """The step with other sides, in which sums bind indices."""
    context = step.context
    context = _with_ranges(step, names_in(left) | names_in(right))
    free = _free_names(left) | _free_names(right)
    for name in (_index_letters(context) & (names_in(left) | names_in(right))) - free:
        context.symbols.pop(name)  # a sum binds it
        context.inferred.pop(name, None)
    return replace(step, left=left, right=right, context=context)


def with_repeated_indices(step: Step) -> Step:
    """A step of a document that says that repeated indices are summed; it holds for all values of the others.

    Args:
        step: The step as it is written.
    """
    context = step.context
    closed = replace(step, left=_sum_within(context, step.left), right=_sum_within(context, step.right))
    free = [_free_names(_sum(context, side, set())) for side in (closed.left, closed.right)]
    left, right = _sum(context, closed.left, free[1]), _sum(context, closed.right, free[0])
    one = _with_sums(step, left, right)
    for name in _index_letters(one.context):
        one.context.inferred.pop(name, None)
    return one


def _index_letters(context: Context) -> set[str]:
    """The letters of indices: declared, or read as an index whatever its range."""
    known, read = context.symbols, context.inferred
    return {n for n, s in known.items() if s.kind == "index" or (n in read and read[n].endswith(_READ_AS_INDEX))}


def _with_ranges(step: Step, names: set[str]) -> Context:
    """The context with the range of each letter that was read as an index by what it stands at in this step alone."""
    context = step.context.copy()
    for name in _index_letters(context) & names:
        if context.symbols[name].kind == "index":
            continue
        symbol = context.symbols.pop(name)
        try:
            low, high = inferred_range(Elaborator(context, line=step.line), name, (step.left, step.right))
        except (Unreadable, ShapeMismatch):
            context.symbols[name] = symbol
            continue
        mentions = frozenset(low.symbols() | high.symbols())
        context.symbols[name] = replace(symbol, kind="index", lowest=low, highest=high, mentions=mentions)
    return context


def repeated_letters(context: Context, side: Expr, other: Expr) -> Iterator[str]:
    """The index letters that stand twice in every product of a side that has them, and not on the other side.

    One that stands once in another product of that side, as in `p_i (1 - p_i)`, is not summed over.
    """
    products = list(islice(_products(context, side), MAX_PRODUCTS))
    for letter in sorted({name for one in products for name in one}):
        counts = {one.count(letter) for one in products}
        if max(counts) > 1 and 1 not in counts and letter not in names_in(other):
            yield letter


def _sum(context: Context, side: Expr, others: set[str]) -> Expr:
    """A side with its sums, term by term."""
    if isinstance(side, Plus):
        return Plus(tuple(_sum(context, one, others) for one in side.terms))
    if isinstance(side, Minus):
        return Minus(_sum(context, side.body, others))
    if isinstance(side, Group) and len(side.items) == 1 and side.items[0].alone:
        return replace(side, items=(Chain((_sum(context, side.items[0].exprs[0], others),)),))
    products = list(islice(_products(context, side), MAX_PRODUCTS))
    letters = sorted({name for one in products for name in one} - others)
    for letter in letters:
        if all(one.count(letter) == 2 for one in products):
            side = Big("sum", (Chain((Name(letter),)),), None, side)
    return side


def _sum_within(context: Context, side: Expr) -> Expr:
    """A side whose brackets under a power, roots, quotients and arguments have their own sums: `(x_i y_i)^2` is one.

    A term in which such an index stands elsewhere as well is left as it is.
    """
    if isinstance(side, Plus):
        return Plus(tuple(_sum_within(context, one) for one in side.terms))
    if isinstance(side, Minus):
        return Minus(_sum_within(context, side.body))
    closed: Expr = _close(context, side)
    return side if (names_in(side) & _bound_names(closed)) & _free_names(closed) else closed


def _close(context: Context, node: Any) -> Any:
    """A part of a formula with the sums of what stands by itself in it."""
    if isinstance(node, tuple):
        return tuple(_close(context, one) for one in node)
    if isinstance(node, Big | Sub) or not children(node):
        return node
    one = type(node)(**{name: _close(context, getattr(node, name)) for name in node.__slots__})

    def own(expr: Expr) -> Expr:
        return _sum(context, expr, set())

    match one:
        case Sup(Group() as base, exponent):
            return Sup(own(base), exponent)
        case Sup(Name("e") as base, exponent):
            return Sup(base, own(exponent))
        case Call(_, args):
            return replace(one, args=tuple(Chain((own(a.exprs[0]),)) if a.alone else a for a in args))
        case Frac(top, bottom):
            return Frac(own(top), own(bottom))
        case Root(body) | Fence(_, body):
            return replace(one, body=own(body))
    return one


def _bound_names(node: object) -> set[str]:
    """The names that sums of a formula bind."""
    below = [one for part in ([node] if isinstance(node, Big) else []) for one in part.below]
    found = {name for chain in below for name in names_in(chain.exprs[0])}
    return found.union(*(_bound_names(child) for child in children(node)))


def _free_names(node: object) -> set[str]:
    """The names that stand in a formula outside the sums that bind them."""
    found = {node.text} if isinstance(node, Name) else set()
    found = found.union(*(_free_names(child) for child in children(node)))
    bound = {name for chain in node.below for name in names_in(chain.exprs[0])} if isinstance(node, Big) else set()
    return found - bound


def _products(context: Context, expr: Expr) -> Iterator[list[str]]:
    """The index letters of each product that an expression expands to."""
    for part in _addends(expr):
        if isinstance(part, Times):
            for parts in product(*(list(islice(_products(context, one), MAX_PRODUCTS)) for one in part.factors)):
                yield [name for one in parts for name in one]
        else:
            yield _indices(context, part)


def _addends(expr: Expr) -> list[Expr]:
    if isinstance(expr, Plus):
        return [one for term in expr.terms for one in _addends(term)]
    if isinstance(expr, Minus):
        return _addends(expr.body)
    if isinstance(expr, Group) and len(expr.items) == 1 and expr.items[0].alone:
        return _addends(expr.items[0].exprs[0])
    return [expr]


def _indices(context: Context, node: object) -> list[str]:
    """The index letters in the subscripts of an expression, outside sums, each as often as it stands there."""
    if isinstance(node, Big):
        return []
    out: list[str] = []
    if isinstance(node, Sub) and symbol_name(node) not in context.symbols:
        base = context.symbols.get(symbol_name(node.base) or "")
        if base is None and symbol_name(node.base) != r"\delta":
            return [] if not isinstance(node.base, Group) else _of_items(context, node) + _indices(context, node.base)
        if base is not None and base.kind == "family" and len(_of_items(context, node)) < 2:
            return []  # a member of a family is not an entry
        return _of_items(context, node) + _indices(context, node.base)
    if isinstance(node, Plus):  # `(x_i - y_i)^2` has i once
        counts = [Counter(_indices(context, term)) for term in node.terms]
        most = {letter: max(one[letter] for one in counts) for one in counts for letter in one}
        return [letter for letter, count in most.items() for _ in range(count)]
    for child in children(node):
        out += _indices(context, child)
    return out


def _of_items(context: Context, node: Sub) -> list[str]:
    """The index letters of one subscript, each as often as it stands there."""
    found = [part for item in node.items for part in _names(item)]
    letters = _index_letters(context)
    return [n for n in found if n in letters]


def _names(node: object) -> list[str]:
    """Every name that occurs, each as often as it does."""
    out = [node.text] if isinstance(node, Name) else []
    for child in children(node):
        out += _names(child)
    return out
