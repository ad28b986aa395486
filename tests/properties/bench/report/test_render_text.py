"""Benchmarks in the terminal.

The table in the terminal: an order, a reason where there is no time, and figures that people can read.

Progress of benchmarks.

What is told while a benchmark runs: now and then in a log, on one changing line in a terminal, and nothing if that is
asked.
"""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from attention_core.bench.cli import way_out
from attention_core.bench.report.render_text import EVERY, Telling, outcome, print_results
from attention_core.bench.report.results import Cell, Column, Results
from attention_core.bench.timing.statistics import Comparison
from attention_core.bench.workloads.workload import Workload


def printed(width: int = 200) -> list[str]:
    probe = {"first": 3.0, "second": 0.5, "allocator": 2048, "process": None,
             "operators": [{"operator": f"aten::op{k}", "calls": 1, "share": 0.2} for k in range(4)]}  # fmt: skip
    ratio = Comparison(0.5, 0.49, 0.51, 0.5, 20, 20.0, "FASTER")
    errors = {"out": {"rms": 1e-7, "max": 1e-6}, "key": {"rms": 3e-7, "max": 2e-6}}
    kernels = {
        "base": Column("timed", seconds=2e-3, comparison=Comparison(1.0, 1.0, 1.0, 1.0, 20, 20.0, "SAME")),
        "cannot[1]": Column("cannot", "it claims no mask [attn_mask]"),
        "fast": Column("timed", seconds=1e-3, comparison=ratio, share=0.25, errors=errors, probe=probe, outliers=3,
                       settled=False),
        "dead": Column("failed", "its process was ended by signal SIGSEGV"),
    }  # fmt: skip
    cells = [Cell(Workload(n_q=4, n_kv=4), "base", kernels, 5e-4, "exp")]
    told = {"fast": {"verdict": "incomplete", "reason": "too few cases"}, "base": {"verdict": "conforms", "reason": ""}}
    stream = io.StringIO()
    print_results(Console(file=stream, width=width), Results({}, {}, {}, {}, told, cells))
    return stream.getvalue().splitlines()


def test_the_fastest_stands_first_and_reasons_last() -> None:
    rows = [line.strip("│").split("│") for line in printed() if line.startswith("│")]
    assert [row[0].strip() for row in rows] == ["fast", "base", "cannot[1]", "dead"]
    fast = [cell.strip() for cell in rows[0]]
    assert fast[1:9] == ["1 ms", "0.500 [0.490, 0.510]", "FASTER", "25%", "2.0 KiB", "", "3.0e-07", "2.0e-06"]
    assert fast[9] == "op0, op1, 2 more; compiled in 2.5 s; 3 outliers; still warming up"
    assert "baseline" in rows[1][3]
    assert rows[2][9].strip() == "it claims no mask [attn_mask]"
    assert rows[3][9].strip() == "failed: its process was ended by signal SIGSEGV"


def test_the_work_and_the_limit_stand_above() -> None:
    text = "\n".join(printed())
    assert "limit of this machine 500 µs (exp)" in text
    assert "fast: incomplete (too few cases)" in text


def test_a_narrow_terminal_shows_times_ratios_and_verdicts_whole() -> None:
    """What does not fit stands below, a line a kernel: a table cut to fit would show neither."""
    lines = printed(80)
    rows = [[cell.strip() for cell in line.strip("│").split("│")] for line in lines if line.startswith("│")]
    assert rows == [
        ["fast", "1 ms", "0.500 [0.490, 0.510]", "FASTER"],
        ["base", "2 ms", "1.000 [1.000, 1.000]", "baseline"],
    ]
    text = " ".join(" ".join(lines).split())
    assert "fast: of limit 25%; memory 2.0 KiB; error 3.0e-07; largest 2.0e-06; ran op0, op1, 2 more;" in text
    assert "cannot[1]: it claims no mask [attn_mask]" in text
    assert "dead: failed: its process was ended by signal SIGSEGV" in text


def compared(verdict: str, ratio: float = 0.5) -> Column:
    return Column("timed", seconds=1.0, comparison=Comparison(ratio, 0.4, 0.6, 0.5, 20, 20.0, verdict))


