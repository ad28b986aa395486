r"""Numbers with bounds, sums and parities beside their nouns, put into the words and formulas that are read.

"Let $n \ge 2$ be an integer", "a real number $q \ne 1$", "numbers whose sum is $1$", "not exceeding $n$", "not both
zero". Formulas are masked, as in `spelled_laws`.
"""

from __future__ import annotations

import re

from attention_core.derivation.reading.masked_text import (
    ENDS,
    FORMULA,
    GROUP,
    NAME,
    RELATED,
    Rewrite,
    add_formula,
    formula_at,
    has_name,
    texts_of,
)

_LEFT = re.compile(
    r"^\s*(?P<names>\\?[A-Za-z]+(?:\s*,\s*\\?[A-Za-z]+)*)\s*(?P<op>[<>]|\\(?:[lg]eq?(?:slant)?|neq?)(?![A-Za-z]))"
    r"\s*(?P<right>.+)$"
)
_NUMBERS = re.compile(
    rf"(?P<verb>\b(?:let|suppose(?: that)?|assume(?: that)?|given)\s+)(?P<what>{FORMULA})\s+(?:be|are)\s+(?:an?\s+|"
    rf"two\s+|three\s+)?"
    rf"(?:real\s+)?(?:numbers?|scalars?|constants?|parameters?){ENDS}",
    re.IGNORECASE,
)
_NOT_BOTH = re.compile(
    rf"(?P<group>{GROUP})\s+be\s+(?P<what>(?:real\s+)?numbers),?\s+(?:that\s+are\s+|"
    rf"which\s+are\s+)?not\s+both\s+(?:zero|0){ENDS}",
    re.IGNORECASE,
)
_POSITIVE = re.compile(
    rf"(?P<let>\blet\s+)(?P<what>{FORMULA})\s+be\s+(?:positive integers|natural "
    rf"numbers){ENDS}",
    re.IGNORECASE,
)
_NEITHER = re.compile(
    rf"(?P<one>{FORMULA})\s+and\s+(?P<other>{FORMULA}),?\s+(?:but\s+)?not\s+both\s+(?:zero|"
    rf"0){ENDS}",
    re.IGNORECASE,
)
_BOUNDED_NOUN = re.compile(
    rf"\b(?P<noun>(?:real )?(?:numbers?|scalars?)|vectors?|integers?|natural numbers?|(?:whole "
    rf"numbers?))\s+(?P<what>{FORMULA})",
    re.IGNORECASE,
)
_BOUNDED_BE = re.compile(
    rf"(?P<what>{FORMULA})\s+(?P<verb>be|is)\s+(?P<rest>an?\s+(?:fixed |given |arbitrary )?(?:positive |natural "
    rf")?(?:integer|number)){ENDS}",
    re.IGNORECASE,
)
_BOUNDED_ARRAY = re.compile(
    rf"(?P<what>{FORMULA})\s+(?P<rest>be\s+an?\s+(?:[a-z-]+\s+){{0,3}}?(?:vector|matrix)\s+in\s+{FORMULA}){ENDS}",
    re.IGNORECASE,
)
_SUCH = re.compile(
    rf"(?P<group>{GROUP})\s+be\s+(?P<kind>(?:positive |nonnegative |non-negative )?integers|natural numbers)\s*,?\s+"
    rf"(?:such that|with|satisfying)\s+(?P<what>{FORMULA})",
    re.IGNORECASE,
)
_EVERY_INTEGER = re.compile(
    rf"\b(?P<before>(?:for|fix|given|let|take|with|and)\s+(?:all|any|every|each|an?|some)?\s*)"
    rf"(?P<kind>(?:positive |non-?negative )?integers?|natural numbers?)\s+(?P<what>{GROUP})",
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
    rf"(?P<group>{GROUP})\s+(?P<verb>be|is|are)\s+(?:an?\s+)?(?:positive\s+)?(?P<which>even|odd)\s+(?:positive\s+)?"
    rf"(?:integers?|(?:natural|whole) numbers?|(?P<noun>numbers?)){ENDS}",
    re.IGNORECASE,
)
_IN_INTEGERS = re.compile(r"\\in\s*\\mathbb\s*\{?\s*[ZN]\s*\}?(?:_\S+)?\s*$")
_COMPARED = re.compile(
    rf"(?P<name>{FORMULA})(?P<be>\s+be)?\s+(?P<what>an?\s+[a-z -]*?(?:integer|number|scalar))\s+(?P<how>not exceeding|"
    rf"not larger than|"
    rf"not greater than|no larger than|no greater than|at most|not less than|not smaller than|at least|greater than|"
    rf"larger than|exceeding|smaller than|less than)\s+(?P<other>{FORMULA})(?=\s*[.;:]|\s*,(?!\s*\x00)|\s*$|"
    rf"\s+and\b(?!\s*\x00))",
    re.IGNORECASE,
)
_ORDER = {
    "not exceeding": r"\le", "not larger than": r"\le", "not greater than": r"\le", "no larger than": r"\le",
    "no greater than": r"\le", "at most": r"\le", "not less than": r"\ge", "not smaller than": r"\ge",
    "at least": r"\ge", "greater than": ">", "larger than": ">", "exceeding": ">", "smaller than": "<",
    "less than": "<",
}  # fmt: skip
_TOTALS = re.compile(
    rf"(?P<group>{GROUP})(?P<be>\s+be\s+)(?P<what>[a-z -]*?(?:numbers?|reals|scalars?|weights|integers))\s*,?\s+"
    rf"(?:whose (?P<a>sum|product) (?:is|equals)|with (?P<b>sum|product)|(?P<c>that sum|summing|adding up|which "
    rf"sum|that add up) to)"
    rf"\s+(?:equal to\s+)?(?P<value>{FORMULA}|zero|one|unity|\d+){ENDS}",
    re.IGNORECASE,
)


