"""Ask a model to put labels into sectors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from finetune.errors import BadInput
from finetune.prompting.answers import AnswerStore
from finetune.prompting.ask import Progress, ask
from finetune.prompting.request import Answer, Controls, Mode, Model, Request
from finetune.prompting.template import parse_label
from finetune.standardise.outcome import Outcome


@dataclass(frozen=True)
class Task:
    """Labels, and the sectors that they go into.

    Args:
        labels: free text, in the order in which they are sent.
        sectors: the set of answers.
        mapping: the known sector of each label, None where it is not known.
        target: labels by sector that the model is to come close to (distribution-aware), None without.
    Raises:
        BadInput: for no label, fewer than two sectors, an empty or doubled one, or a mapping outside the set.
    """

    labels: tuple[str, ...]
    sectors: tuple[str, ...]
    mapping: Mapping[str, str] | None = None
    target: Mapping[str, int] | None = None

    def __post_init__(self) -> None:
        for what, texts, least in (("label", self.labels, 1), ("sector", self.sectors, 2)):
            if len(texts) < least:
                raise BadInput(f"{len(texts)} {what}s: there must be at least {least}")
            if not all(text.strip() for text in texts):
                raise BadInput(f"a {what} is empty")
            folded = Counter(" ".join(text.casefold().split()) for text in texts)
            twice = next((text for text, count in folded.items() if count > 1), None)
            if twice is not None:
                raise BadInput(f"the {what} {twice!r} stands twice")
        for name, sectors in (("mapping", (self.mapping or {}).values()), ("target", (self.target or {}).keys())):
            strange = next((sector for sector in sectors if sector not in self.sectors), None)
            if strange is not None:
                raise BadInput(f"the {name} names {strange!r}, which is not one of the sectors")
        if self.mapping is not None:
            missing = next((label for label in self.labels if label not in self.mapping), None)
            if missing is not None:
                raise BadInput(f"the mapping has no sector for the label {missing!r}")

    def truth(self) -> tuple[int, ...] | None:
        """Return the number of the sector of each label by the mapping."""
        if self.mapping is None:
            return None
        return tuple(self.sectors.index(self.mapping[label]) for label in self.labels)

    def question(self, label: str, running: Mapping[str, int] | None = None) -> str:
        """Return the prompt for one label; with a target it shows the running and the target distribution."""
        lines = [
            f"Which of these {len(self.sectors)} sectors fits the industry best?",
            f"Sectors: {', '.join(self.sectors)}",
            "Answer with the name of one sector of this list and nothing else.",
        ]
        if self.target is not None:
            lines += [
                f"Your choices so far: {_table(self.sectors, running or {})}",
                f"All choices together should come close to: {_table(self.sectors, self.target)}",
                "When in doubt, choose the sector that brings your choices closer to this distribution.",
            ]
        return "\n".join([*lines, f"Industry: {label}", "Sector:"])


def _table(sectors: Sequence[str], counts: Mapping[str, int]) -> str:
    return ", ".join(f"{sector} {counts.get(sector, 0)}" for sector in sectors)


def standardise(
    model: Model, task: Task, *, mode: Mode = "completion", constrained: bool = False, strict: bool = False,
    controls: Controls | None = None, store: AnswerStore | None = None, progress: Progress | None = None,
) -> Outcome:  # fmt: skip
    """Ask for the sector of every label.

    With a target the questions are sent one after the other, since each shows the choices before it.

    Args:
        model: what answers.
        task: labels and sectors.
        mode: completion or chat.
        constrained: take the likeliest sector by its log-probability: an answer outside the set cannot happen.
        strict: only the name of a sector counts, as it is written; otherwise case and punctuation do not matter.
        controls: of sampling; by default greedy, 16 tokens, one line.
        store: answers of earlier runs.
        progress: called with (answered, all).
    Raises:
        BadInput: if a request was not answered, or a server is to score whole sectors.
    """
    if constrained and model.parallel > 1:
        raise BadInput("constrained answers need a local model: a server lists the likeliest tokens, not whole sectors")
    plain = controls or Controls(max_tokens=16, stop=("\n",) if mode == "completion" else ())

    def request(label: str, running: Mapping[str, int] | None = None) -> Request:
        prompt = task.question(label, running)
        if constrained:
            space = " " if mode == "completion" else ""
            return Request(model.identity, prompt, Controls(), mode, tuple(space + s for s in task.sectors))
        return Request(model.identity, prompt, plain, mode)

    def read(answer: Answer) -> tuple[str, int | None]:
        if constrained:
            best = max(range(len(task.sectors)), key=lambda n: answer.scores[n])
            return task.sectors[best], best
        text = answer.texts[0]
        if strict:
            return text, task.sectors.index(text.strip()) if text.strip() in task.sectors else None
        return text, parse_label(text, task.sectors)

    if task.target is None:
        replies = ask(model, [request(label) for label in task.labels], store, progress)
        pairs = [read(answer) for answer in replies.complete()]
    else:
        pairs, running = [], Counter[str]()
        for number, label in enumerate(task.labels, 1):
            (answer,) = ask(model, [request(label, running)], store).complete()
            pairs.append(read(answer))
            chosen = pairs[-1][1]
            if chosen is not None:
                running[task.sectors[chosen]] += 1
            if progress is not None:
                progress(number, len(task.labels))
    answers, numbers = zip(*pairs, strict=True)
    return Outcome(model.identity, task.labels, task.sectors, answers, numbers, task.truth())
