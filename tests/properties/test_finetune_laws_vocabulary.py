# Laws of vocabularies: each refutes the fault it names, every fault is refuted, correct ones conform.
"""Power and false alarms of the laws of vocabularies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from mutants import vocabulary as mutants
from mutants.judging import refuted
from mutants.judging_contracts import conforming, refuting

from finetune.data.vocabulary import Vocabulary
from finetune.laws import vocabulary
from finetune.laws.vocabulary import CONTRACT


def ours(corpus: str, text: str) -> torch.Tensor:
    return torch.from_numpy(Vocabulary.from_text(corpus).encode(text))


@pytest.mark.parametrize("law", vocabulary.LAWS, ids=lambda law: law.name)
def test_every_law_refutes_the_mutant_it_names(law: Any) -> None:
    refuted(law.name, getattr(mutants, law.mutant), effort="quick", contract=CONTRACT)


@pytest.mark.parametrize("mutant", mutants.FAULTY)
def test_every_fault_is_refuted(mutant: Callable[..., Any]) -> None:
    assert refuting(mutant, CONTRACT)


@pytest.mark.parametrize("target", [mutants.correct, ours])
def test_correct_vocabularies_conform(target: Callable[..., Any]) -> None:
    results = conforming(target, CONTRACT)
    assert {r.status for r in results.values()} == {"held"}
