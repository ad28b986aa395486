"""Expressions as text.

A syntax tree back as LaTeX, for messages, `--explain` and the names that subscripts spell.
Not the source text (that is kept where a step is shown) but close to it.
"""

from __future__ import annotations

from attention_core.derivation.latex.syntax import (
    EVALUATED,
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
    children,
)
from attention_core.derivation.latex.tokens import UNREAD_OPERATIONS

SIGNS = {
    "!=": "\\ne", "<=": "\\le", ">=": "\\ge", "~": "\\approx", ">>": "\\gg", "<<": "\\ll", "->": "\\to", "in": "\\in",
    "sim": "\\sim", "perp": "\\perp", "mid": "\\mid", "parallel": "\\parallel",
    **{name: f"\\{name}" for name in (
        "propto", "succ", "prec", "succeq", "preceq", "subset", "subseteq", "supset", "supseteq", "ni", "notin",
        "lesssim", "gtrsim", "mapsto", "leadsto",
    )},
}  # fmt: skip
OPERATORS = {".": " \\cdot ", "*": " \\times ", "o": " \\odot ", "x": " \\otimes ", "/": " / ", "": " ",
             **{name: f" \\{name} " for name in UNREAD_OPERATIONS - {"x"}}}  # fmt: skip


TOP = r"\top"
_COMMANDS = frozenset([
    "exp", "log", "max", "min", "sin", "cos", "tan", "cot", "sec", "csc", "sinh", "cosh", "coth", "arctan", "arcsin",
    "arccos",
])  # fmt: skip
COMPOUND = (Plus, Minus, Times, Frac, Big, Derivative)  # what an index or exponent does not belong to as a whole


def to_latex(expr: object) -> str:
    """A short text of a written expression."""
    if isinstance(expr, Chain) and len(expr.exprs) == 1:  # most indices: a chain is the sixth case below
        return to_latex(expr.exprs[0])
    match expr:
        case Num(value):
            return str(value)
        case Name(text):
            return text
        case Sub(base, items):
            return f"{_in_brackets(base, COMPOUND)}_{{{','.join(to_latex(i) for i in items)}}}"
        case Sup(base, Name(text)) if text == EVALUATED:
            return f"{_in_brackets(base, COMPOUND)}{EVALUATED}"
        case Sup(base, exponent):
            return f"{_in_brackets(base, COMPOUND)}^{{{to_latex(exponent)}}}"
        case Transpose(base, letter):
            return f"{_in_brackets(base, COMPOUND)}^{letter or TOP}"
        case Chain(exprs, ops):
            out = to_latex(exprs[0])
            for op, other in zip(ops, exprs[1:], strict=True):
                out += f" {SIGNS.get(op, op)} {to_latex(other)}"
            return out
        case Group(bracket, items, close):
            inner = (";" if expr.semicolons else ",").join(to_latex(i) for i in items)
            ends = {"{": "\\{", "}": "\\}"}
            return f"{ends.get(bracket, bracket)}{inner}{ends.get(close, close)}"
        case Times(factors, ops):
            return _product(factors, ops)
        case Plus(terms):
            return " + ".join(to_latex(t) for t in terms).replace("+ -", "- ")
        case Minus(body):
            return f"-{_in_brackets(body, (Plus, Minus))}"
        case Frac(top, bottom):
            return f"\\frac{{{to_latex(top)}}}{{{to_latex(bottom)}}}"
        case _:
            return _form(expr)


FAMILY_LABEL = r"^{(\cdot)}"
"""Behind the letter of a family whose members have labels: $x^{(\\cdot)}$ is that of $x^{(1)}, \\dots, x^{(n)}$."""


def family_name(letter: str) -> str:
    """The name of the family whose members are written with a label at a letter.

    Args:
        letter: The letter.
    """
    return f"{letter}{FAMILY_LABEL}"


def symbol_name(expr: Expr) -> str | None:
    """The symbol that an expression spells with its subscripts, if it spells one."""
    match expr:
        case Name(text):
            return text
        case Sub(base, items):
            inner = symbol_name(base)
            return None if inner is None else f"{inner}_{{{','.join(to_latex(i) for i in items)}}}"
        case Sup(base, Group("(", _, _) as group):
            inner = symbol_name(base)
            return None if inner is None else f"{inner}^{{{to_latex(group)}}}"
        case Sup(base, Name("*")):
            inner = symbol_name(base)
            return None if inner is None else f"{inner}^*"
    return None


