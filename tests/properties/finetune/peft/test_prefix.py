"""Prefixes: keys and values of every layer."""

from __future__ import annotations

import torch
from torch import nn

from finetune.peft import Prefix, inject
from tests.properties.adapted_models import (
    E,
    H,
    L,
    batch,
    called,
    model,
)


def test_a_prefix_is_keys_and_values_of_every_layer() -> None:
    of = model()
    adapter = inject(of, Prefix(4))
    table = of.get_parameter(adapter.own[0]).detach().view(4, L, 2, H, E // H)
    past = [
        tuple(table[:, number, kind].permute(1, 0, 2).expand(3, -1, -1, -1) for kind in (0, 1)) for number in range(L)
    ]
    plain = model()
    given = batch()
    mask = torch.cat([torch.ones(3, 4).long(), given["attention_mask"]], 1)
    vectors = plain.encoder(given["input_ids"], mask, past_key_values=past)
    assert torch.equal(called(of), nn.functional.linear(vectors[:, 0], of.head.weight, of.head.bias))


def test_positions_of_a_call_go_behind_the_prefix() -> None:
    of = model().encoder
    inject(of, Prefix(3))
    ids = batch()["input_ids"]
    assert torch.equal(of(ids, position_ids=torch.arange(7)[None].expand(3, -1)), of(ids))
