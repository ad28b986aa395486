"""Prompts: vectors in front of the text."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from finetune.peft import Prompt, inject
from finetune.peft.prompt import join
from tests.properties.adapted_models import (
    E,
    batch,
    called,
    model,
)

# --- prompt and prefix --------------------------------------------------------------------------------


@pytest.mark.parametrize("pool", ["first", "mean"])
def test_a_prompt_is_vectors_in_front_of_the_text(pool: Any) -> None:
    of = model(pool)
    adapter = inject(of, Prompt(4))
    got = called(of)
    plain = model(pool)
    given = batch()
    front = of.get_parameter(adapter.own[0]).detach()
    x = torch.cat([front.expand(3, -1, -1), plain.encoder.tok_emb(given["input_ids"])], 1)
    mask = torch.cat([torch.ones(3, 4).long(), given["attention_mask"]], 1)
    vectors = plain.encoder(inputs_embeds=x, attention_mask=mask)[:, 4:]
    pooled = vectors[:, 0] if pool == "first" else (vectors * given["attention_mask"][..., None]).sum(1)
    pooled = pooled if pool == "first" else pooled / given["attention_mask"].sum(1, keepdim=True)
    want = nn.functional.linear(pooled, of.head.weight, of.head.bias)
    # The mean is added up in another order: 7 numbers of size 1 or so, then E products.
    assert (got - want).abs().max() <= 100 * 2.0**-53 * E


def test_joining_goes_in_front_of_the_first_real_token() -> None:
    front, text = torch.tensor([[7, 8], [7, 8]]), torch.tensor([[1, 2, 3], [0, 0, 3]])
    both, order = join(front, text, torch.tensor([[1, 1, 1], [0, 0, 1]]))
    assert both.tolist() == [[7, 8, 1, 2, 3], [0, 0, 7, 8, 3]]
    assert order is not None
    assert join(front, text, None)[0].tolist() == [[7, 8, 1, 2, 3], [7, 8, 0, 0, 3]]
