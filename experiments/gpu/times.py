"""Time our FlashAttention in Triton beside torch's backends on a GPU, right first; writes JSON.

python experiments/gpu/times.py --json docs/data/gpu_times.json

A kernel is timed where its output, and for the backward pass its gradients, agree with float64 to a small multiple of
what rounding the truth to the dtype costs. Kernels take turns in rounds; times are medians of the rounds, and their
spread is told. The floor is the larger of the time that the products and that the bytes would take, at the rates that
one large product and one large copy reach in the same run.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from attention_core.bench.timing.clocks import clock_for
from attention_core.kernels.triton.flash import flash_attention

MOST_ULPS = 8.0
"""Errors beyond so many roundings of the largest number are not timed; what is right has one to three."""


@dataclass(frozen=True)
class Problem:
    """What is computed: sizes, dtype, direction."""

    B: int
    H: int
    H_kv: int
    n: int
    d: int
    dtype: str
    causal: bool
    backward: bool = False

    def flops(self) -> float:
        """Of the products: two forward, five more backward; half of it where half is masked."""
        products = 2 + 5 * self.backward
        return products * 2.0 * self.B * self.H * self.n**2 * self.d * (0.5 if self.causal else 1.0)

    def bytes(self) -> float:
        """Each tensor once: query, key, value and output, and backward their gradients and these again."""
        return (1 + 2 * self.backward) * 2.0 * self.B * self.n * self.d * 2 * (self.H + self.H_kv)


def problems() -> list[Problem]:
    """Those of the page."""
    found = []
    for dtype in ("float16", "bfloat16"):
        for causal in (False, True):
            found += [Problem(4, 16, 16, 2048, 64, dtype, causal), Problem(2, 16, 16, 4096, 128, dtype, causal)]
    found += [Problem(1, 32, 8, 8192, 128, "bfloat16", True)]
    found += [Problem(2, 16, 16, 4096, d, "bfloat16", True, backward=True) for d in (64, 128)]
    return found


def sdpa(backend: SDPBackend | None, q: Tensor, k: Tensor, v: Tensor, causal: bool) -> Tensor:
    """torch's function on one backend."""
    with nullcontext() if backend is None else sdpa_kernel(backend):
        return scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=q.shape[1] != k.shape[1])


def ours(block: int, q: Tensor, k: Tensor, v: Tensor, causal: bool) -> Tensor:
    """Ours, in blocks of so many rows."""
    return flash_attention(q, k, v, is_causal=causal, enable_gqa=q.shape[1] != k.shape[1], block=block)


KERNELS: dict[str, Callable[..., Tensor]] = {
    "torch flash": partial(sdpa, SDPBackend.FLASH_ATTENTION),
    "torch cudnn": partial(sdpa, SDPBackend.CUDNN_ATTENTION),
    "torch efficient": partial(sdpa, SDPBackend.EFFICIENT_ATTENTION),
    "torch math": partial(sdpa, SDPBackend.MATH),
    "ours, block 64": partial(ours, 64),
    "ours, block 128": partial(ours, 128),
}


def reference(tensors: list[Tensor], cotangent: Tensor, p: Problem) -> list[Tensor]:
    """The output, and backward the gradients, in float64, a sequence at a time."""
    parts: list[list[Tensor]] = []
    for b in range(p.B):
        q, k, v = (x[b].detach().double().requires_grad_() for x in tensors)
        group = p.H // p.H_kv
        scores = q @ k.repeat_interleave(group, 0).mT * p.d**-0.5
        if p.causal:
            scores = scores.masked_fill(torch.ones(p.n, p.n, dtype=torch.bool, device="cuda").triu(1), -torch.inf)
        out = scores.softmax(-1) @ v.repeat_interleave(group, 0)
        parts.append(
            [out.detach(), *(torch.autograd.grad(out, (q, k, v), cotangent[b].double()) if p.backward else ())]
        )
    return [torch.stack(x) for x in zip(*parts, strict=True)]


