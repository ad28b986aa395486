"""The rule of conclusions on made-up results, both ways; no word of a verdict comes from anywhere else."""

from __future__ import annotations

import math
from typing import Any

import pytest

from finetune.experiments.conclusions import Interval, conclude, decide, describe, difference
from finetune.experiments.experiment import Claim, Experiment, Measure, Setting

PERPLEXITY = Measure("perplexity", "perplexity", ratio=True)


def experiment(*claims: Claim) -> Experiment:
    return Experiment(
        "made_up", "Made up", "?", "", {"a": "", "b": ""}, "a", (PERPLEXITY,), claims, lambda *_: {}, Setting()
    )


def results(a: list[float | None], b: list[float | None]) -> dict[str, list[dict[str, Any]]]:
    return {name: [{"perplexity": v} for v in values] for name, values in (("a", a), ("b", b))}


NOISY = [10.0, 12.0, 9.0, 11.0, 14.0]
LOWER = Claim("b is lower", "perplexity", "b", "a", "lower", 0.01)
SAME = Claim("b is the same", "perplexity", "b", "a", "same", 0.02)


@pytest.mark.parametrize(
    ("factors", "lower", "same"),
    [
        ([0.90, 0.91, 0.89, 0.90, 0.90], "holds", "contradicted"),
        ([1.10, 1.11, 1.09, 1.10, 1.10], "contradicted", "contradicted"),
        ([1.001, 0.999, 1.0, 1.001, 0.999], "no difference", "holds"),
        ([1.2, 0.8, 1.1, 0.9, 1.0], "undecided", "undecided"),
    ],
)
def test_verdicts_follow_from_paired_differences(factors: list[float], lower: str, same: str) -> None:
    """Seeds differ by far more than the variants: only pairs can tell."""
    found = conclude(experiment(LOWER, SAME), results(NOISY, [x * f for x, f in zip(NOISY, factors, strict=True)]))
    assert [each.verdict for each in found] == [lower, same]


def test_a_seed_that_does_not_belong_to_its_pair_decides_nothing() -> None:
    shuffled = [0.9 * x for x in [NOISY[3], NOISY[4], NOISY[0], NOISY[2], NOISY[1]]]
    assert conclude(experiment(LOWER), results(NOISY, shuffled))[0].verdict == "undecided"


def test_a_run_without_a_number_is_not_left_out() -> None:
    found = conclude(experiment(LOWER), results(NOISY, [9.0, None, 8.0, math.nan, 13.0]))[0]
    assert found.verdict == "undecided" and found.interval is None and found.reason.startswith("2 of its runs")
    assert "not decided" in describe(found, PERPLEXITY) and "2 of its runs have no finite number" in describe(
        found, PERPLEXITY
    )


def test_more_claims_widen_each_interval() -> None:
    some = results(NOISY, [x * f for x, f in zip(NOISY, [0.9, 0.95, 0.85, 0.9, 0.93], strict=True)])
    one, many = (conclude(experiment(*[LOWER] * count), some)[0].interval for count in (1, 10))
    assert one is not None and many is not None
    assert many.low < one.low and many.high > one.high and many.mean == one.mean


def test_a_claim_against_a_number() -> None:
    plain = Measure("perplexity", "gain", digits=3)
    some = results([0.0] * 5, [0.2, 0.21, 0.19, 0.2, 0.2])
    assert difference(some, "a", None, plain, 0.95) == Interval(0.0, 0.0, 0.0, 5)
    found = difference(some, "b", None, plain, 0.95, 0.15)
    assert found is not None and 0 < found.low < 0.05 < found.high


@pytest.mark.parametrize(
    ("direction", "low", "high", "verdict"),
    [
        ("lower", -2, -1, "holds"), ("higher", -2, -1, "contradicted"), ("higher", 1, 2, "holds"),
        ("lower", 1, 2, "contradicted"), ("lower", -0.1, 0.1, "no difference"), ("lower", -0.1, 0.9, "undecided"),
        ("lower", 0.0, 0.0, "no difference"), ("same", 0.1, 0.4, "holds"), ("same", 0.6, 0.7, "contradicted"),
        ("same", 0.4, 0.7, "undecided"), ("lower", -math.inf, math.inf, "undecided"),
    ],
)  # fmt: skip
def test_the_rule_at_its_edges(direction: Any, low: float, high: float, verdict: str) -> None:
    claim = Claim("", "perplexity", "b", "a", direction, margin=0.5)
    assert decide(claim, Interval((low + high) / 2 if math.isfinite(low) else 0.0, low, high, 5)) == verdict


def test_a_line_has_the_verdict_the_size_and_the_interval() -> None:
    some = results(NOISY, [x * f for x, f in zip(NOISY, [0.90, 0.91, 0.89, 0.90, 0.90], strict=True)])
    line = describe(conclude(experiment(LOWER), some)[0], PERPLEXITY)
    assert line.startswith("**borne out**: b is lower.") and "-10.0 %" in line and "b against a" in line
