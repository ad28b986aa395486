"""The section of each kind: its verdict, whether that is good, and nothing of a file as markup."""

from __future__ import annotations

import json
from typing import Any

import pytest

from attention_core.audit.results import Audit, Fate
from attention_core.bench.revisions.outcomes import Comparison, Outcome, Revision
from attention_core.bench.revisions.rounds import Change
from attention_core.conformance.report.law_result import Counterexample, LawResult
from attention_core.conformance.report.results import Report, to_json
from attention_core.declaration.implementation import TargetError
from attention_core.grading.results import Grade
from attention_core.grading.results import to_json as grades_to_json
from attention_core.report_page.parts import KINDS, Part
from attention_core.report_page.sections import MAKERS, section_of

EVIL = "<script>alert(1)</script>\"'&"


def step(verdict: str, *, passed: bool, expected: str | None = None) -> dict[str, Any]:
    example = {"values": {"x": "1"}, "left": "0", "right": EVIL, "where": ""} if verdict == "REFUTED" else None
    evidence = {"text": EVIL, "advice": "write it so"}
    return {
        "id": EVIL, "line": 3, "text": "x < y", "verdict": verdict, "passed": passed, "expected": expected,
        "evidence": evidence, "counterexample": example, "seconds": 0.1,
    }  # fmt: skip


def derive(*steps: dict[str, Any]) -> Any:
    return {"documents": [{"file": EVIL, "steps": list(steps), "not_assumed": []}]}


def verify(*statuses: str) -> Any:
    found = Counterexample(EVIL, EVIL, EVIL, {}, EVIL)
    laws = [LawResult(EVIL, s, 9, 0.1, found if s == "refuted" else None, powers={"a": 3}) for s in statuses]
    return json.loads(to_json([Report("f", {"dtypes": ["float32"]}, laws=laws), Report("g", laws=laws)]))


def audit(status: str) -> Any:
    fates = [Fate("a", EVIL, "masking", status=status, test=EVIL), Fate("b", "", "masking", status="killed")]
    return Audit(EVIL, ("tests",), fates=fates).to_dict()


def grade(*verdicts: str) -> Any:
    return json.loads(grades_to_json([Grade(EVIL, "t", v, reason=EVIL, snippet=EVIL) for v in verdicts]))


def revisions(*verdicts: str) -> Any:
    ends = {"SLOWER": (1.04, 1.06), "FASTER": (0.9, 0.92), "SAME": (0.99, 1.01), "AMBIGUOUS": (0.5, float("inf"))}
    changes = [Change(1.25, *ends[word], word, [1.0, 1.1]) if word in ends else None for word in verdicts]
    outcomes = [Outcome(EVIL, "n=8", word, EVIL, change) for word, change in zip(verdicts, changes, strict=True)]
    head = Revision("the working tree", "b" * 40 + "+")
    return json.loads(Comparison(Revision(EVIL, "a" * 40), head, 1.02, {}, {"torch": EVIL}, {}, outcomes).to_json())


def matrix(*verdicts: str) -> Any:
    fixed = {"package": EVIL, "version": "1", "target": "f", "runtime": "torch", "refuted": [EVIL]}
    return {"rows": [{**fixed, "verdict": verdict} for verdict in verdicts]}


@pytest.mark.parametrize(
    "kind, data, verdict, state",
    [("verify", verify("refuted"), "refuted", "bad"),
     ("derive", derive(step("PROVED", passed=True), step("REFUTED", passed=False)), "refuted", "bad"),
     ("derive", derive(step("PROVED", passed=True)), "holds", "good"),
     ("derive", derive(step("REFUTED", passed=True, expected="refuted")), "holds", "good"),
     ("derive", derive(step("AGREES", passed=False, expected="refuted")), "refuted", "bad"),
     ("derive", derive(step("UNDECIDED", passed=False)), "not all known", "open"),
     ("derive", derive(), "not all known", "open"),
     ("audit", audit("survived"), "survivors", "bad"), ("audit", audit("killed"), "passes", "good"),
     ("grade", grade("accepted", "refused"), "refused", "bad"), ("grade", grade("accepted"), "accepted", "good"),
     ("grade", grade("accepted", "error"), "error", "open"),
     ("bench --base", revisions("SAME", "AMBIGUOUS", "SLOWER"), "slower", "bad"),
     ("bench --base", revisions("FASTER", "UNJUDGED"), "not judged", "open"),
     ("bench --base", revisions("SAME", "AMBIGUOUS"), "undecided", "open"),
     ("bench --base", revisions("SAME", "FASTER"), "faster", "good"),
     ("bench --base", revisions(), "nothing measured", "open"),
     ("matrix", matrix("conforms", "refuted"), "refuted", "bad"), ("matrix", matrix("conforms"), "conforms", "good"),
     ("training", [{"step": 1, "loss": 2.0}, {"step": 2, "loss": 1.0}], "recorded", "plain")],
)  # fmt: skip
def test_the_verdict_of_a_part(kind: str, data: Any, verdict: str, state: str) -> None:
    section = section_of(Part(kind, "a.json", data))
    assert (section.verdict, section.state) == (verdict, state) and "<script" not in section.body