@pytest.mark.parametrize(
    ("kernels", "words"),
    [
        ({"base": compared("SAME", 1.0), "a": compared("FASTER"), "b": compared("SLOWER")},
         "faster than base: a takes 0.50 of its time"),
        ({"base": compared("SAME", 1.0), "a": compared("FASTER", 0.0031)},
         "faster than base: a takes 0.0031 of its time"),
        ({"base": compared("SAME", 1.0), "a": compared("SLOWER")}, "no kernel is certainly faster than base"),
        ({"base": compared("SAME", 1.0), "a": compared("AMBIGUOUS")},
         "no kernel is certainly faster than base; not decided at 99%, give it more --seconds: a (20 blocks)"),
        ({"base": compared("SAME", 1.0), "a": Column("cannot", "no mask")}, "only base was timed"),
        ({"base": Column("failed", "dead"), "a": Column("timed", seconds=1.0), "b": Column("timed", seconds=2.0)},
         "base was not timed: there is no ratio"),
        ({"base": Column("failed", "dead")}, "nothing could be timed"),
    ],
)  # fmt: skip
def test_a_sentence_says_what_came_out(kernels: dict[str, Column], words: str) -> None:
    assert outcome(Cell(Workload(n_q=4, n_kv=4), "base", kernels, 5e-4, "exp")) == words


@pytest.mark.parametrize(
    ("name", "hint", "words"),
    [
        ("k.py:f", "refuted as dead_rows=zeros; consistent with --dead-rows nan",
         ": refuted as dead_rows=zeros; consistent with --dead-rows nan; if that is meant, name it k.py:f@dead_rows=nan; "
         "`attention-core verify k.py:f` shows its smallest cases"),
        ("k.py:f@layout=bnhd", "consistent with --causal bottom_right --dead-rows nan",
         ": consistent with --causal bottom_right --dead-rows nan; if that is meant, name it "
         "k.py:f@layout=bnhd,causal=bottom_right,dead_rows=nan; "
         "`attention-core verify k.py:f --layout bnhd` shows its smallest cases"),
        ("k.py:f", "", "; `attention-core verify k.py:f` shows its smallest cases"),
        ("k.py:f@factory=true,gradients=false", "",
         "; `attention-core verify k.py:f --factory --no-gradients` shows its smallest cases"),
        ("k.py:f", "consistent with --returns out,weights, except for 1 law\nknown kernels break this too: a_law (k)",
         ": consistent with --returns out,weights, except for 1 law; if that is meant, name it k.py:f@returns=out,weights; "
         "known kernels break this too: a_law (k); `attention-core verify k.py:f` shows its smallest cases"),
        ("k.py:f", "give --array numpy (in Python array='numpy')",
         ": give --array numpy; if that is meant, name it k.py:f@array=numpy; "
         "`attention-core verify k.py:f` shows its smallest cases"),
    ],
)  # fmt: skip
def test_a_refuted_kernel_comes_with_a_way_out(name: str, hint: str, words: str) -> None:
    results = Results({}, {}, {}, {}, {name: {"verdict": "refuted", "reason": "", "hint": hint}}, [])
    assert way_out(name, results) == words


@pytest.mark.parametrize(("name", "verdict"), [("k.py:f", "conforms"), ("auto:core:tiled", "refuted")])
def test_verify_is_named_only_where_it_would_show_the_fault(name: str, verdict: str) -> None:
    """A kernel may be wrong on the timed inputs alone, and `auto` is no target."""
    assert way_out(name, Results({}, {}, {}, {}, {name: {"verdict": verdict, "reason": ""}}, [])) == ""


class Clock:
    """Seconds that pass when told."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def log(*, quiet: bool = False, terminal: bool = False) -> tuple[Telling, Clock, io.StringIO]:
    stream, clock = io.StringIO(), Clock()
    return Telling(quiet, Console(file=stream, force_terminal=terminal, width=80), clock), clock, stream


def test_a_log_gets_the_first_word_and_then_one_now_and_then() -> None:
    telling, clock, stream = log()
    clock.now += 50  # what passed before it began does not count
    with telling as told:
        told("cell 1 of 2: [3d] tensors")
        told("too soon")
        clock.now += EVERY - 1
        told("still too soon")
        clock.now += 1.5
        told("torch:flash: is it right?")
        clock.now += EVERY - 1
        told("too soon again")
    assert stream.getvalue().splitlines() == ["[0 s] cell 1 of 2: [3d] tensors", "[10 s] torch:flash: is it right?"]


def test_a_long_line_is_one_line() -> None:
    telling, _, stream = log()
    with telling as told:
        told("word " * 40)
    assert len(stream.getvalue().splitlines()) == 1


@pytest.mark.parametrize("terminal", [False, True])
def test_nothing_is_told_where_that_is_asked(terminal: bool) -> None:
    telling, _, stream = log(quiet=True, terminal=terminal)
    with telling as told:
        told("cell 1 of 2")
    assert stream.getvalue() == ""


def test_a_terminal_has_one_line_that_changes() -> None:
    telling, _, stream = log(terminal=True)
    assert telling.status is not None
    with telling as told:
        told("cell 1 of [3d]")
        assert str(telling.status.status) == "cell 1 of [3d]"
    assert "[0 s]" not in stream.getvalue()
