"""E, Var, Cov and Pr without random samples.

Expectations with closed forms: right ones are confirmed, wrong ones refuted at a small case.
Independence is needed wherever two random symbols meet, and what is no law is refused.
"""

from __future__ import annotations

import pytest

from attention_core.derivation import StepReport, check_document
from attention_core.derivation.effort import Effort

HEAD = r"""Let $d, n \in \mathbb{N}$, $\nu \in \mathbb{R}^{d}$, $\sigma > 0$, $x, y, u \in \mathbb{R}^{d}$, $\alpha > 0$, $a, b \in \mathbb{R}$.
Let $\mu_1, \dots, \mu_n \in \mathbb{R}^{d}$, $j, l \in \{1, \dots, n\}$, $j \ne l$. Let $w \sim \mathcal{N}(0, I_d)$.
Let $q, k \sim \mathcal{N}(\nu, \sigma^2 I_d)$ be independent. Let $\epsilon \sim \mathcal{N}(1, 1/2)$. Let $z \sim \mathcal{N}(a, \sigma^2)$.
Let $h_i \sim \mathcal{N}(\mu_i, \alpha I_d)$ be independent for $i = 1, \dots, n$. Let $\theta \sim \operatorname{Uniform}[0, 1]$.
Let $p \in [0,1]$, $m, r \sim \operatorname{Bernoulli}(p)$ be independent. Let $\ell \sim \operatorname{Geometric}(1/5)$.
Let $L \in \mathbb{N}$, $s \sim \operatorname{Uniform}\{1, \dots, L\}$, $t \sim \operatorname{Categorical}(0.8, 0.1, 0.1)$.
Let $x_1, \dots, x_n \sim \operatorname{Bernoulli}(p)$ be independent.
"""
TRUE = [
    r"\mathbb{E}[e^{w^\top u - \|u\|^2/2} e^{w^\top y - \|y\|^2/2}] = e^{u^\top y}",
    r"\mathbb{E}[\cos(w^\top (u - y))] = e^{-\|u-y\|^2/2}",
    r"\mathbb{E}[\cos(w^\top u)\cos(w^\top y) + \sin(w^\top u)\sin(w^\top y)] = e^{-\|u-y\|^2/2}",
    r"\mathbb{E}[\sin(z)] = e^{-\sigma^2/2} \sin(a)",
    r"\mathbb{E}[z \cos(z)] = e^{-\sigma^2/2} (a \cos(a) - \sigma^2 \sin(a))",
    r"\mathbb{E}[e^{q^\top u}] = e^{\nu^\top u + \sigma^2 \|u\|^2/2}",
    r"\operatorname{Var}[q^\top k] = d\sigma^4 + 2\sigma^2\|\nu\|^2",
    r"\operatorname{Cov}[q, q] = \sigma^2 I_d",
    r"\mathbb{E}[h_j^\top u] = \mu_j^\top u",
    r"\operatorname{Var}[h_j^\top u] = \alpha \|u\|^2",
    r"\mathbb{E}[h_j^\top h_l] = \mu_j^\top \mu_l",
    r"\mathbb{E}[\|h_j\|^2] = \|\mu_j\|^2 + d \alpha",
    r"\mathbb{E}[\sum_{i=1}^n e^{h_i^\top u}] = \sum_{i=1}^n e^{\mu_i^\top u + \alpha \|u\|^2 / 2}",
    r"\Pr[\epsilon > 1] = \frac12",
    r"\Pr[\epsilon \le 0] = \frac{1 - \operatorname{erf}(1)}{2}",
    r"\Pr[|z - a| \le \sigma] = \operatorname{erf}(1/\sqrt{2})",
    r"\mathbb{E}[z e^{z}] = (a + \sigma^2) e^{a + \sigma^2/2}",
    r"\mathbb{E}[|z|] \ge |a|",
    r"\mathbb{E}[\max(z, 0)] - \mathbb{E}[\max(-z, 0)] = a",
    r"\mathbb{E}[m r] = p^2",
    r"\operatorname{Var}[m] = p (1-p)",
    r"\mathbb{E}[e^{m a}] = 1 - p + p e^a",
    r"\operatorname{Var}[\sum_{i=1}^n x_i] = n p (1-p)",
    r"\mathbb{E}[\ell] = 5",
    r"\operatorname{Var}[\ell] = 20",
    r"\mathbb{E}[\min(\ell, 10)] = 5 (1 - 0.8^{10})",
    r"\mathbb{E}[s] = \frac{L+1}{2}",
    r"\mathbb{E}[\frac{1}{s}] \le 1",
    r"\Pr[t = 1] = 0.8",
    r"\Pr[t \ge 2] = \frac15",
    r"\Pr[\theta \le 1/3] = 1/3",
    r"\mathbb{E}[\theta^2] = 1/3",
    r"q^\top k = \sum_{i=1}^d q_i k_i",
]
FALSE = [
    r"\mathbb{E}[e^{w^\top u} e^{w^\top y}] = e^{u^\top y}",
    r"\mathbb{E}[\cos(w^\top (u - y))] = e^{-\|u-y\|^2}",
    r"\mathbb{E}[\sin(z)] = \sin(a)",
    r"\mathbb{E}[e^{q^\top u}] = e^{\nu^\top u + \sigma^2 \|u\|^2}",
    r"\mathbb{E}[\|h_j\|^2] = \|\mu_j\|^2 + \alpha",
    r"\mathbb{E}[h_j^\top h_j] = \mu_j^\top \mu_j",
    r"\Pr[\epsilon > 0] = \frac12",
    r"\Pr[|z| \le \sigma] = \operatorname{erf}(1/\sqrt{2})",
    r"\mathbb{E}[m m] = p^2",
    r"\mathbb{E}[e^{m a}] = e^{p a}",
    r"\operatorname{Var}[\sum_{i=1}^n x_i] = n^2 p (1-p)",
    r"\mathbb{E}[\ell] = 4",
    r"\mathbb{E}[\min(\ell, 10)] = 3.8",
    r"\mathbb{E}[s] = \frac{L}{2}",
    r"\Pr[t = 2] = 0.2",
    r"\mathbb{E}[|z|] = |a|",
    r"\Pr[\theta < 1/3] = 1/2",
    r"\operatorname{Var}[m] \ge \frac14",
    r"q^\top k = 0",
]


