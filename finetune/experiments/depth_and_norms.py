"""Experiment: depth, vanishing gradients, and where the normalisation stands."""

from __future__ import annotations

import math
from typing import Any, cast

import torch
from jaxtyping import Float
from torch import Tensor, nn

from finetune.experiments.experiment import Claim, Experiment, Measure, Setting
from finetune.experiments.texts import Text
from finetune.experiments.tiny_gpt import build, config_of, held_out_batches, train_on_text
from finetune.models.gpt import GPT, next_token_loss

SHALLOW, DEEP = 2, 8
FORMS = ("pre-norm", "post-norm", "no norm", "no residual")


class ReshapedBlock(nn.Module):
    """A block of the GPT with its norms elsewhere.

    "pre-norm" is x + f(norm(x)), "post-norm" norm(x + f(x)), "no norm" x + f(x), and "no residual" f(norm(x)), for
    attention and then for the feed-forward network.

    Args:
        block: whose parts are used.
        form: one of `FORMS`.
    """

    def __init__(self, block: nn.Module, form: str) -> None:
        super().__init__()
        parts = cast(Any, block)
        self.ln1, self.ln2, self.attn, self.mlp, self.form = parts.ln1, parts.ln2, parts.attn, parts.mlp, form

    def forward(self, x: Float[Tensor, "B n E"], start: int, cache: Any) -> Float[Tensor, "B n E"]:
        """Apply both parts."""
        x = self.apply_part(x, self.ln1, lambda h: self.attn(h, start, cache))
        return self.apply_part(x, self.ln2, self.mlp)

    def apply_part(self, x: Tensor, norm: nn.Module, part: Any) -> Tensor:
        """Apply one part with its norm in its place."""
        if self.form == "post-norm":
            return cast(Tensor, norm(x + part(x)))
        h = x if self.form == "no norm" else norm(x)
        return cast(Tensor, part(h) if self.form == "no residual" else x + part(h))


def deep_model(variant: str, seed: int, setting: Setting, tokens: int) -> GPT:
    """Return a model of a form and a depth: the name of a variant is `FORM, LAYERS`."""
    form, layers = variant.split(", ")
    model = build(config_of(setting, tokens, n_layer=int(layers)), seed)
    model.blocks = nn.ModuleList(ReshapedBlock(block, form) for block in model.blocks)
    return model


def gradient_norms(model: GPT, text: Text, block: int) -> list[tuple[int, float]]:
    """Return the norm of the loss's gradient for each block's matrices, from the first block to the last."""
    batch = held_out_batches(text, block)[0]
    loss, count = next_token_loss(model, batch)
    found = []
    for number, each in enumerate(model.blocks, 1):
        matrices = [p for p in each.parameters() if p.ndim == 2]
        gradients = torch.autograd.grad(loss / count, matrices, retain_graph=True)
        squares = torch.stack([gradient.double().square().sum() for gradient in gradients])
        found.append((number, max(math.sqrt(float(squares.sum())), 1e-30)))
    return found


def run(variant: str, seed: int, setting: Setting, text: Text) -> dict[str, Any]:
    """Measure the gradients at the start, then train."""
    model = deep_model(variant, seed, setting, text.tokens)
    norms = gradient_norms(model, text, setting.block_size)
    found = train_on_text(model, setting, seed, text)
    found["gradients"] = norms if len(norms) == DEEP else []
    found["first_to_last"] = norms[0][1] / norms[-1][1]
    return found


EXPERIMENT = Experiment(
    name="depth_and_norms",
    title="Depth, gradients and norms",
    question="What happens to gradients in a deep stack, and what do residuals and norms do about it?",
    background=(
        "Source 004 (question 3) fears vanishing gradients in deep stacks of attention, and names residual "
        "connections and layer normalisation as the remedy. The gradient of each block is measured at the start, "
        "before any step; first / last is that of the first block over that of the last: below 1 the gradient "
        "shrinks on its way back. Then the models are trained. Matrices start with the standard deviation 1 / "
        f"sqrt(E). The curves are of the models of {DEEP} layers."
    ),
    variants={f"{form}, {layers}": {
        "pre-norm": "x + f(norm(x))", "post-norm": "norm(x + f(x))", "no norm": "x + f(x)",
        "no residual": "f(norm(x))"}[form] + f", {layers} layers" for layers in (SHALLOW, DEEP) for form in FORMS},
    baseline=f"pre-norm, {DEEP}",
    measures=(
        Measure("perplexity", "held-out perplexity", ratio=True),
        Measure("first_to_last", "gradient, first / last block", ratio=True, compared=False, digits=3),
    ),
    claims=(
        Claim("without residuals the gradient shrinks through a deep stack", "first_to_last", f"no residual, {DEEP}",
              f"pre-norm, {DEEP}", source="source 004, question 3"),
        Claim("with pre-norms it does not shrink", "first_to_last", f"pre-norm, {DEEP}", None, "higher"),
        Claim("without residuals a deep model predicts worse than a shallow one", "perplexity", f"no residual, {DEEP}",
              f"no residual, {SHALLOW}", "higher", 0.01, source="source 004, question 3"),
        Claim("with pre-norms a deep model predicts better than a shallow one", "perplexity", f"pre-norm, {DEEP}",
              f"pre-norm, {SHALLOW}", "lower", 0.01),
        Claim("in a deep model pre-norms are better than post-norms", "perplexity", f"pre-norm, {DEEP}",
              f"post-norm, {DEEP}", "lower", 0.01),
        Claim("in a deep model pre-norms are better than none", "perplexity", f"pre-norm, {DEEP}", f"no norm, {DEEP}",
              "lower", 0.01),
    ),
    run=run,
    setting=Setting(steps=1000, batch_size=8, block_size=32, n_embd=32, initial=0.177),
    curve=("gradients", "block", "norm of the gradient at the start"),
    logarithmic=True,
    code=(ReshapedBlock,),
)  # fmt: skip
