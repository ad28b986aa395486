"""One annotation a target, at its `def`; the summary has every verdict."""

from __future__ import annotations

from pathlib import Path

import pytest

from attention_core.conformance.report.law_result import Counterexample, LawResult
from attention_core.conformance.report.render_ci import annotation_lines, to_markdown
from attention_core.conformance.report.results import Report

LAW = "agrees_with_truth"


def refuted(target: str) -> Report:
    found = Counterexample(LAW, "got 1, but should be 2", "n_q=1", {}, "x = 1\nassert 0 * x", shrunk=True)
    return Report(target, laws=[LawResult(LAW, "refuted", 3, 0.2, found, found.message, "truth")])


def held(target: str, **fields: object) -> Report:
    return Report(target, laws=[LawResult(LAW, "held", 3, 0.2)], **fields)  # type: ignore[arg-type]


def test_a_refuted_target_is_an_error_at_its_definition(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.py").write_text("\ndef attention(): ...\n")
    monkeypatch.chdir(tmp_path)
    (line,) = annotation_lines([held("mine.py:good"), refuted("mine.py:attention")])
    assert line.startswith("::error title=mine.py%3Aattention%3A refuted,file=mine.py,line=2::")
    assert "%0Asmallest case: n_q=1%0A%0Ax = 1%0Aassert 0 * x" in line


def test_a_target_outside_of_the_project_has_no_line_of_the_diff(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (line,) = annotation_lines([refuted("attention_core.worker.definition:find_definition")])
    assert "file=" not in line


@pytest.mark.parametrize(
    ("report", "level"),
    [
        (held("a.py:f", untested=["window"]), "::warning "),
        (held("a.py:f", unavailable="no GPU"), "::warning "),
        (Report("a.py:f", problem="no such file", failed=True), "::error "),
    ],
)
def test_what_was_not_judged_is_said(report: Report, level: str) -> None:
    (line,) = annotation_lines([report])
    assert line.startswith(level)


def test_chosen_laws_that_held_are_silent() -> None:
    assert annotation_lines([held("a.py:f", partial=True)]) == []


def test_the_summary_has_a_row_a_target_and_the_program() -> None:
    text = to_markdown([held("good.py:f"), refuted("bad.py:`<b>|")])
    assert "| good.py:f | ✅ conforms |" in text
    assert r"| bad.py:\`&lt;b&gt;\| | ❌ refuted |" in text
    assert "```python\nx = 1\nassert 0 * x\n```" in text
    assert "<summary>bad.py:`&lt;b&gt;|: agrees_with_truth" in text
