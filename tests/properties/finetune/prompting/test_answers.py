"""The store of answers: what is kept is found, by the whole request, also after the process has been killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from finetune.errors import BadInput
from finetune.prompting.answers import AnswerStore
from finetune.prompting.request import Answer, Controls, Request

ONE = Answer(("yes",), ("stop",), 3, 1)


def test_an_answer_is_found_by_the_whole_request(tmp_path: Path) -> None:
    with AnswerStore(tmp_path / "a.db") as store:
        store.keep(Request("m", "p"), ONE)
    with AnswerStore(tmp_path / "a.db") as store:
        assert store.find([Request("m", "p"), Request("m", "q"), Request("m", "p", Controls(seed=1))]) == [
            ONE,
            None,
            None,
        ]


def test_more_requests_than_a_query_takes_are_found(tmp_path: Path) -> None:
    requests = [Request("m", str(n)) for n in range(1201)]
    with AnswerStore(tmp_path / "a.db") as store:
        for request in requests[::2]:
            store.keep(request, Answer((request.prompt,), ("stop",)))
        answers = store.find(requests)
    assert [a and a.texts[0] for a in answers] == [str(n) if n % 2 == 0 else None for n in range(1201)]


def test_what_was_kept_before_a_kill_is_found(tmp_path: Path) -> None:
    code = (
        "import sys, os, signal\n"
        "from finetune.prompting.answers import AnswerStore\n"
        "from finetune.prompting.request import Answer, Request\n"
        "store = AnswerStore(sys.argv[1])\n"
        "store.keep(Request('m', 'p'), Answer(('yes',), ('stop',), 3, 1))\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    ended = subprocess.run([sys.executable, "-c", code, str(tmp_path / "a.db")], env=dict(os.environ))
    assert ended.returncode == -signal.SIGKILL
    with AnswerStore(tmp_path / "a.db") as store:
        assert store.find([Request("m", "p")]) == [ONE]


def test_a_file_that_is_something_else_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text(
        "this is a note, not a database, and it is long enough to be read as a header\n" * 9
    )
    with pytest.raises(BadInput, match="cannot be used as a store"):
        AnswerStore(tmp_path / "note.txt")


def test_a_folder_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot be used as a store"):
        AnswerStore(tmp_path)


def test_an_answer_that_was_tampered_with_is_one_line(tmp_path: Path) -> None:
    with AnswerStore(tmp_path / "a.db") as store:
        store.keep(Request("m", "p"), ONE)
        store.database.execute("UPDATE answers SET answer = '{}'")
        with pytest.raises(BadInput, match="cannot be read"):
            store.find([Request("m", "p")])
