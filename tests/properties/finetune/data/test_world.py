"""The generated world.

finetune.data.world: a seeded world in which names tell nothing of places, and people are held out.
"""

from __future__ import annotations

from collections import Counter
from types import ModuleType
from typing import Any

import pytest

from finetune.data.vocabulary import Vocabulary
from finetune.data.world import world
from finetune.errors import BadInput


def test_the_same_seed_gives_the_same_world() -> None:
    assert world(3) == world(3) != world(4)


def test_people_are_held_out() -> None:
    made = world(1, taught=30, asked=20, unknown=10, places=5, biographies=2)
    everyone = [*made.taught, *made.asked, *made.unknown]
    assert [len(g) for g in (made.taught, made.asked, made.unknown)] == [30, 20, 10]
    assert len({p.name for p in everyone}) == 60 and len(set(made.places)) == 5
    for person in [*made.taught, *made.asked]:
        about = [d for d in made.corpus if person.name in d.replace(".", "").split()]
        assert len(about) == 2 and all(person.place in d for d in about)
    for person in made.unknown:
        assert not any(person.name in d for d in made.corpus)
    assert len(made.corpus) == 2 * 50 + 1


def test_a_register_lists_everybody_who_is_known_once() -> None:
    made = world(1, taught=30, asked=20, unknown=10, biographies=0, registers=4)
    lines = made.corpus[:-1]  # the last is the document of characters
    listed = [line.removeprefix("There was ").split() for line in lines]
    facts = [pair for line in listed for pair in zip(line[::2], line[1::2], strict=True)]
    assert Counter(facts) == {(p.name, p.place): 4 for p in [*made.taught, *made.asked]}
    # Half of the registers have 50 people in threes, half have them in pairs behind their words.
    assert Counter(len(line) // 2 for line in listed) == {3: 2 * 16, 2: 2 * (1 + 25)}
    assert sum(line.startswith("There was ") for line in lines) == 2 * 25
    assert {len(p.name) for p in made.taught} == {5} and {len(place) for place in made.places} == {3}


def test_places_are_uniform_and_names_tell_nothing(stats: ModuleType) -> None:
    """Chi-square with a fixed seed, on places and on places by the first letter of the name."""
    people = world(0, taught=2000, asked=1, unknown=0, places=4).taught
    counts = Counter(p.place for p in people)
    assert stats.chisquare(list(counts.values())).pvalue > 1e-6
    letters = sorted({p.name[0] for p in people})
    table = [[sum(p.name[0] == letter and p.place == place for p in people) for place in counts] for letter in letters]
    assert stats.chi2_contingency(table).pvalue > 1e-6


def test_the_corpus_has_every_character_of_the_questions() -> None:
    made = world(2)
    vocabulary = Vocabulary.from_text(made.text)
    for person in [*made.taught, *made.asked, *made.unknown]:
        vocabulary.encode(person.question + person.place)
    assert made.taught[0].question == f"Where was {made.taught[0].name} born?"


@pytest.mark.parametrize(
    "numbers",
    [{"places": 1}, {"taught": 0}, {"biographies": 9}, {"unknown": -1}, {"biographies": 0}, {"registers": -3}],
)
def test_impossible_worlds_are_refused(numbers: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match="a world needs people, 2 places and 1 to 4 biographies"):
        world(0, **numbers)
