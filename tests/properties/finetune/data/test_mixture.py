"""Several sources as one.

finetune.data.mixture: an example is what its own source makes of it, whatever it is mixed with and asked with.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from finetune.data.mixture import Mixture
from finetune.data.names import NamePlaces
from finetune.data.span_corruption import CorruptedDocuments, Form
from finetune.data.vocabulary import Vocabulary
from finetune.errors import BadInput

QUESTIONS, PLACES = ["Where was Ada born?", "Where?"], ["London", "San José"]
DOCUMENTS = ["Ada was born in London", "José", "was it San José?"]
VOCABULARY = Vocabulary("".join(QUESTIONS + PLACES + DOCUMENTS))
FORM = Form(40)
SOURCES = [
    NamePlaces(VOCABULARY, QUESTIONS, PLACES, FORM),
    CorruptedDocuments(*VOCABULARY.encode_batch(DOCUMENTS), FORM, seed=3),
]
OWN = [(0, 0), (0, 1), (1, 0), (1, 1), (1, 2)]  # the source and the number there of each example of the mixture


@given(st.lists(st.integers(0, 4), min_size=1, max_size=8), st.integers(0, 5))
def test_an_example_is_what_its_source_makes_of_it(asked: list[int], epoch: int) -> None:
    source = Mixture(SOURCES)
    batch, widths = source.batch(epoch, np.array(asked)), source.widths(epoch, np.array(asked))
    assert batch["x"].shape == batch["y"].shape == (len(asked), FORM.total - 1)
    for row, example in enumerate(asked):
        which, number = OWN[example]
        own = SOURCES[which].batch(epoch, np.array([number]))
        assert all((batch[key][row] == own[key][0]).all() for key in ("x", "y"))
        assert widths[row] == SOURCES[which].widths(epoch, np.array([number]))[0]


def test_an_epoch_has_all_examples_of_all() -> None:
    assert len(Mixture(SOURCES)) == len(OWN)
    assert len(Mixture([SOURCES[1], SOURCES[1]])) == 6


def test_what_cannot_be_mixed_is_refused() -> None:
    with pytest.raises(BadInput, match="needs a source"):
        Mixture([])
    other = CorruptedDocuments(*VOCABULARY.encode_batch(DOCUMENTS), Form(30))
    with pytest.raises(BadInput, match=r"strings of \[30, 40\] characters: one form"):
        Mixture([SOURCES[0], other])
