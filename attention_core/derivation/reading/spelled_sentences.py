r"""Whole sentences that define or declare, put into the order and the words that the other readers know.

"Now put $s = x y$, then $t = s^2$", "$\|u\| = 1$ for a vector $u \in \mathbb{R}^n$", "a pair of numbers $(x, y)$",
"Write $J$ for the matrix of ones": the parts of such sentences are known, and their order, their verbs or what stands
between them are not. Formulas are masked, as in `spelled_laws`.
"""

from __future__ import annotations

import re
from functools import partial

from attention_core.derivation.reading.masked_text import (
    BEGINS,
    CLOSES,
    ENDS,
    FORMULA,
    GROUP,
    NAME,
    RELATED,
    STRICT_ENDS,
    Rewrite,
    add_formula,
    formula_at,
    has_name,
    keep_lines,
)
from attention_core.derivation.reading.spelled_definitions import CALLED
from attention_core.derivation.words.vocabulary import PROPERTY

_FIRST = r"(?:(?:now|next|then|further|finally|also|first|again|here|so),?\s+)*"
_DEFINITION = re.compile(r"^\s*\\?[A-Za-z]+(?:\s*\{[^{}]*\})?(?:_\{?\w+\}?)?(?:\([^()]*\))?\s*(?::=|=)[^=<>]+$")
_LIVES = re.compile(r"\\(?:in|sim)(?![A-Za-z])")
_THEN = rf"(?:\s*,\s*|\s*,?\s+and\s+)(?:(?:then|next|finally|also|after that)\s+)?{FORMULA}"
_PUT = re.compile(
    rf"{BEGINS}(?P<first>{_FIRST})(?P<who>(?:let us|we(?: can| may)?|let's)\s+)?(?:now\s+|also\s+|further\s+)?"
    rf"(?P<verb>put|set|write|define|take)\s+(?P<what>{FORMULA}(?:{_THEN})*)"
    r"(?=\s*(?:[.;:]|$|,?\s+(?:so|then|where|with)\b))",
    re.IGNORECASE,
)
_BETWEEN = re.compile(r"\b(?:then|next|finally|also|after that)\s+(?=\x00)", re.IGNORECASE)
_CONSIDER = re.compile(
    rf"{BEGINS}(?:{_FIRST})(?:we|let us)\s+(?:are\s+)?(?:now\s+|also\s+|next\s+)?(?P<verb>consider|given"
    rf"|fix|take|pick|choose)"
    rf"\s+(?!that\b)(?=[^.;:]*{FORMULA})",
    re.IGNORECASE,
)
_ARTICLES = r"(?:(?:an?|any|all|every|each|some|two|three|four|arbitrary|fixed|given|the)\s+)*"
_KINDS = (
    r"(?:(?:strictly|positive|nonnegative|non-negative|negative|nonzero|non-zero|real|unit|natural|distinct|square|"
    r"symmetric|orthogonal|invertible)\s+)*(?:numbers?|reals?|scalars?|vectors?|matri(?:x|ces)|integers?|constants?)"
)
_SUPPOSE = re.compile(
    rf"{BEGINS}(?:suppose|assume)(?:\s+that)?\s+(?P<names>{GROUP})\s+(?:is|are)\s+(?=(?:an?|two|three|both|all)\s)(?P<rest>[^.;:\x00]*)",
    re.IGNORECASE,
)
_FOR_NOUN = re.compile(
    rf"{BEGINS}(?P<verb>let|set|put|define|write|suppose|assume|let us (?:put|set|write))(?:\s+that)?\s+"
    rf"(?P<what>{GROUP}),?\s+(?:for|with)\s+(?P<who>{_ARTICLES}(?:{FORMULA}\s+)?{_KINDS}\s+{GROUP}){CLOSES}",
    re.IGNORECASE,
)
_WHERE = re.compile(
    rf"{BEGINS}(?P<verb>let|set|put|define|write)\s+(?P<what>{FORMULA}),?\s+where\s+"
    rf"(?P<made>{FORMULA})(?:\s+(?:is|denotes)\s+the\s+(?P<role>[a-z -]+?))?\s+and"
    rf"\s+(?P<rest>{FORMULA}[^.;:\x00]*){CLOSES}",
    re.IGNORECASE,
)
_WHERE_LIVES = re.compile(
    rf"{BEGINS}(?P<verb>let|set|put|define|write)\s+(?P<what>{FORMULA}(?:\s+be\s+(?:the|an?)\s+{CALLED})?),\s+(?:where|with)\s+"
    rf"(?P<rest>{FORMULA}[^.;:]*){CLOSES}",
    re.IGNORECASE,
)
_TUPLE = re.compile(r"^\s*\(\s*(\\?[A-Za-z]+(?:_\{?\w+\}?)?(?:\s*,\s*\\?[A-Za-z]+(?:_\{?\w+\}?)?)+)\s*\)\s*$")
_THROUGHOUT = re.compile(
    rf"{BEGINS}(?:throughout(?:\s+this\s+\w+)?|in\s+what\s+follows|henceforth|from\s+now\s+on|in\s+the\s+following),?\s+let\s+",
    re.IGNORECASE,
)
_AND_THAT = re.compile(
    rf"(?P<head>{BEGINS}(?:we\s+)?(?:assume|suppose)\b[^.;:]*?),?\s+and\s+that\s+(?P<what>{FORMULA}){CLOSES}",
    re.IGNORECASE,
)
_EVERY_ENTRY = re.compile(
    rf"\b(?:every|each)\s+(?:entry|component|coordinate|element)\s+of\s+(?P<of>{FORMULA})\s+(?:is|lies|be)\s+in\s+(?P<set>{FORMULA}){ENDS}",
    re.IGNORECASE,
)
_INTERVAL = re.compile(
    r"^\s*(?P<open>[\[(])\s*(?P<low>[^\[\](),]+?)\s*,\s*(?P<high>[^\[\](),]+?)\s*(?P<close>[\])])\s*$"
)
_PAIR_OF = re.compile(
    rf"\b(?:an?\s+)?(?:ordered\s+)?(?:pair|triple|tuple)\s+of\s+(?P<noun>[a-z][a-z -]*?)\s+(?P<pair>{FORMULA})",
    re.IGNORECASE,
)
_OF_ENTRIES = re.compile(
    rf"\b(?P<verb>let|given|consider|suppose)\s+(?P<what>{FORMULA})(?=\s+(?:be|is)\b)", re.IGNORECASE
)
_ENTRIES = re.compile(
    r"^\s*(?P<name>[A-Z])\s*=\s*(?:\\left)?[\[(]\s*[a-z]_\{?\s*i\s*,?\s*j\s*\}?\s*(?:\\right)?[\])]\s*$"
)
_BE_PAIR = re.compile(
    rf"(?P<pair>{FORMULA})\s+be\s+(?:an?\s+)?(?:ordered\s+)?(?:pair|triple|tuple)\s+of\s+(?=[a-z])", re.IGNORECASE
)
_BOUNDED_MEMBER = re.compile(
    r"^\s*(?P<bound>-?\d+\s*(?:<|\\leq?(?![A-Za-z])|\\neq?(?![A-Za-z])))\s*(?P<name>\\?[A-Za-z]+(?:_\{?\w+\}?)?)\s*"
    r"\\in(?P<set>(?![A-Za-z])[^=<>]+)$"
)
_MEMBER = re.compile(rf"\b(?P<verb>let|fix|given|take|for|suppose|assume)\s+(?P<what>{FORMULA})", re.IGNORECASE)
_FOR_THE = re.compile(
    rf"{BEGINS}(?:We\s+)?(?:write|use|let us write)\s+(?P<name>{FORMULA})\s+(?:for|to denote)\s+(?P<np>(?:the|an?)\s+)",
    re.IGNORECASE,
)
_THE_BY = re.compile(
    rf"(?P<begins>(?:^|(?<=[.;:!?])\s)\s*)(?:We\s+)?denote\s+(?P<np>the\s+(?:{FORMULA}\s+)?[a-z][a-z -]*?"
    rf"(?:\s+(?:of|in)\s+"
    rf"(?:size\s+|order\s+|dimension\s+)?{FORMULA})?)\s+by\s+(?P<name>{FORMULA})(?P<and>,?\s+and\s+(?=let\b))?",
    re.IGNORECASE,
)
_LET_THE = re.compile(
    rf"\b(?P<let>let)\s+the\s+(?:(?:row|column|real)\s+)?(?:vectors?|matri(?:x|ces)|numbers?|scalars?|functions?)\s+"
    rf"(?=(?:{GROUP})\s+(?:be|hold|contain|collect|denote|store)\b)",
    re.IGNORECASE,
)
_HOLD = re.compile(
    rf"(?P<let>\blet\s+{GROUP})\s+(?:hold|contain|collect|store|represent)\s+(?=(?:the|all)\b)", re.IGNORECASE
)
_RESULTING = re.compile(
    rf"(?P<what>{FORMULA})\s+(?:be|is|denote)\s+(?:the|its)\s+(?:corresponding|resulting|associated|respective|induced)\s+"
    rf"(?P<noun>[a-z][a-z -]*?){STRICT_ENDS}",
    re.IGNORECASE,
)
_MODIFIED = re.compile(
    rf"(?P<be>\b(?:be|is|are)\s+(?:an?\s+|two\s+)?(?:{FORMULA}\s+)?|\ban?\s+(?:{FORMULA}\s+)?)(?:(?:design|data|weight|feature|"
    rf"input|parameter|query|key|value|hidden|embedding|coefficient|response|observation)\s+)+(?=(?:vector|matrix|matrices)s?\b)",
    re.IGNORECASE,
)
_FOR_EACH_AND = re.compile(
    rf"(?P<head>{BEGINS}(?:for|given)\s+(?:each|every|all|any)\s+[^.;:]*?{FORMULA},?\s+and)\s+(?:each|every|all|any)\s+"
    rf"(?={FORMULA})",
    re.IGNORECASE,
)
_HERE_ROLES = re.compile(
    rf"{BEGINS}(?:Here|Throughout),?\s+(?P<what>{FORMULA})\s+(?:is|are|denotes?)\s+(?:the\s+|an?"
    rf"\s+)?(?P<role>[a-z -]+?){CLOSES}"
)
_ROLES = re.compile(
    r"(?:(?:exponential|given|fixed|small|success|learning|step|mixing|drop(?:out)?|smoothing|regulari[sz]ation|damping|decay|"
    r"discount|momentum|hyper|tuning|real) ?-?)*(?:probability|rates?|sizes?|parameters?|constants?|factors?|"
    r"coefficients?|hyperparameters?|angles?|temperatures?|weight|scales?|numbers?|scalars?|thresholds?)"
)
_SINCE = re.compile(
    rf"^(?P<space>\s*)(?:Since|As|Because)\s+(?P<about>{FORMULA})(?=[^.;]*,\s*(?:(?:we|it|one|this)"
    rf"\s+[a-z ]*|for\s+(?:all|any|every|each)\s+{FORMULA},?\s*)$)"
)
_SEQUENCE = re.compile(
    rf"{BEGINS}(?P<verb>let|consider)\s+(?:the\s+sequence\s+)?{FORMULA}(?:\s+be\s+(?:a|the)\s+sequence)?,?\s+(?:be\s+)?"
    rf"(?:defined|given)\s+(?:recursively\s+)?by\s+(?={FORMULA})",
    re.IGNORECASE,
)
_DISTRIBUTIONS = re.compile(
    rf"(?P<names>{FORMULA}(?:(?:\s*,\s*|\s*,?\s+and\s+){FORMULA})*)\s+be\s+(?:two\s+|three\s+|discrete\s+|an?\s+)*"
    rf"(?:probability\s+)?distributions?\s+(?:on|over)\s+(?P<set>{FORMULA})",
    re.IGNORECASE,
)
_UP_TO = re.compile(
    r"^\\\{\s*1\s*,(?:\s*2\s*,)?\s*\\[lc]?dots\s*,\s*(?P<n>[A-Za-z])\s*\\\}$|^\[\s*(?P<m>[A-Za-z])\s*\]$"
)
_BALL = re.compile(
    rf"(?P<name>{FORMULA})\s+(?:be|is|lies?|lying)\s+(?:(?:a point|a vector|an element)\s+)?(?:in|inside|on"
    rf"|of)\s+the\s+"
    rf"(?P<open>open\s+|closed\s+)?(?P<unit>unit\s+)?(?:euclidean\s+)?(?P<what>ball|sphere)(?:\s+of\s+radius\s+(?P<radius>{FORMULA}))?"
    rf"(?P<at>\s+(?:around|about|cent(?:er|re)d\s+at|with\s+cent(?:er|re))\s+(?:the\s+origin|0|zero))?(?:\s+(?:in|of)\s+(?P<space>{FORMULA}))?"
    rf"{STRICT_ENDS}",
    re.IGNORECASE,
)
_ONE_OF = re.compile(
    r"(?:\btwo\s+)?(?P<noun>\b(?:real\s+)?numbers),?\s+at least one of (?:which|them) (?:is |being )?"
    r"(?:non-?zero|not zero|different from (?:zero|0))",
    re.IGNORECASE,
)
_FAMILY = re.compile(
    r"^\s*(?P<base>\\?[A-Za-z]+)_\{?1\}?\s*,(?:\s*\1_\{?2\}?\s*,)?\s*\\[lc]?dots\s*,\s*\1_\{?(?P<last>[A-Za-z])\}?(?![A-Za-z])"
)
_TOTAL = re.compile(
    rf"(?P<names>{FORMULA})(?:,?\s+(?:(?:that|which)\s+(?:all\s+)?(?:sum|add\s+up)\s+to|summing\s+to|adding\s+up\s+to|"
    rf"(?:with|of)\s+(?:total\s+)?sum|whose\s+(?P<mean>mean|average|sum)\s+(?:is|equals))\s+)(?P<value>{FORMULA}|zero|one|unity|\d+){ENDS}",
    re.IGNORECASE,
)
_DRAWS = (
    r"(?:(?:i\.?i\.?d\.?|independent|identically|distributed|real|positive|nonnegative|random|and)\s+)*"
    r"(?:numbers|variables|samples|observations|draws)"
)
_MEAN_OF = re.compile(
    rf"{BEGINS}[Ll]et\s+(?P<name>{FORMULA})\s+(?:be|denote)\s+the\s+(?:(?:sample|arithmetic|empirical)\s+)?(?P<what>mean|average|sum)\s+"
    rf"of\s+(?:the\s+)?(?:{FORMULA}\s+)?(?P<noun>{_DRAWS}\s+)(?P<names>{FORMULA})(?P<rest>(?:,?"
    rf"\s+with\b[^;:]*?)?){CLOSES}"
)
_EQUAL_ENTRIES = re.compile(
    rf"(?P<name>{FORMULA})(?P<be>\s+be\s+an?\s+(?:[a-z]+\s+)?vector)\s+(?:whose\s+(?:entries|components|coordinates|elements)\s+"
    rf"(?:are\s+)?all\s+(?:are\s+)?equal(?:\s+to)?|with\s+all\s+(?:entries|components)\s+equal\s+to)\s+(?P<value>{FORMULA}){ENDS}",
    re.IGNORECASE,
)
_LAW = r"(?P<law>normal|gaussian|exponential|poisson|bernoulli|binomial|geometric|uniform)"
_SAMPLE = re.compile(
    rf"\b(?P<be>be|is|are|form)\s+(?:an?\s+)?(?:(?:simple\s+)?random\s+|i\.?i\.?d\.?\s+|independent\s+)?samples?(?:\s+of\s+size\s+"
    rf"{FORMULA})?\s+(?:drawn\s+|taken\s+)?from\s+(?:an?|the)\s+{_LAW}\s+(?:distribution|law|population)(?=,?\s+(?:with|on|over)\b)",
    re.IGNORECASE,
)
_FOLLOWS = re.compile(
    rf"(?P<begins>(?:(?:^|(?<=[.;:!?])\s)\s*)(?:the\s+)?random\s+variables?\s+)?(?P<names>{GROUP})\s+(?:follows?|has|have|be\s+distributed\s+"
    rf"according\s+to)\s+(?:an?|the)\s+{_LAW}\s+(?:distribution|law)(?=,?\s+(?:with|on|over)\b)",
    re.IGNORECASE,
)
_KNOWN = re.compile(r"\b(?:known|unknown)\s+(?=(?:mean|variance|standard deviation|rate|parameter)\b)", re.IGNORECASE)
_SOLVES = re.compile(
    rf"(?P<name>{FORMULA})\s+(?:solves?|satisf(?:y|ies)|(?:be|is)\s+(?:a|the)\s+(?:unique\s+)?solution\s+(?:of|to))\s+(?:the\s+"
    rf"(?:linear\s+)?(?:system|equation)\s+)?(?P<what>{FORMULA})",
    re.IGNORECASE,
)
_SYSTEM = re.compile(r"^\s*(?P<array>\\?[A-Za-z])\s*(?P<name>\\?[A-Za-z])\s*=\s*\\?[A-Za-z]\s*$")


