"""Fast checks of experiments/power; the measurement itself is `tox run -e power`.

The harness of docs/power.md: the same seed gives the same run, kept results follow the code, pages come from results.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

from attention_core.faults.bases import reference
from finetune.faults.catalogue import CORRECT, FAULTS, named

POWER = Path(__file__).resolve().parents[3] / "experiments" / "power"


@pytest.fixture(scope="module")
def power() -> Any:
    """The modules of experiments/power, which are scripts beside one another."""
    sys.path.insert(0, str(POWER))
    try:
        import alike
        import figures
        import ledger
        import peers
        import report
        import shared
        import store
        import trial

        yield {module.__name__: module for module in (alike, figures, ledger, peers, report, shared, store, trial)}
    finally:
        sys.path.remove(str(POWER))


@pytest.mark.thorough(keep=("hard_contracts*",))
@pytest.mark.parametrize("name", ["hard_tiles.scores_with_ten_bits", "hard_contracts.odd_half_turned_short"])
def test_two_runs_of_one_seed_are_identical(power: dict[str, ModuleType], name: str) -> None:
    lines = [power["trial"].run_trial(named(name), "quick", 3, whole=False, shrink=True).to_json() for _ in range(2)]
    for line in lines:
        del line["seconds"], line["shrinking"]
    assert lines[0] == lines[1]
    assert lines[0]["refuting"] and lines[0]["message"] and lines[0]["lines"] > 3


def test_a_correct_target_is_refuted_by_no_law(power: dict[str, ModuleType]) -> None:
    (row,) = (r for r in CORRECT if r.name == "rotary.by_exponential")
    line = power["trial"].run_trial(row, "quick", 1, whole=True, shrink=False)
    assert line.refuting == [] and line.odd == {} and line.laws > 3


@pytest.fixture
def memory(power: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Truths and budgets that are shared, for one test alone."""
    for module, name in power["shared"].SHARED:
        monkeypatch.setattr(module, name, getattr(module, name))  # undone at the end, whatever is put there
    return power["shared"].share()


