"""Reports.

Reports as facts: the order of verdicts, what is missing, and a JSON whose keys other programs rely on.
"""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest

from attention_core.conformance.report.law_result import STATUSES, Counterexample, LawResult, law_result_from_dict
from attention_core.conformance.report.render_ci import to_junit
from attention_core.conformance.report.render_html import to_html
from attention_core.conformance.report.results import VERDICTS, Refuted, Report, to_json

EXAMPLE = Counterexample(
    "law", "got 1, but should be 2", "B=1", {"seed": 1}, "print(1)\n", math.nan, math.inf, -math.inf
)

REPORT_KEYS = [
    "schema_version", "target", "verdict", "declared", "claims", "laws", "versions", "seed", "effort", "reason", "problem",
    "failed", "missing", "isolated", "ratios", "advice", "explained", "unavailable", "partial", "asked", "first_look",
    "notes", "untested", "accepted_untested", "constructed", "fixed", "waived", "under_found",
]  # fmt: skip
LAW_KEYS = [
    "law", "status", "cases", "seconds", "counterexample", "message", "family", "refused", "minimum_met", "powers",
    "unjudged",
]  # fmt: skip
COUNTEREXAMPLE_KEYS = [
    "law",
    "message",
    "case",
    "data",
    "snippet",
    "got",
    "want",
    "bound",
    "event",
    "shrunk",
    "alone",
    "calls_case",
]


def law(status: str, name: str = "", **changes: Any) -> LawResult:
    found = EXAMPLE if status in ("refuted", "known_failure") else None
    return LawResult(
        **{"law": name or status, "status": status, "cases": 3, "seconds": 0.5, "counterexample": found, **changes}
    )


def test_the_json_keeps_its_keys() -> None:
    data = json.loads(Report("f", laws=[law("refuted")], ratios={"float32/out": 0.5}).to_json())
    assert list(data) == REPORT_KEYS
    assert list(data["laws"][0]) == LAW_KEYS
    assert list(data["laws"][0]["counterexample"]) == COUNTEREXAMPLE_KEYS
    assert data["schema_version"] == 1
    assert data["verdict"] == "refuted"


def test_numbers_that_json_lacks_are_words() -> None:
    text = Report("f", laws=[law("refuted", powers={"zeros": 1})], ratios={"float32/out": math.inf}).to_json()
    data = json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    example = data["laws"][0]["counterexample"]
    assert (example["got"], example["want"], example["bound"]) == ("nan", "inf", "-inf")
    assert data["ratios"] == {"float32/out": "inf"}


@pytest.mark.parametrize("value", [np.float64(math.nan), np.float32(1), np.int64(3), {1, 2}, object(), (1, [math.nan])])
def test_whatever_is_declared_becomes_json(value: Any) -> None:
    data = json.loads(Report("f", declared={"parameters": {"x": value}}).to_json())
    assert data["declared"]["parameters"].keys() == {"x"}


def test_several_reports_in_one_text() -> None:
    one, two = Report("f"), Report("g", laws=[law("refuted")])
    assert json.loads(to_json([one])) == json.loads(one.to_json())
    data = json.loads(to_json([one, two]))
    assert list(data) == ["schema_version", "reports"]
    assert [r["target"] for r in data["reports"]] == ["f", "g"]
    assert to_json([one, two]).endswith("\n")


SEVERITY = [("refuted", "refuted"), ("error", "error"), ("unexpected_pass", "incomplete")]
GREEN = ("held", "refused", "not_applicable", "known_failure")


@pytest.mark.parametrize("statuses", list(itertools.permutations(STATUSES, 2)))
def test_the_worst_status_decides(statuses: tuple[str, ...]) -> None:
    expected = next((verdict for status, verdict in SEVERITY if status in statuses), "conforms")
    assert Report("f", laws=[law(s) for s in statuses]).verdict == expected


@pytest.mark.parametrize("status", STATUSES)
def test_every_status_has_a_verdict(status: str) -> None:
    assert Report("f", laws=[law(status)]).verdict == dict(SEVERITY).get(status, "conforms")
    assert {s for s, _ in SEVERITY} | set(GREEN) == set(STATUSES)


