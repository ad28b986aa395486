r"""From tokens to the syntax tree, by Lark's LALR parser with the grammar below.

What each rule builds is in `tree`. A token that is not expected is reported with what stands before it, as it is
written. A product is greedy: `\sum` and `\log` without brackets take the factors that follow, up to + or - or a
relation.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from lark import Lark, Token, UnexpectedInput
from lark.lexer import Lexer as LarkLexer

from attention_core.derivation.latex.lexer import tokenize
from attention_core.derivation.latex.printer import SIGNS
from attention_core.derivation.latex.syntax import Expr, Statement, Unreadable
from attention_core.derivation.latex.tokens import Tok
from attention_core.derivation.latex.tree import Build

GRAMMAR = r"""
start: group (ARROW group)*
group: chain (AND chain)*
chain: expr (REL expr)*
?expr: sum
?sum: product | signed_sum
signed_sum: PLUS product (sign product)* | MINUS product (sign product)* | product (sign product)+
!sign: PLUS | MINUS
?product: factors
factors: factor (opfactor)*
?opfactor: factor -> juxtaposition
         | TIMES factor -> operation
         | TIMES MINUS factor -> negation
?factor: simple | bracketed | called | prefixed

// what may follow a function without brackets, and what may not
?simple: atom | simple UNDER script -> sub | simple CARET power -> sup | simple TRANS -> transpose
?bracketed: bracket | bracketed UNDER script -> sub | bracketed CARET power -> sup | bracketed TRANS -> transpose
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
variable: PARTIAL simple [simple]
bracket: LPAR items RPAR -> round | LBRACK items RBRACK -> square | LPAR items RBRACK -> round_square
       | LBRACK items RPAR -> square_round | LSET items RSET -> set | LBRACE expr RBRACE -> braces
items: item ((COMMA | SEMI) item)* -> list_items
?item: chain
argument: LBRACE expr RBRACE -> inside | NUM -> number | NAME -> name
script: LBRACE subitem (COMMA subitem)* RBRACE -> subscripts | NUM -> sub_number | NAME -> sub_name
      | INF -> sub_infinity
?subitem: chain | [expr] COLON [expr] -> slice
power: LBRACE expr RBRACE -> inside | NUM -> number | NAME -> name | INF -> infinity
     | TIMES -> star | LBRACE TIMES RBRACE -> inside_star | PLUS -> sign_mark | MINUS -> sign_mark

head: FUNC -> function | head UNDER script -> head_sub | head CARET power -> head_sup | head TRANS -> head_sup
call: head LPAR items RPAR | head LBRACK items RBRACK | head LBRACE items RBRACE

prefixed: head open -> open_call
        | bighead body -> big
        | NABLA UNDER script bracketed -> nabla
        | NABLA UNDER script body_open -> nabla
        | PARTIAL UNDER script bracketed -> nabla
        | PARTIAL UNDER script body_open -> nabla
        | dhead bracketed -> derive
        | dhead body_open -> derive
open: openfactors | called | prefixed
openfactors: simple (simple | bracketed)*
bighead: BIGOP -> bigop | bighead UNDER script -> big_sub | bighead CARET power -> big_sup
       | bighead TRANS -> big_letter
body: factors
    | MINUS factors -> minus_body
body_open: open_first (opfactor)*
?open_first: simple | called | prefixed
dhead: PFRAC LBRACE PARTIAL [CARET power] RBRACE LBRACE bys RBRACE

