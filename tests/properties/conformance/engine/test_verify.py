"""Verifying targets by name.

Targets by name: one report each whatever happens, exit statuses, and saved cases there and back.
No process is started here, save where a test says so; the command line itself is in tests/integration/verify/test_cli.py.

Settings of a process that only judges.

The settings are of a process; they are put back, since this one runs other tests.
"""

from __future__ import annotations

import gc
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from multiprocessing import Pipe
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import pytest
from torch import Tensor

from attention_core.conformance.cases.case import Case
from attention_core.conformance.engine import verify
from attention_core.conformance.engine.session import Session
from attention_core.conformance.engine.verify import (
    COLLECTED_AFTER,
    be_thrifty,
    ended_by_signals,
    exit_status,
    failed_report,
    read_case,
    replay_case,
    restored_fields,
    run_share,
    save_cases,
    saved_case,
    verify_target,
)
from attention_core.conformance.report.law_result import Counterexample, LawResult
from attention_core.conformance.report.results import Report
from attention_core.conformance.search.small_search import warm_up
from attention_core.conformance.subjects.parameter_case import ParameterCase
from attention_core.declaration.implementation import Implementation, TargetError, Unavailable
from attention_core.declaration.sizes import SizeCondition
from attention_core.faults import split_merge_heads
from attention_core.faults.bases.reference import correct
from attention_core.faults.value import wrong_scale

LAW = "agrees_with_truth"
FIELDS: dict[str, Any] = {"dtypes": ("float32",), "gradients": False}
ONE = {
    "conforms": Report("a", laws=[LawResult(LAW, "held", 1, 0.1)]),
    "refuted": Report("b", laws=[LawResult(LAW, "refuted", 1, 0.1)]),
    "incomplete": Report("c"),
    "error": Report("d", failed=True),
    "unavailable": Report("e", unavailable="needs a GPU"),
}


@pytest.mark.parametrize("kinds", [k for n in (1, 2, 3) for k in itertools.combinations(ONE, n)], ids="+".join)
def test_exit_status(kinds: tuple[str, ...]) -> None:
    """1 if any target is refuted, else 2 if any is in error or incomplete, else 0."""
    expected = 1 if "refuted" in kinds else 2 if set(kinds) - {"conforms"} else 0
    for order in itertools.permutations(kinds):
        assert exit_status([ONE[k] for k in order]) == expected


def test_nothing_verified_is_no_success() -> None:
    assert exit_status([]) == 2


