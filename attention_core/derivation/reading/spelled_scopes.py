r"""Sentences that say where symbols live and define others at once, written as declarations and definitions.

"For $t \in \mathbb{R}$ let $\sigma(t) = ...$" becomes "Let $t \in \mathbb{R}$. Put $\sigma(t) = ...$", and so do "Let
$X \in ...$ and $J(w) = ...$ for $w \in \mathbb{R}^d$", "Throughout, $z \in \mathbb{R}^n$ is the vector of logits and
$p = ...$" and "The exact GELU is $g(x) = ...$". Only symbols that nothing above mentions are introduced so: of a known
one such a sentence may be a claim, or a case. Words that name what is defined are dropped where they restrict nothing:
names of a closed list, and any name of a function whose value holds no symbol but its arguments. Formulas are masked,
as in `spelled_laws`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from attention_core.derivation.document.blocks import Block, Heading, Paragraph
from attention_core.derivation.reading.defining_formulas import (
    declared_in,
    definition_in,
    mentions,
    says_where,
)
from attention_core.derivation.reading.masked_text import FORMULA, GROUP
from attention_core.derivation.reading.scoped_sentences import (
    ALL,
    BEGINS,
    CLOSES,
    DECLARES,
    ITEMS,
    Sentence,
    before_match,
    items_of,
)
from attention_core.derivation.reading.sections import sets_scene
from attention_core.derivation.reading.spelled_definitions import CALLED
from attention_core.derivation.reading.spelled_subjects import SUBJECTS

_MASKED = re.compile(r"(?<![\\$])\$((?:[^$\\]|\\.)+)\$(?!\$)")
_NAMED = rf"(?:\s+(?:be|is|denotes?|for)\s+(?:the|an?|our|its)\s+(?P<called>{CALLED}))?"
_QUANTITY = (
    r"(?:(?:sample|arithmetic|empirical|squared|euclidean|total)\s+)*(?:mean|average|variance|standard\s+deviation|norm|length|"
    r"sum|total|maximum|minimum|softmax|entropy|trace|determinant)"
)
_FOR_LET = re.compile(
    rf"{BEGINS}(?:For|Given)\s+{ALL}(?P<over>{GROUP})\s*,?\s*(?:(?:we|let us)\s+(?:now\s+|also\s+)?)?"
    rf"(?:let|put|set|define|write|denote|introduce)\s+(?P<what>{ITEMS}){CLOSES}"
)
_BEHIND = re.compile(
    rf"(?P<verb>\b(?:let|put|set|define|write|consider)\s+)?(?P<what>{FORMULA}){_NAMED}\s*,?\s+for\s+{ALL}(?P<over>{GROUP})"
    r"(?=\s*(?:[.;,]|$|and\b))",
    re.IGNORECASE,
)
_WHERE = re.compile(
    rf"{BEGINS}(?P<verb>Let|Put|Set|Define|Write|Suppose(?:\s+that)?|We\s+(?:write|put|set|define))\s+(?P<body>(?:[^.;:!?\0]|\0\d+\0)*?)"
    rf",?\s+where\s+(?P<what>{GROUP}){CLOSES}"
)
_DENOTES = re.compile(
    rf"{BEGINS}(?:We\s+)?(?:[Dd]enote|[Ll]et\s+us\s+denote)\s+by\s+(?P<first>{FORMULA})\s+(?:the|its|their)\s+{_QUANTITY}\s+of\s+"
    rf"(?P<of>{FORMULA}){CLOSES}"
)
_NOUN = re.compile(
    r"\b(?:an?|the|some|any)\s+(?:temperature|learning\s+rate|step\s+size|scale|rate|constant|parameter|threshold|tolerance|"
    rf"number|scalar|coefficient|factor)\s+(?P<what>{FORMULA})"
)
_DRAWN = re.compile(
    rf"{BEGINS}(?P<verb>Let|Suppose(?:\s+that)?|Assume(?:\s+that)?|Given)\s+(?P<family>{FORMULA})\s+(?:be|are)\s+(?:all\s+)?"
    r"(?P<free>i\.?\s?i\.?\s?d\.?|independent(?:\s+and\s+identically\s+distributed)?)(?:\s+random\s+(?:variables|numbers|"
    rf"vectors))?,?\s+(?:with|where|and)\s+(?P<law>{FORMULA})(?P<bounds>(?:(?:\s*,\s*|\s*,?\s+)(?:and\s+|where\s+|with\s+)?{FORMULA})*)"
)
_WITH_VALUES = re.compile(
    rf"(?P<of>{FORMULA}),?\s+(?:with|of)\s+(?:the\s+)?(?P<values>{_QUANTITY}\s+{FORMULA}(?:(?:\s*,\s*|\s*,?\s+and\s+)(?:the\s+)?"
    rf"{_QUANTITY}\s+{FORMULA})*)(?:\s*,?\s+(?:where|with)\s+(?P<bounds>{GROUP}))?{CLOSES}",
    re.IGNORECASE,
)
_DIVIDES = re.compile(rf"\s*,?\s+(?:where|and)\s+(?P<what>{FORMULA})\s+divides\s+by\s+(?P<size>{FORMULA})")
_VARIANCE = re.compile(r"^\s*\\(?:operatorname|mathrm|text)\s*\{\s*[vV]ar\s*\}\s*$")
_LENGTH = re.compile(r"\\in\s*\\mathbb\s*\{?R\}?\s*\^\s*\{?\s*(\w+)\s*\}?\s*$")
_FAMILY = re.compile(r"^\s*(?P<base>\\?[A-Za-z]+)_\{?1\}?\s*,.*\\[lc]?dots\s*,\s*(?P=base)_\{?\w+\}?\s*$")
_MEMBER_LAW = re.compile(
    r"^\s*(?P<base>\\?[A-Za-z]+)_\{?(?P<index>[a-z])\}?\s*\\sim(?![A-Za-z])\s*(?P<law>.+)$", re.DOTALL
)


def spell_scopes(blocks: Sequence[Block], arrays: frozenset[str] = frozenset()) -> list[Block]:
    r"""Write sentences that declare and define at once as declarations and definitions.

    Args:
        blocks: The blocks of a document.
        arrays: The letters that it writes as arrays, see `array_letters`.

    Example:
        >>> spell_scopes([Paragraph(1, r"For $t \in \mathbb{R}$ let $f(t) = t^2$.")])[0].text
        'Let $t \\in \\mathbb{R}$. Put $f(t) = t^2$.'
    """
    out: list[Block] = []
    open_: list[tuple[int, str]] = [(0, "")]  # the levels of the sections around, and what they hold
    for block in blocks:
        if isinstance(block, Heading):
            while len(open_) > 1 and open_[-1][0] >= block.level:
                open_.pop()
            if not sets_scene(block.text):  # what such a section holds is that of the one around it
                open_.append((block.level, ""))
            out.append(block)
            continue
        above = "\n".join(text for _, text in open_)
        if isinstance(block, Paragraph) and "$" in block.text:
            out.append(replace(block, text=_spell(block.text, above, arrays)))
            held = "\n".join(_MASKED.findall(block.text))
        else:
            out.append(block)
            held = "" if isinstance(block, Paragraph) else block.text
        open_[-1] = (open_[-1][0], f"{open_[-1][1]}\n{held}")
    return out


def _spell(text: str, above: str, arrays: frozenset[str]) -> str:
    sentence = Sentence([], above, arrays)
    masked = _MASKED.sub(lambda found: sentence.add(found[1]), text)
    for pattern, rewrite in _RULES:
        masked = pattern.sub(partial(_keep_lines, rewrite, sentence), masked)
    return re.sub(r"\x00(\d+)\x00", lambda found: f"${sentence.formulas[int(found[1])]}$", masked)


def _keep_lines(rewrite: Callable[[Sentence, re.Match[str]], str], sentence: Sentence, found: re.Match[str]) -> str:
    """What a sentence becomes, with as many line breaks as it had."""
    text = rewrite(sentence, found)
    return text + "\n" * (found[0].count("\n") - text.count("\n"))


def _for_let(sentence: Sentence, found: re.Match[str]) -> str:
    r"""`For $t \in \mathbb{R}$ let $f(t) = t^2$`; of a known t only the function is defined, whose argument it is."""
    over, before = sentence.all_in(found["over"]), before_match(found)
    items = items_of(sentence, found["what"], before)
    names = [name for one in over for name in declared_in(one)]
    if items is None or items.declares or not all(declared_in(one) for one in over):
        return found[0]
    if sentence.is_new(names, before):
        return found["begins"] + ". ".join([f"Let {found['over']}", *items.say()])
    bound = all(one.is_closed() and set(one.args) <= set(names) for _, one in items.defines)
    return found["begins"] + ". ".join(items.say()) if bound and all(map(says_where, over)) else found[0]


def _behind(sentence: Sentence, found: re.Match[str]) -> str:
    r"""`..., and $J(w) = ...$ for $w \in \mathbb{R}^d$` with w first, where the value is given for all of it."""
    before, what = before_match(found), sentence.at(found["what"])
    own = re.split(r"[.;:!?]\s", before)[-1]
    made, over = definition_in(what), sentence.all_in(found["over"])
    names = [name for one in over for name in declared_in(one)]
    if made is None or not (found["verb"] or DECLARES.match(own)) or not all(says_where(one) for one in over):
        return found[0]
    every = [definition_in(one) for one in sentence.all_in(found.string)]
    if sum(one is not None and one.name == made.name for one in every) != 1:
        return found[0]  # values by cases
    if not sentence.is_new([*names, made.name], before) or not all(mentions(name, what) for name in names):
        return found[0]
    if re.search(FORMULA, own):
        return f"{found['over']}. Put {found['what']}"
    if not found["verb"]:
        return found[0]  # "Define the softplus by ...": words stand between
    return f"Let {found['over']}. Put {found['what']}"


def _where(sentence: Sentence, found: re.Match[str]) -> str:
    r"""`Write $r = \|x\|$, where $x \in \mathbb{R}^n$, $x \ne 0$` with x first."""
    what, body, before = sentence.all_in(found["what"]), sentence.all_in(found["body"]), before_match(found)
    names = [name for one in what for name in declared_in(one)]
    if not body or not all(declared_in(one) for one in what) or not any(map(says_where, what)):
        return found[0]
    owned = {name for one in body for name in declared_in(one)} | {m.name for one in body if (m := definition_in(one))}
    used = any(mentions(name, one) for name in names for one in body)
    if owned & set(names) or not used or not sentence.is_new(names, before):
        return found[0]
    verb = "Put" if all(definition_in(one) for one in body) and found["verb"] != "Let" else found["verb"]
    return f"{found['begins']}Let {found['what']}. {verb} {found['body']}"


def _denotes(sentence: Sentence, found: re.Match[str]) -> str:
    r"""`Denote by $m = \frac{1}{n} \sum_i x_i$ the mean of $x \in \mathbb{R}^n$`."""
    made, of, before = definition_in(sentence.at(found["first"])), sentence.at(found["of"]), before_match(found)
    names = declared_in(of) or [of]
    if (
        made is None
        or len(names) != 1
        or not mentions(names[0], made.value)
        or not sentence.is_new([made.name], before)
    ):
        return found[0]
    if not says_where(of):
        return f"{found['begins']}Put {found['first']}" if names == [of] else found[0]
    return f"{found['begins']}Let {found['of']}. Put {found['first']}" if sentence.is_new(names, before) else found[0]


def _noun(sentence: Sentence, found: re.Match[str]) -> str:
    r"""`a temperature $\tau > 0$` without its noun, which says no more of a number than its bound."""
    formula = sentence.at(found["what"])
    own = re.split(r"[.;:!?]\s", before_match(found))[-1]
    opens = DECLARES.match(own) or re.match(r"\W*(?:fix|take|choose|for|with)\b", own, re.IGNORECASE)
    return found["what"] if opens and len(declared_in(formula)) == 1 and not says_where(formula) else found[0]


def _draw_family(sentence: Sentence, found: re.Match[str]) -> str:
    r"""`Let $X_1, \dots, X_n$ be i.i.d. with $X_i \sim ...$ and $\sigma > 0$` with the parameters first."""
    family, law = _FAMILY.match(sentence.at(found["family"])), _MEMBER_LAW.match(sentence.at(found["law"]))
    bounds = re.findall(FORMULA, found["bounds"])
    if family is None or law is None or law["base"] != family["base"] or mentions(law["index"], law["law"]):
        return found[0]
    names = [declared_in(sentence.at(one)) for one in bounds]
    if not all(names) or (names and not sentence.is_new([n for one in names for n in one], before_match(found))):
        return found[0]
    drawn = sentence.add(rf"{sentence.at(found['family'])} \sim {law['law'].strip()}")
    opens = f"Let {', '.join(bounds)}. " if bounds else ""
    return f"{found['begins']}{opens}Let {drawn} be independent"


def _with_values(sentence: Sentence, found: re.Match[str]) -> str:
    r"""`$x \in \mathbb{R}^d$ with mean $\mu = \operatorname{mean}(x)$ and variance $s^2 = ...$` in sentences."""
    of, before = sentence.at(found["of"]), before_match(found)
    names, masks = declared_in(of), re.findall(FORMULA, found["values"])
    made = [definition_in(sentence.at(one)) for one in masks]
    own = re.split(r"[.;:!?]\s", before)[-1]
    if not says_where(of) or len(names) != 1 or not DECLARES.match(own):
        return found[0]
    new = all(one is not None and mentions(names[0], one.value) and sentence.is_new([one.name], before) for one in made)
    behind = re.findall(FORMULA, found["bounds"] or "")
    again = any(says_where(one) and names[0] in declared_in(one) for one in map(sentence.at, behind))
    bounds = _bounds_of(sentence, behind, [sentence.at(one).partition("=")[0] for one in masks], before)
    if again or not new or bounds is None:
        return found[0]
    first, later = bounds
    puts = [f"Put {mask}" for mask in masks]
    return ". ".join([found["of"], *(f"Let {one}" for one in first), *puts, *(f"Suppose {one}" for one in later)])


def _bounds_of(
    sentence: Sentence, bounds: Sequence[str], defined: Sequence[str], before: str
) -> tuple[list[str], list[str]] | None:
    r"""What bounds behind definitions declare, and which are about what is defined: `where $\sigma > 0$`.

    Returns:
        Masks of both kinds; None if there is anything else.
    """
    first, later = list[str](), list[str]()
    for mask in bounds:
        names = declared_in(sentence.at(mask))
        if names and all(any(mentions(name, one) for one in defined) for name in names):
            later.append(mask)
        elif sentence.is_new(names, before) and not any(mentions(name, one) for name in names for one in defined):
            first.append(mask)
        else:
            return None
    return first, later


def _divides(sentence: Sentence, found: re.Match[str]) -> str:
    r"""`where $\operatorname{var}$ divides by $d$`: as it is read, where the numbers are d."""
    size = sentence.at(found["size"])
    lengths = [_LENGTH.search(one) for one in sentence.all_in(found.string)]
    whole = [one[1] for one in lengths if one is not None]
    return "" if _VARIANCE.match(sentence.at(found["what"])) and whole == [size] else found[0]


_RULES: tuple[tuple[re.Pattern[str], Callable[[Sentence, re.Match[str]], str]], ...] = (
    (_DIVIDES, _divides),
    (_WITH_VALUES, _with_values),
    (_NOUN, _noun),
    (_DENOTES, _denotes),
    (_WHERE, _where),
    (_DRAWN, _draw_family),
    (_FOR_LET, _for_let),
    *SUBJECTS,
    (_BEHIND, _behind),
)
