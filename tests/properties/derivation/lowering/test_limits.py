r"""`\lim`, `\to`, `% as:`.

Limits are decided by expansions: true ones agree, false ones are refuted, what has no expansion stays undecided.
Some claims look true at every finite place one would try and are false, and the other way round.
"""

from __future__ import annotations

import pytest

from attention_core.derivation import StepReport, check_document
from attention_core.derivation.effort import Effort

HEAD = r"""Let $n, d \in \mathbb{N}$, $n \ge 3$, $S > 0$, $x, y, a, b \in \mathbb{R}$, $a > 0$, $u \in \mathbb{R}^{d}$.
Let $\epsilon \sim \mathcal{N}(1, 1/2)$ and $\theta \sim \operatorname{Uniform}[0, 1]$. Let $r \sim \mathcal{N}(x, a)$.
Let $\zeta, \eta \sim \mathcal{N}(0, 1)$ be independent.
"""


def step(formula: str, moves: str = "", seed: int = 0, head: str = HEAD) -> StepReport:
    option = f"% as: {moves}\n\n" if moves else ""
    (found,) = check_document(f"{head}\n{option}$$ {formula} $$\n", effort=Effort(seed=seed)).steps
    return found


FAR = r"S \to \infty"
TRUE = [
    (r"\frac{1}{2+(n-2)e^{-S}} \approx \frac12", FAR),
    (r"\lim_{S \to \infty} \frac{1}{2+(n-2)e^{-S}} = \frac12", ""),
    (r"\lim_{n \to \infty} \left(1+\frac{x}{n}\right)^n = e^x", ""),
    (r"\lim_{x \to 0} \frac{e^x - 1}{x} = 1", ""),
    (r"\lim_{x \to 0} \frac{1 - \cos(x)}{x^2} = \frac12", ""),
    (r"\lim_{S \to \infty} \left(\sqrt{S^2+S} - S\right) = \frac12", ""),
    (r"\frac{1}{S}\log\left(e^{S x}+e^{S y}\right) \to \max(x, y)", FAR),
    (r"\operatorname{softmax}(S u) \approx \operatorname{argmax}(u)", FAR),
    (r"\log(1 + e^{-S}) \approx e^{-S}", FAR),
    (r"S^2 + S \approx S^2", FAR),
    (r"(n-2) e^{-2\log n} \to 0", r"n \to \infty"),
    (r"\tanh(S) \to 1", FAR),
    (r"\operatorname{erf}(S) \to 1", FAR),
    (r"S e^{S^2} (1 - \operatorname{erf}(S)) \to \frac{1}{\sqrt{\pi}}", FAR),
    (r"\lim_{S\to\infty} \frac{e^S}{S^5} = \infty", ""),
    (r"\lim_{S\to\infty} (S - S^2) = -\infty", ""),
    (r"e^{-S} S^{100} \to 0", FAR),
    (r"\lim_{a \to 0} a \log a = 0", ""),
    (r"\lim_{a \to 0} \frac{|a|}{a} = 1", ""),
    (r"\lim_{x \to 0^-} \frac{|x|}{x} = -1", ""),
    (r"\lim_{x \to 2} \frac{x^2 - 4}{x - 2} = 4", ""),
    (r"\lim_{n \to \infty} \sum_{m=1}^{n} \frac{1}{n} = 1", ""),
    (r"S \to \infty \implies \frac{S+1}{S} \to 1", ""),
    (r"\lim_{n \to \infty} \frac{1}{n} + x = x", ""),
    (r"\lfloor 2 + e^{-S} \rfloor \to 2", FAR),
    (r"\lim_{S\to\infty} \operatorname{Var}\left[\frac{1}{1+e^{-S(\epsilon-1)}}\right] = \frac14", ""),
    (r"\lim_{S\to\infty} \mathbb{E}\left[\frac{e^{S\epsilon}}{e^{S\epsilon}+e^{S}}\right] = \frac12", ""),
    (r"\mathbb{E}\left[\frac{e^{S\theta^2}}{e^{S\theta^2}+e^{S/4}}\right] \to \frac12", FAR),
    (r"\mathbb{E}\left[\frac{1}{1+e^{S r}}\right] \to \Pr[r < 0]", FAR),
]
FALSE = [
    (r"\frac{1}{2+(n-2)e^{-S}} \approx \frac13", FAR),
    (r"\lim_{n \to \infty} \left(1+\frac{x}{n}\right)^n = e^{2x}", ""),
    (r"\lim_{x \to 0} \frac{|x|}{x} = 1", ""),
    (r"\lim_{x \to 0} \frac{1}{x} = \infty", ""),
    (r"\lim_{S \to \infty} \left(\sqrt{S^2+S} - S\right) = 1", ""),
    (r"\lim_{S \to \infty} S = 10^9", ""),
    (r"\log(1 + e^{-S}) \approx 2 e^{-S}", FAR),
    (r"S^2+S \approx 2 S^2", FAR),
    (r"e^{-S} \approx e^{-2S}", FAR),
    (r"(n-2) e^{-\log n} \to 0", r"n \to \infty"),
    (r"\frac{1}{S}\log\left(e^{S x}+e^{S y}\right) \to x", FAR),
    (r"e^{x S} \to 0", FAR),
    (r"S^{1/1000} \to 1", FAR),
    (r"\frac{1}{10^{30}} \log S \to 0", FAR),
    (r"\lim_{S\to\infty} \frac{S^5}{e^S} = \infty", ""),
    (r"\operatorname{softmax}(S u) \approx u", FAR),
    (r"\lim_{S\to\infty} \operatorname{Var}\left[\frac{1}{1+e^{-S(\epsilon-1)}}\right] = \frac12", ""),
    (r"\lim_{S\to\infty} \mathbb{E}\left[\frac{e^{S\epsilon}}{e^{S\epsilon}+e^{2S}}\right] = \frac12", ""),
    (r"\mathbb{E}\left[\frac{e^{S\theta^2}}{e^{S\theta^2}+e^{S/4}}\right] \to \frac14", FAR),
]


