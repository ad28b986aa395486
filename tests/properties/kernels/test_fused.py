"""attention_core.kernels.fused: what torch would compute unfused is given to its fused kernel, and stays the same."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from attention_core.kernels.dot_product import dot_product_attention
from attention_core.kernels.fused import fused_attention

N, D = 32, 16
FUSED = "aten._scaled_dot_product_flash_attention_for_cpu"


class Operators(TorchDispatchMode):
    """Collects the names of what is dispatched."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(str(func.overloadpacket))
        return func(*args, **(kwargs or {}))


def tensor(*shape: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(len(shape) + sum(shape))
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


PAST = torch.ones(N, N, dtype=torch.bool).tril()
CALLS: dict[str, tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "two axes": ((N, D), (N, D), (N, D), {}),
    "three axes": ((3, N, D), (3, N, D), (3, N, D), {"attn_mask": PAST}),
    "five axes": ((2, 3, 4, N, D), (2, 3, 4, N, D), (2, 3, 4, N, D), {"is_causal": True}),
    "five axes and a mask for each": ((2, 3, 4, N, D),) * 3 + ({"attn_mask": tensor(2, 1, 1, 1, N)},),
    "narrow values": ((2, 3, N, D), (2, 3, N, D), (2, 3, N, 5), {}),
    "wide values": ((2, 3, N, D), (2, 3, N, D), (2, 3, N, 40), {"scale": 0.3}),
    "grouped decoding": ((2, 8, 1, D), (2, 2, N, D), (2, 2, N, D), {"enable_gqa": True}),
    "grouped decoding, a mask for each head": (
        (2, 8, 1, D), (2, 2, N, D), (2, 2, N, D), {"enable_gqa": True, "attn_mask": tensor(2, 8, 1, N)}
    ),
    "grouped queries": ((2, 8, N, D), (2, 2, N, D), (2, 2, N, D), {"enable_gqa": True}),
    "grouped queries, causal": ((2, 8, N, D), (2, 2, N, D), (2, 2, N, D), {"enable_gqa": True, "is_causal": True}),
    "grouped queries, a mask": (
        (2, 8, N, D), (2, 2, N, D), (2, 2, N, D), {"enable_gqa": True, "attn_mask": PAST}
    ),
    "grouped queries, padded keys": (
        (2, 8, N, D), (2, 2, N, D), (2, 2, N, D),
        {"enable_gqa": True, "attn_mask": torch.arange(N) < torch.tensor([5, N]).reshape(2, 1, 1, 1)},
    ),
    "keys of one sequence": ((3, 2, N, D), (1, 2, N, D), (1, 2, N, D), {}),
    "a mask and causality": ((1, 2, N, D), (1, 2, N, D), (1, 2, N, D), {"is_causal": True, "attn_mask": tensor(N, N)}),
    "causality at a negative scale": ((1, 2, N, D), (1, 2, N, D), (1, 2, N, D), {"is_causal": True, "scale": -0.5}),
    "one causal query": ((1, 2, 1, D), (1, 2, N, D), (1, 2, N, D), {"is_causal": True}),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_every_call_is_fused_and_right_with_its_gradients(name: str) -> None:
    """Float64: both sides are within 1e-13 of the truth here (32 terms of size 1, 64 u each), far below 1e-11."""
    *shapes, options = CALLS[name]
    inputs = [tensor(*shape).requires_grad_() for shape in shapes]
    with Operators() as seen:
        out = fused_attention(*inputs, **options)
    wanted = dot_product_attention(*inputs, **options)
    assert out.shape == wanted.shape
    assert FUSED in seen.names
    torch.testing.assert_close(out, wanted, rtol=0, atol=1e-11)
    cotangent = tensor(*wanted.shape)
    found, true = (torch.autograd.grad(x, inputs, cotangent) for x in (out, wanted))
    for x, y in zip(found, true, strict=True):
        torch.testing.assert_close(x, y, rtol=0, atol=1e-11)


def test_strided_heads_are_fused() -> None:
    """A last axis with gaps; torch's default takes its unfused kernel without a word."""
    q = tensor(2, 3, N, 2 * D)[..., ::2]
    with Operators() as ours:
        out = fused_attention(q, q, q)
    with Operators() as default:
        torch.nn.functional.scaled_dot_product_attention(q, q, q)
    assert FUSED in ours.names and FUSED not in default.names
    torch.testing.assert_close(out, dot_product_attention(q, q, q), rtol=0, atol=1e-11)


def test_grouped_decoding_reads_each_key_once() -> None:
    """Four queries of a key head become four rows of it: keys are not repeated."""
    q, k = tensor(1, 8, 1, D), tensor(1, 2, N, D)
    with Operators() as seen:
        fused_attention(q, k, k, enable_gqa=True)
    assert not {"aten.index_select", "aten.repeat_interleave", "aten.repeat", "aten.cat"} & set(seen.names)


def test_a_mask_that_wants_a_gradient_gets_one() -> None:
    mask, x = tensor(N, N).requires_grad_(), tensor(1, 1, N, D)
    found, true = (
        torch.autograd.grad(f(x, x, x, mask).sum(), mask)[0] for f in (fused_attention, dot_product_attention)
    )
    assert true.abs().max() > 1e-16
    torch.testing.assert_close(found, true, rtol=0, atol=1e-12)


@pytest.mark.parametrize("shape", [(0, 2, 3, 4), (2, 2, 0, 4), (2, 2, 3, 0)])
def test_empty_inputs(shape: tuple[int, ...]) -> None:
    x = torch.zeros(shape)
    assert fused_attention(x, x, x).shape == shape


def test_no_keys_give_zeros() -> None:
    assert torch.equal(fused_attention(tensor(2, 3, 4), torch.zeros(2, 0, 4).double(), torch.zeros(2, 0, 5).double()),
                       torch.zeros(2, 3, 5).double())  # fmt: skip


def test_bad_calls_are_refused() -> None:
    x = tensor(1, 4, N, D)
    with pytest.raises(ValueError, match="lengths of key and value differ"):
        fused_attention(x, x[:, :, :5], x)
    with pytest.raises(ValueError, match="does not broadcast"):
        fused_attention(x, x, x, PAST[:5])
    with pytest.raises(ValueError, match="dropout_p"):
        fused_attention(x, x, x, dropout_p=1.5)
