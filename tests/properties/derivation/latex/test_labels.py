"""What stands over, below or in the label of a sign."""

from __future__ import annotations

import pytest

from attention_core.derivation.latex.labels import around_operator, holds_relation, labels_of_braces, without_remark


@pytest.mark.parametrize(
    ("name", "label", "base", "written"),
    [
        ("underset", "w", r"\max", r"\max_{w}"),
        ("underset", "w", "min", r"\min_{w}"),
        ("underset", "w", r"\text{arg max}", r"\operatorname{argmax}_{w}"),
        ("overset", "n", r"\underset{i=1}{\sum}", r"\underset{i=1}{\sum}^{n}"),
        ("stackrel", "w", r"\max", ""),
        ("underset", "1", "x", ""),
    ],
)
def test_an_operator_takes_what_stands_around_it(name: str, label: str, base: str, written: str) -> None:
    assert around_operator(name, label, base) == written


@pytest.mark.parametrize(
    ("name", "label", "base", "written"),
    [
        ("underset", r"n \times d", "X", "{X}"),
        ("underset", "1", "x", r"\bar{x^{1}}"),
        ("overset", "*", "x", r"\bar{x^{*}}"),
        ("underset", "n = d", "X", ""),
        ("overset", "d", "=", ""),
    ],
)
def test_sizes_are_a_remark_and_other_marks_make_a_symbol(name: str, label: str, base: str, written: str) -> None:
    assert without_remark(name, label, base) == written


@pytest.mark.parametrize(
    ("label", "holds"), [("= 1", True), (r"\to 0", True), (r"\sum_{i = 1}", False), ("words", False)]
)
def test_relations_in_labels_are_found(label: str, holds: bool) -> None:
    assert holds_relation(label) is holds


def test_labels_that_claim_are_listed_with_their_places() -> None:
    text = r"\underbrace{a}_{= 1} + \overbrace{b}^{\text{in} \to \text{out}} + \underbrace{c}_{n} + \underbrace{d} + \underbrace"
    assert list(labels_of_braces(text)) == [(0, "= 1")]
