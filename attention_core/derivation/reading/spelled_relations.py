r"""Relations that stand in words between formulas, and what sentences say of the entries, rows or columns of an array.

"$x$ equals $y$" becomes `$x = y$`, "the columns of $Q$ are orthonormal" becomes "$Q$ has orthonormal columns". Whether
such a relation is assumed is decided as for any other. Formulas are masked, as in `spelled_laws`.
"""

from __future__ import annotations

import re

from attention_core.derivation.quick_patterns import compile_quick
from attention_core.derivation.reading.masked_text import FORMULA as _F

_RELATIONS = (
    (r"(?:is |are |be )?(?:equal to|the same as)|equals?|coincides? with", "="),
    (r"(?:is |be )?(?:strictly )?(?:greater|larger|bigger|more) than|(?:strictly )?exceeds?", ">"),
    (r"(?:is |be )?(?:strictly )?(?:less|smaller) than", "<"),
    (r"(?:is |be )?(?:at most|no(?:t)? (?:more|larger|greater) than)|does not exceed", r"\le"),
    (r"(?:is |be )?(?:at least|no(?:t)? (?:less|smaller) than)", r"\ge"),
    (r"(?:is |be )?(?:different from|not equal to)|differs from|does not equal", r"\ne"),
)
_STOPS = r"(?=\s*(?:[,;:)]|\.(?!\d)|$|(?:and|so|then|for|we)\b))"
_OF = rf"of (?:the (?:vector|matrix) )?(?P<of>{_F})\s+"
_NAMED = "|".join(f"(?P<r{k}>{words})" for k, (words, _) in enumerate(_RELATIONS))
_BETWEEN_TWO = compile_quick(rf"(?P<left>{_F})\s+(?:{_NAMED})\s+(?P<right>{_F}){_STOPS}", re.IGNORECASE)
_WITHIN = re.compile(
    rf"(?P<left>{_F})\s+(?:is|be|lies?|are)\s+strictly\s+between\s+(?P<low>{_F})\s+and\s+(?P<high>{_F}){_STOPS}",
    re.IGNORECASE,
)  # with or without its ends is left open elsewhere
_HAS_RELATION = re.compile(r"[=<>~,]|\\(?:in|[lg]eq?|neq?|sim|to|ll|gg|perp|approx|dots|ldots)(?![a-zA-Z])")
_SIGN = r"non-?negative|(?:strictly )?positive|(?:strictly )?negative|non-?zero|non-?positive"
_TOTAL = r"(?:sums?|adds?)(?: up)? to (?:one|1|unity|zero|0)"
_PARTS = re.compile(
    rf"\b(?:all |both )?(?:the )?(?P<part>entries|components|elements|coordinates|rows|columns) {_OF}"
    rf"(?:(?:are|be) (?:all )?(?P<what>{_SIGN}|orthonormal)(?: and (?P<too>{_TOTAL}))?|(?:all "
    rf")?(?P<total>{_TOTAL})){_STOPS}",
    re.IGNORECASE,
)
_EACH_PART = re.compile(
    rf"\b(?:each|every) (?P<part>entry|component|element|coordinate|row|column) {_OF}"
    rf"(?:(?:is|be) (?P<what>{_SIGN})|(?P<total>{_TOTAL})){_STOPS}",
    re.IGNORECASE,
)
_LINE_NORMS = compile_quick(
    rf"\b(?:(?:each|every) (?P<one>row|column)|(?:all )?(?:the )?(?P<many>rows|columns)) {_OF}"
    rf"(?:has|have|are|is) (?:of )?(?:unit (?:euclidean )?(?:norm|length)|(?:euclidean )?norm (?:one|1)){_STOPS}",
    re.IGNORECASE,
)
_QUANTITY = compile_quick(
    rf"\bthe (?P<what>determinant|trace|(?:euclidean |frobenius )?norm) {_OF}(?:is|equals|be) (?:equal to )?"
    rf"(?P<value>zero|one|0|1){_STOPS}",
    re.IGNORECASE,
)
_MANY = {"entry": "entries", "row": "rows", "column": "columns"}


def spell_relations(masked: str, formulas: list[str]) -> str:
    r"""Write the relations that a text states in words between two formulas as formulas.

    Args:
        masked: The text with its formulas masked.
        formulas: What the masks stand for; new formulas are appended.

    Example:
        >>> made = ["x", "y"]
        >>> spell_relations("Suppose \x000\x00 exceeds \x001\x00.", made), made[-1]
        ('Suppose \x002\x00.', 'x > y')
    """
    if " of \0" in masked.replace("\n", " "):
        masked = _PARTS.sub(lambda found: _has(found, found["part"].lower()), masked)
        masked = _EACH_PART.sub(lambda found: _has(found, _MANY.get(found["part"].lower(), "entries")), masked)
    masked = _LINE_NORMS.sub(_has_line_norms, masked)
    masked = _QUANTITY.sub(_has_quantity, masked)
    if masked.count("\0") < 4:
        return masked
    masked = _WITHIN.sub(lambda found: _within(found, formulas), masked)
    return _BETWEEN_TWO.sub(lambda found: _relate(found, formulas), masked)


def _has(found: re.Match[str], part: str) -> str:
    r"""`\0 has orthonormal columns`, as the sentence says it of the columns; as it stands where it means nothing."""
    given = found.groupdict()
    what, total = given["what"] or "", given.get("too") or given["total"]
    lines = part in ("rows", "columns")
    if (lines and bool(what) != ("orthonormal" in what.lower())) or (not lines and "orthonormal" in what.lower()):
        return found[0]
    if lines and total and what:
        return found[0]
    value = "zero" if total and total.lower().endswith(("zero", "0")) else "one"
    behind = f" that sum to {value}{found[0].count(chr(10)) * chr(10)}" if total else "\n" * found[0].count("\n")
    return f"{found['of']} has {f'{what} ' if what else ''}{part}{behind}"


def _has_line_norms(found: re.Match[str]) -> str:
    part = found["many"] or f"{found['one']}s"
    return f"{found['of']} has {part.lower()} of unit norm" + "\n" * found[0].count("\n")


def _has_quantity(found: re.Match[str]) -> str:
    return f"{found['of']} has {found['what']} {found['value']}" + "\n" * found[0].count("\n")


def _plain(found: re.Match[str], formulas: list[str], *groups: str) -> list[str] | None:
    parts = [formulas[int(found[one].strip("\0"))].strip() for one in groups]
    return None if any(_HAS_RELATION.search(one) for one in parts) else parts


def _write(found: re.Match[str], formulas: list[str], text: str) -> str:
    formulas.append(text)
    return f"\0{len(formulas) - 1}\0" + "\n" * found[0].count("\n")


def _relate(found: re.Match[str], formulas: list[str]) -> str:
    parts = _plain(found, formulas, "left", "right")
    if parts is None:
        return found[0]
    sign = next(sign for k, (_, sign) in enumerate(_RELATIONS) if found[f"r{k}"])
    return _write(found, formulas, f"{parts[0]} {sign} {parts[1]}")


def _within(found: re.Match[str], formulas: list[str]) -> str:
    parts = _plain(found, formulas, "left", "low", "high")
    if parts is None:
        return found[0]
    return _write(found, formulas, f"{parts[1]} < {parts[0]} < {parts[2]}")
