"""Times a submission beside the reference, in turns, and judges every answer that was timed.

A block is A B B A: the reference, the submission, the submission, the reference, each on inputs of its own, so that
drift falls on both and no answer can be copied from another call. Calls that only warm up are judged as well, and the
submission cannot tell which they are.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from attention_core.bench.timing.statistics import Comparison
from attention_core.bench.timing.statistics import compare as compare_times
from attention_core.grading.player import SEEN, Player
from attention_core.grading.rules import Refused
from attention_core.grading.truth import Judged

Array = npt.NDArray[np.float64]
Stored = npt.NDArray[Any]
WARM, LEAST, MOST = 2, 8, 40
"""Calls of each before the first block; blocks at least and at most."""
IDLE = 12
"""Calls that compute nothing, which say what the way there and back costs."""
AGAIN = 20
"""Empty calls, and calls of the submission between them, before it is refused as too fast."""
FASTEST = 8.0
"""So many times the rate of a plain product of matrices here that no kernel of the same products reaches."""
PROCESSORS = 1.5
"""Processor seconds over seconds by the clock and thread, beyond which more processors are used than allowed."""


class Stage(Protocol):
    """What is timed: two processes, their fresh inputs, and the judge of what the submission answers."""

    submission: Player
    reference: Player
    flops: float
    threads: int

    def deal(self, player: Player) -> Mapping[str, Stored]:
        """Put fresh inputs into a process's arena, which stands."""
        ...

    def judge(self, inputs: Mapping[str, Stored], outputs: Mapping[str, Stored]) -> Judged:
        """Judge an answer of the submission, which stands."""
        ...


@dataclass
class Timing:
    """What was measured of one shape.

    Args:
        shape: in words.
        seconds, reference: medians, without what an empty call costs.
        comparison: of the times of blocks, the submission's over the reference's.
        calls: of the submission, all judged; share: of the entries of each that were judged.
        worst: the largest error over what is allowed.
        idle: seconds of an empty call.
        processors: processor seconds over seconds by the clock.
    """

    shape: str
    seconds: float
    reference: float
    comparison: Comparison
    calls: int
    share: float
    worst: float
    idle: float
    processors: float


