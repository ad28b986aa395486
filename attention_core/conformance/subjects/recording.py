"""The calls that a law makes, kept, and others sent in their place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from attention_core.conformance.subjects.evidence import Violation
from attention_core.conformance.worker.exchange import Request, Response


class Recording:
    """A runner that keeps each request, and may send something else in its place."""

    def __init__(self, runner: Any, change: Callable[[Request], Request] = lambda request: request) -> None:
        self.runner, self.change = runner, change
        self.sent: list[tuple[Request, Request, Response]] = []

    def run(self, request: Request, meanwhile: Callable[[], object] | None = None) -> Response:
        plain = not (request.describe or request.wrt or request.earlier or request.between or request.method == "reset")
        sent = self.change(request) if plain else request
        response: Response = self.runner.run(sent, meanwhile)
        if response.status == "raised" and sent is not request:  # the other call may ask for what is declined
            sent, response = request, self.runner.run(request, meanwhile)
        self.sent.append((request, sent, response))
        return response

    def __getattr__(self, name: str) -> Any:
        return getattr(self.runner, name)


@contextmanager
def record_calls(
    subject: Any, change: Callable[[Request], Request] = lambda request: request, when: str = ""
) -> Iterator[Recording]:
    """The calls made inside, changed on their way; a violation shows them as they were sent, and says `when`."""
    runner = subject.runner
    subject.runner = recording = Recording(runner, change)
    try:
        yield recording
    except Violation as violation:
        sent = {id(request): other for request, other, _ in recording.sent}
        calls = tuple(replace(s, request=sent.get(id(s.request), s.request)) for s in violation.evidence.calls)
        before = tuple(replace(s, request=sent.get(id(s.request), s.request)) for s in violation.evidence.before)
        evidence = replace(violation.evidence, calls=calls, before=before)
        raise Violation(f"{when}, {violation.message}" if when else violation.message, evidence) from None
    finally:
        subject.runner = runner
