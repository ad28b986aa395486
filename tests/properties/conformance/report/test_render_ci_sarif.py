"""SARIF holds what is refuted as errors, what was not judged as warnings, and nothing of what conforms."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from attention_core.conformance.report.law_result import STATUSES, Counterexample, LawResult
from attention_core.conformance.report.render_ci import NOT_JUDGED, to_sarif
from attention_core.conformance.report.results import Report

LAW = "agrees_with_truth"


def report(status: str, target: str = "mine.py:attention", law: str = LAW, **fields: Any) -> Report:
    found = Counterexample(law, "got 1, but should be 2", "n_q=1", {}, "assert 0", shrunk=True)
    shown = found if status in ("refuted", "known_failure") else None
    return Report(target, laws=[LawResult(law, status, 3, 0.25, shown, "got 1, but should be 2", "truth")], **fields)


def results(*reports: Report) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(to_sarif(reports))["runs"][0]["results"]
    return found


LEVELS = {"refuted": "error", "known_failure": "note", "unexpected_pass": "warning", "error": "error"}


@pytest.mark.parametrize("status", STATUSES)
def test_the_level_follows_the_verdict(status: str) -> None:
    found = results(report(status))
    assert [each["level"] for each in found] == ([LEVELS[status]] if status in LEVELS else [])


def test_a_refuted_law_has_its_rule_case_and_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.py").write_text("\n\ndef attention(): ...\n")
    monkeypatch.chdir(tmp_path)
    run = json.loads(to_sarif([report("refuted")]))["runs"][0]
    (found,) = run["results"]
    rule = run["tool"]["driver"]["rules"][found["ruleIndex"]]
    assert rule["id"] == found["ruleId"] == LAW
    assert rule["shortDescription"]["text"] != LAW
    assert "got 1, but should be 2\nsmallest case: n_q=1\n\nassert 0" in found["message"]["text"]
    (place,) = found["locations"]
    assert place["physicalLocation"] == {"artifactLocation": {"uri": "mine.py"}, "region": {"startLine": 3}}
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path.parent))  # the step runs in a folder of the checkout
    ((found,),) = (each["results"] for each in json.loads(to_sarif([report("refuted")]))["runs"])
    uri = found["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri == f"{tmp_path.name}/mine.py"


def test_a_known_failure_is_suppressed() -> None:
    (found,) = results(report("known_failure"))
    assert found["suppressions"][0]["kind"] == "external"


def test_a_finding_keeps_its_name_when_its_case_changes() -> None:
    first, second = report("refuted"), report("refuted")
    other_case = Counterexample(LAW, "got 3, but should be 4", "n_q=2", {}, "assert 0", shrunk=True)
    second.laws[0].counterexample = other_case
    assert results(first)[0]["message"] != results(second)[0]["message"]
    other = report("refuted", law="is_permutation_invariant")
    keys = [results(each)[0]["partialFingerprints"]["targetAndLaw/v1"] for each in (first, second, other)]
    assert keys[0] == keys[1] != keys[2]


def test_what_was_not_judged_is_a_warning_with_its_reason() -> None:
    (found,) = results(Report("mine.py:attention", laws=[LawResult(LAW, "held", 3, 0.1)], untested=["window"]))
    assert (found["ruleId"], found["level"]) == (NOT_JUDGED, "warning")
    assert "window" in found["message"]["text"]


def test_chosen_laws_that_held_are_no_finding() -> None:
    assert results(report("held", partial=True)) == []
