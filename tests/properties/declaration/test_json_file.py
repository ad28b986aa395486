"""attention_core.declaration.json_file: what is not JSON is one line that names the file."""

from __future__ import annotations

from pathlib import Path

import pytest

from attention_core.declaration.errors import TargetError
from attention_core.declaration.json_file import read_json

BAD = {"cut": b"{", "deep": b"[" * 200_000, "not UTF-8": b"\xff\xfe", "empty": b""}


@pytest.mark.parametrize("text", BAD.values(), ids=list(BAD))
def test_what_is_not_json_is_one_line(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "a.json").write_bytes(text)
    with pytest.raises(TargetError, match=r"a\.json is not JSON: ") as caught:
        read_json(tmp_path / "a.json")
    assert "\n" not in str(caught.value)


def test_a_file_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match=r"none\.json cannot be read: No such file"):
        read_json(tmp_path / "none.json")


def test_the_value_comes_back(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('[1, "é"]', encoding="utf-8")
    assert read_json(tmp_path / "a.json") == [1, "é"]
