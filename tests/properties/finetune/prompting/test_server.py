"""A model behind a server: every control arrives, every fault of the server is met, and the key stands nowhere."""

from __future__ import annotations

import gzip
import json
import math
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from prompt_server import Fault, Server, cut_off, raw, serving, status

from finetune.errors import BadInput
from finetune.prompting.answers import AnswerStore
from finetune.prompting.ask import ask
from finetune.prompting.request import Controls, Request, Unanswered
from finetune.prompting.server import KEY, ServerModel, without_password

SECRET = "sk-not-a-real-key"
HANGS = 600
"""Seconds after which a request that waits for others has no chance: they are not sent side by side."""


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    pytest.importorskip("openai")
    monkeypatch.setenv(KEY, SECRET)
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    # The client's pauses between attempts are not what is tested here.
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.001)
    monkeypatch.setattr("openai._base_client.MAX_RETRY_DELAY", 0.002)
    yield
    while OPEN:
        OPEN.pop().close()


def echo(prompt: str, body: dict[str, Any]) -> list[str]:
    return [f"{prompt}!", f"{prompt}??", "longer than these"][: body.get("n", 1)]


OPEN: list[ServerModel] = []


def model_at(url: str, name: str = "tiny", **options: Any) -> ServerModel:
    """A model whose connections are closed behind the test."""
    OPEN.append(ServerModel(name, url, **options))
    return OPEN[-1]


def model_of(server: Server, **options: Any) -> ServerModel:
    return model_at(server.url, **options)


def request_of(model: ServerModel, prompt: str = "Hello", **options: Any) -> Request:
    return Request(model.identity, prompt, **options)


def test_every_control_arrives_under_its_name() -> None:
    controls = Controls(0.5, 0.9, 7, ("x", "\n"), 0.25, -0.5, 2, 3, 11)
    with serving(echo) as server:
        model = model_of(server)
        model.answer(request_of(model, controls=controls))
    expected = {
        "model": "tiny", "prompt": "Hello", "temperature": 0.5, "top_p": 0.9, "max_tokens": 7, "stop": ["x", "\n"],
        "frequency_penalty": 0.25, "presence_penalty": -0.5, "n": 2, "best_of": 3, "seed": 11,
    }  # fmt: skip
    assert server.bodies == [expected]
    assert server.headers[0]["authorization"] == f"Bearer {SECRET}"


def test_further_fields_are_sent_and_are_part_of_the_identity() -> None:
    with serving(echo) as server:
        model = model_of(server, fields={"repeat_penalty": 1.0, "top_p": 1})
        model.answer(request_of(model, controls=Controls(top_p=0.5)))
    assert server.bodies[0]["repeat_penalty"] == 1.0
    assert server.bodies[0]["top_p"] == 1  # also where the request has another
    assert model.identity == f'{server.url} tiny {{"repeat_penalty": 1.0, "top_p": 1}}'
    assert model_of(server).identity == f"{server.url} tiny"


def test_a_completion_is_answered() -> None:
    with serving(echo) as server:
        model = model_of(server)
        answer = model.answer(request_of(model))
    assert (answer.texts, answer.finished, answer.prompt_tokens, answer.completion_tokens) == (
        ("Hello!",),
        ("stop",),
        1,
        1,
    )


def test_chat_puts_the_prompt_into_a_dialogue_and_chooses_the_best_itself() -> None:
    with serving(echo) as server:
        model = model_of(server)
        answer = model.answer(request_of(model, mode="chat", controls=Controls(n=1, best_of=3)))
    assert server.bodies[0]["messages"] == [{"role": "user", "content": "Hello"}]
    assert server.bodies[0]["n"] == 3
    assert "best_of" not in server.bodies[0]
    # The server's log-probability of a text is minus its length.
    assert answer.texts == ("Hello!",)


@pytest.mark.parametrize("mode", ["completion", "chat"])
def test_choices_are_scored_by_the_next_token(mode: Any) -> None:
    def listing(prompt: str, body: dict[str, Any]) -> list[str]:
        return [" True", "Tr", "False", "else"]

    with serving(listing) as server:
        model = model_of(server)
        scores = model.answer(request_of(model, choices=(" False", " True", " Maybe"), mode=mode)).scores
    chances = [math.exp(-1.5), math.exp(-1.5) + math.exp(-1.2)]
    assert scores[:2] == pytest.approx([math.log(c) for c in chances])
    assert scores[2] == -math.inf


