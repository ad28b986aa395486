"""Experiment: the causal mask after the softmax, why it seems to help, and what leaks."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from finetune.experiments.attention import PluggedAttention, ScoredMix, causal_softmax
from finetune.experiments.experiment import Claim, Experiment, Measure, Setting
from finetune.experiments.future import effect_of_later_token, gain_from_future, loss_without_future
from finetune.experiments.scores import ScaledDot
from finetune.experiments.tasks import RandomTokens
from finetune.experiments.texts import Text
from finetune.experiments.tiny_gpt import build, config_of, held_out_batches, train, train_on_text
from finetune.models.gpt import GPTConfig, mean_loss

KINDS = 4
BLOCK_OF_RANDOM = 8
STRETCHES = 48
"""Held-out stretches whose future is exchanged."""


def mask_after(scores: Tensor) -> Tensor:
    """Return softmax over ALL keys, then 0 for later ones: not causal, as every weight holds the sum over all keys."""
    return torch.softmax(scores, dim=-1).tril()


def renormalise_after(scores: Tensor) -> Tensor:
    """Return `mask_after`, each row divided by its sum: the sum over all keys cancels, and it is the causal softmax."""
    weights = mask_after(scores)
    return weights / weights.sum(-1, keepdim=True)


class ShrunkSoftmax(nn.Module):
    """w_ij (i + 1) / n, w the causal softmax: rows as small as with the late mask at equal scores, and nothing leaks.

    Args:
        block: n, the length of a stretch in training.
    """

    def __init__(self, block: int) -> None:
        super().__init__()
        self.block = block

    def forward(self, scores: Tensor) -> Tensor:
        """Return the weights."""
        share = torch.arange(1, scores.shape[-2] + 1) / self.block
        return causal_softmax(scores) * share[:, None]


def attention(variant: str, config: GPTConfig) -> nn.Module:
    """Return a block's attention with the weights of a variant."""
    ways: dict[str, Callable[[Tensor], Tensor]] = {
        "before": causal_softmax, "after": mask_after, "after, renormalised": renormalise_after,
        "before, rows shrunk": ShrunkSoftmax(config.block_size),
    }  # fmt: skip
    return PluggedAttention(config, ScoredMix(ScaledDot(), ways[variant]))


def run(variant: str, seed: int, setting: Setting, text: Text) -> dict[str, Any]:
    """Train one model on the text and one on random tokens, and measure what each owes to the future."""
    model = build(config_of(setting, text.tokens), seed, lambda config: attention(variant, config))
    found = train_on_text(model, setting, seed, text)
    batch = held_out_batches(text, setting.block_size)[0]
    x, y = batch["x"][:STRETCHES], batch["y"][:STRETCHES]
    model.eval()
    found["perplexity_without_future"] = math.exp(min(loss_without_future(model, x, y), 50))
    found["effect"] = effect_of_later_token(model, x, y)
    found["gain"] = gain_from_future(model, x, y)
    found["below_chance"] = math.log(KINDS) - loss_on_random(variant, seed, setting)
    return found


def loss_on_random(variant: str, seed: int, setting: Setting) -> float:
    """Return the loss on tokens that cannot be predicted, of a model that was trained on such tokens."""
    small = setting.with_numbers(block_size=BLOCK_OF_RANDOM, batch_size=48, learning_rate=1e-2, n_embd=32)
    model = build(config_of(small, KINDS + 2), seed, lambda config: attention(variant, config))
    train(model, RandomTokens(KINDS, BLOCK_OF_RANDOM, seed), small, seed)
    judged = RandomTokens(KINDS, BLOCK_OF_RANDOM, 10_000 + seed)
    return mean_loss(model, [judged.batch(0, torch.arange(2048).numpy())])


SOURCE = "source 001, table 1: 894.52 against 949.59 in training"
EXPERIMENT = Experiment(
    name="late_mask",
    title="The mask after the softmax",
    question="Why does masking after the softmax seem to train better, and what leaks?",
    background=(
        "Source 001 sets weights of later tokens to 0 after the softmax, finds a lower training perplexity than "
        "with the usual mask, the same validation perplexity to the digit, and supposes a regularisation. The "
        "weights of a row are then divided by a sum over all keys, the later ones too, so the size of the output "
        "of row i tells of tokens after i. The engine refutes the kernel with the law `no_row_sees_a_later_one` "
        "(`attention-core verify core:naive_causal`). Here the models are trained, and four things are measured: "
        "the usual perplexity; the perplexity if each token is predicted from those before it alone, as when the "
        "model writes; what the true future is worth against another one; and the loss on uniform random tokens, "
        f"below whose entropy, ln {KINDS}, no honest model gets. Two controls: weights renormalised after the "
        "late mask, which is the causal softmax again, and the causal softmax with rows shrunk as much as the "
        "late mask shrinks them. What is without a future is measured on the first held-out stretches alone, so "
        "its column is compared with itself."
    ),
    variants={
        "before": "-inf before the softmax",
        "after": "0 after the softmax, as in source 001",
        "after, renormalised": "0 after the softmax, each row divided by its sum",
        "before, rows shrunk": "-inf before the softmax, row i times (i + 1) / n",
    },
    baseline="before",
    measures=(
        Measure("perplexity", "held-out perplexity", ratio=True),
        Measure("perplexity_without_future", "the same without a future", ratio=True),
        Measure("train_perplexity", "mean training perplexity", ratio=True),
        Measure("gain", "gain from the future, nats", compared=False, digits=4),
        Measure("effect", "largest effect of a later token, nats", compared=False, digits=6),
        Measure("below_chance", "random tokens, nats below chance", compared=False, digits=3),
    ),
    claims=(
        Claim("masking after the softmax lowers the mean training perplexity", "train_perplexity", "after", "before",
              margin=0.01, source=SOURCE),
        Claim("masking after the softmax does not change the held-out perplexity", "perplexity", "after", "before",
              "same", 0.01, source="source 001, table 1: 228.15 both times"),
        Claim("without a future it predicts worse than the usual mask", "perplexity_without_future", "after", "before",
              "higher", 0.01),
        Claim("the true future is worth something to it", "gain", "after", None, "higher"),
        Claim("it predicts random tokens better than chance, which needs the future", "below_chance", "after", None,
              "higher", 0.01),
        Claim("with the usual mask random tokens stay at chance", "below_chance", "before", None, "same", 0.01),
        Claim("rows that are only shrunk lower the training perplexity as well", "train_perplexity",
              "before, rows shrunk", "before", margin=0.01, source="what a regularisation without a leak would do"),
    ),
    run=run,
    setting=Setting(),
    curve=("held_out_curve", "step", "held-out perplexity"),
    code=(mask_after, renormalise_after, ShrunkSoftmax),
)  # fmt: skip
