r"""Phrases that say what a symbol stands for, and those that say more."""

from __future__ import annotations

import pytest

from attention_core.derivation.words.role_phrases import kind_of_role


@pytest.mark.parametrize(
    ("phrase", "kind"),
    [
        ("the learnable parameters", "free"),
        ("the input token at position \x000\x00", "free"),
        ("the query, key and value", "free"),
        ("the \x000\x00-th hidden state of the network", "free"),
        ("a constant", "free"),
        ("model parameters to be learned", "free"),
        ("the pretraining loss coefficient", "free"),
        ("the state and action at time \x000\x00", "free"),
        ("the weight matrix", "array"),
        ("the learned query and key projection matrices", "array"),
        ("the query, key and value matrices, respectively", "array"),
        ("the total number of training examples", "size"),
        ("the hidden dimension", "size"),
        ("the sequence length", "size"),
        ("some step size", "rate"),
        ("the learning rate", "rate"),
        ("the true class", "label"),
        ("the label of class \x000\x00", "label"),
        ("the input and its label", "label"),
    ],
)
def test_a_role_has_a_kind(phrase: str, kind: str) -> None:
    assert kind_of_role(phrase) == kind


@pytest.mark.parametrize(
    "phrase",
    [
        "the mean",  # compares with another symbol
        "the gradient",
        "the inverse of \x000\x00",
        "the value of \x000\x00",
        "the sum of the inputs",
        "the unit input",  # a property
        "the zero vector",
        "the same input",
        "the tied parameters",  # an adjective that nothing knows
        "the positive coefficient",
        "the optimal parameters",
        "an arbitrary input",  # may take back what was assumed
        "any input",
        "the identity matrix",
        "a projection matrix",
        "the attention weights",
        "the weights",  # may sum to one
        "the velocity",  # a derivative
        "the input and the mean",
        "the number of ones",
        "one half",
        "constant",  # "$x$ is constant", in its index
        "",
    ],
)
def test_what_may_say_more_is_no_role(phrase: str) -> None:
    assert kind_of_role(phrase) == ""
