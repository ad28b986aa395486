"""Vocabularies: PAD, MASK, then the sorted characters of a corpus, or its commonest words and signs.

Encoding is one look-up in sorted code points. A character that the corpus never showed is refused, not replaced; of
words, what is rarer is one unknown word.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from finetune.errors import BadInput, UnknownCharacter, prefix_errors

PAD, MASK = "□", "⁇"
PAD_ID, MASK_ID = 0, 1
Ids = npt.NDArray[np.int64]


def code_points(text: str) -> npt.NDArray[np.uint32]:
    """The code points of a text, one number a character."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


class Vocabulary:
    """Characters and their ids: id 0 is PAD `□` (U+25A1), id 1 MASK `⁇` (U+2047), then the characters by code point.

    Args: characters, each once or often, in any order. Raises: BadInput where PAD or MASK is among them.
    Example:
        >>> Vocabulary("abba").encode("ab").tolist()
        [2, 3]

    Source: the assignment's CharCorruptionDataset: chars = sorted(set(data)), then MASK and PAD put in front.
    """

    def __init__(self, characters: Iterable[str]) -> None:
        found = set(characters)
        for name, reserved in (("PAD", PAD), ("MASK", MASK)):
            if reserved in found:
                raise BadInput(f"the corpus holds {reserved!r} (U+{ord(reserved):04X}), which is reserved for {name}")
        self.characters = [PAD, MASK, *sorted(found)]
        self._points = code_points("".join(self.characters[2:]))

    @classmethod
    def from_text(cls, text: str, name: str = "the corpus") -> Vocabulary:
        """The vocabulary of a text. Raises: BadInput, naming the line, where a reserved character stands in it."""
        for reserved in (PAD, MASK):
            if reserved in text:
                line = text[: text.index(reserved)].count("\n") + 1
                raise BadInput(
                    f"{name}, line {line}: {reserved!r} (U+{ord(reserved):04X}) is reserved for padding and masks; "
                    "take it out of the text"
                )
        return cls(text)

    def __len__(self) -> int:
        return len(self.characters)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and self.characters == other.characters

    __hash__ = None  # type: ignore[assignment]  # compared by value, and no key of anything

    def encode(self, text: str) -> Ids:
        """The ids of a text's characters; PAD and MASK are characters here as well.

        Returns: (len(text),) int64. Raises: UnknownCharacter naming the first one that has no id, and its place.
        """
        points = code_points(text)
        if not len(self._points):
            place = np.zeros(len(points), np.int64)
            known = np.zeros(len(points), bool)
        else:
            place = np.minimum(np.searchsorted(self._points, points), len(self._points) - 1)
            known = self._points[place] == points
        ids = np.where(known, place + 2, -1).astype(np.int64)
        ids[points == ord(PAD)] = PAD_ID
        ids[points == ord(MASK)] = MASK_ID
        if (ids < 0).any():
            where = int(np.argmax(ids < 0))
            around = text[max(where - 40, 0) : where + 20]
            raise UnknownCharacter(
                f"{text[where]!r} (U+{ord(text[where]):04X}) at place {where} of {around!r} is not in the "
                "vocabulary: no such character in the corpus it was made from"
            )
        return ids

    def encode_batch(self, texts: Sequence[str]) -> tuple[Ids, Ids]:
        """Several texts as one padded matrix. Returns: ids (n, longest) with PAD after each text, and lengths (n,)."""
        lengths = np.array([len(t) for t in texts], np.int64).reshape(-1)
        ids = np.full((len(texts), int(lengths.max(initial=0))), PAD_ID, np.int64)
        try:
            ids[np.arange(ids.shape[1]) < lengths[:, None]] = self.encode("".join(texts))
        except BadInput:
            for n, text in enumerate(texts, 1):  # the same error, naming the text that it is about
                with prefix_errors(f"text {n}"):
                    self.encode(text)
            raise
        return ids, lengths

    def decode(self, ids: npt.ArrayLike) -> str:
        """The text of a row of ids. Raises: BadInput for an id outside the vocabulary."""
        wanted = np.asarray(ids, np.int64).reshape(-1)
        outside = wanted[(wanted < 0) | (wanted >= len(self))]
        if outside.size:
            raise BadInput(f"id {int(outside[0])} is outside a vocabulary of {len(self)}")
        # Not an array of characters: NumPy drops a NUL at the end of a string.
        return "".join([self.characters[i] for i in wanted.tolist()])


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
