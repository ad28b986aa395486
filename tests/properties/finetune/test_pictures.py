"""Pictures of results.

finetune.pictures: files that are pictures, the same for the same data, in the formats that they are asked for.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from finetune import pictures
from finetune.errors import BadInput

RECORDS = [
    {"epochs": n, "train_loss": 1 / n, "dev_loss": abs(n - 3) + 0.5, "train_accuracy": 1 - 1 / n, "dev_accuracy": 0.9 - 0.1 * abs(n - 3)}
    for n in range(1, 7)
]  # fmt: skip


def text_of(picture: Path) -> str:
    return picture.read_text(encoding="utf-8")


def test_curves_name_their_lines_and_mark_the_best(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Any] = []
    monkeypatch.setattr(pictures, "write", lambda picture, path: drawn.append(picture))
    pictures.curves(RECORDS, RECORDS[2], 0.6, tmp_path / "c.png")
    loss, accuracy = drawn[0].axes
    told = [[text.get_text() for text in axes.get_legend().get_texts()] for axes in (loss, accuracy)]
    assert told == [["train", "dev", "best on dev"], ["train", "dev", "best on dev", "majority class"]]
    best = accuracy.lines[2]
    assert (list(best.get_xdata()), list(best.get_ydata())) == ([3], [0.9])
    assert list(loss.lines[1].get_ydata()) == [record["dev_loss"] for record in RECORDS]


def test_bars_have_a_height_for_each_name_and_a_reason_where_there_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[Any] = []
    monkeypatch.setattr(pictures, "write", lambda picture, path: drawn.append(picture))
    groups = {"dev": [0.7, 0.0], "test": [0.6, 0.0]}
    pictures.bars(
        ["a", "b"], groups, tmp_path / "b.png", ylabel="accuracy", reasons={"b": "no memory"}, line=(0.5, "majority")
    )
    (axes,) = drawn[0].axes
    assert [bar.get_height() for bar in axes.patches] == [0.7, 0.0, 0.6, 0.0]
    assert [text.get_text() for text in axes.texts] == [" no memory"]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["a", "b"]


@pytest.mark.parametrize(("kind", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_files_are_pictures_and_repeat(tmp_path: Path, kind: str, start: bytes) -> None:
    counts = {"full": [("embeddings", 10, 0), ("head", 4, 0)], "head": [("embeddings", 0, 10), ("head", 4, 0)]}
    paths = [tmp_path / f"{n}.{kind}" for n in range(2)]
    for path in paths:
        pictures.parts(counts, path)
    assert paths[0].read_bytes().startswith(start)
    if kind == "png":  # the others number their parts by chance
        assert paths[0].read_bytes() == paths[1].read_bytes()


def test_parts_say_how_many_are_trained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Any] = []
    monkeypatch.setattr(pictures, "write", lambda picture, path: drawn.append(picture))
    pictures.parts({"head": [("embeddings", 0, 1000), ("head", 4, 0)]}, tmp_path / "p.png")
    (axes,) = drawn[0].axes
    assert axes.get_title() == "head\n4 of 1,004"
    assert [text.get_text() for text in axes.texts] == ["embeddings\n1,000 frozen", "head\n4 trained"]
    colours = [bar.get_facecolor() for bar in axes.patches]
    assert colours[0] != colours[1]


def test_other_formats_and_no_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadInput, match="a picture is a png, svg or pdf"):
        pictures.write(pictures.figure(1, 1), tmp_path / "a.gif")
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(BadInput, match="pictures need matplotlib"):
        pictures.figure(1, 1)
