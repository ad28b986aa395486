"""Calls that are kept, and sent otherwise than a law asked for."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from attention_core.conformance.subjects.evidence import Evidence, Shown, Violation
from attention_core.conformance.subjects.recording import record_calls
from attention_core.conformance.worker.exchange import Request, Response


class Runner:
    """Answers what has no call before it, and is called `own`."""

    name = "own"

    def run(self, request: Request, meanwhile: Any = None) -> Response:
        return Response("raised" if request.earlier is not None and request.args == (2,) else "ok")


def test_calls_are_changed_kept_and_shown_as_they_were_sent() -> None:
    subject, asked = SimpleNamespace(runner=Runner()), Request((1,))
    other, own = Request((0,)), subject.runner
    with (
        pytest.raises(Violation) as caught,
        record_calls(subject, lambda request: replace(request, earlier=other)) as calls,
    ):
        assert subject.runner.name == "own"
        subject.runner.run(asked)
        subject.runner.run(Request((2,)))
        subject.runner.run(Request(describe=True))
        raise Violation("wrong", Evidence((Shown(asked),)))
    assert subject.runner is own
    assert caught.value.evidence.calls[0].request == replace(asked, earlier=other)
    assert [sent.earlier for _, sent, _ in calls.sent] == [other, None, None]  # what is declined so is asked alone