def bare(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    out: Tensor = correct(query, key, value)
    return out


@pytest.fixture
def local(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two targets, `right:f` and `wrong:f`, run in this process."""
    functions = {"right:f": correct, "wrong:f": wrong_scale(), "bare:f": bare, "pair:f": split_merge_heads.correct()}
    monkeypatch.setattr("attention_core.conformance.engine.session.SHRINK_CALLS", 12)
    monkeypatch.setattr("attention_core.conformance.engine.session.Session.first_look", None)

    def open_session(
        target: str, fields: Any, *, effort: str, seed: int, timeout: float, known: Any = None, shrink: bool = True
    ) -> Session:
        if target == "gpu:f":
            raise Unavailable("needs a GPU")
        if target not in functions:
            raise TargetError(f"no such target: {target}")
        record = Implementation(functions[target], **{"name": target, **fields, "known_failures": known or {}})
        return Session(record, effort=effort, seed=seed, timeout=timeout, shrink=shrink)

    monkeypatch.setattr(verify, "open_session", open_session)


def run(target: str, **options: Any) -> Report:
    return verify_target(target, FIELDS, **{"effort": "quick", "laws": (LAW,), **options})


@pytest.mark.usefixtures("local")
def test_one_report_whatever_happens() -> None:
    seen: list[tuple[str, str, int]] = []
    assert run("right:f", progress=lambda t, r, n: seen.append((t, r.law, n))).passed
    assert seen == [("right:f", LAW, 1)]
    assert run("wrong:f").verdict == "refuted"
    gone = run("none:f", seed=3)
    assert (gone.verdict, gone.problem, gone.seed, gone.effort) == ("error", "no such target: none:f", 3, "quick")
    away = run("gpu:f")
    assert (away.verdict, away.unavailable) == ("error", "needs a GPU")
    unknown = run("right:f", laws=("nothing",))
    assert (unknown.verdict, unknown.problem.partition(";")[0]) == ("error", "no law 'nothing' in this contract")


def test_tracebacks_are_kept_aside() -> None:
    error = TargetError("one line")
    error.add_note("Traceback: many lines")
    report = failed_report("f", error)
    assert (report.problem, report.traceback, report.verdict) == ("one line", "Traceback: many lines", "error")


@pytest.mark.usefixtures("local")
def test_a_counterexample_is_saved_and_replayed(tmp_path: Path) -> None:
    report = run("wrong:f")
    fields = {**FIELDS, "sizes": SizeCondition("n_kv >= 1"), "arguments": {}}
    (path,) = save_cases(tmp_path / "new", "wrong:f", fields, report)
    assert path.name == f"wrong-f-{LAW}.json"
    data = read_case(path)
    assert data["target"] == "wrong:f"
    assert replay_case(data, None, {}, 60.0).verdict == "refuted"
    right = replay_case(data, "right:f", {}, 60.0)
    assert (right.verdict, right.passed) == ("incomplete", True)
    assert right.reason() == "the saved case passes; a verdict needs all laws"
    assert replay_case({**data, "law": "nothing"}, None, {}, 60.0).verdict == "error"
    assert replay_case({**data, "target": "none:f"}, None, {}, 60.0).problem == "no such target: none:f"
    assert replay_case({**data, "law": "agrees_with_thruth"}, None, {}, 60.0).problem.startswith(
        "no law 'agrees_with_thruth' in this contract; did you mean agrees_with_truth?"
    )
    broken = replay_case({**data, "case": {}}, None, {}, 60.0)
    assert (broken.verdict, broken.problem) == ("error", "the saved case cannot be read: KeyError: 'query'")
    assert replay_case(data, "gpu:f", {}, 60.0).unavailable == "needs a GPU"


@pytest.mark.usefixtures("local")
@pytest.mark.parametrize(
    ("law", "case", "words"),
    [
        ("bool_and_additive_masks_agree", {"mask": np.ones((2, 2), bool)}, "bare:f cannot be put to this case of bool_and_additive_masks_agree: attn_mask not claimed"),
        (LAW, {"mask": np.ones((2, 2), bool)}, "bare:f has no parameter for attn_mask, which this case needs"),
        (LAW, {"is_causal": True}, "bare:f has no parameter for is_causal, which this case needs"),
        (LAW, {"scale": 2.0}, "bare:f has no parameter for scale, which this case needs"),
    ],
)  # fmt: skip
def test_a_target_without_the_parameter_is_told(law: str, case: dict[str, Any], words: str) -> None:
    ones = np.ones((1, 1, 2, 2))
    data = {
        "target": "right:f",
        "law": law,
        "declared": {},
        "case": Case("float32", ones, ones, ones, **case).to_json(),
    }
    assert replay_case(data, None, {}, 60.0).passed
    report = replay_case(data, "bare:f", {}, 60.0)
    assert (report.verdict, report.problem) == ("error", words)


def places(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The place of everything within JSON values."""
    for key, value in data.items() if isinstance(data, dict) else enumerate(data):
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from places(value, (*path, key))


ONES = np.ones((1, 2, 3, 2))
SAVED: list[dict[str, Any]] = [
    {"target": "right:f", "law": LAW, "declared": {"dtypes": ["float32"], "sizes": "d == 2"},
     "case": Case("float32", ONES, ONES, ONES, np.ones((3, 3), bool), True, 2.0).to_json()},
    {"target": "pair:f", "law": "merge_inverts_split", "declared": {"contract": "heads"},
     "case": ParameterCase({"B": 2, "n": 3, "H": 2, "d": 3}).to_json()},
]  # fmt: skip
STRANGE = [None, -1, 1.5, "x", [], [[1]], {"a": 1}, True, 10**30]


@pytest.mark.usefixtures("local")
@pytest.mark.parametrize("saved", SAVED, ids=lambda saved: saved["target"])
@pytest.mark.parametrize("value", [*STRANGE, KeyError], ids=str)
def test_an_edited_case_ends_in_one_line(tmp_path: Path, saved: dict[str, Any], value: Any) -> None:
    """Every place of a saved case in turn holds something else, or (KeyError) is gone."""
    path = tmp_path / "case.json"
    for place in places(saved):
        data = json.loads(json.dumps({"schema_version": 1, **saved}))
        inner = data
        for key in place[:-1]:
            inner = inner[key]
        if value is KeyError:
            del inner[place[-1]]
        else:
            inner[place[-1]] = value
        path.write_text(json.dumps(data))
        try:
            lines = replay_case(read_case(path), None, {}, 60.0).reason()
        except TargetError as error:
            lines = str(error)
        assert len(lines.splitlines()) == 1, (place, value)
        assert "Traceback" not in lines


def test_a_case_cut_short_ends_in_one_line(tmp_path: Path) -> None:
    whole = json.dumps({"schema_version": 1, **SAVED[0]})
    for end in range(0, len(whole) - 1, 37):
        (tmp_path / "case.json").write_text(whole[:end])
        with pytest.raises(TargetError, match="is not JSON"):
            read_case(tmp_path / "case.json")


@pytest.mark.usefixtures("local")
def test_a_case_of_a_wrong_form_is_told() -> None:
    zeros = np.zeros((1, 1, 2, 3))
    case = Case("float32", zeros, zeros, zeros).to_json()
    data = {
        "target": "right:f",
        "law": LAW,
        "declared": {},
        "case": {**case, "key": case["query"], "mask": case["query"]},
    }
    assert "the saved case cannot be read: ValueError" in replay_case(data, None, {}, 60.0).problem


@pytest.mark.parametrize("target", ["../../x.py:f", "a/b c.py:f", "m:C.f", "torch:math", "è:f", "..:.."])
def test_names_of_saved_files_stay_in_their_folder(tmp_path: Path, target: str) -> None:
    found = Counterexample(LAW, "m", "c", {"seed": 1}, "s")
    report = Report(target, laws=[LawResult(LAW, "refuted", 1, 0.1, found)])
    (path,) = save_cases(tmp_path, target, {}, report)
    assert path.resolve().parent == tmp_path.resolve()
    assert re.fullmatch(r"[A-Za-z0-9_.-]+\.json", path.name)
    assert read_case(path)["target"] == target


NO_CASE = [
    (None, "cannot be read"),
    ("{", "is not JSON"),
    ("[1]", "is not a case saved by `attention-core verify`"),
    ('{"schema_version": 99}', "is not a case saved by `attention-core verify`"),
    ('{"schema_version": 1, "law": "x"}', "is not a saved case: it lacks target, case, declared"),
    (b"\xff\xfe", "is not JSON"),
    ("[" * 200_000, "is not JSON"),
]


@pytest.mark.parametrize(("text", "words"), NO_CASE)
def test_a_file_that_is_no_case_ends_in_one_line(tmp_path: Path, text: Any, words: str) -> None:
    path = tmp_path / "case.json"
    if text is not None:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(TargetError, match=re.escape(words)):
        read_case(path)


def test_declared_fields_come_back() -> None:
    fields = {
        "dtypes": ("float32", "bfloat16"), "claims": (), "layout": "bnhd", "sizes": SizeCondition("d == 8"),
        "arguments": {"window": (3, 0), "name": "x", "causal_shift": None}, "parameters": {"kind": "causal"},
    }  # fmt: skip
    saved = saved_case("f", fields, Counterexample(LAW, "m", "c", {}, "s"))
    back = restored_fields(json.loads(json.dumps(saved))["declared"])
    assert back.pop("sizes").text == "d == 8"
    del fields["sizes"]
    assert back == fields


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        ({"lay": 1}, "unknown fields: lay"),
        ({"sizes": "__import__('os')"}, "is not understood"),
        ({"arguments": 3}, "what the saved case declares cannot be read: AttributeError"),
        ({"arguments": {"a": "open('x')"}}, "cannot be read: ValueError"),
        ({"dtypes": 3}, "cannot be read: TypeError"),
        ([1], "cannot be read: AttributeError"),
    ],
)
def test_strange_declarations_end_in_one_line(declared: Any, words: str) -> None:
    with pytest.raises(TargetError, match=re.escape(words)):
        restored_fields(declared)


