"""The range of an index: behind a comma, behind "for", in a declaration.

Ranges of indices are understood in every way they are written, and never as their first value or as every value.
Each form is tried on a claim and on a hypothesis that only hold on the range that is meant.
"""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document

FAMILY = r"Let $n \in \mathbb{N}$, $n \ge 3$ and $v_1, \dots, v_n \in \mathbb{R}$"
DECLARED = r" Let $i \in \{1, \dots, n\}$."


def verdicts(declared: str, display: str) -> list[str]:
    return [str(step.verdict) for step in check_document(f"{declared}\n\n$$ {display} $$\n").steps]


ALL = [
    r", i \in \{1,...,n\}", r", \quad i \in \{1,\dots,n\}", r", \qquad i \in [n]", r", i = 1, \ldots, n",
    r", \quad i = 1, \dots, n", r", \quad i = 1, 2, \dots, n", r", \quad 1 \le i \le n", r", 1 \leq i \leq n",
    r" \quad \forall i", r", \quad \forall i", r", \forall i \in \{1, \ldots, n\}", r" \text{ for } i = 1, \dots, n",
    r" \text{ for all } i \in \{1, 2, \dots, n\}", r" \text{ for } i \in [n]", r" \text{ for } 1 \le i \le n",
]  # fmt: skip


@pytest.mark.parametrize("index", ["", DECLARED], ids=["free", "declared"])
@pytest.mark.parametrize("condition", ALL)
def test_a_range_of_all_values_is_a_condition_for_each_of_them(condition: str, index: str) -> None:
    """v_i = v_1 is true of the first value alone: a range that is read as `i = 1` would let it pass."""
    assert verdicts(FAMILY + "." + index, r"v_i^2 = v_i v_i" + condition) == ["PROVED"]
    assert verdicts(FAMILY + "." + index, r"v_i = v_1" + condition) == ["REFUTED"]


PART = [
    r"i = 2, \dots, n", r"i = 2, 3, \dots, n", r"i \in \{2, \dots, n\}", r"2 \le i \le n", r"i > 1", r"1 < i",
    r"i \ne 1",
]  # fmt: skip


@pytest.mark.parametrize("index", ["", DECLARED], ids=["free", "declared"])
@pytest.mark.parametrize("condition", PART)
def test_a_range_of_some_values_says_nothing_of_the_others(condition: str, index: str) -> None:
    some = FAMILY + f" with $v_i = 0$ for ${condition}$." + index
    assert verdicts(some, "v_2 = v_3") == ["EXACT"]
    assert verdicts(some, "v_1 = 0") == ["REFUTED"]
    ends = FAMILY + " with $v_2 = 0$ and $v_3 = 0$ and $n = 3$." + index
    assert verdicts(ends, rf"v_i = 0 \text{{ for }} {condition}") in (["EXACT"], ["PROVED"])
    assert verdicts(ends, r"v_i v_1 = 0 \text{ for all } i") == ["REFUTED"]


@pytest.mark.parametrize("condition", [r"i \in \{2\}", r"i = 2", r"i \in \{2, 3\}", r"i = 2, 3"])
def test_single_values_are_ranges_too(condition: str) -> None:
    known = FAMILY + " with $v_2 = 0$ and $v_3 = 0$."
    assert verdicts(known, rf"v_i = 0 \text{{ for }} {condition}") == ["EXACT"]
    assert verdicts(FAMILY + ".", rf"v_i = 0 \text{{ for }} {condition}") == ["REFUTED"]


@pytest.mark.parametrize(
    ("declared", "display", "words"),
    [
        ("", r"v_i = v_1 \text{ for } i \in \{1, 3, \dots, n\}", "leaves values out"),
        ("", r"v_i = v_1 \text{ for } i \in \{1, 3\}", "leaves values out"),
        ("", r"v_i = v_1 \text{ for } i = 1, \dots", "does not say where it ends"),
        (" Let $x \\in \\mathbb{R}$.", r"v_1 = v_1, \quad x = 1, \dots, n", "could be a condition or a claim"),
        (" Let $x \\in \\mathbb{R}$.", r"v_1 = v_1, \quad 1 \le x \le n", "could be a condition or a claim"),
    ],
)
def test_other_ranges_are_not_guessed_at(declared: str, display: str, words: str) -> None:
    (step,) = check_document(f"{FAMILY}.{declared}\n\n$$ {display} $$\n").steps
    assert step.verdict == "UNREADABLE" and words in step.evidence.text


def test_a_law_is_for_every_member() -> None:
    law = FAMILY + r". Let $m_1, \dots, m_n \in \mathbb{R}$. Let $k_i \sim \mathcal{N}(m_i, 1)$ for $i = %s$."
    assert verdicts(law % r"1, \dots, n", r"\mathbb{E}[k_2] = m_2") == ["EXACT"]
    assert verdicts(law % r"2, \dots, n", r"\mathbb{E}[k_2] = m_2")[0] == "UNREADABLE"


def test_a_letter_that_was_bound_may_be_declared_afterwards() -> None:
    """`$v_i = 0$ for $i > 1$` speaks of all members: a declaration of i is no restatement of it."""
    assert verdicts(FAMILY + r" with $v_i = 0$ for $i > 1$." + DECLARED, "v_2 = 0") == ["EXACT"]
    assert verdicts(FAMILY + "." + DECLARED + r" Let $v_i > 0$.", "v_i > 0") == ["AGREES"]
    restated = FAMILY + "." + DECLARED + r" Let $v_i > 0$. Let $i \in \{1, \dots, n\}$."
    # led by a word that claims it: alone, it would read as the hypothesis that was dropped, said again
    assert verdicts(restated + "\n\nHence", "v_i > 0") == ["REFUTED"]
