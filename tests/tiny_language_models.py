"""Tiny language models of transformers, with random numbers: for tests of prompting. Made in a moment, read by nothing."""

from __future__ import annotations

import functools
import json
from pathlib import Path

import torch

DIALOGUE = "{% for m in messages %}<u>{{ m['content'] }}</u>{% endfor %}{% if add_generation_prompt %}<a>{% endif %}"


def make_language_model(
    folder: Path, *, context: int = 256, dialogue: bool = True, seed: int = 0, window: int | None = None
) -> Path:
    """Write a Llama of 2 layers that reads letters, with a tokenizer of its own; return its folder.

    With a window it is a Mistral, which sees that many positions back.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, MistralConfig, MistralForCausalLM

    # ASCII alone: a text of these letters is read back as the ids that made it.
    alphabet = [chr(code) for code in range(33, 127)] + ["Ġ", "Ċ"]
    vocabulary = {letter: n for n, letter in enumerate([*alphabet, "<s>", "</s>"])}
    tokenizer = Tokenizer(models.BPE(vocabulary, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "eos_token": "</s>"}
    if dialogue:
        settings["chat_template"] = DIALOGUE
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        settings_of = LlamaConfig if window is None else functools.partial(MistralConfig, sliding_window=window)
        config = settings_of(
            vocab_size=len(vocabulary), hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
            num_key_value_heads=2, max_position_embeddings=context, bos_token_id=vocabulary["<s>"],
            eos_token_id=vocabulary["</s>"], initializer_range=0.3,
        )  # fmt: skip
        (LlamaForCausalLM if window is None else MistralForCausalLM)(config).save_pretrained(folder)
    return folder
