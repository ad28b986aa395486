"""Rows of displays cut into statements.

No relation of a display is dropped in silence: it becomes a step, a hypothesis that was said, a reason that is named
in the evidence, or the display says that it cannot be read.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_core.derivation import check_document
from attention_core.derivation.document.blocks import Display
from attention_core.derivation.document.display import statements_of, without_frames
from attention_core.derivation.document.source import blocks_of
from attention_core.derivation.effort import Effort
from attention_core.derivation.latex.lexer import tokenize
from attention_core.derivation.latex.syntax import Unreadable
from attention_core.derivation.latex.tokens import depth_zero
from attention_core.derivation.reading.step import Step
from attention_core.derivation.reading.steps import steps_of

ROOT = Path(__file__).resolve().parents[4]
HEAD = "Let $n \\in \\mathbb{N}$, $a, b, c, d \\in \\mathbb{R}$ and $i, j \\in \\{1, \\dots, n\\}$.\n\n"


def read(display: str, head: str = HEAD) -> list[str]:
    """What becomes of a display: the steps as text, an unreadable one as '? ' and its message."""
    steps, _ = steps_of(head + display + "\n")
    return [s.text if isinstance(s, Step) else f"? {s.message}" for s in steps]


@pytest.mark.parametrize(
    ("row", "steps"),
    [
        (r"a = b \text{ by independence} = c", ["a = b", "b = c"]),
        (r"a = b \text{ by independence}, \quad c = d", ["a = b", "c = d"]),
        (r"a = b \text{ by independence} \quad \text{and} \quad c = d", ["a = b", "c = d"]),
        (r"a = b \text{ by parts} \implies c = d", ["a = b \\implies c = d"]),
        (r"a = b \text{ implies } c = d", ["a = b \\implies c = d"]),
        (r"a = b \text{ if and only if } c = d", ["a = b \\implies c = d", "c = d \\implies a = b"]),
        (r"a = b \text{ (drift)} + c \text{ (noise)}", ["a = b \\text{ (drift)} + c"]),
        (r"a = b \text{ since } c = d, a = d = b", ["a = b"]),
        (r"a = b \text{ since } c = d, \text{ hence } c = a", ["a = b", "c = a"]),
        (r"\text{By linearity, } a = b", ["a = b"]),
        (r"\text{Note that } a = b", ["a = b"]),
        (r"\text{Since } a = 1, \quad b = c", ["b = c"]),
        (r"a &= b \\ \text{Moreover, } c &= d", ["a = b", "c = d"]),
        (r"a &= b & c &= d", ["a = b", "c = d"]),
        (r"a &= b && c = d", ["a = b", "c = d"]),
        (r"a &=& b", ["a = b"]),
        (r"a = b \quad (c = d)", ["? beside the statement, 'c = d' could be a condition or a claim"]),
        (r"a = b, \quad c = d, \quad a = d", ["a = b", "c = d", "a = d"]),
        (r"a = b, c = d", ["a = b", "c = d"]),
        (r"a = b. \quad c = d", ["a = b", "c = d"]),
        (r"a = b \label{x} = c \tag{y}", ["a = b", "b = c"]),
        (r"a \stackrel{(1)}{=} b \overset{\text{by (2)}}{\le} c", ["a = b", "b \\le c"]),
        (r"a = b \text{ for } n \ge 3 \text{ and } i \ne j", ["a = b"]),
        (r"a = b, i \ne j", ["a = b"]),
        (r"a = b \text{ if $c > 0$}", ["a = b"]),
    ],
)  # fmt: skip
def test_every_relation_of_a_row_is_a_step(row: str, steps: list[str]) -> None:
    found = read(f"$$ \\begin{{aligned}} {row} \\end{{aligned}} $$")
    assert len(found) == len(steps), found
    assert all(a.startswith(b) for a, b in zip(found, steps, strict=True)), found


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (r"a < b, c < d", "could be a condition or a claim"),
        (r"a = b \text{ or } c = d", "either of two statements"),
        (r"a = 2 \text{ times the sum of } c", "stand before a formula and are not understood"),
        (r"a = b \text{ for c > 0}", "write it as a formula"),
        (r"a = b && (2)", "there is nothing to check"),
        (r"a = b \\ c", "write \\cdot at its start"),
        (r"a = b \overset{!}{=} c", "is not understood"),
        (r"a \implies b = c", "there is nothing to check"),
        (r"a = b \implies c", "there is nothing to check"),
        (r"\text{Put } a < b", "is not understood as a definition"),
        (r"a = b \text{ for all } n \ge 2 \\ \text{for } c > 0 \tag{x} \\ \text{for } d > 0, a < b", "could be a condition or a claim"),
        (r"\text{for } c > 0", "belong to no statement"),
        (r"a = b \text{ otherwise}", "otherwise"),
        (r"a = \begin{cases} b & c > 0 \\ c \end{cases}", "one statement for each case"),
    ],
)  # fmt: skip
def test_what_could_be_lost_is_unreadable(row: str, words: str) -> None:
    found = read(f"$$ \\begin{{aligned}} {row} \\end{{aligned}} $$")
    assert any(one.startswith("? ") and words in one for one in found), found


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("$$ a = b $$ and so $$ c = d $$", ["a = b", "c = d"]),
        ("We find \\begin{align} a &= b \\end{align} and \\begin{equation} c = d \\end{equation}", ["a = b", "c = d"]),
        ("\\begin{flalign} a &= b \\end{flalign}", ["a = b"]),
        ("\\begin{dmath} a = b \\end{dmath}", ["? the environment dmath is not understood"]),
        ("\\begin{theorem} $$ a = b $$ \\end{theorem}", ["a = b"]),
        ("> Quoted:\n> $$\n> a = b\n> $$", ["a = b"]),
        ("- $$ a = b $$\n- \\[ c = d \\]", ["a = b", "c = d"]),
        ("\\[ a = b \\] then \\[ c = d \\]", ["a = b", "c = d"]),
    ],
)
def test_every_display_of_a_document_is_found(text: str, steps: list[str]) -> None:
    found = read(text)
    assert len(found) == len(steps), found
    assert all(a.startswith(b) for a, b in zip(found, steps, strict=True)), found


def test_a_reason_with_a_formula_is_named_as_not_checked() -> None:
    (step,) = check_document(HEAD + "$$ a + b = b + a \\text{ since } c = d $$\n").steps
    assert step.passed and "not checked: the reason 'since c = d'" in step.evidence.text


def test_a_claim_in_a_declaration_is_no_hypothesis() -> None:
    for words in ("Then", "Hence", "It follows that", "We have", "Therefore"):
        report = check_document(f"Let $a, b \\in \\mathbb{{R}}$. {words} $a = b$.\n\n$$ 2 a = a + b $$\n")
        assert [step.verdict for step in report.steps] == ["UNDECIDED"], words
        assert "was not assumed here" in report.steps[0].evidence.text, words
        assert [line for line, _ in report.ignored_relations] == [1] and words in report.ignored_relations[0][1]


# -- every relation token, in documents and in displays put together at random ----------------------------------------

PIECES = [
    "a", "b", "c", "=", "\\le", "<", "=", "\\implies", "+", "-", "&", "&&", "\\\\", ",", "\\quad", "\\text{ since }", "(", ")",
    "\\text{by independence}", "\\text{ and }", "\\text{for }", "\\text{for all } i \\ne j", "\\text{Hence, }", "\\tag{x}",
    "\\text{where }", "\\text{as }", ".", ";", "\\forall", "\\text{if $a > 0$}", "\\label{y}", "\\text{Let }", "\\text{words}",
]  # fmt: skip


def lost(display: str) -> list[str]:
    """Relations outside brackets that no statement holds, of a display that can be read."""
    try:
        statements = statements_of(Display(1, display))
    except Unreadable:
        return []
    written = [t.value for _, t in depth_zero(tokenize(without_frames(display))) if t.kind in ("REL", "ARROW")]
    kept = [op for one in statements for chain in one.statement.chains for op in chain.ops]
    kept += [arrow for one in statements for arrow in one.statement.arrows]
    for one in statements:
        kept += [op for chain in (*one.conditions, *one.offered, *one.beside) for op in chain.ops]
        # A reason of words and a formula is quoted as it was written, with its dollars and without the command.
        reasons = [reason if "\\text" in reason else reason.replace("$", " ") for reason in one.quoted]
        kept += [t.value for r in reasons for _, t in depth_zero(tokenize(r)) if t.kind in ("REL", "ARROW")]
        kept += ["->" for options in one.options.values() for o in options if o.key == "as"][:1]
    for op in kept:
        if op in written:
            written.remove(op)
    return written


def test_no_relation_is_lost_in_displays_put_together_of_pieces() -> None:
    read_at_all = 0

    @settings(max_examples=1000)
    @given(st.lists(st.sampled_from(PIECES), min_size=3, max_size=13))
    def check(pieces: list[str]) -> None:
        nonlocal read_at_all
        display = " ".join(pieces)
        assert not lost(display), display
        try:
            statements_of(Display(1, display))
            read_at_all += 1
        except Unreadable:
            pass

    check()
    assert read_at_all > 50  # the others are nonsense, and are refused


@pytest.mark.parametrize(
    "display", ["a = b \\text{ Hence, } \\text{by independence } a = c", "a \\text{Hence, } \\text{by X} a ="]
)
def test_a_formula_behind_a_reason_alone_is_not_dropped(display: str) -> None:
    with pytest.raises(Unreadable, match="belong to no statement"):
        statements_of(Display(1, display))


@pytest.mark.parametrize("path", sorted((ROOT / "derivations").glob("*.md")), ids=lambda path: path.stem)
def test_no_relation_of_a_document_is_lost(path: Path) -> None:
    for block in blocks_of(path.read_text(encoding="utf-8")):
        if isinstance(block, Display):
            assert not lost(block.text), block.text


def test_what_is_read_does_not_depend_on_effort() -> None:
    report = check_document(HEAD + "$$ a = b \\text{ by X} = c $$\n", effort=Effort(small=1, tuples=0, large=0))
    assert len(report.steps) == 2


@pytest.mark.parametrize("words", ["with equality if and only if", "with equality iff", "and equality holds when"])
def test_when_both_sides_are_equal_is_named_and_not_checked(words: str) -> None:
    display = rf"a^2 + b^2 \ge 2 a b, \quad \text{{{words} }} a = b"
    (step,) = check_document(f"{HEAD}$$ {display} $$\n").steps
    assert step.verdict == "AGREES" and f"not checked: the reason '{words} a = b'" in step.evidence.text
    (false,) = check_document(f"{HEAD}$$ {display.replace('2 a b', '3 a b')} $$\n").steps
    assert false.verdict in ("REFUTED", "UNDECIDED")


@pytest.mark.parametrize(
    ("display", "verdicts"),
    [
        ("x = 1 x\ny = y + 0", ["PROVED", "PROVED"]),  # one statement a line
        ("x + y\n= y + x", ["PROVED"]),
        (r"\begin{array}{rcl} x + y &=& y + x \\ &=& y + x + 0 \end{array}", ["PROVED", "PROVED"]),
        (r"\sum_{i, j = 1}^{3} i j = 36", ["PROVED"]),
        (r"\begin{pmatrix} x, y \end{pmatrix} = \begin{pmatrix} x & y \end{pmatrix}", ["PROVED"]),
        (r"\frac{4096}{32} = 128\times", ["PROVED"]),
        (r"\frac{16}{4096} + \frac{16}{4096} = 0.78125\%", ["PROVED"]),
        (r"\cancelto{0}{x} + y = x + y", ["PROVED"]),
        ("x^2 >= 0", ["PROVED"]),
        (r"2 x &= x + x \quad (5) \newline x &= x + 0 \qquad (6)", ["PROVED", "PROVED"]),
        ("{\\textstyle\n\\begin{aligned}\nx + 1 &= 1 + x\n\\end{aligned}\n}", ["PROVED"]),
        (r"{x + y \over 2} = \frac{x + y}{2}", ["PROVED"]),
        (r"\frac{x\_1 + x\_1}{2} = x\_1", ["UNREADABLE"]),  # x_1 of a number
        (r"x^2 + 1 > 0: \text{ a large number}", ["PROVED"]),
    ],
)
def test_layout_of_other_authors_is_read(display: str, verdicts: list[str]) -> None:
    steps = check_document(f"Let $x, y \\in \\mathbb{{R}}$.\n\n$$\n{display}\n$$\n").steps
    assert [step.verdict for step in steps] == verdicts, [step.evidence.text for step in steps]
