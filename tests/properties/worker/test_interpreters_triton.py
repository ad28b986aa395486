"""Whether a target is written in Triton is read from its text, and its worker gets the variable of the interpreter."""

from __future__ import annotations

from pathlib import Path

import pytest

from attention_core.conformance.engine.session import Session
from attention_core.declaration.implementation import Implementation, TargetError
from attention_core.worker.interpreters import TRITON

INTERPRETED = {"TRITON_INTERPRET": "1"}


@pytest.mark.parametrize(
    "line", ["import triton", "from triton import language as tl", "    import triton.language as tl"]
)
def test_a_file_that_imports_triton_is_interpreted(tmp_path: Path, line: str) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(f"raise SystemExit\n{line}\n")  # it is read, never run
    assert TRITON.environment(f"{path}:f", "cpu", variables={}) == INTERPRETED


@pytest.mark.parametrize("line", ["import torch", "# import triton", "import tritonclient"])
def test_another_file_is_not(tmp_path: Path, line: str) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(f"{line}\n")
    assert TRITON.environment(f"{path}:f", "cpu", variables={}) == {}


def test_what_the_caller_has_set_stays_and_a_gpu_is_used_where_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "kernel.py"
    path.write_text("import triton\n")
    assert TRITON.environment(f"{path}:f", "cpu", variables={"TRITON_INTERPRET": "0"}) == {}
    assert TRITON.environment(f"{path}:f", "cuda", variables={}) == {}


@pytest.mark.parametrize(("runtime", "value"), [("triton", "1"), ("python", "0")])
def test_a_runtime_that_is_declared_decides(runtime: str, value: str) -> None:
    assert TRITON.environment("nothing:f", "cpu", runtime, {"TRITON_INTERPRET": "0"}) == {"TRITON_INTERPRET": value}


def test_a_runtime_that_cannot_be_is_refused_in_one_line() -> None:
    with pytest.raises(TargetError, match="runtime=triton interprets kernels on a processor: leave it out with device"):
        Implementation(None, runtime="triton", device="cuda")
    with pytest.raises(TargetError, match=r"runtime=triton is for targets by name, FILE\.py:NAME"):
        Session(Implementation(len, runtime="triton"))


def test_a_module_of_a_package_is_found_without_importing_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "outer").mkdir()
    (tmp_path / "outer" / "__init__.py").write_text("raise SystemExit\n")
    (tmp_path / "outer" / "inner.py").write_text("import triton\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert TRITON.is_for("outer.inner:f")
    assert not TRITON.is_for("outer:f")


@pytest.mark.parametrize("target", ["torch:flash", "nothing", "absent.py:f", "absent.module:f"])
def test_what_names_no_source_is_not_interpreted(target: str) -> None:
    assert not TRITON.is_for(target)
