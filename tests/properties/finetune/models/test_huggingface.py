"""Reading Hugging Face's folders, without transformers.

finetune.models.huggingface: folders that cannot be read are refused in one line; names go both ways.
That the numbers are transformers' is shown in integration/finetune/test_transformers.py.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from finetune.errors import BadInput
from finetune.models.encoder import Encoder, EncoderConfig
from finetune.models.huggingface import load_encoder, load_masked_lm, modules_of, read_config

V, N, E = 23, 19, 12
CONFIG: dict[str, Any] = {
    "model_type": "bert", "vocab_size": V, "hidden_size": E, "num_hidden_layers": 2, "num_attention_heads": 3,
    "intermediate_size": 7, "max_position_embeddings": N,
}  # fmt: skip


def written(folder: Path, **changes: Any) -> Encoder:
    """A folder with a small encoder, under BERT's names."""
    torch.manual_seed(4)
    model = Encoder(EncoderConfig(V, N, 2, 3, E, 7, 2))
    names = {ours: theirs for theirs, ours in modules_of("bert", 2).items()}
    state = {}
    for key, value in model.state_dict().items():
        module, _, kind = key.rpartition(".")
        state[f"bert.{names[module]}.{kind}"] = value.half().float()
    save_file(state, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps({k: v for k, v in {**CONFIG, **changes}.items() if v is not None}))
    return model


def test_every_tensor_has_a_name_of_its_own_in_every_layout() -> None:
    for layout, segments in (("bert", 2), ("roberta", 2), ("distilbert", 0), ("mpnet", 0)):
        model = Encoder(EncoderConfig(V, N, 2, 3, E, 7, segments, distances=32 * (layout == "mpnet")))
        table = modules_of(layout, 2)
        assert len(set(table.values())) == len(table)
        assert set(table.values()) == {key.rpartition(".")[0] for key in model.state_dict()}


def test_what_was_written_is_read_in_any_float(tmp_path: Path) -> None:
    model = written(tmp_path)
    path = tmp_path / "model.safetensors"
    save_file({k: v.half() for k, v in load_file(path).items()}, path)
    found = load_encoder(tmp_path)
    assert all(torch.equal(v, model.state_dict()[k].half().float()) for k, v in found.state_dict().items())
    assert found.config == model.config


def test_the_layouts_are_told_apart(tmp_path: Path) -> None:
    written(tmp_path, model_type="roberta", max_position_embeddings=N + 2, pad_token_id=1, layer_norm_eps=1e-5)
    layout, config = read_config(tmp_path)
    told = (layout, config.first_position, config.block_size, config.pad_id, config.norm_eps)
    assert told == ("roberta", 2, N, 1, 1e-5)
    written(tmp_path, model_type="mpnet", max_position_embeddings=N + 2)
    layout, config = read_config(tmp_path)
    told = (layout, config.first_position, config.block_size, config.pad_id, config.segments, config.distances)
    assert told == ("mpnet", 2, N, 1, 0, 32)
    written(tmp_path, model_type=None)
    assert read_config(tmp_path) == ("bert", EncoderConfig(V, N, 2, 3, E, 7, 2))


def rewrite(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], object]:
    """A function that changes the tensors of a folder."""

    def run(folder: Path) -> None:
        state = load_file(folder / "model.safetensors")
        change(state)
        save_file(state, folder / "model.safetensors")

    return run


def cut(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-5])


def only_a_pickle(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")


def index(names: Any) -> Callable[[Path], object]:
    def run(folder: Path) -> None:
        (folder / "model.safetensors").unlink()
        (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": names}))

    return run


WRONG: list[tuple[dict[str, Any], Callable[[Path], object], str]] = [
    ({}, lambda folder: (folder / "config.json").unlink(), "no such file: .*config.json"),
    ({}, lambda folder: (folder / "config.json").write_text("{"), "config.json is not valid JSON"),
    ({}, lambda folder: (folder / "config.json").write_text("[]"), "should hold a JSON object, got a list"),
    ({"model_type": "gpt2"}, lambda _: None, "model_type 'gpt2' is not one of bert, roberta"),
    ({"model_type": ["bert"]}, lambda _: None, "model_type"),
    ({"is_decoder": True}, lambda _: None, "a decoder, or relative positions"),
    ({"position_embedding_type": "relative_key"}, lambda _: None, "a decoder, or relative positions"),
    ({"hidden_size": None}, lambda _: None, "hidden_size should be a whole number, got None"),
    ({"hidden_size": "12"}, lambda _: None, "hidden_size should be a whole number, got '12'"),
    ({"num_attention_heads": 5}, lambda _: None, "config.json: n_embd=12 is not divisible by n_head=5"),
    ({"hidden_dropout_prob": "half"}, lambda _: None, "hidden_dropout_prob should be at least 0 and below 1"),
    ({"hidden_act": ["gelu"]}, lambda _: None, "hidden_act should be a string"),
    ({"hidden_act": "mish"}, lambda _: None, "activation 'mish' is not one of"),
    ({"num_hidden_layers": 1}, lambda _: None, "encoder.layer.1.* is not a tensor of a bert of 1 layers"),
    ({"num_hidden_layers": 3}, lambda _: None, "blocks.2.attn.query.weight is missing"),
    ({"vocab_size": V + 1}, lambda _: None, r"tok_emb.weight has the shape \(23, 12\), but should have \(24, 12\)"),
    ({}, rewrite(lambda s: s.pop("bert.embeddings.LayerNorm.bias")), "ln_emb.bias is missing"),
    ({}, cut, "it may be cut short"),
    ({}, only_a_pickle, "pytorch_model.bin is a pickle, which is not read"),
    ({}, lambda folder: (folder / "model.safetensors").unlink(), "no model.safetensors in"),
    ({}, index({"a": "../model.safetensors"}), "not the name of a file beside it"),
    ({}, index(["a"]), "weight_map should give a file for every tensor"),
    ({}, index({"a": "model-1.safetensors"}), "no such file: .*model-1.safetensors"),
]


@pytest.mark.parametrize(("config", "spoil", "words"), WRONG, ids=[words for _, _, words in WRONG])
def test_unusable_folders_are_refused(
    config: dict[str, Any], spoil: Callable[[Path], object], words: str, tmp_path: Path
) -> None:
    written(tmp_path, **config)
    spoil(tmp_path)
    with pytest.raises(BadInput, match=words):
        load_encoder(tmp_path)


def test_a_head_for_masked_words_must_be_there_and_tied(tmp_path: Path) -> None:
    model = written(tmp_path)
    with pytest.raises(BadInput, match="holds no head for masked words"):
        load_masked_lm(tmp_path)
    told = "cls.predictions."
    head = {
        f"{told}transform.dense.weight": torch.ones(E, E), f"{told}transform.dense.bias": torch.ones(E),
        f"{told}transform.LayerNorm.weight": torch.ones(E), f"{told}transform.LayerNorm.bias": torch.ones(E),
        f"{told}bias": torch.arange(float(V)),
    }  # fmt: skip
    rewrite(lambda s: s.update(head))(tmp_path)
    assert load_masked_lm(tmp_path).bias.tolist() == list(range(V))
    table = model.tok_emb.weight.detach().half().float()
    rewrite(lambda s: s.update({f"{told}decoder.weight": table.clone()}))(tmp_path)
    load_masked_lm(tmp_path)
    rewrite(lambda s: s.update({f"{told}decoder.weight": table + 1}))(tmp_path)
    with pytest.raises(BadInput, match="a table of its own"):
        load_masked_lm(tmp_path)
