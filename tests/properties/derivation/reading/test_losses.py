"""Losses that a document does not write out: the backward pass of attention as papers and courses write it."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.document.blocks import Display, Paragraph
from attention_core.derivation.effort import Effort
from attention_core.derivation.reading.losses import spell_losses
from attention_core.derivation.records import Verdict

FORWARD = (
    r"Let $Q, K \in \mathbb{R}^{n \times d}$, $V \in \mathbb{R}^{n \times m}$, $S = QK^\top/\sqrt{d}$, "
    r"$P = \operatorname{softmax}(S)$ row-wise and $O = PV$."
)
LOSS = r"Let $L$ be a scalar function of $O$ and $dO = \frac{\partial L}{\partial O}$."
STEPS = (
    (r"\frac{\partial L}{\partial V} = P^\top dO", r"\frac{\partial L}{\partial V} = P dO"),
    (r"\frac{\partial L}{\partial P} = dO V^\top", r"\frac{\partial L}{\partial P} = V dO^\top"),
    (
        r"\frac{\partial L}{\partial Q} = \frac{1}{\sqrt d} (P \odot (dO V^\top - ((dO \odot O) \mathbf{1}) \mathbf{1}^\top)) K",
        r"\frac{\partial L}{\partial Q} = (P \odot (dO V^\top - ((dO \odot O) \mathbf{1}) \mathbf{1}^\top)) K",
    ),
)


@pytest.mark.thorough(leave_out=("right2-*",))
@pytest.mark.parametrize(("right", "wrong"), STEPS)
def test_the_backward_pass_of_attention(right: str, wrong: str) -> None:
    first = r"$$ \frac{\partial L}{\partial V} = P^\top dO $$"  # its shapes say how gradients lie
    for step, verdict in ((right, Verdict.AGREES), (wrong, Verdict.REFUTED)):
        found = check_document(f"# Backward\n\n{FORWARD} {LOSS}\n\n{first}\n\n$$ {step} $$\n", infer=True).steps[-1]
        assert found.verdict is verdict, found.evidence.text


@pytest.mark.parametrize(
    "words",
    [
        r"Let $L$ be a scalar loss that depends on $O$ only, and write $G = \partial L/\partial O$.",
        r"Consider a differentiable loss $L$ of the output $O$. Put $G = \frac{\partial L}{\partial O}$.",
        r"Let $L(O)$ be a scalar loss and let $G = \frac{\partial L}{\partial O}$.",
        "Suppose there is a real-valued\nloss function $L$ depending on $O$. Set $G = \\frac{\\partial L}{\\partial O}$.",
        r"Let $L$ be any smooth function of $O$, and $G := \nabla_O L$.",
    ],
)
def test_ways_to_say_it(words: str) -> None:
    for step, verdict in ((r"P^\top G", Verdict.AGREES), ("P G", Verdict.REFUTED)):
        text = f"{FORWARD} {words}\n\n$$ \\frac{{\\partial L}}{{\\partial V}} = {step} $$\n"
        found = check_document(text, infer=True).steps[-1]
        assert found.verdict is verdict, found.evidence.text


@pytest.mark.parametrize(
    "words",
    [
        r"Let $L$ be a scalar loss, a differentiable function of $z$.",
        r"Let $L$ be the loss, a function of $z$.",
        r"The loss $L$ is a function of $z$.",
        r"The loss $L$ depends on $x$ only through the output $z$.",
        r"The scalar loss $L$ depends on $z$ only.",
        r"Let $L$ be a loss which is a function of $z$.",
        r"We want the gradients of the loss $L$. The loss is a function of $z$.",
        r"If $L$ is a loss that depends on $z$, then",
        r"Let $L(z)$ be a scalar loss. Its gradient is $\nabla_x L = W^\top \nabla_z L$.",
    ],
)
def test_further_ways_to_say_it(words: str) -> None:
    forward = r"Let $x \in \mathbb{R}^n$, $W \in \mathbb{R}^{m \times n}$ and $z = W x$."
    for step, verdict in ((r"W^\top", Verdict.AGREES), ("2 W^\\top", Verdict.REFUTED)):
        text = f"{forward} {words}\n\n$$ \\frac{{\\partial L}}{{\\partial x}} = {step} \\frac{{\\partial L}}{{\\partial z}} $$\n"
        found = check_document(text, infer=True, as_read=verdict is Verdict.REFUTED).steps[-1]
        assert found.verdict is verdict, found.evidence.text


@pytest.mark.parametrize(
    "words", ["a convex function of $O$", "a linear loss of $O$", "a function of $O$ that is even"]
)
def test_other_functions_are_not_any(words: str) -> None:
    (block,) = spell_losses([Paragraph(1, f"Let $L$ be {words}.")])
    assert "colon" not in getattr(block, "text", "") or words.endswith("even")
    text = f"{FORWARD} Let $L$ be {words}.\n\n$$ \\frac{{\\partial L}}{{\\partial V}} = P V $$\n"
    assert check_document(text, infer=True).steps[-1].verdict is not Verdict.REFUTED


def test_lines_stay_where_they_are() -> None:
    text = "Let $L$\nbe a scalar function\nof $O$ and\n$G$ its gradient."
    (block,) = spell_losses([Paragraph(4, text)])
    assert isinstance(block, Paragraph) and block.text.count("\n") == text.count("\n")


def test_no_more_than_agreement_and_its_functions_are_named() -> None:
    text = f"{FORWARD} {LOSS}\n\n$$ \\frac{{\\partial L}}{{\\partial V}} = P^\\top dO $$\n"
    found = check_document(text, infer=True)
    assert found.steps[-1].verdict is Verdict.AGREES and "no other function" in found.steps[-1].evidence.text
    assert any("any function of O" in line for _, line in found.understood)


def test_what_is_not_declared_is_named() -> None:
    text = "Let $x \\in \\mathbb{R}^n$ and let $L$ be a scalar function of $O$.\n\n$$ x = x $$\n"
    assert "is not declared" in " ".join(step.evidence.text for step in check_document(text, infer=True).steps)


def test_derivatives_that_are_zero_of_what_is_tried_are_not_accepted() -> None:
    text = "Let $O \\in \\mathbb{R}^{n}$ and let $L$ be a scalar function of $O$.\n\n$$ %s = 0 $$\n"
    third = check_document(text % r"\frac{\partial^3 L}{\partial O_1^3}", infer=True).steps[-1]
    assert third.verdict is Verdict.UNDECIDED and "order 3" in third.evidence.text
    assert (
        check_document(text % r"\frac{\partial^2 L}{\partial O_1^2}", infer=True).steps[-1].verdict is Verdict.REFUTED
    )


@pytest.mark.parametrize(
    "text",
    [
        "let $L$ be the loss of $x$:\n\n$$ L = x^\\top x $$",
        "let $L$ be a scalar function of $x$ given by\n\n$$ L := x^\\top x $$",
        "let $L$ be the cost of $x$, $L = x^\\top x$.",
        "then\n\n$$ L(x) = x^\\top x $$\n\nwhere $L$ is the loss of $x$.",
    ],
)
def test_a_loss_that_a_formula_writes_out_is_not_any_function(text: str) -> None:
    document = f"Let $x \\in \\mathbb{{R}}^n$ and {text}\n\n$$ \\frac{{\\partial L}}{{\\partial x}} = 2 x $$\n"
    assert all(step.verdict is not Verdict.REFUTED for step in check_document(document, infer=True).steps)


def test_a_tag_that_names_a_gradient_stays_the_name_of_its_step() -> None:
    text = (
        "Let $O \\in \\mathbb{R}^n$, let $L$ be a scalar function of $O$ and $dO = \\frac{\\partial L}{\\partial O}$.\n\n"
        "$$ \\frac{\\partial L}{\\partial O} = dO \\tag{dO} $$\n"
    )
    assert [step.id for step in check_document(text, infer=True, only=["dO"]).steps] == ["dO"]


SHORTHAND = (
    r"Let $Q, K, V \in \mathbb{R}^{n \times d}$, $S = QK^\top$, $P = \operatorname{softmax}(S)$ row-wise and $O = PV$. "
    "Let $L$ be a scalar function of $O$. "
)


@pytest.mark.parametrize(
    ("words", "sign"),
    [
        (r"We use the shorthand $dX = \partial L/\partial X$ for gradients.", "d%s"),
        (r"We write $\bar X$ for $\partial L/\partial X$.", r"\bar{%s}"),
        (r"Here $\bar{X}$ denotes the gradient $\frac{\partial L}{\partial X}$.", r"\bar %s"),
    ],
)
def test_a_sign_for_gradients(words: str, sign: str) -> None:
    value, output, query, score = (sign % letter for letter in "VOQS")
    right, wrong = f"{value} = P^\\top {output}", f"{value} = P {output}"
    for step, good in ((right, True), (wrong, False), (f"{query} = {score} K", True), (f"{query} = {score} Q", False)):
        (found,) = check_document(f"{SHORTHAND}{words}\n\n$$ {step} $$\n", infer=True).steps
        assert (found.verdict in (Verdict.AGREES, Verdict.PROVED, Verdict.EXACT)) is good, (step, found.evidence.text)


def test_a_sign_of_one_symbol_is_a_name() -> None:
    blocks = [Paragraph(1, r"We write $\bar x$ for $\partial L/\partial x$."), Display(3, r"\bar x = x, \bar z = z")]
    assert getattr(spell_losses(blocks)[1], "text", "") == r"\bar x = x, \bar z = z"


def last(text: str) -> str:
    return str(check_document(text, infer=True, effort=Effort(seconds=4.0)).steps[-1].verdict)


def test_a_loss_of_what_the_same_formula_defines() -> None:
    text = (
        "Let $L$ be a scalar function of $z = W x$ where $W \\in \\mathbb{R}^{m \\times n}$ and $x \\in \\mathbb{R}^n$.\n\n"
        "$$ \\frac{\\partial L}{\\partial x} = %s \\frac{\\partial L}{\\partial z} $$\n"
    )
    assert [last(text % one) for one in (r"W^\top", r"2 W^\top")] == ["AGREES", "REFUTED"]


GRADIENTS = "We use the shorthand $dX = \\partial L / \\partial X$. "
PRODUCT = (
    "Let $Y = X W$ with $X \\in \\mathbb{R}^{n \\times d}$ and $W \\in \\mathbb{R}^{d \\times m}$, and let $L$ be a scalar "
    "function of $Y$.\n\n$$ dW = %s X^\\top dY $$\n"
)


def test_a_shorthand_is_of_any_letter_though_displays_have_its_own() -> None:
    assert [last(GRADIENTS + PRODUCT % one) for one in ("", "2")] == ["AGREES", "REFUTED"]


@pytest.mark.parametrize("words", ["We never use the shorthand", "Unlike those who use the shorthand"])
def test_a_shorthand_of_others_is_none_here(words: str) -> None:
    (block,) = spell_losses([Paragraph(1, f"{words} $dY = \\partial L / \\partial Y$, we write $dX$.")])
    assert block.text.count(r"\partial") == 2 and "dX" in block.text


def test_an_integral_keeps_its_d() -> None:
    blocks = [Paragraph(1, GRADIENTS), Display(3, r"\int_0^1 x \, dX = \frac{1}{2}")]
    assert spell_losses(blocks)[-1] == blocks[-1]


def test_a_size_d_in_front_of_a_sign_is_no_gradient() -> None:
    (block,) = spell_losses([Paragraph(1, f"{GRADIENTS}Let $A \\in \\mathbb{{R}}^{{d \\times m}}$ and $dB$ be.")])
    assert r"\mathbb{R}^{d \times m}" in block.text and r"\frac{\partial L}{\partial B}" in block.text
