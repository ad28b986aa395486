"""What comes out of a run.

finetune.classification.result: what is written, test read once for the best by dev, and the model that comes back.

Figures of classes against a count that looks at every pair of a label and a prediction.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from finetune.classification.classify import logits_of, run_of
from finetune.classification.config import DEFAULTS, ClassifyConfig
from finetune.classification.result import classify, lines, load_trained, outcome, read_test, report
from finetune.classification.scores import scores
from finetune.data.collate import LabelledTexts, in_order
from finetune.data.labelled import read_splits
from finetune.data.texts import encode
from finetune.errors import BadInput
from finetune.training import checkpoint
from finetune.training.locks import try_lock
from tests.tiny_encoders import write_encoder, write_sst2


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("world")
    write_encoder(folder / "m")
    write_sst2(folder / "sst")
    return folder


def config(world: Path, **changes: Any) -> ClassifyConfig:
    options: dict[str, Any] = {
        "model": str(world / "m"), "data": str(world / "sst"), "batch_size": 12, "prompt_length": 4, "epochs": 2,
        "learning_rate": 0.01, "device": "cpu", **changes,
    }  # fmt: skip
    return ClassifyConfig(**options)


@pytest.mark.parametrize("method", DEFAULTS)
def test_the_model_comes_back_with_the_scores_that_were_written(world: Path, tmp_path: Path, method: str) -> None:
    result = classify(config(world, method=method, output_dir=str(tmp_path)), lambda _: None)
    assert json.loads((tmp_path / "result.json").read_text()) == result
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "adapter" / "adapter_config.json").exists() == (method != "full")
    model, pretrained, classes = load_trained(tmp_path)
    assert classes == ("negative", "positive") and not model.training
    test = read_splits(world / "sst").test
    assert test is not None
    source = LabelledTexts(encode(pretrained.tokenizer, test, 44), test.labels, pretrained.tokenizer.pad_id)
    found = scores(model, logits_of, in_order(source, 12, source.lengths), torch.device("cpu"))
    assert found.accuracy == result["test"]["accuracy"]
    # Head tuning pads in other batches: sums of some hundred terms in float32.
    assert found.loss == pytest.approx(result["test"]["loss"], abs=2000 * 2.0**-24)


def test_what_a_result_says(world: Path, tmp_path: Path) -> None:
    said: list[str] = []
    result = classify(config(world, method="head", epochs=3), said.append)
    assert result["parameters"] == {"trained": 34, "all": result["parameters"]["all"]}
    assert result["labels"]["train"] == {"negative": 30, "positive": 30} and result["majority"]["test"] == 0.5
    assert result["cut"] == {"train": 0, "dev": 0, "test": 0} and result["leaks"] == []
    assert result["best"]["dev_accuracy"] >= result["last"]["dev_accuracy"] and result["last"]["epochs"] == 3.0
    assert sum(line.startswith("epoch ") for line in said) == 3
    assert any("34 of" in line and "parameters are trained" in line for line in said)


def test_the_seconds_of_an_interrupted_run_count(world: Path, tmp_path: Path) -> None:
    options = {"method": "head", "output_dir": str(tmp_path)}
    classify(config(world, **options), lambda _: None)
    path = tmp_path / "checkpoint"
    state = checkpoint.load(path)
    checkpoint.save(path, {**state, "seconds": 1e6})
    assert classify(config(world, **options), lambda _: None)["seconds"] > 1e6


def test_test_is_read_once_for_what_dev_chose(world: Path, tmp_path: Path) -> None:
    run = run_of(config(world, output_dir=str(tmp_path)), lambda _: None)
    monitor = run.train()
    first = outcome(run, monitor)["test"]
    assert run.sides.test is not None
    with torch.no_grad():
        run.classifier.head.bias.add_(torch.tensor([100.0, 0.0]))
    assert outcome(run, monitor)["test"] == first, "as it was written down: not measured again"
    with pytest.raises(BadInput, match="would be a choice on test"):
        read_test(run, run.sides.test, {"another": 1})


def test_without_a_test_set_there_is_no_score(world: Path) -> None:
    run = run_of(config(world, epochs=1), lambda _: None)
    run.sides = type(run.sides)(run.sides.train, run.sides.dev, None, [])
    assert outcome(run, run.train())["test"] is None


def test_a_result_that_does_not_fit_is_refused(world: Path, tmp_path: Path) -> None:
    folder = tmp_path / "r"
    classify(config(world, method="lora", output_dir=str(folder)), lambda _: None)
    write_encoder(tmp_path / "other", seed=9)
    with pytest.raises(BadInput, match="its weights are others"):
        load_trained(folder, str(tmp_path / "other"))
    told = json.loads((folder / "result.json").read_text())
    (folder / "result.json").write_text(json.dumps({**told, "classes": ["a", "b", "c"]}))
    with pytest.raises(BadInput, match="does not hold what its run"):
        load_trained(folder)
    (folder / "result.json").write_text("{}")
    with pytest.raises(BadInput, match="holds no finished run"):
        load_trained(folder)
    (folder / "result.json").unlink()
    with pytest.raises(BadInput, match="holds an unfinished run"):
        load_trained(folder)
    with pytest.raises(BadInput, match="no such file"):
        load_trained(tmp_path / "none")


def test_arrays_of_one_batch_keep_their_order(world: Path) -> None:
    run = run_of(config(world), lambda _: None)
    source = run.texts("dev", run.sides.dev)
    assert source.batch(0, np.array([1, 0]))["labels"].tolist() == [1, 0]


def test_two_runs_into_one_folder_are_one_too_many(world: Path, tmp_path: Path) -> None:
    folder = tmp_path / "r"
    options = config(world, method="head", output_dir=str(folder))
    held = try_lock(folder / "run.lock")
    assert held is not None
    with held, pytest.raises(BadInput, match=r"another run is writing into .*r: wait for it, or take another folder"):
        classify(options, lambda _: None)
    assert not (folder / "run.json").exists()
    assert classify(options, lambda _: None)["test"]


def test_a_second_run_keeps_what_was_cut(world: Path, tmp_path: Path) -> None:
    options = config(world, method="head", output_dir=str(tmp_path), max_seq_length=6)
    first, again = (classify(options, lambda _: None) for _ in range(2))
    assert first["cut"].keys() == {"train", "dev", "test"} and again["cut"] == first["cut"]


PAIRS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1)


@given(PAIRS)
def test_figures_are_those_of_their_definitions(pairs: list[tuple[int, int]]) -> None:
    labels, predictions = zip(*pairs, strict=True)
    names = ("a", "b", "c", "d")
    found = report(labels, predictions, names)
    assert sum(map(sum, found["confusion"])) == len(pairs)
    for number, name in enumerate(names):
        both = sum(label == prediction == number for label, prediction in pairs)
        said, true = predictions.count(number), labels.count(number)
        row = found["classes"][name]
        assert row["examples"] == true
        assert row["precision"] == (both / said if said else None) and row["recall"] == (both / true if true else None)
        # The harmonic mean of precision and recall, where both are there and positive.
        if both:
            assert abs(row["f1"] - 2 / (1 / row["precision"] + 1 / row["recall"])) < 1e-12
        else:
            assert row["f1"] == (0 if said or true else None)


def test_a_figure_that_is_not_defined_is_a_dash() -> None:
    shown = list(lines(report([0, 0], [1, 0], ["no", "yes"])))
    assert shown[2].split() == ["yes", "0.000", "-", "0.000", "0"]
