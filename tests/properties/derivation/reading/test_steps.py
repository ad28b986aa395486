"""Reading displays, declarations and formulas.

What people write is read: displays of written answers as they stand, and the parts of LaTeX one by one.
A display counts as read when every step of it gets a verdict other than UNREADABLE, limits aside.
"""

from __future__ import annotations

from typing import Any

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.claims import claim_of
from attention_core.derivation.document.blocks import Display
from attention_core.derivation.document.source import blocks_of
from attention_core.derivation.latex.parse import parse_statement
from attention_core.derivation.latex.syntax import Unreadable
from attention_core.derivation.reading import steps
from attention_core.derivation.reading.step import Step, Unread
from attention_core.derivation.reading.steps import steps_of
from attention_core.derivation.terms.context import Context
from attention_core.derivation.terms.terms import ShapeMismatch
from tests.properties.seed_displays import DOCUMENT, QUESTIONS


def message(step: Step | Unread) -> str:
    if isinstance(step, Unread):
        return step.message
    try:
        claim_of(step)
    except Unreadable as error:
        return error.message
    except ShapeMismatch:
        return ""
    return ""


def unread_of(document: str) -> tuple[list[str], int]:
    """What is not understood, one message for a display, and how many displays there are."""
    displays = [b for b in blocks_of(document) if isinstance(b, Display)]
    ends = [b.line + b.text.count("\n") for b in displays]
    unread: dict[int, str] = {}
    for step in steps_of(document)[0]:
        if words := message(step):
            place = next(i for i, end in enumerate(ends) if step.line <= end)
            unread[place] = f"line {step.line}: {words}"
    return list(unread.values()), len(displays)


def test_displays_of_written_answers_are_read_as_they_stand() -> None:
    unread, count = unread_of(DOCUMENT)
    assert count >= 27
    assert len(unread) <= count // 10, "\n".join(unread)


def test_displays_of_questions_are_read_or_say_what_is_not_understood() -> None:
    unread, count = unread_of(QUESTIONS)
    assert count >= 16
    assert len(unread) <= 6, "\n".join(unread)
    assert all(" " in words.split(": ", 1)[1] for words in unread)


def verdict_texts(text: str) -> list[str]:
    return [message(s) for s in steps_of(text)[0]]


HEAD = (
    "Let $n, d \\in \\mathbb{N}$, $x, y \\in \\mathbb{R}^{d}$, $A \\in \\mathbb{R}^{d \\times n}$, $s \\in \\mathbb{R}$, "
    "$v_1, \\dots, v_n \\in \\mathbb{R}^{d}$ and $a, b \\in \\{1, \\dots, n\\}$.\n\n"
)