def step(formula: str, seed: int = 0, head: str = HEAD) -> StepReport:
    (found,) = check_document(f"{head}\n$$ {formula} $$\n", effort=Effort(seed=seed)).steps
    return found


@pytest.mark.parametrize("formula", TRUE)
def test_right_ones_hold(formula: str) -> None:
    found = step(formula)
    assert found.verdict in ("PROVED", "EXACT", "AGREES"), (found.verdict, found.evidence.text)


@pytest.mark.parametrize("formula", FALSE)
def test_wrong_ones_are_refuted(formula: str) -> None:
    found = step(formula)
    assert found.verdict == "REFUTED", (found.verdict, found.evidence.text)
    assert found.counterexample is not None
    assert all(int(v) <= 3 for k, v in found.counterexample.values.items() if k in ("d", "n", "L"))


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(1, 5))
def test_no_seed_refutes_a_right_one(seed: int) -> None:
    for formula in TRUE[::4]:
        assert step(formula, seed).verdict in ("PROVED", "EXACT", "AGREES"), formula


def test_large_means_with_small_deviations_stay_decided() -> None:
    assert step(r"\mathbb{E}[|z|] \ge |a|", 127).verdict == "AGREES"
    assert step(r"\mathbb{E}[\max(z, 0)] - \mathbb{E}[\max(-z, 0)] = a", 127).verdict in ("AGREES", "PROVED")


