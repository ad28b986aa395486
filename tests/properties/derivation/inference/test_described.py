"""What words say of symbols without a size."""

from __future__ import annotations

from attention_core.derivation.inference.described import Described, nearest


def test_the_noun_says_matrix_and_the_words_say_square() -> None:
    symmetric, plain, unit = (Described(1, ("A",), one) for one in ("a symmetric matrix", "a matrix", "a unit vector"))
    assert [one.is_matrix for one in (symmetric, plain, unit)] == [True, True, False]
    assert [one.is_square for one in (symmetric, plain, unit)] == [True, False, False]
    assert Described(1, ("A", "B"), "diagonal matrices").text == "Assume $A$, $B$ are diagonal matrices."


def test_what_was_said_last_above_a_line_counts() -> None:
    early, late = Described(1, ("A",), "a matrix"), Described(9, ("A",), "a symmetric matrix")
    assert nearest([early, late], 5) == {"A": early}
    assert nearest([early, late], 20) == {"A": late}
    assert nearest([late], 5) == {}
