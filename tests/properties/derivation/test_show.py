"""Checked documents as text: what `derive`, its watch and the notebook magic print."""

from __future__ import annotations

import re

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.show import BRIEF, LONGEST, Readings, details_of, show_report

TEXT = "Let $x \\in \\mathbb{R}$.\n\n$$ (x + 1)^2 = x^2 + 2 x + 1 \\tag{right} $$\n\n$$ x + 1 = x \\tag{wrong} $$\n"


def test_quiet_leaves_out_what_is_as_the_document_says(capsys: pytest.CaptureFixture[str]) -> None:
    report = check_document(TEXT)
    show_report(report, quiet=True)
    said = capsys.readouterr().out
    assert (
        "right:" not in said
        and "REFUTED  wrong" in said
        and said.endswith("1 of 2 steps are as the document says; 1 REFUTED\n")
    )
    show_report(report, explain=True)
    assert "x: a number" in capsys.readouterr().out


def test_quiet_gives_no_advice_on_steps_that_it_leaves_out(capsys: pytest.CaptureFixture[str]) -> None:
    slip = "Suppose that all is frobnicated.\n\n$$ (a + b)^2 = a^2 + 2 a b + b^3 \\tag{open} $$\n"
    report = check_document(slip, infer=True)
    show_report(report, quiet=True)
    assert "look first at line 3" in capsys.readouterr().out
    show_report(report, quiet=True, level="refuted")
    said = capsys.readouterr().out
    assert "open:" not in said and said.endswith(
        "0 of 1 steps are as the document says; without an answer: 1 UNDECIDED\n"
    )


def test_every_relation_of_a_display_has_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    text = "The variance is $s^2 = v$.\n\n$$ s^2 = 0 \\tag{1} $$\n\n$$ D = 3 $$\n\n$$ w := w + 1 $$\n\n$$ x = x $$\n"
    report = check_document(text, infer=True)
    show_report(report)
    shown = capsys.readouterr().out
    for line, formula in ((3, "s^2 = 0"), (5, "D = 3"), (7, "w := w + 1"), (9, "x = x")):
        assert re.search(rf"^ +{line}  .*{re.escape(formula)}", shown, re.MULTILINE), shown
    assert {one["line"] for one in report.as_dict()["unchecked"]} >= {5, 7}


def test_a_long_formula_is_cut_and_a_document_without_steps_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    show_report(check_document(f"$$ {' + '.join('1' * 80)} = 80 $$"))
    (line,) = (one for one in capsys.readouterr().out.splitlines() if "line-1" in one)
    assert line.endswith("...") and len(line.split("line-1: ")[1]) == LONGEST
    show_report(check_document("nothing\n"))
    said = capsys.readouterr().out
    assert "UNREADABLE  the document has no display" in said and "steps are" not in said


def test_details_hold_both_sides_and_what_is_required() -> None:
    right, wrong = check_document(TEXT, require="proved").steps
    assert right.passed and any(one.startswith("left side: ") for one in details_of(wrong))
    (step,) = check_document("Let $n \\in \\mathbb{N}$.\n\n$$ 2^n \\ge n + 1 $$\n", require="proved").steps
    assert ("PROVED is required" in details_of(step)) is not step.passed


def test_steps_without_an_answer_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    report = check_document(
        f"{TEXT}\n$$ y = y + 1 \\tag{{open}} $$\n\n$$ x \\otimes x = x \\tag{{unread}} $$\n", infer=True
    )
    show_report(report)
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == "  1 of 4 steps are as the document says; 1 REFUTED; without an answer: 1 UNDECIDED, 1 UNREADABLE"


def test_sentences_that_are_not_read_are_no_steps(capsys: pytest.CaptureFixture[str]) -> None:
    sentence = "Assume $z$ is wobbly.\n\n"
    show_report(report := check_document(f"{sentence}{TEXT}\nSuppose $k$ is odd.\n\n$$ ) $$\n", infer=True))
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == (
        "  1 of 3 steps are as the document says; 1 REFUTED; without an answer: 1 UNREADABLE; 2 sentences not read"
    )
    records = report.as_dict()["steps"]
    assert [one["evidence"].get("sentence") for one in records if one["verdict"] == "UNREADABLE"] == [True, True, None]
    show_report(check_document(f"{sentence}$$ \\text{{a}} $$\n", infer=True))
    assert capsys.readouterr().out.splitlines()[-1] == "  1 sentence not read"


def test_a_false_step_of_numbers_has_no_values() -> None:
    (step,) = check_document("$$ 1 + 1 = 3 $$\n").steps
    assert step.evidence.text == "2 is not 3"


def test_notes_may_be_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    report = check_document("$$ D = 3 $$\n\n$$ x + x = 2 x $$\n", infer=True)
    show_report(report)
    assert "a value, which states nothing" in capsys.readouterr().out
    show_report(report, notes=False)
    assert "a value, which states nothing" not in capsys.readouterr().out


def test_notes_stand_at_their_lines(capsys: pytest.CaptureFixture[str]) -> None:
    show_report(check_document("$$ D = 3 $$\n\n$$ x + x = 2 x $$\n\n$$ F = 4 $$\n", infer=True))
    lines = [line.split()[0] for line in capsys.readouterr().out.splitlines()[1:-1]]
    assert [one for one in lines if one.isdigit()] == ["1", "3", "5"]
    show_report(check_document("$$ D = 3 $$\n\n$$ F = 4 $$\n", infer=True))
    assert capsys.readouterr().out.splitlines()[-1].startswith("  UNREADABLE  no display claims anything")


