"""BERT to read in one sitting: embeddings, then blocks of attention and feed-forward, each followed by a norm.

RoBERTa and DistilBERT are the same with other positions or without segments, MPNet adds a bias by distance to the
scores. `huggingface` loads all of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, cast

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from attention_core.kernels.heads import merge_heads, split_heads
from attention_core.registry.load import load
from finetune.errors import BadInput
from finetune.models.gpt import initialise
from finetune.models.weights import refuse_too_large

ACTIVATIONS: Mapping[str, Callable[[], nn.Module]] = {
    "gelu": nn.GELU,
    "gelu_new": lambda: nn.GELU("tanh"),
    "gelu_pytorch_tanh": lambda: nn.GELU("tanh"),
    "relu": nn.ReLU,
    "silu": nn.SiLU,
}
"""What stands between the two layers of a feed-forward part, by the names of Hugging Face's configurations."""

KeysAndValues = tuple[Tensor, Tensor]
Mask = Bool[Tensor, "B 1 1 n_kv"] | Float[Tensor, "#B H n n_kv"]


@dataclass(frozen=True)
class EncoderConfig:
    """The sizes of an encoder; the defaults are those of bert-base-uncased: 108,891,648 parameters without its pooler.

    Args: vocab_size, ids; block_size, longest sequence; n_layer, n_head, n_embd; n_hidden, width of the feed-forward
        part; segments, kinds of token (0: the model has no table of them); first_position, the row of the first token
        in the table of positions (RoBERTa: 2); pad_id, the id of padding; activation, a key of `ACTIVATIONS`;
        norm_eps, of the norms; dropout, of embeddings and residuals; attention_dropout, of weights; kernel, a row of
        attention_core's kernel table; distances, classes of distance that have a bias each (0: no bias; MPNet: 32).
    Raises: BadInput if a size is not positive, H does not divide the features, or a share is not in [0, 1).
    """

    vocab_size: int = 30522
    block_size: int = 512
    n_layer: int = 12
    n_head: int = 12
    n_embd: int = 768
    n_hidden: int = 3072
    segments: int = 2
    first_position: int = 0
    pad_id: int = 0
    activation: str = "gelu"
    norm_eps: float = 1e-12
    dropout: float = 0.1
    attention_dropout: float = 0.1
    kernel: str = "torch:default"
    distances: int = 0

    def __post_init__(self) -> None:
        for name in ("vocab_size", "block_size", "n_layer", "n_head", "n_embd", "n_hidden"):
            if getattr(self, name) < 1:
                raise BadInput(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.n_embd % self.n_head:
            raise BadInput(f"n_embd={self.n_embd} is not divisible by n_head={self.n_head}")
        if self.segments < 0 or self.first_position < 0 or not 0 <= self.pad_id < self.vocab_size:
            message = f"segments={self.segments}, first_position={self.first_position}, pad_id={self.pad_id}"
            raise BadInput(f"{message} do not go together with a vocabulary of {self.vocab_size}")
        if self.distances < 0 or self.distances % 4:
            raise BadInput(f"distances come in four equal parts, got {self.distances}")
        if self.activation not in ACTIVATIONS:
            raise BadInput(f"activation {self.activation!r} is not one of {', '.join(ACTIVATIONS)}")
        for name in ("dropout", "attention_dropout"):
            if not 0 <= getattr(self, name) < 1:
                raise BadInput(f"{name} must be at least 0 and below 1, got {getattr(self, name)}")

    def to_json(self) -> dict[str, Any]:
        """The sizes as JSON values."""
        return asdict(self)

    def refuse_too_large(self) -> None:
        """Raise where the weights alone are larger than this machine's memory. Raises: BadInput, naming their size."""
        rows = self.vocab_size + self.first_position + self.block_size + self.segments
        refuse_too_large(self.n_layer, self.n_embd, self.n_hidden, rows)


class SelfAttention(nn.Module):
    """Every token attends to every real one, and to the keys and values of a prefix where there is one."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.query, self.key, self.value, self.proj = (nn.Linear(config.n_embd, config.n_embd) for _ in range(4))
        self.n_head, self.dropout, self.kernel = config.n_head, config.attention_dropout, config.kernel

    def forward(
        self, x: Float[Tensor, "B n E"], mask: Mask | None, past: KeysAndValues | None
    ) -> Float[Tensor, "B n E"]:
        """Attend; `mask` is True at the keys that are real, those of the prefix first, or what is added to scores."""
        q, k, v = (split_heads(linear(x), self.n_head) for linear in (self.query, self.key, self.value))  # (B, H, n, d)
        if past is not None:
            k, v = torch.cat((past[0], k), 2), torch.cat((past[1], v), 2)  # (B, H, P + n, d)
        y = load(self.kernel)(q, k, v, attn_mask=mask, dropout_p=self.dropout if self.training else 0.0)
        out: Tensor = self.proj(merge_heads(y))  # (B, n, E)
        return out


class EncoderBlock(nn.Module):
    """norm(x + attention(x)), then norm(x + feed-forward(x)), each with dropout on what is added."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        E = config.n_embd
        self.attn = SelfAttention(config)
        self.ln1, self.ln2 = nn.LayerNorm(E, config.norm_eps), nn.LayerNorm(E, config.norm_eps)
        self.mlp = nn.Sequential(
            nn.Linear(E, config.n_hidden), ACTIVATIONS[config.activation](), nn.Linear(config.n_hidden, E)
        )
        self.drop = nn.Dropout(config.dropout)

    def forward(
        self, x: Float[Tensor, "B n E"], mask: Mask | None, past: KeysAndValues | None
    ) -> Float[Tensor, "B n E"]:
        """One block."""
        x = self.ln1(x + self.drop(self.attn(x, mask, past)))
        return cast(Tensor, self.ln2(x + self.drop(self.mlp(x))))


class Encoder(nn.Module):
    """x = norm(E[ids] + P[positions] + S[segments]), then block_L(... block_1(x)): one vector for every token.

    The arguments of a call have the names that transformers gives them, so that a model of either kind can stand where
    the other does; the result is the tensor that is `last_hidden_state` there. Two things differ. Positions count from
    the first real token, so that padding on the left changes nothing (BERT and DistilBERT of transformers count the
    padding, too). And `attention_mask` alone marks padding, never by an id: masked-LM training may put the id of
    padding in the place of a real token.

    Args: config.
    Example:
        >>> Encoder(EncoderConfig(99, n_layer=1))(torch.ones(2, 5, dtype=torch.long)).shape
        torch.Size([2, 5, 768])

    Source: Devlin et al., "BERT" (2019), section 3; Liu et al., "RoBERTa" (2019); Sanh et al., "DistilBERT" (2019);
        Song et al., "MPNet" (2020).
    """

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        E = config.n_embd
        config.refuse_too_large()
        self.config = config
        self.tok_emb = nn.Embedding(config.vocab_size, E)
        self.pos_emb = nn.Embedding(config.first_position + config.block_size, E)
        self.type_emb = nn.Embedding(config.segments, E) if config.segments else None
        self.distance_bias = nn.Embedding(config.distances, config.n_head) if config.distances else None
        self.ln_emb = nn.LayerNorm(E, config.norm_eps)
        self.drop = nn.Dropout(config.dropout)
        self.blocks = nn.ModuleList(EncoderBlock(config) for _ in range(config.n_layer))
        self.recomputes = False
        self.apply(initialise)

    def gradient_checkpointing_enable(self) -> None:
        """From now on a training step keeps each block's input alone, and computes the rest again on its way back.

        The same gradients to the bit, dropout included, for about a third more time and memory of one block instead of
        all: 6 times 384, 8 texts of 256 tokens keep 19 MiB and hold 112 more at once, not 636. The name is that of
        transformers. Source: Chen et al., "Training Deep Nets with Sublinear Memory Cost" (2016).
        """
        self.recomputes = True

    def get_input_embeddings(self) -> nn.Embedding:
        """The table of token vectors."""
        return self.tok_emb

    def forward(
        self,
        input_ids: Int[Tensor, "B n"] | None = None,
        attention_mask: Shaped[Tensor, "B n_kv"] | None = None,
        token_type_ids: Int[Tensor, "B n"] | None = None,
        position_ids: Int[Tensor, "B n"] | None = None,
        inputs_embeds: Float[Tensor, "B n E"] | None = None,
        past_key_values: Sequence[KeysAndValues] | None = None,
    ) -> Float[Tensor, "B n E"]:
        """The vectors of the tokens.

        Args: input_ids (B, n), or inputs_embeds (B, n, E) in their place; attention_mask (B, P + n), not 0 where a
            token is real, None for everywhere; token_type_ids (B, n), None for 0; position_ids (B, n), rows of the
            table of positions, None for first_position + P + 0, 1, ... from the first real token; past_key_values,
            one pair (B, H, P, n_embd / H) a layer, keys and values that every token attends to besides.
        Raises: BadInput for more than block_size tokens, for sizes that contradict each other, or for segments where
            the model has none.
        """
        x = self._embed(input_ids, inputs_embeds)
        P = 0 if past_key_values is None else past_key_values[0][0].shape[2]
        B, n = x.shape[:2]
        if P + n > self.config.block_size:
            raise BadInput(f"{P + n} tokens do not fit into a block of {self.config.block_size}")
        if attention_mask is not None and attention_mask.shape != (B, P + n):
            got = tuple(attention_mask.shape)
            raise BadInput(f"attention_mask has the shape {got}, but should have {(B, P + n)}, the prefix of {P} first")
        if past_key_values is not None and len(past_key_values) != len(self.blocks):
            raise BadInput(f"{len(past_key_values)} pairs of keys and values do not fit {len(self.blocks)} layers")
        real = None if attention_mask is None else attention_mask.bool()
        if position_ids is None:
            position_ids = self.config.first_position + P + places(None if real is None else real[:, P:], n, x.device)
        x = x + self.pos_emb(position_ids)
        if self.type_emb is not None:
            x = x + (self.type_emb.weight[0] if token_type_ids is None else self.type_emb(token_type_ids))
        elif token_type_ids is not None and bool(token_type_ids.any()):
            raise BadInput("this model has no table of segments: token_type_ids must be 0")
        x = self.drop(self.ln_emb(x))
        mask: Mask | None = None if real is None else real[:, None, None, :]  # (B, 1, 1, P + n)
        if self.distance_bias is not None:
            mask = self._bias(self.distance_bias, n, P, mask)
        for number, block in enumerate(self.blocks):
            past = None if past_key_values is None else past_key_values[number]
            if self.recomputes and self.training and torch.is_grad_enabled():
                x = checkpoint(block, x, mask, past, use_reentrant=False)
            else:
                x = block(x, mask, past)
        return cast(Tensor, x)

    def _bias(self, table: nn.Embedding, n: int, P: int, real: Bool[Tensor, "B 1 1 n_kv"] | None) -> Mask:
        """What is added to the scores: the bias of each distance, none to a prefix, and -inf where a key is padding."""
        place = torch.arange(n, device=table.weight.device)
        found = table(distance_classes(place[None] - place[:, None], self.config.distances)).permute(2, 0, 1)
        found = nn.functional.pad(found, (P, 0))[None]  # (1, H, n, P + n)
        return found if real is None else found.masked_fill(~real, float("-inf"))

    def _embed(self, ids: Tensor | None, vectors: Tensor | None) -> Tensor:
        """The token vectors, from whichever of the two was given."""
        if (ids is None) == (vectors is None):
            raise BadInput("give either input_ids or inputs_embeds")
        if ids is not None:
            return cast(Tensor, self.tok_emb(ids))
        assert vectors is not None
        return vectors


def places(real: Bool[Tensor, "B n"] | None, n: int, device: torch.device) -> Int[Tensor, "#B n"]:
    """The number of each token, counted from the first real one of its row; padding in front of that one gets 0.

    Example:
        >>> places(torch.tensor([[False, True, True]]), 3, torch.device("cpu")).tolist()
        [[0, 0, 1]]
    """
    order = torch.arange(n, device=device)[None]
    if real is None:
        return order
    first = real.to(torch.int8).argmax(1, keepdim=True) if n else 0
    found: Tensor = (order - first).clamp(min=0)
    return found


def distance_classes(distance: Int[Tensor, "n m"], count: int) -> Int[Tensor, "n m"]:
    """The class of each distance j - i from a query i to a key j: half of them for keys behind, half for those ahead.

    Of each half the first half has one distance a class, from 0 on; the other grows by a constant factor up to 128, and
    its last class has all that are farther.

    Example:
        >>> distance_classes(torch.tensor([[-200, -9, -1, 0, 1, 9]]), 32).tolist()
        [[15, 8, 1, 0, 17, 24]]

    Source: Raffel et al., "T5" (2020), section 2.1, `_relative_position_bucket`, in both directions.
    """
    half, far = count // 2, distance.abs()
    exact = half // 2
    grown = exact + (torch.log(far.clamp(min=1).float() / exact) / math.log(128 / exact) * (half - exact)).long()
    return (distance > 0).long() * half + torch.where(far < exact, far, grown.clamp(max=half - 1))
