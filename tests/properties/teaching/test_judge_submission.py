"""The process of one submission: whatever the request, a report is written."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from attention_core.teaching.judge_submission import main


@pytest.mark.parametrize(
    ("target", "fields", "words"),
    [("missing.py:f", {}, "missing.py"), ("missing.py:f", {"layout": "upside-down"}, "upside-down")],
)
def test_what_cannot_be_judged_is_a_report_of_the_kind_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str, fields: dict[str, str], words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    to = tmp_path / "report.json"
    request = {"target": target, "fields": fields, "effort": "quick", "seed": 0, "timeout": 5, "to": str(to)}
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(request)))
    main()
    written = json.loads(to.read_text(encoding="utf-8"))
    assert written["ranking"] == [] and written["report"]["verdict"] == "error"
    assert words in written["report"]["problem"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.json"]
