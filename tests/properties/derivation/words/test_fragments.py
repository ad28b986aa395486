"""Plain sentences without a formula: names and what a text says of itself restrict nothing, all else is quoted."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.effort import Effort
from attention_core.derivation.records import Verdict
from attention_core.derivation.words.fragments import says_nothing_of_symbols

HEAD = r"Let $n \in \mathbb{N}$ and $x, y \in \mathbb{R}^n$."
FALSE = r"$$ x^\top y = x^\top y + n $$"

# (a sentence that restricts nothing, its twin that may)
TWINS = [
    ("Fused attention kernels for CPU and GPU.", "Fused attention kernels for unit keys."),
    ("Fast CUDA kernels.", "Orthogonal CUDA kernels."),
    ("A cheat sheet with formulas.", "A cheat sheet with equal vectors."),
    (
        "This file lists the identities that the kernels rely on.",
        "This file lists the identities that hold when the scores tie.",
    ),
    ("This library implements attention.", "This library implements normalised attention."),
    ("These notes collect formulas.", "These notes assume flat scores."),
    ("This note explains the backward pass.", "This note explains the case of one key."),
]


def verdict(*blocks: str) -> Verdict:
    text = "\n\n".join(blocks) + "\n"
    return check_document(text, effort=Effort(seconds=3.0)).steps[-1].verdict


@pytest.mark.parametrize(("harmless", "twin"), TWINS)
def test_a_name_leaves_a_false_step_refuted_and_its_twin_does_not(harmless: str, twin: str) -> None:
    assert says_nothing_of_symbols(harmless) and not says_nothing_of_symbols(twin)
    assert verdict(HEAD, harmless, "We have", FALSE) is Verdict.REFUTED
    assert verdict(HEAD, twin, "We have", FALSE) is Verdict.UNDECIDED


@pytest.mark.parametrize(
    "sentence",
    [
        "The keys commute.",
        "Each row of the matrix is a kernel.",
        "The kernels have a row.",
        "Scores coincide.",
        "Keys agree in code.",
        "Balanced kernels.",
        "One kernel.",
        "Kernel of rank 1.",
    ],
)
def test_predicates_and_numbers_restrict(sentence: str) -> None:
    assert not says_nothing_of_symbols(sentence)


def test_a_name_in_front_of_a_display_may_be_its_condition() -> None:
    assert verdict(HEAD, "Fused kernels on CPU", FALSE) is Verdict.UNDECIDED
    assert verdict(HEAD, "Norms:", FALSE) is Verdict.REFUTED  # a title
