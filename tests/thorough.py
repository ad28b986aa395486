"""Sweeps: of a test marked `thorough` the default run takes a fixed part, `pytest --thorough` takes all.

A sweep asks the same question of many rows. Every row earned its place once, but few of them can fail while all others
pass. The mark says which rows the default run keeps:

    @pytest.mark.thorough                                      no row
    @pytest.mark.thorough(keep=("*bool*", "causal-7"))         the rows whose id fits one of the patterns
    @pytest.mark.thorough(one_for="law")                       the first row for each value of the parameter
    @pytest.mark.thorough(one_for=("law", "kind"))             the first row for each pair of values
    @pytest.mark.thorough(leave_out=("*-float16",))            all rows but those whose id fits one of the patterns

`keep` and `one_for` together keep what either keeps. A row may be marked as well: `pytest.param(..., marks=pytest.mark.thorough)`. A test
that is named on the command line with its parameters always runs.
"""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase

import pytest

OPTION = "--thorough"
SHARE = 3
"""The default run takes one in so many of the examples that a search by Hypothesis is given."""
_everything = False


def is_wanted(item: pytest.Item, seen: set[object]) -> bool:
    """Whether the default run takes a test; `seen` holds what earlier rows stood for, and is added to."""
    mark = item.get_closest_marker("thorough")
    if mark is None:
        return True
    unknown = set(mark.kwargs) - {"keep", "one_for", "leave_out"}
    if mark.args or unknown or ("leave_out" in mark.kwargs and len(mark.kwargs) > 1):
        raise pytest.UsageError(
            f"{item.nodeid}: the mark `thorough` takes keep=(patterns) and one_for=parameters, or leave_out=(patterns)"
        )
    row = getattr(item, "callspec", None)
    if row is None:
        return False
    if "leave_out" in mark.kwargs:
        return not fits(row.id, mark.kwargs["leave_out"])
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


def fits(name: str, patterns: Iterable[str]) -> bool:
    """Whether the id of a row fits one of the patterns."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def split(items: Iterable[pytest.Item]) -> tuple[list[pytest.Item], list[pytest.Item]]:
    """Return what the default run takes, and what it leaves out."""
    seen: set[object] = set()
    wanted: list[pytest.Item] = []
    left_out: list[pytest.Item] = []
    for item in items:
        (wanted if is_wanted(item, seen) else left_out).append(item)
    return wanted, left_out


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
    items[:], left_out = split(items)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
