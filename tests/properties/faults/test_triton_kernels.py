"""attention_core.faults.triton_kernels: every fault is a change of the kernel as it is, and a sample is refuted.

`tox run -e triton` puts all of them to the laws.
"""

from __future__ import annotations

import ast
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from attention_core.conformance.engine.verify import open_session
from attention_core.faults.triton_kernels import KERNEL_FAULTS, TARGETS, kernel_source, write_kernel
from attention_core.registry.table import kernel

SAMPLE = {
    "one_key_too_many": "agrees_with_truth",
    "diagonal_left_out": "agrees_with_truth",
    "lse_of_the_wrong_head": "grouped_gradients_are_summed_over_the_group",
    "parts_race": "paged_keys_agree_with_the_truth",
    "table_guard_missing": "paged_keys_agree_with_the_truth",
}


def test_there_are_many_faults_and_their_names_are_unique() -> None:
    names = [fault.name for fault in KERNEL_FAULTS]
    assert len(set(names)) == len(names) >= 60 and set(SAMPLE) <= set(names)
    assert len({fault.about for fault in KERNEL_FAULTS}) == len(names)


def test_every_fault_is_another_program() -> None:
    texts = {kernel_source(fault) for fault in KERNEL_FAULTS}
    assert len(texts) == len(KERNEL_FAULTS)
    for text in texts:
        ast.parse(text)


def test_a_change_of_what_is_not_there_is_refused() -> None:
    fault = replace(KERNEL_FAULTS[0], changes=(("no such text", ""),))
    with pytest.raises(ValueError, match="'no such text' stands 0 times in the kernel, not once"):
        kernel_source(fault)


@pytest.mark.thorough(keep=("table_guard_missing",))
@pytest.mark.skipif(sys.platform != "linux", reason="Triton is installed on Linux alone")
@pytest.mark.parametrize("name", SAMPLE)
def test_a_sample_is_refuted(name: str, tmp_path: Path) -> None:
    (fault,) = (fault for fault in KERNEL_FAULTS if fault.name == name)
    fields = dict(kernel(TARGETS[fault.kernel][0]).record)
    with open_session(
        write_kernel(fault, tmp_path), fields, effort="quick", seed=0, timeout=60.0, shrink=False
    ) as session:
        (law,) = (law for law in session.laws if law.name == SAMPLE[name])
        assert session.run(law).status == "refuted"
