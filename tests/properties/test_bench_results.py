# Results as JSON and back, files that hold none, and writing that leaves the last complete file.
"""Results of benchmarks."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from attention_core.bench.results import Cell, Column, Results, read_results, write_text
from attention_core.bench.statistics import Comparison
from attention_core.bench.workload import Workload
from attention_core.conformance.implementation import TargetError


def example() -> Results:
    ratio = Comparison(1.5, 1.4, 1.6, 1.5, 20, 18.0, "SLOWER")
    timed = Column("timed", seconds=1e-3, low=9e-4, high=1.1e-3, comparison=ratio, share=0.5,
                   errors={"out": {"rms": 1e-7, "max": 1e-6}, "key": {"rms": 2e-7, "max": 1e-6}}, samples=[[1e-3, 1.1e-3]])  # fmt: skip
    cell = Cell(
        Workload(n_q=4, n_kv=4), "base", {"k": timed, "wrong": Column("refuted", "on these inputs")}, 1e-4, "exp"
    )
    return Results({"processor": "p"}, {"python": "3"}, {"seconds": 1.0}, {"flops": {"float32": 1.0}, "exponentials": 2.0, "bandwidth": {"1": 1.0}},
                   {"k": {"verdict": "conforms", "reason": ""}}, [cell])  # fmt: skip


def test_json_comes_back() -> None:
    found = Results.from_dict(json.loads(example().to_json()))
    assert found == example()
    assert found.cell(Workload(n_q=4, n_kv=4)) == found.cells[0]
    assert found.cell(Workload(n_q=5, n_kv=5)) is None


def test_the_error_shown_is_the_largest() -> None:
    assert example().cells[0].kernels["k"].rms == 2e-7
    assert Column("cannot").rms is None


def test_infinite_ends_are_null() -> None:
    results = example()
    results.cells[0].kernels["k"].comparison = Comparison(1.5, 0.0, math.inf, 1.5, 3, 3.0, "AMBIGUOUS")
    text = results.to_json()
    assert "Infinity" not in text
    read = Results.from_dict(json.loads(text)).cells[0].kernels["k"].comparison
    assert read is not None and read.high is None


BAD = {
    "not json": "is not JSON",
    "[]": "holds no results",
    "{}": "it is no file that `attention-core bench --json` of this version wrote",
    '{"kind": "attention-core bench", "schema_version": 99}': "of this version",
    '{"kind": "attention-core bench", "schema_version": 1}': "its cells cannot be read",
    '{"kind": "attention-core bench", "schema_version": 1, "cells": [3]}': "its cells cannot be read",
}


@pytest.mark.parametrize("text", BAD)
def test_files_that_hold_no_results(text: str, tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_text(text)
    with pytest.raises(TargetError) as found:
        read_results(path)
    assert BAD[text] in str(found.value)
    assert str(found.value).startswith(str(path))


def test_a_workload_edited_by_hand_is_told(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_text(example().to_json().replace('"H_kv": 8', '"H_kv": 3'))
    with pytest.raises(TargetError, match="no multiple of H_kv=3"):
        read_results(path)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"seconds": 0.001', '"seconds": "soon"'),
        ('"seconds": 0.001', '"seconds": null'),
        ('"rms": 1e-07', '"rms": []'),
        ('"status": "timed"', '"status": "done"'),
        ('"ratio": 1.5', '"ratio": null'),
        ('"verdict": "SLOWER"', '"verdict": "SLOW"'),
        ('"verdict": "conforms"', '"verdict": 3'),
        ('"binding": "exp"', '"binding": {}'),
        ('"exponentials": 2.0', '"exponentials": "2"'),
        ('"processor": "p"', '"processor": "p"}, "settings": [], "more": {"x": 1'),
        ('"kernels": {', '"kernels": 3, "rest": {'),
    ],
)
def test_a_file_that_somebody_changed_is_told(old: str, new: str, tmp_path: Path) -> None:
    """What is shown of it at the end of a run of hours must not fail then."""
    path = tmp_path / "r.json"
    text = example().to_json()
    assert old in text
    changed = json.dumps(json.loads(text) | {"settings": []}) if "more" in new else text.replace(old, new, 1)
    path.write_text(changed)
    with pytest.raises(TargetError, match="its cells cannot be read"):
        read_results(path)


def test_an_error_that_is_not_finite_comes_back() -> None:
    results = example()
    results.cells[0].kernels["k"].errors["out"] = {"rms": math.inf, "max": math.inf}
    column = Results.from_dict(json.loads(results.to_json())).cells[0].kernels["k"]
    assert column.rms == 2e-7


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="cannot be read: No such file"):
        read_results(tmp_path / "nothing.json")


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    write_text(path, "first")
    write_text(path, "second")
    assert path.read_text() == "second"
    with pytest.raises(TargetError, match="cannot be written"):
        write_text(tmp_path / "no folder" / "r.json", "x")
    with pytest.raises(UnicodeEncodeError):
        write_text(path, "\udcff")
    assert path.read_text() == "second"
