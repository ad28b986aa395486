"""attention-core in a process.

The command line as a person meets it: processes of their own, one clear line for everything that can be wrong.
The targets are NumPy functions, whose workers start quickly, and one law is asked; one call verifies all of them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import attention_core
from attention_core.cli import main

LAW = "agrees_with_truth"
HOME = Path(attention_core.__file__).parents[1]
TARGETS = """
import os, signal, sys, time
import numpy as np

def good(query, key, value):
    s = query.astype(np.float64) @ np.swapaxes(key, -1, -2) / np.sqrt(query.shape[-1])
    p = np.exp(s - s.max(-1, keepdims=True))
    return (p / p.sum(-1, keepdims=True) @ value).astype(query.dtype)

def flood(query, key, value):
    print("noise" * 40000, flush=True)
    print("noise" * 40000, file=sys.stderr, flush=True)
    os.write(1, b"noise" * 1000)
    return good(query, key, value)

number = 3
def one(x): return x
def extra(query, key, value, window): return good(query, key, value)
def mutates(query, key, value):
    key += 1
    return good(query, key, value)
def key_error(query, key, value): raise KeyError("missing")
def never(query, key, value): raise NotImplementedError("not yet")
def shape(query, key, value): return good(query, key, value)[..., :1]
def dtype(query, key, value): return good(query, key, value).astype(np.float16)
def hangs(query, key, value): time.sleep(1000)
def dies(query, key, value):
    print("last words", flush=True)
    os.kill(os.getpid(), signal.SIGSEGV)
def exits(query, key, value): sys.exit(5)
def leaves(query, key, value): os._exit(3)
def garbles(query, key, value):
    for descriptor in range(3, 64):
        try:
            os.write(descriptor, b"junk" * 8)
        except OSError:
            pass
    return good(query, key, value)
def secret(query, key, value):
    try:
        told = open(f"/proc/{os.getppid()}/environ", "rb").read()
    except OSError:
        told = b""
    raise KeyError([*sorted(k for k in os.environ if "TOKEN" in k or "KERAS" in k), b"do-not-tell" in told])
def doubled(query, key, value): return 2 * good(query, key, value)
"""
BROKEN = "import a_module_nobody_has\n"
NUMPY = ("--array", "numpy", "--dtype", "float32", "--no-gradients", "--law", LAW, "--effort", "quick")


def attention_core_command(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(filter(None, [str(HOME), os.environ.get("PYTHONPATH", "")]))
    return subprocess.run(
        [sys.executable, "-m", "attention_core.cli", *arguments], cwd=cwd, capture_output=True, text=True, timeout=300,
        env={**os.environ, "PYTHONPATH": path, "COLUMNS": "200", **environment}, check=False,
    )  # fmt: skip


# target -> (verdict, words of its counterexample or reason)
EXPECTED = {
    "t.py:good": ("incomplete", "the chosen law held; a verdict needs all laws"),
    "t.py:flood": ("incomplete", "the chosen law held; a verdict needs all laws"),
    "none.py:f": ("error", "no such file: none.py"),
    "t.py:nothing": ("error", "t.py has no attribute 'nothing'; it has: "),
    "no_module_of_this_name:f": ("error", "no module named 'no_module_of_this_name'"),
    "broken.py:f": (
        "error",
        "broken.py cannot be imported: it needs the module 'a_module_nobody_has'",
    ),
    "nonsense": ("error", "target 'nonsense' is not understood"),
    "torch:nothing": ("error", "no kernel 'torch:nothing' in the table"),
    "t.py:number": ("error", "t.py:number is not callable (it is of type int)"),
    "t.py:one": ("error", "t.py:one takes 1 parameter, but attention needs query, key and value"),
    "t.py:extra": ("error", "has the parameter 'window' without a default: give --arg window=VALUE"),
    "t.py:mutates": ("refuted", "the call changed its input key, but should leave inputs as they are"),
    "t.py:key_error": ("refuted", "a valid call raised KeyError: 'missing'"),
    "t.py:never": ("incomplete", "NotImplementedError: not yet"),
    "t.py:shape": ("refuted", "out: got shape "),
    "t.py:dtype": ("refuted", "out: got dtype float16, but should be float32"),
    "t.py:hangs": ("refuted", "the call did not return: no answer within 1 s"),
    "t.py:dies": ("refuted", "was ended by signal SIGSEGV; it last printed: last words"),
    "t.py:exits": ("refuted", "the call did not return: the target called sys.exit(5)"),
    "t.py:leaves": ("refuted", "the call did not return: the process ended with status 3"),
    "t.py:garbles": ("refuted", "the call did not return: the process sent something that is not a response"),
    "t.py:secret": ("refuted", "a valid call raised KeyError: ['KERAS_BACKEND', False]"),
    "t.py:doubled": ("refuted", "agrees_with_truth"),
}


EVENTS = {
    "t.py:hangs": "hang", "t.py:dies": "crash", "t.py:exits": "exit", "t.py:leaves": "exit", "t.py:shape": "wrong shape",
    "t.py:dtype": "wrong dtype", "t.py:key_error": "", "t.py:doubled": "",
}  # fmt: skip
"""What happened where any law would have met it."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("cli")
    (found / "t.py").write_text(TARGETS)
    (found / "broken.py").write_text(BROKEN)
    return found


