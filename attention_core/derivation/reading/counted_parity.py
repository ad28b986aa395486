r"""Even and odd integers that count: in "Let $n$ be an even integer" with $\sum_{i=1}^n$, n is a size.

An integer may be negative, and can then bound no sum. Where the document has one that does, or one that sizes an array,
the words are left to be quoted, and n is read as it is used.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from attention_core.derivation.document.blocks import Block, Paragraph

_MARK = "\u2060"  # in the noun, while domains in words are written as formulas
_EXPONENT = r"\s*\^\s*(?:\{(?P<above>[^{}]*)\}|(?P<one>[A-Za-z]))"
_COUNTS = (
    re.compile(rf"\\(?:sum|prod)(?:\\limits)?\s*(?:_\s*(?:\{{[^{{}}]*\}}|\w))?{_EXPONENT}"),
    re.compile(rf"\\mathbb\s*(?:\{{\s*[RNZC]\s*\}}|[RNZC]){_EXPONENT}"),
    re.compile(r"\\(?:sum|prod)(?:\\limits)?\s*_\s*\{(?P<above>[^{}]*)\}"),
    re.compile(r"\\[lc]?dots[bc]?\s*,\s*(?:\w_)?(?P<above>[A-Za-z])"),
    re.compile(r"\\binom\s*\{(?P<above>[^{}]*)\}|(?P<one>[A-Za-z])\s*!|\bI_(?P<other>[A-Za-z])"),
)
_PARITY = re.compile(
    r"(?P<group>(?:\$[^$]+\$[\s,]*(?:and\s+)?)+)(?P<verb>(?:be|is|are)\s+(?:an?\s+)?(?:even|odd)\s+)(?P<noun>integers?)\b",
    re.IGNORECASE,
)
_COMMAND = re.compile(r"\\[A-Za-z]+")


def find_counts(texts: Iterable[str]) -> frozenset[str]:
    r"""The letters that bound a sum or a product, or size an array.

    Args:
        texts: The texts of a document.

    Example:
        >>> sorted(find_counts([r"$\sum_{i=1}^n x_i$ and $A \in \mathbb{R}^{m \times k}$, $y^p$"]))
        ['i', 'k', 'm', 'n']
    """
    found: set[str] = set()
    for text in texts:
        for pattern in _COUNTS:
            for one in pattern.finditer(text):
                found |= set(re.findall(r"[A-Za-z]", _COMMAND.sub(" ", " ".join(filter(None, one.groups())))))
    return frozenset(found)


def hold_parity(blocks: Sequence[Block]) -> list[Block]:
    """Mark the even and odd integers that count, so that they are not declared as any integers.

    Args:
        blocks: The blocks of a document.
    """
    if not any(isinstance(block, Paragraph) and _PARITY.search(block.text) for block in blocks):
        return list(blocks)
    counts = find_counts(block.text for block in blocks)

    def mark(found: re.Match[str]) -> str:
        names = set(re.findall(r"[A-Za-z]", _COMMAND.sub(" ", found["group"].replace("and", " "))))
        counted = names & counts and r"\in" not in found["group"]
        return f"{found['group']}{found['verb']}{_MARK}{found['noun']}" if counted else found[0]

    return [replace(one, text=_PARITY.sub(mark, one.text)) if isinstance(one, Paragraph) else one for one in blocks]


def release_parity(blocks: Sequence[Block]) -> list[Block]:
    """Take the marks away.

    Args:
        blocks: The blocks of a document.
    """
    return [
        replace(one, text=one.text.replace(_MARK, "")) if isinstance(one, Paragraph) and _MARK in one.text else one
        for one in blocks
    ]
