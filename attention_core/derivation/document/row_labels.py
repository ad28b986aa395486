r"""Numbers and letters in front of the rows of a display, in a column of their own: `(2) \quad & a - b = c`.

Such a label says which line it is and is not a factor of it. A number in brackets in front of `&` always is one, where
a whole relation stands behind it. A bare number is one where the rows are numbered 1, 2 and so on.
"""

from __future__ import annotations

import re

_GAP = r"(?:\s|\\[,;:! ]|\\q?quad(?![a-zA-Z])|~)*"
_ROW = re.compile(
    rf"(?P<start>^|\\\\(?:\s*\[[^\]]*\])?|\\hline){_GAP}"
    rf"(?P<label>\((?:\d{{1,2}}|[a-h]|i{{1,3}}|iv|vi{{1,3}}|ix)\)|(?P<number>\d{{1,2}})[.)]?){_GAP}&(?:{_GAP}&)*"
    rf"(?!{_GAP}(?:&|[=<>]|\\(?:[lg]eq?|neq?|approx|sim|in|to|equiv)(?![a-zA-Z])))(?P<rest>(?:[^\\]|\\[^\\])*)"
)
_RELATES = re.compile(r"[=<>]|\\(?:[lg]eq?|neq?|approx|equiv)(?![a-zA-Z])")


def without_row_labels(text: str) -> str:
    r"""The text of a display without the labels in front of its rows, every line where it was.

    Args:
        text: The display, without its frames.

    Example:
        >>> without_row_labels(r"(1) & a = b \\ (2) & b = c")
        '    & a = b \\\\     & b = c'
    """
    found = [one for one in _ROW.finditer(text) if _RELATES.search(one["rest"])]
    numbers = [int(one["number"]) for one in found if one["number"]]
    counted = len(numbers) > 1 and numbers == list(range(1, len(numbers) + 1))
    for one in reversed(found):
        if counted or not one["number"]:
            start, end = one.span("label")
            text = text[:start] + " " * (end - start) + text[end:]
    return text


__all__ = ["without_row_labels"]
