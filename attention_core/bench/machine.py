"""What a measurement was taken on: processor, memory, versions, and how busy the machine was."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from attention_core import __version__
from attention_core.bench.workload import machine_memory


def describe_machine(device: str = "cpu") -> dict[str, Any]:
    """The machine as JSON values."""
    found: dict[str, Any] = {
        "processor": processor(), "cores": os.cpu_count(), "memory": machine_memory(), "system": platform.system(),
        "load": list(os.getloadavg()) if hasattr(os, "getloadavg") else None, "device": device,
    }  # fmt: skip
    if device.startswith("cuda"):
        import torch

        found["device"] = torch.cuda.get_device_name(device)
    return found


def processor() -> str:
    """The processor's name."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as stream:
            names = [line.partition(":")[2].strip() for line in stream if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.processor() or platform.machine()


def versions() -> dict[str, str]:
    """Of Python, the package, and what kernels may rest on."""
    found = {"python": platform.python_version(), "attention-core": __version__}
    for name in ("torch", "numpy", "transformers"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
