"""Words that say whether the parameter of an exponential law is its rate."""

from __future__ import annotations

import pytest

from attention_core.derivation.reading.law_words import says_rates

SAID = {
    "Let $T$ be exponential with rate $2$.": True,
    "Let $T$ be exponential with mean $2$.": True,  # the reader writes its rate
    "The parameter is the rate.": True,
    "The learning rate is small.": False,
    "The parameter is the mean, not the rate.": False,
    r"Let $T \sim \mathrm{Exponential}(2)$ with mean 2.": False,
    r"Let $T \sim \mathrm{Exp}(2)$ with scale 2.": False,
}


@pytest.mark.parametrize(("text", "said"), SAID.items())
def test_words_of_rates(text: str, said: bool) -> None:
    assert says_rates([text]) is said
