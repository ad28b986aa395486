"""Parameter-efficient fine-tuning: five ways to train a small part of a model, each one file, on one table.

A *method* is a record of options; `inject` puts it into a model, in place, and returns an *adapter*:

    adapter = inject(model, LoRA(rank=8))       # all else is frozen; model(...) is called as before
    adapter.trainable()                         # the names of what is trained: hand the model to the trainer
    adapter.merge(); adapter.unmerge()          # LoRA alone: into the weights, and out of them to the same bits
    with adapter.disabled(): ...                # the model as it was
    adapter.save(folder)                        # adapter_config.json, adapter_model.safetensors: the files of `peft`
    load(model, folder)                         # what `save` or the library `peft` wrote

| method | what is trained besides the head | parameters |
|---|---|---|
| `Head` | nothing | 0 |
| `Prompt` | P vectors in front of the embedded text | P d |
| `Prefix` | P keys and P values in every layer | 2 L P H_kv d_head |
| `LoRA` | B A beside each chosen matrix, W + s B A | r (d_in + d_out) a matrix |
| `Bias` | the biases | all of them |

The model is a `Classifier` or `MaskedLM` on either encoder, an `Encoder`, or any model of transformers. Its head, that
is what stands outside of its backbone (the pooler counted in), is trained along and saved with the adapter; a language
model's head is not. `export(adapter, folder)` writes an adapter of our encoder under the names of transformers' models,
which `load` reads back into ours. `model_parts`: what is found in a model. `files`: the format. `protocol`: what an
adapter can do.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from torch import nn

from finetune.errors import BadInput
from finetune.peft.files import read_adapter
from finetune.peft.head import Bias, Head
from finetune.peft.lora import LoRA
from finetune.peft.prefix import Prefix
from finetune.peft.prompt import Prompt
from finetune.peft.protocol import Adapter, Method
from finetune.peft.transformers_names import export, own_names

__all__ = ["METHODS", "Adapter", "Bias", "Head", "LoRA", "Method", "Prefix", "Prompt", "export", "inject", "load"]

METHODS: Mapping[str, type[Method]] = {"head": Head, "prompt": Prompt, "prefix": Prefix, "lora": LoRA, "bias": Bias}
"""The methods by the names of the command line."""


def inject(model: nn.Module, method: Method) -> Adapter:
    """Put a method into a model, in place.

    Everything is frozen but the adapter's own parameters and the head.

    Raises: BadInput where the model holds an adapter already, or has nothing that the method could work on; nothing is
        changed then.
    """
    if getattr(model, "finetune_adapter", None) is not None:
        raise BadInput("the model holds an adapter already")
    adapter = method.inject(model)
    # Not through nn.Module's own way, which would make the adapter, and the model in it, a part of the model.
    object.__setattr__(model, "finetune_adapter", adapter)
    return adapter


def load(model: nn.Module, folder: str | Path) -> Adapter:
    """Put an adapter from a folder into a model, as `Adapter.save` or the library `peft` left it there.

    Raises: BadInput where files are absent, malformed, hold what is not supported here, or are of another model.
    """
    saved = own_names(read_adapter(folder), model)
    for kind in METHODS.values():
        if saved.peft_type in kind.peft_types:
            method = kind.of_config(saved, model)
            break
    else:
        raise BadInput(f"{saved.path}: peft_type {saved.peft_type!r} is none of those that are read here")
    adapter = inject(model, method)
    adapter.put(saved)
    return adapter
