"""Hand-ins of the skeleton `classification.py` of source 000, section 3.2: right ones, and ones with a common mistake."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from finetune.laws.classifier.logits_probe import make_target_by_name

LENGTH = 3


class CustomModelForSequenceClassification(nn.Module):
    """The skeleton's class, its blanks filled in: the mean over real tokens; `prefix` are vectors before the embeddings."""

    mask_in_mean = True

    def __init__(self, model_name: str, type: str = "full") -> None:
        super().__init__()
        from transformers import AutoModel
        from transformers.utils import logging

        logging.disable_progress_bar()
        self.model = AutoModel.from_pretrained(model_name)
        self.type = type
        size = self.model.config.hidden_size
        self.classifier = nn.Linear(size, 2)
        if type == "prefix":
            self.prefix = nn.Parameter(torch.randn(1, LENGTH, size))
        if type in ("head", "prefix"):
            self.model.requires_grad_(False)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        if self.type != "prefix":
            return self.classify(self.model(input_ids, attention_mask=attention_mask), attention_mask)
        embeddings: Any = self.model.get_input_embeddings()(input_ids)
        batch = len(input_ids)
        inputs = torch.cat((self.prefix.expand(batch, -1, -1), embeddings), 1)
        mask = torch.cat((attention_mask.new_ones(batch, LENGTH), attention_mask), 1)
        return self.classify(self.model(inputs_embeds=inputs, attention_mask=mask), mask)

    def classify(self, output: Any, mask: Tensor) -> Tensor:
        hidden = output.last_hidden_state
        if not self.mask_in_mean:
            return self.classifier(hidden.mean(1))
        weights = mask[..., None].to(hidden.dtype)
        return self.classifier((hidden * weights).sum(1) / weights.sum(1).clamp(min=1))


class PaddingInTheMean(CustomModelForSequenceClassification):
    """Padding is averaged as if it were text."""

    mask_in_mean = False


class Probabilities(CustomModelForSequenceClassification):
    """The softmax is taken already."""

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        return super().forward(input_ids, attention_mask).softmax(-1)


def target_of(kind: type[CustomModelForSequenceClassification], how: str) -> type[nn.Module]:
    return make_target_by_name(lambda folder: kind(folder, type=how), prefix=LENGTH if how == "prefix" else 0)


full = target_of(CustomModelForSequenceClassification, "full")
head = target_of(CustomModelForSequenceClassification, "head")
prefix = target_of(CustomModelForSequenceClassification, "prefix")
padding_in_the_mean = target_of(PaddingInTheMean, "full")
padding_in_the_mean_of_prefix = target_of(PaddingInTheMean, "prefix")
probabilities = target_of(Probabilities, "full")