def test_the_folder_of_saved_cases_ignores_itself_and_stays_small(tmp_path: Path) -> None:
    def refuted(names: range) -> Report:
        found = [Counterexample(f"law{n}", "wrong", "", {"x": n}, "") for n in names]
        return Report("f", laws=[LawResult(c.law, "refuted", 1, 0.0, c, "wrong") for c in found])

    folder = tmp_path / ".attention-core"
    assert len(save_cases(folder, "f", {}, refuted(range(100)))) == 24
    assert (folder / ".gitignore").read_text() == "*\n"
    save_cases(folder, "g", {}, refuted(range(2)))
    (folder / "note.json").write_text("{}")
    (again,) = save_cases(folder, "f", {}, refuted(range(200, 201)))
    assert {path.name for path in folder.glob("*.json")} == {again.name, "g-law0.json", "g-law1.json", "note.json"}
    chosen = tmp_path / "cases"
    save_cases(chosen, "f", {}, refuted(range(1)))
    assert not (chosen / ".gitignore").exists()
    inner = folder / "under_found"
    save_cases(inner, "f", {}, refuted(range(3)))
    save_cases(inner, "f", {}, refuted(range(2, 3)))
    assert [path.name for path in inner.glob("*.json")] == ["f-law2.json"]


def test_a_large_case_is_saved_only_where_it_is_the_most_telling(tmp_path: Path) -> None:
    def refuted(*sizes: int) -> Report:
        found = [Counterexample(f"law{i}", "wrong", "", {"x": "0" * n}, "") for i, n in enumerate(sizes)]
        return Report("f", laws=[LawResult(c.law, "refuted", 1, 0.0, c, "wrong") for c in found])

    large, some = 2_000_000, 100_000
    assert [path.name for path in save_cases(tmp_path, "f", {}, refuted(10, large, 10))] == [
        "f-law0.json",
        "f-law2.json",
    ]
    assert [path.name for path in save_cases(tmp_path, "f", {}, refuted(large, 10))] == ["f-law0.json"]
    assert len(save_cases(tmp_path, "f", {}, refuted(*[some] * 20))) == 10


