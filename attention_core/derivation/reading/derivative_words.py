r"""What a document says of derivatives: that it uses differentials, and in which layout it writes them.

"We use the denominator layout" makes the Jacobian of y by x the matrix of $\partial y_j / \partial x_i$, and "numerator
layout" makes the gradient of a number a row. A document that speaks of both says neither here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from attention_core.derivation.document.blocks import Block, Display, Heading, Paragraph
from attention_core.derivation.elaborate.differentials import DIFFERENTIALS
from attention_core.derivation.elaborate.elaborator import NUMERALS
from attention_core.derivation.elaborate.entrywise_calls import BY_ENTRIES
from attention_core.derivation.elaborate.products import DENOMINATORS, ROW_GRADIENTS
from attention_core.derivation.reading.law_words import RATES, says_rates
from attention_core.derivation.reading.notation_words import take_notations
from attention_core.derivation.terms.context import Context

_DIFFERENTIAL = re.compile(
    r"\bdifferentials?\b(?!\s+(?:equations?|operators?|geometry|forms?|calculus|privacy))|\btotal derivatives?\b",
    re.IGNORECASE,
)
_TRACED = re.compile(
    r"(?:^|&|\\\\)\s*(?:d|\\mathrm\s*\{?d\}?)\s*\\?[A-Za-z]+\s*&?\s*=\s*&?\s*\\(?:[tT]r\b|(?:operatorname|mathrm|text)\s*\{[tT]r\})"
)
_BY_ENTRIES = re.compile(
    r"\b(?:element|entry|component|coordinate|point)-?\s?wise\b(?!\s+(?:product|multiplication))", re.IGNORECASE
)
_ROWS = (
    r"(?:the\s+)?(?:gradients?|derivatives?)(?:\s+of\s+(?:a\s+)?(?:scalars?|numbers?)(?:\s+(?:functions?|losses|loss))?)?"
    r"(?:\s+(?:with\s+respect\s+to|by)\s+(?:an?\s+)?(?:column\s+)?vectors?)?\s+(?:is|are)\s+(?:an?\s+)?row(?:\s+vector)?s?"
)
_LAYOUTS = (
    (DENOMINATORS, r"denominator[-\s]+layout"),
    (
        ROW_GRADIENTS,
        rf"numerator[-\s]+layout(?:(?:\s+throughout)?,?\s+(?:so(?:\s+that)?|that\s+is|i\.e\.,?|where)\s+{_ROWS})?",
    ),
)
_USE = (
    r"(?:we|this\s+(?:note|page|document|post)|these\s+notes|I|all\s+(?:derivatives|gradients|Jacobians))\s+(?:will\s+)?"
    r"(?:uses?|adopts?|follows?|works?\s+in|writes?\s+(?:derivatives|gradients|Jacobians)\s+in|(?:are|is)\s+(?:written\s+)?in)"
    r"\s+(?:the\s+)?"
)
_SENTENCES = tuple(
    (name, re.compile(rf"(?:(?<=[.!?]\s)|^)\s*(?:Throughout,?\s+|Here,?\s+|Below,?\s+)?{_USE}{words}"
                      rf"(?:\s+(?:throughout|convention|here|below|everywhere))*\s*(?P<end>[.:;,])", re.IGNORECASE))
    for name, words in _LAYOUTS
)  # fmt: skip
_EITHER = re.compile(r"\b(numerator|denominator)[-\s]+layout", re.IGNORECASE)


def take_derivative_words(blocks: Sequence[Block]) -> tuple[list[Block], frozenset[str]]:
    """The blocks without the sentences that say in which layout derivatives are written, and what is stated of them.

    Args:
        blocks: The blocks of a document.
    """
    prose = "\n".join(block.text for block in blocks if isinstance(block, Paragraph | Heading))
    traced = any(isinstance(block, Display) and _TRACED.search(block.text) for block in blocks)
    stated = {DIFFERENTIALS} if traced or _DIFFERENTIAL.search(prose) else set()
    stated |= {BY_ENTRIES} if _BY_ENTRIES.search(prose) else set()
    if len({found[1].lower() for found in _EITHER.finditer(prose)}) != 1:
        return list(blocks), frozenset(stated)
    out: list[Block] = []
    for block in blocks:
        text = block.text
        for name, pattern in _SENTENCES if isinstance(block, Paragraph) else ():
            if found := pattern.search(text):
                stated.add(name)
                whole = found[0] if found["end"] == "." else ""  # what follows a colon is read as it stands
                text = text.replace(whole, "\n" * whole.count("\n"), 1).lstrip(" ") if whole else text
        if text.strip() or text == block.text:
            out.append(block if text == block.text else replace(block, text=text))
    return out, frozenset(stated)


def take_conventions(context: Context, blocks: Sequence[Block], infer: bool) -> list[Block]:
    """Keep what a document states of its signs and of derivatives, and return its blocks without that.

    Args:
        context: What is declared; it is changed.
        blocks: The blocks of the document.
        infer: Whether undeclared symbols are read, and words of derivatives as well.
    """
    rates = says_rates(block.text for block in blocks if not isinstance(block, Display))
    out, context.stated = take_notations(blocks)
    context.stated |= {RATES} if rates else set()
    if infer:
        out, words = take_derivative_words(out)
        context.stated, context.readings = context.stated | words | {NUMERALS}, words & {DENOMINATORS, ROW_GRADIENTS}
    return out
