"""A tiny pretrained encoder and tiny data sets, on the disk.

Folders as Hugging Face writes them, with an encoder and a tokenizer so small that a test trains them in a second.
Written without transformers, whose import alone takes longer than most tests.
"""

from __future__ import annotations

import json
from pathlib import Path

import torch
from safetensors.torch import save_file

from finetune.models.encoder import Encoder, EncoderConfig
from finetune.models.huggingface import modules_of

NEUTRAL = ("the", "a", "film", "plot", "was", "is", "not", "of", "and", "it", "what", "who", "why")
GOOD, BAD = ("good", "fine", "bright", "warm", "great"), ("bad", "dull", "poor", "cold", "awful")
LETTERS = "abcdefghijklmnopqrstuvwxyz"
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
VOCABULARY = [*SPECIAL, *NEUTRAL, *GOOD, *BAD, *LETTERS[1:], *".,?!", *(f"##{c}" for c in LETTERS)]


def write_tokenizer(folder: Path, kind: str = "bert") -> Path:
    """A WordPiece tokenizer of `VOCABULARY`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.txt").write_text("\n".join(VOCABULARY) + "\n", encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": True}))
    return folder


def write_encoder(folder: Path, *, layers: int = 2, width: int = 16, block: int = 48, seed: int = 0) -> Path:
    """A BERT of drawn weights, with its tokenizer."""
    write_tokenizer(folder)
    torch.manual_seed(seed)
    model = Encoder(EncoderConfig(len(VOCABULARY), block, layers, 2, width, 2 * width))
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim == 2:
                parameter.normal_(std=0.3)
    theirs = {ours: name for name, ours in modules_of("bert", layers).items()}
    tensors = {}
    for name, value in model.state_dict().items():
        module, _, kind = name.rpartition(".")
        tensors[f"bert.{theirs[module]}.{kind}"] = value.contiguous()
    save_file(tensors, str(folder / "model.safetensors"), metadata={"format": "pt"})
    told = {
        "model_type": "bert", "vocab_size": len(VOCABULARY), "hidden_size": width, "num_hidden_layers": layers,
        "num_attention_heads": 2, "intermediate_size": 2 * width, "max_position_embeddings": block,
        "type_vocab_size": 2, "hidden_act": "gelu", "layer_norm_eps": 1e-12, "hidden_dropout_prob": 0.1,
        "attention_probs_dropout_prob": 0.1, "pad_token_id": 0,
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(told))
    return folder


def sentences(count: int, seed: int = 0) -> list[tuple[int, str]]:
    """Labels and sentences of different lengths; a good or a bad word decides, the others say nothing."""
    generator = torch.Generator().manual_seed(seed)

    def draw(high: int) -> int:
        return int(torch.randint(high, (1,), generator=generator))

    found = []
    for number in range(count):
        label = number % 2
        words = [NEUTRAL[draw(len(NEUTRAL))] for _ in range(2 + draw(7))]
        words.insert(draw(len(words)), (BAD, GOOD)[label][draw(5)])
        found.append((label, " ".join(words) + " ."))
    return found


def write_sst2(folder: Path, train: int = 60, dev: int = 20, test: int = 20) -> Path:
    """Three files of SST-2."""
    folder.mkdir(parents=True, exist_ok=True)
    for seed, (side, count) in enumerate({"train": train, "dev": dev, "test": test}.items()):
        lines = "".join(f"{label} {text}\n" for label, text in sentences(count, seed))
        (folder / f"stsa.binary.{side}").write_text(lines, encoding="utf-8")
    return folder


def write_boolq(folder: Path, train: int = 24, dev: int = 12, test: int = 12) -> Path:
    """Three files of BoolQ, as pairs."""
    folder.mkdir(parents=True, exist_ok=True)
    sizes = {"train": train, "val": dev, "test": test}
    for seed, (side, count) in enumerate(sizes.items(), 10):
        rows = [
            {"question": f"is it {what}", "passage": text, "answer": bool(label), "title": f"{side} {number}"}
            for number, (label, text) in enumerate(sentences(count, seed)) for what in ("good",)
        ]  # fmt: skip
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"split_{side}.jsonl").write_text(text, encoding="utf-8")
    return folder
