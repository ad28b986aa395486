"""Runs on several machines: every target is one shard's, and merged reports are those of one run, whatever N."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from attention_core.cli import main
from attention_core.conformance.first_look.findings import FirstLook
from attention_core.conformance.report.law_result import Counterexample, LawResult
from attention_core.conformance.report.results import Report, to_json
from attention_core.conformance.report.shards import (
    Shard,
    merge_files,
    merge_trials,
    read_shard,
    report_from_dict,
    shard_to_json,
    trials_to_json,
)
from attention_core.declaration.implementation import Implementation, TargetError

CASE = Counterexample(
    "agrees_with_truth", "got nan, but should be 0", "float32 n_q=1", {"x": [1]}, "assert False", float("nan"), 0.0,
    float("inf"), event="", shrunk=True,
)  # fmt: skip


def report(target: str, status: str = "held", **changes: Any) -> Report:
    law = LawResult(
        "agrees_with_truth", status, 3, 0.1, CASE if status == "refuted" else None, "m", "value", powers={"x": 2}
    )
    settings: dict[str, Any] = {
        "declared": Implementation(None, name=target).as_dict(),
        "laws": [law],
        "ratios": {"float32/out": 0.5},
    }
    return Report(target, **{**settings, **changes})


def rich_report() -> Report:
    look = FirstLook(
        ("takes q",), {"layout": "bnhd", "dtypes": ("float32",)}, agrees=True, calls=3, seconds=0.5, unjudged="a mask"
    )
    under = report("a.py:f", problem="not yet", failed=True)
    return report(
        "a.py:f", "refuted", first_look=look, under_found=under, advice=["a"], explained=["agrees_with_truth"], partial=True,
        asked="asked", notes=["n"], untested=["s"], accepted_untested=["t"], constructed=["s"], fixed=["E=4"],
        waived={"gradients=False": ["query_gradient_is_true"]},
    )  # fmt: skip


@pytest.mark.parametrize(
    "one", [rich_report(), report("b:f"), Report("c", unavailable="no GPU"), report("d:f", "error")]
)
def test_a_report_read_back_is_the_report(one: Report) -> None:
    text = one.to_json()
    back = report_from_dict(json.loads(text))
    assert back.to_json() == text
    assert (back.verdict, back.reason(), back.missing()) == (one.verdict, one.reason(), one.missing())
    assert all(isinstance(found.bound, float) for found in back.counterexamples)


@given(st.lists(st.text(min_size=1), unique=True, max_size=9), st.integers(1, 12))
def test_every_target_is_judged_by_one_shard(targets: list[str], of: int) -> None:
    parts = [Shard(index, of, tuple(targets)).choose() for index in range(1, of + 1)]
    assert sorted(target for part in parts for target in part) == sorted(targets)
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


@pytest.mark.parametrize("text", ["0/2", "3/2", "1", "1/", "-1/2", "1/2/3", "a/b", " 1/2", "1/0", "²/2"])
def test_what_is_not_a_shard_is_refused(text: str) -> None:
    with pytest.raises(TargetError, match="is not I/N"):
        read_shard(text, [])


def write_shards(folder: Path, of: int, names: tuple[str, ...] = ("a:f", "b:f", "c:f"), **changes: Any) -> list[Path]:
    paths = []
    for index in range(1, of + 1):
        shard = Shard(index, of, names)
        path = folder / f"{of}-{index}.json"
        path.write_text(shard_to_json(shard, [report(name, **changes) for name in shard.choose()]), encoding="utf-8")
        paths.append(path)
    return paths


@pytest.mark.parametrize("of", [1, 2, 3, 4])
def test_merged_reports_do_not_depend_on_the_number_of_shards(tmp_path: Path, of: int) -> None:
    merged = merge_files(write_shards(tmp_path, of)[::-1])
    assert to_json(merged) == to_json([report(name) for name in ("a:f", "b:f", "c:f")])


def test_what_does_not_belong_together_is_refused(tmp_path: Path) -> None:
    one, two = write_shards(tmp_path, 2)
    other = tmp_path / "other"
    other.mkdir()
    foreign = write_shards(other, 2, ("a:f", "z:f"))
    whole = tmp_path / "whole.json"
    whole.write_text(report("q:f").to_json(), encoding="utf-8")
    unfinished = tmp_path / "unfinished.json"
    unfinished.write_text(shard_to_json(Shard(2, 2, ("a:f", "b:f", "c:f")), []), encoding="utf-8")
    later = tmp_path / "later"
    later.mkdir()
    seeded = write_shards(later, 2, seed=7)
    for paths, words in (
        ([one], "shard 2/2 is missing"), ([one, one, two], "are both shard 1/2"), ([one, foreign[1]], "of different runs"),
        ([one, two, whole], "others are whole runs"), ([whole, whole], "both report on q:f"), ([one, unfinished], "no report on b:f"),
        ([one, seeded[1]], "seed 0, and .* seed 7"), ([tmp_path / "missing.json"], "cannot be read: No such file"),
    ):  # fmt: skip
        with pytest.raises(TargetError, match=words):
            merge_files(paths)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "not valid JSON"), ("[" * 100_000, "not valid JSON"), ("[]", "is not a report"), ('{"schema_version": 2}', "is not a report"),
        ('{"schema_version": 1, "reports": 3}', "is not a report"), ('{"schema_version": 1}', "cannot be read: 'first_look'"),
        ('{"schema_version": 1, "shard": {"index": 1}, "reports": []}', "which shard"), ('{"schema_version": 1, "reports": [3]}', "cannot be read"),
    ],
)  # fmt: skip
def test_a_file_that_is_not_a_report_is_one_line(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text, encoding="utf-8")
    result = CliRunner().invoke(main, ["merge", str(path)])
    assert result.exit_code == 2 and words in result.output and result.output.count("\n") == 1, result.output


def test_the_command_shows_verdicts_and_ends_as_verify_does(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    good.write_text(report("a:f").to_json(), encoding="utf-8")
    bad.write_text(rich_report().to_json(), encoding="utf-8")
    html = tmp_path / "page.html"
    result = CliRunner().invoke(main, ["merge", str(good), str(bad), "--html", str(html)])
    assert result.exit_code == 1, result.output
    assert "a.py:f" in result.output and "agrees_with_truth" in result.output
    assert "assert False" in html.read_text(encoding="utf-8")
    assert CliRunner().invoke(main, ["merge", str(good), "-q"]).exit_code == 0


def test_shards_of_a_command_merge_to_its_run(tmp_path: Path) -> None:
    targets = [f"{tmp_path / name}.py:f" for name in "abc"]  # none of them is there: errors cost nothing
    for index in (1, 2):
        words = ["verify", *targets, "--shard", f"{index}/2", "--json", str(tmp_path / f"{index}.json"), "-q"]
        assert CliRunner().invoke(main, words).exit_code == 2
    merged = merge_files([tmp_path / "2.json", tmp_path / "1.json"])
    assert [one.target for one in merged] == targets
    assert {one.verdict for one in merged} == {"error"}
    empty = CliRunner().invoke(main, ["verify", targets[0], "--shard", "2/2"])
    assert empty.exit_code == 0 and "shard 2/2 has no target: there are 1" in empty.output
    assert CliRunner().invoke(main, ["verify", targets[0], "--shard", "2"]).exit_code == 2


def trials_of(folder: Path, of: int) -> list[Path]:
    keys = [f"k{number}" for number in range(11)]
    paths = []
    for index in range(1, of + 1):
        shard = read_shard(f"{index}/{of}", keys)
        own = [{"key": key, "refuting": ["a_law"] * (key != "k3")} for key in shard.choose()]
        paths.append(folder / f"{index}-{of}.json")
        paths[-1].write_text(trials_to_json(own, shard))
    return paths


def test_trials_of_shards_are_those_of_one_run(tmp_path: Path) -> None:
    merged = [merge_trials(trials_of(tmp_path, of)) for of in (1, 2, 4, 20)]
    assert all(one == merged[0] for one in merged) and len(merged[0]) == 11
    found = CliRunner().invoke(main, ["merge", *map(str, trials_of(tmp_path, 4)), "--json", str(tmp_path / "all.json")])
    assert found.exit_code == 0 and "11 trials, 10 refuted" in found.output, found.output
    assert json.loads((tmp_path / "all.json").read_text())["trials"] == merged[0]
    assert CliRunner().invoke(main, ["merge", str(trials_of(tmp_path, 1)[0]), "--html", "x"]).exit_code == 2


def test_trials_that_are_missing_are_said(tmp_path: Path) -> None:
    paths = trials_of(tmp_path, 4)
    with pytest.raises(TargetError, match="shard 4/4 is missing"):
        merge_trials(paths[:3])
    data = json.loads(paths[1].read_text())
    paths[1].write_text(json.dumps({**data, "trials": data["trials"][1:]}))
    with pytest.raises(TargetError, match="no trial k1"):
        merge_trials(paths)
    paths[1].write_text(to_json([report("a:f")]))
    with pytest.raises(TargetError, match="others are whole runs"):
        merge_trials(paths)
