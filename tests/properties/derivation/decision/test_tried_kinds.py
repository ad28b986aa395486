"""attention_core.derivation.decision.tried_kinds: words whose hypotheses were tried say nothing of the step."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.check import document_steps
from attention_core.derivation.decision.tried_kinds import KINDS, find_harmless_words
from attention_core.derivation.reading.step import Step
from attention_core.derivation.records import Evidence, Finding, Verdict

ENDS = r"\sum_{j=1}^n (x_j + c) = \sum_{j=1}^{n-1} x_j + n c"
SYMMETRY = r"x^\top B (A + A^\top) x = 2 x^\top B A x"  # holds of a symmetric A


def read(formula: str) -> Step:
    (step,) = document_steps(f"We find\n\n$$ {formula} $$\n", infer=True)[1]
    assert isinstance(step, Step)
    return step


@pytest.mark.parametrize(
    ("words", "formula", "verdict"),
    [
        ("Here $x$ is normalized.", ENDS, "REFUTED"),  # neither the norm nor the sum makes the last entry 0
        ("Here $x$ is centered.", ENDS, "REFUTED"),
        ("Here $x$ is constant.", ENDS, "UNDECIDED"),  # any constant, such as 0
        ("Here $x$ is not normalized.", ENDS, "UNDECIDED"),  # what is denied is another sentence
        ("Here $x$ is normalized and sparse.", ENDS, "UNDECIDED"),
    ],
)
def test_a_sentence_of_a_kind_that_was_tried_leaves_nothing_open(words: str, formula: str, verdict: str) -> None:
    text = f"{words}\n\nSome words.\n\nMore words.\n\nNow we find\n\n$$ {formula} $$\n"
    assert check_document(text, infer=True).steps[-1].verdict == verdict


def test_a_kind_by_which_the_step_holds_is_not_harmless() -> None:
    from attention_core.derivation.effort import Effort
    from attention_core.derivation.judge import _decide_under

    harmless = find_harmless_words(read(SYMMETRY), _decide_under(Effort(seconds=2)))
    assert not any(one.search("a symmetric matrix") or one.search("the covariance") for one in harmless)
    assert any(one.search("unit vectors") for one in harmless)


def test_a_symmetric_filter_has_the_same_entries_from_both_ends() -> None:
    text = "The filter is symmetric.\n\nSome words.\n\nMore words.\n\nNow we find\n\n$$ %s $$\n"
    turned = r"\sum_{k=1}^n h_k x_k = \sum_{k=1}^n h_{n+1-k} x_k"
    assert check_document(text % turned, infer=True).steps[-1].verdict == "UNDECIDED"
    assert check_document(text % ENDS, infer=True).steps[-1].verdict == "REFUTED"


def test_what_cannot_be_decided_under_a_formula_is_not_harmless() -> None:
    def decide(*_: object) -> Finding:
        return Finding(Verdict.UNDECIDED, Evidence("no time"))

    kept = find_harmless_words(read(ENDS), decide)
    assert not any(one.search("normalized") for one in kept)
    assert any(one.search("skew") for one in kept)  # of numbers nothing is written, so that it means nothing


def test_every_kind_writes_something_of_a_matrix_a_column_or_numbers() -> None:
    written: dict[int, list[str]] = {}
    for formula in (r"(A + A^\top) x = 2 A x", ENDS, r"\sum_{r=1}^R b_r^\top x_r = \sum_{r=1}^R b_1^\top x_r"):
        asked: list[str] = []

        def decide(step: Step, more: object, asked: list[str] = asked) -> Finding:
            asked.append(str(more))
            return Finding(Verdict.REFUTED, Evidence("false"))

        find_harmless_words(read(formula), decide)
        written[len(written)] = asked
    assert all(written.values())
    assert len(KINDS) == 10
