"""What a target says cannot write workflow commands or Markdown of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_core.annotations import LONGEST, annotation, append_summary, cell, fence

HOSTILE = st.text("a:,%\n\r`|<>*[]&\\ \U0001f600", max_size=20)


@pytest.fixture(scope="module", autouse=True)
def outside_of_github() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("GITHUB_WORKSPACE", raising=False)
        yield


def unescape(text: str) -> str:
    for sign, code in ((",", "%2C"), (":", "%3A"), ("\n", "%0A"), ("\r", "%0D"), ("%", "%25")):
        text = text.replace(code, sign)
    return text


@given(HOSTILE, HOSTILE, HOSTILE)
def test_an_annotation_is_one_line_and_says_all(title: str, message: str, path: str) -> None:
    line = annotation("warning", title, message, path, 7)
    assert len(line.splitlines()) == 1
    properties, said = re.fullmatch(r"::warning ([^:]*)::(.*)", line).groups()  # type: ignore[union-attr]
    assert unescape(said) == message
    found = dict(each.split("=", 1) for each in properties.split(","))
    assert {name: unescape(text) for name, text in found.items()} == {
        "title": title,
        **({"file": path, "line": "7"} if path else {}),
    }


def test_a_file_is_named_from_the_root_of_the_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A step with `working-directory` would otherwise mark a file that the diff does not have."""
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    assert "file=mine.py,line=4::" in annotation("error", "t", "m", "mine.py", 4)
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    assert "file=sub/mine.py,line=4::" in annotation("error", "t", "m", "mine.py", 4)
    assert "file=sub/mine.py,line=4::" in annotation("error", "t", "m", str(tmp_path / "sub" / "mine.py"), 4)
    assert "file=other.py,line=4::" in annotation("error", "t", "m", "../other.py", 4)
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path / "elsewhere"))
    assert "file=mine.py,line=4::" in annotation("error", "t", "m", "mine.py", 4)


def test_a_long_message_is_cut() -> None:
    assert len(annotation("error", "t", "x" * 2 * LONGEST)) < LONGEST + 30


@given(st.text("`~a\n ", max_size=20))
def test_a_block_cannot_be_left(text: str) -> None:
    first, *inside, last = fence(text, "python").rstrip("\n").split("\n")
    assert first == f"{last}python"
    assert set(last) == {"`"}
    assert last not in "\n".join(inside)


@given(HOSTILE)
def test_a_cell_is_one_cell(text: str) -> None:
    assert "\n" not in cell(text)
    assert not re.search(r"(?<!\\)(\\\\)*[|`*\[\]]|[<>]", re.sub(r"\\[\\|`*\[\]]", "", cell(text)))


def test_the_summary_is_appended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    assert not append_summary("x")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "s.md"))
    assert append_summary("one ")
    assert append_summary("two")
    assert (tmp_path / "s.md").read_text() == "one two"