def test_what_targets_share_changes_no_result(
    power: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """The same laws on two correct targets and a wrong one, each alone and after one another with what they share."""
    correct = [row for row in CORRECT if row.name in ("odd.plain", "correct.split_scale")]
    rows = [*correct, named("masking.polarity_reversed")]
    laws = ("agrees_with_truth", "key_gradient_is_true", "permuting_keys_changes_nothing")

    def found() -> list[dict[str, Any]]:
        trials = [power["trial"].run_trial(r, "quick", 3, whole=True, shrink=False, laws=laws).to_json() for r in rows]
        return [{k: v for k, v in t.items() if k != "seconds"} for t in trials]

    alone = found()
    memory = request.getfixturevalue("memory")
    assert found() == alone
    assert memory.hits > memory.misses > 0


def test_what_is_shared_is_looked_up_by_content_and_cannot_be_written(memory: Any) -> None:
    calls: list[float] = []

    def double(x: Any, factor: float = 2.0) -> Any:
        calls.append(factor)
        return x * factor

    asked, x = memory.of(double), np.arange(3.0)
    first = asked(x)
    assert asked(x.copy()) is first and asked(np.arange(3.0)) is first and len(calls) == 1
    x[0] = 7.0
    assert asked(x)[0] == 14.0 and [asked(x, factor=f)[0] for f in (3.0, 4.0)] == [21.0, 28.0]
    kinds = [asked(np.zeros(3, dtype), factor=2).dtype.kind for dtype in ("f8", "i8")]
    assert kinds == ["f", "i"], "the same bytes"
    assert np.array_equal(asked(first), [0.0, 4.0, 8.0]) and asked(first.copy())[1] == 4.0
    with pytest.raises(ValueError, match="read-only"):
        first[0] = 1.0
    view = np.broadcast_to(x, (2, 3))
    assert asked(view)[0, 0] == 14.0
    x[0] = 8.0
    assert asked(view)[0, 0] == 16.0, "read-only, and yet another content"
    count = len(calls)
    memory.most = 0
    asked(np.arange(4.0))
    asked(np.arange(5.0))
    asked(np.arange(4.0))
    assert len(calls) == count + 3 and len(memory.results) == 1, "the oldest are forgotten"


def test_keys_follow_what_a_row_declares(power: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch) -> None:
    store = power["store"]
    row = next(r for r in FAULTS if r.record.get("accumulate") == "float32")

    def of_row() -> str:
        found: str = store.key(row.file, row.name, "quick", 0, True)
        return found

    keys = [of_row()]
    for record in ({}, {**row.record, "sizes": lambda *n: n[0] > 1}, {**row.record, "sizes": lambda *n: n[0] > 2}):
        monkeypatch.setitem(store.rows(), row.name, replace(row, record=record))
        keys.append(of_row())
    assert len(set(keys)) == 4
    monkeypatch.setitem(store.rows(), row.name, replace(row, record=dict(reversed(row.record.items()))))
    assert of_row() == keys[0]


def test_keys_follow_what_a_fault_imports(power: dict[str, ModuleType]) -> None:
    store = power["store"]
    assert store.module("attention_core.faults.tiles") != store.module("attention_core.faults.scores")
    imported = store.sources("attention_core.faults.tiles")
    assert {"attention_core.faults.bases.tiles", "attention_core.faults.bases.reference"} <= imported.keys()
    assert "attention_core.faults.catalogue" not in imported


def test_a_suite_that_judges_alike_has_the_keys_of_the_older_one(
    power: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = power["store"]
    monkeypatch.setattr(store, "ALIKE", {})
    store.suite.cache_clear()
    own, laws = store.suite(), store.suite("finetune/laws")
    monkeypatch.setattr(store, "ALIKE", {own: "older"})
    store.suite.cache_clear()
    assert store.suite() == "older" != own
    assert store.suite("finetune/laws") == laws  # a contract of finetune is measured again
    store.suite.cache_clear()


@pytest.mark.parametrize(("name", "value"), [("refuting", ["a"]), ("laws", 2), ("odd", {"a": "error"})])
def test_a_result_that_differs_is_told(power: dict[str, ModuleType], name: str, value: Any) -> None:
    line = {"refuting": ["a", "b"], "laws": 3, "odd": {}, "seconds": 1.0}
    assert power["alike"].differences(line, {**line, "seconds": 2.0}) == []
    (told,) = power["alike"].differences(line, {**line, name: value})
    assert told.startswith(f"{name}: was ")


def test_keys_of_the_contracts_of_finetune_follow_their_laws(power: dict[str, ModuleType]) -> None:
    store = power["store"]
    other = store.key("finetune.faults.causal_lm", "x"), store.key("attention_core.faults.value", "x")
    before, store.FINETUNE = store.FINETUNE, (store.FINETUNE[0], "finetune/models")
    try:
        assert (
            store.key("finetune.faults.causal_lm", "x") != other[0]
            and store.key("attention_core.faults.value", "x") == other[1]
        )
    finally:
        store.FINETUNE = before
    assert (store.key("finetune.faults.causal_lm", "x"), store.key("attention_core.faults.value", "x")) == other


def test_a_line_cut_off_is_left_out(power: dict[str, ModuleType], tmp_path: Path) -> None:
    kept = power["store"].Store(tmp_path / "lines.jsonl")
    kept.add({"key": "a", "value": 1})
    kept.path.write_text(kept.path.read_text() + '{"key": "b", "va')
    assert kept.known() == {"a": {"key": "a", "value": 1}}


def test_intervals_are_those_of_clopper_and_pearson(power: dict[str, ModuleType]) -> None:
    interval = power["figures"].interval
    assert interval(0, 10)[0] == 0 and interval(10, 10)[1] == 1
    assert interval(0, 10)[1] == pytest.approx(1 - 0.025**0.1)  # (1 - p)^10 = 0.025
    assert interval(10, 10)[0] == pytest.approx(0.025**0.1)


@pytest.mark.parametrize("rule", ["KernelBench", "transformers", "plain Hypothesis"])
def test_rules_of_others_accept_the_reference_and_refuse_a_wrong_scale(power: dict[str, Any], rule: str) -> None:
    (chosen,) = (r for r in power["peers"].RULES if r.name == rule)
    right, wrong = (power["peers"].verdicts(row, (chosen,)) for row in (CORRECT[0], named("value.scale_missing")))
    assert [line["rejected"] for line in (*right, *wrong)] == [False, True]


def test_the_low_precision_rule_compares_with_a_plain_kernel(power: dict[str, Any]) -> None:
    torch.manual_seed(0)
    sizes = (33, 40, 16, 4)
    power["peers"]._twice(
        lambda q, k, v, causal: reference.correct(q, k, v, None, 0.0, causal), torch.bfloat16, True, sizes
    )
    with pytest.raises(power["peers"].Rejected, match="out at"):
        power["peers"]._twice(lambda q, k, v, causal: reference.correct(q, k, v), torch.bfloat16, True, sizes)


def test_the_page_is_written_from_results(power: dict[str, ModuleType], tmp_path: Path) -> None:
    row = named("hard_tiles.sum_by_fours")
    for effort in ("quick", "standard"):
        line = {
            "key": power["store"].key(row.file, row.name, effort, 0, True), "name": row.name, "effort": effort, "seed": 0,
            "refuting": ["agrees_with_truth"], "seconds": 0.5, "whole": True, "shrunk": "float32 B=1", "laws": 3,
        }  # fmt: skip
        power["store"].Store(tmp_path / "trials.jsonl").add(line)
    for rule in power["peers"].RULES:  # and once more from older code, as a folder keeps them
        verdict = {"name": row.name, "rule": rule.name, "rejected": rule.name == "KernelBench", "seconds": 0.25}
        for key in ("of older code", power["store"].key(row.file, row.name, rule.name)):
            power["store"].Store(tmp_path / "peers.jsonl").add({**verdict, "key": key})
    (tmp_path / "pictures").mkdir()
    book = tmp_path / "alarms.json"
    power["ledger"].take([{**QUIET, "seed": seed} for seed in range(4)], "some processor", book)
    power["report"].main(["--results", str(tmp_path), "--docs", str(tmp_path), "--ledger", str(book)])
    page = (tmp_path / "power.md").read_text()
    assert "| 1/1 (100.0 %) | 1/1 (100.0 %) | 0.50 / 0.5 |" in page
    faults = (tmp_path / "data" / "power_faults.csv").read_text()
    assert (
        f"attention,{row.name}," in faults
        and ",1,agrees_with_truth,0.50,agrees_with_truth,0.50,float32 B=1\n" in faults
    )
    laws = (tmp_path / "data" / "power_laws.csv").read_text()
    assert (
        f"attention,agrees_with_truth,1,1,{row.name}\n" in laws and "attention,no_row_sees_a_later_one,0,0,\n" in laws
    )
    assert "data/power_faults.csv" in page and len(page.splitlines()) < 200, "raw tables belong into data files"
    assert "(experiments/power/peers.py), on 1 faults" in page
    assert "| KernelBench | 1 | 0 |" in page and "| plain Hypothesis | 0 | 0 |" in page
    assert "| first | 47 | da5d47c | 36 (77 %, 62 to 88 %) | 37 (79 %, 64 to 89 %) |" in page
    assert "* second: decoding (up to four queries)" in page and "one tensor is both key and value" in page
    assert "| quick | 1 | 4 | 4 | 28 | 0 | 7.5e-01 |" in page and "they ran on: some processor." in page
    assert (tmp_path / "pictures" / "power.png").stat().st_size > 1000


def test_a_page_of_first_refutations_keeps_what_it_cannot_know(power: dict[str, ModuleType], tmp_path: Path) -> None:
    """Laws beyond the first, the picture, other suites' rules and alarms stay as they are, with their commit."""
    seen, missed = named("hard_tiles.sum_by_fours"), named("hard_tiles.scores_with_ten_bits")
    kept = power["store"].Store(tmp_path / "trials.jsonl")
    for row, effort, laws in (
        (seen, "quick", ["stays_finite"]),
        (missed, "quick", []),
        (missed, "standard", ["agrees"]),
    ):
        key = power["store"].key(row.file, row.name, effort, 0, False)
        kept.add({"key": key, "name": row.name, "effort": effort, "seed": 0, "refuting": laws, "seconds": 0.5,
                  "whole": False, "shrunk": "", "laws": 3})  # fmt: skip
    old = "hash `d9b4`, commit `2ad31be3`; torch\n\n{}\n\n| KernelBench | 35 |\n\n{}\n\n| quick | 115 |\n"
    (tmp_path / "power.md").write_text(old.format(power["report"].PEERS, power["report"].ALARMS))
    (tmp_path / "data").mkdir()
    header = "contract,fault,laws_at_quick,first_at_quick,smallest_case\n"
    (tmp_path / "data" / "power_faults.csv").write_text(f"{header}attention,{seen.name},9,other,float32 B=7\n")
    for _ in range(2):  # the second time from the page of the first
        power["report"].main(["--results", str(tmp_path), "--docs", str(tmp_path), "--ledger", str(tmp_path / "none")])
    page = (tmp_path / "power.md").read_text()
    assert "| 1/2 (50.0 %) | 2/2 (100.0 %) | 0.50 / 0.5 | 0.50 / 0.5 |" in page
    assert "Which other laws refute a fault" in page
    assert page.count("measured at commit") == 3 == page.count("`2ad31be3`")
    assert "| KernelBench | 35 |" in page and "| quick | 115 |" in page
    faults = {row["fault"]: row for row in power["report"].read_table(tmp_path / "data" / "power_faults.csv")}
    assert [*faults[seen.name].values()][4:] == ["9", "stays_finite", "0.50", "", "", "float32 B=7"]
    assert [*faults[missed.name].values()][4:] == ["", "not refuted", "", "agrees", "0.50", ""]
    assert not (tmp_path / "data" / "power_laws.csv").exists() and not (tmp_path / "pictures").exists()


QUIET = {"name": "rotary.by_exponential", "effort": "quick", "laws": 7, "seconds": 1.5, "refuting": [], "odd": {}}


def test_the_ledger_adds_the_runs_of_machines(power: dict[str, ModuleType], tmp_path: Path) -> None:
    ledger, book = power["ledger"], tmp_path / "alarms.json"
    ledger.take([{**QUIET, "seed": seed} for seed in (0, 2)], "one", book)
    alarm = {**QUIET, "seed": 1, "laws": 8, "seconds": 9.0, "refuting": ["is_a_rotation"]}
    (entry,) = ledger.take([alarm, {**QUIET, "seed": 2, "refuting": ["twice"]}], "other", book)
    assert [entry] == ledger.read(book)
    assert list(ledger.runs([entry])) == [("rotary.by_exponential", "quick", seed) for seed in (0, 1, 2)]
    assert (entry.laws, entry.seconds, entry.processors) == (22, 1.5, ["one", "other"])
    assert entry.refuting == {"1": ["is_a_rotation"]} and entry.odd == {}


def test_incomplete_runs_are_told_apart_from_alarms(power: dict[str, ModuleType]) -> None:
    """Two laws of one run are one run."""
    entry = power["ledger"].Entry("a", "quick", "key", seeds=[1, 2, 3], odd={"2": ["few", "rare"], "3": ["few"]})
    told, *_, laws = power["report"].incomplete([entry])
    assert told.startswith("2 of these runs were incomplete")
    assert laws == "few at quick 2; rare at quick 1."
    (told,) = power["report"].incomplete([replace(entry, odd={})])
    assert told.startswith("No run was incomplete")


def test_runs_of_other_code_are_left_out(
    power: dict[str, ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger, book = power["ledger"], tmp_path / "alarms.json"
    ledger.take([{**QUIET, "seed": 0}], "one", book)
    monkeypatch.setattr(power["store"], "suite", lambda *more: "other laws")
    assert ledger.read(book) == []
    (entry,) = ledger.take([{**QUIET, "seed": 1}], "one", book)
    assert entry.seeds == [1]


@pytest.mark.parametrize(
    "one", json.loads((POWER / "first_sight.json").read_text())["sets"], ids=lambda one: one["set"]
)
def test_first_sight_counts_the_rows_of_its_files(one: dict[str, Any], power: dict[str, ModuleType]) -> None:
    for effort, kept in one["interval"].items():
        assert kept == pytest.approx(power["figures"].interval(one[effort], one["faults"]), abs=6e-4)
    rows = [row for row in FAULTS if row.name.partition(".")[0] in one["prefixes"]]
    assert len(rows) == one["faults"] >= one["standard"] >= one["quick"]
    missed = [m for m in one["missed"] if named(m["name"]) in rows]
    assert len(missed) == len(one["missed"]) and len(missed) in (0, one["faults"] - one["quick"])
    still = [m for m in missed if m["at"] == "quick and standard"]
    assert not missed or len(still) == one["faults"] - one["standard"]


def test_sets_outside_the_catalogue_name_what_was_missed() -> None:
    for one in json.loads((POWER / "first_sight.json").read_text())["later"]:
        refuted_later = one["faults"] - one["quick"] - len(one["missed"])
        assert refuted_later in (0, 1), one["set"]


@pytest.mark.thorough
def test_a_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    command = [sys.executable, str(POWER / "run.py"), "--only", "slopes_in_half_precision", "--processes", "1"]
    command += ["--effort", "quick", "--results", str(tmp_path)]
    paths = [str(POWER.parents[1] / "tests"), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"}
    for _ in range(2):
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        assert done.stdout.splitlines()[-1] == "1 trials, 1 refuted; not: []"
    lines = (tmp_path / "trials.jsonl").read_text().splitlines()
    assert [json.loads(line)["name"] for line in lines] == ["hard_contracts.slopes_in_half_precision"]
