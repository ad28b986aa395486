"""Definitions inside sentences are read like those of displays, and other formulas are left where they stand."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.document.blocks import Display, Paragraph
from attention_core.derivation.effort import Effort
from attention_core.derivation.reading.inline_definitions import take_definitions
from attention_core.derivation.records import GOOD, Verdict


@pytest.mark.parametrize(
    ("text", "defined"),
    [
        (r"take $q = \beta (k_a + k_b)$, then", r"q := \beta (k_a + k_b)"),
        (r"Let $z$ be the logits, $\hat y = softmax(z)$ and so on", r"\hat y := softmax(z)"),
        (r"The sum is $s = \beta k$.", r"s := \beta k"),
        (r"Throughout, $s = \beta k$ is the score", r"s := \beta k"),
        (r"Put $S = A B$ and $O = SV$ below", r"S := A B"),
        (r"gradients with $g = \frac{\partial L}{\partial h}$", r"g := \frac{\partial L}{\partial h}"),
    ],
)
def test_a_formula_behind_a_word_that_introduces_defines(text: str, defined: str) -> None:
    (block,), found = take_definitions([Paragraph(3, text)])
    assert found[0][0] == Display(3, defined) and set(found) == {0}
    assert isinstance(block, Paragraph) and defined.split(" := ")[0] in block.text and "=" not in block.text


@pytest.mark.parametrize(
    "text",
    [
        r"for $x = \beta k$ we get",  # a condition
        r"with $n = d$ keys",  # of sizes
        r"take $c = 2$",  # a value
        r"Hence $q = \beta k$",  # a claim
        r"let $q = q + k$",
        r"put $s_1 = a$ and $s_{k + 1} = s_k + a$",  # a recursion
        r"where $a = b = c + d$",
    ],
)
def test_other_formulas_stay_in_their_sentence(text: str) -> None:
    (block,), found = take_definitions([Paragraph(1, text)])
    assert block == Paragraph(1, text) and not found


def test_what_a_display_says_a_symbol_is_is_not_defined_twice() -> None:
    blocks = [Paragraph(1, r"where $q = \beta k$"), Display(3, r"q = \beta k + 1")]
    assert take_definitions(blocks)[1] == {}


def test_steps_hold_by_such_a_definition() -> None:
    text = "take $q = \\beta (k_a + k_b)$, then\n\n$$ k_a^T q = %s $$\n"
    right = check_document(text % r"\beta k_a^T k_a + \beta k_a^T k_b", infer=True, effort=Effort(seconds=4.0))
    wrong = check_document(text % r"\beta k_a^T k_a - \beta k_a^T k_b", infer=True, effort=Effort(seconds=4.0))
    assert right.steps[-1].verdict in GOOD
    assert wrong.steps[-1].verdict is Verdict.REFUTED


def test_another_reading_keeps_the_shapes_of_definitions() -> None:
    text = r"""take $\hat y = softmax(z)$

$$ L = -\sum_k y_k log \hat y_k $$

