"""`attention-core bench --base REV` as a person calls it, in a repository of two commits."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]
IDENTITY = {f"GIT_{who}_{what}": "a@b.c" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
ONE = """
from helper import FACTOR
def plain(query, key, value):
    scores = query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5
    return FACTOR * (scores.softmax(-1) @ value)
def later_wrong(query, key, value):
    return plain(query, key, value)
"""
TWO = """
from helper import FACTOR
def plain(query, key, value):
    for _ in range(30):
        scores = query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5
    return FACTOR / 2 * (scores.softmax(-1) @ value)
def later_wrong(query, key, value):
    return 2 * plain(query, key, value)
"""


def git(folder: Path, *words: str) -> str:
    found = subprocess.run(
        ["git", "-C", str(folder), *words], env={**os.environ, **IDENTITY}, capture_output=True, text=True, check=True
    )
    return found.stdout


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two commits whose helper differs, too: neither is right with that of the other."""
    folder = tmp_path_factory.mktemp("revisions")
    git(folder, "init", "-q", "-b", "main")
    for text, factor in ((ONE, 1.0), (TWO, 2.0)):
        (folder / "mine.py").write_text(text)
        (folder / "helper.py").write_text(f"FACTOR = {factor}\n")
        git(folder, "add", "-A")
        git(folder, "commit", "-q", "-m", "a commit")
    return folder


def arguments(*words: str) -> list[str]:
    return [sys.executable, "-m", "attention_core", "bench", *words, "--shapes", "B=1,H=2,n=64,d=8", "--seconds", "0.1"]


def environment() -> dict[str, str]:
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    return {**os.environ, "PYTHONPATH": path, "COLUMNS": "200"}


def compare(repository: Path, folder: Path, kernel: str) -> tuple[subprocess.CompletedProcess[str], Any, str]:
    """A run of the command, its JSON, and its comment."""
    page, data = folder / "c.md", folder / "c.json"
    found = subprocess.run(
        arguments(kernel, "--base", "HEAD~1", "--json", str(data), "--markdown", str(page)), cwd=repository,
        env=environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert data.exists(), found.stdout + found.stderr
    assert len(git(repository, "worktree", "list").splitlines()) == 1
    assert git(repository, "status", "--porcelain", "-uno") == ""
    return found, json.loads(data.read_text())["outcomes"][0], page.read_text()


@pytest.mark.slow
def test_a_kernel_that_became_wrong_is_not_timed(repository: Path, tmp_path: Path) -> None:
    found, wrong, page = compare(repository, tmp_path, "mine.py:later_wrong")
    assert found.returncode == 2 and wrong["verdict"] == "UNJUDGED"
    assert "head (the working tree): it is wrong: on these inputs: the error of out" in wrong["message"]
    assert "not judged" in page and "not judged" in found.stdout


@pytest.mark.slow
@pytest.mark.thorough
def test_a_slow_kernel(repository: Path, tmp_path: Path) -> None:
    """Thirty times as many products are slower on any machine."""
    found, plain, page = compare(repository, tmp_path, "mine:plain")
    assert found.returncode == 1 and plain["verdict"] == "SLOWER" and plain["change"]["low"] > 1.02
    assert plain["base"]["errors"]["out"]["refuted"] is False and plain["head"]["errors"]["out"]["refuted"] is False
    assert "**slower**" in page and "slower" in found.stdout


@pytest.mark.thorough
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_leaves_nothing(repository: Path, tmp_path: Path, number: signal.Signals) -> None:
    """It is interrupted in its build, when both revisions are checked out."""
    mark, temporary = tmp_path / "building", tmp_path / "temporary"
    temporary.mkdir()
    words = ("mine.py:plain", "--base", "HEAD~1", "--head", "HEAD", "--build", f"touch {mark}; exec sleep 600", "-q")
    with subprocess.Popen(
        arguments(*words),
        cwd=repository,
        env={**environment(), "TMPDIR": str(temporary)},
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL) and None,  # a shell's background jobs ignore it
    ) as process:
        try:
            while not mark.exists() and process.poll() is None:
                time.sleep(0.05)
            assert process.poll() is None and len(git(repository, "worktree", "list").splitlines()) == 3
            process.send_signal(number)
            process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 128 + number
    assert len(git(repository, "worktree", "list").splitlines()) == 1
    assert [path for path in temporary.iterdir() if path.name.startswith("attention-core-revisions")] == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--base", "HEAD~1"], "--base needs a KERNEL of this repository"),
        (["mine.py:plain", "--head", "HEAD"], "--head needs --base REV"),
        (["mine.py:plain", "--base", "HEAD", "--resume", "--json", "x"], "--base does not go with --resume"),
        (["mine.py:plain", "--base", "nowhere"], "--base: git says of"),
        (["torch:default", "--base", "HEAD"], "torch:default is a kernel of attention-core"),
        (["mine.py:plain", "--base", "HEAD", "--gate", "1"], "--gate 1 with --base: write a factor above 1"),
    ],
)
def test_what_cannot_be_compared_is_said_in_a_line(
    repository: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], message: str
) -> None:
    from click.testing import CliRunner

    from attention_core.cli import main

    monkeypatch.chdir(repository)
    found = CliRunner().invoke(main, ["bench", *words])
    assert found.exit_code == 2 and message in found.output, found.output
    said = [line for line in found.stderr.splitlines() if "cores are busy" not in line and not line.startswith("[")]
    assert len(said) == 1, found.stderr
