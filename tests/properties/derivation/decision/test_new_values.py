"""Beside a display with a new value of a symbol, what holds with the new one on a side is not refuted."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.records import Verdict

PAIRS = [
    ("x = x + 1", "x + 1 - 1 = x + 1", "x + 2 - 1 = x + 3"),
    ("i = i + 1", "n - i = n - i - 1", "n - i = n - i - 2"),
]


@pytest.mark.parametrize("as_read", [False, True])
@pytest.mark.parametrize(("update", "right", "wrong"), PAIRS)
def test_what_holds_with_the_new_value_on_one_side_stays_open(
    update: str, right: str, wrong: str, as_read: bool
) -> None:
    for first, second, place in ((update, right, 1), (right, update, 0)):
        text = f"In the loop\n\n$$ {first} $$\n\nand\n\n$$ {second} $$\n"
        assert check_document(text, infer=True, as_read=as_read).steps[place].verdict is Verdict.UNDECIDED
    text = f"In the loop\n\n$$ {update} $$\n\nso\n\n$$ {wrong} $$\n"
    assert check_document(text, infer=True, as_read=as_read).steps[1].verdict is Verdict.REFUTED


def test_without_the_display_there_is_no_new_value() -> None:
    text = "In the loop\n\n$$ y = y + 1 $$\n\nso\n\n$$ 3 x + 1 - 1 + y = 3 x + y + 1 $$\n\n$$ x + 1 - 1 = x + 1 $$\n"
    assert check_document(text, infer=True).steps[-1].verdict is Verdict.REFUTED


FAR = "\n\nSome words.\n\nMore words.\n\nMore of them.\n\nAll of them.\n\nWe expand and find"
END = r"\sum_{i=1}^m (\theta^\top x_i + c_i) = \sum_{i=1}^{m-1} \theta^\top x_i + \sum_{i=1}^m c_i"


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        (r"Newton's rule is $\theta := \theta - H^{-1} \nabla_\theta l(\theta)$.", True),
        (r"Update $\theta = \theta - H^{-1} g$.", True),
        (r"Update $\theta = -\theta$.", True),
        (r"Here $\theta = -\theta$.", False),
        (r"We iterate until nothing moves, that is until $\theta = -\theta$.", False),
        (r"We update until $\theta = -\theta$.", False),
        (r"Newton's rule starts at $\theta := 0$.", False),
    ],
)
def test_an_update_in_a_sentence_restricts_nothing(words: str, wrong: bool) -> None:
    (step,) = check_document(f"{words}{FAR}\n\n$$ {END} $$\n", infer=True).steps
    assert (step.verdict is Verdict.REFUTED) is wrong


def test_around_an_update_in_a_sentence_a_symbol_has_two_values() -> None:
    text = "In the loop we update $i := i + 1$, so\n\n$$ n - i = n - i - 1 $$\n"
    assert check_document(text, infer=True).steps[-1].verdict is Verdict.UNDECIDED
    assert check_document(text.replace("- 1 $$", "- 2 $$"), infer=True).steps[-1].verdict is Verdict.REFUTED
