"""The largest batch under a real limit.

finetune.memory.worker: memory really runs out, in a process of its own, and the search goes on in the next.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from finetune.classification.config import ClassifyConfig
from finetune.errors import BadInput
from finetune.memory.measure import largest_batch
from finetune.memory.worker import StepsElsewhere
from tests.tiny_encoders import write_encoder


@pytest.mark.thorough
def test_real_memory_runs_out_and_is_survived(tmp_path: Path) -> None:
    """With 64 MiB more than now, texts of 40 tokens through 2 layers of 64: some fit, and 16 times as many do not."""
    config = ClassifyConfig(str(write_encoder(tmp_path, width=64)), device="cpu")
    with StepsElsewhere(config, 40, 64 * 2**20, threads=1) as steps:
        steps.step(4)
        assert steps.process is not None
        steps.process.popen.kill()  # as the system does with a process that takes too much
        steps.process.popen.wait()
        with pytest.raises(MemoryError, match="ended by the system"):
            steps.step(4)
        assert steps.process is None, "given up"
        assert largest_batch(steps.step, 4, 4).size == 4
        with pytest.raises(MemoryError, match=r"\w"):
            steps.step(4096)
        assert steps.process is None


def test_what_a_user_can_mend_is_told(tmp_path: Path) -> None:
    with (
        StepsElsewhere(ClassifyConfig(str(tmp_path), device="cpu"), 8, 2**28) as steps,
        pytest.raises(BadInput, match="no such file"),
    ):
        steps.step(1)
