"""Lay out the sources of the site: pages of the repository with their links rewritten, and pages that are generated.

python docs/_ext/stage.py build/docs && sphinx-build -W --keep-going -c docs build/docs site
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path, PurePosixPath

import api_pages
import command_pages
import contract_pages
import law_pages
import rooms
from links import BrokenLink, restage

ROOT = Path(__file__).resolve().parents[2]
MOVED = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "GLOSSARY.md": "explanation/glossary.md",
    "SECURITY.md": "security.md",
    "derivations/README.md": "derivations/index.md",
    "docs/laws.md": "reference/laws/index.md",  # one table there, a page a law here
    "tests/README.md": "tests.md",
}
KINDS = ("api", "commands", "contracts", "laws")
GENERATED = ("docs/made/", *(f"docs/reference/{kind}/" for kind in KINDS))
ELSEWHERE = {"docs/laws.md"}
CHILDREN = {"derivations/README.md": "\n```{toctree}\n:hidden:\n:glob:\n\n*\n```\n"}
"""What is added to a page on the site: its place in the navigation."""
COPIED = {".csv", ".png", ".svg"}
"""Pictures, and data that a page offers for download."""


def place_of(path: PurePosixPath) -> PurePosixPath | None:
    """Where a file of the repository stands on the site; None where the site does not have it.

    Raises: BrokenLink where the repository does not have it.
    """
    if str(path).startswith(GENERATED):  # Sphinx says whether there is such a page
        return PurePosixPath(*path.parts[1:])
    if not (ROOT / path).exists():
        raise BrokenLink(f"there is no {path}")
    if str(path) in MOVED:
        return PurePosixPath(MOVED[str(path)])
    folder, *rest = path.parts
    if folder == "docs" and path.suffix in COPIED | {".md"}:
        return PurePosixPath(*rest)
    if folder == "derivations" and path.suffix == ".md":
        return path
    if folder == "experiments" and path.name == "README.md":
        return PurePosixPath("experiments", f"{path.parent.name}.md")
    return None


def sources() -> list[PurePosixPath]:
    """The repository's pages that stand on the site."""
    folders = [*ROOT.glob("docs/**/*.md"), *ROOT.glob("derivations/*.md"), *ROOT.glob("experiments/*/README.md")]
    found = {PurePosixPath(path.relative_to(ROOT)) for path in folders}
    found |= {PurePosixPath(name) for name in MOVED if (ROOT / name).exists()}
    return sorted(path for path in found if str(path) not in ELSEWHERE)


def stage(folder: Path) -> None:
    """Write all sources of the site into a folder, which is emptied first.

    Raises: BrokenLink where a page links to a file that does not exist.
    """
    shutil.rmtree(folder, ignore_errors=True)
    for source in sources():
        place = place_of(source)
        if place is not None:
            text = restage((ROOT / source).read_text(encoding="utf-8"), source, place_of)
            write(folder / place, text + CHILDREN.get(str(source), ""))
    for file in ROOT.glob("docs/**/*"):
        if file.suffix in COPIED:
            target = folder / file.relative_to(ROOT / "docs")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)
    for module in (law_pages, contract_pages, command_pages, api_pages, rooms):
        for name, text in module.pages():
            write(folder / name, text)


def write(path: Path, text: str) -> None:
    """Write one file, and its folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    stage(Path(sys.argv[1]))
