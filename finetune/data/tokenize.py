"""Tokenizers to read: byte pairs, learned and applied merge by merge, and WordPiece by the longest match.

They give what the library `tokenizers` gives, slowly; everything else uses the library.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path

from finetune.data.corpus import read_text
from finetune.errors import BadInput

Pair = tuple[str, str]
WHITE = frozenset(
    "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(chr(c) for c in range(0x2000, 0x200B))
)
"""Unicode's White_Space; str.isspace says yes to four separators more."""
CONTRACTIONS = re.compile("'(?:s|t|re|ve|m|ll|d)")
RUNS = re.compile(r" ?L+| ?N+| ?O+|[ S]+(?![LNO])|[ S]+")
IDEOGRAPHS = (
    (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F), (0x2B820, 0x2CEAF),
    (0xF900, 0xFAFF), (0x2F800, 0x2FA1F),
)  # fmt: skip


# --- byte pairs ---------------------------------------------------------------------------------------


def merge_pair(symbols: Sequence[str], pair: Pair) -> list[str]:
    """Every occurrence of a pair made one symbol, from left to right.

    Example:
        >>> merge_pair("aaa", ("a", "a"))
        ['aa', 'a']
    """
    found: list[str] = []
    place = 0
    while place < len(symbols):
        fits = tuple(symbols[place : place + 2]) == pair
        found.append(pair[0] + pair[1] if fits else symbols[place])
        place += 2 if fits else 1
    return found


def train_byte_pairs(words: Mapping[str, int], count: int) -> list[Pair]:
    """Learn merges: each is the pair of neighbours that is the most frequent in the words as they are merged so far.

    Args: words, how often each occurs; count, of merges at most. Pairs that are equally frequent are taken in the order
        of their symbols: the characters by code point, then what was merged, as it came about (as in `tokenizers`).
    Returns: the merges, in the order of learning; fewer where no two neighbours are left.
    Raises: BadInput for a negative count.
    Example:
        >>> train_byte_pairs({"aab": 2}, 1)
        [('a', 'a')]

    Source: Sennrich et al., "Neural Machine Translation of Rare Words with Subword Units" (2016), algorithm 1.
    """
    if count < 0 or any(often < 0 for often in words.values()):
        raise BadInput("neither the number of merges nor that of a word can be negative")
    texts = {word: list(word) for word, often in words.items() if word and often}
    number = {symbol: n for n, symbol in enumerate(sorted({c for word in texts for c in word}))}
    merges: list[Pair] = []
    while len(merges) < count:
        pairs: Counter[Pair] = Counter()
        for word, symbols in texts.items():
            for pair in pairwise(symbols):
                pairs[pair] += words[word]
        if not pairs:
            break
        best = min(pairs, key=lambda pair: (-pairs[pair], number[pair[0]], number[pair[1]]))
        merges.append(best)
        number.setdefault(best[0] + best[1], len(number))
        texts = {word: merge_pair(symbols, best) for word, symbols in texts.items()}
    return merges


@cache
def byte_letters() -> dict[int, str]:
    """A printable character for each of the 256 bytes: itself where it is one, else the next free from U+0100.

    Source: OpenAI's GPT-2, encoder.py, `bytes_to_unicode`.
    """
    printable = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [b for b in range(256) if b not in printable]
    return {b: chr(b) for b in printable} | {b: chr(0x100 + n) for n, b in enumerate(others)}


def split_words(text: str) -> list[str]:
    """Cut a text as GPT-2 does: contractions, then runs of letters, of numbers or of others, with a blank in front.

    Of a run of white space the last blank goes to the run that follows.

    Example:
        >>> split_words("I'm 42!")
        ['I', "'m", ' 42', '!']

    Source: GPT-2, encoder.py: 's|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+.
    """
    kinds = "".join(_kind(c) for c in text)
    found, place = [], 0
    while place < len(text):
        match = CONTRACTIONS.match(text, place) or RUNS.match(kinds, place)
        assert match is not None  # every kind of character begins a run
        found.append(text[place : match.end()])
        place = match.end()
    return found


def _kind(c: str) -> str:
    """L, N, a blank, S for other white space, or O."""
    if c in WHITE:
        return " " if c == " " else "S"
    category = unicodedata.category(c)[0]
    return category if category in "LN" else "O"


