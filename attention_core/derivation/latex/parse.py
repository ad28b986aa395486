r"""From tokens to the syntax tree, by Lark's LALR parser with the grammar below.

`Build` has a method for each rule of the grammar and makes the nodes of `syntax`: numbers are exact, and the order of a
derivative is counted in its variables. A token that is not expected is reported with what stands before it, as it is
written. A product is greedy: `\sum` and `\log` without brackets take the factors that follow, up to + or - or a
relation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache, lru_cache
from operator import itemgetter
from typing import Any

from lark import Lark

from attention_core.derivation.latex.braces import change_last_bracket
from attention_core.derivation.latex.lexer import KEPT_FORMULAS, tokenize
from attention_core.derivation.latex.primes import apply_head
from attention_core.derivation.latex.printer import SIGNS
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
from attention_core.derivation.latex.table import GivenTokens, Table, Unexpected
from attention_core.derivation.latex.tokens import Tok, depth_zero


class Build:
    """One method per rule, of the values of its parts: trees and tokens."""

    def start(self, *parts: Any) -> Statement:
        if len(parts) == 1:
            return Statement(parts[0], (), (), (len(parts[0]),))
        arrows, groups = parts[1::2], parts[::2]
        chains = tuple(chain for group in groups for chain in group)
        lines = tuple([a.line for a in arrows])
        return Statement(chains, tuple([a.value for a in arrows]), lines, tuple([len(g) for g in groups]))

    def group(self, *parts: Any) -> tuple[Chain, ...]:
        return tuple(p for p in parts if isinstance(p, Chain))

    def chain(self, *parts: Any) -> Chain:
        if len(parts) == 1:
            return Chain(parts)
        ops = parts[1::2]
        return Chain(parts[::2], tuple([o.value for o in ops]), tuple([o.line for o in ops]))

    def signed_sum(self, *parts: Any) -> Expr:
        terms: list[Expr] = []
        minus = False
        for part in parts:
            if isinstance(part, Tok):
                minus = part.kind == "MINUS"
            else:
                terms.append(Minus(part) if minus else part)
                minus = False
        return terms[0] if len(terms) == 1 else Plus(tuple(terms))

    def operation(self, op: Tok, factor: Expr) -> tuple[str, Expr]:
        return op.value, factor

    def negation(self, op: Tok, _: Tok, factor: Expr) -> tuple[str, Expr]:
        return op.value, Minus(factor)

    def factors(self, first: Expr, *rest: Any) -> Expr:
        pairs = [pair if isinstance(pair, tuple) else ("", pair) for pair in rest]
        return Times((first, *[f for _, f in pairs]), tuple([o for o, _ in pairs]))

    body = body_open = openfactors = factors

    def number(self, token: Tok) -> Expr:
        return number(token.value)

    def name(self, token: Tok) -> Expr:
        return Name(token.value)

    def infinity(self, _: Tok) -> Expr:
        return Name(r"\infty")

    def dots(self, _: Tok) -> Expr:
        return Dots()

    def inside(self, _: Tok, inner: Expr, __: Tok) -> Expr:
        return inner

    def minus_body(self, _: Tok, body: Expr) -> Expr:
        return Minus(body)

    def inside_star(self, *_: Tok) -> Expr:
        return Name("*")

    def star(self, _: Tok) -> Expr:
        return Name("*")

    def sign_mark(self, token: Tok) -> Expr:
        return Name(token.value)

    def frac(self, _: Tok, top: Expr, bottom: Expr) -> Expr:
        return Frac(top, bottom)

    def root(self, _: Tok, body: Expr) -> Expr:
        return Root(body)

    def root_of(self, _: Tok, __: Tok, degree: Expr, ___: Tok, body: Expr) -> Expr:
        return Root(body, degree)

    def absolute(self, _: Tok, body: Expr, __: Tok) -> Expr:
        if isinstance(body, Fence) and body.kind == "abs":
            return Fence("norm", body.body)  # people write ||x|| for a norm; of numbers both are the magnitude
        return Fence("abs", body)

    def norm(self, _: Tok, body: Expr, __: Tok) -> Expr:
        return Fence("norm", body)

    def cell(self, inner: Expr | None = None) -> Expr | None:
        return inner

    def row(self, *cells: Any) -> tuple[Expr | None, ...]:
        return tuple(c for c in cells if not isinstance(c, Tok))

    def array(self, *parts: Any) -> Expr:
        rows = [p for p in parts if not isinstance(p, Tok)]
        if rows and all(c is None for c in rows[-1]):
            rows.pop()
        return Array(tuple(rows))

    def bys(self, *parts: Any) -> tuple[Expr, ...]:
        by = tuple(p for p in parts if not isinstance(p, Tok))
        if len(by) == 2 and isinstance(by[1], Transpose):  # \partial x \partial y^\top: the gradient by x comes first
            return by[1].base, by[0]
        return by

    def variable(self, mark: Tok, variable: Expr, rest: Expr | None = None) -> Expr:
        if rest is None:
            return variable
        if variable != Name(r"\Delta") or not isinstance(rest, Name):
            raise Unreadable("a derivative is by one symbol after each \\partial", mark.line)
        return Name(rf"\Delta {rest.text}")

    def derivative(self, *parts: Any) -> Expr:
        body = next(p for p in parts[3:] if not isinstance(p, Tok) and p is not None and not isinstance(p, tuple))
        power = parts[4] if isinstance(parts[3], Tok) and parts[3].kind == "CARET" else None
        if power is not None:
            body = next(p for p in parts[5:] if not isinstance(p, Tok))
        return Derivative(body, order(power, parts[-2]))

    def dhead(self, *parts: Any) -> tuple[Expr, ...]:
        power = parts[4] if isinstance(parts[3], Tok) and parts[3].kind == "CARET" else None
        return order(power, parts[-2])

    def derive(self, by: tuple[Expr, ...], body: Expr) -> Expr:
        return Derivative(body, by)

    def nabla(self, _: Tok, __: Tok, by: tuple[Chain, ...], body: Expr) -> Expr:
        return Derivative(body, tuple(c.exprs[0] for c in by), nabla=True)

    def list_items(self, *parts: Any) -> tuple[tuple[Chain, ...], set[str]]:
        return tuple(p for p in parts if isinstance(p, Chain)), {p.kind for p in parts if isinstance(p, Tok)}

    def round(self, opening: Tok, items: Any, closing: Tok) -> Expr:
        if len(items[1]) > 1 and opening.kind != "LPAR":
            raise Unreadable("a ; among commas is understood in round brackets only", opening.line)
        return Group(opening.value, items[0], closing.value, items[1] == {"SEMI"})

    square = round_square = square_round = set = round

    def braces(self, _: Tok, inner: Expr, __: Tok) -> Expr:
        return inner

    def slice(self, first: Expr | None, _: Tok, last: Expr | None) -> Chain:
        return Chain((Slice(first, last),))

    def subscripts(self, *parts: Any) -> tuple[Chain, ...]:
        return tuple(p for p in parts if isinstance(p, Chain))

    def sub_number(self, token: Tok) -> tuple[Chain, ...]:
        return (Chain((number(token.value),)),)

    def sub_name(self, token: Tok) -> tuple[Chain, ...]:
        return (Chain((Name(token.value),)),)

    def sub_infinity(self, _: Tok) -> tuple[Chain, ...]:
        return (Chain((Name(r"\infty"),)),)

    def sub(self, base: Expr, _: Tok, items: tuple[Chain, ...]) -> Expr:
        if isinstance(base, Sup) and isinstance(base.exponent, Num) and isinstance(base.base, Name):
            return Sup(Sub(base.base, items), base.exponent)  # w^2_{ij} is printed as w_{ij}^2 is
        return Sub(base, items)

    def sup(self, base: Expr, _: Tok, exponent: Expr) -> Expr:
        if isinstance(base, Sub) and isinstance(exponent, Group) and exponent.bracket == "(":
            return Sub(Sup(base.base, exponent), base.items)  # \alpha_j^{(t)} is \alpha^{(t)}_j
        return change_last_bracket(base, lambda last: Sup(last, exponent))

    def transpose(self, base: Expr, mark: Tok) -> Expr:
        return change_last_bracket(base, lambda last: Transpose(last, mark.value))

    def factorial(self, base: Expr, mark: Tok) -> Call:
        if isinstance(base, Call) and base.function == "factorial":
            raise Unreadable("n!! is not understood: write the product that is meant, or (n!)!", mark.line)
        return Call("factorial", (Chain((base,)),))

    def sub_star(self, *tokens: Tok) -> tuple[Chain, ...]:
        mark = next(t for t in tokens if t.kind == "TIMES")
        if mark.value != "*":
            raise Unreadable("an operation is not understood as a subscript", mark.line)
        return (Chain((Name("*"),)),)

    def function(self, token: Tok) -> Call:
        return Call(token.value, ())

    def head_sub(self, head: Call, _: Tok, items: tuple[Chain, ...]) -> Call:
        return Call(head.function, (), items, head.power)

    def head_sup(self, head: Call, *parts: Any) -> Call:
        if len(parts) == 1:
            raise Unreadable(f"{head.function}^T is not understood: write (..)^\\top around the call", 0)
        return Call(head.function, (), head.sub, parts[1])

    def call(self, head: Call, opening: Tok, items: Any, __: Tok) -> Expr:
        args, marks = items
        if marks == {"SEMI"}:
            args = (Chain((Group("[", args, "]", True),)),)
        elif opening.kind == "LBRACK" and len(args) > 1 and head.function not in ("E", "Var", "Cov", "Pr"):
            args = (Chain((Group("[", args, "]"),)),)
        return apply_head(head, args)

    def open_call(self, head: Call, body: Expr) -> Expr:
        return apply_head(head, (Chain((body,)),))

    def given(self, index: Expr, _: Tok, *parts: Any) -> Chain:
        ops = (":", *(op.value for op in parts[1::2]))
        return Chain((index, *parts[::2]), ops, (0, *(op.line for op in parts[1::2])))

    def open_negative(self, head: Call, _: Tok, body: Expr) -> Expr:
        return self.open_call(head, Minus(body))

    def bigop(self, token: Tok) -> Big:
        return Big(token.value, (), None, Dots())

    def big_sub(self, head: Big, _: Tok, items: tuple[Chain, ...]) -> Big:
        return Big(head.op, items, head.above, head.body)

    def big_sup(self, head: Big, _: Tok, above: Expr) -> Big:
        return Big(head.op, head.below, above, head.body)

    def big_letter(self, head: Big, mark: Tok) -> Big:
        if not mark.value:
            raise Unreadable(f"\\top above \\{head.op} is not understood", mark.line)
        return Big(head.op, head.below, Name(mark.value), head.body)

    def big(self, head: Big, body: Expr) -> Expr:
        head = replace(head, below=tuple(_share_sets(head.below)))
        *alone, last = head.below or (None,)
        listed = alone and all(one.alone and isinstance(one.exprs[0], Name) for one in alone)
        if head.above is None or not listed or last is None or last.ops != ("=",):
            return Big(head.op, head.below, head.above, body)
        for one in (last, *reversed(alone)):  # `i, j = 1`: both from 1
            below = Chain((one.exprs[0], last.exprs[1]), last.ops, last.lines)
            body = Big(head.op, (below,), head.above, body)
        return body


def _share_sets(below: tuple[Chain, ...]) -> Iterator[Chain]:
    r"""What stands below an operator, with the set of `i, j \in S` for each of them."""
    waiting: list[Chain] = []
    for one in below:
        if one.alone and isinstance(one.exprs[0], Name | Sub):
            waiting.append(one)
            continue
        if one.ops == ("in",) and isinstance(one.exprs[1], Group):
            yield from (Chain((each.exprs[0], one.exprs[1]), one.ops, one.lines) for each in waiting)
        else:
            yield from waiting
        waiting = []
        yield one
    yield from waiting


MAX_DIGITS = 4000  # Python writes out no whole number of more than 4300


@lru_cache(maxsize=256)
def number(text: str) -> Num:
    """The number that is written, exactly; one of more than MAX_DIGITS digits is refused."""
    mantissa, _, exponent = text.lower().partition("e")
    if len(text) > MAX_DIGITS or (exponent and abs(int(exponent)) + len(mantissa) > MAX_DIGITS):
        raise Unreadable(f"the number {text[:20]}... is too large to be written out")
    return Num(Fraction(mantissa) * Fraction(10) ** int(exponent) if exponent else Fraction(mantissa))


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


GRAMMAR = r"""
start: group (ARROW group)*
group: chain (AND chain)*
chain: expr (REL expr)*
?expr: sum
?sum: product | signed_sum
signed_sum: PLUS product (sign product)* | MINUS product (sign product)* | product (sign product)+
?sign: PLUS | MINUS
?product: factors
?factors: factor (opfactor)*
?opfactor: factor
         | TIMES factor -> operation
         | TIMES MINUS factor -> negation
