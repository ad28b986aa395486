"""What a class gets back: no cell is a formula, every word of a submission is escaped, the smallest case is in words."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from attention_core.teaching.feedback import count_verdicts, describe_case, reason, to_csv, to_page, write_feedback
from attention_core.teaching.grading import Grade


def refuted(person: str = "ben", **changes: Any) -> Grade:
    example = {"message": "got 32, but should be 0 <b>", "case": "float32 B=1 H=2 n_q=2 n_kv=1 d=1 causal bool mask (1, 2)",
               "snippet": "assert '<script>' == 1"}  # fmt: skip
    names = ("no_row_sees_a_later_one", "agrees_with_truth", "stays_finite", "output_lies_in_the_hull")
    laws = [{"law": name, "status": "refuted", "message": "m", "counterexample": example} for name in names]
    laws.append({"law": "inputs_stay_as_they_were", "status": "held", "message": "", "counterexample": None})
    report = {"declared": {"contract": "attention"}, "laws": laws, "first_look": None, "under_found": None, **changes}
    return Grade(person, "refuted", "", report, ["no_row_sees_a_later_one"])


@given(st.text(st.characters(codec="utf-8", exclude_characters="\r\0"), min_size=1))
def test_no_cell_of_the_table_is_a_formula(person: str) -> None:
    rows = list(csv.reader(io.StringIO(to_csv([Grade(person, "error", f"={person}", {}), refuted()]))))
    assert rows[1][0] in (person, f"'{person}") and not rows[1][0].startswith(("=", "+", "-", "@", "\t"))
    assert rows[1][4] == f"'={person}"
    assert rows[2][:5] == ["ben", "refuted", "1", "5", "no row sees a later one"]
    assert len({len(row) for row in rows}) == 1


def test_a_page_shows_the_laws_that_tell_most_with_their_case_in_words() -> None:
    page = to_page(refuted(), "attention")
    assert "float32, batch of 1, 2 heads, 2 queries, 1 key, head size 1, causal bool mask (1, 2)" in page
    assert page.index("no row sees a later one") < page.index("agrees with truth")
    assert page.count("<pre tabindex") == 3 and "Also broken" in page
    assert "1 of 5 laws that apply to it hold" in page


def test_words_of_a_submission_are_escaped(tmp_path: Path) -> None:
    write_feedback([refuted("<i>eve</i>"), Grade("../up", "error", "<b>bad</b>", {})], "attention", tmp_path)
    index = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "<i>" not in index and "<b>" not in index and "&lt;i&gt;eve" in index
    pages = sorted(path.name for path in tmp_path.glob("*.html"))
    assert len(pages) == 3 and all("/" not in name for name in pages)
    assert all("<script>" not in (tmp_path / name).read_text(encoding="utf-8") for name in pages)


def test_other_conventions_are_named() -> None:
    look = {"lines": ["takes q"], "options": "--mask-true ignore"}
    page = to_page(refuted(first_look=look, under_found={"verdict": "conforms"}), "attention")
    assert "takes q" in page and "(--mask-true ignore): conforms" in page


def test_the_table_says_under_which_conventions_a_submission_conforms() -> None:
    look = {"lines": ["takes q"], "options": "--layout bnhd"}
    right = refuted(first_look=look, under_found={"verdict": "conforms"})
    assert reason(right) == "conforms under --layout bnhd; as the exercise has it: no row sees a later one"
    declined = Grade("eve", "refuted", "it declined a plain call", right.report)
    assert reason(declined) == "conforms under --layout bnhd; as the exercise has it: it declined a plain call"
    wrong = refuted(first_look=look, under_found={"verdict": "refuted"})
    assert reason(wrong) == "no row sees a later one"
    assert reason(Grade("ann", "conforms", "", right.report)) == ""


def test_verdicts_are_counted_in_a_fixed_order() -> None:
    grades = [Grade("a", "error", "", {}), Grade("b", "conforms", "", {}), Grade("c", "error", "", {})]
    assert list(count_verdicts(grades).items()) == [("conforms", 1), ("error", 2)]


def test_a_case_without_sizes_stays_as_it_is() -> None:
    assert describe_case("") == ""
    assert describe_case("float64 B=2 n=3 tokens [1, 2]") == "float64, batch of 2, 3 tokens, tokens [1, 2]"
