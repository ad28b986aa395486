r"""The Let-paragraphs that a document misses, to be corrected by the author.

One paragraph for each section, with all undeclared symbols of its displays, as they would be inferred.
"""

from __future__ import annotations

from attention_core.derivation.document.blocks import Heading
from attention_core.derivation.document.source import blocks_of
from attention_core.derivation.inference.opaque import is_opaque
from attention_core.derivation.reading.step import Step
from attention_core.derivation.reading.steps import steps_of


def scaffold(text: str) -> str:
    r"""Write the declarations that a document misses.

    Args:
        text: The document.

    Returns:
        One paragraph for each section in which something is missing, below the line and the heading of the section.

    Example:
        >>> print(scaffold("$$ x^\\top x = \\|x\\|^2 $$\n"))
        Let $n \in \mathbb{N}$, $x \in \mathbb{R}^{n}$.
        <BLANKLINE>
    """
    headings = [block for block in blocks_of(text) if isinstance(block, Heading)]
    missing: dict[int, dict[str, str]] = {}
    for step in steps_of(text, infer=True)[0]:
        if isinstance(step, Step):
            above = max((place for place, one in enumerate(headings) if one.line < step.line), default=-1)
            for name, read_as in step.context.inferred.items():
                missing.setdefault(above, {}).setdefault(name, read_as)
    out: list[str] = []
    for place in sorted(missing):
        if place >= 0:
            out += [f"Below line {headings[place].line}, '{headings[place].text}':", ""]
        out += [_paragraph(missing[place]), ""]
    return "\n".join(out)


def _paragraph(missing: dict[str, str]) -> str:
    """The declarations of one section, sizes first; functions are named, since only an author can define them."""
    known = [text.rsplit(" (", 1)[0] for name, text in missing.items() if not is_opaque(name) and r" \in " in text]
    sizes = [one for one in known if one.endswith(r"\mathbb{N}")]
    indices = [one for one in known if r"\in \{1" in one]
    rest = [one for one in known if one not in sizes and one not in indices]
    functions = [name for name in missing if is_opaque(name)]
    declared = f"Let {', '.join(f'${one}$' for one in (*sizes, *rest, *indices))}." if known else ""
    undefined = f"Not defined: {', '.join(f'${one}$' for one in functions)}." if functions else ""
    return "\n\n".join(part for part in (declared, undefined) if part)