@pytest.mark.parametrize(
    "fault", [status(429, Retry_After="0"), status(500), status(503), status(408), cut_off], ids=["429", "500", "503", "408", "cut"]
)  # fmt: skip
def test_a_fault_that_passes_is_repeated_and_paid_for_once(fault: Fault) -> None:
    with serving(echo) as server:
        server.faults = [fault, fault]
        model = model_of(server)
        assert model.answer(request_of(model)).texts == ("Hello!",)
        assert len(server.bodies) == 3
        assert len({headers["idempotency-key"] for headers in server.headers}) == 1
        assert sum(server.charged.values()) == 1


def test_retry_after_is_waited_for() -> None:
    with serving(echo) as server:
        server.faults = [status(429, Retry_After="1")]
        model = model_of(server)
        start = time.monotonic()
        model.answer(request_of(model))
    assert time.monotonic() - start >= 1  # a pause never ends early, whatever the machine does


def test_repetitions_are_bounded() -> None:
    with serving(echo) as server:
        server.faults = [status(500, f"broken, {SECRET}")] * 99
        model = model_of(server, retries=2)
        with pytest.raises(Unanswered, match=r"status 500, broken, \[key\]"):
            model.answer(request_of(model))
        assert len(server.bodies) == 3


@pytest.mark.parametrize(
    "fault",
    [
        raw(b"<html>hello</html>", "text/html"),
        raw(b'{"choices": []}'),
        raw(b'{"object": "text_completion", "choices": [{"index": 0}]}'),
        raw(b'{"choices": [{"index": 0, "text": 7, "finish_reason": "stop"}], "usage": null}'),
        raw(b'{"choices": [{"index": 0, "text": "cut'),
        raw(b'{"choices": [{"index": 0, "text": "cut', claimed=1000),
        raw(b"[1, 2]"),
        raw(b""),
        raw(gzip.compress(b"0" * 1000), Content_Encoding="gzip"),
    ],
    ids=["html", "empty", "no text", "number", "malformed", "cut off", "list", "nothing", "compressed"],
)
def test_what_is_not_a_completion_is_one_line(fault: Fault) -> None:
    with serving(echo) as server:
        server.faults = [fault] * 9
        model = model_of(server, retries=1)
        with pytest.raises(Unanswered) as caught:
            model.answer(request_of(model))
        assert "\n" not in str(caught.value)
        assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("asked", "line"),
    [
        ({"choices": (" yes", " no")}, "lists no log-probabilities"),
        ({"controls": Controls(n=1, best_of=2), "mode": "chat"}, "lists no log-probabilities"),
        ({"controls": Controls(n=3)}, "sent 1 of 3 completions"),
    ],
    ids=["likelihood", "best of", "n"],
)
def test_what_a_server_ignores_is_said_once(asked: dict[str, Any], line: str) -> None:
    """`transformers serve` knows neither logprobs nor n, and says nothing."""
    choice = {"index": 0, "text": "a", "message": {"role": "assistant", "content": "a"}, "finish_reason": "stop"}
    with serving(echo) as server:
        server.faults = [raw(json.dumps({"choices": [choice]}).encode())] * 9
        model = model_of(server)
        with pytest.raises(BadInput, match=line):
            model.answer(request_of(model, **asked))
        assert len(server.bodies) == 1


def test_an_endless_answer_is_broken_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("finetune.prompting.server.LONGEST", 1000)
    with serving(echo) as server:
        server.faults = [raw(json.dumps({"choices": [], "filler": "x" * 5000}).encode())] * 9
        model = model_of(server, retries=1)
        with pytest.raises(Unanswered, match="more than 1,000 bytes"):
            model.answer(request_of(model))