@pytest.mark.parametrize(("formula", "moves"), TRUE)
def test_true_limits_agree(formula: str, moves: str) -> None:
    found = step(formula, moves)
    assert found.verdict == "AGREES", found.evidence.text


@pytest.mark.parametrize(("formula", "moves"), FALSE)
def test_false_limits_are_refuted(formula: str, moves: str) -> None:
    found = step(formula, moves)
    assert found.verdict == "REFUTED", (found.verdict, found.evidence.text)
    assert found.counterexample is not None
    assert "S" not in found.counterexample.values  # what moves has no value


@pytest.mark.parametrize("seed", range(1, 9))
def test_no_seed_refutes_a_true_limit(seed: int) -> None:
    for formula, moves in TRUE[::3]:
        assert step(formula, moves, seed).verdict == "AGREES", formula


@pytest.mark.parametrize(
    ("formula", "moves", "reason"),
    [
        (r"\sin(S) \to 0", FAR, "no expansion"),
        (r"\frac{1}{n^2} \sum_{i=1}^{n} i \to \frac12", r"n \to \infty", "grows with n"),
        (r"e^{-e^{S}} \to 0", FAR, "exponential of an exponential"),
        (r"\lim_{S \to \infty} \mathbb{E}[\log(1 + e^{S \epsilon})] = 0", "", "not seen to be bounded"),
        (r"\mathbb{E}\left[\frac{e^{S\zeta}}{e^{S\zeta}+e^{S\eta}}\right] \to \frac12", FAR, "more than one random"),
    ],
)
def test_what_has_no_expansion_is_undecided(formula: str, moves: str, reason: str) -> None:
    found = step(formula, moves)
    assert found.verdict == "UNDECIDED"
    assert reason in found.evidence.text


def test_a_hypothesis_that_ties_the_variable_to_something_else_is_seen() -> None:
    head = r"Let $S, g \in \mathbb{R}$ with $S > 0$ and $g > S$." + "\n"
    found = step(r"e^{-S} + \frac{1}{g} \to \frac{1}{g}", FAR, head=head)
    assert found.verdict == "UNDECIDED"
    assert "Put" in found.evidence.text


