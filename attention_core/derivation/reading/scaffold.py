r"""The Let-paragraphs that a document misses, to be corrected by the author.

One paragraph for each section, with all undeclared symbols of its displays, as they would be inferred.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from attention_core.derivation.document.blocks import Heading
from attention_core.derivation.document.forms import writes_double_dollars
from attention_core.derivation.document.source import blocks_of
from attention_core.derivation.inference.index_sets import sets_behind
from attention_core.derivation.inference.infer import domain_text
from attention_core.derivation.inference.opaque import is_opaque
from attention_core.derivation.inference.usage import ONES_NAME, walk
from attention_core.derivation.latex.parse import parse_statement
from attention_core.derivation.latex.printer import symbol_name
from attention_core.derivation.latex.shown_names import show_names
from attention_core.derivation.latex.syntax import EVALUATED, Chain, Unreadable
from attention_core.derivation.reading.displays import Judge
from attention_core.derivation.reading.proposed_domains import averaged_names, is_noise, laws_in
from attention_core.derivation.reading.step import Step
from attention_core.derivation.reading.steps import steps_of
from attention_core.derivation.terms.context import Context, Symbol


def scaffold(text: str, judge: Judge | None = None) -> str:
    r"""Write the declarations that a document misses.

    Args:
        text: The document.
        judge: Says why a step cannot be read, see `steps_of`.

    Returns:
        One paragraph for each section in which something is missing, below the line and the heading of the section.

    Example:
        >>> print(scaffold("$$ x^\\top x = \\|x\\|^2 $$\n"))
        Let $n \in \mathbb{N}$, $x \in \mathbb{R}^{n}$.
        <BLANKLINE>
    """
    blocks = blocks_of(text)
    headings = [block for block in blocks if isinstance(block, Heading)]
    missing: dict[int, dict[str, str]] = {}
    averaged: dict[int, set[str]] = {}
    for step in steps_of(text, True, judge and _without_words(judge))[0]:
        if isinstance(step, Step):
            above = _section_of(step.line, headings)
            averaged.setdefault(above, set()).update(averaged_names(step))
            for name, read_as in _ended_readings(step.context):
                missing.setdefault(_section_of(step.context.ended[name][0].line, headings), {}).setdefault(
                    name, read_as
                )
            for name, read_as in step.context.inferred.items():
                missing.setdefault(above, {}).setdefault(name, _own_reading(step.context, name, read_as))
    sets = frozenset[str]().union(*(sets_behind(name) for names in missing.values() for name in names))
    out: list[str] = []
    for place in sorted(missing):
        if place >= 0:
            out += [f"Below line {headings[place].line}, '{headings[place].text}':", ""]
        rest, line = _without_sets(missing[place], sets)
        paragraph = _paragraph(rest, averaged.get(place, set()), laws_in(blocks))
        paragraph = "\n\n".join(one for one in (paragraph, line) if one)
        out += [paragraph.replace("$", "$$") if writes_double_dollars(text) else paragraph, ""]
    return "\n".join(out)


def _without_words(judge: Judge) -> Judge:
    """A judge that does not say why: then nothing of a step that cannot be read becomes a symbol of its own."""
    return lambda step: "not understood" if judge(step) else ""


def _without_sets(missing: dict[str, str], sets: frozenset[str]) -> tuple[dict[str, str], str]:
    r"""What misses a declaration that can be written, and the line that names the sets of indices.

    Left out are a set that is an array by its capital letter alone, as in `B = \{1, \dots, m\}`, the sizes that only
    this array has, and what has as many members as a set has elements.
    """
    found = {name: some for name, read_as in missing.items() if (some := _sets_of(name, read_as, sets))}
    rest = {name: read_as for name, read_as in missing.items() if name not in found}
    lost = {size for name in found for size in _letters_in(_domain_in(missing[name]))}
    kept = {size for name, read_as in rest.items() for size in _letters_in(_domain_in(read_as).removeprefix(name))}
    for name in lost - kept:
        if rest.get(name, "").endswith("(a number of rows or columns)"):
            del rest[name]
    letters = ", ".join(f"${letter}$" for letter in sorted(frozenset().union(*found.values())))
    line = rf"Sets that no declaration describes: {letters}. Write sums over ranges, such as $\sum_{{i=1}}^{{m}}$."
    return rest, line if letters else ""


def _sets_of(name: str, read_as: str, sets: frozenset[str]) -> frozenset[str]:
    """The sets because of which no declaration of a symbol can be written."""
    letter, domain = name.split("_{")[0], _domain_in(read_as)
    if letter in sets and (domain.endswith(r"\in \mathbb{R}") or read_as.endswith("(a capital letter)")):
        return frozenset([letter])
    return sets_behind(name, sets) | {one for one in sets if f"|{one}|" in domain}


def _letters_in(domain: str) -> set[str]:
    """The letters of a domain as it is written."""
    return set(re.findall(r"(?<![A-Za-z\\])[A-Za-z](?![A-Za-z])", domain))


def _domain_of_symbol(symbol: Symbol) -> str:
    """A symbol with its domain, as a declaration writes it; '' of what a formula defines."""
    kind = domain_text(symbol.type) if symbol.type is not None else ""
    if symbol.kind == "size":
        return rf"{symbol.name} \in \mathbb{{N}}"
    if symbol.kind == "index":
        return rf"{symbol.name} \in \{{{symbol.lowest}, \dots, {symbol.highest}\}}"
    if symbol.kind == "family":
        return rf"{symbol.name}_1, \dots, {symbol.name}_{{{symbol.highest}}} \in {kind}"
    return rf"{symbol.name} \in {kind}" if symbol.kind == "array" and kind else ""


def _section_of(line: int, headings: Sequence[Heading]) -> int:
    """The place of the last heading above a line, -1 for none."""
    return max((place for place, one in enumerate(headings) if one.line < line), default=-1)


def _ended_readings(context: Context) -> list[tuple[str, str]]:
    """What undeclared symbols of sections that have ended were read as, with their names."""
    return [(name, _domain_of_symbol(symbol)) for name, (symbol, inferred) in context.ended.items() if inferred]


def _own_reading(context: Context, name: str, read_as: str) -> str:
    """What a symbol is read as, also where it is read as in a section above."""
    symbol = context.symbols.get(name)
    return read_as if symbol is None or r" \in " in read_as else _domain_of_symbol(symbol) or read_as


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


def _paragraph(missing: dict[str, str], averaged: set[str], laws: Mapping[str, str]) -> str:
    """The declarations of one section, sizes first; functions are named, since only an author can define them."""
    sized = any(name.startswith(ONES_NAME) for name in missing)
    missing = {name: text for name, text in missing.items() if not name.startswith(ONES_NAME)}
    functions = [name for name in missing if not _is_declarable(name)]
    laws = {name: laws.get(name) or laws.get(name.partition("_{")[0], "") for name in missing if name in averaged}
    drawn = [rf"{name} \sim {law}" for name, law in laws.items() if law]
    lawless = [name for name, law in laws.items() if not law and is_noise(name)]
    left_out = {*functions, *lawless, *(name for name, law in laws.items() if law)}
    known = [_domain_in(text) for name, text in missing.items() if name not in left_out and r" \in " in text]
    sizes = [one for one in known if one.endswith(r"\mathbb{N}")]
    indices = [one for one in known if r"\in \{1" in one]
    rest = [one for one in known if one not in sizes and one not in indices]
    declared = f"Let {', '.join(f'${one}$' for one in (*sizes, *rest, *drawn, *indices))}." if known or drawn else ""
    undefined = f"Not defined: {', '.join(f'${one}$' for one in functions)}." if functions else ""
    ones = r"Without a size: $\mathbf{1}$, which is written $\mathbf{1}_n$." if sized else ""
    noise = f"Averaged, without a law: {', '.join(f'${one}$' for one in lawless)}." if lawless else ""
    noise = f"{noise} Write one, such as ${lawless[0]} \\sim \\mathcal{{N}}(0, 1)$." if lawless else ""
    parts = (declared, noise, undefined, ones)
    return "\n\n".join(show_names(part) for part in parts if part)


def _domain_in(read_as: str) -> str:
    """What a symbol is read as, without the reason."""
    symbol, inside, domain = read_as.partition(r" \in ")
    return symbol + inside + domain.partition(" (")[0]
