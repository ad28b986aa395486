"""Tests mirror the tree: each test file of a property or a number lies where its module lies and begins with its stem."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
ROOT = TESTS.parent
MIRRORS = ("properties", "numeric")
SCENARIOS = {
    "numeric/documents": "documents of derivations beside the code that rests on them",
    "numeric/exercises": "the exercises of the assignment, measured",
    "properties/exercises": "the exercises of the assignment, as properties",
}
"""Folders that mirror no room, and what lies there."""
WITHOUT_TESTS = 116
"""How many modules have no test of their stem, wherever it lies. The number may only fall."""


def mirrored_files() -> Iterator[Path]:
    """The test files of the mirrors, relative to `tests`, but for scenarios."""
    for mirror in MIRRORS:
        for path in sorted((TESTS / mirror).rglob("test_*.py")):
            relative = path.relative_to(TESTS)
            if str(relative.parent) not in SCENARIOS:
                yield relative


def room(relative: Path) -> Path:
    """The folder of the source that a test file belongs to."""
    parts = relative.parts[1:-1]
    return ROOT.joinpath(*parts) if parts[:1] == ("finetune",) else ROOT.joinpath("attention_core", *parts)


def belongs(relative: Path) -> bool:
    """Whether a module of the room, or the room itself, has the stem that the file begins with."""
    folder, stem = room(relative), relative.stem.removeprefix("test_")
    names = {path.stem for path in folder.glob("*.py")} | {folder.name}
    return any(stem == name or stem.startswith(f"{name}_") for name in names)


def modules() -> list[Path]:
    """The modules of both packages, but those that hold nothing of their own, the catalogue of faults, and adapters."""
    paths = [path for package in ("attention_core", "finetune") for path in sorted((ROOT / package).rglob("*.py"))]
    adapters = {
        path
        for path in (ROOT / "attention_core" / "peers").glob("*.py")
        if path.stem not in ("adapter_source", "table")
    }
    return [
        path for path in paths if not path.stem.startswith("__") and "faults" not in path.parts and path not in adapters
    ]


def untested() -> list[str]:
    """Modules without a test that begins with their stem, in the place of their room or in a folder of integration."""
    tested = {(room(test), test.stem.removeprefix("test_")) for test in mirrored_files()}
    anywhere = {path.stem.removeprefix("test_") for path in (TESTS / "integration").rglob("test_*.py")}
    return [
        str(path.relative_to(ROOT))
        for path in modules()
        if path.stem not in anywhere
        and not any(
            folder == path.parent and (stem == path.stem or stem.startswith(f"{path.stem}_")) for folder, stem in tested
        )
    ]


def test_a_test_lies_where_its_module_lies() -> None:
    lost = [
        f"no module of {room(file).relative_to(ROOT)} has the stem of {file}"
        for file in mirrored_files()
        if not belongs(file)
    ]
    assert not lost, "\n".join(lost)


def test_a_misplaced_test_would_be_seen() -> None:
    assert belongs(Path("properties/kernels/test_tiled.py")) and belongs(Path("properties/masking/test_masking.py"))
    assert not belongs(Path("properties/kernels/test_extent.py"))
    assert not belongs(Path("properties/nowhere/test_tiled.py"))


def test_scenarios_are_there() -> None:
    assert all(any((TESTS / folder).glob("test_*.py")) for folder in SCENARIOS)


def test_fewer_and_fewer_modules_have_no_test_of_their_stem() -> None:
    found = sorted(untested(), key=lambda path: -(ROOT / path).stat().st_mtime)
    assert len(found) <= WITHOUT_TESTS, "a new module has no test of its stem; the newest files first:\n" + "\n".join(
        found[:9]
    )
