"""Laws in words are those of the formula that says so."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.records import GOOD, Verdict

LAWS = [
    ("Let $x$ be uniform on $[0, 1]$.", r"\mathbb{E}[x] = \frac{1}{2}", r"\mathbb{E}[x] = 1"),
    ("Let $x$ be uniformly distributed over the interval $[0, 2]$.", r"\mathbb{E}[x] = 1", r"\mathbb{E}[x] = 2"),
    ("Let $x$ be normal with mean $1$ and variance $4$.", r"\mathbb{E}[x^2] = 5", r"\mathbb{E}[x^2] = 4"),
    ("Let $x$ be normally distributed with mean zero and standard deviation $2$.",
     r"\operatorname{Var}[x] = 4", r"\operatorname{Var}[x] = 2"),
    ("Let $x$ be Bernoulli with parameter $\\frac{1}{3}$.", r"\mathbb{E}[x] = \frac{1}{3}", r"\mathbb{E}[x] = 1"),
]  # fmt: skip


@pytest.mark.parametrize("sentence, right, wrong", LAWS, ids=[one[0] for one in LAWS])
def test_laws_in_words_are_read(sentence: str, right: str, wrong: str) -> None:
    found = [
        check_document(f"Let $x \\in \\mathbb{{R}}$.\n\n{sentence}\n\n$$ {one} $$\n").steps[-1].verdict
        for one in (right, wrong)
    ]
    assert found[0] in GOOD and found[1] is Verdict.REFUTED, found


@pytest.mark.parametrize("words", ["truncated normal with mean $0$ and variance $1$", "uniform on $(0, 1)^c$"])
def test_other_laws_are_quoted(words: str) -> None:
    document = f"Let $x \\in \\mathbb{{R}}$.\n\nLet $x$ be {words}.\n\n$$ \\mathbb{{E}}[x^2] = 1 $$\n"
    assert check_document(document).steps[-1].verdict not in (*GOOD, Verdict.REFUTED)
