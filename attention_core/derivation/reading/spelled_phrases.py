r"""Phrases for one hypothesis in the words that `properties` knows: "whose columns are orthonormal", `A \succeq 0`.

What a relative clause or a sentence says of the parts of an array becomes a property of it ("with orthonormal
columns"), and an order or a membership in words becomes the property or the formula. Formulas are masked, as
in `spelled_laws`.
"""

from __future__ import annotations

import re
from functools import partial

from attention_core.derivation.quick_patterns import QuickPattern, compile_quick
from attention_core.derivation.reading.masked_text import FORMULA, GROUP, Rewrite, keep_lines

_SIGN = r"non-?negative|non-?positive|non-?zero|(?:strictly )?positive|(?:strictly )?negative"
_ENTRIES = r"entries|components|elements|coordinates"
_PARTS = rf"(?:diagonal |main diagonal )?(?:{_ENTRIES})|eigenvalues|columns|rows|column|row"
_TOTAL = r"(?:all )?(?:each )?(?:sums?|adds?)(?: up)? to (?P<total>one|1|unity|zero|0)"
_ONE_HOT = compile_quick(
    rf"\b(?:exactly|precisely|only) one (?:entry|component|element|coordinate) of (?P<of>{FORMULA}) (?:is|equals) "
    r"(?:1|one),? (?:and|while|with) (?:all )?(?:(?:of )?the )?(?:others?|other ones|rest|remaining ones|"
    rf"(?:other|remaining) (?:{_ENTRIES}))(?: (?:are|is|being|equal))?(?: all)? (?:0|zero)",
    re.IGNORECASE,
)
_ONE_NORM = r"(?:euclidean )?(?:norm|length) (?:is|equals|are) (?:equal to )?(?:1|one|unity)"
_DRAWN = compile_quick(
    rf"\b(?:all )?(?:the )?(?:{_ENTRIES}) of (?P<of>{GROUP}) are (?:all )?(?:mutually )?"
    r"(?:independent|i\.?i\.?d\.?)(?:,| and)? standard (?:normal|gaussian)(?: random)?"
    r"(?: variables| numbers)?(?![\w-])",
    re.IGNORECASE,
)
_CHANCES = r"(?:a )?probability (?:vectors?|distributions?|mass functions?)|distributions?"
_STOCHASTIC = compile_quick(
    rf"\b(?:all |both |each |every |the )*(?P<part>rows?|columns?) of (?P<of>{FORMULA}) (?:is|are|be) (?:all )?(?:a )?"
    rf"(?:{_CHANCES})(?![\w-])",
    re.IGNORECASE,
)
_FORMS = compile_quick(
    rf"\b(?:the )?(?P<part>rows|columns) of (?P<of>{FORMULA}) (?:form|constitute|build|make up) an orthonormal "
    r"(?:set|system|family)(?![\w-])",
    re.IGNORECASE,
)
_ORDER = re.compile(
    r"^\s*(?P<names>[^=<>~]*?)\s*\\(?P<sign>succ|prec)(?P<eq>eq|curlyeq)?\s*\{?(?:0|\\mathbf\s*\{?0\}?)\}?\s*$"
)
# Behind words that assume; anywhere else the formula stays one that was not read.
_ORDERED = re.compile(
    r"(?P<before>\b(?:let|assume|assuming|suppose|supposing|given|where|with|if|when|fix|take) |"
    r"(?:^|[.;:]\s)\W*for (?:all |any |every )?)"
    rf"(?P<formula>{FORMULA})",
    re.IGNORECASE,
)
_SATISFIES = compile_quick(
    rf"\b(?P<verb>(?:let|assume(?: that)?|suppose(?: that)?|where|if|when|provided(?: that)?))(?P<noun> (?:the |two )*"
    rf"(?:vectors|numbers|matrices|matrix|vector))? (?P<group>{GROUP}) "
    rf"(?:satisf(?:y|ies)|obeys?|fulfil(?:s|l|ls)?) (?P<what>{FORMULA})(?=\s*(?:[.,;:]|$|(?:and|so|then|for|we)\b))",
    re.IGNORECASE,
)
_CHOSEN = compile_quick(
    rf"(?P<before>(?:^|[.;:!?]\s)\W*)(?:we|let us|one) (?:can |may |now |always )*(?:re-?)?(?:normali[sz]es?|scales?|"
    rf"chooses?|picks?|fix|take) {GROUP},? (?:so|such) that (?P<what>{FORMULA})(?=\s*(?:[.,;:]|$))",
    re.IGNORECASE,
)
_IN = compile_quick(
    rf"(?P<left>{FORMULA})(?: (?:is|be|lies?|lying|belongs?))?(?: always)? (?:in(?:side)?|to) (?:the interval )?"
    rf"(?P<set>{FORMULA})"
    r"(?=\s*(?:[.,;:]|$|(?:and|so|then|for|we)\b))",
    re.IGNORECASE,
)
_INTERVAL = re.compile(r"^\s*\[[^\[\]()]+,[^\[\]()]+\]\s*$")
_LETTER = re.compile(r"^\s*\\?[A-Za-z]+(?:_\{?\w+\}?)?\s*$")
_RELATION = re.compile(r"[=<>]|\\(?:[lg]eq?|neq?)(?![a-zA-Z])")
_RESTRICT = compile_quick(
    r"(?P<before>(?:^|[.;:!?]\s)\W*)(?:(?:now|here|below|again|in what follows|for simplicity),? )?(?:we|let us|i) "
    r"(?:now |only |always |will )*(?:(?:restrict|confine|limit) (?:ourselves|(?:our |the )?attention) to|"
    r"(?:only )?(?:deal|work) (?:only )?with)(?= )",
    re.IGNORECASE,
)
_ONTO = compile_quick(
    rf"(?P<projection>\b(?:projections?|projectors?)(?: matrix)? {GROUP}) onto (?:an?|some) (?:linear )?subspace"
    r"(?= (?:we|it|one|this)\b|\s*(?:[.,;:)]|$))",
    re.IGNORECASE,
)
_WHOSE = tuple(
    (re.compile(rf",? ?\bwhose {pattern}(?=\s*(?:[.,;:)]|$|(?:and|so|then|for|we)\b))", re.IGNORECASE), text)
    for pattern, text in (
        (rf"(?P<part>{_PARTS}) (?:are|is) (?:all |each |pairwise |mutually )?(?P<what>{_SIGN}|orthonormal)",
         " with {what} {part}"),
        (rf"(?P<part>rows|columns|entries) {_TOTAL}", " with {part} that sum to {total}"),
        (rf"(?:{_ONE_NORM})", " of unit norm"),
        (r"(?P<what>determinant|trace) (?:is|equals) (?:equal to )?(?P<part>zero|one|0|1)", " with {what} {part}"),
    )
)  # fmt: skip
_WHOSE_VALUE = compile_quick(
    rf",? ?\bwhose (?:{_ENTRIES}) (?:are|is) (?:all )?(?:each )?(?:equal to )?(?P<value>{FORMULA}|zero|one|\d+)"
    r"(?=\s*(?:[.,;:)]|$|(?:and|so|then|for|we)\b))",
    re.IGNORECASE,
)
_ALL_PARTS = compile_quick(
    rf"\b(?:all |both )?(?:the )?(?P<part>(?:main )?diagonal (?:{_ENTRIES})|eigenvalues) of (?:the )?"
    rf"(?P<kind>(?:symmetric )?(?:matrix |matrices )?)(?P<of>{FORMULA}) (?:are|be) (?:all )?(?P<what>{_SIGN})"
    r"(?=\s*(?:[.,;:)]|$|(?:and|so|then|for|we)\b))",
    re.IGNORECASE,
)


