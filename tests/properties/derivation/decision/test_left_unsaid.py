"""What a step does not write, the ends of a sum or changes of what is held fixed, leaves it open with --as-read."""

from __future__ import annotations

from attention_core.derivation import check_document
from attention_core.derivation.records import Verdict


def verdict(text: str) -> Verdict:
    return check_document(text, as_read=True).steps[-1].verdict


def test_the_ends_of_a_sum_with_a_shifted_index_are_open() -> None:
    assert verdict(r"$$ \sum_i x_i w_{t + i} = \sum_i x_{i - t} w_i $$") is Verdict.UNDECIDED
    assert (
        verdict(r"$$ \sum_{i=1}^n x_i w_{i + 1} = \sum_{i=1}^n 2 x_i w_{i + 1} + \sum_{i=1}^n x_i $$")
        is Verdict.REFUTED
    )
    assert verdict(r"$$ \sum_i x_i w_i + \sum_i x_i = \sum_i x_i w_i + 3 \sum_i x_i^2 $$") is Verdict.REFUTED


ERROR = "# Errors\n\nThe error is\n\n$$ u = \\hat{Y} - B' W A $$\n\nThe loss is\n\n$$ J = \\frac{1}{2} \\text{tr}(u'u) $$\n\n"
LEAD = "First take differential:\n\n"


def test_changes_that_are_not_written_may_be_zero() -> None:
    assert verdict(f"{ERROR}{LEAD}$$ dJ = \\text{{tr}}(u'du) = -\\text{{tr}}(u'B'dWA) $$") is Verdict.UNDECIDED


def test_without_changes_such_a_step_is_refuted() -> None:
    assert verdict(f"{ERROR}We find\n\n$$ \\text{{tr}}(u'u) = -\\text{{tr}}(u'B' W A) $$") is Verdict.REFUTED
