"""Verdicts on small statements.

What is decided and how: exact values, balls with as many bits as are needed, constructed hypotheses, certified
refutations. Every statement stands beside a near miss, so that a decider that says the same to everything fails here.
"""

from __future__ import annotations

from functools import cache

import pytest
from flint import arb, fmpq

from attention_core.derivation import check_document
from attention_core.derivation.algebra.frames import dot, orthogonal_matrix
from attention_core.derivation.cases.problem import Problem
from attention_core.derivation.check import report_step
from attention_core.derivation.claims import claim_of
from attention_core.derivation.decision.decide import decide
from attention_core.derivation.effort import Effort
from attention_core.derivation.graph.choices import Choices
from attention_core.derivation.graph.nodes import Graph
from attention_core.derivation.graph.numbers import Imprecise, evaluate, precision
from attention_core.derivation.reading.step import Step
from attention_core.derivation.reading.steps import steps_of
from attention_core.derivation.records import StepReport

GOOD = {"PROVED", "EXACT", "AGREES"}


@cache
def checked(text: str) -> StepReport:
    (step,) = check_document(text).steps
    return step


PAIRS = [
    # magnitudes at which float64 would lie
    ("Let $S \\ge 40$.", "1 + e^{-S} > 1", "1 + e^{-S} = 1"),
    ("Let $S \\ge 40$.", "1 - \\frac{1}{1 + e^{-S}} \\le e^{-S}", "1 - \\frac{1}{1 + e^{-S}} \\le e^{-S} - e^{-2 S}"),
    ("Let $x \\in [0, 1]$.", "(10^{30} + x) - 10^{30} = x", "(10^{30} + x) - 10^{30} = 0"),
    # constructed hypotheses
    ("Let $d \\in \\mathbb{N}$, $A \\in \\mathbb{R}^{d \\times d}$ with $A^\\top A = I_d$.", "A A^\\top = I_d", "A = A^\\top"),
    ("Let $A \\in \\mathbb{R}^{2 \\times 2}$ with $A^\\top A = I_2$.", "\\det(A)^2 = 1", "\\det(A) = 1"),
    ("Let $x \\in \\mathbb{R}^{2}$ with $\\|x\\|^2 = 3$.", "x_1^2 + x_2^2 = 3", "x_1 = x_2"),
    ("Let $x \\in \\mathbb{R}^{2}$ with $\\|x\\| = \\sqrt{3}$.", "\\|x\\|^4 = 9", "\\|x\\| = 3"),
    ("Let $n \\in \\mathbb{N}$, $p \\in [0, 1]^{n}$ with $\\mathbf{1}_n^\\top p = 1$.", "p^\\top p \\le 1", "p^\\top p = 1"),
    ("Let $x, y \\in \\mathbb{R}^{3}$ with $x^\\top y = 0$.", "\\|x + y\\|^2 = \\|x\\|^2 + \\|y\\|^2", "\\|x + y\\| = \\|x\\| + \\|y\\|"),
    ("Let $d, n \\in \\mathbb{N}$, $k_1, \\dots, k_n \\in \\mathbb{R}^{d}$, $a, b \\in \\{1, \\dots, n\\}$ be distinct, and "
     "$k_i^\\top k_j = 0$ for $i \\ne j$.", "k_a^\\top k_b = 0", "k_a^\\top k_a = 0"),
    ("Let $d \\in \\mathbb{N}$, $q, k \\in \\mathbb{R}^{d}$ with $q = 3 k$.", "q^\\top k = 3 \\|k\\|^2", "q^\\top k = 9 \\|k\\|^2"),
    ("Let $R \\ge 0$, $x, y \\in \\mathbb{R}$ with $|x| \\le R$ and $|y| \\le R$.", "|x + y| \\le 2 R", "|x + y| \\le R"),
    ("Let $A \\in \\mathbb{R}^{3 \\times 3}$ with $A = A^\\top$.", "A_{12} = A_{21}", "A_{12} = A_{13}"),
    # functions
    ("", "\\operatorname{argmax}([1, 3, 2]) = [0, 1, 0]", "\\operatorname{argmax}([1, 3, 2]) = [1, 0, 0]"),
    ("", "\\operatorname{argmax}([3, 3, 2]) = [\\frac{1}{2}, \\frac{1}{2}, 0]", "\\operatorname{argmax}([3, 3, 2]) = [1, 1, 0]"),
    ("Let $x \\in \\mathbb{R}$.", "\\operatorname{ReLU}(x) = \\frac{x + |x|}{2}", "\\operatorname{ReLU}(x) = x"),
    ("Let $t \\in \\mathbb{R}$.", "\\cos(2 t) = 1 - 2 \\sin(t)^2", "\\cos(2 t) = 2 \\cos(t)"),
    ("Let $x \\ge 0$.", "\\sqrt{x^2} = x", "\\sqrt{x^2} = -x"),
    ("Let $x, y > 0$.", "\\log(x y) = \\log x + \\log y", "\\log(x + y) = \\log x + \\log y"),
    ("Let $n \\in \\mathbb{N}$, $s \\in \\mathbb{R}^{n}$.", "\\max_{i} s_i \\le \\log \\sum_{i=1}^{n} e^{s_i}",
     "\\max_{i} s_i \\ge \\log \\sum_{i=1}^{n} e^{s_i}"),
    # implications, approximations, membership
    ("Let $x, y \\in \\mathbb{R}$.", "x = 2 y \\implies x^2 = 4 y^2", "x^2 = 4 y^2 \\implies x = 2 y"),
    ("Let $x \\in [0, 1]$.", "x^2 \\in [0, 1]", "2 x \\in [0, 1]"),
]  # fmt: skip