?factor: simple | bracketed | called | prefixed

// what may follow a function without brackets, and what may not
?simple: atom | simple UNDER script -> sub | simple CARET power -> sup | simple TRANS -> transpose
       | simple BANG -> factorial
?bracketed: bracket | bracketed UNDER script -> sub | bracketed CARET power -> sup | bracketed TRANS -> transpose
          | bracketed BANG -> factorial
?called: call | called UNDER script -> sub | called CARET power -> sup | called TRANS -> transpose

atom: NUM -> number | NAME -> name | INF -> infinity | DOTS -> dots
    | (FRAC argument argument) -> frac
    | SQRT argument -> root
    | SQRT LBRACK expr RBRACK argument -> root_of
    | LBAR expr RBAR -> absolute | LNORM expr RNORM -> norm
    | BEGINMAT row (NEWROW row)* ENDMAT -> array
    | PFRAC LBRACE PARTIAL [CARET power] factors RBRACE LBRACE bys RBRACE -> derivative
row: cell (AMP cell)*
cell: [expr]
bys: variable+
variable: PARTIAL simple [simple] | PARTIAL bracketed
bracket: LPAR items RPAR -> round | LBRACK items RBRACK -> square | LPAR items RBRACK -> round_square
       | LBRACK items RPAR -> square_round | LSET items RSET -> set | LBRACE expr RBRACE -> braces
