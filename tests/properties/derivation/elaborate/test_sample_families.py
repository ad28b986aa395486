r"""Samples declared as a family: $x^{(1)}, \dots, x^{(n)}$, whose members are written $x^{(i)}$."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.elaborate.sample_families import label_of
from attention_core.derivation.terms.context import Context, Symbol
from attention_core.derivation.terms.terms import ONE, SCALAR, Size
from attention_core.derivation.words.caveats import chains_of, declared_names

SAMPLES = (
    "Let $n, d \\in \\mathbb{N}$, $w, x \\in \\mathbb{R}^d$, $x^{(1)}, \\dots, x^{(n)} \\in \\mathbb{R}^d$ and "
    "$y^{(1)}, \\dots, y^{(n)} \\in \\{0, 1\\}$.\n\n"
)
GOOD = {"PROVED", "EXACT", "AGREES"}


def verdicts(text: str, infer: bool = False) -> list[str]:
    return [str(step.verdict) for step in check_document(text, infer=infer).steps]


@pytest.mark.parametrize("infer", [False, True])
@pytest.mark.parametrize(
    "true",
    [
        r"\sum_{i=1}^n x^{(i)} = x^{(1)} + \sum_{i=2}^n x^{(i)}",
        r"\sum_{i=1}^n \sum_{j=1}^d w_j x_j^{(i)} + w^\top x = w^\top (x + \sum_i x^{(i)})",
        r"\sum_i (y^{(i)})^2 = \sum_i y^{(i)}",
        r"\nabla_w \sum_{i=1}^n (w^\top x^{(i)} - y^{(i)})^2 = 2 \sum_{i=1}^n (w^\top x^{(i)} - y^{(i)}) x^{(i)}",
    ],
)
def test_what_holds_of_declared_samples_is_accepted(true: str, infer: bool) -> None:
    assert set(verdicts(f"{SAMPLES}$$ {true} $$\n", infer)) <= GOOD


@pytest.mark.parametrize("infer", [False, True])
@pytest.mark.parametrize(
    "false",
    [
        r"\sum_{i=1}^n x^{(i)} = n x^{(1)}",
        r"\nabla_w \sum_{i=1}^n (w^\top x^{(i)} - y^{(i)})^2 = \sum_{i=1}^n (w^\top x^{(i)} - y^{(i)}) x^{(i)}",
    ],
)
def test_what_is_false_of_declared_samples_is_refuted(false: str, infer: bool) -> None:
    assert verdicts(f"{SAMPLES}$$ {false} $$\n", infer) == ["REFUTED"]


def test_a_range_declares_a_family_too() -> None:
    head = "Let $n, d \\in \\mathbb{N}$ and $x^{(i)} \\in \\mathbb{R}^d$ for $i = 1, \\dots, n$.\n\n"
    assert verdicts(f"{head}$$ \\sum_{{i=1}}^n x^{{(i)}} = \\sum_j x^{{(j)}} $$\n") == ["PROVED"]


def test_hypotheses_and_laws_of_samples_count() -> None:
    head = "Let $n, d \\in \\mathbb{N}$ and $x^{(1)}, \\dots, x^{(n)} \\in \\mathbb{R}^d$ with $\\|x^{(i)}\\| = 1$ for all $i$.\n\n"
    assert set(verdicts(f"{head}$$ \\sum_{{i=1}}^n \\|x^{{(i)}}\\|^2 = n $$\n")) <= GOOD
    again = "Let $x^{(1)}, \\dots, x^{(n)} \\in \\mathbb{R}^d$.\n\n"
    assert verdicts(f"{head}{again}Hence\n\n$$ \\sum_{{i=1}}^n \\|x^{{(i)}}\\|^2 = n $$\n") == ["REFUTED"]
    drawn = (
        "Let $n, d \\in \\mathbb{N}$, $w \\in \\mathbb{R}^d$ and $x^{(1)}, \\dots, x^{(n)} \\sim "
        "\\mathcal{N}(0, I_d)$ independent. Let $i \\in [n]$.\n\n"
    )
    assert set(verdicts(f"{drawn}$$ \\mathbb{{E}}[w^\\top x^{{(i)}}] = 0 $$\n")) <= GOOD


def test_a_definition_with_a_label_is_one_of_all_members() -> None:
    head = f"{SAMPLES}Put $z^{{(i)}} := w^\\top x^{{(i)}}$.\n\n"
    assert verdicts(f"{head}$$ \\sum_i z^{{(i)}} = w^\\top \\sum_i x^{{(i)}} $$\n") == ["PROVED"]
    assert verdicts(f"{head}$$ z^{{(1)}} = 2 w^\\top x^{{(1)}} $$\n") == ["REFUTED"]


def test_a_label_of_no_family_stays_a_label() -> None:
    head = "Let $n \\in \\mathbb{N}$ and $W^{(1)}, W^{(2)} \\in \\mathbb{R}^{n \\times n}$.\n\n"
    assert verdicts(f"{head}$$ W^{{(1)}} + W^{{(2)}} = W^{{(2)}} + W^{{(1)}} $$\n") == ["PROVED"]


@pytest.mark.parametrize("member", ["x^{(i)}", "x_j^{(i)}"])
def test_an_undeclared_sample_says_what_to_write(member: str) -> None:
    head = "Let $n, d \\in \\mathbb{N}$ and $j \\in [d]$.\n\n"
    (step,) = check_document(f"{head}$$ \\sum_{{i=1}}^n {member} = 0 $$\n", infer=False).steps
    assert step.verdict == "UNREADABLE"
    assert r"write 'Let $x^{(1)}, \dots, x^{(n)} \in \mathbb{R}^d$'" in step.evidence.text
    (step,) = check_document("$$ W^{(2)} = 3 $$\n", infer=False).steps
    assert r"'Let $W^{(2)} \in \mathbb{R}$'" in step.evidence.text


def test_words_about_a_sample_are_about_its_family() -> None:
    context = Context()
    context.declare(Symbol(r"x^{(\cdot)}", "family", 1, 0, SCALAR, ONE, Size.symbol("n")))
    assert declared_names(context, r"\|x^{(i)}\| = 1", 1) == {r"x^{(\cdot)}"}
    assert declared_names(context, r"x_1", 1) == frozenset()
    words = "All of them are normalised so that $\\|x^{(i)}\\|$ is one.\n\n"
    assert verdicts(f"{SAMPLES}{words}$$ \\sum_{{i=1}}^n \\|x^{{(i)}}\\| = n $$\n") == ["UNDECIDED"]


def test_a_label_is_one_expression_in_round_brackets() -> None:
    ((first, second),) = [one.exprs for one in chains_of(r"W^{(l - 1)} = W^{[l]}", 1)]
    found = label_of(first)
    assert found is not None and found[0] == "W" and label_of(second) is None