@pytest.mark.parametrize(
    "formula",
    [
        r"\mathbf{x}^\top \boldsymbol{y} = x^T y = x^{\intercal} y = x^{\mathsf{T}} y = x \cdot y",
        r"\sum_{i \ne a, b} v_i = \sum_{i=1}^n v_i - v_a - v_b",
        r"\sum_{i \neq a, i \neq b} v_i = \sum_{1 \le i \le n} v_i - v_a - v_b",
        r"\begin{bmatrix} v_1 & v_2 & \dots & v_n \end{bmatrix} = \begin{bmatrix} v_1^\top \\ \vdots \\ v_n^\top \end{bmatrix}^\top",
        r"v_1 + v_2 + \cdots + v_n = \sum_i v_i",
        r"\left\| x \right\|^2 = \Vert x \Vert^2 = \| x \|^2 = x^\top x",
        r"\big| s \big| = |s| = \lvert s \rvert = \left| s \right|",
        r"\frac12 s = \tfrac{1}{2} s = s / 2 = 0.5 s",
        r"\operatorname{softmax}(A^\top x)_a = \text{softmax}\left(A^\top x\right)_a",
        r"\nabla_x (x^\top y) = \frac{\partial}{\partial x} (x^\top y) = \frac{\partial x^\top y}{\partial x} = y",
        r"\operatorname{tr}(x y^\top) = \mathrm{tr}(y x^\top)",
        r"A_{11} + A_{1,2} = A_{1 1} + A_{12}",
        r"x_{1:d} = x",
        r"\max_{j=1}^{n} s = \max(s, s) = \min_{j=1}^n s",
        r"[1, s, 2] = [1 \ s \ 2]",
        r"\log s + \ln s = 2 \log(s)",
        r"e^{s} = \exp(s) = \exp s",
        r"\operatorname{ReLU}(s) = \max(0, s)",
        r"I_d x = I x = \operatorname{diag}(\mathbf{1}_d) x",
        r"x \odot y = \operatorname{diag}(x) y",
    ],
)
def test_what_is_written_in_many_ways_is_read(formula: str) -> None:
    words = verdict_texts(HEAD + f"$$ {formula} $$\n")
    assert words and not any(words), words


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        ("z = 1", "z is not declared: write 'Let $z \\in \\mathbb{R}$'"),
        ("v_i = v_a", "its subscript is not a declared index"),
        ("v = x", "v is a family: write v_i with a declared index"),
        ("x^2 = 1", "a column of d has no power: write x^\\top x"),
        (r"\foo{x} = x", r"the command \foo is not understood"),
        ("s +", "the formula ends too early"),
        ("(s", "never closed"),
        ("s)", "no opening bracket"),
        ("s", "the display has no relation"),
        (r"\sum_{i} s = s", "the range of the index i is not clear"),
        (r"|x| = s", r"write \| . \| for a norm"),
        (r"s = \infty", "\\infty is only understood under"),
    ],
)
def test_what_is_not_understood_says_so_and_what_to_write(formula: str, words: str) -> None:
    found = verdict_texts(HEAD + f"$$ {formula} $$\n")
    assert any(words in one for one in found), found


@pytest.mark.parametrize(
    ("paragraph", "words"),
    [
        ("Let $z \\in \\mathbb{R}$ be not small.", "the word 'not' changes the meaning"),
        ("Let $z \\in \\mathbb{R}$ unless $z > 0$.", "the word 'unless' changes the meaning"),
        ("Assume the diagonals of $A$ are orthonormal.", "write $A^\\top A = I_m$"),
        ("Let $z \\in \\mathbb{H}$.", "is not understood as a domain"),
        ("Let $z \\in \\mathbb{R}^{q}$.", "q is not a size: write 'Let $q \\in \\mathbb{N}$' first"),
        ("Put $z := w$.", "w is not declared"),
        ("Let $z \\sim \\mathcal{N}(0, I)$.", "the size of I is not clear: write I_d"),
    ],
)
def test_a_declaration_that_is_not_understood_says_so(paragraph: str, words: str) -> None:
    found = verdict_texts(HEAD + paragraph + "\n\n$$ s = s $$\n")
    assert words in found[0], found


def test_a_heading_ends_what_was_declared_below_it() -> None:
    text = "## A\n\nLet $x \\in \\mathbb{R}$.\n\n### B\n\n$$ x = x $$\n\n## C\n\n$$ x = x $$\n"
    first, second = verdict_texts(text)
    assert not first
    assert "x is not declared any more: the section 'A' of its declaration in line 3 has ended" in second


def test_restating_a_symbol_drops_what_mentions_it() -> None:
    text = "Let $x \\in \\mathbb{R}$. Put $y := x + 1$.\n\nLet $x \\in \\mathbb{R}$.\n\n$$ y = x + 1 $$\n"
    (words,) = verdict_texts(text)
    assert "line 3 restates x, which its declaration mentions" in words


def test_a_where_paragraph_belongs_to_the_display_before_it() -> None:
    assert verdict_texts("$$ x + x = 2 x $$\n\nwhere $x \\in \\mathbb{R}$.\n") == [""]


