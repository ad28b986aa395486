"""Triton's interpreter, watched: what lies outside of every tensor, races of programs, bfloat16 numbers.

Each kernel runs in one process of its own, as triton reads its variable when it is imported.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from attention_core.conformance.worker.interpreted import FaultyAccess, Launch

KERNELS = """
import json

import torch

from attention_core.conformance.worker.interpreted import watch_triton

assert watch_triton()
import triton
import triton.language as tl
from triton.language.extra import libdevice

@triton.jit
def right(X, O, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(O + i, 2 * tl.load(X + i, mask=i < n, other=0.0), mask=i < n)

@triton.jit
def reads_behind(X, O, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(O + i, 2 * tl.load(X + i, mask=i <= n, other=0.0), mask=i < n)

@triton.jit
def writes_before(X, O, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(O + i - 2, 1.0, mask=i < n)

@triton.jit
def reads_far(X, O, n, B: tl.constexpr):
    tl.store(O, tl.load(X + 10000000))

@triton.jit
def writes_twice(X, O, n, B: tl.constexpr):
    tl.store(O, tl.program_id(0))

@triton.jit
def writes_the_same_twice(X, O, n, B: tl.constexpr):
    tl.store(O, 7.0)

@triton.jit
def reads_what_another_writes(X, O, n, B: tl.constexpr):
    i = tl.program_id(0)
    tl.store(O + i, 1.0)
    tl.store(O + 4 + i, tl.load(O))

@triton.jit
def writes_what_another_read(X, O, n, B: tl.constexpr):
    i = tl.program_id(0)
    tl.store(O + i + 4, tl.load(O + 1))
    tl.store(O + i, 1.0)

@triton.jit
def adds_atomically(X, O, n, B: tl.constexpr):
    tl.atomic_add(O, 1.0)

@triton.jit
def adds_behind(X, O, n, B: tl.constexpr):
    tl.atomic_add(O + n, 1.0)

@triton.jit
def helper(X, i):
    return tl.load(X + i)

@triton.jit
def calls_a_function(X, O, n, B: tl.constexpr):
    tl.store(O, helper(X, n))

@triton.jit
def multiplies(X, Y, O, B: tl.constexpr):
    i = tl.arange(0, B)
    at = i[:, None] * B + i[None, :]
    tl.store(O + at, tl.dot(tl.load(X + at), tl.load(Y + at)))

@triton.jit
def computes(X, Y, O, B: tl.constexpr):
    i = tl.arange(0, B)
    x, y = tl.load(X + i), tl.load(Y + i)
    tl.store(O + i, x + y)
    tl.store(O + B + i, x * y)
    tl.store(O + 2 * B + i, -x)
    tl.store(O + 3 * B + i, tl.maximum(x, y))
    tl.store(O + 4 * B + i, tl.where(x < y, x, y))
    tl.store(O + 5 * B + i, tl.sum(x, 0) + x * 0)
    tl.store(O + 6 * B + i, x.to(tl.int32).to(tl.bfloat16))

@triton.jit
def lacks_assembly(X, O, n, B: tl.constexpr):
    i = tl.arange(0, B)
    y = tl.inline_asm_elementwise("mov.b32 $0, $1;", "=r,r", [i], dtype=tl.int32, is_pure=True, pack=1)
    tl.store(O + i, y)

@triton.jit
def uses_an_old_parameter(X, O, n, B: tl.constexpr):
    x = tl.load(X + tl.arange(0, B)[:, None])
    tl.store(O, tl.dot(x, x, trans_b=True))

@triton.jit
def lacks_a_library(X, O, n, B: tl.constexpr):
    tl.store(O + tl.arange(0, B), libdevice.erfinv(tl.load(X + tl.arange(0, B))))

@triton.jit
def reads_a_processors_number(X, O, n, B: tl.constexpr):
    tl.store(O, tl.extra.cuda.smid())

@triton.jit
def takes_a_block_pointer(X, O, n, B: tl.constexpr):
    tl.store(O, tl.sum(tl.load(tl.make_block_ptr(X, (n,), (1,), (0,), (B,), (0,))), 0))

@triton.jit
def uses_what_was_removed(X, O, n, B: tl.constexpr):
    tl.store(O, tl.make_no_such_thing(X))

@triton.autotune(configs=[triton.Config({"V": 3.0}), triton.Config({"V": 5.0})], key=["n"])
@triton.jit
def is_tuned(X, O, n, B: tl.constexpr, V: tl.constexpr):
    tl.store(O, V)

@triton.jit
def has_odd_blocks(X, O, n, B: tl.constexpr):
    tl.store(O + tl.arange(0, B - 1), 1.0)

@triton.jit
def divides_by_zero(X, O, n, B: tl.constexpr):
    for start in range(0, B, B - 16):
        tl.store(O, start)

@triton.jit
def takes_a_tangent(X, O, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(O + i, libdevice.tan(tl.load(X + i)))

found = {}
for kernel in (right, reads_behind, writes_before, reads_far, writes_twice, writes_the_same_twice,
               reads_what_another_writes, writes_what_another_read, adds_atomically, adds_behind, calls_a_function,
               lacks_assembly, lacks_a_library, has_odd_blocks, divides_by_zero, takes_a_tangent,
               reads_a_processors_number, takes_a_block_pointer, uses_what_was_removed, uses_an_old_parameter, is_tuned):
    name = getattr(kernel, "base_fn", kernel).__name__
    x, o = torch.ones(20), torch.zeros(20)
    try:
        kernel[(2,)](x, o, 20, 16)
        found[name] = float(o.sum())
    except Exception as error:
        found[name] = f"{type(error).__name__}: {error}"
torch.manual_seed(0)
x, y = (torch.randn(16, 16).bfloat16() for _ in range(2))
o = torch.zeros(16, 16)
multiplies[(1,)](x, y, o, 16)
found["bfloat16"] = float((o - x.float() @ y.float()).abs().max())
x, y = (torch.randn(16).bfloat16() * 4 for _ in range(2))
o = torch.zeros(7, 16).bfloat16()
computes[(1,)](x, y, o, 16)
total = x.float().sum().bfloat16().expand(16)
expected = torch.stack([x + y, x * y, -x, torch.maximum(x, y), torch.minimum(x, y), total, x.int().bfloat16()])
found["arithmetic"] = (o != expected).any(1).tolist()
x = torch.ones(40)
o = torch.zeros(40)
right[(2,)](x[::2][:20], o[20:], 20, 16)  # a view: what lies beside it in its storage stays
found["view"] = [float(o[:20].sum()), float(o[20:].sum())]
print(json.dumps(found))
"""
OUTSIDE = {
    "reads_behind": "reads 1 element past the end of X",
    "writes_before": "writes 2 elements before O",
    "reads_far": "reads far from every tensor it was given",
    "adds_behind": "updates 1 element past the end of O",
    "calls_a_function": "reads 1 element past the end of X",
}
RACES = {
    "writes_twice": "two programs write different values at one place of O",
    "reads_what_another_writes": "one program reads what another writes into O",
    "writes_what_another_read": "one program writes into O what another has read",
}


@cache
def outcomes(folder: Path) -> dict[str, object]:
    """What each kernel gave: the sum of its result, or what it raised."""
    pytest.importorskip("triton", reason="Triton is installed on Linux alone")
    path = folder / "kernels.py"
    path.write_text(KERNELS)
    environment = {**os.environ, "TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    return outcomes(tmp_path_factory.getbasetemp())


def test_right_kernels_give_what_they_gave(found: dict[str, object]) -> None:
    assert found["right"] == 40.0
    assert found["writes_the_same_twice"] == 7.0
    assert found["adds_atomically"] == 2.0
    assert found["view"] == [0.0, 40.0]


@pytest.mark.parametrize("kernel", OUTSIDE)
def test_an_access_outside_of_every_tensor_is_found(found: dict[str, object], kernel: str) -> None:
    assert f"FaultyAccess: {kernel} {OUTSIDE[kernel]} (line " in str(found[kernel])


@pytest.mark.parametrize("kernel", RACES)
def test_a_race_is_found(found: dict[str, object], kernel: str) -> None:
    assert f"FaultyAccess: {kernel} has a race: {RACES[kernel]} (line " in str(found[kernel])


def test_products_of_bfloat16_multiply_values(found: dict[str, object]) -> None:
    """A sum of 16 exact products in float32 errs by at most 16 u of their magnitudes, here below 16 * 16."""
    assert float(str(found["bfloat16"])) <= 16 * 2.0**-24 * 16 * 16


def test_bfloat16_numbers_are_computed_with_as_values(found: dict[str, object]) -> None:
    assert found["arithmetic"] == [False] * 7


def test_what_the_interpreter_lacks_is_named_with_its_line(found: dict[str, object]) -> None:
    lacks = "LacksOperation: Triton's interpreter cannot run an operation of"
    assert str(found["lacks_assembly"]).startswith(f"{lacks} lacks_assembly: inline_asm not supported")
    assert "(line " in str(found["lacks_assembly"]) and "tl.inline_asm_elementwise(" in str(found["lacks_assembly"])
    assert str(found["lacks_a_library"]).startswith(f"{lacks} lacks_a_library: ")
    assert "libdevice.erfinv(" in str(found["lacks_a_library"])
    assert str(found["lacks_a_library"]).endswith("; with a GPU, use --device cuda")
    number = str(found["reads_a_processors_number"])
    assert number.startswith(f"{lacks} reads_a_processors_number: it is an instruction of GPUs (line ")
    assert number.endswith("tl.store(O, tl.extra.cuda.smid())); with a GPU, use --device cuda")
    if "removed" in str(found["takes_a_block_pointer"]):  # from Triton 3.9 on
        assert str(found["takes_a_block_pointer"]).endswith("; install one that has it")
    assert "has no attribute 'make_no_such_thing' (line " in str(found["uses_what_was_removed"])
    assert str(found["uses_what_was_removed"]).endswith("; install one that has it")
    old = str(found["uses_an_old_parameter"])
    assert "has not what uses_an_old_parameter uses: dot() got an unexpected keyword argument 'trans_b' (line " in old


def test_an_autotuned_kernel_runs_with_its_first_configuration(found: dict[str, object]) -> None:
    assert found["is_tuned"] == 3.0


def test_blocks_that_do_not_fit_decline_a_call_and_other_errors_are_themselves(found: dict[str, object]) -> None:
    assert str(found["has_odd_blocks"]).startswith("UnfitBlock: the blocks of has_odd_blocks do not fit these sizes: ")
    assert "arange's range must be a power of 2 (line " in str(found["has_odd_blocks"])
    assert str(found["divides_by_zero"]).startswith("ValueError: range() arg 3 must not be zero")
    assert abs(float(str(found["takes_a_tangent"])) - 16 * 1.5574077) <= 1e-4


def test_the_nearest_tensor_is_named() -> None:
    import torch

    launch = Launch("kernel")
    launch.guard("X", torch.zeros(4))
    end = launch.order[0].base + launch.order[0].size
    with pytest.raises(FaultyAccess, match="reads 3 elements past the end of X"):
        launch.locate(np.array([end + 8], np.uint64), 4, "reads")
    with pytest.raises(FaultyAccess, match="writes 1 element before X"):
        launch.locate(np.array([launch.order[0].base - 4], np.uint64), 4, "writes")
