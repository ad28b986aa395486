"""Hand-ins of BertForSequenceClassification and BertForCLSMLM: right ones pass, each common mistake is named."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from finetune.classification.class_hand_in import mark_classifier, mark_joint
from finetune.classification.hand_in import Check

VOCABULARY = 29


class BertForSequenceClassification(nn.Module):
    """The skeleton's class, filled in: the pooled first token, dropout, a linear layer."""

    def __init__(self, model_name_or_path: str, num_labels: int) -> None:
        super().__init__()
        from transformers import BertModel
        from transformers.utils import logging

        logging.disable_progress_bar()
        self.bert = BertModel.from_pretrained(model_name_or_path)
        self.dropout = nn.Dropout(0.1)
        self.classifier = nn.Linear(16, num_labels)
        self.num_labels = num_labels

    def logits(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        pooled = self.bert(input_ids, attention_mask)["pooler_output"]
        return self.classifier(self.dropout(pooled))

    def loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        return nn.functional.cross_entropy(logits, labels)

    def forward(self, input_ids: Tensor, attention_mask: Tensor, labels: Tensor | None = None) -> Any:
        logits = self.logits(input_ids, attention_mask)
        return logits if labels is None else (self.loss(logits, labels), logits)


class BertForCLSMLM(BertForSequenceClassification):
    """A dense layer, a nonlinearity, a norm and the vocabulary for masked places."""

    def __init__(self, model_name_or_path: str, num_labels: int) -> None:
        super().__init__(model_name_or_path, num_labels)
        self.mlm_head = nn.Sequential(nn.Linear(16, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, VOCABULARY))

    def hidden(self, text: dict[str, Tensor], masked: dict[str, Tensor]) -> Tensor:
        return self.bert(masked["ids"], masked["mask"])["last_hidden_state"]

    def mlm_loss(self, scores: Tensor, labels: Tensor) -> Tensor:
        return nn.functional.cross_entropy(scores.flatten(0, 1), labels.flatten())

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, labels: Tensor | None = None,
        mlm_input_ids: Tensor | None = None, mlm_attention_mask: Tensor | None = None, mlm_labels: Tensor | None = None,
    ) -> Any:  # fmt: skip
        found = super().forward(input_ids, attention_mask, labels)
        if mlm_labels is None:
            return found
        text, masked = {"ids": input_ids, "mask": attention_mask}, {"ids": mlm_input_ids, "mask": mlm_attention_mask}
        scores = self.mlm_head(self.hidden(text, masked))
        return found[0], self.mlm_loss(scores, mlm_labels), found[1]


class WithoutMask(BertForSequenceClassification):
    def logits(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        return self.classifier(self.dropout(self.bert(input_ids)["pooler_output"]))


class WithoutDropout(BertForSequenceClassification):
    def logits(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        return self.classifier(self.bert(input_ids, attention_mask)["pooler_output"])


class SoftmaxTwice(BertForSequenceClassification):
    def loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        return nn.functional.cross_entropy(logits.softmax(-1), labels)


class FrozenByDetach(BertForSequenceClassification):
    def logits(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        pooled = self.bert(input_ids, attention_mask)["pooler_output"].detach()
        return self.classifier(self.dropout(pooled))


class LogitsAlone(BertForSequenceClassification):
    def forward(self, input_ids: Tensor, attention_mask: Tensor, labels: Tensor | None = None) -> Any:
        return self.logits(input_ids, attention_mask)


class TwoClasses(BertForSequenceClassification):
    def __init__(self, model_name_or_path: str, num_labels: int) -> None:
        super().__init__(model_name_or_path, 2)


class EveryPlace(BertForCLSMLM):
    def mlm_loss(self, scores: Tensor, labels: Tensor) -> Tensor:
        return super().mlm_loss(scores, labels.clamp(min=0))


class SummedPlaces(BertForCLSMLM):
    def mlm_loss(self, scores: Tensor, labels: Tensor) -> Tensor:
        return super().mlm_loss(scores, labels) * (labels >= 0).sum()


class TheOtherText(BertForCLSMLM):
    def hidden(self, text: dict[str, Tensor], masked: dict[str, Tensor]) -> Tensor:
        return self.bert(text["ids"], text["mask"])["last_hidden_state"]


class MaskedTextWithoutMask(BertForCLSMLM):
    def hidden(self, text: dict[str, Tensor], masked: dict[str, Tensor]) -> Tensor:
        return self.bert(masked["ids"])["last_hidden_state"]


class MaskedLMDetached(BertForCLSMLM):
    def mlm_loss(self, scores: Tensor, labels: Tensor) -> Tensor:
        return super().mlm_loss(scores, labels).detach()


WRONG = [
    (mark_classifier, WithoutMask, "padding leaves the logits alone", "is the mask passed on?"),
    (mark_classifier, WithoutDropout, "dropout before the head", "are equal"),
    (mark_classifier, SoftmaxTwice, "the loss is the mean cross entropy", "but should be"),
    (mark_classifier, FrozenByDetach, "the loss trains head and encoder", "no gradient for bert."),
    (mark_classifier, LogitsAlone, "(loss, logits) with labels", "got a Tensor"),
    (mark_classifier, TwoClasses, "logits (B, num_labels)", "got (4, 2)"),
    (mark_joint, EveryPlace, "mlm_loss is the mean over the masked places", "but should be"),
    (mark_joint, SummedPlaces, "mlm_loss is the mean over the masked places", "but should be"),
    (mark_joint, MaskedTextWithoutMask, "padding leaves mlm_loss alone", "but should be"),
    (mark_joint, MaskedLMDetached, "the sum of both losses trains", "no gradient for mlm_head"),
]


def wrong(checks: list[Check]) -> list[Check]:
    return [check for check in checks if check.right is not True]


def test_right_classes_have_no_mistake() -> None:
    assert wrong(mark_classifier(BertForSequenceClassification)) == []
    assert wrong(mark_joint(BertForCLSMLM)) == []


@pytest.mark.parametrize(("mark", "kind", "name", "why"), WRONG, ids=lambda value: getattr(value, "__name__", None))
def test_a_common_mistake_is_named(mark: Any, kind: Any, name: str, why: str) -> None:
    found = [check for check in wrong(mark(kind)) if check.name.startswith(name)]
    assert found and why in found[0].why


def test_a_loss_of_the_other_text_is_named() -> None:
    """Where both texts have one length the shapes fit, and only the number tells."""
    found = wrong(mark_joint(TheOtherText))
    assert "mlm_loss is of the masked texts, not of the others" in [check.name for check in found]


def test_weights_are_read_by_older_code_too(tmp_path: Any) -> None:
    from finetune.classification.class_hand_in import draw_folder

    draw_folder(tmp_path)
    state = torch.load(tmp_path / "pytorch_model.bin", weights_only=True)
    assert state["embeddings.word_embeddings.weight"].shape == (VOCABULARY, 16)
    assert len((tmp_path / "vocab.txt").read_text().splitlines()) == VOCABULARY