@pytest.fixture(scope="module")
def verified(folder: Path) -> subprocess.CompletedProcess[str]:
    return attention_core_command(
        "verify", *EXPECTED, *NUMPY, "--timeout", "1", "--json", "r.json", "--junit", "r.xml", "--html", "r.html",
        "--save", "cases", cwd=folder, SECRET_TOKEN="do-not-tell", KERAS_BACKEND="numpy",
    )  # fmt: skip


@pytest.fixture(scope="module")
def reports(verified: subprocess.CompletedProcess[str], folder: Path) -> dict[str, Any]:
    assert verified.returncode == 1, verified.stderr
    data = json.loads((folder / "r.json").read_text())
    return {report["target"]: report for report in data["reports"]}


@pytest.mark.parametrize("target", EVENTS)
def test_a_result_is_named_by_what_happened(
    target: str, reports: dict[str, Any], verified: subprocess.CompletedProcess[str]
) -> None:
    (found,) = (r["counterexample"] for r in reports[target]["laws"] if r["counterexample"])
    assert found["event"] == EVENTS[target]
    wanted = f"# {found['event'] or LAW}: "
    assert any(line.startswith(wanted) for line in found["snippet"].splitlines())
    assert f"{target}: refuted ({EVENTS[target] or LAW}" in verified.stdout


@pytest.mark.parametrize("target", ["t.py:hangs", "t.py:exits", "t.py:leaves"])
def test_the_snippet_of_a_lost_call_fails(target: str, reports: dict[str, Any], folder: Path) -> None:
    (found,) = (r["counterexample"] for r in reports[target]["laws"] if r["counterexample"])
    run = subprocess.run(
        [sys.executable, "-c", found["snippet"]], cwd=folder, capture_output=True, text=True, timeout=60
    )
    assert run.returncode in (1, 3)
    assert {"t.py:hangs": "Timeout (0:00:01)", "t.py:exits": "AssertionError: the call did not", "t.py:leaves": ""}[
        target
    ] in run.stderr


def test_every_target_gets_its_verdict_in_order(reports: dict[str, Any]) -> None:
    assert {name: report["verdict"] for name, report in reports.items()} == {k: v for k, (v, _) in EXPECTED.items()}
    assert list(reports) == list(EXPECTED)


@pytest.mark.parametrize("target", EXPECTED)
def test_what_is_wrong_is_said_in_one_line(
    reports: dict[str, Any], verified: subprocess.CompletedProcess[str], target: str
) -> None:
    verdict, words = EXPECTED[target]
    report = reports[target]
    said = [*report["missing"], *(law["message"] for law in report["laws"])]
    if words != LAW:
        assert any(words in line for line in said), said
    assert all(len(line.splitlines()) <= 1 for line in said)
    line = next(line for line in verified.stdout.splitlines() if line.startswith(f"{target}: {verdict} ("))
    if verdict == "error":
        assert words in line


def test_there_is_no_traceback_and_no_secret(
    verified: subprocess.CompletedProcess[str], reports: dict[str, Any]
) -> None:
    for text in (verified.stdout, verified.stderr, json.dumps(reports)):
        assert "Traceback" not in text
        assert "do-not-tell" not in text
    assert "noise" not in verified.stdout + verified.stderr
    assert verified.stderr == ""


