r"""Probabilities that are written with a plain P: $P(X > 0)$ of a random symbol.

Where nothing declares P and its argument relates a symbol with a law, $P(X > 0)$ is $\Pr(X > 0)$. Of symbols without a
law it is left as it is: a value of a function or of a law that the document does not give. So is $p(X = x)$ of a symbol
with a density, which p may stand for.
"""

from __future__ import annotations

from functools import partial
from operator import is_
from typing import Any, NamedTuple

from attention_core.derivation.latex.printer import all_names
from attention_core.derivation.latex.syntax import (
    Call,
    Chain,
    Expr,
    Group,
    Name,
    Times,
    change_base,
    children,
    rebuild,
)
from attention_core.derivation.terms.context import Context

_LETTERS = ("P", "p")
_COUNTED = frozenset({"bernoulli", "categorical", "range", "rademacher", "binomial", "poisson", "geometric"})


class _Random(NamedTuple):
    """The names of all that is random, and of the symbols whose law has a probability for each value."""

    names: frozenset[str]
    counted: frozenset[str]


def write_probabilities(context: Context, chains: tuple[Chain, ...]) -> tuple[Chain, ...]:
    """Relations with the probabilities of events of random symbols as such.

    Args:
        context: What is declared.
        chains: The relations; those without such a probability come back as they are.
    """
    letters = frozenset(one for one in _LETTERS if one not in context.symbols and one not in context.dropped)
    random = _random_names(context) if letters else frozenset()
    counted = frozenset(n for n, one in context.symbols.items() if one.law is not None and one.law.name in _COUNTED)
    return tuple(_write(chain, letters, _Random(random, counted)) for chain in chains) if random else chains


def _random_names(context: Context) -> frozenset[str]:
    """The symbols with a law, and those that are defined by them."""
    found = {name for name, symbol in context.symbols.items() if symbol.law is not None}
    waiting = bool(found)
    while waiting:
        more = {
            n for n, symbol in context.symbols.items() if symbol.term is not None and symbol.mentions & found
        } - found
        found |= more
        waiting = bool(more)
    return frozenset(found)


def _write(node: Any, letters: frozenset[str], random: _Random) -> Any:
    """A node with probabilities in it."""
    if isinstance(node, tuple):
        parts = tuple(_write(one, letters, random) for one in node)
        return node if all(map(is_, parts, node)) else parts
    if not children(node):
        return node
    node = rebuild(node, lambda value: _write(value, letters, random))
    return _in_product(node, letters, random) if isinstance(node, Times) else node


def _in_product(node: Times, letters: frozenset[str], random: _Random) -> Expr:
    """A product with `P` and the brackets behind it as one factor."""
    factors, ops = list(node.factors), list(node.ops)
    place = 0
    while place < len(ops):
        head = factors[place]
        if not ops[place] and isinstance(head, Name) and head.text in letters:
            made = change_base(factors[place + 1], partial(_probability, head.text, random))
            if made is not None:
                factors[place : place + 2] = [made]
                del ops[place]
        place += 1
    if len(factors) == len(node.factors):
        return node
    return Times(tuple(factors), tuple(ops)) if ops else factors[0]


def _probability(letter: str, random: _Random, inner: Expr) -> Expr | None:
    r"""`(X > 0)` as `\Pr(X > 0)`, None of brackets in which nothing random is related."""
    if not isinstance(inner, Group) or not any(chain.ops for chain in inner.items):
        return None
    names = all_names(inner) & random.names
    density = letter == "p" and any("=" in chain.ops for chain in inner.items) and not names <= random.counted
    return Call("Pr", inner.items) if names and not density else None
