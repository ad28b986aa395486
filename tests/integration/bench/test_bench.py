"""The command `attention-core bench`.

`attention-core bench` as a person calls it: one whole run, going on from its file, and every bad word's one clear line.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from attention_core.bench.cli import judge_column, status_of
from attention_core.bench.cli_validation import default_kernels, parse_whole_numbers
from attention_core.bench.report.results import Cell, Column, Results, read_results
from attention_core.bench.run import Settings
from attention_core.bench.timing.statistics import Comparison
from attention_core.bench.workloads.workload import Workload
from attention_core.cli import main
from attention_core.declaration.implementation import TargetError
from attention_core.terminal import make_console

TARGETS = """
def plain(query, key, value):
    scores = query @ key.transpose(-1, -2) / max(query.shape[-1], 1) ** 0.5
    return scores.softmax(-1) @ value

def doubled(query, key, value):
    return 2 * plain(query, key, value)
"""
PLAIN, DOUBLED = (f"t.py:{name}@gradients=false" for name in ("plain", "doubled"))  # judged in two thirds of the time
SHAPE = ("--shapes", "B=1,H=2,n=32,d=8", "--baseline", PLAIN, "--seconds", "0.3")


def command(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(
        filter(None, [str(Path(main.callback.__globals__["__file__"]).parents[1]), os.environ.get("PYTHONPATH", "")])
    )  # type: ignore[union-attr]
    return subprocess.run(
        [sys.executable, "-m", "attention_core.cli", "bench", *arguments], cwd=cwd, capture_output=True, text=True,
        timeout=300, env={**os.environ, "PYTHONPATH": path, "COLUMNS": "200"}, check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("bench")
    (found / "t.py").write_text(TARGETS)
    return found


def here(folder: Path, *arguments: str) -> Any:
    """The command in this process, in that folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        return CliRunner().invoke(main, ["bench", *arguments], env={"COLUMNS": "200"})


@pytest.fixture(scope="module")
def run(folder: Path) -> subprocess.CompletedProcess[str]:
    return command(DOUBLED, *SHAPE, "--json", "r.json", cwd=folder)


def test_the_table_tells_right_from_wrong(run: subprocess.CompletedProcess[str]) -> None:
    assert run.returncode == 1, run.stdout + run.stderr
    lines = run.stdout.splitlines()
    assert any("B=1 H=2 n=32 d=8 float32 fwd" in line for line in lines)
    (row,) = [line for line in lines if line.startswith(f"│{DOUBLED}")]
    assert "refuted: " in row
    (row,) = [line for line in lines if line.startswith(f"│{PLAIN}")]
    assert "1.000" in row and "baseline" in row
    assert f"{DOUBLED} is refuted and was not timed" in run.stdout
    assert f"{PLAIN}: is it right? (kernel 1 of 2, then 1 cell of " in run.stderr, "a log says what is going on"
    assert "Traceback" not in run.stderr


def test_json_holds_everything(run: subprocess.CompletedProcess[str], folder: Path) -> None:
    data = json.loads((folder / "r.json").read_text())
    assert data["kind"] == "attention-core bench" and data["schema_version"] == 1
    assert data["verdicts"][DOUBLED]["verdict"] == "refuted"
    assert data["machine"]["processor"] and data["versions"]["torch"] and data["settings"]["seed"] == 0
    assert data["limits"]["flops"]["float32"] > 1e6 and data["limits"]["exponentials"] > 1e5
    (cell,) = data["cells"]
    plain = cell["kernels"][PLAIN]
    assert plain["comparison"]["ratio"] == 1.0
    assert all(len(block) == 2 for block in plain["samples"]) and len(plain["samples"]) == plain["comparison"]["blocks"]
    assert plain["errors"]["out"]["rms"] < 1e-5 and plain["errors"]["out"]["judged"] == 2 * 32 * 8
    assert plain["probe"]["process"] is not None
    # the table names those that took most of the time, which is another one from run to run
    assert "aten::bmm" in [each["operator"] for each in plain["probe"]["operators"]]
    assert cell["workload"]["counts"]["pairs"] == 2 * 32 * 32


def test_going_on_measures_nothing_again(run: subprocess.CompletedProcess[str], folder: Path) -> None:
    before = json.loads((folder / "r.json").read_text())
    again = here(folder, DOUBLED, *SHAPE, "--json", "r.json", "--resume", "--html", "h.html", "--plot", "p.svg")
    assert again.exit_code == 1
    assert "baseline" in again.stdout
    assert json.loads((folder / "r.json").read_text()) == before
    assert "wrote p-pareto.svg\nwrote p-roofline.svg" in again.stdout
    page = (folder / "h.html").read_text().replace("<wbr>", "")  # where a browser may break a long name
    assert DOUBLED in page and (folder / "p-pareto.svg").exists()


