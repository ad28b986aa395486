"""The changelog: a file a change in `changelog.d/`, in the form that `towncrier` puts together."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "changelog.d"
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["towncrier"]
KINDS = ("added", "changed", "deprecated", "removed", "fixed", "security")


def complaint(name: str, text: str, kinds: tuple[str, ...] = KINDS) -> str:
    """What is wrong with a file of changelog.d, in words; "" where nothing is."""
    if not re.fullmatch(rf"(\+[a-z0-9-]+|\d+)\.({'|'.join(kinds)})(\.\d+)?\.md", name):
        return f"{name}: write +SLUG.KIND.md or NUMBER.KIND.md, where KIND is one of {', '.join(kinds)}"
    if not text.strip() or text.lstrip().startswith(("-", "*", "#")):
        return f"{name}: write a sentence or two, without a bullet or heading"
    long = [line for line in text.splitlines() if len(line) > 160]
    return f"{name}: a line has more than 160 characters" if long else ""


def test_every_file_of_the_changelog_has_its_form() -> None:
    complaints = [
        complaint(path.name, path.read_text(encoding="utf-8"))
        for path in sorted(FOLDER.iterdir())
        if path.name != "README.md"
    ]
    assert not any(complaints), "\n".join(filter(None, complaints))


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("+paged-scales.added.md", "`verify` takes it.\n", ""),
        ("25.fixed.md", "One line.\n", ""),
        ("paged.added.md", "One line.\n", "write +SLUG.KIND.md"),
        ("+paged.improved.md", "One line.\n", "KIND is one of added"),
        ("+paged.added.md", "\n", "write a sentence"),
        ("+paged.added.md", "- A bullet.\n", "without a bullet"),
        ("+paged.added.md", "x" * 161, "more than 160"),
    ],
)
def test_another_form_is_refused(name: str, text: str, words: str) -> None:
    found = complaint(name, text)
    assert (words in found) if words else not found


def test_the_tool_knows_the_same_kinds_and_finds_its_place() -> None:
    assert tuple(SETTINGS["fragment"]) == KINDS and SETTINGS["directory"] == FOLDER.name
    text = (ROOT / SETTINGS["filename"]).read_text(encoding="utf-8")
    assert text.count(SETTINGS["start_string"]) == 1 and re.search(r"^## \[\d+\.\d+\.\d+\] - ", text, re.MULTILINE)