def test_a_process_told_to_end_ends_whatever_comes_of_its_exit() -> None:
    """Hypothesis, say, takes an exit in the midst of a case for a flaky failure."""
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(SystemExit) as told, ended_by_signals():
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(10)
        except SystemExit:
            raise RuntimeError("flaky") from None
    assert told.value.code == 128 + signal.SIGTERM and signal.getsignal(signal.SIGTERM) is before
    with pytest.raises(RuntimeError, match="its own"), ended_by_signals():
        raise RuntimeError("its own")


LOST = """
import os, signal, time
from attention_core.conformance.engine.verify import ended_by_signals

class Ends:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.01)

with ended_by_signals():
    try:
        Ends()
        time.sleep(60)
    finally:
        print("closed")
"""


def test_a_signal_that_a_finalizer_swallows_is_not_lost() -> None:
    """Python drops what is raised there and prints a traceback: the process went on, and said so."""
    ended = subprocess.run([sys.executable, "-c", LOST], capture_output=True, text=True, timeout=300)
    assert (ended.returncode, ended.stdout, ended.stderr) == (128 + signal.SIGTERM, "closed\n", "")


def test_a_helper_whose_answer_nobody_awaits_ends_in_silence() -> None:
    answer, sender = Pipe(duplex=False)
    answer.close()
    options = {"effort": "quick", "seed": 0, "timeout": 5.0, "known": None, "shrink": True}
    run_share(sender, "attention_core.faults.bases.reference:none", {}, options, ["stays_finite"])


def test_garbage_is_collected_seldom_and_still_found() -> None:
    before = gc.get_threshold()
    try:
        be_thrifty()
        assert gc.get_threshold() == (COLLECTED_AFTER, *before[1:]) and gc.isenabled()
        assert gc.get_freeze_count()
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def test_what_is_frozen_does_not_make_hypothesis_warn() -> None:
    """From Python 3.14 on; `verify` printed two lines on each run there."""

    def first_run() -> None:
        assert hypothesis.core.threadlocal._hypothesis_global_random is None
        be_thrifty()
        warm_up.__wrapped__()

    before = gc.get_threshold()
    try:
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            thread = threading.Thread(target=first_run)
            thread.start()
            thread.join()
        assert [str(one.message) for one in seen] == []
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
