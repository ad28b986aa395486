r"""Laws of which words give mean and variance alone: "$X$ is random with mean $\mu$ and variance $\sigma^2$".

They become `$X \sim \operatorname{Moments}(\mu, \sigma^2)$`, any law with these two moments; a sentence about the
entries of arrays becomes `\operatorname{EntryMoments}`, which is read of declared arrays alone, and a variance
`\operatorname{NumberMoments}`, which is read of numbers alone: entries of a vector may depend on each other. Formulas
are masked, as in `spelled_laws`.
"""

from __future__ import annotations

import re

from attention_core.derivation.reading.masked_text import FORMULA as _F
from attention_core.derivation.reading.masked_text import GROUP, add_formula, has_name
from attention_core.derivation.reading.spelled_laws import free_words

_GROUP = rf"(?P<group>{GROUP})"
_VALUE = rf"(?:{_F}|zero|one|0|1)"
_LIKE = r"(?:(?:the\s+)?(?:finite|common|same|equal)\s+)*"
_IS = r"\s+(?:(?:equal\s+to|of|is)\s+)?"
_MEAN = rf"{_LIKE}(?:(?P<centred>zero|0)[\s-]mean|(?:mean|expectation|expected\s+value){_IS}(?P<mean>{_VALUE}))"
_SPREAD = (
    rf"{_LIKE}(?:(?P<unit>unit|identity)\s+(?:co)?variance(?:\s+matrix)?|(?P<kind>variance|covariance(?:\s+matrix)?|"
    rf"standard\s+deviation){_IS}(?P<spread>{_VALUE}|the\s+identity(?:\s+matrix)?))"
)
_MOMENTS = rf"{_MEAN}\s*(?:,|,?\s+and)\s+{_SPREAD}"
_END = r"(?P<end>\s*(?:[.;:)]|,(?!\s*\x00)|$|,?\s*(?:and\s+let|so|then|for\s+all|where|we)\b))"
_FREE = r"(?P<free>(?:(?:mutually|jointly)\s+)?independent(?:ly)?|i\.?\s?i\.?\s?d\.?)"
_BE = r"\s+(?:be|is|are|being|denote)\s+(?:both\s+|all\s+)?(?:an?\s+)?"
_NOUN = (
    r"(?:,?\s*(?:and\s+identically\s+distributed|identically\s+distributed))?(?:,?\s*(?:(?:real|scalar)(?:-valued)?|"
    r"square-integrable))?(?:\s*random\s+(?:variables?|vectors?|numbers?)|\s*samples?|\s*draws?|"
    r"\s*copies\s+of\s+an?\s+(?:real\s+)?random\s+(?:variable|vector))?"
)
_DRAWN = re.compile(
    rf"{_GROUP}{_BE}(?:{_FREE}(?!\w),?)?\s*{_NOUN},?\s*(?:all\s+|each\s+|both\s+)?(?:with|of|"
    rf"having)\s+{_MOMENTS}{_END}",
    re.IGNORECASE,
)
_HAS = re.compile(rf"(?:\bthe\s+(?:noise|disturbance)\s+)?{_GROUP}\s+(?:has|have)\s+{_MOMENTS}{_END}", re.IGNORECASE)
_DIM = rf"(?:,?\s+(?:and\s+|of\s+|with\s+|in\s+)?dimension\s+(?P<dim>{_F}|[a-zA-Z](?![\w-])))?"
_ENTRY = r"(?:entries|components|elements|coordinates)"
_ENTRIES = re.compile(
    rf"\b(?:all\s+)?(?:the\s+)?{_ENTRY}\s+of\s+{_GROUP}\s+(?:are|be)\s+(?:all\s+)?{_FREE}"
    rf"(?:\s*random\s+(?:variables?|numbers?))?,?\s*(?:all\s+|each\s+)?(?:with|of|having)\s+{_MOMENTS}{_DIM}{_END}",
    re.IGNORECASE,
)
_HAS_ENTRIES = re.compile(
    rf"{_GROUP}\s+(?:has|have|be\s+(?:random\s+)?(?:vectors?|matri(?:x|ces))\s+with)\s+{_FREE}\s+{_ENTRY}(?:,\s*|,?\s*"
    rf"(?:all\s+|each\s+)?(?:with|of|having)\s+){_MOMENTS}{_DIM}{_END}",
    re.IGNORECASE,
)
_WHOSE_ENTRIES = re.compile(
    rf"{_GROUP}\s+(?:be|is|are)\s+(?:an?\s+|two\s+)?(?P<apart>independent\s+)?(?:random\s+)?(?:vectors?|matri(?:x|ces)),?\s+(?:whose|with)\s+"
    rf"(?:all\s+)?{_ENTRY}\s+(?:that\s+)?(?:are|be)\s+(?:all\s+)?{_FREE}"
    rf"(?:\s*random\s+(?:variables?|numbers?))?,?\s*(?:all\s+|each\s+)?(?:with|of|and\s+have|having)\s+"
    rf"{_MOMENTS}{_DIM}{_END}",
    re.IGNORECASE,
)
_MEAN_FORMULA = re.compile(
    r"^\s*\\(?:mathbb|mathrm|operatorname)\s*\{?\s*E\s*\}?\s*(?:\\left)?[\[(]\s*(?P<name>\\?[A-Za-z]+)\s*"
    r"(?:\\right)?[\])]\s*=\s*(?P<value>[^=<>,]+)$"
)
_SPREAD_FORMULA = re.compile(
    r"^\s*\\(?:operatorname|mathrm|text)\s*\{\s*(?P<what>Var|Cov)\s*\}\s*(?:\\left)?[\[(]\s*(?P<name>\\?[A-Za-z]+)\s*"
    r"(?:\\right)?[\])]\s*=\s*(?P<value>[^=<>,]+)$"
)
_TWO = re.compile(rf"(?P<first>{_F})(?:\s*,\s*|\s*,?\s+and\s+)(?P<second>{_F})(?=\s*(?:[.,;:]|$))")
_ASSUMES = re.compile(r"(?:\b(?:assume|suppose|let|with|given|satisfying|such)\b(?:\s+that)?)\s*$", re.IGNORECASE)
_RANDOM = re.compile(r"\b(?:random|independent|i\.?\s?i\.?\s?d\b|samples?|draws?|noise|disturbance)", re.IGNORECASE)
_UNKNOWN = re.compile(
    rf"(?P<let>\blet\s+)(?P<names>{_F}(?:(?:\s*,\s*|\s*,?\s+and\s+){_F})*)\s+be\s+(?:an?\s+|two\s+|three\s+)?(?P<free>independent\s+)?"
    r"(?:(?:real|scalar)(?:-valued)?,?\s+|square-integrable\s+)*random\s+variables?"
    r"(?:\s+with\s+(?:finite\s+(?:means?|variances?|second\s+moments?|moments)(?:\s+and\s+(?:finite\s+)?variances?)?))?"
    r"(?=\s*(?:[.;:]|$|,?\s+and\s+let\b))",
    re.IGNORECASE,
)
_LIST = rf"{_F}(?:(?:\s*,\s*|\s*,?\s+and\s+){_F})*"
_RESPECTIVE = re.compile(
    rf"(?P<let>\b(?:let|suppose|assume)(?:\s+that)?\s+)(?P<names>{_LIST})\s+(?:be|are)\s+(?:two\s+|three\s+)?(?P<free>independent\s+)?"
    rf"(?:real(?:-valued)?\s+)?random\s+variables,?\s+with\s+(?:respective\s+)?(?:finite\s+)?means\s+(?P<means>{_LIST}?)\s*,?\s+and\s+"
    rf"(?:respective\s+)?(?:finite\s+)?variances\s+(?P<spreads>{_LIST})(?:,?\s+respectively)?(?=\s*(?:[.;:]|$|,(?!\s*\x00)))",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"(?P<name>\\?[A-Za-z]+(?:_\{?\w+\}?)?)(?:\^\{?2\}?)?|\d+(?:\.\d+)?")
