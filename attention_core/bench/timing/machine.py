"""What a measurement was taken on: processor, memory, versions, and how busy the machine was."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from attention_core import __version__
from attention_core.bench.workloads.workload import machine_memory

BUSY = 0.3
"""Cores that others may keep busy before it is worth a word: with less, a core is left for what is measured."""
LOOK = 0.3
"""Seconds of looking how busy they are."""


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


def busy_cores(seconds: float = LOOK) -> float:
    """How many cores work for others, while this process waits for so many seconds."""
    import psutil

    return float(psutil.cpu_percent(interval=seconds)) / 100 * (psutil.cpu_count() or 1)


def busy_words(busy: Any) -> str:
    """What so many busy cores mean for a measurement; "" where they are too few, or no number says how many.

    Example:
        >>> busy_words(1.3)
        '1.3 of ... cores are busy with other work: ...'
    """
    if not isinstance(busy, float) or not busy >= BUSY:
        return ""
    return (
        f"{busy:.1f} of {os.cpu_count()} cores are busy with other work: ratios hold, "
        "but times and shares of the limit are those of a busy machine"
    )


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
