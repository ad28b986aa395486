"""The course: every notebook runs with its solutions and as it is handed out, and says what is wrong with a wrong answer."""

from __future__ import annotations

import ast
import importlib.util
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

COURSE = Path(__file__).resolve().parents[3] / "course"


def load(path: Path) -> ModuleType:
    """Return a file as a module."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


build = load(COURSE / "build.py")
MISTAKES = load(Path(__file__).with_name("mistakes.py")).MISTAKES
NAMES = [path.stem for path in build.sources()]


@pytest.fixture(autouse=True)
def made_up_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """Notebooks make their data themselves, whatever data there is."""
    monkeypatch.delenv("ATTENTION_CORE_DATA", raising=False)


def cells_of(name: str) -> list[Any]:
    cells: list[Any] = build.read_cells((COURSE / "sources" / f"{name}.md").read_text(encoding="utf-8"))
    return cells


def answers_of(name: str) -> dict[str, str]:
    answers: dict[str, str] = build.read_answers((COURSE / "solutions" / f"{name}.py").read_text(encoding="utf-8"))
    return answers


def run_cell(cell: Any, names: dict[str, Any]) -> Any:
    """Run a cell as a notebook does: in one namespace for all; the value of its last line is what it shows."""
    tree = ast.parse(cell.text)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, f"<{cell.kind} {cell.name}>", "exec"), names)
    if not isinstance(last, ast.Expr):
        return None
    return eval(compile(ast.Expression(last.value), f"<{cell.kind} {cell.name}>", "eval"), names)


def run_checks(cells: list[Any], kinds: set[str], long: bool = False) -> Iterator[tuple[str, Any]]:
    """Yield the answer of each check, cells of other kinds left out."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for cell in cells:
        if cell.kind in kinds and (cell.name != "long" or long):
            shown = run_cell(cell, names)
            if cell.kind == "check":
                yield cell.name, shown


@pytest.mark.thorough(keep=("1_*", "3_*"))
@pytest.mark.slow
@pytest.mark.unmeasured
@pytest.mark.parametrize("name", NAMES)
def test_all_checks_pass_with_the_solutions(name: str, request: pytest.FixtureRequest) -> None:
    cells = build.fill(cells_of(name), answers_of(name))
    long = bool(request.config.getoption("--thorough"))
    for exercise, answer in run_checks(cells, {"setup", "exercise", "check", "experiment"}, long):
        assert answer.right, f"{exercise}: {answer}"


@pytest.mark.unmeasured
@pytest.mark.parametrize("name", NAMES)
def test_what_is_handed_out_is_not_written_yet(name: str) -> None:
    for exercise, answer in run_checks(cells_of(name), {"setup", "exercise", "check"}):
        assert not answer.right and "is not written yet" in str(answer), exercise
        assert "<script" not in answer._repr_html_() and "not yet right" in answer._repr_html_()


@pytest.mark.thorough(leave_out=("1_*", "3_*"))
@pytest.mark.slow
@pytest.mark.unmeasured
@pytest.mark.parametrize("name", NAMES)
def test_a_check_says_what_is_wrong(name: str) -> None:
    cells, answers, names = cells_of(name), answers_of(name), {"__name__": "__main__"}
    for cell in build.fill(cells, answers):
        if cell.kind in ("setup", "exercise"):
            run_cell(cell, names)
    checks = {cell.name: cell for cell in cells if cell.kind == "check"}
    for cell in cells:  # what a check imports is there for those after it
        if cell.kind == "check":
            imports = [line for line in cell.text.splitlines() if line.startswith("from ") and line.count("(") == 0]
            exec("\n".join(imports), names)
    for exercise, wrong, words in MISTAKES[name]:
        run_cell(build.Cell("exercise", exercise, wrong), names)
        answer = run_cell(checks[exercise], names)
        assert not answer.right and words in str(answer), f"{exercise}: {answer}"
        run_cell(build.Cell("exercise", exercise, answers[exercise]), names)


@pytest.mark.parametrize("name", NAMES)
def test_notebooks_are_those_of_their_sources(name: str) -> None:
    """`python course/build.py` writes them."""
    cells = cells_of(name)
    text = (COURSE / f"{name}.ipynb").read_text(encoding="utf-8")
    assert text == build.to_notebook(cells), f"{name}.ipynb is not in step: python course/build.py"
    named = {kind: [cell.name for cell in cells if cell.kind == kind] for kind in ("exercise", "check")}
    assert named["exercise"] == named["check"] == list(answers_of(name))
    notebook = json.loads(text)
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in notebook["cells"])
    assert {exercise for exercise, _, _ in MISTAKES[name]} <= set(named["exercise"])


def test_a_block_of_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="a block of Python is called 'exercize pick'"):
        build.read_cells("```python exercize pick\npick = ...\n```\n")
    with pytest.raises(ValueError, match="answered twice"):
        build.read_answers("# %% pick\n1\n# %% pick\n2\n")
