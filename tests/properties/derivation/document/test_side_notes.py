"""Notes beside the formulas of a row are reasons: not steps, not dropped, and nothing that the next row goes on with."""

from __future__ import annotations

import pytest

from attention_core.derivation import DocumentReport, check_document
from attention_core.derivation.document.side_notes import balance_brackets, take_note
from attention_core.derivation.effort import Effort
from attention_core.derivation.latex.lexer import tokenize

HEAD = "Let $a, b, x, y \\in \\mathbb{R}$.\n\n"


def check(rows: str, infer: bool = True) -> DocumentReport:
    display = f"\\begin{{align}}\n{rows}\n\\end{{align}}\n"
    return check_document(HEAD + display, effort=Effort(seconds=2), infer=infer)


NOTES = [
    r"&& \text{add } 0 = a - a",
    r"& \text{add } 0 = a - a",
    r"&& \text{Adding } 0 = a - a",
    r"\quad \text{add } 0 = a - a",
    r"\\ & \text{add } 0 = a - a",
    r"&& \text{we use that } a = a",
    r"&& \text{multiply by } a / a = 1",
    r"&& \text{(add $0 = a - a$)}",
    r"&& \text{[add } 0 = a - a \text{]}",
    r"&& (\text{since } a = a)",
    r"&& [\text{since } a = a]",
    r"&& \{\text{since } a = a\}",
    r"&& \left(\text{since } a = a\right)",
    r"\qquad (\text{because } x + x = 2 x)",
    r"\quad (\because a = a)",
    r"\quad \text{(since } a = a)",
    r"\quad (a = a \text{ by assumption}).",
    r"&& (\text{by } a = a \text{ and } b = b)",
]


@pytest.mark.parametrize("note", NOTES)
def test_a_note_is_a_reason_and_the_chain_goes_on(note: str) -> None:
    report = check(rf"x + 1 &= x + a - a + 1 {note} \\ &= 1 + x")
    assert [(step.text.split(" = ")[0], step.passed) for step in report.steps] == [
        ("x + 1", True), ("x + a - a + 1", True),
    ]  # fmt: skip
    assert all("not checked: the reason '" in step.evidence.text for step in report.steps)


@pytest.mark.parametrize("note", NOTES)
def test_a_wrong_step_beside_a_note_is_not_accepted(note: str) -> None:
    wrong = check(rf"x + 1 &= x + a + 1 {note} \\ &= 1 + x")
    assert [step.passed for step in wrong.steps] == [False, False]


@pytest.mark.parametrize(
    "note", [r"&& (\text{since } 1 = 2)", r"&& \text{(as $1 = 2$)}", r"\quad (1 = 2 \text{ by assumption})"]
)
def test_a_false_note_leaves_its_step_open(note: str) -> None:
    """As a false `\\text{since $1 = 2$}` does."""
    (step,) = check(f"x + 1 &= 1 + x {note}").steps
    assert step.verdict == "UNDECIDED" and "is false: 1 is not 2" in step.evidence.text


@pytest.mark.parametrize("words", ["holds for", "note that", "valid near", "true in the limit"])
def test_words_that_may_restrict_leave_the_step_open(words: str) -> None:
    for note in (rf"&& \text{{{words} }} a > 0", rf"\qquad (\text{{{words} }} a > 0)"):
        for step in check(rf"x + a &= x + |a| {note}").steps:
            assert step.verdict == "UNDECIDED" and f"not understood in its display: '{words}'" in step.evidence.text
        assert check(rf"x + a &= x + |a| {note}", infer=False).steps[0].verdict == "UNREADABLE"


@pytest.mark.parametrize(
    "note", [r"\quad (\text{for small } a)", r"&& \text{near } a", r"&& \text{take $\log$ of both sides}"]
)
def test_words_about_a_symbol_count_as_words_alone_do(note: str) -> None:
    (right,), (open_,) = check(f"2 a &= a + a {note}").steps, check(f"a &= |a| {note}").steps
    assert right.passed and open_.verdict == "UNDECIDED" and "not read" in open_.evidence.text
    defined = check(f"z &= 2 a {note}").unchecked_relations
    assert any(text.startswith("defined by the display: $z = 2 a$") for _, text in defined)


def test_words_in_brackets_bind_and_claim_as_elsewhere() -> None:
    assert check(r"|a| &= a \quad (\text{for } a > 0) \\ &= a + 0").passed
    assert not check(r"|a| &= a \quad (\text{for } a < 0)").passed
    claimed = check(r"x &= x + 0 \quad (\text{so } a + b = b + a) \\ &= 0 + x")
    assert [step.text for step in claimed.steps] == ["x = x + 0", "x + 0 = 0 + x", "a + b = b + a"] and claimed.passed
    assert not check(r"x &= x + 0 \quad (\text{so } a + b = b) \\ &= 0 + x").passed


