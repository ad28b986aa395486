"""What is known of the machine.

How busy the machine is: seen where something is busy, said where it matters, and asked before a tuning is kept.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest
from click.testing import CliRunner

from attention_core.bench import cli as command
from attention_core.bench import run, tune
from attention_core.bench.report.render_html import to_html
from attention_core.bench.report.render_text import print_results
from attention_core.bench.report.results import Results
from attention_core.bench.timing import machine
from attention_core.bench.timing.machine import BUSY, busy_cores, busy_words
from attention_core.terminal import make_console

WORDS = "cores are busy with other work: ratios hold"


def test_a_busy_process_is_seen() -> None:
    """Whoever gets the cores, they work: with the child alone it is one core, beside others it is more."""
    spinning = subprocess.Popen([sys.executable, "-c", "print(flush=True)\nwhile True: pass"], stdout=subprocess.PIPE)
    try:
        assert spinning.stdout is not None
        spinning.stdout.readline()
        assert busy_cores(0.5) > 0.5
    finally:
        spinning.kill()
        spinning.communicate()


def test_shares_of_all_cores_are_numbers_of_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(psutil, "cpu_percent", lambda interval: 200 * interval)
    monkeypatch.setattr(psutil, "cpu_count", lambda: 8)
    assert busy_cores(0.125) == 2.0


@pytest.mark.parametrize("busy", [BUSY, 1.26, 64.0])
def test_busy_cores_are_worth_a_word(busy: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    assert busy_words(busy).startswith(f"{busy:.1f} of 2 {WORDS}")


@pytest.mark.parametrize("busy", [0.0, BUSY - 0.01, None, "much", float("nan")])
def test_what_is_little_or_no_number_is_not(busy: Any) -> None:
    assert busy_words(busy) == ""


@pytest.mark.parametrize(("busy", "said"), [(1.5, True), (0.0, False), ("<b>", False)])
def test_results_say_how_busy_the_machine_was(busy: Any, said: bool) -> None:
    results = Results({"processor": "p", "busy": busy}, {}, {"threads": 1})
    console = make_console()
    with console.capture() as shown:
        print_results(console, results)
    assert ("measured while 1.5 of" in shown.get()) is said
    assert ("Measured while 1.5 of" in to_html(results)) is said


def invoke(monkeypatch: pytest.MonkeyPatch, busy: float, *words: str, **options: Any) -> Any:
    monkeypatch.setattr(machine, "busy_cores", lambda: busy)
    monkeypatch.setattr(run, "busy_cores", lambda: busy)
    return CliRunner().invoke(command.bench, words, **options)


@pytest.mark.parametrize("busy", [0.0, 1.5])
def test_the_command_warns_before_it_measures(monkeypatch: pytest.MonkeyPatch, busy: float) -> None:
    seen: list[dict[str, Any]] = []

    def measured(kernels: Any, cells: Any, settings: Any, **_: Any) -> Results:
        seen.append({})
        return Results({"busy": busy}, {}, {})

    monkeypatch.setattr(run, "run_benchmark", measured)
    result = invoke(monkeypatch, busy, "torch:flash")
    assert result.exit_code == 0 and seen == [{}], result.output
    assert ("attention-core: 1.5 of" in result.stderr) is (busy > 0)
    assert ("measured while 1.5 of" in result.stdout) is (busy > 0)


def test_a_self_test_on_a_busy_machine_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "self_test", lambda *_: 0)
    assert WORDS in invoke(monkeypatch, 1.5, "--self-test", "1").stderr


@pytest.mark.parametrize(
    ("busy", "terminal", "answer", "kept"),
    [(1.5, True, "n\n", False), (1.5, True, "y\n", True), (1.5, False, "", True), (0.0, True, "", True)],
)
def test_a_tuning_on_a_busy_machine_is_asked_for_twice(
    monkeypatch: pytest.MonkeyPatch, busy: float, terminal: bool, answer: str, kept: bool
) -> None:
    """Where nobody sits before it, as in a script, a warning is all that can be done."""
    tuned: list[str] = []

    def keep_tuning(device: str, *_: Any) -> Path:
        tuned.append(device)
        return Path("table.json")

    monkeypatch.setattr(tune, "keep_tuning", keep_tuning)
    monkeypatch.setattr(command, "is_attended", lambda: terminal)
    result = invoke(monkeypatch, busy, "--tune", input=answer)
    assert bool(tuned) is kept
    assert result.exit_code == (0 if kept else 2)
    assert (WORDS in result.stderr) is (busy > 0)
    assert ("Tune all the same?" in result.stderr) is (busy > 0 and terminal)