def test_hypotheses_about_other_symbols_do_not_stand_in_the_way() -> None:
    head = r"Let $n \in \mathbb{N}$, $g \ge 0$, $D \in [0, 1]$ and $s_1, \dots, s_n \in \mathbb{R}$ with "
    loose = head + r"$s_i + g \le s_1$ for $i \ne 1$." + "\n"
    assert step(r"\frac{1}{1 + (n - 1) e^{-g}} \approx 1", r"g \to \infty", head=loose).verdict == "AGREES"
    assert step(r"\frac{1}{1 + n e^{-g}} \approx \frac12", r"g \to \infty", head=loose).verdict == "REFUTED"
    tight = head + r"$g \le s_i$ and $s_i \le 5$ for $i \in \{1, \dots, n\}$." + "\n"
    found = step(r"\frac{1}{1 + (n - 1) e^{-g}} \approx 1", r"g \to \infty", head=tight)
    assert found.verdict == "UNDECIDED"
    assert "no values were found" in found.evidence.text


def test_scores_under_a_root_cancel_exactly() -> None:
    weight = r"\frac{e^{1/\sqrt{d}}}{2 e^{1/\sqrt{d}} + (n - 2) e^{-S/\sqrt{d}}}"
    assert step(rf"{weight} x - {weight} x \to 0", FAR).verdict == "AGREES"
    assert step(rf"{weight} \to \frac12", FAR).verdict == "AGREES"
    assert step(rf"{weight} \to \frac{{1}}{{2}} e^{{1/\sqrt{{d}}}}", FAR).verdict == "REFUTED"


@pytest.mark.parametrize(
    "display",
    [
        r"\frac{1}{1+e^{-S}} \to 1 \quad \text{as } S \to \infty",
        r"\frac{1}{1+e^{-S}} \longrightarrow 1 \text{ as } S \to \infty, \text{ by continuity}",
        r"\begin{aligned} \frac{1}{1+e^{-S}} &\approx 1 && \text{as } S \to \infty \end{aligned}",
    ],
)
def test_what_moves_may_stand_in_the_display(display: str) -> None:
    assert step(display).verdict == "AGREES"
    assert step(display.replace(r"\approx 1", r"\approx 2").replace("} 1", "} 2").replace(r"\to 1", r"\to 2").replace(
        r"arrow 1", "arrow 2")).verdict == "REFUTED"  # fmt: skip


@pytest.mark.parametrize(
    ("formula", "moves", "advice"),
    [
        (r"\frac1S \approx 0", "S", "say what moves"),
        (r"\frac1S \approx 0", r"S + 1 \to \infty", "declared number"),
        (r"u \to \infty", FAR, "entries or its norm"),
        (r"\lim_{\epsilon \to 0} \epsilon = 0", "", "cannot be the variable"),
    ],
)
def test_unclear_limits_say_what_to_write(formula: str, moves: str, advice: str) -> None:
    found = step(formula, moves)
    assert found.verdict == "UNREADABLE"
    assert advice in found.evidence.text


def test_the_rate_is_reported() -> None:
    assert step(r"\frac{1}{1+e^{-S}} \approx 1", FAR).evidence.figures["rate"] == "e^{-S}"
    assert step(r"\frac{S+1}{S} \approx 1", FAR).evidence.figures["rate"] == "S^{-1}"
    assert "1 / |x" in step(r"\lim_{x \to 0} \frac{e^x - 1}{x} = 1").evidence.text


@pytest.mark.parametrize(
    ("formula", "advice"),
    [
        (r"\frac1S \to 0", "say what moves: write '% as: S"),
        (r"S \approx 1", "claims nothing by itself: write '% within: <bound>'"),
        (r"S \gg 1", r"\gg needs a factor: write '% margin: 10'"),
        (r"S \propto 1", "does not say by which factor: write a = c b"),
    ],
)
def test_what_claims_nothing_without_an_option_is_read_and_undecided(formula: str, advice: str) -> None:
    found = step(formula, "")
    assert found.verdict == "UNDECIDED" and advice in found.evidence.text