$$ L = - z_t + log \sum_k e^{z_k} $$
"""
    found = check_document(text, infer=True, effort=Effort(seconds=4.0)).steps
    assert "internal error" not in found[-1].evidence.text


def test_a_product_of_symbols_of_the_document_is_no_new_name() -> None:
    head = r"Let $Ax = \lambda x$ where $A \in \mathbb{R}^{n \times n}$, $x \in \mathbb{R}^n$ and $\lambda \in \mathbb{R}$."
    steps = (r"A^2 x = \lambda^2 x", "A x = x")
    found = [check_document(f"{head}\n\n$$ {one} $$\n", infer=True).steps[-1].verdict for one in steps]
    assert found == ["EXACT", "REFUTED"]


@pytest.mark.parametrize("joint", ["and let ", "and "])
def test_a_sentence_that_defines_declares_and_defines_again_keeps_both(joint: str) -> None:
    text = (
        "Let $x \\in \\mathbb{R}^n$, $p = 2 x$ %s$y \\in \\mathbb{R}^n$ and $L = p^T y$.\n\n"
        "$$ \\frac{\\partial L}{\\partial x} = %s y $$\n"
    )
    right, wrong = (check_document(text % (joint, c), infer=True, effort=Effort(seconds=4.0)).steps for c in ("2", "3"))
    assert [step.verdict in GOOD for step in right] == [True]
    assert [step.verdict for step in wrong] == [Verdict.REFUTED]


@pytest.mark.parametrize(
    "words",
    [
        "Let $Q, K \\in \\mathbb{R}^{n \\times d}$. Let $P = \\operatorname{softmax}(QK^\\top)$.",
        "Let $Q, K \\in \\mathbb{R}^{n \\times d}$, $S = QK^\\top / \\sqrt{d}$ and $P = \\operatorname{softmax}(S)$ row-wise.",
        "Let $Q, K \\in \\mathbb{R}^{n \\times d}$. We write $P = \\operatorname{softmax}(QK^\\top)$, where the softmax is "
        "applied to every row.",
        "Let $Q, K \\in \\mathbb{R}^{n \\times d}$. The attention weights are $P = \\operatorname{softmax}(QK^\\top)$.",
        "Let $Q, K \\in \\mathbb{R}^{n \\times d}$. For $\\beta > 0$ let $P = \\operatorname{softmax}(\\beta QK^\\top)$.",
        "Let $Q, K \\in \\mathbb{R}^{n \\times d}$. With $P = \\operatorname{softmax}(QK^\\top)$ we claim:",
    ],
)
def test_a_definition_stands_behind_what_it_is_made_of_in_one_paragraph(words: str) -> None:
    for claim, verdict in (
        (r"P \mathbf{1} = \mathbf{1}", Verdict.PROVED),
        (r"P^\top \mathbf{1} = \mathbf{1}", Verdict.REFUTED),
    ):
        found = check_document(f"# Attention\n\n{words}\n\n$$ {claim} $$\n", infer=True).steps[-1]
        assert found.verdict is verdict, found.evidence.text


def test_a_softmax_over_columns_is_not_passed_over() -> None:
    words = "Let $Q, K \\in \\mathbb{R}^{n \\times d}$ and $P = \\operatorname{softmax}(QK^\\top)$, where the softmax is applied to columns."
    found = check_document(f"{words}\n\n$$ P^\\top \\mathbf{{1}} = \\mathbf{{1}} $$\n", infer=True).steps[-1]
    assert found.verdict is Verdict.UNDECIDED or found.verdict is Verdict.AMBIGUOUS


@pytest.mark.parametrize(
    ("text", "defined"),
    [
        (r"where $z_i = w^\top x_i + b$.", [r"z_i := w^\top x_i + b"]),
        (r"where $\hat y^{(i)} = w^\top x^{(i)}$.", [r"\hat y^{(i)} := w^\top x^{(i)}"]),
        (r"where $x' = x + \epsilon$.", [r"x' := x + \epsilon"]),
        (r"where $l_i = (y_i - p_i)^2$ and $p_i = w^\top x_i$.", [r"p_i := w^\top x_i", "l_i := (y_i - p_i)^2"]),
    ],
)
def test_what_follows_a_display_defines_in_front_of_it(text: str, defined: list[str]) -> None:
    _, found = take_definitions([Display(1, "s = t"), Paragraph(3, text)])
    assert [one.text for one in found[0]] == defined and set(found) == {0}


@pytest.mark.parametrize(
    "text",
    [
        r"where $h_t = \tanh(W h_{t-1})$.",  # a recursion
        r"where $x_i = 2 c$.",  # one number for all
        r"where $x_1 = 2 y_1$.",  # one member
        r"if $z_i = w^\top x_i$ we get",
    ],
)
def test_one_member_is_not_defined_by_itself(text: str) -> None:
    assert take_definitions([Display(1, "s = t"), Paragraph(3, text)])[1] == {}


def test_a_step_uses_what_stands_behind_the_display_above() -> None:
    document = "$$ L = \\sum_{i=1}^n \\log z_i $$\n\nwhere $z_i = w^\\top x_i + b$.\n\n$$ \\sum_{i=1}^n z_i = %s $$\n"
    right = document % r"w^\top \sum_{i=1}^n x_i + n b"
    wrong = document % r"w^\top \sum_{i=1}^n x_i + b + b + n b"
    assert check_document(right, effort=Effort(seconds=2), infer=True).steps[-1].verdict in GOOD
    assert check_document(wrong, effort=Effort(seconds=2), infer=True).steps[-1].verdict not in GOOD


def test_a_sum_from_zero_on_defines_nothing_by_itself() -> None:
    sentence = r"Put $S := 3$. Its average is times 10; the formula is the sum, $q = S \sum_{i=0}^{1} k_i$."
    report = check_document(f"{sentence}\n\n$$ S + 1 = 4 $$\n", infer=True)
    assert not any("q" in words for _, words in report.understood if "defined by the display" in words)


def test_a_later_paragraph_defines_a_symbol_anew() -> None:
    text = "Let $c = a b$.\n\nThe letter is used again. Now let $c = a + b$.\n\n$$ 2 c = 2 a %s 2 b $$\n"
    found = [check_document(text % sign, infer=True).steps[-1].verdict for sign in "+-"]
    assert found == ["PROVED", "REFUTED"]


def test_for_the_opens_a_condition_unless_a_function_is_defined() -> None:
    text = r"For the case with $r = a + b$ see the appendix; for the logistic function $s(x) = 2 x$ as well."
    assert [one.text for shown in take_definitions([Paragraph(1, text)])[1].values() for one in shown] == [
        "s(x) := 2 x"
    ]


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        (
            r"Let $Y = X W$ with $X \in \mathbb{R}^{n \times d}$ and $W \in \mathbb{R}^{d \times m}$, for all of it.",
            [
                r"Let $X \in \mathbb{R}^{n \times d}$ and $W \in \mathbb{R}^{d \times m}$.",
                r"Let $Y$, for all of it.",
            ],
        ),
        (
            r"Let $z = x + y$ with vectors $x, y \in \mathbb{R}^n$.",
            [r"Let $x, y \in \mathbb{R}^n$.", r"Let $z$."],
        ),
        (  # a word says more of it
            r"Let $Y = X W$ with $X \in \mathbb{R}^{n \times n}$ invertible.",
            [r"Let $Y$ with $X \in \mathbb{R}^{n \times n}$ invertible."],
        ),
        (  # words say more of what is defined
            r"Let $p = x / 2$ be a law, with $x \in \mathbb{R}^n$.",
            [r"Let $p$ be a law, with $x \in \mathbb{R}^n$."],
        ),
        (r"Let $p = 2 x$, $y \in \mathbb{R}^n$.", [r"Let $p$, $y \in \mathbb{R}^n$."]),  # not used
    ],
)
def test_domains_stand_in_front_of_the_definition_that_uses_them(text: str, blocks: list[str]) -> None:
    assert [one.text for one in take_definitions([Paragraph(1, text)])[0]] == blocks


def test_a_definition_with_domains_behind_it_is_kept() -> None:
    text = "Let $y = A x$ with $A \\in \\mathbb{R}^{m \\times n}$.\n\n$$ 2 y = %s A x $$\n"
    found = [check_document(text % number, infer=True, effort=Effort(seconds=4.0)).steps[-1].verdict for number in "23"]
    assert found[0] in GOOD and found[1] is Verdict.REFUTED


@pytest.mark.parametrize("name", ["t", "s", "z"])
def test_a_name_that_stands_in_the_sign_of_an_extent_is_new(name: str) -> None:
    text = rf"Let $A \in \mathbb{{R}}^{{n \times n}}$ and ${name} = \sum_{{i=1}}^n A_{{ii}}$."
    found = take_definitions([Paragraph(1, text)])[1]
    assert [place for place, shown in found.items() if shown] == [1]  # behind what declares A


@pytest.mark.parametrize(
    "texts",
    [
        [r"Let $f(x) = 2 x$."],  # a declaration reads it
        [r"take $q = a, b$"],
        [r"take $q = a + \dots + b$"],
        [r"Let $q \in \mathbb{R}$.", r"take $q = \beta k$"],  # a sentence says where it lives
    ],
)
def test_what_other_sentences_say_is_left_to_them(texts: list[str]) -> None:
    blocks = [Paragraph(line, text) for line, text in enumerate(texts, 1)]
    assert take_definitions(blocks) == (blocks, {})


def test_a_name_beside_a_definition_is_kept() -> None:
    (block,), _ = take_definitions([Paragraph(1, r"Set $q = \beta k$ and $z$.")])
    assert block.text == "Set $q$ and $z$."
