"""Reading text and questions.

finetune.data.corpus: files as they are found, and one line for each way they can be unusable.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from finetune.data.corpus import documents, read_questions, read_text
from finetune.errors import BadInput


def test_line_ends_and_a_byte_order_mark_do_not_matter(tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    path.write_bytes("\ufeffone\r\ntwo\rthree\n".encode())
    assert read_text(path) == "one\ntwo\nthree\n"
    assert documents(read_text(path)) == ["one", "two", "three"]
    assert documents("one line") == ["one line"]


def test_unusable_files_are_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "latin").write_bytes(b"good\nM\xfcnchen\n")
    for name, words in {
        "none": "no such file",
        "latin": r"latin, line 2: not UTF-8 \(byte 0xfc\)",
        ".": "is a folder",
    }.items():
        with pytest.raises(BadInput, match=words) as caught:
            read_text(tmp_path / name)
        assert "\n" not in str(caught.value)
    with pytest.raises(BadInput, match="wiki is empty"):
        documents("\n\n", "wiki")
    if os.geteuid() != 0:  # root reads everything
        (tmp_path / "latin").chmod(0)
        with pytest.raises(BadInput, match="cannot be read"):
            read_text(tmp_path / "latin")


def test_questions_come_with_or_without_places(tmp_path: Path) -> None:
    path = tmp_path / "q.tsv"
    path.write_text("Where?\tRome\nWho?\tA b\n")
    both = read_questions(path)
    assert both.questions == ["Where?", "Who?"] and both.places == ["Rome", "A b"] and len(both) == 2
    path.write_text("Where?\nWho?\n")
    assert read_questions(path).places is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("a\tb\nc\n", "line 2: 1 column"),
        ("a\nb\tc\n", "line 2: 2 columns"),
        ("a\tb\tc\n", "line 1: 3 columns"),
        ("a\tb\nc\t\n", "line 2: an empty question or place"),
        ("\tb\n", "line 1: an empty question"),
        ("a\nb\n", "questions without places"),
    ],
)
def test_bad_questions_are_told_with_their_line(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "q.tsv"
    path.write_text(text)
    with pytest.raises(BadInput, match=words):
        read_questions(path, with_places=True)
