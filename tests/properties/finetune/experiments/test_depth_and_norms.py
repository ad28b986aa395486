"""Blocks with their norms elsewhere: each form is its formula, and the parts are those of the GPT."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from finetune.experiments.depth_and_norms import DEEP, FORMS, ReshapedBlock, deep_model, gradient_norms
from finetune.experiments.experiment import Setting
from finetune.experiments.texts import as_text
from finetune.experiments.tiny_gpt import build, config_of

SMALL = Setting(steps=300, n_head=2, n_embd=8, block_size=8, initial=0.35)
TEXT = as_text("the quick brown fox jumps over the lazy dog; " * 300, "fox")


@pytest.mark.parametrize("form", FORMS)
def test_each_form_is_its_formula(form: str) -> None:
    model = build(config_of(SMALL, TEXT.tokens, n_layer=1), 0).eval()
    parts: Any = model.blocks[0]
    with torch.no_grad():
        parts.ln1.weight.uniform_(), parts.ln2.bias.uniform_()
    x = torch.randn(2, 5, 8)
    steps = ((parts.ln1, lambda h: parts.attn(h, 0, None)), (parts.ln2, parts.mlp))
    wanted = x
    for norm, f in steps:
        wanted = {
            "pre-norm": lambda x, norm=norm, f=f: x + f(norm(x)), "post-norm": lambda x, norm=norm, f=f: norm(x + f(x)),
            "no norm": lambda x, f=f: x + f(x), "no residual": lambda x, norm=norm, f=f: f(norm(x)),
        }[form](wanted)  # fmt: skip
    assert torch.equal(ReshapedBlock(parts, form)(x, 0, None), wanted)
    if form == "pre-norm":
        assert torch.allclose(parts(x, 0, None), wanted)


def test_forms_start_from_the_same_numbers_and_gradients_are_measured_by_block() -> None:
    models = [deep_model(f"{form}, {DEEP}", 1, SMALL, TEXT.tokens) for form in FORMS]
    assert all(torch.equal(a, b) for a, b in zip(models[0].parameters(), models[1].parameters(), strict=True))
    norms = gradient_norms(models[0], TEXT, 8)
    assert [block for block, _ in norms] == list(range(1, DEEP + 1)) and min(norm for _, norm in norms) > 0
    assert all(p.grad is None for p in models[0].parameters())
