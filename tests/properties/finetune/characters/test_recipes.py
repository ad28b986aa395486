"""Recipes and files of parameters.

finetune.characters.recipes: the assignment's numbers, and files of parameters that say what they are of.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from finetune.characters.recipes import finetuning, load_parameters, pretraining, save_parameters
from finetune.data.span_corruption import Form
from finetune.data.vocabulary import Vocabulary
from finetune.errors import BadInput
from finetune.models.gpt import GPT, GPTConfig
from finetune.training import checkpoint

VOCABULARY = Vocabulary("abcdef")
CONFIG = GPTConfig(len(VOCABULARY), 8, 1, 2, 8)


def model(config: GPTConfig = CONFIG) -> GPT:
    torch.manual_seed(0)
    return GPT(config)


def test_the_numbers_are_the_assignment_s() -> None:
    first = pretraining(2937, 128)
    assert (first.epochs, first.batch_size, first.learning_rate, first.betas) == (650, 128, 6e-3, (0.9, 0.95))
    assert (first.warmup_tokens, first.final_tokens) == (512 * 20, 200 * 2937 * 128)
    assert (first.weight_decay, first.clip, first.floor) == (0.1, 1.0, 0.1)
    scratch, after = finetuning(2000, 128, False), finetuning(2000, 128, True)
    assert (scratch.epochs, after.epochs) == (75, 10)
    assert (after.batch_size, after.learning_rate, after.final_tokens) == (256, 6e-4, 200 * 2000 * 128)
    assert pretraining(2, 8, epochs=3).epochs == 3
    assert pretraining(1, 8).final_tokens == 512 * 20 + 1  # a corpus of one line still has a schedule


def test_parameters_come_back_with_what_they_are_of(tmp_path: Path) -> None:
    path = tmp_path / "p"
    save_parameters(path, model(), VOCABULARY, Form(16), tokens=5)
    # What is asked for counts less than what the file tells, save the attention.
    found = load_parameters(path, GPTConfig(len(VOCABULARY), 128), VOCABULARY)
    assert found.config.n_embd == 8 and found.config.block_size == 8
    assert all(torch.equal(a, b) for a, b in zip(model().parameters(), found.parameters(), strict=True))
    torch.save(model().state_dict(), tmp_path / "t")
    found = load_parameters(tmp_path / "t", CONFIG, VOCABULARY)
    assert torch.equal(found.head.weight, model().head.weight)


def test_parameters_of_another_model_or_corpus_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "p"
    save_parameters(path, model(), VOCABULARY, Form(16))
    with pytest.raises(BadInput, match="p holds a vanilla model, but the options say rotary"):
        load_parameters(path, GPTConfig(len(VOCABULARY), 8, 1, 2, 8, "rotary"), VOCABULARY)
    with pytest.raises(BadInput, match="another corpus: it has 8 characters, this one 5"):
        load_parameters(path, CONFIG, Vocabulary("abc"))
    with pytest.raises(BadInput, match="8 characters, this one 8, and they differ"):
        load_parameters(path, CONFIG, Vocabulary("abcdeg"))
    checkpoint.save(path, {"model": model(GPTConfig(8, 8, 2, 2, 8)).state_dict()})
    with pytest.raises(BadInput, match=r"do not fit .* it has no blocks.1"):
        load_parameters(path, CONFIG, VOCABULARY)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"config": {**CONFIG.to_json(), "odd": 1}}, r"holds sizes that no model can have: .*odd"),
        ({"config": {**CONFIG.to_json(), "n_layer": "1"}}, "holds sizes that no model can have"),
        ({"config": {**CONFIG.to_json(), "n_embd": 10**12}}, r"1000000000000 features .* a table of \(8, 8\)"),
        ({"config": {"epochs": 3}}, "is the checkpoint of an unfinished run"),
        ({"model": 7}, "holds no parameters of a model"),
    ],
)
def test_a_damaged_file_is_told(tmp_path: Path, changed: dict[str, Any], words: str) -> None:
    """Sizes of a trillion are refused before anything asks for the memory."""
    path = tmp_path / "p"
    whole = {"model": model().state_dict(), "config": CONFIG.to_json(), "characters": "abcdef"}
    checkpoint.save(path, {**whole, **changed})
    with pytest.raises(BadInput, match=words):
        load_parameters(path, CONFIG, VOCABULARY)


def test_numbers_that_are_none_are_refused(tmp_path: Path) -> None:
    broken = model()
    with torch.no_grad():
        broken.head.weight[0, 0] = torch.nan
    save_parameters(tmp_path / "p", broken, VOCABULARY, Form(16))
    with pytest.raises(BadInput, match=r"head.weight holds numbers that are infinite or none"):
        load_parameters(tmp_path / "p", CONFIG, VOCABULARY)
