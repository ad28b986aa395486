"""Our own model, trainer and checkpoints behind the faces that the contracts of `finetune.laws` ask for.

`attention-core verify --contract causal-lm finetune.graded:Vanilla` grades them as it grades anyone's; around another
implementation, write as little as stands here.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from finetune.models.gpt import GPT, Cache, GPTConfig, next_token_loss, perplexity
from finetune.models.sampling import generate


class Vanilla(nn.Module):
    """A small GPT with dot-product attention, as `--contract causal-lm` asks for it: PAD (0) is no target."""

    attention = "vanilla"

    def __init__(self, vocab_size: int, block_size: int) -> None:
        super().__init__()
        self.model = GPT(GPTConfig(vocab_size, block_size, 2, 2, 16, self.attention))
        self.cache: Cache | None = None

    def forward(self, ids: Tensor) -> Tensor:
        """Logits (B, n, vocab)."""
        logits: Tensor = self.model(ids)
        return logits

    def loss(self, ids: Tensor, targets: Tensor) -> Tensor:
        """The mean loss in nats; 0 where there is no target."""
        total, tokens = next_token_loss(self.model, {"x": ids, "y": targets})
        return total / tokens.clamp(min=1)

    def perplexity(self, ids: Tensor, targets: Tensor) -> Tensor:
        """exp of the mean loss."""
        return torch.tensor(perplexity(self.model, [{"x": ids, "y": targets}]), dtype=torch.float64)

    def reset(self) -> None:
        """Forget what was seen."""
        self.cache = None

    def step(self, ids: Tensor) -> Tensor:
        """Logits of tokens that follow those of earlier steps."""
        self.cache = self.cache or self.model.new_cache()
        logits: Tensor = self.model(ids, cache=self.cache)
        return logits

    def generate(
        self, ids: Tensor, max_new_tokens: int, do_sample: bool = False, temperature: float = 1.0,
        top_k: int | None = None, top_p: float | None = None,
    ) -> Tensor:  # fmt: skip
        """The prompts and what comes after them, (B, n + max_new_tokens)."""
        new, _ = generate(
            self.model, ids, max_new_tokens, greedy=not do_sample, temperature=temperature, top_k=top_k, top_p=top_p
        )
        return torch.cat([ids, new], 1)


class Synthesizer(Vanilla):
    """The same with the synthesizer of eq. 5."""

    attention = "synthesizer"


class Rotary(Vanilla):
    """The same with rotated queries and keys."""

    attention = "rotary"
