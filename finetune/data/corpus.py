"""Files into documents and questions: every way a file can be unusable is one line that says where.

A corpus has one document a line; a file of questions has `question<TAB>place` lines, or questions alone.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from finetune.data.vocabulary import MASK, PAD
from finetune.errors import BadInput, count_columns


def read_text(path: str | Path) -> str:
    """A file's text, with \\r\\n and \\r read as \\n. Raises: BadInput where it is absent, unreadable, or not UTF-8."""
    try:
        raw = Path(path).read_bytes()
    except FileNotFoundError:
        raise BadInput(f"no such file: {path}") from None
    except IsADirectoryError:
        raise BadInput(f"{path} is a folder, not a file") from None
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}") from None
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise BadInput(
            f"{path}, line {line}: not UTF-8 (byte 0x{raw[error.start]:02x}); save the file as UTF-8"
        ) from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_json_line(line: str, row: str) -> Any:
    """The value of a line of JSON; `row` says where it stands. Raises: BadInput where it is not JSON, or not text.

    Example:
        >>> read_json_line('{"text": "fine"}', "a.jsonl, line 1")
        {'text': 'fine'}
    """
    try:
        value = json.loads(line)
        if "\\" in line:
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise BadInput(f"{row}: an escape from \\ud800 to \\udfff stands alone, which is half of a character") from None
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{row}: not valid JSON ({error})") from None
    return value


def documents(text: str, name: str = "the corpus") -> list[str]:
    """The documents of a corpus, one a line, empty lines left out. Raises: BadInput where none is left."""
    found = [line for line in text.split("\n") if line]
    if not any(line.strip() for line in found):
        raise BadInput(f"{name} is empty: it should hold one document per line")
    return found


@dataclass(frozen=True)
class Questions:
    """Questions and, where the file has them, their places."""

    questions: list[str]
    places: list[str] | None

    def __len__(self) -> int:
        return len(self.questions)


def read_questions(path: str | Path, *, with_places: bool = False) -> Questions:
    """The questions of a TSV file, in its order; empty lines are left out.

    Args: path; with_places: places are needed (for training, or to count what is right).
    Raises: BadInput where the file holds no question, some lines have a place and others none, a line has more than
        one tab or a character that is reserved, or places are needed and absent.

    Example:
        >>> _ = Path("q.tsv").write_text("Where was Ada born?\\tLondon")
        >>> read_questions("q.tsv").places
        ['London']
    """
    rows = [(n, line.split("\t")) for n, line in enumerate(read_text(path).split("\n"), 1) if line]
    if not rows:
        raise BadInput(f"{path} is empty: it should hold one question a line")
    columns = len(rows[0][1])
    wanted = {1: f"one, a question, as in line {rows[0][0]}"}.get(columns, "question<TAB>place")
    for n, row in rows:
        if len(row) != columns or columns > 2:
            raise BadInput(f"{path}, line {n}: {count_columns(len(row))}, but should be {wanted}")
        if not all(row):
            raise BadInput(f"{path}, line {n}: an empty question or place")
        for reserved in (PAD, MASK):
            if any(reserved in text for text in row):
                raise BadInput(f"{path}, line {n}: {reserved!r} (U+{ord(reserved):04X}) is reserved; take it out")
    if columns == 1 and with_places:
        raise BadInput(f"{path} has questions without places, which are needed here: question<TAB>place")
    return Questions([row[0] for _, row in rows], [row[1] for _, row in rows] if columns == 2 else None)
