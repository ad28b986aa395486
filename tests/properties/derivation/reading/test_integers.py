"""Integers are differences of sizes, and may be even or odd; what else is said of them is quoted."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.reading.integers import is_integer, make_integer
from attention_core.derivation.terms.context import Context, Symbol
from attention_core.derivation.terms.terms import Size

GOOD = ("PROVED", "EXACT", "AGREES")
ODD = [
    r"Let $n \in \mathbb{Z}$ be odd.", "Let $n$ be an odd integer.", r"Let $n \in \mathbb{Z}$ be an odd integer.",
    r"Let $m, n \in \mathbb{Z}$ be odd.", "Let $m, n$ be odd integers.", r"Let $n \in \mathbb{Z}$. Suppose $n$ is odd.",
    r"Let $n \in \mathbb{Z}$ be an odd number.", r"Assume that $n \in \mathbb{Z}$ is odd.",
]  # fmt: skip
PRIME = ["Let $n \\in \\mathbb{Z}$ be prime.", "Let $n$ be a prime number.", "Let $n$ be a prime."]


def verdicts(words: str, *steps: str) -> list[str]:
    text = "\n\n".join([words, *(f"$$ {one} $$" for one in steps)]) + "\n"
    return [str(one.verdict) for one in check_document(text, infer=True).steps if one.text]


@pytest.mark.parametrize("words", ODD)
def test_what_is_odd_or_even_is_so_in_all_cases(words: str) -> None:
    true, false, identity = "(-1)^n = -1", "(-1)^n = 1", "(n + 1)^2 = n^2 + 2 n + 1"
    found = verdicts(words, true, false, identity)
    assert found[0] in GOOD and found[1] == "REFUTED" and found[2] in GOOD
    found = verdicts(words.replace("odd", "even"), true, false, identity)
    assert found[0] == "REFUTED" and found[1] in GOOD and found[2] in GOOD


def test_an_odd_integer_may_be_negative_and_a_positive_one_not() -> None:
    assert verdicts("Let $n$ be an odd integer.", r"n \ge 1") == ["REFUTED"]
    assert verdicts("Let $n$ be a positive odd integer.", r"n \ge 1")[0] in GOOD
    assert verdicts(r"Let $n \in \mathbb{N}_0$ be even.", r"n \ge 0")[0] in GOOD


@pytest.mark.parametrize(
    "words", ["Let $n$ be an odd number.", "Let $n$ be an even number.", "Suppose $n$ is an odd number."]
)
def test_an_odd_number_may_be_meant_as_a_positive_one(words: str) -> None:
    assert not set(verdicts(words, r"n \ge 1", "(-1)^n = 1", "(-1)^n = -1")) & {"REFUTED", *GOOD}


def test_powers_and_squares_among_the_integers() -> None:
    power, square = (
        rf"Let $n \in \mathbb{{Z}}$. Suppose $n$ is {one}." for one in ("a power of two", "a perfect square")
    )
    assert verdicts(power, r"n \ge 1")[0] in GOOD and verdicts(power, r"n \ge 2") == ["REFUTED"]
    assert verdicts(square, r"n \ge 0")[0] in GOOD and verdicts(square, r"n \ge 1") == ["REFUTED"]


@pytest.mark.parametrize("words", PRIME)
def test_what_depends_on_a_prime_stays_open(words: str) -> None:
    found = verdicts(words, r"n \ge 2", "(-1)^n = -1", "(-1)^n = 1")
    assert set(found) <= {"UNDECIDED"}


def test_an_integer_is_a_difference_of_sizes() -> None:
    context = Context()
    symbol = make_integer(context, "k", 3)
    assert sorted(symbol.mentions) == ["k⁺", "k⁻"] and set(context.symbols) == symbol.mentions
    assert is_integer(symbol) and not is_integer(Symbol("n", "size", 1, 0))
    assert sorted(make_integer(context, "m", 3, Size.number(0)).mentions) == ["m⁺"]
