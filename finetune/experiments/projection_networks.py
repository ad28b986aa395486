"""Experiment: small networks in the place of the projections, and a nonlinearity on one of them."""

from __future__ import annotations

from typing import Any

from torch import nn

from finetune.experiments.attention import PluggedAttention, Project
from finetune.experiments.experiment import Claim, Experiment, Measure, Setting
from finetune.experiments.texts import Text
from finetune.experiments.tiny_gpt import build, config_of, train_on_text


def two_linear(E: int) -> nn.Module:
    """Return two linear layers without anything between them: one linear map, with another way of learning it."""
    return nn.Sequential(nn.Linear(E, E), nn.Linear(E, E))


def network(E: int) -> nn.Module:
    """Return a network of one hidden layer: W_2 GELU(W_1 x + b_1) + b_2."""
    return nn.Sequential(nn.Linear(E, E), nn.GELU(), nn.Linear(E, E))


def relu_layer(E: int) -> nn.Module:
    """Return a linear layer with a ReLU after it."""
    return nn.Sequential(nn.Linear(E, E), nn.ReLU())


ROLES = ("query", "key", "value")
PROJECTIONS: dict[str, dict[str, Project]] = {
    "linear": {},
    "two linear": dict.fromkeys(ROLES, two_linear),
    "networks": dict.fromkeys(ROLES, network),
    **{f"ReLU on {role}": {role: relu_layer} for role in ROLES},
}


def run(variant: str, seed: int, setting: Setting, text: Text) -> dict[str, Any]:
    """Train one model and judge it."""
    project = PROJECTIONS[variant]
    model = build(config_of(setting, text.tokens), seed, lambda config: PluggedAttention(config, project=project))
    return train_on_text(model, setting, seed, text)


EXPERIMENT = Experiment(
    name="projection_networks",
    title="Networks as projections",
    question="Do small networks in the place of W_Q, W_K and W_V help, and what does a nonlinearity on one of them do?",
    background=(
        "Source 001 (section 2.2) asks for projections that are more interesting. Two linear layers without anything "
        "between them are the control: as many parameters and as deep, but the same functions as one layer. What "
        "networks gain beyond them is due to the nonlinearity. A ReLU on values makes what attention mixes positive."
    ),
    variants={
        "linear": "one linear layer each",
        "two linear": "two linear layers each, nothing between them",
        "networks": "linear, GELU, linear each",
        "ReLU on query": "a ReLU after W_Q",
        "ReLU on key": "a ReLU after W_K",
        "ReLU on value": "a ReLU after W_V",
    },
    baseline="linear",
    measures=(
        Measure("perplexity", "held-out perplexity", ratio=True),
        Measure("step_milliseconds", "ms of the processor a step", ratio=True, timed=True, digits=1),
        Measure("parameters", "parameters", compared=False, digits=0),
    ),
    claims=(
        Claim("networks predict better than linear layers", "perplexity", "networks", "linear", margin=0.01),
        Claim("networks predict better than as many linear layers", "perplexity", "networks", "two linear",
              margin=0.01),
        *(Claim(f"a ReLU on the {role} makes predictions worse", "perplexity", f"ReLU on {role}", "linear", "higher",
                0.01)
          for role in ROLES),
    ),
    run=run,
    setting=Setting(),
    curve=("held_out_curve", "step", "held-out perplexity"),
    code=(two_linear, network, relu_layer),
)  # fmt: skip