def spell_sentences(masked: str, formulas: list[str], above: str = "") -> str:
    r"""Write sentences that define or declare in the order in which the other readers know them.

    Args:
        masked: The text with its formulas masked.
        formulas: What the masks stand for; new formulas are appended.
        above: The formulas of the document above it: a symbol of theirs is not declared again.

    Example:
        >>> spell_sentences("Now put \x000\x00, then \x001\x00.", ["s = x y", "t = s^2"])
        'Set \x000\x00, \x001\x00.'
    """
    low = masked.lower()
    for cues, pattern, plain in _RULES:
        if any(cue in low for cue in cues):
            masked = pattern.sub(partial(keep_lines, plain, formulas), masked)
    for cues, pattern, rewrite in _RULES_BELOW:
        if any(cue in low for cue in cues):
            masked = pattern.sub(partial(keep_lines, partial(rewrite, above), formulas), masked)
    return masked


def _is_definition(formula: str) -> bool:
    """Whether a formula has the form of a definition: a name, one equality sign and a value."""
    return _DEFINITION.match(re.sub(r"_\{[^{}]*\}", "", formula)) is not None


def _texts(group: str, formulas: list[str]) -> list[str]:
    return [formula_at(one, formulas) for one in re.findall(FORMULA, group)]


def _put(found: re.Match[str], formulas: list[str]) -> str:
    """Definitions behind each other, with one verb; "let us" opens a declaration, all else is prose."""
    if not all(_is_definition(one) for one in _texts(found["what"], formulas)):
        return found[0]
    what = _BETWEEN.sub("", found["what"])
    who = (found["who"] or "").lower()
    if not found["first"] and not who and what == found["what"] and found["verb"].lower() not in ("write", "take"):
        return found[0]
    return f"{found['begins']}{'Put' if who.startswith('let') else 'Set'} {what}"


