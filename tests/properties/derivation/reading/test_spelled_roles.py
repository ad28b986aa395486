r"""Roles of symbols are taken from the prose where they say nothing of values, and stay where they may."""

from __future__ import annotations

import pytest

from attention_core.derivation import StepReport, check_document
from attention_core.derivation.document.blocks import Paragraph
from attention_core.derivation.effort import Effort
from attention_core.derivation.reading.spelled_roles import drop_roles
from attention_core.derivation.records import GOOD, Verdict


def left(text: str, *above: str) -> str:
    blocks, _ = drop_roles([*(Paragraph(1, one) for one in above), Paragraph(1, text)])
    assert isinstance(blocks[-1], Paragraph)
    return blocks[-1].text


def last(document: str) -> StepReport:
    return check_document(document, effort=Effort(seconds=2), infer=True).steps[-1]


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        (r"where $W$ are the learnable parameters and $B$ is orthogonal.", "where $B$ is orthogonal."),
        (r"where $q$ is the query, $k$ is the key, and $v$ is the value.", ""),
        (r"where $x \in \mathbb{R}^d$ is the input and $y$ is the true label.", r"where $x \in \mathbb{R}^d$."),
        (r"Here $x$ denotes the input at time $t$, $h_t$ the hidden state, and $c$ a constant.", ""),
        (r"Let $w$ be the weights of the network and $b$ the bias.", ""),
        (r"where $Z = \sum_j e^{z_j}$ is the partition function.", r"where $Z = \sum_j e^{z_j}$."),
        (r"where $x$ is the input and $x > 0$.", "where $x > 0$."),
        (r"We get $z = W x$, where $x$ is the input.", "We get $z = W x$."),
        (r"The loss is small (where $y$ is the label).", "The loss is small."),
        (r"with parameters $\theta$.", ""),
        (r"where $K^\prime$ is the number of units in layer $L-1$.", ""),
        (r"where $n_s$ is the number of samples for state s_t.", ""),
        (r"where $W^{(1)} \in \mathbb{R}^{h \times d}$ is the weight parameter of the hidden layer.",
         r"where $W^{(1)} \in \mathbb{R}^{h \times d}$."),
        (r"with parameters $\theta = (\mu, \sigma)$.", ""),
        (r"The learning rate is denoted by $\eta$.", ""),
        ("- $x$: the input\n- $n$ = number of samples", "\n"),
        (r"Suppose $y_i \in \{-1, 1\}$ are the labels.", None),
    ],
)  # fmt: skip
def test_a_role_is_taken(text: str, rest: str | None) -> None:
    assert left(text) == (text if rest is None else rest)


@pytest.mark.parametrize(
    "text",
    [
        r"where $W$ is the weight matrix.",  # an array is described by such words
        r"where $\mu$ is the mean and $x_c$ is the centred input.",
        r"where $x$ is the input, i.e. $x > 0$.",
        r"where $x$ is the input if $y > 0$.",
        r"Since $x$ is the input, we get",
        r"where $k = n / 2$ is a whole number.",
        r"where $\lambda = v^\top A v$ is an eigenvalue of $A$.",
        r"where $p = x / 2$ is the vector of attention weights.",
        r"where $x$ is the unit input.",
        r"where $x + y$ is the input.",
        r"Now let $x$ be an arbitrary input.",  # may take back what was assumed
        r"for inputs $x > 0$.",
        r"with parameters $\theta = 2 \mu$.",
        r"It costs 3\$, where $x$ is not the input.",
    ],
)
def test_what_may_say_more_stays(text: str) -> None:
    assert left(text) == text


def test_a_kind_of_values_stays_where_the_document_declares_the_symbol() -> None:
    role = r"where $n$ is the number of tokens."
    assert left(role) == "" and left(role, r"Let $n \in \mathbb{N}$.") == ""
    assert left(role, r"Let $n \in \mathbb{R}$.") == role
    label = r"where $y$ is the true class."
    assert left(label, r"Let $y \in \{1, \dots, K\}$.") == "" and left(label, r"Let $y \in \mathbb{R}^n$.") == label
    assert left(r"where $c$ is the learning rate.", "Let $c > 0$.") == ""
    assert left(r"where $c$ is the learning rate.", "Let $c < 0$.") != ""


DECLARED = "Let $n \\in \\mathbb{N}$, $A \\in \\mathbb{R}^{n \\times n}$, $x \\in \\mathbb{R}^n$ and $c > 0$.\n\n$$ A (2 x) = 2 A x $$\n\n"


@pytest.mark.parametrize(
    "words",
    [
        "where $x$ is the input token embedding and $c$ is the learning rate.",
        "where $A$ is the learned query projection matrix.",
        "where $\\eta$ is the step size.",
        "where $n$ is the number of output channels.",
    ],
)
def test_a_step_beside_a_role_is_refuted(words: str) -> None:
    assert last(f"{DECLARED}{words}\n\n$$ A (c x) = 2 c A x $$\n").verdict is Verdict.REFUTED


@pytest.mark.parametrize(
    ("words", "step"),
    [
        ("where $A$ is a projection matrix.", "A A x = A x"),
        ("where $x$ is the unit input.", "x^\\top x = 1"),
        ("where $c$ is the optimal constant.", "A x = c x"),
        ("where $x$ is the positive input.", "|x_1| = x_1"),
    ],
)
def test_a_step_beside_words_that_may_restrict_is_not(words: str, step: str) -> None:
    assert last(f"{DECLARED}{words}\n\n$$ {step} $$\n").verdict is not Verdict.REFUTED


def test_the_words_of_a_role_are_kept_for_slips() -> None:
    # labels may be 0 and 1, so that their squares are nothing new
    document = "We have\n\n$$ s = y c $$\n\nwhere $y$ is the label.\n\n$$ y^2 c + c = y c + c $$\n"
    assert last(document).verdict is not Verdict.REFUTED


def test_a_symbol_with_a_role_makes_no_step_open() -> None:
    assert last("where $w$ are the learnable parameters.\n\n$$ (w + 1)^2 = w^2 + 2 w + 1 $$\n").verdict in GOOD


@pytest.mark.parametrize(
    "constants",
    ["Let $a, b$ be constants.", "Let $a$ and $b$ be real constants.", "Let $a, b$ be fixed constants.",
     "Let $a$ be a constant and let $b$ be a real constant."],
)  # fmt: skip
def test_constants_beside_random_symbols_are_numbers(constants: str) -> None:
    for head in (f"Let $X \\sim \\mathcal{{N}}(0, 1)$. {constants}", f"{constants}\n\nLet $X$ be a random variable."):
        for claim, good in ((r"a \mathbb{E}[X] + b", True), (r"a \mathbb{E}[X] + a", False)):
            found = check_document(f"{head}\n\n$$ \\mathbb{{E}}[a X + b] = {claim} $$\n", infer=True).steps
            assert len(found) == 1 and (found[0].verdict in GOOD) is good, (head, found[-1].evidence.text)
            assert good or found[0].verdict == "REFUTED"


def test_constants_that_may_be_arrays_are_not_declared_as_numbers() -> None:
    head = "Let $x \\sim \\mathcal{N}(0, I_d)$. Let $A$ be a constant."
    found = check_document(f"{head}\n\n$$ \\mathbb{{E}}[A x] = A^\\top \\mathbb{{E}}[x] $$\n", infer=True).steps
    assert all(step.verdict not in GOOD for step in found)
