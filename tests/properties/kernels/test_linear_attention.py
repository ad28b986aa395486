"""Linear attention of ours: the two kernels are one function, at every size of a block, and have its gradients."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from attention_core.kernels.linear_attention import (
    chunked_linear_attention,
    recurrent_linear_attention,
    state_space_dual,
)


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
    beta = torch.rand(2, 3, 21, dtype=torch.float64) if delta else None
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


@pytest.mark.parametrize("kernel", [recurrent_linear_attention, chunked_linear_attention])
def test_packed_texts_are_the_texts_by_themselves(kernel: object) -> None:
    q, k, v = (x[:1] for x in tokens(12))
    start, ends = torch.randn(3, 3, 4, 4, dtype=torch.float64), torch.tensor([0, 5, 5, 12])
    fade = -torch.rand(1, 3, 12, 4, dtype=torch.float64)
    how = {"initial_state": start, "output_final_state": True}
    out, states = kernel(q, k, v, log_decay=fade, cu_seqlens=ends, **how)  # type: ignore[operator]
    for i, rows in enumerate((slice(0, 5), slice(5, 5), slice(5, 12))):
        one = [x[:, :, rows] for x in (q, k, v)]
        how["initial_state"] = start[i : i + 1]
        want, state = kernel(*one, log_decay=fade[:, :, rows], **how)  # type: ignore[operator]
        torch.testing.assert_close(out[:, :, rows], want)
        torch.testing.assert_close(states[i : i + 1], state)
    with pytest.raises(ValueError, match="packed texts lie in one row and end at 12"):
        kernel(q[:, :, :9], k[:, :, :9], v[:, :, :9], cu_seqlens=ends)  # type: ignore[operator]


@pytest.mark.parametrize("chunk", [1, 4, 16])
def test_a_state_space_is_its_recurrence(chunk: int) -> None:
    torch.manual_seed(1)
    x, dt, A = torch.randn(2, 9, 4, 3), torch.rand(2, 9, 4), -torch.rand(4)
    B, C = torch.randn(2, 2, 9, 2, 5)
    start = torch.randn(2, 4, 3, 5)
    texts = torch.tensor([0] * 4 + [1] * 5).expand(2, 9)
    got, last = state_space_dual(
        x, dt, A, B, C, chunk, initial_states=start, seq_idx=texts, return_final_states=True
    )  # fmt: skip
    state = start
    for t in range(9):
        state = torch.zeros_like(state) if t == 4 else state
        key, query = (p[:, t].repeat_interleave(2, 1) for p in (B, C))
        state = (dt[:, t] * A).exp()[..., None, None] * state
        state = state + (dt[:, t, :, None] * x[:, t])[..., None] * key[:, :, None]
        torch.testing.assert_close(got[:, t], (state @ query[..., None])[..., 0], rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(last, state, rtol=1e-4, atol=1e-5)
