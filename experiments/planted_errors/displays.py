"""How many displays of the sources are read as they stand, once the declarations that they need are written above them.

The declarations stand in tests/properties/seed_displays.py, the sources where ATTENTION_CORE_DATA points to.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ASKED = {
    "000": (range(1, 155),),
    "001": (range(1, 76), range(231, 232)),
    "002": (range(1, 999),),
    "003": (range(1, 999),),
}
"""Lines of displays that belong to the questions; the others are answers."""
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
    from attention_core.derivation.claims import claim_of
    from attention_core.derivation.document.blocks import Display
    from attention_core.derivation.document.source import blocks_of
    from attention_core.derivation.latex.syntax import Unreadable
    from attention_core.derivation.reading.step import Step
    from attention_core.derivation.reading.steps import steps_of
    from attention_core.derivation.terms.terms import ShapeMismatch
    from tests.properties.seed_displays import DOCUMENT, QUESTIONS

    out: dict[str, str] = {}
    for document in (DOCUMENT, QUESTIONS):
        blocks = [b for b in blocks_of(document) if isinstance(b, Display)]
        ends = [b.line + b.text.count("\n") for b in blocks]
        out |= {plain(b.text): "" for b in blocks}
        for step in steps_of(document)[0]:
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
    found = [(f, line, known.get(plain(text), "no declarations are written for it")) for f, line, text in sources()]
    answers = [one for one in found if not any(one[1] in lines for lines in ASKED.get(one[0], ()))]
    text = ""
    for what, some in (("answers", answers), ("answers and the questions together", found)):
        good = sum(not why for *_, why in some)
        text += (
            f"Of the {len(some)} displays of the {what} {good} ({100 * good / max(len(some), 1):.0f} %) are read as "
        )
        text += "they stand.\n"
    text += "The declarations above them stand in tests/properties/seed_displays.py. Not read:\n\n"
    text += "".join(f"- {f}, line {line}: {' '.join(why.split())}\n" for f, line, why in found if why)
    return title + text