REASONS: list[tuple[dict[str, Any], str]] = [
    ({}, "conforms"),
    ({"laws": []}, "incomplete"),
    ({"problem": "no core"}, "incomplete"),
    ({"failed": True, "problem": "no such file"}, "error"),
    ({"unavailable": "needs a GPU"}, "error"),
    ({"laws": [law("held", minimum_met=False)]}, "incomplete"),
    ({"laws": [law("refuted"), law("held", minimum_met=False)], "failed": True, "problem": "x"}, "refuted"),
    ({"laws": [law("error"), law("held", minimum_met=False)]}, "error"),
]


@pytest.mark.parametrize(("changes", "verdict"), REASONS)
def test_verdicts(changes: dict[str, Any], verdict: str) -> None:
    report = Report(**{"target": "f", "laws": [law("held")], **changes})
    assert report.verdict == verdict
    assert verdict in VERDICTS


def test_what_is_missing_is_said() -> None:
    laws = [law("held", minimum_met=False), law("held", "weak", minimum_met=False, powers={"zeros": 1}, message="zeros"),
            law("unexpected_pass"), law("error", message="broken")]  # fmt: skip
    assert Report("f", laws=laws, problem="no core").missing() == [
        "no core",
        "held: too few cases could be judged (3)",
        "weak: too few cases could be judged (3); zeros",
        "unexpected_pass: a known failure no longer fails; take it off the list",
        "error: broken",
    ]
    assert Report("f", laws=[law(s) for s in GREEN]).missing() == []


def test_a_report_is_printed_as_one_line() -> None:
    report = Report("f", laws=[law("refuted", f"law_{c}") for c in "abcdefg"])
    assert str(report) == "f: refuted (law_a, law_b, law_c, law_d, law_e and 2 more)"
    assert repr(report) == f"<Report {report}>"
    assert str(Report("f", laws=[law("held")])) == "f: conforms (1 law held on 3 problems, no counterexample)"
    assert str(Report("f", failed=True, problem="no such file")) == "f: error (no such file)"


def met(name: str, event: str, message: str) -> LawResult:
    """A law under which something happened that has nothing to do with it."""
    return law("refuted", name, message=message, counterexample=replace(EXAMPLE, law=name, event=event))


def test_what_any_law_would_have_met_is_named_once_and_counted() -> None:
    shape = "out: got shape (1, 2), but should be (2, 1)"
    laws = [met("agrees_with_truth", "wrong shape", shape), law("refuted", "b"), met("c", "wrong shape", "other sizes")]
    assert Report("f", laws=laws).reason() == f"wrong shape: {shape} (2 laws), b"
    lost = [met("a", "hang", "the call did not return: no answer within 3 s")]
    assert Report("f", laws=lost, problem="given up").reason() == "hang: no answer within 3 s; given up"
    assert [c.title for c in Report("f", laws=lost + laws[1:2]).counterexamples] == ["hang", EXAMPLE.law]


def test_a_refuted_target_tells_known_failures_that_no_longer_fail_too() -> None:
    passes = [law("unexpected_pass", "p"), law("unexpected_pass", "q")]
    assert Report("f", laws=[law("refuted", "a"), passes[0]]).reason() == "a; 1 known failure no longer fails: p"
    told = Report("f", laws=[law("refuted", "a"), *passes], problem="no core").reason()
    assert told == "a; 2 known failures no longer fail: p, q; no core"


PARTIAL: list[tuple[list[LawResult], str, bool, str]] = [
    ([law("held"), law("held", "b")], "incomplete", True, "the 2 chosen laws held; a verdict needs all laws"),
    ([law("held"), law("known_failure", "b")], "incomplete", True,
     "the chosen law held, 1 known failure still there; a verdict needs all laws"),
    ([law("held"), law("refused", "b")], "incomplete", True,
     "the chosen law held; a verdict needs all laws; every case of 1 law was declined: b"),
    ([law("refuted")], "refuted", False, "refuted"),
    ([law("error", message="why")], "error", False, "error: why"),
    ([law("held", minimum_met=False)], "incomplete", False, "held: too few cases could be judged (3)"),
]  # fmt: skip


