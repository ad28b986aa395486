r"""What the usual hypotheses say of the symbols of a step, as formulas: that vectors are orthogonal, numbers positive.

Each kind writes first what it says of all symbols that it may be about, then of each alone. See `usual` for when these
are tried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations

from attention_core.derivation.terms.context import Symbol
from attention_core.derivation.terms.terms import Type

Array = tuple[str, Type]


@dataclass(frozen=True)
class Subject:
    """What a hypothesis may be about: the free symbols of a step, and a letter for an index that is not declared."""

    symbols: Sequence[Symbol]
    letter: str

    @property
    def arrays(self) -> list[Array]:
        """Numbers, vectors and matrices."""
        return [(one.name, one.type) for one in self.symbols if one.kind == "array" and one.type is not None]

    @property
    def families(self) -> list[tuple[str, Type, str]]:
        """Families: the name, the shape of a member, and the letter of its index with where it starts."""
        known = (one for one in self.symbols if one.kind == "family" and one.type is not None and not one.params)
        return [
            (f"{one.name}_{self.letter}", one.type, _run(one, self.letter)) for one in known if one.type is not None
        ]

    @property
    def numbers(self) -> list[str]:
        """Numbers, and members of families of numbers."""
        return [name for name, kind in self.arrays if kind.scalar] + [
            name for name, kind, _ in self.families if kind.scalar
        ]

    @property
    def columns(self) -> list[Array]:
        """Columns."""
        return [(name, kind) for name, kind in self.arrays if kind.vector and kind.column]

    @property
    def matrices(self) -> list[Array]:
        """Matrices of more than one row and column."""
        return [(name, kind) for name, kind in self.arrays if kind.kind == "matrix" and not kind.vector]

    @property
    def squares(self) -> list[Array]:
        """Square matrices."""
        return [(name, kind) for name, kind in self.matrices if kind.rows == kind.cols]


def _run(family: Symbol, letter: str) -> str:
    r"""The scripts of a sum over a family, `_{k=1}^{n}`; '' if nothing says where it ends."""
    if family.highest is None:
        return ""
    return f"_{{{letter}={1 if family.lowest is None else family.lowest}}}^{{{family.highest}}}"


def _alike(arrays: list[Array]) -> Iterator[tuple[str, str]]:
    """The names of each two arrays of one shape."""
    return ((left[0], right[0]) for left, right in combinations(arrays, 2) if left[1] == right[1])


def _combine(formulas: Iterable[str]) -> Iterator[str]:
    """All of some formulas at once, and each alone."""
    found = list(formulas)
    if found:
        yield ", ".join(found)
    if len(found) > 1:
        yield from found


def write_orthogonal(about: Subject) -> Iterator[str]:
    """Columns that are orthogonal to one another, and matrices with orthonormal columns.

    Args:
        about: What it may be about.
    """
    yield from _combine(f"{a}^\\top {b} = 0" for a, b in _alike(about.columns))
    yield from _combine(f"{name}^\\top {name} = I_{{{kind.cols}}}" for name, kind in about.matrices)


def write_unit(about: Subject) -> Iterator[str]:
    """Columns, and members of families of vectors, of norm one.

    Args:
        about: What it may be about.
    """
    vectors = [name for name, kind, _ in about.families if kind.vector and kind.column and not kind.scalar]
    return _combine(f"\\|{name}\\| = 1" for name in (*(name for name, _ in about.columns), *vectors))


def write_of_each(text: str) -> Callable[[Subject], Iterator[str]]:
    """Write a formula of each square matrix A.

    Args:
        text: The formula.
    """
    return lambda about: _combine(text.replace("A", name) for name, _ in about.squares)


def write_diagonal(about: Subject) -> Iterator[str]:
    """Square matrices that are diagonal.

    Args:
        about: What it may be about.
    """
    return _combine(f"{name} = {name} \\odot I_{{{kind.rows}}}" for name, kind in about.squares)


def write_commuting(about: Subject) -> Iterator[str]:
    """Two square matrices that commute.

    Args:
        about: What it may be about.
    """
    return (f"{a} {b} = {b} {a}" for a, b in _alike(about.squares))


def write_inverse(about: Subject) -> Iterator[str]:
    """Two square matrices one of which is the inverse of the other.

    Args:
        about: What it may be about.
    """
    sizes = {name: kind.rows for name, kind in about.squares}
    return (f"{a} {b} = I_{{{sizes[a]}}}" for a, b in _alike(about.squares))


def write_same(about: Subject) -> Iterator[str]:
    """Two arrays that are the same, or transposes.

    Args:
        about: What it may be about.
    """
    yield from _combine(f"{a} = {b}" for a, b in _alike(about.arrays))
    yield from (f"{b} = {a}^\\top" for a, b in _alike(about.squares))


def write_positive(about: Subject) -> Iterator[str]:
    """Numbers, members of families and entries of columns that are positive.

    Args:
        about: What it may be about.
    """
    numbers = [f"{name} > 0" for name in about.numbers]
    return _combine([*numbers, *(f"{name}_{about.letter} > 0" for name, _ in about.columns)])


def write_negative(about: Subject) -> Iterator[str]:
    """Numbers that are negative.

    Args:
        about: What it may be about.
    """
    return _combine(f"{name} < 0" for name in about.numbers)


def write_two_values(about: Subject) -> Iterator[str]:
    """Numbers that are 1 and -1, or 0 and 1.

    Args:
        about: What it may be about.
    """
    for value in ("1", ""):
        yield from _combine(f"{name}^2 = {value or name}" for name in about.numbers)


def write_weights(about: Subject) -> Iterator[str]:
    """Columns and families that sum to one, with entries that are not negative.

    Args:
        about: What it may be about.
    """
    if len(about.columns) > 1:  # two distributions
        yield ", ".join(
            f"\\mathbf{{1}}_{{{kind.rows}}}^\\top {name} = 1, {name}_{about.letter} \\ge 0"
            for name, kind in about.columns
        )
    for name, kind in about.columns:
        total = f"\\mathbf{{1}}_{{{kind.rows}}}^\\top {name} = 1"
        yield from (total, f"{total}, {name}_{about.letter} \\ge 0")
    for name, kind, run in about.families:
        if kind.scalar and run:
            yield from (f"\\sum{run} {name} = 1", f"\\sum{run} {name} = 1, {name} \\ge 0")
    for name, kind in about.matrices:
        yield f"{name} \\mathbf{{1}}_{{{kind.cols}}} = \\mathbf{{1}}_{{{kind.rows}}}"


def write_zero_mean(about: Subject) -> Iterator[str]:
    """Columns that sum to zero.

    Args:
        about: What it may be about.
    """
    return _combine(f"\\mathbf{{1}}_{{{kind.rows}}}^\\top {name} = 0" for name, kind in about.columns)


def write_zero_sums(about: Subject) -> Iterator[str]:
    """Families of numbers that sum to zero.

    Args:
        about: What it may be about.
    """
    return _combine(f"\\sum{run} {name} = 0" for name, kind, run in about.families if kind.scalar and run)


def write_identity(about: Subject) -> Iterator[str]:
    """Square matrices that are the identity.

    Args:
        about: What it may be about.
    """
    return _combine(f"{name} = I_{{{kind.rows}}}" for name, kind in about.squares)


def write_square(about: Subject) -> Iterator[str]:
    """Two sizes that are one.

    Args:
        about: What it may be about.
    """
    sizes = [one.name for one in about.symbols if one.kind == "size"]
    return (f"{a} = {b}" for a, b in combinations(sizes, 2))


def write_fit(about: Subject) -> Iterator[str]:
    """The normal equations of each matrix with two vectors that fit.

    Args:
        about: What it may be about.
    """
    for name, kind in about.matrices:
        for w, left in about.columns:
            yield from (
                f"{name}^\\top {name} {w} = {name}^\\top {y}"
                for y, right in about.columns
                if w != y and left.rows == kind.cols and right.rows == kind.rows
            )


def write_softmax(about: Subject) -> Iterator[str]:
    """Each vector as the softmax of another one.

    Args:
        about: What it may be about.
    """
    pairs = [(a[0], b[0]) for a, b in permutations(about.columns, 2) if a[1] == b[1]]
    return (f"{a} = \\operatorname{{softmax}}({b})" for a, b in pairs)


def write_single(about: Subject) -> Iterator[str]:
    """Sizes, and indices: the first of many stands at one.

    Args:
        about: What it may be about.
    """
    yield from _combine(f"{one.name} = 1" for one in about.symbols if one.kind == "size")
    yield from _combine(f"{one.name} = 1" for one in about.symbols if one.kind == "index")


def write_scalar(about: Subject) -> Iterator[str]:
    """The sizes of arrays, which are numbers then.

    Args:
        about: What it may be about.
    """
    of_arrays = {name for _, kind in about.arrays for name in kind.rows.symbols() | kind.cols.symbols()}
    return _combine(f"{one.name} = 1" for one in about.symbols if one.kind == "size" and one.name in of_arrays)


__all__ = [
    "Subject",
    "write_commuting",
    "write_diagonal",
    "write_fit",
    "write_identity",
    "write_inverse",
    "write_negative",
    "write_of_each",
    "write_orthogonal",
    "write_positive",
    "write_same",
    "write_scalar",
    "write_single",
    "write_softmax",
    "write_square",
    "write_two_values",
    "write_unit",
    "write_weights",
    "write_zero_mean",
    "write_zero_sums",
]