class BytePairs:
    """Byte-pair encoding of bytes, as in GPT-2 and RoBERTa.

    Args: vocabulary, an id for each token; merges, in the order of learning.
    Raises: BadInput where a merge makes a token that has no id.
    Source: Radford et al., "Language Models are Unsupervised Multitask Learners" (2019), section 2.2.
    """

    def __init__(self, vocabulary: Mapping[str, int], merges: Sequence[Pair]) -> None:
        self.vocabulary, self.ranks = dict(vocabulary), {pair: rank for rank, pair in enumerate(merges)}
        self.tokens = {number: token for token, number in self.vocabulary.items()}
        for a, b in self.ranks:
            if a + b not in self.vocabulary:
                raise BadInput(f"the merge of {a!r} and {b!r} makes a token that is not in the vocabulary")

    @classmethod
    def from_files(cls, vocabulary: str | Path, merges: str | Path) -> BytePairs:
        """The tokenizer of two files: JSON, and a line for each merge. Raises: BadInput, naming the line."""
        try:
            data = json.loads(read_text(vocabulary))
        except (json.JSONDecodeError, RecursionError) as error:
            raise BadInput(f"{vocabulary} is not valid JSON ({error})") from None
        if not isinstance(data, dict) or not all(type(number) is int for number in data.values()):
            raise BadInput(f"{vocabulary} should give a whole number for each token")
        pairs: list[Pair] = []
        for number, line in enumerate(read_text(merges).split("\n"), 1):
            if not line or line.startswith("#version"):
                continue
            parts = line.split(" ")
            if len(parts) != 2 or not all(parts):
                raise BadInput(f"{merges}, line {number}: a merge is two tokens and a blank, got {line!r}")
            pairs.append((parts[0], parts[1]))
        return cls(data, pairs)

    def apply(self, symbols: Sequence[str]) -> list[str]:
        """Merge neighbours, the merge that was learned first before all others, until none is left."""
        parts = list(symbols)
        while len(parts) > 1:
            ranks = [self.ranks.get(pair, len(self.ranks)) for pair in pairwise(parts)]
            rank = min(ranks)
            if rank == len(self.ranks):
                break
            place = ranks.index(rank)
            parts[place : place + 2] = [parts[place] + parts[place + 1]]
        return parts

    def tokenize(self, text: str) -> list[str]:
        """The tokens of a text, in the letters that stand for bytes."""
        letters = byte_letters()
        return [
            token for word in split_words(text) for token in self.apply([letters[b] for b in word.encode("utf-8")])
        ]  # fmt: skip

    def encode(self, text: str) -> list[int]:
        """The ids of a text. Raises: BadInput for a byte that has none, or a text that is not Unicode."""
        try:
            return [self.vocabulary[token] for token in self.tokenize(text)]
        except KeyError as error:
            raise BadInput(f"{error.args[0]!r} is not in the vocabulary") from None
        except UnicodeEncodeError as error:
            raise BadInput(f"the text holds half of a surrogate pair at place {error.start}") from None

    def decode(self, ids: Iterable[int]) -> str:
        """The text of some ids; bytes that are not UTF-8 become U+FFFD. Raises: BadInput for an id that is none."""
        numbers = {letter: b for b, letter in byte_letters().items()}
        try:
            letters = "".join(self.tokens[number] for number in ids)
        except KeyError as error:
            raise BadInput(f"{error.args[0]} is not an id of this vocabulary") from None
        return bytes(numbers[c] for c in letters).decode("utf-8", "replace")


# --- WordPiece ----------------------------------------------------------------------------------------


def basic_words(text: str, lower: bool) -> list[str]:
    """Cut a text as BERT does: at white space, around punctuation and around ideographs; control characters go.

    Args: text; lower: small letters, without the marks over them.
    Example:
        >>> basic_words("Né en 1901!", True)
        ['ne', 'en', '1901', '!']

    Source: Devlin et al., google-research/bert, tokenization.py, `BasicTokenizer`.
    """
    kept: list[str] = []
    for c in text:
        if c in "\t\n\r":
            kept.append(" ")
        elif c == "\ufffd" or unicodedata.category(c)[0] == "C":
            continue  # other controls go without a trace, those that are white space too
        elif c in WHITE:
            kept.append(" ")
        else:
            kept.append(f" {c} " if any(a <= ord(c) <= b for a, b in IDEOGRAPHS) else c)
    clean = "".join(kept)
    if lower:
        clean = "".join(c for c in unicodedata.normalize("NFD", clean) if unicodedata.category(c) != "Mn")
        clean = "".join(c.lower() for c in clean)  # one by one: a final sigma stays the same letter
    return "".join(f" {c} " if is_punctuation(c) else c for c in clean).split()


def is_punctuation(c: str) -> bool:
    """Whether BERT cuts around a character: Unicode's punctuation, and every sign of ASCII."""
    return unicodedata.category(c)[0] == "P" or (c.isascii() and c.isprintable() and not c.isalnum() and c != " ")


class WordPiece:
    """The longest token at the beginning of a word, then the longest `##token` at what is left, and so on.

    Args: vocabulary, an id for each token; lower: for an uncased one; unknown, the token of a word that cannot be cut;
        longest, words of more characters are unknown.
    Raises: BadInput where `unknown` is not in the vocabulary.
    Source: Devlin et al., google-research/bert, tokenization.py, `WordpieceTokenizer`.
    """

    def __init__(
        self, vocabulary: Mapping[str, int], *, lower: bool = True, unknown: str = "[UNK]", longest: int = 100
    ) -> None:
        if unknown not in vocabulary:
            raise BadInput(f"{unknown!r}, for what cannot be cut, is not in the vocabulary")
        self.vocabulary, self.lower, self.unknown, self.longest = dict(vocabulary), lower, unknown, longest

    @classmethod
    def from_file(cls, path: str | Path, *, lower: bool = True) -> WordPiece:
        """The tokenizer of a file with a token on each line. Raises: BadInput where one stands there twice."""
        vocabulary: dict[str, int] = {}
        for number, line in enumerate(read_text(path).rstrip("\n").split("\n")):
            if line in vocabulary:
                raise BadInput(f"{path}, line {number + 1}: {line!r} stands on line {vocabulary[line] + 1} already")
            vocabulary[line] = number
        return cls(vocabulary, lower=lower)

    def cut(self, word: str) -> list[str]:
        """The tokens of one word."""
        if len(word) > self.longest:
            return [self.unknown]
        found: list[str] = []
        start = 0
        while start < len(word):
            for end in range(len(word), start, -1):
                token = ("##" if start else "") + word[start:end]
                if token in self.vocabulary:
                    break
            else:
                return [self.unknown]
            found.append(token)
            start = end
        return found

    def tokenize(self, text: str) -> list[str]:
        """The tokens of a text."""
        return [token for word in basic_words(text, self.lower) for token in self.cut(word)]

    def encode(self, text: str) -> list[int]:
        """The ids of a text, without [CLS] and [SEP]."""
        return [self.vocabulary[token] for token in self.tokenize(text)]
