"""Effects of how one prompts: number, order and balance of demonstrations, label words, as a table with intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from finetune.characters.evaluate import wilson
from finetune.data.examples import Examples
from finetune.prompting.answers import AnswerStore
from finetune.prompting.evaluate import Result, Setting, evaluate
from finetune.prompting.request import Model
from finetune.prompting.template import Template


@dataclass(frozen=True)
class Row:
    """One setting over all seeds of its demonstrations.

    Args:
        name: the effect and its value.
        results: one a seed.
    """

    name: str
    results: tuple[Result, ...]

    @property
    def totals(self) -> tuple[int, int]:
        """Right predictions and examples over all seeds."""
        return sum(r.correct for r in self.results), sum(len(r.labels) for r in self.results)

    def cells(self) -> list[str]:
        """Return the row of a table: mean accuracy, lowest and highest seed, the interval of one seed, unreadable."""
        correct, count = self.totals
        each = [result.accuracy for result in self.results]
        # Seeds share the evaluated examples, so they do not narrow the interval: it is that of one run's size.
        low, high = wilson(round(correct / len(each)), count // len(each))
        unreadable = sum(result.unreadable for result in self.results)
        return [
            self.name, f"{correct / count:.3f}", f"{min(each):.3f} to {max(each):.3f}", f"{low:.3f} to {high:.3f}",
            f"{unreadable / count:.0%}",
        ]  # fmt: skip


HEAD = ["setting", "accuracy", "lowest and highest seed", "95 % interval", "unreadable"]


def settings(base: Setting, shots: Sequence[int]) -> Iterator[tuple[str, Setting]]:
    """Yield the settings of a study by name: one thing is changed at a time.

    Args:
        base: what everything else stays at.
        shots: numbers of demonstrations.

    >>> [name for name, _ in settings(Setting(4), (0, 4))][:3]
    ['0 demonstrations', '4 demonstrations', 'class after class']
    """
    for count in shots:
        yield f"{count} demonstrations", replace(base, shots=count)
    yield "class after class", replace(base, order="blocked")
    yield "reversed", replace(base, order="reversed")
    yield "shuffled", replace(base, order="shuffled")
    yield "not balanced", replace(base, balanced=False, order="shuffled")
    other = replace(base, scoring="likelihood" if base.scoring == "answer" else "answer")
    yield ("likeliest word" if other.scoring == "likelihood" else "answers read"), other


def study(
    model: Model, template: Template, train: Examples, examples: Examples, base: Setting, *, shots: Sequence[int],
    seeds: Sequence[int], words: Sequence[str] = (), store: AnswerStore | None = None,
    report: Callable[[str], None] | None = None,
) -> list[Row]:  # fmt: skip
    """Evaluate every setting of a study over several draws of demonstrations.

    Args:
        model, template, train, examples, store: as `evaluate` takes them.
        base: the setting from which each row departs in one thing.
        shots: numbers of demonstrations.
        seeds: of the draws.
        words: other label words, tried in a row of their own.
        report: called with the name of each row before it is run.
    """
    plan = [(name, setting, template) for name, setting in settings(base, shots)]
    if words:
        plan.append((f"words {', '.join(words)}", base, replace(template, words=tuple(words))))
    rows = []
    for name, setting, own in plan:
        if report is not None:
            report(name)
        draws = seeds if setting.shots else seeds[:1]  # without demonstrations nothing is drawn
        results = [evaluate(model, own, train, examples, replace(setting, seed=s), store=store) for s in draws]
        rows.append(Row(name, tuple(results)))
    return rows


def table(rows: Sequence[Row]) -> str:
    """Return the rows as a Markdown table."""
    lines = [HEAD, ["---"] * len(HEAD), *(row.cells() for row in rows)]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
