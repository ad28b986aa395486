"""MathML of syntax trees.

Formulas as MathML: well-formed, with the children each element needs, nothing lost, everything escaped.
The formulas are those of all documents of derivations/, and small ones whose rendering is written out here.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from attention_core.derivation.latex.mathml import GREEK, amount, math, mathml, name, relation, statement
from attention_core.derivation.latex.parse import parse_statement
from attention_core.derivation.latex.syntax import names_in
from attention_core.derivation.reading.step import Step
from attention_core.derivation.reading.steps import steps_of

DOCUMENTS = sorted((Path(__file__).resolve().parents[4] / "derivations").glob("*.md"))
CHILDREN = {"msub": 2, "msup": 2, "msubsup": 3, "mfrac": 2, "mroot": 2, "munder": 2, "mover": 2, "munderover": 3}


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        (r"x^2", "<msup><mi>x</mi><mn>2</mn></msup>"),
        (r"a_i^\top", "<msubsup><mi>a</mi><mi>i</mi><mo>⊤</mo></msubsup>"),
        (r"\frac{1}{\alpha}", "<mfrac><mn>1</mn><mi>α</mi></mfrac>"),
        (r"0.25", "<mn>0.25</mn>"),
        (r"a - b", "<mrow><mi>a</mi><mo>−</mo><mi>b</mi></mrow>"),
        (r"\sqrt{h} \le \infty", "<mrow><msqrt><mi>h</mi></msqrt><mo>≤</mo><mi>∞</mi></mrow>"),
        (r"\bar{v}", "<mover><mi>v</mi><mo>¯</mo></mover>"),
        (
            r"\sum_{i=1}^{n} x_i",
            "<mrow><munderover><mo>∑</mo><mrow><mi>i</mi><mo>=</mo><mn>1</mn></mrow><mi>n</mi></munderover>"
            "<msub><mi>x</mi><mi>i</mi></msub></mrow>",
        ),
        (
            r"\binom{n}{k}^2",
            "<msup><mrow><mo fence='true'>(</mo><mfrac linethickness='0'><mi>n</mi><mi>k</mi></mfrac>"
            "<mo fence='true'>)</mo></mrow><mn>2</mn></msup>",
        ),
        (r"\|x\|", "<mrow><mo fence='true'>‖</mo><mi>x</mi><mo fence='true'>‖</mo></mrow>"),
    ],
)
def test_small_formulas(formula: str, expected: str) -> None:
    assert statement(parse_statement(formula)) == expected


@pytest.mark.thorough(leave_out=("README", "error_budget", "averaging", "merged_parts", "attention"))
@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.stem)
def test_every_step_of_the_documents_is_well_formed(path: Path) -> None:
    steps = [s for s in steps_of(path.read_text(encoding="utf-8"))[0] if isinstance(s, Step)]
    assert steps
    for step in steps:
        tree = ET.fromstring(math(mathml(step.left) + relation(step.op) + mathml(step.right)))
        for element in tree.iter():
            if element.tag in CHILDREN:
                assert len(element) == CHILDREN[element.tag], ET.tostring(element)
            assert element.tag not in ("mn", "mi") or element.text
        shown = "".join(tree.itertext())
        for symbol in names_in(step.left) | names_in(step.right):
            assert GREEK.get(symbol[1:], symbol if len(symbol) == 1 else "") in shown


def test_names_are_escaped() -> None:
    assert name("\\text{<script>}") == "<mi mathvariant='normal'>&lt;script&gt;</mi>"
    assert name("<") == "<mi>&lt;</mi>"


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (3, "<mn>3</mn>"),
        ("-1/10", "<mrow><mo>−</mo><mfrac><mn>1</mn><mn>10</mn></mfrac></mrow>"),
        ("0.731", "<mn>0.731</mn>"),
        ("<b>", "<mtext>&lt;b&gt;</mtext>"),
    ],
)
def test_values_of_a_counterexample(found: object, expected: str) -> None:
    assert amount(found) == expected
    cell = f"<mtd>{expected}</mtd>"
    matrix = f"<mtable><mtr>{cell}{cell}</mtr></mtable>"
    assert amount([[found, found]]) == f"<mrow><mo fence='true'>[</mo>{matrix}<mo fence='true'>]</mo></mrow>"


@pytest.mark.parametrize(
    ("symbol", "shown"),
    [
        (r"p(x_{t} \mid x_{0})", "p(xt∣x0)"),
        (r"D_{\text{KL}}(P \parallel Q)", "DKL(P∥Q)"),
        (r"((\frac{y}{s}))", "ys"),
        (r"((a - b))", "(a−b)"),
        (r"\frac{1}{a}", "1a"),
        (r"\int_{0}^{1} (q (x),x)", "∫01q(x)dx"),
        (r"E_{x \sim q}[\log(q (x))]", "Ex∼q[log(q(x))]"),
        (r"p(\cdot)", "p(⋅)"),
        (r"\nabla", "∇"),
    ],
)
def test_a_formula_that_is_the_name_of_a_symbol_is_shown_as_a_formula(symbol: str, shown: str) -> None:
    text = "".join(ET.fromstring(math(name(symbol))).itertext())
    assert re.sub("[\u2061\u2062]", "", text).replace("𝔼", "E") == shown


@pytest.mark.parametrize("symbol", [r"\text{repeated row}", r"\frac{1", "x(", r"\text{a(b)}"])
def test_other_names_stay_words(symbol: str) -> None:
    text = "".join(ET.fromstring(math(name(symbol))).itertext())
    assert text in symbol and name(symbol).count("<mi") == 1


def test_integrals_inner_products_and_big_operators_have_their_signs() -> None:
    read = "".join(ET.fromstring(math(statement(parse_statement(r"\int_0^1 \int x y \, dx \, dy")))).itertext())
    assert re.sub("[\u2061\u2062]", "", read) == "∫01∫xydxdy"
    read = "".join(ET.fromstring(math(statement(parse_statement(r"\langle x, y \rangle = \bigcup_i A_i")))).itertext())
    assert read == "⟨x,y⟩=⋃iAi"
