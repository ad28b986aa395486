"""Which letters are in bold, and of which symbols that speaks."""

from __future__ import annotations

from attention_core.derivation.inference.bold_letters import bold_letters


def test_letters_alone_and_with_an_index_are_told_apart() -> None:
    found = bold_letters(r"\mathbf{x}_i + \mathbf w - \boldsymbol{\mu}")
    assert found.indexed == {"x"} and found.alone == {"w", r"\mu"}
    assert found.holds("x_{i}") and not found.holds("x") and found.holds("w")


def test_the_label_of_a_sample_is_its_index() -> None:
    found = bold_letters(r"\sum_i \mathbf{x}^{(i)} + y^{(i)}")
    assert found.holds(r"x^{(\cdot)}_{i}") and not found.holds(r"y^{(\cdot)}_{i}")