_WORDS = {"zero": "0", "one": "1"}
_MEMBERSHIP = re.compile(r"^(?P<names>[^=<>]*?)\\in(?![A-Za-z])")


def spell_moments(masked: str, formulas: list[str], above: str = "") -> str:
    r"""Write laws that are known by mean and variance as formulas.

    Args:
        masked: The text with its formulas masked.
        formulas: What the masks stand for; new formulas are appended.
        above: The formulas of the paragraphs above, which may declare a mean or a variance.

    Example:
        >>> made = ["x"]
        >>> spell_moments("Let \x000\x00 be a random variable with zero mean and unit variance.", made), made[-1]
        ('Let \x001\x00.', 'x \\sim \\operatorname{NumberMoments}(0, 1)')
    """
    if re.search(r"varian|deviation", masked, re.IGNORECASE):
        for pattern in (_ENTRIES, _HAS_ENTRIES, _WHOSE_ENTRIES):
            masked = pattern.sub(lambda found: _write(found, formulas, "EntryMoments"), masked)
        for pattern in (_DRAWN, _HAS):
            masked = pattern.sub(lambda found: _write(found, formulas, "Moments"), masked)
    if "random" in masked.lower():
        masked = _RESPECTIVE.sub(lambda found: _respective(found, formulas, above), masked)
        masked = _UNKNOWN.sub(lambda found: _any_law(found, formulas), masked)
    return _TWO.sub(lambda found: _from_formulas(found, masked, formulas), masked)


