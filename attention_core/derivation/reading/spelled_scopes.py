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
from dataclasses import dataclass, replace
from functools import partial

from attention_core.derivation.document.blocks import Block, Heading, Paragraph
from attention_core.derivation.reading.array_letters import array_letters
from attention_core.derivation.reading.defining_formulas import (
    Definition,
    declared_in,
    definition_in,
    mentions,
    relates,
    says_where,
)
from attention_core.derivation.reading.masked_text import FORMULA, GROUP, formula_at
from attention_core.derivation.reading.sections import sets_scene
from attention_core.derivation.reading.spelled_definitions import CALLED
from attention_core.derivation.words.headings import may_restrict
from attention_core.derivation.words.vocabulary import PROPERTY

_MASKED = re.compile(r"(?<![\\$])\$((?:[^$\\]|\\.)+)\$(?!\$)")
_BEGINS = r"(?P<begins>(?:^|(?<=[.;:!?])\s|(?<=[.:]\*\*)\s)\s*)(?:\(?(?:[a-h]|[ivx]{1,4}|\d{1,2})[.)]\s+)?"
_CLOSES = r"(?=\s*(?:[.;!?]|:?\s*$))"
_ALL = r"(?:(?:all|any|every|each|an?|some|arbitrary|fixed)\s+)?"
_NAMED = rf"(?:\s+(?:be|is|denotes?|for)\s+(?:the|an?|our|its)\s+(?P<called>{CALLED}))?"
_WORDS = r"[A-Za-z][A-Za-z-]*(?:\s+[A-Za-z][A-Za-z-]*){0,5}?"
_ITEM = rf"{FORMULA}(?:\s+(?:be|is|are)\s+(?:the|an?|our|its)\s+{_WORDS})?"
_ITEMS = rf"{_ITEM}(?:(?:\s*,\s*|\s*,?\s+and\s+)(?:let\s+|put\s+|set\s+)?{_ITEM})*"
_QUANTITY = (
    r"(?:(?:sample|arithmetic|empirical|squared|euclidean|total)\s+)*(?:mean|average|variance|standard\s+deviation|norm|length|"
    r"sum|total|maximum|minimum|softmax|entropy|trace|determinant)"
)
_ONE_ITEM = re.compile(
    rf"(?P<mask>{FORMULA})(?:\s+(?:be|is|are)\s+(?P<role>(?:the|an?|our|its)\s+{_WORDS}))?(?=\s*,|\s+and\b|\s*$)"
)
_FOR_LET = re.compile(
    rf"{_BEGINS}(?:For|Given)\s+{_ALL}(?P<over>{GROUP})\s*,?\s*(?:(?:we|let us)\s+(?:now\s+|also\s+)?)?"
    rf"(?:let|put|set|define|write|denote|introduce)\s+(?P<what>{_ITEMS}){_CLOSES}"
)
_BEHIND = re.compile(
    rf"(?P<verb>\b(?:let|put|set|define|write|consider)\s+)?(?P<what>{FORMULA}){_NAMED}\s*,?\s+for\s+{_ALL}(?P<over>{GROUP})"
    r"(?=\s*(?:[.;,]|$|and\b))",
    re.IGNORECASE,
)
_DECLARES = re.compile(
    r"^\W*(?:\w{1,3}[.)]\s+)?(?:(?:now|then|also|and)\s+)?(?:let|given|put|set|define|consider)\b", re.I
)
_REACH = (
    r"(?:(?:Throughout(?:\s+this\s+\w+)?|Here|Below|In\s+what\s+follows|In\s+this\s+(?:section|note|lecture|post|part)|"
    r"From\s+now\s+on|Henceforth),?\s+)?"
)
_SO = rf"(?P<so>,?\s+so\s+that\s+{FORMULA})?"
_IS_ROLE = re.compile(
    rf"{_BEGINS}{_REACH}(?P<first>{FORMULA})\s+(?:is|are|denotes?|will\s+be)\s+(?P<role>(?:the|an?|our)\s+{_WORDS})"
    rf"(?:\s*,?\s+and\s+(?P<what>{_ITEMS}))?{_SO}{_CLOSES}"
)
_ROLE_IS = re.compile(
    rf"{_BEGINS}{_REACH}(?P<role>(?:[Tt]he|[Oo]ur|[Ii]ts)\s+{_WORDS})\s+(?:is|are|reads|is\s+given\s+by|is\s+defined\s+(?:as|by))\s+"
    rf"(?P<first>{FORMULA})(?:\s*,?\s+(?:and|where|with)\s+(?P<what>{_ITEMS}))?{_SO}{_CLOSES}"
)
_ROLE_HAS = re.compile(
    rf"{_BEGINS}(?P<role>(?:The|Our|This)\s+{_WORDS})\s+(?P<first>{FORMULA})\s+(?:has|satisfies|gives|yields|obeys)\s*:?\s*$"
)
_DRAWN = re.compile(
    rf"{_BEGINS}(?P<verb>Let|Suppose(?:\s+that)?|Assume(?:\s+that)?|Given)\s+(?P<family>{FORMULA})\s+(?:be|are)\s+(?:all\s+)?"
    r"(?P<free>i\.?\s?i\.?\s?d\.?|independent(?:\s+and\s+identically\s+distributed)?)(?:\s+random\s+(?:variables|numbers|"
    rf"vectors))?,?\s+(?:with|where|and)\s+(?P<law>{FORMULA})(?P<bounds>(?:(?:\s*,\s*|\s*,?\s+)(?:and\s+|where\s+|with\s+)?{FORMULA})*)"
)
_WITH_VALUES = re.compile(
    rf"(?P<of>{FORMULA}),?\s+(?:with|of)\s+(?:the\s+)?(?P<values>{_QUANTITY}\s+{FORMULA}(?:(?:\s*,\s*|\s*,?\s+and\s+)(?:the\s+)?"
    rf"{_QUANTITY}\s+{FORMULA})*){_CLOSES}",
    re.IGNORECASE,
)
_ANGLES = re.compile(
    rf"{_BEGINS}(?P<what>[A-Z][a-z-]+)\s+(?:by|with|through|for)\s+(?P<role>(?:the\s+|two\s+)?(?:angles|numbers|scalars|vectors|"
    rf"matrices)\s+)(?P<first>{FORMULA})(?=\s*:\s*$)"
)
_BY_WORK = re.compile(
    rf"{_BEGINS}(?:With|By|After|Using)\s+(?:a\s+(?:bit|little|lot)(?:\s+of)?|some|more|basic|elementary)\s+(?:calculus|algebra|"
    r"arithmetic|work|patience|trigonometry|rearranging|thought),?\s+(?P<next>\w)"
)
_DIVIDES = re.compile(rf"\s*,?\s+(?:where|and)\s+(?P<what>{FORMULA})\s+divides\s+by\s+(?P<size>{FORMULA})")
_VARIANCE = re.compile(r"^\s*\\(?:operatorname|mathrm|text)\s*\{\s*[vV]ar\s*\}\s*$")
_LENGTH = re.compile(r"\\in\s*\\mathbb\s*\{?R\}?\s*\^\s*\{?\s*(\w+)\s*\}?\s*$")
_FAMILY = re.compile(r"^\s*(?P<base>\\?[A-Za-z]+)_\{?1\}?\s*,.*\\[lc]?dots\s*,\s*(?P=base)_\{?\w+\}?\s*$")
_MEMBER_LAW = re.compile(
    r"^\s*(?P<base>\\?[A-Za-z]+)_\{?(?P<index>[a-z])\}?\s*\\sim(?![A-Za-z])\s*(?P<law>.+)$", re.DOTALL
)


