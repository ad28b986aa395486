"""Environment of a worker: what chooses and finds code reaches it, secrets do not.

A worker gets the variables that decide which code of a library runs (`KERAS_BACKEND`, `XLA_FLAGS`, ...), never one
whose name or value looks like a secret. On Linux the initial environment of this process, which any process of the same
user can read as `/proc/PID/environ`, is cleared of everything else before a worker starts.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

PLAIN = frozenset(
    {"PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TEMP", "TMP", "PYTHONPATH", "VIRTUAL_ENV", "SYSTEMROOT"}
    | {"LD_LIBRARY_PATH", "LD_PRELOAD", "DYLD_LIBRARY_PATH", "XDG_CACHE_HOME", "CC", "CXX"}
    | {"ASAN_OPTIONS", "UBSAN_OPTIONS"}
)
"""Variables without which a process does not run as its parent does. `LD_PRELOAD` chooses allocators and OpenMP."""
BACKENDS = (
    "ATEN_", "BLIS_", "CUBLAS_", "CUDA_", "CUDNN_", "DNNL_", "FLASH_ATTENTION_", "GOMP_", "HF_", "HIP_", "HSA_", "JAX_",
    "KERAS_", "KMP_", "MKL_", "MLX_", "NUMBA_", "NVIDIA_", "NVTE_", "OMP_", "ONEDNN_", "ONNX", "OPENBLAS_", "ORT_",
    "PYTORCH_", "ROCR_", "TF_", "TORCH", "TPU_", "TRANSFORMERS_", "TRITON_", "VECLIB_", "XLA_",
)  # fmt: skip
"""How the names of variables begin that choose which code of a library runs: a part of what is judged."""
SECRET = re.compile(r"KEY|TOKEN|SECRET|PASS(?:WORD|WD|PHRASE)|CREDENTIAL|AUTH|COOKIE|PRIVATE|SIGNATURE", re.IGNORECASE)
"""In a variable's name: its value is a secret, whatever the name begins with."""
SECRET_VALUE = re.compile(r"://[^/\s:@]*:[^/\s@]+@")
"""In a variable's value: an address with a password."""
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
NAME = re.compile(rb"[A-Za-z_][A-Za-z0-9_]*=")

_import_paths: list[str] = []


def import_from(folders: Iterable[Path | str]) -> None:
    """Let workers started from now on find modules in these folders, before those of PYTHONPATH."""
    _import_paths[:] = dict.fromkeys([*map(str, folders), *_import_paths])


def passes(name: str, value: str) -> bool:
    """Whether a variable is handed to a worker.

    Example:
        >>> passes("KERAS_BACKEND", "jax"), passes("TORCH_API_KEY", "x"), passes("EDITOR", "vi")
        (True, False, False)
    """
    if name in PLAIN:
        return True
    return name.startswith(BACKENDS) and not SECRET.search(name) and not SECRET_VALUE.search(value)


def worker_environment(threads: int = 1, variables: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a worker that computes on a number of threads."""
    given = os.environ if variables is None else variables
    found = {name: value for name, value in given.items() if passes(name, value)}
    found |= {"PYTHONHASHSEED": "0", **dict.fromkeys(THREADS, str(threads))}
    folders = [*_import_paths, *filter(None, [found.get("PYTHONPATH")])]
    return {**found, "PYTHONPATH": os.pathsep.join(folders)} if folders else found


@cache
def hide_initial_environment() -> None:
    """Overwrite, on Linux, what this process was started with and a worker does not get.

    `os.environ` and `getenv` keep all variables: they are set again first, which copies them. Only the memory that
    `/proc/PID/environ` shows is cleared. Other processes of the user, such as the shell, still show theirs.
    """
    if sys.platform != "linux":
        return
    try:
        start, end = initial_environment()
        block = ctypes.string_at(start, end - start)
    except (OSError, ValueError, IndexError):
        return
    library = ctypes.CDLL(None)
    library.getenv.restype = ctypes.c_void_p
    at = 0
    for entry in block.split(b"\0"):
        where, at = start + at, at + len(entry) + 1
        if not NAME.match(entry):
            continue
        name, _, value = entry.partition(b"=")
        if passes(os.fsdecode(name), os.fsdecode(value)):
            continue
        if name in os.environb:
            os.putenv(name, os.environb[name])
        held = library.getenv(name)
        if held is None or not start <= held < end:
            ctypes.memset(where, 0, len(entry))


def initial_environment() -> tuple[int, int]:
    """Where the environment lies that this process was started with: the addresses of its first byte and its end."""
    fields = Path("/proc/self/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
    start, end = int(fields[47]), int(fields[48])  # fields 50 and 51 of proc(5), of which two stand before the ")"
    if not 0 < start < end:
        raise ValueError("the system does not say where it is")
    return start, end
