r"""Domains behind "For", "With" and "If" in front of a display: "For $a, b \in \mathbb{R}$ we have:".

Such a sentence declares, as "Let $a, b \in \mathbb{R}$. Then we have:" does, and is written so before it is read. A
formula that says more than where symbols live is a condition, and its sentence stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from attention_core.derivation.document.blocks import Block, Display, Paragraph

_LETTER = r"(?:\\[A-Za-z]+|[A-Za-z])'*"
_SPACE = r"\\mathbb\s*(?:\{[RNZ]\}|[RNZ])(?:\s*\^\s*(?:\w|\{[^{}$]*\}))?"
_DOMAIN = rf"\$\s*{_LETTER}(?:\s*,\s*{_LETTER})*\s*\\in\s*{_SPACE}\s*\$"
_LEADS = re.compile(
    rf"(?P<before>^\s*|[.;:]\s+)(?:For|With|If|Given)\s+(?:(?:any|every|each)\s+)?"
    rf"(?P<domains>{_DOMAIN}(?:(?:\s*,\s*(?:and\s+)?|\s+and\s+){_DOMAIN})*)\s*,?\s*(?:then\s*)?"
    r"(?P<then>(?:(?:we|one)\s+(?:have|has|get|gets|obtain|obtains|find|finds)|it\s+holds(?:\s+that)?)?)\s*[:,]?\s*$"
)


def spell_quantifiers(blocks: Sequence[Block]) -> list[Block]:
    r"""Write domains that lead into a display as declarations.

    Args:
        blocks: The blocks of a document.

    Example:
        >>> spell_quantifiers([Paragraph(1, r"For $a \in \mathbb{R}$ we have:"), Display(3, "a = a")])[0].text
        'Let $a \\in \\mathbb{R}$. Then we have:'
    """
    out = list(blocks)
    for place, (block, following) in enumerate(pairwise(blocks)):
        if isinstance(block, Paragraph) and isinstance(following, Display) and r"\in" in block.text:
            found = _LEADS.search(block.text)
            if found is not None and not _is_declared(found["domains"], block.text[: found.start()], blocks[:place]):
                lines = "\n" * (found[0].count("\n") - found["before"].count("\n") - found["domains"].count("\n"))
                text = f"{found['before']}Let {found['domains']}. Then {' '.join(found['then'].split())}".rstrip()
                out[place] = replace(block, text=f"{block.text[: found.start()]}{text}:{lines}")
    return out


def _is_declared(domains: str, before: str, above: Sequence[Block]) -> bool:
    """Whether a letter of some domains has one above: it may say more, and stays."""
    text = "\n".join([*(block.text for block in above if isinstance(block, Paragraph)), before])
    letters = re.findall(_LETTER, " ".join(part.split(r"\in")[0] for part in domains.split("$")[1::2]))
    return any(re.search(_LIVES % re.escape(letter), text) for letter in letters)


_LIVES = r"(?<![A-Za-z\\])%s(?![A-Za-z])\s*(?:,[^$=]*)?(?:\\in|\\sim|[<>]|\\[gl]eq?)(?![a-z])"