def _texts(group: str, formulas: list[str]) -> list[str]:
    """The formulas of a list, each part between commas for itself."""
    texts = [formulas[int(one)] for one in re.findall(r"\x00(\d+)\x00", group)]
    return [one.strip() for text in texts for one in text.split(",")]


def _respective(found: re.Match[str], formulas: list[str], above: str) -> str:
    r"""`$X$ and $Y$ be random variables with means $a, b$ and variances $v, w$`: each with the values at its place."""
    names, means, spreads = (_texts(found[one], formulas) for one in ("names", "means", "spreads"))
    plain = all(re.fullmatch(r"[A-Z]|\\[a-z]+", one) for one in names) and len(names) == len(set(names)) > 1
    values = [one for text in (*means, *spreads) if (one := _NUMBER.fullmatch(text)) is not None]
    if not plain or not len(names) == len(means) == len(spreads) or len(values) != 2 * len(names):
        return found[0]
    before = re.findall(r"\x00(\d+)\x00", found.string[: found.start()])
    known = " ".join((above, *(formulas[int(one)] for one in before)))
    fresh = [one for one in values if one["name"] and not has_name(one["name"], known)]
    roots = [one["name"] for one in fresh if one[0] != one["name"] and one in values[len(names) :]]
    free = dict.fromkeys(one["name"] for one in fresh if one["name"] not in roots)
    masks = [add_formula(formulas, rf"{', '.join(free)} \in \mathbb{{R}}")] if free else []
    masks += [add_formula(formulas, rf"{one} \ge 0") for one in dict.fromkeys(roots)]  # deviations
    for name, mean, spread in zip(names, means, spreads, strict=True):
        masks.append(add_formula(formulas, rf"{name} \sim \operatorname{{NumberMoments}}({mean}, {spread})"))
    apart = " independent" if found["free"] else ""
    return f"{found['let']}{' and '.join(masks)}{apart}" + "\n" * found[0].count("\n")


def _any_law(found: re.Match[str], formulas: list[str]) -> str:
    """`Let $X$ be a random variable`: any law, whose mean and variance get names of their own."""
    texts = [formulas[int(one)].strip() for one in re.findall(r"\x00(\d+)\x00", found["names"])]
    names = [one.strip() for text in texts for one in text.split(",")]
    if not all(re.fullmatch(r"[A-Z]|\\[a-z]+", one) for one in names):
        return found[0]
    numbers = ", ".join(rf"\bar{{\mu}}_{{{name}}}, \bar{{\sigma}}_{{{name}}}" for name in names)
    formulas.append(rf"{numbers} \in \mathbb{{R}}")
    masks = [f"\0{len(formulas) - 1}\0"]
    for name in names:
        law = rf"\operatorname{{NumberMoments}}(\bar{{\mu}}_{{{name}}}, \bar{{\sigma}}_{{{name}}}^2)"
        formulas.append(rf"{name} \sim {law}")
        masks.append(f"\0{len(formulas) - 1}\0")
    free = f" {found['free'].strip()}" if found["free"] else ""
    return f"{found['let']}{' and '.join(masks)}{free}" + "\n" * found[0].count("\n")


def _number(text: str | None, formulas: list[str]) -> str:
    text = (text or "0").strip()
    return formulas[int(text.strip("\0"))].strip() if text.startswith("\0") else _WORDS.get(text.lower(), text)


