"""The encoder by itself.

finetune.models.encoder: padding, segments, prefixes, sizes; what transformers computes is compared in
integration/finetune/test_transformers.py. Bounds come from numeric/encoder_error.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from finetune.errors import BadInput
from finetune.models.classifier import Classifier
from finetune.models.encoder import ACTIVATIONS, Encoder, EncoderConfig
from finetune.peft import LoRA, Method, Prefix, Prompt, inject
from tests.numeric.encoder_error import bound

V, N, E = 23, 19, 12
SMALL = EncoderConfig(V, N, 2, 3, E, 7, 2, dropout=0.5, attention_dropout=0.5)


def encoder(**changes: Any) -> Encoder:
    """A small encoder in float64, with weights from N(0, 0.15) and norms around 1; in evaluation mode."""
    torch.manual_seed(1)
    model = Encoder(EncoderConfig(**SMALL.to_json() | changes)).double().eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.normal_(1.0 if ".ln" in f".{name}" and name.endswith("weight") else 0.0, 0.15)
    return model


def rows(lengths: list[int], n: int) -> tuple[Tensor, Tensor]:
    """Ids and a mask of rows of so many tokens, padded on the right."""
    real = torch.arange(n)[None] < torch.tensor(lengths)[:, None]
    return torch.where(real, torch.randint(1, V, (len(lengths), n)), 0), real.long()


@settings(max_examples=25)
@given(
    lengths=st.lists(st.integers(1, 6), min_size=1, max_size=3),
    left=st.integers(0, 4),
    right=st.integers(0, 4),
    first=st.integers(0, 2),
    distances=st.sampled_from((0, 32)),
)
def test_padding_on_either_side_changes_nothing(
    lengths: list[int], left: int, right: int, first: int, distances: int
) -> None:
    """Whatever id stands there, one of another text too, and in the table of positions wherever it begins."""
    model = encoder(first_position=first, distances=distances)
    ids, mask = rows(lengths, max(lengths))
    B = len(lengths)
    wide = torch.cat([torch.randint(0, V, (B, left)), ids, torch.randint(0, V, (B, right))], 1)
    seen = torch.cat([torch.zeros(B, left).long(), mask, torch.zeros(B, right).long()], 1)
    got = model(wide, seen)[:, left : left + ids.shape[1]]
    most = 2 * bound(model, ids, mask)
    assert ((got - model(ids, mask)).abs() <= most)[mask.bool()].all()
    assert most[mask.bool()].max() < 1e-8


def test_each_row_is_its_own() -> None:
    model = encoder()
    ids, mask = rows([6, 2, 4], 6)
    got = model(ids, mask)
    for row, length in enumerate([6, 2, 4]):
        alone = ids[row : row + 1, :length]
        want = model(alone)
        assert ((got[row, :length] - want[0]).abs() <= 2 * bound(model, alone, torch.ones_like(alone))[0]).all()


def test_order_segments_and_neighbours_count() -> None:
    """A model that lost its positions, its segments or its attention would pass every law about padding."""
    model = encoder()
    ids, mask = rows([6], 6)
    plain = model(ids, mask)
    assert (model(ids.flip(1), mask).flip(1) - plain).abs().max() > 0.01
    assert (model(ids, mask, torch.tensor([[0, 0, 0, 1, 1, 1]])) - plain).abs().max() > 0.01
    assert (model((ids + 1) % V, mask)[:, 0] - plain[:, 0]).abs().max() > 0.01
    changed = ids.clone()
    changed[0, 5] = (changed[0, 5] + 1) % V
    assert (model(changed, mask)[:, 0] - plain[:, 0]).abs().max() > 1e-4


def test_an_id_of_padding_is_a_token_where_the_mask_says_so() -> None:
    """Masked-LM training puts random ids in the place of real tokens; the mask must not be made of the ids."""
    model = encoder()
    ids = torch.tensor([[3, 0, 5]])
    assert (model(ids) - model(ids, torch.tensor([[1, 0, 1]])))[:, 0].abs().max() > 1e-3
    assert torch.equal(model(ids), model(ids, torch.ones_like(ids)))


def test_a_prefix_is_attended_to_by_every_token() -> None:
    """Keys and values that other tokens would have, at the positions before: one layer sees them as those tokens."""
    model = encoder(n_layer=1)
    ids, mask = rows([7], 7)
    P = 3
    x = model.ln_emb(model.tok_emb(ids) + model.pos_emb.weight[:7] + model.type_emb.weight[0])[:, :P]
    block = model.blocks[0]
    past = tuple(linear(x).unflatten(-1, (3, -1)).transpose(1, 2) for linear in (block.attn.key, block.attn.value))
    got = model(ids[:, P:], mask, past_key_values=[past])
    assert ((got - model(ids)[:, P:]).abs() <= 2 * bound(model, ids, mask)[:, P:]).all()
    without = torch.cat([torch.zeros(1, P), torch.ones(1, 4)], 1)
    positions = torch.arange(P, 7)[None]
    alone = model(ids[:, P:], position_ids=positions)
    got = model(ids[:, P:], without, past_key_values=[past])
    assert ((got - alone).abs() <= 2 * bound(model, ids, without)[:, P:]).all()


def test_vectors_stand_for_ids() -> None:
    model = encoder()
    ids, mask = rows([5, 3], 5)
    assert torch.equal(model(inputs_embeds=model.get_input_embeddings()(ids), attention_mask=mask), model(ids, mask))


def test_dropout_is_for_training_alone() -> None:
    model = encoder()
    ids, mask = rows([5, 3], 5)
    assert torch.equal(model(ids, mask), model(ids, mask))
    model.train()
    assert not torch.equal(model(ids, mask), model(ids, mask))


@pytest.mark.parametrize("method", [None, Prompt(3), Prefix(3), LoRA(2, dropout=0.2)])
def test_recomputing_layers_gives_the_same_gradients_to_the_bit(method: Method | None) -> None:
    """With dropout everywhere; the encoder's input needs no gradient with LoRA and a prefix, and still all is trained."""
    found = []
    for recomputes in (False, True):
        torch.manual_seed(0)
        encoder = Encoder(EncoderConfig(31, 32, 3, 2, 16, 24, dropout=0.2, attention_dropout=0.2))
        model = Classifier(encoder, 2)
        if method is not None:
            inject(model, method)
        if recomputes:
            encoder.gradient_checkpointing_enable()
        logits = model.train()(torch.randint(31, (4, 9)), torch.ones(4, 9, dtype=torch.long))
        logits.square().sum().backward()
        found.append((logits, {name: p.grad for name, p in model.named_parameters() if p.requires_grad}))
    assert torch.equal(found[0][0], found[1][0])
    for name, grad in found[0][1].items():
        assert grad is not None and torch.equal(grad, found[1][1][name]), name


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_the_activation_is_the_one_named(activation: str) -> None:
    """Their values at -1, from their formulas."""
    want = {"gelu": -0.158655, "gelu_new": -0.158808, "gelu_pytorch_tanh": -0.158808, "relu": 0.0, "silu": -0.268941}
    assert float(encoder(activation=activation).blocks[0].mlp[1](torch.tensor(-1.0))) == pytest.approx(
        want[activation], abs=1e-6
    )


