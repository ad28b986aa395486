"""Two files have one name where they are the same thing of two rooms, and else each has its own."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NAMED_AFTER = {
    "finetune/cli": "what a command calls has the command's name",
    "attention_core/conformance/laws": "laws have the name of what they judge",
    "attention_core/oracle": "a truth has the name of what it is the truth of",
    "attention_core/faults": "faults have the name of the laws that refute them",
    "finetune/faults": "faults have the name of the laws that refute them",
}
"""Rooms whose files are named after files of other rooms."""
PARALLEL = {
    "chance": "bounds on false alarms",
    "child": "what runs in a process of its own",
    "cli": "the command of a room",
    "judge": "what gives a verdict",
    "laws": "the laws of a contract",
    "measure": "what measures",
    "render_html": "results as a page",
    "render_text": "results in a terminal",
    "report": "what a run comes to",
    "results": "the results of a run, as data",
    "run": "one run from its options to its results",
    "table": "one explicit table of rows",
}
"""Stems that mean the same in every room, and what."""
SHARED = 34
"""How many other stems are those of two files or more. The number may only fall: `names.py` beside `names.py` of something
else sends a reader, and every search, to the wrong one."""


def modules() -> Iterator[Path]:
    """The modules of both packages that are not named after others, relative to the repository."""
    for package in ("attention_core", "finetune"):
        for path in sorted((ROOT / package).rglob("*.py")):
            relative = path.relative_to(ROOT)
            rooms = {str(parent) for parent in relative.parents}
            if not path.stem.startswith("__") and not rooms & NAMED_AFTER.keys():
                yield relative


def shared_stems(paths: list[Path]) -> dict[str, list[Path]]:
    """The stems of two files or more, but for those that mean the same in every room."""
    in_order = sorted(paths, key=lambda path: path.stem)
    groups = {stem: list(files) for stem, files in groupby(in_order, key=lambda path: path.stem)}
    return {stem: files for stem, files in groups.items() if len(files) > 1 and stem not in PARALLEL}


def test_fewer_and_fewer_files_share_a_name() -> None:
    shared = shared_stems(list(modules()))
    told = "\n".join(f"{stem}: {', '.join(map(str, files))}" for stem, files in shared.items())
    assert len(shared) <= SHARED, f"a new file has the name of another (rename it, or PARALLEL says why):\n{told}"


def test_parallel_names_are_those_of_two_rooms() -> None:
    stems = [path.stem for path in modules()]
    assert [stem for stem in PARALLEL if stems.count(stem) < 2] == []
    assert all((ROOT / room).is_dir() for room in NAMED_AFTER)


def test_a_shared_name_would_be_seen() -> None:
    paths = [Path("a/names.py"), Path("b/names.py"), Path("a/run.py"), Path("b/run.py"), Path("a/other.py")]
    assert shared_stems(paths) == {"names": paths[:2]}
