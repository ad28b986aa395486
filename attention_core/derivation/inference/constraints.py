r"""What the formulas of a section ask of the shapes of their symbols.

Sums and relations have sides alike, products fit, a norm is a number; and what typography and use suggest of a symbol,
as weights for what the equations leave open.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise

from attention_core.derivation.inference.angles import angles_in
from attention_core.derivation.inference.bold_letters import Bold
from attention_core.derivation.inference.size_expressions import domain_type, size_names, size_of
from attention_core.derivation.inference.solve import Shape, Solver
from attention_core.derivation.inference.usage import (
    MEMBER,
    ONES_NAME,
    Usage,
    bound_letters,
    has_word,
    index_parts,
    is_constant,
    is_ordinary,
    letter_of,
    without_d,
)
from attention_core.derivation.latex.printer import FAMILY_LABEL, symbol_name, to_latex
from attention_core.derivation.latex.syntax import (
    SLOPE,
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
    Transpose,
    names_in,
)
from attention_core.derivation.latex.tokens import ELEMENTARY, ROW_WORDS
from attention_core.derivation.terms.context import Context, Symbol, range_of_member, type_of_whole
from attention_core.derivation.terms.terms import ONE, Type

ENTRYWISE = ("exp", "log", "sin", "cos", "tanh", "relu", "sign", "sigmoid", "erf", "ceil", "floor", "E", *ELEMENTARY)
ROW_FUNCTIONS = frozenset(ROW_WORDS.values())
_ENTRY = re.compile(r"^[A-Z]_\{[a-z][ ,][a-z]\}$")
_SIZES = re.compile(r"^[dnmhNDHMTLB](_\{.*\})?$")


@dataclass
class Hint:
    """What suggests that a symbol is of a kind: number, column, row or matrix."""

    weight: float
    kind: str
    reason: str


def is_capital(name: str) -> bool:
    """Whether the letter of a name is a capital, Latin or Greek."""
    return letter_of(name).lstrip("\\")[:1].isupper()


VECTORS = frozenset("xyzuvwhqkbo")
_OPERATORS = (r"\sum", r"\prod", r"\max", r"\min", r"\inf", r"\sup")
_MATRICES = frozenset([r"\Sigma", r"\Lambda", r"\Omega"])


def typographic_hint(name: str, bold: Bold) -> Hint:
    """What the letter of a symbol suggests.

    Example:
        >>> typographic_hint("W", Bold()).kind, typographic_hint(r"\\alpha", Bold()).kind
        ('matrix', 'number')
    """
    letter = letter_of(name.removesuffix(MEMBER))
    if name.startswith(("[", "(")) and r"\parallel" in name:
        return Hint(3, "column", "vectors one after the other")
    if "(" in name.replace("^{(", ""):  # not a label, W^{(2)}
        return Hint(1, "number", "a value of a function that is not defined")
    if name.startswith(ONES_NAME):
        return Hint(2, "column", "a vector of ones")
    if name.startswith("|"):
        return Hint(2, "number", "how many elements a set has")
    if name.startswith(_OPERATORS):
        return Hint(2, "number", "a value that nothing here determines")
    if name.startswith((r"\mathcal", r"\text")):
        return Hint(3 if name.startswith(r"\mathcal") else 1, "number", "its alphabet")
    if bold.holds(name):
        return Hint(3, "matrix" if is_capital(letter) else "column", "bold letters")
    if name.endswith(MEMBER):
        return Hint(1.5, "number", "an entry")
    if _ENTRY.search(name):
        return Hint(2, "number", "two subscripts, as an entry has")
    if letter in ("L", "J", "N", "T", r"\ell", r"\Delta"):
        return Hint(1, "number", f"the letter {letter}")
    if is_capital(letter):
        return Hint(1.4, "matrix", "a capital letter")  # entries are numbers first
    return Hint(2 if letter.startswith("\\") else 1, "number", "a small letter")


def _is_entry(kind: Type, parts: Sequence[Expr]) -> bool:
    """Whether subscripts name one entry of an array of a type."""
    count = 1 if kind.vector else 2
    return kind.kind == "matrix" and len(parts) == count and not any(isinstance(part, Slice) for part in parts)


@dataclass
class Builder:
    """Gathers the constraints of formulas."""

    context: Context
    usage: Usage
    bold: Bold = field(default_factory=Bold)
    solver: Solver = field(default_factory=Solver)
    shapes: dict[str, Shape] = field(default_factory=dict)
    hints: dict[str, list[Hint]] = field(default_factory=dict)
    sizes: dict[str, str] = field(default_factory=dict)  # whole numbers, and why
    ranges: dict[str, int] = field(default_factory=dict)  # of indices that nothing binds
    bound: dict[str, int] = field(default_factory=dict)
    places: dict[tuple[str, int], int] = field(default_factory=dict)  # extents of indexed bases
    members: dict[str, Shape] = field(default_factory=dict)
    defines_units: bool = False  # whether a formula says what `e_i` is
    has_angles: bool = False  # whether the document speaks of angles, and of no matrices

    def hint(self, expr: Expr, weight: float, kind: str, reason: str) -> None:
        """Note what suggests the kind of a symbol."""
        if (name := self.key(expr)) is not None:
            self.hints.setdefault(name, []).append(Hint(weight, kind, reason))

    def hint_array(self, expr: Expr, reason: str, row: bool = False) -> None:
        """Note that an expression is an array, a vector if its letter is small."""
        while isinstance(expr, Group) and len(expr.items) == 1 and expr.items[0].alone:
            expr = expr.items[0].exprs[0]
        name = self.key(expr)
        if name is not None:
            kind = "matrix" if is_capital(name) else "row" if row else "column"
            self.hint(expr, 3, kind, reason)

    def hint_terms(self, turned: Expr) -> None:
        r"""Note that the terms of a transposed sum of symbols, `(x - \mu)^\top`, are arrays."""
        inner = turned.items[0].exprs[0] if isinstance(turned, Group) and len(turned.items) == 1 else turned
        parts = [one.body if isinstance(one, Minus) else one for one in inner.terms] if isinstance(inner, Plus) else []
        if all(self.key(one) is not None for one in parts):  # `(1 - \gamma)^T` is a power
            for one in parts:
                self.hint_array(one, "a transpose")

    def key(self, expr: Expr) -> str | None:
        """The symbol, or the member of an indexed base, that an expression is."""
        if isinstance(expr, Sub) and not self.is_named(expr):
            base = symbol_name(expr.base)
            if base in self.usage.arrays and symbol_name(expr) not in self.context.symbols:
                return f"{base}{MEMBER}" if len(index_parts(expr)) == self.usage.arrays[base] else None
        name = symbol_name(expr)
        return None if name is None or is_constant(name) or name in self.bound else name

    def is_named(self, node: Sub) -> bool:
        """Whether a subscript is a word, and not an index here: what it stands at is a symbol of its own."""
        return has_word(node) and not names_in(node.items) & (set(self.bound) | set(self.context.symbols))

    # -- symbols ------------------------------------------------------------------------------------------------

    def symbol(self, name: str) -> Shape:
        """The shape of a symbol."""
        if name not in self.shapes:
            known = self.context.symbols.get(name)
            self.shapes[name] = Shape() if known is None else self.known_shape(known)
        return self.shapes[name]

    def known_shape(self, symbol: Symbol) -> Shape:
        """The shape of what is declared."""
        if symbol.kind in ("size", "index"):
            return self.solver.number()
        kind = type_of_whole(symbol)
        return Shape() if kind is None or symbol.kind == "function" else self.of_type(kind)

    def of_type(self, kind: Type) -> Shape:
        """A type as a shape."""
        if kind.kind == "matrix":
            return self.solver.array(self.solver.extents.of(kind.rows), self.solver.extents.of(kind.cols))
        return self.solver.number() if kind.kind == "scalar" else Shape()

    def extent(self, base: str, place: int) -> int:
        """How many members a base has at one of its indices."""
        known = self.context.symbols.get(base)
        if known is not None:
            kind = known.term.type if known.term is not None else known.type
            members = range_of_member(known, place)
            size = None if members is None else members[1]
            if size is None and kind is not None and kind.kind == "matrix":
                vector = kind.rows if kind.column else kind.cols
                size = vector if kind.vector else (kind.rows, kind.cols)[min(place, 1)]
            if size is not None:
                return self.solver.extents.of(size)
        if (base, place) not in self.places:
            self.places[base, place] = self.solver.extents.fresh()
        return self.places[base, place]

    def size(self, name: str, reason: str) -> None:
        """Note that a name is a whole number."""
        if name not in self.context.symbols and name not in self.bound:
            self.sizes.setdefault(name, reason)
            self.shapes[name] = self.solver.number()

    def expect_number(self, shape: Shape) -> None:
        """Make a shape a number, once it is settled what is surely a vector."""
        self.solver.waiting.append(lambda: self.solver.equal(self.solver.number(), shape) or True)

    # -- formulas -----------------------------------------------------------------------------------------------

    def chain(self, chain: Chain) -> Shape:
        """A chain: all sides are alike."""
        first = self.expr(chain.exprs[0])
        for op, other in zip(chain.ops, chain.exprs[1:], strict=True):
            if op == "in":
                self.domain(first, other)
            if op in ("in", "sim", "perp"):
                return first
            self.solver.equal(first, self.expr(other))
        return first

    def domain(self, shape: Shape, written: Expr) -> None:
        r"""A side of `\in \mathbb{R}^{n \times d}` has this shape."""
        kind, understood = domain_type(written)
        if understood and kind is not None:
            for letter in sorted(kind.rows.symbols() | kind.cols.symbols()):
                self.size(letter, "a size")
            self.solver.equal(shape, self.of_type(kind))

    def expr(self, expr: Expr | None) -> Shape:
        """The shape of an expression."""
        match expr:
            case None | Dots():
                return Shape()
            case Num(value):
                return self.solver.number() if value else Shape()
            case Name(text):
                return self.name(text)
            case Sub():
                return self.subscript(expr)
            case Sup():
                return self.power(expr)
            case Transpose(base, letter):
                if not (letter in self.usage.letters and (self.key(base) or "").startswith("\\")):  # \gamma^T, a power
                    self.hint_array(base, "a transpose")
                    self.hint_terms(base)
                out = Shape()
                self.solver.waiting.append(self.solver.transpose(self.expr(base), out))
                return out
            case Group(_, items):
                shapes = [self.chain(item) for item in items]
                if expr.semicolons and expr.bracket == "[":
                    self.stack([item.exprs[0] for item in items], shapes)
                return shapes[0] if len(shapes) == 1 else Shape()
            case Minus(body):
                return self.expr(body)
            case Plus(terms):
                shapes = [self.expr(term) for term in terms]
                for other in shapes[1:]:
                    self.solver.equal(shapes[0], other)
                return shapes[0]
            case Times(factors, ops):
                return self.times(factors, ops)
            case Frac():
                return self.fraction(expr)
        return self.form(expr)

    def form(self, expr: Expr) -> Shape:
        """The rarer forms."""
        match expr:
            case Root(body):
                inner = body.exprs[0] if isinstance(body, Chain) else body
                name = symbol_name(inner)
                if name is not None and _SIZES.match(name):
                    self.size(name, f"\\sqrt{{{name}}}")
                self.expect_number(self.expr(body))
                return self.solver.number()
            case Call():
                return self.call(expr)
            case Big():
                return self.big(expr)
            case Fence(kind, body):
                inside = self.expr(body)
                if kind == "norm":  # of a difference: all its terms are vectors
                    for term in body.terms if isinstance(body, Plus) else (body,):
                        self.hint_array(term.body if isinstance(term, Minus) else term, "a norm")
                else:
                    self.expect_number(inside)
                return self.solver.number()
            case Array(rows):
                for row in rows:
                    for cell in row:
                        self.expr(cell)
                return self.shape_of_list(
                    [cell for row in rows for cell in row], len(rows) == 1, {len(row) for row in rows}
                )
            case Derivative(body, by, nabla):
                if self.key(body) in ("C", "E"):  # a cost, an error
                    self.hint(body, 2, "number", "it is differentiated")
                return self.slope(body, by, nabla)
        return Shape()

    def slope(self, body: Expr, by: Sequence[Expr], twice: bool) -> Shape:
        r"""A derivative by one thing, or a Hessian by two."""
        differentiated, out = self.expr(body), Shape()
        variables = [self.expr(one) for one in by]
        if len(variables) == 1:
            self.solver.waiting.append(self.solver.slope(differentiated, variables[0], out))
        elif twice and len(variables) == 2:
            gradient = Shape()
            self.solver.waiting.append(self.solver.slope(differentiated, variables[1], gradient))
            self.solver.waiting.append(self.solver.slope(gradient, variables[0], out))
        return out

    def stack(self, parts: Sequence[Expr], shapes: Sequence[Shape]) -> None:
        """Blocks one below the other are of one width; what has a small letter below a matrix is a row."""
        if any(is_capital(self.key(part) or "a") for part in parts):
            for part in parts:
                if not is_capital(self.key(part) or "A"):
                    self.hint(part, 3, "row", "a block below a matrix")

        def use() -> bool:
            found = [self.solver.find(shape) for shape in shapes]
            if any(one.kind != "array" for one in found):
                return False
            for one in found[1:]:
                self.solver.extents.join(found[0].cols, one.cols)
            return True

        self.solver.waiting.append(use)

    def shape_of_list(self, cells: Sequence[Expr | None], flat: bool, widths: set[int]) -> Shape:
        """A row or a column of numbers that are listed, as far as their letters tell; else nothing is known."""
        one = self.solver.extents.of(ONE)
        names = [self.key(cell) for cell in cells if isinstance(cell, Name | Sub)]
        small = all(name is not None and not is_capital(name) and not self.bold.holds(name) for name in names)
        if len(cells) < 2 or not names or not small or any(not isinstance(c, Name | Sub | Num | Dots) for c in cells):
            return Shape()
        if flat:
            return self.solver.array(one, self.solver.extents.fresh())
        return self.solver.array(self.solver.extents.fresh(), one) if widths == {1} else Shape()

    def name(self, text: str) -> Shape:
        """A letter."""
        if text in self.bound:
            return self.solver.number()
        if is_constant(text) and text not in self.context.symbols:
            if text == "I":
                edge = self.solver.extents.fresh()
                return self.solver.array(edge, edge)
            return Shape() if text in (r"\mathbf{0}",) else self.solver.number()
        return self.symbol(text)

    def subscript(self, node: Sub) -> Shape:
        """A name with a subscript, an entry or a member."""
        base, full, parts = symbol_name(node.base), symbol_name(node), index_parts(node)
        if full is not None and (full in self.context.symbols or self.is_named(node)):
            return self.symbol(full)
        if base in ("I", r"\mathbf{1}", r"\mathbf{0}") and len(parts) == 1:
            return self.sized_constant(base or "", parts[0])
        if base == r"\delta" and len(parts) == 2 and base not in self.context.symbols:
            return self.solver.number()
        known = self.context.symbols.get(base or "")
        indexed = base in self.usage.arrays or (known is not None and known.kind in ("family",))
        if base is None or (not indexed and known is not None):
            if base is None:
                self.expr(node.base)
            return Shape()
        if not indexed:
            return self.symbol(full or base)
        if known is None and len(parts) == 2 and base.endswith(FAMILY_LABEL):
            return self.entry_of_sample(base, parts)
        for place, part in enumerate(parts):
            self.index(base, place, part)
        if len(parts) == self.usage.arrays.get(base, 1) and known is None:
            return self.members.setdefault(base, Shape())
        if known is not None and known.kind == "array" and known.type is not None and _is_entry(known.type, parts):
            return self.solver.number()
        return self.known_shape(known) if known is not None and known.kind == "family" else Shape()

    def entry_of_sample(self, base: str, parts: Sequence[Expr]) -> Shape:
        r"""`x_j^{(i)}` and `W_{ij}^{(l)}`: the member is a column or a matrix, whose entries are numbers."""
        first, entry = parts
        own = entry.factors if isinstance(entry, Times) and not any(entry.ops) else (entry,)
        for place, part in enumerate((first, *own)):
            self.index(base, place, part)
        cols = self.extent(base, 2) if len(own) == 2 else self.solver.extents.of(ONE)
        self.solver.set_array(self.members.setdefault(base, Shape()), self.extent(base, 1), cols)
        return self.solver.number()

    def sized_constant(self, base: str, part: Expr) -> Shape:
        """`I_n`, `\\mathbf{1}_n`."""
        size = size_of(part)
        name = symbol_name(part)
        if name is not None:
            self.size(name, f"{base}_{{{name}}}")
        edge = self.solver.extents.fresh() if size is None else self.solver.extents.of(size)
        return self.solver.array(edge, edge if base == "I" else self.solver.extents.of(ONE))

    def index(self, base: str, place: int, part: Expr) -> None:
        """An index runs over what it stands at."""
        if not isinstance(part, Name):
            return
        at = self.extent(base, place)
        if part.text in self.bound:
            self.solver.extents.join(self.bound[part.text], at)
        elif part.text not in self.context.symbols:
            self.solver.extents.join(self.ranges.setdefault(part.text, self.solver.extents.fresh()), at)
        elif (highest := self.context.symbols[part.text].highest) is not None:
            self.solver.extents.join(self.solver.extents.of(highest), at)

    def power(self, node: Sup) -> Shape:
        """A label or a power."""
        name = symbol_name(node)
        if name is not None:
            return self.symbol(name)
        if isinstance(node.exponent, Name) and node.exponent.text in ("*", "+", "-"):
            return self.expr(node.base)
        self.expect_number(self.expr(node.exponent))
        if node.base == Name("e") and "e" not in self.context.symbols:
            return self.solver.number()
        inverse = isinstance(node.exponent, Minus)
        if not inverse and not is_capital(self.key(node.base) or "a"):
            self.hint(node.base, 2, "number", "a power")
        if node.exponent == Num(Fraction(2)) and isinstance(node.base, Group):
            self.hint_square(node.base)
        shape = self.expr(node.base)
        self.solver.waiting.append(self.solver.square(shape))
        return shape

    def hint_square(self, group: Group) -> None:
        """Note that the terms of `(y - z)^2` are numbers if their letters are small, whatever they look like."""
        body = group.items[0].exprs[0] if len(group.items) == 1 and group.items[0].alone else None
        terms = [one.body if isinstance(one, Minus) else one for one in body.terms] if isinstance(body, Plus) else []
        names = [self.key(one) for one in terms]
        if names and all(name is not None and not is_capital(name) for name in names):
            for one in terms:
                self.hint(one, 3.5, "number", "a square")

    def times(self, factors: Sequence[Expr], ops: Sequence[str]) -> Shape:
        """Factors from left to right."""
        for place, (left, right) in enumerate(pairwise(factors)):
            names = self.key(left), self.key(right.base if isinstance(right, Transpose) else right)
            outer = isinstance(right, Transpose) and ops[place] == "" and not is_capital(names[1] or "A")
            if outer and not self.is_inner_product(factors, ops, place + 1):
                self.hint(left, 1.6, "column", f"{to_latex(left)} {to_latex(right)}")
            if ops[place] == "" and names[1] is not None and self.is_row_before(left, right, names[1]):
                kind = "matrix" if is_capital(names[1]) else "column"
                self.hint(right, 2.5, kind, f"{to_latex(left)} {names[1]}")
            if place == len(factors) - 2 and ops[place] == "" and is_matrix_before(*names):
                self.hint(right, 1.2, "column", f"{to_latex(left)} {to_latex(right)}")
            if ops[place] == "" and None not in names and is_capital(str(names[1])) and not is_capital(str(names[0])):
                before = self.key(factors[place - 1]) if place else None
                if before is None or not is_capital(before):
                    self.hint(left, 0.5, "row", f"{to_latex(left)} {to_latex(right)}")
        shape = self.expr(factors[0])
        for op, factor in zip(ops, factors[1:], strict=True):
            other = self.expr(factor)
            if op == "o":
                self.solver.equal(shape, other)
            elif op == "/":
                self.expect_number(other)
            else:
                out = Shape()
                self.solver.waiting.append(self.solver.product(shape, other, out, dot=op == "."))
                shape = out
        return shape

    def is_inner_product(self, factors: Sequence[Expr], ops: Sequence[str], place: int) -> bool:
        r"""Whether the transpose at a place meets a small letter behind it, as in `y_i w^\top x_i`."""
        if place >= len(ops) or ops[place] != "":
            return False
        behind = self.key(factors[place + 1])
        return behind is not None and not is_capital(behind)

    def is_row_before(self, left: Expr, right: Expr, name: str) -> bool:
        r"""Whether `w^\top x` stands here, of two letters of which x is Latin."""
        turned = isinstance(left, Transpose) and not is_capital(self.key(left.base) or "A")
        return turned and not isinstance(right, Transpose) and letter_of(name.removesuffix(MEMBER)).isalpha()

    def fraction(self, node: Frac) -> Shape:
        """A quotient, or a derivative that is written as one."""
        if is_ordinary(self.context, node):
            out = Shape()
            body, by = without_d(node.top), without_d(node.bottom)
            self.solver.waiting.append(self.solver.slope(self.expr(body), self.expr(by), out))
            return Shape() if body is None else out
        if not (isinstance(node.bottom, Name | Sub) and is_capital(self.key(node.bottom) or "a")):
            self.hint(node.bottom, 2, "number", "a denominator")
        self.expect_number(self.expr(node.bottom))
        return self.expr(node.top)

    def row_function(self, name: str, shape: Shape, inside: Expr) -> Shape:
        """What is taken of the rows or columns of a matrix is a column, what is taken of all entries a number."""
        if name[:3] not in ("row", "col"):
            self.hint_array(inside, f"{name} takes arrays")
            return self.solver.number()
        edges = self.solver.extents.fresh(), self.solver.extents.fresh()
        self.solver.set_array(shape, *edges)
        return self.solver.array(edges[name.startswith("col")], self.solver.extents.of(ONE))

    def hint_arguments(self, node: Call, inside: list[Expr]) -> None:
        """What a known function says of the kinds of its arguments."""
        for one in inside if node.function in ("softmax", "argmax", "lse", "inner") else ():
            self.hint_array(one, "an inner product" if node.function == "inner" else f"{node.function} takes arrays")
        for one in angles_in(node) if self.has_angles else ():
            self.hint(one, 1.5, "number", "an angle")

    def call(self, node: Call) -> Shape:
        """A known function."""
        args = [self.chain(arg) for arg in node.args]
        inside = [arg.exprs[0] for arg in node.args]
        self.hint_arguments(node, inside)
        if node.function in (*ENTRYWISE, "softmax", "argmax") and len(args) == 1:
            return args[0]
        if node.function.startswith(SLOPE) and isinstance(inside[0], Call):  # tanh'(x)
            return args[1]
        if node.function in ROW_FUNCTIONS and len(args) == 1:
            return self.row_function(node.function, args[0], inside[0])
        if node.function == "attention" and len(args) == 3:
            queries, keys, values = args
            rows, edge, entries, cols = (self.solver.extents.fresh() for _ in range(4))
            self.solver.set_array(queries, rows, edge)
            self.solver.set_array(keys, entries, edge)
            self.solver.set_array(values, entries, cols)
            return self.solver.array(rows, cols)
        if node.function == "inner" and len(args) == 2:
            self.solver.equal(*args)
        if node.function in ("diag", "lse") and len(args) == 1 and not is_capital(self.key(inside[0]) or "A"):
            self.hint(inside[0], 2.5, "column", f"{node.function} takes vectors")
            if node.function == "diag":
                edge = self.solver.extents.fresh()
                self.solver.waiting.append(self.solver.length(args[0], edge))
                return self.solver.array(edge, edge)
        if node.function in ("tr", "det") and len(args) == 1:
            edge = self.solver.extents.fresh()
            self.solver.set_array(args[0], edge, edge)
        if node.function in ("max", "min") and len(args) > 1:  # entry by entry, and of an array and 0
            arrays = [arg for arg, one in zip(args, inside, strict=True) if one != Num(Fraction(0))]
            for other in arrays[1:]:
                self.solver.equal(arrays[0], other)
            return arrays[0] if arrays else self.solver.number()
        if node.function in ("inner", "tr", "det", "lse", "max", "min", "Pr"):
            return self.solver.number()
        return Shape()

    def big(self, node: Big) -> Shape:
        """A sum over indices."""
        if node.op == "lim":
            return self.expr(node.body)
        if node.op == "int":
            for one in node.body.items if isinstance(node.body, Group) else ():
                self.expect_number(self.expr(one.exprs[0]))
            return self.solver.number()
        outer = dict(self.bound)
        for name in bound_letters(node):
            self.bound[name] = self.solver.extents.fresh()
        for chain in node.below:
            index = symbol_name(chain.exprs[0])
            if chain.ops == ("=",) and node.above is not None and index is not None:
                self.upper(index, chain.exprs[1], node.above, node.op)
        inner = self.expr(node.body)
        self.bound = outer
        return inner if node.op in ("sum", "prod") else self.solver.number()

    def upper(self, index: str, low: Expr, above: Expr, op: str) -> None:
        """The bounds of an index."""
        for name in sorted(size_names(above) | size_names(low)):
            self.size(name, f"\\{op}_{{{index}={to_latex(low)}}}^{{{to_latex(above)}}}")
        size = size_of(above)
        if size is not None and isinstance(low, Num) and low.value in (0, 1):
            self.bound[index] = self.solver.extents.of(size)


def is_matrix_before(left: str | None, right: str | None) -> bool:
    """Whether `W x` stands here: a capital letter in front of x, h or another letter of vectors; or `\\Sigma d`."""
    if left is None or right is None:
        return False
    left, right = left.removesuffix(MEMBER), right.removesuffix(MEMBER)
    if left.startswith("\\"):
        return left in _MATRICES and letter_of(right) in VECTORS | frozenset("acdegpst")
    if left[0] == "W" and letter_of(right) == "a":  # activations
        return True
    return is_capital(left) and left[0] not in "LJNTC" and letter_of(right) in VECTORS
