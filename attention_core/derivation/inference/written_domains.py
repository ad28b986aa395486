r"""What any sentence says of a symbol with `\in`: "a matrix $W \in \mathbb{R}^{d \times k}$ of weights"."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from attention_core.derivation.document.blocks import Block, Display, Paragraph
from attention_core.derivation.inference.constraints import size_of
from attention_core.derivation.latex.lexer import tokenize
from attention_core.derivation.latex.parse import parse_tokens
from attention_core.derivation.latex.printer import symbol_name
from attention_core.derivation.latex.syntax import Expr, Name, Sub, Sup, Times, Unreadable
from attention_core.derivation.terms.terms import ONE, SCALAR, Size, Type, matrix
from attention_core.derivation.words.paragraphs import cut_at_commas

MAX_FORMULAS = 2000  # of one document
_INLINE = re.compile(r"(?<![\\$])\$([^$]{1,300})(?<!\\)\$(?!\$)")
REALS, NATURALS = r"\mathbb{R}", r"\mathbb{N}"


@dataclass(frozen=True)
class WrittenDomain:
    """Where a sentence says that a symbol lives; no `type` for a whole number."""

    line: int
    symbol: Expr
    type: Type | None


def domain_type(expr: Expr) -> tuple[Type | None, bool]:
    """The type of a written domain, None for whole numbers, and whether it is understood."""
    if expr == Name(REALS):
        return SCALAR, True
    if expr == Name(NATURALS):
        return None, True
    if not (isinstance(expr, Sup) and expr.base == Name(REALS)):
        return None, False
    sides: list[Size] = []
    for part in _split_at_times(expr.exponent):
        size = size_of(part)
        if size is None:
            return None, False
        sides.append(size)
    if len(sides) > 2:
        return None, False
    return matrix(sides[0], sides[1] if len(sides) == 2 else ONE), True


def _split_at_times(expr: Expr) -> list[Expr]:
    """`n \\times d` as n and d."""
    if not isinstance(expr, Times) or "*" not in expr.ops:
        return [expr]
    out: list[Expr] = []
    start = 0
    for place, op in [*enumerate(expr.ops), (len(expr.ops), "*")]:
        if op == "*":
            factors, ops = expr.factors[start : place + 1], expr.ops[start:place]
            out.append(factors[0] if not ops else Times(factors, ops))
            start = place + 1
    return out


def written_domains(blocks: Iterable[Block]) -> list[WrittenDomain]:
    """All domains that sentences and displays of a document say, in their order."""
    found: list[WrittenDomain] = []
    count = 0
    for block in blocks:
        if isinstance(block, Display) and r"\in" in block.text:
            found += _domains_in(block.text, block.line)
        elif isinstance(block, Paragraph):
            for formula in _INLINE.finditer(block.text):
                count += 1
                if count <= MAX_FORMULAS and r"\in" in formula[1]:
                    found += _domains_in(formula[1], block.line + block.text.count("\n", 0, formula.start()))
    return found


def _domains_in(text: str, line: int) -> list[WrittenDomain]:
    found: list[WrittenDomain] = []
    try:
        pieces = cut_at_commas(tokenize(text, line))
    except Unreadable:
        return []
    waiting: list[Expr] = []
    for tokens in pieces:
        try:
            statement = parse_tokens(tokens)
        except (Unreadable, RecursionError):
            waiting = []
            continue
        chain = statement.chains[0]
        waiting.append(chain.exprs[0])
        if chain.alone:
            continue
        symbols, waiting = waiting, []
        if chain.ops != ("in",) or statement.arrows:
            continue
        kind, understood = domain_type(chain.exprs[1])
        if understood:
            found += [
                WrittenDomain(line, one, kind)
                for one in symbols
                if isinstance(one, Name | Sub | Sup) and symbol_name(one) is not None
            ]
    return found
