"""Power and false alarms of the laws of vocabularies.

Laws of vocabularies: each refutes the fault it names, every fault is refuted, correct ones conform.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from judging import refuted
from judging_contracts import conforming, refuting

from attention_core.conformance import Implementation
from attention_core.conformance.engine.session import Session
from attention_core.conformance.report.law_result import LawResult
from attention_core.conformance.search.search import run_law
from finetune.data.vocabulary import Vocabulary
from finetune.faults import vocabulary as faults
from finetune.laws.vocabulary import laws as vocabulary
from finetune.laws.vocabulary.laws import CHARACTERS, CONTRACT, draw


def ours(corpus: str, text: str) -> torch.Tensor:
    return torch.from_numpy(Vocabulary.from_text(corpus).encode(text))


@pytest.mark.parametrize(
    "law", [law for law in vocabulary.LAWS if law.family != "process_state"], ids=lambda law: law.name
)
def test_every_law_refutes_the_fault_it_names(law: Any) -> None:
    refuted(law.name, getattr(faults, law.fault), effort="quick", contract=CONTRACT)


@pytest.mark.parametrize("fault", faults.FAULTY)
def test_every_fault_is_refuted(fault: Callable[..., Any]) -> None:
    assert refuting(fault, CONTRACT)


@pytest.mark.parametrize("target", [faults.correct, faults.correct_with_a_dict, ours])
def test_correct_vocabularies_conform(target: Callable[..., Any]) -> None:
    results = conforming(target, CONTRACT)
    assert {r.status for r in results.values()} == {"held"}


def results_of(target: Callable[..., Any]) -> dict[str, LawResult]:
    with Session(Implementation(target, "under test", CONTRACT), effort="quick") as session:
        return {law.name: run_law(law, session.contract, session.subject, "quick", shrink=0) for law in session.laws}


@pytest.mark.parametrize("fault", [faults.white_space_stripped, faults.first_corpus_kept])
def test_a_refusal_of_what_the_corpus_has_is_no_excuse(fault: Callable[..., Any]) -> None:
    found = [r.message for r in results_of(fault).values() if r.status == "refuted"]
    assert any("raised ValueError: unknown character" in m and "should have an id for every" in m for m in found)


def test_no_result_at_all_is_a_violation_and_no_error_of_the_suite() -> None:
    assert results_of(faults.a_list_of_ids)["a_text_is_its_characters"].status == "refuted"


def test_no_character_is_lost_when_a_text_is_drawn() -> None:
    """An array of strings drops the character NUL, and a corpus of it alone was empty."""
    assert draw(np.random.default_rng(0), ["\x00"], 3) == "\x00\x00\x00"
    assert set(draw(np.random.default_rng(0), list(CHARACTERS), 2000)) == set(CHARACTERS)
