"""Words of a target as they can be shown: nothing in them moves a cursor, colours a terminal or breaks an encoding."""

from __future__ import annotations

import re

UNSHOWN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters save tab and line feed, marks that turn the direction of text, and lone surrogates."""


def plain(text: str) -> str:
    r"""The text with what cannot be shown written as an escape.

    Example:
        >>> plain("\x1b[31mred\ud800")
        '\\x1b[31mred\\ud800'
    """
    return UNSHOWN.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)
