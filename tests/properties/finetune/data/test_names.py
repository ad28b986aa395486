"""Questions with places as examples.

finetune.data.names: the assignment's examples, letter for letter, and what does not fit.
"""

from __future__ import annotations

import numpy as np
import pytest

from finetune.data.names import NamePlaces, examples, prompts
from finetune.data.span_corruption import Form
from finetune.data.vocabulary import MASK, PAD, Vocabulary
from finetune.errors import BadInput

QUESTIONS, PLACES = ["Where was Ada born?", "Where?"], ["London", "San José"]
VOCABULARY = Vocabulary("".join(QUESTIONS + PLACES))


@pytest.mark.parametrize("form", [Form(40), Form(40, "block")])
def test_examples_are_those_of_the_assignment(form: Form) -> None:
    """The skeleton's own lines, on text."""
    x, y = examples(VOCABULARY, QUESTIONS, PLACES, form)
    for n, (question, place) in enumerate(zip(QUESTIONS, PLACES, strict=True)):
        string = question + MASK + place + MASK
        string += PAD * (form.total - len(string))
        target = PAD * (len(question) - 1) + string[len(question) :]
        assert VOCABULARY.decode(x[n]) == string[:-1]
        assert VOCABULARY.decode(y[n]) == target


def test_targets_are_inputs_one_place_ahead_where_they_count() -> None:
    x, y = examples(VOCABULARY, QUESTIONS, PLACES, Form(40))
    counted = y[:, :-1] != 0
    assert (x[:, 1:][counted] == y[:, :-1][counted]).all()
    assert [int((row != 0).sum()) for row in y] == [len(place) + 2 for place in PLACES]


def test_a_batch_is_the_chosen_examples() -> None:
    source = NamePlaces(VOCABULARY, QUESTIONS, PLACES, Form(40))
    batch = source.batch(3, np.array([1, 1, 0]))
    assert (batch["x"].numpy() == examples(VOCABULARY, QUESTIONS, PLACES, Form(40))[0][[1, 1, 0]]).all()
    assert len(source) == 2
    # The width is the place of the last target, counted from one.
    ends = [int((row != 0).nonzero().max()) + 1 for row in batch["y"]]
    assert (
        source.widths(3, np.array([1, 1, 0])).tolist()
        == ends
        == [len(QUESTIONS[n]) + len(PLACES[n]) + 1 for n in (1, 1, 0)]
    )


def test_a_prompt_ends_with_the_mask() -> None:
    assert [VOCABULARY.decode(p) for p in prompts(VOCABULARY, QUESTIONS)] == [q + MASK for q in QUESTIONS]


@pytest.mark.parametrize("form", [Form(26), Form(27, "block")])
def test_an_example_may_fill_the_string(form: Form) -> None:
    """27 characters in 27 places; the last one, the closing mask, is a target like the others."""
    x, y = examples(VOCABULARY, QUESTIONS[:1], PLACES[:1], form)
    assert VOCABULARY.decode(x[0]) + MASK == f"{QUESTIONS[0]}{MASK}{PLACES[0]}{MASK}"
    assert VOCABULARY.decode(y[0])[-8:] == f"{MASK}{PLACES[0]}{MASK}"


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(BadInput, match="example 1 needs 27 characters, a block of 24 has 25"):
        examples(VOCABULARY, QUESTIONS, PLACES, Form(24))
    with pytest.raises(BadInput, match="no example"):
        NamePlaces(VOCABULARY, [], [], Form(40))
    with pytest.raises(BadInput, match="not in the vocabulary"):
        NamePlaces(VOCABULARY, ["What?"], ["Oz"], Form(40))
