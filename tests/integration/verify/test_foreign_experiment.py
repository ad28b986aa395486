"""experiments/foreign: what its second run gives, and its page, which keeps the right ones and the faulty ones apart."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

FOLDER = Path(__file__).parents[3] / "experiments" / "foreign"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The experiment as a module; its neighbour `targets` goes with it."""
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.delitem(sys.modules, "targets", raising=False)
    spec = importlib.util.spec_from_file_location("foreign_run", FOLDER / "run.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def result(function: str, *verdicts: str, **fields: Any) -> dict[str, Any]:
    known: dict[str, Any] = {
        "function": function, "contract": "attention", "package": "p", "version": "1.0", "verdicts": list(verdicts),
        "options": [], "refuted": [[] for _ in verdicts], "last": ["said"],
    }  # fmt: skip
    return known | fields


def test_the_second_run_gives_what_the_first_one_advises(script: ModuleType) -> None:
    row = script.Row("f", "p", options=("--causal", "bottom_right"))
    report = {"first_look": {"agrees": True, "options": "--layout bnhd"}, "under_found": {"untested": ["sinks"]}}
    assert script.advised(report, row) == ["--layout", "bnhd", "--untested", "sinks", "--causal", "bottom_right"]
    assert script.advised({"first_look": {"agrees": False, "options": "--layout bnhd"}}, row) == [*row.options]


def test_a_refutation_is_a_true_fault_only_where_all_its_laws_are_known(script: ModuleType) -> None:
    row = script.Row("f", "p", faults=("a", "b"))
    for laws, verdict in ((["a"], "true fault"), (["a", "c"], "refuted")):
        report = {"verdict": "refuted", "laws": [{"law": law, "status": "refuted"} for law in laws]}
        assert script.verdict({"report": report}, row) == verdict


def test_the_page_counts_right_ones_alone(script: ModuleType) -> None:
    found = [
        result("f", "conforms"), result("g", "refuted", "conforms", options=["--sizes", "d > 2"]),
        result("h", "true fault", refuted=[["a"]]), result("i", "refuted", "refuted"),
    ]  # fmt: skip
    page = script.page(found, ["j"])
    assert "**2 right implementations conform, 1 others are judged otherwise" in page and "1 conform at once" in page
    assert "`--sizes 'd > 2'`" in page and "* h: a" in page and "* i: " in page and "Not run: j." in page


def test_targets_are_named_as_the_command_line_takes_them(script: ModuleType) -> None:
    names = [script.target_of(script.Row(name, "p")) for name in ("f", "jax_targets.py:f", "timm.layers:Attention")]
    assert names == [f"{FOLDER / 'targets.py'}:f", f"{FOLDER / 'jax_targets.py'}:f", "timm.layers:Attention"]


def test_a_row_that_declares_its_conventions_is_run_once_with_them(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[str]] = []

    def verify(row: Any, options: list[str], seed: int) -> dict[str, Any]:
        asked.append([*options])
        return {"report": {"verdict": "refuted", "laws": []}, "text": ["said"], "seconds": 1.0}

    monkeypatch.setattr(script, "verify", verify)
    found = script.judge(script.Row("f", "p", options=("--dead-rows", "nan"), declared=True), 0)
    assert asked == [["--dead-rows", "nan"]] and found["options"] == ["--dead-rows", "nan"]


def test_kernels_in_triton_have_a_page_of_their_own(script: ModuleType) -> None:
    page = script.page([result("f", "conforms"), result("h", "true fault", refuted=[["a"]])], [], triton=True)
    assert page.startswith("# Foreign kernels in Triton\n") and "conform at once" not in page and "21 to 24" in page
    assert len({row.function for row in script.TRITON}) == len(script.TRITON) >= 12
    assert all(row.declared and "triton" in row.options for row in script.TRITON)
