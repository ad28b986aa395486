r"""Laws that are spelled in words: "$x$ is uniform on $[0, 1]$", "$x$ is normal with mean $\mu$ and variance $v$".

They become the formula that says so, `$x \sim \operatorname{Uniform}[0, 1]$`, before a paragraph is read. What says
more than that ("truncated", "conditionally") is left alone. Formulas are masked here, as `\0` with their number.
"""

from __future__ import annotations

import re
from functools import partial

from attention_core.derivation.quick_patterns import compile_quick
from attention_core.derivation.reading.masked_text import FORMULA as _F
from attention_core.derivation.reading.masked_text import GROUP

_BE = r"\s+(?:both\s+|each\s+|all\s+)?(?:be|is|are|being)\s+(?:all\s+|both\s+)?(?:an?\s+)?"
_GROUP = rf"(?P<group>{GROUP})"
_FREE = r"(?P<free>(?:independent(?:ly)?|i\.?\s?i\.?\s?d\.?)(?:,|\s+and)?\s+)?"
_NOUN = r"(?:\s+distributed)?(?:\s+random)?(?:\s+(?:variables?|numbers?|vectors?|scalars?))?"
_VALUE = rf"(?:{_F}|zero|one|0|1|the identity(?: matrix)?)"
_UNIFORM = re.compile(
    rf"{_GROUP}{_BE}{_FREE}uniform(?:ly)?{_NOUN}\s+(?:on|over|in)\s+(?:the\s+interval\s+)?(?P<set>{_F})"
)
_NORMAL = re.compile(
    rf"{_GROUP}{_BE}{_FREE}(?:normal(?:ly)?|gaussian){_NOUN},?\s+with\s+(?:mean\s+(?P<mean>{_VALUE})|"
    rf"zero\s+mean)\s+and\s+"
    rf"(?:(?P<kind>variance|covariance(?:\s+matrix)?|standard\s+deviation)\s+(?P<spread>{_VALUE})|unit\s+variance)"
)
_BERNOULLI = re.compile(
    rf"{_GROUP}{_BE}{_FREE}bernoulli{_NOUN},?\s+with\s+(?:parameter|(?:success\s+)?probability)\s+(?P<chance>{_F})",
    re.I,
)
_GEOMETRIC = re.compile(
    rf"{_GROUP}{_BE}{_FREE}geometric{_NOUN},?\s+with\s+(?:parameter|(?:success\s+)?probability)\s+(?P<chance>{_F})",
    re.I,
)
_EXPONENTIAL = re.compile(
    rf"{_GROUP}{_BE}{_FREE}exponential(?:ly)?{_NOUN},?\s+with\s+(?P<kind>rate|parameter|mean)\s+(?P<value>{_F})", re.I
)
_POISSON = re.compile(
    rf"{_GROUP}{_BE}{_FREE}poisson(?:-distributed)?{_NOUN},?\s+with\s+(?:rate|parameter|mean|"
    rf"intensity)\s+(?P<value>{_F})",
    re.I,
)
_BINOMIAL = re.compile(
    rf"{_GROUP}{_BE}{_FREE}binomial(?:ly)?{_NOUN},?\s+with\s+parameters\s+(?P<count>{_F})\s+and\s+(?P<chance>{_F})",
    re.I,
)
_RESPECTIVE = re.compile(
    rf"{_GROUP}{_BE}{_FREE}(?P<law>exponential|poisson|bernoulli|geometric)(?:ly)?{_NOUN},?\s+with\s+(?:respective\s+)?"
    rf"(?:rates|parameters|(?:success\s+)?probabilities)\s+(?P<values>{_F}(?:(?:\s*,\s*|\s*,?\s+and\s+){_F})+)(?:,?\s+respectively)?",
    re.IGNORECASE,
)
_SIGNS = re.compile(
    rf"{_GROUP}{_BE}{_FREE}(?:rademacher(?:\s+random)?(?:\s+(?:variables?|signs?|numbers?))?|random\s+signs)(?![\w-])",
    re.I,
)
_TWO_SIGNS = re.compile(
    rf"{_GROUP}{_BE}{_FREE}(?:real\s+)?random\s+variables?,?\s+(?:that\s+takes?|taking|"
    rf"with)\s+(?:only\s+)?(?:the\s+)?values?\s+"
    rf"(?P<one>{_F})\s+and\s+(?P<other>{_F}),?\s+(?:each\s+)?with\s+(?:equal\s+probability|"
    rf"probability\s+(?P<half>{_F}))"
    r"(?:\s+each)?",
    re.I,
)
_STANDARD = re.compile(
    rf"{_GROUP}{_BE}{_FREE}standard[\s-](?:normal|gaussian)\s+(?:random\s+)?(?:variables?|numbers?)(?![\w-])", re.I
)
_STANDARD_ENTRIES = re.compile(
    rf"{_GROUP}{_BE}(?:random\s+)?(?:matri(?:x|ces)|vectors?),?\s+with\s+(?P<free>(?:independent|"
    rf"i\.?\s?i\.?\s?d\.?)(?:,|\s+and)?)"
    r"\s+standard[\s-](?:normal|gaussian)\s+(?:entries|components|coordinates)(?![\w-])",
    re.I,
)
_NAMED = re.compile(rf"(?:^|(?<=[.;:]\s))\s*The\s+random\s+variables?\s+(?P<law>{_F})(?=\s*[.,;])")
_FROM = compile_quick(
    rf"{_GROUP}\s+(?:is|are|be|being)\s+(?:all\s+|both\s+)?(?P<free>(?:independent(?:ly)?|i\.?\s?i\.?\s?d\.?)\s+)?"
    rf"(?:drawn|sampled|distributed)(?P<behind>\s+(?:independently|i\.?\s?i\.?\s?d\.?))?\s+(?:from|according\s+to|"
    rf"as)\s+"
    rf"(?:the\s+(?:law|distribution)\s+)?(?P<law>{_F})",
    re.IGNORECASE,
)
_LAW = re.compile(r"^\s*\\(?:mathcal|operatorname|mathrm|text)\s*\{?\s*[A-Za-z]+\}?\s*(?:\\left)?[(\[]")
_BOUND = re.compile(r"(?P<name>\\?[A-Za-z]+)\s*(?:[<>]|\\(?:[lg]eq?|in)(?![A-Za-z]))")
_INTERVAL = re.compile(r"\s*\[\s*([^\[\]()]+?)\s*,\s*([^\[\]()]+?)\s*\]\s*")
BEFORE_IT = "of what is drawn above"
_WORDS = {"zero": "0", "one": "1", "0": "0", "1": "1"}


