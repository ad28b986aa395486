r"""What any sentence says of a symbol with `\in`: "a matrix $W \in \mathbb{R}^{d \times k}$ of weights"."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from attention_core.derivation.document.blocks import Block, Display, Paragraph
from attention_core.derivation.inference.size_expressions import domain_type
from attention_core.derivation.latex.lexer import tokenize
from attention_core.derivation.latex.parse import parse_tokens
from attention_core.derivation.latex.printer import symbol_name
from attention_core.derivation.latex.syntax import Expr, Name, Sub, Sup, Unreadable
from attention_core.derivation.terms.terms import Type
from attention_core.derivation.words.paragraphs import cut_at_commas

MAX_FORMULAS = 2000  # of one document
_INLINE = re.compile(r"(?<![\\$])\$([^$]{1,300})(?<!\\)\$(?!\$)")


@dataclass(frozen=True)
class WrittenDomain:
    """Where a sentence says that a symbol lives; no `type` for a whole number."""

    line: int
    symbol: Expr
    type: Type | None


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
