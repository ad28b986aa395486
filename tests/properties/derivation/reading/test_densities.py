r"""Laws as joint tables: the rules of probability hold, and what no rule gives stays open."""

from __future__ import annotations

import pytest

from attention_core.derivation import StepReport, check_document
from attention_core.derivation.check import document_steps
from attention_core.derivation.effort import Effort
from attention_core.derivation.latex.parse import parse_statement
from attention_core.derivation.latex.printer import to_latex
from attention_core.derivation.reading.densities import (
    exchanges_states,
    may_be_cross_entropies,
    names_entropies,
    shows_laws,
    write_with_tables,
)
from attention_core.derivation.reading.step import Step
from attention_core.derivation.records import GOOD, Verdict

BOUND = r"\mathbb{E}_{q(z|x)}\left[\log \frac{p(x, z)}{q(z|x)}\right]"
GAP = r"D_{KL}(q(z|x) \| p(z|x))"


def last(display: str, words: str = "We have") -> StepReport:
    return check_document(f"{words}\n\n$$ {display} $$\n", effort=Effort(seconds=3), infer=True).steps[-1]


@pytest.mark.parametrize(
    ("right", "false"),
    [
        (r"p(z|x) = \frac{p(x|z) p(z)}{p(x)}", r"p(z|x) = \frac{p(x|z) p(x)}{p(z)}"),
        (r"P(A \cap B) = P(A|B) P(B)", r"P(A \cap B) = P(A|B) P(A)"),
        (r"\Pr(A \mid B) \Pr(B) = \Pr(B \mid A) \Pr(A)", r"\Pr(A \mid B) \Pr(A) = \Pr(B \mid A) \Pr(B)"),
        (r"1 - \sum_z p(z|x) = 0", r"1 - \sum_x p(z|x) = 0"),
        (r"\frac{p(x)}{2} = \frac{1}{2} \int p(x|z) p(z) dz", r"\frac{p(x)}{2} = \frac{1}{2} \int p(x|z) dz"),
        (r"p(z|x) = \frac{p(x|z) p(z)}{\sum_z p(x|z) p(z)}", r"p(z|x) = \frac{p(x|z)}{\sum_z p(x|z) p(z)}"),
        (r"p(x, y | z) = p(x | y, z) p(y | z)", r"p(x, y | z) = p(x | z) p(y | z)"),
        (rf"\log p(x) = {BOUND} + {GAP}", rf"\log p(x) = {BOUND} - {GAP}"),
        (rf"\log p(x) \ge {BOUND}", rf"\log p(x) \le {BOUND}"),
        (r"D_{KL}(q \| p) \ge 0", r"D_{KL}(q \| p) \ge 1"),
        (
            rf"{GAP} - \log p(x) = \mathbb{{E}}_q[\log q(z|x) - \log p(x, z)]",
            rf"{GAP} + \log p(x) = \mathbb{{E}}_q[\log q(z|x) - \log p(x, z)]",
        ),
        (
            r"\mathbb{E}_{z \sim q(z|x)}[f(z) + g(x)] = \mathbb{E}_{z \sim q(z|x)}[f(z)] + g(x)",
            r"\mathbb{E}_{z \sim q(z|x)}[f(z) g(z)] = \mathbb{E}_{z \sim q(z|x)}[f(z)] \mathbb{E}_{z \sim q(z|x)}[g(z)]",
        ),
    ],
)
def test_rules_of_probability_hold_and_their_twins_do_not(right: str, false: str) -> None:
    step = last(right)
    assert step.verdict in GOOD and "as probabilities" in step.evidence.text, step.evidence.text
    twin = last(false)
    assert twin.verdict not in GOOD, twin.evidence.text


def test_a_sum_over_a_table_is_never_more_than_agreement() -> None:
    assert last(r"p(z|x) p(x) = p(x|z) p(z)").verdict is Verdict.PROVED
    assert last(r"1 - \sum_z p(z|x) = 0").verdict is Verdict.AGREES


ENTROPIES = "# Entropy\n\nThe mutual information is"


