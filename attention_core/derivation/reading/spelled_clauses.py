r"""Clauses of declarations in the order in which they are written, put into the one that is read.

"Let $k$ be an integer with ...", "$x$ and $y$ be real", "numbers whose sum is $1$", "a projection, i.e. $P^2 = P$",
"Denote by $c$ the ...", "Assume without loss of generality that ...": what such words mean is written once more with
words, or with formulas, that the other readers know. Formulas are masked, as in `spelled_laws`.
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
    texts_of,
)
from attention_core.derivation.reading.spelled_bounds import BOUNDS, COMPARED, NUMBERS
from attention_core.derivation.reading.spelled_eigenvalues import EIGENVALUES
from attention_core.derivation.words.vocabulary import PROPERTY

_WLOG = re.compile(
    r"\b(?P<verb>(?:we )?(?:assume|suppose|may assume))(?:\s*,?\s*(?:without (?:any )?loss of generality|"
    r"w\.?l\.?o\.?g\.?|for "
    r"(?:simplicity|convenience|definiteness|concreteness)|in addition|moreover|furthermore|additionally|besides|"
    r"also)\b,?)+\s+(?:that\s+)?(?=\x00|the |both |all )",
    re.IGNORECASE,
)
_WE_ASSUME = re.compile(
    rf"(?P<begins>^\s*)(?:We|Let us)(?: also| further| now)? (?:assume|suppose|require)(?: that)? (?=[^.;]*{FORMULA})"
)
_TO_BE = re.compile(
    rf"\b(?P<verb>assume|suppose|require|take)\s+(?P<about>(?:the \w+ )?{GROUP})\s+to\s+(?P<what>be|"
    rf"have)\b(?!\s*\x00)",
    re.IGNORECASE,
)
_ASIDE = re.compile(rf"{BEGINS}\(\s*(?P<inner>[A-Z][^()]*\x00[^()]*?)[.]?\s*\)\.?(?=\s|$)")
_HERE = re.compile(
    rf"{BEGINS}(?:Here|Throughout),?\s+(?P<what>{FORMULA})(?:\s+(?:is|denotes)\s+(?:the|an?)\s+(?P<role>[a-z][a-z "
    rf"-]*?))?{CLOSES}"
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
_DENOTE = re.compile(rf"{BEGINS}(?:We )?[Dd]enote\s+(?:by\s+)?(?P<name>{FORMULA})\s+(?=(?:the|an?)\s)", re.IGNORECASE)
_DENOTES = re.compile(
    rf"{BEGINS}(?:(?:Throughout|In|From|Here|Henceforth|Below)\b[a-z ]*,?\s+)?(?P<name>{FORMULA})\s+(?:denotes|"
    rf"will denote|"
    r"always denotes|stands for)\s+(?=(?:an?|the)\s)"
)
_HERE_ARE = re.compile(
    rf"{BEGINS}Here,?\s+(?P<rest>{GROUP}\s+(?:is|are)\s+(?P<what>[a-z][a-z -]*?)\s+with\s+(?P<rel>{FORMULA})){CLOSES}"
)
_CONSTANTS = re.compile(
    rf"(?P<about>\blet\s+{GROUP}\s+be\s+)(?P<one>(?:an?|some|any)\s+)?(?:(?:real|fixed|given|arbitrary|known|unknown|"
    rf"free|scalar)\s+)*(?:constants?|(?:hyper-?)?parameters?|angles?){ENDS}",
    re.IGNORECASE,
)
_ON_SET = re.compile(
    rf"\b(?P<what>probability\s+(?:distribution|vector|measure))\s+(?P<name>{FORMULA})\s+(?:on|"
    rf"over)\s+(?P<set>{FORMULA})",
    re.IGNORECASE,
)
_UP_TO = re.compile(
    r"^\\\{\s*1\s*,(?:\s*2\s*,)?\s*\\[lc]?dots\s*,\s*(?P<n>[A-Za-z])\s*\\\}$|"
    r"^\[\s*(?P<m>[A-Za-z])\s*\]$"
)
_THAT_IS = re.compile(
    rf"(?P<head>\b(?:let|suppose(?: that)?|assume(?: that)?)\s+{FORMULA}\s+(?:be|is)\s+)(?P<noun>an?\s+[a-z][a-z "
    rf"-]*?),?\s+(?:i\.\s?e\.|that is),?\s+"
    rf"(?P<same>an?\s+(?P<more>(?:[a-z]+\s+)*)(?:{FORMULA}\s+)?(?:matrix|vector|number)\b)",
    re.IGNORECASE,
)
_LAWS = re.compile(
    rf"\b(?P<verb>assume|suppose|let)(?: that)?\s+(?P<names>{GROUP})\s+(?:be|are)\s+independent(?: random "
    rf"variables)?,?\s+"
    rf"(?:with|where)\s+(?P<laws>{GROUP}){CLOSES}",
    re.IGNORECASE,
)
_ANOTHER = re.compile(
    rf"(?P<head>\bbe\s+(?P<what>an?\s+[a-z][a-z -]*?)\s+and\s+{FORMULA})\s+another(?: "
    rf"one)?{ENDS}",
    re.IGNORECASE,
)
_GIVEN = re.compile(
    rf"(?P<let>\blet\s+)(?:{FORMULA}\s+)?(?:data points|points|numbers|real numbers|samples|observations|"
    rf"vectors)\s+(?P<what>{FORMULA})\s+be given",
    re.IGNORECASE,
)
_DRAWS = re.compile(
    rf"{BEGINS}(?:Take|Draw|Consider|Given)\s+(?:{FORMULA}\s+)?(?P<free>independent|i\.?\s?i\.?\s?d\.?)\s+(?:draws|"
    rf"samples|copies|observations)"
    rf"\s+(?P<law>{FORMULA}){CLOSES}"
)
_OF = re.compile(
    rf"(?P<let>\blet\s+)(?P<name>{FORMULA})\s+be\s+the\s+(?P<what>softmax|inverse|transpose|(?:euclidean "
    rf")?norm)\s+of\s+(?P<of>{FORMULA}){STRICT_ENDS}",
    re.IGNORECASE,
)
_FORMS = {"softmax": r"\operatorname{softmax}(%s)", "inverse": "%s^{-1}", "transpose": r"%s^\top", "norm": r"\|%s\|"}
_PERPENDICULAR = re.compile(
    rf"(?P<one>{FORMULA})\s+(?:be|is)\s+(?:orthogonal|perpendicular)\s+to\s+(?:the "
    rf"vector\s+)?(?P<other>{FORMULA}){STRICT_ENDS}",
    re.IGNORECASE,
)
_SMALL = re.compile(r"[a-z](?:_\{?\w+\}?)?|\\(?:mathbf|boldsymbol|bm|vec)\s*\{?\s*[a-z]\s*\}?")
_SO_THAT = re.compile(
    rf"(?P<before>\b(?:let|assume|suppose|choose|fix|take)\b[^.;!?]*?),?\s+so "
    rf"that\s+(?P<what>{FORMULA}){CLOSES}",
    re.IGNORECASE,
)
_DIGITS = re.compile(rf"\b(?P<what>determinant|trace|norm|length)\s+(?P<value>{FORMULA})(?!\s*\w)", re.IGNORECASE)
_LET_DENOTE = re.compile(rf"\b(?P<let>let\s+{GROUP})\s+denote\b", re.IGNORECASE)
_REAL = re.compile(rf"(?P<about>\blet\s+{GROUP}\s+be\s+(?:both |all |any )?)real{ENDS}", re.IGNORECASE)
_REALS = re.compile(
    rf"\b(?P<before>(?:an?|the|any|every|each|some|two|three|all|for|fix|given|be|are|positive|negative|"
    rf"nonnegative|non-negative|"
    rf"nonzero|non-zero|distinct)\s+)(?P<noun>reals?)(?=\s+{FORMULA}|{ENDS})",
    re.IGNORECASE,
)
_ELLIPSIS = re.compile(
    rf"(?P<head>\b(?:be|is)\b[^.;:\x00]*(?:\x00\d+\x00[^.;:\x00]*)?,?\s+and\s+(?P<next>{FORMULA}))\s+(?=(?:an?|any|"
    rf"the)\s+(?!same\b))",
    re.I,
)
_SAME = re.compile(
    rf"(?P<before>\b(?:let|assume|suppose|given|fix|consider|take)\b[^.;!?]*?),?\s*\(?(?:i\.\s?e\.|that is|namely|"
    rf"in other words|"
    rf"meaning(?: that)?|which means(?: that)?),?\s+(?P<what>{FORMULA})\)?(?=\s*[.;,:]|\s*$)",
    re.IGNORECASE,
)
_NAMED_AS = re.compile(r"\s+(?:be|is|are)\s+(?:an?\s+|in\s+)?(?P<what>[a-z][a-z -]*)$")
_OTHER_NORM = re.compile(r"(?:\\\||\\rVert|\\Vert)\s*_\s*(?!\{?\s*2)")
_MATCHING = re.compile(
    r"\s+of\s+(?:an?\s+|the\s+)?(?:matching|suitable|appropriate|compatible|fitting|right|correct)\s+"
    r"(?:sizes?|dimensions?|lengths?|shapes?)(?![\w-])",
    re.IGNORECASE,
)
_AS_FORM = re.compile(
    rf"(?P<let>\bLet)\s+(?P<name>{FORMULA})\s+be\s+(?:an?|the)\s+(?:{FORMULA}\s+)?(?P<what>[A-Za-z][a-z -]*?),?\s+"
    rf"(?:of the form\s+|given by\s+|defined by\s+|defined as\s+)?(?P<form>{FORMULA}),?\s+"
    rf"(?:with|where|for some|for an?|for)\s+(?P<rest>[^.;]*?)(?P<end>\s*(?:[.;]|$))"
)
_ALL_OF_WHOSE = re.compile(r"\b(?:all|each) of (?P<whose>whose [a-z ]*?) (?P<are>are|is) (?:all )?", re.IGNORECASE)
_COLUMNS = re.compile(
    rf"\bthe (?P<part>columns|rows) (?P<names>{FORMULA}) of (?=(?:the matrix )?{FORMULA})", re.IGNORECASE
)
_BOTH_IN = re.compile(
    rf"(?P<let>\b(?:let|assume|suppose)\s+(?:that\s+)?)(?P<one>{FORMULA})(?P<first>\s+(?:be|is)\s+[a-z "
    rf"-]+?),?\s+and\s+(?P<two>{FORMULA})"
    rf"(?:\s+(?:be|is))?(?P<second>\s+[a-z -]+?),?\s+(?:both|each)\s+(?:in|from)\s+(?P<space>{FORMULA})",
    re.IGNORECASE,
)
_NOISE = re.compile(
    rf"(?P<law>{FORMULA})\s+be\s+(?:an?\s+|some\s+|the\s+)?(?:additive |white |standard |independent |random |gaussian "
    rf"|normal )*"
    rf"(?:noise|random (?:variables?|vectors?)|samples?|draws?)(?: vectors?)?{ENDS}",
    re.IGNORECASE,
)
_ADJECTIVES = re.compile(
    rf"\b(?P<noun>matri(?:x|ces)|vectors?)\s+\((?P<what>[a-z][a-z, -]*)\)(?P<tail>\s+(?:in|of size|of "
    rf"shape)\s+{FORMULA})?",
    re.IGNORECASE,
)
_KERNEL = re.compile(
    rf"(?P<name>{FORMULA})\s+(?:be|is|lies?|belongs?)\s+(?:an element of |a vector (?:in|of|from) |in |to )\s*"
    rf"the\s+(?:null\s?space|kernel)\s+of\s+(?P<of>{FORMULA}){STRICT_ENDS}",
    re.IGNORECASE,
)
_EIGEN = re.compile(
    rf"(?P<name>{FORMULA})\s+(?:be|is)\s+an?\s+(?P<unit>unit |normali[sz]ed )?eigenvector\s+of\s+"
    rf"(?:the (?P<kind>[a-z]+ )?matrix )?"
    rf"(?P<of>{FORMULA})"
    rf"\s*,?\s+(?:with|to|for|corresponding to|associated (?:with|to)|belonging to)\s+(?:the\s+|"
    rf"its\s+)?eigenvalue\s+(?P<value>{FORMULA})"
    rf"{STRICT_ENDS}",
    re.IGNORECASE,
)
_EIGENVALUE = re.compile(
    rf"(?P<value>{FORMULA})\s+(?:be|is)\s+an?\s+(?:real\s+)?eigenvalue\s+of\s+(?P<of>(?:the "
    rf"(?:[a-z]+ )?matrix )?{FORMULA})(?:,?\s+with|"
    rf",?\s+and(?:\s+let)?)\s+(?:an?\s+)?(?:corresponding\s+|associated\s+)?(?P<first>unit\s+|normali[sz]ed\s+)?eigenvector\s+"
    rf"(?P<name>{FORMULA}){STRICT_ENDS}",
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
        masked = pattern.sub(partial(keep_lines, plain, formulas), masked)
    for pattern, rewrite in (NUMBERS, (_EIGEN, _eigen)):
        masked = pattern.sub(partial(keep_lines, partial(rewrite, above), formulas), masked)
    return masked


def _here(found: re.Match[str], formulas: list[str]) -> str:
    r"""`Here $p \in (0, 1)$ is the success probability.` assumes; an equation may be claimed, and stays."""
    what, role = formula_at(found["what"], formulas), found["role"]
    inside = _INSIDE.match(what)
    if inside is not None:  # the bounds alone, as a domain would take back what is known of the symbol
        low, high = ("<" if inside[end] in "()" else r"\le" for end in ("open", "close"))
        assumed = add_formula(formulas, f"{inside['low']} {low} {inside['name']} {high} {inside['high']}")
    else:
        assumed = found["what"]
    bounds = re.search(r"[<>]|\\(?:[lg]eq?|neq?)(?![A-Za-z])", what) and not re.search(r"=|\\in(?![A-Za-z])", what)
    if not (inside or bounds) or (role and not _ROLES.fullmatch(" ".join(role.split()))):
        return found[0]
    return f"{found['begins']}Assume {assumed}"


def _that_is(found: re.Match[str], _: list[str]) -> str:
    """A noun that its explanation says once more; what is said of "a symmetric matrix, i.e. a matrix ..." stays."""
    noun, plain = found["noun"], found["noun"].split()[-1] in ("matrix", "vector", "number")
    if not plain or not PROPERTY.search(noun):
        return f"{found['head']}{found['same']}"
    return found[0] if found["more"].strip() or "\0" in found["same"] else f"{found['head']}{noun}"


def _same(found: re.Match[str], formulas: list[str]) -> str:
    """A relation that says once more what a declaration says in words: "a projection, i.e. $P^2 = P$"."""
    if not RELATED.search(formula_at(found["what"], formulas)):
        return found[0]
    before, named = found["before"], _NAMED_AS.search(found["before"])
    other = (
        _OTHER_NORM.search(formula_at(found["what"], formulas)) if named and "unit" in named["what"].lower() else None
    )
    if named is not None and (other or not PROPERTY.search(named["what"])):
        before = before[: named.start()]  # the relation says all that the noun says, and in which norm
    return f"{before} with {found['what']}"


def _as_form(found: re.Match[str], formulas: list[str]) -> str:
    r"""`Let $H$ be a reflection $H = I - 2 u u^\top$ with $u \in ...$` with what the form needs before it."""
    name, form = formula_at(found["name"], formulas), formula_at(found["form"], formulas)
    rest = re.findall(FORMULA, found["rest"])
    lives = any(r"\in" in formula_at(one, formulas) for one in rest)
    if not form.replace(" ", "").startswith(f"{name.replace(' ', '')}=") or PROPERTY.search(found["what"]) or not lives:
        return found[0]
    return f"{found['let']} {found['rest']}, and put {found['form']}{found['end']}"


def _draws(found: re.Match[str], formulas: list[str]) -> str:
    if r"\sim" not in formula_at(found["law"], formulas):
        return found[0]
    return f"{found['begins']}Draw independent {found['law']}"


def _operation(found: re.Match[str], formulas: list[str]) -> str:
    r"""`Let $u$ be the softmax of $z \in \mathbb{R}^n$` as the formula that defines u."""
    of, name = formula_at(found["of"], formulas), formula_at(found["name"], formulas)
    base = of.split(r"\in")[0].strip()
    if not NAME.fullmatch(base) or not NAME.fullmatch(name):
        return found[0]
    form = _FORMS[found["what"].lower().split()[-1]] % base
    defined = add_formula(formulas, f"{name} = {form}")
    return f"{found['let']}{found['of']} and {defined}" if r"\in" in of else f"{found['let']}{defined}"


def _perpendicular(found: re.Match[str], formulas: list[str]) -> str:
    """Two vectors, by their small letters, whose inner product is zero."""
    sides = [formula_at(found[one], formulas) for one in ("one", "other")]
    names = [one.split(r"\in")[0].strip() for one in sides]
    if not all(_SMALL.fullmatch(one) for one in names):
        return found[0]
    relation = add_formula(formulas, rf"{names[0]}^\top {names[1]} = 0")
    lives = [found[one] for one, side in zip(("one", "other"), sides, strict=True) if r"\in" in side]
    return f"{', '.join(lives)} with {relation}" if lives else relation


def _so_that(found: re.Match[str], formulas: list[str]) -> str:
    related = RELATED.search(formula_at(found["what"], formulas))
    return f"{found['before']}, with {found['what']}" if related else found[0]


def _digits(found: re.Match[str], formulas: list[str]) -> str:
    """`with determinant $1$` with the digit outside of a formula."""
    value = formula_at(found["value"], formulas)
    return f"{found['what']} {value}" if re.fullmatch(r"[01]", value) else found[0]


def _on_set(found: re.Match[str], formulas: list[str]) -> str:
    r"""`a probability distribution $p$ on $\{1, \dots, n\}$` as a vector of $n$ entries."""
    name, last = formula_at(found["name"], formulas), _UP_TO.match(formula_at(found["set"], formulas))
    if last is None or not NAME.fullmatch(name):
        return found[0]
    lives = add_formula(formulas, rf"{name} \in \mathbb{{R}}^{{{last['n'] or last['m']}}}")
    return f"probability vector {lives}"


def _laws(found: re.Match[str], formulas: list[str]) -> str:
    r"""`$X$ and $Y$ are independent with $X \sim ...$ and $Y \sim ...$`: the laws declare them."""
    names = {name.replace(" ", "") for name in texts_of(found["names"], formulas)}
    laws = [formula_at(one, formulas) for one in re.findall(FORMULA, found["laws"])]
    drawn = {part.strip() for law in laws if r"\sim" in law for part in law.split(r"\sim")[0].split(",")}
    return f"Let {found['laws']} be independent" if drawn == names and all(r"\sim" in law for law in laws) else found[0]


def _here_are(found: re.Match[str], formulas: list[str]) -> str:
    related = RELATED.search(formula_at(found["rel"], formulas))
    known = PROPERTY.search(found["what"]) and related
    return f"{found['begins']}Assume {found['rest']}" if known else found[0]


def _both_in(found: re.Match[str], formulas: list[str]) -> str:
    """`Let $A$ be symmetric and $B$ diagonal, both in $S$` with the domain behind each symbol."""
    space = formula_at(found["space"], formulas)
    names = [formula_at(found[one], formulas) for one in ("one", "two")]
    if not re.match(r"\\mathbb\s*\{?R", space) or not all(NAME.fullmatch(one) for one in names):
        return found[0]
    one, two = (add_formula(formulas, rf"{name} \in {space}") for name in names)
    return f"{found['let']}{one}{found['first']} and let {two} be {found['second'].strip()}"


def _noise(found: re.Match[str], formulas: list[str]) -> str:
    r"""`$x \sim \mathcal{N}(0, I_d)$ be Gaussian noise`: the formula says all of it."""
    law = formula_at(found["law"], formulas)
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
    vector, array = formula_at(found["name"], formulas), formula_at(found["of"], formulas)
    names = [one.split(r"\in")[0].strip() for one in (vector, array)]
    if not all(NAME.fullmatch(one) for one in names):
        return found[0]
    lives = [mask for mask, text in ((found["name"], vector), (found["of"], array)) if r"\in" in text]
    relation = add_formula(formulas, f"{names[1]} {names[0]} = 0")
    return " and ".join([*lives, relation]) if not lives else f"{' and '.join(lives)} with {relation}"


def _eigen(above: str, found: re.Match[str], formulas: list[str]) -> str:
    r"""An eigenvector of a matrix whose size is written: `v \in \mathbb{R}^n` with `A v = \lambda v`."""
    vector, array, value = (formula_at(found[one], formulas) for one in ("name", "of", "value"))
    square = _SQUARE_IN.match(array)
    if square is None or square["n"] != square["m"] or not all(NAME.fullmatch(one) for one in (vector, value)):
        return found[0]
    fresh = [(vector, rf"\mathbb{{R}}^{{{square['n']}}}"), (value, r"\mathbb{R}")]
    domains = [add_formula(formulas, rf"{name} \in {space}") for name, space in fresh if not has_name(name, above)]
    length = add_formula(formulas, rf"\|{vector}\| = 1" if found["unit"] else rf"{vector} \ne 0")
    relation = add_formula(formulas, rf"{square['name'].strip()} {vector} = {value} {vector}")
    if found["kind"] and found["kind"].strip().lower() not in ("real", "square"):
        return f"{found['of']} be {found['kind'].strip()}, and let {', '.join(domains)} with {relation} and {length}"
    return f"{', '.join([found['of'], *domains])} with {relation} and {length}"


def _eigenvalue(found: re.Match[str], _: list[str]) -> str:
    """An eigenvalue with its eigenvector as the eigenvector with its eigenvalue."""
    return f"{found['name']} be a {found['first'] or ''}eigenvector of {found['of']} with eigenvalue {found['value']}"


_RULES: tuple[tuple[re.Pattern[str], Rewrite], ...] = (
    EIGENVALUES,
    (_EIGENVALUE, _eigenvalue),
    (_ASIDE, lambda found, _: f"{found['begins']}{found['inner']}."),
    (_WLOG, lambda found, _: f"{found['verb']} that "),
    (_TO_BE, lambda found, _: f"{found['verb']} {found['about']} {'is' if found['what'] == 'be' else 'has'}"),
    (_HERE, _here),
    (_HERE_ARE, _here_are),
    (_DENOTES, lambda found, _: f"{found['begins']}Let {found['name']} be "),
    (_THAT_IS, _that_is),
    (_LAWS, _laws),
    (_ON_SET, _on_set),
    (_DENOTE, lambda found, _: f"{found['begins']}Let {found['name']} be "),
    (_LET_DENOTE, lambda found, _: f"{found['let']} be"),
    (_MATCHING, lambda _, __: ""),
    (_AS_FORM, _as_form),
    (_NOISE, _noise),
    (_BOTH_IN, _both_in),
    COMPARED,
    (_ELLIPSIS, lambda found, _: f"{found['head']} be "),
    (_CONSTANTS, lambda found, _: f"{found['about']}{'a real number' if found['one'] else 'real numbers'}"),
    (_DIGITS, _digits),
    (_ANOTHER, lambda found, _: f"{found['head']} be {found['what']}"),
    (_GIVEN, lambda found, _: f"{found['let']}{found['what']}"),
    (_DRAWS, _draws),
    (_OF, _operation),
    (_PERPENDICULAR, _perpendicular),
    (_WE_ASSUME, lambda found, _: f"{found['begins']}Assume "),
    (_REAL, lambda found, _: f"{found['about']}real numbers"),
    (_REALS, lambda found, _: f"{found['before']}{'real numbers' if found['noun'][-1:] in 'sS' else 'real number'}"),
    *BOUNDS,
    (_ALL_OF_WHOSE, lambda found, _: f"{found['whose']} {found['are']} all "),
    (_COLUMNS, lambda found, _: f"the {found['part']} of "),
    (_ADJECTIVES, _adjectives),
    (_KERNEL, _kernel),
    (_SAME, _same),
    (_SO_THAT, _so_that),
)
