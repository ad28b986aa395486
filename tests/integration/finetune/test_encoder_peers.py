"""Maskings and classifiers of another library, as right as they are used.

The collator and classifiers of transformers behind the faces of `masked-lm` and `classifier`: written without these
laws.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from judging import held, refuted
from judging_contracts import conforming
from lazy import lazily
from torch import Tensor

from finetune.laws.classifier.logits_probe import make_target

pytestmark = pytest.mark.slow
transformers = lazily("transformers")


@cache
def tokenizer(vocab_size: int, mask_id: int) -> Any:
    """Words called by their ids; 0 pads, 1 and 2 frame a text."""
    from tokenizers import Tokenizer, models

    words = {f"w{n}": n for n in range(vocab_size)}
    inner = Tokenizer(models.WordLevel(words, unk_token="w1"))
    names = {"pad_token": "w0", "cls_token": "w1", "sep_token": "w2", "mask_token": f"w{mask_id}"}
    return transformers.PreTrainedTokenizerFast(tokenizer_object=inner, unk_token="w1", **names)


def in_place(ids: Tensor, special: Tensor, vocab_size: int, mask_id: int, seed: int) -> Any:
    """The collator's own method; it writes into its argument."""
    collator = transformers.DataCollatorForLanguageModeling(tokenizer(vocab_size, mask_id), seed=seed)
    collator.create_rng()
    return collator.torch_mask_tokens(ids, special_tokens_mask=special)


def on_a_copy(ids: Tensor, special: Tensor, vocab_size: int, mask_id: int, seed: int) -> Any:
    return in_place(ids.clone(), special, vocab_size, mask_id, seed)


def called(ids: Tensor, special: Tensor, vocab_size: int, mask_id: int, seed: int) -> Any:
    """The collator as a loader calls it; it finds special tokens and padding by their ids."""
    collator = transformers.DataCollatorForLanguageModeling(tokenizer(vocab_size, mask_id), seed=seed)
    batch = collator([{"input_ids": row, "attention_mask": [int(i != 0) for i in row]} for row in ids.tolist()])
    return batch["input_ids"], batch["labels"], batch["attention_mask"]


def test_the_collator_of_transformers_conforms() -> None:
    """Its method on a copy by all laws, the whole collator by those that do not need a large batch."""
    results = conforming(on_a_copy, "masked-lm")
    assert sum(r.status == "held" for r in results.values()) == len(results) - 1
    for law in (
        "labels_are_the_old_ids", "what_is_not_chosen_stays", "special_tokens_and_padding_stay",
        "nothing_to_hide_comes_back", "one_seed_gives_one_result", "the_attention_mask_is_that_of_the_text",
    ):  # fmt: skip
        held(law, called, contract="masked-lm", parameters={"attention_mask": True})
    found = refuted("the_ids_are_left_as_they_are", in_place, "quick", contract="masked-lm")
    assert "the call changed its argument ids" in found.message


SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}


def bert(vocab_size: int, length: int, classes: int) -> Any:
    """The first place is pooled, and positions count the padding."""
    config = transformers.BertConfig(vocab_size=vocab_size, max_position_embeddings=length, num_labels=classes, **SIZES)
    return transformers.AutoModelForSequenceClassification.from_config(config)


def roberta(vocab_size: int, length: int, classes: int) -> Any:
    """Positions are counted from the ids; the first place is pooled."""
    sizes = {"vocab_size": vocab_size, "max_position_embeddings": length + 2, "num_labels": classes, **SIZES}
    return transformers.RobertaForSequenceClassification(transformers.RobertaConfig(type_vocab_size=1, **sizes))


def gpt2(vocab_size: int, length: int, classes: int) -> Any:
    """The last token is found by the id of padding."""
    sizes = {"n_embd": 16, "n_layer": 2, "n_head": 2, "bos_token_id": None, "eos_token_id": None, "pad_token_id": 0}
    config = transformers.GPT2Config(vocab_size=vocab_size, n_positions=length, num_labels=classes, **sizes)
    return transformers.GPT2ForSequenceClassification(config)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("make", "declared", "silent"),
    [
        (bert, {"token_types": True, "pool": "first"}, 2),
        (roberta, {"pad_id": 1, "pool": "first"}, 4),
        (gpt2, {"padding": "ids", "pool": "last"}, 7),
    ],
)
def test_classifiers_of_transformers_conform(make: Any, declared: dict[str, Any], silent: int) -> None:
    transformers.logging.set_verbosity_error()
    results = conforming(make_target(make), "classifier", parameters={"side": "right", "dropout": True, **declared})
    assert sum(r.status != "held" for r in results.values()) == silent
