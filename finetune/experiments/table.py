"""The experiments by name; each is a module of this room, imported on first use."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from finetune.errors import BadInput
from finetune.experiments.experiment import Experiment

EXPERIMENTS: Mapping[str, str] = {
    "score_functions": "score functions other than the scaled dot product, and their cost",
    "late_mask": "the mask after the softmax: why it seems to help, and what leaks",
    "tied_projections": "queries, keys and values from one projection, two or three",
    "position_encodings": "learned, sinusoidal, rotary, ALiBi and no positions beyond the training length",
    "projection_networks": "small networks as projections, and a nonlinearity on one of them",
    "noisy_key_heads": "one head against several when keys are noisy",
    "depth_and_norms": "depth, vanishing gradients, and where the normalisation stands",
    "without_scores": "the Attention Free Transformer, and random features",
    "synthesizer_limit": "what one layer of a synthesizer cannot find",
    "masked_convergence": "masked against left-to-right language modelling: which needs more steps",
    "sequence_to_sequence": "a decoder alone, a prefix that sees all of itself, an encoder with a decoder",
    "long_inputs": "what long inputs cost in time and memory",
}
"""What each experiment is about, by the name of its module."""


def load_experiment(name: str) -> Experiment:
    """Return an experiment by its name. Raises: BadInput, with the names that there are."""
    if name not in EXPERIMENTS:
        raise BadInput(f"there is no experiment {name!r}; `finetune experiment` lists them")
    found = import_module(f"finetune.experiments.{name}").EXPERIMENT
    assert isinstance(found, Experiment) and found.name == name
    return found
