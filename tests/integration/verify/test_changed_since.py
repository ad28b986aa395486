"""`verify --changed-since REV` judges what a change can reach, and says of the rest that it was not judged."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from attention_core.cli import main

SOURCE = "def attention(query, key, value):\n    raise NotImplementedError\n"


def git(*words: str) -> None:
    own = ("-c", "user.email=a@example.org", "-c", "user.name=n", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *own, *words], check=True, capture_output=True)


def test_only_what_has_changed_is_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.py", "b.py"):
        Path(name).write_text(SOURCE, encoding="utf-8")
    git("init", "-q")
    git("add", "-A")
    git("commit", "-q", "-m", "first")
    words = [
        "verify",
        "a.py:attention",
        "b.py:attention",
        "torch:nothing",
        "--effort",
        "quick",
        "--law",
        "agrees_with_truth",
        "--changed-since",
        "HEAD",
    ]
    idle = CliRunner().invoke(main, [*words[:3], *words[4:], "--json", "found.json"])
    assert idle.exit_code == 0 and idle.output.count("not judged: nothing that it can reach has changed") == 2
    assert json.loads(Path("found.json").read_text(encoding="utf-8"))["reports"] == []
    Path("b.py").write_text(SOURCE + "# changed\n", encoding="utf-8")
    run = CliRunner().invoke(main, [*words, "--json", "-"])
    reports = json.loads(run.stdout)["reports"]
    assert run.exit_code != 0 and [report["target"] for report in reports] == ["b.py:attention", "torch:nothing"]
    assert "b.py has changed" in run.stderr and "a.py:attention: not judged" in run.stderr
    unknown = CliRunner().invoke(main, [*words[:-1], "nothing"])
    assert unknown.exit_code == 2 and "no revision nothing" in unknown.output
