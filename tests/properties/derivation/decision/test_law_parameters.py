"""The parameter of an exponential law may be its mean, unless the document says that it is the rate."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document

OPEN = [
    r"Let $T \sim \mathrm{Exp}(2)$, where the parameter is the mean.",
    r"Let $T \sim \mathrm{Exp}(2)$ with scale 2.",
    r"Let $T \sim \mathrm{Exponential}(2)$ with mean 2.",
    r"Let $T \sim \mathrm{Exp}(2)$, where the parameter is the mean and not the rate.",
    r"Let $T \sim \mathrm{Exp}(2)$.",
]
RATES = [
    r"Let $T \sim \mathrm{Exp}(2)$ with rate 2.",
    r"Let $T \sim \mathrm{Exp}(2)$, where the parameter is the rate.",
    "Let $T$ be exponential with rate $2$.",
    "Let $T$ be exponential with mean $1/2$.",
]


def find(head: str, formula: str) -> tuple[str, str]:
    step = check_document(f"{head}\n\n$$ {formula} $$\n", infer=True).steps[-1]
    return str(step.verdict), step.evidence.text


@pytest.mark.parametrize("head", OPEN)
def test_what_holds_with_the_mean_is_ambiguous(head: str) -> None:
    for formula in ("P(T > 2) = e^{-1}", r"\mathbb{E}[T] = 2"):
        verdict, text = find(head, formula)
        assert verdict == "AMBIGUOUS" and "as its mean" in text
    assert find(head, "P(T > 2) = e^{-3}")[0] == "REFUTED"


@pytest.mark.parametrize("head", RATES)
def test_a_document_that_says_which_is_meant_is_refuted(head: str) -> None:
    assert find(head, "P(T > 2) = e^{-1}")[0] == "REFUTED"
    assert find(head, r"\mathbb{E}[T] = 2")[0] == "REFUTED"
    assert find(head, r"\mathbb{E}[T] = 1/2")[0] in ("PROVED", "EXACT", "AGREES")


def test_other_laws_have_no_such_reading() -> None:
    assert find(r"Let $T \sim \mathrm{Poisson}(2)$.", r"\mathbb{E}[T] = 1/2")[0] == "REFUTED"