@dataclass
class _Sentence:
    """What stands around a match: the formulas of the paragraph, and those above it in its section."""

    formulas: list[str]
    above: str
    arrays: frozenset[str] = frozenset()  # letters that the document writes as arrays

    def at(self, mask: str) -> str:
        """The formula that a mask stands for."""
        return formula_at(mask, self.formulas)

    def all_in(self, text: str) -> list[str]:
        """The formulas that some text holds."""
        return [self.at(one) for one in re.findall(FORMULA, text)]

    def add(self, formula: str) -> str:
        """Append a formula, and return its mask."""
        self.formulas.append(formula)
        return f"\0{len(self.formulas) - 1}\0"

    def is_new(self, names: Sequence[str], before: str) -> bool:
        """Whether nothing above, and nothing in the text before, mentions some names."""
        earlier = "\n".join([self.above, *self.all_in(before)])
        return bool(names) and not any(mentions(name, earlier) for name in names)


def spell_scopes(blocks: Sequence[Block]) -> list[Block]:
    r"""Write sentences that declare and define at once as declarations and definitions.

    Args:
        blocks: The blocks of a document.

    Example:
        >>> spell_scopes([Paragraph(1, r"For $t \in \mathbb{R}$ let $f(t) = t^2$.")])[0].text
        'Let $t \\in \\mathbb{R}$. Put $f(t) = t^2$.'
    """
    out: list[Block] = []
    arrays = array_letters(blocks)
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
    sentence = _Sentence([], above, arrays)
    masked = _MASKED.sub(lambda found: sentence.add(found[1]), text)
    for pattern, rewrite in _RULES:
        masked = pattern.sub(partial(_keep_lines, rewrite, sentence), masked)
    return re.sub(r"\x00(\d+)\x00", lambda found: f"${sentence.formulas[int(found[1])]}$", masked)