@pytest.mark.thorough(table=True)
@pytest.mark.parametrize(("given", "true", "false"), PAIRS)
def test_a_statement_holds_and_its_near_miss_is_refuted(given: str, true: str, false: str) -> None:
    good, bad = (checked(f"{given}\n\n$$ {formula} $$\n") for formula in (true, false))
    assert str(good.verdict) in GOOD, good.evidence.text
    assert bad.verdict == "REFUTED", bad.evidence.text
    assert bad.counterexample is not None and bad.counterexample.left != bad.counterexample.right


def test_an_equivalence_is_checked_both_ways() -> None:
    steps = check_document("Let $x, y \\in \\mathbb{R}$.\n\n$$ x = y \\iff x^2 = y^2 $$\n").steps
    assert [str(s.verdict) in GOOD for s in steps] == [True, False]


def test_within_and_margin_say_what_approximate_signs_claim() -> None:
    text = "Let $x \\in [0, 1]$.\n\n% within: x^2\n\n$$ e^{x} \\approx 1 + x $$\n\n% margin: 3\n\n$$ 4 + x \\gg x $$\n"
    assert [str(s.verdict) in GOOD for s in check_document(text).steps] == [True, True]
    tight = text.replace("within: x^2", "within: x^2 / 3").replace("margin: 3", "margin: 9")
    assert [str(s.verdict) for s in check_document(tight).steps] == ["REFUTED", "REFUTED"]


def test_cases_where_a_side_is_not_defined_are_counted() -> None:
    step = checked("Let $x \\in \\mathbb{R}$.\n\n$$ \\frac{x^2}{x} = x $$\n")
    assert str(step.verdict) in GOOD
    assert step.evidence.figures["undefined"] > 0 and "not defined" in step.evidence.text


def test_a_random_symbol_outside_an_expectation_takes_all_its_values() -> None:
    given = "Let $e \\sim \\mathcal{N}(1, 2)$.\n\n"
    assert str(checked(given + "$$ (e + 1)^2 = e^2 + 2 e + 1 $$\n").verdict) in GOOD
    assert checked(given + "$$ e = 1 $$\n").verdict == "REFUTED"
    assert str(checked(given + "$$ \\mathbb{E}[e^2] = 3 $$\n").verdict) in GOOD


def test_require_raises_the_bar() -> None:
    text = "Let $x, y \\in \\mathbb{R}$.\n\n$$ 2 x y \\le x^2 + y^2 + |x| $$\n\n$$ (x + y)^2 = x^2 + 2 x y + y^2 $$\n"
    assert check_document(text).status == 0
    first, second = check_document(text, require="proved").steps
    assert (first.verdict, first.passed, first.status) == ("AGREES", False, 2)
    assert (second.verdict, second.passed) == ("PROVED", True)


