"""The flattened table makes of tokens what Lark itself makes of them, and refuses them at the same place."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from lark import Lark, Token, Tree, UnexpectedToken

from attention_core.derivation.document.blocks import Paragraph
from attention_core.derivation.document.source import blocks_of
from attention_core.derivation.latex.lexer import tokenize
from attention_core.derivation.latex.parse import GRAMMAR, prepare_tokens
from attention_core.derivation.latex.syntax import Unreadable
from attention_core.derivation.latex.table import GivenTokens, Table, Unexpected

DERIVATIONS = Path(__file__).resolve().parents[4] / "derivations"


@cache
def grammar() -> Lark:
    """The grammar without its methods: Lark makes trees."""
    return Lark(GRAMMAR, parser="lalr", lexer=GivenTokens)


EXTRA = (
    r"\begin{bmatrix} 1 & \\ & 2 \end{bmatrix}",
    "x_{:, i} + y_{2:} = z_{i : j < k}",
    r"\frac{\partial^2 f}{\partial x \partial y} = \frac{\partial}{\partial x} (g + h)",
    r"\sqrt[3]{a} \implies b, c; d \iff \|x\| - |{-y}|",
)


def formulas(document: str) -> Iterator[list[Token]]:
    """The tokens of each formula in the prose of a document, and of each with one of its tokens gone."""
    chance = random.Random(document)
    blocks = blocks_of((DERIVATIONS / document).read_text(encoding="utf-8"))
    written = [text for block in blocks if isinstance(block, Paragraph) for text in block.text.split("$")[1::2]]
    for text in (*written, *EXTRA):
        try:
            ready = prepare_tokens(tokenize(text))
        except Unreadable:
            continue
        tokens = [Token(t.kind, t.value, place, t.line) for place, t in enumerate(ready)]
        yield tokens
        gone = chance.randrange(len(tokens) + 1)
        yield tokens[:gone] + tokens[gone + 1 :]


def read_by_lark(tokens: list[Token]) -> Any:
    """Lark's tree, or the place of the token that it does not expect."""
    try:
        return grammar().parse(tokens)
    except UnexpectedToken as error:
        return len(tokens) if error.token.type == "$END" else tokens.index(error.token)


@pytest.mark.parametrize("document", ["attention.md", "variants.md", "error_budget.md"])
def test_the_table_reads_what_lark_reads(document: str) -> None:
    table = Table(grammar(), lambda name: lambda *parts: Tree(name, list(parts)))
    refused = 0
    for tokens in formulas(document):
        wanted = read_by_lark(tokens)
        try:
            found = table.read([token.type for token in tokens], tokens)
        except Unexpected as error:
            found, refused = error.place, refused + 1
            wanted = tokens[wanted : wanted + 1] == tokens[found : found + 1] and found
        assert found == wanted, tokens
    assert refused > 10
