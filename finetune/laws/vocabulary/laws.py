"""Laws of character vocabularies: a function `(corpus: str, text: str) -> ids` of the characters of a text.

PAD (U+25A1) is 0, MASK (U+2047) is 1, then come the sorted characters of the corpus; what has no id is refused by an
exception of any kind, not replaced, and nothing else is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from attention_core.conformance.laws.process_state import law_of
from attention_core.conformance.subjects.evidence import Evidence, Refused, Result, Shown, Violation, require_close
from attention_core.conformance.subjects.law import Law
from attention_core.conformance.subjects.outcomes import LOST, check_response
from attention_core.conformance.subjects.parameter_case import ParameterCase, ParameterSubject, Sizes
from finetune.laws.checkpoint.interrupted import came_back
from finetune.laws.span_corruption.strings import MASK, PAD

CONTRACT = "vocabulary"
CHARACTERS = "abcdefghijklmnopqrstuvwxyzABCXYZ0129 .,?\n\t\rÄßéñøżΩжあ京𝄞\x00\u0301\u212b"
"""Of one to four bytes; white space of all kinds, an accent of its own, and a sign that normal forms change."""


class Encoder(ParameterSubject):
    """A function of a corpus and a text, both of them strings, that returns the ids as a tensor with one axis."""

    def corpus(self, case: ParameterCase) -> str:
        """Random characters, of one, two and four bytes."""
        chosen = list(CHARACTERS[:3] if case.plain == 2 else CHARACTERS)
        return draw(case.rng("corpus"), chosen, case["n"])

    def text(self, case: ParameterCase) -> str:
        """Characters of the corpus, in another order."""
        return draw(case.rng("text"), list(self.corpus(case)), case["m"])

    def ids(self, corpus: str, text: str) -> Result:
        """The ids of a text whose characters the corpus has, PAD and MASK among them."""
        message = f"f({in_short(corpus)}, {text!r})"
        crash = Evidence((Shown(self.request(corpus, text)),), kind="crash")
        try:
            return self.call(corpus, text, shape=(len(text),))
        except Refused as refused:  # not a case that it may decline: these calls are as plain as any
            raise Violation(f"{message} raised {refused}, but should have an id for every character", crash) from None
        except IndexError:
            raise Violation(f"{message}: got no result, but should be a tensor of {len(text)} ids", crash) from None

    def plain(self, case: ParameterCase) -> None:
        """The ids of one text."""
        self.ids(self.corpus(case), self.text(case))

    def must_refuse(self, corpus: str, text: str, why: str) -> None:
        """Raise unless the call is declined, by whatever exception: a dict's KeyError names the character, too."""
        request = self.request(corpus, text)
        self.calls += 1
        response = self.runner.run(request)
        self.lost += LOST.get(response.status, 0)
        if not came_back(response):
            if response.failure is None:
                check_response(response, request)
            return
        message = f"f({in_short(corpus)}, {text!r}): got a result, but should raise, since {why}"
        raise Violation(message, Evidence((Shown(request),), kind="must_raise"))


def draw(rng: np.random.Generator, characters: list[str], count: int) -> str:
    """So many of the characters; by their numbers, since an array of strings drops the character NUL."""
    return "".join(characters[i] for i in rng.integers(len(characters), size=count))


def in_short(text: str, most: int = 200) -> str:
    """A text as Python writes it, a long one by how it begins and how many characters it has."""
    return repr(text) if len(text) <= most else f"{text[:most]!r}... of {len(text)} characters"


def ids_are_pad_mask_and_sorted_characters(subject: Encoder, case: ParameterCase) -> None:
    """Characters are numbered from 2 in their order, after PAD and MASK.

    Formula: id(c) = 2 + |{distinct c' of the corpus: c' < c}|
    Source: the assignment's CharCorruptionDataset: sorted(set(data)), then MASK and PAD put in front
    Fault: numbered_from_zero
    """
    corpus, text = subject.corpus(case), subject.text(case)
    order = sorted(set(corpus))
    want = np.array([2 + order.index(c) for c in text], float)
    require_close(subject.ids(corpus, text), want, 0.0, "ids of a text")


