"""attention_core.kernels.fused: what torch would compute unfused is given to its fused kernel, and stays the same.

attention_core.kernels.fused: plain products for values of another width, and for nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from attention_core.kernels import fused
from attention_core.kernels.dot_product import dot_product_attention
from attention_core.kernels.fused import LEAST, MOST, fused_attention, row_blocks, suits_row_blocks

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


N = LEAST


def inputs(
    n_q: int = N, n_kv: int = N, d_v: int = 3, dtype: torch.dtype = torch.float64, heads: int = 2
) -> list[Tensor]:
    generator = torch.Generator().manual_seed(n_q + n_kv + d_v)
    return [
        torch.randn(2, heads, n, width, generator=generator, dtype=torch.float64).to(dtype)
        for n, width in ((n_q, 8), (n_kv, 8), (n_kv, d_v))
    ]


@pytest.mark.parametrize("rows", [1, 7, 100, 300, 1000])
@pytest.mark.parametrize(("n_q", "n_kv", "d_v"), [(300, 300, 3), (300, 260, 40), (1, 5, 2)])
def test_it_is_the_definition(rows: int, n_q: int, n_kv: int, d_v: int) -> None:
    """Float64: sums of 300 terms of size 1, some 1e-13 on either side."""
    q, k, v = inputs(n_q, n_kv, d_v)
    for scale in (0.3, -0.3, 0.0):
        wanted = dot_product_attention(q, k, v, scale=scale)
        torch.testing.assert_close(row_blocks(q, k, v, scale, rows), wanted, rtol=0, atol=1e-11)


def test_what_the_buffer_held_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory that was used before may hold NaN."""
    q, k, v = inputs()
    wanted = row_blocks(q, k, v, 0.3)

    def full(self: Tensor, *shape: int) -> Tensor:
        return torch.full(shape, torch.nan, dtype=self.dtype)

    monkeypatch.setattr(Tensor, "new_empty", full)
    assert torch.equal(row_blocks(q, k, v, 0.3), wanted)


