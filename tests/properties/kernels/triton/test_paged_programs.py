"""attention_core.kernels.triton.paged_programs and flash_programs: compiled for a GPU, which takes none.

On a GPU an argument that is 1 becomes a constant; the interpreter knows no such thing, so that its verdict does not
tell whether a program compiles then. Nor does it mind that a name in a loop stands for blocks of other sizes.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

import pytest

SIZES = {"BLOCK": 16, "ROWS": 16, "D": 16, "D_V": 16, "IS_CAUSAL": True}
APART = {"BLOCK": 64, "ROWS": 16, "D": 32, "D_V": 16, "IS_CAUSAL": True}
"""Sizes no two of which are one: a name that a loop gives to another tensor than before has another type then."""
POINTERS = {
    "Q", "K", "V", "Out", "Grad", "GradQ", "GradK", "GradV", "Lse", "Delta", "Lses", "Parts", "Table", "Lengths",
}  # fmt: skip
IN_FLOAT32, IN_INT32 = {"Lse", "Delta", "Lses", "Parts"}, {"Table", "Lengths"}


def signature(program: Any, sizes: dict[str, int], ones: bool) -> tuple[dict[str, str], dict[tuple[int], Any]]:
    """The types of a program's arguments and its constants; with `ones`, every number is 1."""
    types: dict[str, str] = {}
    constants: dict[tuple[int], Any] = {}
    for place, name in enumerate(program.arg_names):
        if name in POINTERS:
            types[name] = "*fp32" if name in IN_FLOAT32 else "*i32" if name in IN_INT32 else "*fp16"
        elif name == "scale":
            types[name] = "fp32"
        elif name in sizes or ones:
            types[name], constants[place,] = "constexpr", sizes.get(name, 1)
        else:
            types[name] = "i32"
    return types, constants


@pytest.mark.thorough(table=True)
@pytest.mark.skipif(sys.platform != "linux", reason="Triton is installed on Linux alone")
@pytest.mark.parametrize(("sizes", "ones"), [(SIZES, True), (APART, False)])
@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("flash_programs", "forward"),
        ("flash_programs", "backward_queries"),
        ("flash_programs", "backward_keys"),
        ("paged_programs", "decode_part"),
        ("paged_programs", "merge_parts"),
    ],
)
def test_a_program_compiles_for_a_gpu(
    module: str, name: str, sizes: dict[str, int], ones: bool, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    triton = pytest.importorskip("triton")
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("TRITON_DEFAULT_FP_FUSION", "1")  # 3.9 warns where it is not set
    program = getattr(importlib.import_module(f"attention_core.kernels.triton.{module}"), name)
    types, constants = signature(program, sizes, ones)
    made = triton.compile(ASTSource(program, types, constants, {}), target=GPUTarget("cuda", 90, 32))
    assert "ptx" in made.asm