def _suppose(above: str, found: re.Match[str], formulas: list[str]) -> str:
    """`Suppose that $x$ is a number` of an x that is new: it is declared."""
    names = [name for one in _texts(found["names"], formulas) for name in one.split(",")]
    if not all(NAME.fullmatch(one) and not has_name(one.strip(), above) for one in names):
        return found[0]
    return (
        found[0]
        if PROPERTY.search(found["rest"].partition(" ")[2])
        else f"{found['begins']}Let {found['names']} be {found['rest']}"
    )


def _for_noun(above: str, found: re.Match[str], formulas: list[str]) -> str:
    r"""`Suppose $\|u\| = 1$ for a vector $u \in \mathbb{R}^n$` with the vector first."""
    relations = _texts(found["what"], formulas)
    if any(_LIVES.search(one) or not RELATED.search(one) for one in relations):
        return found[0]
    defines = found["verb"].lower() not in ("suppose", "assume")
    if not defines and re.match(r"(?:all|any|every|each)\b", found["who"], re.IGNORECASE):
        return found[0]  # "for all numbers": a hypothesis about all of them
    if defines and not all(_is_definition(one) for one in relations):
        return found[0]
    if any(has_name(name, above) for one in _texts(found["who"], formulas) for name in _names(one)):
        return found[0]  # "let" alone declares anew what is declared above
    return f"{found['begins']}Given {found['who']}. {'Put' if defines else 'Assume that'} {found['what']}"


