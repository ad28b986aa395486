"""Sweeps: of a test marked `thorough` the default run takes a fixed part, `pytest --thorough` takes all.

A sweep asks the same question of many rows. Every row earned its place once, but few of them can fail while all others
pass. The mark says which rows the default run keeps:

    @pytest.mark.thorough                                      no row
    @pytest.mark.thorough(keep=("*bool*", "causal-7"))         the rows whose id fits one of the patterns
    @pytest.mark.thorough(one_for="law")                       the first row for each value of the parameter
    @pytest.mark.thorough(one_for=("law", "kind"))             the first row for each pair of values
    @pytest.mark.thorough(leave_out=("*-float16",))            all rows but those whose id fits one of the patterns
    @pytest.mark.thorough(table=True)                          every third or fourth row, no fewer than three (`take_part`)
    @pytest.mark.thorough(table=True, keep=("*-0",))           of the rows that fit, so many

`keep` and `one_for` together keep what either keeps. A row may be marked as well: `pytest.param(..., marks=pytest.mark.thorough)`. A test
that is named on the command line with its parameters always runs.

Tests of derivations are tables without a mark, and with one that leaves rows out; `thorough(keep=("*",))` keeps such a table whole. A file
that is named on the command line has its tables whole, too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from enum import Enum
from fnmatch import fnmatchcase
from os.path import abspath
from pathlib import Path
from zlib import crc32

import pytest

OPTION = "--thorough"
SHARE = 3
"""The default run takes one in so many: of the examples of a search, of the rows of a table, of the tests that check shapes."""
WIDE, WIDE_SHARE = 12, 4
"""Of a table of so many rows or more it takes one in so many."""
TABLES = "tests/properties/derivation/"
"""The folder whose tests are tables, where no mark keeps rows."""
CHEAP = tuple(f"{TABLES}{room}/" for room in ("graph", "latex", "words"))
"""Its rooms where a row takes some milliseconds: their tables are taken whole."""
FAR_ROOMS = tuple(f"{TABLES}{room}/" for room in ("search", "proofs"))
"""Its rooms about what is wrong far out, and what is not: all of their tests search there."""
FAR = 12
"""Of the other tests of derivations, one in so many searches there."""
VERDICTS = {
    "PROVED", "EXACT", "AGREES", "STATISTICAL", "REFUTED", "VACUOUS", "AMBIGUOUS", "UNDECIDED", "UNREADABLE",
}  # fmt: skip
_everything = False


def is_wanted(item: pytest.Item, seen: set[object]) -> bool:
    """Whether the default run takes a test; `seen` holds what earlier rows stood for, and is added to."""
    mark = item.get_closest_marker("thorough")
    if mark is None:
        return True
    kinds = set(mark.kwargs) - {"table"}
    if mark.args or kinds - {"keep", "one_for", "leave_out"} or ("leave_out" in kinds and len(kinds) > 1):
        raise pytest.UsageError(
            f"{item.nodeid}: the mark `thorough` takes keep=(patterns) and one_for=parameters, or leave_out=(patterns), "
            "and table=True"
        )
    row = getattr(item, "callspec", None)
    if row is None:
        return bool(mark.kwargs)
    if not kinds & {"keep", "one_for"}:
        return bool(mark.kwargs) and not fits(row.id, mark.kwargs.get("leave_out", ()))
    names = mark.kwargs.get("one_for", ())
    names = (names,) if isinstance(names, str) else names
    stands_for = (item.nodeid.partition("[")[0], *(repr(row.params[name]) for name in names))
    is_first = bool(names) and stands_for not in seen
    seen.add(stands_for)
    return is_first or fits(row.id, mark.kwargs.get("keep", ()))


def take_everything(everything: bool) -> None:
    """Say whether this run takes all rows and all examples; `examples` is called while modules of tests are imported."""
    global _everything
    _everything = everything


def examples(count: int) -> int:
    """How many of `count` examples this run takes: all of them with `--thorough`, else a third.

    For searches of some hundred examples whose tenth already shows a gross fault. CI takes the same ones each time.
    """
    return count if _everything else -(-count // SHARE)


def takes_fewest() -> bool:
    """Whether laws judge the fewest cases that a verdict needs, of targets that should hold: in all runs but with `--thorough`."""
    return not _everything


def checks_shapes(name: str) -> bool:
    """Whether a test checks the shapes of signatures: each third, by its name, of the house rules all, and all with `--thorough`."""
    return _everything or name.startswith("tests/quality/") or crc32(name.encode()) % SHARE == 0


def searches_far(name: str) -> bool:
    """Whether the steps of a test are searched far out: all in two rooms, of other tests each twelfth, by its name."""
    return _everything or name.startswith(FAR_ROOMS) or crc32(name.encode()) % FAR == 0


def fits(name: str, patterns: Iterable[str]) -> bool:
    """Whether the id of a row fits one of the patterns."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def is_outcome(value: object) -> bool:
    """Whether a parameter says what a row comes to: a bool, a verdict, or verdicts by their names."""
    if isinstance(value, str | list | tuple):
        names = value.split() if isinstance(value, str) else value
        return bool(names) and all(name in VERDICTS for name in names)
    return isinstance(value, bool | Enum)