def _names_in(relation: str) -> list[str]:
    """The plain symbols that a chain of bounds names, [] of any other formula."""
    if re.search(r"\\(?:in|sim|dots|ldots|cdots)(?![A-Za-z])|[=(){}\[\]^|]", relation) or not RELATED.search(relation):
        return []
    sides = [one.strip() for part in RELATED.split(relation) for one in part.split(",")]
    plain = [one for one in sides if not re.fullmatch(r"[-+]?\d+(?:\.\d+)?", one)]
    return list(dict.fromkeys(plain)) if all(NAME.fullmatch(one) for one in plain) else []


def _numbers(above: str, found: re.Match[str], formulas: list[str]) -> str:
    r"""`Let $0 \le t \le 1$ be a real number` as `Let $t \in \mathbb{R}$ with $0 \le t \le 1$`."""
    names = _names_in(formula_at(found["what"], formulas))
    fresh = found["verb"].strip().lower() == "let" or not any(has_name(one, above) for one in names)
    if not names or not fresh:  # "let" alone declares anew what is declared above
        return found[0]
    lives = add_formula(formulas, rf"{', '.join(names)} \in \mathbb{{R}}")
    return f"{found['verb']}{lives} with {found['what']}"


def _positive(found: re.Match[str], formulas: list[str]) -> str:
    r"""`Let $k \le n$ be positive integers` as `Let $k, n \in \mathbb{N}$ with $k \le n$`."""
    names = _names_in(formula_at(found["what"], formulas))
    if not names or not all(re.fullmatch("[a-zA-Z]", one) for one in names):
        return found[0]
    lives = add_formula(formulas, rf"{', '.join(names)} \in \mathbb{{N}}")
    return f"{found['let']}{lives} with {found['what']}"


def _neither(found: re.Match[str], formulas: list[str]) -> str:
    """`$a \\ge 0$ and $b \\ge 0$, not both zero`."""
    sides = [_LEFT.match(formula_at(found[one], formulas)) for one in ("one", "other")]
    names = [one["names"].strip() for one in sides if one is not None]
    if len(names) != 2 or not all(NAME.fullmatch(one) for one in names):
        return found[0]
    relation = add_formula(formulas, rf"{names[0]}^2 + {names[1]}^2 \ne 0")
    return f"{found['one']}, {found['other']} and {relation}"


def _not_both(found: re.Match[str], formulas: list[str]) -> str:
    names = texts_of(found["group"], formulas)
    if len(names) != 2 or not all(NAME.fullmatch(one) for one in names):
        return found[0]
    relation = add_formula(formulas, rf"{names[0]}^2 + {names[1]}^2 \ne 0")
    return f"{found['group']} be {found['what']} with {relation}"


def _bounded_noun(found: re.Match[str], formulas: list[str]) -> str:
    r"""`a real number $q \ne 1$` as `a real number $q$ with $q \ne 1$`."""
    bound = _LEFT.match(formula_at(found["what"], formulas))
    if bound is None or "\\in" in bound["right"] or re.search(r"[<>=]", bound["right"]):
        return found[0]
    return f"{found['noun']} {add_formula(formulas, bound['names'])} with {found['what']}"


