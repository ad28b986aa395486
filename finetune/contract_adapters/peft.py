"""Our own methods of fine-tuning behind the face that the contract `peft` asks for, each in a small classifier of ours.

`attention-core verify --contract peft finetune.contract_adapters.peft:GradedLoRA --parameter unmerge=exact` grades one.
"""

from __future__ import annotations

import math
from contextlib import AbstractContextManager
from typing import Any, ClassVar, cast

import torch
from torch import Tensor, nn

from finetune.laws.peft.adapted import Adapted
from finetune.models.classifier import Classifier
from finetune.models.encoder import Encoder, EncoderBlock, EncoderConfig
from finetune.peft import Adapter, Bias, Head, LoRA, Method, Prefix, Prompt, inject, load

P, L, E, H = 3, 2, 8, 2


class Graded(Adapted):
    """A classifier over the mean of the real tokens, with one of our methods in it."""

    method: ClassVar[Method]
    head = ("head",)
    segments = 2
    adapter: Adapter

    def model(self) -> nn.Module:
        """An encoder of two layers, and a head of three classes."""
        return Classifier(Encoder(EncoderConfig(20, 16, L, H, E, 12)), 3, pool="mean")

    def inject(self, model: nn.Module) -> nn.Module:
        """In place."""
        self.adapter = inject(model, self.method)
        return model

    def disabled(self) -> AbstractContextManager[None]:
        """The adapter's own."""
        return self.adapter.disabled()

    def save(self, folder: str) -> None:
        """In the files of the library `peft`."""
        self.adapter.save(folder)

    def load(self, model: nn.Module, folder: str) -> nn.Module:
        """From them."""
        self.adapter = load(model, folder)
        return model

    def checkpoint(self) -> None:
        """The encoder's own."""
        self.classifier.encoder.gradient_checkpointing_enable()

    @property
    def classifier(self) -> Any:
        """The classifier, which the adapter is in."""
        return self.adapted


class GradedHead(Graded):
    """The head alone."""

    kind, method = "head", Head()


class GradedBias(Graded):
    """All biases."""

    kind, method = "bias", Bias()


class GradedLoRA(Graded):
    """Rank-stabilised LoRA on queries, values and the middle of the feed-forward part, with dropout."""

    kind, rank, scale = "lora", 3, 5 / math.sqrt(3)
    targets = ("query", "value", "0")
    method = LoRA(3, 5.0, 0.2, rank_stabilised=True, targets=targets)

    def merge(self) -> None:
        """The adapter's own."""
        self.adapter.merge()

    def unmerge(self) -> None:
        """The adapter's own."""
        self.adapter.unmerge()


class TextByText(Graded):
    """What is written out text by text, without padding and mask."""

    def by_hand(self, ids: Tensor, mask: Tensor | None) -> Tensor:
        """Logits of each text alone."""
        rows = [row if mask is None else row[mask[number] > 0] for number, row in enumerate(ids)]
        return torch.stack([self.classifier.head(self.vectors(text).mean(0)) for text in rows])

    def vectors(self, text: Tensor) -> Tensor:
        """The vectors (n, E) of one text's tokens."""
        raise NotImplementedError

    def embed(self, x: Tensor, first: int) -> Tensor:
        """Positions from `first` on, the first segment, and the norm."""
        encoder = self.classifier.encoder
        x = x + encoder.pos_emb.weight[first : first + len(x)] + encoder.type_emb.weight[0]
        return cast(Tensor, encoder.ln_emb(x))

    @staticmethod
    def block(block: EncoderBlock, x: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """One layer; keys and values (P, E) stand in front of those of the text."""
        k, v = torch.cat((keys, block.attn.key(x))), torch.cat((values, block.attn.value(x)))
        d = E // H
        heads = [
            (q @ k[:, h * d : h * d + d].T / math.sqrt(d)).softmax(-1) @ v[:, h * d : h * d + d]
            for h, q in enumerate(block.attn.query(x).split(d, -1))
        ]
        x = block.ln1(x + block.attn.proj(torch.cat(heads, -1)))
        return cast(Tensor, block.ln2(x + block.mlp(x)))


class GradedPrompt(TextByText):
    """Three vectors in front of the text; the classifier reads the text's."""

    kind, length, method = "prompt", P, Prompt(P)

    def vectors(self, text: Tensor) -> Tensor:
        """The prompt's vectors in front of the embedded text, cut off at the end."""
        encoder = self.classifier.encoder
        x = self.embed(torch.cat((encoder.prompt_vectors.weight, encoder.tok_emb(text))), 0)
        for block in encoder.blocks:
            x = self.block(block, x, x[:0], x[:0])
        return x[P:]


class GradedPrefix(TextByText):
    """Three keys and values in front of each layer's own."""

    kind, length, layers, width, method = "prefix", P, L, E, Prefix(P)

    def vectors(self, text: Tensor) -> Tensor:
        """Row p of the table holds k_1, v_1, k_2, v_2, ..., each E wide."""
        encoder = self.classifier.encoder
        pairs = encoder.prefix_table.weight.split(E, -1)
        x = self.embed(encoder.tok_emb(text), P)
        for number, block in enumerate(encoder.blocks):
            x = self.block(block, x, pairs[2 * number], pairs[2 * number + 1])
        return x