def test_lines_tags_and_options_find_their_steps() -> None:
    text = (
        "Let $x \\in \\mathbb{R}$.\n\n\\begin{align}\nx + x &= 2 x \\tag{two} \\\\\n% expect: refuted\n &= 3 x \\tag{three}\n"
        "\\end{align}\n"
    )
    steps = steps_of(text)[0]
    assert [(s.id, s.line) for s in steps] == [("two", 4), ("three", 6)]
    assert [[o.value for o in s.options] for s in steps] == [[], ["refuted"]]
    assert steps[1].text == "2 x = 3 x"


def test_an_expression_is_read_as_written() -> None:
    statement = parse_statement(r"a - b c / d + \sum_{i=1}^{n} x_i y")
    (chain,) = statement.chains
    assert chain.alone
    assert len(getattr(chain.exprs[0], "terms", ())) == 3


def test_a_condition_ends_where_the_implication_starts() -> None:
    text = (
        "Let $n \\in \\mathbb{N}$, $j \\in \\{1, \\dots, n\\}$ and $s_1, \\dots, s_n \\in \\mathbb{R}$.\n\n"
        "$$ s_i \\le s_j \\ \\forall i \\ne j \\implies s_j = \\max_i s_i $$\n"
    )
    (step,) = steps_of(text)[0]
    assert isinstance(step, Step)
    assert step.op == "=" and len(step.assumed) == 1 and step.text.endswith("s_j = \\max_i s_i")


@pytest.mark.parametrize("reason", [r"\text{ by symmetry} ", r"\text{ since } x = x &", r"&& \text{reordered} \quad &"])
def test_a_chain_goes_on_behind_a_reason(reason: str) -> None:
    text = f"Let $x \\in \\mathbb{{R}}$.\n\n\\begin{{align}}\nx + 1 &= 1 + x {reason}= 3 x\n\\end{{align}}\n"
    steps = steps_of(text)[0]
    assert len(steps) == 2 and steps[0].text.startswith("x + 1 = 1 + x") and steps[1].text.endswith("= 3 x")


def test_a_tag_names_all_statements_of_its_row() -> None:
    text = "Let $x \\in \\mathbb{R}$.\n\n$$ x = x, \\quad x + x = 2 x, \\quad 0 x = 0 \\tag{three} $$\n"
    assert [s.id for s in steps_of(text)[0]] == ["three[1]", "three[2]", "three[3]"]


@pytest.mark.parametrize(
    "text",
    [
        "Let $x \\in \\mathbb{R}^{m}$ with $m \\in \\mathbb{N}$.\n\n$$ x + x = 2 x $$\n",
        "Let $x \\in \\mathbb{R}^{m}$ for $m \\in \\mathbb{N}$.\n\n$$ x + x = 2 x $$\n",
        "Put $y := A x$, where $A \\in \\mathbb{R}^{n \\times m}$, $x \\in \\mathbb{R}^{m}$ and $m, n \\in \\mathbb{N}$.\n\n$$ y = A x $$\n",
        "Let $m \\in \\mathbb{N}$ and\n\n$$ x + x = 2 x $$\n\nwith $x \\in \\mathbb{R}^{m}$.\n",
        "$$ x + x = 2 x $$\nfor all $x \\in \\mathbb{R}$.\n",
        "Let $z > 0$.\n\n$$ x + x = 2 x $$\nfor all $x \\in \\mathbb{R}$.\n",
        "$$ x + x = 2 x, $$ where $x \\in \\mathbb{R}^{m}$ with $m \\in \\mathbb{N}$.\n",
    ],
)
def test_a_domain_may_be_said_after_its_use_in_its_paragraph(text: str) -> None:
    assert verdict_texts(text) == [""]


