"""`derive --watch`: a document is checked again when it is saved, and what changed is printed first."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from attention_core.derivation import DocumentReport, check_document
from attention_core.derivation.editors.rechecks import watch

HEAD = "Let $x \\in \\mathbb{R}$.\n\n"
RIGHT = "$$ (x + 1)^2 = x^2 + 2 x + 1 $$\n\n"
WRONG = "$$ (x + 1)^2 = x^2 + 1 \\tag{square} $$\n\n"
OTHER = "$$ 2 x = 3 x \\tag{other} $$\n"


def edits(path: Path, *texts: str | None) -> Callable[[float], None]:
    """Write one text at each pause, then press Ctrl-C; None deletes the file."""
    left = list(texts)

    def pause(_: float) -> None:
        if not left:
            raise KeyboardInterrupt
        text = left.pop(0)
        if text is None:
            path.unlink()
        else:
            path.write_text(text, encoding="utf-8")
            os.utime(path, ns=(10**18 - len(left), 10**18 - len(left)))

    return pause


def test_what_changed_is_printed_first_and_nothing_where_no_file_did(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, checked = tmp_path / "a.md", []
    path.write_text(HEAD + OTHER + RIGHT, encoding="utf-8")

    def check(file: str) -> DocumentReport:
        checked.append(file)
        return check_document(Path(file))

    text = HEAD + OTHER + WRONG
    assert watch([str(path)], check, edits(path, text, text, HEAD + RIGHT)) == 0
    assert len(checked) == 4  # one text was saved twice, unchanged
    first, second, third, fourth = capsys.readouterr().out.split(str(path))[1:]
    assert "1 of 2 steps" in first
    assert second.index("square") < second.index("as before:") < second.index("other")
    assert "no step changed" in third
    assert "line-3" in fourth and "1 of 1 steps" in fourth and "as before" not in fourth


def test_a_file_that_is_gone_for_a_while_is_waited_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.md"
    path.write_text(HEAD + RIGHT, encoding="utf-8")
    status = watch([str(path)], lambda file: check_document(Path(file)), edits(path, None, HEAD + WRONG))
    said = capsys.readouterr()
    assert status == 1 and "cannot be read: No such file or directory" in said.err
    assert "REFUTED" in said.out.split("1 of 1")[1]


def test_nothing_that_was_ever_read_is_not_a_success(tmp_path: Path) -> None:
    path = tmp_path / "none.md"
    assert watch([str(path)], lambda file: check_document(Path(file)), edits(path)) == 2
