"""What a file is told by what it holds, and what is wrong with others is one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from attention_core.audit.results import Audit
from attention_core.conformance.report.results import Report, to_json
from attention_core.declaration.implementation import TargetError
from attention_core.report_page.parts import KINDS, kind_of, read_part, read_parts


def write(folder: Path, name: str, data: Any) -> Path:
    path = folder / name
    path.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "kind, data",
    [("verify", json.loads(to_json([Report("a")]))), ("verify", json.loads(to_json([Report("a"), Report("b")]))),
     ("derive", {"schema_version": 1, "documents": []}), ("bench", {"kind": "attention-core bench"}),
     ("bench --base", {"kind": "attention-core bench --base"}), (None, {"kind": "attention-core bench --top"}),
     ("grade", {"grades": []}), ("audit", Audit("m:f", ("tests",)).to_dict()), ("matrix", {"rows": [{"package": "a"}]}),
     (None, {"rows": [3]}), (None, {}), (None, []), (None, None),
     (None, {"target": "a"})],
)  # fmt: skip
def test_a_kind_is_told_by_its_keys(kind: str | None, data: Any) -> None:
    assert kind_of(data) == kind


@pytest.mark.parametrize(
    "name, data, words",
    [("a.json", "{", "not valid JSON"), ("a.json", "{}", "was not written by"), ("a.jsonl", "x\n", "no records"),
     ("a.jsonl", '{"loss": 1}', "no records"), ("a.json", "[" * 100_000, "not valid JSON")],
)  # fmt: skip
def test_another_file_is_one_line(tmp_path: Path, name: str, data: str, words: str) -> None:
    with pytest.raises(TargetError, match=words) as caught:
        read_part(write(tmp_path, name, data))
    assert "\n" not in str(caught.value)


def test_a_file_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="cannot be read"):
        read_part(tmp_path / "none.json")
    (tmp_path / "b.json").write_bytes(b"\xff\xfe{")
    with pytest.raises(TargetError, match="not UTF-8"):
        read_part(tmp_path / "b.json")


def test_a_record_that_was_cut_off_is_left_out(tmp_path: Path) -> None:
    part = read_part(write(tmp_path, "m.jsonl", '{"step": 1, "loss": 2.0}\n{"step": true}\n{"step": 2, "lo'))
    assert part.data == [{"step": 1, "loss": 2.0}]


def test_a_folder_gives_what_is_known_and_names_the_rest(tmp_path: Path) -> None:
    write(tmp_path, "z.json", json.loads(to_json([Report("a")])))
    write(tmp_path, "a.json", {"documents": []})
    write(tmp_path, "other.json", {})
    write(tmp_path, "notes.txt", "")
    parts, left_out = read_parts([tmp_path])
    assert [part.kind for part in parts] == ["verify", "derive"] == [k for k in KINDS if k in ("verify", "derive")]
    assert len(left_out) == 1 and "other.json" in left_out[0]
    (tmp_path / "empty").mkdir()
    with pytest.raises(TargetError, match="holds nothing"):
        read_parts([tmp_path / "empty"])
