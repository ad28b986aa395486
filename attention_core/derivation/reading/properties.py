r"""Words such as "symmetric", "a unit vector" or "orthonormal" as formulas that cases are built to satisfy.

A property stands behind its symbol ("$A$ is symmetric", "$A \in \mathbb{R}^{n \times n}$ with orthonormal "
"columns") or
before it ("a unit vector $u$"). Each has one meaning for a kind of symbol; of anything else, or
placed elsewhere, it is not read, and the words stay among those that are not understood.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from attention_core.derivation.reading.any_function import declare_function, is_any_function
from attention_core.derivation.terms.context import Context, Symbol

Formula = tuple[str, str]  # a relation, and the condition on its indices
LETTERS = "ijklrst"


@dataclass(frozen=True)
class Property:
    """Words, and the formulas they mean for symbols that are declared; None where they mean nothing certain."""

    name: str
    pattern: re.Pattern[str]
    meaning: Callable[[Context, list[Symbol]], list[Formula] | None]


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


def _make_sign_rule(sign: str) -> Callable[[Context, list[Symbol]], list[Formula] | None]:
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


def _nonzero(context: Context, symbols: list[Symbol]) -> list[Formula] | None:
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


def _sums_to_one(context: Context, symbols: list[Symbol]) -> list[Formula] | None:
    found = list(_entries(context, symbols))
    if not all(name for name, _, _ in found):
        return None
    return [(f"\\sum_{{{i} = 1}}^{{{n}}} {name}_{i} = 1", "") for name, i, n in found]


def _probabilities(context: Context, symbols: list[Symbol]) -> list[Formula] | None:
    total, signs = _sums_to_one(context, symbols), _make_sign_rule(r"\ge 0")(context, symbols)
    return None if total is None or signs is None else [*signs, *total]


def _row_stochastic(context: Context, symbols: list[Symbol]) -> list[Formula] | None:
    return _stochastic(context, symbols, by_rows=True)


def _column_stochastic(context: Context, symbols: list[Symbol]) -> list[Formula] | None:
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


def _doubly_stochastic(context: Context, symbols: list[Symbol]) -> list[Formula] | None:
    rows, columns = _row_stochastic(context, symbols), _column_stochastic(context, symbols)
    return None if rows is None or columns is None else [*rows, *columns]


def _unit(context: Context, symbols: list[Symbol]) -> list[Formula] | None:
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


def _orthogonal(context: Context, symbols: list[Symbol]) -> list[Formula] | None:
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


def _orthonormal(context: Context, symbols: list[Symbol]) -> list[Formula] | None:
    cross = _orthogonal(context, symbols)
    if cross is None or all(_is_matrix(one) for one in symbols):
        return cross
    return [*cross, *(_unit(context, symbols) or [])]


def _orthonormal_columns(context: Context, symbols: list[Symbol]) -> list[Formula] | None:
    if not all(_is_matrix(one) for one in symbols):
        return None
    return [(f"{one.name}^\\top {one.name} = I_{{{one.type.cols}}}", "") for one in symbols if one.type is not None]


def _orthonormal_rows(context: Context, symbols: list[Symbol]) -> list[Formula] | None:
    if not all(_is_matrix(one) for one in symbols):
        return None
    return [(f"{one.name} {one.name}^\\top = I_{{{one.type.rows}}}", "") for one in symbols if one.type is not None]


def _distinct(context: Context, symbols: list[Symbol]) -> list[Formula] | None:
    i, j = _letters(context, 2)
    if len(symbols) == 1 and symbols[0].kind == "family":
        return [(f"{symbols[0].name}_{i} \\ne {symbols[0].name}_{j}", f"{i} \\ne {j}")]
    alike = len({(one.kind, str(one.type)) for one in symbols}) == 1
    if len(symbols) > 1 and alike and symbols[0].kind in ("array", "index", "size"):
        pairs = [(a.name, b.name) for place, a in enumerate(symbols) for b in symbols[place + 1 :]]
        return [(f"{a} \\ne {b}", "") for a, b in pairs]
    return None


def _square_form(form: str) -> Callable[[Context, list[Symbol]], list[Formula] | None]:
    """An identity of one square matrix."""

    def meaning(context: Context, symbols: list[Symbol]) -> list[Formula] | None:
        if not all(_is_square(one) for one in symbols):
            return None
        return [(form.replace("A", one.name), "") for one in symbols]

    return meaning


def _zero_where(condition: str) -> Callable[[Context, list[Symbol]], list[Formula] | None]:
    """Entries that are zero, by the order of their indices."""

    def meaning(context: Context, symbols: list[Symbol]) -> list[Formula] | None:
        i, j = _letters(context, 2)
        if not all(_is_square(one) for one in symbols):
            return None
        return [(f"{one.name}_{{{i} {j}}} = 0", f"{i} {condition} {j}") for one in symbols]

    return meaning


def _standard_normal(context: Context, symbols: list[Symbol]) -> list[Formula] | None:
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


def _make_comparison_rule(op: str, value: str) -> Callable[[Context, list[Symbol]], list[Formula] | None]:
    """A number, or every number of a family, beside a number."""

    def meaning(context: Context, symbols: list[Symbol]) -> list[Formula] | None:
        (i,) = _letters(context, 1)
        if not all(_is_scalar(one) or one.kind == "size" or _family_of(one, vectors=False) for one in symbols):
            return None
        return [(f"{one.name}{f'_{i}' if one.kind == 'family' else ''} {op} {value}", "") for one in symbols]

    return meaning


def _chance(context: Context, symbols: list[Symbol]) -> list[Formula] | None:
    """A number between 0 and 1."""
    below, above = (
        _make_comparison_rule("<=", "1")(context, symbols),
        _make_comparison_rule(">=", "0")(context, symbols),
    )
    if below is None or above is None or any(one.kind == "size" for one in symbols):
        return None
    return [(text.replace("<=", r"\le").replace(">=", r"\ge"), "") for text, _ in (*above, *below)]


def _squares(*forms: tuple[str, str]) -> Callable[[Context, list[Symbol]], list[Formula] | None]:
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


def _everywhere(value: str) -> Callable[[Context, list[Symbol]], list[Formula] | None]:
    """Every entry is a number."""

    def meaning(context: Context, symbols: list[Symbol]) -> list[Formula] | None:
        if any(one.kind == "size" for one in symbols):
            return None
        return _make_sign_rule(f"= {value}")(context, symbols)

    return meaning


def _equal(context: Context, symbols: list[Symbol]) -> list[Formula] | None:
    """Two or more symbols of one shape are one."""
    alike = len({(one.kind, str(one.type)) for one in symbols}) == 1
    if len(symbols) < 2 or not alike or symbols[0].kind not in ("array", "index", "size"):
        return None
    return [(f"{a.name} = {b.name}", "") for a, b in pairwise(symbols)]


def _binary(context: Context, symbols: list[Symbol]) -> list[Formula] | None:
    """A number, or every number of a vector or family, is 0 or 1."""
    (i,) = _letters(context, 1)
    out = []
    for one in symbols:
        if not (_is_scalar(one) or _is_vector(one) or _family_of(one, vectors=False)):
            return None
        entry = one.name if _is_scalar(one) else f"{one.name}_{i}"
        out.append((f"{entry}^2 = {entry}", ""))
    return out


def _one_hot(context: Context, symbols: list[Symbol]) -> list[Formula] | None:
    total, binary = _sums_to_one(context, symbols), _binary(context, symbols)
    return None if total is None or binary is None else [*binary, *total]


def _of_one_norm(context: Context, symbols: list[Symbol]) -> list[Formula] | None:
    i, j = _letters(context, 2)
    if len(symbols) == 1 and _family_of(symbols[0], vectors=True):
        name = symbols[0].name
        return [(f"\\|{name}_{i}\\| = \\|{name}_{j}\\|", f"{i} \\ne {j}")]
    if len(symbols) > 1 and all(_is_vector(one) for one in symbols):
        return [(f"\\|{a.name}\\| = \\|{b.name}\\|", "") for a, b in pairwise(symbols)]
    return None


def _definite(strict: bool) -> Callable[[Context, list[Symbol]], list[Formula] | None]:
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


def _any_functions(context: Context, symbols: list[Symbol]) -> list[Formula] | None:
    r"""Functions declared as `f : \\mathbb{R} \\to \\mathbb{R}` are differentiable as it is."""
    return [] if all(is_any_function(one) for one in symbols) else None


def _convex_functions(context: Context, symbols: list[Symbol]) -> list[Formula] | None:
    if not all(is_any_function(one) for one in symbols):
        return None
    for one in symbols:
        declare_function(context, one.name, one.line, convex=True)
    return []


def _words(text: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w-])(?:{text})(?![\w-])", re.IGNORECASE)


def _form(text: str) -> re.Pattern[str]:
    """Words that say what a symbol is where a verb stands before them and nothing is added: "is zero", "be one."."""
    return re.compile(
        rf"(?:(?<=\bis )|(?<=\bare )|(?<=\bbe ))(?:{text})(?![\w-]|\.\d|\s*,\s*\d)"
        r"(?=\s*(?:[.,;:)]|$|and\s*$|(?:so|then|for|with|where|we)\b))",
        re.IGNORECASE,
    )


_VALUES = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_COMPARED = (
    (r"\ge", r"at least|no(?:t)? (?:less|smaller) than"),
    (r"\le", r"at most|no(?:t)? (?:more|larger|greater) than"),
    (">", r"(?:strictly )?(?:larger|greater|more|bigger) than|exceeds|exceed|exceeding|above"),
    ("<", r"(?:strictly )?(?:smaller|less|lower) than|below"),
)


def _comparisons() -> tuple[Property, ...]:
    """ "at least two", "exceeds one": a relation with a small number, where nothing is counted."""
    return tuple(
        Property(
            f"{op} {value}",
            re.compile(
                rf"(?<!has )(?<!have )(?<!having )(?<![\w-])(?:{words}) (?:{value}|{_VALUES[value]})"
                r"(?=\s*(?:[.,;:)]|$|and\b|or\b))",
                re.IGNORECASE,
            ),
            _make_comparison_rule(op, str(value)),
        )
        for op, words in _COMPARED
        for value in range(len(_VALUES))
    )


_NORM_ONE = (
    r"unit[ -](?:norms?|lengths?|vectors?)|on the unit (?:hyper)?sphere|(?:euclidean )?(?:norm|length) (?:1|one|unity)|"
    r"unit"
)
_ENTRIES = r"(?: (?:entries|components|elements|coordinates))"
PROPERTIES: tuple[Property, ...] = (
    Property("differentiable", _words(
        r"(?:twice |continuously |infinitely )*(?:differentiable|smooth)(?: functions?)?"), _any_functions),
    Property("convex", _words(r"(?:differentiable (?:and )?)?convex(?: functions?)?"), _convex_functions),
    Property("standard normal", _words(r"standard[ -](?:normals?|gaussians?)(?: (?:entries|components|"
    r"coordinates))?"),
             _standard_normal),
    Property("probability vector", _words(
        r"(?:discrete )?probability (?:vectors?|distributions?)|(?:discrete|categorical) distributions?|"
        r"probabilities that (?:sum|add up) to (?:1|one)|vectors? of probabilities|a stochastic vector|"
        r"(?:in|on|from) the (?:probability )?simplex"), _probabilities),
    Property("one-hot", _words(
        r"(?:a )?one[ -]hot(?: vectors?)?|an? (?:standard|canonical) basis vectors?"), _one_hot),
    Property("in the unit interval", _words(r"in the unit interval"), _chance),
    Property("a probability", _words(
        r"an? (?:probability|chance)(?! (?:vector|distribution|measure|density|mass|space))"), _chance),
    Property("sums to one", _words(
        r"(?:that |which )?(?:sums?|summing|adds? up|adding up) to (?:1|one|unity)"), _sums_to_one),
    Property("doubly stochastic", _words(r"doubly[ -]stochastic"), _doubly_stochastic),
    Property("column-stochastic", _words(r"(?:column|left)[ -]stochastic"), _column_stochastic),
    Property("row-stochastic", _words(r"(?:row|right)[ -]stochastic"), _row_stochastic),
    Property("orthonormal columns", _words(r"(?:ortho|mutually ortho)normal columns"), _orthonormal_columns),
    Property("orthonormal rows", _words(r"orthonormal rows"), _orthonormal_rows),
    Property("orthonormal", _words(r"(?:pairwise |mutually )?orthonormal"), _orthonormal),
    Property("orthogonal projection", _words(
        r"(?:an )?orthogonal (?:projections?|projectors?)(?: matrix| matrices)?"),
             _squares(("A A = A", ""), (r"A^\top = A", ""))),
    Property("orthogonal", _words(
        r"(?:pairwise |mutually )?(?:orthogonal|perpendicular)(?: to (?:each other|one another))?"), _orthogonal),
    Property("unit", _words(_NORM_ONE), _unit),
    Property("distinct", _words(
        r"(?:pairwise |mutually |all )?(?:distinct|different|unequal|not equal)(?! (?:from|to) (?:0|zero))"
        r"(?: (?:from|to) each other)?"), _distinct),
    Property("positive semidefinite", _words(
        r"(?:symmetric,? (?:and )?)?(?:positive semi-?definite|PSD|non-?negative definite)|a covariance matrix"),
             _definite(False)),
    Property("positive definite", _words(r"(?:symmetric,? (?:and )?)?(?:positive definite|SPD)"), _definite(True)),
    Property("invertible", _words(r"invertible|non-?singular|(?:of |has |have )full rank"),
             _squares((r"\det(A) \ne 0", ""))),
    Property("rotation", _words(r"an? rotation matrix"), _squares((r"A^\top A = I_{n}", ""), (r"\det(A) = 1", ""))),
    Property("skew-symmetric", _words(
        r"skew[ -]?symmetric|antisymmetric|anti-symmetric"), _square_form(r"A^\top = -A")),
    Property("symmetric", _words(r"symmetric|self-?adjoint"), _square_form(r"A = A^\top")),
    Property("idempotent", _words(r"idempotent"), _square_form("A A = A")),
    Property("multiple of the identity", _form(r"a (?:scalar )?multiple of the identity(?: matrix)?"),
             _squares((r"A = A_{1 1} I_{n}", ""))),
    Property("identity", _form(r"(?:equal to )?the identity(?: matrix)?"), _squares((r"A = I_{n}", ""))),
    Property("traceless", _words(r"traceless|of trace zero"), _squares((r"\operatorname{tr}(A) = 0", ""))),
    Property("upper triangular", _words(r"upper[ -]triangular"), _zero_where(">")),
    Property("lower triangular", _words(r"lower[ -]triangular"), _zero_where("<")),
    Property("diagonal", _words(r"diagonal"), _zero_where(r"\ne")),
    Property("nonnegative", _words(rf"(?:entry-?wise )?(?:non-?|not )negative{_ENTRIES}?(?! (?:semi|definite))"),
             _make_sign_rule(r"\ge 0")),
    Property("nonpositive", _words(rf"non-?positive{_ENTRIES}?"), _make_sign_rule(r"\le 0")),
    Property("nonzero entries", _words(rf"non-?zero{_ENTRIES}"), _make_sign_rule(r"\ne 0")),
    Property("nonzero", _words(r"non-?zero|(?:different from|not equal to|not|unequal to) (?:0|zero)"), _nonzero),
    Property("binary", _words(r"binary"), _binary),
    Property("0 or 1", _form(r"(?:either )?(?:0|zero) or (?:1|one)"), _binary),
    Property("zero", _form(
        r"(?:equal to )?(?:0|zero)|the zero (?:vector|matrix)|a (?:vector|matrix) of zeros"), _everywhere("0")),
    Property("one", _form(r"(?:equal to )?(?:1|one)|the all-ones vector|a vector of(?: all)? ones"), _everywhere("1")),
    Property("equal norms", _words(r"of (?:equal|the same) norm"), _of_one_norm),
    Property("equal", _form(r"equal(?: to each other)?|identical|the same"), _equal),
    Property("positive", _words(
        rf"(?:strictly |entry-?wise )?positive{_ENTRIES}?(?! (?:semi|definite))"), _make_sign_rule("> 0")),
    Property("negative", _words(
        rf"(?:strictly )?negative{_ENTRIES}?(?! (?:semi|definite))"), _make_sign_rule("< 0")),
)  # fmt: skip
PROPERTIES += _comparisons()
_FILL = (
    r"be|is|are|being|to be|denotes?|an?|the|all|both|each|of|with|which|that|whose|has|have|having|it|its|they|two|"
    r"three|four|real|arbitrary|given|fixed|some|any|further|also|entries|components|elements|columns|independent"
)
_NOUNS = (
    r"matri(?:x|ces)|vectors?|numbers?|scalars?|famil(?:y|ies)|real|reals|columns?|keys?|quer(?:y|ies)|values?|"
    r"weights?|"
    r"inputs?|scores?|variables?|constants?|parameters?|random|column|row|directions?|temperatures?|scales?|"
    r"distributions?|draws?|samples?|two|three|square"
)
_BEHIND = re.compile(rf"^[\s,(]*(?:(?:{_FILL}|{_NOUNS}|and|,)\b[\s,]*)*$", re.IGNORECASE)
_BEFORE = re.compile(rf"^\s*(?:(?:{_NOUNS})\b\s*)*$", re.IGNORECASE)
_ANEW = re.compile(r"\b(?:and|,)\s+(?:an?|the|two|some|let)\b|,\s*$|\band\s*$", re.IGNORECASE)


_HELD = (
    r"matri(?:x|ces)|vectors?|numbers?|scalars?|famil(?:y|ies)|reals?|integers?|keys?|quer(?:y|ies)|values?|weights?|"
    r"inputs?|scores?|variables?|constants?|parameters?|random|column|row|directions?|temperatures?|scales?|"
    r"distributions?|draws?|samples?|square|bas[ie]s|sets?|systems?|tokens?|features?|embeddings?|functions?"
)
_ENDS = (
    r"$|[.,;:()]|(?:and|or|with|such|so|where|which|that|for|then|as|is|are|both|but|whose|having|satisfying|we|has|have)\b|"
    r"of (?:length|size|dimension|shape|order|norm|the same)\b|positive[ -](?:semi)?-?definite"
)
_AFTER = re.compile(rf"^\s*(?:(?:{_HELD})\b\s*)*(?:{_ENDS})", re.IGNORECASE)
"""What may stand behind a property of a symbol: nouns of what a symbol is, and then no word that turns it.
"Be an orthogonal projection" and "be orthogonal to the ones" say something else."""


@dataclass(frozen=True)
class PropertyMention:
    """A property in some prose: which one, where it stands, and whether it is about the next formula.

    Of more than one formula if `many`, as a plural says; a `bare` one has neither article nor noun.
    """

    about: Property
    start: int
    end: int
    text: str
    ahead: bool = False
    many: bool = False
    bare: bool = False


def properties_in(text: str, follows: bool, leads: bool) -> list[PropertyMention]:
    """The properties in the prose between two formulas, as far as their place shows what they are about.

    Example:
        >>> [(one.about.name, one.ahead) for one in properties_in(" be symmetric, and the unit vector ", True, True)]
        [('symmetric', False), ('unit', True)]
    """
    blank, out = text, []
    for one in PROPERTIES:
        for found in one.pattern.finditer(blank):
            blank = blank[: found.start()] + "\0" * (found.end() - found.start()) + blank[found.end() :]
            out.append((one, found.start(), found.end()))
    read = []
    for one, start, end in sorted(out, key=lambda item: item[1]):
        before, after = blank[:start].replace("\0", " "), blank[end:].replace("\0", " ")
        ahead = leads and bool(_BEFORE.match(after)) and not re.search(r"\b(?:be|is|are)\s*$", before)
        place = (one, start, end, text[start:end])
        if ahead:
            many = bool(re.search(r"(?:s|matrices)\s*$", text[start:]))
            bare = not many and not re.search(r"\b(?:an?|the|some|each|every|any)\b[^,;]*$", before, re.IGNORECASE)
            read.append(PropertyMention(*place, True, many, bare))
        elif (
            follows
            and _AFTER.match(after)
            and _BEHIND.match(before)
            and not _ANEW.search(before)
            and not re.search(r"[.;]\s", before)
        ):
            read.append(PropertyMention(*place))
    return read
