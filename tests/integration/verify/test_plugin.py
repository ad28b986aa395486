"""pytest --attention TARGET --pyargs attention_core.conformance.

The pytest plugin as a person meets it: pytest in a process of its own, over NumPy targets whose workers start quickly.
-k keeps a run to a few laws; that there is one item for every law is seen without running any.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from importlib.metadata import entry_points
from pathlib import Path

import pytest

import attention_core
from attention_core.conformance.contracts import find_contract

LAW = "agrees_with_truth"
HOME = Path(attention_core.__file__).parents[1]
TARGETS = """
import numpy as np

def good(query, key, value):
    s = query.astype(np.float64) @ np.swapaxes(key, -1, -2) / np.sqrt(query.shape[-1])
    p = np.exp(s - s.max(-1, keepdims=True))
    return (p / p.sum(-1, keepdims=True) @ value).astype(query.dtype)

def doubled(query, key, value): return 2 * good(query, key, value)
def tokens_first(query, key, value): return good(*(x.swapaxes(-3, -2) for x in (query, key, value))).swapaxes(-3, -2)
def never(query, key, value): raise NotImplementedError("not yet")
def two(query, key, value): return value, value
"""
KNOWN = "".join(
    f'[[known_failure]]\ntarget = "t.py:{name}"\nlaw = "{LAW}"\nreason = "as everybody knows"\n'
    for name in ("good", "doubled")
)
OWN = f"""
from t import doubled, tokens_first

def test_right(check_attention):
    assert check_attention(tokens_first, laws=["{LAW}"], layout="bnhd").laws[0].cases > 10

def test_wrong(check_attention):
    check_attention(doubled, laws=["{LAW}"])
"""
"""Tests of somebody's own, with the fixture of the plugin."""
OPTIONS = [f"--attention-option={option}" for option in ("array=numpy", "dtypes=float32", "gradients=false")]
UNAVAILABLE = "torch:cudnn"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("plugin")
    (found / "t.py").write_text(TARGETS)
    (found / "known.toml").write_text(KNOWN)
    (found / "pytest.ini").write_text("[pytest]\n")
    return found


