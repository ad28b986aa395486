"""Our models, trainer, checkpoints, masking, classifiers behind the faces that the contracts of `finetune.laws` want.

`attention-core verify --contract causal-lm finetune.contract_adapters.training:Vanilla` grades them as it grades
anyone's; around another implementation, write as little as stands here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from finetune.classification.scores import evaluating
from finetune.data import draws
from finetune.data.masked_lm import mask_tokens
from finetune.laws.classifier import logits_probe
from finetune.laws.trainer import probe
from finetune.laws.training_step import step_probe
from finetune.models.classifier import Classifier
from finetune.models.encoder import Encoder, EncoderConfig
from finetune.models.gpt import GPT, Cache, GPTConfig, next_token_loss, perplexity
from finetune.models.sampling import generate
from finetune.training.config import TrainConfig
from finetune.training.train import Batch, Loss, Trainer


class Vanilla(nn.Module):
    """A small GPT with dot-product attention, as `--contract causal-lm` asks for it: PAD (0) is not a target."""

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


class Stacked:
    """Examples that are read one by one, as a source of batches."""

    def __init__(self, examples: Any) -> None:
        self.examples = examples

    def __len__(self) -> int:
        return len(self.examples)

    def batch(self, epoch: int, indices: npt.NDArray[np.int64]) -> Batch:
        """The examples of these numbers."""
        items = [self.examples[int(i)] for i in indices]
        return {key: torch.stack([item[key] for item in items]) for key in items[0]}


def train(model: nn.Module, loss: Loss, examples: Any, config: Any) -> None:
    """Our trainer behind the face that `--contract trainer` asks for."""
    Trainer(model, loss, Stacked(examples), TrainConfig(**{**vars(config), "betas": tuple(config.betas)})).run()


trainer = probe.make_target(train)
"""To be graded: `attention-core verify --contract trainer finetune.contract_adapters.training:trainer`."""


class Batches:
    """Batches as a source whose examples they are: the trainer takes them as the parts of one step."""

    def __init__(self, batches: list[dict[str, Tensor]]) -> None:
        self.batches = batches

    def __len__(self) -> int:
        return len(self.batches)

    def batch(self, epoch: int, indices: npt.NDArray[np.int64]) -> Batch:
        """One of them."""
        return self.batches[int(indices[0])]


def step(
    model: nn.Module, optimizer: torch.optim.Optimizer, loss: Loss, batches: list[dict[str, Tensor]], clip: float
) -> float:
    """One step of our trainer over several batches, as `--contract training-step` asks for it."""
    count, rate = len(batches), optimizer.param_groups[0]["lr"]
    config = TrainConfig(batch_size=count, accumulate=count, clip=clip, learning_rate=rate, log_every=1)
    trainer = Trainer(model, loss, Batches(batches), config)
    trainer.optimizer = optimizer
    trainer.model.train()
    record = trainer._step(np.arange(count))
    assert record is not None
    value: float = record["loss"]
    return value


def evaluate(model: nn.Module, loss: Loss, batches: list[dict[str, Tensor]]) -> float:
    """The mean loss over all targets, as our evaluations take it: sums, divided once."""
    total, tokens = 0.0, 0
    with evaluating(model):
        for batch in batches:
            summed, targets = loss(model, batch)
            total, tokens = total + float(summed), tokens + int(targets)
    return total / max(tokens, 1)


training_step = step_probe.make_target(step, evaluate)
"""To be graded: `attention-core verify --contract training-step finetune.contract_adapters.training:training_step`."""


class Rows:
    """Eight rows of made-up characters, each with its successor as its target: a source for `Interrupted`."""

    def __len__(self) -> int:
        return 8

    def batch(self, epoch: int, indices: npt.NDArray[np.int64]) -> Batch:
        """The rows of these numbers, shifted with the epoch."""
        x = 1 + (torch.from_numpy(indices)[:, None] * 3 + torch.arange(6) + epoch) % 9
        return {"x": x[:, :-1], "y": x[:, 1:]}


class Interrupted:
    """A small run of our trainer, as `--contract checkpoint` asks for it: four steps an epoch, with dropout."""

    def __init__(self, path: str, seed: int, width: int) -> None:
        torch.manual_seed(seed)
        model = GPT(GPTConfig(10, 6, 1, 1, width))
        config = TrainConfig(
            epochs=1000, batch_size=2, learning_rate=0.01, warmup_tokens=100, final_tokens=2000, seed=seed,
            save_every=1000,
        )  # fmt: skip
        self.trainer = Trainer(model, next_token_loss, Rows(), config, path=path)

    def train(self, steps: int) -> None:
        """Go on by so many steps."""
        self.trainer.run(stop_after=steps)

    def save(self) -> None:
        """Write everything to the path."""
        self.trainer.save()

    def load(self) -> None:
        """Go on from what is at the path."""
        self.trainer.load()

    def weights(self) -> Tensor:
        """All trained numbers in one row."""
        return torch.cat([p.detach().reshape(-1) for p in self.trainer.model.parameters()])


def masking(ids: Tensor, special: Tensor, vocab_size: int, mask_id: int, seed: int) -> tuple[Tensor, Tensor]:
    """Our masking as `--contract masked-lm` asks for it; in the batches it draws, ids mark special tokens."""
    of, own = draws.keys(seed, 0, np.arange(len(ids))), np.unique(ids[special].numpy())
    inputs, labels = mask_tokens(ids.numpy(), of, vocabulary_size=vocab_size, mask_id=mask_id, special=own)
    return torch.from_numpy(inputs), torch.from_numpy(labels)


def _encoder(vocab_size: int, length: int) -> Encoder:
    return Encoder(EncoderConfig(vocab_size, length, 2, 2, 16, 32))


first_token = logits_probe.make_target(lambda V, n, C: Classifier(_encoder(V, n), C))
"""Our classifier over the first token.

`attention-core verify --contract classifier finetune.contract_adapters.training:first_token --parameter pool=first`."""
mean_of_tokens = logits_probe.make_target(lambda V, n, C: Classifier(_encoder(V, n), C, pool="mean"))
"""The same over the mean of the real tokens: `--parameter pool=mean`."""
