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


WRONG = [
    ("Suppose $x + y = 10$. Then", "y = 11 - x", "x y = 11 x - x^2"),
    ("Suppose $y = 3 x$. Then", "y = 7 x", "y^2 = 49 x^2"),
    ("Suppose $u = v$. Then", "v = 2 u", "v^2 = 4 u^2"),
    ("Suppose $e^x = 2$. Then", r"x = \log 3", r"2 x = \log 9"),
    ("Suppose $A x = b$. Then", "x = A b", r"x^\top x = b^\top A^\top A b"),
    ("If $x + y = 10$, then", "y = 11 - x", "x y = 11 x - x^2"),
]


@pytest.mark.parametrize("head, first, second", WRONG)
def test_a_display_defines_nothing_that_is_assumed_otherwise(head: str, first: str, second: str) -> None:
    found = check_document(f"{head}\n\n$$ {first} $$\n\nHence\n\n$$ {second} $$\n", infer=True).steps
    assert found[0].verdict not in GOOD and not any("internal" in one.evidence.text for one in found)
    assert found[1].verdict not in GOOD or "by what the document states above" in found[1].evidence.text


def test_a_right_conclusion_from_what_is_assumed_is_accepted() -> None:
    for head in ("If $x + y = 10$, then", "Suppose $x + y = 10$. Then"):
        text = f"{head}\n\n$$ y = 10 - x $$\n\nso that\n\n$$ x y = x (10 - x) $$\n"
        assert all(one.verdict in GOOD for one in check_document(text, infer=True).steps), head


@pytest.mark.parametrize(
    "words",
    [
        "Suppose not. Then",
        "Suppose now that this is not the case. Then",
        "But this need not hold. For instance,",
        "This is the trivial case. In the nontrivial case,",
        "Consider the general situation:",
        "The next exercise is to show that",
    ],
)
def test_words_that_turn_to_another_case_end_what_is_assumed(words: str) -> None:
    text = f"Suppose $x = y$. Then\n\n$$ x^2 = x y $$\n\n{words}\n\n$$ x^2 = x y $$\n"
    first, last = check_document(text, infer=True).steps
    assert first.verdict in GOOD and last.verdict not in GOOD


def test_an_equation_that_is_to_be_solved_is_not_assumed() -> None:
    text = "Suppose the equation $x = y$ is to be solved numerically. Then\n\n$$ x^2 = x y $$\n"
    assert check_document(text, infer=True).steps[-1].verdict not in GOOD