def run_pytest(
    folder: Path, *arguments: str, suite: str = "attention_core.conformance", as_installed: bool = False
) -> subprocess.CompletedProcess[str]:
    """Pytest in a process of its own: with all plugins that are installed, or with ours alone, which starts three times as fast."""
    path = os.pathsep.join(filter(None, [str(HOME), os.environ.get("PYTHONPATH", "")]))
    found = as_installed and any(entry.name == "attention_core" for entry in entry_points(group="pytest11"))
    own = [] if found else ["-p", "attention_core.plugin"]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    environment |= {} if as_installed else {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(
        [sys.executable, "-m", "pytest", *own, "-p", "no:cacheprovider", "--color=no", *arguments,
         *(["--pyargs", suite] if suite else [])],
        cwd=folder, capture_output=True, text=True, timeout=300, check=False,
        env={**environment, "PYTHONPATH": path, "COLUMNS": "160", "HYPOTHESIS_STORAGE_DIRECTORY": str(folder / "h")},
    )  # fmt: skip


def targets(*names: str) -> list[str]:
    return [f"--attention={name}" for name in names]


@pytest.fixture(scope="module")
def several(folder: Path) -> str:
    """Four targets in two processes, core and two laws each."""
    run = run_pytest(
        folder, *targets("t.py:good", "t.py:doubled", "t.py:never", "none.py:f", UNAVAILABLE, "t.py:two"), *OPTIONS,
        "-p", "xdist.plugin", "-n", "2",
        "-rs", "-v", "--junit-xml=r.xml", "-k", f"core or {LAW} or head_sizes_of_query_and_key",
    )  # fmt: skip
    assert run.returncode == 1, run.stdout + run.stderr
    return run.stdout


def test_the_header_says_what_is_under_test(several: str) -> None:
    assert f"attention under test: t.py:good, t.py:doubled, t.py:never, none.py:f, {UNAVAILABLE}, t.py:two" in several
    assert "effort quick, seed 0, array=numpy, dtypes=float32, gradients=false" in several


def outcome(text: str, target: str, item: str) -> str:
    """What pytest said of one item."""
    found = re.findall(rf"(PASSED|FAILED|SKIPPED|XFAIL|ERROR) \S*{re.escape(target)}::{item}\b", text)
    assert len(set(found)) == 1, text
    return str(found[0])


OUTCOMES = [
    ("t.py:good", "core", "PASSED"),
    ("t.py:good", LAW, "PASSED"),
    ("t.py:good", "head_sizes_of_query_and_key_must_agree", "PASSED"),
    ("t.py:doubled", "core", "PASSED"),
    ("t.py:doubled", LAW, "FAILED"),
    ("t.py:never", "core", "FAILED"),
    ("t.py:never", LAW, "SKIPPED"),
    ("none.py:f", "core", "FAILED"),
    ("none.py:f", LAW, "SKIPPED"),
    ("t.py:two", "core", "FAILED"),
    ("t.py:two", LAW, "SKIPPED"),
    (UNAVAILABLE, "core", "SKIPPED"),
    (UNAVAILABLE, LAW, "SKIPPED"),
]


@pytest.mark.parametrize(("target", "item", "expected"), OUTCOMES)
def test_every_law_is_an_item_with_its_outcome(several: str, target: str, item: str, expected: str) -> None:
    assert outcome(several, target, item) == expected


def test_a_refuted_law_shows_its_snippet_and_no_traceback(several: str) -> None:
    failure = several.partition("= FAILURES =")[2].partition(f"t.py:doubled: {LAW}")[2]
    failure = re.split(r"\n(?:____|====)", failure)[0]  # the next failure, or what follows the last one
    assert "but should be" in failure
    assert "smallest case: float32 B=1 H=1" in failure
    assert "from t import doubled" in failure
    assert "assert abs(got - want) <= " in failure
    for word in ("Traceback", "runtest", "plugin.py", "Refutation"):
        assert word not in failure, word
    assert "Traceback" not in several


def test_reasons_are_given(several: str) -> None:
    assert "t.py:never: incomplete: it declined a plain call" in several
    assert "none.py:f: no such file: none.py" in several
    assert f"{UNAVAILABLE} cannot run here: " in several


def test_the_run_ends_with_the_table_of_verdicts(several: str) -> None:
    table = several.partition("attention verdicts")[2]
    rows = {line.split()[0]: line.split()[1:] for line in table.splitlines() if len(line.split()) >= 8}
    assert rows["t.py:good"][:5] == ["incomplete", "2", "0", "0", "0"]
    assert "t.py:good: the 2 chosen laws held; a verdict needs all laws" in table
    assert rows["t.py:doubled"][:5] == ["refuted", "1", "1", "0", "0"]
    assert rows["t.py:never"][0] == "incomplete"
    assert rows["none.py:f"][0] == rows["t.py:two"][0] == "error"
    assert rows[UNAVAILABLE][:2] == ["not", "here"]
    assert f"t.py:doubled: {LAW}" in table


@pytest.mark.thorough
def test_a_law_that_says_nothing_of_the_output_does_not_judge_what_cannot_be_judged(folder: Path) -> None:
    run = run_pytest(folder, *targets("t.py:two"), *OPTIONS, "-k", "head_sizes_of_query_and_key")
    assert "t.py:two: the call returns 2 values" in run.stdout
    assert re.search(r"t\.py:two +error +0 +0 ", run.stdout)


def test_the_run_ends_with_what_the_first_look_found(folder: Path) -> None:
    text = run_pytest(folder, *targets("t.py:tokens_first"), *OPTIONS, "-k", LAW).stdout
    assert "t.py:tokens_first: first look: takes query, key, value (B, n, H, d) of numpy; returns the output" in text
    assert "  to declare it: --attention-option layout=bnhd" in text
    assert run_pytest(
        folder, *targets("t.py:tokens_first"), *OPTIONS, "--attention-option", "layout=bnhd", "-k", LAW
    ).returncode == 0  # fmt: skip


def test_first_looks_of_what_is_as_expected_do_not_bury_the_table(folder: Path) -> None:
    several = run_pytest(
        folder,
        *targets("core:rotary", "t.py:never"),
        "--attention-option=dtypes=float32",
        "-k",
        "rotary or never and core",
    ).stdout
    assert "t.py:never: first look:" in several and "core:rotary: first look:" not in several
    alone = run_pytest(folder, *targets("core:rotary"), "-k", "rotation_is_true").stdout
    assert "core:rotary: first look: agrees with the truth of rotary as it is declared" in alone


def test_the_facts_travel_in_junit_too(several: str, folder: Path) -> None:
    root = ET.parse(folder / "r.xml").getroot()
    facts = [p.get("value") or "" for p in root.iter("property") if p.get("name") == "attention_core"]
    assert any('"status": "refuted"' in fact for fact in facts)


def test_known_failures_are_strict_both_ways(folder: Path) -> None:
    run = run_pytest(
        folder, *targets("t.py:good", "t.py:doubled"), *OPTIONS, "--attention-known-failures=known.toml", "-v", "-k", LAW,
    )  # fmt: skip
    assert run.returncode == 1
    text = run.stdout
    assert re.search(rf"t.py:doubled::{LAW} XFAIL \(as everybody knows", text), text
    assert re.search(rf"t.py:good::{LAW} FAILED", text), text
    assert "a known failure no longer fails: as everybody knows" in text
    assert re.search(r"1 failed, \d+ deselected, 1 xfailed", text), text


def test_there_is_one_item_for_every_law_and_no_process_to_see_them(folder: Path) -> None:
    run = run_pytest(folder, *targets("t.py:good", "none.py:f", "core:rotary"), "--collect-only", "-q")
    assert run.returncode == 0, run.stdout + run.stderr
    items = [line for line in run.stdout.splitlines() if "::" in line]
    for target, contract in (("t.py:good", "attention"), ("none.py:f", "attention"), ("core:rotary", "rotary")):
        names = [line.rpartition("::")[2] for line in items if f"{target}::" in line]
        laws = [law.name for law in find_contract(contract).laws]
        assert names == ["core", *laws, *(["parameters"] if laws else [])]


BAD = [
    ("--attention-option=layout", "t.py:good: --attention-option 'layout': write FIELD=VALUE"),
    ("--attention-known-failures=none.toml", "t.py:good: known failures: none.toml cannot be read"),
    ("--attention-seed=-1", "t.py:good: seed=-1 is negative"),
]


@pytest.mark.thorough(leave_out=("*seed=-1*",))
@pytest.mark.parametrize(("option", "words"), BAD)
def test_bad_options_fail_in_one_line(folder: Path, option: str, words: str) -> None:
    run = run_pytest(folder, *targets("t.py:good", "nonsense"), option, "-k", f"core or {LAW}")
    assert run.returncode == 1, run.stdout + run.stderr
    assert words in run.stdout
    assert "nonsense: " in run.stdout
    assert "Traceback" not in run.stdout
    assert "plugin.py:" not in run.stdout


def test_without_a_target_pytest_is_as_before(folder: Path) -> None:
    run = run_pytest(folder, "-v", as_installed=True)
    assert run.returncode == 5  # no tests collected
    assert "attention" not in run.stdout.replace("attention_core", "").partition("rootdir")[0]
    assert "verdicts" not in run.stdout


def test_the_command_of_a_failure_runs_it_again(folder: Path) -> None:
    first = run_pytest(folder, *targets("t.py:doubled"), *OPTIONS, "--attention-seed=3", "-k", LAW)
    # a set, since pytest's summary at the end repeats the whole message where CI is set
    (command,) = set(re.findall(r"to run it again: pytest (.*)", first.stdout))
    options, _, item = command.partition("--pyargs ")
    assert item == f"attention_core.conformance.pytest_suite::t.py:doubled::{LAW}"
    again = run_pytest(folder, *options.split(), suite=item)
    assert "1 failed" in again.stdout and "seed 3" in again.stdout, again.stdout


def test_targets_and_options_of_the_ini_file_hold_where_the_suite_is_named(tmp_path: Path) -> None:
    (tmp_path / "t.py").write_text(TARGETS)
    lines = "\n  ".join(option.partition("option=")[2] for option in OPTIONS)
    (tmp_path / "pytest.ini").write_text(
        f"[pytest]\nattention_targets = t.py:good t.py:two\nattention_options =\n  {lines}\n"
    )
    run = run_pytest(tmp_path, "-k", LAW)
    assert "attention under test: t.py:good, t.py:two" in run.stdout and "1 failed, 1 passed" in run.stdout, run.stdout
    assert "array=numpy" in run.stdout
    other = run_pytest(tmp_path, *targets("t.py:good"), "-k", LAW)
    assert "1 passed" in other.stdout, other.stdout
    (tmp_path / "test_own.py").write_text(OWN)
    own = run_pytest(tmp_path, suite="")
    assert "1 failed, 1 passed" in own.stdout and "under test" not in own.stdout, own.stdout
    assert f"Refuted: doubled: refuted ({LAW})" in own.stdout and "smallest case: float32 B=1" in own.stdout, own.stdout


def test_targets_are_found_where_the_ini_option_pythonpath_finds_tests(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "kernels_of_mine.py").write_text(TARGETS)
    (tmp_path / "pytest.ini").write_text("[pytest]\npythonpath = src\n")
    run = run_pytest(tmp_path, *targets("kernels_of_mine:good"), *OPTIONS, "-k", LAW)
    assert run.returncode == 0, run.stdout


def test_a_target_that_does_not_load_is_one_error(folder: Path) -> None:
    run = run_pytest(folder, *targets("none.py:f"), *OPTIONS)
    assert run.returncode == 1
    assert re.search(r"1 failed, \d+ skipped", run.stdout), run.stdout
    alone = run_pytest(folder, *targets("none.py:f"), *OPTIONS, "-k", "truth")
    assert alone.returncode == 1 and "1 failed" in alone.stdout


OPEN = """
def pytest_runtest_teardown(item, nextitem):
    seen.append(item.parent)

def pytest_sessionfinish(session):
    print("open at the end:", sum(node.opened is not None for node in set(seen)), "of", len(set(seen)))

seen = []
"""


def test_a_session_ends_with_the_last_item_of_its_target(tmp_path: Path) -> None:
    """A run over many targets does not keep all their workers to its end."""
    (tmp_path / "t.py").write_text(TARGETS)
    (tmp_path / "open_sessions.py").write_text(OPEN)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    arguments = [*targets("t.py:good", "t.py:tokens_first"), *OPTIONS, "-k", f"core or {LAW}"]
    run = run_pytest(tmp_path, "-p", "open_sessions", "-s", *arguments)
    assert "open at the end: 0 of 2" in run.stdout, run.stdout + run.stderr
