"""Displays that go on with the one before, behind words: `a = b`, "which is", `= c`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from attention_core.derivation.document.blocks import Block, Display, Heading
from attention_core.derivation.document.display import statements_of
from attention_core.derivation.document.source import GOES_ON
from attention_core.derivation.latex.syntax import Unreadable


def complete_displays(blocks: Sequence[Block]) -> list[Block]:
    """Give a display that begins with a relation the last side of the display before it in its section.

    Args:
        blocks: The blocks of a document.
    """
    out: list[Block] = []
    last = ""
    for block in blocks:
        if isinstance(block, Heading):
            last = ""
        elif isinstance(block, Display):
            if last and not block.error and GOES_ON.match(block.text):
                block = replace(block, text=f"{last} {block.text.lstrip().removeprefix('&')}")
            last = _last_side(block)
        out.append(block)
    return out


def _last_side(block: Display) -> str:
    """What stands behind the last relation of a display, '' if it cannot be read or has several statements."""
    try:
        statements = statements_of(block)
    except (Unreadable, RecursionError):
        return ""
    if len(statements) != 1 or not statements[0].parts:
        return ""
    return statements[0].parts[-1]
