r"""How sentences open: "Suppose we have data $x_1, \dots, x_n \in \mathbb{R}^d$", "At each step $t$, let".

What stands in front of a declaration, and who has the data, restricts nothing: the sentence is written as the
declaration alone, or left out where none is in it. A condition that alone says what a new symbol is ("If $y = x +
f(x)$, then:", "For the function $f(x) = x^2$, the gradient is:") defines or draws it, where nothing else in the
document says what it is: with two such sentences they are cases.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from attention_core.derivation.document.blocks import Block, Display, Heading, Paragraph
from attention_core.derivation.reading.defining_formulas import declared_in, definition_in, mentions, says_where
from attention_core.derivation.reading.masked_text import BEGINS, CLOSES, FORMULA, GROUP, MaskedFormulas
from attention_core.derivation.words.headings import may_restrict
from attention_core.derivation.words.vocabulary import DEGREE, PROPERTY

_MASKED = re.compile(r"(?<![\\$])\$((?:[^$\\]|\\.)+)\$(?!\$)")
_DATA = (
    r"(?:(?:an?|the|some|our|this|following|training|test|input|of|size|length|with|containing|consisting|made\s+up|"
    r"data\s?sets?|data|samples?|observations?|data\s?points?|points?|examples?|tokens?|sequences?|collections?|sets?|"
    r"batch(?:es)?|mini-?batch(?:es)?|lists?|vectors?|inputs?|words?|documents?|images?|users?|items?|values?|numbers?|"
    r"outputs?|labels?|targets?|pairs?|features?|queries|query|keys?|embeddings?|measurements?|elements?|series|"
    r"access\s+to)\b[*_]*\s*)"
)
_HAVE = re.compile(
    rf"{BEGINS}(?:(?:Now|So|First|Again|For\s+example|For\s+instance|As\s+before|Here),?\s+)?(?:(?:Suppose|Assume|Say|Imagine|"
    r"Let(?:'s|\u2019s|\s+us)\s+(?:say|assume|suppose|imagine)|We\s+(?:assume|suppose))(?:\s+that)?,?\s+)?"
    r"(?:we|you|one)\s+(?:have|has|are\s+given|is\s+given|observe|observes|collect|collected|got|get|start\s+with|want\s+to\s+"
    rf"model)\s+(?P<np>(?:[*_]*{_DATA}|{FORMULA}\s*|,\s*|and\s+)+){CLOSES}",
    re.IGNORECASE,
)
_SAY = re.compile(
    rf"{BEGINS}(?:(?:Now|So|First|Again|Here|Next|Then|To\s+be\s+concrete|For\s+concreteness|For\s+simplicity),?\s+)?"
    rf"(?:Let(?:'s|\u2019s|\s+us)\s+)?say,?\s+(?:that\s+)?(?P<what>{GROUP})(?P<rest>[^.;!?]*)",
    re.IGNORECASE,
)
_SAY_ASIDE = re.compile(
    rf"{BEGINS}(?P<verb>If|Suppose|Assume|When|Whenever|Let|Take|Consider),\s+say,\s+(?=(?:that\s+)?{FORMULA})",
    re.IGNORECASE,
)
_IS = re.compile(r"^\s+(?:is|are|has|have|lies?|satisf(?:y|ies))\b", re.IGNORECASE)
_NAMES = re.compile(
    r"\b(?:if|iff|when|whenever|whether|where|provided|unless|means?|or|only|called|just)\b", re.IGNORECASE
)
_AT_STEP = re.compile(
    rf"{BEGINS}(?:At|For|In|On)\s+(?:(?:each|every|any|the|a|this|all)\s+)?(?:time\s+)?(?:steps?|times?|layers?|tokens?|positions?|"
    r"iterations?|samples?|nodes?|heads?|epochs?|samples?|examples?|words?|units?|neurons?)(?:\s+(?P<index>\x00\d+\x00))?"
    r"(?:\s+(?:in|of|from)\s+(?:an?|the|our)\s+[a-z]+)?,?\s+(?:we\s+)?let\s+",
    re.IGNORECASE,
)
_IF = re.compile(
    rf"{BEGINS}(?:If|When|Suppose(?:\s+that)?|Assume(?:\s+that)?|Given(?:\s+that)?)\s+(?P<what>{FORMULA})(?P<then>\s*,?\s*(?:then\b)?"
    rf"(?:\s*,?\s*(?:we|it|this)\s+[a-z ]{{2,40}})?\s*[,:]?\s*)$",
    re.IGNORECASE,
)
_FOR_FUNCTION = re.compile(
    rf"{BEGINS}(?:For|Given|Consider|Take)\s+(?:an?|the|this|our)\s+(?:example\s+|simple\s+|quadratic\s+|linear\s+|scalar\s+|loss\s+|"
    rf"cost\s+|toy\s+)*(?:function|loss|map|expression|polynomial)\s+(?P<what>{FORMULA}),?\s+(?P<rest>(?:the|its|we|this|whose)\s"
    rf"[^.;:\x00]*[:,]?\s*)$",
    re.IGNORECASE,
)
_NAMED = re.compile(
    rf"(?P<head>{FORMULA}),?\s+(?:and|where)\s+(?P<what>{FORMULA})\s+(?:is|are)\s+(?:often\s+|usually\s+|also\s+|then\s+)?"
    rf"(?:called|known\s+as|referred\s+to\s+as|termed|dubbed)\s+(?P<name>(?:the|an?)\s+[A-Za-z *_-]+?){CLOSES}"
)
_INSIDE = re.compile(
    rf"(?P<before>{BEGINS}[^.;!?()\x00]*(?:{FORMULA}[^.;!?()\x00]*)*?)\s*\((?:where|with|for|here)\s+(?P<what>{GROUP})\s*\)(?P<end>\s*(?:[.;]|$))",
    re.IGNORECASE,
)
_NORMAL = re.compile(
    r"\\sim\s*(?:N|\\(?:text|mathrm|operatorname|textrm)\s*\{\s*(?:N|Normal|Norm|Gaussian)\s*\})\s*(?P<bracket>(?:\\left\s*)?\()(?=[^()]*,)"
)
_KINDS = r"(?:shapes?|sizes?|dimensions?)"
_SHAPED = re.compile(
    rf"(?P<group>{GROUP})\s+(?:be|(?:has|have)\s+(?:the\s+)?{_KINDS}|(?:is|are|be)\s+of\s+(?:the\s+)?{_KINDS})\s+"
    rf"(?P<size>{FORMULA})(?=\s*(?:[.,;)]|and\b|$))"
)
_LIES_IN = re.compile(
    rf"(?P<group>{GROUP})\s+(?:is|are|be|lies?|lives?)\s+(?:in|(?:an?\s+)?elements?\s+of|from)\s+(?P<space>{FORMULA})"
    r"(?=\s*(?:[.,;)]|and\b|$))"
)
_SPACE = re.compile(r"^\\mathbb\s*\{?\s*R\s*\}?(?:\s*\^\s*(?:\{[^{}]*\}|\w))?$")
_SIZES = re.compile(
    r"^\(?\s*(?P<rows>[A-Za-z](?:_\{?\w+\}?)?|\d+)\s*\\times\s*(?P<cols>[A-Za-z](?:_\{?\w+\}?)?|\d+)\s*\)?$"
)
_RUNS = re.compile(
    rf"(?P<what>{FORMULA})\s+(?:is|be|denotes)\s+(?:(?:an?|the)\s+(?:[a-z]+\s+)?index(?:\s+(?:of|for|over)\s+(?:the\s+)?"
    rf"[a-z ]+?)?)\s+(?:running\s+|ranging\s+|that\s+runs\s+|that\s+goes\s+)?from\s+(?P<low>{FORMULA}|\d+)\s+to\s+"
    rf"(?P<high>{FORMULA}|\d+)"
)
_DRAWN = re.compile(r"^\s*(?P<name>\\?[A-Za-z]+)(?:_\{?\w+\}?)?\s*\\sim(?![A-Za-z])[^=<>]+$")


@dataclass
class _Place(MaskedFormulas):
    """Where a sentence stands: the formulas above it in the document, and all of them."""

    above: str
    whole: str
    formulas: list[str] = field(default_factory=list)
    leads: bool = False
    below: str = ""  # the formulas below the displays that follow
    outside: str = ""  # those of the sections below

    def is_new(self, name: str, before: str) -> bool:
        """Whether nothing above mentions a name."""
        return not any(mentions(name, text) for text in (self.above, *self.all_in(before)))

    def leaves_open(self, name: str) -> bool:
        """Whether no formula of the document says where a letter lives."""
        own = rf"(?<![A-Za-z\\]){re.escape(name)}(?![A-Za-z])\s*(?:,[^=<>\0]*?)?\\in(?![A-Za-z])"
        return not re.search(own, self.whole)

    def is_given_once(self, name: str) -> bool:
        """Whether one formula of the document alone says what a name is."""
        own = rf"(?<![A-Za-z\\]){re.escape(name)}(?![A-Za-z])\s*(?:\([A-Za-z\\_,{{}} ]*\)\s*)?(?::?=|\\sim(?![A-Za-z]))"
        return len(re.findall(own, self.whole)) == 1


def spell_openings(blocks: Sequence[Block]) -> list[Block]:
    r"""Write sentences without what stands in front of their declarations.

    Args:
        blocks: The blocks of a document.

    Example:
        >>> spell_openings([Paragraph(1, r"At each step $t$, let $h \in \mathbb{R}^d$ be the state.")])[0].text
        'Let $h \\in \\mathbb{R}^d$ be the state.'
    """
    texts = [_formulas_of(one) for one in blocks]
    whole = "\0".join(texts)
    out: list[Block] = []
    for place, one in enumerate(blocks):
        if isinstance(one, Paragraph) and "$" in one.text:
            leads = place + 1 < len(blocks) and isinstance(blocks[place + 1], Display)
            behind, end = _find_ends(blocks, place)
            around = _Place("\0".join(texts[:place]), whole, leads=leads)
            around.below, around.outside = "\0".join(texts[behind:]), "\0".join(texts[end:])
            text = _spell(one.text, around)
            out.append(one if text == one.text else replace(one, text=text))
        else:
            out.append(one)
    return out


def _find_ends(blocks: Sequence[Block], place: int) -> tuple[int, int]:
    """Where the displays behind a paragraph end, and where its section does."""
    behind = place + 1
    while behind < len(blocks) and isinstance(blocks[behind], Display):
        behind += 1
    end = next((k for k in range(behind, len(blocks)) if isinstance(blocks[k], Heading)), len(blocks))
    return behind, end


def _formulas_of(block: Block) -> str:
    """The formulas of a block, with a sign between them."""
    if isinstance(block, Display):
        return block.text
    return "\0".join(_MASKED.findall(block.text)) if isinstance(block, Paragraph | Heading) else ""


def _spell(text: str, place: _Place) -> str:
    def mask(found: re.Match[str]) -> str:
        return place.add(_NORMAL.sub(lambda one: rf"\sim \mathcal{{N}}{one['bracket']}", found[1]))

    masked = _MASKED.sub(mask, text)
    if "$" in masked:
        return text
    for pattern, rewrite in _RULES:
        masked = pattern.sub(lambda found, rule=rewrite: _keep_lines(rule(place, found), found), masked)  # type: ignore[misc]
    return re.sub(r"\x00(\d+)\x00", lambda found: f"${place.formulas[int(found[1])]}$", masked)


def _keep_lines(text: str, found: re.Match[str]) -> str:
    return text + "\n" * (found[0].count("\n") - text.count("\n"))


def _have(place: _Place, found: re.Match[str]) -> str:
    r"""`Suppose we have a dataset of $n$ samples $x_i \in \mathbb{R}^d$`: what has no domain says nothing."""
    formulas = place.all_in(found["np"])
    lives = [place.add(one) for one in formulas if says_where(one)]
    plain = all(says_where(one) or re.fullmatch(_LIST, one) for one in formulas)
    if not plain or not formulas:
        return found[0]
    return f"{found['begins']}Let {', '.join(lives)}" if lives else found["begins"]


_ONE = r"(?:\\(?:mathbf|boldsymbol|bm|vec)\s*\{?)?\s*\\?[A-Za-z]+\}?(?:\s*[_^]\s*(?:\{[^{}=]*\}|\w)){0,2}"
_LIST = (
    rf"\s*(?:\\?[{{(\[]+\s*)?{_ONE}(?:\s*,\s*(?:{_ONE}|\\[lc]?dots|\.\.\.))*\s*(?:\\?[}})\]]+\s*)?"
    r"(?:_\{[^{}]*\}(?:\^\{?\w+\}?)?)?\s*"
)


def _if(place: _Place, found: re.Match[str]) -> str:
    r"""`If $X \sim N(\mu, \sigma^2)$ then`, `If $y = x + f(x)$, then:` of a new symbol, in front of a display."""
    what, before = place.at(found["what"]), found.string[: found.start("what")]
    drawn, made = _DRAWN.match(what), definition_in(what)
    name = drawn["name"] if drawn else made.name if made else ""
    valued = made is None or re.search(r"[A-Za-z]", made.value)
    known = not name or not place.is_new(name, before) or not place.is_given_once(name)
    if not place.leads or known or not valued or mentions(name, place.below):
        return found[0]  # what stands below may be about all values
    return f"{found['begins']}{'Let' if drawn else 'Put'} {found['what']}. Then we have:"


def _say(place: _Place, found: re.Match[str]) -> str:
    """`Say $A$ is symmetric.` as what it supposes; with "if" behind it, it says what a word means."""
    rest = found["rest"]
    related = any(re.search(r"[=<>]|\\(?:[lg]eq?|neq?|in)(?![a-zA-Z])", one) for one in place.all_in(found["what"]))
    supposes = _IS.match(rest) or (related and re.match(r"\s*(?:$|[,:]|and\b|then\b)", rest))
    asks = found.string[found.end() :].startswith("?")
    return (
        f"{found['begins']}Suppose {found['what']}{rest}"
        if supposes and not asks and not _NAMES.search(rest)
        else found[0]
    )


def _for_function(place: _Place, found: re.Match[str]) -> str:
    r"""`For the function $f(x) = x^2$, the gradient is:` in front of a display."""
    made, before = definition_in(place.at(found["what"])), found.string[: found.start("what")]
    if not (place.leads and made and made.args and place.is_new(made.name, before) and place.is_given_once(made.name)):
        return found[0]
    if mentions(made.name, place.outside):
        return found[0]
    return f"{found['begins']}Put {found['what']}. {found['rest'][:1].upper()}{found['rest'][1:]}"


def _drop_name(_: _Place, found: re.Match[str]) -> str:
    r"""`$\alpha \in (0, 1)$, and $1 - \alpha$ is called the confidence level`: a name says nothing."""
    name = found["name"].replace("*", "").replace("_", " ")
    return found[0] if PROPERTY.search(name) or DEGREE.search(name) or may_restrict(name) else found["head"]


def _inside(place: _Place, found: re.Match[str]) -> str:
    r"""`the true class is $y$ (where $y \in \{1, \dots, K\}$).` with the domain in a sentence of its own."""
    what, before = place.all_in(found["what"]), found.string[: found.start("before")]
    names = [name for one in what for name in declared_in(one)]
    if not all(says_where(one) for one in what) or not all(place.is_new(name, before) for name in names):
        return found[0]
    return f"{found['begins']}Let {found['what']}. {found['before'].strip()}{found['end']}"


def _read_shape(place: _Place, found: re.Match[str]) -> str:
    r"""`$A$ has shape $m \times n$` as its domain."""
    sizes = _SIZES.match(place.at(found["size"]))
    return (
        found[0] if sizes is None else _live(place, found, rf"\mathbb{{R}}^{{{sizes['rows']} \times {sizes['cols']}}}")
    )


def _live(place: _Place, found: re.Match[str], space: str) -> str:
    """The last symbols of a group with their space, behind what else the group has."""
    masks = [(one.start(), place.at(one[0])) for one in re.finditer(FORMULA, found["group"])]
    first = len(masks)
    while first and re.fullmatch(_ONE, masks[first - 1][1].strip()):
        first -= 1
    if first == len(masks):
        return found[0]
    names = ", ".join(name for _, name in masks[first:])
    return found["group"][: masks[first][0]] + place.add(rf"{names} \in {space}")


def _lies_in(place: _Place, found: re.Match[str]) -> str:
    r"""`$x$ is in $\mathbb{R}^n$` as its domain."""
    space = place.at(found["space"])
    return found[0] if _SPACE.match(space) is None else _live(place, found, space)


def _runs(place: _Place, found: re.Match[str]) -> str:
    r"""`$k$ is an index from $0$ to $N - 1$` as its domain."""
    name = place.at(found["what"])
    if not re.fullmatch(r"[a-z]", name) or not place.leaves_open(name):
        return found[0]
    low, high = (place.at(found[end]) if "\0" in found[end] else found[end] for end in ("low", "high"))
    return place.add(rf"{name} \in \{{{low}, \dots, {high}\}}")


_Rule = Callable[[_Place, re.Match[str]], str]
_RULES: tuple[tuple[re.Pattern[str], _Rule], ...] = (
    (_INSIDE, _inside),
    (_SHAPED, _read_shape),
    (_LIES_IN, _lies_in),
    (_RUNS, _runs),
    (_NAMED, _drop_name),
    (_HAVE, _have),
    (_SAY, _say),
    (_SAY_ASIDE, lambda _, found: f"{found['begins']}{found['verb']} "),
    (_AT_STEP, lambda _, found: f"{found['begins']}Let "),
    (_IF, _if),
    (_FOR_FUNCTION, _for_function),
)
