"""Peers of experiments/encoder_bench.

The other side: transformers' Trainer with the library peft, and the assignment's trained vectors before an open base.
Both are built of these libraries alone; nothing of finetune runs here.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

TARGETS = ["query", "value"]


class Logits(nn.Module):
    """A model of transformers whose call gives the logits, as a classifier of ours does."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, **batch: Tensor) -> Tensor:
        """The logits of a batch."""
        logits: Tensor = self.model(**batch).logits
        return logits


def bert(sizes: Mapping[str, int], dropout: float) -> Any:
    """BERT with its classification head, weights drawn from the seed that is set."""
    from transformers import BertConfig, BertForSequenceClassification

    config = BertConfig(**sizes, hidden_dropout_prob=dropout, attention_probs_dropout_prob=dropout, num_labels=2)
    return BertForSequenceClassification(config)


def adapted(model: Any, method: str, length: int = 128, dropout: float = 0.1) -> Any:
    """The model as the library trains it by a method; "head" is the base frozen, "full" the model itself.

    BERT's pooler stands before the logits and is trained with the head, as it is on our side: the library leaves it out
    by itself (docs/findings.md, 15).
    """
    from peft import LoraConfig, PrefixTuningConfig, PromptTuningConfig, get_peft_model

    head = ["classifier", "pooler"]
    told: dict[str, Any] = {
        "lora": lambda: LoraConfig(task_type="SEQ_CLS", r=8, lora_alpha=16, lora_dropout=dropout,
                                   target_modules=TARGETS, modules_to_save=head),
        "prompt": lambda: PromptTuningConfig(task_type="SEQ_CLS", num_virtual_tokens=length, modules_to_save=head),
        "prefix": lambda: PrefixTuningConfig(task_type="SEQ_CLS", num_virtual_tokens=length, modules_to_save=head),
    }  # fmt: skip
    if method == "head":
        model.bert.encoder.requires_grad_(False)
        model.bert.embeddings.requires_grad_(False)
    return get_peft_model(model, told[method]()) if method in told else model


class OpenPrompt(nn.Module):
    """The assignment's `prefix`: vectors before the embedded text, and a base that only the optimizer leaves alone."""

    def __init__(self, model: Any, length: int) -> None:
        super().__init__()
        self.model = model
        self.vectors = nn.Parameter(torch.randn(length, model.config.hidden_size))

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """The logits of a batch."""
        text = self.model.get_input_embeddings()(input_ids)
        together = torch.cat((self.vectors.expand(len(text), -1, -1), text), 1)
        mask = torch.cat((torch.ones(len(text), len(self.vectors), dtype=attention_mask.dtype), attention_mask), 1)
        logits: Tensor = self.model(inputs_embeds=together, attention_mask=mask).logits
        return logits


class Rows(torch.utils.data.Dataset[dict[str, Any]]):
    """Texts as a dataset of their Trainer."""

    def __init__(self, ids: Sequence[Sequence[int]], labels: Sequence[int]) -> None:
        self.ids, self.labels = ids, labels

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, n: int) -> dict[str, Any]:
        return {"input_ids": self.ids[n], "labels": self.labels[n]}


def padded(rows: Sequence[Mapping[str, Any]]) -> dict[str, Tensor]:
    """A batch, padded to its longest text: what their collator with a tokenizer does."""
    longest = max(len(row["input_ids"]) for row in rows)
    ids = torch.tensor([[*row["input_ids"], *[0] * (longest - len(row["input_ids"]))] for row in rows])
    real = torch.tensor([[n < len(row["input_ids"]) for n in range(longest)] for row in rows]).long()
    return {"input_ids": ids, "attention_mask": real, "labels": torch.tensor([row["labels"] for row in rows])}


def train(
    model: Any, rows: Rows, folder: str, steps: int, *, batch: int, rate: float, seed: int = 0,
    epochs: int | None = None, order: str = "random",
) -> tuple[float, list[float]]:  # fmt: skip
    """Their Trainer for so many steps, or epochs.

    Returns: seconds of the steps after the first one, or of all epochs; the loss of every step.
    """
    from transformers import Trainer, TrainerCallback, TrainingArguments

    at: list[float] = []
    losses: list[float] = []

    class Watch(TrainerCallback):  # type: ignore[misc]  # untyped there
        def on_train_begin(self, *_: Any, **__: Any) -> None:
            at.append(time.perf_counter())

        def on_step_end(self, *_: Any, **__: Any) -> None:
            at.append(time.perf_counter())

        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
            if logs and "loss" in logs:
                losses.append(float(logs["loss"]))

    told = TrainingArguments(
        folder, per_device_train_batch_size=batch, max_steps=-1 if epochs else steps, num_train_epochs=epochs or 1,
        learning_rate=rate, lr_scheduler_type="constant", weight_decay=0.0, max_grad_norm=1.0, seed=seed,
        logging_strategy="steps" if order == "sequential" else "no", logging_steps=1, save_strategy="no", report_to=[],
        disable_tqdm=True, use_cpu=True, dataloader_pin_memory=False, train_sampling_strategy=order,
        remove_unused_columns=False,
    )  # fmt: skip
    trainer = Trainer(model, told, data_collator=padded, train_dataset=rows, callbacks=[Watch()])
    trainer.train()
    return at[-1] - at[0 if epochs else 1], losses
