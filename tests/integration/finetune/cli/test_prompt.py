"""`finetune prompt`, as a user runs it: against a tiny model of its own, and against a server with faults."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tiny_language_models import make_language_model

from finetune.cli.main import app

ROOT = Path(__file__).parents[4]
SST = {"train": 40, "dev": 12, "test": 12}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_language_model(tmp_path_factory.mktemp("model") / "tiny", context=2048)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for side, count in SST.items():
        lines = [f"{n % 2} {side} sentence {n} is {'good' if n % 2 else 'bad'}" for n in range(count)]
        (tmp_path / f"stsa.binary.{side}").write_text("\n".join(lines) + "\n")
    return tmp_path


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["prompt", *map(str, arguments)])


def test_a_text_is_gone_on_with(folder: Path) -> None:
    plain = run("complete", "Hello", "--model", folder, "--max_tokens", 5)
    assert plain.exit_code == 0, plain.output
    assert "asked: 5 tokens in, 5 tokens out" in plain.stderr
    several = run("complete", "Hello", "--model", folder, "--max_tokens", 5, "--n", 2, "--temperature", 1)
    assert "--- 1" in several.stdout
    assert "--- 2" in several.stdout


def test_a_stored_answer_is_not_asked_again(folder: Path, tmp_path: Path) -> None:
    arguments = ("complete", "Hello", "--model", folder, "--max_tokens", 5, "--store", tmp_path / "a.db")
    first, second = run(*arguments), run(*arguments)
    assert first.stdout == second.stdout
    assert "asked: " in first.stderr
    assert "from the store: " in second.stderr


def test_a_data_set_is_classified(folder: Path, data: Path) -> None:
    result = run("classify", "--data", data, "--model", folder, "--limit", 6, "--shots", 4, "--output", data / "r.json",
                 "--scoring", "likelihood")  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "6 examples of dev, 4 balanced interleaved demonstrations, seed 0, the likeliest label word" in result.stdout
    assert "majority class" in result.stdout
    (record,) = json.loads((data / "r.json").read_text())
    assert record["count"] == 6
    assert record["correct"] == sum(p == label for p, label in zip(record["predicted"], record["labels"], strict=True))


def test_a_study_is_a_table(folder: Path, data: Path) -> None:
    result = run("study", "--data", data, "--model", folder, "--limit", 4, "--shots", "0,2", "--base", 2, "--seeds", 2)
    assert result.exit_code == 0, result.output
    assert result.stdout.count("\n| ") == 9


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("complete", "x", "--model", "nowhere"), "no model at 'nowhere'"),
        (("complete", "x", "--server", "openai"), "set OPENAI_API_KEY in the environment"),
        (("complete", "x", "--server", "nonsense"), "is not an address"),
        (("complete", "x", "--n", "3", "--best_of", "2", "--model", "MODEL"), "best_of = 2: it must be at least n = 3"),
        (("complete", "", "--model", "MODEL"), "the prompt is empty"),
        (("complete", "x", "--model", "MODEL", "--server_field", "top_k=0"), "name it with --server URL"),
        (("complete", "x", "--server", "http://localhost:9", "--server_field", "top_k"), "write NAME=VALUE"),
        (("complete", "x", "--server", "http://localhost:9", "--server_field", "n=3"), "n: every request already says"),
        (("complete", "@nofile", "--model", "MODEL"), "nofile"),
        (("complete", "x" * 3000, "--model", "MODEL"), "does not fit into the model's context of 2048"),
        (("classify", "--data", "DATA", "--model", "MODEL", "--words", "a,a"), "two classes have the label word 'a'"),
        (("classify", "--data", "DATA", "--model", "MODEL", "--words", "a,b,c"), "3 label words for 2 classes"),
        (("classify", "--data", "DATA", "--model", "MODEL", "--shots", "400"), "200 demonstrations of 'negative'"),
        (("classify", "--data", "DATA", "--model", "MODEL", "--output", "no/where/x"), "there is no such folder"),
        (("classify", "--data", "nodata", "--model", "MODEL"), "no such file or folder"),
        (("study", "--data", "DATA", "--model", "MODEL", "--shots", "0,x"), "whole numbers with commas"),
        (("study", "--data", "DATA", "--model", "MODEL", "--shots", "-1"), "no number is below 0"),
        (("complete", "x", "--model", "MODEL", "--store", "."), "cannot be used as a store"),
    ],
)
def test_bad_input_is_one_line(
    folder: Path, data: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], line: str
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    places = {"MODEL": str(folder), "DATA": str(data)}
    result = run(*(places.get(word, word) for word in arguments))
    assert result.exit_code == 2
    assert line in result.stderr
    assert result.stderr.count("\n") == 1
    assert "Traceback" not in result.output


@pytest.mark.thorough
def test_a_run_that_was_killed_goes_on_where_it_was(data: Path, tmp_path: Path) -> None:
    pytest.importorskip("openai")
    from prompt_server import serving

    def say(prompt: str, body: dict[str, Any]) -> list[str]:
        return ["positive"]

    with serving(say, delay=0.05) as server:
        command = [
            sys.executable, "-m", "finetune.cli.main", "prompt", "classify", "--data", str(data), "--model", "tiny",
            "--server", server.url, "--limit", "12", "--store", str(tmp_path / "a.db"), "--parallel", "2",
        ]  # fmt: skip
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=dict(os.environ))
        while sum(server.charged.values()) < 4:
            assert process.poll() is None
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        ended = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ))
        assert ended.returncode == 0, ended.stderr
        # Twelve prompts, each charged once: the header lets the server know the two that were under way.
        assert len(server.charged) == 12
        assert set(server.charged.values()) == {1}
        before = len(server.bodies)
        again = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ))
        assert again.stdout == ended.stdout
        assert len(server.bodies) == before
    assert "accuracy 0.500" in ended.stdout


def test_the_script_of_the_page_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the server and the data of this test in place of OpenAI and BoolQ: nothing else is changed."""
    pytest.importorskip("openai")
    from prompt_server import serving

    for side, count in (("train", 40), ("dev", 32)):
        rows = [
            {"question": f"is {side} {n} even", "passage": f"{side} passage {n}", "answer": n % 2 == 0}
            for n in range(count)
        ]
        (tmp_path / f"{side}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    page = (ROOT / "docs" / "prompting.md").read_text(encoding="utf-8")
    (script,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    with serving(lambda prompt, body: ["True"]) as server:
        changes = {
            '"data/boolq"': repr(str(tmp_path)), '"answers.db"': repr(str(tmp_path / "answers.db")),
            'ServerModel("gpt-3.5-turbo-instruct")': f'ServerModel("tiny", "{server.url}")',
        }  # fmt: skip
        for before, after in changes.items():
            assert before in script
            script = script.replace(before, after)
        names: dict[str, Any] = {}
        exec(compile(script, "prompting.md", "exec"), names)
        names["model"].close()
        assert len(server.charged) == 30
    assert "accuracy 0.500 (95 % interval 0.332 to 0.668; 15 of 30)" in capsys.readouterr().out