def _write(found: re.Match[str], formulas: list[str], law: str) -> str:
    """The symbols of a match with their two moments."""
    given = found.groupdict()
    named = (
        re.fullmatch(r"[A-Z]", formulas[int(given["group"].strip("\0"))].strip())
        if given["group"].count("\0") == 2
        else None
    )
    if not _RANDOM.search(found[0]) and named is None:  # a vector may have a mean and a variance of its own
        return found[0]
    texts = [formulas[int(one)].strip() for one in re.findall(r"\x00(\d+)\x00", given["group"])]
    spread = "1" if given["unit"] else _spread_of(given["kind"], given["spread"], formulas)
    law = law if law == "EntryMoments" else _law_of_spread(given["unit"], given["kind"], given["spread"])
    if law == "NumberMoments" and re.search(r"\bvectors?\b", found[0], re.IGNORECASE):
        return found[0]  # of which covariances are not said
    if _may_be_joint(given["kind"], texts, found[0]):
        return found[0]
    if any(sign in spread for sign in "=<>~") or "\\in" in spread:
        return found[0]
    mean = _number(given["mean"], formulas)
    one_law = rf"\sim \operatorname{{{law}}}({mean}, {spread})"
    free = free_words(given.get("free"), ", ".join(texts))
    if found.re in (_WHOSE_ENTRIES, _HAS_ENTRIES) or (found.re is _ENTRIES and "," not in ", ".join(texts)):
        free = free_words(given.get("apart"), ", ".join(texts)) + " with independent entries"
    places = []
    if given.get("dim"):
        size = _number(given["dim"], formulas)
        formulas.append(rf"{', '.join(texts)} \in \mathbb{{R}}^{{{size}}}")
        places.append(len(formulas) - 1)
    for text in texts:
        lives = _MEMBERSHIP.match(text)
        if lives is not None:  # the domain stays a formula of its own, before the law
            formulas.append(text)
            places.append(len(formulas) - 1)
    names = ", ".join(lives["names"].strip() if (lives := _MEMBERSHIP.match(text)) else text for text in texts)
    formulas.append(f"{names} {one_law}")
    places.append(len(formulas) - 1)
    opens = given.get("dim") and re.fullmatch(r"(?:.*[.:;!?])?\s*", found.string[: found.start()], re.DOTALL)
    written = ("Let " if opens else "") + " with ".join(f"\0{place}\0" for place in places)
    return f"{written}{free}{given['end']}" + "\n" * (found[0].count("\n") - given["end"].count("\n"))


def _may_be_joint(kind: str | None, texts: list[str], words: str) -> bool:
    """Whether the covariance of several symbols may be that between them: "X and Y with covariance r"."""
    several = len(texts) > 1 or "," in texts[0].split(r"\in")[0]
    arrays = re.search(r"\bvectors\b", words, re.IGNORECASE) or all(re.search(r"\\in\b.*\^", x) for x in texts)
    return (kind or "").lower() == "covariance" and several and not arrays


def _law_of_spread(unit: str | None, kind: str | None, spread: str | None) -> str:
    """The law of what words give: a variance is that of a number, an identity matrix that of each entry."""
    if (unit or "").lower() == "identity" or (spread or "").lower().startswith("the"):
        return "EntryMoments"
    return "Moments" if (kind or "").lower().startswith("covariance") else "NumberMoments"


def _spread_of(kind: str | None, spread: str, formulas: list[str]) -> str:
    """The variance, or the covariance, that words give; a multiple of I for "the identity"."""
    if spread.lower().startswith("the"):
        return "1"
    value = _number(spread, formulas)
    return f"({value})^2" if (kind or "").lower().startswith("standard") else value


def _from_formulas(found: re.Match[str], masked: str, formulas: list[str]) -> str:
    r"""`\mathbb{E}[X] = m` and `\operatorname{Var}(X) = v` where both are assumed, as the law that they say."""
    first, second = (formulas[int(found[one].strip("\0"))] for one in ("first", "second"))
    mean, spread = _MEAN_FORMULA.match(first), _SPREAD_FORMULA.match(second)
    if mean is None or spread is None or mean["name"] != spread["name"] or not _ASSUMES.search(masked[: found.start()]):
        return found[0]
    alike = re.fullmatch(r"\s*I(?:_\{?\w+\}?)?\s*", spread["value"])
    plain = "NumberMoments" if spread["what"] == "Var" else "Moments"
    law, value = ("EntryMoments", "1") if alike else (plain, spread["value"].strip())
    formulas.append(rf"{mean['name']} \sim \operatorname{{{law}}}({mean['value'].strip()}, {value})")
    return f"\0{len(formulas) - 1}\0" + "\n" * found[0].count("\n")
