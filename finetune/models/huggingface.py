"""Checkpoints of Hugging Face's encoders as ours: BERT (TinyBERT, too), RoBERTa, DistilBERT and MPNet, from a folder.

Read are `config.json` and `model.safetensors` (in pieces, too): JSON and numbers, never a pickle.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from finetune.data.corpus import read_text
from finetune.errors import BadInput
from finetune.models.classifier import MaskedLM
from finetune.models.encoder import Encoder, EncoderConfig
from finetune.models.weights import put_weights
from finetune.training import checkpoint

BERT = {
    "embeddings.word_embeddings": "tok_emb",
    "embeddings.position_embeddings": "pos_emb",
    "embeddings.token_type_embeddings": "type_emb",
    "embeddings.LayerNorm": "ln_emb",
    "encoder.layer.{}.attention.self.query": "blocks.{}.attn.query",
    "encoder.layer.{}.attention.self.key": "blocks.{}.attn.key",
    "encoder.layer.{}.attention.self.value": "blocks.{}.attn.value",
    "encoder.layer.{}.attention.output.dense": "blocks.{}.attn.proj",
    "encoder.layer.{}.attention.output.LayerNorm": "blocks.{}.ln1",
    "encoder.layer.{}.intermediate.dense": "blocks.{}.mlp.0",
    "encoder.layer.{}.output.dense": "blocks.{}.mlp.2",
    "encoder.layer.{}.output.LayerNorm": "blocks.{}.ln2",
}
DISTILBERT = {
    "embeddings.word_embeddings": "tok_emb",
    "embeddings.position_embeddings": "pos_emb",
    "embeddings.LayerNorm": "ln_emb",
    "transformer.layer.{}.attention.q_lin": "blocks.{}.attn.query",
    "transformer.layer.{}.attention.k_lin": "blocks.{}.attn.key",
    "transformer.layer.{}.attention.v_lin": "blocks.{}.attn.value",
    "transformer.layer.{}.attention.out_lin": "blocks.{}.attn.proj",
    "transformer.layer.{}.sa_layer_norm": "blocks.{}.ln1",
    "transformer.layer.{}.ffn.lin1": "blocks.{}.mlp.0",
    "transformer.layer.{}.ffn.lin2": "blocks.{}.mlp.2",
    "transformer.layer.{}.output_layer_norm": "blocks.{}.ln2",
}
MPNET = {theirs: ours for theirs, ours in BERT.items() if "attention" not in theirs and "token_type" not in theirs} | {
    "encoder.relative_attention_bias": "distance_bias",
    "encoder.layer.{}.attention.attn.q": "blocks.{}.attn.query",
    "encoder.layer.{}.attention.attn.k": "blocks.{}.attn.key",
    "encoder.layer.{}.attention.attn.v": "blocks.{}.attn.value",
    "encoder.layer.{}.attention.attn.o": "blocks.{}.attn.proj",
    "encoder.layer.{}.attention.LayerNorm": "blocks.{}.ln1",
}
TABLES = {"bert": BERT, "roberta": BERT, "distilbert": DISTILBERT, "mpnet": MPNET}
"""Their modules and ours, by layout; {} is the number of a layer."""
MASKED_LM = {
    "bert": {"cls.predictions.transform.dense": "dense", "cls.predictions.transform.LayerNorm": "norm"},
    "roberta": {"lm_head.dense": "dense", "lm_head.layer_norm": "norm"},
    "distilbert": {"vocab_transform": "dense", "vocab_layer_norm": "norm"},
    "mpnet": {"lm_head.dense": "dense", "lm_head.layer_norm": "norm"},
}
OUTPUT = {"bert": "cls.predictions", "roberta": "lm_head", "distilbert": "vocab_projector", "mpnet": "lm_head"}
LAYOUTS = {"bert": "bert", "roberta": "roberta", "xlm-roberta": "roberta", "camembert": "roberta"} | {
    "distilbert": "distilbert", "mpnet": "mpnet"
}  # fmt: skip
"""Kinds of model that are read, and the layout of each."""
BACKBONE = ("embeddings.", "encoder.", "transformer.")
"""What an encoder's tensors begin with; the others are those of heads."""


def modules_of(layout: str, n_layer: int) -> dict[str, str]:
    """The modules of a layout and ours, layer by layer.

    Example:
        >>> modules_of("bert", 1)["embeddings.LayerNorm"]
        'ln_emb'
    """
    table = TABLES[layout]
    return {k.format(n): v.format(n) for k, v in table.items() for n in (range(n_layer) if "{}" in k else (0,))}