@pytest.mark.thorough(leave_out=("H(X) - H(X *", "*sum*", "H(X, Y) *le*"))
@pytest.mark.parametrize(
    ("right", "false"),
    [
        (r"H(X, Y) - H(X) = H(Y \mid X)", r"H(X, Y) - H(Y) = H(Y \mid X)"),
        (r"H(X) - H(X \mid Y) = H(Y) - H(Y \mid X)", r"H(X) + H(X \mid Y) = H(Y) + H(Y \mid X)"),
        (r"H(X, Y) \le H(X) + H(Y)", r"H(X, Y) \ge H(X) + H(Y)"),
        (r"H(X) + H(Y) - H(X, Y) - I(X; Y) = 0", r"H(X) + H(Y) - H(X, Y) + I(X; Y) = 0"),
        (
            r"\sum_{x, y} p(x, y) \log \frac{p(x | y)}{p(x)} = H(X) - H(X | Y)",
            r"\sum_{x, y} p(x, y) \log \frac{p(x)}{p(x | y)} = H(X) - H(X | Y)",
        ),
        (r"D(p \| q) \ge 0", r"D(p \| q) \ge 2"),
    ],
)
def test_entropies_are_those_of_a_law(right: str, false: str) -> None:
    step = last(right, ENTROPIES)
    assert step.verdict is Verdict.AGREES and "as probabilities" in step.evidence.text, step.evidence.text
    twin = last(false, ENTROPIES)
    assert twin.verdict not in GOOD, twin.evidence.text


@pytest.mark.parametrize(
    ("display", "words"),
    [
        (r"H(X, Y) - H(X) = H(Y \mid X)", "The homotopy is"),  # no entropy
        (r"H(X) - H(X, Y) \le 0", "The differential entropy is"),  # it may be negative
        (r"H(X | Y) \ge 0", "For normal noise the entropy is"),
        (r"I(X; Y) \le H(X)", "For waveforms the mutual information and the entropy obey"),
        (r"H(P, Q) = H(Q, P)", "The entropies of the codes are"),  # cross-entropies
        (r"H(x, y) - H(x) = H(y \mid x)", "The entropy is"),  # of values
    ],
)
def test_what_may_be_another_h_stays_open(display: str, words: str) -> None:
    step = last(display, words)
    assert step.verdict not in GOOD, step.evidence.text


