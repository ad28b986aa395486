r"""Sentences with a subject that declare and define: "The class is $y \in ...$", "A neuron computes $y = ...$".

"Throughout, $z \in \mathbb{R}^n$ is the vector of logits and $p = ...$" becomes "Let $z \in \mathbb{R}^n$ be the vector
of logits. Put $p = ...$", and so do "The exact GELU is $g(x) = ...$" and "The quadratic function $f(x) = ...$ has".
Only symbols that nothing above mentions are introduced so. Words that name what is defined are dropped where they
restrict nothing: names of a closed list, and any name of a function whose value holds no symbol but its arguments.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from attention_core.derivation.reading.defining_formulas import (
    Definition,
    declared_in,
    definition_in,
    mentions,
    relates,
    says_where,
)
from attention_core.derivation.reading.masked_text import FORMULA, GROUP
from attention_core.derivation.reading.scoped_sentences import (
    BEGINS,
    CLOSES,
    ITEMS,
    WORDS,
    Sentence,
    before_match,
    is_only_name,
    items_of,
)
from attention_core.derivation.words.vocabulary import GOAL

_REACH = (
    r"(?:(?:Throughout(?:\s+this\s+\w+)?|Here(?:\s+and\s+below)?|Below|In\s+what\s+follows|In\s+this\s+(?:section|"
    r"note|lecture|post|part)|"
    r"From\s+now\s+on|Henceforth),?\s+)?"
)
_SO = rf"(?P<so>,?\s+so\s+that\s+{FORMULA})?"
_IS_ROLE = re.compile(
    rf"{BEGINS}{_REACH}(?P<first>{FORMULA})\s+(?:is|are|denotes?|will\s+be)\s+(?P<role>(?:the|an?|our)\s+{WORDS})"
    rf"(?:\s*,?\s+and\s+(?P<what>{ITEMS}))?{_SO}{CLOSES}"
)
_ROLE_IS = re.compile(
    rf"{BEGINS}{_REACH}(?P<role>(?:[Tt]he|[Oo]ur|[Ii]ts)\s+{WORDS})\s+(?:is|are|reads|is\s+given\s+by|"
    rf"is\s+defined\s+(?:as|by))\s+"
    rf"(?P<first>{FORMULA})(?:\s*,?\s+(?:and|where|with)\s+(?P<what>{ITEMS}))?{_SO}{CLOSES}"
)
_ROLE_HAS = re.compile(
    rf"{BEGINS}(?P<role>(?:The|Our|This)\s+{WORDS})\s+(?P<first>{FORMULA})\s+(?:has|satisfies|gives|yields|"
    rf"obeys)\s*:?\s*$"
)
_CLAUSE = rf"(?:[Tt]he|[Oo]ur|[Ii]ts)\s+{WORDS}\s+(?:is|are)\s+{FORMULA}"
_CLAUSES = re.compile(rf"{BEGINS}{_REACH}(?P<all>{_CLAUSE}(?:(?:\s*,\s*|\s*,?\s+and\s+){_CLAUSE})+){CLOSES}")
_ONE_CLAUSE = re.compile(rf"(?P<role>(?:[Tt]he|[Oo]ur|[Ii]ts)\s+{WORDS})\s+(?:is|are)\s+(?P<mask>{FORMULA})")
_COMPUTES = re.compile(
    rf"{BEGINS}(?:(?:Given|For|On)\s+(?:an?\s+|the\s+)?(?:input\s+|inputs\s+)?(?P<over>{GROUP}),?\s+)?"
    rf"(?:[Aa]n?|[Tt]he|[Ee]ach|[Ee]very|[Oo]ur)\s+{WORDS}\s+(?:computes|outputs|returns|predicts|produces|"
    rf"evaluates)\s+"
    rf"(?P<first>{FORMULA})(?:,?\s+(?:where|with|for)\s+(?P<what>{ITEMS}))?{CLOSES}"
)
_RECALL = re.compile(
    rf"{BEGINS}(?:Recall|Remember|Consider|Take|Introduce|(?:We|Let\s+us)\s+(?:now\s+|next\s+|also\s+)?(?:recall|"
    rf"study|consider|use|"
    rf"look\s+at|introduce))(?:\s+that)?\s+(?:(?P<role>(?:the|an?|our)\s+{WORDS})\s+(?:(?:is|be)\s+)?)?"
    rf"(?P<first>{FORMULA})(?P<on>\s+(?:on\s+the\s+real\s+line|for\s+(?:all\s+)?real\s+(?P<arg>{FORMULA})))?{CLOSES}"
)
_NAME_BY = re.compile(
    rf"{BEGINS}(?:We\s+)?(?:[Dd]enote|[Ww]rite)\s+(?P<role>(?:the|our|its)\s+{WORDS})\s+(?:by|"
    rf"as)\s+(?P<first>{FORMULA}){CLOSES}"
)
_GIVEN_ON = re.compile(
    rf"{BEGINS}(?P<role>The\s+(?:{WORDS}\s+)?(?:function|map))\s+(?P<first>{FORMULA})\s+is\s+(?:defined|considered|"
    rf"studied|used)\s+"
    rf"(?:only\s+)?(?:for|on)\s+(?P<over>{FORMULA}){CLOSES}"
)
_ANGLES = re.compile(
    rf"{BEGINS}(?P<what>[A-Z][a-z-]+)\s+(?:by|with|through|for)\s+(?P<role>(?:the\s+|two\s+)?(?:angles|numbers|"
    rf"scalars|vectors|"
    rf"matrices)\s+)(?P<first>{FORMULA})(?=\s*:\s*$)"
)
_BY_WORK = re.compile(
    rf"{BEGINS}(?:With|By|After|Using)\s+(?:a\s+(?:bit|little|lot)(?:\s+of)?|some|more|basic|"
    rf"elementary)\s+(?:calculus|algebra|"
    r"arithmetic|work|patience|trigonometry|rearranging|thought),?\s+(?P<next>\w)"
)


def _is_role(sentence: Sentence, found: re.Match[str]) -> str:
    r"""`Throughout, $z \in \mathbb{R}^n$ is the vector of logits and $p = ...$, so that ...`."""
    first, before = sentence.at(found["first"]), before_match(found)
    items = items_of(sentence, found["what"], before)
    if items is None or not (says_where(first) and sentence.is_new(declared_in(first), before)):
        return found[0]
    names, roles = declared_in(first), re.split(r"\s+and\s+(?=the\b|an?\b|our\b)", found["role"])
    if len(names) == len(roles) > 1:  # "$q, k$ are the query and the key"
        space = first[first.index(r"\in") :]
        each = [f"Let {sentence.add(f'{name} {space}')} be {role}" for name, role in zip(names, roles, strict=True)]
        return _join(found, [*each, *items.say()])
    return _join(found, [f"Let {found['first']} be {found['role']}", *items.say()])


def _join(found: re.Match[str], parts: Sequence[str]) -> str:
    """Declarations, definitions and the claim that `so that` leads to, each a sentence."""
    claim = re.search(FORMULA, found["so"] or "")
    return found["begins"] + ". ".join([*parts, *([f"Then {claim[0]}"] if claim else [])])


def _role_is(sentence: Sentence, found: re.Match[str]) -> str:
    r"""`The class is $y \in \{1, \dots, n\}$`, `The GELU is $g(x) = ...$`, `The cap is $c \tanh x$ with $c > 0$`."""
    first, before, role = sentence.at(found["first"]), before_match(found), found["role"]
    items, made = items_of(sentence, found["what"], before), definition_in(first)
    if items is None:
        return found[0]
    if made is not None and sentence.is_new([made.name], before) and is_only_name(made, role):
        parts = [*_argument_of(sentence, made, before), *items.say()]
        place = len(parts) - len(items.defines)
        return _join(found, [*parts[:place], f"Put {found['first']}", *parts[place:]])
    if sentence.is_new(declared_in(first), before):
        return _join(found, [f"Let {found['first']} be {role[:1].lower()}{role[1:]}", *items.say()])
    names = [name for one in sentence.all_in(found["what"] or "") for name in declared_in(one)]
    plain = made is None and not items.defines and not relates(first) and not found["so"]
    if plain and names and all(mentions(name, first) for name in names):
        return found["begins"] + ". ".join([*items.say(), f"{role} is {found['first']}"])
    return found[0]


_REAL = r" \in \mathbb{R}"
_SAYS = r"(?:\\(?:in|sim|[lg]eq?|neq?)(?![A-Za-z])|:?=|[<>])"
_OF_ARRAYS = re.compile(r"\\(?:top|sum|prod|int|max|min|mathbf|lVert|lvert)(?![A-Za-z])|[|_A-Z]")


def _argument_of(sentence: Sentence, made: Definition, before: str) -> list[str]:
    r"""The declaration of the argument of `g(x) = \frac{x}{2} (1 + \tanh x)`: a number, as nothing makes it an array.

    A step about $g(x)$ is about each x then, though no sentence says so.
    """
    number = len(made.args) == 1 and re.fullmatch("[a-hq-vxy]", made.args[0]) and made.is_closed()
    if not number or made.args[0] in sentence.arrays or _OF_ARRAYS.search(made.value):
        return []
    domain = re.compile(rf"(?<![A-Za-z\\]){made.args[0]}(?![A-Za-z])\s*(?:,[^=<>]*)?{_SAYS}")
    if any(domain.search(one) for one in [*sentence.above.splitlines(), *sentence.all_in(before)]):
        return []
    return [f"Let {sentence.add(made.args[0] + _REAL)}"]


def _clauses(sentence: Sentence, found: re.Match[str]) -> str:
    r"""`The input is $x \in \mathbb{R}^d$, the weights are $w \in \mathbb{R}^d$ and the output is $y = w^\top x$`."""
    parts, before = list[str](), before_match(found)
    for one in _ONE_CLAUSE.finditer(found["all"]):
        formula, role = sentence.at(one["mask"]), f"{one['role'][:1].lower()}{one['role'][1:]}"
        made, names = definition_in(formula), declared_in(formula)
        if made is not None and is_only_name(made, role) and sentence.is_new([made.name], before):
            parts.append(f"Put {one['mask']}")
        elif made is None and says_where(formula) and sentence.is_new(names, before):
            parts.append(f"Let {one['mask']} be {role}")
        else:
            return found[0]
    return found["begins"] + ". ".join(sorted(parts, key=lambda text: text.startswith("Put")))


def _computes(sentence: Sentence, found: re.Match[str]) -> str:
    r"""`A neuron computes $y = \tanh(w^\top x)$, where $x, w \in \mathbb{R}^d$`: what it computes has this value."""
    made, before = definition_in(sentence.at(found["first"])), before_match(found)
    items, over = items_of(sentence, found["what"], before), sentence.all_in(found["over"] or "")
    names = [name for one in over for name in declared_in(one)]
    if over and not (all(says_where(one) for one in over) and sentence.is_new(names, before)):
        return found[0]
    if made is None or items is None or not sentence.is_new([made.name], before) or GOAL.search(found[0]):
        return found[0]
    parts = items.say()
    place = len(items.declares)
    given = [f"Let {found['over']}"] if over else []
    return found["begins"] + ". ".join([*given, *parts[:place], f"Put {found['first']}", *parts[place:]])


def _name_by(sentence: Sentence, found: re.Match[str]) -> str:
    r"""`Denote the sigmoid by $\sigma(t) = ...$`."""
    made, before = definition_in(sentence.at(found["first"])), before_match(found)
    if made is None or not sentence.is_new([made.name], before) or not is_only_name(made, found["role"]):
        return found[0]
    return found["begins"] + ". ".join([*_argument_of(sentence, made, before), f"Put {found['first']}"])


def _recall(sentence: Sentence, found: re.Match[str]) -> str:
    r"""`Recall the sigmoid $\sigma(t) = ...$`, `Consider $f(x) = ...$ on the real line`: functions of arguments."""
    made, before = definition_in(sentence.at(found["first"])), before_match(found)
    if made is None or not made.is_closed() or not sentence.is_new([made.name], before) or GOAL.search(found[0]):
        return found[0]
    if found["on"] and (len(made.args) != 1 or (found["arg"] and sentence.at(found["arg"]) != made.args[0])):
        return found[0]
    new = found["on"] and sentence.is_new(made.args, before)
    lives = [f"Let {sentence.add(made.args[0] + _REAL)}"] if new else []
    lives = lives or _argument_of(sentence, made, before)
    return found["begins"] + ". ".join([*lives, f"Put {found['first']}"])


def _given_on(sentence: Sentence, found: re.Match[str]) -> str:
    r"""`The function $f(t) = t e^{-t}$ is defined for $t \ge 0$`."""
    made, over = definition_in(sentence.at(found["first"])), sentence.at(found["over"])
    before = before_match(found)
    if made is None or declared_in(over) != list(made.args) or not is_only_name(made, found["role"]):
        return found[0]
    if not sentence.is_new([made.name, *made.args], before):
        return found[0]
    return f"{found['begins']}Let {found['over']}. Put {found['first']}"


def _role_has(sentence: Sentence, found: re.Match[str]) -> str:
    """`The quadratic function $f(x) = ...$ has` in front of a display."""
    made = definition_in(sentence.at(found["first"]))
    if made is None or not sentence.is_new([made.name], before_match(found)) or not is_only_name(made, found["role"]):
        return found[0]
    return f"{found['begins']}Put {found['first']}. Then we have"


def _angles(sentence: Sentence, found: re.Match[str]) -> str:
    r"""`Rotations by the angles $\theta, \varphi \in \mathbb{R}$:` in front of a display."""
    first = sentence.at(found["first"])
    if not (says_where(first) and sentence.is_new(declared_in(first), before_match(found))):
        return found[0]
    return f"{found['begins']}Let {found['first']} be {found['role'].strip()}. {found['what']}"


def _by_work(sentence: Sentence, found: re.Match[str]) -> str:
    """The sentence without the work that went into what it says."""
    return f"{found['begins']}{found['next'].upper()}"


SUBJECTS = (
    (_BY_WORK, _by_work),
    (_ANGLES, _angles),
    (_CLAUSES, _clauses),
    (_COMPUTES, _computes),
    (_RECALL, _recall),
    (_NAME_BY, _name_by),
    (_GIVEN_ON, _given_on),
    (_IS_ROLE, _is_role),
    (_ROLE_IS, _role_is),
    (_ROLE_HAS, _role_has),
)
"""Patterns of sentences with what rewrites them, in the order in which they are tried."""