def load_encoder(folder: str | Path) -> Encoder:
    """The encoder in a folder as Hugging Face writes it, without the heads that may stand on it.

    Its outputs equal those of transformers' AutoModel at every real token, up to rounding.

    Args: folder, with config.json and model.safetensors.
    Returns: the model, in training mode, in float32. Raises: BadInput where something is absent, malformed, of another
        kind, or does not fit.
    Source: transformers, models/{bert,roberta,distilbert,mpnet}; the formats of config.json and safetensors.
    """
    layout, config = read_config(folder)
    ours, _ = renamed_tensors(folder, layout, config)
    model = Encoder(config)
    put_weights(model, ours, f"the tensors in {folder} do not fit its config.json")
    return model


def load_masked_lm(folder: str | Path) -> MaskedLM:
    """The encoder in a folder with its head for masked words.

    Returns: as `load_encoder`. Raises: as it does, and where the folder holds no such head (start a new one with
        `MaskedLM(load_encoder(folder))` and train it), or one that is not tied to the table of tokens.
    """
    layout, config = read_config(folder)
    ours, others = renamed_tensors(folder, layout, config)
    head: dict[str, Tensor] = {}
    output = OUTPUT[layout]
    for theirs, own in MASKED_LM[layout].items():
        head |= {
            f"{own}.{kind}": others[f"{theirs}.{kind}"] for kind in ("weight", "bias") if f"{theirs}.{kind}" in others
        }
    # One number a token, under either of the names that versions gave it.
    for name in (f"{output}.decoder.bias", f"{output}.bias"):
        head |= {"bias": others[name]} if name in others else {}
    if len(head) != 5:
        raise BadInput(f"{folder} holds no head for masked words: make a new one on its encoder, and train it")
    table = others.get(f"{output}.decoder.weight", others.get(f"{output}.weight"))
    if table is not None and not (
        table.shape == ours["tok_emb.weight"].shape and bool((table == ours["tok_emb.weight"]).all())
    ):
        raise BadInput(f"{folder}: its head for masked words has a table of its own, which this one has not")
    # The heads of RoBERTa and MPNet have a GELU whatever their blocks have.
    activation = "gelu" if layout in ("roberta", "mpnet") else config.activation
    model = MaskedLM(Encoder(config), activation=activation, norm_eps=config.norm_eps)
    state = {f"encoder.{name}": value for name, value in ours.items()} | head
    put_weights(model, state, f"the tensors in {folder} do not fit its config.json")
    return model


def read_config(folder: str | Path) -> tuple[str, EncoderConfig]:
    """The layout and the sizes that a config.json tells. Raises: BadInput, naming the field that is wrong."""
    path = Path(folder) / "config.json"
    data = read_json(path)
    kind = data.get("model_type", "bert")  # TinyBERT's does not say
    if not isinstance(kind, str) or kind not in LAYOUTS:
        raise BadInput(f"{path}: model_type {kind!r} is not one of {', '.join(LAYOUTS)}")
    if data.get("is_decoder") or data.get("position_embedding_type", "absolute") != "absolute":
        raise BadInput(f"{path}: a decoder, or relative positions, are not what this encoder computes")
    layout, read = LAYOUTS[kind], _Fields(path, data)
    if layout == "distilbert":
        sizes: dict[str, Any] = {
            "n_layer": read.whole("n_layers"), "n_head": read.whole("n_heads"), "n_embd": read.whole("dim"),
            "n_hidden": read.whole("hidden_dim"), "segments": 0, "activation": read.text("activation", "gelu"),
            "dropout": read.share("dropout"), "attention_dropout": read.share("attention_dropout"),
        }  # fmt: skip
    else:
        sizes = {
            "n_layer": read.whole("num_hidden_layers"), "n_head": read.whole("num_attention_heads"),
            "n_embd": read.whole("hidden_size"), "n_hidden": read.whole("intermediate_size"),
            "segments": 0 if layout == "mpnet" else read.whole("type_vocab_size", 2),
            "activation": read.text("hidden_act", "gelu"),
            "norm_eps": read.share("layer_norm_eps", 1e-12), "dropout": read.share("hidden_dropout_prob"),
            "attention_dropout": read.share("attention_probs_dropout_prob"),
        }  # fmt: skip
    if layout == "mpnet":
        sizes["distances"] = read.whole("relative_attention_num_buckets", 32)
    shifted = layout in ("roberta", "mpnet")
    pad = read.whole("pad_token_id", int(shifted))
    first = pad + 1 if shifted else 0  # the row of padding and those before it are not used
    rows = read.whole("max_position_embeddings")
    try:
        return layout, EncoderConfig(
            vocab_size=read.whole("vocab_size"), block_size=rows - first, first_position=first, pad_id=pad, **sizes
        )
    except BadInput as error:
        raise BadInput(f"{path}: {error}") from None


