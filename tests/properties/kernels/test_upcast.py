"""attention_core.kernels.upcast: half precision in float32, rounded once, whatever surrounds the call."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from attention_core.kernels.dot_product import dot_product_attention
from attention_core.kernels.upcast import in_float32, upcast_attention

N = 21


def tensor(*shape: int, dtype: torch.dtype = torch.bfloat16) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape))).to(dtype)


OPTIONS: list[dict[str, Any]] = [
    {},
    {"is_causal": True},
    {"scale": -0.5},
    {"attn_mask": tensor(N, N)},
    {"attn_mask": tensor(N, N, dtype=torch.float32)},
    {"attn_mask": tensor(2, 1, 1, N) > 0},
]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_only_the_output_is_rounded(dtype: torch.dtype, options: dict[str, Any]) -> None:
    """Half a unit of the dtype's last digit, and float32's own errors: 2^-9 or 2^-12, and 1e-5 for sums of 21."""
    q, k, v = tensor(2, 4, N, 8, dtype=dtype), tensor(2, 2, N, 8, dtype=dtype), tensor(2, 2, N, 8, dtype=dtype)
    given = {x: y.to(dtype) if x == "attn_mask" and y.dtype == torch.bfloat16 else y for x, y in options.items()}
    found = upcast_attention(q, k, v, **given, enable_gqa=True)
    exact = {x: y.double() if isinstance(y, torch.Tensor) and y.dtype != torch.bool else y for x, y in given.items()}
    true = dot_product_attention(q.double(), k.double(), v.double(), **exact, enable_gqa=True)
    assert found.dtype == dtype
    torch.testing.assert_close(found.double(), true, rtol=torch.finfo(dtype).eps / 2, atol=1e-5)


def test_gradients_are_rounded_once() -> None:
    half = [tensor(1, 2, N, 8 + i)[..., :8].detach().requires_grad_() for i in range(3)]
    exact = [x.detach().double().requires_grad_() for x in half]
    for leaves, function in ((half, upcast_attention), (exact, dot_product_attention)):
        function(*leaves, is_causal=True).sum().backward()  # type: ignore[operator]
    for a, b in zip(half, exact, strict=True):
        assert a.grad is not None and a.grad.dtype == torch.bfloat16 and b.grad is not None
        torch.testing.assert_close(a.grad.double(), b.grad, rtol=2.0**-8, atol=1e-5)


@pytest.mark.parametrize("autocast", [None, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32, torch.float64])
def test_what_runs_inside(dtype: torch.dtype, autocast: torch.dtype | None) -> None:
    """float32 for halves, unless autocast turns them to another dtype; the result is what autocast would give."""
    x, seen = tensor(1, 1, N, 8, dtype=dtype), []

    def kernel(q: torch.Tensor, *rest: Any) -> torch.Tensor:
        out = scaled_dot_product_attention(q, *rest[:2])
        seen.append((q.dtype, out.dtype, rest[2:]))
        return out

    with torch.autocast("cpu", autocast, enabled=autocast is not None):
        found, usual = in_float32(kernel, x, x, x, "more"), scaled_dot_product_attention(x, x, x)
    assert found.dtype == usual.dtype
    half = dtype.itemsize == 2 and autocast in (None, dtype)
    assert seen == [(torch.float32,) * 2 + (("more",),) if half else (dtype, usual.dtype, ("more",))]


def test_dtypes_that_differ_are_left_to_the_kernel() -> None:
    x = tensor(1, 1, N, 8)
    for q, k, v in ((x, x, x.float()), (x, x.float(), x), (x, x.half(), x)):
        with pytest.raises((RuntimeError, ValueError), match="dtype"):
            upcast_attention(q, k, v, inner=scaled_dot_product_attention)


def test_dropout_is_asked_of_the_kernel_only_if_there_is_any() -> None:
    told: list[dict[str, Any]] = []
    for p in (0.0, 0.25):
        upcast_attention(
            *[tensor(1, 1, N, 8)] * 3, dropout_p=p, inner=lambda q, k, v, **more: told.append(more) or q
        )  # fmt: skip
    assert "dropout_p" not in told[0] and told[1]["dropout_p"] == 0.25
