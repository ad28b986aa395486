r"""Domains that are spelled in words: "Let $A$ be a symmetric $n \times n$ matrix", "a vector $x$ of length $n$".

Words that say how large a matrix or a vector is become the formula that says so, before a paragraph is read:
"Let $A \in \mathbb{R}^{n \times n}$ be a symmetric matrix". All other words stay as they are, to be read as
properties or to be quoted. What is not plainly the shape of plain symbols is left alone. The members of a family,
"$x_i \in \mathbb{R}^d$ for $i = 1, \dots, n$", are written with dots: "$x_1, \dots, x_n \in \mathbb{R}^d$".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache, partial

from attention_core.derivation.document.blocks import KEPT_PARAGRAPHS, Block, Display, Paragraph
from attention_core.derivation.inference.described import SQUARE, Described
from attention_core.derivation.latex.lexer import tokenize
from attention_core.derivation.latex.parse import parse_tokens
from attention_core.derivation.latex.printer import symbol_name
from attention_core.derivation.latex.syntax import Dots, Name, Sub, Sup, Unreadable
from attention_core.derivation.reading.assuming_sentences import BARE, RELATED, says_of_symbols
from attention_core.derivation.reading.counted_parity import hold_parity, release_parity
from attention_core.derivation.reading.masked_text import FORMULA as _F
from attention_core.derivation.reading.masked_text import GROUP
from attention_core.derivation.reading.spelled_clauses import spell_clauses
from attention_core.derivation.reading.spelled_commuting import spell_commuting
from attention_core.derivation.reading.spelled_definitions import spell_definitions
from attention_core.derivation.reading.spelled_factors import spell_factors
from attention_core.derivation.reading.spelled_laws import spell_laws
from attention_core.derivation.reading.spelled_moments import spell_moments
from attention_core.derivation.reading.spelled_phrases import spell_phrases
from attention_core.derivation.reading.spelled_relations import spell_relations
from attention_core.derivation.reading.spelled_sentences import spell_sentences
from attention_core.derivation.words.paragraphs import cut_at_commas, is_declaration, says_domain
from attention_core.derivation.words.vocabulary import PROPERTY

_FORMULA = re.compile(r"(?<![\\$])\$((?:[^$\\]|\\.)+)\$(?!\$)")
_GROUP = rf"(?P<group>{GROUP})"
_BY = rf"{_F}(?:(?:-|\s+)by(?:-|\s+){_F})?"
_WORDS = r"(?:(?!(?:let|be|is|are|assume|suppose|where)\b)[A-Za-z][a-z-]*\s+)"
_NOUN = (
    r"(?P<noun>(?:matrix|matrices|vectors?|(?:real\s+)?(?:numbers?(?!\s+of\b)|scalars?))"
    r"(?!\s+(?:multiples?|products?|multiplications?|fields?|spaces?|functions?|norms?)\b))"
)
_KIND = r"(?:sizes?|shapes?|dimensions?|lengths?|order|dim)"
_TAIL = (
    rf"\s+(?:(?:of|with|having)\s+(?:the\s+same\s+)?{_KIND}\s+(?P<of>{_BY})"
    rf"|(?:in|from)\s+(?P<space>{_F})"
    rf"|(?:of|with|having)\s+(?P<count>{_F})\s+(?:real\s+)?(?:entries|components|elements|coordinates))"
)
_BE = r"(?:\s+(?:both\s+|each\s+|all\s+)?(?:be|is|are)\s+|\s+(?=an?\s))"
_COPULA = re.compile(
    rf"{_GROUP}(?P<be>{_BE})(?P<before>{_WORDS}{{0,4}}?)"
    rf"(?:(?P<size>{_BY})(?:(?P<dim>-dimensional)?\s+|"
    rf"-(?=vector))(?P<between>{_WORDS}{{0,4}}?))?{_NOUN}(?P<tail>{_TAIL})?(?![\w-])"
)
_APPOSITION = re.compile(
    rf"\b(?P<before>(?:an?|the|two|three|all|any|every|each|some|of)\s+{_WORDS}{{0,3}}?|{_WORDS}{{0,3}}?)"
    rf"(?:(?P<size>{_BY})(?:(?P<dim>-dimensional)?\s+|-(?=vector))(?P<between>(?!and\b){_WORDS}{{0,3}}?))?"
    rf"{_NOUN}\s+{_GROUP}(?P<tail>{_TAIL})?(?![\w-])"
)
_COUNT = (
    rf"{_GROUP}{_BE}(?:an?\s+)?(?:fixed\s+|given\s+|arbitrary\s+|any\s+)?%s"
    r"(?=\s*(?:[.,;:]|(?:and|with|such|satisfying)\b|$))"
)
_COUNTS = {
    r"\mathbb{N}": re.compile(_COUNT % r"(?:natural\s+numbers?|positive\s+(?:integers?|whole\s+numbers?))"),
    r"\mathbb{N}_0": re.compile(_COUNT % r"non-?negative\s+(?:integers?|whole\s+numbers?)"),
    r"\mathbb{Z}": re.compile(_COUNT % r"integers?"),
    r"\mathbb{C}": re.compile(_COUNT % r"complex\s+numbers?"),
    r"(0, \infty)": re.compile(_COUNT % r"(?:small\s+)?positive\s+(?:constants?|scalars?)"),
}
OTHER_NUMBERS = re.compile(
    r"\b(?:complex|integer|whole|natural|rational|imaginary|dual|stochastic process|block(?![- ]diagonal)|"
    r"quaternion\w*|octonion\w*|hyper\w+|split-?\w*|bi-?complex|grassmann\w*|clifford|cardinal|ordinal|surreal|p-adic|"
    r"interval|fuzzy|floating|floating-point|machine|binary|modular|q|c|q-numbers|(?:non|anti)-?commut\w*|"
    r"transfinite|infinite)\b",
    re.I,
)
_MODULO = re.compile(r"\s+mod(?:ulo)?\b", re.I)
_ENTRIES = re.compile(
    r"^\s*(?P<name>\\?[A-Za-z]+|\\(?:mathbf|boldsymbol|bm|vec)\s*\{\s*\\?[A-Za-z]+\s*\})\s*=\s*(?:\\left)?[(\[]\s*"
    r"(?P=name)_\{?1\}?\s*,.*\\[lcd]?dots[^,]*,\s*(?P=name)_(?:\{(?P<long>[^{}]+)\}|(?P<last>\w))\s*"
    r"(?:\\right)?[)\]]\s*(?:\^\s*\{?\s*\\(?:top|intercal)\s*\}?)?\s*$"
)
_TO_GIVEN = re.compile(r"^(\s*)(?:Consider|Take|Fix|Pick|Choose)(?:\s+(?:now|again|first|next))?(?=\s)")


_GIVEN_BY = re.compile(r"\b(?:with|such that|satisfying)\s*$", re.IGNORECASE)
_ORDERS = re.compile(r"^[^=]*(?:[<>]|\\(?:[lg]eq?(?:slant)?|neq?)(?![A-Za-z]))[^=]*$")
_MEMBERS = re.compile(
    rf"(?P<members>{_F})\s*,?\s*(?:for|with|where|,)\s*(?:all|each|every|any)?\s*(?P<range>{_F})(?!\s*(?:and|,)\s*{_F})"
)
_MEMBER = r"((?:\\(?:mathbf|boldsymbol|bm|vec)\s*\{\s*\\?[A-Za-z]+\s*\}|\\?[A-Za-z]+))(?:_\{?|\^\{?(\())([a-z])\)?\}?"
_TO = r"(?:,\s*2\s*)?,\s*\\[lcd]?dots[bcim]?\s*,\s*"
_RANGE = re.compile(
    rf"^\s*(?:(?P<a>[a-z])\s*=\s*1\s*{_TO}(?P<na>[A-Za-z]\w*|\\ell)"
    rf"|(?P<b>[a-z])\s*\\in\s*\\\{{\s*1\s*{_TO}(?P<nb>[A-Za-z]\w*|\\ell)\s*\\\}}"
    r"|(?P<c>[a-z])\s*\\in\s*\[\s*(?P<nc>[A-Za-z])\s*\]"
    r"|1\s*\\leq?(?:slant)?\s*(?P<d>[a-z])\s*\\leq?(?:slant)?\s*(?P<nd>[A-Za-z]))\s*$"
)


def spell_out(blocks: Sequence[Block], words: bool = True) -> list[Block]:
    r"""Write domains that paragraphs spell in words, and those of families, as formulas.

    Args:
        blocks: The blocks of a document.
        words: Whether domains in words are read, or those of families alone.

    Example:
        >>> spell_out([Paragraph(1, r"Let $A$ be a symmetric $n \times n$ matrix.")])
        [Paragraph(line=1, text='Let $A \\in \\mathbb{R}^{n \\times n}$ be a symmetric matrix.')]
    """
    out: list[Block] = []
    family, above = "", ""
    for block in hold_parity(blocks) if words else blocks:
        if not isinstance(block, Paragraph) or "$" not in block.text:
            out.append(block)
        elif words:
            family = next((one for one in reversed(_FAMILY.findall(block.text)) if one), family)
            out += _paragraphs(_name_mean(block, family), above)
            above += " " + " ".join(_FORMULA.findall(block.text))
        else:
            text = _rewrite_families(block.text)
            out.append(block if text == block.text else replace(block, text=text))
    return release_parity(out) if words else out


@lru_cache(maxsize=KEPT_PARAGRAPHS)
def _rewrite_families(text: str) -> str:
    return _rewrite(text, words=False)


_FAMILY = re.compile(r"(?<![A-Za-z\\])([A-Za-z]_\{?1\}?\s*,\s*\\[lc]?dots\s*,\s*[A-Za-z]_\{?[A-Za-z]\}?)")
_THEIR_MEAN = re.compile(
    r"\b(?:[Ll]et|[Dd]enote by|[Ww]rite)\s+\$(?P<name>[^$=]+)\$\s+(?:be\s+|denote\s+|for\s+)?their\s+"
    r"(?:(?:arithmetic|sample|empirical)\s+)?(?:mean|average)(?![\w-])"
)


def _name_mean(block: Paragraph, family: str) -> Paragraph:
    r"""A paragraph with `Let $\bar{x}$ be their mean` as the formula, for the numbers that were named last."""
    found = re.fullmatch(r"([A-Za-z])_.*,\s*\1_\{?([A-Za-z])\}?", family)
    if found is None or "their" not in block.text:
        return block
    about = _THEIR_MEAN.search(block.text)
    if about is None or "$" in block.text[: about.start()].rpartition(family)[2].partition("$")[2]:
        return block  # other symbols stand between
    letter = next(one for one in "ijkl" if one != found[2])
    mean = rf"\frac{{1}}{{{found[2]}}} \sum_{{{letter}=1}}^{{{found[2]}}} {found[1]}_{letter}"
    return replace(block, text=_THEIR_MEAN.sub(lambda one: f"Put ${one['name'].strip()} := {mean}$", block.text))


_UNSIZED = re.compile(
    rf"(?P<opens>\b(?:[Ss]uppose|[Aa]ssume)(?:\s+that)?\s+)?{_GROUP}"
    rf"\s+(?:both\s+|each\s+|all\s+)?(?P<verb>be|is|are)\s+(?:(?:constrained|known|required|restricted|chosen|taken|"
    rf"supposed|assumed)\s+to\s+be\s+)?(?P<phrase>{_WORDS}{{0,5}}?(?:matrix|matrices|vectors?|one[ -]hot))"
    r"(?=\s*(?:[.,;:]|and\b|$))(?:\s*,?\s*and(?=\s))?"
)
_STUB = re.compile(
    r"(?P<before>^|(?<=[.;:!?]))\s*(?:[Ll]et|[Ww]here|[Hh]ere|[Ww]ith|[Ss]uppose(?:\s+that)?|[Aa]ssume(?:\s+that)?|in\s+which)?"
    r"\s*(?:,?\s*and)?\s*,?\s*(?:[.;]|$)"
)
"""What is left of a sentence of which all was taken."""


def take_descriptions(blocks: Sequence[Block]) -> tuple[list[Block], list[Described]]:
    r"""Take from declarations what they say of symbols without a size, for where their shapes are inferred.

    Args:
        blocks: The blocks of a document, their domains spelled out.

    Returns:
        The blocks without these words, and what they say.

    Example:
        >>> take_descriptions([Paragraph(1, r"Let $A$ be a symmetric matrix and $x \in \mathbb{R}^n$.")])[1]
        [Described(line=1, names=('A',), phrase='a symmetric matrix', since=0)]
    """
    formulas = [one for b in blocks if isinstance(b, Paragraph) for one in _FORMULA.findall(b.text)]
    displays = [b.text for b in blocks if isinstance(b, Display)]
    found: list[Described] = []
    out: list[Block] = []
    for block, before in zip(blocks, [None, *blocks], strict=False):
        if not isinstance(block, Paragraph) or "$" not in block.text:
            out.append(block)
            continue
        behind = before.line if isinstance(before, Display) and _GOES_ON.match(block.text) else 0
        rest = _without_descriptions(block, behind, formulas, displays, found)
        out.append(rest if is_declaration(block) or _SAYS_WHAT.match(block.text) else block)
    return out, found


_HEDGES = re.compile(
    r"\b(?:usually|often|generally|typically|sometimes|frequently|almost|nearly|approximately|mostly|possibly|perhaps|maybe|either|"
    r"longer|only|barely|roughly|partly|commonly|mainly|normally)\b",
    re.IGNORECASE,
)
"""Of what a sentence does not say without reserve, nothing is assumed."""
_SENTENCES = re.compile(r"[.;!?:](?=\s)")
_SAYS_WHAT = re.compile(r"\s*(?:[Hh]ere|[Ww]ith|[Ii]n\s+which)\b")
_GOES_ON = re.compile(r"[\s,;(]*(?:where|with|in\s+which|here)\b", re.IGNORECASE)
_OPENED = re.compile(r"[\s,;(]*(?:where|with|in\s+which|here|let|suppose|assume)\b", re.IGNORECASE)


def _without_descriptions(
    block: Paragraph, behind: int, formulas: Sequence[str], displays: Sequence[str], found: list[Described]
) -> Block:
    """A paragraph without what it says that symbols are; `behind` is the line of the display that it goes on with."""
    formulas_here: list[str] = []

    def mask(match: re.Match[str]) -> str:
        formulas_here.append(match[1])
        return f"\0{len(formulas_here) - 1}\0"

    def take(match: re.Match[str]) -> str:
        group = ", ".join(formulas_here[int(one)] for one in re.findall(r"\x00(\d+)\x00", match["group"]))
        names = _plain_names(group)
        known = any(_is_declared(name, formulas, displays) for name in names)
        if not names or known or OTHER_NUMBERS.search(match["phrase"]) or _HEDGES.search(match["phrase"]):
            return match[0]
        own = _SENTENCES.split(masked[: match.start()])[-1]
        head = re.sub(_F, RELATED, PROPERTY.sub(" ", own) + match[0][: match.start("group") - match.start()])
        if not says_of_symbols(f"{head} {BARE} is ", "", ahead=False):
            return match[0]
        if match["verb"] != "be" and not match["opens"]:
            small = re.search(r"matri(?:x|ces)\s*$", match["phrase"]) and not all(map(_is_capital, names))
            if small or not _OPENED.match(own):
                return match[0]  # of a small letter it is rare, and others beside it may be matrices as well
        phrase = " ".join(match["phrase"].split())
        since = 0 if _SENTENCES.search(masked[: match.start()]) else behind
        found.append(Described(block.line + masked[: match.start()].count("\n"), names, phrase, since))
        return "\n" * match[0].count("\n")

    masked = _FORMULA.sub(mask, block.text)
    rest = _UNSIZED.sub(take, masked)
    if rest != masked:
        rest = _STUB.sub(lambda match: "\n" * match[0].count("\n"), rest)
    text = re.sub(r"\x00(\d+)\x00", lambda match: f"${formulas_here[int(match[1])]}$", rest)
    return replace(block, text=text)


def _is_capital(name: str) -> bool:
    """Whether a letter is one of those that stand for matrices."""
    return name.lstrip("\\")[:1].isupper()


def _plain_names(group: str) -> tuple[str, ...]:
    """The names of a list of plain letters, none if anything else stands in it."""
    names = tuple(one.strip() for one in group.split(","))
    return names if all(re.fullmatch(r"[A-Za-z]|\\[A-Za-z]+", one) for one in names) else ()


def _is_declared(name: str, formulas: Sequence[str], displays: Sequence[str]) -> bool:
    """Whether a formula says where a symbol lives or what it is; in a display `=` may be a claim."""
    start = rf"(?<![A-Za-z\\]){re.escape(name)}(?![A-Za-z])\s*(?:,[^=]*?)?"
    lives = rf"{start}(?:\\in\b|\\sim\b|:=)"
    return any(re.search(lives, one) for one in displays) or any(re.search(rf"{lives}|{start}=", f) for f in formulas)


def _paragraphs(block: Paragraph, above: str) -> list[Block]:
    """A paragraph with its domains as formulas; what `Consider` introduces is a paragraph of its own."""
    text = _rewrite(block.text, above=above)
    found = _TO_GIVEN.match(text)
    if not found:
        return [replace(block, text=text)]
    end = re.search(r"\.(?=\s|$)", text)
    head, rest = (text[: end.end()], text[end.end() :]) if end else (text, "")
    formulas = _FORMULA.findall(head)
    domains = [says_domain(one, block.line, False) for one in formulas]
    behind = [bool(_GIVEN_BY.search(before)) for before in re.split(_FORMULA, head)[:-1:2]]
    domains = [lives or by for lives, by in zip(domains, behind, strict=True)]
    if not any(domains) or not all(lives or _ORDERS.match(one) for one, lives in zip(formulas, domains, strict=True)):
        return [replace(block, text=text)]
    given = Paragraph(block.line, f"{found[1]}Given{head[found.end() :]}")
    return [given, Paragraph(block.line + head.count("\n"), rest)] if rest.strip() else [given]


def _rewrite(text: str, words: bool = True, above: str = "") -> str:
    formulas: list[str] = []

    def mask(found: re.Match[str]) -> str:
        formulas.append(_without_entries(found[1]) if words else found[1])
        return f"\0{len(formulas) - 1}\0"

    masked = _FORMULA.sub(mask, text)
    if words:
        masked = spell_factors(above, spell_sentences(masked, formulas, above), formulas)
        masked = spell_clauses(masked, formulas, above)
    at = 0
    while (match := _MEMBERS.search(masked, at)) is not None:
        written = _family(match, formulas)
        masked = masked[: match.start()] + written + masked[match.end() :]
        at = match.start("range") if written == match[0] else match.start() + len(written)
    for pattern in (_COPULA, _APPOSITION) if words else ():
        masked = pattern.sub(lambda found: _domain(found, formulas), masked)
    for domain, pattern in _COUNTS.items() if words else ():
        masked = pattern.sub(partial(_join, formulas=formulas, domain=domain, rest=""), masked)
    masked = spell_moments(spell_definitions(above, masked, formulas), formulas, above) if words else masked
    masked = spell_laws(spell_phrases(masked, formulas), formulas)
    masked = spell_relations(spell_commuting(masked, formulas), formulas)
    return re.sub(r"\x00(\d+)\x00", lambda found: f"${formulas[int(found[1])]}$", masked)


def _without_entries(formula: str) -> str:
    """`p = (p_1, \\dots, p_n)` as the domain of p."""
    found = _ENTRIES.match(formula)
    return rf"{found['name']} \in \mathbb{{R}}^{{{found['long'] or found['last']}}}" if found else formula


def _family(found: re.Match[str], formulas: list[str]) -> str:
    r"""`$q_i, k_i \in D$ for $i = 1, \dots, n$` with dots; as it stands if it is anything else."""
    members, spread = (formulas[int(found[key].strip("\0"))] for key in ("members", "range"))
    range_ = _RANGE.match(spread)
    left, inside, domain = members.partition(r"\in ")
    whole = re.fullmatch(rf"\s*{_MEMBER}(?:\s*,\s*{_MEMBER})*\s*", left)
    if range_ is None or whole is None or not inside:
        return found[0]
    letter, last = next((range_[k], range_[f"n{k}"]) for k in "abcd" if range_[k])
    named = re.findall(_MEMBER, left)
    plain = not re.search(rf"(?<![A-Za-z\\]){letter}(?![A-Za-z])|\\dots|,", _PAIR.sub("", domain))
    bases = [base for base, _, index in named if index == letter]
    known = any(re.match(rf"\s*{re.escape(base)}\s*(?:,|\\in|=)", one) for base in bases for one in formulas)
    if len(bases) < len(named) or not plain or known:
        return found[0]
    out = []
    for base, label, _ in named:
        first, end = ("^{(1)}", f"^{{({last})}}") if label else ("_1", f"_{{{last}}}")
        formulas.append(rf"{base}{first}, \dots, {base}{end} \in {domain.strip()}")
        out.append(f"\0{len(formulas) - 1}\0")
    return ", ".join(out) + "\n" * found[0].count("\n")


def _domain(found: re.Match[str], formulas: list[str]) -> str:
    """What a match says, with the domain as a formula; as it stands if that is not certain."""
    parts = found.groupdict()
    words = " ".join(parts[key] or "" for key in ("before", "between"))
    other = OTHER_NUMBERS.search(words) or _MODULO.match(found.string, found.end())
    domain = "" if other else _space(parts, words, formulas)
    if not domain:
        return found[0]
    before, between = parts["before"] or "", parts["between"] or ""
    if parts["size"]:
        before = re.sub(r"\ban\s+$", "a ", before) if not between else before
    if "be" in parts:
        return _join(found, formulas, domain, f"{parts['be']}{before}{between}{parts['noun']}")
    joined = _join(found, formulas, domain, "")
    return joined if joined == found[0] else f"{before}{between}{parts['noun']} {joined}"


def _join(found: re.Match[str], formulas: list[str], domain: str, rest: str) -> str:
    r"""The symbols of a group as one formula with their domain; lines stay where they are.

    Those behind a formula that is more than symbols are a group of their own: "$n \ge 2$ and $k$ be integers".
    """
    cut, places = 0, list[int]()
    for one in re.finditer(r"\x00(\d+)\x00", found["group"]):
        plain = _are_symbols(formulas[int(one[1])])
        if not plain and not (_HAS_DOMAIN.search(formulas[int(one[1])]) or domain == r"\mathbb{R}"):
            return found[0]  # what the words state of all of them would be lost for this one
        cut, places = (cut, [*places, int(one[1])]) if plain else (one.end(), [])
    if not places:
        return found[0]
    joint = re.match(r"[\s,]*(?:and\b)?\s*", found["group"][cut:]) if cut else None
    before = found["group"][: cut + joint.end()] if joint is not None else ""
    symbols = ", ".join(formulas[place] for place in places)
    formulas.append(rf"{symbols} \in {domain}")
    text = f"{before}\0{len(formulas) - 1}\0{rest}"
    return text + "\n" * (found[0].count("\n") - text.count("\n") - symbols.count("\n"))


_PAIR = re.compile(r"\\\{\s*-?\d+\s*,\s*-?\d+\s*\\\}")
_HAS_DOMAIN = re.compile(r"\\(?:in|sim)(?![A-Za-z])|:|\\colon(?![A-Za-z])")


def _space(parts: dict[str, str | None], words: str, formulas: list[str]) -> str:
    r"""The domain that a noun and its size mean, such as \mathbb{R}^{n \times d}; '' if nothing is certain."""
    noun = parts["noun"] or ""
    given = [parts[key] for key in ("size", "of", "space", "count") if parts.get(key)]
    if re.search("number|scalar", noun):
        return "" if given else r"\mathbb{R}"
    if len(given) != 1 or given[0] is None:
        return ""
    sides = [formulas[int(one)].strip() for one in re.findall(r"\x00(\d+)\x00", given[0])]
    if parts.get("space"):
        return sides[0] if re.match(r"\\mathbb\s*\{?R\}?\s*\^", sides[0]) else ""
    sides = [side.strip() for one in sides for side in re.split(r"\\times(?![a-zA-Z])", one)]
    if any(not re.fullmatch(r"\(?[\w\\{}+\-* ]+\)?", side) for side in sides) or len(sides) > 2:
        return ""
    if noun.startswith("vector"):
        row = bool(re.search(r"\brow\b", words))
        sides = ["1", *sides] if row and len(sides) == 1 else sides
    elif len(sides) == 1:
        if not parts.get("of") and not (parts.get("dim") and SQUARE.search(words)):
            return ""
        sides = [*sides, *sides]
    extent = r" \times ".join(sides)
    return rf"\mathbb{{R}}^{{{extent}}}"


def _are_symbols(text: str) -> bool:
    """Whether a formula is a list of symbols and no more."""
    try:
        chains = [parse_tokens(tokens).chains for tokens in cut_at_commas(tokenize(text, 1))]
    except (Unreadable, RecursionError):
        return False
    alone = [one[0].exprs[0] for one in chains if len(one) == 1 and one[0].alone]
    plain = (Name, Sub, Sup)
    return len(alone) == len(chains) > 0 and all(
        isinstance(one, Dots) or (isinstance(one, plain) and symbol_name(one) is not None) for one in alone
    )