@pytest.mark.parametrize(
    "display",
    [
        r"p_\theta(x|z) p(z) = p_\theta(x, z)",  # two laws
        r"\nabla_\theta \sum_z p(z|x) = 0",  # how the law depends on its parameter is not said
        r"\mathbb{E}_q[f(z)] \sum_y q(y) = f(z)",  # over what is not said
        r"p(x|z) p(z) = p(z|x) p(x) + p (z - z)",  # a number as well
        r"\mathbb{E}_{q(x_{1:T} | x_0)}[p(x_{0:T})] = p(x_{0:T})",  # x_{1:T} is a part of x_{0:T}
        r"\mathbb{E}_{q(x | y)}[p(x_1)] = p(x_1)",
        r"\int_0^1 p(z|x) dz = 1",
        r"p(x_1, \dots, x_n | z) = p(x_1|z) p(x_2, \dots, x_n | z)",
        r"p(x|z) > p(x, z)",
        r"D_{KL}(q \| p) \ne D_{KL}(p \| q)",
        r"\mathbb{E}_{x \sim p}[f(x)] = \sum_x p(x|z) f(x)",  # x has the law p(x)
        r"-\mathbb{E}_p[\log p(y|x)] = -\sum_y p(y|x) \log p(y|x)",  # over both
        r"\mathbb{E}_q[\log \frac{q(z|x)}{q(z)}] = D_{KL}(q(z|x) \| q(z))",
        r"\mathbb{E}_q[\log \frac{q(x_T|x_0)}{p(x_T)}] = D_{KL}(q(x_T|x_0) \| p(x_T))",
        r"\mathbb{E}_{q(z|x)}[\log p(x|z)] = \mathbb{E}_{q(z|x)}[\log q(z|x)] - D_{KL}(q(z|x) \| p)",  # the prior
        r"D_{KL}(q(z|x) \| q) = \mathbb{E}_{q(z|x)}[\log q(z|x) - \log q(w|z)]",
        r"\mathbb{E}_{q(z|x)}[\log q(z|x) - \log p(x)] - D_{KL}(q(z|x) \| p) = 0",
        r"\mathbb{E}_q[\log q(z|x) - \log q(z)] = D_{KL}(q(z|x) \| q(z))",
        r"D_{KL}(q(z|x) \| q(z)) = \mathbb{E}_q[\log q(z|x) - \log q(z)]",
        r"\mathbb{E}_{p(x)}[X^2] = X^2",  # X is x
        r"\mathbb{E}_{q(z|x)}[\mathcal{L}] = \mathcal{L}",
        r"\mathbb{E}_{p(x)}[x e] = e \mathbb{E}_{p(x)}[x]",  # e may be an error
        r"\mathbb{E}_{p(x|\theta)}[s(\theta)] = s(\theta)",
        r"\mathbb{E}_{q(z|x)}[z + \epsilon] = \mathbb{E}_{q(z|x)}[z] + \epsilon",
        r"\mathbb{E}_{p(x)}[x > 0] = \mathbb{E}_{p(x)}[x]",
        r"-\int p(x) \log p(x) dx \ge 0",  # of a density
        r"\mathbb{E}_{q(z|x)}[\log q(z|x)] \le 0",
        r"p(x, y) \le \int p(x, y) dy",
        r"\sum_{x \in A} p(x|y) = 1",  # of some values
        r"\int p(x) f(x) dx = \sum_x p(x) f(x)",
        r"\sum_j P(i, j) = \sum_j P(j, i)",
        r"\int p(x'|x) p(x) dx = p(x')",  # of a stationary law
        r"p(x; \theta) = p(x|\theta) p(\theta)",
        r"\sum_{i=1}^n w_i \mathbb{E}_{p_i(x)}[f(x)] = \mathbb{E}_{p_i(x)}[f(x)] \sum_{i=1}^n w_i",
        r"\sum_{i=1}^n \sum_{j=1}^n f(x_i) p(x_i|y_j) p(y_j) = \sum_{i=1}^n \sum_{j=1}^n f(x_i) p(x_j, y_i)",
        r"\sum_{s, a} Q(s, a) = 1",  # of values
    ],
)
def test_what_no_rule_gives_stays_open(display: str) -> None:
    step = last(display)
    assert step.verdict not in GOOD, step.evidence.text


@pytest.mark.parametrize(
    "display",
    [
        r"\mathbb{E}_{x \sim p}[p(y|x)] + p(x) = \sum_x p(x) p(y|x) + p(x)",
        r"\mathbb{E}_{p(x)}[a f(x) + b g(x)] = a \mathbb{E}_{p(x)}[f(x)] + b \mathbb{E}_{p(x)}[g(x)]",
        r"\mathbb{E}_{q(z|x)}[\log p(x)] = \log p(x)",
        r"\mathbb{E}_{p(x)}[f(x)]^2 \le \mathbb{E}_{p(x)}[f(x)^2]",
        r"\sum_{z \in \mathcal{Z}} p(x|z) p(z) = p(x)",
        r"\sum_{s'} P(s'|s, a) = 1",
        r"p(a|b, c) \; p(b|c) = p(a, b|c)",
        r"-\sum_x p(x) \log p(x) \ge 0",
        r"D_{KL}(P \| Q) - \sum_x P(x) \log \frac{P(x)}{Q(x)} = 0",
        r"\mathbb{E}_{p(x)}[D_{KL}(p(y|x) \| q(y|x))] = D_{KL}(p(x, y) \| q(x, y)) - D_{KL}(p(x) \| q(x))",
    ],
)
def test_what_holds_of_all_laws_is_accepted(display: str) -> None:
    step = last(display)
    assert step.verdict in GOOD and "as probabilities" in step.evidence.text, step.evidence.text


