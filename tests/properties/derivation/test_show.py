"""Checked documents as text: what `derive`, its watch and the notebook magic print."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.show import LONGEST, details_of, show_report

TEXT = "Let $x \\in \\mathbb{R}$.\n\n$$ (x + 1)^2 = x^2 + 2 x + 1 \\tag{right} $$\n\n$$ x + 1 = x \\tag{wrong} $$\n"


def test_quiet_leaves_out_what_is_as_the_document_says(capsys: pytest.CaptureFixture[str]) -> None:
    report = check_document(TEXT)
    show_report(report, quiet=True)
    said = capsys.readouterr().out
    assert (
        "right:" not in said and "REFUTED  wrong" in said and said.endswith("1 of 2 steps are as the document says\n")
    )
    show_report(report, explain=True)
    assert "x: a number" in capsys.readouterr().out


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
