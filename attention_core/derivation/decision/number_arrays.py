r"""Whether a false equation of arrays of numbers may hold where arrays are calculated with in another way.

Each entry of a product of matrices is a sum of products of numbers, so it may be good modulo 26, rounded or in another
base as any calculation may. Besides, the product may be another one (by entries, from the other side, of transposes),
and its sums and products may be minima, bits or carried digits; entries may be clipped, or pass a function that changes
the negative ones. One entry among several that are right leaves none of this: where an entry that is calculated in the
same way, with no more zeros, is what the usual product gives, then so it was meant.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from itertools import starmap
from typing import TypeVar

from attention_core.derivation.decision.calculations import Arithmetic
from attention_core.derivation.inference.usage import walk
from attention_core.derivation.latex.syntax import Array, Expr, Frac, Group, Minus, Num, Plus, Sup, Times, Transpose
from attention_core.derivation.reading.step import Step

Grid = tuple[tuple[Expr, ...], ...]
Values = tuple[tuple[Fraction, ...], ...]
Product = Callable[[Grid, Grid], Grid]
Entry = TypeVar("Entry")
MOST_POWER = 9  # of a matrix
MOST_BITS = 8  # of the elements of a finite field that is tried
NEAR = Fraction(1, 20)  # of the largest entry: by how much entries with decimals may be rounded
_TRIVIAL = (-1, 0, 1)  # factors with which many products are the same


def has_array(step: Step) -> bool:
    """Whether a written array stands in a step.

    Args:
        step: The step.
    """
    return any(isinstance(node, Array) for side in (step.left, step.right) for node in walk(side))


def list_values(step: Step) -> list[tuple[Fraction, Fraction]] | None:
    """The entries of both sides of an equation of arrays of numbers, None where these have other shapes.

    Args:
        step: A step without symbols.
    """
    try:
        grids = [_calculate(_as_grid(_expand(side, multiply_matrices))) for side in (step.left, step.right)]
        if _shape(grids[0]) != _shape(grids[1]):
            return None
        return [(_at(grids[0], place), _at(grids[1], place)) for place in _places(grids[0])]
    except (ArithmeticError, ValueError):
        return None


def find_entries(step: Step) -> list[tuple[Expr, Expr]] | None:
    """The equations of numbers that one of arrays is, the false one first; None where arrays may be meant otherwise.

    Args:
        step: A step without symbols that is false as it was read.
    """
    if step.op != "=":
        return None
    try:
        grids = [_as_grid(_expand(side, multiply_matrices)) for side in (step.left, step.right)]
        values = [_calculate(grid) for grid in grids]
        places = _places(grids[0])
        if _shape(grids[0]) != _shape(grids[1]):
            return None
        false = [place for place in places if _at(values[0], place) != _at(values[1], place)]
        if len(false) != 1 or _may_pass_function(step, values, false[0]):
            return None
        others = [place for place in places if place != false[0]]
        if not all(any(_tells(_at(grid, one), _at(grid, false[0])) for one in others) for grid in grids):
            return None
    except (ArithmeticError, ValueError):
        return None
    entries = [(_at(grids[0], place), _at(grids[1], place)) for place in (*false, *others)]
    other = _may_be_in_field(entries) or _may_be_other_product(step, _find_slack(step, values))
    return None if other else entries


def multiply_matrices(left: Grid, right: Grid) -> Grid:
    """The entries of a product of matrices, each as a sum of products.

    Args:
        left: The entries of the left factor.
        right: The entries of the right factor.

    Raises:
        ValueError: The shapes do not fit.
    """
    columns = list(zip(*right, strict=True))
    return tuple(tuple(_add(starmap(_times, zip(row, column, strict=True))) for column in columns) for row in left)


def _multiply_entries(left: Grid, right: Grid) -> Grid:
    return _zip_grids(_times, left, right)


def _multiply_from_right(left: Grid, right: Grid) -> Grid:
    return multiply_matrices(right, left)


def _pair_columns(left: Grid, right: Grid) -> Grid:
    return multiply_matrices(_transpose(left), right)


def _pair_rows(left: Grid, right: Grid) -> Grid:
    return multiply_matrices(left, _transpose(right))


def _multiply_transposes(left: Grid, right: Grid) -> Grid:
    return multiply_matrices(_transpose(left), _transpose(right))


def _commute(left: Grid, right: Grid) -> Grid:
    products = multiply_matrices(left, right), multiply_matrices(right, left)
    return _zip_grids(lambda one, other: Plus((one, Minus(other))), *products)


def _multiply_both_ways(left: Grid, right: Grid) -> Grid:
    products = multiply_matrices(left, right), multiply_matrices(right, left)
    return _zip_grids(lambda one, other: Frac(Plus((one, other)), Num(Fraction(2))), *products)


_PRODUCTS: tuple[Product, ...] = (
    multiply_matrices,
    _multiply_entries,
    _multiply_from_right,
    _pair_columns,
    _pair_rows,
    _multiply_transposes,
    _commute,
    _multiply_both_ways,
)


@dataclass(frozen=True)
class Semiring:
    """Numbers whose sums and products are something else, such as the smaller number and the sum.

    Args:
        add: What a plus stands for.
        multiply: What a product stands for.
    """

    add: Callable[[Fraction, Fraction], Fraction]
    multiply: Callable[[Fraction, Fraction], Fraction]

    def calculate(self, side: Expr) -> Fraction:
        """The number that a side is.

        Args:
            side: Sums and products of numbers.

        Raises:
            ValueError: It holds something else, or numbers that these operations do not take.
            ArithmeticError: It divides by zero.
        """
        if isinstance(side, Plus):
            return reduce(self.add, map(self.calculate, side.terms))
        if isinstance(side, Times) and "/" not in side.ops:
            return reduce(self.multiply, map(self.calculate, side.factors))
        if isinstance(side, Group) and len(side.items) == 1 and side.items[0].alone:
            return self.calculate(side.items[0].exprs[0])
        return Arithmetic().calculate(side)


def _on_whole(combine: Callable[[int, int], int]) -> Callable[[Fraction, Fraction], Fraction]:
    def act(one: Fraction, other: Fraction) -> Fraction:
        if one.denominator > 1 or other.denominator > 1 or min(one, other) < 0:
            raise ValueError(one, other)
        return Fraction(combine(int(one), int(other)))

    return act


def _multiply_without_carry(one: int, other: int) -> int:
    places = (place for place in range(other.bit_length()) if other >> place & 1)
    return reduce(operator.xor, (one << place for place in places), 0)


def _reduce_bits(product: int, modulus: int) -> int:
    while product.bit_length() >= modulus.bit_length():
        product ^= modulus << (product.bit_length() - modulus.bit_length())
    return product


_XOR = _on_whole(operator.xor)
_SUMS = (operator.add, max, min, _XOR, _on_whole(operator.or_), _on_whole(math.gcd), _on_whole(math.lcm))
_TIMES = (
    _on_whole(math.gcd),
    _on_whole(math.lcm),
    operator.mul,
    operator.add,
    max,
    min,
    _on_whole(operator.and_),
    _on_whole(_multiply_without_carry),
)


def _iterate_calculations() -> Iterator[Callable[[Expr], Fraction]]:
    """The ways to calculate an entry that is written as sums of products."""
    yield Arithmetic().calculate
    yield from (Semiring(add, multiply).calculate for add in _SUMS for multiply in _TIMES)


def _may_be_other_product(step: Step, slack: Fraction) -> bool:
    """Whether both sides have the same entries with another product or other operations on numbers.

    Args:
        step: An equation of arrays of numbers.
        slack: By how much entries may be rounded.
    """
    for product in _PRODUCTS:
        try:
            left, right = (_as_grid(_expand(side, product)) for side in (step.left, step.right))
        except ValueError:
            continue
        if _shape(left) != _shape(right):
            continue
        pairs = [(_at(left, place), _at(right, place)) for place in _places(left)]
        if any(_agree(pairs, calculate, slack) for calculate in _iterate_calculations()):
            return True
    return False


def _agree(pairs: list[tuple[Expr, Expr]], calculate: Callable[[Expr], Fraction], slack: Fraction) -> bool:
    try:
        return all(abs(calculate(left) - calculate(right)) <= slack for left, right in pairs)
    except (ArithmeticError, ValueError):
        return False


def _may_be_in_field(pairs: list[tuple[Expr, Expr]]) -> bool:
    """Whether entries are equal in a field of numbers that are bits of polynomials, such as the bytes of a cipher."""
    calculate = Semiring(_XOR, _on_whole(_multiply_without_carry)).calculate
    try:
        values = [(calculate(left), calculate(right)) for left, right in pairs]
    except (ArithmeticError, ValueError):
        return False
    if any(value.denominator > 1 or value < 0 for pair in values for value in pair):
        return False
    moduli = range(2, 2 ** (MOST_BITS + 1))
    return any(all(_reduce_bits(int(a), modulus) == b for a, b in values) for modulus in moduli)


def _expand(side: Expr, product: Product) -> Expr | Grid:
    """A side with its operations on arrays written out entry by entry."""
    if isinstance(side, Array):
        return _read_cells(side)
    if isinstance(side, Group) and len(side.items) == 1 and side.items[0].alone:
        inside = _expand(side.items[0].exprs[0], product)
        return inside if isinstance(inside, tuple) else side
    if isinstance(side, Minus):
        body = _expand(side.body, product)
        return _map_grid(Minus, body) if isinstance(body, tuple) else side
    if isinstance(side, Plus):
        return _expand_sum(side, product)
    if isinstance(side, Times):
        return _expand_product(side, product)
    if isinstance(side, Frac):
        return _divide(_expand(side.top, product), _expand(side.bottom, product))
    if isinstance(side, Transpose):
        return _transpose(_as_grid(_expand(side.base, product)))
    if isinstance(side, Sup) and isinstance(base := _expand(side.base, product), tuple):
        power = side.exponent.value if isinstance(side.exponent, Num) else 0
        if power not in range(1, MOST_POWER + 1):
            raise ValueError(side)
        return reduce(product, [base] * int(power))
    if any(isinstance(node, Array) for node in walk(side)):
        raise ValueError(side)
    return side


def _read_cells(array: Array) -> Grid:
    """The cells of an array, which are its entries."""
    rows = [tuple(cell for cell in row if cell is not None) for row in array.rows]
    if len(set(map(len, array.rows))) != 1 or list(map(len, rows)) != list(map(len, array.rows)):
        raise ValueError(array)
    if any(isinstance(node, Array) for row in rows for cell in row for node in walk(cell)):
        raise ValueError(array)
    return tuple(rows)


def _expand_sum(side: Plus, product: Product) -> Expr | Grid:
    terms = [_expand(term, product) for term in side.terms]
    grids = [term for term in terms if isinstance(term, tuple)]
    if not grids:
        return side
    if len(grids) < len(terms) or len(set(map(_shape, grids))) != 1:
        raise ValueError(side)
    return tuple(tuple(map(_add, zip(*rows, strict=True))) for rows in zip(*grids, strict=True))


def _expand_product(side: Times, product: Product) -> Expr | Grid:
    found = _expand(side.factors[0], product)
    for op, factor in zip(side.ops, side.factors[1:], strict=True):
        other = _expand(factor, product)
        if op == "/":
            found = _divide(found, other)
        elif isinstance(found, tuple) and isinstance(other, tuple):
            if op not in ("", ".", "*"):
                raise ValueError(op)  # a product of another kind
            found = product(found, other)
        else:
            found = _scale(found, other)
    return found


def _scale(one: Expr | Grid, other: Expr | Grid) -> Expr | Grid:
    """The product of two factors of which at most one is an array."""
    if isinstance(one, tuple):
        return _map_grid(lambda entry: _times(entry, _as_number(other)), one)
    if isinstance(other, tuple):
        return _map_grid(lambda entry: _times(one, entry), other)
    return _times(one, other)


def _divide(top: Expr | Grid, bottom: Expr | Grid) -> Expr | Grid:
    below = _as_number(bottom)
    return _map_grid(lambda entry: Frac(entry, below), top) if isinstance(top, tuple) else Frac(top, below)


def _as_grid(side: Expr | Grid) -> Grid:
    if not isinstance(side, tuple):
        raise ValueError(side)
    return side


def _as_number(side: Expr | Grid) -> Expr:
    if isinstance(side, tuple):
        raise ValueError(side)
    return side


def _times(one: Expr, other: Expr) -> Expr:
    return Times((one, other), ("*",))


def _add(terms: Iterator[Expr] | tuple[Expr, ...]) -> Expr:
    return Plus(tuple(terms))


def _transpose(grid: Grid) -> Grid:
    return tuple(zip(*grid, strict=True))


def _map_grid(change: Callable[[Expr], Expr], grid: Grid) -> Grid:
    return tuple(tuple(map(change, row)) for row in grid)


def _zip_grids(combine: Callable[[Expr, Expr], Expr], left: Grid, right: Grid) -> Grid:
    return tuple(tuple(starmap(combine, zip(*rows, strict=True))) for rows in zip(left, right, strict=True))


def _calculate(grid: Grid) -> Values:
    calculate = Arithmetic().calculate
    return tuple(tuple(map(calculate, row)) for row in grid)


def _find_slack(step: Step, values: list[Values]) -> Fraction:
    """By how much entries may be rounded: by nothing where no number has decimals."""
    numbers = (node.value for side in (step.left, step.right) for node in walk(side) if isinstance(node, Num))
    largest = max(abs(value) for grid in values for row in grid for value in row)
    return NEAR * largest if any(number.denominator > 1 for number in numbers) else Fraction(0)


def _shape(grid: tuple[tuple[object, ...], ...]) -> tuple[int, int]:
    return len(grid), len(grid[0])


def _places(grid: tuple[tuple[object, ...], ...]) -> list[tuple[int, int]]:
    return [(i, j) for i, row in enumerate(grid) for j in range(len(row))]


def _at(grid: tuple[tuple[Entry, ...], ...], place: tuple[int, int]) -> Entry:
    return grid[place[0]][place[1]]


def _may_pass_function(step: Step, values: list[Values], place: tuple[int, int]) -> bool:
    """Whether a false entry may be what a function of entries makes of the right one, such as a bound."""
    pairs = []
    if not isinstance(step.left, Array):
        pairs.append((values[0], values[1]))
    if not isinstance(step.right, Array):
        pairs.append((values[1], values[0]))
    return any(_is_extreme(computed, printed, place) for computed, printed in pairs)


def _is_extreme(computed: Values, printed: Values, place: tuple[int, int]) -> bool:
    before, after = _at(computed, place), _at(printed, place)
    shown = [value for row in printed for value in row]
    if printed == tuple(zip(*printed, strict=True)):
        return True  # one half is written, and the other mirrors it
    if after in _TRIVIAL or before < 0 <= min(_at(computed, one) for one in _places(computed) if one != place):
        return True
    step = math.gcd(*(value.numerator for value in shown)) if all(one.denominator == 1 for one in shown) else 0
    return before > after == max(shown) or before < after == min(shown) or abs(before - after) < step


def _tells(other: Expr, entry: Expr) -> bool:
    """Whether an entry shows what operations mean in a false one: it has no more zeros, and products if that has."""
    return _has_no_more_zeros(other, entry) and (_multiplies(other) or not _multiplies(entry))


def _has_no_more_zeros(other: Expr, entry: Expr) -> bool:
    if isinstance(entry, Minus) and isinstance(entry.body, Plus):
        return isinstance(other, Minus) and _has_no_more_zeros(other.body, entry.body)
    if isinstance(entry, Plus) and isinstance(other, Plus):
        parts = list(zip(other.terms, entry.terms, strict=True))
    elif isinstance(entry, Times) and isinstance(other, Times):
        parts = list(zip(other.factors, entry.factors, strict=True))
    else:
        return not isinstance(entry, Plus | Times)  # a cell
    calculate = Arithmetic().calculate
    return all(not calculate(mine) or (calculate(its) != 0 and _has_no_more_zeros(its, mine)) for its, mine in parts)


def _multiplies(entry: Expr) -> bool:
    """Whether two numbers are multiplied that many products would not keep."""
    factors = [node.factors for node in walk(entry) if isinstance(node, Times)]
    return any(sum(Arithmetic().calculate(one) not in _TRIVIAL for one in some) > 1 for some in factors)


__all__ = ["find_entries", "has_array", "multiply_matrices"]
