"""Processes that share one GPU: with NVIDIA's Multi-Process Service they compute side by side, without it in turns.

`begin_service` starts the service where the driver brings it; `measure_gain` says what sharing gains, by which the
number of processes is chosen. No setting of the card is changed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch

FOLDERS = ("/usr/local/nvidia/bin", "/usr/local/cuda/bin", "/usr/bin", "/usr/lib/nvidia", "/opt/nvidia/bin")
DAEMON = "nvidia-cuda-mps-control"
TRY = """
import ctypes
cuda, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
for code in (cuda.cuInit(0), cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)):
    assert code == 0, f"CUDA's error {code}"
"""


def begin_service(folder: Path, python: str) -> dict[str, str]:
    """Start the service, and try it; the variables that a process needs to use it, none where there is no service.

    Args: folder, of its pipes and logs; python, that has torch.
    """
    daemon = shutil.which(DAEMON, path=os.pathsep.join([*FOLDERS, os.environ.get("PATH", "")]))
    if daemon is None:
        print("no Multi-Process Service here", flush=True)
        return {}
    folder.mkdir(parents=True, exist_ok=True)
    found = {"CUDA_MPS_PIPE_DIRECTORY": str(folder / "pipe"), "CUDA_MPS_LOG_DIRECTORY": str(folder / "log")}
    for name in found.values():
        Path(name).mkdir(exist_ok=True)
    environment = {**os.environ, **found}
    try:
        nothing = subprocess.DEVNULL  # the daemon would keep a pipe open
        subprocess.run(
            [daemon, "-d"], env=environment, check=True, timeout=15, stdin=nothing, stdout=nothing, stderr=nothing
        )
        done = subprocess.run([python, "-c", TRY], env=environment, timeout=40, capture_output=True, text=True)
        if done.returncode == 0:
            print(f"Multi-Process Service: {daemon}", flush=True)
            return found
        reason = done.stderr.strip().splitlines()[-1:]
    except (OSError, subprocess.SubprocessError) as error:
        reason = [str(error)]
    end_service(found)
    print(f"the Multi-Process Service of {daemon} does not work: {' '.join(reason)}", flush=True)
    return {}


def end_service(variables: dict[str, str]) -> None:
    """End the service, where one was begun."""
    daemon = shutil.which(DAEMON, path=os.pathsep.join([*FOLDERS, os.environ.get("PATH", "")]))
    if not variables or daemon is None:
        return
    with suppress(OSError, subprocess.SubprocessError):
        subprocess.run(
            [daemon], input="quit\n", env={**os.environ, **variables}, timeout=5, capture_output=True, text=True,
            check=False,
        )  # fmt: skip


def measure_gain(rank: int, count: int, barrier: Any, seconds: float = 1.0) -> float:
    """How many times as much is done by all processes together as by one alone; the same in each of them.

    Each replays a recorded chain of small products, as training steps are. Only the first process measures alone.

    Args: rank, of this process; count, of all; barrier, of `multiprocessing`, for as many; seconds, of a measurement.
    """
    x = torch.randn(1024, 384, device="cuda", dtype=torch.bfloat16)
    w = torch.randn(384, 384, device="cuda", dtype=torch.bfloat16) / 20
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        y = torch.tanh(x @ w)
        graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        with torch.cuda.graph(graph, stream=stream):
            y = x
            for _ in range(100):
                y = torch.tanh(y @ w)
        barrier.wait(45)
        alone = replays(graph, seconds) if rank == 0 else 0
        barrier.wait(45)
        together = replays(graph, seconds)
    barrier.wait(45)
    return together * count / alone if rank == 0 and alone else 0.0


def replays(graph: Any, seconds: float) -> int:
    """How often a graph is replayed in some seconds."""
    start, count = time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        for _ in range(20):
            graph.replay()
        torch.cuda.synchronize()
        count += 20
    return count
