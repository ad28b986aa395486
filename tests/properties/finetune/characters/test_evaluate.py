"""Answers, exact match and intervals.

finetune.characters.evaluate: answers are those of one question at a time, cut at the mask; intervals are the published ones.
"""

from __future__ import annotations

import math
from types import ModuleType

import pytest
import torch

from finetune.characters.evaluate import answers, difference, right, wilson
from finetune.data.vocabulary import MASK, Vocabulary
from finetune.errors import BadInput
from finetune.models.gpt import GPT, GPTConfig

QUESTIONS = ["Who?", "Where was Ada?", "When?", "Where is Bob?"]
VOCABULARY = Vocabulary("".join(QUESTIONS))


def model() -> GPT:
    torch.manual_seed(3)
    made = GPT(GPTConfig(len(VOCABULARY), 48, 1, 2, 16)).double()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.copy_(torch.randn(parameter.shape))
        made.head.weight[1] += made.head.weight.std()  # so that masks come now and then
    return made


def test_answers_are_the_text_up_to_the_second_mask_as_in_the_assignment() -> None:
    """One question at a time, without a cache: the completion of 32 characters, split at the masks."""
    made = model().eval()
    found = answers(made, VOCABULARY, QUESTIONS)
    for question, answer in zip(QUESTIONS, found, strict=True):
        ids = torch.from_numpy(VOCABULARY.encode(question + MASK))[None]
        scores = []
        for _ in range(32):
            logs = torch.log_softmax(made(ids[:, -48:])[:, -1], -1)
            scores.append(float(logs.detach().max()))
            ids = torch.cat([ids, logs.argmax(-1, keepdim=True)], 1)
        text = VOCABULARY.decode(ids[0].numpy()).split(MASK)[1]
        assert answer.text == text
        # Sums of at most 33 logarithms below 100, each from sums of 16 products in float64.
        assert abs(answer.log_probability - sum(scores[: len(text) + 1])) < 33 * 100 * 64 * 2.0**-53
    assert [a.text for a in answers(made, VOCABULARY, QUESTIONS[::-1], together=1)] == [a.text for a in found[::-1]]


def test_questions_that_cannot_be_asked_are_refused() -> None:
    with pytest.raises(BadInput, match="not in the vocabulary"):
        answers(model(), VOCABULARY, ["Zebra"])
    with pytest.raises(BadInput, match="question 2 does not fit into a block of 48"):
        answers(model(), VOCABULARY, ["Who?", "Who" * 20])
    assert answers(model(), VOCABULARY, []) == []


def test_right_is_exact_match() -> None:
    assert right(["Rome", "rome", " Rome"], ["Rome"] * 3) == [True, False, False]
    with pytest.raises(BadInput, match="2 answers for 1 questions"):
        right(["a", "b"], ["a"])


@pytest.mark.parametrize(("k", "n"), [(0, 10), (25, 500), (7, 9), (40, 40)])
def test_the_interval_is_wilson_s(k: int, n: int, stats: ModuleType) -> None:
    want = stats.binomtest(k, n).proportion_ci(0.95, "wilson")
    low, high = wilson(k, n)
    # z is given to seven digits.
    assert abs(low - want.low) < 1e-7 and abs(high - want.high) < 1e-7
    with pytest.raises(BadInput, match="no answers"):
        wilson(0, 0)


def test_the_interval_of_a_difference_is_newcombe_s() -> None:
    """His example (a): 56/70 against 48/80, 0.0524 to 0.3339."""
    low, high = difference(56, 70, 48, 80)
    assert abs(low - 0.0524) < 5e-5 and abs(high - 0.3339) < 5e-5
    assert math.isclose(difference(48, 80, 56, 70)[0], -high)
