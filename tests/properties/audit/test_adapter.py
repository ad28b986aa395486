"""The catalogue's right function behind the signature and conventions of others gives what these give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from torch import Tensor

from attention_core.audit.adapter import Adapter, Form, adapt, form_of, stand_in
from attention_core.audit.choice import find_fault, right_implementation
from attention_core.declaration.implementation import Implementation, TargetError

INF = float("inf")


class Pair(NamedTuple):
    """What a function may return."""

    out: Any
    weights: Any


def plain(q: Tensor, k: Tensor, v: Tensor, hidden: Tensor | None, causal: bool, scale: float) -> tuple[Tensor, Tensor]:
    """Output and weights, NaN in rows without a key."""
    s = q @ k.mT * scale
    if causal:
        s = s.masked_fill(~torch.ones(s.shape[-2:], dtype=torch.bool).tril(), -INF)
    p = torch.softmax(s if hidden is None else s.masked_fill(hidden, -INF), -1)
    return p @ v, p


def tokens_first(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    """(n, B, H, d) without a scale; True hides; the heads of the output are joined."""
    q, k, v = (x.permute(1, 2, 0, 3) for x in (q, k, v))
    return plain(q, k, v, mask, False, 1.0)[0].permute(2, 0, 1, 3).flatten(-2)


def tokens_second(query: Tensor, key: Tensor, value: Tensor, causal: bool = True) -> tuple[Tensor, None]:
    """(B, n, H, d), causal unless told otherwise; a pair whose second is None."""
    q, k, v = (x.transpose(1, 2) for x in (query, key, value))
    return plain(q, k, v, None, causal, q.shape[-1] ** -0.5)[0].transpose(1, 2), None


def with_weights(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> list[Tensor]:
    """(B, n, d) and a mask of whole numbers; the output and the weights in a list."""
    return list(plain(q, k, v, None if mask is None else mask == 0, False, q.shape[-1] ** -0.5))


def one_matrix(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """(n, d)."""
    return plain(q, k, v, None, False, q.shape[-1] ** -0.5)[0]


def in_one_array(qkv: Tensor) -> Tensor:
    """(B, n, 3, H, d)."""
    q, k, v = (x.transpose(1, 2) for x in qkv.unbind(2))
    return plain(q, k, v, None, False, q.shape[-1] ** -0.5)[0].transpose(1, 2)


def numbers(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def triple(*shape: int) -> list[Tensor]:
    return [numbers(*shape, seed=seed) for seed in range(3)]


def put_right(function: Callable[..., Any], form: Form = Form(), **declared: Any) -> Adapter:  # noqa: B008
    implementation = Implementation(function, name="mine", **declared)
    return stand_in(function, implementation, right_implementation("attention"), form)


HIDDEN = torch.tensor([[False, True, True], [False, False, True], [True, True, True]])
CALLS = [
    (tokens_first, {"layout": "nbhd", "out_layout": "nbe", "scale": "1", "mask_true": "ignore", "dead_rows": "nan"},
     triple(3, 2, 4, 5), {"mask": HIDDEN}),
    (tokens_second, {"layout": "bnhd"}, triple(2, 3, 4, 5), {}),
    (tokens_second, {"layout": "bnhd"}, triple(2, 3, 4, 5), {"causal": False}),
    (with_weights, {"axes": 3, "masks": "binary", "returns": "out,weights", "dead_rows": "nan"}, triple(2, 3, 5),
     {"mask": (~HIDDEN).long()}),
    (one_matrix, {"axes": 2}, triple(3, 5), {}),
    (in_one_array, {"qkv_axis": -3, "layout": "bnhd"}, [numbers(2, 3, 3, 4, 5)], {}),
]  # fmt: skip


@pytest.mark.parametrize(("function", "declared", "arrays", "options"), CALLS)
def test_the_right_function_answers_as_the_users_own(
    function: Callable[..., Any], declared: dict[str, Any], arrays: list[Tensor], options: dict[str, Any]
) -> None:
    want = function(*arrays, **options)
    adapter = put_right(function, form_of(want), **declared)
    got = adapt(adapter, function)(*arrays, **options)
    assert adapter.calls == {"all": 1, "in place": 1}
    assert type(got) is type(want)
    pairs = zip(got, want, strict=True) if isinstance(want, tuple | list) else [(got, want)]
    for one, other in pairs:
        assert one is other or torch.allclose(one, other, equal_nan=True)


def test_a_gradient_passes_through() -> None:
    q, k, v = (x.requires_grad_() for x in triple(2, 3, 4, 5))
    put_right(tokens_second, Form("tuple", (), (False, True)), layout="bnhd").call(q, k, v)[0].sum().backward()
    got = q.grad
    q.grad = None
    tokens_second(q, k, v)[0].sum().backward()
    assert got is not None and q.grad is not None and torch.allclose(got, q.grad)


def test_arrays_of_numpy_stay_so() -> None:
    def attention(q: Any, k: Any, v: Any) -> Any:
        s = np.exp(q @ np.swapaxes(k, -1, -2) / q.shape[-1] ** 0.5)
        return s / s.sum(-1, keepdims=True) @ v

    arrays = [x.numpy() for x in triple(2, 3, 4, 5)]
    got = put_right(attention, array="numpy").call(*arrays)
    assert isinstance(got, np.ndarray) and np.allclose(got, attention(*arrays))


def test_what_a_fault_does_not_take_goes_to_the_users_own_function() -> None:
    def attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, tag: str = "") -> Any:
        return tag or "own"

    adapter = put_right(attention)
    q, k, v = triple(2, 3, 4, 5)
    assert adapter.call(q, k, v, tag="another") == "another"  # a parameter that nobody knows
    assert adapter.call(q, k, v[..., :3, :], tag="") == "own"  # refused: lengths differ
    assert adapter.call(q.long(), k, v) == "own"
    assert isinstance(adapter.call(q, k, v), Tensor)
    assert adapter.calls["in place"] == 1 and adapter.calls["all"] == 4


def test_a_fault_is_wrong_where_it_is_and_nowhere_else() -> None:
    def attention(q: Tensor, k: Tensor, v: Tensor, causal: bool = False) -> Tensor:
        return plain(q, k, v, None, causal, q.shape[-1] ** -0.5)[0]

    fault = find_fault("causality.causality_ignored").implementation()
    adapter = stand_in(attention, Implementation(attention, name="mine"), fault, Form())
    arrays = triple(2, 3, 4, 5)
    assert torch.allclose(adapter.call(*arrays), attention(*arrays))
    assert not torch.allclose(adapter.call(*arrays, causal=True), attention(*arrays, causal=True))


def test_memory_that_is_contiguous_stays_so() -> None:
    adapter = put_right(tokens_second, layout="bnhd")
    q = numbers(2, 3, 4, 5)
    assert adapter.to_canonical("query", q).is_contiguous()
    assert not adapter.to_canonical("query", q[..., ::2]).is_contiguous()


def test_modules_and_jax_are_refused_in_one_line() -> None:
    with pytest.raises(TargetError, match="name the function that the module calls"):
        put_right(torch.nn.Identity())
    with pytest.raises(TargetError, match="JAX"):
        put_right(one_matrix, array="jax", axes=2)


def test_a_named_tuple_and_a_dict_come_back_as_such() -> None:
    found = form_of(Pair(1, 2)).fill([3, 4])
    assert isinstance(found, Pair) and found.weights == 4
    assert form_of({"out": 1, "weights": None}).fill([3]) == {"out": 3, "weights": None}


def test_a_fault_of_the_log_sum_exp_leaves_the_output_alone() -> None:
    def attention(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        s = q @ k.mT / q.shape[-1] ** 0.5
        return torch.softmax(s, -1) @ v, s.logsumexp(-1)

    declared = Implementation(attention, name="mine", contract="attention-lse")
    arrays = triple(2, 3, 4, 5)
    want = attention(*arrays)
    for other, same in (
        (right_implementation("attention-lse"), True),
        (find_fault("lse.base_two").implementation(), False),
    ):
        out, lse = stand_in(attention, declared, other, form_of(want)).call(*arrays)
        assert torch.allclose(out, want[0]) and torch.allclose(lse, want[1]) == same


def test_arrays_that_cannot_be_written_to_and_functions_without_a_signature() -> None:
    def attention(q: Any, k: Any, v: Any) -> Any:
        raise AssertionError("not reached")

    arrays = [np.broadcast_to(x.numpy(), (2, 3, 4, 5)) for x in triple(3, 4, 5)]
    assert put_right(attention, array="numpy").call(*arrays).shape == (2, 3, 4, 5)
    with pytest.raises(TargetError, match="no signature"):
        put_right(torch._C._nn.scaled_dot_product_attention)