def results(kernel: Callable[..., Tensor], tensors: list[Tensor], cotangent: Tensor, p: Problem) -> list[Tensor]:
    """What a kernel gives: the output, and backward the gradients."""
    out = kernel(*tensors, p.causal)
    return [out, *(torch.autograd.grad(out, tensors, cotangent) if p.backward else ())]


def measure(p: Problem, rounds: int, clock: Any) -> dict[str, Any]:
    """All kernels on one problem: {name: {"error", "times"} or {"why"}}."""
    generator = torch.Generator("cuda").manual_seed(0)
    dtype = getattr(torch, p.dtype)
    sizes = [(p.B, heads, p.n, p.d) for heads in (p.H, p.H_kv, p.H_kv, p.H)]
    *tensors, cotangent = (torch.randn(s, generator=generator, device="cuda").to(dtype) for s in sizes)
    tensors = [x.requires_grad_(p.backward) for x in tensors]
    wanted = reference(tensors, cotangent, p)
    ulp = [float(x.abs().max()) * torch.finfo(dtype).eps / 2 for x in wanted]
    found: dict[str, Any] = {}
    for name, kernel in KERNELS.items():
        if name == "torch math" and p.n > 4096:
            continue
        try:
            got = results(kernel, tensors, cotangent, p)
            pairs = zip(got, wanted, ulp, strict=True)
            error = max(float((g.detach().double() - w).abs().max()) / u for g, w, u in pairs)
            del got
            found[name] = (
                {"error": round(error, 2), "times": []} if error <= MOST_ULPS else {"why": f"error {error:.3g}"}
            )
        except Exception as reason:  # a backend that has no kernel, or a block that does not fit into shared memory
            found[name] = {"why": str(reason).splitlines()[0][:100]}
    del wanted
    torch.cuda.empty_cache()
    right = {name: partial(results, KERNELS[name], tensors, cotangent, p) for name in found if "times" in found[name]}
    calls = {name: int(min(20, max(1, 0.01 / clock.time(call, 1)))) for name, call in right.items()}
    for _ in range(rounds):
        for name, call in right.items():
            found[name]["times"].append(clock.time(call, calls[name]) / calls[name])
    return found


def rates(clock: Any) -> dict[str, float]:
    """What this device reaches: products in bfloat16 per second, and bytes read and written per second."""
    a, b = (torch.randn(8192, 8192, device="cuda").bfloat16() for _ in range(2))
    large = torch.empty(2**31, dtype=torch.uint8, device="cuda")
    other = torch.empty_like(large)
    products = statistics.median(clock.time(lambda: a @ b, 5) / 5 for _ in range(5))
    copies = statistics.median(clock.time(lambda: other.copy_(large), 3) / 3 for _ in range(5))
    return {"flops": 2 * 8192**3 / products, "bytes": 2 * 2**31 / copies}


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=9)
    chosen = parser.parse_args()
    clock = clock_for("cuda")
    found: dict[str, Any] = {
        "device": torch.cuda.get_device_name(), "torch": torch.__version__, "cudnn": torch.backends.cudnn.version(),
        "seed": 0, "rounds": chosen.rounds, "rates": rates(clock), "problems": [],
    }  # fmt: skip
    import triton

    found["triton"] = triton.__version__
    for p in problems():
        kernels = measure(p, chosen.rounds, clock)
        floor = max(p.flops() / found["rates"]["flops"], p.bytes() / found["rates"]["bytes"])
        found["problems"].append({**asdict(p), "floor": floor, "kernels": kernels})
        chosen.json.write_text(json.dumps(found, indent=1))
        shown = {
            n: f"{1e3 * statistics.median(k['times']):.3f} ms" if "times" in k else k["why"] for n, k in kernels.items()
        }
        print(p, f"floor {1e3 * floor:.3f} ms", shown, flush=True)


if __name__ == "__main__":
    main()
