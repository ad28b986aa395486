"""The main effect on the generated world, for dot products and for a synthesizer.

What pretraining stores, fine-tuning reaches; without pretraining, or where the corpus says otherwise, it does not.
People of whom a model has read nothing get a place all the same; the answer's log-probability is what there is to tell.
"""

from __future__ import annotations

import random
import sys
from dataclasses import replace
from math import comb
from pathlib import Path
from types import ModuleType

import pytest

from finetune.characters.answer_provenance import curve, threshold_for
from finetune.characters.evaluate import difference, wilson
from finetune.data.world import World
from finetune.models.gpt import GPT

FOLDER = Path(__file__).parents[3] / "experiments" / "main_effect"
Z = 2.5758
"""Intervals of 99 %."""


@pytest.fixture(scope="module")
def experiment() -> ModuleType:
    """The module of the experiment, which is a script."""
    sys.modules.pop("run", None)
    sys.path.insert(0, str(FOLDER))
    try:
        import run  # type: ignore[import-not-found]

        return run  # type: ignore[no-any-return]
    finally:
        sys.path.remove(str(FOLDER))
        sys.modules.pop("run", None)


def reaches(experiment: ModuleType, of: World, after: GPT, scratch: GPT) -> None:
    """Raises: AssertionError where the interval of the difference does not lie above zero."""
    found = experiment.effect(of, after, scratch)
    low, _ = found.interval(Z)
    assert low > 0, f"{found.right} and {found.scratch} of {found.count}: the difference may be as small as {low:.2f}"


def false_passes(count: int, chance: float) -> float:
    """The probability that `reaches` passes where both models guess with this chance of being right, exactly."""
    weight = [comb(count, k) * chance**k * (1 - chance) ** (count - k) for k in range(count + 1)]
    return sum(
        weight[a] * weight[b]
        for a in range(count + 1)
        for b in range(count + 1)
        if difference(a, count, b, count, Z)[0] > 0
    )


def test_the_error_rate_of_the_check() -> None:
    """Two guessers at 1 in 8 pass as an effect in fewer than one of 200 worlds."""
    assert false_passes(36, 1 / 8) < 0.005


def with_other_facts(of: World) -> World:
    """The same people, those asked born elsewhere: to it, the corpus of the first world has its facts shuffled."""
    places = [p.place for p in of.asked]
    random.Random(0).shuffle(places)
    return replace(of, asked=[replace(p, place=place) for p, place in zip(of.asked, places, strict=True)])


@pytest.mark.thorough
@pytest.mark.parametrize("attention", ["vanilla", "synthesizer"])
def test_fine_tuning_reaches_what_pretraining_stores(experiment: ModuleType, attention: str) -> None:
    of = experiment.made(0)
    scratch = experiment.finetuned(experiment.untrained(attention, of, 0), of, 0)
    after = experiment.finetuned(experiment.pretrained(attention, of, 0), of, 0)
    reaches(experiment, of, after, scratch)
    # The same check fails where pretraining is left out, and where the corpus tells other facts.
    other = experiment.finetuned(experiment.untrained(attention, of, 1), of, 1)
    with pytest.raises(AssertionError, match="the difference may be as small as"):
        reaches(experiment, of, other, scratch)
    with pytest.raises(AssertionError, match="the difference may be as small as"):
        reaches(experiment, with_other_facts(of), after, scratch)
    nobody_knows(experiment, of, after)


def nobody_knows(experiment: ModuleType, of: World, after: GPT) -> None:
    """Unknown people get a place with confidence, and it is right no more often than chance (99.9 %)."""
    found = experiment.effect(of, after, after)
    given = [a.text for a in found.unknown]
    # More than half of the answers are places of the world: they look like knowledge.
    assert sum(text in of.places for text in given) > len(given) / 2
    low, high = wilson(experiment.right(found.unknown, of.unknown), len(given), 3.2905)
    assert low <= 1 / 8 <= high
    # The curve of what a threshold withholds, over known and unknown people together.
    marks = [a.text == p.place for a, p in zip(found.asked + found.unknown, of.asked + of.unknown, strict=True)]
    points = curve(found.asked + found.unknown, marks)
    assert points[-1].answered == 72 and points[-1].right == sum(marks)
    assert threshold_for(points, 0.0) == points[-1].threshold
