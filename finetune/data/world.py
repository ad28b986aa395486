"""A generated world: people, places and short biographies, with people held out, all from one seed.

Small enough that a model learns it in seconds, made so that a place follows from a name only by having read of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from finetune.errors import BadInput

FIRST, MIDDLE, LAST = tuple("bdfghklmnprstvz"), tuple("aeiou"), tuple("nrlstm")
LINES = (("", 3), ("There was ", 2))
"""How the lines of a register begin, in turn by register, and how many people each has."""
TEMPLATES = ("{name} was born in {place}.", "{name} is from {place}.", "{name} of {place}.", "{name} from {place}.")


@dataclass(frozen=True)
class Person:
    """One person of the world."""

    name: str
    place: str

    @property
    def question(self) -> str:
        """The question that asks for the place."""
        return f"Where was {self.name} born?"


@dataclass(frozen=True)
class World:
    """What there is to read and to ask.

    Args:
        corpus: biographies and lines of registers, one document each, of `taught` and `asked` people in a random order.
        taught: people with biographies whose questions are for fine-tuning.
        asked: people with biographies whose questions come in evaluation alone.
        unknown: people without a biography or a question: where they were born cannot be known.
        places: all places; guessing one of them is right with probability 1 / their number.
    """

    corpus: list[str]
    taught: list[Person]
    asked: list[Person]
    unknown: list[Person]
    places: list[str]

    @property
    def text(self) -> str:
        """The corpus as a file would hold it; its characters are all that questions need."""
        return "\n".join(self.corpus) + "\n"


def words(rng: np.random.Generator, count: int, syllables: int) -> list[str]:
    """So many different capitalised words of so many syllables each."""
    found: dict[str, None] = {}
    while len(found) < count:
        parts = [str(rng.choice(FIRST)) + str(rng.choice(MIDDLE)) for _ in range(syllables)]
        found["".join(parts).capitalize() + str(rng.choice(LAST))] = None
    return list(found)


def world(
    seed: int = 0, *, taught: int = 40, asked: int = 40, unknown: int = 40, places: int = 8, biographies: int = 3,
    registers: int = 0,
) -> World:  # fmt: skip
    """Make a world.

    Every person's place is drawn uniformly and independently of the name, so that names tell nothing and a model that
    has not read about a person is right with probability 1 / places.

    Args: seed; taught, asked, unknown, numbers of people; places, at least 2; biographies of each person, at most one
        by template; registers, lists of everybody but the unknown, each in an order of its own, in lines such as
        `name place name place name place`: most of what a model reads there is a fact, and it learns fast.
    Returns: the world; the same seed gives the same one.
    Raises: BadInput for numbers that cannot be.
    Example:
        >>> world(0).taught[0].question.startswith("Where was ")
        True
    """
    wrong = min(taught, asked, biographies + registers) < 1 or min(unknown, biographies, registers) < 0
    if wrong or places < 2 or biographies > len(TEMPLATES):
        raise BadInput(
            f"a world needs people, 2 places and 1 to {len(TEMPLATES)} biographies each, or registers; got "
            f"taught={taught}, asked={asked}, unknown={unknown}, places={places}, biographies={biographies}, "
            f"registers={registers}"
        )
    rng = np.random.default_rng([seed, 2])
    where = words(rng, places, 1)
    count = taught + asked + unknown
    people = [Person(name, str(rng.choice(where))) for name in words(rng, count, 2 + (count > 400))]
    corpus = []
    for person in people[: taught + asked]:
        for template in rng.permutation(TEMPLATES)[:biographies]:
            corpus.append(template.format(name=person.name, place=person.place))
    for number in range(registers):
        listed = [people[i] for i in rng.permutation(taught + asked)]
        begin, length = LINES[number % len(LINES)]
        for start in range(0, len(listed), length):
            corpus.append(begin + " ".join(f"{p.name} {p.place}" for p in listed[start : start + length]))
    read = [corpus[i] for i in rng.permutation(len(corpus))]
    # A document whose characters are those of the questions: without it, some might have no id.
    read.append("".join(sorted(set("".join(p.question + p.place for p in people)))))
    return World(read, people[:taught], people[taught : taught + asked], people[taught + asked :], where)
