r"""The Let-paragraphs that a document misses, to be corrected by the author.

One paragraph for each section, with all undeclared symbols of its displays, as they would be inferred.
"""

from __future__ import annotations

from attention_core.derivation.document.blocks import Heading
from attention_core.derivation.document.source import blocks_of
from attention_core.derivation.inference.opaque import is_opaque
from attention_core.derivation.inference.usage import ONES_NAME, walk
from attention_core.derivation.latex.parse import parse_statement
from attention_core.derivation.latex.printer import symbol_name
from attention_core.derivation.latex.syntax import EVALUATED, Chain, Unreadable
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


def _is_declarable(name: str) -> bool:
    """Whether a "Let" could declare a name, and not only a definition: a letter with its marks, and no formula."""
    if is_opaque(name) or name.startswith((r"\{", r"\begin")) or EVALUATED in name:
        return False
    try:
        chain = parse_statement(name).chains[0]
    except (Unreadable, RecursionError):
        return False
    related = any(isinstance(one, Chain) and not one.alone for one in walk(chain.exprs[0]))
    return chain.alone and not related and symbol_name(chain.exprs[0]) is not None


def _paragraph(missing: dict[str, str]) -> str:
    """The declarations of one section, sizes first; functions are named, since only an author can define them."""
    sized = any(name.startswith(ONES_NAME) for name in missing)
    missing = {name: text for name, text in missing.items() if not name.startswith(ONES_NAME)}
    functions = [name for name in missing if not _is_declarable(name)]
    known = [text.rsplit(" (", 1)[0] for name, text in missing.items() if name not in functions and r" \in " in text]
    sizes = [one for one in known if one.endswith(r"\mathbb{N}")]
    indices = [one for one in known if r"\in \{1" in one]
    rest = [one for one in known if one not in sizes and one not in indices]
    declared = f"Let {', '.join(f'${one}$' for one in (*sizes, *rest, *indices))}." if known else ""
    undefined = f"Not defined: {', '.join(f'${one}$' for one in functions)}." if functions else ""
    ones = r"Without a size: $\mathbf{1}$, which is written $\mathbf{1}_n$." if sized else ""
    return "\n\n".join(part for part in (declared, undefined, ones) if part)