@pytest.mark.thorough(keep=("[12]-Let*",))
@pytest.mark.parametrize(("given", "true", "false"), PAIRS[::3])
@pytest.mark.parametrize("seed", range(1, 6))
def test_verdicts_do_not_depend_on_the_seed(given: str, true: str, false: str, seed: int) -> None:
    for formula, outcome in ((true, GOOD), (false, {"REFUTED"})):
        (step,) = steps_of(f"{given}\n\n$$ {formula} $$\n")[0]
        found = report_step(step, Effort(seed=seed))
        assert str(found.verdict) in outcome, (formula, seed, found.evidence.text)


def test_counterexamples_are_small() -> None:
    for given, _, false in PAIRS:
        example = checked(f"{given}\n\n$$ {false} $$\n").counterexample
        assert example is not None
        assert all(value <= 3 for value in example.values.values() if isinstance(value, int))


def test_orthogonal_matrices_are_orthogonal_and_of_both_signs() -> None:
    signs = set()
    for seed in range(40):
        columns = orthogonal_matrix(2, Choices(seed))
        assert [[dot(a, b) for a in columns] for b in columns] == [[1, 0], [0, 1]]
        signs.add(columns[0][0] * columns[1][1] - columns[0][1] * columns[1][0])
    assert signs == {fmpq(1), fmpq(-1)}


def test_balls_enclose_around_zero() -> None:
    """Squares and roots of balls that hold 0 stay finite; a root that may be of a negative number is refused."""
    graph = Graph()
    x = graph.leaf(("x", (1, 1)))
    square = graph.power(x, graph.const(fmpq(2)))
    root = graph.call("sqrt", square)
    with precision(128):
        (value,) = evaluate(graph, [root], {x: arb(0, 1e-30)})
        assert value.is_finite() and value.contains(0) and value < 1e-29
        with pytest.raises(Imprecise):
            evaluate(graph, [graph.call("sqrt", x)], {x: arb(0, 1e-30)})


def test_time_is_bounded_by_the_effort() -> None:
    (step,) = steps_of("Let $n \\in \\mathbb{N}$, $s \\in \\mathbb{R}^{n}$.\n\n$$ \\|s\\| \\ge s_1 $$\n")[0]
    assert isinstance(step, Step)
    context, claim, extra = claim_of(step)
    found = decide(Problem(context, claim, extra, Effort(seconds=0)))
    assert found.verdict == "UNDECIDED"


FORMS = [
    r"\begin{bmatrix} A & B \end{bmatrix} \begin{bmatrix} C \\ D \end{bmatrix} = A C + B D",
    r"\begin{bmatrix} A & 0 \\ 0 & D \end{bmatrix}^\top = \begin{bmatrix} A^\top & 0 \\ 0 & D^\top \end{bmatrix}",
    r"\sum_{i<j} x_i x_j = \frac{1}{2} \left( \left(\sum_i x_i\right)^2 - \sum_i x_i^2 \right)",
    r"\operatorname{tr}(A A^\top) = \sum_{i,j} A_{ij}^2 = \|A\|^2",
    r"[A W_1, \dots, A W_h] = A [W_1, \dots, W_h]",
    r"A_{1,:} \mathbf{1}_m = \sum_{j} A_{1j}",
    r"\begin{bmatrix} x_1 & & \\ & \ddots & \\ & & x_n \end{bmatrix} = \operatorname{diag}(x)",
    r"\nabla_A \|A C\|^2 = 2 A C C^\top",
    r"\frac{\partial^2 t^4}{\partial t^2} = 12 t^2",
    r"\prod_{i=1}^{n} e^{x_i} = e^{\sum_{i=1}^n x_i}",
    r"\min_i x_i = -\max_i (-x_i)",
    r"\left\| \sum_{i=1}^n k_i \right\|^2 = n",
    r"k_n^\top k_1 \le 1",
]


