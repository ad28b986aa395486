"""Checked documents on GitHub: annotations, and the summary of the step."""

from __future__ import annotations

from dataclasses import replace

from attention_core.derivation import check_document
from attention_core.derivation.github import MOST_ROWS, annotation_lines, to_markdown
from attention_core.derivation.records import STANDARD_INPUT

TEXT = "Let $x \\in \\mathbb{R}$.\n\n$$ x + x = 2 x $$\n\n$$ |x| = x \\tag{wrong} $$\n\n$$ x \\ge y \\tag{unread} $$\n"
REPORT = replace(check_document(TEXT), file="notes.md")
GONE = {"gone.md": "No such file or directory"}


def test_a_step_that_is_wrong_is_an_error_and_one_without_an_answer_a_warning() -> None:
    gone, wrong, unread = annotation_lines([REPORT], "open", GONE)
    assert gone == "::error title=attention-core::gone.md cannot be read: No such file or directory"
    assert wrong.startswith("::error title=REFUTED%3A wrong,file=notes.md,line=5::|x| = x")
    assert unread.startswith("::warning title=UNREADABLE%3A unread,file=notes.md,line=7::")
    assert annotation_lines([REPORT], "refuted", {}) == [wrong]


def test_standard_input_has_no_place_in_the_checkout() -> None:
    (wrong,) = annotation_lines([replace(REPORT, file=STANDARD_INPUT)], "refuted", {})
    assert wrong.startswith("::error title=REFUTED%3A wrong::")


def test_the_summary_has_a_table_of_documents_and_one_of_what_counts() -> None:
    lines = to_markdown([REPORT], "open", GONE).splitlines()
    assert "| gone.md | :warning: cannot be read: No such file or directory |" in lines
    assert (
        "| notes.md | :x: 1 of 3 steps are as the document says; 1 REFUTED; without an answer: 1 UNREADABLE |" in lines
    )
    (wrong,) = (line for line in lines if line.startswith("| 5 | REFUTED |"))
    assert r"\|x\| = x" in wrong
    assert any(line.startswith("| 7 | UNREADABLE |") for line in lines)
    assert not any(line.startswith("| 7 |") for line in to_markdown([REPORT], "refuted", {}).splitlines())


def test_formulas_in_the_summary_are_not_typeset_and_many_rows_are_cut() -> None:
    wrong = REPORT.steps[1]
    wordy = replace(wrong, evidence=replace(wrong.evidence, text="with $2$ in place of $3$"))
    text = to_markdown([replace(REPORT, steps=(wordy,) * (MOST_ROWS + 3))], "open", {})
    assert "$" not in text and text.count("| 5 | REFUTED |") == MOST_ROWS and "\n3 more\n" in text


def test_a_document_without_a_step_says_why() -> None:
    text = to_markdown([replace(check_document("nothing\n"), file="notes.md")], "open", {})
    assert "| notes.md | :warning: the document has no display: " in text
