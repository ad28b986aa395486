"""The pieces of a range that an index of a sum runs over.

Where an index is a number in its summand, as in sum 1 / k^2, a value for a piece of its range is only as close as the
piece is short, and the range falls into many. Where it says nothing but which entry is meant, as in sum p_j x_{j+1},
all places of a block give one value, and the range falls where one of the entries comes to another block. An index
of a definition stands where the definition has it: with p_j := e^{z_j} / Z, the j of p_j is the place of an entry.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from itertools import pairwise
from typing import NamedTuple

from flint import arb, fmpq

from attention_core.derivation.graph.numbers import Value
from attention_core.derivation.terms.terms import Term

SINGLE = 8  # first values of a range that are taken one by one
PIECES = 400  # of one range
FINE_SINGLE, FINE_PIECES = 64, 1_600  # of a range in no other one, where the sides were too close

Free = Callable[[Term], Collection[str]]  # the names of indices in a term


class Spot(NamedTuple):
    """The whole numbers from `low` to `high`, one of which an index is; `name` tells one index from another."""

    low: int
    high: int
    name: str = ""

    def value(self) -> Value:
        """The number, or a ball that holds all of them."""
        return fmpq(self.low) if self.low == self.high else arb(self.low).union(arb(self.high))


class Place(NamedTuple):
    """The place of an entry that an index says: `sign` times the index, and other whole numbers, each with its sign.

    Those of a definition are read where all definitions are, as `top` says.
    """

    sign: int
    others: tuple[tuple[int, Term, bool], ...]  # a sign, a number, and whether it is read at the top


def find_places(term: Term, name: str, free: Free) -> frozenset[Place] | None:
    """The places of entries that an index says in a term; None where it is a number there as well.

    Args:
        term: The term.
        name: The index.
        free: The names in a term.
    """
    found: set[Place] = set()
    seen: set[int] = set()
    stack = [term]
    while stack:
        part = stack.pop()
        if id(part) in seen or name not in free(part):
            continue
        seen.add(id(part))
        places: frozenset[Place] | None
        if part.op == "member":
            continue  # all members of a family are alike
        if part.op == "entry":
            places = _all_places(part.args[1:], name, free)
            stack.append(part.args[0])
        elif part.op == "bind":
            places = _places_in_definition(part, name, free)
        elif part.op == "reduce" and part.data[1] == name:  # inside it is another index
            places = None if any(name in free(end) for end in part.args[:2]) else frozenset()
        else:
            places = None if part.op in ("int", "slice") else frozenset()
            stack += part.args
        if places is None:
            return None
        found |= places
    return frozenset(found)


def _all_places(terms: Collection[Term], name: str, free: Free) -> frozenset[Place] | None:
    """The places that these terms are; None where one is not an index with whole numbers."""
    places = [_place_of(t, name, free) for t in terms if name in free(t)]
    return frozenset(p for p in places if p is not None) if None not in places else None


def _places_in_definition(term: Term, name: str, free: Free) -> frozenset[Place] | None:
    """The places that an index says in a definition, through the letters that the definition has for it."""
    found: set[Place] = set()
    for letter, argument in zip(term.data, term.args[1:], strict=True):
        if name not in free(argument):
            continue
        outer = _place_of(argument, name, free)
        inner = find_places(term.args[0], letter, free)
        if outer is None or inner is None:
            return None
        for place in inner:
            if any(set(free(number)) & set(term.data) for _, number, _ in place.others):
                return None  # a place made of two indices
            shifted = ((place.sign * sign, number, top) for sign, number, top in outer.others)
            fixed = ((sign, number, True) for sign, number, _ in place.others)
            found.add(Place(place.sign * outer.sign, (*shifted, *fixed)))
    return frozenset(found)


def _place_of(term: Term, name: str, free: Free) -> Place | None:
    """A whole number that holds an index once, as a place; None of any other."""
    sign, others = 0, list[tuple[int, Term, bool]]()
    stack = [(1, term)]
    while stack:
        factor, part = stack.pop()
        if part.op == "int" and part.data == name:
            sign += factor
        elif name not in free(part):
            others.append((factor, part, False))
        elif part.op == "neg":
            stack.append((-factor, part.args[0]))
        elif part.op == "add":
            stack += [(factor, arg) for arg in part.args]
        else:
            return None
    return Place(sign, tuple(others)) if sign in (1, -1) else None


class Cut(NamedTuple):
    """How a range falls into pieces.

    `places` are the index's places of entries, each a sign and what is added, None where it is a number as well;
    `marks` are the places at which entries differ from those before them.
    """

    places: frozenset[tuple[int, int]] | None
    marks: frozenset[int]
    fine: bool


def cut_range(first: int, last: int, cut: Cut) -> list[tuple[int, int]]:
    """The pieces of a range, from which whole number to which."""
    edges = {first, last + 1}
    if cut.places is None:
        single, most = (FINE_SINGLE, FINE_PIECES) if cut.fine else (SINGLE, PIECES)
        edges |= set(range(first, min(last, first + single) + 1)) | cut.marks
        edges |= set(_grow_pieces(first, single, last - first, most))
    elif cut.places and last - first < SINGLE:
        edges |= set(range(first, last + 1))
    else:
        edges |= {mark - more if sign > 0 else more - mark + 1 for sign, more in cut.places for mark in cut.marks}
    ordered = sorted(e for e in edges if first <= e <= last + 1)
    return [(a, b - 1) for a, b in pairwise(ordered)]


def _grow_pieces(first: int, start: int, length: int, most: int) -> Iterator[int]:
    """Places ever farther apart: 2 to the power k / parts after the first, as many parts as there is room for."""
    doublings = max(1, length.bit_length() - start.bit_length() + 1)
    parts = max(1, min(64, most // doublings))
    step = -(-doublings * parts // most) if parts == 1 else 1
    for place in range(0, doublings * parts + 1, step):
        whole, rest = divmod(place, parts)
        offset = start * 2**whole * (parts + rest) // parts
        if offset >= length:
            return
        yield first + offset


__all__ = ["Cut", "Place", "Spot", "cut_range", "find_places"]
