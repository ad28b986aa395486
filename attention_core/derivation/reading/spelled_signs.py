"""Signs that are written as others before blocks are read: marked laws, imaginary units, numbers of elements."""

from __future__ import annotations

from collections.abc import Sequence

from attention_core.derivation.document.blocks import Block
from attention_core.derivation.reading.imaginary_unit import spell_unit
from attention_core.derivation.reading.marked_laws import spell_marks
from attention_core.derivation.reading.set_sizes import spell_set_sizes


def spell_signs(blocks: Sequence[Block], infer: bool) -> list[Block]:
    r"""Write signs as others.

    Args:
        blocks: The blocks of a document.
        infer: Whether undeclared symbols are read.

    Example:
        >>> from attention_core.derivation.document.blocks import Paragraph
        >>> spell_signs([Paragraph(1, r"Let $x, y \overset{iid}{\sim} P$.")], False)[0].text
        'Let $x, y \\sim P$ independent.'
    """
    marked = spell_marks(blocks)
    return spell_unit(spell_set_sizes(marked)) if infer else marked
