"""The experiment on birthplaces.

experiments/birthplaces: run whole, and cut short and gone on with, on a made-up world in the place of the real files.
"""

from __future__ import annotations

import importlib
import json
import math
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from finetune.data.world import Person, world
from finetune.training.checkpoint import load

SCRIPT = Path(__file__).parents[3] / "experiments" / "birthplaces" / "run.py"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    made = world(0, taught=12, asked=6, unknown=3, places=3, biographies=2)
    rows = lambda people: "".join(f"{p.question}\t{p.place}\n" for p in people)  # noqa: E731
    asked: list[Person] = [*made.asked, *made.unknown, made.taught[0]]
    (tmp_path / "wiki.txt").write_text(made.text)
    (tmp_path / "birth_places_train.tsv").write_text(rows(made.taught))
    (tmp_path / "birth_dev.tsv").write_text(rows(asked))
    (tmp_path / "birth_test_inputs.tsv").write_text("".join(p.question + "\n" for p in made.unknown))
    return tmp_path


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Callable[..., str]]:
    """A function that runs the script in this process and gives the page that it prints."""
    monkeypatch.syspath_prepend(str(SCRIPT.parent))
    ours = ("run", "tell", "graphed", "skeleton")  # modules of scripts, whose names others use too
    for name in ours:
        sys.modules.pop(name, None)

    def called(data: Path, kept: Path, *options: str) -> str:
        given = ["--data", str(data), "--kept", str(kept), "--recipe", "tiny", "--threads", "1", *options]
        monkeypatch.setattr(sys, "argv", [str(SCRIPT), *given])
        importlib.import_module("run").main()
        return capsys.readouterr().out

    yield called
    for name in ours:
        sys.modules.pop(name, None)


def test_it_goes_on_to_the_same_answers(run: Callable[..., str], data: Path, tmp_path: Path) -> None:
    page = run(data, tmp_path / "whole", "--runs", "none", "vanilla")
    assert "| vanilla.nopretrain | 2 |" in page and "| vanilla.pretrain | 2 + 1 + 2 |" in page
    assert "of 10:" in page and "of 1 |" in page  # ten questions, one of them in train too
    cut = run(data, tmp_path / "cut", "--runs", "vanilla", "--steps", "1")
    assert "not done yet" in cut and "| vanilla.pretrain | 1 |" in cut
    run(data, tmp_path / "cut", "--runs", "vanilla")
    for name in ("vanilla.pretrain.dev.predictions", "vanilla.pretrain.test.predictions"):
        whole = next((tmp_path / "whole").rglob(name)).read_text()
        assert whole == next((tmp_path / "cut").rglob(name)).read_text()
        assert whole.count("\n") == (10 if ".dev." in name else 3)
    scores = [json.loads(p.read_text())["scores"] for p in tmp_path.rglob("vanilla.pretrain/evaluate.json")]
    assert scores[0] == scores[1] and len(scores[0]) == 10
    told = next((tmp_path / "whole").rglob("vanilla.pretrain.considered.txt")).read_text()
    assert told.count("== the corpus") == 3


