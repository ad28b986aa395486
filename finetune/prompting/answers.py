"""A store of answers on disk: SQLite, keyed by the whole request, so that no request is paid for twice.

Each answer is committed before the next one is awaited: a process that is killed loses only what was under way.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from finetune.errors import BadInput
from finetune.prompting.request import Answer, Request

SCHEMA = "CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, model TEXT NOT NULL, answer TEXT NOT NULL)"
AT_ONCE = 500
"""Keys of one query: SQLite's own limit was 999 variables until 2020."""


class AnswerStore:
    """Answers by request, in a file or, with None, in memory.

    Raises:
        BadInput: if the file cannot be opened, or is something other than such a store.

    >>> with AnswerStore(None) as store:
    ...     store.keep(Request("m", "2 + 2 ="), Answer(("4",), ("stop",)))
    ...     store.find([Request("m", "2 + 2 =")])[0].texts
    ('4',)
    """

    def __init__(self, path: str | Path | None) -> None:
        self.path = path
        with self._one_line():
            self.database = sqlite3.connect(":memory:" if path is None else str(path), timeout=30)
            try:
                self.database.execute("PRAGMA journal_mode=WAL")
                self.database.execute("PRAGMA synchronous=FULL")
                self.database.execute(SCHEMA)
                self.database.commit()
            except sqlite3.Error:
                self.close()
                raise

    def find(self, requests: Iterable[Request]) -> list[Answer | None]:
        """Return the answer of each request, None for one without."""
        keys = [request.key() for request in requests]
        answers: dict[str, Answer] = {}
        for start in range(0, len(keys), AT_ONCE):
            part = keys[start : start + AT_ONCE]
            marks = ",".join("?" * len(part))
            with self._one_line():
                rows = self.database.execute(f"SELECT key, answer FROM answers WHERE key IN ({marks})", part).fetchall()
            answers.update((key, self._read(text)) for key, text in rows)
        return [answers.get(key) for key in keys]

    def keep(self, request: Request, answer: Answer) -> None:
        """Keep an answer; on disk when this returns."""
        row = (request.key(), request.model, answer.to_json())
        with self._one_line(), self.database:
            self.database.execute("INSERT OR REPLACE INTO answers VALUES (?, ?, ?)", row)

    def close(self) -> None:
        """Close the file."""
        self.database.close()

    def __enter__(self) -> AnswerStore:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _read(self, text: str) -> Answer:
        try:
            return Answer.from_json(text)
        except (ValueError, TypeError):
            raise BadInput(f"{self.path} holds an answer that cannot be read: delete the file to ask anew") from None

    @contextmanager
    def _one_line(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise BadInput(f"{self.path} cannot be used as a store of answers: {error}") from None