def _keep_lines(rewrite: Callable[[_Sentence, re.Match[str]], str], sentence: _Sentence, found: re.Match[str]) -> str:
    """What a sentence becomes, with as many line breaks as it had."""
    text = rewrite(sentence, found)
    return text + "\n" * (found[0].count("\n") - text.count("\n"))


def _before(found: re.Match[str]) -> str:
    """The text of the paragraph in front of a match."""
    return found.string[: found.start()]


@dataclass
class _Items:
    """A list of formulas with roles: what declares, with its role, and what defines, each with its mask."""

    declares: list[str]
    defines: list[tuple[str, Definition]]

    def say(self) -> list[str]:
        """Sentences that say the same, declarations first."""
        return [*(f"Let {one}" for one in self.declares), *(f"Put {mask}" for mask, _ in self.defines)]


def _items_of(sentence: _Sentence, text: str | None, before: str) -> _Items | None:
    """What the formulas of a list introduce; None if one of them does anything else, or is about known symbols."""
    out = _Items([], [])
    for one in _ONE_ITEM.finditer(text or ""):
        formula, role = sentence.at(one["mask"]), one["role"] or ""
        made = definition_in(formula)
        if made is not None and _is_only_name(made, role) and sentence.is_new([made.name], before):
            out.defines.append((one["mask"], made))
        elif made is None and sentence.is_new(declared_in(formula), before):
            out.declares.append(f"{one['mask']} be {role}" if role else one["mask"])
        else:
            return None
    return out if len(out.declares) + len(out.defines) == len(re.findall(FORMULA, text or "")) else None


def _is_only_name(made: Definition, role: str) -> bool:
    """Whether words that name what is defined restrict nothing by it."""
    words = re.sub(r"^(?:the|an?|our|its|this)\s+", "", " ".join(role.split()), flags=re.IGNORECASE)
    if not words or made.is_closed() or re.fullmatch(CALLED, words, re.IGNORECASE):
        return True
    return not PROPERTY.search(words) and not may_restrict(words)


def _for_let(sentence: _Sentence, found: re.Match[str]) -> str:
    r"""`For $t \in \mathbb{R}$ let $f(t) = t^2$`; of a known t only the function is defined, whose argument it is."""
    over, before = sentence.all_in(found["over"]), _before(found)
    items = _items_of(sentence, found["what"], before)
    names = [name for one in over for name in declared_in(one)]
    if items is None or items.declares or not all(declared_in(one) for one in over):
        return found[0]
    if sentence.is_new(names, before):
        return found["begins"] + ". ".join([f"Let {found['over']}", *items.say()])
    bound = all(one.is_closed() and set(one.args) <= set(names) for _, one in items.defines)
    return found["begins"] + ". ".join(items.say()) if bound and all(map(says_where, over)) else found[0]


