"""Linear attention of ours: the two kernels are one function, at every size of a block, and have its gradients."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from attention_core.kernels.linear_attention import chunked_linear_attention, recurrent_linear_attention


def tokens(n: int) -> tuple[Tensor, Tensor, Tensor]:
    torch.manual_seed(n)
    q, k, v = torch.randn(3, 2, 3, n, 4, dtype=torch.float64)
    return q, torch.nn.functional.normalize(k, dim=-1), v


@pytest.mark.parametrize("gates", [(), (3,), (2, 3, 21), (2, 3, 21, 4)])
@pytest.mark.parametrize("delta", [False, True])
def test_blocks_of_any_size_are_the_recurrence(gates: tuple[int, ...], delta: bool) -> None:
    q, k, v = tokens(21)
    torch.manual_seed(0)
    fade = -torch.rand(gates, dtype=torch.float64) if gates else None
    beta = torch.rand(2, 3, 21, dtype=torch.float64) if delta and len(gates) < 4 else None
    start = torch.randn(2, 3, 4, 4, dtype=torch.float64)
    want = recurrent_linear_attention(q, k, v, log_decay=fade, beta=beta, initial_state=start, output_final_state=True)
    for block in (1, 4, 20, 21, 64):
        got = chunked_linear_attention(
            q, k, v, log_decay=fade, beta=beta, initial_state=start, output_final_state=True, block=block
        )
        for a, b in zip(got, want, strict=True):
            torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-12)


def test_blocks_have_the_gradients_of_the_recurrence() -> None:
    fade = -torch.rand(2, 3, 9, dtype=torch.float64)
    beta = torch.rand(2, 3, 9, dtype=torch.float64)
    given = [x.requires_grad_() for x in (*tokens(9), fade, beta)]
    found = [
        torch.autograd.grad(kernel(*given[:3], log_decay=given[3], beta=given[4], **more).square().sum(), given)  # type: ignore[operator]
        for kernel, more in ((recurrent_linear_attention, {}), (chunked_linear_attention, {"block": 4}))
    ]
    for a, b in zip(*found, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-10)


def test_shapes_that_contradict_each_other_are_refused() -> None:
    q, k, v = tokens(5)
    with pytest.raises(ValueError, match="query and key are"):
        recurrent_linear_attention(q, q, v[:, :, :4])
    with pytest.raises(ValueError, match="initial_state is"):
        chunked_linear_attention(q, k, v, initial_state=torch.zeros(2, 3, 5, 4))


def test_no_tokens_leave_the_state_as_it_was() -> None:
    q, k, v = tokens(0)
    start = torch.ones(2, 3, 4, 4, dtype=torch.float64)
    for kernel in (recurrent_linear_attention, chunked_linear_attention):
        out, state = kernel(q, k, v, initial_state=start, output_final_state=True)
        assert out.shape == (2, 3, 0, 4) and torch.equal(state, start)


def test_blocks_are_computed_where_the_queries_are() -> None:
    """Another default device stands for a GPU: a tensor made without saying where cannot meet the queries."""
    q, k, v = tokens(3)
    with torch.device("meta"):
        out = chunked_linear_attention(q, k, v, beta=q[..., 0].sigmoid())
    assert out.device == q.device
