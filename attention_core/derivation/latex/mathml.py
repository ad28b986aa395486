"""Formulas as MathML.

The syntax tree as MathML, which browsers render without a script.
Every text that comes from a document is escaped; brackets are kept as they were written.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from html import escape

from attention_core.derivation.latex.parse import parse_statement
from attention_core.derivation.latex.printer import FAMILY_LABEL
from attention_core.derivation.latex.shown_names import find_closing, show_names
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
    Statement,
    Sub,
    Sup,
    Times,
    Transpose,
    Unreadable,
)

_LETTERS = """
    alpha α beta β gamma γ delta δ epsilon ϵ varepsilon ε zeta ζ eta η theta θ vartheta ϑ iota ι kappa κ lambda λ mu μ
    nu ν xi ξ pi π rho ρ varrho ϱ sigma σ tau τ upsilon υ phi ϕ varphi φ chi χ psi ψ omega ω Gamma Γ Delta Δ Theta Θ
    Lambda Λ Xi Ξ Pi Π Sigma Σ Upsilon Υ Phi Φ Psi Ψ Omega Ω ell ℓ hbar ℏ infty ∞"""
GREEK = dict(re.findall(r"(\w+) (\S)", _LETTERS))
SIGNS = {
    "!=": "≠", "<=": "≤", ">=": "≥", "~": "≈", ">>": "≫", "<<": "≪", "->": "→", "in": "∈", "sim": "∼", "perp": "⊥",
    "=>": "⟹", "<=>": "⟺", "succ": "≻", "prec": "≺", "succeq": "⪰", "preceq": "⪯", "subset": "⊂", "subseteq": "⊆",
    "ni": "∋", "notin": "∉", "supset": "⊃", "supseteq": "⊇", "mapsto": "↦",
    "leadsto": "⇝", "lesssim": "≲", "gtrsim": "≳", "mid": "∣", "parallel": "∥", "propto": "∝",
}  # fmt: skip
PRODUCTS = {
    "": "\u2062",
    ".": "⋅",
    "*": "×",
    "o": "⊙",
    "x": "⊗",
    "/": "/",
    "star": "⋆",
    "oslash": "⊘",
    "cup": "∪",
    "cap": "∩",
    "setminus": "∖",
    "oplus": "⊕",
    "ominus": "⊖",
    "boxtimes": "⊠",
    "wedge": "∧",
    "vee": "∨",
    "land": "∧",
    "lor": "∨",
    "bmod": "mod",
    "bullet": "∙",
}
BIGS = {
    "sum": "∑", "prod": "∏", "int": "∫", "coprod": "∐", "bigcup": "⋃", "bigcap": "⋂", "bigoplus": "⨁", "bigotimes": "⨂",
    "bigodot": "⨀",
}  # fmt: skip
FUNCTIONS = {
    "relu": "ReLU", "attention": "Attention", "E": "𝔼", "lse": "LSE", "Normal": "𝒩", "sign": "sign",
}  # fmt: skip
SQUARE = frozenset({"E", "Var", "Cov", "Pr"})
ACCENTS = {
    "bar": "¯", "overline": "¯", "hat": "^", "widehat": "^", "tilde": "~", "widetilde": "~", "dot": "˙", "ddot": "¨",
}  # fmt: skip
NAMES = {"nabla": "∇", "centerdot": "⋅", "cdot": "⋅", "partial": "∂", "top": "⊤", "emptyset": "∅"}
_FORMULA = re.compile(r"[(\[|]| |\}\{|\\begin")
_NAMED = re.compile(r"\\([a-zA-Z]+)\{(.*)\}('*)$", re.DOTALL)


def math(inner: str, display: bool = False) -> str:
    """A formula of its own."""
    return f"<math display='block'>{inner}</math>" if display else f"<math>{inner}</math>"


def operator(text: str, **attributes: str) -> str:
    """One `mo`."""
    given = "".join(f" {k}='{v}'" for k, v in attributes.items())
    return f"<mo{given}>{escape(text)}</mo>"


def row(*parts: str) -> str:
    """Several things side by side."""
    return f"<mrow>{''.join(parts)}</mrow>"


def statement(node: Statement) -> str:
    """Chains joined by arrows."""
    out = [chain(node.chains[0])]
    for arrow, following in zip(node.arrows, node.chains[1:], strict=True):
        out += [operator(SIGNS[arrow]), chain(following)]
    return row(*out) if len(out) > 1 else out[0]


def relation(op: str) -> str:
    """The sign of a relation."""
    return operator(SIGNS.get(op, op))


def chain(node: Chain) -> str:
    """Expressions with relations between them."""
    out = [mathml(node.exprs[0])]
    for op, expr in zip(node.ops, node.exprs[1:], strict=True):
        out += [relation(op), mathml(expr)]
    return row(*out) if len(out) > 1 else out[0]


def join_chains(items: tuple[Chain, ...], mark: str = ",") -> str:
    """Chains with commas between them."""
    out: list[str] = []
    for item in items:
        out += [operator(mark), chain(item)] if out else [chain(item)]
    return row(*out) if len(out) != 1 else out[0]


def mathml(node: Expr | None) -> str:
    """One expression."""
    match node:
        case None:
            return "<mrow></mrow>"
        case Num(value):
            return number(value)
        case Name(text):
            return name(text)
        case Sub(Name(text) as family, (label, *entry)) if _is_family(family):
            member = Sup(Name(text.removesuffix(FAMILY_LABEL)), Group("(", (label,), ")"))
            return mathml(Sub(member, tuple(entry)) if entry else member)
        case Sub(base, items):
            return f"<msub>{mathml(base)}{join_chains(items)}</msub>"
        case Sup(Sub(base, items), exponent) if not _is_family(base):
            return f"<msubsup>{mathml(base)}{join_chains(items)}{mathml(exponent)}</msubsup>"
        case Sup(base, exponent):
            return f"<msup>{mathml(base)}{mathml(exponent)}</msup>"
        case Transpose(Sub(base, items), letter) if not _is_family(base):
            return f"<msubsup>{mathml(base)}{join_chains(items)}{name(letter) if letter else operator('⊤')}</msubsup>"
        case Transpose(base, letter):
            return f"<msup>{mathml(base)}{name(letter) if letter else operator('⊤')}</msup>"
        case Minus(body):
            return row(operator("−"), mathml(body))
        case Plus(terms):
            return row(mathml(terms[0]), *(render_signed_term(term) for term in terms[1:]))
        case Times(factors, ops):
            rest = (operator(PRODUCTS[op]) + mathml(factor) for op, factor in zip(ops, factors[1:], strict=True))
            return row(mathml(factors[0]), *rest)
        case Frac(top, bottom):
            return f"<mfrac>{mathml(top)}{mathml(bottom)}</mfrac>"
        case Root(body, None):
            return f"<msqrt>{mathml(body)}</msqrt>"
        case Root(body, degree):
            return f"<mroot>{mathml(body)}{mathml(degree)}</mroot>"
        case _:
            return rarer(node)


def _is_family(base: Expr) -> bool:
    """Whether a base is a family whose members are written with a label."""
    return isinstance(base, Name) and base.text.endswith(FAMILY_LABEL)


def rarer(node: Expr | None) -> str:
    """Brackets, calls, sums, matrices, derivatives."""
    match node:
        case Group(bracket, items, close, semicolons):
            return fence(bracket, join_chains(items, ";" if semicolons else ","), close)
        case Fence(kind, body):
            bar = "‖" if kind == "norm" else "|"
            return fence(bar, mathml(body), bar)
        case Call():
            return call(node)
        case Big():
            return big(node)
        case Array(rows):
            return table([[mathml(cell) for cell in line] for line in rows])
        case Dots():
            return operator("…")
        case Slice(first, last):
            return row(mathml(first) if first else "", operator(":"), mathml(last) if last else "")
        case Derivative(body, by, nabla):
            if nabla:
                under = row(*(mathml(b) for b in by))
                if len(by) == 2 and by[0] == by[1]:
                    sign = f"<msubsup>{operator('∇')}{mathml(by[0])}{number(Fraction(2))}</msubsup>"
                    return row(sign, mathml(body))
                return row(f"<msub>{operator('∇')}{under}</msub>", mathml(body))
            bottom = row(*(operator("∂") + mathml(b) for b in by))
            top = operator("∂") if len(by) == 1 else f"<msup>{operator('∂')}{number(Fraction(len(by)))}</msup>"
            return row(f"<mfrac>{top}{bottom}</mfrac>", mathml(body))
        case _:
            raise TypeError(f"no MathML for {type(node).__name__}")


def table(rows: Sequence[Sequence[str]]) -> str:
    """A matrix of cells that are MathML already."""
    lines = ("".join(f"<mtd>{cell}</mtd>" for cell in line) for line in rows)
    return fence("[", f"<mtable>{''.join(f'<mtr>{line}</mtr>' for line in lines)}</mtable>", "]")


def amount(found: object) -> str:
    """A value as a counterexample holds it: a number or its exact text, or rows of these as a column or a matrix.

    Example:
        >>> amount("-1/2")
        '<mrow><mo>−</mo><mfrac><mn>1</mn><mn>2</mn></mfrac></mrow>'
    """
    if isinstance(found, list):
        return table([[amount(cell) for cell in line] for line in found])
    text = str(found)
    digits = text.removeprefix("-")
    top, _, bottom = digits.partition("/")
    if top.isdecimal() and bottom.isdecimal():
        shown = f"<mfrac><mn>{top}</mn><mn>{bottom}</mn></mfrac>"
    elif digits[:1].isdecimal():
        shown = f"<mn>{escape(digits)}</mn>"
    else:
        return f"<mtext>{escape(text)}</mtext>"
    return row(operator("−"), shown) if text.startswith("-") else shown


def words(text: str) -> str:
    """Words between formulas."""
    return f"<mtext>\u00a0{escape(text)}\u00a0</mtext>"


def render_signed_term(term: Expr) -> str:
    """A term behind the first, with its sign."""
    return operator("−") + mathml(term.body) if isinstance(term, Minus) else operator("+") + mathml(term)


def fence(opening: str, inner: str, closing: str) -> str:
    """Something in brackets that grow with it."""
    return row(operator(opening, fence="true"), inner, operator(closing, fence="true"))


def number(value: Fraction) -> str:
    """A decimal where it ends within 20 digits, else a fraction."""
    text = str(value)
    if value.denominator != 1:
        digits = next((k for k in range(1, 21) if (value * 10**k).denominator == 1), 0)
        if not digits:
            return f"<mfrac><mn>{value.numerator}</mn><mn>{value.denominator}</mn></mfrac>"
        whole, part = divmod(abs(value.numerator) * 10**digits // value.denominator, 10**digits)
        text = f"{whole}.{part:0{digits}d}"
    return f"<mn>{escape(text)}</mn>"


def name(text: str) -> str:
    """A symbol: a letter, a Greek letter, one with an accent, a word, or a formula that is read as a symbol."""
    bare = text.rstrip("'")
    primes = "′" * (len(text) - len(bare))
    if bare.startswith("\\") and (letter := GREEK.get(bare[1:]) or NAMES.get(bare[1:])):
        return f"<mi>{letter}{primes}</mi>"
    if _FORMULA.search(bare) and (shown := _show_formula(bare)):
        return f"<msup>{shown}{operator(primes)}</msup>" if primes else shown
    found = _NAMED.match(bare)
    if not found:
        return f"<mi>{escape(bare.lstrip(chr(92)))}{primes}</mi>"
    kind, inner = found.group(1), found.group(2)
    if kind in ACCENTS:
        return f"<mover>{name(inner)}{operator(ACCENTS[kind])}</mover>"
    if kind in ("mathbb", "mathcal") and len(inner) == 1 and inner.isalpha():
        return f"<mi>{alphabet(kind, inner)}{primes}</mi>"
    return f"<mi mathvariant='normal'>{escape(inner)}{primes}</mi>"


def _show_formula(text: str) -> str:
    """A formula that is the name of a symbol, '' if it is not read as one."""
    while text.startswith("((") and find_closing(text, 0) == len(text):  # a term that was read as a number
        text = text[1:-1]
    try:
        read = parse_statement(show_names(text))
    except (Unreadable, RecursionError):
        return ""
    if read.arrows or len(read.chains) > 1 or not read.chains[0].alone:
        return statement(read)
    inner = read.chains[0].exprs[0]
    while isinstance(inner, Group) and inner.bracket == "(" and len(inner.items) == 1 and inner.items[0].alone:
        inner = inner.items[0].exprs[0]
    if isinstance(inner, Plus):
        return fence("(", mathml(inner), ")")
    return "" if isinstance(inner, Name) else mathml(inner)


def alphabet(kind: str, letter: str) -> str:
    """A letter of the double-struck or script alphabet; some stand in an older block of Unicode."""
    older = {
        "mathbb": dict(zip("CHNPQRZ", "ℂℍℕℙℚℝℤ", strict=True)),
        "mathcal": dict(zip("BEFHILMR", "ℬℰℱℋℐℒℳℛ", strict=True)),
    }
    start = {"mathbb": 0x1D538, "mathcal": 0x1D49C}[kind]
    return older[kind].get(letter) or (chr(start + ord(letter) - ord("A")) if letter.isupper() else letter)


def call(node: Call) -> str:
    """A function of its arguments; a binomial coefficient, whose arguments stand one above the other."""
    if node.function == "binom" and len(node.args) == 2 and not node.sub:
        above, beneath = (join_chains((one,)) for one in node.args)
        stacked = fence("(", f"<mfrac linethickness='0'>{above}{beneath}</mfrac>", ")")
        return stacked if node.power is None else f"<msup>{stacked}{mathml(node.power)}</msup>"
    if node.function.startswith(SLOPE):
        primes = operator("\u2032" * int(node.function.removeprefix(SLOPE)))
        function, argument = node.args
        if isinstance(known := function.exprs[0], Call):
            words = escape(FUNCTIONS.get(known.function, known.function))
            head = f"<mi mathvariant='normal'>{words}</mi>"
            return row(f"<msup>{head}{primes}</msup>", fence("(", join_chains((argument,)), ")"))
        return row(f"<msup>{join_chains((function,))}{primes}</msup>", fence("(", join_chains((argument,)), ")"))
    if node.function == "inner" and not node.sub and node.power is None:
        return row(operator("⟨", fence="true"), join_chains(node.args), operator("⟩", fence="true"))
    words = FUNCTIONS.get(node.function, node.function)
    head = f"<mi mathvariant='normal'>{escape(words)}</mi>"
    if node.sub:
        head = f"<msub>{head}{join_chains(node.sub)}</msub>"
    if node.power is not None:
        head = f"<msup>{head}{mathml(node.power)}</msup>"
    opening, closing = ("[", "]") if node.function in SQUARE else ("(", ")")
    return row(head, operator("\u2061"), fence(opening, join_chains(node.args), closing))


def big(node: Big) -> str:
    """A sum, a product, a largest or smallest, a limit, an integral with its differentials."""
    sign = operator(BIGS.get(node.op, node.op))
    below = join_chains(node.below)
    if node.below and node.above is not None:
        sign = f"<munderover>{sign}{below}{mathml(node.above)}</munderover>"
    elif node.below:
        sign = f"<munder>{sign}{below}</munder>"
    elif node.above is not None:
        sign = f"<mover>{sign}{mathml(node.above)}</mover>"
    if node.op == "int" and isinstance(node.body, Group) and len(node.body.items) > 1:
        body, *variables = node.body.items
        return row(sign, chain(body), *(operator("d", lspace="0.17em", rspace="0") + chain(one) for one in variables))
    return row(sign, mathml(node.body))
