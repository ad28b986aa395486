"""A report: every number of the table comes from the runs, a run that diverged is shown, JSON is strict."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from finetune.errors import BadInput
from finetune.experiments.experiment import Claim, Experiment, Measure, Setting
from finetune.experiments.report import compact_pairs, table, write_report
from finetune.experiments.texts import NO_TEXT

MEASURES = (Measure("loss", "loss", ratio=True), Measure("size", "parameters", compared=False, digits=0))
MADE_UP = Experiment(
    "made_up", "Made up", "Is it?", "Because.", {"a": "one", "b": "two"}, "a", MEASURES,
    (Claim("b is higher", "loss", "b", "a", "higher"),), lambda *_: {}, Setting(), curve=("curve", "step", "loss"),
)  # fmt: skip


def results(last: float | None = 4.4) -> dict[str, list[dict[str, Any]]]:
    curve = [(1, 3.0), (2, 2.5)]
    return {
        "a": [{"loss": 2.0, "size": 7, "curve": curve}, {"loss": 4.0, "size": 7, "curve": curve}],
        "b": [{"loss": 2.2, "size": 9, "curve": curve}, {"loss": last, "size": 9, "curve": []}],
    }


def test_the_table_has_means_ranges_and_paired_changes() -> None:
    lines = table(MADE_UP, results()).splitlines()
    assert lines[0] == "| variant | loss | change, 95 % interval | parameters |"
    assert lines[2] == "| a | 3.00 (2.00 to 4.00) |  | 7 |"
    assert lines[3] == "| b | 3.30 (2.20 to 4.40) | +10.0 % (+10.0 % to +10.0 %) | 9 |"


def test_a_run_that_diverged_is_shown() -> None:
    assert "| b | 2.20 (2.20 to 2.20, 1 diverged) | diverged | 9 |" in table(MADE_UP, results(None))


@pytest.mark.parametrize("last", [4.4, None])
def test_page_picture_and_json_are_written(tmp_path: Path, last: float | None) -> None:
    page, picture, record = write_report(MADE_UP, results(last), Setting(), NO_TEXT, tmp_path / "new" / "folder")
    text = page.read_text(encoding="utf-8")
    verdict = "not decided" if last is None else "borne out"
    assert "# Made up" in text and f"**{verdict}**: b is higher" in text and "(made_up.png)" in text
    assert picture.read_bytes().startswith(b"\x89PNG")
    found = json.loads(record.read_text(encoding="utf-8"))
    assert found["results"]["a"][0]["curve"] == [[1, 3.0], [2, 2.5]] and found["results"]["b"][1]["loss"] == last


def test_pairs_stand_on_one_line() -> None:
    assert json.loads(compact_pairs(json.dumps([[1, 2.5], [3, -1e-9]], indent=1))) == [[1, 2.5], [3, -1e-9]]
    assert compact_pairs(json.dumps([[1, 2.5]], indent=1)).count("\n") == 2


def test_a_file_in_the_place_of_the_folder_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(BadInput, match="cannot be written"):
        write_report(MADE_UP, results(), Setting(), NO_TEXT, tmp_path / "file" / "folder")
