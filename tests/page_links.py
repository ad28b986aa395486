"""Links of the documentation's pages: which lead nowhere."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path


def anchor(heading: str) -> str:
    """The anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


@cache
def anchors(page: Path) -> frozenset[str]:
    """The anchors of a page's headings, those of a second heading of the same words with its number."""
    found: list[str] = []
    text = re.sub(r"(?ms)^```.*?^```", "", page.read_text(encoding="utf-8"))
    for heading in re.findall(r"(?m)^#+ (.+)$", text):
        name = anchor(heading)
        again = sum(each == name or each.startswith(f"{name}-") for each in found)
        found.append(f"{name}-{again}" if name in found else name)
    return frozenset(found)


def dead_links(text: str, page: Path) -> list[str]:
    """Every link of a text on a page that leads to no page, or to no heading of it."""
    found = []
    for target in re.findall(r"\]\(([^)]*(?:\([^)]*\)[^)]*)*)\)", text):
        name, _, heading = target.partition("#")
        other = page if not name else (page.parent / name).resolve()
        if not other.is_file():
            found.append(f"no such page: {target}")
        elif heading and heading not in anchors(other):
            found.append(f"no such heading: {target}")
    return found
