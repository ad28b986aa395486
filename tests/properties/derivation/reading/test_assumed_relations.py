"""Relations that a sentence assumes, of symbols that nothing declares: "Suppose $a = b$"."""

from __future__ import annotations

import pytest

from attention_core.derivation.check import check_document
from attention_core.derivation.records import GOOD

RIGHT = [
    ("Suppose $a = b$. Then", "2 a = 2 b", "2 a = 2 b + c"),
    ("If $a = b$, then", "a^2 = b^2", "a^2 = b^2 + c"),
    ("Assume that $a = b + c$. Then", "2 a = 2 b + 2 c", "2 a = 2 b"),
    ("Suppose $y = 2 x + 1$ and $x > 0$. Then", "y > 1", "y > 2"),
    (r"Assume $A^\top = A$. Then", r"x^\top A y = y^\top A x", r"x^\top A y = 2 y^\top A x"),
    (r"Assume $Q^\top Q = I$. Then", r"\|Q x\| = \|x\|", r"\|Q x\| = 2 \|x\|"),
    (r"Suppose $\sum_{i=1}^n p_i = 1$. Then", r"\sum_{i=1}^n (p_i - 1 / n) = 0", r"\sum_{i=1}^n (p_i - 1) = 0"),
    (
        r"Assume that $y = X \beta + \epsilon$. Then",
        r"(X^\top X)^{-1} X^\top y = \beta + (X^\top X)^{-1} X^\top \epsilon",
        r"(X^\top X)^{-1} X^\top y = \beta + X^\top \epsilon",
    ),
]


@pytest.mark.parametrize("head, right, wrong", RIGHT)
def test_what_is_assumed_of_undeclared_symbols_counts(head: str, right: str, wrong: str) -> None:
    found = [check_document(f"{head}\n\n$$ {one} $$\n", infer=True).steps for one in (right, wrong)]
    assert [len(steps) for steps in found] == [1, 1]  # the sentence is read
    assert found[0][0].verdict in GOOD and found[1][0].verdict not in GOOD


@pytest.mark.parametrize(
    "head", ["We show that $a = b$.", "Is $a = b$?", "Often $a = b$.", "Suppose $a = b$ is false."]
)
def test_what_is_not_assumed_does_not_count(head: str) -> None:
    assert check_document(f"{head}\n\n$$ 2 a = 2 b $$\n", infer=True).steps[-1].verdict not in GOOD


@pytest.mark.parametrize("head", [r"Let $x \ne 0$ be a vector.", "Suppose the vectors satisfy $x = 2 y$."])
def test_words_that_speak_of_arrays_make_no_numbers(head: str) -> None:
    found = check_document(f"{head}\n\n$$ x x^\\top = x^\\top x $$\n", infer=True)
    assert found.steps[-1].verdict not in GOOD


def test_an_assumption_ends_with_its_section() -> None:
    found = check_document("# A\n\nSuppose $a = b$.\n\n$$ 2 a = 2 b $$\n\n# B\n\n$$ 3 a = 3 b $$\n", infer=True).steps
    assert found[0].verdict in GOOD and found[1].verdict not in GOOD


def test_what_defines_a_case_is_not_assumed() -> None:
    text = "$$ S = P + Q $$\n\nwhere $P$ is when $i = l$; and $Q$ is the rest.\n\n$$ 2 i = 2 l $$\n"
    assert check_document(text, infer=True).steps[-1].verdict not in GOOD
