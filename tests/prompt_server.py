"""A server on loopback that speaks the OpenAI API, with faults on request: for tests of prompting.

It charges once for an Idempotency-Key, as the header is meant, and counts what it charged.
"""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import pytest

Fault = Callable[[BaseHTTPRequestHandler], bool]
"""What is done in place of an answer; False lets the answer follow."""


class Server:
    """What the server does and has done.

    `reply` makes the completions of a prompt; `faults` are taken one a request, in order, then none; `delay` is the
    time that each answer takes.
    """

    def __init__(self, reply: Callable[[str, dict[str, Any]], list[str]], delay: float = 0.0) -> None:
        self.reply, self.delay = reply, delay
        self.faults: list[Fault] = []
        self.charged: Counter[str] = Counter()
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.lock = threading.Lock()
        self.url = ""

    def next_fault(self) -> Fault | None:
        with self.lock:
            return self.faults.pop(0) if self.faults else None


def status(code: int, message: str = "busy", *, detail: bool = False, **headers: str) -> Fault:
    """A fault: this status, with a message as OpenAI sends it, or as FastAPI's detail."""

    def send(handler: BaseHTTPRequestHandler) -> bool:
        told = {"detail": message} if detail else {"error": {"message": message, "type": "error"}}
        body = json.dumps(told).encode()
        handler.send_response(code)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(body)
        return True

    return send


def raw(body: bytes, kind: str = "application/json", claimed: int | None = None, **headers: str) -> Fault:
    """A fault: status 200 with these bytes; `claimed` is a Content-Length that need not be true."""

    def send(handler: BaseHTTPRequestHandler) -> bool:
        handler.send_response(200)
        handler.send_header("Content-Type", kind)
        handler.send_header("Content-Length", str(len(body) if claimed is None else claimed))
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(body)
        handler.close_connection = True
        return True

    return send


def cut_off(handler: BaseHTTPRequestHandler) -> bool:
    """A fault: the connection ends without a word."""
    handler.close_connection = True
    handler.connection.close()
    return True


@contextmanager
def serving(reply: Callable[[str, dict[str, Any]], list[str]], delay: float = 0.0) -> Iterator[Server]:
    """Serve on a free port of loopback until the context ends."""
    state = Server(reply, delay)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            """Nothing: the tests look at `state`."""

        def do_GET(self) -> None:
            self._send({"object": "list", "data": [{"id": "tiny", "object": "model", "created": 0, "owned_by": "x"}]})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with state.lock:
                state.bodies.append(body)
                state.headers.append({name.lower(): value for name, value in self.headers.items()})
            fault = state.next_fault()
            if fault is not None and fault(self):
                return
            if body["model"] != "tiny":
                status(404, f"no model {body['model']}")(self)
                return
            with state.lock:
                state.charged[self.headers.get("Idempotency-Key", "none")] |= 1
            if state.delay:
                time.sleep(state.delay)
            self._send(answer_of(state, body, chat=self.path.endswith("/chat/completions")))

        def _send(self, record: dict[str, Any]) -> None:
            body = json.dumps(record).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    state.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)  # the end is noticed at once
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def answer_of(state: Server, body: dict[str, Any], chat: bool) -> dict[str, Any]:
    """The body of a completion in either form, with log-probabilities where they are wanted."""
    prompt = body["messages"][-1]["content"] if chat else body["prompt"]
    texts = state.reply(prompt, body)
    choices = []
    for number, text in enumerate(texts[: body.get("n", 1)]):
        # A text's log-probability a token is minus its length: the shortest is the likeliest.
        listed = {word: -1.0 - len(word) / 10 for word in texts}
        if chat:
            tokens = [
                {"token": text, "logprob": -float(len(text)), "bytes": None,
                 "top_logprobs": [{"token": t, "logprob": p, "bytes": None} for t, p in listed.items()]}
            ]  # fmt: skip
            choices.append({
                "index": number, "finish_reason": "stop", "message": {"role": "assistant", "content": text},
                "logprobs": {"content": tokens} if body.get("logprobs") else None,
            })  # fmt: skip
        else:
            logprobs = {"tokens": [text], "token_logprobs": [-1.0], "top_logprobs": [listed], "text_offset": [0]}
            choices.append({
                "index": number, "finish_reason": "stop", "text": text,
                "logprobs": logprobs if body.get("logprobs") else None,
            })  # fmt: skip
    return {
        "id": "x", "object": "chat.completion" if chat else "text_completion", "created": 0, "model": body["model"],
        "choices": choices,
        "usage": {"prompt_tokens": len(prompt.split()), "completion_tokens": len(choices), "total_tokens": 0},
    }  # fmt: skip


def wait_for(address: str, process: subprocess.Popen[str]) -> None:
    """Return once something answers there; fail with what the server said where it ended."""
    while True:
        if process.poll() is not None:
            pytest.fail(f"the server ended: {process.communicate()[0][-2000:]}")
        try:
            with urlopen(address):
                return
        except (URLError, ConnectionError):
            time.sleep(0.1)