def _names(formula: str) -> list[str]:
    """The symbols left of a domain."""
    left = _LIVES.split(formula)[0]
    return [one.strip() for one in left.split(",") if NAME.fullmatch(one)]


def _where(found: re.Match[str], formulas: list[str]) -> str:
    r"""`Let $s = \sigma(z)$, where $\sigma(t) = ...$ and $z \in \mathbb{R}$` in the order in which it is used."""
    what, made = formula_at(found["what"], formulas), formula_at(found["made"], formulas)
    rest = _texts(found["rest"], formulas)
    if not (_is_definition(what) and _is_definition(made) and all(_LIVES.search(one) for one in rest)):
        return found[0]
    if found["role"] and PROPERTY.search(found["role"]):
        return found[0]
    return f"{found['begins']}Let {found['rest']}. Put {found['made']}. Put {found['what']}"


def _where_lives(above: str, found: re.Match[str], formulas: list[str]) -> str:
    r"""`Let $p = 2 s$ be the scores, where $s \in \mathbb{R}^n$` with s first."""
    what, *rest = _texts(found["what"], formulas) + _texts(found["rest"], formulas)
    names = [name for one in rest if _LIVES.search(one) for name in _names(one)]
    new = names and not any(has_name(name, above) for name in names)
    if not (_is_definition(what) and "(" not in what.split("=")[0] and _LIVES.search(rest[0]) and new):
        return found[0]
    return f"{found['begins']}Let {found['rest']}. Put {found['what']}"


