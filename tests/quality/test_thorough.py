"""The mark `thorough` and tables of derivations: which rows the default run keeps."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import thorough

from attention_core.derivation import check
from attention_core.derivation.effort import Effort
from attention_core.derivation.records import Verdict

ROOT = Path(__file__).resolve().parents[2]
FILE = f"{thorough.TABLES}decision/test_slips.py"
"""A file of tables."""


def row(identity: str, mark: pytest.Mark | None, file: str = "t.py", **params: Any) -> Any:
    """A stand-in of a collected test with parameters."""
    spec = SimpleNamespace(id=identity, params=params)
    return SimpleNamespace(
        nodeid=f"{file}::test_f[{identity}]", path=Path("/project", file), callspec=spec,
        get_closest_marker={"thorough": mark}.get,
    )  # fmt: skip


def kept(rows: list[Any], whole: Sequence[Path] = ()) -> list[str]:
    wanted, left_out = thorough.split(rows, whole)
    assert len(wanted) + len(left_out) == len(rows)
    return [item.callspec.id for item in wanted]


def table(count: int, mark: pytest.Mark | None = None, file: str = FILE, **params: list[Any]) -> list[Any]:
    """So many rows of a test of derivations, each with its values of the parameters."""
    return [row(str(i), mark, file, **{name: values[i] for name, values in params.items()}) for i in range(count)]


def test_rows_without_the_mark_are_kept_and_with_the_bare_mark_are_not() -> None:
    bare = pytest.mark.thorough.mark
    assert kept([row("a", None), row("b", bare), row("c", None)]) == ["a", "c"]
    for mark, wanted in ((bare, False), (pytest.mark.thorough(keep=("*",)).mark, True), (None, True)):
        plain = SimpleNamespace(nodeid="t.py::test_g", get_closest_marker={"thorough": mark}.get)
        assert thorough.split([plain]) == (([plain], []) if wanted else ([], [plain]))


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
    "mark",
    [
        pytest.mark.thorough("a"),
        pytest.mark.thorough(but=("a",), table=True),
        pytest.mark.thorough(leave_out=(), keep=()),
    ],
)
def test_a_misspelt_mark_is_refused(mark: pytest.MarkDecorator) -> None:
    with pytest.raises(pytest.UsageError, match="takes keep"):
        thorough.split([row("a", mark.mark)])


@pytest.mark.parametrize(
    ("option", "arguments", "left"), [(False, ["tests"], 1), (True, ["tests"], 2), (False, ["t.py::test_f[b]"], 2)]
)
def test_everything_runs_when_asked_for(option: bool, arguments: list[str], left: int) -> None:
    items = [row("a", None), row("b", pytest.mark.thorough.mark)]
    left_out = deselect(items, arguments, option)
    assert len(items) == left and len(left_out) == 2 - left


def deselect(items: list[Any], arguments: list[str], option: bool = False) -> list[Any]:
    """What a run in /project with these arguments leaves out of the items."""
    left_out: list[Any] = []
    hook = SimpleNamespace(pytest_deselected=lambda items: left_out.extend(items))
    config: Any = SimpleNamespace(
        getoption=lambda name, default=None: option if name == "--thorough" else default, args=arguments, hook=hook,
        invocation_params=SimpleNamespace(dir=Path("/project")),
    )  # fmt: skip
    thorough.deselect(config, items)
    return left_out


@pytest.mark.parametrize(("count", "left"), [(1, "0"), (5, "01234"), (6, "024"), (8, "0246"), (9, "036"), (11, "0369")])
def test_of_a_table_of_derivations_every_third_row_is_kept_and_at_least_three(count: int, left: str) -> None:
    assert kept(table(count)) == list(left)
    assert kept([*table(count), *table(2, file=f"{thorough.TABLES}test_other.py")]) == [*left, "0", "1"]


@pytest.mark.parametrize(("count", "left"), [(11, "0 3 6 9"), (12, "0 4 8"), (13, "0 4 8 12")])
def test_of_twelve_rows_or_more_every_fourth_is_kept(count: int, left: str) -> None:
    assert kept(table(count)) == left.split()


def test_a_table_keeps_a_row_for_each_outcome() -> None:
    right = [True] * 9
    assert kept(table(9, right=right)) == ["0", "3", "6"]
    assert kept(table(9, right=[*right[:4], False, False, *right[6:]])) == ["0", "3", "4", "6"]
    named = ["REFUTED"] * 7 + ["UNDECIDED"] * 2
    assert kept(table(9, verdict=named)) == ["0", "3", "6", "7"]
    assert kept(table(9, expected=[Verdict(name) for name in named])) == ["0", "3", "6", "7"]
    assert kept(table(9, verdicts=[[name, "PROVED"] for name in named])) == ["0", "3", "6", "7"]
    words = [f"PROVED {name}" for name in named]
    assert kept(table(9, words=words, right=[*right[1:], False])) == ["0", "3", "6", "7", "8"]


def test_other_values_of_parameters_are_rows_as_any() -> None:
    assert kept(table(9, step=["A B = B A"] * 8 + ["x = 1"], power=[0] * 8 + [1], words=[""] * 9)) == ["0", "3", "6"]


def test_all_verdicts_are_outcomes() -> None:
    assert set(Verdict) == thorough.VERDICTS


def test_a_mark_decides_of_a_table_and_rows_elsewhere_are_none() -> None:
    every = [str(i) for i in range(9)]
    assert kept(table(9, pytest.mark.thorough(keep=("*",)).mark)) == every
    assert kept(table(9, pytest.mark.thorough(keep=("4", "5")).mark)) == ["4", "5"]
    assert kept(table(12, pytest.mark.thorough(leave_out=("0", "4", "11")).mark)) == ["1", "5", "8"]
    for file in ("tests/properties/finetune/test_a.py", f"{thorough.TABLES}graph/test_numbers.py"):
        assert kept(table(9, file=file)) == every


def test_a_mark_makes_a_table_of_any_sweep() -> None:
    file = "tests/properties/finetune/test_a.py"
    assert kept(table(9, pytest.mark.thorough(table=True).mark, file)) == ["0", "3", "6"]
    assert kept(table(9, pytest.mark.thorough(table=True).mark, file), [Path("/project", file)]) == list("012345678")
    assert kept(table(13, pytest.mark.thorough(table=True, keep=("1*", "3", "7")).mark, file)) == ["1", "7", "11"]
    assert kept(table(12, pytest.mark.thorough(table=True, leave_out=("0", "4", "11")).mark, file)) == ["1", "5", "8"]


@pytest.mark.parametrize(
    ("argument", "left"),
    [("tests", 3), (thorough.TABLES, 3), (FILE, 9), (f"{FILE}::test_f", 9), (f"/project/{FILE}", 9),
     ("tests/properties/derivation/decision/test_other.py", 3)],
)  # fmt: skip
def test_a_file_that_is_named_has_its_tables_whole(argument: str, left: int) -> None:
    items = table(9)
    assert len(deselect(items, ["tests/quality", argument])) == 9 - left and len(items) == left


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


def test_each_third_test_checks_shapes_and_all_of_the_thorough_run_do(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"tests/properties/test_a.py::test_f[{i}]" for i in range(3000)]
    monkeypatch.setattr(thorough, "_everything", False)
    assert 900 < sum(map(thorough.checks_shapes, names)) < 1100
    assert thorough.checks_shapes("tests/quality/test_shape_checks.py::test_a_signature_that_lies_is_found")
    thorough.take_everything(True)
    assert all(map(thorough.checks_shapes, names))


def test_each_twelfth_test_of_derivations_searches_far_out_and_all_of_two_rooms_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = [f"{FILE}::test_f[{i}]" for i in range(3000)]
    monkeypatch.setattr(thorough, "_everything", False)
    assert 200 < sum(map(thorough.searches_far, names)) < 300
    assert all(thorough.searches_far(f"{room}test_a.py::test_f") for room in thorough.FAR_ROOMS)
    assert all((ROOT / room).is_dir() for room in thorough.FAR_ROOMS)
    thorough.take_everything(True)
    assert all(map(thorough.searches_far, names))


@pytest.mark.parametrize(("fixtures", "far"), [((), False), (("searched",), True)])
def test_steps_are_searched_far_out_where_a_test_says_so(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, fixtures: tuple[str, ...], far: bool
) -> None:
    efforts: list[int] = []
    monkeypatch.setattr(thorough, "_everything", False)
    monkeypatch.setattr(check, "judge_step", lambda step, effort, *rest: efforts.append(effort.ladder))
    near = next(name for name in map(str, range(99)) if not thorough.searches_far(name))
    asked: Any = SimpleNamespace(path=ROOT / FILE, fixturenames=fixtures, node=SimpleNamespace(nodeid=near))
    conftest = request.config.pluginmanager.getplugin(str(ROOT / "tests" / "conftest.py"))
    conftest.in_brief.__wrapped__(asked, monkeypatch)
    check.judge_step(None, Effort(), True, False)
    assert (efforts[0] > 0) is far
