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
    assert [text.get_text() for text in axes.texts] == ["0.7", "0", "0.6", "0", "no memory"]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["a", "b"]


def test_a_reason_is_readable_within_the_axes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Words over a bar at 0 neither leave the picture, nor lie under the legend, nor over the height of the other bars."""
    drawn: list[Any] = []
    monkeypatch.setattr(pictures, "write", lambda picture, path: drawn.append(picture))
    reason = "does not fit into memory: DefaultCPUAllocator: can't allocate memory: you tried to allocate 4194304 bytes"
    pictures.bars(["a", "b", "c"], {"dev": [0.7, 0, 0.6], "test": [0.7, 0, 0.6]}, tmp_path / "b.png", ylabel="accuracy",
                  reasons={"b": reason}, line=(0.6, "majority"))  # fmt: skip
    picture = drawn[0]
    picture.draw_without_rendering()
    (axes,) = picture.axes
    words = next(text for text in axes.texts if text.get_text().startswith("does not")).get_window_extent()
    frame, legend = axes.get_window_extent(), axes.get_legend().get_window_extent()
    assert frame.x0 <= words.x0 and words.x1 <= frame.x1 and frame.y0 <= words.y0 and words.y1 <= frame.y1
    assert not words.overlaps(legend)
    assert not any(words.overlaps(bar.get_window_extent()) for bar in axes.patches if bar.get_height())


def test_a_confusion_matrix_has_its_counts_where_they_belong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Any] = []
    monkeypatch.setattr(pictures, "write", lambda picture, path: drawn.append(picture))
    pictures.confusion_matrix([[7, 1], [0, 4]], ["bad", "good"], tmp_path / "c.png", title="test")
    (axes,) = drawn[0].axes
    assert {text.get_position(): text.get_text() for text in axes.texts} == {
        (0, 0): "7", (1, 0): "1", (0, 1): "0", (1, 1): "4"
    }  # fmt: skip
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("predicted", "true")


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
