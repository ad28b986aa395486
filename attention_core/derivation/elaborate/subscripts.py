"""Names, and what stands below or above them.

A letter or word by itself means what the document declared, else e, pi or I, else nothing: the error says what to
write.

What stands below the line: an index of a family, an entry, row or slice of an array, or a part of a name.
It is an index where the base is declared and the subscript is a numeral or an index.

What stands above the line: a power, an inverse, a transpose, a label or an index in brackets.
`A^T` is a transpose or a power, as T is declared; where it may be both, it is refused.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING

from attention_core.derivation.elaborate.elaborator import advise_family, index_letters
from attention_core.derivation.elaborate.functions import expand_definition, norm_with_index
from attention_core.derivation.elaborate.indicators import (
    ONES,
    conditions_in,
    declared_as,
    entry_type_fits,
    extent,
    indicator,
    kronecker,
    missing_index,
)
from attention_core.derivation.elaborate.intermediates import gather_entries
from attention_core.derivation.elaborate.matrix_functions import E_DECLARED
from attention_core.derivation.elaborate.sample_families import declared_member
from attention_core.derivation.latex.printer import symbol_name, to_latex
from attention_core.derivation.latex.syntax import (
    Chain,
    Expr,
    Fence,
    Group,
    Minus,
    Name,
    Num,
    Slice,
    Sub,
    Sup,
    Times,
    Unreadable,
)
from attention_core.derivation.latex.tokens import ACCENTS, ALPHABETS
from attention_core.derivation.terms.context import Symbol, has_entries, type_of_whole
from attention_core.derivation.terms.terms import (
    EYE,
    ONE,
    SCALAR,
    ShapeMismatch,
    Size,
    Term,
    Type,
    integer,
    matrix,
    product,
    scalar_function,
    size_term,
    transpose,
)

if TYPE_CHECKING:
    from attention_core.derivation.elaborate.elaborator import Elaborator


_SET = re.compile(r"\\mathbb\{[NZQRC]\}")
_COMMAND = re.compile(r"\\([a-zA-Z]+)\{")


def symbol(elab: Elaborator, name: str) -> Term:
    """A name standing alone."""
    if name in elab.bound:
        return Term("int", (), SCALAR, name)
    found = elab.lookup(name)
    if found is None:
        return _letter_constant(elab, name)
    if found.kind in ("size", "index"):
        return Term("int", (), SCALAR, name)
    if found.kind == "definition":
        if found.params and (entries := gather_entries(found)) is not None:
            return Term("bind", (entries,), entries.type, ())
        if found.params:
            raise elab.fail(f"{name} was defined with an index: write {name}_{{...}}")
        assert found.term is not None
        return Term("bind", (found.term,), found.term.type, ())
    if found.kind == "function":
        arguments = {p: elab.lookup(p) for p in found.params if p not in elab.bound}
        if any(one is None or one.kind == "function" for one in arguments.values()):  # y(x) beside x(y)
            raise elab.fail(f"{name} is a function: write {name}({', '.join(found.params)})")
        return elab.term(expand_definition(elab, found, tuple(Chain((Name(p),)) for p in found.params)))
    if found.kind == "complex":
        raise elab.fail(
            f"{name} is a complex number, and this formula has no real and imaginary part that is known here"
        )
    if found.kind == "family":
        raise elab.fail(f"{name} is a family: write {name}_i with a declared index, or {name}_1")
    assert found.type is not None
    return Term("leaf", (), found.type, name)


def _letter_constant(elab: Elaborator, name: str) -> Term:
    """Letters with a meaning of their own, unless declared otherwise."""
    if name == "e":
        if E_DECLARED in elab.context.stated:
            raise elab.fail("e is something of its own elsewhere in this document: declare it here, or write \\exp(1)")
        return Term("exp", (integer(1),), SCALAR)
    if name == r"\pi":
        return Term("pi", (), SCALAR)
    if name == "I":
        return Term("eye", (), EYE)
    if name == r"\infty":
        raise elab.fail(
            r"\infty is only understood under \lim, in an interval, and in '% as: x \to \infty'; "
            r"a series is \lim_{n \to \infty} \sum_{i=0}^{n} ..."
        )
    if name == r"\Delta" and name not in elab.context.dropped:
        raise elab.fail(
            r"\Delta is not declared, and \Delta x is read as a product: write one symbol, such as x_\Delta"
        )
    if name == r"\nabla":
        raise elab.fail(r"\nabla does not say by what is differentiated: write \nabla_x")
    if name == ONES:
        raise elab.fail(r"a vector of ones needs its size: write \mathbf{1}_n with a declared n")
    if name in elab.context.dropped:
        raise elab.fail(f"{name} is not declared any more: {elab.context.dropped[name][1]}")
    if name.startswith(r"\text{"):
        word = name.removeprefix(r"\text{").removesuffix("}")
        raise elab.fail(
            f"{name} is not declared, and no function of that name is known: write 'Let $\\text{{{word}}} \\in "
            f"\\mathbb{{R}}$', or define it, as in 'Put $\\text{{{word}}}(t) := ...$'"
        )
    command = _COMMAND.match(name)
    if command and command[1] not in ACCENTS | ALPHABETS:
        raise elab.fail(f"the command \\{command[1]} is not understood; write the formula without it")
    if "^{(" in name:
        raise elab.fail(_say_undeclared_label(elab, name))
    if _SET.fullmatch(name):
        raise elab.fail(f"{name} is a set of numbers, and is understood behind \\in alone")
    raise elab.fail(f"{name} is not declared: write 'Let ${name} \\in \\mathbb{{R}}$' (or its shape) above the display")


def elaborate_subscript(elab: Elaborator, expr: Sub) -> Term:
    """An index where the base is declared and the subscript is a numeral or an index; else a name."""
    if (member := declared_member(elab.context, expr)) is not None:
        expr = member
    items = index_items(elab, expr.items)
    base_name, full = symbol_name(expr.base), symbol_name(expr)
    base = elab.lookup(base_name) if base_name is not None else None
    own = elab.lookup(full) if full is not None else None
    if base is not None and own is not None and full is not None and is_beside(base, own.type, expr):
        return symbol(elab, full)
    if base is not None and base_name == r"\delta" and _has_one_index(base) and len(items or ()) == 2:
        delta = kronecker(elab, expr)  # beside a vector $\delta$, whose entries have one index
        if delta is not None:
            return delta
    if items is not None and base is not None and (term := _part_of(elab, base, items)) is not None:
        return term
    if full is not None and own is not None:
        _require_own(elab, base, expr, own)
        return symbol(elab, full)
    if base is None and (constant := _constant(elab, expr, base_name)) is not None:
        return constant
    if isinstance(expr.base, Num) and expr.base.value == 0:
        return integer(0)
    if base is not None and items is None and _needs_index(base):
        raise elab.fail(f"'{to_latex(expr)}': its subscript is not a declared index; declare it, such as "
                        f"'Let ${to_latex(expr.items[0])} \\in \\{{1, \\dots, n\\}}$'")  # fmt: skip
    if base_name is None:
        return _of_expression(elab, expr, items)
    if isinstance(expr.base, Sup) and base is None and items is not None and full not in elab.context.dropped:
        array = elab.term(expr.base)
        return index_array(elab, array, _digits(array.type, items))
    _require_index(elab, base, expr)
    return symbol(elab, full or to_latex(expr))


def is_beside(base: Symbol, kind: Type | None, expr: Sub) -> bool:
    """Whether `W_0` is a symbol of its own beside `W`: entries count from 1, and both have the same shape.

    Args:
        base: What the letter alone stands for.
        kind: The shape of what is written with the subscript.
        expr: The letter with its subscript.
    """
    whole = base.type if base.term is None else base.term.type
    numbered = expr.items == (Chain((Num(Fraction(0)),)),)
    return numbered and base.kind != "family" and not base.params and whole is not None and whole == kind


def _part_of(elab: Elaborator, base: Symbol, items: list[Term | Slice]) -> Term | None:
    """A member of a family, a definition at its indices, an entry or a slice of an array; None of anything else."""
    if base.kind == "family":
        return _member(elab, base, items)
    if base.kind == "definition" and base.params:
        return _at_indices(elab, base, items)
    if has_entries(base):
        if _is_zero(items):
            name = f"{base.name}_{{0}}"
            raise elab.fail(
                f"{name} would be a part of {base.name}, whose parts count from 1: give its shape, as in "
                f"'Let ${name} \\in \\mathbb{{R}}^n$', if it is a symbol of its own"
            )
        array = symbol(elab, base.name)
        places = _digits(array.type, items)
        _require_count_from_one(elab, base.name, array.type, places)
        return index_array(elab, array, places)
    return None


def _require_count_from_one(elab: Elaborator, name: str, kind: Type, items: list[Term | Slice]) -> None:
    """An entry `W_{01}` or `W_{10}` is counted from 0, where arrays have no entry here.

    Raises:
        Unreadable: An index is 0, or a single one of a matrix is 10, 20, ..., 90.
    """
    numerals = [int(one.data) for one in items if isinstance(one, Term) and one.op == "const"]
    tens = len(items) == 1 and not kind.vector and bool(numerals) and numerals[0] in range(10, 100, 10)
    if 0 in numerals or tens:
        shown = f"{name}_{{{numerals[0] if tens else ', '.join(map(str, numerals))}}}"
        also = f", and row {numerals[0]} is {name}_{{{numerals[0]}, :}}" if tens else ""
        raise elab.fail(
            f"{shown} counts from 0, and the entries of {name} count from 1 here: write 1 for the first{also}"
        )


def _has_one_index(base: Symbol) -> bool:
    """Whether the entries of a symbol have one index: it is a vector, or a definition of numbers with one."""
    kind = type_of_whole(base)
    return base.kind in ("array", "definition") and kind is not None and kind.vector


def _is_zero(items: list[Term | Slice]) -> bool:
    """Whether the subscript is the numeral 0."""
    return len(items) == 1 and isinstance(items[0], Term) and items[0].op == "const" and items[0].data == 0


def _needs_index(base: Symbol) -> bool:
    """Whether a symbol means nothing without an index."""
    return base.kind == "family" or (base.kind == "definition" and bool(base.params))


def _constant(elab: Elaborator, expr: Sub, base_name: str | None) -> Term | None:
    r"""What an undeclared letter means with a subscript: an indicator, \delta_{ij}, I_n, \mathbf{1}_n."""
    conditions = conditions_in(expr.items) if base_name == ONES else ()
    if conditions:
        return indicator(elab, conditions)
    if base_name == r"\delta" and (delta := kronecker(elab, expr)) is not None:
        return delta
    if base_name not in ("I", r"\mathbf{1}", r"\mathbf{0}") or len(expr.items) != 1:
        return None
    n = elab.size(expr.items[0].exprs[0])
    return Term("eye", (), matrix(n, n), n) if base_name == "I" else Term("ones", (), matrix(n, ONE), n)


def _of_expression(elab: Elaborator, expr: Sub, items: list[Term | Slice] | None) -> Term:
    """An entry or a slice of an expression, or a norm with its index."""
    if isinstance(expr.base, Fence) and expr.base.kind == "norm" and len(expr.items) == 1:
        normed = norm_with_index(elab, expr.base.body, expr.items[0].exprs[0])
        if normed is not None:
            return normed
    if items is None:
        raise elab.fail(f"the subscript in '{to_latex(expr)}' is not a declared index")
    array = elab.term(expr.base)
    return index_array(elab, array, _digits(array.type, items))


def _require_index(elab: Elaborator, known: Symbol | None, expr: Sub) -> None:
    """An entry of what is known misses its index, not a declaration of the entry."""
    letter = missing_index(elab.context, expr, elab.bound)
    if known is None or not has_entries(known) or not letter or symbol_name(expr) in elab.context.dropped:
        return
    raise elab.fail(f"{letter} is not declared: {declared_as(letter, extent(known, expr, letter))}")


def _require_own(elab: Elaborator, known: Symbol | None, expr: Sub, own: Symbol) -> None:
    """A number that is spelled like an entry of an array declared after it has two meanings."""
    if known is None or own.type is None or not has_entries(known) or not missing_index(elab.context, expr):
        return
    if entry_type_fits(known, expr, own.type.scalar):
        raise elab.fail(
            f"{to_latex(expr)} is declared in line {own.line}, and {known.name}, whose entry it would be, in line "
            f"{known.line}: give one of them another name"
        )


def index_items(elab: Elaborator, items: tuple[Chain, ...]) -> list[Term | Slice] | None:
    """The subscripts as whole numbers or slices, None if they are something else."""
    exprs: list[Expr] = []
    for item in items:
        if not item.alone:
            return None
        exprs.append(item.exprs[0])
    if len(exprs) == 1 and isinstance(exprs[0], Times) and exprs[0].ops in (("",), ("", "")):
        several = list(exprs[0].factors)
        if all(isinstance(f, Name | Num) and elab.is_integer(f) for f in several):
            exprs = several
    if not all(isinstance(e, Slice) or elab.is_integer(e) for e in exprs):
        return None
    return [e if isinstance(e, Slice) else elab.term(e) for e in exprs]


def _member(elab: Elaborator, family: Symbol, items: list[Term | Slice]) -> Term:
    """One member of a family, or an entry of one."""
    first = items[0]
    if isinstance(first, Slice):
        raise elab.fail(f"a slice of the family {family.name} is not understood")
    assert family.type is not None
    chosen = Term("member", (first,), family.type, family.name)
    return index_array(elab, chosen, items[1:]) if len(items) > 1 else chosen


def _at_indices(elab: Elaborator, definition: Symbol, items: list[Term | Slice]) -> Term:
    """A definition written with indices, at these indices."""
    assert definition.term is not None
    count = len(definition.params)
    values = items[:count]
    if len(values) < count or any(isinstance(v, Slice) for v in values):
        raise elab.fail(f"{definition.name} was defined with {count} indices")
    bound = Term(
        "bind",
        (definition.term, *(v for v in values if isinstance(v, Term))),
        definition.term.type,
        definition.params,
    )
    return index_array(elab, bound, items[count:]) if len(items) > count else bound


def index_array(elab: Elaborator, base: Term, items: list[Term | Slice]) -> Term:
    """Entries, rows and slices of an array."""
    kind = base.type
    if kind.scalar and base.op not in ("leaf", "member", "bind"):
        raise elab.fail("a number that is not a symbol has a subscript, which is not understood")
    if kind.kind != "matrix":
        raise ShapeMismatch(f"{kind} has no entries")
    if kind.vector and len(items) == 1:
        items = [items[0], integer(1)] if kind.column else [integer(1), items[0]]
    if len(items) == 1:
        items = [items[0], Slice(None, None)]
    if len(items) != 2:
        raise elab.fail("an array has one or two subscripts")
    first, second = items
    if isinstance(first, Term) and isinstance(second, Term):
        return Term("entry", (base, first, second), SCALAR)
    (low, high, rows), (left, right, cols) = _span(elab, first, kind.rows), _span(elab, second, kind.cols)
    return Term("slice", (base, low, high, left, right), matrix(rows, cols))


def _span(elab: Elaborator, item: Term | Slice, extent: Size) -> tuple[Term, Term, Size]:
    """First and last position of one subscript and how many there are."""
    if isinstance(item, Term):
        return item, item, ONE
    first = Size.number(1) if item.first is None else elab.size(item.first)
    last = extent if item.last is None else elab.size(item.last)
    return size_term(first), size_term(last), last + (-first) + ONE


def _digits(kind: Type, items: list[Term | Slice]) -> list[Term | Slice]:
    """`A_{12}` of a matrix is its entry 1, 2."""
    (first, *rest) = items
    if rest or kind.vector or not isinstance(first, Term) or first.op != "const" or not 10 < first.data < 100:
        return items
    return [integer(int(first.data) // 10), integer(int(first.data) % 10)]


def elaborate_letter_power(elab: Elaborator, base: Expr) -> Term:
    """`base^T`: a power of a number where T is a number, else a transpose of what is not a number."""
    found = elab.lookup("T")
    number = "T" in elab.bound or (found is not None and _symbol_is_number(found))
    name = to_latex(base)
    if number and base == Name("e") and elab.lookup("e") is None:
        return power(elab, Sup(base, Name("T")), base, Name("T"))
    body = elab.term(base)
    if body.type.scalar and number:
        return power(elab, Sup(base, Name("T")), base, Name("T"))
    if body.type.scalar and not (elab.context.inferred and isinstance(base, Group)):
        raise elab.fail(
            f"'{name}^T' transposes a number: write '{name}^\\top' if that is meant; for a power declare T, as in "
            "'Let $T \\in \\mathbb{N}$'"
        )
    if number and body.type.rows == body.type.cols:
        raise elab.fail(f"'{name}^T' may be a transpose or a power, as T is declared: write '{name}^\\top'")
    return transpose(body)


def _symbol_is_number(found: Symbol) -> bool:
    """Whether a declared symbol alone is a number."""
    if found.params or found.kind in ("family", "function"):
        return False
    kind = found.term.type if found.term is not None else found.type
    return found.kind in ("size", "index") or (kind is not None and kind.scalar)


def power(elab: Elaborator, expr: Expr, base: Expr, exponent: Expr) -> Term:
    """`base^exponent`: a name with a mark, an exponential, a power, an inverse, or an index in brackets."""
    name = symbol_name(expr)
    if name is not None and elab.lookup(name) is not None:
        return symbol(elab, name)
    if (member := declared_member(elab.context, expr)) is not None:
        return elaborate_subscript(elab, member)
    if isinstance(exponent, Group) and exponent.bracket == "(" and len(exponent.items) == 1:
        inner = exponent.items[0]
        found = elab.lookup(base.text) if isinstance(base, Name) else None
        if found is not None and has_entries(found) and inner.alone and elab.is_integer(inner.exprs[0]):
            return elaborate_subscript(elab, Sub(base, (inner,)))
    label = isinstance(exponent, Group) and exponent.bracket in ("(", "[") and symbol_name(base) is not None
    if label and not (base == Name("e") and elab.lookup("e") is None):
        raise elab.fail(_say_undeclared_label(elab, name or to_latex(expr)))
    if isinstance(base, Name) and base.text == "e" and elab.lookup("e") is None:
        return scalar_function("exp", elab.term(exponent))
    if exponent in (Name("-"), Name("+")):
        raise elab.fail(
            f"a sign above '{to_latex(base)}' is not an exponent: write the whole exponent in braces, 10^{{-3}}"
        )
    body = elab.term(base)
    if body.type.kind in ("matrix", "eye"):
        return _matrix_power(elab, body, exponent)
    to = elab.term(exponent)
    if not to.type.scalar:
        raise ShapeMismatch(f"{to.type} cannot be an exponent")
    return Term("pow", (body, to), SCALAR)


def _say_undeclared_label(elab: Elaborator, name: str) -> str:
    """What to write for a symbol with a label: a family, where the label has an index of a sum or of the document."""
    known = [elab.lookup(letter) for letter in index_letters(name)]
    if elab.bound.keys() & index_letters(name) or any(one is not None and one.kind == "index" for one in known):
        family = advise_family(name)
        return f"{name} is not declared: where its label numbers samples, write {family} (or their shape)"
    return (
        f"{name} is not declared: in brackets it is a label, a symbol of its own; write 'Let "
        f"${name} \\in \\mathbb{{R}}$' (or its shape), or a power without brackets"
    )


def _matrix_power(elab: Elaborator, body: Term, exponent: Expr) -> Term:
    """Inverses and whole powers of square matrices."""
    match exponent:
        case Minus(Num(value)):
            whole = -value
        case Num(value):
            whole = value
        case _ if body.type.vector:
            raise elab.fail(f"{body.type} has no power '{to_latex(exponent)}': an entry is written as a subscript, x_i")
        case _:
            raise elab.fail("the exponent of a matrix is a whole number, \\top or -1")
    if body.type.rows != body.type.cols:
        hint = ": write x^\\top x, \\|x\\|^2 or x \\odot x" if body.type.vector else ""
        raise Unreadable(f"{body.type} has no power{hint}", elab.line)
    if whole == -1:
        return Term("inv", (body,), body.type)
    if whole.denominator != 1 or not 0 < whole <= 12:
        raise elab.fail(f"the power {whole} of a matrix is not understood")
    result = body
    for _ in range(int(whole) - 1):
        result = product(result, body)
    return result
