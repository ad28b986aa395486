"""`attention-core verify` on mask builders, heads and the rest, through a worker process.

Targets of the other contracts by name: a pair in a file, an attribute of an object, a row of the kernel table.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from attention_core.conformance.engine.verify import replay_case, saved_case, verify_target
from attention_core.conformance.report.results import Report

PAIR = """
def split(x, H):
    if x.shape[-1] % H:
        raise ValueError("uneven")
    return x.unflatten(-1, (H, -1)).transpose(1, 2)

def merge(y):
    return y.transpose(1, 2).flatten(2)

def straight(y):
    return y.reshape(y.shape[0], y.shape[2], -1)

class Heads:
    split = staticmethod(split)
    merge_heads = staticmethod(merge)

class Box:
    heads = Heads()
"""


@pytest.fixture
def path(tmp_path: Path) -> str:
    file = tmp_path / "my_heads.py"
    file.write_text(PAIR)
    return str(file)


def verdict(target: str, **fields: object) -> Report:
    return verify_target(target, fields, effort="quick")


def test_a_pair_in_a_file(path: str) -> None:
    report = verdict(f"{path}:split,merge", contract="heads")
    assert report.verdict == "conforms", report.problem


def test_an_object_in_a_file_by_its_attributes(path: str) -> None:
    report = verdict(f"{path}:Box.heads", contract="heads")
    assert report.verdict == "conforms", report.problem


def test_a_faulty_pair_has_a_program_and_a_case_to_replay(path: str) -> None:
    target, fields = f"{path}:split,straight", {"contract": "heads"}
    report = verify_target(target, fields, effort="quick", laws=["merge_inverts_split"])
    (found,) = report.counterexamples
    space: dict[str, object] = {}
    with pytest.raises(AssertionError, match="split, then merged"):
        exec(compile(found.snippet, "snippet", "exec"), space)
    again = replay_case(saved_case(target, fields, found), None, {}, 60.0)
    assert [r.status for r in again.laws] == ["refuted"]


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["core:rotary_interleaved"])
def test_rows_of_the_table(name: str) -> None:
    report = verdict(name)
    assert report.verdict == "conforms" and all(r.status == "held" for r in report.laws), report.problem