def test_parameters_are_as_many_as_the_formula_says() -> None:
    """(V + N + 2) d + 2 d for the embeddings, 4 (d d + d) + 2 d h + h + d + 4 d a layer."""
    h = 7
    count = (V + N + 2) * E + 2 * E + 2 * (4 * (E * E + E) + 2 * E * h + h + E + 4 * E)
    assert sum(p.numel() for p in Encoder(SMALL).parameters()) == count
    with torch.device("meta"):
        assert sum(p.numel() for p in Encoder(EncoderConfig()).parameters()) == 108_891_648


CALLS: list[tuple[dict[str, Any], str]] = [
    ({}, "give either input_ids or inputs_embeds"),
    ({"input_ids": torch.ones(1, 2).long(), "inputs_embeds": torch.ones(1, 2, E).double()}, "give either"),
    ({"input_ids": torch.ones(1, N + 1).long()}, "20 tokens do not fit into a block of 19"),
    (
        {"input_ids": torch.ones(2, 3).long(), "attention_mask": torch.ones(2, 4)},
        r"the shape \(2, 4\), but should have",
    ),
    (
        {"input_ids": torch.ones(2, 3).long(), "past_key_values": [(torch.ones(2, 3, 1, 4), torch.ones(2, 3, 1, 4))]},
        "1 pairs of keys and values do not fit 2 layers",
    ),
]


@pytest.mark.parametrize(("call", "words"), CALLS, ids=lambda x: x if isinstance(x, str) else "")
def test_bad_calls_are_refused(call: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        encoder()(**call)


def test_segments_of_a_model_without_any_are_refused() -> None:
    model, ids = encoder(segments=0), torch.ones(1, 3).long()
    assert torch.equal(model(ids, token_type_ids=torch.zeros_like(ids)), model(ids))
    with pytest.raises(BadInput, match="no table of segments"):
        model(ids, token_type_ids=torch.ones_like(ids))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"n_layer": 0}, "n_layer must be at least 1"),
        ({"n_head": 5}, "n_embd=12 is not divisible by n_head=5"),
        ({"pad_id": V}, "pad_id=23 do not go together"),
        ({"segments": -1}, "segments=-1"),
        ({"activation": "tanh"}, "activation 'tanh' is not one of gelu"),
        ({"dropout": 1.0}, "dropout must be at least 0 and below 1"),
        ({"attention_dropout": -0.1}, "attention_dropout must be"),
    ],
)
def test_sizes_that_cannot_be_are_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        EncoderConfig(**SMALL.to_json() | changes)
