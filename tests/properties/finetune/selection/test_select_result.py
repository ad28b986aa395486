"""What a selection comes to.

finetune.selection.select: test read once for each choice, the table, the bars at 0 with a reason, counts by part.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from finetune.classification.classify import Run
from finetune.classification.config import ClassifyConfig, method_of
from finetune.models.classifier import Classifier
from finetune.models.encoder import Encoder, EncoderConfig
from finetune.peft import inject
from finetune.selection.optuna_study import Space
from finetune.selection.select import Selection, part_of, parts_of, table
from tests.tiny_encoders import write_encoder, write_sst2


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any], list[Any]]:
    """A finished selection, and how often each side of the data was scored."""
    folder = tmp_path_factory.mktemp("world")
    write_encoder(folder / "m", layers=1)
    write_sst2(folder / "sst", train=24, dev=12, test=16)
    space = Space((str(folder / "m"), str(folder / "none")), ("head", "lora"), (0.01, 0.1), (1,), (8,))
    made = Selection(ClassifyConfig("", str(folder / "sst"), device="cpu"), space, folder / "s", say=lambda _: None)
    scored: list[int] = []
    real = Run.score

    def score(self: Run, source: Any) -> Any:
        scored.append(len(source))
        return real(self, source)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Run, "score", score)
        found = made.work().finish()
        assert found is not None
        assert made.finish() is not None
    return folder / "s", found, scored


def test_test_is_scored_once_for_each_choice_of_dev(done: tuple[Path, dict[str, Any], list[Any]]) -> None:
    _, found, scored = done
    assert scored.count(16) == 2 and scored.count(12) == 4, "test for two candidates, dev for four trials"
    assert [row["test"] is not None for row in found["rows"]] == [True, True, False, False]
    best = max((row for row in found["rows"] if row["dev"]), key=lambda row: row["dev"]["accuracy"])
    assert found["best"] == best


def test_the_files(done: tuple[Path, dict[str, Any], list[Any]]) -> None:
    folder, found, _ = done
    assert json.loads((folder / "results.json").read_text())["rows"] == json.loads(json.dumps(found["rows"]))
    for name in ("accuracy.png", "parts.png"):
        assert (folder / name).read_bytes().startswith(b"\x89PNG")
    lines = (folder / "results.md").read_text().splitlines()
    assert len(lines) == 7 and all(line.count("|") == 9 for line in lines)
    assert sum("(best)" in line for line in lines) == 1 and "no such folder" in lines[-2]
    assert lines[-1].startswith("| majority class |") and lines[-1].endswith("| 0.5000 | 0.5000 |")


@pytest.mark.parametrize("method", ["full", "head", "prompt", "prefix", "lora", "bias"])
def test_parts_add_up_to_the_model(method: str) -> None:
    torch.manual_seed(0)
    model = Classifier(Encoder(EncoderConfig(20, 16, 2, 2, 8, 16)), 2)
    options = method_of(ClassifyConfig("m", method=method, prompt_length=3, rank=2))
    if options is not None:
        inject(model, options)
    found = parts_of(model)
    assert sum(trained for _, trained, _ in found) == sum(p.numel() for p in model.parameters() if p.requires_grad)
    assert sum(trained + frozen for _, trained, frozen in found) == sum(p.numel() for p in model.parameters())
    counts = {part: (trained, frozen) for part, trained, frozen in found}
    assert counts["head"] == (18, 0) and list(counts) == [
        p for p in ("embeddings", "prompt", "prefix", "layers", "LoRA", "head") if p in counts
    ]
    own = {"prompt": ("prompt", 3 * 8), "prefix": ("prefix", 2 * 2 * 3 * 8), "lora": ("LoRA", 2 * 2 * 2 * 2 * 8)}
    if method in own:
        part, count = own[method]
        assert counts[part] == (count, 0) and counts["layers"][0] == 0


def test_names_of_transformers_models_have_parts_too() -> None:
    assert part_of("encoder.embeddings.word_embeddings.weight") == "embeddings"
    assert part_of("encoder.encoder.layer.0.attention.self.query.lora_A.weight") == "LoRA"
    assert part_of("encoder.encoder.layer.0.output.dense.bias") == "layers"


def test_a_table_without_a_test_set() -> None:
    row = {
        "model": "m", "method": "full", "dev": {"accuracy": 0.5}, "test": None, "reason": None, "parameters": {"trained": 3},
        "params": {"learning_rate": 1e-4, "epochs": 7, "batch_size": 64},
    }  # fmt: skip
    found = table({"rows": [row], "best": row, "majority": {"dev": 0.4}})
    assert "| m | full | 0.0001 | 7 | 64 | 3 | 0.5000 (best) |  |" in found
