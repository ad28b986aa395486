"""Weights under a model's own names, put into it all or not at all, and what they would take in memory.

The memory is looked at before anything is allocated: a size may be a slip, or a damaged file's. Sizes come from
options, configuration files and checkpoints; a model of 10^9 layers would fill any machine first.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

import torch
from torch import Tensor, nn

from finetune.errors import BadInput

BYTES_A_NUMBER = 4
BYTES_A_LAYER = 10_000
"""What the Python objects of a block take at least, however few its numbers."""


def bytes_of_model(n_layer: int, n_embd: int, n_hidden: int, rows: int) -> int:
    """About the bytes of a model in float32: its tables of so many rows, and its blocks.

    Example:
        >>> round(bytes_of_model(12, 768, 3072, 31_000) / 1e6)  # bert-base's
        436
    """
    block = 4 * n_embd * n_embd + 2 * n_embd * n_hidden + n_hidden + 9 * n_embd
    return n_layer * (BYTES_A_NUMBER * block + BYTES_A_LAYER) + BYTES_A_NUMBER * rows * n_embd


def refuse_too_large(n_layer: int, n_embd: int, n_hidden: int, rows: int) -> None:
    """Raise where a model's weights alone are larger than this machine's memory (the meta device holds any).

    Raises: BadInput, naming the estimated size.
    """
    if torch.get_default_device().type == "meta":
        return
    needed = bytes_of_model(n_layer, n_embd, n_hidden, rows)
    there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed > there:
        raise BadInput(
            f"a model of {n_layer} layers, {n_embd} features, {n_hidden} hidden features and {rows} rows of tables "
            f"takes about {needed / 1e9:.3g} GB, more than the {there / 1e9:.3g} GB of this machine"
        )


def put_weights(model: nn.Module, state: Mapping[str, Tensor], misfit: str) -> None:
    """Put weights into a model.

    Args: model; state, a tensor for each name of its state dict; misfit, the beginning of what an error says.
    Raises: BadInput, naming the first difference, where they are of another model or of other sizes; nothing is
        changed then.
    """
    own = model.state_dict()
    for key in own:
        if key not in state:
            raise BadInput(f"{misfit}: {key} is missing")
        if own[key].shape != state[key].shape:
            got, should = tuple(state[key].shape), tuple(own[key].shape)
            raise BadInput(f"{misfit}: {key} has the shape {got}, but should have {should}")
    extra = [key for key in state if key not in own]
    if extra:
        raise BadInput(f"{misfit}: it has no {extra[0]}")
    with torch.no_grad():
        model.load_state_dict(dict(state))
