"""Heads on an encoder: a classifier over the first token or the mean of the real ones, and the tied masked-LM head.

The encoder is ours or any AutoModel of transformers; both heads may share one, for joint training.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, Literal, cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from finetune.errors import BadInput
from finetune.models.encoder import ACTIVATIONS
from finetune.models.gpt import at_least_single, initialise

Pool = Literal["first", "mean"]
POOLS: tuple[Pool, ...] = ("first", "mean")
TEXTS = ("input_ids", "attention_mask", "token_type_ids")
"""The parts of a batch that an encoder reads."""
IGNORED = -100
"""The label of a token that is not predicted."""


def width(encoder: nn.Module) -> int:
    """The features of an encoder's vectors. Raises: BadInput where its configuration does not say."""
    config = getattr(encoder, "config", None)
    for name in ("n_embd", "hidden_size"):
        if isinstance(found := getattr(config, name, None), int):
            return found
    raise BadInput(f"the configuration of {type(encoder).__name__} has neither n_embd nor hidden_size")


def vectors_of(encoder: nn.Module, batch: Mapping[str, Tensor]) -> Float[Tensor, "B n E"]:
    """What an encoder makes of the parts of a batch that it reads; segments are left out where it takes none."""
    taken = inspect.signature(encoder.forward).parameters
    found = encoder(**{name: batch[name] for name in TEXTS if name in batch and name in taken})
    return cast(Tensor, found if isinstance(found, Tensor) else found.last_hidden_state)


def first_real(mask: Int[Tensor, "B n"] | None, x: Float[Tensor, "B n E"]) -> Float[Tensor, "B E"]:
    """The vector of each row's first real token, on whichever side its padding is."""
    if mask is None:
        return x[:, 0]
    place = mask.bool().to(torch.int8).argmax(1)
    return x[torch.arange(len(x), device=x.device), place]


def mean_real(mask: Int[Tensor, "B n"] | None, x: Float[Tensor, "B n E"]) -> Float[Tensor, "B E"]:
    """sum_i m_i x_i / sum_i m_i: the mean over each row's real tokens; 0 where there is none.

    Padding is left out by choice and not by a product: what stands there may be anything, NaN too.
    """
    if mask is None:
        return x.mean(1)
    real = mask.bool()[..., None]
    count = torch.clamp(real.sum(1), min=1)
    return torch.where(real, x, torch.zeros((), dtype=x.dtype, device=x.device)).sum(1) / count.to(x.dtype)