class _Fields:
    """Numbers of a JSON object, checked as they are read."""

    def __init__(self, path: Path, config: Mapping[str, Any]) -> None:
        self.path, self.config = path, config

    def whole(self, name: str, default: int | None = None) -> int:
        """A whole number from 0. Raises: BadInput where it is another value, or absent without a default."""
        value = self.config.get(name)
        value = default if value is None else value
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise BadInput(f"{self.path}: {name} should be a whole number, got {value!r}")
        return value

    def text(self, name: str, default: str) -> str:
        """A string. Raises: BadInput where it is another value."""
        value = self.config.get(name, default)
        if not isinstance(value, str):
            raise BadInput(f"{self.path}: {name} should be a string, got {value!r}")
        return value

    def share(self, name: str, default: float = 0.1) -> float:
        """A number from 0 to below 1. Raises: BadInput where it is another value."""
        value = self.config.get(name, default)
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < 1:
            raise BadInput(f"{self.path}: {name} should be at least 0 and below 1, got {value!r}")
        return float(value)


def read_json(path: Path) -> dict[str, Any]:
    """A file's JSON object. Raises: BadInput where it is absent, or holds something else."""
    text = read_text(path)
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{path} is not valid JSON ({error})") from None
    if not isinstance(data, dict):
        raise BadInput(f"{path} should hold a JSON object, got a {type(data).__name__}")
    return data


def read_tensors(folder: str | Path) -> dict[str, Tensor]:
    """All tensors of a folder: of model.safetensors, or of the pieces that model.safetensors.index.json names.

    Raises: BadInput where there is neither, a piece is absent or cut short, or a piece's name leads out of the folder.
    """
    folder = Path(folder)
    whole, index = folder / "model.safetensors", folder / "model.safetensors.index.json"
    if whole.exists():
        return checkpoint.load_tensors(whole)
    if not index.exists():
        pickles = [p.name for p in sorted(folder.glob("*.bin"))]
        hint = (
            f"; {pickles[0]} is a pickle, which is not read: save it again with safe_serialization" if pickles else ""
        )
        raise BadInput(f"no model.safetensors in {folder}{hint}")
    named = read_json(index).get("weight_map")
    if not isinstance(named, dict) or not all(isinstance(v, str) for v in named.values()):
        raise BadInput(f"{index}: weight_map should give a file for every tensor")
    found: dict[str, Tensor] = {}
    for piece in sorted(set(named.values())):
        if Path(piece).name != piece:
            raise BadInput(f"{index}: {piece!r} is not the name of a file beside it")
        found |= checkpoint.load_tensors(folder / piece)
    return found


def renamed_tensors(
    folder: str | Path, layout: str, config: EncoderConfig
) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """A folder's tensors: the encoder's under our names, and the others under theirs.

    Raises: BadInput for a tensor of the encoder that this one has not.
    """
    config.refuse_too_large()  # before there is a table of all layers
    table = modules_of(layout, config.n_layer)
    ours: dict[str, Tensor] = {}
    others: dict[str, Tensor] = {}
    for name, value in read_tensors(folder).items():
        # Written from TensorFlow, the parameters of norms have other names.
        plain = name.removeprefix(f"{layout}.").replace(".gamma", ".weight").replace(".beta", ".bias")
        module, _, kind = plain.rpartition(".")
        if module in table:
            ours[f"{table[module]}.{kind}"] = value
        elif plain.startswith(BACKBONE) and plain != "embeddings.position_ids":
            raise BadInput(f"{folder}: {name} is not a tensor of a {layout} of {config.n_layer} layers")
        else:
            others[plain] = value
    if not config.segments:
        ours.pop("type_emb.weight", None)
    return ours, others
