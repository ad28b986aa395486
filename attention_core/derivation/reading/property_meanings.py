r"""What properties in words mean: for declared symbols, the formulas that cases are built to satisfy.

Each function takes the context and the symbols, and returns their formulas with the condition on the indices, or None
where the words mean nothing certain for such symbols. The words stand in `properties`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import combinations, pairwise

from attention_core.derivation.reading.any_function import declare_function, is_any_function
from attention_core.derivation.reading.integers import is_integer, make_integer
from attention_core.derivation.terms.context import Context, Symbol

Formula = tuple[str, str]  # a relation, and the condition on its indices
Meaning = Callable[[Context, list[Symbol]], list[Formula] | None]
LETTERS = "ijklrst"


def _letters(context: Context, count: int) -> list[str]:
    """Letters that the document has not declared."""
    return [letter for letter in LETTERS if letter not in context.symbols][:count]


def _is_scalar(symbol: Symbol) -> bool:
    return symbol.kind == "array" and symbol.type is not None and symbol.type.scalar


def _is_vector(symbol: Symbol) -> bool:
    return symbol.kind == "array" and symbol.type is not None and symbol.type.vector


def _is_matrix(symbol: Symbol) -> bool:
    return symbol.kind == "array" and symbol.type is not None and not symbol.type.scalar and not symbol.type.vector


def _is_square(symbol: Symbol) -> bool:
    return _is_matrix(symbol) and symbol.type is not None and symbol.type.rows == symbol.type.cols


def _family_of(symbol: Symbol, vectors: bool) -> bool:
    if symbol.kind != "family" or symbol.type is None:
        return False
    return symbol.type.vector and symbol.type.column if vectors else symbol.type.scalar


def make_sign_rule(sign: str) -> Meaning:
    """Every entry has a sign."""

    def meaning(context: Context, symbols: list[Symbol]) -> list[Formula] | None:
        i, j = _letters(context, 2)
        out = []
        for one in symbols:
            if one.kind == "size" and sign in ("> 0", r"\ge 0", r"\ne 0"):
                continue
            if _is_scalar(one):
                out.append((f"{one.name} {sign}", ""))
            elif _is_vector(one) or _family_of(one, vectors=False):
                out.append((f"{one.name}_{i} {sign}", ""))
            elif _is_matrix(one):
                out.append((f"{one.name}_{{{i} {j}}} {sign}", ""))
            else:
                return None
        return out

    return meaning


def nonzero(context: Context, symbols: list[Symbol]) -> list[Formula] | None:
    """Not all entries are zero."""
    (i,) = _letters(context, 1)
    out = []
    for one in symbols:
        if one.kind == "family":
            out.append((f"{one.name}_{i} \\ne 0", ""))
        elif one.kind == "array":
            out.append((f"{one.name} \\ne 0", ""))
        else:
            return None
    return out


def _entries(context: Context, symbols: list[Symbol]) -> Iterator[tuple[str, str, str]]:
    """Name, letter and extent of what is indexed by one letter."""
    (i,) = _letters(context, 1)
    for one in symbols:
        if _is_vector(one) and one.type is not None:
            yield one.name, i, str(one.type.rows if one.type.column else one.type.cols)
        elif _family_of(one, vectors=False):
            yield one.name, i, str(one.highest)
        else:
            yield "", "", ""


def sums_to_one(context: Context, symbols: list[Symbol]) -> list[Formula] | None:
    """Entries, or numbers, that sum to one."""
    found = list(_entries(context, symbols))
    if not all(name for name, _, _ in found):
        return None
    return [(f"\\sum_{{{i} = 1}}^{{{n}}} {name}_{i} = 1", "") for name, i, n in found]


def sums_to_zero(context: Context, symbols: list[Symbol]) -> list[Formula] | None:
    """Entries, or numbers, that sum to zero."""
    found = sums_to_one(context, symbols)
    return None if found is None else [(text.removesuffix("1") + "0", where) for text, where in found]


def probabilities(context: Context, symbols: list[Symbol]) -> list[Formula] | None:
    """Numbers from 0 on that sum to one."""
    total, signs = sums_to_one(context, symbols), make_sign_rule(r"\ge 0")(context, symbols)
    return None if total is None or signs is None else [*signs, *total]


def row_stochastic(context: Context, symbols: list[Symbol]) -> list[Formula] | None:
    """Each row is a probability vector."""
    return _stochastic(context, symbols, by_rows=True)


def column_stochastic(context: Context, symbols: list[Symbol]) -> list[Formula] | None:
    """Each column is a probability vector."""
    return _stochastic(context, symbols, by_rows=False)


def _stochastic(context: Context, symbols: list[Symbol], *, by_rows: bool) -> list[Formula] | None:
    """Entries that are not negative, and rows, or columns, that sum to one."""
    i, j = _letters(context, 2)
    if not all(_is_matrix(one) for one in symbols):
        return None
    out = []
    for one in symbols:
        assert one.type is not None
        index, last = (j, one.type.cols) if by_rows else (i, one.type.rows)
        out += [(f"{one.name}_{{{i} {j}}} \\ge 0", "")]
        out += [(f"\\sum_{{{index} = 1}}^{{{last}}} {one.name}_{{{i} {j}}} = 1", "")]
    return out


def make_line_sums(by_rows: bool, value: str, power: str = "") -> Meaning:
    """Matrices whose rows, or columns, sum to a number, or the powers of their entries do."""

    def meaning(context: Context, symbols: list[Symbol]) -> list[Formula] | None:
        i, j = _letters(context, 2)
        if not all(_is_matrix(one) for one in symbols):
            return None
        out = []
        for one in symbols:
            assert one.type is not None
            index, last = (j, one.type.cols) if by_rows else (i, one.type.rows)
            out.append((f"\\sum_{{{index} = 1}}^{{{last}}} {one.name}_{{{i} {j}}}{power} = {value}", ""))
        return out

    return meaning


def make_line_norms(by_rows: bool) -> Meaning:
    """Matrices whose rows, or columns, have norm one."""
    return make_line_sums(by_rows, "1", power="^2")


def unit_frobenius(context: Context, symbols: list[Symbol]) -> list[Formula] | None:
    """Matrices whose Frobenius norm is one."""
    if not all(_is_matrix(one) for one in symbols):
        return None
    return [(f"\\|{one.name}\\|_F = 1", "") for one in symbols]


def doubly_stochastic(context: Context, symbols: list[Symbol]) -> list[Formula] | None:
    """Each row and each column is a probability vector."""
    rows, columns = row_stochastic(context, symbols), column_stochastic(context, symbols)
    return None if rows is None or columns is None else [*rows, *columns]


def unit(context: Context, symbols: list[Symbol]) -> list[Formula] | None:
    """Vectors of norm one."""
    (i,) = _letters(context, 1)
    out = []
    for one in symbols:
        if _is_vector(one):
            out.append((f"\\| {one.name} \\| = 1", ""))
        elif _family_of(one, vectors=True):
            out.append((f"\\| {one.name}_{i} \\| = 1", ""))
        else:
            return None
    return out


def orthogonal(context: Context, symbols: list[Symbol]) -> list[Formula] | None:
    """Of a family, or of several vectors, each two; of a square matrix, its columns and rows are orthonormal."""
    i, j = _letters(context, 2)
    if len(symbols) == 1 and _family_of(symbols[0], vectors=True):
        name = symbols[0].name
        return [(f"{name}_{i}^\\top {name}_{j} = 0", f"{i} \\ne {j}")]
    if len(symbols) > 1 and all(_is_vector(one) and one.type is not None and one.type.column for one in symbols):
        pairs = [(a.name, b.name) for place, a in enumerate(symbols) for b in symbols[place + 1 :]]
        return [(f"{a}^\\top {b} = 0", "") for a, b in pairs]
    if all(_is_square(one) for one in symbols):
        return [(f"{one.name}^\\top {one.name} = I_{{{one.type.rows}}}", "") for one in symbols if one.type is not None]
    return None


def orthogonal_to_each_other(context: Context, symbols: list[Symbol]) -> list[Formula] | None:
    """Vectors, each two orthogonal; of matrices it may be about their inner product, or their columns."""
    return orthogonal(context, symbols) if not any(_is_matrix(one) for one in symbols) else None


def orthonormal(context: Context, symbols: list[Symbol]) -> list[Formula] | None:
    """Orthogonal vectors of norm one, or a matrix of such columns."""
    cross = orthogonal(context, symbols)
    if cross is None or all(_is_matrix(one) for one in symbols):
        return cross
    return [*cross, *(unit(context, symbols) or [])]


def orthonormal_columns(context: Context, symbols: list[Symbol]) -> list[Formula] | None:
    """The columns of each matrix are orthonormal."""
    if not all(_is_matrix(one) for one in symbols):
        return None
    return [(f"{one.name}^\\top {one.name} = I_{{{one.type.cols}}}", "") for one in symbols if one.type is not None]


def orthonormal_rows(context: Context, symbols: list[Symbol]) -> list[Formula] | None:
    """The rows of each matrix are orthonormal."""
    if not all(_is_matrix(one) for one in symbols):
        return None
    return [(f"{one.name} {one.name}^\\top = I_{{{one.type.rows}}}", "") for one in symbols if one.type is not None]


def distinct(context: Context, symbols: list[Symbol]) -> list[Formula] | None:
    """No two symbols, or members of a family, are the same."""
    i, j = _letters(context, 2)
    if len(symbols) == 1 and symbols[0].kind == "family":
        return [(f"{symbols[0].name}_{i} \\ne {symbols[0].name}_{j}", f"{i} \\ne {j}")]
    alike = len({(one.kind, str(one.type)) for one in symbols}) == 1
    if len(symbols) > 1 and alike and symbols[0].kind in ("array", "index", "size"):
        pairs = [(a.name, b.name) for place, a in enumerate(symbols) for b in symbols[place + 1 :]]
        return [(f"{a} \\ne {b}", "") for a, b in pairs]
    return None


def square_form(form: str) -> Meaning:
    """An identity of one square matrix."""

    def meaning(context: Context, symbols: list[Symbol]) -> list[Formula] | None:
        if not all(_is_square(one) for one in symbols):
            return None
        return [(form.replace("A", one.name), "") for one in symbols]

    return meaning


def zero_where(condition: str) -> Meaning:
    """Entries that are zero, by the order of their indices."""

    def meaning(context: Context, symbols: list[Symbol]) -> list[Formula] | None:
        i, j = _letters(context, 2)
        if not all(_is_square(one) for one in symbols):
            return None
        return [(f"{one.name}_{{{i} {j}}} = 0", f"{i} {condition} {j}") for one in symbols]

    return meaning


def standard_normal(context: Context, symbols: list[Symbol]) -> list[Formula] | None:
    """Drawn with mean 0 and the identity as covariance."""
    out = []
    for one in symbols:
        if one.kind not in ("array", "family") or one.type is None or one.law is not None:
            return None
        if one.type.scalar:
            law = r"\mathcal{N}(0, 1)"
        elif one.type.vector and one.type.column:
            law = f"\\mathcal{{N}}(0, I_{{{one.type.rows}}})"
        else:
            return None
        whole = (
            f"{one.name}_{{{one.lowest}}}, \\dots, {one.name}_{{{one.highest}}}" if one.kind == "family" else one.name
        )
        out.append((f"{whole} \\sim {law}", ""))
    return out


def make_comparison_rule(op: str, value: str) -> Meaning:
    """A number, or every number of a family, beside a number."""

    def meaning(context: Context, symbols: list[Symbol]) -> list[Formula] | None:
        (i,) = _letters(context, 1)
        if not all(_is_scalar(one) or one.kind == "size" or _family_of(one, vectors=False) for one in symbols):
            return None
        return [(f"{one.name}{f'_{i}' if one.kind == 'family' else ''} {op} {value}", "") for one in symbols]

    return meaning


def chance(context: Context, symbols: list[Symbol]) -> list[Formula] | None:
    """A number between 0 and 1."""
    below, above = (
        make_comparison_rule("<=", "1")(context, symbols),
        make_comparison_rule(">=", "0")(context, symbols),
    )
    if below is None or above is None or any(one.kind == "size" for one in symbols):
        return None
    return [(text.replace("<=", r"\le").replace(">=", r"\ge"), "") for text, _ in (*above, *below)]


def squares(*forms: tuple[str, str]) -> Meaning:
    """Formulas of one square matrix A with n rows and entries A_{i j}, each with the condition on its indices."""

    def meaning(context: Context, symbols: list[Symbol]) -> list[Formula] | None:
        if not all(_is_square(one) for one in symbols):
            return None
        i, j = _letters(context, 2)
        out = []
        for one in symbols:
            assert one.type is not None
            letters = {"A": one.name, "n": str(one.type.rows), "i": i, "j": j}
            out += [(_spell(form, letters), f"{i} {on} {j}" if on else "")
                    for form, on in forms]  # fmt: skip
        return out

    return meaning


def _spell(form: str, letters: dict[str, str]) -> str:
    """A form with what its letters stand for."""
    return _FORM.sub(lambda found: letters[found[0]], form)


_FORM = re.compile(r"(?<![a-zA-Z\\])[Anij](?![a-zA-Z])")  # the letters of a form, and none of its commands


def everywhere(value: str) -> Meaning:
    """Every entry is a number."""

    def meaning(context: Context, symbols: list[Symbol]) -> list[Formula] | None:
        if any(one.kind == "size" for one in symbols):
            return None
        return make_sign_rule(f"= {value}")(context, symbols)

    return meaning


def equal(context: Context, symbols: list[Symbol]) -> list[Formula] | None:
    """Two or more symbols of one shape are one."""
    alike = len({(one.kind, str(one.type)) for one in symbols}) == 1
    if len(symbols) < 2 or not alike or symbols[0].kind not in ("array", "index", "size"):
        return None
    return [(f"{a.name} = {b.name}", "") for a, b in pairwise(symbols)]


def binary(context: Context, symbols: list[Symbol]) -> list[Formula] | None:
    """A number, or every number of a vector or family, is 0 or 1."""
    (i,) = _letters(context, 1)
    out = []
    for one in symbols:
        if not (_is_scalar(one) or _is_vector(one) or _family_of(one, vectors=False)):
            return None
        entry = one.name if _is_scalar(one) else f"{one.name}_{i}"
        out.append((f"{entry}^2 = {entry}", ""))
    return out


def one_hot(context: Context, symbols: list[Symbol]) -> list[Formula] | None:
    """One entry is 1, the others are 0."""
    total, each = sums_to_one(context, symbols), binary(context, symbols)
    return None if total is None or each is None else [*each, *total]


def of_one_norm(context: Context, symbols: list[Symbol]) -> list[Formula] | None:
    """Vectors whose norms are the same."""
    i, j = _letters(context, 2)
    if len(symbols) == 1 and _family_of(symbols[0], vectors=True):
        name = symbols[0].name
        return [(f"\\|{name}_{i}\\| = \\|{name}_{j}\\|", f"{i} \\ne {j}")]
    if len(symbols) > 1 and all(_is_vector(one) for one in symbols):
        return [(f"\\|{a.name}\\| = \\|{b.name}\\|", "") for a, b in pairwise(symbols)]
    return None


def definite(strict: bool) -> Meaning:
    r"""Symmetric and (semi)definite: $A = C C^\top$ with a new C, triangular with a positive diagonal if `strict`."""

    def meaning(context: Context, symbols: list[Symbol]) -> list[Formula] | None:
        roots = [f"\\tilde{{{one.name}}}" for one in symbols]
        if not all(_is_square(one) for one in symbols) or any(root in context.symbols for root in roots):
            return None
        i, j = _letters(context, 2)
        out = []
        for one, root in zip(symbols, roots, strict=True):
            context.declare(replace(one, name=root, term=None))
            out.append((f"{one.name} = {root} {root}^\\top", ""))
            if strict:
                out += [(f"{root}_{{{i} {j}}} = 0", f"{i} < {j}"), (f"{root}_{{{i} {i}}} > 0", "")]
        return out

    return meaning


def any_functions(context: Context, symbols: list[Symbol]) -> list[Formula] | None:
    r"""Functions declared as `f : \\mathbb{R} \\to \\mathbb{R}` are differentiable as it is."""
    return [] if all(is_any_function(one) for one in symbols) else None


def convex_functions(context: Context, symbols: list[Symbol]) -> list[Formula] | None:
    """Functions that are declared anew as convex ones."""
    if not all(is_any_function(one) for one in symbols):
        return None
    for one in symbols:
        declare_function(context, one.name, one.line, convex=True)
    return []


def linearly_independent(context: Context, symbols: list[Symbol]) -> list[Formula] | None:
    """Columns whose Gram matrix has an inverse."""
    if len(symbols) == 1 and _family_of(symbols[0], vectors=True):
        one = symbols[0]
        cells = f"{one.name}_{{{one.lowest}}}, \\dots, {one.name}_{{{one.highest}}}"
    elif len(symbols) > 1 and all(_is_vector(one) and one.type is not None and one.type.column for one in symbols):
        cells = ", ".join(one.name for one in symbols)
    else:
        return None
    return [(f"\\det([{cells}]^\\top [{cells}]) \\ne 0", "")]


def centred(context: Context, symbols: list[Symbol]) -> list[Formula] | None:
    """Entries that sum to zero; of what may be random the mean is another one."""
    found = list(_entries(context, symbols))
    random = any(one.law is not None for one in symbols) or any(one.random for one in context.caveats)
    if random or not all(name for name, _, _ in found):
        return None
    return [(f"\\sum_{{{i} = 1}}^{{{n}}} {name}_{i} = 0", "") for name, i, n in found]


def make_order_rule(op: str) -> Meaning:
    """Entries, or the numbers of a family, that go up or down."""

    def meaning(context: Context, symbols: list[Symbol]) -> list[Formula] | None:
        i, j = _letters(context, 2)
        if not all(_is_vector(one) or _family_of(one, vectors=False) for one in symbols):
            return None
        return [(f"{one.name}_{i} {op} {one.name}_{j}", f"{i} < {j}") for one in symbols]

    return meaning


def whole(context: Context, symbols: list[Symbol]) -> list[Formula] | None:
    """Numbers, or entries, without a fraction; of a size that is nothing new."""
    (i,) = _letters(context, 1)
    out = []
    for one in symbols:
        if one.kind == "size":
            continue
        if not (_is_scalar(one) or _is_vector(one) or _family_of(one, vectors=False)):
            return None
        entry = one.name if _is_scalar(one) else f"{one.name}_{i}"
        out.append((f"\\lfloor {entry} \\rfloor = {entry}", ""))
    return out


def make_between_rule(ends: tuple[str, str], low: str, high: str) -> Meaning:
    """Numbers between two others."""
    above, below = make_comparison_rule(ends[0], low), make_comparison_rule(ends[1], high)

    def meaning(context: Context, symbols: list[Symbol]) -> list[Formula] | None:
        found = above(context, symbols), below(context, symbols)
        return None if found[0] is None or found[1] is None else [*found[0], *found[1]]

    return meaning


def make_magnitude_rule(op: str, value: str) -> Meaning:
    """Numbers whose magnitude is compared with another one."""

    def meaning(context: Context, symbols: list[Symbol]) -> list[Formula] | None:
        if not all(_is_scalar(one) for one in symbols):
            return None
        return [(f"|{one.name}| {op} {value}", "") for one in symbols]

    return meaning


def commuting(context: Context, symbols: list[Symbol]) -> list[Formula] | None:
    """Square matrices of one size whose products have no order."""
    alike = len({str(one.type) for one in symbols}) == 1
    if len(symbols) < 2 or not alike or not all(_is_square(one) for one in symbols):
        return None
    return [(f"{a.name} {b.name} = {b.name} {a.name}", "") for a, b in combinations(symbols, 2)]


def tridiagonal(context: Context, symbols: list[Symbol]) -> list[Formula] | None:
    """Entries off the three diagonals are zero."""
    i, j = _letters(context, 2)
    if not all(_is_square(one) for one in symbols):
        return None
    beyond = (f"{i} > {j} + 1", f"{j} > {i} + 1")
    return [(f"{one.name}_{{{i} {j}}} = 0", where) for one in symbols for where in beyond]


def negative_definite(strict: bool) -> Meaning:
    r"""The opposite of a definite matrix: $A = -C C^\top$."""
    rule = definite(strict)

    def meaning(context: Context, symbols: list[Symbol]) -> list[Formula] | None:
        found = rule(context, symbols)
        if found is None:
            return None
        return [(text.replace(" = ", " = -", 1) if r"^\top" in text else text, where) for text, where in found]

    return meaning


def make_number_form(form: str, counted: bool = False) -> Meaning:
    """A size or an integer by another one: 2 m, 2 m - 1, a square, a power of two; `counted` if m is always a size."""

    def meaning(context: Context, symbols: list[Symbol]) -> list[Formula] | None:
        roots = [f"\\tilde{{{one.name}}}" for one in symbols]
        if not all(one.kind == "size" or is_integer(one) for one in symbols) or set(roots) & set(context.symbols):
            return None
        for one, root in zip(symbols, roots, strict=True):
            if one.kind == "size" or counted:
                context.declare(Symbol(root, "size", one.line, one.level))
            else:
                context.declare(make_integer(context, root, one.line))
        return [(f"{one.name} = {form.replace('m', root)}", "") for one, root in zip(symbols, roots, strict=True)]

    return meaning


def nothing_new(context: Context, symbols: list[Symbol]) -> list[Formula] | None:
    """What holds of every array of real numbers."""
    return [] if all(one.kind in ("array", "family", "size") for one in symbols) else None


def chances(context: Context, symbols: list[Symbol]) -> list[Formula] | None:
    """Numbers between 0 and 1; those of a family, or the entries of a vector, may sum to one as well."""
    return chance(context, symbols) if all(_is_scalar(one) for one in symbols) else None


def full_column_rank(context: Context, symbols: list[Symbol]) -> list[Formula] | None:
    """Matrices whose columns are linearly independent."""
    if not all(_is_matrix(one) for one in symbols):
        return None
    return [(f"\\det({one.name}^\\top {one.name}) \\ne 0", "") for one in symbols]


def orthonormal_basis(context: Context, symbols: list[Symbol]) -> list[Formula] | None:
    """Orthonormal vectors, as many as there are dimensions."""
    if len(symbols) != 1 or not _family_of(symbols[0], vectors=True) or str(symbols[0].lowest) != "1":
        return None
    found, one = orthonormal(context, symbols), symbols[0]
    assert one.type is not None
    return None if found is None else [*found, (f"{one.highest} = {one.type.rows}", "")]
