"""An audit from the command line: a small suite, a few faults, processes of their own, and nothing left in the tree."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from attention_core.cli import main

MINE = """
import torch

def attention(q, k, v, causal=False):
    s = q @ k.mT / q.shape[-1] ** 0.5
    if causal:
        s = s.masked_fill(~torch.ones(s.shape[-2:], dtype=torch.bool).tril(), float("-inf"))
    return torch.softmax(s, -1) @ v
"""
TESTS = """
import torch
from mine_audited import attention

def test_causal():
    q, k, v = (torch.randn(2, 3, 5, 4, generator=torch.Generator().manual_seed(i)) for i in range(3))
    want = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    torch.testing.assert_close(attention(q, k, v, causal=True), want)

def test_nothing_of_attention():
    assert 1 + 1 == 2
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path.parent / f"{tmp_path.name}-cache"))
    (tmp_path / "mine_audited.py").write_text(MINE, encoding="utf-8")
    (tmp_path / "test_mine.py").write_text(TESTS, encoding="utf-8")
    return tmp_path


def audit(*words: str) -> Any:
    return CliRunner().invoke(main, ["audit", "test_mine.py", "--target", "mine_audited:attention", *words])


QUICK = ("--dtype", "float32", "--no-gradients", "-n", "1", "--json", "-")
"""Fewer cases of fewer laws."""


@pytest.mark.thorough
@pytest.mark.slow
def test_a_small_suite(folder: Path) -> None:
    before = sorted(folder.rglob("*"))
    result = audit("--faults", "1", *QUICK)
    found = json.loads(result.stdout)
    assert found["counted"] == 1 and found["baseline"]["call_the_target"] == 1, result.output
    assert result.exit_code == (1 if found["survived"] else 0)
    assert all(f["confirmed"] for f in found["faults"] if f["status"] == "survived"), found
    assert sorted(folder.rglob("*")) == before


@pytest.mark.slow
def test_a_suite_that_fails_as_it_is_is_said_in_one_line(folder: Path) -> None:
    (folder / "test_mine.py").write_text("import mine_audited\ndef test_one():\n    assert 0\n", "utf-8")
    result = audit()
    assert result.exit_code == 2 and "fails on the target as it is, in test_mine.py::test_one" in result.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [(("--contract", "rotary"), "cannot judge --contract rotary"), (("--floor", "2"), "--floor"),
     (("--json", "no/folder/x"), "there is no folder"), (("more",), "no such file or folder of tests: more")],
)  # fmt: skip
def test_bad_calls_are_refused_at_the_door(folder: Path, words: tuple[str, ...], said: str) -> None:
    result = audit(*words)
    assert result.exit_code == 2 and said in result.stderr
