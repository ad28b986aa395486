"""The mark `thorough`: which rows of a sweep the default run keeps."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import thorough


def row(identity: str, mark: pytest.Mark | None, **params: Any) -> Any:
    """A stand-in of a collected test with parameters."""
    spec = SimpleNamespace(id=identity, params=params)
    return SimpleNamespace(nodeid=f"t.py::test_f[{identity}]", callspec=spec, get_closest_marker={"thorough": mark}.get)


def kept(rows: list[Any]) -> list[str]:
    wanted, left_out = thorough.split(rows)
    assert len(wanted) + len(left_out) == len(rows)
    return [item.callspec.id for item in wanted]


def test_rows_without_the_mark_are_kept_and_with_the_bare_mark_are_not() -> None:
    bare = pytest.mark.thorough.mark
    assert kept([row("a", None), row("b", bare), row("c", None)]) == ["a", "c"]
    plain = SimpleNamespace(nodeid="t.py::test_g", get_closest_marker={"thorough": bare}.get)
    assert thorough.split([plain]) == ([], [plain])


def test_patterns_keep_the_rows_that_they_fit() -> None:
    mark = pytest.mark.thorough(keep=("*bool*", "c")).mark
    assert kept([row("a-bool-3", mark), row("b", mark), row("c", mark)]) == ["a-bool-3", "c"]


def test_patterns_leave_out_the_rows_that_they_fit() -> None:
    mark = pytest.mark.thorough(leave_out=("*bool*", "c")).mark
    assert kept([row("a-bool-3", mark), row("b", mark), row("c", mark)]) == ["b"]


def test_the_first_row_for_each_value_is_kept() -> None:
    mark = pytest.mark.thorough(one_for=("law", "kind"), keep=("past",)).mark
    rows = [
        row("1", mark, law="x", kind=1, n=1),
        row("2", mark, law="x", kind=1, n=2),
        row("3", mark, law="x", kind=2, n=1),
    ]
    assert kept([*rows, row("past", mark, law="x", kind=1, n=3)]) == ["1", "3", "past"]


@pytest.mark.parametrize(
    "mark", [pytest.mark.thorough("a"), pytest.mark.thorough(but=("a",)), pytest.mark.thorough(leave_out=(), keep=())]
)
def test_a_misspelt_mark_is_refused(mark: pytest.MarkDecorator) -> None:
    with pytest.raises(pytest.UsageError, match="takes keep"):
        thorough.split([row("a", mark.mark)])


@pytest.mark.parametrize(
    ("option", "arguments", "left"), [(False, ["tests"], 1), (True, ["tests"], 2), (False, ["t.py::test_f[b]"], 2)]
)
def test_everything_runs_when_asked_for(option: bool, arguments: list[str], left: int) -> None:
    told: list[Any] = []
    hook = SimpleNamespace(pytest_deselected=lambda items: told.extend(items))
    config: Any = SimpleNamespace(
        getoption=lambda name, default=None: option if name == "--thorough" else default, args=arguments, hook=hook
    )
    items = [row("a", None), row("b", pytest.mark.thorough.mark)]
    thorough.deselect(config, items)
    assert len(items) == left and len(told) == 2 - left


def test_a_pattern_that_fits_no_row_is_refused() -> None:
    rows = [row("a", pytest.mark.thorough(keep=("a", "renamed_*")).mark)]
    with pytest.raises(pytest.UsageError, match=r"t\.py::test_f: no row fits 'renamed_\*'"):
        thorough.require_fitting_patterns(rows)
    thorough.require_fitting_patterns([row("a", pytest.mark.thorough(leave_out=("a",)).mark)])


def test_a_search_takes_a_third_of_its_examples_and_all_in_the_thorough_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thorough, "_everything", False)
    assert [thorough.examples(count) for count in (300, 100, 1)] == [100, 34, 1]
    thorough.take_everything(True)
    assert thorough.examples(300) == 300