def test_strides_and_shared_sequences_are_followed() -> None:
    q, k, v = inputs(heads=4)
    turned = [x.mT.contiguous().mT for x in (q, k, v)]
    torch.testing.assert_close(row_blocks(*turned, 0.3), row_blocks(q, k, v, 0.3), rtol=0, atol=1e-11)
    once = [q, k[:1].expand_as(k), v[:1].expand_as(v)]
    torch.testing.assert_close(row_blocks(*once, 0.3), dot_product_attention(*once, scale=0.3), rtol=0, atol=1e-11)


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How often `fused_attention` has come here."""
    calls: list[int] = []

    def counted(*args: Any) -> Tensor:
        calls.append(1)
        return row_blocks(*args)

    monkeypatch.setattr(fused, "row_blocks", counted)
    return calls


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("axes", [2, 3, 4, 5])
def test_values_of_another_width_are_multiplied_in_blocks(axes: int, dtype: torch.dtype, taken: list[int]) -> None:
    q, k, v = (
        x[0, 0] if axes == 2 else x[0] if axes == 3 else x[None] if axes == 5 else x for x in inputs(dtype=dtype)
    )
    out = fused_attention(q, k, v)
    assert taken and out.shape == (*v.shape[:-2], N, 3)
    loose = 1e-11 if dtype == torch.float64 else 1e-5  # 256 terms of size 1: some 20 u either side
    torch.testing.assert_close(out, dot_product_attention(q, k, v), rtol=0, atol=loose)


def test_queries_that_share_a_key_head_are_its_rows(taken: list[int]) -> None:
    q, k, v = inputs(heads=8)
    short, k, v = q[:, :, : N // 4], k[:, ::4], v[:, ::4]
    out = fused_attention(short, k, v, enable_gqa=True)
    assert taken
    torch.testing.assert_close(out, dot_product_attention(short, k, v, enable_gqa=True), rtol=0, atol=1e-11)


OTHERS: dict[str, Callable[[Tensor, Tensor, Tensor], Tensor]] = {
    "one width": lambda q, k, v: fused_attention(q, k, k),
    "few queries": lambda q, k, v: fused_attention(q[:, :, 1:], k, v),
    "few keys": lambda q, k, v: fused_attention(q, k[:, :, 1:], v[:, :, 1:]),
    "many keys": lambda q, k, v: fused_attention(q, *(x[:, :, :1].expand(2, 2, MOST + 1, -1) for x in (k, v))),
    "two bytes": lambda q, k, v: fused_attention(q.bfloat16(), k.bfloat16(), v.bfloat16()),
    "a mask": lambda q, k, v: fused_attention(q, k, v, torch.ones(N, N, dtype=torch.bool)),
    "causality": lambda q, k, v: fused_attention(q, k, v, is_causal=True),
    "dropout": lambda q, k, v: fused_attention(q, k, v, dropout_p=0.5),
    "a gradient of the query": lambda q, k, v: fused_attention(q.requires_grad_(), k, v),
    "a gradient of the value": lambda q, k, v: fused_attention(q, k, v.requires_grad_()),
    "a gradient of the key": lambda q, k, v: fused_attention(q, k.requires_grad_(), v),
    "a scale of 0": lambda q, k, v: fused_attention(q, k, v, scale=0.0),
    "a scale of NaN": lambda q, k, v: fused_attention(q, k, v, scale=float("nan")),
    "torch.func": lambda q, k, v: torch.func.vmap(fused_attention)(q, k, v),
    "another device": lambda q, k, v: fused_attention(q.to("meta"), k.to("meta"), v.to("meta")),
}


@pytest.mark.filterwarnings("ignore:There is a performance drop:UserWarning")
@pytest.mark.parametrize("name", OTHERS)
def test_other_calls_are_left_to_the_fused_kernel(name: str, taken: list[int]) -> None:
    out = OTHERS[name](*inputs())
    assert not taken and out.shape[:2] == (2, 2)


def test_inputs_that_want_gradients_are_multiplied_in_blocks_where_none_are_kept(taken: list[int]) -> None:
    q, k, v = (x.requires_grad_() for x in inputs())
    with torch.no_grad():
        assert not fused_attention(q, k, v).requires_grad and taken


def test_autocast_does_not_round_the_scores() -> None:
    q, k, v = inputs(dtype=torch.float32)
    assert suits_row_blocks(q, k, v)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert not suits_row_blocks(q, k, v)


@pytest.mark.compiles
def test_a_compiler_sees_torchs_own_kernel(taken: list[int]) -> None:
    """Results written into place would be one more graph for it to read."""
    compiled = torch.compile(fused_attention, backend="eager", fullgraph=True)
    assert compiled(*inputs()).shape == (2, 2, N, 3) and not taken


def test_a_tensor_of_another_kind_is_left_alone() -> None:
    class Mine(Tensor):
        pass

    q, k, v = inputs()
    assert suits_row_blocks(torch.nn.Parameter(q, requires_grad=False), k, v)
    for which in range(3):
        assert not suits_row_blocks(*(x.as_subclass(Mine) if which == j else x for j, x in enumerate((q, k, v))))


@pytest.mark.parametrize("scale", [0.0, float("nan")])
def test_garbage_is_not_lost_in_a_product_with_nothing(scale: float) -> None:
    q, k, v = inputs()
    k[0, 0, 3, 2] = torch.nan
    assert fused_attention(q, k, v, scale=scale)[0, 0].isnan().all()


@pytest.mark.filterwarnings("ignore:.*torch.jit.trace.* is deprecated:DeprecationWarning")
@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning")
def test_a_trace_is_left_to_the_fused_kernel() -> None:
    """Loops over blocks would be those of the length that was traced."""
    x = inputs()
    found: list[bool] = []

    def asked(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        found.append(suits_row_blocks(q, k, v))
        return q

    torch.jit.trace(asked, tuple(x), check_trace=False)
    assert suits_row_blocks(*x) and found == [False]