def _bounded_array(found: re.Match[str], formulas: list[str]) -> str:
    r"""`$x \ne 0$ be a vector in $\mathbb{R}^n$` as `$x$ be a vector in $\mathbb{R}^n$ with $x \ne 0$`."""
    bound = _LEFT.match(formula_at(found["what"], formulas))
    if bound is None or "," in bound["names"] or re.search(r"[<>=]|\\in(?![A-Za-z])", bound["right"]):
        return found[0]
    return f"{add_formula(formulas, bound['names'])} {found['rest']} with {found['what']}"


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
    kind = " ".join((found.groupdict().get("kind") or "").lower().split())
    masks = re.findall(FORMULA, found["what"])
    if len(masks) > 1:
        return _list_integers(found, formulas, kind) if kind.endswith("s") else found[0]
    what = formula_at(found["what"], formulas)
    bound = _WHOLE_BOUND.match(what)
    if bound is None and kind and NAME.fullmatch(what):
        domain = _KINDS[kind.removesuffix("s").replace("nonnegative", "non-negative")]
        lives = add_formula(formulas, rf"{what} \in {domain}")
        return f"{found['before']}{lives}"
    if bound is None:
        return found[0]
    domain = _count_from(bound["low"], bound["op"] == ">")
    names, given = bound["names"].strip(), found.groupdict()
    lives = add_formula(formulas, rf"{names} \in {domain}")
    return f"{given.get('before') or ''}{lives} with {add_formula(formulas, what)}"


def _list_integers(found: re.Match[str], formulas: list[str], kind: str) -> str:
    r"""`positive integers $k$, $m$ and $n$` as one formula; as it stands where one of them is more than a name."""
    names = texts_of(found["what"], formulas)
    if not all(NAME.fullmatch(one) for one in names):
        return found[0]
    domain = _KINDS[kind.removesuffix("s").replace("nonnegative", "non-negative")]
    lives = add_formula(formulas, rf"{', '.join(names)} \in {domain}")
    return f"{found['before']}{lives}"


def _integers_such(found: re.Match[str], formulas: list[str]) -> str:
    r"""`$k$ and $n$ be integers such that $1 \le k \le n$` as members of \mathbb{N}."""
    bound = _BETWEEN.match(formula_at(found["what"], formulas))
    names = texts_of(found["group"], formulas)
    if bound is None or {bound["first"], bound["last"]} != set(names):
        return found[0]
    domain = _count_from(bound["low"], bound["op"] == "<")
    lives = add_formula(formulas, rf"{', '.join(names)} \in {domain}")
    return f"{lives} with {found['what']}"


def _parity(found: re.Match[str], formulas: list[str]) -> str:
    """`$n$ be an odd integer` as a member of \\mathbb{Z} that is odd; a positive one, of \\mathbb{N}."""
    names = texts_of(found["group"], formulas)
    if found["noun"] and not _IN_INTEGERS.search(names[-1]):
        return found[0]  # "an odd number" is positive for many authors
    space = "N" if re.search(r"positive|natural", found[0], re.IGNORECASE) else "Z"
    if space == "Z" and _IN_INTEGERS.search(names[-1]):
        return f"{found['group']} {found['verb']} {found['which']}"
    if not all(NAME.fullmatch(one) for one in names):
        return found[0]
    lives = add_formula(formulas, rf"{', '.join(names)} \in \mathbb{{{space}}}")
    return f"{lives} {found['verb']} {found['which']}"


def _compared(found: re.Match[str], formulas: list[str]) -> str:
    """`$k$ a nonnegative integer not exceeding $n$` as `$k$ be a nonnegative integer with $k \\le n$`."""
    name, other = formula_at(found["name"], formulas), formula_at(found["other"], formulas)
    if not NAME.fullmatch(name) or RELATED.search(other):
        return found[0]
    relation = add_formula(formulas, f"{name} {_ORDER[' '.join(found['how'].lower().split())]} {other}")
    return f"{found['name']} be {found['what']} with {relation}"


def _total(found: re.Match[str], formulas: list[str]) -> str:
    """Numbers with a sum or a product, as the formula that says so."""
    names = texts_of(found["group"], formulas)
    words = {"zero": "0", "one": "1", "unity": "1"}
    value = found["value"].lower()
    right = formula_at(found["value"], formulas) if value.startswith("\0") else words.get(value, value)
    if len(names) < 2 or not all(NAME.fullmatch(one) for one in names) or RELATED.search(right):
        return found[0]
    product = "product" in (found["a"], found["b"])
    relation = add_formula(formulas, f"{(' ' if product else ' + ').join(names)} = {right}")
    return f"{found['group']}{found['be']}{found['what']} with {relation}"


COMPARED: tuple[re.Pattern[str], Rewrite] = (_COMPARED, _compared)
"""The rule for "not exceeding $n$", before words are repeated for the next symbol."""
BOUNDS: tuple[tuple[re.Pattern[str], Rewrite], ...] = (
    (_NOT_BOTH, _not_both),
    (_POSITIVE, _positive),
    (_NEITHER, _neither),
    (_TOTALS, _total),
    (_SUCH, _integers_such),
    (_BOUNDED_BE, _bounded_integer),
    (_EVERY_INTEGER, _bounded_integer),
    (_BOUNDED_ARRAY, _bounded_array),
    (_PARITY, _parity),
    (_BOUNDED_NOUN, _bounded_noun),
)
NUMBERS = _NUMBERS, _numbers
"""The rule for numbers with bounds alone, which needs the formulas above as well."""
