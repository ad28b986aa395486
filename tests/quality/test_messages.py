"""Every message of the command lines as a snapshot, so that rewording is one command and shows as one diff.

    pytest tests/quality/test_messages.py --snapshot-update

Other tests compare the words a person needs; here stands the whole text, for eyes that look for English that stumbles.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner
from rich.console import Console

from attention_core.bench.report.render_text import print_results
from attention_core.bench.report.results import Cell, Column, Results
from attention_core.bench.timing.statistics import Comparison
from attention_core.bench.workloads.workload import Workload
from attention_core.cli import main
from attention_core.conformance.report.law_result import Counterexample, LawResult
from attention_core.conformance.report.render_text import print_report, verdict_table
from attention_core.conformance.report.results import Report
from finetune.cli.main import app

PROGRAMS = {"attention-core": main, "finetune": app}
FILES = {
    "t.py": "number = 3\ndef one(x): return x\ndef extra(query, key, value, window): return value\n",
    "broken.py": "import a_module_that_is_missing\n",
    "wiki.txt": "Ada Byron. Ada Byron was born in London .\nAlan Turing. Alan Turing was born in Paris .\n",
    "names.tsv": "Where was Ada born?\tLondon\nWhere was Alan born?\tParis\n",
    "bad.tsv": "Where was Ada born?\tLondon\nWhere?\n",
    "empty.txt": "",
    "a.toml": "[finetune]\nepochs = 1.9\n",
    "b.toml": "dropout = 2\n",
    "c.toml": "finetune = 3\n",
    "d.toml": "[\n",
    "e.toml": "epoch = 3\n",
    "known.toml": "[[known_failure]]\ntarget = 't.py:one'\n",
    "case.json": "{}",
}


def commands(program: str) -> Iterator[list[str]]:
    """The words that name each command of a program, those of groups within it included."""

    def below(words: list[str], command: click.Command) -> Iterator[list[str]]:
        yield words
        if isinstance(command, click.Group):
            for name, each in command.commands.items():
                yield from below([*words, name], each)

    yield from below([program], PROGRAMS[program])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).write_text(text, encoding="utf-8")
    return tmp_path


def run(words: list[str]) -> str:
    """Exit status and output, as on a terminal of 110 columns."""
    result = CliRunner().invoke(
        PROGRAMS[words[0]], words[1:], prog_name=words[0], terminal_width=110, env={"COLUMNS": "110"}
    )
    # How busy this machine is stands on a line of its own.
    output = "".join(
        line for line in result.output.splitlines(keepends=True) if "cores are busy with other work" not in line
    )
    return f"$ {' '.join(words)}\n{output}exit status {result.exit_code}\n"


@pytest.mark.parametrize("words", [w for program in PROGRAMS for w in commands(program)], ids=" ".join)
def test_help(words: list[str], snapshot: Any) -> None:
    assert run([*words, "--help"]) == snapshot


SMALL = "--n_layer 1 --n_head 2 --n_embd 16 --block_size 48 --threads 1 --device cpu"
ERRORS = [
    "attention-core nothing",
    *(
        f"attention-core verify {words}"
        for words in (
            "", "nonsense", "none.py:f", "t.py:nothing", "t.py:number", "t.py:one", "t.py:extra", "broken.py:f",
            "no_module_of_this_name:f", "torch:nothing", "t.py:f --effort much", "t.py:f --seed -1", "t.py:f --timeout 0",
            "t.py:f --timeout nan", "t.py:f --parameter foo", "t.py:f --json x --html x", "t.py:f --layout bdhn",
            "t.py:f --arg x", "t.py:f --sizes __import__('os')", "t.py:f --known-failures none.toml",
            "t.py:f --known-failures known.toml", "t.py:f --known-failures d.toml", "t.py:f --dtype int8",
            "t.py:f --claims mask", "t.py:f --contract nothing", "t.py:f --json no/such/folder/r", "t.py:f --kind causal",
            "t.py:f --law nothing", "t.py:f --mask-fill 3", "t.py:f --scale x", "t.py:f --axes 5",
        )
    ),
    *(
        f"attention-core audit {words}"
        for words in (
            "t.py", "none --target t.py:one", "t.py --target nonsense", "t.py --target t.py:one --contract rotary",
            "t.py --target t.py:one --floor 2", "t.py --target t.py:one --json no/such/folder/r",
            "t.py --target t.py:one -n 0",
        )
    ),
    *(
        f"attention-core {words}"
        for words in (
            "class none --function one", "class t.py", "class . --function one --shard 3", "exercise selection", "exercise nothing",
            "exercise selection --part 9", "exercise selection --q 1,2", "grade none.py", "grade t.py",
            "grade t.py --task none.toml", "grade t.py --task d.toml", "report none.json", "report case.json",
            "schema nothing", "merge none.json", "merge case.json", "kernels nothing", "laws --json no/such/folder/r",
        )
    ),
    "attention-core replay none.json",
    "attention-core replay case.json",
    "attention-core laws --contract nothing",
    "attention-core contracts nothing",
    "attention-core derive none.md",
    "attention-core derive empty.txt",
    *(
        f"attention-core bench {words}"
        for words in (
            "torch:nothing", "--baseline nonsense", "--shapes B=0,n=3", "--shapes H=6,H_kv=4", "--shapes nothing.toml",
            "--shapes BERT-huge", "--dtype int8", "--mask window", "--mask causal+causal", "--lengths 12,x",
            "--json no/folder/r.json", "--html .", "--resume", "--direction sideways", "--plot p.gif", "--seconds -1",
            "--gate 0.5", "--seconds nan", "--device tpu", "--device cuda:x", "--html t.html/r.html",
            "--json o.x --html ./o.x", "--self-test 3 torch:flash --gate 1.05", "--self-test 3 --json r.json",
            "--tune --self-test 3", "--known-failures nothing.toml", "--shapes n=",
        )
    ),
    *(
        f"finetune {words}"
        for words in (
            "nothing", "pretrain", "pretrain vanilla none.txt", "pretrain vanilla empty.txt --writing_params_path p",
            "pretrain other wiki.txt", f"pretrain vanilla wiki.txt --writing_params_path wiki.txt {SMALL}",
            "pretrain vanilla wiki.txt --writing_params_path p --n_layer 1 --n_head 3 --n_embd 16 --block_size 48",
            f"pretrain vanilla wiki.txt --writing_params_path p --learning_rate inf {SMALL}",
            f"pretrain vanilla wiki.txt --writing_params_path p --seed {2**63} {SMALL}",
            *(
                f"finetune vanilla wiki.txt --finetune_corpus_path {data} --writing_params_path f --config {toml} {SMALL}"
                for data, toml in (
                    ("names.tsv", "a.toml"), ("names.tsv", "b.toml"), ("names.tsv", "c.toml"), ("names.tsv", "d.toml"),
                    ("names.tsv", "e.toml"), ("names.tsv", "none.toml"),
                )
            ),
            f"finetune vanilla wiki.txt --finetune_corpus_path bad.tsv --writing_params_path f {SMALL}",
            "evaluate vanilla wiki.txt --reading_params_path none --eval_corpus_path names.tsv --outputs_path o",
            "evaluate vanilla wiki.txt --reading_params_path wiki.txt --eval_corpus_path names.tsv --outputs_path o",
            "baseline bad.tsv", "baseline empty.txt", "charcorruption empty.txt", "charcorruption none.txt",
            "characters empty.txt", "characters wiki.txt --temperature inf", "characters wiki.txt --held_out nan",
            "classify", "classify --task nothing", "select", "memory", "experiment nothing", "heads none",
            "largest-batch", "namedata none.txt", "namedata wiki.txt none.tsv",
            "predict none names.tsv --output o", "predict . names.tsv", "prompt classify", "prompt complete @none.txt --model none", "prompt study", "standardise",
            "standardise none.csv", "translation none names.tsv", "exercise none.py", "exercise t.py", "scripts none",
            "experiment late_mask --text none.txt", "experiment late_mask --text wiki.txt",
        )
    ),
]  # fmt: skip


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("line", ERRORS, ids=lambda line: line.removesuffix(SMALL).strip())
def test_errors(line: str, snapshot: Any) -> None:
    """One line that says what was got, what should be and what to do, and status 2."""
    text = run([word for word in line.split(" ") if word])
    assert "exit status 0" not in text and "Traceback" not in text
    assert text == snapshot


def test_every_command_has_a_row() -> None:
    """A command whose messages nobody sees at once is one whose English stumbles."""
    shown = {" ".join(line.split()[:2]) for line in ERRORS}
    commanded = {" ".join(words) for program in PROGRAMS for words in commands(program) if len(words) == 2}
    assert not commanded - shown


DOCUMENT = r"""
# Verdicts

