r"""Numbers whose digits stand in groups: `1\,000` is a thousand, and `1 000` may be one number or two.

So may `2,5`, where it is calculated with: `2,5 \cdot 4 = 10` has a decimal comma, and `i = 1,2` has not.
"""

from __future__ import annotations

import re

from attention_core.derivation.latex.syntax import Unreadable
from attention_core.derivation.latex.tokens import TokenStream

_THIN = r"(?:\s*(?:\\[,:!]|\\(?:thin|med)space(?![a-zA-Z])|~)\s*)+"
_GROUPS = re.compile(rf"(?:{_THIN}\d{{3}}(?!\d))+(?:\.\d+)?")
_SPLIT_IN_ROW = re.compile(rf"(?:{_THIN}|\s+)\d+")
_SPLIT = re.compile(rf"(?:{_THIN}|(?:\s*\\[; ]\s*)+|\s+)\d+")
_COMMA = re.compile(r",\d+(?![\d,])")
_CALCULATES = re.compile(r"\s*(?:[-+*/^]|\\(?:cdot|times|div|%))(?!\s*\\?[a-zA-Z.])")
_GOES_ON = re.compile(r"[\s\\~.,]")  # what stands after the first digits of a number that has more


def read_digit_groups(lexer: TokenStream, value: str, end: int) -> tuple[str, int]:
    r"""A number with its groups of three digits after thin spaces, as in `1\,000`, and where it ends.

    In a subscript a zero in front of digits is an index of its own: `W_{01}`.
    """
    if re.fullmatch(r"0\d+", value) and lexer.out[-1:] and lexer.out[-1].kind == "LBRACE" and _is_in_subscript(lexer):
        return "0", end - len(value) + 1
    if not _GOES_ON.match(lexer.text, end):
        return value, end
    row = bool(lexer.stack) and lexer.stack[-1] in ("LBRACK", "BEGINMAT")
    if _is_in_subscript(lexer):
        return value, end  # A_{1 1} has two indices
    if "." in value and re.match(r"\.\d", lexer.text[end : end + 2]):
        raise Unreadable(
            f"'{value}.' has a point too many: write 1000000, or 1{{,}}000{{,}}000, for a million", lexer.line
        )
    groups = _GROUPS.match(lexer.text, end)
    if groups and re.fullmatch(r"\d{1,3}", value):
        return re.sub(r"\\[a-z]+|[^\d.]", "", value + groups.group()), groups.end()
    split = (_SPLIT_IN_ROW if row else _SPLIT).match(lexer.text, end)
    if split:
        shown = f"{value}{split.group()}"
        raise Unreadable(
            f"'{shown}' may be one number or two: write one number without spaces, a product with \\cdot", lexer.line
        )
    if not lexer.stack and re.fullmatch(r"[1-9]\d{0,2}", value) and re.match(r",\d{3}(?!\d)", lexer.text[end:]):
        shown = f"{value}{lexer.text[end : end + 4]}"
        plain = shown.replace(",", "")
        raise Unreadable(
            f"'{shown}' may be one number or two: write {plain} or {plain[:-3]}{{,}}{plain[-3:]}, or a space "
            "after the comma",
            lexer.line,
        )
    comma = None if lexer.stack or "." in value else _COMMA.match(lexer.text, end)
    if comma and _is_calculated_with(lexer, comma.end()):
        shown = f"{value}{comma.group()}"
        raise Unreadable(
            f"'{shown}' may be one number or two: write {shown.replace(',', '.')}, or a space after the comma",
            lexer.line,
        )
    return value, end


def _is_in_subscript(lexer: TokenStream) -> bool:
    """Whether the innermost brace that is open stands below a symbol."""
    opened = [i for i, t in enumerate(lexer.out[-20:], max(0, len(lexer.out) - 20)) if t.kind == "LBRACE"]
    inner = lexer.stack[-1:] == ["LBRACE"] and bool(opened) and opened[-1] > 0
    return inner and lexer.out[opened[-1] - 1].kind == "UNDER"


def _is_calculated_with(lexer: TokenStream, end: int) -> bool:
    """Whether a sign of arithmetic stands in front of a number, or behind it and in front of another number."""
    before = lexer.out[-1].kind if lexer.out else ""
    return before in ("TIMES", "PLUS") or bool(_CALCULATES.match(lexer.text, end))
