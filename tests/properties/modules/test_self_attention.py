"""attention_core.modules.self_attention: its steps by hand and the layer's promises.

Values are judged in numeric/modules/test_self_attention.py.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_core.modules.self_attention import (
    MultiHeadSelfAttention,
    apply_causal_mask,
    attn_scaled,
    attn_softmax,
    compute_outputs,
    init_qkv_proj,
    make_causal_mask,
    pairwise_similarities,
    self_attention,
    split_heads_qkv,
)


def test_each_step_by_hand() -> None:
    """Whole numbers and powers of two, so every step is exact."""
    Q, K = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([[5.0, 6.0], [7.0, 8.0]])
    assert pairwise_similarities(Q, K).tolist() == [[17, 23], [39, 53]]
    assert attn_scaled(torch.tensor([6.0]), n_embd=36, n_heads=4).tolist() == [2]
    assert attn_softmax(torch.zeros(2, 4)).tolist() == [[0.25] * 4] * 2
    assert compute_outputs(torch.tensor([[0.5, 0.25]]), torch.tensor([[2.0, 4.0], [8.0, 0.0]])).tolist() == [[3, 2]]
    mask = make_causal_mask(3)
    assert mask.tolist() == [[True, False, False], [True, True, False], [True, True, True]]
    masked = apply_causal_mask(mask, torch.full((2, 3, 3), float("nan")))
    assert (masked[:, ~mask] == -torch.inf).all()
    assert masked[:, mask].isnan().all()
    assert [tuple(x.shape) for x in split_heads_qkv(*[torch.zeros(2, 3, 10)] * 3, 5)] == [(2, 5, 3, 2)] * 3
    assert all(w.bias is not None and w.weight.shape == (7, 7) for w in init_qkv_proj(7))


def test_dropout_and_output_projection_are_options_of_the_plain_function() -> None:
    x = torch.randn(2, 3, 10, generator=torch.Generator().manual_seed(0))
    plain = self_attention(x, x, x, n_heads=5)
    assert torch.equal(self_attention(x, x, x, n_heads=5, output_projection=torch.nn.Softmax(-1)), plain.softmax(-1))
    dropped = self_attention(x, x, x, n_heads=5, dropout=torch.nn.Dropout(1.0))
    assert torch.equal(dropped, torch.zeros_like(x))
    with pytest.raises(ValueError, match="shapes differ"):
        self_attention(x, x[:, :2], x[:, :2])


def drawn_layer(seed: int, **options: Any) -> tuple[MultiHeadSelfAttention, torch.Tensor]:
    torch.manual_seed(seed)
    return MultiHeadSelfAttention(15, 3, **options).double(), torch.randn(2, 7, 15, dtype=torch.float64)


OPTIONS = st.fixed_dictionaries(
    {"shared_projection": st.booleans(), "output_projection": st.booleans(), "bias": st.booleans()}
)


@settings(deadline=None, max_examples=16)
@given(st.integers(0, 2**31), OPTIONS, st.booleans())
def test_weights_path_is_the_plain_path(seed: int, options: dict[str, bool], is_causal: bool) -> None:
    """The same operations on the same storage, so the same bits; the weights explain the output's shape."""
    layer, x = drawn_layer(seed, **options)
    mask = torch.rand(7, 7) < 0.5
    y, weights = layer(x, mask, is_causal, need_weights=True)
    assert torch.equal(y, layer(x, mask, is_causal))
    assert weights.shape == (2, 3, 7, 7)
    allowed = mask.tril() if is_causal else mask
    assert (weights[..., ~allowed] == 0).all()
    # A sum of 7 rounded quotients: 7 + 2 roundings of numbers up to 1.
    total, alive = weights.sum(-1), allowed.any(-1).to(weights)
    assert ((total - alive).abs() <= 9 * torch.finfo(torch.float64).eps).all()
    names = {name.split(".")[0] for name, _ in layer.named_parameters()}
    assert names == ({"projections", "output"} if options["output_projection"] else {"projections"})
    biases = [name for name, _ in layer.named_parameters() if name.endswith("bias")]
    assert bool(biases) == options["bias"]


def test_output_projection_comes_last() -> None:
    """Exact: with 2 I and a bias of 1, one rounding of 2 y + 1 remains, however it is summed."""
    layer, x = drawn_layer(0)
    with torch.no_grad():
        layer.output.weight.copy_(2 * torch.eye(15)), layer.output.bias.fill_(1)
    projected = layer(x)
    layer.output = torch.nn.Identity()
    assert torch.equal(projected, 2 * layer(x) + 1)


def test_sequences_do_not_see_each_other_and_later_tokens_are_not_seen() -> None:
    """NaN is the strongest probe: it shows wherever it is read."""
    layer, x = drawn_layer(0)
    x[1] = float("nan")
    assert layer(x)[0].isfinite().all()
    x[0, 4:] = float("nan")
    y = layer(x, is_causal=True)
    assert y[0, :4].isfinite().all()
    assert y[0, 4:].isnan().all()


def test_dropout_works_in_training_alone_and_after_evaluation_again() -> None:
    layer, x = drawn_layer(0, dropout=1.0, output_projection=False)
    for _ in range(2):
        assert torch.equal(layer.train()(x), torch.zeros_like(x))
        assert not torch.equal(layer.eval()(x), torch.zeros_like(x))


BAD_LAYERS = [
    ((10, 3), {}, "10 features cannot be cut into 3 heads"),
    ((10, 0), {}, "cannot be cut into 0 heads"),
    ((0, 1), {}, "0 features cannot be cut"),
    ((10, 5), {"dropout": 1.1}, "dropout must be a probability"),
]


@pytest.mark.parametrize(("args", "kwargs", "words"), BAD_LAYERS)
def test_layers_that_cannot_be_are_refused(args: Any, kwargs: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        MultiHeadSelfAttention(*args, **kwargs)


def test_a_mask_whose_batch_would_be_read_as_heads_is_refused() -> None:
    layer, x = drawn_layer(0)
    with pytest.raises(ValueError, match="the mask needs the axes"):
        layer(x, torch.ones(3, 7, 7, dtype=torch.bool))
    with pytest.raises(ValueError, match="does not broadcast"):
        layer(x, torch.ones(7, 5, dtype=torch.bool))
