"""Power and false alarms of the laws of causal language models.

Laws of causal language models: each refutes the fault it names, every fault is refuted, no correct model is.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
from judging import judged, refuted
from judging_contracts import conforming, counterexample, outcomes
from torch import Tensor

from finetune.faults import causal_lm as faults
from finetune.faults.bases import causal_lm as models
from finetune.laws.causal_lm import laws as causal_lm
from finetune.laws.causal_lm.laws import CONTRACT

DECLARED = faults.DECLARED


SILENT = {  # laws that have nothing to say, since a method is not there or nothing is declared
    models.MinGPTShaped: {
        "perplexity_is_the_exponential_of_the_loss", "steps_with_a_cache_are_the_full_pass", "a_reset_forgets",
        "sampling_stays_in_the_nucleus", "tied_weights_are_one",
    },
    models.TransformersShaped: {
        "dropout_comes_back_after_evaluation", "perplexity_is_the_exponential_of_the_loss",
        "steps_with_a_cache_are_the_full_pass", "a_reset_forgets", "greedy_takes_the_likeliest",
        "beyond_the_block_the_last_block_counts", "sampling_follows_the_softmax", "sampling_stays_in_the_top_k",
        "sampling_stays_in_the_nucleus", "one_seed_gives_one_text", "drawn_texts_go_on_from_what_was_drawn",
    },
}  # fmt: skip


@pytest.mark.thorough(keep=("Plain",))
@pytest.mark.parametrize("target", models.CORRECT)
def test_correct_models_conform(target: Any) -> None:
    results = conforming(target, CONTRACT, parameters=DECLARED.get(target, {}))
    assert {law for law, r in results.items() if r.status != "held"} == SILENT.get(target, {"tied_weights_are_one"})


@pytest.mark.thorough(table=True)
@pytest.mark.parametrize("fault", faults.FAULTY)
def test_every_fault_is_refuted_by_the_law_that_is_about_it(fault: Any) -> None:
    result = judged(faults.SEEN_BY[fault], fault, contract=CONTRACT, parameters=DECLARED.get(fault, {}))
    assert result.status == "refuted", result.message


@pytest.mark.parametrize(
    "law", [law for law in causal_lm.LAWS if law.family != "process_state"], ids=lambda law: law.name
)
def test_every_law_names_a_fault_that_it_refutes(law: Any) -> None:
    assert faults.SEEN_BY[getattr(faults, law.fault)] == law.name


@pytest.mark.parametrize(
    ("fault", "law", "words"),
    [
        (faults.no_target_is_not_a_number, "no_target_gives_a_number", r"got nan, but .* declare --parameter all_ig"),
        (
            faults.top_k_one_more,
            "sampling_stays_in_the_top_k",
            r"got token \d+ in 0\.\d+ of 2000 draws, but should be",
        ),
        (faults.attention_unused, "the_token_before_counts", "got a change of 0 by another token at"),
        (faults.head_is_a_copy, "tied_weights_are_one", "got the same logits of token"),
        (faults.prompt_lost, "greedy_takes_the_likeliest", "got another prompt"),
    ],
)
def test_the_message_says_what_was_got_and_what_should_be(fault: Any, law: str, words: str) -> None:
    found = refuted(law, fault, "quick", contract=CONTRACT, parameters=DECLARED.get(fault, {}))
    assert re.search(words, found.message)


def test_what_has_no_loss_or_other_numbers_than_one_is_told() -> None:
    class Logits(models.TransformersShaped):
        loss = property(lambda self: self.nothing)  # raises AttributeError, as if it were not there

    result = judged("the_loss_is_the_mean_over_targets", Logits, contract=CONTRACT)
    assert result.status == "not_applicable" and "it has no loss" in result.message

    class Each(models.Plain):
        def loss(self, ids: Any, targets: Any) -> Any:
            return self.per_token(self(ids), targets)

    assert "but should be one number" in refuted("the_loss_is_the_mean_over_targets", Each, contract=CONTRACT).message


def test_counterexamples_are_programs_that_pass_on_a_correct_model() -> None:
    programs = {}
    for law in ("later_tokens_change_nothing_before", "ignored_targets_do_not_count", "greedy_takes_the_likeliest"):
        (name,) = (f.__name__ for f, seen in faults.SEEN_BY.items() if f.__name__ in CHOSEN and seen == law)
        program = counterexample(law, f"finetune.faults.causal_lm:{name}", CONTRACT)
        programs[name] = program
        programs[f"Plain for {name}"] = program.replace(name, "Plain")
    found = outcomes(programs)
    assert {n for n, told in found.items() if told} == CHOSEN
    assert all(found[n].startswith("AssertionError") for n in CHOSEN)


CHOSEN = {"mask_one_place_late", "padding_counted_as_tokens", "one_token_behind"}


class NucleusOfTheFirstRow(models.Plain):
    """Every row of a batch keeps as many tokens as its first row: right for that one."""

    def outside(self, total: Tensor, p: Tensor, top_p: float) -> Tensor:
        return super().outside(total, p, top_p)[:1].expand_as(total)


def test_texts_behind_the_first_ones_have_a_nucleus_of_their_own() -> None:
    found = refuted("sampling_stays_in_the_nucleus", NucleusOfTheFirstRow, "quick", contract=CONTRACT)
    assert re.search(r"with top_p=\S+, a text after 2000 others: got token \d+ in \S+ of 300 draws", found.message)
