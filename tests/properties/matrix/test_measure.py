"""Runs of the matrix: what a second run gives, what accounts for a refutation, and what is run again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from attention_core.matrix import __main__ as command
from attention_core.matrix import measure, page
from attention_core.matrix.rows import Row

LAW = "garbage_is_not_turned_into_a_number"


def report(verdict: str, *refuted: str, held: int = 0, **more: Any) -> dict[str, Any]:
    laws = [{"law": law, "status": "refuted", "counterexample": {"snippet": f"# {law}"}} for law in refuted]
    laws += [{"law": f"law_{i}", "status": "held"} for i in range(held)]
    return {"verdict": verdict, "laws": laws, "line": "line", **more}


def test_the_second_run_gives_what_the_first_one_advises() -> None:
    row = Row("m:f", "p", options=("--causal", "bottom_right"))
    first = {"first_look": {"agrees": True, "options": "--layout bnhd"}, "under_found": {"untested": ["sinks"]}}
    assert measure.advise(first, row) == ["--layout", "bnhd", "--untested", "sinks", "--causal", "bottom_right"]
    assert measure.advise({"first_look": {"agrees": False, "options": "--layout bnhd"}}, row) == [*row.options]
    found = {"first_look": {"agrees": True, "options": "--causal bottom_right --layout bnhd"}}
    assert measure.advise(found, row) == ["--causal", "bottom_right", "--layout", "bnhd"]


def test_findings_account_for_all_laws_of_a_row_or_for_none() -> None:
    row = Row("m:f", "p", argued=("NaN becomes 0", "values counted for keys"))
    assert measure.account(row, [LAW]) == [3]
    assert measure.account(row, [LAW, "lengths_of_key_and_value_must_agree"]) == [1, 3]
    assert measure.account(row, [LAW, "stays_finite"]) == [] == measure.account(Row("m:f", "p"), [LAW])


@pytest.mark.parametrize(
    ("row", "reports", "asked", "verdict"),
    [
        (Row("m:f", "p"), [report("conforms", held=2)], [[]], "conforms"),
        (Row("m:f", "p", options=("--scale", "1"), declared=True), [report("refuted", "a")], [["--scale", "1"]], "refuted"),
        (Row("m:f", "p", options=("--scale", "1")), [report("refuted", "a"), report("conforms")], [[], ["--scale", "1"]], "conforms"),
        (Row("m:f", "p", options=("--scale", "1"), argued=("NaN becomes 0",)), [report("refuted", LAW)], [[]], "refuted"),
    ],
    ids=["at once", "declared", "as advised", "argued at once"],
)  # fmt: skip
def test_a_row_is_run_once_where_that_says_it_and_else_twice(
    row: Row, reports: list[dict[str, Any]], asked: list[list[str]], verdict: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[list[str]] = []

    def verify(_: Row, options: list[str], seed: int) -> dict[str, Any]:
        given.append([*options])
        return reports[len(given) - 1]

    monkeypatch.setattr(measure, "verify", verify)
    one = measure.judge(row, 0)
    assert (given, one.verdict, one.first) == (asked, verdict, reports[0]["verdict"])
    assert one.held == len(measure.names(reports[-1], "held")) and one.conventions == " ".join(asked[-1])


def test_what_the_first_run_has_judged_under_the_same_options_is_not_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    look, under = {"agrees": True, "options": "--layout bnhd"}, report("conforms", held=3)
    first = report("refuted", "a", first_look=look, under_found=under)
    runs = [first, first, report("conforms", held=5)]
    monkeypatch.setattr(measure, "verify", lambda row, options, seed: runs.pop(0))
    assert measure.judge(Row("m:f", "p"), 0).held == 3 and len(runs) == 2
    assert measure.judge(Row("m:f", "p", options=("--scale", "1")), 0).held == 5 and not runs


def test_what_a_package_wants_and_is_not_there_refutes_nothing() -> None:
    missing = {
        "law": "a",
        "status": "refuted",
        "message": "a valid call raised ModuleNotFoundError: No module named 'x'",
    }
    assert measure.verdict({"verdict": "refuted", "laws": [missing]}) == "error" == measure.verdict({})


def test_a_row_that_is_there_is_run_again_only_when_that_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = (Row("m:f", "torch"), Row("m:g", "torch", "JAX"), Row("m:h", "no-such-package"))
    runs: list[str] = []

    def judge(row: Row, seed: int) -> measure.Record:
        runs.append(row.target)
        return measure.Record(
            row.package, measure.release(row), row.target, row.runtime, row.contract, "conforms", "conforms"
        )

    monkeypatch.setattr(command, "ROWS", rows)
    monkeypatch.setattr(measure, "judge", judge)
    data, text = tmp_path / "matrix.json", tmp_path / "matrix.md"
    for options in ([], [], ["--again", "--only", "JAX"], ["--none", "--page", str(text)]):
        command.main(["--data", str(data), *options])
    assert runs == ["m:f", "m:g", "m:g"] and "no-such-package is not installed" in capsys.readouterr().out
    assert text.read_text() == page.make(page.order(measure.read(data).values()))


def test_shards_join_to_the_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "ROWS", tuple(Row(f"m:{name}", "torch") for name in "abcde"))
    monkeypatch.setattr(
        measure,
        "judge",
        lambda row, seed: measure.Record("torch", measure.release(row), row.target, "torch", "", "", ""),
    )
    files = [str(tmp_path / name) for name in ("1.json", "2.json", "all.json")]
    for i, file in enumerate(files[:2]):
        command.main(["--data", file, "--shard", f"{i + 1}/2"])
    assert [len(measure.read(Path(file))) for file in files[:2]] == [3, 2]
    command.main(["--data", files[2], "--none", "--join", *files[:2]])
    assert [key[0] for key in measure.read(Path(files[2]))] == [f"m:{name}" for name in "abcde"]
    with pytest.raises(SystemExit, match="--shard 3/2 is not I/N"):
        command.main(["--data", files[2], "--shard", "3/2"])


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    path.write_text(json.dumps({"rows": [{"package": "p"}]}))
    with pytest.raises(ValueError, match=r"is not a file of `python -m attention_core\.matrix --data`"):
        measure.read(path)