@pytest.mark.thorough
def test_two_processes_share_each_step_and_one_speaks(data: Path, tmp_path: Path) -> None:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = str(s.getsockname()[1])
    launch = [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node", "2", "--master_port", port]
    given = ["--data", str(data), "--kept", str(tmp_path / "kept"), "--recipe", "tiny", "--threads", "1"]
    pages = []
    for options in (["--steps", "1"], ["--minutes", "0"], []):  # cut short by either bound, and gone on with
        done = subprocess.run(
            [*launch, str(SCRIPT), *given, "--runs", "vanilla", *options], env={**os.environ, "OMP_NUM_THREADS": "1"},
            capture_output=True, text=True, timeout=300,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert done.stdout.count("# Where was X born?") == 1
        pages.append(done.stdout)
    assert "| vanilla.pretrain | 1 |" in pages[0] and "not done yet" in pages[1]
    assert "| vanilla.pretrain | 2 + 1 + 2 |" in pages[2] and "of 10:" in pages[2]


def test_steps_to_be_recorded_are_those_of_the_trainer(
    run: Callable[..., str], data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a processor they are not recorded, but are the same steps: both optimizers, the short last batch, the rate.

    Muon rounds to bfloat16 in both, one matrix at a time and in batches: products in another order round to other
    numbers, and how far the losses then part depends on the processor. In float64 they round alike to 2^-53, and what
    is left is float32's rounding of two sums, over 36 steps of a rate of .004.
    """
    module = importlib.import_module("run")
    monkeypatch.setattr(torch.Tensor, "bfloat16", torch.Tensor.double)
    changes = {
        "precision": "float32",
        "epochs": 6,
        "batch_size": 5,
        "weight_decay": 2.0,
        "learning_rate": 4e-3,
        "log_every": 1000,
        "warmup_tokens": 100,
    }
    sizes = {"n_layer": 1, "n_head": 2, "n_embd": 8, "dropout": 0.0, "kernel": "torch:math"}
    recipe = {"model": sizes, "pretrain": {**changes, "optimizer": "muon"}, "finetune": changes}
    monkeypatch.setitem(module.RECIPES, "tiny", recipe)
    for name, options in (("trainer", ()), ("graphed", ("--graphed", "cpu"))):
        assert "| synthesizer.pretrain | 6 + 6 |" in run(data, tmp_path / name, "--runs", "synthesizer", *options)
    for stage in ("pretrain", "finetune"):
        trainer, graphed = (
            [json.loads(line) for line in next((tmp_path / name).rglob(f"{stage}.jsonl")).read_text().splitlines()]
            for name in ("trainer", "graphed")
        )
        ends = [record for record in trainer if record["step"] in {r["step"] for r in graphed}]
        assert len(ends) == len(graphed) == 6
        for one, other in zip(ends, graphed, strict=True):
            for field in ("step", "tokens", "learning_rate", "loss", "gradient_norm"):
                assert other[field] == pytest.approx(one[field], rel=1e-5)


def test_recorded_steps_go_on_where_time_was_up(
    run: Callable[..., str], data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without time each call has one epoch of a stage: after three, the parameters of a run that was not interrupted."""
    module = importlib.import_module("run")
    shape = {"epochs": 2, "batch_size": 5, "learning_rate": 4e-3}
    sizes = {"n_layer": 1, "n_head": 2, "n_embd": 8, "dropout": 0.0, "kernel": "torch:math"}
    recipe = {"model": sizes, "pretrain": {**shape, "optimizer": "muon"}, "finetune": shape}
    monkeypatch.setitem(module.RECIPES, "tiny", recipe)
    given = ("--runs", "vanilla", "--graphed", "cpu")
    assert "| vanilla.pretrain | 2 + 2 |" in run(data, tmp_path / "whole", *given)
    assert "| vanilla.pretrain | 1 of 2 |" in run(data, tmp_path / "cut", *given, "--minutes", "0")
    changed = {**recipe, "pretrain": {**recipe["pretrain"], "learning_rate": 1e-3}}
    monkeypatch.setitem(module.RECIPES, "tiny", changed)
    with pytest.raises(SystemExit, match=r"checkpoint is of another recipe: remove it"):
        run(data, tmp_path / "cut", *given, "--minutes", "0")
    monkeypatch.setitem(module.RECIPES, "tiny", recipe)
    assert "| vanilla.pretrain | 2 + 1 of 2 |" in run(data, tmp_path / "cut", *given, "--minutes", "0")
    assert "| vanilla.pretrain | 2 + 2 |" in run(data, tmp_path / "cut", *given, "--minutes", "0")
    for name in ("pretrain.params", "finetune.params"):
        one, other = (load(next((tmp_path / kept).rglob(name)))["model"] for kept in ("whole", "cut"))
        assert one.keys() == other.keys() and all(torch.equal(one[key], other[key]) for key in one)


def test_the_skeleton_s_trainer_is_the_source_s(
    run: Callable[..., str], data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its rates beside the formula of the skeleton written out: padding counts, the cosine rises again, the file's order."""
    module = importlib.import_module("run")
    shape = {"epochs": 6, "batch_size": 5, "log_every": 1, "warmup_tokens": 700}
    sizes = {"n_layer": 1, "n_head": 2, "n_embd": 8, "kernel": "torch:math"}
    documents = len((data / "wiki.txt").read_text().splitlines())
    final = 2 * documents * 128  # two of six epochs
    recipe = {"trainer": "skeleton", "model": sizes, "pretrain": {**shape, "final_tokens": final}, "finetune": shape}
    monkeypatch.setitem(module.RECIPES, "tiny", recipe)
    assert "trainer: skeleton; model: " in run(data, tmp_path / "kept", "--runs", "vanilla")
    lines = next((tmp_path / "kept").rglob("pretrain.jsonl")).read_text().splitlines()
    rate, tokens, expected = 6e-3, 0, []
    for _ in range(6):
        for first in range(0, documents, 5):
            expected.append(rate)
            tokens += 128 * len(range(first, min(first + 5, documents)))
            progress = (tokens - 700) / (final - 700)
            factor = tokens / 700 if tokens < 700 else max(0.1, 0.5 * (1 + math.cos(math.pi * progress)))
            rate = 6e-3 * factor
    assert [json.loads(line)["learning_rate"] for line in lines] == pytest.approx(expected)
    assert min(expected) == pytest.approx(6e-4) and max(expected[len(expected) // 2 :]) > 5.9e-3
    model = module.GPT(module.GPTConfig(20, n_layer=1, n_head=2, n_embd=8))
    source = [0, 1, 2]
    trainer = module.SkeletonTrainer(model, None, source, module.pretraining(3, 128))
    left_out = {id(p) for p in trainer.optimizer.param_groups[1]["params"]}
    assert {name for name, p in model.named_parameters() if id(p) in left_out} == {
        name for name, _ in model.named_parameters() if name.endswith("bias")
    }
    assert trainer.optimizer.param_groups[0]["weight_decay"] == 0.1
    assert trainer._order(3).tolist() == [0, 1, 2]


def test_what_is_not_there_is_one_line(run: Callable[..., str], tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"^birthplaces: no such file: .*wiki.txt$"):
        run(tmp_path, tmp_path)