def test_an_accepted_step_is_one_line_unless_the_report_is_verbose(capsys: pytest.CaptureFixture[str]) -> None:
    report = check_document(TEXT)
    show_report(report)
    said = capsys.readouterr().out
    assert "cases agree" not in said and len(said.splitlines()) == 6
    show_report(report, verbose=True)
    assert "cases agree" in capsys.readouterr().out


READ = (
    "$$ a^2 - b^2 = (a - b)(a + b) $$\n\n$$ a^2 + b^2 = (a + b)(a + b) $$\n\n$$ (a + b)^2 = a^2 + b^2 $$\n\n"
    "$$ a^\\top a = a^\\top a $$\n"
)


def test_readings_are_shown_once_and_so_is_what_is_needed(capsys: pytest.CaptureFixture[str]) -> None:
    report = check_document(READ, infer=True)
    show_report(report)
    said = capsys.readouterr().out
    assert said.count("a, b \\in \\mathbb{R}") == 1 and said.count("declare its symbols") == 1
    assert "  lines 3, 5: declare its symbols" in said
    show_report(report, verbose=True)
    assert capsys.readouterr().out.count("declare its symbols") == 2
    assert "declare its symbols" in report.steps[1].as_dict()["evidence"]["text"]  # JSON has all of it


def test_a_symbol_that_is_read_as_something_else_is_shown_again() -> None:
    text = "# One\n\n$$ a^2 + 1 \\ge 0 $$\n\n# Two\n\n$$ a^\\top B a = a^\\top B^\\top a $$\n"
    first, second = check_document(text, infer=True).steps
    shown = Readings()
    assert shown.take_new(first).count("a \\in") == 1 and shown.take_new(second).count("a \\in") == 1
    assert shown.take_new(second) == ""


def test_values_that_nothing_defines_are_named_once_for_all_steps(capsys: pytest.CaptureFixture[str]) -> None:
    show_report(check_document("$$ f(x) + h(x) = g(x) + h(y) $$\n\n$$ f(x) - g(x) = h(y) - k(x) $$\n", infer=True))
    said = capsys.readouterr().out
    assert "  lines 1, 3: define the functions" in said and "as it was read" not in said


def test_a_long_line_below_a_step_is_cut(capsys: pytest.CaptureFixture[str]) -> None:
    names = [f"\\alpha_{{{number}}}" for number in range(40)]
    text = f"Let ${', '.join(names)} \\in \\mathbb{{R}}$.\n\n$$ {' + '.join(names)} = 1 $$\n"
    show_report(check_document(text))
    lines = capsys.readouterr().out.splitlines()
    assert any(line.endswith("...") for line in lines[2:]) and max(map(len, lines)) <= BRIEF + 20


def test_a_reason_is_shown_once(capsys: pytest.CaptureFixture[str]) -> None:
    text = "$$ x \\otimes x = x \\otimes x = x $$\n\n$$ y + 1 = x \\otimes x $$\n"
    report = check_document(f"Let $x, y \\in \\mathbb{{R}}^{{2}}$.\n\n{text}")
    first, second, _ = report.steps
    assert first.evidence.text == second.evidence.text and first.verdict == "UNREADABLE"
    show_report(report)
    said = capsys.readouterr().out
    assert "UNREADABLE (as above)  line-3[2]" in said and said.count(first.evidence.text) == 1
    show_report(report, verbose=True)
    assert capsys.readouterr().out.count(first.evidence.text) >= 2


def test_what_else_the_evidence_of_an_accepted_step_says_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    text = "Let $x \\in \\mathbb{R}$.\n\n$$ x + x = 2 x \\quad \\text{since } x \\star x = x $$\n"
    show_report(check_document(text))
    said = capsys.readouterr().out
    assert "PROVED" in said and "         not checked: the reason" in said and "cases agree" not in said


def test_what_cannot_be_read_in_a_document_has_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    show_report(check_document("Words.\n\n" + "$$ 1 = 1 $$\n\n" * 4001))
    (line,) = capsys.readouterr().out.splitlines()[1:]
    assert re.match(r"^ +\d+  UNREADABLE  the document has more than", line), line


SLIP = "The labels are alike in some towns.\n\n$$ \\sum_{i=1}^m y_i w = w \\sum_{i=1}^m y_1 $$\n"


def test_likely_slips_are_pointed_out(capsys: pytest.CaptureFixture[str]) -> None:
    show_report(check_document(SLIP, infer=True))
    said = capsys.readouterr().out
    assert "UNDECIDED, likely a slip  line-3" in said
    assert said.splitlines()[-1] == ("  look first at line 3: false as it was read, and one small change makes it hold")
    show_report(check_document(SLIP + SLIP, infer=True))
    assert "look first at lines 3, 6: " in capsys.readouterr().out


def test_a_symbol_of_a_section_that_has_ended_is_shown_with_its_whole_line(capsys: pytest.CaptureFixture[str]) -> None:
    declared = "# A long heading about nothing in particular\n\nLet $x, y \\in \\mathbb{R}$.\n\n$$ x y = y x $$\n\n"
    show_report(check_document(f"{declared}# Next\n\n$$ 2 x y = 2 y x $$\n", infer=True))
    (line,) = (one.strip() for one in capsys.readouterr().out.splitlines() if "read as" in one)
    assert line == "read as: x, y as in line 3 (its section 'A long heading about nothing in particular' has ended)"
