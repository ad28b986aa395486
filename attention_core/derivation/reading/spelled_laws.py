r"""Laws that are spelled in words: "$x$ is uniform on $[0, 1]$", "$x$ is normal with mean $\mu$ and variance $v$".

They become the formula that says so, `$x \sim \operatorname{Uniform}[0, 1]$`, before a paragraph is read. What says
more than that ("truncated", "conditionally") is left alone. Formulas are masked here, as `\0` with their number.
"""

from __future__ import annotations

import re

_F = r"\x00\d+\x00"  # a formula
_BE = r"\s+(?:both\s+|each\s+|all\s+)?(?:be|is|are|being)\s+(?:all\s+|both\s+)?(?:an?\s+)?"
_GROUP = rf"(?P<group>{_F}(?:(?:\s*,\s*|\s*,?\s+and\s+){_F})*)"
_FREE = r"(?P<free>(?:independent(?:ly)?|i\.?\s?i\.?\s?d\.?)(?:,|\s+and)?\s+)?"
_NOUN = r"(?:\s+distributed)?(?:\s+random)?(?:\s+(?:variables?|numbers?|vectors?|scalars?))?"
_VALUE = rf"(?:{_F}|zero|one|0|1|the identity(?: matrix)?)"
_UNIFORM = re.compile(
    rf"{_GROUP}{_BE}{_FREE}uniform(?:ly)?{_NOUN}\s+(?:on|over|in)\s+(?:the\s+interval\s+)?(?P<set>{_F})"
)
_NORMAL = re.compile(
    rf"{_GROUP}{_BE}{_FREE}(?:normal(?:ly)?|gaussian){_NOUN},?\s+with\s+(?:mean\s+(?P<mean>{_VALUE})|zero\s+mean)\s+and\s+"
    rf"(?:(?P<kind>variance|covariance(?:\s+matrix)?|standard\s+deviation)\s+(?P<spread>{_VALUE})|unit\s+variance)"
)
_BERNOULLI = re.compile(
    rf"{_GROUP}{_BE}{_FREE}bernoulli{_NOUN},?\s+with\s+(?:parameter|(?:success\s+)?probability)\s+(?P<chance>{_F})",
    re.I,
)
_FROM = re.compile(
    rf"{_GROUP}\s+(?:is|are|be|being)\s+(?:all\s+|both\s+)?(?P<free>(?:independent(?:ly)?|i\.?\s?i\.?\s?d\.?)\s+)?"
    rf"(?:drawn|sampled|distributed)(?P<behind>\s+(?:independently|i\.?\s?i\.?\s?d\.?))?\s+(?:from|according\s+to|as)\s+"
    rf"(?:the\s+(?:law|distribution)\s+)?(?P<law>{_F})",
    re.IGNORECASE,
)
_LAW = re.compile(r"^\s*\\(?:mathcal|operatorname|mathrm|text)\s*\{?\s*[A-Za-z]+\}?\s*(?:\\left)?[(\[]")
_INTERVAL = re.compile(r"\s*\[\s*([^\[\]()]+?)\s*,\s*([^\[\]()]+?)\s*\]\s*")
_WORDS = {"zero": "0", "one": "1", "0": "0", "1": "1"}


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
    if not re.search(r"uniform|normal|gaussian|bernoulli", masked, re.IGNORECASE):
        return masked
    masked = _UNIFORM.sub(lambda found: _write(found, formulas, _uniform(found, formulas)), masked)
    masked = _NORMAL.sub(lambda found: _write(found, formulas, _normal(found, formulas)), masked)
    return _BERNOULLI.sub(lambda found: _write(found, formulas, _bernoulli(found, formulas)), masked)


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


def _bernoulli(found: re.Match[str], formulas: list[str]) -> str:
    return rf"\operatorname{{Bernoulli}}({_formula(found['chance'], formulas)})"


def _normal(found: re.Match[str], formulas: list[str]) -> str:
    mean = _number(found["mean"], formulas) if found["mean"] else "0"
    spread = _number(found["spread"], formulas) if found["spread"] else "1"
    if not mean or not spread:
        return ""
    deviation = (found["kind"] or "").startswith("standard")
    return rf"\mathcal{{N}}({mean}, {f'({spread})^2' if deviation else spread})"


def _write(found: re.Match[str], formulas: list[str], law: str) -> str:
    """The symbols of a match with their law; as it stands if there is none."""
    if not law:
        return found[0]
    symbols = [_formula(one, formulas) for one in re.findall(_F, found["group"])]
    formulas.append(rf"{', '.join(symbols)} \sim {law}")
    groups = found.groupdict()
    free = groups["free"] or groups.get("behind")
    free = f" {' '.join(free.split())}" if free else ""
    return f"\0{len(formulas) - 1}\0{free}" + "\n" * found[0].count("\n")