def _and_that(found: re.Match[str], formulas: list[str]) -> str:
    """`Assume that $x$ and $y$ are real and that $y > x$`."""
    related = RELATED.search(formula_at(found["what"], formulas))
    return f"{found['head']} with {found['what']}" if related else found[0]


def _every_entry(found: re.Match[str], formulas: list[str]) -> str:
    r"""`every entry of $x$ lies in $[-1, 1]$` as bounds of all entries."""
    of, inside = formula_at(found["of"], formulas), _INTERVAL.match(formula_at(found["set"], formulas))
    name = _LIVES.split(of)[0].strip()
    if inside is None or not re.fullmatch(r"\\?[A-Za-z]+", name) or r"\times" in of:
        return found[0]
    low, high = ("<" if inside[end] in "()" else r"\le" for end in ("open", "close"))
    bounds = add_formula(formulas, f"{inside['low']} {low} {name}_i {high} {inside['high']}")
    about = f"{found['of']} with " if _LIVES.search(of) else ""
    return f"{about}{bounds} for all {add_formula(formulas, 'i')}"


def _pair(found: re.Match[str], formulas: list[str]) -> str:
    """`a pair of real numbers $(x, y)$` as the numbers."""
    names = _TUPLE.match(formula_at(found["pair"], formulas))
    if names is None:
        return found[0]
    listed = add_formula(formulas, names[1])
    return f"{found['noun']} {listed}" if "noun" in found.groupdict() else f"{listed} be "


