r"""Words for what is taken of rows, columns and all entries of an array; a declared word keeps its own meaning."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.effort import Effort
from attention_core.derivation.elaborate.row_functions import row_function
from attention_core.derivation.records import GOOD, StepReport, Verdict

HEAD = r"""Let $n \in \mathbb{N}$, $m \in \mathbb{N}$ with $m \ge 2$, $S, B \in \mathbb{R}^{n \times m}$ and $x \in \mathbb{R}^n$.
All hypotheses are declared as formulas."""


def step_of(step: str, head: str = HEAD) -> StepReport:
    return check_document(f"{head}\n\n$$ {step} $$\n", effort=Effort(seconds=4.0), infer=True).steps[-1]


RIGHT_AND_WRONG = [
    (r"\operatorname{rowsum}(S)_1 = \sum_{j=1}^m S_{1j}", r"\operatorname{rowsum}(S)_1 = \sum_{j=1}^n S_{j1}"),
    (
        r"\mathrm{row\_sum}(S \odot B) = \operatorname{diag}(S B^\top)",
        r"\mathrm{row\_sum}(S \odot B) = S B^\top \mathbf{1}_n",
    ),
    (r"\operatorname{colsum}(S) = S^\top \mathbf{1}_n", r"\operatorname{colsum}(S) = S \mathbf{1}_m"),
    (r"\mathrm{rowmax}(S)_1 = \max_{j=1}^m S_{1j}", r"\mathrm{rowmax}(S)_1 = \max_{i=1}^n S_{i1}"),
    (r"\mathrm{colmin}(S)_1 \le S_{11}", r"\mathrm{colmin}(S)_1 \ge S_{11}"),
    (r"\mathrm{rowmean}(S) = \frac1m S \mathbf{1}_m", r"\mathrm{rowmean}(S) = S \mathbf{1}_m"),
    (r"\operatorname{mean}(x) = \frac1n \sum_{i=1}^n x_i", r"\operatorname{mean}(x) = \sum_{i=1}^n x_i"),
    (
        r"\operatorname{mean}(S) = \frac{1}{n m} \sum_{i=1}^n \sum_{j=1}^m S_{ij}",
        r"\operatorname{mean}(S) = \operatorname{sum}(S)",
    ),
    (
        r"\operatorname{var}(x) = \frac1n \|x\|_2^2 - \operatorname{mean}(x)^2",
        r"\operatorname{var}(x) = \frac1n \|x\|_2^2 + \operatorname{mean}(x)^2",
    ),
    (r"\operatorname{std}(x)^2 = \operatorname{var}(x)", r"\operatorname{std}(x) = \operatorname{var}(x)"),
]


@pytest.mark.parametrize(("right", "wrong"), RIGHT_AND_WRONG, ids=[right[:30] for right, _ in RIGHT_AND_WRONG])
def test_they_are_decided(right: str, wrong: str) -> None:
    assert step_of(right).verdict in GOOD
    assert step_of(wrong).verdict is Verdict.REFUTED


def test_a_variance_over_one_less_is_another_reading() -> None:
    step = step_of(r"(n - 1) \operatorname{var}(x) = \|x - \operatorname{mean}(x) \mathbf{1}_n\|_2^2")
    assert step.verdict is Verdict.AMBIGUOUS
    assert "over n - 1" in step.evidence.text


def test_sentences_take_them_too() -> None:
    head = f"{HEAD} Put $r := \\operatorname{{rowsum}}(S)$."
    assert step_of(r"r = S \mathbf{1}_m", head).verdict in GOOD
    assert step_of(r"r = 2 S \mathbf{1}_m", head).verdict is Verdict.REFUTED


def test_the_meaning_that_a_document_declares_wins() -> None:
    head = f"{HEAD} Put $\\operatorname{{mean}}(t) := \\sum_{{i=1}}^n t_i$."
    assert step_of(r"\operatorname{mean}(x) = \sum_{i=1}^n x_i", head).verdict in GOOD


def test_undeclared_matrices_get_their_shapes() -> None:
    step = step_of(r"\mathrm{rowsum}(P) = P \mathbf{1}", "# Rows")
    assert step.verdict in GOOD


@pytest.mark.parametrize(
    ("name", "word"),
    [
        (r"\text{row\_sum}", "rowsum"),
        (r"\text{RowMax}", "rowmax"),
        (r"\text{avg}", "mean"),
        (r"\text{foo}", ""),
        ("r", ""),
    ],
)
def test_spellings(name: str, word: str) -> None:
    assert row_function(name) == word