class Classifier(nn.Module):
    """logits = W dropout(between(pool(encoder(tokens)))) + b; pool: the first token's vector, or the mean of real ones.

    Its head has classes (n_embd + 1) parameters: 2 d + 2 for two classes.

    Args: encoder, ours or an AutoModel; classes, at least 2; pool, "first" or "mean"; dropout; between, a layer that a
        trained head may have there (`heads.load_classifier`), None for none.
    Raises: BadInput for another pool, fewer classes, or an encoder whose width is not known.
    Source: Devlin et al., "BERT" (2019), section 4.1 (its pooler, one more layer over the first token, is left out, as
        in the assignments); the mean: Reimers and Gurevych, "Sentence-BERT" (2019), section 3.
    """

    def __init__(
        self, encoder: nn.Module, classes: int, *, pool: Pool = "first", dropout: float = 0.1,
        between: nn.Module | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        if pool not in POOLS:
            raise BadInput(f"pool {pool!r} is not one of {', '.join(POOLS)}")
        if classes < 2:
            raise BadInput(f"a classifier needs at least 2 classes, got {classes}")
        if not 0 <= dropout < 1:
            raise BadInput(f"dropout must be at least 0 and below 1, got {dropout}")
        self.encoder, self.classes, self.pool = encoder, classes, pool
        self.between = between or nn.Identity()
        self.drop = nn.Dropout(dropout)
        self.head = nn.Linear(width(encoder), classes)
        initialise(self.head)

    def forward(
        self,
        input_ids: Int[Tensor, "B n"],
        attention_mask: Int[Tensor, "B n"] | None = None,
        token_type_ids: Int[Tensor, "B n"] | None = None,
    ) -> Float[Tensor, "B classes"]:
        """The logits of a batch."""
        logits: Tensor = self.head(self.drop(self.between(self.pool_text(input_ids, attention_mask, token_type_ids))))
        return logits

    def pool_text(
        self,
        input_ids: Int[Tensor, "B n"],
        attention_mask: Int[Tensor, "B n"] | None = None,
        token_type_ids: Int[Tensor, "B n"] | None = None,
    ) -> Float[Tensor, "B E"]:
        """What the head reads: one vector a text."""
        given: dict[str, Any] = {
            "input_ids": input_ids, "attention_mask": attention_mask, "token_type_ids": token_type_ids
        }  # fmt: skip
        x = vectors_of(self.encoder, {name: value for name, value in given.items() if value is not None})
        return (first_real if self.pool == "first" else mean_real)(attention_mask, x)


class MaskedLM(nn.Module):
    """logits = E norm(act(W x + b)) + c, where E is the encoder's own table of token vectors.

    Tied by use, not by a second name: there is one table, and it is saved, trained and counted once.

    Args: encoder, ours or an AutoModel; activation, a key of `ACTIVATIONS`; norm_eps, of the norm.
    Source: Devlin et al., "BERT" (2019), section 3.1, task 1; Press and Wolf, "Using the Output Embedding" (2017).
    """

    def __init__(self, encoder: nn.Module, *, activation: str = "gelu", norm_eps: float = 1e-12) -> None:
        super().__init__()
        self.encoder = encoder
        E = width(encoder)
        self.dense, self.act, self.norm = nn.Linear(E, E), ACTIVATIONS[activation](), nn.LayerNorm(E, norm_eps)
        self.bias = nn.Parameter(torch.zeros(len(self._table())))
        initialise(self.dense)

    def _table(self) -> Tensor:
        return cast(Tensor, cast(Any, self.encoder).get_input_embeddings().weight)

    def forward(
        self,
        input_ids: Int[Tensor, "B n"],
        attention_mask: Int[Tensor, "B n"] | None = None,
        token_type_ids: Int[Tensor, "B n"] | None = None,
        *,
        where: Bool[Tensor, "B n"] | None = None,
    ) -> Float[Tensor, "B n vocab"] | Float[Tensor, "count vocab"]:
        """The logits of every token; with `where` of those tokens alone, in the order of reading, as (count, vocab)."""
        given: dict[str, Any] = {
            "input_ids": input_ids, "attention_mask": attention_mask, "token_type_ids": token_type_ids
        }  # fmt: skip
        x = vectors_of(self.encoder, {name: value for name, value in given.items() if value is not None})
        x = self.norm(self.act(self.dense(x if where is None else x[where])))
        return nn.functional.linear(x, self._table(), self.bias)


def classification_loss(model: nn.Module, batch: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
    """The summed negative log-likelihood of a batch's labels, in nats, and their number, as the trainer asks for.

    Args: model, a `Classifier`; batch, what it reads and "labels" (B,).
    """
    logits = model(**{name: batch[name] for name in TEXTS if name in batch})
    labels = batch["labels"]
    loss = nn.functional.cross_entropy(at_least_single(logits), labels, reduction="sum")
    return loss, torch.tensor(labels.numel(), device=labels.device)


def masked_lm_loss(model: nn.Module, batch: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
    """The summed negative log-likelihood of the hidden tokens, in nats, and their number; -100 is not a target.

    Only the tokens that are predicted go through the head: with 15 % of them, the large product is 7 times smaller.

    Args: model, a `MaskedLM`; batch, what it reads and "labels" (B, n), -100 where nothing is predicted.
    """
    wanted = batch["labels"] != IGNORED
    logits = model(**{name: batch[name] for name in TEXTS if name in batch}, where=wanted)
    loss = nn.functional.cross_entropy(at_least_single(logits), batch["labels"][wanted], reduction="sum")
    return loss, wanted.sum()
