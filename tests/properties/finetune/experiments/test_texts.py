"""The text of an experiment: a file first, real data next, else what every Python has."""

from __future__ import annotations

from pathlib import Path

import pytest

from finetune.errors import BadInput
from finetune.experiments.texts import REAL, as_text, read_experiment_text, reference


def test_a_file_goes_before_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / REAL).parent.mkdir()
    (tmp_path / REAL).write_text("real text " * 900, encoding="utf-8")
    (tmp_path / "mine.txt").write_text("my own " * 900, encoding="utf-8")
    monkeypatch.setenv("ATTENTION_CORE_DATA", str(tmp_path))
    assert read_experiment_text(str(tmp_path / "mine.txt")).name == "mine.txt"
    assert read_experiment_text(None).name == "tinyshakespeare"
    monkeypatch.setenv("ATTENTION_CORE_DATA", str(tmp_path / "nowhere"))
    assert "pydoc" in read_experiment_text(None).name


def test_the_reference_of_python_is_long_enough() -> None:
    text = as_text(reference(), "reference")
    assert len(text.train) > 200_000 and len(text.held_out) == pytest.approx(len(text.train) / 9, rel=0.01)


def test_short_and_reserved_texts_are_refused() -> None:
    with pytest.raises(BadInput, match="at least 5000"):
        as_text("short", "note.txt")
    with pytest.raises(BadInput, match="reserved"):
        as_text("□" * 9000, "note.txt")