def _of_entries(found: re.Match[str], formulas: list[str]) -> str:
    """`Let $A = (a_{ij})$ be a matrix` as the matrix: what its entries are called declares nothing."""
    named = _ENTRIES.match(formula_at(found["what"], formulas))
    return f"{found['verb']} {add_formula(formulas, named['name'])}" if named else found[0]


def _member(found: re.Match[str], formulas: list[str]) -> str:
    r"""`Let $0 \ne u \in \mathbb{R}^n$` as the domain with the bound."""
    both = _BOUNDED_MEMBER.match(formula_at(found["what"], formulas))
    if both is None:
        return found[0]
    domain = add_formula(formulas, rf"{both['name']} \in{both['set']}")
    return f"{found['verb']} {domain} with {add_formula(formulas, both['bound'] + ' ' + both['name'])}"


def _the_by(found: re.Match[str], formulas: list[str]) -> str:
    """`Denote the identity matrix by $I$` says nothing of I; any other name is declared."""
    if (
        formula_at(found["name"], formulas).strip() in ("I", "I_n", "I_d", "I_{n}")
        and "identity" in found["np"].lower()
    ):
        return f"{found['begins']}" if found["and"] else found[0]
    return f"{found['begins']}Let {found['name']} be {found['np']}{found['and'] or ''}"


def _resulting(found: re.Match[str], formulas: list[str]) -> str:
    """What a definition makes, whatever it is called: "be the corresponding rotation"."""
    plain = _is_definition(formula_at(found["what"], formulas)) and not PROPERTY.search(found["noun"])
    return found["what"] if plain else found[0]


def _here_roles(above: str, found: re.Match[str], formulas: list[str]) -> str:
    r"""`Here $\beta_1, \beta_2 \in [0, 1)$ are decay rates.` declares what is new."""
    what, names = formula_at(found["what"], formulas), _names(formula_at(found["what"], formulas))
    fresh = names and not any(has_name(name, above) for name in names)
    if not (fresh and _LIVES.search(what) and _ROLES.fullmatch(" ".join(found["role"].split()))):
        return found[0]
    return f"{found['begins']}Let {found['what']}"


