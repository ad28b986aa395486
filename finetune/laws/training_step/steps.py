"""What the laws of training steps hold in their hands: steps and evaluations, and where SGD takes them, in float64."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from attention_core.conformance.budgets.rounding import UNIT_ROUNDOFF
from attention_core.conformance.subjects.evidence import Evidence, NotApplicable, Refused, Result, Shown, Violation
from attention_core.conformance.subjects.parameter_case import ParameterCase
from attention_core.conformance.worker.exchange import NDArray
from finetune.laws.trainer.drawn_runs import NO_CLIP, Run, Training
from finetune.laws.trainer.probe_layout import FROZEN, MOMENTUM, SIZE, name_of, where

RATE = 0.0625
Batches = list[list[int]]
Event = tuple[str, Batches]


@dataclass(frozen=True)
class Happened:
    """What came of some events: parameters before the first and after each, the calls of the loss, and the facts.

    Rows of `calls`: event, whether all modules were in training mode, whether any was, gradients enabled, a draw. Rows
    of `facts`: the number returned, whether it holds a graph, steps of the optimizer, whether the batches are as they
    were, whether the gradients are, frozen parameters with a gradient, whether a number was returned,
    whether the same parameters ask for gradients.
    """

    history: Result
    seen: NDArray
    calls: NDArray
    facts: NDArray

    def calls_of(self, event: int) -> NDArray:
        """The rows of one event's calls; it must have made some."""
        found: NDArray = self.calls[self.calls[:, 0] == event]
        if not len(found):
            raise Violation("got no call of the loss, but should be called", self.as_evidence())
        return found

    def as_evidence(self) -> Evidence:
        """The call alone."""
        return Evidence((Shown(self.history.request),), kind="crash")

    def number(self, event: int) -> Result:
        """What an event returned; raises NotApplicable where that is None."""
        if not self.facts[event, 6]:
            raise NotApplicable("it returns no loss")
        value, request = self.facts[event, :1], self.history.request
        return Result(value, request, "out3", None, {}, lambda _: f"{{out}}[3][{event}, 0].item()")


class Steps(Training):
    """A function of arrays made by `finetune.laws.training_step.step_probe.make_target`.

    Nothing is declared: the optimizer is given.
    """

    def run_events(self, run: Run, events: Sequence[Event], clip: float = NO_CLIP, training: bool = False) -> Happened:
        """What the target made of some events; `training` is the mode that it finds the model in."""
        given = [[kind, [list(map(int, b)) for b in batches]] for kind, batches in events]
        request = self.request(
            run.gradients, run.tokens, run.start, dtype=run.dtype, events=given, learning_rate=RATE, clip=clip,
            training=training,
        )  # fmt: skip
        try:
            response = self.send(request)
        except Refused as refusal:
            if "NothingToEvaluate" in str(refusal):
                raise NotApplicable("make_target() was given no evaluate") from None
            raise
        if len(response.outputs) != 4:
            evidence = Evidence((Shown(request),), kind="crash")
            raise Violation(
                f"got {len(response.outputs)} results: is the target made by step_probe.make_target?", evidence
            )
        history, seen, calls, facts = (o.values.astype(np.float64) for o in response.outputs)
        return Happened(Result(history, request), seen, calls, facts)

    def plain(self, case: ParameterCase) -> None:
        """Two steps of one batch each."""
        batches = [[number] for number in range(case["N"])]
        self.run_events(self.run(case), [("step", batches[:1]), ("step", batches[1:])])

    def path(self, run: Run, steps: Sequence[Batches], clip: float = NO_CLIP) -> tuple[NDArray, NDArray]:
        """The parameters before the first step and after each, and how far a correct step may be from them.

        A gradient, a sum of N exact numbers of one sign divided by a count and scaled by a clip of P squares, has a
        relative error of (N + P / 2 + 8) u =: d (and 1e-6 / norm where clipped: some add that to the norm); the
        momentum, a sum of gradients whose signs are the same in every step, of d + 3 t u; a step adds the learning rate
        times that, and 3 u of the parameter. First order, doubled.
        """
        u, trained = UNIT_ROUNDOFF[run.dtype], ~np.array(where(FROZEN))
        theta, momentum, error = run.start.copy(), np.zeros(SIZE), np.zeros(SIZE)
        rows, errors = [theta.copy()], [error.copy()]
        for t, batches in enumerate(steps, 1):
            numbers = [n for batch in batches for n in batch]
            count = int(run.tokens[numbers].sum())
            g = np.where(trained, run.gradients[numbers].sum(0), 0.0) / max(count, 1)
            norm, d = float(np.sqrt((g**2).sum())), (len(run.tokens) + SIZE / 2 + 8) * u
            if norm > clip:
                g, d = g * (clip / norm), d + 1e-6 / norm
            momentum = MOMENTUM * momentum + g
            theta = theta - RATE * momentum
            step = RATE * np.abs(momentum)
            error = error + 2 * (step * (d + 3 * t * u) + 3 * u * (np.abs(theta) + step))
            rows.append(theta.copy())
            errors.append(np.where(trained, error, 0.0))
        return np.array(rows), np.array(errors)

    def follow(self, run: Run, steps: Sequence[Batches], what: str, clip: float = NO_CLIP) -> Happened:
        """Raise at the first step after which a parameter is not where SGD would have it."""
        found = self.run_events(run, [("step", batches) for batches in steps], clip)
        want, bound = self.path(run, steps, clip)
        off = np.abs(found.history.values - want) - bound
        bad = ~(off <= 0)
        if bad.any():
            row = int(np.argwhere(bad.any(1))[0, 0])
            place = int(np.where(np.isnan(off[row]), np.inf, off[row]).argmax())
            got, right = float(found.history.values[row, place]), float(want[row, place])
            message = f"{what}: after step {row} got {got:.9g} in {name_of(place)}, but should be {right:.9g}"
            evidence = Evidence((found.history.show((row, place)),), got, right, float(bound[row, place]))
            raise Violation(f"{message} (allowed error {bound[row, place]:.3g})", evidence)
        return found

    @staticmethod
    def mean(run: Run, theta: NDArray, batches: Batches) -> tuple[float, float]:
        """The mean loss over the targets of some batches, and how far a computed one may be from it.

        A sum over N examples and P parameters of exact numbers: (N + P + 4) u of the sum of their absolute values, and
        as much again for parameters that are themselves rounded; first order, doubled.
        """
        numbers = [n for batch in batches for n in batch]
        count = max(int(run.tokens[numbers].sum()), 1)
        products = run.gradients[numbers] * theta
        u = UNIT_ROUNDOFF[run.dtype]
        return float(products.sum()) / count, 4 * (len(numbers) + SIZE + 4) * u * float(np.abs(products).sum()) / count


def split(case: ParameterCase, numbers: Sequence[int], parts: int, purpose: str = "split") -> Batches:
    """Examples in so many batches of different sizes (at least one each)."""
    cuts = np.sort(case.rng(purpose).choice(np.arange(1, len(numbers)), min(parts, len(numbers)) - 1, replace=False))
    return [[int(n) for n in part] for part in np.split(np.asarray(numbers), cuts)]
