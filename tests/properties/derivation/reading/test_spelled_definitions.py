"""Definitions inside sentences stand behind what these declare; a name that may restrict keeps the sentence as it is."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.effort import Effort
from attention_core.derivation.reading.spelled_definitions import spell_definitions
from attention_core.derivation.records import GOOD, Verdict


@pytest.mark.parametrize(
    ("sentence", "right", "wrong"),
    [
        (r"Let the loss be $L = \|w\|^2$, $w \in \mathbb{R}^d$.", r"L \ge 0", r"L \ge 1"),
        (r"Define the softplus by $s(x) = \log(1 + e^x)$ for $x \in \mathbb{R}$.", "s(x) > 0", "s(x) > 1"),
        (r"We use the activation $r(x) = \max(0, x)$, where $x$ is a real number.", r"r(x) \ge x", "r(x) = x"),
        (r"For a vector $x \in \mathbb{R}^n$ we write $m = \frac1n \sum_{i=1}^n x_i$ for its mean.", r"\sum_{i=1}^n x_i = n m",
         r"\sum_{i=1}^n x_i = m"),
        (r"With $\beta = 1 / \tau$ for any $\tau > 0$,", r"\beta \tau = 1", r"\beta \tau = 2"),
        (r"Let $x \in \mathbb{R}^d$ be an input, $W \in \mathbb{R}^{m \times d}$ a matrix and $y = W x$ the output.",
         r"y^\top y = x^\top W^\top W x", "y = W x + y"),
    ],
)  # fmt: skip
def test_a_definition_is_read_behind_what_it_uses(sentence: str, right: str, wrong: str) -> None:
    claim = "" if sentence.endswith(",") else "Hence\n\n"
    steps = [f"{sentence}\n\n$$ {right} $$\n", f"{sentence}\n\n{claim}$$ {wrong} $$\n"]
    found = [check_document(one, infer=True, effort=Effort(seconds=4.0)).steps[-1].verdict for one in steps]
    assert found[0] in GOOD and found[1] is Verdict.REFUTED


@pytest.mark.parametrize(
    ("text", "formulas", "above"),
    [
        ("Consider the rank-one matrix \x000\x00, with \x001\x00.", [r"M = u v", r"u \in \mathbb{R}"], ""),
        ("Let the loss be \x000\x00, with \x001\x00.", ["L = 2 w", r"w \in \mathbb{R}"], "L > 0"),
        ("Let the loss be \x000\x00 for \x001\x00.", ["L = 2 w", r"L \in \mathbb{R}"], ""),
        ("Let the loss be \x000\x00.", ["L = 2"], ""),
    ],
)
def test_what_may_restrict_or_is_known_stays(text: str, formulas: list[str], above: str) -> None:
    assert spell_definitions(above, text, formulas) == text
