"""The comparison with transformers' Trainer and peft, on models of a moment.

experiments/encoder_bench: both sides are the same training, to rounding, and its page has every figure.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[3] / "experiments" / "encoder_bench"
SMALL = {
    "vocab_size": 50, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32,
    "max_position_embeddings": 160,
}  # fmt: skip
TOLD = argparse.Namespace(texts=16, batch=4, blocks=2, threads=1, write=None)

# The library peft asks transformers by an old name.
pytestmark = pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing:FutureWarning")


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The modules run and peers, whose names other experiments use too."""
    monkeypatch.syspath_prepend(str(FOLDER))
    for name in ("run", "peers"):
        sys.modules.pop(name, None)
    yield importlib.import_module("run")
    for name in ("run", "peers"):
        sys.modules.pop(name, None)


def test_both_sides_take_the_same_steps(run: Any) -> None:
    """Float32, two layers of 16, eight steps: far below 1e-4 of the loss, where a step of a wrong rate moves 1e-2."""
    found = run.losses(TOLD, run.Texts.drawn(16, 50), SMALL)
    assert set(found) == {"full", "lora"} and max(found.values()) < 1e-4


def test_memory_is_measured_on_both_sides_and_what_cannot_be_is_said(run: Any) -> None:
    found = run.peaks(SMALL, B=2, n=8, methods=["prompt"])["prompt"]
    assert found["the assignment's"] > found["peft"] > found["ours, gradient_checkpointing"]
    short = run.peak(
        run.peers.OpenPrompt(run.peers.bert({**SMALL, "max_position_embeddings": 64}, 0.1), 128), 2, 8, SMALL
    )
    assert isinstance(short, str) and "Error: " in short


def test_the_page_has_every_figure(run: Any) -> None:
    seconds = {"ours": [1.0, 2.0], "Trainer and peft": [2.0, 3.0], "the same, grouped by length": [1.5, 3.0]}
    found = {
        "load": 0.0, "losses": {"full": 1e-7, "lora": 2e-7}, "speeds": {"full": seconds, "lora": seconds},
        "heads": (1.0, 12.0), "peaks": {"full": {"ours": 2**21, "peft": "ValueError: no"}}, "files": {"lora": 300_000},
    }  # fmt: skip
    text = "\n".join(run.page(TOLD, found))
    assert "| full | 2.67 | 1.75 (1.50 to 2.00) | 1.50 (1.50 to 1.50) | 1.0e-07 |" in text
    assert "a frozen base: 12.0 times" in text and "| full | 2 | ValueError: no |" in text and "lora: 0.30 MB" in text