def test_names_and_statements_are_no_notes() -> None:
    for rows, texts in (
        (r"x &= x & \text{loss} &= \text{loss}", 2),
        (r"x &= x && a + b = b + a", 2),
        (r"x &= x \quad (a + b)", 1),
        (r"x &= \text{add}(x) - \text{add}(x) + x", 1),
    ):
        assert len([step for step in check(rows).steps if step.text]) == texts
        assert "not checked" not in " ".join(step.evidence.text for step in check(rows).steps)


def test_a_first_row_of_words_claims() -> None:
    """No statement is above it that the words could be about."""
    for words in ("Adding these, we have", "Note that", "Adding these gives"):
        report = check(rf"& \text{{{words} }} a + b = b + a \\ & x = x + 1")
        assert [step.text for step in report.steps] == ["a + b = b + a", "x = x + 1"]
    gap = check(r"x &= x \quad \text{adding these gives } a + b = b + a")
    assert [step.text for step in gap.steps] == ["x = x", "a + b = b + a"]


def test_each_column_of_an_alignment_goes_on_by_itself() -> None:
    right = check(r"a &= a + 0 & x &= x + 0 \\ &= 0 + a & &= 0 + x \\ &= a & &= x")
    assert right.passed and [step.text for step in right.steps][:3] == ["a = a + 0", "a + 0 = 0 + a", "0 + a = a"]
    wrong = check(r"a &= a + 0 & x &= x + 0 \\ &= 1 + a & &= 0 + x")
    assert [step.verdict for step in wrong.steps] == ["PROVED", "REFUTED", "PROVED", "PROVED"]


@pytest.mark.parametrize(
    "rows",
    [
        r"a &=& a + 0 \\ &=& 0 + a \\ b &= b + 0 \\ && + 0",  # as eqnarray has it, and not
        r"a = a + 0 \\ &= 0 + a",
        r"& a &= a + 0 & b &= b + 0 \\ & &= 0 + a & &= 0 + b",
        r"a &= a + 0 & b &= b + 0 \\ & & &= 0 + b",
        r"a &= a + 0 & b &= b + 0 \\ x &= x \\ &= x + 0 & &= 0 + b",
        r"a &= a + 0 \\ & \quad + 0 \\ &= 0 + a",
    ],
)
def test_rows_of_other_alignments_go_on_where_they_stand(rows: str) -> None:
    report = check(rows)
    assert report.passed, [(step.text, step.verdict) for step in report.steps]
    assert not check(rows.replace("0 + a", "1 + a").replace("0 + b", "1 + b").replace("&& + 0", "&& + 1")).passed


@pytest.mark.parametrize("beside", ["a + b = b + a", r"\text{and } a + b = b + a", r"\text{so } a + b = b + a"])
def test_what_stands_beside_a_chain_is_not_what_it_goes_on_with(beside: str) -> None:
    report = check(rf"x + 1 &= x + 0 + 1 && {beside} \\ &= 1 + x")
    assert report.passed and {step.text for step in report.steps} == {
        "x + 1 = x + 0 + 1", "x + 0 + 1 = 1 + x", "a + b = b + a",
    }  # fmt: skip


def test_two_premises_in_two_columns_stay_together() -> None:
    (step,) = check(r"a = b & \text{ and } & b = x & \implies & a = x").steps
    assert step.passed and step.text.startswith("a = b and b = x")


def test_the_reason_of_a_definition_has_a_line() -> None:
    """It stands beside what is not a step."""
    report = check_document(HEAD + "$$ z = x + y \\quad \\text{since } 1 = 2 $$\n\n$$ z = y + x $$\n", infer=True)
    assert (3, "not checked: the reason 'since 1 = 2'") in report.unchecked_relations
    assert {"line": 3, "text": "not checked: the reason 'since 1 = 2'"} in report.as_dict()["unchecked"]
    other = check_document(HEAD + "$$ x + y = y + x \\quad \\text{since } a = a $$\n", infer=True)
    assert not other.unchecked_relations and "not checked: the reason" in other.steps[0].evidence.text


def test_words_alone_are_no_note() -> None:
    for row in (r"x &= y && \text{completing the square}", r"x &= y \quad (\text{by symmetry})"):
        rest, note = take_note(tokenize(row))
        assert note is None and any(token.kind == "TEXT" for token in rest)


@pytest.mark.parametrize(
    ("text", "balanced"),
    [
        (r"a = b \quad \text{(since } b = c)", r"a = b \quad (\text{since } b = c)"),
        (r"a = b \quad \text{(since } b = f(c))", r"a = b \quad (\text{since } b = f(c))"),
        (r"a = b \quad \text{(since } b = c \text{)}", r"a = b \quad \text{(since } b = c \text{)}"),
        (r"\text{(since } b = c \\ d = e)", r"\text{(since } b = c \\ d = e)"),
        (r"a = b \quad \text{(a) and (b)}", r"a = b \quad \text{(a) and (b)}"),
    ],
)
def test_brackets_that_open_in_words_open_outside(text: str, balanced: str) -> None:
    assert balance_brackets(text) == balanced and len(text) == len(balanced)