_NAMES_LAW = compile_quick(
    r"uniform|normal|gaussian|bernoulli|geometric|exponential|poisson|binomial|rademacher|signs|values", re.IGNORECASE
)


def spell_laws(masked: str, formulas: list[str]) -> str:
    r"""Write the laws that a text states in words as formulas.

    Args:
        masked: The text with its formulas masked.
        formulas: What the masks stand for; new formulas are appended.

    Example:
        >>> made = ["x", "[0, 1]"]
        >>> spell_laws("Let \x000\x00 be uniform on \x001\x00.", made), made[-1]
        ('Let \x002\x00.', 'x \\sim \\operatorname{Uniform}[0, 1]')
    """
    masked = _FROM.sub(lambda found: _write(found, formulas, _drawn(found, formulas)), masked)
    if not _NAMES_LAW.search(masked):
        return masked
    masked = _UNIFORM.sub(lambda found: _write(found, formulas, _uniform(found, formulas)), masked)
    masked = _NORMAL.sub(lambda found: _write_normal(found, formulas), masked)
    masked = _TWO_SIGNS.sub(lambda found: _write(found, formulas, _two_signs(found, formulas)), masked)
    masked = _STANDARD.sub(lambda found: _write(found, formulas, r"\mathcal{N}(0, 1)"), masked)
    masked = _STANDARD_ENTRIES.sub(lambda found: _entries(found, formulas), masked)
    masked = _NAMED.sub(lambda found: _let(found, formulas), masked)
    masked = _RESPECTIVE.sub(lambda found: _write_each(found, formulas), masked)
    for pattern, law in _BY_VALUES.items():
        masked = pattern.sub(partial(_write_values, formulas, law), masked)
    return masked


def _formula(mask: str, formulas: list[str]) -> str:
    return formulas[int(mask.strip("\0"))].strip()


def _number(text: str, formulas: list[str]) -> str:
    """What a mask or a word stands for; '' for the identity, whose size the symbol says."""
    return _formula(text, formulas) if text.startswith("\0") else _WORDS.get(text.lower(), "")


def _drawn(found: re.Match[str], formulas: list[str]) -> str:
    law = _formula(found["law"], formulas)
    return law if _LAW.match(law) else ""


def _uniform(found: re.Match[str], formulas: list[str]) -> str:
    interval = _INTERVAL.fullmatch(_formula(found["set"], formulas))
    return rf"\operatorname{{Uniform}}[{interval[1]}, {interval[2]}]" if interval else ""


def _normal(found: re.Match[str], formulas: list[str]) -> str:
    mean = _number(found["mean"], formulas) if found["mean"] else "0"
    spread = _number(found["spread"], formulas) if found["spread"] else "1"
    if not mean or not spread:
        return ""
    bound = _BOUND.match(spread)
    spread = bound["name"] if bound else spread
    deviation = (found["kind"] or "").startswith("standard")
    return rf"\mathcal{{N}}({mean}, {f'({spread})^2' if deviation else spread})"