@pytest.mark.parametrize(
    ("words", "display"),
    [
        ("Let $p(x) = 2 x$.", r"\sum_x p(x) = 1"),
        ("Here $p(x) = e^{-x}$.", r"\sum_x p(x) = 1"),
        ("The density $p(x)$ is unnormalized.", r"\sum_x p(x) = 1"),
        ("For the polynomial $P(x)$", r"\int P(x) dx = 1"),
        ("The polynomial $P(x)$ is odd.\n\nIt is\n\nof low\n\ndegree and", r"\int P(x) dx = 1"),
    ],
)
def test_a_function_is_not_a_law(words: str, display: str) -> None:
    step = last(display, words)
    assert step.verdict not in GOOD, step.evidence.text
    assert last(display, "Polynomials of $n$ come later.\n\nThe law has\n\nonly\n\nthis:").verdict in GOOD


def test_a_bar_shows_a_law_that_is_declared() -> None:
    for words in ("Let $p(x) = 2 x$.", "Here $p(x) = e^{-x}$.", "The densities are unnormalized."):
        assert last("p(x|z) p(z) = p(z|x) p(x)", words).verdict in GOOD


def test_laws_are_shown_by_a_bar_or_an_average() -> None:
    for display, shown in (
        (r"\sum_x p(x) = 1", False),
        (r"\sum_x p(x|y) = 1", True),
        (r"\mathbb{E}_{p(x)}[f(x)] = \sum_x p(x) f(x)", True),
        (r"D_{KL}(p(x) \| q(x)) \ge 0", True),
        (r"\mathbb{E}_{q(x)}[p(x) / q(x)] = 1", False),
    ):
        (step,) = document_steps(f"$$ {display} $$\n", infer=True)[1]
        assert isinstance(step, Step) and shows_laws(step) is shown, display


def test_entropies_of_one_law_under_another() -> None:
    for display, found in ((r"H(T, S) = H(S, T)", True), (r"H(X, Y) = H(X) + H(Y | X)", False), ("H(X) = 1", False)):
        (step,) = document_steps(f"$$ {display} $$\n", infer=True)[1]
        assert isinstance(step, Step) and may_be_cross_entropies(step) is found


def test_the_balance_of_a_chain_is_not_bayes_rule() -> None:
    swapped = "p(x'|x) p(x) = p(x|x') p(x')"
    assert last(swapped, "The chain satisfies detailed balance.").verdict not in GOOD
    assert last("p(y|x) p(x) = p(x|y) p(y)", "The random walk is at rest.").verdict not in GOOD
    assert last("p(y|x) p(x) = p(x|y) p(y)", "By Bayes").verdict in GOOD
    assert last("p(x_{t}|x_{s}) p(x_{s}) = p(x_{s}|x_{t}) p(x_{t})", "A Markov chain runs forward.").verdict in GOOD


@pytest.mark.parametrize(
    ("display", "found"), [("p(x'|x) p(x) = p(x|x') p(x')", True), ("p(x|z) = p(x, z) / p(z)", False)]
)
def test_states_that_are_exchanged(display: str, found: bool) -> None:
    (step,) = document_steps(f"$$ {display} $$\n", infer=True)[1]
    assert isinstance(step, Step) and exchanges_states(step) is found


def test_steps_with_entropies_are_known() -> None:
    for display, found in ((r"H(X, Y) - H(X) = H(Y | X)", True), ("p(x|z) = p(x, z) / p(z)", False)):
        (step,) = document_steps(f"$$ {display} $$\n", infer=True)[1]
        assert isinstance(step, Step) and names_entropies(step) is found


def test_a_law_is_written_as_a_quotient() -> None:
    (chain,) = parse_statement(r"p(x|z) = 1", 1).chains
    written = write_with_tables(chain)
    assert written is not None and to_latex(written.exprs[0]) == r"\frac{p(x, z)}{p(z)}"
    (chain,) = parse_statement(r"p(x) = p(x, z)", 1).chains
    assert write_with_tables(chain) is None  # nothing is given, and nothing summed