def _behind(sentence: _Sentence, found: re.Match[str]) -> str:
    r"""`..., and $J(w) = ...$ for $w \in \mathbb{R}^d$` with w first, where the value is given for all of it."""
    before, what = _before(found), sentence.at(found["what"])
    own = re.split(r"[.;:!?]\s", before)[-1]
    made, over = definition_in(what), sentence.all_in(found["over"])
    names = [name for one in over for name in declared_in(one)]
    if made is None or not (found["verb"] or _DECLARES.match(own)) or not all(says_where(one) for one in over):
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


def _is_role(sentence: _Sentence, found: re.Match[str]) -> str:
    r"""`Throughout, $z \in \mathbb{R}^n$ is the vector of logits and $p = ...$, so that ...`."""
    first, before = sentence.at(found["first"]), _before(found)
    items = _items_of(sentence, found["what"], before)
    if items is None or not (says_where(first) and sentence.is_new(declared_in(first), before)):
        return found[0]
    return _join(found, [f"Let {found['first']} be {found['role']}", *items.say()])


def _join(found: re.Match[str], parts: Sequence[str]) -> str:
    """Declarations, definitions and the claim that `so that` leads to, each a sentence."""
    claim = re.search(FORMULA, found["so"] or "")
    return found["begins"] + ". ".join([*parts, *([f"Then {claim[0]}"] if claim else [])])


def _role_is(sentence: _Sentence, found: re.Match[str]) -> str:
    r"""`The class is $y \in \{1, \dots, n\}$`, `The GELU is $g(x) = ...$`, `The cap is $c \tanh x$ with $c > 0$`."""
    first, before, role = sentence.at(found["first"]), _before(found), found["role"]
    items, made = _items_of(sentence, found["what"], before), definition_in(first)
    if items is None:
        return found[0]
    if made is not None and sentence.is_new([made.name], before) and _is_only_name(made, role):
        parts = [*_argument_of(sentence, made, before), *items.say()]
        place = len(parts) - len(items.defines)
        return _join(found, [*parts[:place], f"Put {found['first']}", *parts[place:]])
    if says_where(first) and sentence.is_new(declared_in(first), before):
        return _join(found, [f"Let {found['first']} be {role[:1].lower()}{role[1:]}", *items.say()])
    names = [name for one in sentence.all_in(found["what"] or "") for name in declared_in(one)]
    plain = made is None and not items.defines and not relates(first) and not found["so"]
    if plain and names and all(mentions(name, first) for name in names):
        return found["begins"] + ". ".join([*items.say(), f"{role} is {found['first']}"])
    return found[0]


_REAL = r" \in \mathbb{R}"
_SAYS = r"(?:\\(?:in|sim|[lg]eq?|neq?)(?![A-Za-z])|:?=|[<>])"
_OF_ARRAYS = re.compile(r"\\(?:top|sum|prod|int|max|min|mathbf|lVert|lvert)(?![A-Za-z])|[|_A-Z]")


def _argument_of(sentence: _Sentence, made: Definition, before: str) -> list[str]:
    r"""The declaration of the argument of `g(x) = \frac{x}{2} (1 + \tanh x)`: a number, as nothing makes it an array.

    A step about $g(x)$ is about each x then, though no sentence says so.
    """
    number = len(made.args) == 1 and re.fullmatch("[a-hq-vxy]", made.args[0]) and made.is_closed()
    if not number or made.args[0] in sentence.arrays or _OF_ARRAYS.search(made.value):
        return []
    said = re.compile(rf"(?<![A-Za-z\\]){made.args[0]}(?![A-Za-z])\s*(?:,[^=<>]*)?{_SAYS}")
    if any(said.search(one) for one in [*sentence.above.splitlines(), *sentence.all_in(before)]):
        return []
    return [f"Let {sentence.add(made.args[0] + _REAL)}"]