def _since(above: str, found: re.Match[str], formulas: list[str]) -> str:
    r"""`Since $A \in \mathbb{R}^{n \times n}$ is symmetric, we find` of an A that is new: a condition."""
    about = formula_at(found["about"], formulas)
    names = _names(about)
    fresh = names and _LIVES.search(about) and not any(has_name(name, above) for name in names)
    return f"{found['space']}If {found['about']}" if fresh else found[0]


def _distributions(found: re.Match[str], formulas: list[str]) -> str:
    r"""`$p$ and $q$ be two distributions on $\{1, \dots, n\}$` as vectors of $n$ entries."""
    last = _UP_TO.match(formula_at(found["set"], formulas))
    names = _texts(found["names"], formulas)
    if last is None or not all(NAME.fullmatch(one) for text in names for one in text.split(",")):
        return found[0]
    lives = add_formula(formulas, rf"{', '.join(names)} \in \mathbb{{R}}^{{{last['n'] or last['m']}}}")
    return f"{lives} be probability vectors"


def _ball(found: re.Match[str], formulas: list[str]) -> str:
    r"""`$x$ lies in the ball of radius $r$` as a bound of its norm."""
    about = formula_at(found["name"], formulas)
    name, space = _LIVES.split(about)[0].strip(), found["space"]
    radius = "1" if found["unit"] else formula_at(found["radius"], formulas) if found["radius"] and found["at"] else ""
    lives = bool(_LIVES.search(about)) or bool(space)
    if not radius or not NAME.fullmatch(name) or bool(found["unit"]) == bool(found["radius"]):
        return found[0]
    sign = (
        "=" if found["what"].lower() == "sphere" else "<" if (found["open"] or "").strip().lower() == "open" else r"\le"
    )
    relation = add_formula(formulas, rf"\|{name}\| {sign} {radius}")
    whole = add_formula(formulas, rf"{name} \in {formula_at(space, formulas)}") if space else found["name"]
    return f"{whole} with {relation}" if lives else relation


def _total(found: re.Match[str], formulas: list[str]) -> str:
    r"""`$w_1, \dots, w_n \ge 0$ that sum to one` with the sum as a formula."""
    family = _FAMILY.match(formula_at(found["names"], formulas))
    value = {"zero": "0", "one": "1", "unity": "1"}.get(found["value"].lower(), found["value"])
    value = formula_at(value, formulas) if "\0" in value else value
    drawn = re.search(r"random|variable|independent|i\.?i\.?d|sample", found.string[: found.start()], re.IGNORECASE)
    if family is None or ((found["mean"] or "sum").lower() != "sum" and (value != "0" or drawn)):
        return found[0]  # the mean of a random variable is not a sum
    return f"{found['names']} with {add_formula(formulas, _sum_of(family) + ' = ' + value)}"


def _sum_of(family: re.Match[str]) -> str:
    letter = next(one for one in "ijkl" if one not in (family["last"], family["base"]))
    return rf"\sum_{{{letter}=1}}^{{{family['last']}}} {family['base']}_{letter}"


def _mean_of(found: re.Match[str], formulas: list[str]) -> str:
    """`Let $S$ be the mean of independent random variables $X_1, \\dots, X_n$` with the variables first."""
    family, name = _FAMILY.match(formula_at(found["names"], formulas)), formula_at(found["name"], formulas)
    if family is None or RELATED.search(name):
        return found[0]
    share = "" if found["what"].lower() == "sum" else rf"\frac{{1}}{{{family['last']}}} "
    defined = add_formula(formulas, f"{name} = {share}{_sum_of(family)}")
    return f"{found['begins']}Let {found['names']} be {found['noun'].strip()}{found['rest']}. Put {defined}"


def _equal_entries(above: str, found: re.Match[str], formulas: list[str]) -> str:
    """A vector whose entries all are one number."""
    name, value = (formula_at(found[one], formulas) for one in ("name", "value"))
    base = _LIVES.split(name)[0].strip()
    if not re.fullmatch(r"\\?[A-Za-z]+", value) or RELATED.search(base):
        return found[0]
    number = "" if has_name(value, above) else add_formula(formulas, rf"{value} \in \mathbb{{R}}") + ", "
    entries = add_formula(formulas, f"{base}_i = {value}")
    return f"{number}{found['name']}{found['be']} with {entries} for all {add_formula(formulas, 'i')}"


