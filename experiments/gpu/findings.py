"""Ask torch alone whether it does what docs/gpu.md says of it: python experiments/gpu/findings.py G6 [--json FILE].

One finding a process, since some lose the device. Nothing of this package is imported.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import dropout, scaled_dot_product_attention

Found = dict[str, Any]


def told(call: Callable[[], Any]) -> Any:
    """What a call gives, or the first line of what it raises."""
    try:
        return call()
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"[:300]


def drop_everything(device: str) -> Found:
    """G6: dropout_p=1.0 on every backend; 0 is right."""
    found: Found = {}
    for backend in (
        SDPBackend.EFFICIENT_ATTENTION,
        SDPBackend.FLASH_ATTENTION,
        SDPBackend.CUDNN_ATTENTION,
        SDPBackend.MATH,
    ):
        for dtype in (torch.float16, torch.bfloat16, torch.float32):
            for n in (1, 6, 64):
                q, k, v = torch.randn(3, 1, 2, n, 64, device=device, dtype=dtype)

                def call(q: Tensor = q, k: Tensor = k, v: Tensor = v, backend: SDPBackend = backend) -> str:
                    with sdpa_kernel(backend):
                        out = scaled_dot_product_attention(q, k, v, dropout_p=1.0)
                    return f"NaN in {int(out.isnan().sum())} of {out.numel()}, not 0 in {int((out != 0).sum())}"

                found[f"{backend.name} {dtype} n {n}"] = told(call)
    return found


def packed(device: str, lengths: list[int], keys: list[int], rows: int = 0, **options: Any) -> tuple[Tensor, ...]:
    """q, k, v with gradients, and the output, of `varlen_attn` for texts of some lengths; `rows` behind the last."""
    from torch.nn.attention.varlen import varlen_attn

    torch.manual_seed(0)
    total, total_k = sum(lengths) + rows, sum(keys) + rows
    q, k, v = (
        torch.randn(n, 2, 64, device=device, dtype=torch.float16).requires_grad_() for n in (total, total_k, total_k)
    )
    ends, key_ends = (torch.tensor([0, *n], device=device).cumsum(0).to(torch.int32) for n in (lengths, keys))
    return q, k, v, varlen_attn(q, k, v, ends, key_ends, max(lengths), max(keys), **options)


def no_queries(device: str) -> Found:
    """G7: texts none of which has a query; an empty output is right."""

    def call(rows: int, keys: list[int]) -> str:
        out = packed(device, [0, 0], keys, rows)[-1]
        torch.cuda.synchronize()
        return f"shape {tuple(out.shape)}"

    return {f"{rows} rows behind, keys {keys}": told(lambda rows=rows, keys=keys: call(rows, keys))
            for rows in (0, 3) for keys in ([0, 0], [3, 2])}  # fmt: skip


def rows_behind(device: str) -> Found:
    """G8: the gradients of 5 rows behind the last text, in memory that held 7s before; 0 is right."""
    found: Found = {}
    for trial in range(3):
        held = [torch.full((n, 2, 64), 7.0, device=device, dtype=torch.float16) for n in (12, 12, 12, 12, 12, 12)]
        del held
        q, k, v, out = packed(device, [4, 3], [4, 3], 5)
        out[:7].float().sum().backward()
        for name, x in (("query", q), ("key", k), ("value", v)):
            assert x.grad is not None
            behind = x.grad[7:]
            found[f"{name}, trial {trial}"] = (
                f"not 0 in {int((behind != 0).sum())} of {behind.numel()}, 7 in {int((behind == 7).sum())}"
            )
    return found


def window_with_more_queries(device: str) -> Found:
    """G9: gradients under window_size=(1, 4) with 9 queries and 5 keys, against float64."""
    q, k, v, out = packed(device, [9], [5], window_size=(1, 4))
    torch.manual_seed(1)
    down = torch.randn_like(out)
    out.backward(down)
    wide = [x.detach().double().cpu().requires_grad_() for x in (q, k, v)]
    i, j = torch.arange(9)[:, None] + 5 - 9, torch.arange(5)[None]
    seen = (j >= i - 1) & (j <= i + 4)
    s = torch.einsum("ihd,jhd->hij", wide[0], wide[1]) / 8.0
    p = torch.where(seen, s, -torch.inf).softmax(-1).nan_to_num(0.0)
    truth = torch.einsum("hij,jhd->ihd", p, wide[2])
    truth.backward(down.double().cpu())
    found: Found = {"rows that see a key": seen.any(1).tolist()}
    found["out, largest error by row"] = (out.detach().double().cpu() - truth.detach()).abs().amax((1, 2)).tolist()
    for name, x, w in zip(("query", "key", "value"), (q, k, v), wide, strict=True):
        assert x.grad is not None and w.grad is not None
        found[f"{name} gradient, largest by row"] = x.grad.double().abs().amax((1, 2)).tolist()
        found[f"{name} gradient, largest error by row"] = (x.grad.double().cpu() - w.grad).abs().amax((1, 2)).tolist()
    return found


def empty_batch(device: str) -> Found:
    """G10: nn.MultiheadAttention of no sequence, or of one without a token."""
    found: Found = {}
    for dtype in (torch.float16, torch.bfloat16, torch.float32):
        for training in (False, True):
            for weights in (False, True):
                for shape in ((0, 3, 16), (1, 0, 16)):
                    module = nn.MultiheadAttention(16, 2, batch_first=True, device=device, dtype=dtype).train(training)
                    x = torch.zeros(shape, device=device, dtype=dtype)

                    def call(module: nn.Module = module, x: Tensor = x, weights: bool = weights) -> str:
                        with torch.set_grad_enabled(module.training):
                            return f"shape {tuple(module(x, x, x, need_weights=weights)[0].shape)}"

                    what = f"{dtype} {'training' if training else 'evaluation'} weights {weights} x {shape}"
                    found[what] = told(call)
    return found


def masks_that_agree(device: str) -> Found:
    """G11: in how many places the masks of two successive calls agree, one moved along by the shift that suits best.

    Half of the places agree by chance; over the shifts of n places no more than half plus 3 / sqrt(n) would.
    """
    found: Found = {}
    for dtype in (torch.bfloat16, torch.float16, torch.float32):
        for n in (1024, 14336, 65536, 1 << 20):
            for pause in (0, 1):
                torch.manual_seed(0)
                ones, masks = torch.ones(n, device=device, dtype=dtype), []
                for _ in range(2):
                    masks.append((dropout(ones, 0.5) != 0).double() * 2 - 1)
                    for _ in range(pause):
                        torch.rand(1, device=device)
                first, second = (torch.fft.rfft(m.cpu()) for m in masks)
                shared = torch.fft.irfft(first.conj() * second, n)
                best = int(shared.argmax())
                agree = (1 + shared[best].item() / n) / 2
                same = (1 + shared[0].item() / n) / 2
                found[f"{dtype} n {n} pause {pause}"] = (
                    f"{agree:.3f} at shift {best}, {same:.3f} unmoved, {0.5 + 3 / n**0.5:.3f} by chance"
                )
    return found


def describe_machine(device: str) -> Found:
    """Versions, and the device."""
    found: Found = {"torch": torch.__version__, "cudnn": torch.backends.cudnn.version(), "cuda": torch.version.cuda}
    for name in ("triton", "transformers", "jax", "numpy"):
        found[name] = told(lambda name=name: version(name))
    if device == "cuda":
        found["device"] = torch.cuda.get_device_name()
        found["order of backends"] = told(lambda: [int(one) for one in torch._C._get_sdp_priority_order()])
    return found


ASKED = {
    "machine": describe_machine,
    "G6": drop_everything,
    "G7": no_queries,
    "G8": rows_behind,
    "G9": window_with_more_queries,
    "G10": empty_batch,
    "G11": masks_that_agree,
}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("finding", choices=ASKED)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    answer = told(lambda: ASKED[chosen.finding](chosen.device))
    text = json.dumps(answer, indent=1)
    print(ASKED[chosen.finding].__doc__, text, sep="\n")
    if chosen.json:
        chosen.json.write_text(text)
