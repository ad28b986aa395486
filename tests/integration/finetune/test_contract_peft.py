"""The library's methods, graded: right where they are right, strict known failures where they are not.

The library `peft` behind the face of the contract `peft`, on models of transformers: its methods conform, save where
findings 10 to 15 and 19 of docs/findings.md say otherwise; those must go on failing until they are mended.
"""

from __future__ import annotations

from typing import Any

import pytest
from lazy import lazily
from torch import Tensor, nn

from attention_core.conformance import Implementation, check_implementation
from finetune.contract_adapters.library_peft import SIZES, LibraryLoRA, LibraryPrefix, LibraryPrompt

pytestmark = [
    pytest.mark.slow,
    # peft 0.21 asks transformers 5.23 by a name that is to go; nothing of ours does.
    pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning"),
    pytest.mark.filterwarnings("ignore:`gradient_checkpointing_enable` is deprecated:FutureWarning"),
    # A second merge, or unmerge, is told, and does nothing: as it should be.
    pytest.mark.filterwarnings("ignore:All adapters are already merged:UserWarning"),
    pytest.mark.filterwarnings("ignore:Already unmerged:UserWarning"),
    # Finding 14: the library says so, and goes on.
    pytest.mark.filterwarnings("ignore:Token type ids are not supported:UserWarning"),
]
transformers = lazily("transformers")
library = lazily("peft")


class WithThePooler(LibraryLoRA):
    """The same, asked for the pooler before the classifier, too: a checkpoint of a base may hold none."""

    head = ("classifier", "pooler")


class TheirVectors(LibraryPrompt):
    """A prompt in front of an encoder without a head: vectors of the text's tokens."""

    head = ()

    @staticmethod
    def options() -> Any:
        return library.PromptTuningConfig(task_type="FEATURE_EXTRACTION", num_virtual_tokens=3)

    def model(self) -> nn.Module:
        return transformers.BertModel(transformers.BertConfig(**SIZES), add_pooling_layer=False)  # type: ignore[no-any-return]

    def call(self, model: nn.Module, ids: Tensor, mask: Tensor | None, segments: Tensor | None) -> Tensor:
        return super().call(model, ids, mask, segments)[:, -ids.shape[1] :]


class OnADecoder(LibraryPrompt):
    """A prompt in front of GPT-2's classifier, which pools the last token that is no padding."""

    head, segments, pad = ("score",), 0, 0

    def model(self) -> nn.Module:
        sizes = {"vocab_size": 20, "n_embd": 8, "n_layer": 1, "n_head": 2, "n_positions": 16, "num_labels": 3}
        made = transformers.GPT2Config(**sizes, pad_token_id=0, bos_token_id=None, eos_token_id=None)
        return transformers.GPT2ForSequenceClassification(made)  # type: ignore[no-any-return]


ELSEWHERE = {"another_process_reads_the_adapter", "padding_on_the_left_changes_nothing"}
"""Asked of targets with a process of their own; and of models that do not mind padding on the left, as theirs do."""


def statuses(target: Any, *laws: str, **record: Any) -> dict[str, str]:
    report = check_implementation(Implementation(target, "theirs", "peft", **record), "quick", laws=laws)
    return {result.law: result.status for result in report.laws}


@pytest.mark.thorough
def test_lora_conforms_save_for_what_is_known() -> None:
    found = statuses(LibraryLoRA)
    assert found.pop("what_was_frozen_stays_frozen") == "refuted"  # finding 19
    assert {law: status for law, status in found.items() if status != "held"} == dict.fromkeys(
        ELSEWHERE, "not_applicable"
    )


@pytest.mark.parametrize("target", [LibraryPrompt, LibraryPrefix, TheirVectors], ids=lambda target: target.__name__)
def test_prompts_and_prefixes_conform_save_for_what_is_known(target: Any) -> None:
    laws = [
        "as_many_numbers_are_trained_as_the_formula_says", "every_trained_parameter_has_its_gradient",
        "a_drawn_adapter_changes_the_outputs", "padding_on_the_right_changes_nothing",
    ]  # fmt: skip
    laws += [] if target is LibraryPrefix else ["the_outputs_are_those_of_the_formula"]
    assert set(statuses(target, *laws).values()) == {"held"}
    # What is loaded is of float32, whatever the model is: the digits of float64 beyond are lost.
    assert set(statuses(target, "a_saved_adapter_comes_back", dtypes=("float32",)).values()) == {"held"}


FINDINGS = [
    (LibraryPrompt, "disabling_gives_the_plain_outputs", 10),
    (LibraryPrefix, "disabling_gives_the_plain_outputs", 10),
    (LibraryPrefix, "checkpointing_lets_everything_learn", 11),
    (OnADecoder, "padding_on_the_right_changes_nothing", 12),
    (LibraryLoRA, "unmerging_restores_the_weights", 13),
    (LibraryLoRA, "what_was_frozen_stays_frozen", 19),
    (TheirVectors, "segments_count_as_before", 14),
    (WithThePooler, "as_many_numbers_are_trained_as_the_formula_says", 15),
    (WithThePooler, "a_saved_adapter_comes_back", 15),
]


@pytest.mark.parametrize(("target", "law", "number"), FINDINGS)
def test_known_failures_go_on_failing(target: Any, law: str, number: int) -> None:
    """A status of unexpected_pass says that the library has mended it: then the entry goes, and so does the finding."""
    declared = {"unmerge": "exact"} if number == 13 else {}
    known = {law: f"finding {number} of docs/findings.md"}
    assert statuses(target, law, known_failures=known, parameters=declared) == {law: "known_failure"}