@pytest.mark.thorough(table=True, leave_out=("*A & B*", "formula1"))
@pytest.mark.parametrize("formula", FORMS)
def test_the_forms_of_the_language_hold_together(formula: str) -> None:
    text = (
        "Let $n, m, d, h \\in \\mathbb{N}$, $A \\in \\mathbb{R}^{n \\times m}$, $B \\in \\mathbb{R}^{n \\times d}$, "
        "$C \\in \\mathbb{R}^{m \\times h}$, $D \\in \\mathbb{R}^{d \\times h}$, $x \\in \\mathbb{R}^{n}$, $t \\in \\mathbb{R}$, "
        "$W_1, \\dots, W_h \\in \\mathbb{R}^{m \\times d}$, $k_1, \\dots, k_n \\in \\mathbb{R}^{d}$ with $k_i \\perp k_j$ for all "
        "$i \\neq j$ and $\\|k_i\\| = 1$ for all $i$.\n\n"
    )
    for step in check_document(f"{text}$$ {formula} $$\n").steps:
        assert str(step.verdict) in GOOD, step.evidence.text
        assert not step.evidence.figures.get("undefined")


@pytest.mark.parametrize(
    ("true", "false"),
    [
        ("1 - e^{-e^{S}} < 1", "1 - e^{-e^{S}} > 1 - e^{-S}  \\implies S > 1"),
        ("1 - e^{-S^3} < 1", "1 - e^{-S^3} < 1 - e^{-S}"),
        ("\\exp(\\exp(100 + S^2)) > 1", "\\exp(\\exp(100 + S^2)) < 1"),
        ("\\exp(\\exp(\\exp(\\|y\\|))) \\ge 1", "\\exp(\\exp(\\exp(\\|y\\|))) \\ge e^{e^{3}}"),
    ],
)
def test_values_beyond_all_precision_are_left_out_and_counted(true: str, false: str) -> None:
    head = "Let $S > 0$, $d \\in \\mathbb{N}$ and $y \\in \\mathbb{R}^{d}$.\n\n"
    good, bad = checked(f"{head}$$ {true} $$\n"), checked(f"{head}$$ {false} $$\n")
    assert good.verdict == "AGREES" and good.evidence.figures["outsized"] > 0, good.evidence.text
    assert "cases with large values, not told apart with 4096 bits, were left out" in good.evidence.text
    assert bad.verdict == "REFUTED", bad.evidence.text


def test_a_step_whose_every_case_is_beyond_all_precision_is_undecided() -> None:
    step = checked("Let $S > 0$.\n\n$$ \\exp(\\exp(\\exp(50 + S))) > 1 $$\n")
    assert step.verdict == "UNDECIDED" and "too large or too close" in step.evidence.text
    step = checked("$$ \\exp(\\exp(\\exp(4))) > 1 + \\exp(\\exp(\\exp(4))) - 1 $$\n")
    assert step.verdict == "UNDECIDED"


@pytest.mark.parametrize(
    ("true", "false"),
    [
        ("\\det(A B) = \\det(A) \\det(B)", "\\det(A) = -\\det(A)"),
        ("A A^{-1} = I_6", "A A^{-1} = A^{-1}"),
        ("\\det(\\operatorname{diag}([1, 2, 3, 4, 5, 6])) = 720", "\\det(2 I_7) = 2"),
        ("\\det(I_{12}) = 1", "\\det(I_{12}) = 12"),
    ],
)
def test_determinants_beyond_five_rows(true: str, false: str) -> None:
    head = "Let $A, B \\in \\mathbb{R}^{6 \\times 6}$.\n\n"
    light = Effort(small=4, tuples=1, large=1)
    (good,) = check_document(f"{head}$$ {true} $$\n", effort=light).steps
    (bad,) = check_document(f"{head}% expect: refuted\n\n$$ {false} $$\n", effort=light).steps
    assert good.verdict in GOOD, good.evidence.text
    assert bad.verdict == "REFUTED", bad.evidence.text


@pytest.mark.thorough(keep=("(0, 1)",))
@pytest.mark.parametrize("ends", ["(0, 1)", "(0, 1]", "(0, 2)"])
def test_an_entry_that_follows_from_an_equation_lies_inside_an_open_interval(ends: str) -> None:
    head = f"Let $n \\in \\mathbb{{N}}$, $n \\ge 2$ and $p \\in {ends}^n$ with $\\mathbf{{1}}_n^\\top p = 1$.\n\n"
    for claim in ("p_1 > 0", "p_n > 0", "p_n < 1", "\\prod_{i=1}^n p_i > 0"):  # 0 was drawn for the last entry
        step = checked(f"{head}$$ {claim} $$\n")
        assert step.verdict == "AGREES", (claim, step.evidence.text)
    assert checked(f"{head}$$ p_1 > p_n $$\n").verdict == "REFUTED"
