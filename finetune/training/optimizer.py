"""AdamW, Muon, SGD and Adagrad, decay on matrices alone (found by module); the rate as a function of tokens.

A filter by name misses embeddings and norms that are called otherwise; a module knows what its parameters are. With
Muon for the matrices between a model's ends, AdamW takes all else. Facts about single documents are rare directions of
a gradient; Muon steps as far along them as along the common ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, cast

import torch
from torch import nn

from finetune.errors import BadInput


class MuonAndAdamW(torch.optim.Optimizer):
    """Two optimizers that step together; their groups are this one's, so that a schedule reaches both.

    For a matrix W (m, k) with momentum M <- mu M + (1 - mu) G, W <- (1 - lr decay) W - 0.2 lr sqrt(max(m, k)) U, where
    U is G + mu (M - G) with all singular values brought near 1 by Newton-Schulz steps in bfloat16; 0.2 sqrt(max(m, k))
    gives a step the size of AdamW's, so that both take the same rate.

    Args: matrices, groups of parameters with two axes, for Muon; rest, groups for AdamW; one of them may be empty;
        learning_rate; betas, of AdamW.
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

    Example:
        >>> model = nn.Sequential(nn.Embedding(5, 4), nn.Linear(4, 4), nn.LayerNorm(4), nn.Linear(4, 5))
        >>> muon, rest = split_groups(model, [{"params": [*model.parameters()]}])
        >>> [tuple(p.shape) for group in muon for p in group["params"]]
        [(4, 4)]
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


MATRIX_MODULES = (nn.Linear, nn.Bilinear, nn.modules.conv._ConvNd)


def decayed_parameters(model: nn.Module) -> set[str]:
    """The names of the parameters that weight decay applies to: matrices that multiply, and nothing else.

    They are the weights of linear and convolutional modules, and what other modules list in their attribute `matrices`
    (the synthesizer's B). Biases, norms, embeddings and tables of positions are left out, and so is a matrix that is
    shared with an embedding.

    Example:
        >>> sorted(decayed_parameters(nn.Sequential(nn.Linear(2, 2), nn.LayerNorm(2))))
        ['0.weight']

    Source: Loshchilov and Hutter, "Decoupled Weight Decay Regularization" (2019), for AdamW; the choice is minGPT's.
    """
    kept_out = {id(p) for m in model.modules() if isinstance(m, nn.Embedding) for p in m.parameters(recurse=False)}
    found = set()
    for prefix, module in model.named_modules(remove_duplicate=False):
        matrices = ("weight",) if isinstance(module, MATRIX_MODULES) else getattr(module, "matrices", ())
        for name, parameter in module.named_parameters(recurse=False):
            if name in matrices and id(parameter) not in kept_out:
                found.add(f"{prefix}.{name}" if prefix else name)
    return found


def adamw(
    model: nn.Module, learning_rate: float, betas: tuple[float, float] = (0.9, 0.95), weight_decay: float = 0.1
) -> torch.optim.AdamW:
    """AdamW over the trainable parameters in two groups, with weight decay and without.

    Raises: BadInput where nothing is trainable. Parameters that need no gradient are in neither group.

    Example:
        >>> [group["weight_decay"] for group in adamw(nn.Linear(2, 2), 6e-3).param_groups]
        [0.1, 0.0]
    """
    # One pass over the numbers in place of a dozen; the same formulas.
    return torch.optim.AdamW(decay_groups(model, weight_decay), lr=learning_rate, betas=betas, fused=True)


def decay_groups(model: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    """The trainable parameters in two groups, with weight decay and without; none of them where it would be empty.

    Raises: BadInput where nothing is trainable.
    """
    decayed = decayed_parameters(model)
    groups: list[dict[str, Any]] = [{"params": [], "weight_decay": weight_decay}, {"params": [], "weight_decay": 0.0}]
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            groups[name not in decayed]["params"].append(parameter)
    groups = [group for group in groups if group["params"]]
    if not groups:
        raise BadInput("no parameter of the model is trainable")
    return groups


Make = Callable[[nn.Module, float, tuple[float, float], float], torch.optim.Optimizer]
OPTIMIZERS: Mapping[str, Make] = {
    "adamw": adamw,
    "muon": lambda model, lr, betas, decay: MuonAndAdamW(*split_groups(model, decay_groups(model, decay)), lr, betas),
    "sgd": lambda model, lr, betas, decay: torch.optim.SGD(decay_groups(model, decay), lr=lr),
    "adagrad": lambda model, lr, betas, decay: torch.optim.Adagrad(decay_groups(model, decay), lr=lr),
}
"""Optimizers by name; SGD without momentum and Adagrad are torch's, whose decay is a part of the gradient."""
SCHEDULES = ("cosine", "linear", "constant")


def rate(
    tokens: int, warmup_tokens: int, final_tokens: int | None, floor: float = 0.1, schedule: str = "cosine"
) -> float:  # fmt: skip
    """The factor of the learning rate once `tokens` targets have been seen, the step's own included.

    Linear from 0 over warmup_tokens, then max(floor, (1 + cos(pi p)) / 2), where p goes from 0 to 1 at final_tokens and
    stays 1: minGPT lets p grow, and the rate rises again. Without final_tokens it stays 1. The schedule "linear" has
    max(floor, 1 - p) there, "constant" 1.

    Args: whole numbers; floor, the smallest factor after the warm-up; schedule, one of `SCHEDULES`.
    Returns: a factor in [0, 1].
    Raises: BadInput where the warm-up ends after final_tokens.
    Example:
        >>> rate(50, 100, 1000), rate(5000, 100, 1000)
        (0.5, 0.1)

    Source: the assignment's Trainer (warm-up, then cosine decay to 10 %), by tokens as in Brown et al. (2020), app. B.
    """
    if final_tokens is not None and warmup_tokens >= final_tokens:
        raise BadInput(
            f"the warm-up of {warmup_tokens} tokens ends after the schedule, which ends at {final_tokens} tokens"
        )
    if tokens < warmup_tokens:
        return tokens / warmup_tokens
    if final_tokens is None or schedule == "constant":
        return 1.0
    progress = min((tokens - warmup_tokens) / (final_tokens - warmup_tokens), 1.0)
    return max(floor, 1.0 - progress if schedule == "linear" else 0.5 * (1.0 + math.cos(math.pi * progress)))
