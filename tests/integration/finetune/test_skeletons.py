"""Hand-ins of the skeleton of source 000, section 3.2, judged as they are: the class that loads its encoder by name."""

from __future__ import annotations

from pathlib import Path

import pytest
from judging import refuted
from judging_contracts import conforming

from finetune.laws.classifier.logits_probe import SideBySide, make_target_by_name
from tests.integration.finetune import skeleton_classifiers as skeletons

pytestmark = pytest.mark.slow
RIGHT_SIDE = {"side": "right"}


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["full", "head", "prefix"])
def test_a_right_hand_in_conforms(name: str) -> None:
    results = conforming(getattr(skeletons, name), "classifier", parameters=RIGHT_SIDE)
    assert results["padding_behind_changes_nothing"].status == "held"


@pytest.mark.parametrize(
    ("name", "law"),
    [
        ("padding_in_the_mean", "padding_behind_changes_nothing"),
        ("padding_in_the_mean_of_prefix", "padding_behind_changes_nothing"),
        ("probabilities", "logits_are_no_probabilities"),
    ],
)
def test_a_common_mistake_is_refuted(name: str, law: str) -> None:
    refuted(law, getattr(skeletons, name), "quick", contract="classifier", parameters=RIGHT_SIDE)


def test_another_number_of_classes_is_named() -> None:
    with pytest.raises(ValueError, match=r"the model gives \(1, 2\), but should give \(1, 3\)"):
        model = SideBySide(skeletons.CustomModelForSequenceClassification, 3, (9, 8, 3))
        model(torch_ids(), torch_ids())
    assert make_target_by_name(skeletons.CustomModelForSequenceClassification)(9, 8, 5)(
        input_ids=torch_ids(), attention_mask=torch_ids()
    ).shape == (1, 5)


def torch_ids() -> object:
    import torch

    return torch.ones(1, 4, dtype=torch.long)


def test_the_page_says_how() -> None:
    page = Path(__file__).resolve().parents[3] / "docs" / "finetune_contracts.md"
    assert "make_target_by_name" in page.read_text(encoding="utf-8")
