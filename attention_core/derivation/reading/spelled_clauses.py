r"""Clauses of declarations in the order in which they are written, put into the one that is read.

"Let $k$ be an integer with ...", "$x$ and $y$ be real", "numbers whose sum is $1$", "a projection, i.e. $P^2 = P$",
"Denote by $c$ the ...", "Assume without loss of generality that ...": what such words mean is written once more with
words, or with formulas, that the other readers know. Formulas are masked, as in `spelled_laws`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from attention_core.derivation.words.vocabulary import PROPERTY

Rewrite = Callable[[re.Match[str], list[str]], str]
_F = r"\x00\d+\x00"  # a formula
_GROUP = rf"{_F}(?:(?:\s*,\s*|\s*,?\s+and\s+){_F})*"
_BEGINS = r"(?P<begins>(?:^|(?<=[.;:!?])\s)\s*)"
_ENDS = r"(?=\s*(?:[.,;:)]|$|(?:and|so|then|for|we|with|such|that)\b))"
_CLOSES = r"(?=\s*(?:[.;:!?]|$))"
_NAME = re.compile(r"\s*\\?[A-Za-z]+(?:_\{?\w+\}?)?\s*")
_LEFT = re.compile(
    r"^\s*(?P<names>\\?[A-Za-z]+(?:\s*,\s*\\?[A-Za-z]+)*)\s*(?P<op>[<>]|\\(?:[lg]eq?(?:slant)?|neq?)(?![A-Za-z]))"
    r"\s*(?P<right>.+)$"
)
_RELATED = re.compile(r"[=<>]|\\(?:[lg]eq?(?:slant)?|neq?|succ|prec)(?![A-Za-z])")
_WLOG = re.compile(
    r"\b(?P<verb>(?:we )?(?:assume|suppose|may assume))(?:\s*,?\s*(?:without (?:any )?loss of generality|"
    r"w\.?l\.?o\.?g\.?|for "
    r"(?:simplicity|convenience|definiteness|concreteness)|in addition|moreover|furthermore|additionally|besides|"
    r"also)\b,?)+\s+(?:that\s+)?(?=\x00|the |both |all )",
    re.IGNORECASE,
)
_WE_ASSUME = re.compile(
    rf"(?P<begins>^\s*)(?:We|Let us)(?: also| further| now)? (?:assume|suppose)(?: that)? (?=[^.;]*{_F})"
)
_TO_BE = re.compile(
    rf"\b(?P<verb>assume|suppose|require|take)\s+(?P<about>(?:the \w+ )?{_GROUP})\s+to\s+(?P<what>be|"
    rf"have)\b(?!\s*\x00)",
    re.IGNORECASE,
)
_ASIDE = re.compile(rf"{_BEGINS}\(\s*(?P<inner>[A-Z][^()]*\x00[^()]*?)[.]?\s*\)\.?(?=\s|$)")
_HERE = re.compile(
    rf"{_BEGINS}(?:Here|Throughout),?\s+(?P<what>{_F})(?:\s+(?:is|denotes)\s+(?:the|an?)\s+(?P<role>[a-z][a-z "
    rf"-]*?))?{_CLOSES}"
)
_INSIDE = re.compile(
    r"^(?P<name>\\?[A-Za-z]+)\s*\\in\s*(?P<open>[\[(])\s*(?P<low>[^\[\](),]+?)\s*,\s*(?P<high>[^\[\](),]+?)\s*(?P<close>[\])])$"
)
_ROLES = re.compile(
    r"(?:(?:given|fixed|small|success|learning|step|mixing|drop(?:out)?|smoothing|regularization|damping|decay|"
    r"discount|momentum) )*(?:probability(?: of (?:success|failure|heads))?|rate|size|parameter|constant|factor|"
    r"coefficient|"
    r"angle|temperature|weight|scale|number|scalar|threshold|radius|strength)"
)
_DENOTE = re.compile(rf"{_BEGINS}(?:We )?[Dd]enote\s+(?:by\s+)?(?P<name>{_F})\s+(?=(?:the|an?)\s)", re.IGNORECASE)
_DENOTES = re.compile(
    rf"{_BEGINS}(?:(?:Throughout|In|From|Here|Henceforth|Below)\b[a-z ]*,?\s+)?(?P<name>{_F})\s+(?:denotes|will denote|"
    r"always denotes|stands for)\s+(?=(?:an?|the)\s)"
)
_HERE_ARE = re.compile(
    rf"{_BEGINS}Here,?\s+(?P<rest>{_GROUP}\s+(?:is|are)\s+(?P<what>[a-z][a-z -]*?)\s+with\s+(?P<rel>{_F})){_CLOSES}"
)
_NUMBERS = re.compile(
    rf"(?P<verb>\b(?:let|suppose(?: that)?|assume(?: that)?|given)\s+)(?P<what>{_F})\s+(?:be|are)\s+(?:an?\s+|"
    rf"two\s+|three\s+)?"
    rf"(?:real\s+)?(?:numbers?|scalars?|constants?|parameters?){_ENDS}",
    re.IGNORECASE,
)
_CONSTANTS = re.compile(
    rf"(?P<about>\blet\s+{_GROUP}\s+be\s+)(?P<one>an?\s+)?(?:real\s+)?(?:constants?|"
    rf"angles?){_ENDS}",
    re.IGNORECASE,
)
_ON_SET = re.compile(
    rf"\b(?P<what>probability\s+(?:distribution|vector|measure))\s+(?P<name>{_F})\s+(?:on|"
    rf"over)\s+(?P<set>{_F})",
    re.IGNORECASE,
)
_UP_TO = re.compile(
    r"^\\\{\s*1\s*,(?:\s*2\s*,)?\s*\\[lc]?dots\s*,\s*(?P<n>[A-Za-z])\s*\\\}$|"
    r"^\[\s*(?P<m>[A-Za-z])\s*\]$"
)
_NOT_BOTH = re.compile(
    rf"(?P<group>{_GROUP})\s+be\s+(?P<what>(?:real\s+)?numbers),?\s+(?:that\s+are\s+|"
    rf"which\s+are\s+)?not\s+both\s+(?:zero|0){_ENDS}",
    re.IGNORECASE,
)
_THAT_IS = re.compile(
    rf"(?P<head>\b(?:let|suppose(?: that)?|assume(?: that)?)\s+{_F}\s+(?:be|is)\s+)an?\s+[a-z][a-z "
    rf"-]*,?\s+(?:i\.\s?e\.|that is),?\s+"
    rf"(?=an?\s+(?:[a-z]+\s+)*(?:{_F}\s+)?(?:matrix|vector|number)\b)",
    re.IGNORECASE,
)
_LAWS = re.compile(
    rf"\b(?P<verb>assume|suppose|let)(?: that)?\s+(?P<names>{_GROUP})\s+(?:be|are)\s+independent(?: random "
    rf"variables)?,?\s+"
    rf"(?:with|where)\s+(?P<laws>{_GROUP}){_CLOSES}",
    re.IGNORECASE,
)
_DIGITS = re.compile(rf"\b(?P<what>determinant|trace|norm|length)\s+(?P<value>{_F})(?!\s*\w)", re.IGNORECASE)
_LET_DENOTE = re.compile(rf"\b(?P<let>let\s+{_GROUP})\s+denote\b", re.IGNORECASE)
_REAL = re.compile(rf"(?P<about>\blet\s+{_GROUP}\s+be\s+(?:both |all |any )?)real{_ENDS}", re.IGNORECASE)
_REALS = re.compile(
    rf"\b(?P<before>(?:an?|the|any|every|each|some|two|three|all|for|fix|given|be|are|positive|negative|"
    rf"nonnegative|non-negative|"
    rf"nonzero|non-zero|distinct)\s+)(?P<noun>reals?)(?=\s+{_F}|{_ENDS})",
    re.IGNORECASE,
)
_BOUNDED_NOUN = re.compile(
    rf"\b(?P<noun>(?:real )?(?:numbers?|scalars?)|vectors?|integers?|natural numbers?|(?:whole "
    rf"numbers?))\s+(?P<what>{_F})",
    re.IGNORECASE,
)
_BOUNDED_BE = re.compile(
    rf"(?P<what>{_F})\s+(?P<verb>be|is)\s+(?P<rest>an?\s+(?:fixed |given |arbitrary )?(?:positive |natural "
    rf")?(?:integer|number)){_ENDS}",
    re.IGNORECASE,
)
_SUCH = re.compile(
    rf"(?P<group>{_GROUP})\s+be\s+(?P<kind>(?:positive |nonnegative |non-negative )?integers|natural numbers)\s*,?\s+"
    rf"(?:such that|with|satisfying)\s+(?P<what>{_F})",
    re.IGNORECASE,
)
_EVERY_INTEGER = re.compile(
    rf"\b(?P<before>(?:for|fix|given|let|take|with|and)\s+(?:all|any|every|each|an?|some)?\s*)"
    rf"(?P<kind>(?:positive |non-?negative )?integers?|natural numbers?)\s+(?P<what>{_F})",
    re.IGNORECASE,
)
_WHOLE_BOUND = re.compile(
    r"^\s*(?P<names>[A-Za-z](?:\s*,\s*[A-Za-z])*)\s*(?P<op>>|\\geq?(?:slant)?(?![A-Za-z]))\s*(?P<low>\d+)\s*$"
)
_BETWEEN = re.compile(
    r"^\s*(?P<low>\d+)\s*(?P<op><|\\leq?(?:slant)?(?![A-Za-z]))\s*(?P<first>[A-Za-z])\s*"
    r"(?:<|\\leq?(?:slant)?(?![A-Za-z]))\s*(?P<last>[A-Za-z])\s*$"
)
_PARITY = re.compile(
    rf"(?P<group>{_GROUP})\s+(?P<verb>be|is|are)\s+(?:an?\s+)?(?:positive\s+)?(?P<which>even|odd)\s+(?:positive\s+)?"
    rf"(?:integers?|natural numbers?){_ENDS}",
    re.IGNORECASE,
)
_ELLIPSIS = re.compile(
    rf"(?P<head>\b(?:be|is)\b[^.;:\x00]*(?:\x00\d+\x00[^.;:\x00]*)?,?\s+and\s+(?P<next>{_F}))\s+(?=(?:an?|any|"
    rf"the)\s+(?!same\b))",
    re.I,
)
_COMPARED = re.compile(
    rf"(?P<name>{_F})(?P<be>\s+be)?\s+(?P<what>an?\s+[a-z -]*?(?:integer|number|scalar))\s+(?P<how>not exceeding|"
    rf"not larger than|"
    rf"not greater than|no larger than|no greater than|at most|not less than|not smaller than|at least|greater than|"
    rf"larger than|exceeding|smaller than|less than)\s+(?P<other>{_F})(?=\s*[.;:]|\s*,(?!\s*\x00)|\s*$|"
    rf"\s+and\b(?!\s*\x00))",
    re.IGNORECASE,
)
_ORDER = {
    "not exceeding": r"\le", "not larger than": r"\le", "not greater than": r"\le", "no larger than": r"\le",
    "no greater than": r"\le", "at most": r"\le", "not less than": r"\ge", "not smaller than": r"\ge",
    "at least": r"\ge", "greater than": ">", "larger than": ">", "exceeding": ">", "smaller than": "<",
    "less than": "<",
}  # fmt: skip
_SAME = re.compile(
    rf"(?P<before>\b(?:let|assume|suppose|given|fix|consider|take)\b[^.;!?]*?),?\s*\(?(?:i\.\s?e\.|that is|namely|"
    rf"in other words|"
    rf"meaning(?: that)?|which means(?: that)?),?\s+(?P<what>{_F})\)?(?=\s*[.;,:]|\s*$)",
    re.IGNORECASE,
)
_NAMED_AS = re.compile(r"\s+be\s+(?:an?\s+)?(?P<what>[a-z][a-z -]*)$")
_MATCHING = re.compile(
    r"\s+of\s+(?:an?\s+|the\s+)?(?:matching|suitable|appropriate|compatible|fitting|right|correct)\s+"
    r"(?:sizes?|dimensions?|lengths?|shapes?)(?![\w-])",
    re.IGNORECASE,
)
_AS_FORM = re.compile(
    rf"(?P<let>\bLet)\s+(?P<name>{_F})\s+be\s+(?:an?|the)\s+(?:{_F}\s+)?(?P<what>[A-Za-z][a-z -]*?),?\s+"
    rf"(?:of the form\s+|given by\s+|defined by\s+|defined as\s+)?(?P<form>{_F}),?\s+"
    rf"(?:with|where|for some|for an?|for)\s+(?P<rest>[^.;]*?)(?P<end>\s*(?:[.;]|$))"
)
_TOTALS = re.compile(
    rf"(?P<group>{_GROUP})(?P<be>\s+be\s+)(?P<what>[a-z -]*?(?:numbers?|reals|scalars?|weights|integers))\s*,?\s+"
    rf"(?:whose (?P<a>sum|product) (?:is|equals)|with (?P<b>sum|product)|(?P<c>that sum|summing|adding up|which "
    rf"sum|that add up) to)"
    rf"\s+(?:equal to\s+)?(?P<value>{_F}|zero|one|unity|\d+){_ENDS}",
    re.IGNORECASE,
)
_ALL_OF_WHOSE = re.compile(r"\b(?:all|each) of (?P<whose>whose [a-z ]*?) (?P<are>are|is) (?:all )?", re.IGNORECASE)
_COLUMNS = re.compile(rf"\bthe (?P<part>columns|rows) (?P<names>{_F}) of (?=(?:the matrix )?{_F})", re.IGNORECASE)
_BOTH_IN = re.compile(
    rf"(?P<let>\b(?:let|assume|suppose)\s+(?:that\s+)?)(?P<one>{_F})(?P<first>\s+(?:be|is)\s+[a-z "
    rf"-]+?),?\s+and\s+(?P<two>{_F})"
    rf"(?:\s+(?:be|is))?(?P<second>\s+[a-z -]+?),?\s+(?:both|each)\s+(?:in|from)\s+(?P<space>{_F})",
    re.IGNORECASE,
)
_NOISE = re.compile(
    rf"(?P<law>{_F})\s+be\s+(?:an?\s+|some\s+|the\s+)?(?:additive |white |standard |independent |random |gaussian "
    rf"|normal )*"
    rf"(?:noise|random (?:variables?|vectors?)|samples?|draws?)(?: vectors?)?{_ENDS}",
    re.IGNORECASE,
)
_ADJECTIVES = re.compile(
    rf"\b(?P<noun>matri(?:x|ces)|vectors?)\s+\((?P<what>[a-z][a-z, -]*)\)(?P<tail>\s+(?:in|of size|of shape)\s+{_F})?",
    re.IGNORECASE,
)
_KERNEL = re.compile(
    rf"(?P<name>{_F})\s+(?:be|is|lies?|belongs?)\s+(?:an element of |a vector (?:in|of|from) |in |to )\s*"
    rf"the\s+(?:null\s?space|kernel)\s+of\s+(?P<of>{_F}){_ENDS}",
    re.IGNORECASE,
)
_EIGEN = re.compile(
    rf"(?P<name>{_F})\s+(?:be|is)\s+an?\s+(?P<unit>unit |normali[sz]ed )?eigenvector\s+of\s+(?:the (?:symmetric "
    rf")?matrix )?(?P<of>{_F})"
    rf"\s*,?\s+(?:with|to|for|corresponding to|associated (?:with|to)|belonging to)\s+(?:the\s+|"
    rf"its\s+)?eigenvalue\s+(?P<value>{_F})"
    rf"{_ENDS}",
    re.IGNORECASE,
)
_SQUARE_IN = re.compile(
    r"^(?P<name>[^=<>\\]*|\\[A-Za-z]+)\s*\\in\s*\\mathbb\s*\{?R\}?\s*\^\s*\{\s*(?P<n>\w+)\s*\\times\s*(?P<m>\w+)\s*\}\s*$"
)


def spell_clauses(masked: str, formulas: list[str], above: str = "") -> str:
    r"""Write clauses of declarations as the other readers know them.

    Args:
        masked: The text with its formulas masked.
        formulas: What the masks stand for; new formulas are appended.
        above: The formulas of the document above it: a symbol of theirs is not declared again.

    Example:
        >>> spell_clauses("Assume without loss of generality that \x000\x00.", ["a < b"])
        'Assume that \x000\x00.'
        >>> made = ["n \\ge 2"]
        >>> spell_clauses("Let \x000\x00 be an integer.", made), made[1:]
        ('Let \x001\x00 with \x002\x00.', ['n \\in \\mathbb{N}', 'n \\ge 2'])
    """
    for pattern, plain in _RULES:
        masked = pattern.sub(partial(_keep_lines, plain, formulas), masked)
    for pattern, rewrite in ((_NUMBERS, _numbers), (_EIGEN, _eigen)):
        masked = pattern.sub(partial(_keep_lines, partial(rewrite, above), formulas), masked)
    return masked


def _keep_lines(rewrite: Rewrite, formulas: list[str], found: re.Match[str]) -> str:
    """What a clause becomes, with as many line breaks as it had."""
    text = rewrite(found, formulas)
    return text + "\n" * (found[0].count("\n") - text.count("\n"))


def _formula(mask: str, formulas: list[str]) -> str:
    return formulas[int(mask.strip("\0"))].strip()


def _add(formulas: list[str], text: str) -> str:
    formulas.append(text)
    return f"\0{len(formulas) - 1}\0"


def _texts(group: str, formulas: list[str]) -> list[str]:
    """The formulas of a group, each name of a list apart."""
    return [one.strip() for place in re.findall(_F, group) for one in _formula(place, formulas).split(",")]


def _here(found: re.Match[str], formulas: list[str]) -> str:
    r"""`Here $p \in (0, 1)$ is the success probability.` assumes; an equation may be claimed, and stays."""
    what, role = _formula(found["what"], formulas), found["role"]
    inside = _INSIDE.match(what)
    if inside is not None:  # the bounds alone, as a domain would take back what is known of the symbol
        low, high = ("<" if inside[end] in "()" else r"\le" for end in ("open", "close"))
        assumed = _add(formulas, f"{inside['low']} {low} {inside['name']} {high} {inside['high']}")
    else:
        assumed = found["what"]
    bounds = re.search(r"[<>]|\\(?:[lg]eq?|neq?)(?![A-Za-z])", what) and not re.search(r"=|\\in(?![A-Za-z])", what)
    if not (inside or bounds) or (role and not _ROLES.fullmatch(" ".join(role.split()))):
        return found[0]
    return f"{found['begins']}Assume {assumed}"


def _same(found: re.Match[str], formulas: list[str]) -> str:
    """A relation that says once more what a declaration says in words: "a projection, i.e. $P^2 = P$"."""
    if not _RELATED.search(_formula(found["what"], formulas)):
        return found[0]
    before, named = found["before"], _NAMED_AS.search(found["before"])
    if named is not None and not PROPERTY.search(named["what"]):
        before = before[: named.start()]  # the relation says all that the noun says
    return f"{before} with {found['what']}"


def _as_form(found: re.Match[str], formulas: list[str]) -> str:
    r"""`Let $H$ be a reflection $H = I - 2 u u^\top$ with $u \in ...$` with what the form needs before it."""
    name, form = _formula(found["name"], formulas), _formula(found["form"], formulas)
    rest = re.findall(_F, found["rest"])
    lives = any(r"\in" in _formula(one, formulas) for one in rest)
    if not form.replace(" ", "").startswith(f"{name.replace(' ', '')}=") or PROPERTY.search(found["what"]) or not lives:
        return found[0]
    return f"{found['let']} {found['rest']}, and put {found['form']}{found['end']}"


def _names_in(relation: str) -> list[str]:
    """The plain symbols that a chain of bounds names, [] of any other formula."""
    if re.search(r"\\(?:in|sim|dots|ldots|cdots)(?![A-Za-z])|[=(){}\[\]^|]", relation) or not _RELATED.search(relation):
        return []
    sides = [one.strip() for part in _RELATED.split(relation) for one in part.split(",")]
    plain = [one for one in sides if not re.fullmatch(r"[-+]?\d+(?:\.\d+)?", one)]
    return list(dict.fromkeys(plain)) if all(_NAME.fullmatch(one) for one in plain) else []


def _numbers(above: str, found: re.Match[str], formulas: list[str]) -> str:
    r"""`Let $0 \le t \le 1$ be a real number` as `Let $t \in \mathbb{R}$ with $0 \le t \le 1$`."""
    names = _names_in(_formula(found["what"], formulas))
    fresh = found["verb"].strip().lower() == "let" or not any(_has_name(one, above) for one in names)
    if not names or not fresh:  # "let" alone declares anew what is declared above
        return found[0]
    lives = _add(formulas, rf"{', '.join(names)} \in \mathbb{{R}}")
    return f"{found['verb']}{lives} with {found['what']}"


def _digits(found: re.Match[str], formulas: list[str]) -> str:
    """`with determinant $1$` with the digit outside of a formula."""
    value = _formula(found["value"], formulas)
    return f"{found['what']} {value}" if re.fullmatch(r"[01]", value) else found[0]


def _on_set(found: re.Match[str], formulas: list[str]) -> str:
    r"""`a probability distribution $p$ on $\{1, \dots, n\}$` as a vector of $n$ entries."""
    name, last = _formula(found["name"], formulas), _UP_TO.match(_formula(found["set"], formulas))
    if last is None or not _NAME.fullmatch(name):
        return found[0]
    lives = _add(formulas, rf"{name} \in \mathbb{{R}}^{{{last['n'] or last['m']}}}")
    return f"probability vector {lives}"


def _not_both(found: re.Match[str], formulas: list[str]) -> str:
    names = _texts(found["group"], formulas)
    if len(names) != 2 or not all(_NAME.fullmatch(one) for one in names):
        return found[0]
    relation = _add(formulas, rf"{names[0]}^2 + {names[1]}^2 \ne 0")
    return f"{found['group']} be {found['what']} with {relation}"


def _laws(found: re.Match[str], formulas: list[str]) -> str:
    r"""`$X$ and $Y$ are independent with $X \sim ...$ and $Y \sim ...$`: the laws declare them."""
    names = {name.replace(" ", "") for name in _texts(found["names"], formulas)}
    laws = [_formula(one, formulas) for one in re.findall(_F, found["laws"])]
    drawn = {part.strip() for law in laws if r"\sim" in law for part in law.split(r"\sim")[0].split(",")}
    return f"Let {found['laws']} be independent" if drawn == names and all(r"\sim" in law for law in laws) else found[0]


def _here_are(found: re.Match[str], formulas: list[str]) -> str:
    related = _RELATED.search(_formula(found["rel"], formulas))
    known = PROPERTY.search(found["what"]) and related
    return f"{found['begins']}Assume {found['rest']}" if known else found[0]


def _bounded_noun(found: re.Match[str], formulas: list[str]) -> str:
    r"""`a real number $q \ne 1$` as `a real number $q$ with $q \ne 1$`."""
    bound = _LEFT.match(_formula(found["what"], formulas))
    if bound is None or "\\in" in bound["right"] or re.search(r"[<>=]", bound["right"]):
        return found[0]
    return f"{found['noun']} {_add(formulas, bound['names'])} with {found['what']}"


_KINDS = {
    "integer": r"\mathbb{Z}", "positive integer": r"\mathbb{N}", "natural number": r"\mathbb{N}",
    "non-negative integer": r"\mathbb{N}_0",
}  # fmt: skip


def _count_from(low: str, strict: bool) -> str:
    r"""The domain of integers above a number: \mathbb{N} from 1 on, \mathbb{N}_0 from 0 on."""
    least = int(low) + strict
    return r"\mathbb{N}" if least >= 1 else r"\mathbb{N}_0"


def _bounded_integer(found: re.Match[str], formulas: list[str]) -> str:
    r"""`every integer $n \ge 2$` and `$n \ge 2$ be an integer` as `$n \in \mathbb{N}$ with $n \ge 2$`."""
    what, kind = _formula(found["what"], formulas), " ".join((found.groupdict().get("kind") or "").lower().split())
    bound = _WHOLE_BOUND.match(what)
    if bound is None and kind and _NAME.fullmatch(what):
        domain = _KINDS[kind.removesuffix("s").replace("nonnegative", "non-negative")]
        lives = _add(formulas, rf"{what} \in {domain}")
        return f"{found['before']}{lives}"
    if bound is None:
        return found[0]
    domain = _count_from(bound["low"], bound["op"] == ">")
    names, given = bound["names"].strip(), found.groupdict()
    lives = _add(formulas, rf"{names} \in {domain}")
    return f"{given.get('before') or ''}{lives} with {_add(formulas, what)}"


def _integers_such(found: re.Match[str], formulas: list[str]) -> str:
    r"""`$k$ and $n$ be integers such that $1 \le k \le n$` as members of \mathbb{N}."""
    bound = _BETWEEN.match(_formula(found["what"], formulas))
    names = _texts(found["group"], formulas)
    if bound is None or {bound["first"], bound["last"]} != set(names):
        return found[0]
    domain = _count_from(bound["low"], bound["op"] == "<")
    lives = _add(formulas, rf"{', '.join(names)} \in {domain}")
    return f"{lives} with {found['what']}"


def _parity(found: re.Match[str], formulas: list[str]) -> str:
    if not re.search(r"positive|natural", found[0], re.IGNORECASE):
        return found[0]
    lives = _add(formulas, rf"{', '.join(_texts(found['group'], formulas))} \in \mathbb{{N}}")
    return f"{lives} {found['verb']} {found['which']}"


def _compared(found: re.Match[str], formulas: list[str]) -> str:
    """`$k$ a nonnegative integer not exceeding $n$` as `$k$ be a nonnegative integer with $k \\le n$`."""
    name, other = _formula(found["name"], formulas), _formula(found["other"], formulas)
    if not _NAME.fullmatch(name) or _RELATED.search(other):
        return found[0]
    relation = _add(formulas, f"{name} {_ORDER[' '.join(found['how'].lower().split())]} {other}")
    return f"{found['name']} be {found['what']} with {relation}"


def _total(found: re.Match[str], formulas: list[str]) -> str:
    """Numbers with a sum or a product, as the formula that says so."""
    names = _texts(found["group"], formulas)
    words = {"zero": "0", "one": "1", "unity": "1"}
    value = found["value"].lower()
    right = _formula(found["value"], formulas) if value.startswith("\0") else words.get(value, value)
    if len(names) < 2 or not all(_NAME.fullmatch(one) for one in names) or _RELATED.search(right):
        return found[0]
    product = "product" in (found["a"], found["b"])
    relation = _add(formulas, f"{(' ' if product else ' + ').join(names)} = {right}")
    return f"{found['group']}{found['be']}{found['what']} with {relation}"


def _both_in(found: re.Match[str], formulas: list[str]) -> str:
    """`Let $A$ be symmetric and $B$ diagonal, both in $S$` with the domain behind each symbol."""
    space = _formula(found["space"], formulas)
    names = [_formula(found[one], formulas) for one in ("one", "two")]
    if not re.match(r"\\mathbb\s*\{?R", space) or not all(_NAME.fullmatch(one) for one in names):
        return found[0]
    one, two = (_add(formulas, rf"{name} \in {space}") for name in names)
    return f"{found['let']}{one}{found['first']} and let {two} be {found['second'].strip()}"


def _noise(found: re.Match[str], formulas: list[str]) -> str:
    r"""`$x \sim \mathcal{N}(0, I_d)$ be Gaussian noise`: the formula says all of it."""
    law = _formula(found["law"], formulas)
    normal = re.search(r"\\mathcal\s*\{?\s*N", law)
    says_normal = re.search(r"gaussian|normal|white|noise", found[0], re.IGNORECASE)
    independent = re.search(r"independent", found[0], re.IGNORECASE)
    standard = re.search(r"standard", found[0], re.IGNORECASE)
    if "\\sim" not in law or independent or standard or (says_normal and not normal):
        return found[0]
    return found["law"]


def _adjectives(found: re.Match[str], formulas: list[str]) -> str:
    """`a matrix (symmetric) in $S$` with the adjectives behind."""
    return f"{found['noun']}{found['tail'] or ''}, {found['what']}"


def _kernel(found: re.Match[str], formulas: list[str]) -> str:
    """A vector in the kernel of a matrix: both are named, and their product is zero."""
    vector, array = _formula(found["name"], formulas), _formula(found["of"], formulas)
    names = [one.split(r"\in")[0].strip() for one in (vector, array)]
    if not all(_NAME.fullmatch(one) for one in names):
        return found[0]
    lives = [mask for mask, text in ((found["name"], vector), (found["of"], array)) if r"\in" in text]
    relation = _add(formulas, f"{names[1]} {names[0]} = 0")
    return " and ".join([*lives, relation]) if not lives else f"{' and '.join(lives)} with {relation}"


def _eigen(above: str, found: re.Match[str], formulas: list[str]) -> str:
    r"""An eigenvector of a matrix whose size is written: `v \in \mathbb{R}^n` with `A v = \lambda v`."""
    vector, array, value = (_formula(found[one], formulas) for one in ("name", "of", "value"))
    square = _SQUARE_IN.match(array)
    if square is None or square["n"] != square["m"] or not all(_NAME.fullmatch(one) for one in (vector, value)):
        return found[0]
    fresh = [(vector, rf"\mathbb{{R}}^{{{square['n']}}}"), (value, r"\mathbb{R}")]
    domains = [_add(formulas, rf"{name} \in {space}") for name, space in fresh if not _has_name(name, above)]
    length = _add(formulas, rf"\|{vector}\| = 1" if found["unit"] else rf"{vector} \ne 0")
    relation = _add(formulas, rf"{square['name'].strip()} {vector} = {value} {vector}")
    return f"{', '.join([found['of'], *domains])} with {relation} and {length}"


def _has_name(name: str, text: str) -> bool:
    return re.search(rf"(?<![A-Za-z\\]){re.escape(name)}(?![A-Za-z])", text) is not None


_RULES: tuple[tuple[re.Pattern[str], Rewrite], ...] = (
    (_ASIDE, lambda found, _: f"{found['begins']}{found['inner']}."),
    (_WLOG, lambda found, _: f"{found['verb']} that "),
    (_TO_BE, lambda found, _: f"{found['verb']} {found['about']} {'is' if found['what'] == 'be' else 'has'}"),
    (_HERE, _here),
    (_HERE_ARE, _here_are),
    (_DENOTES, lambda found, _: f"{found['begins']}Let {found['name']} be "),
    (_THAT_IS, lambda found, _: found["head"]),
    (_LAWS, _laws),
    (_ON_SET, _on_set),
    (_NOT_BOTH, _not_both),
    (_DENOTE, lambda found, _: f"{found['begins']}Let {found['name']} be "),
    (_LET_DENOTE, lambda found, _: f"{found['let']} be"),
    (_MATCHING, lambda _, __: ""),
    (_AS_FORM, _as_form),
    (_NOISE, _noise),
    (_BOTH_IN, _both_in),
    (_COMPARED, _compared),
    (_ELLIPSIS, lambda found, _: f"{found['head']} be "),
    (_CONSTANTS, lambda found, _: f"{found['about']}{'a real number' if found['one'] else 'real numbers'}"),
    (_DIGITS, _digits),
    (_TOTALS, _total),
    (_SUCH, _integers_such),
    (_BOUNDED_BE, _bounded_integer),
    (_EVERY_INTEGER, _bounded_integer),
    (_PARITY, _parity),
    (_WE_ASSUME, lambda found, _: f"{found['begins']}Assume "),
    (_REAL, lambda found, _: f"{found['about']}real numbers"),
    (_REALS, lambda found, _: f"{found['before']}{'real numbers' if found['noun'][-1:] in 'sS' else 'real number'}"),
    (_BOUNDED_NOUN, _bounded_noun),
    (_ALL_OF_WHOSE, lambda found, _: f"{found['whose']} {found['are']} all "),
    (_COLUMNS, lambda found, _: f"the {found['part']} of "),
    (_ADJECTIVES, _adjectives),
    (_KERNEL, _kernel),
    (_SAME, _same),
)
