"""The results that one assignment prints add up; every planted slip in a copy of them is found."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import examples

from finetune.errors import BadInput
from finetune.standardise.outcome import Outcome, check_outcomes, read_outcomes

SECTORS = (
    "Consumer", "Cybersecurity", "Data Analytics and Management", "Education", "Energy", "Entertainment", "Environment",
    "Finance and Banking", "Food", "Health Care", "Legal Tech", "Marketing", "Media and Advertising", "Other",
    "Real Estate", "Tech", "Transportation", "Travel and Hospitality", "Construction and Manufacturing", "Enterprise",
)  # fmt: skip
REFERENCE = (15, 3, 7, 9, 1, 10, 4, 18, 8, 9, 2, 3, 10, 7, 2, 34, 6, 5, 3, 13)
PRINTED = {
    "small, plain": ((10, 13, 5, 4, 0, 12, 1, 13, 7, 11, 2, 6, 3, 24, 2, 4, 4, 2, 3, 5), 38, 106),
    "large, plain": ((7, 4, 8, 10, 1, 16, 2, 19, 8, 10, 3, 8, 6, 13, 2, 21, 8, 3, 3, 8), 9, 59),
    "small, aware": ((8, 3, 4, 6, 0, 15, 1, 15, 7, 6, 2, 3, 4, 3, 1, 44, 6, 2, 3, 9), 27, 57),
    "large, aware": ((6, 3, 5, 9, 1, 13, 2, 16, 8, 11, 2, 5, 6, 6, 2, 35, 6, 6, 3, 6), 18, 36),
}
"""The four runs as source 004 prints them: labels by sector, invalid answers, L1 distance to the reference."""


def records() -> list[dict[str, Any]]:
    return [
        {"model": name, "counts": dict(zip(SECTORS, counts, strict=True)), "invalid": invalid, "l1": l1, "labels": 169,
         "reference": dict(zip(SECTORS, REFERENCE, strict=True))}
        for name, (counts, invalid, l1) in PRINTED.items()
    ]  # fmt: skip


def check(changed: list[dict[str, Any]]) -> list[str]:
    return check_outcomes(read_outcomes(json.dumps(changed), "printed"))


def test_the_printed_results_add_up() -> None:
    assert check(records()) == []


SLIPS: dict[str, Callable[[list[dict[str, Any]]], None]] = {
    "a count": lambda r: r[0]["counts"].update(Food=8),
    "two counts that keep the sum": lambda r: r[1]["counts"].update(Food=7, Energy=2),
    "invalid": lambda r: r[2].update(invalid=26),
    "l1": lambda r: r[3].update(l1=37),
    "a sector by another name": lambda r: r[0]["counts"].update({"Foods": r[0]["counts"].pop("Food")}),
    "a sector left out": lambda r: r[0]["counts"].pop("Energy"),
    "the reference": lambda r: r[1]["reference"].update(Tech=33),
    "the number of labels": lambda r: r[1].update(labels=170),
    "a negative count": lambda r: r[2]["counts"].update(Energy=-1, Food=8),
}


@pytest.mark.parametrize("slip", SLIPS.values(), ids=SLIPS)
def test_every_planted_slip_is_found(slip: Callable[[list[dict[str, Any]]], None]) -> None:
    changed = copy.deepcopy(records())
    slip(changed)
    assert check(changed)


@given(st.sampled_from(range(4)), st.sampled_from(SECTORS), st.integers(1, 5))
def test_a_slip_in_any_count_is_found(run: int, sector: str, more: int) -> None:
    changed = records()
    changed[run]["counts"][sector] += more
    assert check(changed)


def test_runs_of_different_sizes_are_named_where_the_number_is_not_printed() -> None:
    changed = records()
    for record in changed:
        del record["labels"], record["reference"]
    changed[0]["invalid"] = 37
    assert check(changed) == [
        "the runs do not have the same number of labels: small, plain 168, large, plain 169, small, aware 169, "
        "large, aware 169"
    ]


@pytest.mark.parametrize(
    "text", ["", "[1]", '{"counts": 3}', '{"counts": {"a": "x"}}', '{"counts": {"a": 1.5}}', '{"counts": {"a": true}}',
             '{"counts": {"a": 1}, "invalid": "x"}', '{"counts": {"a": 1}, "reference": [1]}', "[" * 100000],
)  # fmt: skip
def test_what_is_not_a_result_is_one_line(text: str) -> None:
    with pytest.raises(BadInput) as caught:
        read_outcomes(text, "printed")
    assert "\n" not in str(caught.value)


@settings(max_examples=examples(100))  # each draws thousands of resamples
@given(st.lists(st.tuples(st.sampled_from([None, 0, 1]), st.sampled_from([0, 1])), min_size=1, max_size=12))
def test_an_outcome_adds_up(pairs: list[tuple[int | None, int]]) -> None:
    chosen, truth = zip(*pairs, strict=True)
    labels = tuple(f"label {n}" for n in range(len(pairs)))
    outcome = Outcome("m", labels, ("a", "b"), ("?",) * len(pairs), chosen, truth)
    assert sum(outcome.counts) + outcome.invalid == len(labels)
    assert check([outcome.to_json()]) == []
    assert sum(right for _, right, _ in outcome.by_sector()) == sum(c == t for c, t in pairs)
    assert sum(all_ for _, _, all_ in outcome.by_sector()) == len(labels)
    assert list(outcome.lines())
