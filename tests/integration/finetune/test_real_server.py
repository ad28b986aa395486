"""A real server of the OpenAI API on loopback: `transformers serve`, started here where its libraries are installed.

`pip install fastapi uvicorn` is what it needs beside the test extra; elsewhere these tests are skipped.
"""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from prompt_server import wait_for
from tiny_language_models import make_language_model

from finetune.cli.main import app
from finetune.errors import BadInput
from finetune.prompting.answers import AnswerStore
from finetune.prompting.ask import ask
from finetune.prompting.local import LocalModel
from finetune.prompting.request import Controls, Request
from finetune.prompting.server import ServerModel

MISSING = [name for name in ("fastapi", "uvicorn", "openai") if find_spec(name) is None]
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"transformers serve needs {', '.join(MISSING)}")
PROMPTS = ("Hello", "The answer is", "x")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_language_model(tmp_path_factory.mktemp("model") / "tiny")


@pytest.fixture(scope="module")
def url(folder: Path) -> Iterator[str]:
    """The address of a server that has loaded the model."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    start = "from transformers.cli.transformers import main; main()"
    command = ["serve", str(folder), "--host", "127.0.0.1", "--port", str(port), "--device", "cpu"]
    process = subprocess.Popen(
        [sys.executable, "-c", start, *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        wait_for(f"http://127.0.0.1:{port}/health", process)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        process.communicate()


@pytest.fixture
def served(url: str, folder: Path) -> Iterator[ServerModel]:
    model = ServerModel(str(folder), url, retries=0)
    yield model
    model.close()


def requests_of(model: ServerModel | LocalModel, **controls: object) -> list[Request]:
    return [Request(model.identity, prompt, Controls(max_tokens=12, **controls)) for prompt in PROMPTS]  # type: ignore[arg-type]


def test_the_server_says_what_the_same_model_says_in_this_process(served: ServerModel, folder: Path) -> None:
    here = LocalModel(str(folder))
    for remote, own in zip(requests_of(served), requests_of(here), strict=True):
        answer, expected = served.answer(remote), here.answer(own)
        assert answer.texts == expected.texts
        assert (answer.prompt_tokens, answer.completion_tokens) == (expected.prompt_tokens, expected.completion_tokens)


def test_what_is_stored_is_not_asked_again(served: ServerModel, tmp_path: Path) -> None:
    with AnswerStore(tmp_path / "answers.db") as store:
        first = ask(served, requests_of(served), store).answers
    gone = ServerModel(served.name, served.url, retries=0)
    gone._make_client = lambda: pytest.fail("a stored answer was asked for again")  # type: ignore[method-assign]
    with AnswerStore(tmp_path / "answers.db") as store:
        assert ask(gone, requests_of(gone), store).answers == first


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"choices": (" yes", " no")}, "lists no log-probabilities"),
        ({"controls": Controls(max_tokens=4, n=3)}, "sent 1 of 3 completions"),
    ],
    ids=["logprobs", "n"],
)
def test_what_this_server_ignores_is_one_line(served: ServerModel, asked: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        served.answer(Request(served.identity, "Hello", **asked))


def test_an_unknown_model_is_one_line(url: str) -> None:
    model = ServerModel("nobody/nothing", url, retries=0)
    try:
        with pytest.raises(BadInput) as told:
            model.answer(requests_of(model)[0])
    finally:
        model.close()
    assert "requested 'nobody/nothing'" in str(told.value) and "\n" not in str(told.value)


def test_the_command_line_completes(served: ServerModel, folder: Path) -> None:
    told = CliRunner().invoke(
        app, ["prompt", "complete", "Hello", "--server", served.url, "--model", str(folder), "--max_tokens", "12"]
    )
    assert told.exit_code == 0, told.output
    assert "tokens in, 12 tokens out" in told.output
