"""Masked language modelling: 15 % of the tokens are predicted; of these 80 % are masked, 10 % random, 10 % kept.

A pure function of a batch and its keys: special tokens and padding are never chosen, inputs are never changed.

Text without labels as a source for masked-LM training: one text a line, or one text cut into blocks.

Which tokens are hidden is a function of (seed, epoch, block): no two epochs hide the same, and no worker count matters.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from finetune.data import draws
from finetune.data.collate import collate
from finetune.data.corpus import read_text
from finetune.data.examples import Examples
from finetune.data.texts import Encoded, TextTokenizer, encode
from finetune.data.vocabulary import Ids
from finetune.errors import BadInput

IGNORED = -100


def mask_tokens(
    ids: Ids, of: draws.Keys, *, vocabulary_size: int, mask_id: int, special: npt.ArrayLike, rate: float = 0.15,
    masked: float = 0.8, random: float = 0.1,
) -> tuple[Ids, Ids]:  # fmt: skip
    """Choose tokens, and hide them.

    Each token that is not special is chosen with probability `rate`. A chosen one becomes mask_id with probability
    `masked`, any id of the vocabulary with probability `random` (its own included), and else stays.

    Args: ids (B, n); of (B,), keys; special, ids that are never chosen (padding among them).
    Returns: inputs (B, n), labels (B, n): the old id where chosen, -100 elsewhere. `ids` is left as it is.
    Raises: BadInput if rate, masked or random is not a probability, or masked + random > 1.
    Source: Devlin et al., "BERT" (2019), section 3.1, task 1; huggingface/transformers#11155 (padding chosen).
    """
    for name, share in (("rate", rate), ("masked", masked), ("random", random), ("masked + random", masked + random)):
        if not 0 <= share <= 1 + 1e-12:  # 0.9 + 0.1 is not 1 in binary
            raise BadInput(f"{name} must be a probability, got {share}")
    place = np.arange(ids.shape[1])[None]
    drawn = draws.uniform(of[:, None], place * 3)
    chosen = (drawn < rate) & ~np.isin(ids, np.asarray(special))
    how = draws.uniform(of[:, None], place * 3 + 1)
    any_id = np.floor(draws.uniform(of[:, None], place * 3 + 2) * vocabulary_size).astype(np.int64)
    inputs = np.where(chosen & (how < masked), mask_id, ids)
    inputs = np.where(chosen & (how >= masked) & (how < masked + random), any_id, inputs)
    return inputs, np.where(chosen, ids, IGNORED)


def read_unlabelled_texts(
    path: str | Path, tokenizer: TextTokenizer, block_size: int, *, line_by_line: bool
) -> Encoded:
    """A file's text as blocks of at most block_size tokens, special tokens included.

    Line by line, each line that is not empty is one block, and what is too long is cut and counted; else the whole
    text is one stretch of tokens that is cut into blocks, of which the last may be shorter.

    Raises: BadInput where the file holds no text, or block_size leaves no room.
    """
    text = read_text(path)
    if not text.strip():
        raise BadInput(f"{path} holds no text")
    if line_by_line:
        lines = [(n, line) for n, line in enumerate(text.split("\n"), 1) if line.strip()]
        rows = [f"{path}, line {n}" for n, _ in lines]
        return encode(tokenizer, Examples([t for _, t in lines], None, [0] * len(lines), ("text",), rows), block_size)
    edges = list(tokenizer.inner.encode("").ids)
    front, back = edges[: len(edges) // 2], edges[len(edges) // 2 :]
    room = block_size - len(edges)
    if room < 1:
        raise BadInput(f"a block of {block_size} tokens leaves no room for text: at least {len(edges) + 1} are needed")
    ids = list(tokenizer.inner.encode(text, add_special_tokens=False).ids)
    blocks = [[*front, *ids[at : at + room], *back] for at in range(0, len(ids), room)]
    return Encoded(blocks, [[0] * len(block) for block in blocks], block_size, 0)


class MaskedTexts:
    """A source of batches with hidden tokens: input_ids, attention_mask, token_type_ids and labels, all (B, n).

    Args: encoded; tokenizer, for the ids of padding, mask and special tokens; seed; types: whether the model has
        segments; rate, of tokens that are predicted, of which 80 % are masked, 10 % random, 10 % kept.
    Raises: BadInput where the tokenizer has no mask token, or there is no text.
    """

    def __init__(
        self, encoded: Encoded, tokenizer: TextTokenizer, seed: int = 0, *, types: bool = True, rate: float = 0.15
    ) -> None:
        if tokenizer.mask_id is None:
            raise BadInput("the tokenizer has no mask token: masked-LM training is not possible with it")
        if not len(encoded):
            raise BadInput("there is no text to hide tokens of")
        self.encoded, self.tokenizer, self.mask_id = encoded, tokenizer, tokenizer.mask_id
        self.seed, self.types, self.rate = seed, types, rate

    def __len__(self) -> int:
        return len(self.encoded)

    def batch(self, epoch: int, indices: npt.NDArray[np.int64]) -> dict[str, Tensor]:
        """The blocks `indices` with tokens hidden as they are in an epoch; labels are -100 without a prediction."""
        chosen = [int(n) for n in indices]
        types = [self.encoded.types[n] for n in chosen] if self.types else None
        found = collate([self.encoded.ids[n] for n in chosen], None, self.tokenizer.pad_id, types)
        inputs, labels = mask_tokens(
            found["input_ids"].numpy(), draws.keys(self.seed, epoch, indices), vocabulary_size=len(self.tokenizer),
            mask_id=self.mask_id, special=[*self.tokenizer.special, self.tokenizer.pad_id], rate=self.rate,
        )  # fmt: skip
        return {**found, "input_ids": torch.from_numpy(inputs), "labels": torch.from_numpy(labels)}