@dataclass
class Run:
    """One shape as it is measured."""

    stage: Stage
    shape: str
    seconds: float
    tell: Callable[[str], None] = lambda text: None
    watch: Callable[[], None] = lambda: None
    """Called after every call of the submission, while it stands; raises Refused."""
    checks: list[int] = field(default_factory=list)
    worst: float = 0.0
    share: float = 1.0
    before: bool = False
    """Whether an earlier call was right."""

    def measure(self) -> Timing:
        """Time both in turns.

        Raises: Refused: an answer is wrong, or no answer at all.
        """
        stage, idle = self.stage, self._idle()
        for _ in range(WARM):
            self.time_reference()
            self.time_submission()
        taken: dict[str, list[list[float]]] = {"submission": [], "reference": []}
        spent = 0.0
        while len(taken["reference"]) < MOST and (len(taken["reference"]) < LEAST or spent < self.seconds):
            first, one, two, last = (
                self.time_reference(), self.time_submission(), self.time_submission(), self.time_reference(),
            )  # fmt: skip
            spent += first + one + two + last
            taken["reference"].append([first, last])
            taken["submission"].append([one, two])
            self.tell(f"{self.shape}: block {len(taken['reference'])}")
        return self._summarize(np.array(taken["submission"]), np.array(taken["reference"]), idle, stage)

    def _summarize(self, own: Array, base: Array, idle: float, stage: Stage) -> Timing:
        """The ratio of times without the empty call's.

        Raises: Refused: no kernel is so fast, or not on so few processors.
        """
        player = stage.submission
        processors = player.computed / max(player.waited, 1e-9)
        if player.computed > PROCESSORS * stage.threads * player.waited + 0.1:
            words = f"{processors:.1f} processors were busy in its calls, and the task allows {stage.threads}"
            raise Refused("more_processors", words)
        net, net_base = subtract_idle(own, idle), subtract_idle(base, idle)
        if self._is_too_fast(float(np.median(net))):
            idle = self._require_speed(float(np.median(own)), idle)
            net, net_base = subtract_idle(own, idle), subtract_idle(base, idle)
        seconds = float(np.median(net))
        return Timing(
            self.shape, seconds, float(np.median(net_base)), compare_times(net, net_base), len(self.checks), self.share,
            self.worst, idle, processors,
        )  # fmt: skip

    def _is_too_fast(self, seconds: float) -> bool:
        """Whether no processor computes a call in so many seconds."""
        return bool(self.stage.flops) and self.stage.flops / seconds > FASTEST * self._rate

    @cached_property
    def _rate(self) -> float:
        """Operations a second of a plain product of matrices."""
        return float(self.stage.reference.ask("rate", size=512, dtype="float32")["rate"])

    def _require_speed(self, own: float, idle: float) -> float:
        """What an empty call costs, if the submission is not too fast without that.

        Where the machine was busier while empty calls were timed than while the submission was, all of its time, and
        more, is taken for the way there and back. So both are timed again in turns: the fastest empty call is taken
        from the longer of what the submission took at first and of its fastest call now.

        Args:
            own: seconds of a call of the submission, as it was timed. idle: those of an empty call.

        Raises: Refused: even so no kernel is so fast.
        """
        pairs = [(self._empty(), self.time_submission()) for _ in range(AGAIN)]
        fastest, again = (min(times) for times in zip(*pairs, strict=True))
        idle = min(idle, fastest)
        seconds = float(subtract_idle(np.array(max(own, again)), idle))
        if self._is_too_fast(seconds):
            rate, plain = self.stage.flops / seconds / 1e9, self._rate / 1e9
            words = f"{self.shape}: {rate:.0f} GFLOP/s, where a plain product of matrices reaches {plain:.0f}"
            raise Refused("too_fast", words)
        return idle

    def _idle(self) -> float:
        """What a call costs in which nothing is computed: the median of some, by the reference's process."""
        self.stage.deal(self.stage.reference)
        return float(np.median([self.stage.reference.call("nothing")[0] for _ in range(IDLE)]))

    def _empty(self) -> float:
        """Seconds of one empty call."""
        self.stage.deal(self.stage.reference)
        return float(self.stage.reference.call("nothing")[0])

    def time_reference(self) -> float:
        """Seconds of one call of the reference on fresh inputs."""
        stage = self.stage
        stage.deal(stage.reference)
        try:
            seconds, answer = stage.reference.call()
        except Refused as error:
            raise ReferenceFailed(error.message) from None
        if problem := answer.get("raised") or next((answer[rule] for rule in SEEN if rule in answer), ""):
            raise ReferenceFailed(str(problem))
        return seconds

    def time_submission(self) -> float:
        """Seconds of one call of the submission on fresh inputs, once the answer is judged.

        Raises: Refused.
        """
        stage, player = self.stage, self.stage.submission
        inputs = stage.deal(player)
        seconds, answer = player.call()
        arena = player.arena
        assert arena is not None
        where = f"{self.shape}, call {len(self.checks) + 1}"
        if "raised" in answer:
            raise Refused("raises", f"{where}: {answer['raised']}")
        for rule in SEEN:
            if rule in answer:
                raise Refused(rule, f"{where}: {answer[rule]}")
        outputs = arena.read()
        self.watch()
        if name := arena.find_change(inputs):
            raise Refused("writes_inputs", f"{where}: {name} is not what it was before the call")
        if name := arena.find_overrun():
            raise Refused("writes_outside", f"{where}: memory beside {name} is not what it was before the call")
        judged = stage.judge(inputs, outputs)
        check = checksum(outputs)
        if judged.is_wrong:
            raise self._name_wrong(judged, outputs, inputs, check, where)
        self.checks.append(check)
        self.worst, self.share, self.before = max(self.worst, judged.worst), judged.share, True
        return seconds

    def _name_wrong(
        self, judged: Judged, outputs: Mapping[str, Stored], inputs: Mapping[str, Stored], check: int, where: str
    ) -> Refused:
        """Which rule a wrong answer breaks."""
        stage, player = self.stage, self.stage.submission
        words = f"{where}: {judged.where}"
        if check in self.checks:
            earlier = self.checks.index(check) + 1
            return Refused("stale_answer", f"{where}: it gave the answer of call {earlier}, which had other inputs")
        try:
            if not player.ask("again").keys() & {*SEEN}:
                player.stop()
                assert player.arena is not None
                if not stage.judge(inputs, player.arena.read()).is_wrong:
                    return Refused("late_answer", f"{where}: the answer was finished after the call had returned")
        except Refused:
            pass  # the wrong answer is what counts
        if any(np.isnan(as_floats(value)).all() for value in outputs.values()):
            return Refused("nothing_written", words)
        first = "" if not self.before else " (earlier calls were right)"
        return Refused("wrong_answer", f"{words}{first}")


class ReferenceFailed(Exception):
    """The reference of a task cannot be called."""


def as_floats(stored: Stored) -> Array:
    """Floats as numbers, where NaN is to be seen; integers and bfloat16 by their bits."""
    if stored.dtype.kind == "f":
        return stored.astype(np.float64)
    return np.where(stored == np.iinfo(stored.dtype).max, np.nan, 0.0) if stored.dtype.kind == "u" else np.zeros(1)


def checksum(outputs: Mapping[str, Stored]) -> int:
    """A number that tells answers apart.

    >>> checksum({"out": np.zeros(2)}) == checksum({"out": np.zeros(2)})
    True
    """
    total = 0
    for name in sorted(outputs):
        total = zlib.crc32(np.ascontiguousarray(outputs[name]).data, total)
    return total


def subtract_idle(seconds: Array, idle: float) -> Array:
    """Times without an empty call's, and at least a twentieth of that."""
    return np.maximum(seconds - idle, 0.05 * idle)