items: item ((COMMA | SEMI) item)* -> list_items
?item: chain
argument: LBRACE expr RBRACE -> inside | NUM -> number | NAME -> name
script: LBRACE subitem (COMMA subitem)* RBRACE -> subscripts | TIMES -> sub_star | LBRACE TIMES RBRACE -> sub_star
      | NUM -> sub_number | NAME -> sub_name
      | INF -> sub_infinity
?subitem: chain | [expr] COLON [expr] -> slice | expr COLON expr (REL expr)+ -> given
power: LBRACE expr RBRACE -> inside | NUM -> number | NAME -> name | INF -> infinity
     | TIMES -> star | LBRACE TIMES RBRACE -> inside_star | PLUS -> sign_mark | MINUS -> sign_mark

head: FUNC -> function | head UNDER script -> head_sub | head CARET power -> head_sup | head TRANS -> head_sup
call: head LPAR items RPAR | head LBRACK items RBRACK | head LBRACE items RBRACE | head LSET items RSET

prefixed: head open -> open_call
        | head MINUS open -> open_negative
        | bighead body -> big
        | NABLA UNDER script bracketed -> nabla
        | NABLA UNDER script body_open -> nabla
        | PARTIAL UNDER script bracketed -> nabla
        | PARTIAL UNDER script body_open -> nabla
        | dhead bracketed -> derive
        | dhead body_open -> derive
