"""Whether a target is written with numba.cuda is read from its text, and its worker gets the simulator's variable."""

from __future__ import annotations

from pathlib import Path

import pytest

from attention_core.conformance.engine.session import Session
from attention_core.conformance.engine.verify import verify_target
from attention_core.declaration.implementation import Implementation, TargetError
from attention_core.declaration.sizes import SizeCondition
from attention_core.worker.interpreters import NUMBA

SIMULATED = {"NUMBA_ENABLE_CUDASIM": "1"}
KERNEL = """
import math
import numpy as np
from numba import cuda

@cuda.jit
def rows(q, k, v, out, scale, causal):
    b, i = cuda.grid(2)
    if b >= q.shape[0] or i >= q.shape[1]:
        return
    top = -math.inf
    for j in range(LAST):
        s = 0.0
        for c in range(q.shape[2]):
            s += q[b, i, c] * k[b, j, c]
        top = max(top, s * scale)
    total = 0.0
    for j in range(LAST):
        s = 0.0
        for c in range(q.shape[2]):
            s += q[b, i, c] * k[b, j, c]
        w = math.exp(s * scale - top)
        total += w
        for e in range(v.shape[2]):
            out[b, i, e] += w * v[b, j, e]
    for e in range(v.shape[2]):
        if total > 0.0:
            out[b, i, e] = out[b, i, e] / total

def attention(query, key, value, is_causal=False):
    if key.shape[:-1] != value.shape[:-1] or query.shape[:-2] != key.shape[:-2] or query.shape[-1] != key.shape[-1]:
        raise ValueError("heads, lengths or head sizes differ")
    n_q, d = query.shape[-2:]
    flat = [np.ascontiguousarray(x).reshape(-1, *x.shape[-2:]) for x in (query, key, value)]
    out = np.zeros((len(flat[0]), n_q, value.shape[-1]), dtype=query.dtype)
    if out.size:
        rows[(len(out), n_q), (1, 1)](*flat, out, d**-0.5, bool(is_causal))
    return out.reshape(*query.shape[:-1], value.shape[-1])
"""
RIGHT = "min(k.shape[1], i + 1) if causal else k.shape[1]"
LINES = (
    "from numba import cuda", "import numba.cuda", "from numba.cuda import jit", "from numba import cuda, float32",
    "import numba\n@numba.cuda.jit\ndef f(x): pass",
)  # fmt: skip


@pytest.mark.parametrize("lines", LINES)
def test_a_file_that_imports_numba_cuda_is_simulated(tmp_path: Path, lines: str) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(f"raise SystemExit\n{lines}\n")  # it is read, never run
    assert NUMBA.environment(f"{path}:f", "cpu", variables={}) == SIMULATED


@pytest.mark.parametrize("line", ["import numba", "from numba import njit", "# from numba import cuda", "import torch"])
def test_another_file_is_not(tmp_path: Path, line: str) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(f"{line}\n")
    assert NUMBA.environment(f"{path}:f", "cpu", variables={}) == {}
    assert NUMBA.environment("nothing:f", "cpu", variables={}) == {}


def test_what_the_caller_has_set_stays_and_what_is_declared_decides(tmp_path: Path) -> None:
    path = tmp_path / "kernel.py"
    path.write_text("from numba import cuda\n")
    assert NUMBA.environment(f"{path}:f", "cpu", variables={"NUMBA_ENABLE_CUDASIM": "0"}) == {}
    assert NUMBA.environment(f"{path}:f", "cuda", variables={}) == {}
    assert NUMBA.environment("nothing:f", "cpu", "numba", {}) == SIMULATED
    assert NUMBA.environment(f"{path}:f", "cpu", "python", {}) == {"NUMBA_ENABLE_CUDASIM": "0"}


def test_a_runtime_that_cannot_be_is_refused_in_one_line() -> None:
    with pytest.raises(TargetError, match="runtime=numba interprets kernels on a processor: leave it out with device"):
        Implementation(None, runtime="numba", device="cuda")
    with pytest.raises(TargetError, match=r"runtime=numba is for targets by name, FILE\.py:NAME"):
        Session(Implementation(len, runtime="numba"))


@pytest.mark.parametrize(
    ("last", "status", "words"),
    [
        (RIGHT, "held", ""),
        ("min(k.shape[1], i) if causal else k.shape[1]", "refuted", "got 0 at"),
        ("min(k.shape[1], i + 1) if causal else k.shape[1] + 1", "refuted", "index 1 is out of bounds for axis 1"),
    ],
)
def test_a_kernel_is_judged_in_the_simulator(tmp_path: Path, last: str, status: str, words: str) -> None:
    pytest.importorskip("numba")
    path = tmp_path / "kernel.py"
    path.write_text(KERNEL.replace("LAST", last))
    few = SizeCondition("n_q < 4 and n_kv < 4 and d < 3 and d_v < 3 and H < 3")  # a simulated thread takes its time
    fields = {"array": "numpy", "dtypes": ("float32",), "sizes": few}
    report = verify_target(f"{path}:attention", fields, effort="quick", laws=["agrees_with_truth"])
    (result,) = report.laws
    assert result.status == status and words in result.message
    assert any("numba's simulator" in note for note in report.notes)
