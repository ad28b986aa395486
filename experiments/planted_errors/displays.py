"""How many displays of the sources are read as they stand, once the declarations that they need are written above them.

The declarations stand in tests/properties/seed_displays.py, the sources where ATTENTION_CORE_DATA points to.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DISPLAY = re.compile(r"(?s)\$\$(.*?)\$\$")


def plain(text: str) -> str:
    """A formula without its white space and without the punctuation of the sentence around it."""
    return re.sub(r"\s+", "", text).rstrip(".,")


def sources() -> list[tuple[str, int, str]]:
    """(file, line, formula) of every display of the sources."""
    folder = Path(os.environ["ATTENTION_CORE_DATA"]) / "seeds"
    out = []
    for path in sorted(folder.glob("*.txt")):
        text = path.read_text(encoding="utf-8")
        out += [(path.name[:3], text.count("\n", 0, m.start()) + 1, m.group(1)) for m in DISPLAY.finditer(text)]
    return out


def read() -> dict[str, str]:
    """The displays that have their declarations, and what is not understood of each ('' where all is)."""
    sys.path.insert(0, str(ROOT))
    from attention_core.derivation.check import Step, claim_of, steps_of
    from attention_core.derivation.source import Display, blocks_of
    from attention_core.derivation.syntax import Unreadable
    from attention_core.derivation.terms import ShapeMismatch
    from tests.properties.seed_displays import DOCUMENT

    blocks = [b for b in blocks_of(DOCUMENT) if isinstance(b, Display)]
    ends = [b.line + b.text.count("\n") for b in blocks]
    out = {plain(b.text): "" for b in blocks}
    for step in steps_of(DOCUMENT)[0]:
        words = "" if isinstance(step, Step) else step.message
        if isinstance(step, Step):
            try:
                claim_of(step)
            except Unreadable as error:
                words = error.message
            except ShapeMismatch:
                pass  # read, and wrong
        if words:
            place = next(k for k, end in enumerate(ends) if step.line <= end)
            out[plain(blocks[place].text)] = words
    return out


def section() -> str:
    """The section on reading what people wrote."""
    title = "## Displays of the sources\n\n"
    if not os.environ.get("ATTENTION_CORE_DATA"):
        return title + "Not measured: the sources are not there (ATTENTION_CORE_DATA says where they are).\n"
    known = read()
    missing = [(f, line, known.get(plain(text), "no declarations are written for it")) for f, line, text in sources()]
    unread = [(f, line, why) for f, line, why in missing if why]
    total = len(missing)
    text = (
        f"{total - len(unread)} of {total} displays ({100 * (total - len(unread)) / max(total, 1):.0f} %) are read as "
    )
    text += "they stand, below declarations that say what their symbols are (tests/properties/seed_displays.py).\n"
    if unread:
        text += "\nThe others:\n\n" + "".join(f"- {f}, line {line}: {why}\n" for f, line, why in unread)
    return title + text