def _product(factors: tuple[Expr, ...], ops: tuple[str, ...]) -> str:
    """Factors with their signs; a product among factors that only stand side by side needs no brackets."""
    out = ""
    for place, factor in enumerate(factors):
        around = ops[max(0, place - 1) : place + 1]
        plain = isinstance(factor, Times) and not any((*factor.ops, *around))
        kinds: tuple[type, ...] = (Plus, Minus, Times) if place else (Plus, Times)
        kinds = kinds if place == len(ops) else (*kinds, Big, Derivative)
        sign = OPERATORS.get(ops[place - 1], f" {ops[place - 1]} ") if place else ""
        out += sign + (to_latex(factor) if plain else _in_brackets(factor, kinds))
    return out


def _in_brackets(expr: object, kinds: tuple[type, ...]) -> str:
    """The text of a part, in brackets if it is of such a kind: braces keep it together where it was written."""
    return f"({to_latex(expr)})" if isinstance(expr, kinds) else to_latex(expr)


def _form(expr: object) -> str:
    """The rarer forms."""
    match expr:
        case Call("factorial", (Chain((inner,)),)):
            return f"{_in_brackets(inner, (*COMPOUND, Sup, Call))}!"
        case Call("binom", (above, beneath), (), None):
            return f"\\binom{{{to_latex(above)}}}{{{to_latex(beneath)}}}"
        case Call(function, (head, argument), _, None) if function.startswith(SLOPE):
            primes = chr(39) * int(function.removeprefix(SLOPE))
            return f"{to_latex(head).removesuffix('()')}{primes}({to_latex(argument)})"
        case Call(function, args, below, power):
            name = f"\\{function}" if function in _COMMANDS else f"\\operatorname{{{function}}}"
            name += f"_{{{', '.join(to_latex(b) for b in below)}}}" if below else ""
            name += f"^{{{to_latex(power)}}}" if power is not None else ""
            return f"{name}({', '.join(to_latex(a) for a in args)})"
        case Big(op, below, above, body):
            bounds = f"_{{{', '.join(to_latex(b) for b in below)}}}" if below else ""
            ends = f"{bounds}{f'^{{{to_latex(above)}}}' if above is not None else ''}"
            return f"\\{op}{ends} {_in_brackets(body, (Plus,))}"
        case Fence(kind, body):
            return f"|{to_latex(body)}|" if kind == "abs" else f"\\|{to_latex(body)}\\|"
        case Root(body, degree):
            return f"\\sqrt{f'[{to_latex(degree)}]' if degree is not None else ''}{{{to_latex(body)}}}"
        case Array(rows):
            cells = " \\\\ ".join(" & ".join(to_latex(c) if c is not None else "" for c in row) for row in rows)
            return f"\\begin{{bmatrix}} {cells} \\end{{bmatrix}}"
        case Derivative(body, (first, second), True) if first == second:
            return f"\\nabla_{{{to_latex(first)}}}^{{2}} {_in_brackets(body, (Plus,))}"
        case Derivative(body, by):
            return f"\\nabla_{{{', '.join(to_latex(b) for b in by)}}} {_in_brackets(body, (Plus,))}"
        case Dots():
            return "\\dots"
        case Slice(first, last):
            return f"{'' if first is None else to_latex(first)}:{'' if last is None else to_latex(last)}"
    return type(expr).__name__.lower()


def all_names(node: object) -> set[str]:
    """Names as written, the compound names that subscripts and labels such as `W^{(2)}` spell, and their families."""
    found: set[str] = set()
    stack = [node]
    while stack:
        one = stack.pop()
        if isinstance(one, Name):
            found.add(one.text)
            continue
        stack.extend(children(one))
        if isinstance(one, (Sub, Sup)) and (compound := symbol_name(one)):
            found.add(compound)
        if isinstance(one, Sup) and isinstance(one.exponent, Group) and (letter := symbol_name(one.base)):
            found.add(family_name(letter))
    return found
