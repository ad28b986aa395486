"""What the laws of causal language models hold in their hands: a small model with known weights, its logits and losses.

A freshly built model hides faults: its biases and positions are zero, its attention is flat. So the parameters
of an `nn.Module` are drawn anew first, norms around 1 and biases around 0, and where it can be, it is put into float64.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from attention_core.conformance.budgets.rounding import UNIT_ROUNDOFF
from attention_core.conformance.subjects.evidence import Evidence, NotApplicable, Refused, Result, Shown, Violation
from attention_core.conformance.subjects.parameter_case import ParameterCase, ParameterSubject, after
from attention_core.conformance.worker.exchange import Array, NDArray, Request, Response, array

SMALLEST = 4
"""The largest axis of a parameter counts as at least this, so that no weight dwarfs the others."""


@dataclass
class Held:
    """One built model: its number, the calls that prepared it, and the weights it is given with every call."""

    number: int
    before: list[Result] = field(default_factory=list)
    weights: dict[str, NDArray] = field(default_factory=dict)
    parameters: Mapping[str, Array] | None = None
    dtypes: Mapping[str, str] = field(default_factory=dict)

    def report_calls(self) -> AbstractContextManager[None]:
        """Violations raised inside show the preparation, too."""
        return after(self.before)


class Model(ParameterSubject):
    """A class or function `(vocab_size, block_size) -> model`.

    `model(ids)` gives logits (B, n, vocab), or a tuple that begins with them. Further laws apply to what it has:

    * `loss(ids, targets)`, the mean in nats; else the second result of `model(ids, targets)`, as in minGPT;
    * `perplexity(ids, targets)`;
    * `step(ids)`, logits of tokens that follow those of earlier steps, and `reset()`, which forgets them;
    * `generate(ids, max_new_tokens, do_sample=..., temperature=..., top_k=..., top_p=...)`, prompt included.

    Declared with `--parameter`: `ignore_index` (default -100; the target that counts for nothing), `shift=inside` (the
    model shifts its labels itself, as in transformers), `all_ignored=nan`, `tied=True`.
    """

    _loss_in_forward = False

    @property
    def ignore_index(self) -> int:
        """The target that counts for nothing."""
        return int(self.parameters.get("ignore_index", -100))

    @property
    def shifts_inside(self) -> bool:
        return self.parameters.get("shift") == "inside"

    def new_model(self, case: ParameterCase, mode: str = "eval") -> Held:
        """A new model of the case's sizes with drawn weights; `mode` is that of its first call, which reads them."""
        held = Held(self.fresh_instance())
        if case.dtype == "float64":
            request = self._request(case, held, method_="double")
            response = self.runner.run(request)
            if response.failure is None or "WrongReturn" in response.failure.types:  # it returned itself
                held.before.append(Result(np.zeros(0), request))
        request = self._request(case, held, np.zeros((1, 1), np.int64), mode_=mode, load_parameters_=True)
        given = self.send(request).parameters
        held.dtypes = {name: value.dtype for name, value in given.items()}
        for name, value in given.items():
            spread = 1 / math.sqrt(max(SMALLEST, *value.shape, 0))
            # What the model drew itself would make each run another one; what it set (norms to 1, biases to 0) is kept.
            own = value.values if value.values.size and not np.ptp(value.values) else 0.0
            held.weights[name] = own + spread * case.rng(f"weight {name}").standard_normal(value.shape)
        self.fill(held)
        return held

    @staticmethod
    def fill(held: Held) -> None:
        """Let later calls give the model its `weights`."""
        held.parameters = {n: array(w, held.dtypes[n]) for n, w in held.weights.items()} or None

    def _request(self, case: ParameterCase, held: Held, *args: Any, **kwargs: Any) -> Request:
        return self.request(*args, instance_=(held.number, (case["vocab"], case["block"])), **kwargs)

    # --- calls ----------------------------------------------------------------------------------------

    def build_request(self, case: ParameterCase, held: Held, *args: Any, mode: str = "eval", **kwargs: Any) -> Request:
        """The request of a call of the model, with its weights."""
        return self._request(case, held, *args, mode_=mode, parameters_=held.parameters, **kwargs)

    def logits(self, case: ParameterCase, held: Held, ids: NDArray, **kwargs: Any) -> Result:
        """Logits (B, n, vocab) of one pass."""
        return self.result(self.build_request(case, held, ids, **kwargs), (*ids.shape, case["vocab"]))

    def plain(self, case: ParameterCase) -> None:
        """Logits of a few sequences, in both modes."""
        held, ids = self.new_model(case), self.ids(case)
        for mode in ("eval", "train"):
            self.logits(case, held, ids, mode=mode)

    def number(self, request: Request, place: int = 0) -> Result:
        """A result that is one number."""
        result = self.result(request, number=place)
        if result.values.size != 1:
            raise Violation(
                f"got shape {result.values.shape}, but should be one number", Evidence((Shown(request),), kind="crash")
            )
        return Result(result.values.reshape(1), request, result.quantity, None, result.extra, lambda _: _number(place))

    def send(self, request: Request) -> Response:
        """One request; a model may lack a method without being at fault."""
        try:
            return super().send(request)
        except Violation as violation:
            if request.method is not None and f"no attribute {request.method!r}" in violation.message:
                raise NotApplicable(f"it has no {request.method}()") from None
            raise

    def loss(self, case: ParameterCase, held: Held, ids: NDArray, targets: NDArray) -> Result:
        """The mean loss, from `loss(ids, targets)` or as the second result of `model(ids, targets)`."""
        given = self.labels(targets)
        if not self._loss_in_forward:
            try:
                return self.number(self.build_request(case, held, ids, given, method_="loss"))
            except NotApplicable:
                self._loss_in_forward = True
        try:
            response = self.send(self.build_request(case, held, ids, given))
        except Refused as refusal:
            if not str(refusal).startswith("TypeError"):
                raise
            raise NotApplicable("it has no loss(ids, targets), and takes no targets") from None
        if len(response.outputs) < 2:
            raise NotApplicable("it has no loss(ids, targets), and model(ids, targets) gives logits alone")
        return self.number(self.build_request(case, held, ids, given), 1)

    def labels(self, targets: NDArray) -> NDArray:
        """The targets as the model wants them: a place later where it shifts them itself."""
        if not self.shifts_inside:
            return targets
        ignored = np.full((targets.shape[0], 1), self.ignore_index)
        return np.concatenate([ignored, targets[:, :-1]], axis=1)

    def generate(self, case: ParameterCase, held: Held, ids: NDArray, steps: int, **given: Any) -> Result:
        """The prompts and what the model goes on with, (B, n + steps)."""
        seed = given.pop("seed", None)
        request = self.build_request(case, held, ids, steps, method_="generate", seed_=seed, **given)
        try:
            return self.result(request, (ids.shape[0], ids.shape[1] + steps))
        except Refused as refusal:
            if "unexpected keyword argument" not in str(refusal):
                raise
            raise NotApplicable(f"its generate() has no {str(refusal).split()[-1]}") from None

    # --- drawn arguments ------------------------------------------------------------------------------

    @staticmethod
    def ids(case: ParameterCase, purpose: str = "ids", n: int | None = None, B: int | None = None) -> NDArray:
        """Drawn tokens (B, n)."""
        shape = (case["B"] if B is None else B, case["n"] if n is None else n)
        return case.rng(purpose).integers(0, case["vocab"], shape)

    def targets(self, case: ParameterCase, share: float, purpose: str = "targets") -> NDArray:
        """Drawn targets (B, n) of which a share is ignored, never all; of two rows one is ignored to its end."""
        rng = case.rng(purpose)
        low = 1 if self.ignore_index == 0 else 0
        found = rng.integers(low, case["vocab"], (case["B"], case["n"]))
        left_out = rng.random(found.shape) < share
        if share and case["B"] > 1:
            left_out[0] = True
        left_out[-1, 0] = False
        if self.shifts_inside:
            left_out[:, -1] = True
        return np.where(left_out, self.ignore_index, found)