def test_the_other_files_agree_with_the_verdicts(reports: dict[str, Any], folder: Path) -> None:
    suites = ET.parse(folder / "r.xml").getroot()
    assert [suite.get("name") for suite in suites] == list(EXPECTED)
    bad = {s.get("name") for s in suites if s.get("failures") != "0" or s.get("errors") != "0"}
    assert bad == {name for name, (_, words) in EXPECTED.items() if "chosen law held" not in words}
    page = (folder / "r.html").read_text().replace("<wbr>", "")  # where a browser may break a long name
    assert all(name in page for name in EXPECTED)


def test_targets_are_isolated_and_the_report_says_what_was_tested(reports: dict[str, Any]) -> None:
    report = reports["t.py:good"]
    assert report["isolated"] is True
    assert report["declared"]["array"] == "numpy"
    assert report["claims"]["scale"] == "not tested: no such parameter"
    assert [law["law"] for law in report["laws"]] == [LAW]


def test_a_saved_case_is_replayed_on_any_target(reports: dict[str, Any], folder: Path) -> None:
    case = f"cases/t.py-doubled-{LAW}.json"
    assert json.loads((folder / case).read_text())["target"] == "t.py:doubled"
    again = attention_core_command("replay", case, cwd=folder)
    assert again.returncode == 1, again.stdout + again.stderr
    assert f"t.py:doubled: refuted ({LAW})" in again.stdout
    other = attention_core_command("replay", case, "--target", "t.py:good", "--json", "-", cwd=folder)
    assert other.returncode == 0, other.stdout + other.stderr
    assert f"t.py:good: the saved case passes now ({LAW} holds on it)" in other.stderr
    assert "incomplete" not in other.stderr
    assert [law["status"] for law in json.loads(other.stdout)["laws"]] == ["held"]


def test_the_snippet_runs_without_us(reports: dict[str, Any], folder: Path) -> None:
    (law,) = reports["t.py:doubled"]["laws"]
    snippet = law["counterexample"]["snippet"]
    (folder / "snippet.py").write_text(snippet)
    assert "attention_core" not in snippet
    run = subprocess.run([sys.executable, "-I", "snippet.py"], cwd=folder, capture_output=True, text=True, timeout=60)
    assert run.returncode == 1
    if "ModuleNotFoundError" in run.stderr:  # -I leaves the folder out; the person stands in it
        path = {**os.environ, "PYTHONPATH": str(folder)}
        run = subprocess.run(
            [sys.executable, "snippet.py"], cwd=folder, capture_output=True, text=True, env=path, timeout=60
        )
    assert "AssertionError: " in run.stderr
    assert "got" in run.stdout


def test_known_failures_are_strict_both_ways(reports: dict[str, Any], folder: Path) -> None:
    case = f'case = "cases/t.py-doubled-{LAW}.json"\n'
    entries = [("t.py:doubled", case), ("t.py:good", ""), ("other[/x]:f", "")]
    text = "".join(f'[[known_failure]]\ntarget = "{t}"\nlaw = "{LAW}"\nreason = "why"\n{more}' for t, more in entries)
    (folder / "known.toml").write_text(text)
    run = attention_core_command(
        "verify", "t.py:doubled", "t.py:good", *NUMPY, "--known-failures", "known.toml", cwd=folder
    )  # fmt: skip
    assert run.returncode == 2, run.stdout + run.stderr
    assert "t.py:doubled: incomplete (1 known failure still there; a verdict needs all laws)" in run.stdout
    assert f"t.py:good: incomplete ({LAW}: a known failure no longer fails; take it off the list)" in run.stdout
    assert "known failures name other[/x]:f, which was not asked for" in run.stdout


def test_a_traceback_is_shown_when_asked_for(folder: Path) -> None:
    run = attention_core_command("verify", "broken.py:f", *NUMPY, "--traceback", cwd=folder)
    assert run.returncode == 2
    assert "Traceback (most recent call last)" in run.stdout
    assert "a_module_nobody_has" in run.stdout


def invoke(*arguments: str) -> Any:
    """The command in this process: nothing here starts a worker."""
    return CliRunner().invoke(main, arguments)