def spell_phrases(masked: str, formulas: list[str]) -> str:
    r"""Write phrases about the parts of arrays, orders and memberships as properties and formulas.

    Args:
        masked: The text with its formulas masked.
        formulas: What the masks stand for; new formulas are appended.

    Example:
        >>> spell_phrases("Let \x000\x00 be a matrix whose columns are orthonormal.", ["Q"])
        'Let \x000\x00 be a matrix with orthonormal columns.'
    """
    for pattern, rewrite in _RULES:
        if pattern.may_match(masked):
            masked = pattern.sub(partial(keep_lines, rewrite, formulas), masked)
    for whose, text in _WHOSE if "whose" in masked.lower() else ():
        masked = whose.sub(partial(keep_lines, partial(_fill, text), formulas), masked)
    if not any(r"\succ" in one or r"\prec" in one for one in formulas):
        return masked
    return _ORDERED.sub(partial(_spell_order, formulas=formulas), masked)


def is_order(formula: str) -> bool:
    r"""Whether a formula says that matrices are definite: `A \succeq 0`."""
    return _ORDER.match(formula) is not None


def _fill(text: str, found: re.Match[str], _: list[str]) -> str:
    words = found.groupdict()
    if "total" in words:
        words["total"] = "zero" if words["total"].lower() in ("0", "zero") else "one"
    return text.format(**words)