def _number(place: int) -> str:
    return "{out}.item()" if place == 0 else f"{{out}}[{place}].item()"


def noise(*logits: Result) -> float:
    """How far equal logits may be apart: half of the digits of their dtype, of the largest of them.

    Rounding leaves an error of K u max|z|, where K says how much the layers amplify it. K is not known from outside,
    but half of the digits, sqrt(u), are above K u for every K below 1 / sqrt(u): 9e7 in float64, 4e3 in float32.
    """
    units = [UNIT_ROUNDOFF.get(r.extra.get("dtype", "float32"), UNIT_ROUNDOFF["float32"]) for r in logits]
    return math.sqrt(max(units)) * max(1e-30, *(float(np.abs(r.values).max(initial=0.0)) for r in logits))


def log_softmax(z: NDArray) -> NDArray:
    """log softmax over the last axis, in float64."""
    shifted = z - z.max(-1, keepdims=True)
    out: NDArray = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
    return out


def mean_loss(z: NDArray, targets: NDArray, ignored: int) -> float:
    """-mean over the real targets of log softmax(z)[target]."""
    real = targets != ignored
    picked = np.take_along_axis(log_softmax(z), np.where(real, targets, 0)[..., None], -1)[..., 0]
    return float(-picked[real].mean())


def loss_bound(z: Result, loss: Result, targets: NDArray, ignored: int) -> float:
    """How far a correct mean loss may be from that of the logits z; u is that of the coarser of their dtypes.

    A token's loss m + log sum exp(z - m) - z_y is made of V exponentials of arguments up to R = max z - min z (error
    R u + 2 u each), a sum (V u), a logarithm (2 u, and u log V of it), two sums of numbers up to |m| + log V + |loss|,
    and a mean (N u of the largest loss). Logits of another pass may be `noise` away, which moves a loss by twice that.
    """
    u = max(UNIT_ROUNDOFF.get(r.extra.get("dtype", "float32"), UNIT_ROUNDOFF["float32"]) for r in (z, loss))
    top, spread = float(np.abs(z.values).max()), float(np.ptp(z.values, -1).max())
    V, N = int(z.values.shape[-1]), int((targets != ignored).sum())
    largest = spread + math.log(V)
    within_one_pass = u * (spread + V + 4 + math.log(V) + 2 * (top + math.log(V) + largest) + N * largest)
    return within_one_pass + 2 * noise(z)
