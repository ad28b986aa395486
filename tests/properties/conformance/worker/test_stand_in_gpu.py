"""attention_core.conformance.worker.stand_in_gpu: code that checks for a GPU goes on, and torch hears the truth."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = r"""
import torch
from attention_core.conformance.worker.stand_in_gpu import stand_in_for_a_gpu

x = torch.zeros(2)
if torch.cuda.is_available():
    print('a GPU', 'is here', sep='\n')
    raise SystemExit
assert not x.is_cuda
stand_in_for_a_gpu()
assert x.is_cuda and x[:1].is_cuda and x.device.type == "cpu"
with torch.cuda.device(x.device), torch.cuda.device(x.device.index):
    pass
told = {"__name__": "torch.nn.functional"}
exec("def ask(x): return x.is_cuda", told)
assert not told["ask"](x)
try:
    torch.cuda.get_device_capability()
except (AssertionError, RuntimeError) as error:
    print(error)
try:
    torch.cuda.device(0).__enter__()
except (AssertionError, RuntimeError) as error:
    print(error)
"""


def test_a_target_hears_that_it_is_on_a_gpu_and_torch_does_not() -> None:
    """In a process of its own, as it lasts."""
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 2, done.stdout  # both questions are refused, as without the stand-in
