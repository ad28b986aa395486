"""`% check: mc`.

Random samples as the last resort: true claims pass with both error rates, planted false ones are ruled out.
Nothing passes without a proved bound of the variance, and alpha is shared by the steps of a document.
"""

from __future__ import annotations

import pytest

from attention_core.derivation import StepReport, check_document
from attention_core.derivation.effort import Effort
from attention_core.derivation.reading.step import Step
from attention_core.derivation.reading.steps import steps_of

HEAD = r"""Let $d \in \mathbb{N}$, $\mu \in \mathbb{R}^{d}$, $\sigma > 0$.
Let $q, k \sim \mathcal{N}(\mu, \sigma^2 I_d)$ be independent. Let $\epsilon, \eta \sim \mathcal{N}(0, 1)$ be independent.
Let $\theta \sim \operatorname{Uniform}[0, 1]$. Let $\ell \sim \operatorname{Geometric}(1/5)$. Let $m \sim \operatorname{Bernoulli}(1/3)$.
Let $s \sim \operatorname{Uniform}\{1, \dots, 4\}$, $t \sim \operatorname{Categorical}(0.8, 0.1, 0.1)$.
"""
TRUE = [
    r"\operatorname{Var}[q^\top k] = d\sigma^4 + 2\sigma^2\|\mu\|^2",
    r"\mathbb{E}[q^\top k] = \|\mu\|^2",
    r"\mathbb{E}\left[\frac{1}{1+e^{-\epsilon}}\right] = \frac12",
    r"\mathbb{E}\left[\frac{e^{\epsilon}}{e^{\epsilon}+e^{\eta}}\right] = \frac12",
    r"\mathbb{E}[|\epsilon \eta|] = \frac{2}{\pi}",
    r"\mathbb{E}[\frac{1}{1+\theta}] = \log(2)",
    r"\Pr[\epsilon^2 \le 1] = \operatorname{erf}(1/\sqrt{2})",
    r"\mathbb{E}[\sqrt{\theta}] = \frac23",
    r"\mathbb{E}[\min(\ell, 4)^2] \le 16",
    r"\mathbb{E}[e^{m}] = \frac{2 + e}{3}",
    r"\mathbb{E}[\frac{1}{s}] = \frac{25}{48}",
    r"\mathbb{E}[t^2] = 2.1",
    r"\operatorname{Var}[\frac{1}{1+e^{-\epsilon}}] \le \frac14",
    r"\mathbb{E}[\log(1+e^{\epsilon})] \ge \log(2)",
]
FALSE = [
    r"\operatorname{Var}[q^\top k] = d\sigma^4 + \sigma^2\|\mu\|^2",
    r"\mathbb{E}[q^\top k] = d \|\mu\|^2 + \sigma^2",
    r"\mathbb{E}\left[\frac{1}{1+e^{-\epsilon}}\right] = \frac{54}{100}",
    r"\mathbb{E}[|\epsilon|] = 1",
    r"\mathbb{E}[|\epsilon \eta|] = \frac{1}{2}",
    r"\mathbb{E}[\sqrt{\theta}] = \frac12",
    r"\mathbb{E}[\sqrt{\theta}] \le \frac{6}{10}",
    r"\mathbb{E}[\sqrt{\theta}] > \frac{8}{10}",
    r"\Pr[\epsilon > \eta + 1] = \frac12",
    r"\operatorname{Var}[\frac{1}{1+e^{-\epsilon}}] \le \frac1{30}",
    r"\mathbb{E}[\ell^2] = 25",
    r"\mathbb{E}[t] = 1.5",
]


def step(formula: str, check: str = "mc detect=5%", seed: int = 0) -> StepReport:
    text = f"{HEAD}\n% check: {check}\n\n$$ {formula} $$\n"
    (found,) = check_document(text, effort=Effort(seed=seed)).steps
    return found


@pytest.mark.parametrize("formula", TRUE)
def test_true_claims_are_not_rejected(formula: str) -> None:
    found = step(formula)
    assert found.verdict == "STATISTICAL", (found.verdict, found.evidence.text)
    figures = found.evidence.figures
    assert (figures["alpha"], figures["beta"], figures["delta"]) == (1e-9, 1e-6, 0.05)
    assert figures["samples"] > 50_000 and figures["variance_bound"] > 0


@pytest.mark.parametrize("formula", FALSE)
def test_planted_false_claims_are_ruled_out(formula: str) -> None:
    found = step(formula)
    assert found.verdict == "REFUTED", (found.verdict, found.evidence.text)
    assert found.evidence.figures["log10_e"] > 9
    assert found.counterexample is not None and found.counterexample.left.startswith("about")


@pytest.mark.parametrize("seed", range(1, 21))
def test_no_seed_rejects_a_true_claim(seed: int) -> None:
    for formula in TRUE[seed % 4 :: 4]:
        found = step(formula, "mc alpha=1e-9 beta=1e-3 detect=25%", seed)
        assert found.verdict == "STATISTICAL", (formula, found.evidence.text)


def test_a_given_seed_gives_the_same_samples() -> None:
    first, again = (step(FALSE[0]).evidence for _ in range(2))
    assert first == again


@pytest.mark.parametrize(
    ("formula", "reason"),
    [
        (r"\mathbb{E}[\frac{1}{\epsilon}] = 0", "no bound of the variance"),
        (r"\mathbb{E}[e^{\epsilon^2}] = 1", "no bound of the variance"),
        (r"\sqrt{\operatorname{Var}[\epsilon]} = 1", "no unbiased samples"),
        (r"\mathbb{E}[(\epsilon - \mathbb{E}[|\epsilon|])^2] = 1", "inside an average"),
        (r"\mathbb{E}[\epsilon] \ne 1", "random samples test"),
        (r"\sigma = \sigma", "nothing is averaged"),
        (r"\mathbb{E}[\epsilon^2] = \epsilon^2", "outside as well"),
    ],
)
def test_what_cannot_be_tested_is_undecided(formula: str, reason: str) -> None:
    found = step(formula)
    assert found.verdict == "UNDECIDED", found.evidence.text
    assert reason in found.evidence.text


@pytest.mark.parametrize("option", ["mc alpha=2", "mc speed=3", "exact", "mc detect=0.01%", "mc alpha=1e-20"])
def test_options_that_are_not_understood_are_unreadable(option: str) -> None:
    assert step(TRUE[1], option).verdict in ("UNREADABLE", "EXACT", "AGREES")
    if option:
        assert step(TRUE[1], option).verdict == "UNREADABLE"


def test_within_bounds_the_difference_of_an_average() -> None:
    text = f"{HEAD}\n% check: mc\n% within: WIDE\n\n$$ \\mathbb{{E}}[\\sqrt{{\\theta}}] \\approx 0.65 $$\n"
    (good,) = check_document(text.replace("WIDE", "0.02")).steps
    (bad,) = check_document(text.replace("WIDE", "0.001")).steps
    assert (good.verdict, bad.verdict) == ("STATISTICAL", "REFUTED"), (good.evidence.text, bad.evidence.text)


def test_the_steps_of_a_document_share_alpha() -> None:
    text = HEAD + "".join(f"\n% check: mc alpha=1e-6\n\n$$ {f} $$\n" for f in TRUE[2:6])
    steps, _ = steps_of(text)
    assert {s.sharing for s in steps if isinstance(s, Step)} == {4}
    found = check_document(text, only=[steps[0].id]).steps[0]
    assert found.evidence.figures["alpha"] == pytest.approx(1e-6 / 4)