def _value(found: re.Match[str], formulas: list[str]) -> str:
    """`whose entries are all $1$` as a property, where the value is a numeral."""
    value = found["value"]
    text = formulas[int(value.strip("\0"))].strip() if value.startswith("\0") else value
    return f" with entries equal to {text}" if re.fullmatch(r"-?\d+|zero|one", text, re.IGNORECASE) else found[0]


def _satisfies(found: re.Match[str], formulas: list[str]) -> str:
    if not _RELATION.search(formulas[int(found["what"].strip("\0"))]):
        return found[0]
    group = [formulas[int(one)] for one in re.findall(r"\x00(\d+)\x00", found["group"])]
    if found["verb"].lower() != "let" and all(_RELATION.search(one) for one in group):
        return f"{found['verb']}{found['noun'] or ''} {found['group']} with {found['what']}"
    if any(r"\in" in formulas[int(one)] for one in re.findall(r"\x00(\d+)\x00", found["group"])):
        return f"{found['verb']}{found['noun'] or ''} {found['group']} with {found['what']}"
    verb = "Assume" if found["verb"].lower() == "let" else found["verb"]
    return f"{verb} {found['what']}"


def _chosen(found: re.Match[str], formulas: list[str]) -> str:
    related = _RELATION.search(formulas[int(found["what"].strip("\0"))])
    return f"{found['before']}Assume {found['what']}" if related else found[0]


def _lies_in(found: re.Match[str], formulas: list[str]) -> str:
    left, inside = (formulas[int(found[one].strip("\0"))] for one in ("left", "set"))
    if not _LETTER.match(left) or not _INTERVAL.match(inside):
        return found[0]
    formulas.append(rf"{left.strip()} \in {inside.strip()}")
    return f"\0{len(formulas) - 1}\0"


def _spell_order(found: re.Match[str], formulas: list[str]) -> str:
    r"""`A \succeq 0` as "A positive semidefinite"."""
    order = _ORDER.match(formulas[int(found["formula"].strip("\0"))])
    if order is None:
        return found[0]
    formulas.append(order["names"])
    kind = "positive" if order["sign"] == "succ" else "negative"
    return f"{found['before']}\0{len(formulas) - 1}\0 {kind} {'semidefinite' if order['eq'] else 'definite'}"


_RULES: tuple[tuple[QuickPattern, Rewrite], ...] = (
    (_WHOSE_VALUE, _value),
    (_ONE_HOT, lambda found, _: f"{found['of']} is one-hot"),
    (_DRAWN, lambda found, _: f"{found['of']} are independent standard normal vectors"),
    (_STOCHASTIC, lambda found, _: f"{found['of']} is {found['part'].lower().rstrip('s')}-stochastic"),
    (_FORMS, lambda found, _: f"{found['of']} has orthonormal {found['part']}"),
    (_ALL_PARTS, lambda found, _: f"{found['of']} is {found['kind'].strip()} with {found['what']} {found['part']}"),
    (_SATISFIES, _satisfies),
    (_CHOSEN, _chosen),
    (_IN, _lies_in),
    (_ONTO, lambda found, _: found["projection"]),
    (_RESTRICT, lambda found, _: f"{found['before']}Consider"),
)