BAD = [
    (("verify",), "Missing argument 'TARGET...'"),
    (("verify", "t.py:f", "--effort", "much"), "'much' is not one of"),
    (("verify", "t.py:f", "--seed", "-1"), "-1 is not in the range"),
    (("verify", "t.py:f", "--timeout", "0"), "0 is not in the range"),
    (("verify", "t.py:f", "--timeout", "inf"), "inf is not a number of seconds below 86400 (a day)"),
    (("verify", "t.py:f", "--timeout", "nan"), "nan is not a number of seconds below 86400 (a day)"),
    (("verify", "t.py:f", "--parameter", "foo"), "attention-core: --parameter 'foo': write NAME=VALUE"),
    (("verify", "t.py:f", "--json", "x", "--html", "x"), "--json and --html name one file, x: one would overwrite"),
    (("verify", "t.py:f", "--layout", "bdhn"), "'bdhn' is not one of"),
    (("verify", "t.py:f", "--arg", "x"), "attention-core: --arg 'x': write NAME=VALUE"),
    (
        ("verify", "t.py:f", "--sizes", "__import__('os')"),
        "attention-core: sizes=\"__import__('os')\" is not understood",
    ),
    (("verify", "t.py:f", "--known-failures", "none.toml"), "attention-core: known failures: none.toml cannot be read"),
    (("replay", "none.json"), "attention-core: none.json cannot be read"),
    (("laws", "--contract", "nothing"), "attention-core: no contract 'nothing'; there are: attention"),
    (("nothing",), "No such command 'nothing'"),
]


@pytest.mark.parametrize(("arguments", "words"), BAD)
def test_bad_words_end_in_one_line_and_status_2(arguments: tuple[str, ...], words: str) -> None:
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert words in result.output
    assert "Traceback" not in result.output


@pytest.mark.parametrize(("option", "value"), [("--dtype", "int8"), ("--claims", "mask"), ("--contract", "nothing")])
def test_bad_records_are_the_reports_of_their_targets(option: str, value: str) -> None:
    result = invoke("verify", "t.py:f", option, value)
    assert result.exit_code == 2, result.output
    assert "t.py:f: error (" in result.output
    assert "Traceback" not in result.output


def test_files_that_cannot_be_written_are_told() -> None:
    """At the door, before anything is loaded: not at the end of a long run."""
    for option in ("json", "html", "junit"):
        result = invoke("verify", "nonsense", f"--{option}", "no/such/folder/r")
        assert result.exit_code == 2
        line = f"attention-core: --{option} no/such/folder/r cannot be written: there is no folder no/such/folder\n"
        assert result.output == line


def test_help_names_every_command_and_option() -> None:
    assert {"verify", "laws", "kernels", "replay"} <= set(main.commands)
    for command in main.commands:
        result = invoke(command, "--help")
        assert result.exit_code == 0
        assert "Usage: " in result.output
    options = invoke("verify", "--help").output
    for option in ("--effort", "--seed", "--law", "--contract", "--device", "--dtype", "--timeout", "--json", "--html",
                   "--junit", "--known-failures", "--layout", "--out-layout", "--returns", "--causal", "--mask-true",
                   "--dead-rows", "--masked-nan", "--accumulate", "--deterministic", "--gradients", "--mask-gradient",
                   "--second-gradients", "--validates", "--sizes", "--array", "--claims", "--factory", "--arg", "--parameter", "--kind",
                   "--pairing", "--name"):  # fmt: skip
        assert option in options, option
    assert "Exit status: 1 if any target is refuted" in options


def test_laws_and_kernels_are_listed() -> None:
    laws = invoke("laws")
    assert laws.exit_code == 0
    assert LAW in laws.output
    assert "formula: " in laws.output
    assert LAW not in invoke("laws", "--contract", "rotary").output
    kernels = invoke("kernels").output
    assert "torch:math" in kernels
    assert "a labelled counterexample" in " ".join(kernels.split())


def test_help_is_quick_because_torch_stays_out(folder: Path) -> None:
    code = "import sys; from attention_core.cli import main; main(['--help'], standalone_mode=False); print('torch' in sys.modules)"
    path = os.pathsep.join(filter(None, [str(HOME), os.environ.get("PYTHONPATH", "")]))
    run = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, timeout=60,
                         env={**os.environ, "PYTHONPATH": path})  # fmt: skip
    assert run.stdout.rstrip().endswith("False"), run.stdout + run.stderr
