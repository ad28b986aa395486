"""Check cells: empty answers are recognised, wrong ones are shown with a case, and no check raises."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from attention_core.teaching.check_cells import (
    Answer,
    check_against,
    check_formula,
    check_function,
    check_list,
    check_selection,
    is_same,
    is_unwritten,
)


def only_words(x: Any) -> Any:
    """Say what is to be done."""
    ...  # noqa: PIE790


def with_a_gap(x: Any) -> Any:
    y = ...
    return y


def hands_dots_back(x: Any) -> Any:
    return ...


def indexes(x: Any) -> Any:
    return x[..., 0]


def gives_none(x: Any) -> Any:
    print(x)


class HalfWritten:
    def __init__(self) -> None:
        self.n = 0

    def step(self) -> None: ...


@pytest.mark.parametrize("answer", [..., only_words, with_a_gap, hands_dots_back, HalfWritten])
def test_gaps_are_recognised(answer: Any) -> None:
    assert is_unwritten(answer)


@pytest.mark.parametrize("answer", [indexes, gives_none, lambda: 1, len, "x", 0, None, Answer])
def test_what_is_written_is_not_a_gap(answer: Any) -> None:
    assert not is_unwritten(answer)


def test_a_wrong_function_is_shown_with_its_mistake_and_a_program_that_runs() -> None:
    def attn_softmax(A: torch.Tensor) -> torch.Tensor:
        return torch.softmax(A, -2)

    answer = check_function(attn_softmax, "self-attention-steps", kind="attn_softmax")
    text = str(answer)
    assert not answer.right and text.startswith("attn_softmax: not yet right\n  It looks as if the softmax runs over")
    assert "Broken law: Each step gives" in text and "The smallest input on which it shows: float64" in text
    with pytest.raises(AssertionError, match="but should be"):
        exec(answer.program, {"attn_softmax": attn_softmax})


def test_a_right_function_says_how_hard_was_looked() -> None:
    answer = check_function(lambda A: torch.softmax(A, -1), "self-attention-steps", kind="attn_softmax")
    assert answer.right and answer.lines == ("5 laws held on 81 problems; no counterexample was found.",)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: check_function(len, "no-such-contract"), "no-such-contract"),
        (lambda: check_function(torch.softmax, laws=("no_such_law",)), "no_such_law"),
        (lambda: check_function(lambda A: print(end=""), "self-attention-steps", kind="attn_softmax"), "NoneType"),
        (lambda: check_formula("$$ 1 = ANSWER $$\n", "$1$"), "without dollar signs"),
        (lambda: check_formula("$$ 1 = ANSWER $$\n", "1 \\tag{x}"), "One formula"),
        (lambda: check_formula("$$ 1 = ANSWER $$\n", " "), "not written yet"),
        (lambda: check_formula("Let $p \\in \\mathbb{R}$.\n\n$$ p = ANSWER $$\n", "p", without=("p",)), "without p"),
        (lambda: check_formula("$$ 1 = ANSWER $$\n", "\\frac{1"), "UNREADABLE"),
        (lambda: check_selection("1.2.2", q="k_0"), "Another vector"),
        (lambda: check_selection("1.2.1", q=...), "not written yet"),
        (lambda: check_against(lambda x: 1 / x, abs, [(0,)]), "It raises ZeroDivisionError"),
        (lambda: check_against(lambda x: x.append(1) or 1, len, [([2],)]), "writes into its arguments"),
        (lambda: check_list("train", []), "0 checks passed"),
    ],
)
def test_what_cannot_be_judged_is_said_and_not_raised(call: Any, words: str) -> None:
    answer = call()
    assert not answer.right and words in str(answer)


def test_letters_of_commands_are_not_symbols() -> None:
    document = "Let $\\epsilon > 0$ and $p > 0$.\n\n$$ \\epsilon + \\epsilon = ANSWER $$\n"
    assert check_formula(document, "2 \\epsilon", without=("p", "\\sum")).right
    assert "REFUTED" in str(check_formula(document, "3 \\epsilon", without=("p",)))


def test_hints_name_the_mistake_only_where_all_results_are_its() -> None:
    cases = [([1, 2],), ([3, 1, 2],)]
    hints = {"it takes the first": lambda x: x[0], "it takes the last": lambda x: x[-1]}
    wrong = check_against(lambda x: x[-1], max, cases, hints=hints)
    assert wrong.lines[0] == "It looks as if it takes the last." and "case" in wrong.lines[1]
    assert "It looks as if" not in str(check_against(lambda x: 7, max, cases, hints=hints))


def test_what_a_student_writes_is_escaped() -> None:
    page = Answer("<b>x</b>", False, ("<script>",), "<i>")._repr_html_()
    assert "<script>" not in page and "<b>x" not in page and "&lt;i&gt;" in page


@pytest.mark.parametrize(
    ("got", "want", "same"),
    [
        (torch.ones(2), torch.ones(2), True),
        (np.ones(2), torch.ones(2), True),
        (torch.ones(2), torch.ones(1, 2), False),
        ([1.0], torch.ones(1), False),
        (torch.tensor([torch.nan]), torch.tensor([torch.nan]), True),
        (1, 1.0, True),
        ("1", 1.0, False),
        ({"a": 1.0}, {"a": 1.0 + 1e-13}, True),
        ({"a": 1.0}, {"b": 1.0}, False),
        ([1, 2], (1, 2), True),
        ([1], (1, 2), False),
    ],
)
def test_results_are_compared_by_what_they_are(got: Any, want: Any, same: bool) -> None:
    assert is_same(got, want) is same