def test_what_is_declared_too_late_is_named_with_its_line() -> None:
    (step,) = check_document("$$ x + x = 2 x $$\n\nProse.\n\nLet $x \\in \\mathbb{R}$.\n").steps
    assert "line 5 declares it, below its use: move that above the display" in step.evidence.text
    (step,) = check_document("$$ x + x = 2 x $$\n\nProse.\n\n# Next\n\nLet $x \\in \\mathbb{R}$.\n").steps
    assert "below its use" not in step.evidence.text


def test_what_a_paragraph_restates_is_dropped_though_it_says_a_size_late() -> None:
    text = "Let $m \\in \\mathbb{N}$, $y \\in \\mathbb{R}^{m}$.\n\nLet $x \\in \\mathbb{R}^{k}$ and $k \\in \\mathbb{N}$.\n\n$$ y = y $$\n"
    assert verdict_texts(text) == [""]
    (words,) = verdict_texts(text.replace("k", "m"))
    assert "line 3 restates m" in words


def test_a_number_for_a_symbol_that_nothing_declares_is_listed() -> None:
    report = check_document("$$ D = 3 $$\n\n$$ y + D = D + y $$\n", infer=True)
    assert [step.text for step in report.steps] == ["y + D = D + y"]
    assert any(text == "a value, which states nothing: D = 3" for _, text in report.understood)
    declared = check_document("Let $D \\in \\mathbb{N}$.\n\n$$ D = 3 $$\n", infer=True)
    assert [str(step.verdict) for step in declared.steps] == ["UNDECIDED"]
    defined = check_document("$$ y = a + b $$\n\n$$ y = 3 $$\n", infer=True)
    assert [str(step.verdict) for step in defined.steps] == ["UNDECIDED"]


def test_words_behind_where_that_relate_nothing_are_listed() -> None:
    report = check_document("$$ s = W x $$\n\nwhere $W$ are the weights.\n\n$$ s - W x = 0 $$\n", infer=True)
    assert [str(step.verdict) for step in report.steps] == ["PROVED"]  # whatever the weights are
    assert any(text.startswith("not read as a declaration: W is not declared") for _, text in report.understood)
    related = check_document("$$ s = W x $$\n\nwhere $W = 3 q$ are the weights.\n", infer=True)
    assert "UNREADABLE" in [str(step.verdict) for step in related.steps]


def test_a_sentence_that_cannot_be_read_is_shown_as_it_is_written() -> None:
    words = "Let $q$ and $k$ be random vectors whose entries are independent with mean zero and unit variance."
    unread, _ = steps_of(f"{words}\n\n$$ \\operatorname{{Var}}(q^\\top k) = d $$\n", infer=True)[0]
    assert isinstance(unread, Unread) and unread.text == words
    unread, _ = steps_of("Let $x$ be\na real number and $y > $.\n\n$$ x = x $$\n", infer=True)[0]
    assert isinstance(unread, Unread) and unread.text == "Let $x$ be a real number and $y > $."
    (unread,) = steps_of("Let $x > 0$.\n\n$$ x = ( $$\n", infer=True)[0]
    assert isinstance(unread, Unread) and unread.text == "x = ("


@pytest.mark.parametrize(
    ("error", "message"),
    [(RecursionError(), "leads back to itself"), (KeyError("k"), "internal error KeyError: 'k': please report")],
)
def test_a_fault_in_one_display_is_reported_there(
    monkeypatch: pytest.MonkeyPatch, error: Exception, message: str
) -> None:
    """And the displays around it are read."""
    read = steps.steps_of_display

    def fail(context: Context, block: Display, *rest: Any) -> Any:
        if "2" in block.text:
            raise error
        return read(context, block, *rest)

    monkeypatch.setattr(steps, "steps_of_display", fail)
    found = check_document("$$ 1 = 1 $$\n\n$$ 2 = 2 $$\n\n$$ 3 = 3 $$\n", infer=True).steps
    assert [str(one.verdict) for one in found] == ["PROVED", "UNREADABLE", "PROVED"]
    assert message in found[1].evidence.text and found[1].line == 3
