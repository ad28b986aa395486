"""Which words around a step of numbers alone may say how its numbers are written or added."""

from __future__ import annotations

import pytest

from attention_core.derivation.check import check_document, document_steps
from attention_core.derivation.decision.words_of_numbers import (
    find_singled_place,
    find_unread_words,
    leads_to,
    may_be_of_numbers,
    names_numbers,
)
from attention_core.derivation.reading.step import Step
from attention_core.derivation.terms.context import Caveat

DISPLAYS = "$$ 3 + 8 = 11 $$\n\n$$ 1 + 1 = 2 $$\n\n$$ 11 + 4 = 3 $$\n"


def read(text: str) -> Step:
    step = document_steps(text, infer=True)[1][-1]
    assert isinstance(step, Step)
    return step


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"# Notes\n\nThe hours of a clock are added.\n\n{DISPLAYS}", "The hours of a clock are added."),
        (f"# Clocks\n\n{DISPLAYS}", "Clocks"),
        (f"# Notes\n\nThe hours of a clock are added.\n\nThen we have:\n\n{DISPLAYS}", ""),
        (f"# Clocks\n\nText.\n\n# Notes\n\nWe have\n\n{DISPLAYS}", "Clocks"),  # the title of all
        (f"# Notes\n\n## Clocks\n\nText.\n\n## Example\n\nWe have\n\n{DISPLAYS}", ""),
    ],
)
def test_unread_words_lead_to_several_displays_or_name_their_section(text: str, words: str) -> None:
    found = find_unread_words(read(text))
    assert (found.quote if found else "") == words


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        (f"# Notes\n\nIn the coset of a subgroup:\n\n{DISPLAYS}", "UNDECIDED"),
        (f"# Notes\n\nIn the coset of a subgroup:\n\nThen we have\n\n{DISPLAYS}", "REFUTED"),
        (f"# Notes\n\n{DISPLAYS}", "REFUTED"),
        ("# Strings in JavaScript\n\n$$ 1 + 1 = 11 $$\n", "UNDECIDED"),
        ("# Strings in JavaScript\n\n$$ 28 \\times 28 = 2 (784) $$\n", "REFUTED"),  # no arithmetic makes it good
    ],
)
def test_they_leave_open_what_another_arithmetic_makes_good(text: str, verdict: str) -> None:
    assert check_document(text, infer=True).steps[-1].verdict == verdict


def test_words_beside_a_step_or_about_numbers_may_matter() -> None:
    step = read("Text.\n\nText.\n\n$$ 11 + 2 = 1 $$\n")

    def matters(quote: str, line: int) -> bool:
        return may_be_of_numbers(step, Caveat(line, quote, 0, None, whole=True))

    assert matters("On the dial,", 3) and not matters("On the dial,", -9)
    assert matters("All that follows is on the dial.", -9) and matters("Digits are rounded.", -9)
    assert leads_to(step, 3) and not leads_to(step, -9)
    assert names_numbers("modulo two") and not names_numbers("tickets")


ARRAYS = (
    r"$$ \begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix} \begin{pmatrix} 5 \\ 2 \end{pmatrix} = "
    r"\begin{pmatrix} 9 \\ 24 \end{pmatrix} $$"
    "\n"
)


@pytest.mark.parametrize(
    ("words", "open_"),
    [
        ("Only the last entry gets a bias of one.", True),
        ("The rows are counted from $0$. Row $1$ has an offset.", True),
        ("The second row is counted from zero.", True),
        ("All but the first component are shifted.", True),
        ("Each entry is a product of a row and the column.", False),
        ("The first row times the column gives", False),
        ("We multiply.", False),
        ("The snorkel is frobnicated.", False),
    ],
)
def test_words_of_one_place_leave_arrays_open(words: str, open_: bool) -> None:
    text = f"{words}\n\n{ARRAYS}"
    assert (find_singled_place(read(text)) is not None) is open_
    for as_read in (True, False) if open_ else (True,):
        (step,) = check_document(text, infer=True, as_read=as_read).steps
        assert str(step.verdict) == ("UNDECIDED" if open_ else "REFUTED"), step.evidence.text


def test_the_author_may_promise_that_no_words_count() -> None:
    text = f"All hypotheses are declared as formulas.\n\nOnly the last entry gets a bias of one.\n\n{ARRAYS}"
    assert str(check_document(text).steps[-1].verdict) == "REFUTED"