@pytest.mark.parametrize(
    ("fault", "line"),
    [
        (status(401, "bad key"), "refuses the key in OPENAI_API_KEY"),
        (status(403, "your plan"), "does not permit this: .*your plan"),
        (
            status(400, f"too long for {SECRET}\nsecond line"),
            r"refuses the request: .*too long for \[key\] second line",
        ),
        (status(422, "n must be 1"), "refuses the request: .*n must be 1"),
        (status(400, "Server is pinned to 'x'", detail=True), "refuses the request: Server is pinned to 'x'"),
    ],
)
def test_a_refusal_is_one_line_and_not_repeated(fault: Fault, line: str) -> None:
    with serving(echo) as server:
        server.faults = [fault]
        model = model_of(server)
        with pytest.raises(BadInput, match=line) as caught:
            model.answer(request_of(model))
        assert len(server.bodies) == 1
        assert "\n" not in str(caught.value)
        assert SECRET not in str(caught.value)


def test_an_unknown_model_is_told_which_there_are() -> None:
    with serving(echo) as server:
        model = model_at(server.url, "large")
        with pytest.raises(BadInput, match="has no model 'large'; it has tiny"):
            model.answer(request_of(model))


def test_a_closed_port_is_one_line() -> None:
    with serving(echo) as server:
        url = server.url
    model = model_at(url, retries=0)
    with pytest.raises(Unanswered, match=url):
        model.answer(request_of(model))


def test_openai_needs_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY)
    with pytest.raises(BadInput, match="set OPENAI_API_KEY in the environment"):
        ServerModel("gpt")


@pytest.mark.parametrize(
    "url", ["", "localhost:8000", "ftp://host/v1", "http://", "http://host:port/v1", "file:///etc"]
)
def test_what_is_not_an_address_is_one_line(url: str) -> None:
    with pytest.raises(BadInput, match="is not an address"):
        ServerModel("tiny", url).identity  # noqa: B018  # the address is read


def test_a_password_in_the_address_stands_nowhere() -> None:
    model = model_at("http://user:secret@127.0.0.1:9/v1", retries=0)
    with pytest.raises(Unanswered) as caught:
        model.answer(request_of(model))
    assert "secret" not in str(caught.value) + model.identity + request_of(model).model
    assert without_password("https://u:p@h/v1?token=x") == "https://h/v1"


def test_parallel_requests_run_side_by_side() -> None:
    together = threading.Barrier(8, timeout=HANGS)

    def meet(prompt: str, body: dict[str, Any]) -> list[str]:
        together.wait()  # is left only when eight requests are here at once
        return [prompt]

    with serving(meet) as server:
        model = model_of(server, parallel=8, timeout=HANGS)
        replies = ask(model, [request_of(model, str(n)) for n in range(16)])
    assert [answer.texts[0] for answer in replies.complete()] == [str(n) for n in range(16)]


def test_threads_that_come_together_share_one_client(monkeypatch: pytest.MonkeyPatch) -> None:
    import openai

    start, made, make = threading.Barrier(8, timeout=HANGS), list[Any](), openai.OpenAI

    def make_slowly(**options: Any) -> Any:
        time.sleep(0.02)  # lets the others come before it is there
        made.append(make(**options))
        return made[-1]

    def meet() -> Any:
        start.wait()
        return model.client

    monkeypatch.setattr(openai, "OpenAI", make_slowly)
    model = model_at("http://127.0.0.1:9/v1")
    with ThreadPoolExecutor(8) as pool:
        clients = {id(future.result()) for future in [pool.submit(meet) for _ in range(8)]}
    for client in made:
        client.close()
    assert len(made) == len(clients) == 1


def test_faults_by_the_dozen_lose_nothing_and_pay_nothing_twice(tmp_path: Any) -> None:
    kinds = [status(429, Retry_After="0"), status(500), cut_off, raw(b"{"), raw(b'{"choices": []}')]
    with serving(echo) as server, AnswerStore(tmp_path / "a.db") as store:
        server.faults = [kinds[n % len(kinds)] for n in range(60)]
        model = model_of(server, parallel=4)
        requests = [request_of(model, str(n)) for n in range(40)]
        for _ in range(30):  # as a user would, who runs the same command again
            replies = ask(model, requests, store)
            if not replies.reasons:
                break
        assert [answer.texts[0] for answer in replies.complete()] == [f"{n}!" for n in range(40)]
        assert ask(model, requests, store).sent == 0
        assert len(server.charged) == 40
        assert set(server.charged.values()) == {1}
