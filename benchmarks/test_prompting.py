"""Stored answers replayed, and requests at once against one after another, on a server of loopback.

Times of whatever machine runs them: printed, kept in the JSON, and compared with what was asked for.
"""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from prompt_server import serving

from finetune.prompting.answers import AnswerStore
from finetune.prompting.ask import ask
from finetune.prompting.request import Answer, Request
from finetune.prompting.server import ServerModel

STORED, REPLAY_SECONDS = 1000, 2.0
AT_ONCE, DELAY, GAIN = 32, 0.1, 10.0
"""Requests at once, the seconds that each answer takes, and how many times the throughput should be."""


class Never:
    """A model that must not be asked."""

    identity, parallel = "m", 1

    def answer(self, request: Request) -> Answer:
        raise AssertionError(f"{request.prompt} was sent")


def requests(count: int, model: str = "m") -> list[Request]:
    return [Request(model, f"question {number}: {'word ' * 100}") for number in range(count)]


def test_stored_requests_are_replayed(benchmark: Any, tmp_path: Path) -> None:
    path, asked = tmp_path / "answers.db", requests(STORED)
    with AnswerStore(path) as store:
        for request in asked:
            store.keep(request, Answer(("True",), ("stop",), 100, 1))

    def replay() -> None:
        with AnswerStore(path) as store:
            assert ask(Never(), asked, store).sent == 0

    benchmark.pedantic(replay, rounds=5, iterations=1)
    took = benchmark.stats.stats.max
    print(f"{STORED} stored requests: {took:.3f} s at most (asked {REPLAY_SECONDS:g})")
    assert took < REPLAY_SECONDS


def test_requests_at_once_against_one_after_another(benchmark: Any) -> None:
    gains = []
    with serving(lambda prompt, body: ["True"], delay=DELAY) as server:

        def seconds(parallel: int, count: int, tag: int) -> float:
            model = ServerModel("tiny", server.url, parallel=parallel)
            asked = requests(count, f"{model.identity} {tag} {parallel}")
            start = time.perf_counter()
            assert not ask(model, asked).reasons
            model.close()
            return (time.perf_counter() - start) / count

        for tag in range(3):  # interleaved, so that both sides see the same machine
            gains.append(seconds(1, AT_ONCE, tag) / seconds(AT_ONCE, 8 * AT_ONCE, tag))
        benchmark.pedantic(lambda: seconds(AT_ONCE, AT_ONCE, 9), rounds=1, iterations=1)
    gain = statistics.median(gains)
    benchmark.extra_info["throughput"] = {"median": gain, "smallest": min(gains), "largest": max(gains)}
    print(f"{AT_ONCE} at once over one: {gain:.1f} ({min(gains):.1f} to {max(gains):.1f}); asked {GAIN:g}")
    assert gain >= GAIN