@pytest.mark.parametrize(
    ("draw", "formula", "verdict", "reason"),
    [
        (r"$a, b \sim \mathcal{N}(0, 1)$", r"\mathbb{E}[a b] = 0", "UNDECIDED", "independent"),
        (r"$a, b \sim \mathcal{N}(0, 1)$", r"\Pr[a < b] = \frac12", "UNDECIDED", "independent"),
        (r"$a \sim \mathcal{N}(0, 1)$", r"\mathbb{E}[\log(1 + e^{a})] = 1", "UNDECIDED", "% check: mc"),
        (r"$a \sim \operatorname{Geometric}(1/2)$", r"a^2 = a", "UNDECIDED", "outside"),
        (r"$a \sim \operatorname{Cauchy}(0, 1)$", r"\mathbb{E}[a] = 0", "UNREADABLE", "not a law"),
        (r"$a \sim \operatorname{Categorical}(0.5, 0.4)$", r"\mathbb{E}[a] = 1", "VACUOUS", ""),
        (r"$C \in \mathbb{R}^{2 \times 2}$ and $g \sim \mathcal{N}(0, C)$", r"\mathbb{E}[g_1 g_2] = C_{1,2}", "UNDECIDED",
         "symmetric"),
        (r"$B \in \mathbb{R}^{2 \times 2}$ and $g \sim \mathcal{N}(0, B B^\top)$", r"\operatorname{Cov}[g, g] = B B^\top",
         "PROVED", ""),
    ],
)  # fmt: skip
def test_what_is_not_said_is_not_assumed(draw: str, formula: str, verdict: str, reason: str) -> None:
    found = [s for s in check_document(f"Let {draw}.\n\n$$ {formula} $$\n").steps if s.verdict == verdict]
    assert found, [(s.verdict, s.evidence.text) for s in check_document(f"Let {draw}.\n\n$$ {formula} $$\n").steps]
    assert reason in found[0].evidence.text


@pytest.mark.parametrize(
    ("draw", "formula", "verdict"),
    [
        (r"$a \sim \mathcal{N}(0, 1)$ with $a > 0$", r"\mathbb{E}[a] = 0", "UNDECIDED"),
        (r"$a \sim \mathcal{N}(0, 1)$ with $a > 0$", r"a + 1 > 1", "AGREES"),
        (r"$a \sim \mathcal{N}(0, 1)$ with $a > 0$", r"a > 1", "REFUTED"),
        (r"$b \in \mathbb{R}$ and $a \sim \mathcal{N}(0, 1)$ with $b \ge a$", r"b \ge 0", "REFUTED"),
    ],
)
def test_hypotheses_about_random_symbols_are_no_conditions_of_averages(draw: str, formula: str, verdict: str) -> None:
    (found,) = check_document(f"Let {draw}.\n\n$$ {formula} $$\n").steps
    assert found.verdict == verdict, found.evidence.text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (r"Let $a \sim \mathcal{N}(0, 1)$ and $b \sim \mathcal{N}(a, 1)$ be independent.", "which is random"),
        (r"Let $a \sim \mathcal{N}(0, 1)$. Put $c := 2 a$. Let $b \sim \mathcal{N}(c, 1)$.", "which is random"),
        (
            r"Let $k_1, \dots, k_n \in \mathbb{R}$, $b \in \{1, \dots, n\}$. Let $k_b \sim \mathcal{N}(0, 1)$.",
            "of its own",
        ),
        (r"Let $g \in \mathbb{R}^{n}$. Let $g_i \sim \mathcal{N}(0, 1)$.", "as a whole"),
        (
            r"Let $m_1, \dots, m_n \in \mathbb{R}$. Let $k_i \sim \mathcal{N}(m_i, 1)$ for $i \in \{2, \dots, n\}$.",
            "every",
        ),
        (r"Let $g \in \mathbb{R}^{n}$. Let $g \sim \mathcal{N}(0, I_m)$.", "I_m"),
    ],
)
def test_laws_that_are_not_understood_say_so(text: str, reason: str) -> None:
    (first, *_) = check_document(f"Let $n \\in \\mathbb{{N}}$. {text}\n\n$$ n = n $$\n").steps
    assert first.verdict == "UNREADABLE"
    assert reason in first.evidence.text or "m is not a size" in first.evidence.text


def test_a_covariance_with_a_product_of_a_scaled_vector_is_symmetric() -> None:
    law = r"$x \sim \mathcal{N}(0, \alpha I_d + \frac{1}{2} u u^\top)$"
    head = rf"Let $d \in \mathbb{{N}}$, $\alpha > 0$, $u \in \mathbb{{R}}^d$ with $\|u\| = 1$, and {law}."
    for value, expected in ((r"\alpha + \frac{1}{2}", "AGREES"), (r"\alpha + 1", "REFUTED")):
        found = check_document(f"{head}\n\n$$ \\operatorname{{Var}}[u^\\top x] = {value} $$\n").steps[0]
        assert found.verdict == expected, found.evidence.text
