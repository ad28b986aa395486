"""Texts into ids by the library `tokenizers`: pairs as pairs, truncation counted, the tokenizer that a folder has.

Ids are kept as long as they are; padding is the business of `collate`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from finetune.data.corpus import read_text
from finetune.data.examples import Examples
from finetune.errors import BadInput

PIECE = 512
"""Texts handed to the tokenizer at once: what it makes of cut ones is large, and is let go after each piece."""


class TextTokenizer:
    """A tokenizer of the library with what a batch needs to know of it.

    Args: inner, the library's Tokenizer; pad_id; mask_id, None where it has no mask token; special, all special ids;
        unknown_id, of the token for what it does not know, None where it has none.
    """

    def __init__(
        self, inner: Any, pad_id: int, mask_id: int | None, special: Sequence[int], unknown_id: int | None = None
    ) -> None:
        self.inner, self.pad_id, self.mask_id, self.special = inner, pad_id, mask_id, tuple(sorted(special))
        self.unknown_id = unknown_id
        inner.no_padding()  # a tokenizer.json may ask for both
        inner.no_truncation()

    def __len__(self) -> int:
        return int(self.inner.get_vocab_size())

    def digest(self) -> str:
        """A hash of everything that decides what ids a text becomes."""
        self.inner.no_truncation()
        return hashlib.sha256(self.inner.to_str().encode()).hexdigest()

    def share_unknown(self, rows: Sequence[Sequence[int]]) -> float:
        """The share of the tokens that stand for what the tokenizer does not know; special tokens do not count."""
        free = set(self.special) - {self.unknown_id}
        tokens = [token for ids in rows for token in ids if token not in free]
        return tokens.count(self.unknown_id) / max(len(tokens), 1) if self.unknown_id is not None else 0.0

    def check_fits(self, rows: int, pad_id: int | None = None) -> None:
        """Refuse the tokenizer of another model.

        Tables of models are at times rounded up to a multiple of 128, so that so many rows may be unused.

        Args: rows of the model's table of tokens; pad_id, the model's, None where it does not say.
        Raises: BadInput where an id has no row, more than 127 rows have no id, or padding has another id.
        """
        if not len(self) <= rows < len(self) + 128:
            raise BadInput(
                f"the tokenizer has {len(self)} tokens and the model {rows}: this is the tokenizer of another model"
            )
        if pad_id is not None and pad_id != self.pad_id:
            raise BadInput(f"padding is {self.pad_id} for the tokenizer and {pad_id} for the model: one is of another")


@dataclass(frozen=True)
class Encoded:
    """Texts as ids, each as long as it is, with what was cut.

    `types` are 0 for the first text of a pair with its special tokens and 1 for the second, as the tokenizer says.
    `cut` counts the examples that were truncated.
    """

    ids: list[list[int]]
    types: list[list[int]]
    max_length: int
    cut: int

    def __len__(self) -> int:
        return len(self.ids)

    def digest(self) -> str:
        """A hash of all ids and types, with the places where texts end."""
        state = hashlib.sha256()
        for ids, types in zip(self.ids, self.types, strict=True):
            state.update(repr((ids, types)).encode())
        return state.hexdigest()


def encode(tokenizer: TextTokenizer, examples: Examples, max_length: int) -> Encoded:
    """The ids of texts or pairs, with special tokens, at most max_length long: [CLS] A [SEP], or [CLS] A [SEP] B [SEP].

    Of a pair the longer text is cut first, token by token from its end; nothing is cut unnoticed, `cut` counts it.

    Args: tokenizer; examples; max_length, special tokens included.
    Raises: BadInput where max_length leaves no room for a token of each text, or a text has no token.
    `cut` of the result is how many were too long.
    """
    pair = examples.second is not None
    least = int(tokenizer.inner.num_special_tokens_to_add(pair)) + 1 + pair
    if max_length < least:
        raise BadInput(f"a maximum length of {max_length} leaves no room for text: at least {least} are needed")
    tokenizer.inner.enable_truncation(max_length, strategy="longest_first")
    ids: list[list[int]] = []
    types: list[list[int]] = []
    cut = 0
    try:
        for start in range(0, len(examples), PIECE):
            for number, found in enumerate(_encode(tokenizer, examples, start), start):
                if len(found.ids) < least:
                    raise BadInput(
                        f"{examples.rows[number]}: the tokenizer finds nothing in {examples.first[number][:40]!r}"
                    )
                ids.append(found.ids)
                types.append(found.type_ids)
                cut += bool(found.overflowing)
    finally:
        tokenizer.inner.no_truncation()
    return Encoded(ids, types, max_length, cut)


def _encode(tokenizer: TextTokenizer, examples: Examples, start: int) -> Iterator[Any]:
    first, second = examples.first[start : start + PIECE], examples.second
    given: Any = first if second is None else list(zip(first, second[start : start + PIECE], strict=True))
    yield from tokenizer.inner.encode_batch(given)


# --- the tokenizer of a folder ------------------------------------------------------------------------


def load_tokenizer(folder: str | Path) -> TextTokenizer:
    """The tokenizer in a folder as Hugging Face writes it: tokenizer.json, or vocab.txt, or vocab.json and merges.txt.

    Raises: BadInput where there is none, it cannot be read, or it has no token for padding.
    """
    folder = Path(folder)
    try:
        inner = _library_tokenizer(folder)
    except BadInput:
        raise
    except Exception as error:  # the library raises bare Exception
        raise BadInput(f"the tokenizer in {folder} cannot be read ({str(error)[:160]})") from None
    names = _special_names(folder)
    found = {role: inner.token_to_id(name) for role, name in names.items()}
    if found.get("pad_token") is None:
        raise BadInput(f"the tokenizer in {folder} has no token for padding ({names.get('pad_token')!r})")
    added = {
        number for number, token in inner.get_added_tokens_decoder().items() if token.special
    }  # fmt: skip
    special = added | {number for number in found.values() if number is not None}
    return TextTokenizer(inner, found["pad_token"], found.get("mask_token"), sorted(special), found.get("unk_token"))


def _library_tokenizer(folder: Path) -> Any:
    import tokenizers

    if (folder / "tokenizer.json").is_file():
        return tokenizers.Tokenizer.from_str(read_text(folder / "tokenizer.json"))
    if (folder / "vocab.txt").is_file():
        data = _json(folder / "tokenizer_config.json")
        made = tokenizers.BertWordPieceTokenizer(
            str(folder / "vocab.txt"), lowercase=bool(data.get("do_lower_case", True)),
            strip_accents=data.get("strip_accents"),
            handle_chinese_chars=bool(data.get("tokenize_chinese_chars", True)),
        )  # fmt: skip
        return made._tokenizer
    if (folder / "vocab.json").is_file() and (folder / "merges.txt").is_file():
        made = tokenizers.ByteLevelBPETokenizer(str(folder / "vocab.json"), str(folder / "merges.txt"))
        names = _special_names(folder)
        ids = {role: made.token_to_id(names[role]) for role in ("sep_token", "cls_token")}
        if None in ids.values():
            raise BadInput(f"the tokenizer in {folder} has no {names['cls_token']} or {names['sep_token']}")
        made.add_special_tokens([name for name in names.values() if made.token_to_id(name) is not None])
        made._tokenizer.post_processor = tokenizers.processors.RobertaProcessing(
            (names["sep_token"], ids["sep_token"]), (names["cls_token"], ids["cls_token"])
        )
        return made._tokenizer
    raise BadInput(f"{folder} has no tokenizer: neither tokenizer.json, nor vocab.txt, nor vocab.json with merges.txt")


BERT_NAMES = {
    "pad_token": "[PAD]",
    "cls_token": "[CLS]",
    "sep_token": "[SEP]",
    "mask_token": "[MASK]",
    "unk_token": "[UNK]",
}
ROBERTA_NAMES = {
    "pad_token": "<pad>",
    "cls_token": "<s>",
    "sep_token": "</s>",
    "mask_token": "<mask>",
    "unk_token": "<unk>",
}


def _special_names(folder: Path) -> dict[str, str]:
    """The special tokens by their roles: as the folder's files say, else BERT's or, with merges, RoBERTa's."""
    of_roberta = (folder / "merges.txt").is_file() and not (folder / "vocab.txt").is_file()
    names = dict(ROBERTA_NAMES if of_roberta else BERT_NAMES)
    for file in ("tokenizer_config.json", "special_tokens_map.json"):
        for role, entry in _json(folder / file).items():
            name = entry.get("content") if isinstance(entry, dict) else entry
            if role in names and isinstance(name, str):
                names[role] = name
    return names


def _json(path: Path) -> dict[str, Any]:
    """A JSON object; an empty one where there is no file. Raises: BadInput where it is something else."""
    if not path.is_file():
        return {}
    try:
        data = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{path} is not valid JSON ({error})") from None
    if not isinstance(data, dict):
        raise BadInput(f"{path} should hold a JSON object, got a {type(data).__name__}")
    return data
