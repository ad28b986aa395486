r"""Anytime-valid tests of E[D] = 0 or E[D] <= 0.

Tests of a mean from samples that may stop early: the error of the first kind holds at every stopping time.
Catoni's supermartingale needs a bound of the variance alone; bounded samples also feed a betting process.

Catoni: with psi(x) = sgn(x) log(1 + |x| + x^2 / 2) and Var D <= V, exp(sum psi(l D_i) - n l^2 V / 2) is a nonnegative
supermartingale when E[D] <= 0 (Wang and Ramdas, "Catoni-style confidence sequences for heavy-tailed mean estimation",
2023, section 4), so it exceeds 1/a with probability a at most (Ville). It misses a mean m with probability b at most
once n (l m - l^2 (2 V + m^2) / 2) >= log(1/a) + log(1/b), and l = m / (2 V + m^2) is the best choice.

Betting: prod (1 + l_i D_i) with l_i >= 0 chosen before D_i is drawn and 1 + l_i D_i >= 0 (Waudby-Smith and Ramdas,
"Estimating means of bounded random variables by betting", 2024).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from attention_core.derivation.graph.nodes import Unsettled

ROUNDING = 1e-6  # far above the rounding of a sum of a million logarithms near 1
MOST = 4_000_000
CHUNK = 4096
LOSS = 1e-3  # the share of the discrepancy that rounding errors may hide


@dataclass(frozen=True)
class Errors:
    """Error probabilities `alpha` and `beta`, and the discrepancy `delta` in standard deviations."""

    alpha: float
    beta: float
    delta: float


@dataclass(frozen=True)
class Result:
    """Whether it was rejected, after how many samples, the logarithm of the e-value, and the mean of all seen."""

    rejected: bool
    samples: int
    log_e: float
    mean: float


Draw = Callable[[int], tuple[Any, Any]]  # that many samples of D and bounds of their errors


def count_samples(variance: float, errors: Errors, sides: int) -> tuple[int, float]:
    """How many samples Catoni's test needs at most, and its l."""
    gap = errors.delta * math.sqrt(variance)
    rate = gap / (2 * variance + gap * gap)
    gain = rate * gap * (1 - LOSS) - rate * rate * (2 * variance + gap * gap) / 2
    needed = (math.log(sides / errors.alpha) + math.log(1 / errors.beta) + 2 * ROUNDING) / gain
    if needed > MOST:
        raise Unsettled(f"{needed:.3g} samples would be needed, more than {MOST}: ask for a larger discrepancy")
    return math.ceil(needed), rate


def test_mean(draw: Draw, variance: float, errors: Errors, two_sided: bool,
              limits: tuple[float, float] | None = None) -> Result:  # fmt: skip
    """Test E[D] = 0 (two-sided) or E[D] <= 0; with `limits` of D a betting process runs along and shares alpha."""
    import numpy as np

    sides = 2 if two_sided else 1
    share = Errors(errors.alpha / 2, errors.beta, errors.delta) if limits else errors
    needed, rate = count_samples(variance, share, sides)
    allowed = LOSS * errors.delta * math.sqrt(variance)
    threshold = math.log(sides / share.alpha) + ROUNDING
    up = down = 0.0
    bets = Bets(limits, two_sided, share.alpha) if limits else None
    seen, total, best = 0, 0.0, -math.inf
    while seen < needed:
        count = min(CHUNK, needed - seen)
        values, slack = draw(count)
        values = np.broadcast_to(np.asarray(values, dtype=float), (count,))
        slack = np.broadcast_to(np.asarray(slack, dtype=float), (count,))
        doubtful = float(np.mean(slack)) if np.all(np.isfinite(values)) else math.inf
        if not doubtful <= allowed:
            raise Unsettled("float64 is too inaccurate for samples of this step")
        drift = rate * rate * variance / 2 * np.arange(1, count + 1)
        above = up + np.cumsum(psi(rate * (values - slack))) - drift
        below = down + np.cumsum(psi(-rate * (values + slack))) - drift
        up, down = float(above[-1]), float(below[-1])
        seen, total = seen + count, total + float(values.sum())
        best = max(best, float(above.max()), float(below.max()) if two_sided else -math.inf)
        if best >= threshold:
            return Result(True, seen, best - math.log(sides), total / seen)
        if bets is not None and bets.play(values, slack):
            return Result(True, seen, bets.best, total / seen)
    return Result(False, seen, best - math.log(sides), total / seen)


def psi(x: Any) -> Any:
    """sgn(x) log(1 + |x| + x^2 / 2)."""
    import numpy as np

    return np.sign(x) * np.log1p(np.abs(x) + x * x / 2)


class Bets:
    """Two bettors, one on a mean above 0 and one below; half of the wealth each where both sides are tested."""

    def __init__(self, limits: tuple[float, float], two_sided: bool, alpha: float) -> None:
        self.low, self.high = limits
        self.two_sided = two_sided
        self.threshold = math.log(1 / alpha) + ROUNDING
        width = self.high - self.low
        self.caps = 0.5 / max(-self.low, width * 1e-3), 0.5 / max(self.high, width * 1e-3)
        self.sum, self.squares, self.count = 0.0, width * width / 4, 1.0
        self.wealth = [0.0, 0.0]
        self.best = -math.inf

    def play(self, values: Any, slack: Any) -> bool:
        """Bet on a chunk, each stake from what was seen before it; True when the wealth is enough."""
        import numpy as np

        before = self.sum + np.concatenate(([0.0], np.cumsum(values)[:-1]))
        squares = self.squares + np.concatenate(([0.0], np.cumsum(values * values)[:-1]))
        mean = before / (self.count + np.arange(len(values)))
        stake = mean / (squares / (self.count + np.arange(len(values))))
        gains = []
        for k, signed in enumerate((values - slack, -(values + slack))):
            bet = np.clip(stake if k == 0 else -stake, 0.0, self.caps[k])
            gains.append(self.wealth[k] + np.cumsum(np.log1p(bet * signed)))
            self.wealth[k] = float(gains[k][-1])
        self.sum, self.squares = self.sum + float(values.sum()), self.squares + float((values * values).sum())
        self.count += len(values)
        found = np.logaddexp(gains[0], gains[1]) - math.log(2) if self.two_sided else gains[0]
        self.best = max(self.best, float(found.max()))
        return self.best >= self.threshold
