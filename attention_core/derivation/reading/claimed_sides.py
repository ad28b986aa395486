r"""Sides of equations that other symbols determine, so that an equation claims what they are and defines nothing.

`\sum_{k=1}^\infty k x^k` of a declared x is a number, whatever a display says: `= 1 / (1 - x)^2` claims something, and
is not a definition of the sum. So it is with integrals, limits, products and averages, and with a symbol of which a
sentence above says what it is that could not be read.
"""

from __future__ import annotations

import re
from functools import lru_cache

from attention_core.derivation.document.blocks import KEPT_PARAGRAPHS, Paragraph
from attention_core.derivation.document.display import DisplayStatement
from attention_core.derivation.inference.usage import bound_letters, integrated_letters, is_constant, walk, whole_names
from attention_core.derivation.latex.parse import parse_expression
from attention_core.derivation.latex.printer import to_latex
from attention_core.derivation.latex.syntax import Big, Expr, Name, Sub, Sup, Unreadable
from attention_core.derivation.reading.defining_formulas import definition_in
from attention_core.derivation.records import BY_DISPLAY
from attention_core.derivation.terms.context import Context, ProseEquation

_DETERMINED = ("sum", "prod", "int", "lim")


def is_claim(context: Context, written: DisplayStatement) -> bool:
    r"""Whether the first equation of a statement claims something of its left side, and cannot define it.

    Args:
        context: What is declared above it.
        written: The statement as it is written, before anything undeclared is read.
    """
    chains = written.statement.chains
    if len(chains) != 1 or chains[0].ops[:1] != ("=",) or written.defines:
        return False
    left = chains[0].exprs[0]
    if isinstance(left, Name | Sub | Sup):
        return False
    if isinstance(left, Big) and left.op in _DETERMINED:
        return True
    names = _free_names(left)
    return bool(names) and all(name in context.symbols and name not in context.inferred for name in names)


def find_same_definition(context: Context, one: DisplayStatement) -> int:
    """The line of the display that defines a symbol as the first equation of a statement has it, 0 for none.

    Such a display defines the symbol since nothing else does. It may be what is to be shown, so that the same equation
    further down is neither compared with anything nor accepted.

    Args:
        context: What is understood so far.
        one: The statement.
    """
    if one.statement.chains[0].ops[:1] != ("=",):
        return 0
    written = _without_room(" = ".join(one.parts[:2]))
    for line, text in reversed(context.understood):
        formula, _, about = text.removeprefix(f"{BY_DISPLAY}$").partition("$ (nothing else determines ")
        if about and text.startswith(BY_DISPLAY) and _without_room(formula) == written:
            known = context.symbols.get(about.removesuffix(")"))
            return line if known is not None and known.line == line and line < one.line else 0
    return 0


def _without_room(formula: str) -> str:
    """A formula without spaces and style; its braces tell `a^{2 b}` from `a^2 b`."""
    return re.sub(r"[\s&]", "", _STYLE.sub("", formula))


def _free_names(side: Expr) -> set[str]:
    """The symbols of a side but those that its sums, limits and integrals bind, and constants."""
    bound: set[str] = set()
    for node in walk(side):
        if isinstance(node, Big):
            bound |= bound_letters(node) if node.op not in ("int", "lim") else integrated_letters(node)
    return {name for name in whole_names(side) if name not in bound and not is_constant(name)}


def is_stated_above(context: Context, name: str, value: Expr | None = None) -> bool:
    r"""Whether prose above says by an equation what a symbol is, or a function whose derivative it is.

    A display with the same value says it once more, and defines. A declaration that could not be read is one of these
    sentences, and so is an equation that nothing read, or that says it of all members of a family; the slope of a
    function that is known so is a claim.

    Args:
        context: What is declared, what could not be read, and which equations the prose has.
        name: The symbol.
        value: What the display says that it is.
    """
    letters, base = plain_name(name), _without_slope(plain_name(name))
    if base != letters and (known := context.symbols.get(base)) is not None and known.kind == "function":
        return True
    written = None if value is None else to_latex(value)
    for one in context.equations:
        if one.head == letters and (written is None or plain_name(_as_read(one.value)) != plain_name(written)):
            return True
        if one.head == base != letters or _is_member(letters, one.head):
            return True
    for failed in context.failed:
        for formula in re.split(r"(?<!\\)\$", failed.paragraph.text)[1::2]:
            head, sign, _ = plain_name(formula).partition("=")
            if sign and re.sub(r":$|\(.*\)$", "", head) in (letters, base):
                return True
    return False


