"""The records of an experiment: its variants, what is measured, what is claimed, and how it is run."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from finetune.errors import BadInput
from finetune.experiments.texts import Text

Direction = Literal["lower", "higher", "same"]


@dataclass(frozen=True)
class Setting:
    """The numbers of an experiment; each run has one seed of them.

    Args:
        seeds: how many, from 0 on. A seed decides the start of the weights and the order of the data.
        steps: of the optimizer.
        batch_size, block_size: stretches of a step, and their tokens.
        n_layer, n_head, n_embd: sizes of the model.
        learning_rate: the largest; it warms up over a tenth of the steps and falls to a tenth by cosine.
        initial: the standard deviation of matrices at the start.
        more: numbers of one experiment alone, by name.
    Raises:
        BadInput: if there are fewer than two seeds or no step.
    """

    seeds: int = 5
    steps: int = 2000
    batch_size: int = 12
    block_size: int = 48
    n_layer: int = 2
    n_head: int = 4
    n_embd: int = 48
    learning_rate: float = 3e-3
    initial: float = 0.1
    more: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.seeds < 2:
            raise BadInput(f"an interval over seeds needs at least 2 of them, got {self.seeds}")
        if self.steps < 1:
            raise BadInput(f"an experiment trains for at least 1 step, got {self.steps}")

    def with_numbers(self, **changes: Any) -> Setting:
        """Return this setting with other numbers; None leaves a number as it is."""
        return replace(self, **{name: value for name, value in changes.items() if value is not None})


@dataclass(frozen=True)
class Measure:
    """One number of each run.

    Args:
        key: its name in the result of a run.
        title: the head of its column.
        ratio: it is positive, and differences are those of its logarithm: they are printed as percentages.
        timed: it depends on the machine and on how busy that is.
        compared: differences to the baseline are shown.
        digits: places after the point.
    """

    key: str
    title: str
    ratio: bool = False
    timed: bool = False
    compared: bool = True
    digits: int = 2

    def on_its_scale(self, value: float) -> float:
        """Return the number that differences are taken of; NaN if there is none."""
        if not self.ratio:
            return value
        return math.log(value) if value > 0 else math.nan

    def format(self, value: float) -> str:
        """Return a value as the table shows it."""
        return f"{value:.{self.digits}f}" if math.isfinite(value) else "diverged"

    def format_difference(self, value: float) -> str:
        """Return a difference of scaled values as the table shows it: a percentage or a plain number."""
        if not math.isfinite(value):
            return "unbounded"
        return f"{100 * math.expm1(value):+.1f} %" if self.ratio else f"{value:+.{self.digits}f}"


@dataclass(frozen=True)
class Claim:
    """A sentence that the runs may bear out or contradict.

    Args:
        sentence: what is claimed.
        measure: the key of what decides it.
        variant: whose number is looked at.
        against: the variant it is compared with, seed by seed; None compares with `value`.
        direction: the number is "lower" or "higher" than the other one, or the "same" up to `margin`.
        margin: the smallest difference that counts, on the scale of differences.
        value: a number to compare with, on the scale of differences.
        source: where the claim stands.
    """

    sentence: str
    measure: str
    variant: str
    against: str | None = None
    direction: Direction = "lower"
    margin: float = 0.0
    value: float = 0.0
    source: str = ""


Run = Callable[[str, int, Setting, Text], Mapping[str, Any]]


@dataclass(frozen=True)
class Experiment:
    """A question with the variants, measures and claims that answer it.

    Args:
        name: of the command line.
        title, question, background: what the page begins with.
        variants: by name, what each is.
        baseline: the variant that the others are compared with.
        measures: the first one decides the picture.
        claims: what is judged.
        run: `run(variant, seed, setting, text)` returns the measures of one run by key, and curves as lists of pairs.
        setting: its numbers unless others are given.
        curve: the key, the label of x and the label of y of the curve that the picture shows, or nothing.
        code: objects whose source the page shows.
        revision: counted up when a change of the code changes results: older runs are then made again.
        uses_text: it trains on a text rather than on made-up sequences.
        logarithmic: the picture's curve has logarithmic axes.
    """

    name: str
    title: str
    question: str
    background: str
    variants: Mapping[str, str]
    baseline: str
    measures: tuple[Measure, ...]
    claims: tuple[Claim, ...]
    run: Run
    setting: Setting
    curve: tuple[str, str, str] | None = None
    code: tuple[Any, ...] = ()
    revision: int = 1
    uses_text: bool = True
    logarithmic: bool = False

    def measure(self, key: str) -> Measure:
        """Return the measure of a key."""
        return next(measure for measure in self.measures if measure.key == key)