def pad_and_mask_have_their_ids(subject: Encoder, case: ParameterCase) -> None:
    """In a text PAD is 0 and MASK is 1, whatever the corpus.

    Formula: id(PAD) = 0, id(MASK) = 1
    Source: the assignment's CharCorruptionDataset
    Fault: pad_and_mask_swapped
    """
    got = subject.ids(subject.corpus(case), PAD + MASK + PAD)
    require_close(got, np.array([0.0, 1.0, 0.0]), 0.0, "ids of PAD, MASK, PAD")


def the_corpus_s_order_does_not_matter(subject: Encoder, case: ParameterCase) -> None:
    """A corpus read in another order gives the same ids: they are a function of its characters alone.

    Formula: f(corpus reversed, twice over; text) = f(corpus; text)
    Source: a checkpoint's ids must mean the same in another run
    Fault: numbered_as_they_come
    """
    corpus, text = subject.corpus(case), subject.text(case)
    first = subject.ids(corpus, text)
    require_close(subject.ids((corpus * 2)[::-1], text), first.values, 0.0, "ids with the corpus in another order")


def a_text_is_its_characters(subject: Encoder, case: ParameterCase) -> None:
    """The ids of two texts joined are their ids joined; the ids of nothing are nothing.

    Formula: f(a + b) = f(a) f(b), |f(t)| = |t|
    Source: characters, not bytes or 16-bit units, are counted
    Fault: counts_bytes
    """
    corpus, text = subject.corpus(case), subject.text(case)
    cut = len(text) // 2
    parts = [subject.ids(corpus, part).values for part in (text[:cut], text[cut:])]
    require_close(subject.ids(corpus, text), np.concatenate(parts), 0.0, "ids of a text against those of its halves")


def the_whole_corpus_is_read(subject: Encoder, case: ParameterCase) -> None:
    """A character that stands at the end of a long corpus alone has its id like any other.

    Formula: f(t t ... t c; c) = 2 + |{distinct c' of t: c' < c}|, up to 4000 lines of up to 60 characters
    Source: a vocabulary of the first lines, or the first buffer, of a file fails at a character that comes later
    Fault: first_ten_thousand_characters
    """
    line, last = subject.corpus(case), "ę"
    want = np.array([2.0 + sum(c < last for c in {*line, "\n"})])
    require_close(subject.ids(f"{line}\n" * case["lines"] + last, last), want, 0.0, "id of a character that comes last")


def unknown_characters_are_refused(subject: Encoder, case: ParameterCase) -> None:
    """A character that the corpus does not have is refused.

    Formula: c not in corpus implies f(corpus, ... c ...) raises
    Source: an id of another character would be trained on in silence
    Fault: unknown_becomes_mask
    """
    text = subject.text(case)
    place = int(case.rng("place").integers(0, len(text) + 1))
    subject.must_refuse(subject.corpus(case), f"{text[:place]}ę{text[place:]}", "the corpus has no 'ę'")


def reserved_characters_are_refused_in_a_corpus(subject: Encoder, case: ParameterCase) -> None:
    """A corpus that holds PAD or MASK is refused: the model could not tell them from its own.

    Formula: PAD or MASK in corpus implies f raises
    Source: the assignment's CharCorruptionDataset asserts it
    Fault: reserved_characters_kept
    """
    corpus = subject.corpus(case)
    for reserved in (PAD, MASK):
        subject.must_refuse(corpus + reserved, corpus, f"the corpus holds {reserved!r}")


SPACE = Sizes({"n": (1, 120), "m": (1, 40)})
ROW: dict[str, Any] = {"contract": CONTRACT, "family": CONTRACT, "large": 16, "small": 0, "space": SPACE}
LONG = Sizes({"n": (1, 60), "lines": (1, 4000)})
LAWS = (
    *(
        Law(check, **ROW)
        for check in (
            ids_are_pad_mask_and_sorted_characters, pad_and_mask_have_their_ids, the_corpus_s_order_does_not_matter,
            a_text_is_its_characters, unknown_characters_are_refused, reserved_characters_are_refused_in_a_corpus,
        )
    ),
    Law(the_whole_corpus_is_read, **{**ROW, "space": LONG}),
    law_of(CONTRACT, SPACE),
)  # fmt: skip
COMPARISONS = ("ids_are_pad_mask_and_sorted_characters", "pad_and_mask_have_their_ids")
