r"""Definitions inside sentences of symbols that are not declared: "take $q = \beta (k_a + k_b)$".

Such a formula defines as a display `q := \beta (k_a + k_b)` does; its shapes are inferred with those of the section.
Only a formula behind a word that introduces, with a new symbol on its left and letters on its right, is one.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import replace

from attention_core.derivation.document.blocks import Block, Display, Heading, Paragraph
from attention_core.derivation.reading.conditional_relations import find_conditional
from attention_core.derivation.reading.defining_formulas import definition_in
from attention_core.derivation.reading.modified_definitions import find_change

_FORMULA = re.compile(r"(?<![\\$])\$((?:[^$\\]|\\.)+)\$(?!\$)")
_INTRODUCES = re.compile(
    r"\b(?:let|where|with|set|setting|take|taking|choose|choosing|put|putting|write|writing|define|defining|denote|"
    r"call|use|using|forward|minimi[sz]e|minimi[sz]ing|maximi[sz]e|maximi[sz]ing)\b[^.;!?$]*$|"
    r"(?:^|[.;!?])\s*(?:here|throughout|as before|as usual)\b,?\s*$|"
    r"(?:^|[.;!?])\s*(?:(?:here|then|now)\b,?\s*)?(?:the|our|its|their)\s+(?:[a-z-]+\s+){1,5}(?:is|are)\s*"
    r"(?:the\s+(?:[a-z-]+\s+)?[a-z-]+,\s*)?$|\bfor\s+the\s+(?:[a-z-]+\s+){1,3}$",
    re.IGNORECASE,
)
_OF_FUNCTION = re.compile(r"\bfor\s+the\s+(?:[a-z-]+\s+){1,3}$", re.IGNORECASE)
_ANEW = re.compile(
    r"(?:^|[.;!?])\s*(?:(?:now|next|then|here|from\s+now\s+on|in\s+this\s+\w+),?\s+)?(?:(?:we|let\s+us)\s+)?(?:now\s+)?"
    r"(?:let|put|set|define|write|take)\s*$",
    re.IGNORECASE,
)
"""What stands in front of a formula that defines a symbol whatever an earlier paragraph defined it as."""
_FUNCTIONS = re.compile(
    r"\bfor\s+the\s+(?:[a-z-]+\s+){1,3}$|^\s+(?:let|put|define|set)\s*$|\b(?:and|define|is)\s*$|\bwith\s+(?:the\s+(?:[a-z-]+\s+){1,3})?$",
    re.IGNORECASE,
)
"""What stands in front of a function whose sentence does not begin with Let or Put."""
_GOES_ON = re.compile(r"^[^.;!?]*(?:,|\band|\bwhere|\bwith)(?:\s+(?:the|its|an?|our)\s+(?:[a-z-]+\s+){1,4})?\s*$")
_NAME = r"(?:\\(?:hat|tilde|bar|vec|mathbf|boldsymbol|bm)\s*(?:\{\s*\\?[A-Za-z]+\s*\}|\\?[A-Za-z]+)|\\?[A-Za-z]+)"
_INDEX = r"(?:_\s*(?:\{\s*[a-z]\s*\}|[a-z])(?:\s*\^\s*\{\s*\([a-z]\)\s*\})?|\^\s*\{\s*\([a-z]\)\s*\})"
_DEFINES = re.compile(
    rf"^\s*(?P<name>(?P<base>{_NAME}|\\operatorname\s*\{{[A-Za-z]+\}})(?P<of>\s*\(\s*{_NAME}\s*\))?(?:'|_\{{(?:\\text\{{)?[A-Za-z]{{2,}}\}}?\}}|(?P<index>{_INDEX}))?)\s*(?::=|=)\s*(?P<value>[^=<>~]+?)\s*"
    r"(?P<space>\\in\s*\\math(?:bb|bf)\s*\{?\s*R\s*\}?\s*(?:\^\s*(?:\{[^{}]*\}|\w))?\s*)?$"
)
_RELATES = re.compile(r"\\(?:in|sim|[lg]eq?|neq?|to|approx|dots|ldots|forall|top\s*=)(?![a-zA-Z])|,")
_LETTER = re.compile(
    r"(?<![A-Za-z\\])(?:[A-Za-z]|[A-Za-z]?[A-Z][A-Za-z]?)(?![A-Za-z])|\\(?:alpha|beta|gamma|lambda|mu|sigma|theta|hat|nabla)\b"
)
_BEHIND = re.compile(r"\b(?:where|with|using)\b[^.;!?$]*$", re.IGNORECASE)
_BARE = re.compile(rf"^\s*(?!(?:[A-Za-z][A-Z]|[A-Z][a-z])(?:_\w)?\s*$){_NAME}(?:_\w)?\s*$")  # `PV` is a product
_CONDITION = re.compile(
    r"\b(?:if|when|whenever|for|at|assume|assuming|suppose|provided|case)\b[^.;!?$]*$", re.IGNORECASE
)


def take_definitions(blocks: Sequence[Block]) -> tuple[list[Block], dict[int, list[Display]]]:
    r"""Take definitions of new symbols out of the sentences of a document.

    Args:
        blocks: The blocks of the document.

    Returns:
        The blocks, with the symbol alone in the place of its definition, and for each place of a paragraph the displays
        that define.

    Example:
        >>> blocks, found = take_definitions([Paragraph(1, r"take $q = \beta k$, then")])
        >>> blocks[0].text, found[0][0].text
        ('take $q$, then', 'q := \\beta k')
    """
    out: list[Block] = []
    found: dict[int, list[Display]] = {}
    known: dict[str, int] = {}  # what sentences of this section define, and the line of the paragraph
    for block in blocks:
        if isinstance(block, Heading):
            known = {}
        if not isinstance(block, Paragraph):
            out.append(block)
            continue
        above = isinstance(out[-1], Display) if out else False
        for piece in _cut_before_definitions(block):
            text, displays = _without_definitions(piece, blocks, known)
            if displays:  # what follows a display says what it is made of
                place = len(out) - 1 if above and _GOES_ON_WITH.match(piece.text) else len(out)
                found[place] = _in_order_of_use([*found.get(place, ()), *displays])
            above = False
            out.append(replace(piece, text=text))
    return out, found


def _in_order_of_use(displays: list[Display]) -> list[Display]:
    """Definitions in an order in which each uses what stands before it, where there is one."""
    parts = [one.text.partition(" := ") for one in displays]
    bases = [re.split(r"[_^'(]", name)[0] for name, _, _ in parts]
    done: list[int] = []
    while len(done) < len(parts):
        left = [k for k in range(len(parts)) if k not in done]
        free = (k for k in left if not any(other != k and _has_name(bases[other], parts[k][2]) for other in left))
        done.append(next(free, left[0]))
    return [displays[k] for k in done]


_INDEXED = rf"(?:{_NAME}(?:_\{{?\w+\}}?)?|\\[lc]?dots)"
_LIVES = re.compile(
    rf"^\s*(?P<names>{_INDEXED}(?:\s*,\s*{_INDEXED})*)\s*(?:(?:\\in|\\sim|\\colon|\\[lg]eq?)(?![A-Za-z])|[<>])"
)
_EXTENTS = re.compile(r"\s*\\math(?:bb|bf)\s*\{?\s*R\s*\}?\s*\^\s*\{?\s*([A-Za-z](?:\s*\\times\s*[A-Za-z])*)\s*\}?\s*$")
_JOINT = re.compile(
    r"[,;]?\s*(?:\b(?:and|where|with|then|so)\b,?\s*)*(?:\b(?:let|put|set|write|define|take|denote|consider|"
    r"choose|pick|fix)\b\s*)?$",
    re.IGNORECASE,
)
_OPENS = re.compile(
    r"^(\s*)(?:Let|Given|Assume|Suppose|Fix|Take|Consider|(?P<for>For)(?: (?:all|any|every|each|an?))?)\b[^.;:!?]*$"
)


def _cut_before_definitions(block: Paragraph) -> list[Paragraph]:
    r"""A paragraph cut where a definition uses what its own sentence declares before: that is declared first then.

    "Let $z \in \mathbb{R}^n$ and $p = 2 z$." becomes "Let $z \in \mathbb{R}^n$." and "Put $p = 2 z$.".
    """
    if (first := _declare_first(block)) is not None:
        return [first[0], *_cut_before_definitions(first[1])]
    parts = re.split(r"(?<!\\)\$", block.text)
    if (cut := _cut_between_sentences(block, parts)) is not None:
        return [one for piece in cut for one in _cut_before_definitions(piece)]
    opened = _OPENS.match(parts[0]) if len(parts) > 4 else None
    if opened is None:
        return [block]
    names: list[str] = []
    for place in range(1, len(parts), 2):
        joint = _JOINT.search(parts[place - 1])
        used = _match_definition(parts[place])
        if used is not None and used["base"] in names:
            used = None  # W of a declared W_1 is not new
        if place > 1 and re.search(r"[.!?]", parts[place - 1]):
            return [block]  # one sentence
        if place > 1 and used and joint and joint[0].strip() and any(_has_name(one, used["value"]) for one in names):
            head = "$".join([*parts[: place - 1], parts[place - 1][: joint.start()]])
            head = f"{opened[1]}Given {head[opened.end('for') :].lstrip()}" if opened["for"] else head
            line = block.line + block.text.count("\n", 0, len("$".join(parts[:place])))
            return [replace(block, text=head.rstrip() + "."), *_cut_before_lives(line, parts[place:])]
        lives = _LIVES.match(parts[place])
        names += _names_of(lives)
    return [block]


_LINK = re.compile(
    r"\s*,?\s*(?:\b(?:with|where|and|for)\b)?\s*(?:(?:real\s+)?(?:matri(?:x|ces)|vectors?|numbers?|scalars?)\s*)?",
    re.IGNORECASE,
)
_BEHIND_DOMAIN = re.compile(r"\s*(?:[.,;]|$|(?:and|with|where|so|then)\b)")


def _declare_first(block: Paragraph) -> tuple[Paragraph, Paragraph] | None:
    r"""The domains of a paragraph that the definition right in front of them uses, and the paragraph without them.

    "Let $Y = X W$ with $X \in \mathbb{R}^{n \times d}$ and $W \in \mathbb{R}^{d \times m}$." declares X and W first.
    """
    parts = re.split(r"(?<!\\)\$", block.text)
    moved, above, values, goes_on = list[int](), "", "", False
    for place in range(1, len(parts), 2):
        linked = goes_on and _LINK.fullmatch(parts[place - 1]) is not None
        made, lives = _match_definition(parts[place]), _LIVES.match(parts[place])
        made = None if made is not None and _has_name(made["base"], made["value"]) else made  # $A = A^\top$
        names = _names_of(lives) if lives is not None and r"\in" in parts[place] else []
        used = any(_has_name(one, values) for one in names) and not any(rf"${one} \in" in above for one in names)
        if linked and used and _BEHIND_DOMAIN.match(parts[place + 1] if place + 1 < len(parts) else ""):
            moved.append(place)
        goes_on = made is not None or (linked and place in moved)
        values += f" {made['value']}" if made is not None else ""
        above += f"${parts[place]}$"
    if not moved:
        return None
    first = " and ".join(f"${' '.join(parts[place].split())}$" for place in moved)
    text = ""
    for place, part in enumerate(parts):
        if place in moved or place + 1 in moved:
            text += "\n" * part.count("\n")
        else:
            text += f"${part}$" if place % 2 else part
    return replace(block, text=f"Let {first}."), replace(block, text=text)


_ENDS = re.compile(
    r"(?<!\b[a-z])[.!?](?=\s+(?:[A-Z]|$))|"
    r"[.;](?=\s+(?:(?:now|next|then|also|finally),?\s+)?(?:(?:let us|we)\s+)?(?:put|set|write|define|take)\b)"
)


def _cut_between_sentences(block: Paragraph, parts: list[str]) -> tuple[Paragraph, Paragraph] | None:
    r"""A paragraph cut behind a sentence that declares what a definition in a later one uses; None where none does.

    "Let $z \in \mathbb{R}^n$. Put $p = 2 z$." is two paragraphs then.
    """
    names: list[str] = []  # of the sentences before this one
    own: list[str] = []
    end: tuple[int, int] | None = None  # where this sentence begins
    for place in range(1, len(parts), 2):
        for found in _ENDS.finditer(parts[place - 1] if place > 1 else ""):
            names, own, end = [*names, *own], [], (place - 1, found.end())
        used = _match_definition(parts[place])
        uses = used is not None and any(_has_name(one, used["value"]) for one in names)
        if end is not None and (uses or r"\colon" in parts[place]):  # a function of what stands above
            at = len("$".join(parts[: end[0]])) + 1 + end[1]
            head, tail = block.text[:at], block.text[at:]
            gap = len(tail) - len(tail.lstrip())
            line = block.line + block.text.count("\n", 0, at + gap)
            return replace(block, text=head), replace(block, line=line, text=tail.lstrip())
        lives, made = _LIVES.match(parts[place]), definition_in(parts[place])
        own += _names_of(lives) + ([made.name] if made is not None and r"\partial" in made.value else [])
    return None


def _cut_before_lives(line: int, parts: list[str]) -> list[Paragraph]:
    r"""A definition and what its sentence says after it, cut where that declares what a later definition uses.

    "$p = 2 z$ and let $y \in \mathbb{R}^n$ and $L = p^T y$." becomes "Put $p = 2 z$." and what follows, cut likewise.
    """
    for place in range(2, len(parts), 2):
        if re.search(r"[.!?]", parts[place - 1]):
            break
        joint, lives = _JOINT.search(parts[place - 1]), _LIVES.match(parts[place])
        names = _names_of(lives)
        later = [one["value"] for formula in parts[place + 2 :: 2] if (one := _match_definition(formula))]
        new = not any(_has_name(name, formula) for name in names for formula in parts[:place:2])
        if joint and joint[0].strip() and new and any(_has_name(name, value) for name in names for value in later):
            first = "$".join(["Put ", *parts[: place - 1], parts[place - 1][: joint.start()]])
            tail = "$".join(["Let ", *parts[place:]])
            below = line + "$".join(parts[:place]).count("\n")
            return [Paragraph(line, first.rstrip() + "."), *_cut_before_definitions(Paragraph(below, tail))]
    return [Paragraph(line, "$".join(["Put ", *parts]))]


def _names_of(lives: re.Match[str] | None) -> list[str]:
    """The symbols that a domain declares, those of a family without their index, and the letters of its extents."""
    names = [one.strip().split("_")[0] for one in lives["names"].split(",")] if lives else []
    space = _EXTENTS.match(lives.string, lives.end()) if lives else None
    names += re.findall(r"(?<![A-Za-z\\])[A-Za-z](?![A-Za-z])", space[1]) if space else []  # not those of \times
    return [one for one in dict.fromkeys(names) if one not in (r"\dots", r"\ldots", r"\cdots")]


def _has_name(name: str, formula: str) -> bool:
    """Whether a formula mentions a symbol: both letters of `Q K`, written as `QK`, are symbols."""
    if len(name) == 1:
        return name in _COMMAND.sub(" ", formula)
    before = r"(?<![A-Za-z\\])" if name[:1].isalpha() else ""
    return re.search(rf"{before}{re.escape(name)}(?![A-Za-z])", formula) is not None


def _takes_functions(parts: Sequence[str]) -> bool:
    """Whether functions of a paragraph are defined where no declaration reads them, or are used in its definitions."""
    found = [(before, _match_definition(part)) for before, part in zip(parts[::2], parts[1::2], strict=False)]
    made = [(before, one) for before, one in found if one is not None]
    functions = [(before, one) for before, one in made if one["of"]]
    values = "\n".join(one["value"] for _, one in made)
    used = (re.search(rf"{re.escape(one['base'])}\s*\(", values) for _, one in functions)
    return any(_FUNCTIONS.search(before) for before, _ in functions) or any(used)


def _without_definitions(block: Paragraph, blocks: Sequence[Block], known: dict[str, int]) -> tuple[str, list[Display]]:
    parts = re.split(r"(?<!\\)\$", block.text)
    line, displays, introduced = block.line, [], False
    functions, conditional = _takes_functions(parts), find_conditional(parts)
    for place, part in enumerate(parts):
        if place % 2 and place not in conditional and not find_change(parts, place):
            before = parts[place - 1]
            opens = bool(_INTRODUCES.search(before)) or (introduced and bool(_GOES_ON.match(before)))
            function = bool(_OF_FUNCTION.search(before)) and _is_function(part)
            introduced = opens and (not _CONDITION.search(before) or function)
            until = sys.maxsize if _BEHIND.search(before) else line  # "where" says what a display means, above or below
            drawn = r"\sim" in block.text and _STARTS.search(part)  # a mean of draws is declared with these
            anew = {name for name, at in known.items() if at < block.line} if _ANEW.search(before) else set()
            taken = set(known) - anew
            made = _definition(part, until, blocks, taken, functions) if introduced and not drawn else None
            if made is not None:
                name, value = made
                known[name] = block.line
                displays.append(Display(line, f"{name} := {value}"))
                parts[place] = name + "\n" * part.count("\n")
        line += part.count("\n")
    return _drop_names("$".join(parts), {one.text.split(" := ")[0] for one in displays}), displays


_GOES_ON_WITH = re.compile(r"[\s,;(]*(?:where|with)\b", re.IGNORECASE)
_NAMES_ALONE = re.compile(
    r"(?P<begins>(?:^|(?<=[.;:!?]\s))\s*)(?P<verb>(?:set|put|write|define|take|where|with|here)\s+)"
    r"(?P<names>\$[^$]+\$(?:(?:\s*,\s*|\s*,?\s+and\s+)\$[^$]+\$)*)(?P<end>\s*(?:[.;]|$))",
    re.IGNORECASE,
)
_SPLIT = re.compile(r"\s*,\s*(?:and\s+)?|\s+and\s+")


def _drop_names(text: str, defined: set[str]) -> str:
    """The text without sentences, and their parts, of which nothing but the defined name is left."""

    def drop(found: re.Match[str]) -> str:
        left = [one for one in _SPLIT.split(found["names"]) if one.strip("$ \n") not in defined]
        if any("=" not in one for one in left):
            return found[0]
        kept = f"{found['begins']}{found['verb']}{' and '.join(left)}{found['end']}" if left else found["begins"]
        return kept + "\n" * (found[0].count("\n") - kept.count("\n"))

    return _NAMES_ALONE.sub(drop, text) if defined else text


_COMMAND = re.compile(r"\\(?:(?:text|operatorname|mathrm)\*?\s*\{[^{}]*\}|[A-Za-z]+)")
_LIVES_BEHIND = r"\s*(?:,[^=$]*?)?(?:\\in\b|\\sim\b|:=)"


def _is_product(name: str, blocks: Sequence[Block]) -> bool:
    """Whether each letter of a name is a symbol of the document: $Ax = \\lambda x$ is an equation of A and x."""
    texts = [block.text for block in blocks if not isinstance(block, Heading)]
    own = [rf"(?<![A-Za-z\\]){letter}(?![A-Za-z_]){_LIVES_BEHIND}" for letter in name]
    plain = re.fullmatch("[A-Za-z]{2,}", name) is not None
    return plain and all(any(re.search(one, text) for text in texts) for one in own)


def _multiplies(value: str, blocks: Sequence[Block]) -> bool:
    """Whether each letter of a value stands alone in another formula of the document: $s = xy$ is a product."""
    if not re.fullmatch("[A-Za-z]{2,3}", value):
        return False
    texts = [one for block in blocks if isinstance(block, Paragraph) for one in _FORMULA.findall(block.text)]
    texts += [block.text for block in blocks if isinstance(block, Display)]
    return all(any(re.search(rf"(?<![A-Za-z\\]){letter}(?![A-Za-z])", text) for text in texts) for letter in value)


def _match_definition(formula: str) -> re.Match[str] | None:
    """What a formula defines, by its form; None of one member of a family."""
    found = _DEFINES.match(_STARTS.sub(lambda one: one[0].replace("=", "\x00"), formula))
    one = found is not None and found["index"] and not _is_of_all(found["base"], found["index"], found["value"])
    return None if one else found


def _is_of_all(base: str, index: str, value: str) -> bool:
    r"""Whether `z_i = w^\top x_i` gives all members of a family by others, with each of its indices."""
    letters = re.findall(r"[a-z]", index)
    indexed = [re.search(rf"(?:_\s*\{{?[^{{}}]*|\(\s*)(?<![a-zA-Z]){one}(?![a-zA-Z])", value) for one in letters]
    return all(indexed) and not re.search(rf"(?<![A-Za-z\\]){re.escape(base)}(?![A-Za-z])", value)


_STARTS = re.compile(r"_\s*\{\s*[a-z]\s*=\s*1\s*\}")  # where a sum starts; from 0 on its letters may be others
_ROOM = re.compile(r"\\[,;:!]")
_SUBSCRIPT = re.compile(r"(?<=[A-Z])\s*_\s*(?:[A-Z]|\{[A-Z]\})")  # of W_Q, which is not made of Q


def _is_function(formula: str) -> bool:
    r"""Whether a formula is `f(x) = ...`: "for the case $r = a$" is a condition, "for the map $s(x) = ...$" none."""
    found = _match_definition(formula)
    return found is not None and bool(found["of"])


def _definition(
    formula: str, until: int, blocks: Sequence[Block], known: set[str], functions: bool = False
) -> tuple[str, str] | None:
    """The new symbol that a formula defines, and as what; None where it may say something else."""
    found = _match_definition(formula)
    if found is not None and found["of"] and not functions:
        return None  # a declaration reads `f(x) = ...` itself
    if found is None:
        return None
    written = _STARTS.sub("", formula[: found.start("space")] if found["space"] else formula)
    if _RELATES.search(_ROOM.sub("", written)):
        return None
    bare = _BARE.match(found["value"]) and not _multiplies(found["value"].strip(), blocks)
    if bare or not (_LETTER.search(found["value"]) or found["value"].strip().isalpha()):
        return None
    name = found["name"]
    own = rf"(?<![A-Za-z\\_]){re.escape(name)}(?![A-Za-z_])"
    if name in known or re.search(own, _SUBSCRIPT.sub("", found["value"])) or _is_product(name, blocks):
        return None
    lives = re.compile(rf"{own}{_LIVES_BEHIND}")
    first = re.compile(rf"^\s*(?:&\s*)?{own}\s*&?=", re.MULTILINE)
    for block in blocks:
        if not isinstance(block, Heading) and lives.search(block.text):
            return None
        if isinstance(block, Display) and block.line < until and first.search(block.text):
            return None  # a display says what it is
    return name, f"{found['value']} {(found['space'] or '').strip()}".rstrip().replace("\x00", "=")
