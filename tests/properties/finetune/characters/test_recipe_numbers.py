"""The numbers of the help, held against the configuration that each command hands to its trainer.

finetune.characters.recipe_numbers: what the help of a command calls its default is what the command trains with.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import finetune.training.train
from finetune.characters.recipe_numbers import ANY
from finetune.cli.main import app
from finetune.cli.options import TRAIN_OPTIONS
from finetune.training.config import TrainConfig

SMALL = ("--n_layer", "1", "--n_head", "2", "--n_embd", "16", "--block_size", "48", "--device", "cpu")
OUT = ("--writing_params_path", "p")


class Seen(Exception):
    """What a trainer was asked for; nothing is trained."""


class Asked:
    def __init__(self, model: Any, loss: Any, source: Any, config: TrainConfig, **_: Any) -> None:
        raise Seen(config)


def trained_with(monkeypatch: pytest.MonkeyPatch, folder: Path, *arguments: str) -> TrainConfig:
    monkeypatch.chdir(folder)
    Path("wiki.txt").write_text("Ada Byron was born in London .\nAlan Turing was born in Paris .\nWhere?\n")
    Path("names.tsv").write_text("Where was Ada born?\tLondon\nWhere was Alan born?\tParis\n")
    monkeypatch.setattr(finetune.training.train, "Trainer", Asked)
    with pytest.raises(Seen) as found:
        CliRunner().invoke(app, [arguments[0], *SMALL, *arguments[1:]], catch_exceptions=False)
    config: TrainConfig = found.value.args[0]
    return config


def told(command: str) -> dict[str, str]:
    """What the help of a command gives as the default of each option of training."""
    helps = {p.name: getattr(p, "help", "") for p in app.commands[command].params}
    return {name: re.findall(r"\[default: (.*)\]$", helps[name])[0] for name in TRAIN_OPTIONS}


def check(texts: dict[str, str], config: TrainConfig, *said: str) -> None:
    for name in set(texts) - set(said):
        assert texts[name] == str(getattr(config, name)), name


def test_pretraining_and_fine_tuning_say_what_they_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    config = trained_with(monkeypatch, tmp_path, "pretrain", "vanilla", "wiki.txt", *OUT)
    texts = told("pretrain")
    check(texts, config, "final_tokens")
    assert texts["final_tokens"] == "200 N block_size for N examples" and config.final_tokens == 200 * 3 * 48
    tuned = ("finetune", "vanilla", "wiki.txt", *OUT, "--finetune_corpus_path", "names.tsv")
    config = trained_with(monkeypatch, tmp_path, *tuned)
    texts = told("finetune")
    check(texts, config, "final_tokens", "epochs")
    assert texts["epochs"] == f"{config.epochs}, after pretraining 10" and config.final_tokens == 200 * 2 * 48


def test_characters_says_what_it_does(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    config = trained_with(monkeypatch, tmp_path, "characters", "wiki.txt", "--held_out", "0.4", "--block_size", "8")
    texts = told("characters")
    check(texts, config, "final_tokens", "epochs")
    assert texts["epochs"] == "until --minutes are over" and config.epochs >= 10**6
    assert texts["final_tokens"] == "none, the rate stays" and config.final_tokens is None
    shown = CliRunner().invoke(app, ["characters", "--help"], catch_exceptions=False).output
    assert "64" in shown and "0.001" in shown and "650" not in shown and "10240" not in shown


def test_the_numbers_of_any_command_are_the_trainer_s_own() -> None:
    assert dict(ANY) == {name: getattr(TrainConfig(), name) for name in ANY}
