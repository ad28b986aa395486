"""attention_core.registry.triton_kernels: rows that cannot run where triton is not installed."""

from __future__ import annotations

import sys

import pytest

from attention_core.declaration.implementation import Unavailable
from attention_core.registry.table import KERNELS
from attention_core.worker.interpreters import TRITON
from attention_core.worker.target import load_target

ROWS = {row.name: row.origin for row in KERNELS if row.name.startswith("core:triton")}


@pytest.mark.parametrize("name", ROWS)
def test_without_triton_the_kernel_cannot_run_here(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "triton", None)  # as if it were not installed
    monkeypatch.delitem(sys.modules, ROWS[name].partition(":")[0], raising=False)
    with pytest.raises(Unavailable, match=r"^triton cannot be imported \(.*; pip install triton, on Linux\)$"):
        load_target(ROWS[name])


@pytest.mark.parametrize("name", ROWS)
def test_a_row_runs_in_the_interpreter(name: str) -> None:
    assert TRITON.is_for(ROWS[name])
