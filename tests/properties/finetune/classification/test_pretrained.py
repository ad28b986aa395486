"""Pretrained encoders.

finetune.classification.pretrained: an encoder with its tokenizer, and a clear line for one that cannot be had or does not fit.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from finetune.classification.pretrained import folder_of, load_pretrained, masked_lm_of
from finetune.errors import BadInput
from finetune.models.encoder import Encoder
from tests.tiny_encoders import VOCABULARY, write_encoder


def test_an_encoder_comes_with_its_tokenizer(tmp_path: Path) -> None:
    found = load_pretrained(str(write_encoder(tmp_path)))
    assert isinstance(found.encoder, Encoder) and found.folder == tmp_path
    assert (found.segments, found.block_size, len(found.tokenizer)) == (True, 48, len(VOCABULARY))


def test_the_tokenizer_of_another_model(tmp_path: Path) -> None:
    write_encoder(tmp_path)
    with open(tmp_path / "vocab.txt", "a", encoding="utf-8") as file:
        file.write("more\n")
    with pytest.raises(BadInput, match="this is the tokenizer of another model"):
        load_pretrained(str(tmp_path))
    write_encoder(tmp_path)
    told = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**told, "pad_token_id": 3}))
    with pytest.raises(BadInput, match="padding is 0 for the tokenizer and 3 for the model"):
        load_pretrained(str(tmp_path))


def test_the_hub_is_asked_for_what_is_no_folder_and_for_no_pickle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    write_encoder(tmp_path)

    def snapshot_download(name: str, allow_patterns: list[str]) -> str:
        asked.append((name, allow_patterns))
        return str(tmp_path)

    monkeypatch.setitem(sys.modules, "huggingface_hub", SimpleNamespace(snapshot_download=snapshot_download))
    assert folder_of("some/model") == tmp_path and asked[0][0] == "some/model"
    assert not any(pattern.endswith((".bin", ".pt", "*")) for pattern in asked[0][1])

    def refuses(name: str, allow_patterns: list[str]) -> str:
        raise OSError("we are offline\nsecond line")

    monkeypatch.setitem(sys.modules, "huggingface_hub", SimpleNamespace(snapshot_download=refuses))
    with pytest.raises(
        BadInput, match=r"the hub does not provide it \(OSError: we are offline\): give --model a folder"
    ):
        folder_of("some/model")


@pytest.mark.parametrize("name", ["./none", "/none", "a/b/c"])
def test_a_path_is_never_asked_of_the_hub(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(BadInput, match="no such folder"):
        folder_of(name)


def test_backends_that_are_none_and_models_that_are_not_ours(tmp_path: Path) -> None:
    write_encoder(tmp_path)
    with pytest.raises(BadInput, match="backend 'jax' is not one of"):
        load_pretrained(str(tmp_path), "jax")
    told = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**told, "model_type": "electra"}))
    with pytest.raises(BadInput, match="model_type 'electra' is not one of"):
        load_pretrained(str(tmp_path), "own")


def test_an_automodel_that_does_not_find_its_weights_is_not_trained_on_drawn_ones(tmp_path: Path) -> None:
    """The library draws what is missing, and says so among its log; only the pooler of a language model may be new."""
    pytest.importorskip("transformers")
    write_encoder(tmp_path)
    found = load_pretrained(str(tmp_path), "transformers")
    assert not isinstance(found.encoder, Encoder) and found.block_size == 48
    tensors = load_file(tmp_path / "model.safetensors")
    table = found.encoder.get_input_embeddings().weight  # type: ignore[operator]  # a method of every encoder
    assert torch.equal(table, tensors["bert.embeddings.word_embeddings.weight"])
    for name in [name for name in tensors if ".layer.1.output.dense" in name]:
        del tensors[name]
    save_file(tensors, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(BadInput, match=r"do not fit its config.json: encoder.layer.1.output.dense.bias and 1 more are"):
        load_pretrained(str(tmp_path), "transformers")


def test_a_masked_lm_head_is_the_trained_one_where_there_is_one(tmp_path: Path) -> None:
    said: list[str] = []
    new = masked_lm_of(load_pretrained(str(write_encoder(tmp_path))), said.append)
    assert said and "a new masked-LM head is trained" in said[0] and "holds no head" in said[0]
    tensors = load_file(tmp_path / "model.safetensors")
    width = new.dense.weight.shape[0]
    torch.manual_seed(4)
    head = {
        "transform.dense.weight": torch.randn(width, width), "transform.dense.bias": torch.randn(width),
        "transform.LayerNorm.weight": torch.randn(width), "transform.LayerNorm.bias": torch.randn(width),
        "bias": torch.randn(len(VOCABULARY)),
    }  # fmt: skip
    save_file({**tensors, **{f"cls.predictions.{k}": v for k, v in head.items()}}, tmp_path / "model.safetensors")
    pretrained = load_pretrained(str(tmp_path))
    found = masked_lm_of(pretrained, said.append)
    assert len(said) == 1 and found.encoder is pretrained.encoder
    assert torch.equal(found.dense.weight, head["transform.dense.weight"]) and torch.equal(found.bias, head["bias"])
    assert torch.equal(found.norm.bias, head["transform.LayerNorm.bias"])


def test_sizes_beyond_memory_are_refused_before_a_layer_is_made(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "electra", "num_hidden_layers": 10**9}))
    with pytest.raises(BadInput, match=r"config\.json: a model of 1000000000 layers, .* more than the"):
        load_pretrained(str(tmp_path), "transformers")
