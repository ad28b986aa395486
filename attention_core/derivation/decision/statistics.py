"""Monte Carlo decisions with both error rates.

Steps with `% check: mc`: both sides are averages, and random samples test whether they can be what is claimed.
What passes is STATISTICAL with both error rates; a variance bound must be proved, else the step stays undecided.
"""

from __future__ import annotations

import math
import re
import time
import zlib
from collections.abc import Sequence

from attention_core.derivation.cases.counterexamples import case_values, describe
from attention_core.derivation.cases.problem import Problem, Site
from attention_core.derivation.decision.agreement import explain_silence
from attention_core.derivation.effort import Effort
from attention_core.derivation.graph.compare import format_value
from attention_core.derivation.graph.nodes import Graph, Undefined, Unsettled
from attention_core.derivation.graph.numbers import Case, Imprecise, evaluate, precision
from attention_core.derivation.latex.syntax import Unreadable
from attention_core.derivation.probability.estimators import Trial, estimator
from attention_core.derivation.probability.evalues import Errors, Result, test_mean
from attention_core.derivation.probability.sampling import number
from attention_core.derivation.records import Counterexample, Evidence, Finding, Verdict
from attention_core.derivation.terms.context import Context
from attention_core.derivation.terms.terms import Relation

CASES = 6
MOST_SKIPPED = 24
SECONDS = 30.0


def parse_check(text: str, line: int) -> Errors:
    """`mc alpha=1e-9 beta=1e-6 detect=5%`; raises `Unreadable`."""
    words = text.split()
    values = {"alpha": 1e-9, "beta": 1e-6, "detect": 0.05}
    for word in words[1:]:
        found = re.fullmatch(r"(alpha|beta|detect)=(\d+(?:\.\d*)?(?:[eE]-?\d{1,3})?)(%?)", word)
        if not found:
            raise Unreadable(f"'{word}' is not understood: write '% check: mc alpha=1e-9 beta=1e-6 detect=5%'", line)
        values[found.group(1)] = float(found.group(2)) / (100 if found.group(3) else 1)
    if not words or words[0] != "mc":
        raise Unreadable("the only check that can be asked for is 'mc'", line)
    ranges = {"alpha": (1e-12, 0.5), "beta": (1e-12, 0.5), "detect": (1e-3, 1.0)}
    for name, (low, high) in ranges.items():
        if not low <= values[name] <= high:
            raise Unreadable(f"{name} lies between {low:g} and {high:g}", line)
    return Errors(values["alpha"], values["beta"], values["detect"])


