"""What the laws of trainers hold in their hands: drawn runs, and what AdamW should make of each, in float64."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from attention_core.conformance.budgets.rounding import UNIT_ROUNDOFF
from attention_core.conformance.subjects.evidence import Evidence, Result, Shown, Violation
from attention_core.conformance.subjects.parameter_case import ParameterCase, ParameterSubject
from attention_core.conformance.worker.exchange import NDArray
from finetune.laws.trainer.probe_layout import FROZEN, LENGTH, MATRICES, SIZE, TABLES, name_of, where

NO_CLIP = 1e9


@dataclass(frozen=True)
class Run:
    """One run: gradients (N, P) and target counts (N,) of the examples, the start (P,), and the configuration."""

    gradients: NDArray
    tokens: NDArray
    start: NDArray
    config: dict[str, Any]
    dtype: str

    def with_(self, **changes: Any) -> Run:
        """The same with another configuration."""
        return Run(self.gradients, self.tokens, self.start, {**self.config, **changes}, self.dtype)


@dataclass(frozen=True)
class Step:
    """One step of the optimizer: which examples, in how many parts, and where its first call stands."""

    examples: NDArray
    first: int
    parts: int


@dataclass(frozen=True)
class Seen:
    """What a trainer did: parameters before each call and at the end, the steps by epoch, modes and draws."""

    history: Result
    order: NDArray
    modes: NDArray
    draws: NDArray
    warned: bool
    epochs: list[list[Step]]

    @property
    def steps(self) -> list[Step]:
        return [step for epoch in self.epochs for step in epoch]

    def before(self, number: int) -> int:
        """The row of the history that holds the parameters before a step (or at the end)."""
        return self.steps[number].first if number < len(self.steps) else len(self.history.values) - 1


class Training(ParameterSubject):
    """A function of arrays made by `finetune.laws.trainer.probe.make_target`.

    Declared with `--parameter`: `decay=dims` (tables and embeddings decay, too), `tokens=before` (the rate of a step is
    that of the tokens before it), `cosine=scaled` (from 1 to the floor; default: max(floor, ...)), `drop_last=True`,
    `eps` (1e-8).
    """

    @property
    def decay_mask(self) -> NDArray:
        """Of all numbers in a row: which decay."""
        return np.array(where(MATRICES | TABLES if self.parameters.get("decay") == "dims" else MATRICES))

    @property
    def eps(self) -> float:
        return float(self.parameters.get("eps", 1e-8))

    def run(self, case: ParameterCase, *, scale: float = 1.0, spread: float = 1.0, **config: Any) -> Run:
        """A drawn run. Gradients have one sign in each column, so that no sum of them cancels; their sizes are between
        `scale` and `scale * 10^spread`, one for each example, times factors of up to 4."""
        rng, N = case.rng("run"), case["N"]
        size = scale * 10 ** (spread * rng.random((N, 1)))
        signs = rng.choice([-1.0, 1.0], SIZE)
        # Powers of two are exact in every dtype, as a gradient has to be.
        gradients = signs * 2.0 ** np.rint(np.log2(size * 2 ** rng.uniform(0, 2, (N, SIZE))))
        start = np.rint(rng.uniform(0.5, 2.0, SIZE) * rng.choice([-1.0, 1.0], SIZE) * 64) / 64
        given = {
            "epochs": 1, "batch_size": N, "accumulate": 1, "learning_rate": 0.0625, "betas": (0.75, 0.875),
            "weight_decay": 0.0, "clip": NO_CLIP, "warmup_tokens": 0, "final_tokens": None, "floor": 0.125,
            "seed": case.seed % 1000,
        }  # fmt: skip
        tokens = rng.integers(1, LENGTH + 1, N)
        return Run(gradients, tokens, start, {**given, **config}, case.dtype)

    def train(self, run: Run) -> Seen:
        """What the trainer made of a run."""
        given = {**run.config, "betas": list(run.config["betas"])}
        request = self.request(run.gradients, run.tokens, run.start, dtype=run.dtype, **given)
        response, crash = self.send(request), Evidence((Shown(request),), kind="crash")
        if len(response.outputs) != 4:
            raise Violation(f"got {len(response.outputs)} results: is the target made by probe.make_target?", crash)
        history, order, modes, warned = (o.values for o in response.outputs)
        result = Result(history.astype(np.float64), request)
        epochs = list(self.group_calls(order, run))
        return Seen(result, order, modes[:, 0] > 0, modes[:, 1], bool(warned[0]), epochs)

    def plain(self, case: ParameterCase) -> None:
        """Two epochs of several steps."""
        self.train(self.run(case, epochs=2, batch_size=max(1, case["N"] // 2)))

    def group_calls(self, order: NDArray, run: Run) -> Iterator[list[Step]]:
        """The calls of the loss as steps of epochs: a step ends with its batch, or with the last example."""
        N, size = len(run.tokens), min(run.config["batch_size"], len(run.tokens))
        whole = N // size * size if self.parameters.get("drop_last") else N
        steps: list[Step] = []
        found, first, done = np.zeros(N, int), 0, 0
        for place, seen in enumerate(order.astype(int)):
            found = found + seen
            if found.sum() >= size or done + found.sum() >= whole:
                steps.append(Step(found, first, place + 1 - first))
                done, found, first = done + int(found.sum()), np.zeros(N, int), place + 1
            if done >= whole:
                yield steps
                steps, done = [], 0
        if steps or found.sum():
            yield [*steps, *([Step(found, first, len(order) - first)] if found.sum() else [])]

    def rate(self, config: dict[str, Any], before: int, tokens: int) -> float:
        """The factor of the learning rate in a step that takes the count of tokens from `before` to `tokens`."""
        count = before if self.parameters.get("tokens") == "before" else tokens
        floor = float(config["floor"])
        warmup, final = config["warmup_tokens"], config["final_tokens"]
        if count < warmup:
            return float(count / warmup)
        if final is None:
            return 1.0
        cosine = 0.5 * (1 + math.cos(math.pi * min((count - warmup) / (final - warmup), 1.0)))
        return floor + (1 - floor) * cosine if self.parameters.get("cosine") == "scaled" else max(floor, cosine)

    def truth(self, run: Run, steps: list[Step]) -> tuple[NDArray, NDArray]:
        """The parameters before each step and at the end, and how far a correct trainer may be from them.

        A gradient, a sum of N exact numbers of one sign divided by a count and scaled by a clip of P squares, has a
        relative error of (N + P / 2 + 8) u =: d (and 1e-6 / norm where clipped: some add that to the norm). Moments
        are sums of one sign, of relative error d + 3 t u and 2 d + 3 t u, so the step m / (sqrt(v) + eps) has
        2 d + (5 t + 8) u. Each step adds learning rate times that, and 3 u of the parameter; the bound is first order,
        doubled.
        """
        c, u = run.config, UNIT_ROUNDOFF[run.dtype]
        trained = ~np.array(where(FROZEN))
        theta, m, v = run.start.copy(), np.zeros(SIZE), np.zeros(SIZE)
        error, tokens = np.zeros(SIZE), 0
        rows, errors = [theta.copy()], [error.copy()]
        for t, step in enumerate(steps, 1):
            count = int((step.examples * run.tokens).sum())
            g = np.where(trained, step.examples @ run.gradients, 0.0) / max(count, 1)
            norm = float(np.sqrt((g**2).sum()))
            d = (len(run.tokens) + SIZE / 2 + 8) * u
            if norm > c["clip"]:
                g, d = g * (c["clip"] / norm), d + 1e-6 / norm
            lr = c["learning_rate"] * self.rate(c, tokens, tokens + count)
            tokens += count
            m, v = c["betas"][0] * m + (1 - c["betas"][0]) * g, c["betas"][1] * v + (1 - c["betas"][1]) * g**2
            ratio = m / (1 - c["betas"][0] ** t) / (np.sqrt(v / (1 - c["betas"][1] ** t)) + self.eps)
            decay = np.where(self.decay_mask, c["weight_decay"], 0.0)
            theta = np.where(trained, theta * (1 - lr * decay) - lr * ratio, theta)
            more = lr * np.abs(ratio) * (2 * d + (5 * t + 8) * u) + 3 * u * (np.abs(theta) + lr * np.abs(ratio))
            error = error + np.where(trained, 2 * more, 0.0)
            rows.append(theta.copy())
            errors.append(error.copy())
        return np.array(rows), np.array(errors)

    def compare(self, run: Run, seen: Seen, what: str) -> None:
        """Raise at the first step after which a parameter is not where it should be."""
        want, bound = self.truth(run, seen.steps)
        for number in range(len(want)):
            row = seen.before(number)
            off = np.abs(seen.history.values[row] - want[number]) - bound[number]
            if not (off <= 0).all():
                place = int(np.where(np.isnan(off), np.inf, off).argmax())
                raise self.wrong(seen, row, place, want[number, place], bound[number, place], what, number)

    @staticmethod
    def wrong(seen: Seen, row: int, place: int, want: float, bound: float, what: str, step: int) -> Violation:
        """A violation at one number of the parameters after one step."""
        got = float(seen.history.values[row, place])
        message = f"{what}: after step {step} got {got:.9g} in {name_of(place)}, but should be {want:.9g}"
        evidence = Evidence((seen.history.show((row, place)),), got, float(want), float(bound))
        return Violation(f"{message} (allowed error {bound:.3g})", evidence)
