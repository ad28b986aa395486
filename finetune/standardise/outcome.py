"""What standardising gave: counts that add up, distances to a reference, and the check of a printed result.

Distances are between two distributions over the same sectors, with bootstrap intervals.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from finetune.characters.evaluate import wilson
from finetune.errors import BadInput

RESAMPLES = 2000


@dataclass(frozen=True)
class Distances:
    """How far counts are from reference counts.

    Args:
        l1: sum of |a_s - b_s| over sectors, in labels. Answers outside the set make it larger: they are missing in a.
        total_variation: half the sum of |a_s / N_a - b_s / N_b|, from 0 to 1.
        jensen_shannon: the Jensen-Shannon divergence in bits, from 0 to 1.
    """

    l1: float
    total_variation: float
    jensen_shannon: float


def compare_counts(counts: Sequence[int], reference: Sequence[int]) -> Distances:
    """Compare counts by sector with reference counts.

    With p = a / N_a, q = b / N_b and m = (p + q) / 2, the divergence is (KL(p || m) + KL(q || m)) / 2 in bits.

    Raises:
        BadInput: if the lengths differ, a count is negative, or nothing is counted on one side.

    >>> compare_counts([2, 0], [1, 1])
    Distances(l1=2.0, total_variation=0.5, jensen_shannon=0.31127812...)

    Source: Lin, "Divergence measures based on the Shannon entropy" (1991), equation 4.1.
    """
    a, b = np.asarray(counts, dtype=np.float64), np.asarray(reference, dtype=np.float64)
    if a.shape != b.shape or a.ndim != 1:
        raise BadInput(f"counts of {len(counts)} sectors do not go together with a reference of {len(reference)}")
    if (a < 0).any() or (b < 0).any():
        raise BadInput("a count is below 0")
    if not a.sum() or not b.sum():
        raise BadInput("nothing was counted, so there is no distribution to compare")
    p, q = a / a.sum(), b / b.sum()
    middle = (p + q) / 2
    divergence = (relative_entropy(p, middle) + relative_entropy(q, middle)) / 2
    return Distances(float(np.abs(a - b).sum()), float(np.abs(p - q).sum() / 2), divergence)


def relative_entropy(p: np.ndarray, q: np.ndarray) -> float:
    """Return KL(p || q) in bits, where q is positive wherever p is; 0 log 0 is 0."""
    used = p > 0
    return float((p[used] * np.log2(p[used] / q[used])).sum())


def bootstrap(
    answers: Sequence[int | None], truth: Sequence[int], sectors: int, *, seed: int = 0, resamples: int = RESAMPLES
) -> dict[str, tuple[float, float]]:
    """Return percentile intervals (95 %) of the distances, by drawing labels with their answers and truths again.

    Args:
        answers: the sector of each label, None outside the set.
        truth: the sector that the reference gives each label.
        sectors: how many there are.
        seed: of the draws.
        resamples: how many draws.
    Raises:
        BadInput: if the lengths differ, or no answer is in the set.
    Source: Efron and Tibshirani, "An Introduction to the Bootstrap" (1993), section 13.3.
    """
    if len(answers) != len(truth):
        raise BadInput(f"{len(answers)} answers do not go together with {len(truth)} labels of the reference")
    chosen = np.array([sectors if answer is None else answer for answer in answers])
    reference = np.array(truth)
    if not len(chosen) or (chosen == sectors).all():
        raise BadInput("no answer is one of the sectors, so there is nothing to compare")
    generator = np.random.default_rng(seed)
    drawn: list[Distances] = []
    while len(drawn) < resamples:
        rows = generator.integers(len(chosen), size=len(chosen))
        counts = np.bincount(chosen[rows], minlength=sectors + 1)[:sectors]
        if counts.sum():  # a draw without a valid answer has no distribution; it is drawn again
            drawn.append(compare_counts(counts.tolist(), np.bincount(reference[rows], minlength=sectors).tolist()))
    names = ("l1", "total_variation", "jensen_shannon")
    ends = {name: np.quantile([getattr(d, name) for d in drawn], [0.025, 0.975]) for name in names}
    return {name: (float(low), float(high)) for name, (low, high) in ends.items()}


@dataclass(frozen=True)
class Outcome:
    """The answers of one model to all labels.

    Args:
        model: its identity.
        labels: what was standardised.
        sectors: into what.
        answers: the texts of the model.
        chosen: the sector of each, None outside the set.
        truth: the sector by a known mapping, None where there is none.
    """

    model: str
    labels: tuple[str, ...]
    sectors: tuple[str, ...]
    answers: tuple[str, ...]
    chosen: tuple[int | None, ...]
    truth: tuple[int, ...] | None = None

    @property
    def invalid(self) -> int:
        """How many answers are outside the set."""
        return sum(number is None for number in self.chosen)

    @property
    def counts(self) -> list[int]:
        """How many labels each sector got."""
        found = Counter(number for number in self.chosen if number is not None)
        return [found[number] for number in range(len(self.sectors))]

    def reference(self) -> list[int]:
        """Return how many labels the known mapping gives each sector. Raises: BadInput if there is none."""
        if self.truth is None:
            raise BadInput("there is no known mapping to count")
        found = Counter(self.truth)
        return [found[number] for number in range(len(self.sectors))]

    def by_sector(self) -> list[tuple[str, int, int]]:
        """Return (sector, right, labels that belong there) by the known mapping."""
        truth = self.truth or ()
        right = Counter(t for t, c in zip(truth, self.chosen, strict=False) if t == c)
        return [(name, right[n], Counter(truth)[n]) for n, name in enumerate(self.sectors)]

    def lines(self, reference: Sequence[int] | None = None) -> Iterator[str]:
        """Lines for a person: what is valid, the distances with their intervals, accuracy by sector."""
        count = len(self.labels)
        yield f"{self.model}: {count - self.invalid} of {count} answers are sectors, {self.invalid} are not"
        outside = Counter(a.strip()[:40] for a, c in zip(self.answers, self.chosen, strict=True) if c is None)
        if outside:
            shown = ", ".join(f"{text!r} ({times})" for text, times in outside.most_common(5))
            yield f"  outside the set: {shown}"
        against = self.reference() if self.truth is not None else reference
        if against is None or count == self.invalid:
            return
        distances = compare_counts(self.counts, against)
        ends = bootstrap(self.chosen, self.truth, len(self.sectors)) if self.truth is not None else {}
        for name, words in (("l1", "L1"), ("total_variation", "total variation"), ("jensen_shannon", "Jensen-Shannon")):
            value = getattr(distances, name)
            number = f"{value:g}" if name == "l1" else f"{value:.3f}"
            interval = f" (95 % interval {ends[name][0]:.3g} to {ends[name][1]:.3g})" if name in ends else ""
            yield f"  {words} to the reference: {number}{interval}"
        if self.truth is not None:
            right = sum(t == c for t, c in zip(self.truth, self.chosen, strict=True))
            low, high = wilson(right, count)
            yield f"  right: {right} of {count} (95 % interval {low:.3f} to {high:.3f})"
            for name, good, all_ in self.by_sector():
                yield f"    {name}: {good} of {all_}"

    def to_json(self) -> dict[str, Any]:
        """Return the outcome as a record that `check_outcomes` can check."""
        record: dict[str, Any] = {
            "model": self.model, "labels": len(self.labels), "invalid": self.invalid,
            "counts": dict(zip(self.sectors, self.counts, strict=True)),
            "answers": dict(zip(self.labels, self.answers, strict=True)) if unique(self.labels) else list(self.answers),
        }  # fmt: skip
        if self.truth is not None:
            record["reference"] = dict(zip(self.sectors, self.reference(), strict=True))
            if self.invalid < len(self.labels):
                record["l1"] = compare_counts(self.counts, self.reference()).l1
        return record


def unique(labels: Sequence[str]) -> bool:
    """Say whether every label occurs once."""
    return len(set(labels)) == len(labels)


@dataclass(frozen=True)
class Printed:
    """A result as somebody printed it: what can be computed again from its own numbers.

    Args:
        name: of the run.
        counts: labels by sector.
        invalid: answers outside the set; None if it is not printed.
        reference: labels by sector in the reference; empty if it is not printed.
        labels: how many there were; None if it is not printed.
        l1: the distance; None if it is not printed.
    """

    name: str
    counts: Mapping[str, int]
    invalid: int | None = None
    reference: Mapping[str, int] = field(default_factory=dict)
    labels: int | None = None
    l1: float | None = None


def check_outcomes(outcomes: Sequence[Printed]) -> list[str]:
    """Return what does not add up in printed results, one line each; empty if all does.

    Valid and invalid answers are all labels, in every run the same number; the reference counts each label once; the
    sectors are the same; the L1 distance is that of the printed counts.

    >>> check_outcomes([Printed("a", {"x": 3, "y": 1}, invalid=1, labels=5)])
    []
    >>> check_outcomes([Printed("a", {"x": 3, "y": 1}, invalid=2, labels=5)])
    ['a: 4 valid and 2 invalid answers are 6, not the 5 labels']
    """
    lines: list[str] = []
    totals: dict[str, int] = {}
    for outcome in outcomes:
        valid = sum(outcome.counts.values())
        if outcome.invalid is not None:
            totals[outcome.name] = valid + outcome.invalid
            if outcome.labels is not None and valid + outcome.invalid != outcome.labels:
                lines.append(
                    f"{outcome.name}: {valid} valid and {outcome.invalid} invalid answers are "
                    f"{valid + outcome.invalid}, not the {outcome.labels} labels"
                )
        lines += [f"{outcome.name}: {name} has {n}" for name, n in outcome.counts.items() if n < 0]
        lines += _against_reference(outcome)
    if len(set(totals.values())) > 1:
        listed = ", ".join(f"{name} {total}" for name, total in totals.items())
        lines.append(f"the runs do not have the same number of labels: {listed}")
    return lines


def _against_reference(outcome: Printed) -> Iterator[str]:
    if not outcome.reference:
        return
    different = set(outcome.counts) ^ set(outcome.reference)
    if different:
        yield f"{outcome.name}: {sorted(different)[0]!r} is in the counts or in the reference, not in both"
        return
    total = sum(outcome.reference.values())
    wanted = outcome.labels
    if wanted is None and outcome.invalid is not None:
        wanted = sum(outcome.counts.values()) + outcome.invalid
    if wanted is not None and total != wanted:
        yield f"{outcome.name}: the reference counts {total} labels, and there are {wanted}"
    distance = sum(abs(n - outcome.reference[name]) for name, n in outcome.counts.items())
    if outcome.l1 is not None and distance != outcome.l1:
        yield f"{outcome.name}: the L1 distance of the counts is {distance:g}, not {outcome.l1:g}"


def read_outcomes(text: str, name: str) -> list[Printed]:
    """Read results from JSON, a list of records or one.

    Raises:
        BadInput: if it is not JSON, or a field has another form.
    """
    try:
        parsed = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise BadInput(f"{name} is not JSON: {error}") from None
    records = parsed if isinstance(parsed, list) else [parsed]
    return [_parse_printout(record, f"{name}, result {n}") for n, record in enumerate(records, 1)]


def _parse_printout(record: Any, place: str) -> Printed:
    if not isinstance(record, dict) or not isinstance(record.get("counts"), dict):
        raise BadInput(f"{place}: a result has a table `counts` of labels by sector")
    tables = [record["counts"], record.get("reference", {})]
    if not all(isinstance(t, dict) and all(type(n) is int for n in t.values()) for t in tables):
        raise BadInput(f"{place}: counts are whole numbers by sector")
    for field_name in ("invalid", "labels", "l1"):
        if record.get(field_name) is not None and type(record[field_name]) not in (int, float):
            raise BadInput(f"{place}: {field_name} is a number")
    return Printed(
        str(record.get("model", place)),
        tables[0],
        record.get("invalid"),
        tables[1],
        record.get("labels"),
        record.get("l1"),
    )