def test_json_on_standard_output_stands_alone(
    run: subprocess.CompletedProcess[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tables go to standard error then; there is no file that --resume could continue."""
    measured = read_results(folder / "r.json")
    monkeypatch.chdir(folder)
    monkeypatch.setattr("attention_core.bench.run.run_benchmark", lambda *_, **__: measured)
    shown = CliRunner().invoke(main, ["bench", DOUBLED, *SHAPE, "--json", "-"])
    assert json.loads(shown.stdout) == json.loads((folder / "r.json").read_text()), shown.output
    assert "baseline" in shown.stderr and shown.exit_code == 1 and not (folder / "-").exists()
    again = CliRunner().invoke(main, ["bench", DOUBLED, *SHAPE, "--json", "-", "--resume"])
    assert again.exit_code == 2 and "--resume needs --json FILE" in again.output


def test_another_file_is_not_gone_on_with(run: subprocess.CompletedProcess[str], folder: Path) -> None:
    before = (folder / "t.py").read_text()
    (folder / "t.py").write_text(before + "\n# changed\n")
    again = here(folder, DOUBLED, *SHAPE, "--json", "r.json", "--resume")
    (folder / "t.py").write_text(before)
    assert again.exit_code == 2 and f"cannot resume: the file of {PLAIN} has changed since" in again.stderr
    said = [line for line in again.stderr.splitlines() if "cores are busy with other work" not in line]
    assert len(said) == 1, again.stderr


BAD: list[tuple[list[str], str]] = [
    (["torch:nothing"], "no kernel 'torch:nothing' in the table; there are: torch:default"),
    (["--baseline", "nonsense"], "target 'nonsense' is not understood"),
    (["--shapes", "B=0,n=3"], "B=0 is not a whole number of at least 1"),
    (["--shapes", "H=6,H_kv=4"], "H=6 query heads are not a multiple of H_kv=4"),
    (["--shapes", "nothing.toml"], "nothing.toml cannot be read: No such file or directory"),
    (["--shapes", "BERT-huge"], "shape 'BERT-huge' is not one of BERT-base, GPT-2, Llama-3-8B"),
    (["--shapes", "n=10000000", "--mask", "bool"], "needs at least 9"),
    (["--dtype", "int8"], "dtype 'int8' is not one of float32"),
    (["--mask", "window"], "write window:N with N a whole number >= 1"),
    (["--lengths", "12,x"], "--lengths '12,x': write whole numbers of at least 1"),
    (["--json", "no/folder/r.json"], "--json no/folder/r.json cannot be written: there is no folder no/folder"),
    (["--html", "."], "'.' is a directory"),
    (["--resume"], "--resume needs --json FILE"),
    (["--direction", "sideways"], "'sideways' is not one of"),
    (["--plot", "p.gif"], "--plot p.gif: name a file that ends in .svg, .png, .pdf"),
    (["--seconds", "-1"], "-1.0 is not in the range"),
    (["--gate", "0.5"], "0.5 is not in the range"),
    (["--seconds", "nan"], "nan is not a finite number"),
    (["--gate", "nan"], "nan is not a finite number"),
    (["--timeout", "inf"], "inf is not a finite number"),
    (["--lengths", "9" * 5000], "write whole numbers of at least 1"),
    (["--mask", "window:" + "9" * 20], "write window:N with N a whole number >= 1 of at most 15 digits"),
    (["--tune", "--dtype", "float8"], "dtype 'float8' is not one of float32"),
    (["--device", "tpu"], "--device 'tpu' is not cpu, cuda"),
    (["--self-test", "1", "--device", "cuda:99"], "--device cuda:99: "),
    (["--json", "x" * 300], "cannot be written: File name too long"),
    (["--html", "t.html/r.html"], "there is no folder t.html"),
    (["--json", ""], "--json '' cannot be written: it names no file"),
    (["--html", ""], "--html '' cannot be written: it names no file"),
    (["--plot", ""], "name a file that ends in .svg"),
    (["--json", "o.x", "--html", "o.x"], "--json and --html name one file, o.x: one would overwrite the other"),
    (["--json", "o.x", "--html", "./o.x"], "--json and --html name one file"),
    (["--html", "q-growth.svg", "--plot", "q.svg"], "--html and --plot q.svg: name one file, q-growth.svg"),
    (["--device", "cuda:x"], "--device 'cuda:x' is not cpu, cuda or cuda:N"),
    (["--device", "cuda:"], "is not cpu, cuda or cuda:N"),
    (["--lengths", "١٢"], "write whole numbers of at least 1"),
    (["--shapes", "n=１２"], "is not understood: write sizes as"),
    (["--shapes", "BERT-base:１２"], "write a length of at least 1"),
    (["--mask", "window:٣"], "write window:N with N a whole number"),
    (["--mask", "+".join(["causal"] * 5000)], "names causal twice"),
    (["--threads", "100000"], "--threads 100000: there are "),
    (["--self-test", "3", "torch:flash", "--gate", "1.05"], "--self-test does not go with KERNEL, --gate: it compares"),
    (["--self-test", "3", "--json", "r.json"], "--self-test does not go with --json"),
    (["--tune", "--self-test", "3"], "--tune does not go with --self-test"),
    (["--self-test", "3", "--known-failures", "k.toml"], "--self-test does not go with --known-failures"),
    (["--known-failures", "nothing.toml"], "known failures: nothing.toml cannot be read: No such file or directory"),
]


@pytest.mark.parametrize(("words", "said"), BAD, ids=lambda x: " ".join(x)[:40] if isinstance(x, list) else None)
def test_bad_words_are_one_clear_line(words: list[str], said: str) -> None:
    found = CliRunner().invoke(main, ["bench", *words])
    assert found.exit_code == 2
    assert said in found.stderr.splitlines()[-1]
    assert "Traceback" not in found.stderr
    assert len(found.stderr.splitlines()[-1]) < 600


class Asked(Exception):
    """Ends a run that only its arguments are wanted of."""


def asked_for(monkeypatch: pytest.MonkeyPatch, *words: str) -> dict[str, Any]:
    """What `run_benchmark` gets from the command's words."""
    seen: dict[str, Any] = {}

    def runs(kernels: list[str], cells: list[Workload], settings: Settings, **rest: Any) -> None:
        seen.update(kernels=kernels, cells=cells, settings=settings, **rest)
        raise Asked

    monkeypatch.setattr("attention_core.bench.run.run_benchmark", runs)
    assert isinstance(CliRunner().invoke(main, ["bench", *words]).exception, Asked)
    return seen


def test_known_failures_reach_the_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Also of the baseline; what is listed of a kernel that is not there is told."""
    path = tmp_path / "known.toml"
    entries = [
        f'[[known_failure]]\ntarget = "{t}"\nlaw = "a_law"\nreason = "r"' for t in ("torch:math", "auto", "k.py:f")
    ]
    path.write_text("\n".join(entries))
    said: list[str] = []
    monkeypatch.setattr("click.echo", lambda text, **_: said.append(text))
    found = asked_for(monkeypatch, "auto", "--baseline", "torch:math", "--known-failures", str(path))
    assert {target: list(laws) for target, laws in found["listed"].items()} == {
        "torch:math": ["a_law"], "auto": ["a_law"], "k.py:f": ["a_law"],
    }  # fmt: skip
    assert [line for line in said if "known failures" in line] == [
        "attention-core: known failures name k.py:f, which was not asked for"
    ]
    assert asked_for(monkeypatch, "auto")["listed"] == {}


def test_every_word_reaches_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    words = "auto --baseline torch:math --shapes H=2,n=8,d=4 --direction both --dtype bfloat16 --mask causal --form 3d"
    words += " --decode --lengths 16,32 --seconds 2.5 --threads 3 --seed 9 --timeout 7"
    found = asked_for(monkeypatch, *words.split())
    assert list(found["kernels"]) == ["auto"] and found["previous"] is None
    assert found["settings"] == Settings(baseline="torch:math", seconds=2.5, threads=3, seed=9, timeout=7.0)
    assert [(w.n_q, w.n_kv, w.direction) for w in found["cells"]] == [
        (1, 16, "fwd"), (1, 16, "bwd"), (1, 32, "fwd"), (1, 32, "bwd"),
    ]  # fmt: skip
    for cell in found["cells"]:
        assert (cell.H, cell.d, cell.dtype, str(cell.mask), cell.form, cell.seed) == (
            2,
            4,
            "bfloat16",
            "causal",
            "3d",
            9,
        )


def test_without_a_kernel_all_rows_that_are_right_and_run_here_are_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    found = asked_for(monkeypatch)["kernels"]
    assert {"core:dot_product", "torch:default", "torch:flex", "transformers:sdpa"} <= set(found)
    assert not {"core:naive_causal", "torch:cudnn", "core:tiled_lse", "core:rotary"} & set(found)
    assert set(default_kernels("cuda")) - set(found) == {"torch:efficient", "torch:cudnn", "torch:flex_compiled"}


def test_a_file_is_gone_on_from_where_that_is_asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    assert asked_for(monkeypatch, "--json", str(path), "--resume")["previous"] is None, "there is none yet"
    path.write_text(Results({"processor": "some"}, {}, {}).to_json())
    assert asked_for(monkeypatch, "--json", str(path))["previous"] is None
    assert asked_for(monkeypatch, "--json", str(path), "--resume")["previous"].machine == {"processor": "some"}
    assert list(tmp_path.iterdir()) == [path], "looking whether it can be written leaves nothing behind"


@pytest.mark.parametrize(("passed", "status"), [((True, True), 0), ((True, False), 1), ((False, True), 1)])
def test_a_self_test_that_fails_on_one_cell_fails(
    passed: tuple[bool, bool], status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    left, trials = list(passed), []
    monkeypatch.setattr(
        "attention_core.bench.selftest.run_self_test",
        lambda cell, settings, count, told: trials.append(count) or SimpleNamespace(passed=left.pop(0)),
    )
    monkeypatch.setattr("attention_core.bench.selftest.print_self_test", lambda *_: None)
    assert CliRunner().invoke(main, ["bench", "--self-test", "3", "--direction", "both"]).exit_code == status
    assert trials == [3, 3]


def test_a_kernel_that_was_named_decides_the_status(monkeypatch: pytest.MonkeyPatch) -> None:
    """And so does the gate: both are told to those who judge."""

    def measured(kernels: object, cells: list[Workload], *_: object, **__: object) -> Results:
        columns = {"auto": Column("cannot", "why"), "slow": timed(1.06, 1.08, 1.07)}
        return Results({}, {}, {}, cells=[Cell(cells[0], "base", columns)])

    monkeypatch.setattr("attention_core.bench.run.run_benchmark", measured)
    statuses = [CliRunner().invoke(main, ["bench", *words]).exit_code for words in ([], ["auto"], ["--gate", "1.05"])]
    assert statuses == [0, 2, 1]


@pytest.mark.parametrize("option", ["--json", "--html", "--plot"])
def test_what_is_no_file_is_refused_before_anything_is_measured(
    option: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("attention_core.bench.run.run_benchmark", lambda *_, **__: pytest.fail("measured"))
    monkeypatch.chdir(tmp_path)
    made, said = ("q-pareto.svg", "--plot q.svg: q-pareto.svg") if option == "--plot" else ("q.svg", f"{option} q.svg")
    os.mkfifo(made)
    words = ["bench", option, "q.svg"]
    found = CliRunner().invoke(main, words)
    assert (found.exit_code, found.stderr) == (
        2,
        f"attention-core: {said} cannot be written: it is not a regular file\n",
    )
    assert Path(made).is_fifo()
    Path(made).unlink()
    Path(made).mkdir()
    found = CliRunner().invoke(main, words)
    assert found.exit_code == 2
    assert ("is a directory" if option != "--plot" else f"{said} cannot be written: it is a folder") in found.stderr


def test_a_link_is_followed_and_the_mode_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attention_core.bench.run.run_benchmark", lambda *_, **__: Results({}, {}, {}))
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    real.write_text("")
    real.chmod(0o640)
    link.symlink_to("real.json")
    found = CliRunner().invoke(main, ["bench", "--json", str(link)])
    assert found.exit_code == 0, found.stderr
    assert link.is_symlink() and json.loads(real.read_text())["cells"] == [] and real.stat().st_mode & 0o777 == 0o640


def test_a_file_of_something_else_is_not_gone_on_from(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_text('{"kind": "something else"}')
    found = CliRunner().invoke(main, ["bench", "--json", str(path), "--resume"])
    assert found.exit_code == 2
    assert "it was not written by `attention-core bench --json` of this version" in found.stderr
    assert path.read_text() == '{"kind": "something else"}'


@pytest.mark.parametrize(
    ("ends", "status", "said"),
    [
        (KeyboardInterrupt(), 130, "attention-core: interrupted; --resume continues from the cells in"),
        (TargetError("r.json cannot be written: disk full"), 2, "disk full"),
    ],
)
def test_what_was_measured_is_shown_whatever_ends_the_run(
    ends: BaseException, status: int, said: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def stopped(
        kernels: object, cells: list[Workload], settings: object, *, save: Callable[[Results], None], **rest: object
    ) -> None:
        save(Results({}, {}, {}, cells=[Cell(cells[0], "base", {"finished": timed(1.0, 1.1)})]))
        raise ends

    monkeypatch.setattr("attention_core.bench.run.run_benchmark", stopped)
    found = CliRunner().invoke(main, ["bench", "--json", str(tmp_path / "r.json")])
    assert found.exit_code == status
    assert "finished" in found.stdout and "1.040" in found.stdout
    assert said in found.stderr
    assert "finished" in (tmp_path / "r.json").read_text()


def timed(low: float | None, high: float | None, ratio: float = 1.04) -> Column:
    return Column("timed", seconds=1.0, comparison=Comparison(ratio, low, high, ratio, 20, 20.0, "SLOWER"))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("column", "gate", "status", "words"),
    [
        (timed(1.06, 1.08, 1.07), 1.05, 1, "k takes 1.070 times base, beyond the gate of 1.05"),
        (timed(1.03, 1.08), 1.05, 0, "undecided"),
        (timed(1.03, 1.09, 1.06), 1.05, 0, "undecided"),
        (timed(0.0, None), 1.05, 0, "undecided"),
        (timed(1.00, 1.04), 1.05, 0, ""),
        (timed(1.06, 1.08), None, 0, ""),
        (Column("timed", seconds=1.0), 1.05, 2, "k has no ratio, as base was not timed"),
        (Column("timed", seconds=1.0), None, 0, ""),
        (Column("cannot", "why"), 1.05, 0, ""),
        (Column("refuted", "why"), None, 1, "k is refuted"),
        (Column("failed", "why"), None, 2, "k failed: why"),
    ],
)
def test_the_gate(column: Column, gate: float | None, status: int, words: str) -> None:
    line, found = judge_column("k", column, "base", gate)
    assert found == status
    assert words in line if words else line == ""


@pytest.mark.parametrize(
    ("statuses", "status"),
    [
        ("timed", 0),
        ("failed timed", 2),
        ("refuted timed", 1),
        ("refuted failed timed", 1),
        ("failed refuted timed", 1),
        ("cannot", 0),
    ],
)
def test_the_exit_status_is_that_of_the_worst_kernel(statuses: str, status: int) -> None:
    columns = {f"{k}": timed(1.0, 1.0) if s == "timed" else Column(s, "why") for k, s in enumerate(statuses.split())}
    cells = [Cell(Workload(), "base", columns), Cell(Workload(n_q=4, n_kv=4), "base", {"fine": timed(1.0, 1.0)})]
    assert status_of(Results({}, {}, {}, cells=cells), 1.05, make_console()) == status


@pytest.mark.parametrize(
    ("statuses", "asked", "status"),
    [
        ("unavailable", "0", 2),  # a gate that never saw its kernel is no gate that was passed
        ("cannot", "0", 2),
        ("cannot", "", 0),  # nobody named it
        ("cannot refuted", "0", 1),
        ("timed cannot", "0", 0),
        ("timed cannot", "0 1", 2),
    ],
)
def test_a_kernel_that_is_named_and_never_timed_is_told(
    statuses: str, asked: str, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    columns = {f"{k}": timed(1.0, 1.0) if s == "timed" else Column(s, "why") for k, s in enumerate(statuses.split())}
    results = Results({}, {}, {}, cells=[Cell(Workload(), "base", columns)])
    assert status_of(results, 1.05, make_console(), tuple(asked.split())) == status
    assert (" was not timed: why" in capsys.readouterr().out) is (
        asked != "" and (status == 2 or "cannot r" in statuses)
    )
    # One cell that takes it is enough.
    results.cells.append(Cell(Workload(n_q=4, n_kv=4), "base", {name: timed(1.0, 1.0) for name in columns}))
    assert status_of(results, 1.05, make_console(), tuple(asked.split())) == (1 if "refuted" in statuses else 0)


def test_lengths() -> None:
    assert parse_whole_numbers(None) == []
    assert parse_whole_numbers("1, 20") == [1, 20]
    with pytest.raises(TargetError, match="write whole numbers"):
        parse_whole_numbers("")
