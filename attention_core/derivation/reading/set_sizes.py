r"""Numbers of elements as sizes: `E \in \mathbb{R}^{|V| \times d}` with a vocabulary V.

What stands between bars in the size of an array is a whole number with a name of its own, wherever it stands, unless
the document says of the set what would make it a number or an array. `shown_names` writes it as it was.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from attention_core.derivation.document.blocks import Block, Display, Paragraph
from attention_core.derivation.latex.shown_names import SET_SIZE

_OPENS, _CLOSES = (
    r"(?:\\left\s*\||\\lvert(?![A-Za-z])|\\vert(?![A-Za-z])|\|)",
    r"(?:\\right\s*\||\\rvert(?![A-Za-z])|\\vert(?![A-Za-z])|\|)",
)
_BARS = re.compile(
    rf"{_OPENS}\s*(?:(?P<letter>[A-Z])|\\mathcal\s*(?:\{{\s*(?P<curly>[A-Z])\s*\}}|(?P<bare>[A-Z])))\s*{_CLOSES}"
)
_SPACE = re.compile(r"\\mathbb\s*\{?\s*R\s*\}?\s*\^\s*\{(?P<sizes>(?:[^{}]|\{[^{}]*\})*)\}")


def spell_set_sizes(blocks: Sequence[Block]) -> list[Block]:
    r"""Write the numbers of elements that are sizes of arrays by names of their own.

    Args:
        blocks: The blocks of a document.

    Example:
        >>> spell_set_sizes([Paragraph(1, r"Let $E \in \mathbb{R}^{|V| \times d}$.")])[0].text
        'Let $E \\in \\mathbb{R}^{N_{\\text{sizeV}} \\times d}$.'
    """
    text = "\n".join(block.text for block in blocks)
    names = {_name_of(one) for space in _SPACE.finditer(text) for one in _BARS.finditer(space["sizes"])}
    names = {name for name in names if not _is_array(name, text)}
    if not names:
        return list(blocks)

    def write(found: re.Match[str]) -> str:
        return _name_of(found) if _name_of(found) in names else found[0]

    return [
        replace(block, text=_BARS.sub(write, block.text)) if isinstance(block, Paragraph | Display) else block
        for block in blocks
    ]


def _name_of(found: re.Match[str]) -> str:
    curly = found["curly"] or found["bare"]
    return rf"N_{{\text{{size{'c' if curly else ''}{curly or found['letter']}}}}}"


def _is_array(name: str, text: str) -> bool:
    """Whether a document says that what has the elements is a number or an array."""
    found = SET_SIZE.fullmatch(name)
    assert found is not None
    plain = re.escape(found["letter"])
    letter = rf"\\mathcal\s*\{{?\s*{plain}\s*\}}?" if found["curly"] else rf"(?<![A-Za-z\\{{]){plain}"
    group = rf"{letter}\s*(?:,[^$]*?)?\\in\s*\\mathbb\s*\{{?\s*[RCNZ]"
    return re.search(rf"{group}|{letter}\s*\^\s*\{{?\s*(?:\\top|T|-1)|\\det\s*\(?\s*{letter}", text) is not None


__all__ = ["spell_set_sizes"]