?open: openfactors | called | prefixed
?openfactors: simple (simple | bracketed)*
bighead: BIGOP -> bigop | bighead UNDER script -> big_sub | bighead CARET power -> big_sup
       | bighead TRANS -> big_letter
?body: factors
    | MINUS factors -> minus_body
?body_open: open_first (opfactor)*
?open_first: simple | called | prefixed
dhead: PFRAC LBRACE PARTIAL [CARET power] RBRACE LBRACE bys RBRACE

%declare NUM NAME INF DOTS FRAC PFRAC SQRT LPAR RPAR LBRACK RBRACK LBRACE RBRACE LSET RSET LBAR RBAR LNORM RNORM
%declare BEGINMAT ENDMAT NEWROW AMP PARTIAL NABLA FUNC BIGOP UNDER CARET TRANS PLUS MINUS TIMES
%declare COMMA SEMI COLON REL ARROW AND BANG
"""


KEPT_TOKENS = 200  # of a statement that is kept once it is parsed


@cache
def _table() -> Table:
    build = Build()
    return Table(Lark(GRAMMAR, parser="lalr", lexer=GivenTokens), lambda name: getattr(build, name))


def prepare_tokens(tokens: list[Tok]) -> list[Tok]:
    """Tokens without gaps; in a bracketed row a gap between two entries is a comma."""
    tokens = _restore_sets(tokens)
    if not any(t.kind in ("GAP", "BEGINMAT", "DOTS") for t in tokens):
        return tokens  # nothing below changes others
    out: list[Tok] = []
    stack: list[tuple[str, bool]] = []
    ends = ("NUM", "NAME", "RPAR", "RBRACK", "RBRACE", "RBAR", "TRANS", "RNORM")
    starts = ("NUM", "NAME", "LPAR", "LBRACK", "LBRACE", "LBAR", "MINUS", "FRAC", "SQRT", "FUNC")
    for i, token in enumerate(tokens):
        if token.kind == "GAP":
            if stack and stack[-1][0] == "BEGINMAT" and token.value != r"\;" and _is_column(tokens, i):
                out.append(Tok("AMP", "&", token.line, token.start))
            following = next((t.kind for t in tokens[i + 1 :] if t.kind != "GAP"), "")
            row = bool(stack) and stack[-1] == ("LBRACK", True)
            if row and out and out[-1].kind in ends and following in starts:
                out.append(Tok("COMMA", ",", token.line, token.start))
            continue
        if token.kind == "COMMA" and stack and stack[-1][0] == "BEGINMAT" and not _has_marks(tokens, i):
            out.append(Tok("AMP", "&", token.line, token.start))
            continue
        listed = bool(stack) and stack[-1][0] == "LSET" and [one.kind for one in out[-2:]] == ["COMMA", "DOTS"]
        if listed and token.kind in ("NAME", "NUM"):
            out.append(Tok("COMMA", ",", token.line, token.start))  # \{1, \dots n\}
        if token.kind in ("LPAR", "LBRACK", "LBRACE", "LSET", "BEGINMAT"):
            stack.append((token.kind, not (out and out[-1].kind == "FUNC")))
        elif token.kind in ("RPAR", "RBRACK", "RBRACE", "RSET", "ENDMAT") and stack:
            stack.pop()
        out.append(token)
    return out


def _is_column(tokens: list[Tok], place: int) -> bool:
    """Whether a gap stands between two entries of a matrix that is written without alignment marks."""
    if _has_marks(tokens, place):
        return False
    following = next((t.kind for t in tokens[place + 1 :] if t.kind != "GAP"), "")
    return tokens[place - 1].kind not in ("GAP", "BEGINMAT", "NEWROW") and following not in ("ENDMAT", "NEWROW")


def _restore_sets(tokens: list[Tok]) -> list[Tok]:
    r"""The tokens with `\in {0, 1}` as `\in \{0, 1\}`: Markdown takes the backslashes away."""
    places = [place for place, token in enumerate(tokens[:-1]) if token.kind == "REL" and token.value == "in"]
    out = list(tokens)
    for place in places:
        if tokens[place + 1].kind != "LBRACE":
            continue
        closed = next((i for i, t in depth_zero(tokens[place + 1 :]) if t.kind == "RBRACE"), None)
        if closed is None:
            continue
        last = place + 1 + closed
        if any(t.kind == "COMMA" for _, t in depth_zero(tokens[place + 2 : last])):
            out[place + 1], out[last] = out[place + 1]._replace(kind="LSET"), out[last]._replace(kind="RSET")
    return out


def _has_marks(tokens: list[Tok], place: int) -> bool:
    """Whether the matrix around a place has alignment marks, or a matrix in it."""
    first = next(i for i in range(place, -1, -1) if tokens[i].kind == "BEGINMAT")
    last = next((i for i in range(place, len(tokens)) if tokens[i].kind == "ENDMAT"), place)
    return any(t.kind in ("AMP", "BEGINMAT", "ENDMAT") for t in tokens[first + 1 : last])


def parse_tokens(tokens: list[Tok]) -> Statement:
    """The statement that these tokens spell; raises `Unreadable` with the place."""
    if len(tokens) > KEPT_TOKENS:
        return _read_statement(tokens)
    found = _Row(tokens)
    return _statement(found)


_KIND_AND_VALUE = itemgetter(0, 1)


class _Row:
    """A row of tokens by what a tree keeps of it: kinds, values, and the lines of relations.

    Most formulas in the prose have no relation, so that `Q` is one tree on whatever line it stands.
    """

    __slots__ = ("key", "tokens")

    def __init__(self, tokens: list[Tok]) -> None:
        self.tokens = tokens
        lines = [t.line for t in tokens if t.kind == "REL" or t.kind == "ARROW"]
        self.key = (*map(_KIND_AND_VALUE, tokens), *lines)

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Row) and self.key == other.key


@lru_cache(maxsize=KEPT_FORMULAS)
def _statement(row: _Row) -> Statement:
    """What `parse_tokens` returns: a tree that cannot be changed, so that it may be kept."""
    tokens, row.tokens = row.tokens, []  # the row is kept, its tokens need not be
    return _read_statement(tokens)


def _read_statement(tokens: list[Tok]) -> Statement:
    """What `parse_tokens` returns, read anew."""
    ready = prepare_tokens(tokens)
    if not ready:
        raise Unreadable("there is nothing to read")
    try:
        try:
            result: Statement = _table().read([t.kind for t in ready], ready)
        except Unexpected as error:
            named = _name_words(ready)
            if named == ready:
                raise _explain_error(ready, ready, error.place) from None
            try:
                result = _table().read([t.kind for t in named], named)
            except Unexpected as other:
                raise _explain_error(ready, named, other.place) from None
    except RecursionError:
        raise Unreadable("the formula is nested too deeply", ready[0].line) from None
    except Unreadable as error:
        raise Unreadable(error.message, error.line or ready[0].line) from None
    return result


def _name_words(tokens: list[Tok]) -> list[Tok]:
    r"""The tokens with words in brackets as names: `P(\text{omit } i)` is a value of P."""
    if not any(t.kind == "TEXT" for t in tokens):
        return tokens
    outside = {i for i, _ in depth_zero(tokens)}
    return [
        t._replace(kind="NAME", value=f"\\text{{{t.value}}}") if t.kind == "TEXT" and i not in outside else t
        for i, t in enumerate(tokens)
    ]


def _explain_error(tokens: list[Tok], read: list[Tok], place: int) -> Unreadable:
    """Why the token at a place of what was read is not expected; `tokens`: the same as they are written."""
    if place == len(tokens):
        return Unreadable("the formula ends too early: something is missing at the end", tokens[-1].line)
    token = read[place]
    words = {"TEXT": "text", "REL": "relation", "NEWROW": "line break", "AMP": "alignment mark", "FORALL": r"\forall"}
    place = next((i for i, t in enumerate(tokens) if t.start == token.start and t.kind == token.kind), len(tokens))
    shown = _format_token(token.kind, token.value)
    if place == 0 and token.kind in ("REL", "ARROW"):
        return Unreadable(f"the formula begins with '{shown}': write its left side", token.line)
    before = " ".join(_format_token(t.kind, t.value) for t in tokens[max(0, place - 4) : place])
    if token.kind == "COLON" and any((t.kind, t.value) == ("REL", "->") for t in tokens[place:]):
        how = r"define it by its value, as in 'Put $f(x) := \dots$'"
        return Unreadable(f"a function between spaces cannot be declared ('{before} : ...'): {how}", token.line)
    what = words.get(token.kind, "sign")
    return Unreadable(f"the {what} '{shown}' is not expected after '{before}'", token.line)


_MARKS = {
    "CARET": "^", "UNDER": "_", "TRANS": r"^\top", "FRAC": r"\frac", "PFRAC": r"\frac", "SQRT": r"\sqrt",
    "DOTS": r"\dots", "INF": r"\infty", "NEWROW": r"\\", "AMP": "&", "FORALL": r"\forall",
    "PARTIAL": r"\partial", "NABLA": r"\nabla", "BANG": "!",
    "STOP": ".", "COMMA": ",", "LSET": r"\{", "RSET": r"\}", "LNORM": r"\|", "RNORM": r"\|",
}  # fmt: skip


def _format_token(kind: str, value: str) -> str:
    """A token as it is written."""
    if kind in ("REL", "ARROW"):
        return {"=>": r"\implies", "<=>": r"\iff"}.get(value, SIGNS.get(value, value))
    if kind in ("BIGOP", "FUNC"):
        return f"\\{value}"
    return _MARKS.get(kind) or value or kind.lower()


def parse_statement(text: str, line: int = 1) -> Statement:
    """Parse one formula."""
    return parse_tokens(tokenize(text, line))


def parse_expression(text: str, line: int = 1) -> Expr:
    """Parse one expression without relations."""
    found = parse_statement(text, line)
    if found.arrows or not found.chains[0].alone:
        raise Unreadable("an expression is expected here, not a relation", line)
    return found.chains[0].exprs[0]
