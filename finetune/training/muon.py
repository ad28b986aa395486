"""Muon for the matrices between a model's ends, AdamW for all else, as one optimizer with one learning rate.

Facts about single documents are rare directions of a gradient; Muon steps as far along them as along the common ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import torch
from torch import nn


class MuonAndAdamW(torch.optim.Optimizer):
    """Two optimizers that step together; their groups are this one's, so that a schedule reaches both.

    For a matrix W (m, k) with momentum M <- mu M + (1 - mu) G, W <- (1 - lr decay) W - 0.2 lr sqrt(max(m, k)) U, where
    U is G + mu (M - G) with all singular values brought near 1 by Newton-Schulz steps in bfloat16; 0.2 sqrt(max(m, k))
    gives a step the size of AdamW's, so that both take the same rate.

    Args: matrices, groups of parameters with two axes, for Muon; rest, groups for AdamW; one of them may be empty;
        learning_rate; betas, of AdamW.
    Example: MuonAndAdamW([{"params": [w], "weight_decay": 0.1}], [], 4e-3, (0.9, 0.95)).step().
    Source: Jordan et al., "Muon" (2024); Liu et al., "Muon is scalable for LLM training" (2025), section 2.2, for the
        factor 0.2; both are torch's own.
    """

    def __init__(
        self,
        matrices: list[dict[str, Any]],
        rest: list[dict[str, Any]],
        learning_rate: float,
        betas: tuple[float, float],
    ) -> None:
        self.parts: dict[str, torch.optim.Optimizer] = {}
        if matrices:
            self.parts["muon"] = torch.optim.Muon(matrices, lr=learning_rate, adjust_lr_fn="match_rms_adamw")
        if rest:
            self.parts["adamw"] = torch.optim.AdamW(rest, lr=learning_rate, betas=betas, fused=True)
        super().__init__([group for part in self.parts.values() for group in part.param_groups], {})
        self._share()

    def _share(self) -> None:
        """Make the parts' groups and states this optimizer's own."""
        self.param_groups = [group for part in self.parts.values() for group in part.param_groups]
        self.state.clear()
        for part in self.parts.values():
            self.state.update(part.state)

    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """One step of both; `closure` is called once, before them."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for part in self.parts.values():
            part.step()
        self._share()
        return loss

    def state_dict(self) -> dict[str, Any]:
        """The states of the parts, by their names."""
        return {name: part.state_dict() for name, part in self.parts.items()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from a state. Raises: ValueError where it is of other parts or of other groups."""
        if set(state_dict) != set(self.parts):
            raise ValueError(f"the state is of {', '.join(state_dict)}, this optimizer has {', '.join(self.parts)}")
        for name, part in self.parts.items():
            part.load_state_dict(state_dict[name])
        self._share()


def split_groups(model: nn.Module, groups: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Groups of parameters as those for Muon and those for AdamW.

    Muon has the weights of linear layers but the last one, which reads out the result.

    Example: of a GPT: all matrices of its blocks; embeddings, norms, biases and the head are AdamW's.
    """
    linear = [cast(nn.Parameter, m.weight) for m in model.modules() if isinstance(m, nn.Linear)]
    chosen = {id(weight) for weight in linear} - {id(weight) for weight in linear[-1:]}
    chosen -= {id(p) for m in model.modules() if isinstance(m, nn.Embedding) for p in m.parameters(recurse=False)}
    matrices: list[dict[str, Any]] = []
    rest: list[dict[str, Any]] = []
    for group in groups:
        for found, wanted in ((matrices, True), (rest, False)):
            params = [p for p in group["params"] if (id(p) in chosen) is wanted]
            if params:
                found.append({**group, "params": params})
    return matrices, rest
