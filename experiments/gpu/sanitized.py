"""Run our Triton kernels on small cases under compute-sanitizer's memcheck: python experiments/gpu/sanitized.py flash.

Every tensor has an allocation of its own, so that a read behind its end is seen. The third name is a planted fault,
which shows that it would be.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
NAMES = ("flash", "paged", "row_guard_missing", "page_table_read_behind")


def call_flash(function: object, device: str) -> None:
    """17 queries and 33 keys of 3 heads, 20 and 12 features, causal, with gradients."""
    import torch

    q, k, v = (
        torch.randn(2, 3, n, d, device=device, dtype=torch.float16).requires_grad_()
        for n, d in ((17, 20), (33, 20), (33, 12))
    )
    out = function(q, k, v, is_causal=True, block=32)  # type: ignore[operator]
    out.backward(torch.randn_like(out))


def call_paged(function: object, device: str) -> None:
    """Three texts of 1, 20 and 0 keys in pages of 16, two query heads for a key head."""
    import torch

    table = torch.tensor([[2, 0], [1, 3], [0, 0]], device=device, dtype=torch.int32)
    lengths = torch.tensor([1, 20, 0], device=device, dtype=torch.int32)
    q = torch.randn(3, 1, 4, 20, device=device, dtype=torch.float16)
    k, v = (torch.randn(4, 16, 2, d, device=device, dtype=torch.float16) for d in (20, 12))
    function(q, k, v, table, lengths)  # type: ignore[operator]


def call(name: str, device: str) -> None:
    """The kernel's call, in this process."""
    from attention_core.faults.triton_kernels import KERNEL_FAULTS, write_kernel
    from attention_core.kernels.triton.flash import flash_attention
    from attention_core.kernels.triton.paged import paged_decode

    if name == "flash":
        call_flash(flash_attention, device)
    elif name == "paged":
        call_paged(paged_decode, device)
    else:
        (fault,) = (fault for fault in KERNEL_FAULTS if fault.name == name)
        with tempfile.TemporaryDirectory() as folder:
            path = write_kernel(fault, Path(folder)).rpartition(":")[0]
            spec = importlib.util.spec_from_file_location(name, path)
            assert spec is not None and spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            sys.modules[name] = module
            spec.loader.exec_module(module)
            call_flash(module.flash_attention, device)
    if device == "cuda":
        import torch

        torch.cuda.synchronize()
    print("called")


def find_sanitizer() -> str:
    """Where compute-sanitizer is, or ""."""
    usual = [*sorted(Path("/usr/local").glob("cuda*/bin/compute-sanitizer"))]
    return shutil.which("compute-sanitizer") or next(map(str, usual), "")


def main() -> None:
    """The command line: the call itself with --inside, else the sanitizer around it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernel")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--inside", action="store_true", help="only make the call")
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    if chosen.inside:
        call(chosen.kernel, chosen.device)
        return
    words = [sys.executable, __file__, chosen.kernel, "--device", chosen.device, "--inside"]
    environment = {**os.environ, "PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}
    plain = subprocess.run(words, capture_output=True, text=True, env=environment)  # compiles, too
    found = {"plain": plain.returncode, "said": (plain.stdout + plain.stderr)[-1500:], "sanitizer": find_sanitizer()}
    if found["sanitizer"]:
        words = [str(found["sanitizer"]), "--tool", "memcheck", "--print-limit", "3", *words]
        under = subprocess.run(words, capture_output=True, text=True, env=environment)
        text = under.stdout + under.stderr
        found |= {"status": under.returncode, "first": text[:2500], "last": text[-1500:]}
    print(json.dumps(found, indent=1))
    if chosen.json:
        chosen.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
