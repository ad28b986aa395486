"""Operators are replaced for a whole process: so these run in one of their own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from attention_core.declaration.implementation import TargetError
from attention_core.grading.forbidden import check_groups, mentions_compiler

PROGRAM = """
import torch
from attention_core.grading.forbidden import Forbidden
forbidden = Forbidden(["attention", "softmax"])
q = torch.randn(1, 2, 3, 4)
ways = [
    lambda: torch.nn.functional.scaled_dot_product_attention(q, q, q),
    lambda: torch._C._nn.scaled_dot_product_attention(q, q, q, is_causal=True),
    lambda: torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(q, q, q),
    lambda: torch.ops.aten._scaled_dot_product_attention_math(q, q, q),
    lambda: torch.nn.MultiheadAttention(4, 2)(q[0], q[0], q[0], need_weights=False),
    lambda: q.softmax(-1),
]
for way in ways:
    try:
        way()
    except RuntimeError as error:
        assert "the task forbids" in str(error), error
    else:
        raise SystemExit("it was let pass")
assert sum(forbidden.called.values()) == len(ways), forbidden.called
(q @ q.mT).exp().sum()
"""


def test_operators_are_refused_under_every_name_and_others_are_not() -> None:
    found = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120)
    assert found.returncode == 0, found.stderr


def test_sources_that_speak_of_the_compiler(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1")
    (tmp_path / "b.txt").write_text("torch.compile")
    assert not mentions_compiler(tmp_path.iterdir())
    (tmp_path / "c.py").write_text("import torch\nf = torch.compile(abs)")
    assert mentions_compiler(tmp_path.iterdir())


def test_an_unknown_group_is_refused() -> None:
    with pytest.raises(TargetError, match="attention, matmul, softmax"):
        check_groups(["everything"])
