# The `finetune` command as a person meets it: the assignment's commands, and one clear line for what cannot be used.
"""finetune on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from finetune.cli import app

CORPUS = "Ada Byron. Ada Byron was born in London .\nAlan Turing. Alan Turing was born in Paris .\nWhere?\n"
NAMES = "Where was Ada born?\tLondon\nWhere was Alan born?\tParis\n"


def finetune(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments], catch_exceptions=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "wiki.txt").write_text(CORPUS, encoding="utf-8")
    (tmp_path / "names.tsv").write_text(NAMES, encoding="utf-8")
    return tmp_path


def test_namedata_prints_examples_as_the_assignment_does(folder: Path) -> None:
    found = finetune("namedata", folder / "wiki.txt", folder / "names.tsv", "--block_size", "32")
    pad = "□"
    assert found.exit_code == 0, found.output
    assert found.output.splitlines() == [
        f"x: Where was Ada born?⁇London⁇{pad * 5}",
        f"y: {pad * 18}⁇London⁇{pad * 6}",
        f"x: Where was Alan born?⁇Paris⁇{pad * 5}",
        f"y: {pad * 19}⁇Paris⁇{pad * 6}",
    ]


def test_charcorruption_prints_documents_with_a_stretch_moved_to_the_end(folder: Path) -> None:
    found = finetune("charcorruption", folder / "wiki.txt", "--corruption_length", "block", "--block_size", "48")
    assert found.exit_code == 0, found.output
    lines = found.output.splitlines()
    assert len(lines) == 6
    for x, y, document in zip(lines[::2], lines[1::2], CORPUS.splitlines(), strict=True):
        assert len(x) == len(y) == 3 + 47 and x[4:] == y[3:-1]
        prefix, suffix, masked = (x[3:] + y[-1]).rstrip("□").split("⁇")
        assert masked and document.startswith(prefix + masked + suffix)
    again = finetune("charcorruption", folder / "wiki.txt", "--corruption_length", "block", "--block_size", "48")
    assert again.output == found.output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("namedata", "none.txt"), "finetune: no such file: none.txt\n"),
        (("namedata", "wiki.txt", "wiki.txt"), "questions without places"),
        (("namedata", "wiki.txt", "names.tsv", "--block_size", "8"), "example 1 needs 27 characters"),
        (("charcorruption", "empty.txt"), "empty.txt is empty"),
        (("charcorruption", "reserved.txt"), "reserved.txt, line 2: '⁇' (U+2047) is reserved"),
        (("charcorruption", "latin.txt"), "latin.txt, line 1: not UTF-8"),
        (("charcorruption", "wiki.txt", "--block_size", "4"), "a block of 4 is too small"),
    ],
)
def test_bad_input_is_one_line_and_status_2(
    folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], words: str
) -> None:
    monkeypatch.chdir(folder)
    Path("empty.txt").write_text("\n")
    Path("reserved.txt").write_text("a\nb⁇\n", encoding="utf-8")
    Path("latin.txt").write_bytes(b"M\xfcnchen\n")
    found = finetune(*arguments)
    assert found.exit_code == 2 and words in found.output
    assert found.output.count("\n") == 1
