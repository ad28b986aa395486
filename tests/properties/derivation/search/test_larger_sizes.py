"""Orthogonal vectors at sizes where a drawn frame would cost too much."""

from __future__ import annotations

import pytest
from flint import fmpq

from attention_core.derivation import check_document
from attention_core.derivation.cases.generate import NoCase
from attention_core.derivation.records import GOOD, Verdict
from attention_core.derivation.search.larger_sizes import FRAMES, SIZES, hadamard

FAMILY = r"Let $n \in \mathbb{N}$ and $v_1, \dots, v_n \in \mathbb{R}^n$ with $v_i^\top v_j = 0$ for $i \ne j$."
MATRIX = r"Let $n \in \mathbb{N}$ and $A \in \mathbb{R}^{n \times n}$ with $A^\top A = I_n$."
UNIT = FAMILY.replace(r"$i \ne j$.", r"$i \ne j$ and $\|v_i\| = 1$.")


@pytest.mark.parametrize("size", SIZES)
def test_frames_are_orthonormal(size: int) -> None:
    for frame in FRAMES:
        try:
            rows = [[frame(size, v, k) for k in range(size)] for v in range(size)]
        except NoCase:
            assert frame is hadamard and size != 16
            continue
        for i, left in enumerate(rows):
            for j, right in enumerate(rows):
                assert sum((a * b for a, b in zip(left, right, strict=True)), fmpq(0)) == int(i == j)


@pytest.mark.parametrize(
    ("hypothesis", "false", "true"),
    [
        (FAMILY, r"\|\sum_{i=1}^n v_i\|^2 \le 5 \max_i \|v_i\|^2", r"\|\sum_{i=1}^n v_i\|^2 \le n \max_i \|v_i\|^2"),
        (FAMILY, r"\|\sum_{i=1}^n v_i\|^2 \le 12 \max_i \|v_i\|^2", r"\|\sum_{i=1}^n v_i\|^2 \ge v_1^\top v_1"),
        (UNIT, r"\|\sum_{i=1}^n v_i\| \le 3", r"\|\sum_{i=1}^n v_i\|^2 \le n"),
        (MATRIX, r"\sum_{i=1}^n \sum_{j=1}^n |A_{ij}| \le 3 n", r"\sum_{i=1}^n \sum_{j=1}^n |A_{ij}| \le n \sqrt{n}"),
        (MATRIX, r"\operatorname{tr}(A) \le 11", r"\operatorname{tr}(A) \le n"),
    ],
)
def test_what_fails_at_larger_frames_is_refuted(hypothesis: str, false: str, true: str) -> None:
    wrong, right = (check_document(f"{hypothesis}\n\n$$ {claim} $$\n").steps[0] for claim in (false, true))
    assert wrong.verdict is Verdict.REFUTED and wrong.counterexample is not None
    assert 4 < int(wrong.counterexample.values["n"]) <= SIZES[-1]
    assert right.verdict in GOOD, right.evidence.text


@pytest.mark.parametrize("hypothesis", [r"$\|q\| = \|k\| = 1$", r"$\|q\| = \|k\|$ and $\|k\| = 1$"])
def test_a_length_may_follow_from_another_vector(hypothesis: str) -> None:
    head = rf"Let $d \in \mathbb{{N}}$ and $q, k \in \mathbb{{R}}^d$ with {hypothesis}."
    steps = check_document(head + "\n\n$$ \\|q - k\\|^2 = 2 - 2 q^\\top k $$\n\n$$ q^\\top k \\le 1.5 $$\n").steps
    assert all(step.verdict in GOOD for step in steps), [step.evidence.text for step in steps]
