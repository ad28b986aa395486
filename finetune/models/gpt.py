"""A GPT to read in one sitting: embeddings, blocks of attention and feed-forward, a linear head.

Its attention is a row of `ATTENTIONS`, taken from `attention_core`. Parameters are named as in the assignment's minGPT.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attention_core.kernels.heads import merge_heads, split_heads
from attention_core.modules.cache import KeyValueCache
from attention_core.modules.positions import rotary
from attention_core.modules.synthesizer import Form, SynthesizerSelfAttention, ValueCache
from attention_core.registry.load import load
from finetune.errors import BadInput
from finetune.models.weights import refuse_too_large


@dataclass(frozen=True)
class GPTConfig:
    """The sizes of a model; the defaults are the assignment's, 3,323,392 parameters with 256 characters.

    Args: vocab_size, ids; block_size, longest sequence; n_layer, n_head, n_embd; attention, a key of `ATTENTIONS`;
        dropout, of embeddings, weights and residuals; synthesizer, the form of its B; gelu, "none" (exact) or "tanh";
        kernel, a row of attention_core's kernel table; initial, the standard deviation of matrices at the start: 0.02
            is GPT-2's, a model of a few dozen features learns several times faster from about 0.15.
    Raises: BadInput where a size is not positive, the heads do not divide the features, or cannot be rotated.
    """

    vocab_size: int
    block_size: int = 128
    n_layer: int = 4
    n_head: int = 8
    n_embd: int = 256
    attention: str = "vanilla"
    dropout: float = 0.1
    synthesizer: Form = "per_head"
    gelu: str = "none"
    kernel: str = "torch:default"
    initial: float = 0.02

    def __post_init__(self) -> None:
        for name in ("vocab_size", "block_size", "n_layer", "n_head", "n_embd"):
            if getattr(self, name) < 1:
                raise BadInput(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.n_embd % self.n_head:
            raise BadInput(f"n_embd={self.n_embd} is not divisible by n_head={self.n_head}")
        if self.attention not in ATTENTIONS:
            raise BadInput(f"attention {self.attention!r} is not one of {', '.join(ATTENTIONS)}")
        if self.attention == "rotary" and self.n_embd // self.n_head % 2:
            raise BadInput(f"rotary positions turn pairs of features, but a head has {self.n_embd // self.n_head}")
        if not self.initial > 0:
            raise BadInput(f"initial must be positive, got {self.initial}")
        if not 0 <= self.dropout < 1:
            raise BadInput(f"dropout must be at least 0 and below 1, got {self.dropout}")
        if self.gelu not in ("none", "tanh"):
            raise BadInput(f"gelu {self.gelu!r} is not one of 'none', 'tanh'")

    def to_json(self) -> dict[str, Any]:
        """The sizes as JSON values."""
        return asdict(self)


class DotProductAttention(nn.Module):
    """Causal self-attention of projected tokens, with rotated queries and keys where `rotated`."""

    def __init__(self, config: GPTConfig, rotated: bool = False) -> None:
        super().__init__()
        self.key, self.query, self.value, self.proj = (nn.Linear(config.n_embd, config.n_embd) for _ in range(4))
        self.n_head, self.rotated, self.dropout = config.n_head, rotated, config.dropout
        self.attend = load(config.kernel)  # once: torch.compile cannot look into a table of kernels

    def new_cache(self) -> KeyValueCache:
        """An empty cache of keys and values."""
        return KeyValueCache()

    def forward(self, x: Float[Tensor, "B n E"], start: int, cache: KeyValueCache | None) -> Float[Tensor, "B n E"]:
        """Attend from tokens at the positions start, start + 1, ...; with a cache also to what came before."""
        q, k, v = (split_heads(linear(x), self.n_head) for linear in (self.query, self.key, self.value))  # (B, H, n, d)
        if self.rotated:
            positions = torch.arange(start, start + x.shape[1], device=x.device)
            q, k = rotary(q, positions), rotary(k, positions)
        if cache is not None:
            y = cache(q, k, v)
        else:
            y = self.attend(q, k, v, dropout_p=self.dropout if self.training else 0.0, is_causal=True)
        out: Tensor = self.proj(merge_heads(y))  # (B, n, E)
        return out


class SynthesizedAttention(SynthesizerSelfAttention):
    """The synthesizer of attention_core behind the face that a block calls; its positions are its columns."""

    def new_cache(self) -> ValueCache:
        """An empty cache of values."""
        return ValueCache()

    def forward(  # type: ignore[override]  # the block's call has a start, which the columns make needless
        self, x: Float[Tensor, "B n E"], start: int, cache: ValueCache | None
    ) -> Float[Tensor, "B n E"]:
        """Attend from new tokens; with a cache also to what came before."""
        return super().forward(x, cache)


def _synthesizer(config: GPTConfig) -> nn.Module:
    return SynthesizedAttention(
        config.n_embd, config.n_head, config.block_size, config.synthesizer, config.dropout
    )  # fmt: skip


ATTENTIONS: Mapping[str, Callable[[GPTConfig], nn.Module]] = {
    "vanilla": DotProductAttention,
    "synthesizer": _synthesizer,
    "rotary": lambda config: DotProductAttention(config, rotated=True),
}
"""The attention forms by the names of the assignment's command line."""


