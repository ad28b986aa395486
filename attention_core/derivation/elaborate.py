# From the written tree to typed terms: which subscript is an index, which product is which, and do the shapes fit.
# Sums, functions, matrices and derivatives are in `elaborate_forms`.
"""Names, scripts, sums and products with their shapes."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

from attention_core.derivation.declared import Context, Declared
from attention_core.derivation.functions import MARK, applied, with_calls
from attention_core.derivation.indicators import (
    ONES,
    conditions_in,
    declared_as,
    entry_type_fits,
    extent,
    indicator,
    kronecker,
    missing_index,
    require_function,
    with_indicators,
)
from attention_core.derivation.shapes import (
    copies,
    fitted,
    hadamard,
    joined,
    negative,
    number_of,
    product,
    scalar_function,
    size_term,
    transpose,
)
from attention_core.derivation.syntax import (
    Array,
    Big,
    Call,
    Chain,
    Derivative,
    Dots,
    Expr,
    Fence,
    Frac,
    Group,
    Minus,
    Name,
    Num,
    Plus,
    Root,
    Slice,
    Sub,
    Sup,
    Times,
    Transposed,
    Unreadable,
)
from attention_core.derivation.terms import (
    EYE,
    ONE,
    SCALAR,
    ShapeMismatch,
    Size,
    Term,
    Type,
    integer,
    matrix,
)
from attention_core.derivation.written import written


def name_of(expr: Expr) -> str | None:
    """The symbol that an expression spells with its subscripts, if it spells one."""
    match expr:
        case Name(text):
            return text
        case Sub(base, items):
            inner = name_of(base)
            return None if inner is None else f"{inner}_{{{','.join(written(i) for i in items)}}}"
        case Sup(base, Group("(", _, _) as group):
            inner = name_of(base)
            return None if inner is None else f"{inner}^{{{written(group)}}}"
        case Sup(base, Name("*")):
            inner = name_of(base)
            return None if inner is None else f"{inner}^*"
    return None


Bound = dict[str, tuple[Size, Size] | None]


class Elaborator:
    """Turns written expressions into terms under one context; `bound` are the indices of the sums around."""

    def __init__(self, context: Context, bound: Bound | None = None, line: int = 0) -> None:
        self.context, self.line = context, line
        self.bound: Bound = dict(bound or {})

    # -- names --------------------------------------------------------------------------------------------------

    def lookup(self, name: str) -> Declared | None:
        """The declaration of a name."""
        return self.context.symbols.get(name)

    def fail(self, message: str) -> Unreadable:
        """An error at this line."""
        return Unreadable(message, self.line)

    def symbol(self, name: str) -> Term:
        """A name standing alone."""
        if name in self.bound:
            return Term("int", (), SCALAR, name)
        found = self.lookup(name)
        if found is None:
            return self.constant(name)
        if found.kind in ("size", "index"):
            return Term("int", (), SCALAR, name)
        if found.kind == "definition":
            if found.params:
                raise self.fail(f"{name} was defined with an index: write {name}_{{...}}")
            assert found.term is not None
            return Term("bind", (found.term,), found.term.type, ())
        if found.kind == "function":
            if any(self.lookup(p) is None and p not in self.bound for p in found.params):
                raise self.fail(f"{name} is a function: write {name}({', '.join(found.params)})")
            return self.term(applied(self, found, tuple(Chain((Name(p),)) for p in found.params)))
        if found.kind == "family":
            raise self.fail(f"{name} is a family: write {name}_i with a declared index, or {name}_1")
        assert found.type is not None
        return Term("leaf", (), found.type, name)

    def constant(self, name: str) -> Term:
        """Letters with a meaning of their own, unless declared otherwise."""
        if name == "e":
            return Term("exp", (integer(1),), SCALAR)
        if name == r"\pi":
            return Term("pi", (), SCALAR)
        if name == "I":
            return Term("eye", (), EYE)
        if name == r"\infty":
            raise self.fail(
                r"\infty is only understood under \lim, in an interval, and in '% as: x \to \infty'; "
                r"a series is \lim_{n \to \infty} \sum_{i=0}^{n} ..."
            )
        if name == r"\Delta" and name not in self.context.dropped:
            raise self.fail(
                r"\Delta is not declared, and \Delta x is read as a product: write one symbol, such as x_\Delta"
            )
        if name == ONES:
            raise self.fail(r"a vector of ones needs its size: write \mathbf{1}_n with a declared n")
        if name in self.context.dropped:
            line, why = self.context.dropped[name]
            raise self.fail(
                f"{name} is not declared any more: {why}; declare it again (it was declared before line {line})"
            )
        if name.startswith(r"\text{"):
            word = name.removeprefix(r"\text{").removesuffix("}")
            raise self.fail(
                f"{name} is not declared, and no function of that name is known: write 'Let $\\text{{{word}}} \\in "
                f"\\mathbb{{R}}$', or define it, as in 'Put $\\text{{{word}}}(t) := ...$'"
            )
        raise self.fail(
            f"{name} is not declared: write 'Let ${name} \\in \\mathbb{{R}}$' (or its shape) above the display"
        )

    def is_integer(self, expr: Expr) -> bool:
        """Whether an expression is made of numerals, declared indices and sizes alone."""
        match expr:
            case Num(value):
                return value.denominator == 1
            case Name(text):
                found = self.lookup(text)
                return text in self.bound or (found is not None and found.kind in ("size", "index"))
            case Minus(body):
                return self.is_integer(body)
            case Plus(terms):
                return all(self.is_integer(t) for t in terms)
            case Times(factors, ops):
                return all(self.is_integer(f) for f in factors) and set(ops) <= {"", ".", "*"}
            case Group("(", (Chain((inner,), ()),)):
                return self.is_integer(inner)
            case Sub() | Sup():
                name = name_of(expr)
                return name is not None and (found := self.lookup(name)) is not None and found.kind in ("size", "index")
        return False

    def size(self, expr: Expr) -> Size:
        """A size: a polynomial in declared sizes."""
        match expr:
            case Num(value):
                return Size.number(value)
            case Name(text):
                found = self.lookup(text)
                if found is None or found.kind != "size":
                    raise self.fail(f"{text} is not a size: write 'Let ${text} \\in \\mathbb{{N}}$' first")
                return Size.symbol(text)
            case Plus(terms):
                total = Size.number(0)
                for term in terms:
                    total = total + self.size(term)
                return total
            case Minus(body):
                return -self.size(body)
            case Times(factors, ops):
                product = self.size(factors[0])
                for op, factor in zip(ops, factors[1:], strict=True):
                    product = product * (self.inverse_size(factor) if op == "/" else self.size(factor))
                return product
            case Frac(top, bottom):
                return self.size(top) * self.inverse_size(bottom)
            case Group("(", (Chain((inner,), ()),)):
                return self.size(inner)
            case Sub():
                name = name_of(expr)
                if name is not None and (found := self.lookup(name)) is not None and found.kind == "size":
                    return Size.symbol(name)
        raise self.fail(f"'{written(expr)}' is not understood as a size")

    def inverse_size(self, expr: Expr) -> Size:
        """One over a size."""
        found = self.size(expr).inverse()
        if found is None:
            raise self.fail(f"a size cannot be divided by '{written(expr)}'")
        return found

    # -- expressions --------------------------------------------------------------------------------------------

    def term(self, expr: Expr) -> Term:
        """The typed term of an expression."""
        from attention_core.derivation import elaborate_forms as forms

        match expr:
            case Num(value):
                return integer(value)
            case Name(text):
                return self.symbol(text)
            case Sub():
                return self.subscripted(expr)
            case Sup(base, exponent):
                return self.power(expr, base, exponent)
            case Transposed(base, letter):
                return self.lettered(base) if letter else transpose(self.term(base))
            case Group():
                return forms.group(self, expr)
            case Minus(body):
                return negative(self.term(body))
            case Plus(terms):
                if any(isinstance(t, Dots) or t == Minus(Dots()) for t in terms):
                    return forms.dotted_sum(self, terms)
                return self.total([self.term(t) for t in terms])
            case Times():
                called = with_indicators(self, expr)
                called = with_calls(self, called) if isinstance(called, Times) else called
                if not isinstance(called, Times):
                    return self.term(called)
                require_function(self, called)
                return self.times(called.factors, called.ops)
            case Frac(top, bottom):
                found = forms.ordinary(self, expr)
                if found is not None:
                    if found.body == Dots():
                        raise self.fail("a derivative of nothing: what is differentiated stands behind it")
                    return forms.derivative(self, found)
                return self.quotient(self.term(top), self.term(bottom))
            case Root(body, degree):
                return forms.root(self, body, degree)
            case Call(function) if function.startswith(MARK):
                found_function = self.context.symbols[function.removeprefix(MARK)]
                return self.term(applied(self, found_function, expr.args))
            case Call():
                return forms.call(self, expr)
            case Big():
                return forms.big(self, expr)
            case Fence(kind, body):
                return forms.fence(self, kind, body)
            case Array(rows):
                return forms.array(self, rows)
            case Derivative():
                return forms.derivative(self, expr)
            case Dots():
                raise self.fail("the dots do not stand between terms of one pattern: write the sum with \\sum")
            case Slice():
                raise self.fail("a slice is only understood as a subscript")
        raise self.fail(f"'{written(expr)}' is not understood here")

    def chain_term(self, chain: Chain) -> Term:
        """The term of a chain that must be a plain expression."""
        if not chain.alone:
            raise self.fail(f"a relation is not expected inside '{written(chain)}'")
        return self.term(chain.exprs[0])

    def total(self, terms: Sequence[Term]) -> Term:
        """A sum: all shapes alike."""
        kept = [t for t in terms if not (t.op == "const" and t.data == 0)] or [terms[0]]
        if len(kept) == 1:
            return kept[0]
        kept = self.alike(kept)
        kind = kept[0].type
        for other in kept[1:]:
            kind = joined(kind, other.type, "added")
        return Term("add", tuple(fitted(t, kind) for t in kept), kind)

    def alike(self, terms: Sequence[Term]) -> list[Term]:
        """Numbers, rows and columns beside a matrix: copies of them, if the document says so."""
        shapes = [t.type for t in terms if t.type.kind == "matrix"]
        whole = next((s for s in shapes if not s.vector), shapes[0] if shapes else SCALAR)
        spread = [copies(t, whole) for t in terms]
        if self.context.broadcast is None:
            for term, wide in zip(terms, spread, strict=True):
                if wide is not term:
                    raise self.fail(
                        f"{term.type} and {whole} stand in one sum: write a vector of ones, such as b \\mathbf{{1}}_n, "
                        "or say in a declaration that sums are broadcast"
                    )
        return spread

    def quotient(self, top: Term, bottom: Term) -> Term:
        """A quotient; the divisor is a number."""
        if bottom.type.kind not in ("scalar", "zero"):
            raise ShapeMismatch(f"{bottom.type} cannot divide; only a number can")
        return Term("div", (top, bottom), top.type if top.type.kind != "zero" else SCALAR)

    def times(self, factors: tuple[Expr, ...], ops: tuple[str, ...]) -> Term:
        """Factors from left to right; where a 1 x 1 product further right is a number, it is taken first."""
        from attention_core.derivation.elaborate_forms import ordinary

        for place, factor in enumerate(factors[:-1]):
            found = ordinary(self, factor) if isinstance(factor, Frac) else None
            if found is not None and found.body == Dots():  # \frac{d}{dx} takes the factors that follow
                rest = (
                    factors[place + 1] if place + 2 == len(factors) else Times(factors[place + 1 :], ops[place + 1 :])
                )
                factors = (*factors[:place], Derivative(rest, found.by))
                ops = ops[:place]
                break
        self.require_one_divisor(factors, ops)
        terms = [self.term(f) for f in factors]
        if "o" in ops:
            return self.entrywise(terms, ops)
        return self.from_left(terms, ops)

    def require_one_divisor(self, factors: Sequence[Expr], ops: Sequence[str]) -> None:
        r"""`x / 2 s` is read as x / (2 s) by some and as (x / 2) s by others."""
        for k, (op, following) in enumerate(pairwise(ops)):
            plain = isinstance(factors[k], Num) and isinstance(factors[k + 1], Num) and (k == 0 or ops[k - 1] != "/")
            if op == "/" and following == "" and not plain:
                said = f"{written(factors[k])} / {written(factors[k + 1])} {written(factors[k + 2])}"
                raise self.fail(f"'{said}' may divide by one factor or by two: write \\frac or brackets")

    def entrywise(self, terms: list[Term], ops: Sequence[str]) -> Term:
        r"""`P \odot G V^\top`: what fits, from left to right or product by product; both only where they agree."""
        groups: list[tuple[list[Term], list[str]]] = [([terms[0]], [])]
        for op, term in zip(ops, terms[1:], strict=True):
            if op == "o":
                groups.append(([term], []))
            else:
                groups[-1][0].append(term)
                groups[-1][1].append(op)
        found: list[Term] = []
        refused: list[ShapeMismatch] = []
        alone = all(sum(not t.type.scalar for t in group) <= 1 for group, _ in groups)
        for reading in ("products",) if alone else ("left", "products"):
            try:
                if reading == "left":
                    found.append(self.from_left(terms, ops))
                else:
                    parts = [self.from_left(group, inner) for group, inner in groups]
                    found.append(self.from_left(parts, ["o"] * (len(parts) - 1)))
            except ShapeMismatch as error:
                refused.append(error)
        if not found:
            raise refused[0]
        if len(found) > 1:
            raise self.fail("\\odot beside a matrix product may come first or last: write brackets")
        return found[0]

    def from_left(self, terms: list[Term], ops: Sequence[str]) -> Term:
        """Factors from left to right."""
        marks = list(ops)
        result, i = terms[0], 0
        while i < len(marks):
            op, right = marks[i], terms[i + 1]
            if op == "/":
                result = self.quotient(result, right)
            elif op == "o":
                result = hadamard(result, right)
            else:
                if op == "*" and not result.type.scalar and not right.type.scalar:
                    raise self.fail(
                        "* and \\times between matrices or vectors may be the matrix product or that of entries: "
                        "write A B or A \\odot B"
                    )
                try:
                    result = product(result, right, dot=op == ".")
                except ShapeMismatch:
                    following = terms[i + 2] if i + 1 < len(marks) and marks[i + 1] in ("", ".", "*") else None
                    inner = number_of(right, following) if following is not None else None
                    if inner is None:
                        raise
                    result = product(result, inner)
                    i += 1
            i += 1
        return result

    def lettered(self, base: Expr) -> Term:
        """`base^T`: a power of a number where T is a number, else a transpose of what is not a number."""
        found = self.lookup("T")
        number = "T" in self.bound or (found is not None and self.symbol_is_number(found))
        name = written(base)
        if number and base == Name("e") and self.lookup("e") is None:
            return self.power(Sup(base, Name("T")), base, Name("T"))
        body = self.term(base)
        if body.type.scalar and number:
            return self.power(Sup(base, Name("T")), base, Name("T"))
        if body.type.scalar:
            raise self.fail(
                f"'{name}^T' transposes a number: write '{name}^\\top' if that is meant; for a power declare T, as in "
                "'Let $T \\in \\mathbb{N}$'"
            )
        if number and body.type.rows == body.type.cols:
            raise self.fail(f"'{name}^T' may be a transpose or a power, as T is declared: write '{name}^\\top'")
        return transpose(body)

    def symbol_is_number(self, found: Declared) -> bool:
        """Whether a declared symbol alone is a number."""
        if found.params or found.kind in ("family", "function"):
            return False
        kind = found.term.type if found.term is not None else found.type
        return found.kind in ("size", "index") or (kind is not None and kind.scalar)

    def power(self, expr: Expr, base: Expr, exponent: Expr) -> Term:
        """`base^exponent`: a name with a mark, an exponential, a power, an inverse, or an index in brackets."""
        name = name_of(expr)
        if name is not None and self.lookup(name) is not None:
            return self.symbol(name)
        if isinstance(exponent, Group) and exponent.bracket == "(" and len(exponent.items) == 1:
            inner = exponent.items[0]
            found = self.lookup(base.text) if isinstance(base, Name) else None
            if found is not None and has_entries(found) and inner.alone and self.is_integer(inner.exprs[0]):
                return self.subscripted(Sub(base, (inner,)))
        label = isinstance(exponent, Group) and exponent.bracket in ("(", "[") and name_of(base) is not None
        if label and not (base == Name("e") and self.lookup("e") is None):
            raise self.fail(
                f"{name or written(expr)} is not declared: in brackets it is a label, a symbol of its own; write 'Let "
                f"${name or written(expr)} \\in \\mathbb{{R}}$' (or its shape), or a power without brackets"
            )
        if isinstance(base, Name) and base.text == "e" and self.lookup("e") is None:
            return scalar_function("exp", self.term(exponent))
        if exponent in (Name("-"), Name("+")):
            raise self.fail(
                f"a sign above '{written(base)}' is no exponent: write the whole exponent in braces, 10^{{-3}}"
            )
        body = self.term(base)
        if body.type.kind in ("matrix", "eye"):
            return self.matrix_power(body, exponent)
        to = self.term(exponent)
        if not to.type.scalar:
            raise ShapeMismatch(f"{to.type} cannot be an exponent")
        return Term("pow", (body, to), SCALAR)

    def matrix_power(self, body: Term, exponent: Expr) -> Term:
        """Inverses and whole powers of square matrices."""
        match exponent:
            case Minus(Num(value)):
                whole = -value
            case Num(value):
                whole = value
            case _:
                raise self.fail("the exponent of a matrix is a whole number, \\top or -1")
        if body.type.rows != body.type.cols:
            hint = ": write x^\\top x, \\|x\\|^2 or x \\odot x" if body.type.vector else ""
            raise Unreadable(f"{body.type} has no power{hint}", self.line)
        if whole == -1:
            return Term("inv", (body,), body.type)
        if whole.denominator != 1 or not 0 < whole <= 12:
            raise self.fail(f"the power {whole} of a matrix is not understood")
        result = body
        for _ in range(int(whole) - 1):
            result = product(result, body)
        return result

    # -- subscripts ---------------------------------------------------------------------------------------------

    def subscripted(self, expr: Sub) -> Term:
        """An index where the base is declared and the subscript is a numeral or an index; else a name."""
        items = self.index_items(expr.items)
        base_name = name_of(expr.base)
        found = self.lookup(base_name) if base_name is not None else None
        full = name_of(expr)
        if items is not None:
            if found is not None and found.kind == "family":
                return self.member(found, items)
            if found is not None and found.kind == "definition" and found.params:
                return self.applied(found, items)
            if found is not None and has_entries(found):
                base = self.symbol(found.name)
                return self.indexed(base, _digits(base.type, items))
        if full is not None and (own := self.lookup(full)) is not None:
            self.require_own(found, expr, own)
            return self.symbol(full)
        said = conditions_in(expr.items) if base_name == ONES and found is None else ()
        if said:
            return indicator(self, said)
        if base_name == r"\delta" and found is None and (delta := kronecker(self, expr)) is not None:
            return delta
        if base_name in ("I", r"\mathbf{1}", r"\mathbf{0}") and found is None and len(expr.items) == 1:
            n = self.size(expr.items[0].exprs[0])
            if base_name == "I":
                return Term("eye", (), matrix(n, n), n)
            return Term("ones", (), matrix(n, ONE), n)
        if isinstance(expr.base, Num) and expr.base.value == 0:
            return integer(0)
        if (
            found is not None
            and found.kind in ("family", "definition")
            and items is None
            and (found.kind == "family" or found.params)
        ):
            raise self.fail(f"'{written(expr)}': its subscript is not a declared index; declare it, such as "
                            f"'Let ${written(expr.items[0])} \\in \\{{1, \\dots, n\\}}$'")  # fmt: skip
        if base_name is None:
            if isinstance(expr.base, Fence) and expr.base.kind == "norm" and len(expr.items) == 1:
                from attention_core.derivation.elaborate_forms import norm_with_index

                normed = norm_with_index(self, expr.base.body, written(expr.items[0]))
                if normed is not None:
                    return normed
            if items is None:
                raise self.fail(f"the subscript in '{written(expr)}' is not a declared index")
            return self.indexed(self.term(expr.base), items)
        if isinstance(expr.base, Sup) and found is None and items is not None and full not in self.context.dropped:
            return self.indexed(self.term(expr.base), items)
        self.require_index(found, expr)
        return self.symbol(full or written(expr))

    def require_index(self, known: Declared | None, expr: Sub) -> None:
        """An entry of what is known misses its index, not a declaration of the entry."""
        letter = missing_index(self.context, expr, self.bound)
        if known is None or not has_entries(known) or not letter or name_of(expr) in self.context.dropped:
            return
        raise self.fail(f"{letter} is not declared: {declared_as(letter, extent(known, expr, letter))}")

    def require_own(self, known: Declared | None, expr: Sub, own: Declared) -> None:
        """A number that is spelled like an entry of an array declared after it has two meanings."""
        if known is None or own.type is None or not has_entries(known) or not missing_index(self.context, expr):
            return
        if entry_type_fits(known, expr, own.type.scalar):
            raise self.fail(
                f"{written(expr)} is declared in line {own.line}, and {known.name}, whose entry it would be, in line "
                f"{known.line}: give one of them another name"
            )

    def index_items(self, items: tuple[Chain, ...]) -> list[Term | Slice] | None:
        """The subscripts as whole numbers or slices, None if they are something else."""
        exprs: list[Expr] = []
        for item in items:
            if not item.alone:
                return None
            exprs.append(item.exprs[0])
        if len(exprs) == 1 and isinstance(exprs[0], Times) and exprs[0].ops == ("",):
            pair = list(exprs[0].factors)
            if all(isinstance(f, Name | Num) and self.is_integer(f) for f in pair):
                exprs = pair
        if not all(isinstance(e, Slice) or self.is_integer(e) for e in exprs):
            return None
        return [e if isinstance(e, Slice) else self.term(e) for e in exprs]

    def member(self, family: Declared, items: list[Term | Slice]) -> Term:
        """One member of a family, or an entry of one."""
        first = items[0]
        if isinstance(first, Slice):
            raise self.fail(f"a slice of the family {family.name} is not understood")
        assert family.type is not None
        chosen = Term("member", (first,), family.type, family.name)
        return self.indexed(chosen, items[1:]) if len(items) > 1 else chosen

    def applied(self, definition: Declared, items: list[Term | Slice]) -> Term:
        """A definition written with indices, at these indices."""
        assert definition.term is not None
        count = len(definition.params)
        values = items[:count]
        if len(values) < count or any(isinstance(v, Slice) for v in values):
            raise self.fail(f"{definition.name} was defined with {count} indices")
        bound = Term(
            "bind",
            (definition.term, *(v for v in values if isinstance(v, Term))),
            definition.term.type,
            definition.params,
        )
        return self.indexed(bound, items[count:]) if len(items) > count else bound

    def indexed(self, base: Term, items: list[Term | Slice]) -> Term:
        """Entries, rows and slices of an array."""
        kind = base.type
        if kind.scalar and base.op not in ("leaf", "member", "bind"):
            raise self.fail("a number that is no symbol has a subscript, which is not understood")
        if kind.kind != "matrix":
            raise ShapeMismatch(f"{kind} has no entries")
        if kind.vector and len(items) == 1:
            items = [items[0], integer(1)] if kind.column else [integer(1), items[0]]
        if len(items) == 1:
            items = [items[0], Slice(None, None)]
        if len(items) != 2:
            raise self.fail("an array has one or two subscripts")
        first, second = items
        if isinstance(first, Term) and isinstance(second, Term):
            return Term("entry", (base, first, second), SCALAR)
        (low, high, rows), (left, right, cols) = self.span(first, kind.rows), self.span(second, kind.cols)
        return Term("slice", (base, low, high, left, right), matrix(rows, cols))

    def span(self, item: Term | Slice, extent: Size) -> tuple[Term, Term, Size]:
        """First and last position of one subscript and how many there are."""
        if isinstance(item, Term):
            return item, item, ONE
        first = Size.number(1) if item.first is None else self.size(item.first)
        last = extent if item.last is None else self.size(item.last)
        return size_term(first), size_term(last), last + (-first) + ONE


def _digits(kind: Type, items: list[Term | Slice]) -> list[Term | Slice]:
    """`A_{12}` of a matrix is its entry 1, 2."""
    (first, *rest) = items
    if rest or kind.vector or not isinstance(first, Term) or first.op != "const" or not 10 < first.data < 100:
        return items
    return [integer(int(first.data) // 10), integer(int(first.data) % 10)]


def has_entries(symbol: Declared) -> bool:
    """Whether a symbol may be indexed."""
    kind = symbol.type if symbol.term is None else symbol.term.type
    return symbol.kind == "family" or bool(symbol.params) or (kind is not None and kind.kind == "matrix")


HALF = Fraction(1, 2)
