"""What a word that is not known may have been meant as."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

MOST = 3


def suggest(word: str, known: Iterable[str]) -> str:
    """Ask whether a near name is meant, or one that begins so, with a space behind; "" where none is near.

    Example:
        >>> suggest("agree", ["stays_finite", "agrees_with_truth", "agrees_in_tiles_and_blocks"])
        'did you mean agrees_with_truth or agrees_in_tiles_and_blocks? '
        >>> suggest("nothing", ["stays_finite"])
        ''
    """
    names = list(known)
    near = get_close_matches(word, names, 1)
    if not near and len(word) > 2:
        near = [name for name in names if name.startswith(word)][:MOST]
    *first, last = near or [""]
    meant = f"{', '.join(first)} or {last}" if first else last
    return f"did you mean {meant}? " if meant else ""