class Block(nn.Module):
    """x + attention(norm(x)), then x + feed-forward(norm(x)), each with dropout on what is added."""

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        E = config.n_embd
        self.ln1, self.ln2 = nn.LayerNorm(E), nn.LayerNorm(E)
        self.attn = ATTENTIONS[config.attention](config)
        self.drop = nn.Dropout(config.dropout)
        self.mlp = nn.Sequential(nn.Linear(E, 4 * E), nn.GELU(config.gelu), nn.Linear(4 * E, E))

    def forward(self, x: Float[Tensor, "B n E"], start: int, cache: Any) -> Float[Tensor, "B n E"]:
        """One block for tokens at start, start + 1, ..."""
        x = x + self.drop(self.attn(self.ln1(x), start, cache))
        return cast(Tensor, x + self.drop(self.mlp(self.ln2(x))))


class Cache:
    """What a model keeps of the tokens so far: one cache a layer, and how many tokens there were."""

    def __init__(self, layers: list[Any]) -> None:
        self.layers, self.length = layers, 0


class GPT(nn.Module):
    """logits = W LN(block_L(... block_1(E[ids] + P)...)): the next character from those before it.

    With rotary attention there is no table P. Weights start as N(0, `initial`), biases and P as 0, as in minGPT.

    Args: config.

    Example:
        >>> GPT(GPTConfig(99, n_layer=1, n_head=2, n_embd=8))(torch.zeros(1, 5, dtype=torch.long)).shape
        torch.Size([1, 5, 99])

    Source: Radford et al., "Improving Language Understanding by Generative Pre-Training" (2018), with the norms in
        front of each layer (Radford et al., 2019, section 2.3); karpathy/minGPT.
    """

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        rows = 2 * config.vocab_size + config.block_size
        refuse_too_large(config.n_layer, config.n_embd, 4 * config.n_embd, rows)
        self.config = config
        self.tok_emb = nn.Embedding(config.vocab_size, config.n_embd)
        rotated = config.attention == "rotary"
        self.pos_emb = None if rotated else nn.Parameter(torch.zeros(1, config.block_size, config.n_embd))
        self.drop = nn.Dropout(config.dropout)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.n_layer))
        self.ln_f = nn.LayerNorm(config.n_embd)
        self.head = nn.Linear(config.n_embd, config.vocab_size, bias=False)
        self.apply(lambda module: initialise(module, config.initial))

    def new_cache(self) -> Cache:
        """An empty cache, to be given to successive calls."""
        return Cache([cast(Any, block).attn.new_cache() for block in self.blocks])

    def forward(
        self, ids: Int[Tensor, "B n"], *, cache: Cache | None = None, where: Bool[Tensor, "B n"] | None = None
    ) -> Float[Tensor, "B n vocab"] | Float[Tensor, "count vocab"]:
        """The logits of the character after each of the n given ones.

        Args: ids (B, n); cache: of the tokens before these, which it is given too; where, bool (B, n): only these
            places get logits, in the order of reading, as (count, vocab).
        Raises: BadInput for more than block_size characters in all.
        """
        start, n = 0 if cache is None else cache.length, ids.shape[1]
        if start + n > self.config.block_size:
            raise BadInput(f"{start + n} characters do not fit into a block of {self.config.block_size}")
        x = self.tok_emb(ids)  # (B, n, E)
        if self.pos_emb is not None:
            x = x + self.pos_emb[:, start : start + n]
        x = self.drop(x)
        for number, block in enumerate(self.blocks):
            x = block(x, start, None if cache is None else cache.layers[number])
        if cache is not None:
            cache.length += n
        x = self.ln_f(x if where is None else x[where])
        logits: Tensor = self.head(x)
        return logits


def initialise(module: nn.Module, std: float = 0.02) -> None:
    """The starting values of one module: N(0, std) for matrices, 0 for biases."""
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=std)
    if isinstance(module, nn.Linear) and module.bias is not None:
        nn.init.zeros_(module.bias)


def at_least_single(logits: Tensor) -> Tensor:
    """Two-byte logits in four bytes: a sum over a vocabulary of probabilities needs more than 8 bits."""
    return logits.to(torch.promote_types(logits.dtype, torch.float32))


def next_token_loss(model: nn.Module, batch: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
    """The summed negative log-likelihood of a batch's targets, in nats, and their number; PAD (0) is not a target.

    Columns past the last target are not computed: in a causal model nothing depends on them.

    Args: model, a GPT or something that wraps one; batch, {"x": (B, n), "y": (B, n)}. Returns: two numbers.
    Their quotient is the mean loss, over as many batches as you like.
    """
    x, y = batch["x"], batch["y"]
    wanted = y != 0
    n = int(wanted.any(0).nonzero().max()) + 1 if bool(wanted.any()) else 1
    wanted = wanted[:, :n]
    logits = model(x[:, :n], where=wanted)
    return nn.functional.cross_entropy(at_least_single(logits), y[:, :n][wanted], reduction="sum"), wanted.sum()


@torch.no_grad()
def mean_loss(model: nn.Module, batches: Iterable[Mapping[str, Tensor]]) -> float:
    """Nats per target over all batches: the sum of the losses by the sum of the tokens, not a mean of means.

    The model is put into evaluation mode and back. Perplexity is `math.exp` of it, bits per character it / ln 2.
    Raises: BadInput where there is no target.
    """
    training = model.training
    model.eval()
    total, count = 0.0, 0
    for batch in batches:
        loss, tokens = next_token_loss(model, batch)
        total, count = total + float(loss), count + int(tokens)
    model.train(training)
    if not count:
        raise BadInput("there is no target to judge the model by")
    return total / count


def perplexity(model: nn.Module, batches: Iterable[Mapping[str, Tensor]]) -> float:
    """exp of the mean loss: as uncertain as a fair choice among so many characters. Raises: as `mean_loss`."""
    return math.exp(mean_loss(model, batches))