def _role_has(sentence: _Sentence, found: re.Match[str]) -> str:
    """`The quadratic function $f(x) = ...$ has` in front of a display."""
    made = definition_in(sentence.at(found["first"]))
    if made is None or not sentence.is_new([made.name], _before(found)) or not _is_only_name(made, found["role"]):
        return found[0]
    return f"{found['begins']}Put {found['first']}. Then we have"


def _drawn(sentence: _Sentence, found: re.Match[str]) -> str:
    r"""`Let $X_1, \dots, X_n$ be i.i.d. with $X_i \sim ...$ and $\sigma > 0$` with the parameters first."""
    family, law = _FAMILY.match(sentence.at(found["family"])), _MEMBER_LAW.match(sentence.at(found["law"]))
    bounds = re.findall(FORMULA, found["bounds"])
    if family is None or law is None or law["base"] != family["base"] or mentions(law["index"], law["law"]):
        return found[0]
    names = [declared_in(sentence.at(one)) for one in bounds]
    if not all(names) or (names and not sentence.is_new([n for one in names for n in one], _before(found))):
        return found[0]
    drawn = sentence.add(rf"{sentence.at(found['family'])} \sim {law['law'].strip()}")
    opens = f"Let {', '.join(bounds)}. " if bounds else ""
    return f"{found['begins']}{opens}Let {drawn} be independent"


def _with_values(sentence: _Sentence, found: re.Match[str]) -> str:
    r"""`$x \in \mathbb{R}^d$ with mean $\mu = \operatorname{mean}(x)$ and variance $s^2 = ...$` in sentences."""
    of, before = sentence.at(found["of"]), _before(found)
    names, masks = declared_in(of), re.findall(FORMULA, found["values"])
    made = [definition_in(sentence.at(one)) for one in masks]
    own = re.split(r"[.;:!?]\s", before)[-1]
    if not says_where(of) or len(names) != 1 or not _DECLARES.match(own):
        return found[0]
    new = all(one is not None and mentions(names[0], one.value) and sentence.is_new([one.name], before) for one in made)
    return f"{found['of']}. {'. '.join(f'Put {mask}' for mask in masks)}" if new else found[0]


def _angles(sentence: _Sentence, found: re.Match[str]) -> str:
    r"""`Rotations by the angles $\theta, \varphi \in \mathbb{R}$:` in front of a display."""
    first = sentence.at(found["first"])
    if not (says_where(first) and sentence.is_new(declared_in(first), _before(found))):
        return found[0]
    return f"{found['begins']}Let {found['first']} be {found['role'].strip()}. {found['what']}"


def _divides(sentence: _Sentence, found: re.Match[str]) -> str:
    r"""`where $\operatorname{var}$ divides by $d$`: as it is read, where the numbers are d."""
    size = sentence.at(found["size"])
    lengths = [_LENGTH.search(one) for one in sentence.all_in(found.string)]
    whole = [one[1] for one in lengths if one is not None]
    return "" if _VARIANCE.match(sentence.at(found["what"])) and whole == [size] else found[0]


def _by_work(sentence: _Sentence, found: re.Match[str]) -> str:
    """The sentence without the work that went into what it says."""
    return f"{found['begins']}{found['next'].upper()}"


_RULES: tuple[tuple[re.Pattern[str], Callable[[_Sentence, re.Match[str]], str]], ...] = (
    (_BY_WORK, _by_work),
    (_DIVIDES, _divides),
    (_WITH_VALUES, _with_values),
    (_ANGLES, _angles),
    (_DRAWN, _drawn),
    (_FOR_LET, _for_let),
    (_IS_ROLE, _is_role),
    (_ROLE_IS, _role_is),
    (_ROLE_HAS, _role_has),
    (_BEHIND, _behind),
)
