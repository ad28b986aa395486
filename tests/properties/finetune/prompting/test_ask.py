"""Asking: equal requests once, stored ones never, what fails leaves the rest alone."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finetune.errors import BadInput
from finetune.prompting.answers import AnswerStore
from finetune.prompting.ask import ask
from finetune.prompting.request import Answer, Request, Unanswered


class Echo:
    """Answers with the prompt; prompts that begin with `busy` are not answered, with `never` refused."""

    identity = "echo"

    def __init__(self, parallel: int = 1) -> None:
        self.parallel, self.seen, self.lock = parallel, [], threading.Lock()
        self.running = self.most = 0

    def answer(self, request: Request) -> Answer:
        with self.lock:
            self.seen.append(request.prompt)
            self.running += 1
            self.most = max(self.most, self.running)
        try:
            if request.prompt.startswith("busy"):
                raise Unanswered("busy")
            if request.prompt.startswith("never"):
                raise BadInput("never")
            return Answer((request.prompt,), ("stop",), 1, 1)
        finally:
            with self.lock:
                self.running -= 1

    def close(self) -> None:
        """Nothing is open."""


def requests(*prompts: str) -> list[Request]:
    return [Request("echo", prompt) for prompt in prompts]


@given(st.lists(st.sampled_from("abcdef")), st.integers(1, 4))
def test_answers_come_in_order_and_equal_requests_are_sent_once(prompts: list[str], parallel: int) -> None:
    model = Echo(parallel)
    replies = ask(model, requests(*prompts))
    assert [a.texts[0] for a in replies.complete()] == prompts
    assert sorted(model.seen) == sorted(set(prompts))
    assert replies.sent == len(set(prompts))
    assert model.most <= parallel


def test_what_is_stored_is_not_sent_again(tmp_path: Path) -> None:
    model = Echo(3)
    with AnswerStore(tmp_path / "a.db") as store:
        ask(model, requests("a", "b"), store)
        again = ask(model, requests("b", "c", "a"), store)
    assert again.sent == 1
    assert sorted(model.seen) == ["a", "b", "c"]
    assert again.tokens() == (3, 3)


@pytest.mark.parametrize("parallel", [1, 3])
def test_a_request_without_an_answer_leaves_the_others_alone(parallel: int, tmp_path: Path) -> None:
    model = Echo(parallel)
    with AnswerStore(tmp_path / "a.db") as store:
        replies = ask(model, requests("a", "busy", "b"), store)
        assert [a is not None for a in replies.answers] == [True, False, True]
        assert replies.reasons == {1: "busy"}
        with pytest.raises(BadInput, match=r"1 of 3 requests were not answered \(request 2: busy\)"):
            replies.complete()
        assert all(store.find(requests("a", "b")))


@pytest.mark.parametrize("parallel", [1, 2])
def test_a_refusal_ends_the_run_and_keeps_what_was_answered(parallel: int, tmp_path: Path) -> None:
    model = Echo(parallel)
    with AnswerStore(tmp_path / "a.db") as store:
        with pytest.raises(BadInput, match="never"):
            ask(model, requests("a", "never", *"bcdefgh"), store)
        assert store.find(requests("a"))[0] is not None
        for prompt in set(model.seen) - {"never"}:
            assert store.find(requests(prompt))[0] is not None
    assert len(model.seen) <= 2 + parallel


def test_progress_counts_every_request_once() -> None:
    seen: list[tuple[int, int]] = []
    ask(Echo(2), requests("a", "a", "b", "busy"), progress=lambda done, all_: seen.append((done, all_)))
    assert seen[0] == (0, 4)
    assert seen[-1] == (4, 4)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