@pytest.mark.parametrize(("laws", "verdict", "passed", "reason"), PARTIAL)
def test_chosen_laws_never_make_a_verdict(laws: list[LawResult], verdict: str, passed: bool, reason: str) -> None:
    report = Report("f", laws=laws, partial=True)
    assert (report.verdict, report.passed, report.reason()) == (verdict, passed, reason)
    assert report.to_dict()["partial"] is True


def test_counterexamples_in_the_order_of_the_laws() -> None:
    laws = [law("held"), law("refuted", "a"), law("known_failure", "b"), law("refuted", "c", counterexample=None)]
    assert len(Report("f", laws=laws).counterexamples) == 2
    assert Report("f", laws=[law("unexpected_pass", counterexample=EXAMPLE)]).counterexamples == []


@pytest.mark.parametrize("status", STATUSES)
def test_results_travel_between_processes(status: str) -> None:
    result = law(status, counterexample=None if status == "held" else Counterexample("l", "m", "c", {}, "s", 1.0))
    assert law_result_from_dict(json.loads(json.dumps(asdict(result)))) == result


def test_words_of_a_target_are_shown_as_escapes() -> None:
    words = "\x1b[2J\ud800\u202e\r\x9b"
    shown = "\\x1b[2J\\ud800\\u202e\\r\\x9b"
    found = Counterexample("law", words, words, {}, f"a\n\tb{words}")
    assert (found.message, found.case, found.snippet) == (shown, shown, f"a\n\tb{shown}")
    report = Report(words, laws=[LawResult("law", "refuted", 1, 0.0, found, words)], problem=words, advice=[words])
    for text in (str(report), report.to_json(), to_html([report]), to_junit([report])):
        assert not set(words) - set("[2J") & set(text)
        assert "2J" in text
        text.encode()


def test_a_chosen_law_that_is_refuted_is_named_and_none_is_said_to_hold() -> None:
    report = Report("f", laws=[law("refuted", "agrees_with_truth")], partial=True)
    data = json.loads(report.to_json())
    assert data["missing"] == []
    assert data["reason"] == "agrees_with_truth"
    assert "agrees_with_truth" in to_html([report])
    assert "held" not in to_html([report]).partition("<body>")[2]


def test_no_parameter_is_to_be_accepted_untested_where_no_law_ran() -> None:
    """A wrong number of results hides every law: whoever accepts the mask then switches its laws off for good."""
    broken = Report("f", laws=[law("error", message="declare --returns out,weights")], untested=["mask"])
    assert broken.verdict == "error" and "--untested" not in broken.reason()
    judged = Report("f", laws=[law("held")], untested=["mask"])
    assert judged.verdict == "incomplete" and "--untested mask" in judged.reason()
    nothing = Report("f", laws=[law("not_applicable")], untested=["mask"])
    assert nothing.verdict == "incomplete" and "--untested mask" in nothing.reason()


def test_the_verdict_line_names_the_sizes_that_alone_were_judged() -> None:
    of_all, of_some = (Report("f", {"sizes": sizes}, laws=[law("held")]) for sizes in (None, "d <= 32"))
    assert of_some.reason() == f"{of_all.reason()}; only sizes d <= 32"
    assert of_all.reason().endswith("no counterexample")


def test_a_test_of_ones_own_fails_with_the_smallest_case_as_a_program() -> None:
    """Nothing passes that was not judged; chosen laws that all held do."""
    Report("f", laws=[law("held")]).raise_if_refuted()
    Report("f", laws=[law("held")], partial=True).raise_if_refuted()
    with pytest.raises(Refuted) as refuted:
        Report("f", laws=[law("refuted", "first"), law("refuted", "second")]).raise_if_refuted()
    words = str(refuted.value)
    assert words.startswith("f: refuted (") and words.count("print(1)") == 1
    assert "got 1, but should be 2" in words and "case: B=1" in words
    for report in (Report("f", laws=[law("error")]), Report("f", laws=[law("held", minimum_met=False)])):
        assert report.verdict != "conforms"
        with pytest.raises(Refuted, match=rf"f: {report.verdict}"):
            report.raise_if_refuted()
    assert issubclass(Refuted, AssertionError), "pytest calls it a failure, not an error"