def take_part(rows: Sequence[pytest.Item]) -> list[pytest.Item]:
    """Return the rows of a table that the default run takes: every third or fourth, at least three, and one for each outcome."""
    share = WIDE_SHARE if len(rows) >= WIDE else SHARE
    step = max(1, min(share, len(rows) // SHARE))
    params: list[dict[str, object]] = [row.callspec.params for row in rows]  # type: ignore[attr-defined]
    outcomes = [{(name, repr(value)) for name, value in given.items() if is_outcome(value)} for given in params]
    seen = set().union(*outcomes[::step])
    part = []
    for index, row in enumerate(rows):
        if index % step == 0 or outcomes[index] - seen:
            part.append(row)
            seen |= outcomes[index]
    return part


def is_of_table(item: pytest.Item) -> bool:
    """Whether a test is a row of a table: its mark says so, or it is a row of derivations that no mark chooses."""
    if not hasattr(item, "callspec"):
        return False
    mark = item.get_closest_marker("thorough")
    if mark is not None and mark.kwargs.get("table"):
        return True
    is_chosen = mark is not None and "leave_out" not in mark.kwargs
    return item.nodeid.startswith(TABLES) and not item.nodeid.startswith(CHEAP) and not is_chosen


def split(items: Iterable[pytest.Item], whole: Collection[Path] = ()) -> tuple[list[pytest.Item], list[pytest.Item]]:
    """Return what the default run takes, and what it leaves out; tables in the files `whole` are taken whole."""
    items = list(items)
    seen: set[object] = set()
    wanted = [item for item in items if is_wanted(item, seen)]
    tables: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in wanted:
        if is_of_table(item) and item.path not in whole:
            tables[item.nodeid.partition("[")[0]].append(item)
    kept = {item.nodeid for item in wanted}
    for rows in tables.values():
        kept -= {row.nodeid for row in rows} - {row.nodeid for row in take_part(rows)}
    return [item for item in items if item.nodeid in kept], [item for item in items if item.nodeid not in kept]


def require_fitting_patterns(items: Iterable[pytest.Item]) -> None:
    """Refuse a pattern that fits no row of its test: a row was renamed, and the sweep would lose or keep it unseen."""
    marked: dict[str, tuple[pytest.Mark, list[str]]] = {}
    for item in items:
        mark, row = item.get_closest_marker("thorough"), getattr(item, "callspec", None)
        if mark is not None and row is not None:
            marked.setdefault(item.nodeid.partition("[")[0], (mark, []))[1].append(row.id)
    for name, (mark, rows) in marked.items():
        for pattern in (*mark.kwargs.get("keep", ()), *mark.kwargs.get("leave_out", ())):
            if not any(fits(row, (pattern,)) for row in rows):
                raise pytest.UsageError(f"{name}: no row fits {pattern!r} of its mark `thorough`")


def deselect(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the default run its part of the sweeps, unless all are asked for, or one test by its name."""
    if config.getoption(OPTION) or any("[" in argument for argument in config.args):
        return
    if not config.getoption("lf", False):  # which collects a part of the rows
        require_fitting_patterns(items)
    named = {Path(abspath(config.invocation_params.dir / argument.partition("::")[0])) for argument in config.args}
    items[:], left_out = split(items, named)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
