"""The benchmark of finetune, without measuring anything.

experiments/finetune_bench: its yardstick is right, its page has every figure, and without a checkout it says so.
"""

from __future__ import annotations

import argparse
import importlib
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from finetune.data.span_corruption import restore
from finetune.data.vocabulary import Vocabulary
from finetune.errors import BadInput
from finetune.models.gpt import GPTConfig

FOLDER = Path(__file__).parents[3] / "experiments" / "finetune_bench"
DOCUMENTS = ["The quick brown fox jumps over the lazy dog, again and again.", "Ada was born in London."]


@pytest.fixture
def scripts(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Any, Any]]:
    """The modules run and peers, whose names other experiments use too."""
    monkeypatch.syspath_prepend(str(FOLDER))
    for name in ("run", "peers"):
        sys.modules.pop(name, None)
    yield importlib.import_module("run"), importlib.import_module("peers")
    for name in ("run", "peers"):
        sys.modules.pop(name, None)


def test_the_loop_over_items_corrupts_as_specified(scripts: tuple[Any, Any]) -> None:
    """Each of its items is a document's beginning with a stretch moved to the end: our inverse finds it."""
    random.seed(0)
    vocabulary = Vocabulary.from_text("".join(DOCUMENTS))
    loop = scripts[1].ItemByItem(DOCUMENTS, {c: n for n, c in enumerate(vocabulary.characters)}, 64)
    for number in [0, 1] * 100:
        x, y = (a.numpy()[None] for a in loop[number])
        ids, lengths, cut = restore(x, y)
        assert x.shape == (1, 64) and 4 <= lengths[0] <= 56 and 1 <= cut.masked[0] <= lengths[0] / 2
        assert vocabulary.decode(ids[0]) == DOCUMENTS[number][: lengths[0]]


def test_the_page_has_a_row_for_every_side(scripts: tuple[Any, Any], tmp_path: Path) -> None:
    run, _ = scripts
    (tmp_path / "corpus").write_text("\n".join(DOCUMENTS))
    told = argparse.Namespace(corpus=str(tmp_path / "corpus"), mingpt=None, batch=2, threads=2, steps=2)
    bench = run.Bench(told)
    sides = ["minGPT", *run.SIDES]
    found = {
        "seconds": {side: [2.0 / (1 + n), 4.0 / (1 + n)] for n, side in enumerate(sides)},
        "tokens": [100, 200], "losses": dict.fromkeys(sides, 2.5), "memory": dict.fromkeys(sides, 2**20),
        "peaks": {"float32": 1e9, "bfloat16": 4e9}, "corruption": (400.0, 10.0), "checkpoint": (0.5, 0.25, 2**20),
        "load": 0.0,
    }  # fmt: skip
    page = run.page(bench, found)
    # 50 tokens a second of 2 threads' 2 GFLOP/s.
    used = round(100 * 50 * run.flops_a_token(bench.config, 64) / 2e9)
    assert f"| minGPT | 50 | 1.00 (1.00 to 1.00) | {used} % | 2.5000 | 1 MiB |" in page
    assert "| float32 | 100 | 2.00 (2.00 to 2.00) |" in page and "| 40 (400, 10) |" in page
    del found["seconds"]["minGPT"]
    assert "| float32 | 100 | no checkout was given |" in run.page(bench, found)


def test_products_are_counted_as_the_model_has_them(scripts: tuple[Any, Any]) -> None:
    """6 a weight of linear layers, and of 2 products of scores and values, forwards and twice backwards, half a square."""
    assert scripts[0].flops_a_token(GPTConfig(10, 8, 3, 2, 4), 8) == 6 * (3 * 12 * 16 + 40) + 3 * (
        3 * 2 * 2 * 4 * 8 / 2
    )


def test_a_folder_without_mingpt_is_told(scripts: tuple[Any, Any], tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"is no checkout of minGPT: it has no mingpt/model.py"):
        scripts[1].MinGPT(tmp_path, GPTConfig(10), 1e-3)
