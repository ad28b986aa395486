"""Sets of indices that a document has by a letter: no number is read for the set."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.effort import Effort
from attention_core.derivation.inference.index_sets import index_sets, is_count, is_set, sets_behind
from attention_core.derivation.latex.parse import parse_statement
from attention_core.derivation.latex.syntax import Big, Chain, Fence


def formula_of(text: str) -> Chain:
    chain = parse_statement(text).chains[0]
    assert isinstance(chain, Chain)
    return chain


@pytest.mark.parametrize(
    ("formula", "letters"),
    [
        (r"\sum_{i \in B} x_i", "B"),
        (r"\sum_{i \notin B} x_i", "B"),
        (r"\prod_{t \in T_k} p_t", "T"),
        (r"\sum_{j \in N(i)} a_{ij}", "N"),
        (r"\max_{i \in S} x_i", "S"),
        (r"\sum_{i \in A \cup B} x_i", "AB"),
        (r"\sum_{i \in A \setminus \{j\}} x_i", "A"),
        (r"\sum_{(i, j) \in E} w_{ij}", "E"),
        (r"\sum_{i \in \{1, \dots, n\}} x_i", ""),
        (r"\sum_{i \in [n]} x_i", ""),
        (r"\sum_{i \notin \{1, 2\}} x_i", ""),
        (r"\sum_{i = 1}^{n} x_i", ""),
        (r"\sum_{k \in \mathbb{N}} x^k", ""),
        (r"\max_{\pi \in P} V", ""),  # policies
    ],
)
def test_sets_have_a_letter_and_ranges_do_not(formula: str, letters: str) -> None:
    assert index_sets([formula_of(formula)]) == frozenset(letters)
    assert sets_behind(formula) == frozenset(letters)


def test_a_condition_is_a_set_or_a_range() -> None:
    conditions = [one.below[0] for text in (r"\sum_{i \in B} 1", r"\sum_{i \in [n]} 1", r"\sum_{i \ne j} 1")
                  if isinstance(one := formula_of(text).exprs[0], Big)]  # fmt: skip
    assert [is_set(one) for one in conditions] == [True, False, False]


def test_bars_count_the_elements_of_a_set_alone() -> None:
    bars, other = formula_of("|B_k|").exprs[0], formula_of("|x|").exprs[0]
    assert isinstance(bars, Fence) and isinstance(other, Fence)
    assert is_count(bars, frozenset("B")) and not is_count(other, frozenset("B"))
    assert sets_behind("|B_k|", frozenset("B")) == frozenset("B") and not sets_behind("|B|")
    assert not sets_behind(r"f(\cdot)_{")


def readings(text: str) -> str:
    """What the evidence says of the steps of a document."""
    return "\n".join(f"{one.evidence.text} {one.evidence.figures}" for one in check(text).steps)


def check(text: str, **options: bool):
    return check_document(text, effort=Effort(seconds=2), infer=True, **options)


@pytest.mark.parametrize("bars", ["|B|", r"\left|B\right|", r"\lvert B \rvert"])
def test_a_set_is_not_read_as_a_number(bars: str) -> None:
    text = (
        rf"$$ \frac{{1}}{{{bars}}} \sum_{{i \in B}} 2 x_i + 1 = 1 + \frac{{1}}{{{bars}}} \sum_{{i \in B}} 2 x_i $$"
        + "\n"
    )
    shown = readings(text)
    assert r"|B| \in \mathbb{R}" in shown and r"'B \in" not in shown and "; B " not in shown
    assert [one.passed for one in check(text).steps] == [True]


def test_bars_of_a_number_stay_an_absolute_value() -> None:
    """The letter is not that of a set, or is declared as a number."""
    text = "$$ |b| \\ge 0 $$\n\n$$ \\sum_{i \\in B} x_i = \\sum_{i \\in B} x_i $$\n"
    assert check(text).steps[0].passed
    assert (
        check("Let $B \\in \\mathbb{R}$.\n\n$$ |B| + \\sum_{i \\in B} x_i \\ge \\sum_{i \\in B} x_i $$\n")
        .steps[0]
        .passed
    )


def test_a_set_is_none_in_the_statement_alone_either() -> None:
    """The second reading of a formula, without the section around it, keeps the sets of the section."""
    text = "$$ |B| \\ge 1 $$\n\n$$ \\sum_{i \\in B} x_i = 3 $$\n"
    assert "B = 0" not in readings(text).replace("|B| = 0", "")


def test_a_count_may_end_a_sum() -> None:
    text = "Let $x_1, \\dots, x_n \\in \\mathbb{R}$.\n\n" \
        "$$ \\sum_{k=1}^{|B|} 2 x_k = 2 \\sum_{k=1}^{|B|} x_k $$\n\n$$ \\sum_{k \\in B} x_k = 1 $$\n"  # fmt: skip
    assert check(text).steps[0].passed


def test_a_wrong_step_about_a_set_is_not_accepted() -> None:
    for wrong in (r"\sum_{i \in B} 1 = 2 |B|", r"\sum_{i \in B} x_i = |B| x_1", r"|B| + \sum_{i \in B} x_i = |B|"):
        assert not check(f"$$ {wrong} $$\n").steps[0].passed


def test_the_message_on_a_set_proposes_no_number() -> None:
    text = "$$ |S| \\ge 1 $$\n\n$$ \\sum_{i \\in S} x_i = 1 $$\n"
    message = check_document(text).steps[0].evidence.text
    assert message.startswith("S is a set of indices, which no declaration describes: write a range")
    other = check_document("$$ |s| \\ge 1 $$\n\n$$ \\sum_{i \\in S} x_i = 1 $$\n").steps[0].evidence.text
    assert r"s is not declared: write 'Let $s \in \mathbb{R}$'" in other
