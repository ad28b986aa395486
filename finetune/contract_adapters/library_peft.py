"""Methods of the library `peft` behind the face that the contract `peft` asks for, each in a small BERT.

`attention-core verify --contract peft finetune.contract_adapters.library_peft:LibraryLoRA` judges one. Libraries are
imported where they are used. What their laws refute stands in docs/findings.md, 10 to 15 and 19.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from torch import nn

from finetune.laws.peft.adapted import Adapted

SIZES = {
    "vocab_size": 20, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 12,
    "max_position_embeddings": 16, "type_vocab_size": 2, "num_labels": 3, "pad_token_id": 0,
}  # fmt: skip


class OfTheLibrary(Adapted):
    """BERT's classifier with one of the library's methods."""

    head = ("classifier",)
    segments = 2

    @staticmethod
    def options() -> Any:
        """The library's configuration of the method."""
        raise NotImplementedError

    def model(self) -> nn.Module:
        """A classifier of one layer and three classes."""
        import transformers

        made: nn.Module = transformers.BertForSequenceClassification(transformers.BertConfig(**SIZES))
        return made

    def inject(self, model: nn.Module) -> nn.Module:
        """A model around it."""
        from peft import get_peft_model

        made: nn.Module = get_peft_model(model, self.options())
        return made

    def disabled(self) -> AbstractContextManager[Any]:
        """The model's own."""
        context: AbstractContextManager[Any] = self.outer.disable_adapter()
        return context

    def save(self, folder: str) -> None:
        """In the library's files."""
        self.outer.save_pretrained(folder)

    def load(self, model: nn.Module, folder: str) -> nn.Module:
        """From them."""
        from peft import PeftModel

        made: nn.Module = PeftModel.from_pretrained(model, folder)
        return made

    @property
    def outer(self) -> Any:
        """The library's model."""
        return self.adapted


class LibraryLoRA(OfTheLibrary):
    """LoRA, rank-stabilised."""

    kind, rank, scale = "lora", 3, 5 / 3**0.5
    targets = ("query", "value", "intermediate.dense")

    @staticmethod
    def options() -> Any:
        """Of rank 3."""
        from peft import LoraConfig

        named = list(LibraryLoRA.targets)
        return LoraConfig(task_type="SEQ_CLS", r=3, lora_alpha=5, use_rslora=True, target_modules=named)

    def merge(self) -> None:
        """The model's own."""
        self.outer.merge_adapter()

    def unmerge(self) -> None:
        """The model's own."""
        self.outer.unmerge_adapter()

    def checkpoint(self) -> None:
        """The base model's own."""
        self.outer.base_model.model.gradient_checkpointing_enable({"use_reentrant": False})


class LibraryPrompt(OfTheLibrary):
    """A prompt; the classifier pools its first vector."""

    kind, length = "prompt", 3

    @staticmethod
    def options() -> Any:
        """Of three vectors."""
        from peft import PromptTuningConfig

        return PromptTuningConfig(task_type="SEQ_CLS", num_virtual_tokens=3)


class LibraryPrefix(OfTheLibrary):
    """A prefix."""

    kind, length, layers, width = "prefix", 3, 1, 8

    @staticmethod
    def options() -> Any:
        """Of three keys and values a layer."""
        from peft import PrefixTuningConfig

        return PrefixTuningConfig(task_type="SEQ_CLS", num_virtual_tokens=3)

    def checkpoint(self) -> None:
        """The base model's own."""
        self.outer.base_model.gradient_checkpointing_enable({"use_reentrant": False})
