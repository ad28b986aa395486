"""Sizes that nothing names get names that a person would choose."""

from __future__ import annotations

import re

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.effort import Effort
from attention_core.derivation.inference.fresh_sizes import FRESH, free_name
from attention_core.derivation.reading.scaffold import scaffold

LETTERS = ("n", "d", "m", "p", "q", "r", "h", "l", "k", "s", "N", "M", "D", "K", "H", "L")
USED = " + ".join(rf"\frac{{1}}{{{letter}}}" for letter in LETTERS)
HEADS = ("", f"$$ {USED} = {USED} $$", f"$$ n_1 + {USED} = n_1 + {USED} $$")
FIRST = "\n\n$$ (A B)^\\top = B^\\top A^\\top $$\n\n"
SECOND = "# Next\n\n$$ (C F)^\\top = F^\\top C^\\top $$\n"


def test_letters_that_are_free_come_first() -> None:
    assert [free_name(FRESH[:count]) for count in range(4)] == list(FRESH[:4])
    taken = set(FRESH)
    while len(name := free_name(taken)) == 1:
        taken.add(name)
    assert name == "n_{1}" and taken == set(LETTERS)
    assert free_name({*taken, "n_{1}"}) == "d_{1}"


def test_a_letter_with_entries_gets_no_number() -> None:
    """`n_1` would be an entry of n."""
    taken = {chr(code) for code in range(65, 123)}
    assert free_name(taken, lambda letter: letter != "n") == "d_{1}"
    assert free_name(taken, lambda _: False) == r"\nu_{1}"


@pytest.mark.parametrize("head", HEADS)
def test_readings_name_sizes_as_a_person_would(head: str) -> None:
    steps = check_document(head + FIRST + SECOND, infer=True, effort=Effort(seconds=2)).steps
    read = [str(one) for step in steps for one in step.evidence.figures.get("read_as", ())]
    found = [re.search(r"\{R\}\^\{(\S+) \\times (\S+)\} ", one) for one in read if one[:2] in ("A ", "B ", "C ", "F ")]
    (a, b), (c, d), (e, f), (g, h) = (one.groups() for one in found if one is not None)
    assert b == c and f == g and len({a, b, d}) == len({e, f, h}) == 3  # one size has one name, and two have two
    names = {a, b, c, d, e, f, g, h}
    assert all(re.fullmatch(r"[a-zA-Z](_\{\d\})?", one) for one in names)
    assert not head or not names & {*LETTERS, *(["n_{1}"] if "n_1" in head else [])}


def test_the_scaffold_declares_them() -> None:
    text = HEADS[1] + FIRST
    assert "n_{1}" in scaffold(text)
    assert all(step.passed for step in check_document(f"{scaffold(text)}\n{text}", effort=Effort(seconds=2)).steps)
