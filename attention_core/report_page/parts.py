"""What a page is made of: files that `--json` of a command wrote, and records of training."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attention_core.declaration.implementation import TargetError

KINDS = ("verify", "derive", "bench", "bench --base", "audit", "grade", "matrix", "training")
"""Whose results can be joined; sections stand in this order."""


@dataclass(frozen=True)
class Part:
    """What one file holds.

    Args:
        kind: one of `KINDS`.
        name: of the file.
        data: the JSON value; of training, a list of records.
    """

    kind: str
    name: str
    data: Any


def read_parts(paths: Sequence[Path]) -> tuple[list[Part], list[str]]:
    """Read files, and folders with all files in them that are known.

    Args:
        paths: JSON files, `metrics.jsonl` files, folders.

    Returns:
        The parts in the order of `KINDS`, and why files of folders were left out.

    Raises:
        TargetError: a file cannot be read or is of another kind, or a folder holds nothing that is known.
    """
    found: list[Part] = []
    left_out: list[str] = []
    for path in paths:
        if path.is_dir():
            before = len(found)
            for inside in sorted(path.iterdir()):
                if inside.suffix in (".json", ".jsonl") and inside.is_file():
                    try:
                        found.append(read_part(inside))
                    except TargetError as error:
                        left_out.append(str(error))
            if len(found) == before:
                raise TargetError(f"{path} holds nothing that `--json` of a command wrote, and no metrics.jsonl")
        else:
            found.append(read_part(path))
    return sorted(found, key=lambda part: KINDS.index(part.kind)), left_out


def read_part(path: Path) -> Part:
    """Read one file.

    Raises:
        TargetError: it cannot be read, or no command wrote it.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise TargetError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise TargetError(f"{path} is not UTF-8 text") from error
    if path.suffix == ".jsonl":
        return Part("training", str(path), read_records(path, text))
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise TargetError(f"{path} is not valid JSON: the run that wrote it may have been cut off") from error
    kind = kind_of(data)
    if kind is None:
        commands = ", ".join(f"`{kind} --json`" for kind in KINDS if kind not in ("matrix", "training"))
        raise TargetError(f"{path} was not written by {commands}; of training, name its metrics.jsonl")
    return Part(kind, str(path), data)


def kind_of(data: Any) -> str | None:
    """The command that wrote a JSON value; None where none did.

    >>> kind_of({"documents": []}), kind_of([1])
    ('derive', None)
    """
    if not isinstance(data, Mapping):
        return None
    if data.get("kind") in ("attention-core bench", "attention-core bench --base"):
        return str(data["kind"]).removeprefix("attention-core ")
    marks = {
        "derive": ("documents",), "grade": ("grades",), "audit": ("faults", "survivors", "tests"),
        "verify": ("target", "laws", "verdict"),
    }  # fmt: skip
    if isinstance(data.get("reports"), list):
        return "verify"
    if isinstance(data.get("rows"), list) and all(
        isinstance(row, Mapping) and "package" in row for row in data["rows"]
    ):
        return "matrix"
    return next((kind for kind, keys in marks.items() if all(key in data for key in keys)), None)


def read_records(path: Path, text: str) -> list[dict[str, Any]]:
    """The records of training: one JSON object a line, each with its step; a last line that was cut off is left out.

    Raises:
        TargetError: there are none.
    """
    records = []
    for line in text.splitlines():
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict) and is_number(record.get("step")):
            records.append(record)
    if not records:
        raise TargetError(f'{path} holds no records of training: lines such as {{"step": 1, "loss": 5.5}}')
    return records


def is_number(value: Any) -> bool:
    """Whether a JSON value is a number."""
    return isinstance(value, int | float) and not isinstance(value, bool)