def _write_normal(found: re.Match[str], formulas: list[str]) -> str:
    """The symbols with their normal law; "standard deviation $\\sigma > 0$" says what its parameter satisfies."""
    spread = found["spread"] or ""
    bound = _BOUND.match(_formula(spread, formulas)) if "\0" in spread else None
    written = _write(found, formulas, _normal(found, formulas))
    return written if bound is None or written == found[0] else f"{written} with {spread}"


def _write_values(formulas: list[str], law: str, found: re.Match[str]) -> str:
    """The symbols of a match with a law whose parameters are formulas of it."""
    masks = [found[one] for one in ("value", "count", "chance") if found.groupdict().get(one)]
    values = [_formula(one, formulas) for one in masks]
    bounds = [_BOUND.match(one) for one in values]  # "with rate $r > 0$" says what its parameter satisfies
    behind = "".join(f" with {mask}" for mask, bound in zip(masks, bounds, strict=True) if bound)
    values = [bound["name"] if bound else value for value, bound in zip(values, bounds, strict=True)]
    values = [f"1 / ({values[0]})"] if found.groupdict().get("kind") == "mean" else values
    return _write(found, formulas, rf"\operatorname{{{law}}}" + (f"({', '.join(values)})" if values else "")) + behind


def _write_each(found: re.Match[str], formulas: list[str]) -> str:
    r"""`$X$ and $Y$ be Poisson with rates $a$ and $b$`: each symbol with the value at its place."""
    names, values = ([_formula(one, formulas) for one in re.findall(_F, found[group])] for group in ("group", "values"))
    if len(names) != len(values) or any("," in one or _BOUND.match(one) for one in (*names, *values)):
        return found[0]
    masks = []
    for name, value in zip(names, values, strict=True):
        formulas.append(rf"{name} \sim \operatorname{{{found['law'].capitalize()}}}({value})")
        masks.append(f"\0{len(formulas) - 1}\0")
    return " and ".join(masks) + (" be independent" if found["free"] else "") + "\n" * found[0].count("\n")


def free_words(free: str | None, names: str) -> str:
    """The word "independent" behind a law: of one symbol it says that it is independent of those drawn before.

    Args:
        free: The word, if it was there.
        names: The symbols with the law, between commas.
    """
    if not free:
        return ""
    words = " ".join(free.replace(",", " ").split()).removesuffix(" and")
    return f" {words}" if "," in names else f" {words} {BEFORE_IT}"


def _two_signs(found: re.Match[str], formulas: list[str]) -> str:
    """The law of a sign, if its values are 1 and -1, and each is as likely."""
    values = {_formula(found[one], formulas).replace(" ", "") for one in ("one", "other")}
    half = _formula(found["half"], formulas).replace(" ", "") if found["half"] else "1/2"
    fair = re.fullmatch(r"1/2|0?\.5|\\[td]?frac(?:12|\{1\}\{2\}|\{1\}2|1\{2\})", half)
    return r"\operatorname{Rademacher}" if fair and values in ({"1", "-1"}, {"+1", "-1"}) else ""


def _entries(found: re.Match[str], formulas: list[str]) -> str:
    r"""Arrays whose entries are standard normal: of a number the law is that of each entry."""
    texts = [_formula(one, formulas) for one in re.findall(_F, found["group"])]
    if not all(r"\in" in one for one in texts):
        return found[0]  # the number of their entries is missing
    names = ", ".join(one.split(r"\in")[0].strip() for one in texts)
    formulas.append(rf"{names} \sim \mathcal{{N}}(0, 1)")
    text = f"{found['group']} with \0{len(formulas) - 1}\0 with independent entries"
    return text + "\n" * (found[0].count("\n") - text.count("\n"))


def _let(found: re.Match[str], formulas: list[str]) -> str:
    """A sentence that says the law of a random variable, as one that declares it."""
    return found[0] if r"\sim" not in _formula(found["law"], formulas) else f"Let {found['law']}"


_BY_VALUES = {
    _BERNOULLI: "Bernoulli",
    _GEOMETRIC: "Geometric",
    _EXPONENTIAL: "Exponential",
    _POISSON: "Poisson",
    _BINOMIAL: "Binomial",
    _SIGNS: "Rademacher",
}


def _write(found: re.Match[str], formulas: list[str], law: str) -> str:
    """The symbols of a match with their law; as it stands if there is none."""
    if not law:
        return found[0]
    symbols = [_formula(one, formulas) for one in re.findall(_F, found["group"])]
    formulas.append(rf"{', '.join(symbols)} \sim {law}")
    groups = found.groupdict()
    free = groups["free"] or groups.get("behind")
    free = free_words(free, ", ".join(symbols))
    return f"\0{len(formulas) - 1}\0{free}" + "\n" * found[0].count("\n")
