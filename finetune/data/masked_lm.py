"""Masked language modelling: 15 % of the tokens are asked for; of these 80 % are masked, 10 % random, 10 % kept.

A pure function of a batch and its keys: special tokens and padding are never chosen, inputs are never changed.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from finetune.data import draws
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
    Example: mask_tokens(ids, of, vocabulary_size=99, mask_id=4, special=[0, 2], rate=1.0)[1] is ids, -100 at special.
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
