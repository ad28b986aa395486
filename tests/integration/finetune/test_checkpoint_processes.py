"""What only a worker process shows: each start of one costs seconds.

Checkpoints in a process of the target's own: killed while it saves, and started anew.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from attention_core.conformance.engine.verify import verify_target

TESTS = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def faults_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")]))


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("target", "law"),
    [
        ("finetune.faults.checkpoints:kept_in_the_process", "a_new_process_goes_on"),
        ("finetune.faults.checkpoints:slowly_written_in_place", "a_kill_in_the_midst_keeps_a_whole_one"),
    ],
)
def test_a_wrong_target_is_refuted(target: str, law: str) -> None:
    report = verify_target(target, {"contract": "checkpoint"}, effort="quick", laws=[law])
    assert report.verdict == "refuted", [(r.status, r.message) for r in report.laws]
    assert "attention = " in report.counterexamples[0].snippet


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("target", "laws"),
    [
        ("finetune.faults.checkpoints:slowly_written_beside", ["a_kill_in_the_midst_keeps_a_whole_one"]),
        ("finetune.contract_adapters.training:Interrupted", ["a_full_disk_keeps_the_last_whole_one"]),
        ("finetune.contract_adapters.training:Interrupted", ["a_new_process_goes_on"]),
    ],
    ids=["killed", "full_disk", "new_process"],
)
def test_a_right_checkpoint_survives(target: str, laws: list[str]) -> None:
    report = verify_target(target, {"contract": "checkpoint"}, effort="quick", laws=laws)
    assert [r.status for r in report.laws] == ["held"] * len(laws), [(r.law, r.message) for r in report.laws]
