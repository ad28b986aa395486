"""The environment of workers.

What a worker may see of the environment: tables of variables, and a parent in a process of its own whose initial
environment is read from outside, as a target would read it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from attention_core.worker import environment
from attention_core.worker.environment import passes, worker_environment

BACKENDS = (
    "KERAS_BACKEND", "TRITON_INTERPRET", "JAX_ENABLE_X64", "JAX_PLATFORMS", "XLA_FLAGS", "TORCH_COMPILE_DISABLE",
    "TORCHINDUCTOR_CACHE_DIR", "PYTORCH_CUDA_ALLOC_CONF", "ONNXRUNTIME_LOG", "ORT_TENSORRT_FP16_ENABLE", "MLX_METAL",
    "TF_ENABLE_ONEDNN_OPTS", "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "OMP_PROC_BIND",
    "MKL_CBWR", "KMP_AFFINITY", "NUMBA_DISABLE_JIT", "OPENBLAS_CORETYPE", "ATEN_CPU_CAPABILITY", "LD_PRELOAD", "PATH",
    "ONEDNN_MAX_CPU_ISA", "HF_HOME", "ASAN_OPTIONS",
)  # fmt: skip
SECRETS = (
    "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "TF_VAR_PASSWORD", "TORCH_API_KEY", "KERAS_CREDENTIALS", "HF_TOKEN",
    "ONNX_AUTH", "TF_TOKEN_app", "TRITON_password", "EDITOR", "DATABASE_URL", "SSH_AUTH_SOCK",
)  # fmt: skip


@pytest.mark.parametrize("name", BACKENDS)
def test_what_chooses_a_backend_reaches_the_worker(name: str) -> None:
    assert worker_environment(variables={name: "value"})[name] == "value"


@pytest.mark.parametrize("name", SECRETS)
def test_secrets_and_what_concerns_nobody_do_not(name: str) -> None:
    assert not passes(name, "value")


def test_an_address_with_a_password_does_not() -> None:
    assert not passes("TORCH_HOME", "https://user:pass@example.org/hub")
    assert passes("TORCH_HOME", "https://example.org:443/hub")


def test_the_number_of_threads_is_ours() -> None:
    found = worker_environment(2, {"OMP_NUM_THREADS": "64", "OPENBLAS_NUM_THREADS": "8"})
    assert [found[name] for name in environment.THREADS] == ["2"] * 3


def test_folders_of_the_caller_come_before_those_of_pythonpath(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "_import_paths", [])
    assert "PYTHONPATH" not in worker_environment(variables={})
    environment.import_from([Path("a"), "b"])
    environment.import_from(["b"])
    assert worker_environment(variables={"PYTHONPATH": "c"})["PYTHONPATH"].split(os.pathsep) == ["b", "a", "c"]


PARENT = """
import ctypes, os
from pathlib import Path
from attention_core.worker.environment import hide_initial_environment

os.environ["CHANGED_TOKEN"] = "changed"
del os.environ["DELETED_TOKEN"]
hide_initial_environment()
library = ctypes.CDLL(None)
library.getenv.restype = ctypes.c_char_p
print(os.environ["SECRET_TOKEN"], library.getenv(b"SECRET_TOKEN"), library.getenv(b"CHANGED_TOKEN"),
      library.getenv(b"DELETED_TOKEN"), os.environ["PATH"] == library.getenv(b"PATH").decode())
print(Path(f"/proc/{os.getpid()}/environ").read_bytes())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows the initial environment as a file")
def test_the_initial_environment_shows_no_secret_and_the_process_keeps_it() -> None:
    names = ("SECRET_TOKEN", "CHANGED_TOKEN", "DELETED_TOKEN")
    found = subprocess.run(
        [sys.executable, "-c", PARENT], env={**os.environ, **dict.fromkeys(names, "do-not-tell")},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    kept, shown = found.stdout.splitlines()
    assert kept == "do-not-tell b'do-not-tell' b'changed' None True"
    assert "do-not-tell" not in shown
    assert "PATH=" in shown
