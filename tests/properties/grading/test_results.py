"""Grades as JSON, exit status, and the ratio of several shapes."""

from __future__ import annotations

import json

import pytest

from attention_core.grading.results import Grade, exit_status, to_json

TIMING = {"shape": "n=3", "seconds": 0.5, "reference": 1.0, "comparison": {"ratio": 0.5, "low": 0.4, "high": 0.6},
          "calls": 18, "worst": 0.1}  # fmt: skip


@pytest.mark.parametrize(
    ("verdicts", "status"),
    [("accepted", 0), ("accepted refused", 1), ("error refused", 1), ("accepted error", 2), ("incomplete", 2), ("", 2)],
)
def test_exit_status(verdicts: str, status: int) -> None:
    assert exit_status([Grade("a", "t", verdict) for verdict in verdicts.split()]) == status


def test_a_grade_goes_through_json() -> None:
    grade = Grade(
        "a.py", "t", "refused", rule="stale_answer", reason="call 3", laws={"held": 3, "broken": 0}, seed="00"
    )
    data = json.loads(to_json([grade]))
    assert data["schema_version"] == 1 and len(data["grades"][0]["sources"]) >= 3
    assert Grade.from_dict(data["grades"][0]).to_dict() == grade.to_dict()


def test_the_ratio_is_the_geometric_mean() -> None:
    slow = {**TIMING, "comparison": {"ratio": 2.0}}
    assert Grade("a", "t", "accepted", timings=[TIMING, slow]).ratio == pytest.approx(1.0)
    assert Grade("a", "t", "accepted").ratio is None


def test_control_characters_are_taken_out() -> None:
    assert "\x1b" not in Grade("a\x1b[2J", "t", "refused", reason="\x1b[31m").to_dict()["reason"]
