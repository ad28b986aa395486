"""Documents cut into blocks.

Where displays stand: code, comments and escaped dollars open none, and no line is too long to be cut.
Times are not measured: reading is bounded by counts, and what a stack of calls would not bear is read here.
"""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.document.blocks import Display
from attention_core.derivation.document.source import MAX_BLOCKS, blocks_of

WRONG = "$$ 1 = 2 $$"


def shown(text: str) -> list[tuple[int, str, str]]:
    """Line, content and error of every display."""
    return [(b.line, b.text.strip(), b.error) for b in blocks_of(text) if isinstance(b, Display)]


@pytest.mark.parametrize(
    "before",
    [
        f"Write `{WRONG}` for a display.\n\n",
        f"Write ``a ` {WRONG}`` for a display, and `$$` around it.\n\n",
        f"<!-- {WRONG} -->\n\n",
        "<!-- an opening\n$$\n-->\n\n",
        f"    {WRONG}\n    $$\n\n",
        f"\t{WRONG}\n\n",
        f"```\n{WRONG}\n$$\n```\n\n",
        "It costs \\$\\$5.\n\n",
    ],
)
def test_what_is_no_mathematics_opens_no_display(before: str) -> None:
    assert shown(before + "$$ 1 = 1 $$\n") == [(before.count("\n") + 1, "1 = 1", "")]


def test_dollars_in_prose_do_not_shift_the_displays_below() -> None:
    (first, second) = shown("It costs \\$$5 and $$3.\n\n$$ 1 = 2 $$\n")
    assert first[0] == 1 and "never closed" in first[2] and "dollar sign" in first[2]
    assert second == (3, "1 = 2", "")


@pytest.mark.parametrize(
    "text",
    [
        "- a list\n\n    $$ 1 = 2 $$\n",
        "1. a list\n\n    $$\n    1 = 2\n    $$\n",
        "\\section{A}\n\n    $$ 1 = 2 $$\n",
        "\\section{A}\n\nFor ``x'' we have $$ 1 = 2 $$ by `y'.\n",
        "For ``x'' we have $$ 1 = 2 $$ by ``y''.\n",
        "> quoted\n>\n> $$ 1 = 2 $$\n",
    ],
)
def test_displays_in_lists_in_quotations_and_in_tex_are_seen(text: str) -> None:
    ((_, content, error),) = shown(text)
    assert content == "1 = 2" and not error


def test_a_comment_that_is_never_closed_is_an_error() -> None:
    report = check_document("Text.\n\n<!-- $$ 1 = 2 $$\n\n$$ 1 = 1 $$\n")
    assert [(s.line, str(s.verdict)) for s in report.steps] == [(3, "UNREADABLE")]
    assert "--> is missing" in report.steps[0].evidence.text


@pytest.mark.thorough(leave_out=("text1", "text2", "text3"))
@pytest.mark.parametrize("text", ["$" * 2100, "$" * 1_000_000, "$$$" * 333_333, "<!-- -->" * 100_000, "` ``" * 100_000])
def test_one_long_line_is_cut_without_a_stack_of_calls(text: str) -> None:
    assert len(blocks_of(text + "\n")) <= MAX_BLOCKS + 1
    report = check_document(text + "\n")
    assert report.status == 2


def test_the_line_behind_the_last_block_is_named() -> None:
    (step,) = check_document("$$ 1 = 1 $$\n" * (MAX_BLOCKS + 5)).steps
    assert step.line == MAX_BLOCKS + 1 and f"split it above line {MAX_BLOCKS + 1}" in step.evidence.text


def test_a_document_with_too_many_declared_formulas_is_split() -> None:
    paragraphs = [
        " ".join(f"Let $y_{{{5 * k + i}}} \\in \\mathbb{{R}}$." for i in range(5)) for k in range(MAX_BLOCKS // 5)
    ]
    text = "\n\n".join(paragraphs)
    (step,) = check_document(text + "\n\nLet $z \\in \\mathbb{R}$.\n").steps
    assert (
        step.verdict == "UNREADABLE"
        and f"split the document above line {2 * len(paragraphs) + 1}" in step.evidence.text
    )


def test_several_displays_of_one_line_are_read() -> None:
    assert [t for _, t, _ in shown("a $$ 1 = 1 $$ b $$ 2 = 2 $$ c \\[ 3 = 3 \\]\n")] == ["1 = 1", "2 = 2", "3 = 3"]


def test_a_display_that_begins_with_a_relation_goes_on_with_the_one_before() -> None:
    head = "Let $a \\in \\mathbb{R}$.\n\n$$ (a + 1)^2 $$\n\n$$ = a^2 + 2 a + 1 $$\n\n"
    steps = check_document(f"{head}$$ = a (a + 2) $$\n").steps
    assert [(step.line, step.verdict) for step in steps] == [(5, "PROVED"), (7, "REFUTED")]
    assert len(shown(f"{head}Then\n\n$$ = 1 $$\n")) == 2


def test_a_display_of_a_list_may_have_a_blank_line() -> None:
    text = "- Text\n\t- $$\n\t  a = b\n\t  \n\t  + c\n\t  $$\n\t- More $x$.\n\t- $$ 1 + 1 = 2 $$\n"
    displays = [block for block in blocks_of(text) if isinstance(block, Display)]
    assert [(one.text.split(), one.error) for one in displays] == [
        (["a", "=", "b", "+", "c"], ""),
        (["1", "+", "1", "=", "2"], ""),
    ]


def test_a_dollar_pair_in_a_paragraph_ends_with_it() -> None:
    (display,) = [block for block in blocks_of("It costs $$\n\nor more.\n") if isinstance(block, Display)]
    assert "never closed" in display.error