Let $a, b \in \mathbb{R}$ and $x \in \mathbb{R}$.

$$ (a + b)^2 = a^2 + 2 a b + b^2 \tag{proved} $$

$$ \frac{1}{3} + \frac{1}{6} = \frac{1}{2} \tag{exact} $$

$$ \exp(x) \ge 1 + x \tag{agrees} $$

$$ (a + b)^2 = a^2 + b^2 \tag{refuted} $$

If $x^2 < 0$, then

$$ x = x + 1 \tag{undecided} $$

$$ x \otimes x = x \tag{unreadable} $$

$$ y = y + 1 \tag{unknown} $$
"""


def derive(*options: str) -> str:
    Path("steps.md").write_text(DOCUMENT, encoding="utf-8")
    text = run(["attention-core", "derive", *options, "steps.md"])
    return re.sub(r"(margin )\S+", r"\1N", re.sub(r"\b\d+ (cases|tuples)", r"N \1", text))


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("options", [(), ("--explain",), ("--verbose",)], ids=["plain", "explain", "verbose"])
def test_verdicts_of_a_derivation(options: tuple[str, ...], snapshot: Any) -> None:
    assert derive(*options) == snapshot


def printed(show: Callable[[Console], None]) -> str:
    stream = io.StringIO()
    show(Console(file=stream, width=110, emoji=False))
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines()) + "\n"


def law(status: str, name: str, message: str = "", **changes: Any) -> LawResult:
    found = None
    if status in ("refuted", "known_failure"):
        found = Counterexample(name, "out: got 2.0 at [0, 0, 1, 2], but should be 1.0 (budget 1e-06)", "B=1, H=1, n_q=2",
                               {}, "import numpy as np\nassert False\n", 2.0, 1.0, 1e-6)  # fmt: skip
    return LawResult(name, status, 30, 0.5, found, message, **changes)


HELD = [law("held", "agrees_with_truth"), law("held", "zero_queries_average")]
CLAIMS = {"attn_mask": "tested", "is_causal": "refused", "scale": "not tested: no such parameter"}
DECLARED = {"layout": "bnhd", "dtypes": ["float32"], "dead_rows": "nan"}
REPORTS = {
    "conforms": Report("f.py:f", DECLARED, CLAIMS, [*HELD, law("not_applicable", "causal", "is_causal is not claimed")]),
    "refuted": Report("f.py:f", DECLARED, CLAIMS, [*HELD, law("refuted", "no_row_sees_a_later_one")],
                      advice=["under --causal bottom_right the law holds"]),
    "incomplete": Report("f.py:f", DECLARED, CLAIMS, [law("held", "agrees_with_truth", minimum_met=False)]),
    "untested": Report("f.py:f", DECLARED, CLAIMS, HELD, untested=["window"]),
    "refused": Report("f.py:f", DECLARED, CLAIMS, [*HELD, law("refused", "scale_zero_averages")]),
    "known failure": Report("f.py:f", DECLARED, CLAIMS, [*HELD, law("known_failure", "causal", "issue 12")]),
    "unexpected pass": Report("f.py:f", DECLARED, CLAIMS, [*HELD, law("unexpected_pass", "causal", "issue 12")]),
    "one law": Report("f.py:f", DECLARED, CLAIMS, HELD[:1], partial=True),
    "error": Report("f.py:f", problem="no such file: f.py", failed=True),
    "not here": Report("torch:flash", unavailable="needs a GPU"),
}  # fmt: skip


@pytest.mark.parametrize("name", REPORTS)
def test_reports(name: str, snapshot: Any) -> None:
    text = printed(lambda console: print_report(console, REPORTS[name], everything=True))
    assert text == snapshot


def test_the_table_of_verdicts(snapshot: Any) -> None:
    assert printed(lambda console: console.print(verdict_table(list(REPORTS.values())))) == snapshot


def test_the_table_of_a_benchmark(snapshot: Any) -> None:
    columns = {
        "base": Column("timed", seconds=2e-3, comparison=Comparison(1.0, 1.0, 1.0, 1.0, 20, 20.0, "SAME")),
        "fast": Column("timed", seconds=1e-3, comparison=Comparison(0.5, 0.49, 0.51, 0.5, 20, 20.0, "FASTER"), share=0.25,
                       errors={"out": {"rms": 1e-7, "max": 1e-6}}, outliers=3, settled=False),
        "cannot": Column("cannot", "it claims no mask [attn_mask]"),
        "dead": Column("failed", "its process was ended by signal SIGSEGV"),
    }  # fmt: skip
    verdicts = {
        "fast": {"verdict": "incomplete", "reason": "too few cases"},
        "base": {"verdict": "conforms", "reason": ""},
    }
    results = Results({}, {}, {}, {}, verdicts, [Cell(Workload(n_q=4, n_kv=4), "base", columns, 5e-4, "exp")])
    assert printed(lambda console: print_results(console, results)) == snapshot
