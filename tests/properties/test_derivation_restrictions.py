"""Steps that define a symbol or restrict it are no claims, whatever words lead into them; claims stay refuted."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.records import StepReport, Verdict

KEYS = r"Let $d \in \mathbb{N}$, $q, k \in \mathbb{R}^d$, $A \in \mathbb{R}^{d \times d}$ and $b \in \mathbb{R}^d$."
PROMISE = "All hypotheses are declared as formulas."


def last(*blocks: str) -> StepReport:
    return check_document("\n\n".join(blocks) + "\n").steps[-1]


@pytest.mark.parametrize(
    ("words", "display"),
    [
        ("The definition is", "k = 2 q"),
        ("The new key is defined as", "k = 2 q"),
        ("We compute the key as", "k = 2 q"),
        ("The layer computes", "k = 2 q"),
        ("The model is", "k = A q + b"),
        ("The result is denoted by", "2 q = k"),
        ("The key is computed by", "k_1 = 2 q_1"),
        ("Find all $q$ with", "k = 2 q"),
        ("Does it hold that", "k = 2 q"),
        ("The equation to solve is", "A q = b"),
        ("We are looking for the $q$ with", "A q = b"),
        ("The unknown $q$ solves", "A q = b"),
        ("The question is when", "A q = b"),
        ("Here the output is", "A q = b"),
        ("The size is", "d = 4"),
    ],
)
def test_a_definition_or_an_equation_is_not_refuted(words: str, display: str) -> None:
    found = last(KEYS, words, f"$$ {display} $$")
    assert found.verdict is Verdict.UNDECIDED
    if not words.startswith("Find"):  # there the words come first
        assert "reads as a definition of" in found.evidence.text and "Put $" in found.evidence.text
    assert last(PROMISE, KEYS, words, f"$$ {display} $$").verdict is Verdict.REFUTED


@pytest.mark.parametrize(
    ("declared", "display"),
    [
        (KEYS, r"\|q\|^2 = d"),  # a size of what stands on the other side
        (KEYS, r"q + k = q"),
        (KEYS + " Assume $k = 3 q$.", "k = 2 q"),
        (KEYS + " Put $k := 3 q$.", "k = 2 q"),
        (KEYS, r"k_1 \le 10^{9}"),
        (KEYS, r"q^\top k = \|q\|^2"),
        (r"Let $n \in \mathbb{N}$ and $s \in \mathbb{R}^n$. Put $p := \operatorname{softmax}(s)$.", r"p_1 = 1"),
        (r"Let $a, b \in \mathbb{R}$.", r"a = 2 b \implies b = a"),
        (KEYS + r" Let $c \in \mathbb{R}^4$ and $e \in \mathbb{R}^5$.", "c = e"),  # shapes that do not fit
    ],
)
def test_claims_are_still_refuted(declared: str, display: str) -> None:
    assert last(declared, "Hence", f"$$ {display} $$").verdict is Verdict.REFUTED


def test_a_chain_and_what_is_expected_to_be_refuted_are_claims() -> None:
    assert check_document(f"{KEYS}\n\n$$ q + k = 2 q = k $$\n").steps[-1].verdict is Verdict.REFUTED
    assert check_document(f"{KEYS}\n\n% expect: refuted\n$$ k = 2 q $$\n").steps[-1].verdict is Verdict.REFUTED
