"""Experiment: sequence to sequence with a decoder alone, with a prefix that sees all of itself, with an encoder."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from finetune.experiments.attention import PluggedAttention, ScoredMix, causal_softmax
from finetune.experiments.experiment import Claim, Experiment, Measure, Setting
from finetune.experiments.masked_convergence import full_softmax, loss_of_targets
from finetune.experiments.scores import ScaledDot
from finetune.experiments.tasks import Reversal
from finetune.experiments.texts import Text
from finetune.experiments.tiny_gpt import build, config_of, train
from finetune.models.gpt import GPT, GPTConfig

LETTERS, LENGTH = 8, 8
JUDGED = 1024


class PrefixSoftmax(nn.Module):
    """The causal softmax, but that the first `prefix` tokens see each other, later ones too.

    Args:
        prefix: how many tokens the source has.
    """

    def __init__(self, prefix: int) -> None:
        super().__init__()
        self.prefix = prefix

    def forward(self, scores: Float[Tensor, "*batch n n"]) -> Float[Tensor, "*batch n n"]:
        """Return the weights."""
        n = scores.shape[-1]
        hidden = torch.ones(n, n, dtype=torch.bool).triu(1)
        hidden[: self.prefix, : self.prefix] = False
        return torch.softmax(scores.masked_fill(hidden, -torch.inf), dim=-1)


class CrossBlock(nn.Module):
    """A decoder's block: its own causal block, with attention to the encoder's output before the network.

    Args:
        block: of a GPT.
        config: sizes.
    """

    def __init__(self, block: Any, config: GPTConfig) -> None:
        super().__init__()
        self.block, self.norm = block, nn.LayerNorm(config.n_embd)
        self.cross = nn.MultiheadAttention(config.n_embd, config.n_head, batch_first=True)

    def forward(self, x: Float[Tensor, "B n E"], memory: Float[Tensor, "B m E"]) -> Float[Tensor, "B n E"]:
        """Attend to the tokens so far, then to the source, then apply the network."""
        x = x + self.block.attn(self.block.ln1(x), 0, None)
        x = x + self.cross(self.norm(x), memory, memory, need_weights=False)[0]
        mixed: Tensor = x + self.block.mlp(self.block.ln2(x))
        return mixed


class EncoderDecoder(nn.Module):
    """Half of the blocks read the source in both directions, the other half write, looking at what was read.

    Args:
        model: whose embeddings, blocks and head are used.
        length: tokens of the source.
    """

    def __init__(self, model: GPT, length: int) -> None:
        super().__init__()
        half = len(model.blocks) // 2
        self.model, self.length = model, length
        self.encoder = nn.ModuleList(list(model.blocks)[:half])
        self.decoder = nn.ModuleList(CrossBlock(block, model.config) for block in list(model.blocks)[half:])
        for block in self.encoder:
            block.attn.mix.weigh = full_softmax  # type: ignore[union-attr]  # PluggedAttention with a ScoredMix

    def forward(self, ids: Int[Tensor, "B n"]) -> Float[Tensor, "B n vocab"]:
        """Return logits for all places; those of the source have no meaning, and no target."""
        assert self.model.pos_emb is not None
        x = self.model.tok_emb(ids) + self.model.pos_emb[:, : ids.shape[1]]
        memory, out = x[:, : self.length], x[:, self.length :]
        for block in self.encoder:
            memory = block(memory, 0, None)
        for each in self.decoder:
            out = each(out, memory)
        logits: Tensor = self.model.head(self.model.ln_f(torch.cat([memory, out], dim=1)))
        return logits


def make(variant: str, seed: int, setting: Setting, kinds: int) -> nn.Module:
    """Return the model of a variant."""
    config = config_of(setting, kinds, block_size=2 * LENGTH)
    weigh = PrefixSoftmax(LENGTH) if variant == "prefix" else causal_softmax
    model = build(config, seed, lambda config: PluggedAttention(config, ScoredMix(ScaledDot(), weigh)))
    return EncoderDecoder(model, LENGTH) if variant == "encoder-decoder" else model


@torch.no_grad()
def right_sequences(model: nn.Module, batch: dict[str, Tensor]) -> float:
    """Return the share of targets that greedy writing gets right from the first letter to the last.

    A greedy answer is right if and only if each letter is the likeliest one after the right letters before it: one
    call tells.
    """
    wanted = batch["y"] != 0
    return float(((model(batch["x"]).argmax(-1) == batch["y"]) | ~wanted).all(dim=1).float().mean())


def run(variant: str, seed: int, setting: Setting, text: Text) -> dict[str, Any]:
    """Train one model on the task, and judge it on fresh sequences."""
    task = Reversal(LETTERS, LENGTH, seed)
    model = make(variant, seed, setting, task.kinds)
    fresh = Reversal(LETTERS, LENGTH, 10_000 + seed).batch(0, torch.arange(JUDGED).numpy())

    @torch.no_grad()
    def judge() -> float:
        loss, count = loss_of_targets(model, fresh)
        return float(loss / count)

    found = train(
        model, task, setting, seed, loss=loss_of_targets, tokens_a_step=setting.batch_size * LENGTH, judge=judge
    )
    found["loss"] = found["held_out_curve"][-1][1] if found["held_out_curve"] else None
    found["right"] = right_sequences(model.eval(), fresh)
    found["parameters"] = sum(p.numel() for p in model.parameters())
    return found


EXPERIMENT = Experiment(
    name="sequence_to_sequence",
    title="Sequence to sequence: is a decoder enough?",
    question="What does a decoder alone lose where the whole source is there from the start?",
    background=(
        "Source 004 (question 13) holds that decoder-only models are less fit for such tasks, since each token of "
        "the source sees only those before it; question 6 asks for encoder, decoder or both. The task writes a "
        f"sequence of {LENGTH} letters backwards, each exchanged for another by a fixed rule. In every variant "
        "the target is written from left to right; they differ in what the tokens of the source see. The "
        "encoder-decoder has the same number of layers, half of them for the source, and attention to the source "
        "besides."
    ),
    variants={
        "decoder only": "one causal stack over source and target",
        "prefix": "the same, but the tokens of the source see each other",
        "encoder-decoder": "half of the layers read the source, half write",
    },
    baseline="decoder only",
    measures=(
        Measure("loss", "loss, nats a letter", digits=3),
        Measure("right", "right sequences", digits=3),
        Measure("step_milliseconds", "ms of the processor a step", ratio=True, timed=True, digits=1),
        Measure("parameters", "parameters", compared=False, digits=0),
    ),
    claims=(
        Claim("a prefix that sees all of itself has a lower loss than a decoder alone", "loss", "prefix",
              "decoder only", margin=0.01, source="source 004, question 13"),
        Claim("an encoder-decoder has a lower loss than a decoder alone", "loss", "encoder-decoder", "decoder only",
              margin=0.01, source="source 004, question 13"),
        Claim("an encoder-decoder takes less time a step", "step_milliseconds", "encoder-decoder", "decoder only"),
    ),
    run=run,
    setting=Setting(steps=1000, batch_size=32),
    curve=("held_out_curve", "step", "loss, nats a letter"),
    code=(PrefixSoftmax, CrossBlock),
    uses_text=False,
)  # fmt: skip
