"""What the laws of fine-tuning methods hold in their hands: models with an adapter, texts, and rows of numbers."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from attention_core.conformance.subjects.evidence import (
    Evidence,
    NotApplicable,
    Refused,
    Result,
    Shown,
    Violation,
    require_close,
    require_same,
)
from attention_core.conformance.subjects.outcomes import declines
from attention_core.conformance.subjects.parameter_case import ParameterCase, after
from attention_core.conformance.worker.exchange import NDArray, Request, Response
from finetune.laws.causal_lm.model import noise
from finetune.laws.checkpoint.interrupted import Interrupted, Interruptible, Place, as_evidence


@dataclass(frozen=True)
class Facts:
    """What a method declares: how many numbers it trains (-1: unknown), whether it begins neutral, its texts."""

    count: int
    neutral: bool
    low: int
    high: int
    pad: int
    longest: int
    segments: int


@dataclass(frozen=True)
class Texts:
    """Token ids (B, n), which of them are real (B, n), and the length of each text."""

    ids: NDArray
    mask: NDArray
    lengths: NDArray


class Adapting(Interrupted):
    """A class `(seed, dtype, saved)` derived from `finetune.laws.peft.adapted.Adapted`, which says what to write.

    Declared with `--parameter`: `unmerge=exact` (the old bits come back; default: up to two roundings).
    """

    _facts: Facts | None = None

    def unused_parameters(self) -> Collection[str]:
        """`segments` where the model has none: the base class names it for those that have."""
        return ("segments",) if self._facts is not None and self._facts.segments < 2 else ()

    def new(self, case: ParameterCase, saved: str = "") -> Interruptible:
        """A model with a new adapter, or one from a folder."""
        return Interruptible(self.fresh_instance(), (case.seed % 1000, case.dtype, saved))

    def draw_trained_model(self, case: ParameterCase) -> Interruptible:
        """A model whose adapter and head are drawn, as after training."""
        run = self.new(case)
        self.do(run, "draw", case.seed % 1000 + 1)
        return run

    def raw(self, run: Interruptible, method: str, *args: Any) -> tuple[Request, Response]:
        """One call, whatever came of it, unless the method lacks the operation or declines it."""
        request, response = super().raw(run, method, *args)
        failure = response.failure
        if failure is not None and "Lacks" in failure.types:
            raise NotApplicable(failure.message.splitlines()[0])
        if failure is not None and "WrongReturn" not in failure.types and declines(failure):
            raise Refused(f"{failure.types[0]}: {failure.message.splitlines()[0] if failure.message else ''}")
        return request, response

    def send(self, request: Request) -> Response:
        """One request; a method may lack what it calls without being at fault."""
        try:
            return super().send(request)
        except Refused as refusal:
            if str(refusal).startswith("Lacks: "):
                raise NotApplicable(str(refusal).removeprefix("Lacks: ")) from None
            raise
        except Violation as violation:
            if "no attribute 'facts'" in violation.message:
                message = f"{violation.message} (is the class derived from finetune.laws.peft.adapted.Adapted?)"
                raise Violation(message, violation.evidence) from None
            raise

    def build_request(self, run: Interruptible, method: str, *args: Any, mode: str | None = None) -> Request:
        """The request of one call; a `mode` is set before it and stays."""
        return self.request(*args, method_=method, instance_=(run.number, run.given), mode_=mode)

    def array(self, run: Interruptible, method: str, *args: Any, mode: str | None = "eval") -> Result:
        """What a call gives, its evidence with the calls before it."""
        with after(run.calls):
            return self.result(self.build_request(run, method, *args, mode=mode))

    def plain(self, case: ParameterCase) -> None:
        """Outputs of a model with drawn numbers, in both modes."""
        run = self.draw_trained_model(case)
        texts = self.texts(case, run)
        for mode in ("eval", "train"):
            self.out(run, texts, mode=mode)

    def facts(self, run: Interruptible) -> Facts:
        """What the method says of itself; the same for every run."""
        if self._facts is None:
            found = self.array(run, "facts").values
            self._facts = Facts(int(found[0]), bool(found[1]), *(int(v) for v in found[2:7]))
        return self._facts

    def texts(self, case: ParameterCase, run: Interruptible, side: str = "", extra: int = 0) -> Texts:
        """Texts of different lengths, the longest without padding; `side` "" for texts of one length.

        Args: extra, places of padding that even the longest text has.
        """
        facts, rng = self.facts(run), case.rng("texts")
        n = min(2 + case["n"], facts.longest - extra)
        lengths = rng.integers(1, n + 1, case["B"]) if side else np.full(case["B"], n)
        lengths[int(rng.integers(case["B"]))] = n
        ids = rng.integers(facts.low, facts.high, (case["B"], n + extra))
        places = np.arange(n + extra)
        real = places >= (n + extra - lengths)[:, None] if side == "left" else places < lengths[:, None]
        return Texts(np.where(real, ids, facts.pad), real.astype(np.int64), lengths)

    def out(self, run: Interruptible, texts: Texts, method: str = "forward", **mode: Any) -> Result:
        """Outputs for texts, with their attention mask."""
        return self.array(run, method, texts.ids, texts.mask, **mode)

    def row(self, run: Interruptible) -> Result:
        """All parameters in one row."""
        return self.array(run, "numbers", mode=None)

    def flags(self, run: Interruptible) -> NDArray:
        """Which of them are trained."""
        return np.asarray(self.array(run, "flags", mode=None).values > 0)

    def sizes_of(self, run: Interruptible) -> list[tuple[str, int]]:
        """The parameters in their order, with their sizes."""
        text = np.full((1, 1), self.facts(run).low)
        request = self.request(text, np.ones_like(text), instance_=(run.number, run.given), load_parameters_=True)
        found = self.send(request).parameters
        return [(name.removeprefix("adapted."), value.values.size) for name, value in found.items()]

    def name_of(self, run: Interruptible, place: int) -> str:
        """The parameter that a number of the row belongs to."""
        for name, size in self.sizes_of(run):
            place -= size
            if place < 0:
                return name
        raise IndexError(place)

    def cotangent(self, case: ParameterCase, like: Result) -> NDArray:
        """Drawn weights of the outputs, of about 1."""
        return case.rng("cotangent").standard_normal(like.values.shape)

    def same_row(self, run: Interruptible, got: Result, want: NDArray, bound: NDArray | float, what: str) -> None:
        """Raise unless two rows of parameters agree within a bound."""
        if got.values.shape != want.shape:
            evidence = Evidence((Shown(got.request),), kind="crash", before=as_evidence(run.calls))
            raise Violation(f"{what}: got {got.values.size} numbers, but should be {want.size}", evidence)
        off = ~(np.abs(got.values - want) <= bound)
        if off.any():
            place = int(off.argmax())
            g, w = float(got.values[place]), float(want[place])
            limit = float(np.broadcast_to(bound, want.shape)[place])
            message = (
                f"{what}: got {g!r} in {self.name_of(run, place)}, but should be {w!r} (allowed error {limit:.3g})"
            )
            raise Violation(message, Evidence((got.show((place,)),), g, w, limit, before=as_evidence(run.calls)))

    def save(self, run: Interruptible, place: Place) -> None:
        """Save into a folder."""
        self.do(run, "save", place.path)


def close(got: Result, want: Result, what: str, *, bits: bool = False, earlier: bool = False) -> None:
    """Raise unless two outputs agree: bit by bit, or up to rounding (`model.noise`).

    Where the model has changed since, `want` is one that was `earlier`: a program cannot ask for it any more.
    """
    if got.values.shape != want.values.shape:
        evidence = Evidence((Shown(got.request),), kind="crash")
        raise Violation(f"{what}: got shape {got.values.shape}, but should be {want.values.shape}", evidence)
    bound = 0.0 if bits else noise(got, want)
    if earlier:
        require_close(got, want.values, bound, what)
    else:
        require_same(got, want, bound, what)


def apart(got: Result, want: Result) -> bool:
    """Whether two outputs differ by more than rounding."""
    return got.values.shape != want.values.shape or bool((np.abs(got.values - want.values) > noise(got, want)).any())
