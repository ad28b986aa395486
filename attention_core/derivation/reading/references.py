r"""What a reason refers to: "By (1), we get", "Substituting (2) gives", `\text{by Lemma 3}`.

A chain rule holds for all values, an equation (1) need not: it may be the constraint that makes the step true. So what
a reason names is looked up. A display of the document is tried as a hypothesis of the step; what is not found was not
read, and the step depends on it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from attention_core.derivation.document.blocks import KEPT_SENTENCES, Block, Display, Heading, Sentence
from attention_core.derivation.latex.printer import all_names
from attention_core.derivation.quick_patterns import compile_quick
from attention_core.derivation.reading.step import Step
from attention_core.derivation.terms.context import Caveat, Context
from attention_core.derivation.words.caveats import shorten_quote

_STATEMENT = r"lemma|theorem|proposition|corollary|definition|assumption|hypothesis|condition|claim|property"
_NUMBER = r"\(?(?P<number>[A-Z]?\d+(?:\.\d+)*[a-z]?|[A-Z])\)?"
_NAMED = compile_quick(rf"\b(?P<kind>{_STATEMENT})s?[ ~]+{_NUMBER}(?![\w])", re.IGNORECASE)
_EQUATION = re.compile(
    r"\\(?:eq|c|C)?ref\s*\{(?P<name>[^{}]*)\}|(?<![\w$^_}])\((?P<number>[A-Z]?\d{1,3}(?:\.\d+)*[a-z]?)\)|"
    r"\b(?:equations?|eqs?\.?|eqn\.?)[ ~]*(?P<bare>\d+(?:\.\d+)*[a-z]?)\b",
    re.IGNORECASE,
)
_BEHIND = r"(?:by|from|using|via|with|under|due to|thanks to|applying|as in)"
_ELSEWHERE = re.compile(
    rf"^\W*{_BEHIND} (?:the )?(?:(?:last|previous|first|next) )?(?:sections?|sec\.?|chapters?|appendix|examples?|"
    r"exercises?|remarks?|results? of|\[\d)",
    re.IGNORECASE,
)
_POINTER = re.compile(r"^\W*(?:see|cf\.?|compare)\b", re.IGNORECASE)
_HEAD = re.compile(rf"^\W*(?:\*\*|__|\*|_)?\s*(?P<kind>{_STATEMENT})[ ~]+{_NUMBER}(?!\w)", re.IGNORECASE)
# Of an item of a list.
_LABEL = re.compile(r"^\W*\(?\w{1,3}[.)]\)?\s+(?!(?:and|gives?|impl|yields?|shows?|with|into)\b)")
_ALONE = re.compile(r"\W*\w{1,3}\W*")
"""A label that stands alone names what follows it: "(1)"."""
_TAG = re.compile(r"\\(?:tag\*?|label)\s*\{([^{}]*)\}")

# Words that draw a conclusion from the display above.
CONCLUDES = re.compile(
    r"^\W*(?:and )?(?:hence|thus|therefore|then|so|consequently|conversely|whence|it follows|"
    r"(?:this|which) (?:gives|implies|yields|means|shows)|"
    r"(?:plugging|substituting|inserting|putting) (?:this|that|it|these|them|everything|both))\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Statement:
    """A statement of the document with a number, and the lines from its head to the next one."""

    kind: str
    number: str
    first: int
    last: int


def statements_in(blocks: Sequence[Block]) -> list[Statement]:
    """The numbered lemmas, theorems and the like of a document, and its displays with a tag."""
    heads: list[tuple[str, str, int]] = []
    ends: list[int] = []
    out: list[Statement] = []
    for block in blocks:
        if isinstance(block, Display):
            last = block.line + block.text.count("\n") + 1
            out += [Statement("", name.strip(" ()"), block.line, last) for name in _TAG.findall(block.text)]
            continue
        found = _HEAD.match(block.text)
        if found:
            heads.append((found.group("kind").lower(), found.group("number"), block.line))
        if found or isinstance(block, Heading):
            ends.append(block.line)
    for kind, number, line in heads:
        out.append(Statement(kind, number, line, min((end for end in ends if end > line), default=10**9)))
    return out


def references_in(text: str) -> list[tuple[str, str]]:
    """The kinds and numbers that a reason names; an equation has no kind, what stands elsewhere no number.

    Example:
        >>> references_in("By Lemma 2 and (3), we get")
        [('lemma', '2'), ('', '3')]
        >>> references_in("See Lemma 2."), references_in("By the chain rule, we get")
        ([], [])
    """
    return list(_references_in(text))


@lru_cache(maxsize=KEPT_SENTENCES)
def _references_in(text: str) -> tuple[tuple[str, str], ...]:
    if _POINTER.match(text) or _ALONE.fullmatch(text):
        return ()
    text = _LABEL.sub("", _HEAD.sub("", text))
    out = [(found.group("kind").lower(), found.group("number")) for found in _NAMED.finditer(text)]
    rest = _NAMED.sub(" ", text)
    out += [("", next(filter(None, f.groups()), "").strip()) for f in _EQUATION.finditer(rest)]  # `\ref{}` has none
    return (*out, ("elsewhere", "")) if _ELSEWHERE.search(rest) else tuple(out)


def look_up_reasons(
    context: Context, sentence: Sentence, known: Sequence[Statement], above: Sequence[Step]
) -> list[Caveat]:
    """What the reasons in a sentence leave open.

    Args:
        context: What is declared there.
        sentence: The sentence.
        known: The numbered statements and displays of the document.
        above: The steps above it.

    Returns:
        A caveat for each relation of what is named, or one for what the document does not have.
    """
    return _look_up(context, (sentence.line, sentence.text), references_in(sentence.prose), known, above)


_OVER = re.compile(
    r"\\(?:overset|stackrel|underset|xlongequal|xrightarrow|xLongrightarrow)\s*(?:\[[^\]]*\])?\s*"
    r"\{(?P<label>(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}"
)
_MARK = re.compile(r"^\s*(?:\\(?:text|textrm|mathrm)\s*\{)?\s*\(?\s*([\w.*!?\\]{1,12})\s*\)?\s*\}?\s*$")


def read_marks(
    context: Context, display: Display, known: Sequence[Statement], above: Sequence[Step], words: str
) -> list[Caveat]:
    r"""What the marks over the relations of a display leave open, as in `\overset{(1)}{=}`.

    A number names a display. Any other mark is explained where the document has it once more, in words that are looked
    at where they stand; one that stands nowhere else was not read, and `\overset{!}{=}` demands.

    Args:
        context: What is declared there.
        display: The display.
        known: The numbered statements and displays of the document.
        above: The steps above it.
        words: All prose of the document.
    """
    out: list[Caveat] = []
    for found in _OVER.finditer(display.text):
        label = found.group("label")
        mark = _MARK.match(label)
        line = display.line + display.text.count("\n", 0, found.start())
        named = references_in(f"By {label},") or ([] if mark is None else _resolve_mark(mark.group(1), known, words))
        out += _look_up(context, (line, found.group()), named, known, above)
    return out


def _resolve_mark(mark: str, known: Sequence[Statement], words: str) -> list[tuple[str, str]]:
    """What a mark over a relation names; nothing where words of the document explain it."""
    if mark.lower().rstrip(".") in ("def", "defn"):
        return []
    if any(one.number == mark and not one.kind for one in known):
        return [("", mark)]
    explained = mark not in ("!", "?") and re.search(
        rf"\(\$?{re.escape(mark)}\$?\)|(?<!\w)\$?{re.escape(mark)}\)", words
    )
    return [] if explained else [("mark", mark)]


def _look_up(
    context: Context,
    place: tuple[int, str],
    named: Sequence[tuple[str, str]],
    known: Sequence[Statement],
    above: Sequence[Step],
) -> list[Caveat]:
    """The relations of what is named, or one caveat with the words at a place where some of it was not read."""
    out: list[Caveat] = []
    for kind, number in named:
        places = [one for one in known if one.kind == kind and one.number == number]
        for one in places:
            steps = [s for s in above if one.first <= s.line < one.last]
            if not steps:
                places = []
            out += relations_of_steps(context, steps)
        if not places:
            return [Caveat(place[0], shorten_quote(place[1]), context.level, None, whole=True)]
    return out


def relations_of_steps(context: Context, steps: Sequence[Step]) -> list[Caveat]:
    """The relations of some steps as caveats of those below: they may be constraints, even of more indices."""
    plain = [one for one in steps if not one.assumed]
    return [
        Caveat(one.line, shorten_quote(one.text), context.level, _about(context, one) or None, one.text)
        for one in plain
    ]


def _about(context: Context, step: Step) -> frozenset[str]:
    return frozenset((all_names(step.left) | all_names(step.right)) & set(context.symbols))
