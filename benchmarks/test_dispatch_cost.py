"""The price of choosing a kernel.

What `attention(...)` adds to a call of torch's function, counted in instructions: clocks cannot tell so few apart.
Callgrind runs code that was chosen for another processor, so it counts what Python does, and no kernel's work.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest
from torch.utils.benchmark import Timer

CALLS = 50
MOST = 30_000
"""The 5 microseconds that a call may take longer, at 3 GHz and two instructions a cycle."""
SETUP = "import torch; torch.set_num_threads(1); q = torch.randn(1, 2, 8, 16); from {} import {} as f"


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="counting instructions needs valgrind (Debian's package)")
def test_instructions_of_choosing(monkeypatch: pytest.MonkeyPatch, record_property: pytest.RecordProperty) -> None:
    """Two minutes for each side: all of torch is imported under Callgrind."""
    # Timer starts the `python` of the path, whichever that is.
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    counted = {}
    for module, name in (("torch.nn.functional", "scaled_dot_product_attention"), ("attention_core", "attention")):
        found = Timer("f(q, q, q)", SETUP.format(module, name)).collect_callgrind(number=CALLS)
        counted[name] = found.counts(denoise=True) / CALLS
        record_property(name, counted[name])
    added = counted["attention"] - counted["scaled_dot_product_attention"]
    print(f"\ninstructions a call: {', '.join(f'{name} {n:,.0f}' for name, n in counted.items())}; added {added:,.0f}")
    assert 0 < added < MOST