%declare NUM NAME INF DOTS FRAC PFRAC SQRT LPAR RPAR LBRACK RBRACK LBRACE RBRACE LSET RSET LBAR RBAR LNORM RNORM
%declare BEGINMAT ENDMAT NEWROW AMP PARTIAL NABLA FUNC BIGOP UNDER CARET TRANS PLUS MINUS TIMES
%declare COMMA SEMI COLON REL ARROW AND
"""


class _Given(LarkLexer):
    """Hands Lark tokens that exist already."""

    def __init__(self, lexer_conf: Any) -> None:
        pass

    def lex(self, data: Any) -> Iterator[Token]:  # type: ignore[override]
        for tok in data:
            yield Token(tok.kind, tok.value, tok.start, tok.line)


@cache
def _parser() -> Lark:
    return Lark(GRAMMAR, parser="lalr", lexer=_Given, transformer=Build(), propagate_positions=False)


def prepare_tokens(tokens: list[Tok]) -> list[Tok]:
    """Tokens without gaps; in a bracketed row a gap between two entries is a comma."""
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
        if token.kind in ("LPAR", "LBRACK", "LBRACE", "LSET", "BEGINMAT"):
            stack.append((token.kind, not (out and out[-1].kind == "FUNC")))
        elif token.kind in ("RPAR", "RBRACK", "RBRACE", "RSET", "ENDMAT") and stack:
            stack.pop()
        out.append(token)
    return out


def _is_column(tokens: list[Tok], place: int) -> bool:
    """Whether a gap stands between two entries of a matrix that is written without alignment marks."""
    first = next(i for i in range(place, -1, -1) if tokens[i].kind == "BEGINMAT")
    last = next((i for i in range(place, len(tokens)) if tokens[i].kind == "ENDMAT"), place)
    if any(t.kind in ("AMP", "BEGINMAT", "ENDMAT") for t in tokens[first + 1 : last]):
        return False
    following = next((t.kind for t in tokens[place + 1 :] if t.kind != "GAP"), "")
    return tokens[place - 1].kind not in ("GAP", "BEGINMAT", "NEWROW") and following not in ("ENDMAT", "NEWROW")


def parse_tokens(tokens: list[Tok]) -> Statement:
    """The statement that these tokens spell; raises `Unreadable` with the place."""
    ready = prepare_tokens(tokens)
    if not ready:
        raise Unreadable("there is nothing to read")
    try:
        result: Statement = _parser().parse(ready)  # type: ignore[assignment]
    except UnexpectedInput as error:
        raise _explain_error(ready, error) from None
    except RecursionError:
        raise Unreadable("the formula is nested too deeply", ready[0].line) from None
    except Unreadable as error:
        raise Unreadable(error.message, error.line or ready[0].line) from None
    except Exception as error:
        inner = getattr(error, "orig_exc", None)
        if isinstance(inner, Unreadable):
            raise Unreadable(inner.message, inner.line or ready[0].line) from None
        raise
    return result


def _explain_error(tokens: list[Tok], error: UnexpectedInput) -> Unreadable:
    token = getattr(error, "token", None)
    if token is None or token.type == "$END":
        return Unreadable("the formula ends too early: something is missing at the end", tokens[-1].line)
    words = {"TEXT": "text", "REL": "relation", "NEWROW": "line break", "AMP": "alignment mark", "FORALL": r"\forall"}
    place = next((i for i, t in enumerate(tokens) if t.start == token.start_pos and t.kind == token.type), len(tokens))
    shown = _format_token(token.type, str(token))
    if place == 0 and token.type in ("REL", "ARROW"):
        return Unreadable(
            f"the formula begins with '{shown}': write what stands on its left side", int(token.line or 0)
        )
    before = " ".join(_format_token(t.kind, t.value) for t in tokens[max(0, place - 4) : place])
    what = words.get(token.type, "sign")
    return Unreadable(f"the {what} '{shown}' is not expected after '{before}'", int(token.line or 0))


_MARKS = {
    "CARET": "^", "UNDER": "_", "TRANS": r"^\top", "FRAC": r"\frac", "PFRAC": r"\frac", "SQRT": r"\sqrt",
    "DOTS": r"\dots", "INF": r"\infty", "NEWROW": r"\\", "AMP": "&", "FORALL": r"\forall",
    "PARTIAL": r"\partial", "NABLA": r"\nabla",
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
