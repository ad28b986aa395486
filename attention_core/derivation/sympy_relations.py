r"""SymPy relations checked as steps of a document are.

The relation and what is assumed are written as a document: a paragraph that declares every symbol by its assumptions in
SymPy (integer and positive: a size; positive, nonnegative or negative: a number of that sign; otherwise a real number,
`MatrixSymbol`: an array, `IndexedBase`: a family), and one display. What has no form there is one error that names it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

import sympy
from sympy.matrices.expressions.applyfunc import ElementwiseApplyFunction
from sympy.matrices.expressions.matexpr import MatrixElement

from attention_core.derivation.check import check_document
from attention_core.derivation.records import StepReport

SIGNS: dict[Any, str] = {
    sympy.Eq: "=", sympy.Ne: r"\ne", sympy.Lt: "<", sympy.Le: r"\le", sympy.Gt: ">", sympy.Ge: r"\ge",
}  # fmt: skip
GREEK = re.compile(
    r"alpha|beta|gamma|delta|epsilon|zeta|eta|theta|iota|kappa|lambda|mu|nu|xi|pi|rho|sigma|tau|upsilon|phi|chi|psi|"
    r"omega|Gamma|Delta|Theta|Lambda|Xi|Pi|Sigma|Upsilon|Phi|Psi|Omega|ell"
)
PLAIN = (sympy.Symbol, sympy.MatrixSymbol, sympy.Indexed, sympy.Abs)  # written without brackets wherever they stand
LETTERS = ("i", "j", "k", "l", "r", "s", "t")  # for indices that SymPy made
NAME = re.compile(r"(?P<base>[A-Za-z]+)(?:_(?P<below>[A-Za-z0-9_ ]+))?")
FUNCTIONS: dict[Any, str] = {
    sympy.log: r"\log", sympy.sin: r"\sin", sympy.cos: r"\cos", sympy.tanh: r"\tanh", sympy.erf: r"\operatorname{erf}",
    sympy.sign: r"\operatorname{sign}", sympy.tan: r"\tan", sympy.cot: r"\cot", sympy.sec: r"\sec", sympy.csc: r"\csc",
    sympy.sinh: r"\sinh", sympy.cosh: r"\cosh", sympy.coth: r"\coth", sympy.sech: r"\operatorname{sech}",
    sympy.csch: r"\operatorname{csch}", sympy.atan: r"\arctan", sympy.asin: r"\arcsin", sympy.acos: r"\arccos",
    sympy.asinh: r"\operatorname{arsinh}", sympy.acosh: r"\operatorname{arcosh}",
    sympy.atanh: r"\operatorname{artanh}", sympy.erfc: r"\operatorname{erfc}",
}  # fmt: skip


class Unwritable(ValueError):
    """A part of a SymPy expression that has no form in a document."""


def check_relation(relation: Any, assuming: Iterable[Any] = (), **options: Any) -> StepReport:
    r"""Check a SymPy relation as a step of a document is checked.

    Args:
        relation: `sympy.Eq(a, b)`, `a <= b` or the like, or the pair (a, b) for an equation, which SymPy cannot decide
            on the way; sums, products and matrix expressions included. Numbers are real, whatever SymPy assumes of a
            plain `Symbol`.
        assuming: Relations that are assumed.
        options: Those of `check_document`, such as `seconds`.

    Returns:
        The report of the step, with its verdict, the evidence and a counterexample if it is refuted.

    Raises:
        Unwritable: a part of the relation has no form in a document.

    Example:
        >>> import sympy
        >>> x, y = sympy.symbols("x y", positive=True)
        >>> str(check_relation(sympy.Ge((x + y) / 2, sympy.sqrt(x * y))).verdict)
        'AGREES'
        >>> n = sympy.Symbol("n", integer=True, positive=True)
        >>> A, B = sympy.MatrixSymbol("A", n, n), sympy.MatrixSymbol("B", n, n)
        >>> check_relation(sympy.Eq(A * B, B * A)).evidence.text
        '1 is not 0 at n = 2, A = [0, 0; 0, 1], B = [0, 0; 1, 0]'
    """
    return check_document(write_document(relation, assuming), **options).steps[-1]


def write_document(relation: Any, assuming: Iterable[Any] = ()) -> str:
    """Write a relation and what is assumed as a document.

    Args:
        relation: The relation.
        assuming: Relations that are assumed.

    Raises:
        Unwritable: a part has no form in a document.
    """
    assumed = list(assuming)
    scribe = Scribe()
    display = scribe.relation(relation)
    hypotheses = [scribe.relation(one) for one in assumed]
    declared = scribe.declarations()
    lines = [f"Let {', '.join(f'${one}$' for one in declared)}."] if declared else []
    lines += [f"Assume {', '.join(f'${one}$' for one in hypotheses)}."] if hypotheses else []
    return "\n\n".join([*lines, f"$$ {display} $$\n"])


class Scribe:
    """Writes expressions as LaTeX, and notes the symbols that have to be declared."""

    def __init__(self) -> None:
        self.symbols: dict[Any, str] = {}  # numbers and sizes, and how they are declared
        self.arrays: dict[Any, str] = {}
        self.families: dict[Any, str] = {}
        self.bound: dict[Any, tuple[str, Any]] = {}  # the indices of the sums around: their letters and last values

    def declarations(self) -> list[str]:
        """What declares the symbols, sizes first."""
        sizes = [text for text in self.symbols.values() if text.endswith(r"\mathbb{N}")]
        return list(dict.fromkeys([*sizes, *self.symbols.values(), *self.families.values(), *self.arrays.values()]))

    def relation(self, relation: Any) -> str:
        """A relation as a formula; a pair is an equation."""
        if isinstance(relation, tuple) and len(relation) == 2:
            return f"{self.write(relation[0])} = {self.write(relation[1])}"
        sign = SIGNS.get(type(relation))
        if sign is None:
            decided = isinstance(relation, bool | type(sympy.true) | type(sympy.false))
            shown = f"{relation}, which SymPy made of one: hand over the pair (a, b), or evaluate=False"
            raise Unwritable(f"a relation such as sympy.Eq(a, b) is needed, not {shown if decided else type(relation)}")
        return f"{self.write(relation.lhs)} {sign} {self.write(relation.rhs)}"

    def write(self, expr: Any) -> str:
        """An expression as a formula."""
        if isinstance(expr, int | float):
            expr = sympy.sympify(expr)
        for kind, writer in WRITERS:
            if isinstance(expr, kind):
                return writer(self, expr)
        if isinstance(expr, sympy.Function) and type(expr) in FUNCTIONS:
            return rf"{FUNCTIONS[type(expr)]}\left({self.write(expr.args[0])}\right)"
        raise Unwritable(f"{type(expr).__name__} is not translated from SymPy, though a document may use it: {expr}")

    def inside(self, expr: Any) -> str:
        """An expression as a factor or an argument: in brackets where it has several parts."""
        text = self.write(expr)
        return (
            text if isinstance(expr, sympy.Symbol | sympy.MatrixSymbol) or text.isdigit() else rf"\left({text}\right)"
        )

    def symbol(self, symbol: Any) -> str:
        """A number, a size or a bound index."""
        if symbol in self.bound:
            return self.bound[symbol][0]
        name = written_name(symbol.name)
        if symbol.is_real is False or (symbol.is_complex and not symbol.is_real):
            raise Unwritable(f"{symbol} is complex, and complex numbers are not translated from SymPy")
        if symbol.is_integer:
            if not symbol.is_positive:
                raise Unwritable(f"{symbol} is an integer that need not be positive: declare it with positive=True")
            self.symbols[symbol] = rf"{name} \in \mathbb{{N}}"
        elif symbol.is_positive or symbol.is_negative or symbol.is_nonnegative or symbol.is_nonpositive:
            sign = (
                "> 0" if symbol.is_positive else "< 0" if symbol.is_negative
                else r"\ge 0" if symbol.is_nonnegative else r"\le 0"
            )  # fmt: skip
            self.symbols[symbol] = f"{name} {sign}"
        else:
            self.symbols[symbol] = rf"{name} \in \mathbb{{R}}"
        return name

    def matrix_symbol(self, matrix: Any) -> str:
        """An array."""
        name = written_name(matrix.name)
        rows, cols = (self.write(one) for one in matrix.shape)
        self.arrays[matrix] = rf"{name} \in \mathbb{{R}}^{{{rows}" + (rf" \times {cols}}}" if cols != "1" else "}")
        return name

    def index(self, expr: Any) -> str:
        """A member of a family of numbers; the sum around it, or the shape of the base, says how many there are."""
        if len(expr.indices) != 1:
            raise Unwritable(f"{expr} has more than one index: use a MatrixSymbol")
        (index,) = expr.indices
        name = written_name(str(expr.base.label))
        last = expr.base.shape[0] if expr.base.shape else self.bound.get(index, (None, None))[1]
        if last is not None:
            self.families[expr.base] = rf"{name}_1, \dots, {name}_{{{self.write(last)}}} \in \mathbb{{R}}"
        elif expr.base not in self.families:
            raise Unwritable(
                f"how many members {expr.base} has is not known: IndexedBase({str(expr.base)!r}, shape=(n,))"
            )
        return f"{name}_{{{self.write(index)}}}"

    def reduce(self, expr: Any, sign: str) -> str:
        """A sum or a product over one index after the other."""
        heads, around = [], dict(self.bound)
        for index, low, high in expr.limits[::-1]:
            first, last = self.write(low), self.write(high)
            letter = self.bind(index, high, expr)
            heads.append(rf"{sign}_{{{letter} = {first}}}^{{{last}}}")
        text = f"{' '.join(heads)} {self.inside(expr.function)}"
        self.bound = around
        return text

    def bind(self, index: Any, high: Any, expr: Any) -> str:
        """Choose the letter of a bound variable and note its last value."""
        taken = {str(one) for one in expr.free_symbols} | {letter for letter, _ in self.bound.values()}
        letter = index.name if len(index.name) == 1 else next(one for one in LETTERS if one not in taken)
        self.bound[index] = letter, high
        return letter

    def integral(self, expr: Any) -> str:
        """A definite integral; SymPy names the innermost variable first."""
        heads: list[str] = []
        tails: list[str] = []
        around = dict(self.bound)
        for limits in expr.limits[::-1]:
            if len(limits) != 3:
                raise Unwritable(f"{expr} has no bounds: only definite integrals are translated from SymPy")
            low, high = self.write(limits[1]), self.write(limits[2])
            heads.append(rf"\int_{{{low}}}^{{{high}}}")
            tails.insert(0, rf"\, d{self.bind(limits[0], limits[2], expr)}")
        text = rf"{' '.join(heads)} {self.inside(expr.function)} {' '.join(tails)}"
        self.bound = around
        return text

    def element(self, expr: Any) -> str:
        """An entry of an array; SymPy counts from 0."""
        base, i, j = expr.args
        matrix = self.inside(base)
        if base.shape[1] == 1:
            return f"{matrix}_{{{self.write(i + 1)}}}"
        return f"{matrix}_{{{self.write(i + 1)}, {self.write(j + 1)}}}"

    def power(self, expr: Any) -> str:
        """A power, a root or a quotient."""
        base, exponent = expr.as_base_exp()
        if exponent == sympy.Rational(1, 2):
            return rf"\sqrt{{{self.write(base)}}}"
        if exponent.could_extract_minus_sign():
            return rf"\frac{{1}}{{{self.write(base**-exponent)}}}"
        return f"{self.inside(base)}^{{{self.write(exponent)}}}"

    def matrix_power(self, expr: Any) -> str:
        """A whole power of a matrix, which `as_base_exp` would give back as a power of power one."""
        base, exponent = expr.args
        if not exponent.is_Integer:
            raise Unwritable(f"{expr} has no form in a document: the power of a matrix has to be a whole number")
        if exponent == 0:
            return self.write(sympy.Identity(base.shape[0]))
        power = self.inside(base) if abs(exponent) == 1 else f"{self.inside(base)}^{{{abs(exponent)}}}"
        if exponent > 0:
            return power
        return f"{power}^{{-1}}" if exponent == -1 else rf"\left({power}\right)^{{-1}}"


def written_name(name: str) -> str:
    r"""A name as a document writes it: `x_1`, `\alpha`, `s_{\text{scores}}` for a word.

    Example:
        >>> [written_name(one) for one in ("x", "W_Q", "beta", "scores")]
        ['x', 'W_{Q}', '\\beta', 's_{\\text{scores}}']
    """
    found = NAME.fullmatch(re.sub(r"[{}\\]", "", name))
    if found is None:
        raise Unwritable(f"the name {name!r} has no form in a document: use letters, and _ for a subscript")
    base, below = found["base"], found["below"] or ""
    if len(base) > 1 and not GREEK.fullmatch(base):
        return f"{base[0]}_{{\\text{{{base}{below}}}}}"
    written = base if len(base) == 1 else f"\\{base}"
    if not below:
        return written
    return written + (f"_{{{below}}}" if len(below) == 1 or below.isdigit() else f"_{{\\text{{{below}}}}}")


def _rational(scribe: Scribe, expr: Any) -> str:
    sign = "-" if expr.p < 0 else ""
    return f"{sign}{abs(expr.p)}" if expr.q == 1 else rf"{sign}\frac{{{abs(expr.p)}}}{{{expr.q}}}"


def _sum(scribe: Scribe, expr: Any) -> str:
    text = ""
    for term in expr.args:
        written = scribe.write(term)
        text += written if not text else f" - {written[1:].lstrip()}" if written.startswith("-") else f" + {written}"
    return text


def _product(scribe: Scribe, expr: Any) -> str:
    top, bottom = sympy.fraction(expr)
    if bottom != 1:
        sign, top = ("-", -top) if top.could_extract_minus_sign() else ("", top)
        return rf"{sign}\frac{{{scribe.write(top)}}}{{{scribe.write(bottom)}}}"
    return _factors(scribe, list(expr.args))


def _factors(scribe: Scribe, factors: list[Any]) -> str:
    sign = ""
    if factors[0] == -1:
        sign, factors = "-", factors[1:]
    elif getattr(factors[0], "is_Rational", False) and factors[0] < 0:
        sign, factors = "-", [-factors[0], *factors[1:]]
    return sign + r" \cdot ".join(scribe.inside(one) for one in factors)


def _matrix_product(scribe: Scribe, expr: Any) -> str:
    return _factors(scribe, [one for one in expr.args if one != 1]).replace(r" \cdot ", " ")


def _ones(scribe: Scribe, expr: Any) -> str:
    rows, cols = (scribe.write(one) for one in expr.shape)
    if cols == "1":
        return rf"\mathbf{{1}}_{{{rows}}}"
    column = "" if rows == "1" else rf"\mathbf{{1}}_{{{rows}}} "
    return rf"{column}\mathbf{{1}}_{{{cols}}}^\top"


def _dense(scribe: Scribe, expr: Any) -> str:
    rows = [" & ".join(scribe.write(one) for one in expr.row(k)) for k in range(expr.rows)]
    body = r" \\ ".join(rows)
    return rf"\begin{{pmatrix}} {body} \end{{pmatrix}}"


def _piecewise(scribe: Scribe, expr: Any) -> str:
    rows = []
    for value, test in expr.args:
        when = r"\text{otherwise}" if test == True else rf"\text{{if }} {scribe.relation(test)}"  # noqa: E712
        rows.append(f"{scribe.write(value)} & {when}")
    body = r" \\ ".join(rows)
    return rf"\begin{{cases}} {body} \end{{cases}}"


def _derivative(scribe: Scribe, expr: Any) -> str:
    if len(expr.variables) != 1 or isinstance(expr.expr, sympy.core.function.AppliedUndef):
        raise Unwritable(f"{expr} has no form in a document: only first derivatives of written expressions have one")
    return rf"\frac{{\partial}}{{\partial {scribe.write(expr.variables[0])}}} {scribe.inside(expr.expr)}"


def _applied(scribe: Scribe, expr: Any) -> str:
    name = expr.function.expr.func
    sign = r"\exp" if name is sympy.exp else FUNCTIONS.get(name)
    if sign is None or expr.function.expr.args != (expr.function.variables[0],):
        raise Unwritable(f"{expr} has no form in a document")
    return rf"{sign}\left({scribe.write(expr.expr)}\right)"


Writer = Callable[[Scribe, Any], str]


def _extreme(sign: str) -> Writer:
    return lambda scribe, expr: rf"{sign}\left({', '.join(scribe.write(one) for one in expr.args)}\right)"


def _call(sign: str) -> Writer:
    return lambda scribe, expr: rf"{sign}\left({scribe.write(expr.args[0])}\right)"


WRITERS: tuple[tuple[Any, Writer], ...] = (
    (sympy.Rational, _rational),
    (sympy.Float, lambda s, e: _rational(s, sympy.Rational(e))),
    (type(sympy.pi), lambda s, e: r"\pi"),
    (type(sympy.E), lambda s, e: "e"),
    (sympy.MatrixSymbol, lambda s, e: s.matrix_symbol(e)),
    (sympy.Symbol, lambda s, e: s.symbol(e)),
    (sympy.Indexed, lambda s, e: s.index(e)),
    (sympy.Sum, lambda s, e: s.reduce(e, r"\sum")),
    (sympy.Product, lambda s, e: s.reduce(e, r"\prod")),
    (sympy.Integral, lambda s, e: s.integral(e)),
    (sympy.binomial, lambda s, e: rf"\binom{{{s.write(e.args[0])}}}{{{s.write(e.args[1])}}}"),
    (type(sympy.oo), lambda s, e: r"\infty"),
    (type(-sympy.oo), lambda s, e: r"-\infty"),
    (MatrixElement, lambda s, e: s.element(e)),
    (sympy.exp, lambda s, e: f"e^{{{s.write(e.args[0])}}}"),
    (sympy.Abs, lambda s, e: rf"\left|{s.write(e.args[0])}\right|"),
    (sympy.Max, _extreme(r"\max")),
    (sympy.Min, _extreme(r"\min")),
    (sympy.KroneckerDelta, lambda s, e: rf"\delta_{{{s.write(e.args[0])} {s.write(e.args[1])}}}"),
    (sympy.Piecewise, _piecewise),
    (sympy.Derivative, _derivative),
    (sympy.Identity, lambda s, e: f"I_{{{s.write(e.shape[0])}}}"),
    (sympy.ZeroMatrix, lambda s, e: "0"),
    (sympy.OneMatrix, _ones),
    (sympy.Transpose, lambda s, e: rf"{s.inside(e.arg)}^\top"),
    (sympy.Inverse, lambda s, e: f"{s.inside(e.arg)}^{{-1}}"),
    (sympy.Trace, _call(r"\operatorname{tr}")),
    (sympy.Determinant, _call(r"\det")),
    (sympy.HadamardProduct, lambda s, e: r" \odot ".join(s.inside(one) for one in e.args)),
    (ElementwiseApplyFunction, _applied),
    (sympy.MatAdd, _sum),
    (sympy.Add, _sum),
    (sympy.MatMul, _matrix_product),
    (sympy.Mul, _product),
    (sympy.MatPow, lambda s, e: s.matrix_power(e)),
    (sympy.Pow, lambda s, e: s.power(e)),
    (sympy.MatrixBase, _dense),
)