def _follows(found: re.Match[str], _: list[str]) -> str:
    """`$Y$ follows a Poisson distribution with rate $r$` as `$Y$ is Poisson with rate $r$`."""
    opens = "Suppose " if found["begins"] else ""
    return f"{opens}{found['names']} is {found['law']}"


def _solves(above: str, found: re.Match[str], formulas: list[str]) -> str:
    """`$x$ solves $A x = b$` with the domain of x, where that of A is written."""
    name, what = (formula_at(found[one], formulas) for one in ("name", "what"))
    system = _SYSTEM.match(what)
    if system is None or system["name"] != name or has_name(name, above):
        return found[0]
    lives = re.compile(
        rf"(?:^|,)\s*{re.escape(system['array'])}\s*\\in\s*\\mathbb\s*\{{?R\}}?\s*\^\s*\{{\s*\w+\s*\\times\s*(?P<n>\w+)\s*\}}\s*$"
    )
    size = next((one["n"] for text in formulas if (one := lives.search(text))), None)
    if size is None:
        return found[0]
    lives_in = add_formula(formulas, rf"{name} \in \mathbb{{R}}^{{{size}}}")
    return f"{lives_in} with {found['what']}"


_Rule = tuple[tuple[str, ...], re.Pattern[str], Rewrite]
_RULES: tuple[_Rule, ...] = (
    (("put", "set", "write", "define", "take"), _PUT, _put),
    (("we ", "let us "), _CONSIDER, lambda found, _: f"{found['begins']}{found['verb'].capitalize()} "),
    (("throughout", "follow", "henceforth", "now on"), _THROUGHOUT, lambda found, _: f"{found['begins']}Let "),
    (("and that",), _AND_THAT, _and_that),
    (("every ", "each "), _EVERY_ENTRY, _every_entry),
    (("of ",), _PAIR_OF, _pair),
    (("of ",), _BE_PAIR, _pair),
    (("matri",), _OF_ENTRIES, _of_entries),
    (("",), _MEMBER, _member),
    (("where",), _WHERE, _where),
    (("write", "use"), _FOR_THE, lambda found, _: f"{found['begins']}Let {found['name']} be {found['np']}"),
    (("denote the",), _THE_BY, _the_by),
    (("let the",), _LET_THE, lambda found, _: f"{found['let']} "),
    (("hold", "contain", "collect", "store", "represent"), _HOLD, lambda found, _: f"{found['let']} be "),
    (("correspond", "result", "associat", "respective", "induced"), _RESULTING, _resulting),
    (("vector", "matri"), _MODIFIED, lambda found, _: re.sub(r"\b(a)n (?=\s*$)", r"\1 ", found["be"])),
    (("for ", "given "), _FOR_EACH_AND, lambda found, _: f"{found['head']} "),
    (("sequence",), _SEQUENCE, lambda found, _: f"{found['begins']}Define "),
    (("distribution",), _DISTRIBUTIONS, _distributions),
    (("ball", "sphere"), _BALL, _ball),
    (("zero", " 0"), _ONE_OF, lambda found, _: f"{found['noun']}, not both zero"),
    (("sum", "mean", "adding", "average"), _TOTAL, _total),
    (("sample",), _SAMPLE, lambda found, _: f"{found['be'].replace('form', 'are')} i.i.d. {found['law']}"),
    (("distribution", " law"), _FOLLOWS, _follows),
    (("known",), _KNOWN, lambda found, _: ""),
    (("mean of", "average of", "sum of"), _MEAN_OF, _mean_of),
)
_RULES_BELOW = (
    (("suppose", "assume"), _SUPPOSE, _suppose),
    ((" for ", " with "), _FOR_NOUN, _for_noun),
    (("where", "with"), _WHERE_LIVES, _where_lives),
    (("here", "throughout"), _HERE_ROLES, _here_roles),
    (("since", "as ", "because"), _SINCE, _since),
    (("equal",), _EQUAL_ENTRIES, _equal_entries),
    (("solve", "satisf", "solution"), _SOLVES, _solves),
)
