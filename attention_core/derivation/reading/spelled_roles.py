r"""Roles that sentences give to symbols, taken from the prose where they say nothing of values.

"where $W$ are the learnable parameters and $B$ is orthogonal" becomes "where $B$ is orthogonal", "where $x \in
\mathbb{R}^d$ is the input" says where x lives, and of "where $\eta$ is the learning rate" nothing is left. A role may
go if a thing of this name may have any value of its shape (`role_phrases`). What says of which kind the values are, a
size, a rate or a label, goes where no formula of the document declares the symbol otherwise: its shape and kind are
read from its use then, and nothing is refuted by values that are not of the kind (see `slips`). Other roles stay.

The words themselves are kept for what looks at all words of a document (`far_words_in`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from attention_core.derivation.document.blocks import Block, Display, Heading, Paragraph
from attention_core.derivation.quick_patterns import compile_quick
from attention_core.derivation.reading.defining_formulas import declared_in, definition_in, says_where
from attention_core.derivation.reading.masked_text import FORMULA, GROUP
from attention_core.derivation.reading.scoped_sentences import is_only_name
from attention_core.derivation.words.role_phrases import kind_of_role
from attention_core.derivation.words.vocabulary import DEGREE, PROPERTY

MAX_PIECE = 240  # characters of one role
_MASKED = re.compile(r"(?<![\\$])\$((?:[^$\\]|\\.)+)\$(?!\$)")
_SAYS = (
    r"\s*(?:(?:(?:is|are|be|being|denotes?|denoting|represents?|representing|stands?\s+for|refers?\s+to|"
    r"corresponds?\s+to|contains?|containing|holds?|collects?|serves?\s+as|acts?\s+as)\s+(?:(?:here|again|now|still|"
    r"simply|just|also)\s+)?(?:(?:called|known\s+as|referred\s+to\s+as|used\s+as|used\s+to\s+denote|written\s+for)\s+)?)"
    r"|\s*:\s+|\s*=\s+)"
)
_PIECE = re.compile(rf"\s*(?P<group>{GROUP})(?P<says>{_SAYS})(?P<role>.+?)\s*", re.DOTALL)
_ALONE = re.compile(rf"\s*(?P<group>{GROUP})(?P<says>\s+)(?P<role>(?:the|an?|our)\s.+?)\s*", re.DOTALL)
_CUTS = re.compile(r"(?:\s*[,;]\s*(?:(?:and|while|where|with|let)\s+)*|\s+(?:and|while)\s+(?:let\s+)?)(?=\x00)")
_GOES_ON = re.compile(rf"{GROUP}(?:{_SAYS}|\s+(?:the|an?|our)\s)")
_STANDS_ALONE = re.compile(rf"{FORMULA}(?=\s*(?:[,;]|and\b|while\b|$))")
_OPENS = (
    r"(?:[-*+]\s+|\d+[.)]\s+|>\s+)?(?P<opens>(?:(?:,\s*)?(?:and\s+)?(?:where|here|in\s+which|with|let|(?:suppose|assume)(?:\s+that)?)"
    r"(?:\s*[,:])?\s+)?)"
    r"(?:(?:the|each|every|all)\s+)?"
)
_SENTENCE = re.compile(rf"(?P<space>\s*){_OPENS}(?P<body>{FORMULA}[^\n]*(?:\n(?!\s*(?:[-*+]|\d+[.)])\s)[^\n]*)*)", re.I)
_ROLE_IS = re.compile(
    rf"\s*(?:[-*+]\s+)?(?:(?:Here|Throughout|Again),?\s+)?(?:We\s+(?:write|denote)\s+)?(?P<role>(?:[Tt]he|[Oo]ur)\s[^\0.;:]+?)\s+(?:is|are|will\s+be|by)\s+"
    rf"(?:(?:denoted|called|written|given)\s+(?:by|as)?\s*|denoted\s+)?(?P<group>{GROUP})\s*[.;]?\s*"
)
_APPOSED = re.compile(
    rf"\s*,?\s*(?:with|for|given)\s+(?P<role>[^\0.;:,()]+?)\s+(?P<group>{GROUP})\s*[.;,]?\s*", re.IGNORECASE
)
_TAIL = re.compile(rf"(?P<body>.*?)(?P<tail>,?\s+\(?where\s+(?P<list>{FORMULA}.*?)\)?)(?P<end>\s*:?\s*)", re.DOTALL)
_ENDS = re.compile(r"(?<=[.;!?])(?=\s)(?<!\bi\.e\.)(?<!\be\.g\.)(?<!\bcf\.)|(?=\n\s*(?:[-*+]|\d+[.)])\s)")
_MARKS = re.compile(r"\*+|(?<![A-Za-z0-9])_+|_+(?![A-Za-z0-9])")
_NAME = re.compile(
    r"(?:\\(?:mathbf|mathrm|mathcal|boldsymbol|bm|vec|hat|tilde|bar|mathsf|text|operatorname)\s*)?\{?\s*"
    r"(?P<name>\\?[A-Za-z]+)\s*\}?(?:\s*[_^]\s*(?:\{[^{}=]*\}|\\[a-z]+|\w|\*)){0,2}(?:')?"
)
_RELATION = re.compile(r"[=<>]|\\(?:in|sim|[lg]eq?(?:slant)?|neq?|perp|to|propto|approx)(?![A-Za-z])")
_DECLARES = re.compile(r"\\(?:in|sim)(?![A-Za-z])|:=")
_CALLED = re.compile(
    r"(?:the|our|its)\s+(?!(?:\w+[\s-]+)*?(?:identity|unit|ones?|null|zeros?|whole|half|same|only|all)\b)(?:[a-z]+[\s-]+){0,3}?"
    r"(?:functions?|matri(?:x|ces)|vectors?|gain|scores?|terms?|loss|constant|factor|map|errors?|residuals?|"
    r"estimates?|predictions?|outputs?|logits|updates?|activations?|objective|cost)",
    re.IGNORECASE,
)
_LIVES = re.compile(r"(?P<name>[^=<>,]+?)\s*\\in\s*\\mathbb\s*\{?\s*R\s*\}?(?:\s*\^\s*(?:\{[^=<>]*\}|\w))?")
_TUPLE = re.compile(
    r"(?:\\(?:mathbf|boldsymbol|bm|mathcal|vec)\s*)?\{?\s*\\?[A-Za-z]+\s*\}?\s*=\s*(?:\\left\s*)?(?:\(|\\\{)\s*"
    r"(?P<names>[^()=<>]+?)\s*(?:\\right\s*)?(?:\)|\\\})"
)
r"""A name for several symbols: `\theta = (\mu, \sigma)`."""
_CONSTANTS = re.compile(r"(?:(?:an?|some|any|real|fixed|given|arbitrary|known|unknown) )*constants?")
_NUMBER = re.compile(
    r"[abcrst]|\\(?:alpha|beta|gamma|lambda|mu|nu|theta|tau|kappa|eta|rho|delta|sigma)(?:_\w)?|[abc]_\w"
)
_RANDOM = re.compile(r"\\sim(?![A-Za-z])|\brandom\s+(?:variable|vector|number)")
_CUES = compile_quick(
    r"\b(?:is|are|be|being|denot(?:es?|ing)|represent(?:s|ing)?|stands?|refers?|corresponds?|contain(?:s|ing)?|holds?|"
    r"collects?|serves?|acts?|the|with)\b|: |= ",
    re.IGNORECASE,
)


_FITS = {
    "size": re.compile(r"\\in\s*\\mathbb\s*\{?N\}?|\\geq?(?:slant)?\s*[1-9]|>\s*\d"),
    "rate": re.compile(
        r">\s*0|\\geq?(?:slant)?\s*0|\\in\s*(?:\\left)?\s*[\[(]\s*0\s*,|\\in\s*\\mathbb\s*\{?R\}?_\{?(?:\+|>)"
    ),
    "label": re.compile(r"\\in\s*(?:\\left)?\s*(?:\\\{|\[\s*[A-Za-z]\s*\])"),
}
"""What a declaration may say of a symbol of which a role says that it is a size, a rate or a label."""


@dataclass
class _Document:
    """What a role is judged by: the text of all formulas of the document."""

    formulas: str
    random: bool = False  # whether it draws anything
    known: dict[tuple[str, str], bool] = field(default_factory=dict)

    def leaves_open(self, name: str, kind: str) -> bool:
        """Whether no formula says what a symbol is, or only that it is of a kind."""
        if (name, kind) not in self.known:
            own = rf"(?<![A-Za-z\\]){re.escape(name)}(?![A-Za-z])(?:\s*\}})?(?:\s*_\s*(?:\{{[^{{}}]*\}}|\w))?"
            sign = r"(?:\\(?:in|sim|[lg]eq?(?:slant)?|neq?|colon|perp)(?![A-Za-z])|:?=|[<>:])"
            behind = re.compile(rf"{own}\s*(?:,[^=<>\0]*?)?(?={sign})")
            before = re.compile(rf"(?:[<>]|\\[lg]eq?(?:slant)?)\s*{own}")
            fits = _FITS.get(kind)
            found = [
                fits is not None and fits.match(self.formulas, one.end()) for one in behind.finditer(self.formulas)
            ]
            self.known[name, kind] = all(found) and not before.search(self.formulas)
        return self.known[name, kind]


def drop_roles(blocks: Sequence[Block]) -> tuple[list[Block], list[Paragraph]]:
    r"""The blocks without the roles that say nothing, and the paragraphs that had some, as they were.

    Args:
        blocks: The blocks of a document.

    Example:
        >>> drop_roles([Paragraph(1, "where $W$ are the learnable parameters and $B$ is orthogonal.")])[0][0].text
        'where $B$ is orthogonal.'
    """
    texts: list[str] = []
    for one in blocks:
        if isinstance(one, Display):  # what it relates may be a claim
            texts += [one.text] if _DECLARES.search(one.text) else []
        elif isinstance(one, Paragraph | Heading) and "$" in one.text:
            texts += _MASKED.findall(one.text)
    words = " ".join(one.text for one in blocks if isinstance(one, Paragraph))
    document = _Document("\0".join(texts), bool(_RANDOM.search(words)))
    out: list[Block] = []
    changed: list[Paragraph] = []
    for one in blocks:
        if not isinstance(one, Paragraph) or "$" not in one.text or not _CUES.search(one.text):
            out.append(one)
            continue
        text = _without_roles(one.text, document)
        if text != one.text:
            changed.append(one)
        out.append(one if text == one.text else replace(one, text=text))
    return out, changed


def _without_roles(text: str, document: _Document) -> str:
    """A paragraph without its roles; lines stay where they are."""
    formulas: list[str] = []

    def mask(found: re.Match[str]) -> str:
        formulas.append(found[1])
        return f"\0{len(formulas) - 1}\0"

    masked = _MASKED.sub(mask, text)
    if "$" in masked:  # a sign of money, or a formula that is never closed
        return text
    pieces = [_sentence(one, formulas, document) for one in _ENDS.split(masked)]
    return re.sub(r"\x00(\d+)\x00", lambda found: f"${formulas[int(found[1])]}$", "".join(pieces))


def _sentence(text: str, formulas: list[str], document: _Document) -> str:
    """One sentence without roles, with as many line breaks as it had."""
    found = _SENTENCE.fullmatch(text)
    if found is not None:
        end = re.search(r"[\s.;:,]*$", found["body"])
        assert end is not None
        kept = _items(found["body"][: end.start()], formulas, document, not found["opens"].strip())
        if kept is None:
            return text
        head = found[0][: found.start("body")]
        new = f"{head}{', and '.join(kept)}{end[0]}" if kept else ""
        return new + "\n" * (text.count("\n") - new.count("\n"))
    match = _ROLE_IS.fullmatch(text) or _APPOSED.fullmatch(text)
    if match is not None:
        group = [formulas[int(one)] for one in re.findall(r"\x00(\d+)\x00", match["group"])]
        role = " ".join(_MARKS.sub("", match["role"]).split())
        return "\n" * text.count("\n") if all(_is_free(one, role, document) for one in group) else text
    tail = _TAIL.fullmatch(text.rstrip(" .;")) if "where" in text else None
    if tail is not None:
        kept = _items(tail["list"].strip(), formulas, document, False)
        if kept == []:
            new = tail["body"] + tail["end"] + text[len(text.rstrip(" .;")) :]
            return new + "\n" * (text.count("\n") - new.count("\n"))
    return text


def _items(body: str, formulas: list[str], document: _Document, bare: bool) -> list[str] | None:
    """What is left of a list of symbols with their roles; None where nothing can be taken from it.

    Args:
        body: The list, without what opens and ends it.
        formulas: What the masks stand for.
        document: The document.
        bare: Whether no word such as "where" opens it: then it may claim what a formula with a relation says.
    """
    kept: list[str] = []
    pieces = _cut(body, formulas)
    for piece in pieces:
        found = _PIECE.fullmatch(piece) or _ALONE.fullmatch(piece)
        if found is None or len(piece) > MAX_PIECE:
            kept.append(piece)
            continue
        group = [formulas[int(one)] for one in re.findall(r"\x00(\d+)\x00", found["group"])]
        role = " ".join(_MARKS.sub("", found["role"]).split())
        if document.random and found["says"].strip() == "be" and _CONSTANTS.fullmatch(role) and _are_numbers(group):
            kept.append(piece)  # numbers, which are not averaged over
            continue
        if all(_is_free(one, role, document) for one in group):
            continue
        plain = not bare and all(_keeps_formula(one, role) for one in group)
        kept.append(found["group"] if plain else piece)
    return None if kept == pieces else kept


def _cut(body: str, formulas: list[str]) -> list[str]:
    """The parts of a list that say something each: symbols with a role, or a formula with a relation."""
    pieces, start = [], 0
    for found in _CUTS.finditer(body):
        alone = _STANDS_ALONE.match(body, found.end())
        relates = alone is not None and _RELATION.search(formulas[int(alone[0].strip("\0"))])
        names = re.fullmatch(GROUP, body[start : found.start()])
        if names and not any(_RELATION.search(formulas[int(one)]) for one in re.findall(r"\x00(\d+)\x00", names[0])):
            continue  # "$a$ and $b$ are weights": both are
        if _GOES_ON.match(body, found.end()) or relates:
            pieces.append(body[start : found.start()])
            start = found.end()
    return [*pieces, body[start:]]


def _is_free(formula: str, role: str, document: _Document) -> bool:
    """Whether a role says nothing of the plain symbol that a formula is."""
    listed = _TUPLE.fullmatch(formula.strip())
    names = [_NAME.fullmatch(one.strip()) for one in _apart(listed["names"] if listed else formula)]
    if not names or any(one is None for one in names):
        return False
    kind = kind_of_role(role)
    if kind in ("", "array"):
        return False  # an array is described by such words: see `take_descriptions`
    return kind == "free" or all(one is not None and document.leaves_open(one["name"], kind) for one in names)


def _are_numbers(group: Sequence[str]) -> bool:
    """Whether formulas are letters that stand for numbers, where they are called constants."""
    return all(_NUMBER.fullmatch(name.strip()) for one in group for name in _apart(one))


def _apart(formula: str) -> list[str]:
    """The parts of a formula between its commas."""
    pieces = re.split(r",(?![^{}]*\})", formula)
    return [one for one in pieces if one.strip() and not re.fullmatch(r"\s*\\[lc]?dots\s*", one)]


def _keeps_formula(formula: str, role: str) -> bool:
    """Whether a role says nothing beside a formula that declares or defines its symbol."""
    if PROPERTY.search(role) or DEGREE.search(role):
        return False
    lives = _LIVES.fullmatch(formula.strip())
    if (says_where(formula) and declared_in(formula)) or (lives is not None and _NAME.fullmatch(lives["name"].strip())):
        return kind_of_role(role) in ("free", "array")
    made = definition_in(formula)
    named = bool(_CALLED.fullmatch(role)) or kind_of_role(role) in ("free", "array")
    return made is not None and named and is_only_name(made, role)
