"""Weights under a model's own names, put into it all or not at all."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from finetune.errors import BadInput


def put_weights(model: nn.Module, state: Mapping[str, Tensor], misfit: str) -> None:
    """Put weights into a model.

    Args: model; state, a tensor for each name of its state dict; told, the beginning of what an error says.
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
