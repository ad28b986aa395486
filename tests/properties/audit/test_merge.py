"""Shards of an audit: each fault is one shard's, and merged they are the same audit, whatever their number."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

from attention_core.audit.merge import is_audit, merge_audits
from attention_core.audit.results import Audit, Fate
from attention_core.audit.run import choose_shard, judge_faults
from attention_core.audit.trial import Request
from attention_core.cli import main
from attention_core.conformance.report.shards import Shard
from attention_core.declaration.implementation import TargetError
from attention_core.faults.row import Row
from attention_core.report_page.schemas import read_schema

ROWS = [Row(str(number), lambda: None, "", ("own",)) for number in range(23)]


class Known:
    """In the place of a trial: every third fault cannot be told from the target; the suite misses every fifth."""

    def __init__(self) -> None:
        self.suites: list[str] = []

    def close(self) -> None: ...

    def ask_laws(self, row: Row) -> Fate:
        left_out = int(row.name) % 3 == 0
        return Fate(row.name, "a fault", "masking", status="left_out" if left_out else "survived", law="l")

    def fate(self, row: Row) -> Fate:
        fate = self.ask_laws(row)
        if fate.status == "left_out":
            return fate
        self.suites.append(row.name)
        return replace(fate, status="survived" if int(row.name) % 5 == 0 else "killed")


def audit(shard: Shard | None, count: int | None) -> tuple[Audit, Known]:
    """As `run.audit` does, without processes."""
    trial, request = Known(), Request("m:f", ("tests",), count=count, shard=shard)
    found = Audit("m:f", ("tests",), floor=0.5, whole=count is None, versions={"torch": "9"})
    rows, tell = ROWS, lambda *_: None
    if shard is not None:
        found.shard = choose_shard(request, ROWS, trial, tell)  # type: ignore[arg-type]
        rows, request = [row for row in ROWS if row.name in found.shard.choose()], replace(request, count=None)
    found.fates = judge_faults(request, rows, trial.fate, trial.close, tell)
    return found, trial


def written(folder: Path, of: int, count: int | None = None) -> list[Path]:
    paths = [folder / f"{index}-{of}.json" for index in range(1, of + 1)]
    for index, path in enumerate(paths, 1):
        path.write_text(audit(Shard(index, of), count)[0].to_json(), encoding="utf-8")
    return paths


@pytest.mark.parametrize("count", [None, 1, 9])
@pytest.mark.parametrize("of", [1, 2, 4, 40])
def test_shards_merged_are_the_whole_audit(tmp_path: Path, of: int, count: int | None) -> None:
    whole, _ = audit(None, count)
    found = merge_audits(written(tmp_path, of, count)[::-1])
    assert found.fates == whole.fates and found.shard is None
    assert {**found.to_dict(), "notes": []} == {**whole.to_dict(), "notes": []}
    assert found.notes and found.exit_status == whole.exit_status


def test_each_suite_run_is_of_one_shard() -> None:
    whole = audit(None, 9)[1].suites
    parts = [audit(Shard(index, 4), 9)[1].suites for index in (1, 2, 3, 4)]
    assert sorted(itertools.chain(*parts), key=int) == whole and all(parts)


def test_a_shard_is_not_held_to_the_floor(tmp_path: Path) -> None:
    found, _ = audit(Shard(2, 40), 1)
    assert found.score is None or found.exit_status == 0
    checker = Draft202012Validator(json.loads(read_schema("audit")))
    assert not list(checker.iter_errors(json.loads(found.to_json())))
    assert Audit("m:f", ("t",), problem="why", shard=Shard(1, 2)).exit_status == 2


def broken(paths: list[Path], number: int, **changes: Any) -> list[Path]:
    data = json.loads(paths[number].read_text())
    paths[number].write_text(json.dumps({**data, **changes}))
    return paths


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda paths: paths[:3], "shard 4/4 is missing"),
        (lambda paths: [*paths, paths[1]], "are both shard 2/4"),
        (lambda paths: broken(paths, 1, seed=7), "differ in seed"),
        (lambda paths: broken(paths, 2, faults=[]), "does not hold the faults of shard 3/4"),
        (lambda paths: broken(paths, 2, problem="the suite fails"), "judged nothing: the suite fails"),
        (lambda paths: broken(paths, 3, schema_version=9), "has schema 9"),
        (lambda paths: broken(paths, 3, faults=3), "was not written by `attention-core audit --json`"),
        (lambda paths: [*paths[:3], paths[0].with_name("none.json")], "cannot be read"),
    ],
)
def test_what_is_not_one_run_is_refused(tmp_path: Path, change: Any, words: str) -> None:
    with pytest.raises(TargetError, match=words):
        merge_audits(change(written(tmp_path, 4)))


def test_the_command_merges_audits(tmp_path: Path) -> None:
    paths = [*map(str, written(tmp_path, 4, 9))]
    found = CliRunner().invoke(main, ["merge", *paths, "--json", "-"])
    assert found.exit_code == 0 and json.loads(found.stdout)["counted"] == 9, found.output
    refused = CliRunner().invoke(main, ["merge", *paths, "--sarif", str(tmp_path / "s")])
    assert refused.exit_code == 2 and "--sarif is not written of audits" in refused.stderr
    assert is_audit(Path(paths[0])) and not is_audit(tmp_path / "none")