def _is_member(name: str, head: str) -> bool:
    """Whether a name is one of those that a head with a letter as its index stands for: `y_1` of `y_i`."""
    member, family = (re.fullmatch(pattern, one) for pattern, one in ((r"(.+)_\d+", name), (r"(.+)_[a-z]", head)))
    return member is not None and family is not None and member[1] == family[1]


def equations_in(paragraph: Paragraph, level: int = 0) -> list[ProseEquation]:
    r"""The symbols of which the sentences of a paragraph say by an equation what they are, each with its value.

    Args:
        paragraph: The paragraph.
        level: That of its section.

    Example:
        >>> equations_in(Paragraph(1, r"The exact one is $g(x) = 2 x$, and for $k = 1$ it is larger."))
        [ProseEquation(level=0, line=1, head='g', value='2 x', formula='g(x) = 2 x')]
    """
    found = _equations_in(paragraph.text)
    return [ProseEquation(level, paragraph.line + line, *one) for line, *one in found]


@lru_cache(maxsize=KEPT_PARAGRAPHS)
def _equations_in(text: str) -> tuple[tuple[int, str, str, str], ...]:
    parts = re.split(r"(?<!\\)\$", text)
    out, line, opened = [], 0, False
    for place, (before, formula) in enumerate(zip(parts[::2], parts[1::2], strict=False)):
        line += before.count("\n")
        begins = _BEGINS.split(before)
        if place == 0 or len(begins) > 1:  # of a sentence
            opened = bool(_OPENS_CASE.match(begins[-1]))
        made = None if opened or _CASE.search(before[-MAX_BEFORE:]) else definition_in(formula)
        if made is not None and re.search(r"[A-Za-z]", made.value) and r"\dots" not in made.value:
            out.append((line, plain_name(made.name), made.value, formula))
        line += formula.count("\n")
    return tuple(out)


_BEGINS = re.compile(r"(?<=[.;!?])\s")
_OPENS_CASE = re.compile(r"\s*(?:if|when|whenever|suppose|unless|provided)\b", re.IGNORECASE)  # a sentence
MAX_BEFORE = 400  # characters of the words in front of a formula
_CASE = re.compile(
    r"\b(?:if|when|whenever|for|(?<!look )(?<!looking )(?<!arrive )at|suppose|provided|case|unless|than|"
    r"show|prove|claim)\b[^.;!?$]*$",
    re.IGNORECASE,
)
_STYLE = re.compile(r"\\(?:mathbf|boldsymbol|bm)(?![A-Za-z])")
_UPRIGHT = re.compile(r"\\(?:operatorname|mathrm|mathsf|text)\*?(?![A-Za-z])")
_SLOPE = re.compile(r"^\\nabla(?:_\\?\w+?)?(?:\^2)?(?=\\|[A-Za-z])|\(.*\)$|'+(?=$|\()")


def plain_name(text: str) -> str:
    r"""The letters of a name, without style, braces and room.

    Args:
        text: The name.

    Example:
        >>> plain_name(r"\mathbf{x}_{i}")
        'x_i'
    """
    return re.sub(r"[{}\s]", "", _UPRIGHT.sub(r"\\text", _STYLE.sub("", text)))


def _without_slope(name: str) -> str:
    r"""The function of `\nabla f(x)`, `f'` and `f''(t)`; any other name as it is."""
    if not name.startswith(r"\nabla") and "'" not in name:
        return name
    return _SLOPE.sub("", name)


def _as_read(text: str) -> str:
    """A value as it is written once it is read; as it stands where it cannot be read."""
    try:
        return to_latex(parse_expression(text, 1))
    except (Unreadable, RecursionError):
        return text
