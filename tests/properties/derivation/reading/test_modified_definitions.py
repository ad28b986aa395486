"""Definitions whose value the words behind them change: "let $y = w^\\top x$ clipped at zero"."""

from __future__ import annotations

import pytest

from attention_core.derivation.check import check_document
from attention_core.derivation.records import GOOD

DECLARED = r"Let $d \in \mathbb{N}$ and $w, x \in \mathbb{R}^d$"
CHANGING = (
    " clipped at zero", " plus Gaussian noise", " modulo 2", " with a causal mask", " with temperature $2$",
    " taken over all entries", " followed by a ReLU", " rounded to integers", " up to a constant",
    " with the last entry dropped", " normalized", " in expectation", " without the bias", " together with its mask",
    " and then take the maximum", ", clipped at zero", ", plus noise", ", where all negative values are set to zero",
    " for positive scores", " if $x$ is positive", " or $-w^\\top x$", " for half of the data", " when $x$ is small",
)  # fmt: skip
NAMING = (
    "", " denote the score", " be the score", " for short", r" with $\|w\| = 1$", " as above", " where $d > 1$",
    " in this section", " for all $w$", " (the score)", " since it is short", " as usual", ", the output of the layer",
    " be the Gram matrix", " throughout",
)  # fmt: skip


@pytest.mark.parametrize("words", CHANGING)
@pytest.mark.parametrize("infer", [True, False])
def test_words_that_change_a_value_leave_it_open(words: str, infer: bool) -> None:
    head = f"{DECLARED} and let $y = w^\\top x${words}." if infer else f"{DECLARED}. Let $y = w^\\top x${words}."
    found = check_document(f"{head}\n\nThen\n\n$$ y^2 = (w^\\top x)^2 $$\n", infer=infer).steps[-1]
    assert found.verdict not in GOOD and str(found.verdict) != "REFUTED"


@pytest.mark.parametrize("words", NAMING)
@pytest.mark.parametrize("infer", [True, False])
def test_words_that_name_a_value_change_nothing(words: str, infer: bool) -> None:
    text = f"{DECLARED}. Let $y = w^\\top x${words}.\n\nThen\n\n$$ y^2 = (w^\\top x)^2 $$\n"
    assert check_document(text, infer=infer).steps[-1].verdict in GOOD
