"""Shell completion as docs/how_to/shell_completion.md says: what is completed, and the script of each shell."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from attention_core.cli import main

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how_to" / "shell_completion.md"
VARIABLE = "_ATTENTION_CORE_COMPLETE"


@pytest.mark.parametrize(
    ("words", "incomplete", "offered"),
    [
        ([], "ver", {"verify"}),
        ([], "sch", {"schema"}),
        (["verify"], "--eff", {"--effort"}),
        (["verify", "f.py:f", "--effort"], "", {"quick", "standard", "thorough"}),
        (["bench", "--form"], "p", {"plain"}),
        (["bench"], "--bas", {"--baseline", "--base"}),
        (["verify"], "torch:fl", {"torch:flash"}),
        (["bench", "--baseline"], "core:til", {"core:tiled"}),
    ],
)
def test_words_are_completed(words: list[str], incomplete: str, offered: set[str]) -> None:
    complete = ShellComplete(main, {}, "attention-core", VARIABLE)
    found = {item.value for item in complete.get_completions(words, incomplete)}
    assert offered <= found and all(value.startswith(incomplete) for value in found), found


def test_a_target_may_be_a_file() -> None:
    complete = ShellComplete(main, {}, "attention-core", VARIABLE)
    assert "file" in {item.type for item in complete.get_completions(["verify"], "src/")}


def test_the_page_names_the_variable_of_the_command() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert set(re.findall(r"_[A-Z_]+_COMPLETE=(\w+)", text)) == {"bash_source", "zsh_source", "fish_source"}
    assert set(re.findall(r"(_[A-Z_]+_COMPLETE)=", text)) == {VARIABLE}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_its_script(shell: str) -> None:
    """The script asks `attention-core` by name."""
    code = "from attention_core.cli import main; main(prog_name='attention-core')"
    found = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, VARIABLE: f"{shell}_source"}, capture_output=True, text=True,
        timeout=120, check=False,
    )  # fmt: skip
    assert found.returncode == 0 and "attention-core" in found.stdout and VARIABLE in found.stdout, found.stderr
