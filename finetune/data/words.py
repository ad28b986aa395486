"""A vocabulary of words and signs: the commonest ones of a text; what is rarer is one unknown word."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from finetune.data.vocabulary import MASK, MASK_ID, PAD, Ids
from finetune.errors import BadInput

PIECES = re.compile(r"\w+(?:['\u2019]\w+)*|[^\w\s]|\n")
"""A word, with its apostrophes; a sign; a line end. Other white space only separates."""
CLOSING = frozenset(".,;:!?)]}\n")


class WordVocabulary:
    """Words and their ids: id 0 is PAD, id 1 every word that is not among the others, then words by frequency.

    Args:
        words: without the first two.
    Raises:
        BadInput: if one stands twice, or is reserved.

    >>> words = WordVocabulary.from_text("to be, or not to be", 4)
    >>> words.words[2:], words.encode("to be there").tolist()
    (['to', 'be', ',', 'or'], [2, 3, 1])
    """

    def __init__(self, words: Sequence[str]) -> None:
        if len(set(words)) != len(words) or {PAD, MASK} & set(words):
            raise BadInput("each word of a vocabulary stands once, and none is reserved")
        self.words = [PAD, MASK, *words]
        self._ids = {word: number for number, word in enumerate(self.words)}

    @classmethod
    def from_text(cls, text: str, size: int) -> WordVocabulary:
        """Return the `size` commonest words of a text; of equally frequent ones those that come first."""
        return cls([word for word, _ in Counter(PIECES.findall(text)).most_common(size)])

    def __len__(self) -> int:
        return len(self.words)

    def encode(self, text: str) -> Ids:
        """Return the ids of a text's words; a word outside the vocabulary has id 1."""
        return np.array([self._ids.get(piece, MASK_ID) for piece in PIECES.findall(text)], np.int64)

    def decode(self, ids: npt.ArrayLike) -> str:
        """Return the words of a row of ids, with a space before each but signs that close and line ends.

        Raises:
            BadInput: for an id outside the vocabulary.
        """
        text = ""
        for number in np.asarray(ids, np.int64).reshape(-1).tolist():
            if not 0 <= number < len(self.words):
                raise BadInput(f"id {number} is outside a vocabulary of {len(self)}")
            word = self.words[number]
            text += word if not text or word in CLOSING or text.endswith("\n") else f" {word}"
        return text
