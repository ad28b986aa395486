"""Quantities that are defined entry by entry: as a whole, and as what is differentiated by."""

from __future__ import annotations

import pytest

from attention_core.derivation import check_document
from attention_core.derivation.elaborate.intermediates import definition_of, gather_entries, goes_through, intermediate
from attention_core.derivation.records import Verdict
from attention_core.derivation.terms.context import Symbol
from attention_core.derivation.terms.terms import ONE, SCALAR, Size, Term, matrix

N, M = Size.symbol("n"), Size.symbol("m")
VALUE = Term("int", (), SCALAR, "i")

NORM = (
    r"Let $d \in \mathbb{N}$, $x, \gamma, \beta \in \mathbb{R}^{d}$, $\varepsilon > 0$ and $i, j \in \{1, \dots, d\}$. "
    r"Put $\mu := \frac{1}{d} \sum_{k=1}^{d} x_k$ and $\sigma := \sqrt{\frac{1}{d} \sum_{k=1}^{d} (x_k - \mu)^2 + "
    r"\varepsilon}$. Put $\hat{x}_i := \frac{x_i - \mu}{\sigma}$ and $y_i := \gamma_i \hat{x}_i + \beta_i$. "
    r"Let $L \colon y \to \mathbb{R}$."
)
TABLE = (
    r"Let $n, m \in \mathbb{N}$, $S \in \mathbb{R}^{n \times m}$, $V \in \mathbb{R}^{m \times n}$, "
    r"$i, k \in \{1, \dots, n\}$ and $j \in \{1, \dots, m\}$. Put $A_{ij} := \exp(S_{ij})$. Put $O := A V$. "
    r"Let $L \colon O \to \mathbb{R}$."
)
RIGHT = Verdict.PROVED, Verdict.EXACT, Verdict.AGREES


def definition(*ranges: tuple[Size, Size]) -> Symbol:
    return Symbol(
        "y", "definition", 1, 1, None, *ranges[0], term=VALUE, params=("i", "j")[: len(ranges)], ranges=ranges
    )


def test_shapes_of_wholes() -> None:
    vector, table = gather_entries(definition((ONE, N))), gather_entries(definition((ONE, N), (ONE, M)))
    assert vector is not None and vector.type == matrix(N, ONE)
    assert table is not None and table.type == matrix(N, M)
    assert gather_entries(definition((Size.number(0), N))) is None  # entries count from 1


def test_what_a_whole_and_its_members_are_defined_as() -> None:
    whole = gather_entries(definition((ONE, N)))
    assert whole is not None
    member = Term("bind", (VALUE, VALUE), SCALAR, ("i",))
    assert definition_of(member) == (VALUE, ("i",)) == definition_of(Term("bind", (whole,), whole.type, ()))
    assert intermediate(Term("entry", (member, VALUE, VALUE), SCALAR)) is member
    assert goes_through(whole, member) and not goes_through(VALUE, member)


def verdict(text: str, step: str) -> Verdict:
    found = check_document(f"All hypotheses are declared as formulas. {text}\n\n$$ {step} $$\n").steps[-1]
    assert found.verdict is not Verdict.UNREADABLE, found.evidence.text
    return found.verdict


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (r"\frac{\partial L}{\partial \hat{x}_i} = \gamma_i \frac{\partial L}{\partial y_i}",
         r"\frac{\partial L}{\partial \hat{x}_i} = \beta_i \frac{\partial L}{\partial y_i}"),
        (r"\frac{\partial L}{\partial \hat{x}} = \gamma \odot \frac{\partial L}{\partial y}",
         r"\frac{\partial L}{\partial \hat{x}} = \frac{\partial L}{\partial y}"),
        (r"\frac{\partial y_i}{\partial \hat{x}_j} = \gamma_i \delta_{ij}",
         r"\frac{\partial y_i}{\partial \hat{x}_j} = \gamma_i"),
        (r"\frac{\partial \hat{x}_i}{\partial \sigma} = -\frac{x_i - \mu}{\sigma^2}",
         r"\frac{\partial \hat{x}_i}{\partial \sigma} = 0"),
        (r"\sum_{k=1}^{d} \frac{\partial L}{\partial x_k} = 0",
         r"\sum_{k=1}^{d} \frac{\partial L}{\partial \hat{x}_k} = 0"),
        (r"y^\top \mathbf{1}_d = \sum_{k=1}^{d} y_k", r"y^\top y = \sum_{k=1}^{d} y_k"),
    ],
)  # fmt: skip
def test_layer_norm_entry_by_entry(right: str, wrong: str) -> None:
    assert verdict(NORM, right) in RIGHT
    assert verdict(NORM, wrong) is Verdict.REFUTED


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (r"\frac{\partial L}{\partial A_{ij}} = \sum_{l=1}^{n} \frac{\partial L}{\partial O_{il}} V_{jl}",
         r"\frac{\partial L}{\partial A_{ij}} = \frac{\partial L}{\partial O_{ii}} V_{ji}"),
        (r"\frac{\partial L}{\partial A} = \frac{\partial L}{\partial O} V^\top",
         r"\frac{\partial L}{\partial A} = A"),
        (r"\frac{\partial L}{\partial S_{ij}} = A_{ij} \frac{\partial L}{\partial A_{ij}}",
         r"\frac{\partial L}{\partial S_{ij}} = S_{ij} \frac{\partial L}{\partial A_{ij}}"),
    ],
)  # fmt: skip
def test_matrices_entry_by_entry(right: str, wrong: str) -> None:
    assert verdict(TABLE, right) in RIGHT
    assert verdict(TABLE, wrong) is Verdict.REFUTED


def test_a_quantity_is_held_where_nothing_is_made_of_it() -> None:
    found = check_document(f"{NORM}\n\n$$ \\frac{{\\partial \\mu}}{{\\partial y_i}} = 0 $$\n").steps[-1]
    assert found.verdict is Verdict.UNREADABLE and "not made of it" in found.evidence.text
