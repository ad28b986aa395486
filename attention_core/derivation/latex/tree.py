"""The syntax tree, built rule by rule.

What each rule of the grammar (in `parse`) builds: the nodes of `syntax`.
Numbers are exact, and the order of a derivative is counted in its variables.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from lark import Token, Transformer, v_args

from attention_core.derivation.latex.syntax import (
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


@v_args(inline=True)
class Build(Transformer[Token, Any]):
    """One method per rule."""

    def start(self, *parts: Any) -> Statement:
        arrows, groups = parts[1::2], parts[::2]
        chains = tuple(chain for group in groups for chain in group)
        lines = tuple(int(a.line or 0) for a in arrows)
        return Statement(chains, tuple(str(a) for a in arrows), lines, tuple(len(g) for g in groups))

    def group(self, *parts: Any) -> tuple[Chain, ...]:
        return tuple(p for p in parts if isinstance(p, Chain))

    def chain(self, *parts: Any) -> Chain:
        ops = parts[1::2]
        return Chain(parts[::2], tuple(str(o) for o in ops), tuple(int(o.line or 0) for o in ops))

    def signed_sum(self, *parts: Any) -> Expr:
        terms: list[Expr] = []
        minus = False
        for part in parts:
            if isinstance(part, Token):
                minus = part.type == "MINUS"
            else:
                terms.append(Minus(part) if minus else part)
                minus = False
        return terms[0] if len(terms) == 1 else Plus(tuple(terms))

    def sign(self, token: Token) -> Token:
        return token

    def juxtaposition(self, factor: Expr) -> tuple[str, Expr]:
        return "", factor

    def operation(self, op: Token, factor: Expr) -> tuple[str, Expr]:
        return str(op), factor

    def negation(self, op: Token, _: Token, factor: Expr) -> tuple[str, Expr]:
        return str(op), Minus(factor)

    def factors(self, first: Expr, *rest: Any) -> Expr:
        if not rest:
            return first
        pairs = [pair if isinstance(pair, tuple) else ("", pair) for pair in rest]
        return Times((first, *(f for _, f in pairs)), tuple(o for o, _ in pairs))

    body = body_open = openfactors = factors

    def open(self, inner: Expr) -> Expr:
        return inner

    def number(self, token: Token) -> Expr:
        return number(token)

    def name(self, token: Token) -> Expr:
        return Name(str(token))

    def infinity(self, _: Token) -> Expr:
        return Name(r"\infty")

    def dots(self, _: Token) -> Expr:
        return Dots()

    def inside(self, _: Token, inner: Expr, __: Token) -> Expr:
        return inner

    def minus_body(self, _: Token, body: Expr) -> Expr:
        return Minus(body)

    def inside_star(self, *_: Token) -> Expr:
        return Name("*")

    def star(self, _: Token) -> Expr:
        return Name("*")

    def sign_mark(self, token: Token) -> Expr:
        return Name(str(token))

    def frac(self, _: Token, top: Expr, bottom: Expr) -> Expr:
        return Frac(top, bottom)

    def root(self, _: Token, body: Expr) -> Expr:
        return Root(body)

    def root_of(self, _: Token, __: Token, degree: Expr, ___: Token, body: Expr) -> Expr:
        return Root(body, degree)

    def absolute(self, _: Token, body: Expr, __: Token) -> Expr:
        return Fence("abs", body)

    def norm(self, _: Token, body: Expr, __: Token) -> Expr:
        return Fence("norm", body)

    def cell(self, inner: Expr | None = None) -> Expr | None:
        return inner

    def row(self, *cells: Any) -> tuple[Expr | None, ...]:
        return tuple(c for c in cells if not isinstance(c, Token))

    def array(self, *parts: Any) -> Expr:
        rows = [p for p in parts if isinstance(p, tuple)]
        if rows and all(c is None for c in rows[-1]):
            rows.pop()
        return Array(tuple(rows))

    def bys(self, *parts: Any) -> tuple[Expr, ...]:
        return tuple(p for p in parts if not isinstance(p, Token))

    def variable(self, mark: Token, variable: Expr, rest: Expr | None = None) -> Expr:
        if rest is None:
            return variable
        if variable != Name(r"\Delta") or not isinstance(rest, Name):
            raise Unreadable("a derivative is by one symbol behind each \\partial", int(mark.line or 0))
        return Name(rf"\Delta {rest.text}")

    def derivative(self, *parts: Any) -> Expr:
        body = next(p for p in parts[3:] if not isinstance(p, Token) and p is not None and not isinstance(p, tuple))
        power = parts[4] if isinstance(parts[3], Token) and parts[3].type == "CARET" else None
        if power is not None:
            body = next(p for p in parts[5:] if not isinstance(p, Token))
        return Derivative(body, order(power, parts[-2]))

    def dhead(self, *parts: Any) -> tuple[Expr, ...]:
        power = parts[4] if isinstance(parts[3], Token) and parts[3].type == "CARET" else None
        return order(power, parts[-2])

    def derive(self, by: tuple[Expr, ...], body: Expr) -> Expr:
        return Derivative(body, by)

    def nabla(self, _: Token, __: Token, by: tuple[Chain, ...], body: Expr) -> Expr:
        return Derivative(body, tuple(c.exprs[0] for c in by), nabla=True)

    def list_items(self, *parts: Any) -> tuple[tuple[Chain, ...], set[str]]:
        return tuple(p for p in parts if isinstance(p, Chain)), {p.type for p in parts if isinstance(p, Token)}

    def round(self, opening: Token, items: Any, closing: Token) -> Expr:
        if len(items[1]) > 1 and opening.type != "LPAR":
            raise Unreadable("a ; among commas is understood in round brackets only", int(opening.line or 0))
        return Group(str(opening), items[0], str(closing), items[1] == {"SEMI"})

    square = round_square = square_round = set = round

    def braces(self, _: Token, inner: Expr, __: Token) -> Expr:
        return inner

    def slice(self, first: Expr | None, _: Token, last: Expr | None) -> Chain:
        return Chain((Slice(first, last),))

    def subscripts(self, *parts: Any) -> tuple[Chain, ...]:
        return tuple(p for p in parts if isinstance(p, Chain))

    def sub_number(self, token: Token) -> tuple[Chain, ...]:
        return (Chain((number(token),)),)

    def sub_name(self, token: Token) -> tuple[Chain, ...]:
        return (Chain((Name(str(token)),)),)

    def sub_infinity(self, _: Token) -> tuple[Chain, ...]:
        return (Chain((Name(r"\infty"),)),)

    def sub(self, base: Expr, _: Token, items: tuple[Chain, ...]) -> Expr:
        if isinstance(base, Sup) and isinstance(base.exponent, Num) and isinstance(base.base, Name):
            return Sup(Sub(base.base, items), base.exponent)  # w^2_{ij} is printed as w_{ij}^2 is
        return Sub(base, items)

    def sup(self, base: Expr, _: Token, exponent: Expr) -> Expr:
        if isinstance(base, Sub) and isinstance(exponent, Group) and exponent.bracket == "(":
            return Sub(Sup(base.base, exponent), base.items)  # \alpha_j^{(t)} is \alpha^{(t)}_j
        return Sup(base, exponent)

    def transpose(self, base: Expr, mark: Token) -> Expr:
        return Transpose(base, str(mark))

    def function(self, token: Token) -> Call:
        return Call(str(token), ())

    def head_sub(self, head: Call, _: Token, items: tuple[Chain, ...]) -> Call:
        return Call(head.function, (), items, head.power)

    def head_sup(self, head: Call, *parts: Any) -> Call:
        if len(parts) == 1:
            raise Unreadable(f"{head.function}^T is not understood: write (..)^\\top around the call", 0)
        return Call(head.function, (), head.sub, parts[1])

    def call(self, head: Call, opening: Token, items: Any, __: Token) -> Expr:
        args, marks = items
        if marks == {"SEMI"}:
            args = (Chain((Group("[", args, "]", True),)),)
        elif opening.type == "LBRACK" and len(args) > 1 and head.function not in ("E", "Var", "Cov", "Pr"):
            args = (Chain((Group("[", args, "]"),)),)
        return Call(head.function, args, head.sub, head.power)

    def open_call(self, head: Call, body: Expr) -> Expr:
        return Call(head.function, (Chain((body,)),), head.sub, head.power)

    def bigop(self, token: Token) -> Big:
        return Big(str(token), (), None, Dots())

    def big_sub(self, head: Big, _: Token, items: tuple[Chain, ...]) -> Big:
        return Big(head.op, items, head.above, head.body)

    def big_sup(self, head: Big, _: Token, above: Expr) -> Big:
        return Big(head.op, head.below, above, head.body)

    def big_letter(self, head: Big, mark: Token) -> Big:
        if not str(mark):
            raise Unreadable(f"\\top above \\{head.op} is not understood", int(mark.line or 0))
        return Big(head.op, head.below, Name(str(mark)), head.body)

    def big(self, head: Big, body: Expr) -> Expr:
        return Big(head.op, head.below, head.above, body)


def number(text: str) -> Num:
    """The number that is written, exactly; an exponent of ten beyond 10^4 is refused."""
    mantissa, _, exponent = text.lower().partition("e")
    if (exponent and abs(int(exponent)) > 10000) or len(text) > 5000:
        raise Unreadable(f"the number {text[:20]}... is too large to be written out")
    return Num(Fraction(mantissa) * Fraction(10) ** int(exponent or 0))


def order(power: Expr | None, by: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """The variables of a derivative: a squared symbol counts twice; there are as many as the power above says."""
    found: list[Expr] = []
    for one in by:
        if isinstance(one, Sup) and isinstance(one.exponent, Num) and 0 < one.exponent.value <= 4:
            found += [one.base] * int(one.exponent.value)
        else:
            found.append(one)
    if (Num(Fraction(1)) if power is None else power) != Num(Fraction(len(found))):
        degree = 1 if power is None else getattr(power, "value", "another one")
        raise Unreadable(
            f"a derivative whose upper \\partial says the order {degree} and whose lower ones say {len(found)}"
        )
    return tuple(found)