class Sampler:
    """Decides a relation between averages by random samples."""

    def __init__(
        self, context: Context, claim: Relation, extra: Sequence[Relation], effort: Effort, errors: Errors, key: str
    ) -> None:
        self.problem = Problem(context, claim, extra, effort)
        self.problem.means, self.errors, self.key = "all", errors, key
        self.deadline = time.process_time() + max(SECONDS, effort.seconds)
        self.done: list[tuple[Result, float]] = []
        self.reasons: list[str] = []

    def decide(self) -> Finding:
        """The verdict with its evidence."""
        if self.problem.claim.op not in ("=", "<", "<=", ">", ">="):
            return Finding(Verdict.UNDECIDED, Evidence("random samples test =, <, <=, > and >= only"))
        try:
            return self.run()
        except Unsettled as error:
            return Finding(Verdict.UNDECIDED, Evidence(str(error)))

    def run(self) -> Finding:
        """Cases at small sizes, then at larger ones, until enough are tested or one rejects."""
        small, large = self.problem.tuples.small(), self.problem.tuples.large(self.problem.effort.seed, 2)
        envs = [*small[:3], *large[:1]] if len(small) + len(large) > 3 else [*small, *large]
        number_, tried = 0, 0
        while len(self.done) < CASES and tried < MOST_SKIPPED and envs:
            env = envs[tried % len(envs)]
            tried += 1
            site = self.problem.site(env)
            if site is None:
                continue
            if not site.plan.entries and tried > len(envs):
                break
            _, case = self.problem.case(site.plan, self.problem.effort.seed * 1_000_003 + 1 + tried // len(envs))
            if case is None:
                continue
            if time.process_time() > self.deadline:
                self.reasons.append("time ran out before all cases were tested")
                break
            try:
                found = self.test(site, case, number_)
            except (Unsettled, Undefined, Imprecise) as error:
                self.reasons.append(str(error) or "a value that stays too imprecise")
                continue
            number_ += 1
            if found is not None:
                return found
        return self.summary()

    def test(self, site: Site, case: Case, place: int) -> Finding | None:
        """All entries at one case; the finding if one is rejected."""
        import numpy as np

        claims = [c for pair in site.pairs for c in self.list_differences(site.low.graph, *pair)]
        share = self.errors.alpha / (CASES * len(claims))
        for entry, (difference, sign, two_sided) in enumerate(claims):
            made = estimator(site.low.graph, difference)
            if not made.means:
                raise Unsettled("nothing is averaged on either side")
            seed = [self.problem.effort.seed, zlib.crc32(self.key.encode()), place, entry]
            trial = Trial(
                site.low, made, sign, case, np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))
            )
            variance = trial.variance()
            if not variance > 0:
                raise Unsettled("what is averaged does not vary")
            errors = Errors(share, self.errors.beta, self.errors.delta)
            result = test_mean(trial.draw, variance, errors, two_sided, trial.limits())
            self.done.append((result, variance))
            if result.rejected:
                return self.refute(site, case, result, sign, variance)
        return None

    def list_differences(self, graph: Graph, left: int, right: int) -> list[tuple[int, int, bool]]:
        """(difference, sign, two-sided): E[sign D] <= 0, or E[D] = 0; |a| <= b is two claims."""
        op = self.problem.claim.op
        if op in (">", ">="):
            left, right, op = right, left, "<="
        if op == "=":
            return [(graph.sub(left, right), 1, True)]
        if graph.ops[left] == "abs":
            inner = graph.args[left][0]
            return [(graph.sub(inner, right), 1, False), (graph.sub(graph.neg(inner), right), 1, False)]
        return [(graph.sub(left, right), 1, False)]

    # -- outcomes ---------------------------------------------------------------------------------------------------

    def refute(self, site: Site, case: Case, result: Result, sign: int, variance: float) -> Finding:
        """A claim that the samples rule out."""
        values = case_values(self.problem, site, case)
        power = result.log_e / math.log(10)
        mean = sign * result.mean
        known = self.right_value(site, case)
        left = f"about {known + mean:.6g}" if known is not None else f"about {mean:.6g} more than the right side"
        right = shown_right(site, case) if known is not None else "the right side"
        text = (
            f"{result.samples} samples rule it out with an e-value of 10^{power:.1f}: the left side is {left}, "
            f"the right side {right} at {describe(values)}"
        )
        figures = {
            "alpha": self.errors.alpha, "samples": result.samples, "log10_e": round(power, 2),
            "deviation": result.mean / math.sqrt(variance),
        }  # fmt: skip
        return Finding(Verdict.REFUTED, Evidence(text, figures), Counterexample(values, left, right))

    def right_value(self, site: Site, case: Case) -> float | None:
        """The right side as a number, where nothing is averaged there."""
        if len(site.pairs) != 1:
            return None
        return _plain_value(site, case, site.pairs[0][1])

    def summary(self) -> Finding:
        """Nothing was rejected."""
        if not self.done:
            if self.reasons:
                return Finding(Verdict.UNDECIDED, Evidence(self.reasons[0]))
            return explain_silence(self.problem)
        samples = sum(r.samples for r, _ in self.done)
        e = self.errors
        figures = {
            "alpha": e.alpha, "beta": e.beta, "delta": e.delta, "delta_up_to": 4 / e.delta - e.delta,
            "samples": samples, "cases": len(self.done), "variance_bound": max(v for _, v in self.done),
        }  # fmt: skip
        text = (
            f"{len(self.done)} tests with {samples} samples do not reject it; a true claim is rejected "
            f"with probability {e.alpha:.3g} at most, and at each case a discrepancy from {e.delta:g} to "
            f"{figures['delta_up_to']:.3g} standard deviations (by a proved bound) is missed "
            f"with probability {e.beta:.3g} at most"
        )
        if self.reasons:
            figures["left_out"] = len(self.reasons)
            text += f"; {len(self.reasons)} cases were left out ({self.reasons[0]})"
        return Finding(Verdict.STATISTICAL, Evidence(text, figures))


def _plain_value(site: Site, case: Case, node: int) -> float | None:
    if any(site.low.graph.ops[n] == "mean" for n in site.low.graph.reachable([node])):
        return None
    with precision(128):
        (found,) = evaluate(site.low.graph, [node], case)
    return float(number(found)[0])


def shown_right(site: Site, case: Case) -> str:
    """The right side at a case as text."""
    with precision(128):
        (found,) = evaluate(site.low.graph, [site.pairs[0][1]], case)
    return format_value(found)
