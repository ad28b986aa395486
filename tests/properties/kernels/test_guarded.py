"""attention_core.kernels.guarded: what torch's backends on a GPU get wrong never reaches them; judged without a GPU."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from attention_core.dispatch import plans
from attention_core.dispatch.attention import attention
from attention_core.kernels import guarded
from attention_core.kernels.dot_product import dot_product_attention
from attention_core.kernels.fused import fused_attention
from attention_core.kernels.guarded import guarded_attention, is_aligned, torch_attention_on, with_aligned_rows
from attention_core.masking import causal

HALF = torch.float16


def tensor(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)), dtype=torch.float64)


def flat(*shape: int, offset: int = 0) -> Tensor:
    """Numbers in one piece that begin so many elements behind the beginning of their memory."""
    whole = torch.arange(offset + torch.Size(shape).numel(), dtype=HALF)
    return whole[offset:].view(shape)


@pytest.mark.parametrize("scale", [-1.5, -0.0, 0.0, 0.3, None])
@pytest.mark.parametrize("is_causal", [False, True])
def test_every_scale_is_met_with_its_gradients(scale: float | None, is_causal: bool) -> None:
    """Against the definition in float64, with 1e-12 for sums of at most 9 terms."""
    shapes = (2, 3, 9, 8), (2, 3, 9, 8), (2, 3, 9, 8)
    mine, true = ([tensor(*s).add_(i).requires_grad_() for i, s in enumerate(shapes)] for _ in range(2))
    out = guarded_attention(*mine, is_causal=is_causal, scale=scale)
    want = dot_product_attention(*true, is_causal=is_causal, scale=scale)
    torch.testing.assert_close(out, want, rtol=0, atol=1e-12)
    for a, b in zip(
        torch.autograd.grad(out.square().sum(), mine), torch.autograd.grad(want.square().sum(), true), strict=True
    ):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-11)


@pytest.mark.parametrize("scale", [0.0, -1.0])
def test_torch_gets_a_positive_scale_and_what_is_not_finite(scale: float, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[Tensor, float]] = []
    monkeypatch.setattr(
        guarded, "scaled_dot_product_attention", lambda q, *_, scale, **__: seen.append((q, scale)) or q
    )
    x = tensor(1, 1, 4, 8)
    x[0, 0, 2, 3] = torch.inf
    guarded_attention(x, x, x, scale=scale)
    assert seen[0][1] == 1.0 and torch.equal(seen[0][0].isfinite(), x.isfinite())


def test_views_are_copied_where_a_row_does_not_begin_at_sixteen_bytes() -> None:
    right = [
        flat(2, 3, 4, 8), flat(2, 3, 4, 8, offset=8), flat(2, 3, 4, 5), flat(2, 3, 4, 16)[..., :8],
        flat(2, 4, 3, 8).transpose(1, 2), flat(1, 1, 4, 8).expand(2, 3, 4, 8), flat(0, 3, 4, 8, offset=1),
        flat(1, 1, 1, 9)[..., :8],
    ]  # fmt: skip
    wrong = [
        flat(2, 3, 4, 8, offset=1), flat(2, 3, 4, 8, offset=7), flat(2, 3, 4, 9)[..., :8], flat(2, 3, 8, 4).mT,
        flat(1, 3, 4, 8, offset=3).expand(5, 3, 4, 8),
    ]  # fmt: skip
    assert [with_aligned_rows(x) is x for x in right] == [True] * len(right)
    for x in wrong:
        copied = with_aligned_rows(x)
        assert is_aligned(copied[:1]) and torch.equal(copied, x)
        assert [step == 0 for step in copied.stride()] == [step == 0 for step in x.stride()], "an axis is written out"


def test_a_copied_view_passes_its_gradient_on() -> None:
    wide = tensor(2, 3, 4, 9).requires_grad_()
    (grad,) = torch.autograd.grad(with_aligned_rows(wide[..., :8]).sum(), wide)
    assert torch.equal(grad, torch.ones(9).index_fill(0, torch.tensor([8]), 0.0).double().expand(2, 3, 4, 9))


def test_a_mask_of_numbers_is_copied_and_a_bool_one_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Tensor] = []
    monkeypatch.setattr(guarded, "scaled_dot_product_attention", lambda *args, **named: seen.append(args[3]) or args[2])
    x, numbers = flat(1, 1, 4, 8), flat(4, 4, offset=1)
    for mask in (numbers, numbers > 3):
        guarded_attention(x, x, x, mask)
    assert seen[0].data_ptr() % 16 == 0 and torch.equal(seen[0], numbers) and seen[1].dtype == torch.bool


def test_a_device_that_is_no_processor_gets_the_guard(monkeypatch: pytest.MonkeyPatch) -> None:
    assert torch_attention_on(torch.device("cpu")) is scaled_dot_product_attention
    assert torch_attention_on(torch.device("cuda")) is guarded_attention
    here, there = tensor(1, 2, 4, 8), tensor(1, 2, 4, 8).to("meta")
    found = [plans.plan_call(x, x, x, None, 0.0) for x in (here, there)]
    assert [one and one.function for one in found] == [scaled_dot_product_attention, guarded_attention]
    asked: list[float] = []
    monkeypatch.setattr(guarded, "scaled_dot_product_attention", lambda q, *_, scale, **__: asked.append(scale) or q)
    plans.PLANS.clear()
    attention(there, there, there, causal(), scale=-2.0)
    fused_attention(there, there, there, scale=-2.0)
    assert asked == [2.0, 2.0]


def test_what_has_no_memory_is_left_to_torch() -> None:
    """torch.func's stand-ins have an offset and strides, and cannot be asked for an address."""
    x = tensor(3, 1, 4, 9)[..., :8]

    def total(y: Tensor, attend: Callable[..., Tensor]) -> Tensor:
        return attend(y, x, x, scale=-1.0).square().sum()

    found, want = (torch.func.grad(total)(x, attend) for attend in (guarded_attention, dot_product_attention))
    torch.testing.assert_close(found, want, rtol=0, atol=1e-11)
