"""Links of the repository's pages, as links of the site."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import PurePosixPath

LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^()\s]+)\)")
FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")


class BrokenLink(ValueError):
    """A page links to a file that the repository does not have."""


def restage(text: str, source: PurePosixPath, staged: Callable[[PurePosixPath], PurePosixPath | None]) -> str:
    """Rewrite the relative links of a page.

    Args:
        text: the page, Markdown.
        source: its path in the repository.
        staged: the place of a repository's file on the site, or None where the site does not have it.

    Returns:
        The page. A link to a file that is not on the site becomes its text.

    Raises:
        BrokenLink: a link leads to a file that does not exist.

    >>> place = {"docs/a.md": "a.md", "NEWS.md": "news.md"}
    >>> restage("[n](../NEWS.md#x)", PurePosixPath("docs/a.md"), lambda p: PurePosixPath(place[str(p)]))
    '[n](news.md#x)'
    """
    here = staged(source)
    if here is None:
        raise BrokenLink(f"{source} is not on the site")

    def link(found: re.Match[str]) -> str:
        picture, words, target = found.groups()
        path, _, anchor = target.partition("#")
        if not path or re.match(r"[a-z]+:", target):
            return found[0]
        try:
            place = staged(PurePosixPath(os.path.normpath(source.parent / path)))
        except BrokenLink as error:
            raise BrokenLink(f"{source}: {error}") from None
        if place is None:
            return words
        away = os.path.relpath(place, here.parent)
        return f"{picture}[{words}]({away}{'#' if anchor else ''}{anchor})"

    lines, fence = [], ""
    for line in text.split("\n"):
        found = FENCE.match(line)
        if fence:
            if found and found[1].startswith(fence) and not line.strip(" `~"):
                fence = ""
        elif found:
            fence = found[1]
        elif not line.startswith("    "):
            line = LINK.sub(link, line)
        lines.append(line)
    return "\n".join(lines)