def test_an_incomplete_target_is_not_known() -> None:
    section = section_of(Part("verify", "a.json", verify()))
    assert (section.verdict, section.state) == ("incomplete", "open") and section.remark == "2 incomplete"


def test_two_revisions_stand_with_their_ratio_and_interval() -> None:
    section = section_of(Part("bench --base", "a.json", revisions("SLOWER", "AMBIGUOUS")))
    assert "a" * 40 in section.body and "b" * 40 + "+" in section.body
    assert section.body.index(">verdict<") < section.body.index(">head / base<") < section.body.index(">workload<")
    assert "1.250 [1.040, 1.060]" in section.body and "1.250 [0.500, ?]" in section.body
    assert section.remark.endswith("1 of 2 slower, 1 undecided") and "give it more --seconds" in section.body


@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_part_is_one_line(kind: str) -> None:
    assert kind in MAKERS
    for data in ({}, {"reports": [3]}, {"documents": [{}]}, {"grades": [{}]}, {"faults": 3}, {"rows": [{}]}):
        with pytest.raises(TargetError, match=r"a\.json does not hold"):
            section_of(Part(kind, "a.json", data))


def test_steps_and_rows_that_are_wrong_come_first() -> None:
    steps = [step("PROVED", passed=True), step("UNDECIDED", passed=False), step("REFUTED", passed=False)]
    body = str(section_of(Part("derive", "a.json", derive(*steps))).body)
    places = [body.index(word) for word in ("REFUTED", "UNDECIDED", "PROVED")]
    assert places == sorted(places)
    body = str(section_of(Part("matrix", "a.json", matrix("conforms", "error", "refuted"))).body)
    places = [body.index(f">{word}<") for word in ("refuted", "error", "conforms")]
    assert places == sorted(places)


def test_the_evidence_of_a_step_stands_below_its_relation() -> None:
    section = section_of(Part("derive", "a.json", derive(step("REFUTED", passed=False))))
    row = str(section.body).partition('<td class="bad">')[2].partition("</tr>")[0]
    assert row.count("<td>") == 1 and row.index("formula") < row.index("left side: 0")
    assert section.remark == f"0 of 1 steps are as {EVIL} says"


def test_the_score_of_an_audit_stands_in_its_remark_alone() -> None:
    section = section_of(Part("audit", "a.json", audit("survived")))
    assert "sees 1 of 2 faults" in section.remark and "sees 1 of 2 faults" not in section.body


def test_verdicts_of_few_submissions_name_them() -> None:
    both = grade("accepted", "refused")
    both["grades"][1]["submission"] = "b.py"
    assert section_of(Part("grade", "a.json", both)).remark == f"refused: b.py; accepted: {EVIL}"
    assert section_of(Part("grade", "a.json", grade(*["accepted"] * 5))).remark == "5 accepted"


def test_values_that_the_evidence_tells_are_shown_once() -> None:
    example = {"values": {"n": 1, "x": [["1"], ["2"]]}, "left": "0", "right": "1", "where": ""}
    told = {**step("REFUTED", passed=False), "counterexample": example}
    assert "at n = 1, x = [1; 2]" in str(section_of(Part("derive", "a.json", derive(told))).body)
    told["evidence"] = {"text": "0 is not 1 at n = 1, x = [1; 2]", "advice": ""}
    assert str(section_of(Part("derive", "a.json", derive(told))).body).count("x = [1; 2]") == 1


def test_a_part_about_one_target_names_it() -> None:
    both = verify("held")
    assert section_of(Part("verify", "a.json", {**both, "reports": both["reports"][1:]})).remark == "g"
