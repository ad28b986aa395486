"""Grades as a page: the worst verdict first, each submission with its times, nothing of a submission as markup."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from attention_core.cli import main
from attention_core.grading.render_html import to_html
from attention_core.grading.results import Grade

EVIL = "<script>alert(1)</script>"
TIMING = {"shape": "n=3", "seconds": 0.5, "reference": 1.0, "comparison": {"ratio": 0.5, "low": 0.4, "high": 0.6},
          "calls": 18, "worst": 0.1}  # fmt: skip
FAST = Grade("fast.py", "t", "accepted", timings=[TIMING], laws={"held": 70, "broken": 0}, seconds=3.0)
SLOW = Grade("slow.py", "t", "accepted", timings=[{**TIMING, "comparison": {"ratio": 4.0, "low": 3.0, "high": 5.0}}])
STALE = Grade(EVIL, EVIL, "refused", rule="stale_answer", reason=EVIL, hint=EVIL, timings=[TIMING], snippet=EVIL,
              case=EVIL, law="agrees_with_truth", seed="ab12")  # fmt: skip


def test_the_page_opens_with_the_verdicts_and_ranks_the_submissions() -> None:
    page = to_html([STALE, SLOW, FAST])
    assert page.index('class="refused"><strong>refused: &lt;script') < page.index("<table")
    headings = re.findall("<h2>(.*?)</h2>", page)
    assert headings[:2] == ["fast.py", "slow.py"] and len(headings) == 3
    assert "2.00 times as fast as the reference" in page and "0.4 to 0.6" not in page and "0.40 to 0.60" in page
    assert page.index(">95 % interval<") < page.index(">time<")
    assert to_html([SLOW] * 5).count("<strong>5 accepted</strong>") == 1
    assert "70 laws held" in page and "3.0 s of CPU" in page and "seed ab12" in page


def test_nothing_of_a_submission_is_markup_and_nothing_is_loaded() -> None:
    page = to_html([STALE])
    assert EVIL not in page and "&lt;script&gt;" in page
    assert "default-src" in page and "<script" not in page and "src=" not in page


def test_a_refused_submission_has_its_smallest_case_and_what_to_do() -> None:
    page = to_html(
        [Grade("a.py", "t", "refused", rule="law", reason="why", hint="Mend it.", case="n=1", snippet="x = 1")]
    )
    assert (
        "law: why" in page
        and "what to do: Mend it." in page
        and "n=1" in page
        and '<pre tabindex="0">x = 1</pre>' in page
    )


@pytest.mark.parametrize("words", [("--html", "no/folder/g.html"), ("--html", "g", "--json", "g")])
def test_a_page_that_cannot_be_written_is_refused_at_the_door(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").write_text("")
    (tmp_path / "t.toml").write_text("")
    found = CliRunner().invoke(main, ["grade", "a.py", "--task", "t.toml", *words])
    assert found.exit_code == 2 and "--html" in found.stderr
