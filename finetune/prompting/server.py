"""A model behind any server that speaks the OpenAI API, through the official client.

The key comes from the environment alone and stands in no message, answer or file.
What a server may send has a bound, so that a broken or hostile one cannot fill the memory.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Lock
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import httpx2

from finetune.errors import BadInput
from finetune.prompting.request import Answer, Request, Unanswered

LONGEST = 64 * 2**20
"""Bytes of one answer."""


class TooLong(httpx2.TransportError):
    """An answer beyond the bound, or compressed although the request did not offer to unpack it."""


class BoundedStream(httpx2.SyncByteStream):
    """The bytes of an answer, up to a bound.

    >>> b"".join(BoundedStream(httpx2.ByteStream(b"abc"), 3))
    b'abc'
    """

    def __init__(self, stream: httpx2.SyncByteStream, longest: int) -> None:
        self.stream, self.longest = stream, longest

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        for chunk in self.stream:
            size += len(chunk)
            if size > self.longest:
                raise TooLong(f"an answer of more than {self.longest:,} bytes")
            yield chunk

    def close(self) -> None:
        """Close the connection's stream."""
        self.stream.close()


def bound(response: httpx2.Response) -> None:
    """Bound a response that has not been read yet: a response hook of the client.

    Raises:
        TooLong: if the response is compressed. A few bytes can stand for gigabytes.
    """
    if response.headers.get("content-encoding", "identity") != "identity":
        raise TooLong("a compressed answer, although the request accepts none")
    assert isinstance(response.stream, httpx2.SyncByteStream)
    response.stream = BoundedStream(response.stream, LONGEST)


class Ignored(ValueError):
    """A server left out what a request asked for, as one does that does not know a field."""


KEY = "OPENAI_API_KEY"
OPENAI = "https://api.openai.com/v1"
LISTED = 20
"""Likely next tokens that a request wants where choices are scored; OpenAI lists no more in chat mode."""


class ServerModel:
    """A model of an OpenAI-compatible server.

    A request is repeated by the client after 408, 409, 429 and 5xx, and where the connection breaks, with growing
    pauses or as Retry-After says. Each carries its key as `Idempotency-Key`: a server that knows the header charges a
    repeated request once.

    Args:
        name: of the model, as the server knows it.
        url: of the API, such as http://localhost:8000/v1.
        parallel: requests that may run at once.
        retries: repetitions of one request at most.
        timeout: seconds for one attempt.
        fields: further fields of every request, such as {"repeat_penalty": 1.0}: a server's own sampling, or its
            defaults where they are not neutral. They are part of the identity.
    Raises:
        BadInput: if the URL is not an http(s) address, or openai.com is called without a key.

    >>> ServerModel("tiny", "http://user:secret@localhost:8000/v1").identity
    'http://localhost:8000/v1 tiny'
    >>> ServerModel("tiny", "http://localhost:8000/v1", fields={"top_k": 0}).identity
    'http://localhost:8000/v1 tiny {"top_k": 0}'
    """

    def __init__(
        self, name: str, url: str = OPENAI, *, parallel: int = 8, retries: int = 6, timeout: float = 120.0,
        fields: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        self.name, self.url, self.parallel = name, url.rstrip("/"), parallel
        self.retries, self.timeout, self.fields = retries, timeout, dict(fields or {})
        self.shown = without_password(self.url)
        self._client: Any = None
        self._lock = Lock()
        if self.url == OPENAI and not os.environ.get(KEY):
            raise BadInput(f"no key: set {KEY} in the environment, or name a server of your own with --server URL")

    @property
    def identity(self) -> str:
        """The server's address, the model's name, and what every request has beside the API's fields."""
        return " ".join([self.shown, self.name, *([json.dumps(self.fields, sort_keys=True)] if self.fields else [])])

    @property
    def client(self) -> Any:
        """The official client, one for all threads. Raises: BadInput if the library is missing."""
        with self._lock:  # a cached_property of Python 3.12 and later is made by each thread that comes early
            if self._client is None:
                self._client = self._make_client()
            return self._client

    def _make_client(self) -> Any:
        try:
            import openai
        except ModuleNotFoundError:
            raise BadInput("servers need the library openai: python -m pip install 'attention-core[prompt]'") from None

        return openai.OpenAI(
            api_key=os.environ.get(KEY) or "none",  # servers of one's own take any
            base_url=self.url,
            max_retries=self.retries,
            timeout=self.timeout,
            default_headers={"Accept-Encoding": "identity"},
            http_client=openai.DefaultHttpxClient(event_hooks={"response": [bound]}),
        )

    def answer(self, request: Request) -> Answer:
        """Send one request, and check the form of what comes back.

        Raises:
            Unanswered: if the server was busy to the last attempt, broke off, or sent something else.
            BadInput: if it refuses the key, the model or the request, or ignores what was asked for.
        """
        options = self._options(request)
        with self._plain_errors():
            if request.mode == "chat":
                messages = [{"role": "user", "content": request.prompt}]
                reply = self.client.chat.completions.create(messages=messages, **options)
            else:
                reply = self.client.completions.create(prompt=request.prompt, **options)
        try:
            return read_reply(reply, request)
        except Ignored as error:
            raise BadInput(f"{self.shown} {error}") from None
        except (AttributeError, IndexError, KeyError, TypeError, ValueError):
            raise Unanswered(f"{self.shown} sent something that is not a completion") from None

    def close(self) -> None:
        """Close the connections, if any was opened."""
        if self._client is not None:
            self._client.close()

    def _options(self, request: Request) -> dict[str, Any]:
        """Return the request's fields under the API's names; a control at its neutral value is not sent."""
        controls, chat = request.controls, request.mode == "chat"
        options: dict[str, Any] = {
            "model": self.name,
            "temperature": controls.temperature,
            "max_tokens": 1 if request.choices else controls.max_tokens,
            "seed": controls.seed,
            "extra_headers": {"Idempotency-Key": request.key()},
        }
        if self.fields:
            options["extra_body"] = self.fields
        if controls.top_p != 1:
            options["top_p"] = controls.top_p
        if controls.stop:
            options["stop"] = list(controls.stop)
        for name in ("frequency_penalty", "presence_penalty"):
            if getattr(controls, name):
                options[name] = getattr(controls, name)
        if request.choices:
            options |= {"logprobs": True, "top_logprobs": LISTED} if chat else {"logprobs": LISTED}
        elif controls.candidates > 1:
            # The chat API has no best_of: all candidates come back with their log-probabilities, and we choose.
            options["n"] = controls.candidates if chat else controls.n
            if chat and controls.candidates > controls.n:
                options["logprobs"] = True
            if not chat and controls.candidates > controls.n:
                options["best_of"] = controls.candidates
        return options

    @contextmanager
    def _plain_errors(self) -> Iterator[None]:
        """Within, the client's exceptions become Unanswered or BadInput, in one line without the key."""
        import openai

        try:
            yield
        except openai.AuthenticationError:
            raise BadInput(f"{self.shown} refuses the key in {KEY}: check it, and that it is of this server") from None
        except openai.PermissionDeniedError as error:
            raise BadInput(f"{self.shown} does not permit this: {self._message(error)}") from None
        except openai.NotFoundError as error:
            raise BadInput(self._explain_missing(error)) from None
        except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
            raise BadInput(f"{self.shown} refuses the request: {self._message(error)}") from None
        except openai.APITimeoutError:
            raise Unanswered(f"no answer within {self.timeout:g} s, {self.retries + 1} times") from None
        except openai.APIConnectionError as error:
            raise Unanswered(f"{self.shown}: {describe_cause(error)}") from None
        except openai.APIStatusError as error:
            raise Unanswered(f"{self.shown}: status {error.status_code}, {self._message(error)}") from None
        except openai.APIError as error:
            raise Unanswered(f"{self.shown}: {self._message(error)}") from None
        except ValueError:  # of the JSON reader: the client does not wrap it
            raise Unanswered(f"{self.shown} sent something that is not JSON") from None

    def _explain_missing(self, error: Any) -> str:
        import openai

        try:
            names = sorted(model.id for model in self.client.models.list().data)
        except (openai.OpenAIError, AttributeError, TypeError):
            return f"{self.shown} has no completions: is the address right, with /v1 at its end?"
        if self.name in names:
            return f"{self.shown} has the model {self.name!r}, but not this kind of request; try the other mode"
        listed = ", ".join(names[:8]) or "none"
        return f"{self.shown} has no model {self.name!r}; it has {listed}"

    def _message(self, error: Any) -> str:
        """Return the first line of a server's message, cut, with the key taken out."""
        body = error.body if isinstance(getattr(error, "body", None), dict) else {}
        text = str(body.get("message") or body.get("detail") or error.message or type(error).__name__)  # or FastAPI's
        secret = os.environ.get(KEY)
        if secret:
            text = text.replace(secret, "[key]")
        line = " ".join(text.split())
        return "".join(c if c.isprintable() else "?" for c in line)[:200]


def read_reply(reply: Any, request: Request) -> Answer:
    """Read a reply of either API.

    Raises:
        Ignored: if it has no log-probabilities where they were asked for, or fewer completions.
        AttributeError, IndexError, KeyError, TypeError, ValueError: if it has another form.
    """
    controls, chat = request.controls, request.mode == "chat"
    choices = sorted(reply.choices, key=lambda choice: choice.index)
    usage = reply.usage
    counts = (0, 0) if usage is None else (int(usage.prompt_tokens), int(usage.completion_tokens))
    drawn = controls.candidates > controls.n
    if choices and (request.choices or (chat and drawn)) and getattr(choices[0], "logprobs", None) is None:
        raise Ignored("lists no log-probabilities: leave --scoring likelihood and --best_of out, or ask another server")
    if request.choices:
        return Answer((), (), *counts, scores=first_token_scores(choices[0], request.choices, chat))
    if chat and drawn:
        choices = sorted(choices, key=mean_log_probability, reverse=True)
    choices = choices[: controls.n]
    if 0 < len(choices) < controls.n:
        raise Ignored(
            f"sent {len(choices)} of {controls.n} completions, as a server does that ignores --n: ask for one"
        )
    if not choices:
        raise ValueError("no completion")
    texts = [choice.message.content or "" if chat else choice.text for choice in choices]
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("a completion without text")
    return Answer(tuple(texts), tuple(str(choice.finish_reason) for choice in choices), *counts)


def mean_log_probability(choice: Any) -> float:
    """Return the mean log-probability of a chat completion's tokens, by which the API's best_of chooses."""
    tokens = choice.logprobs.content
    return float(sum(token.logprob for token in tokens)) / max(len(tokens), 1)


def first_token_scores(choice: Any, choices: tuple[str, ...], chat: bool) -> tuple[float, ...]:
    """Return the log-probability of each choice's beginning as the next token, of all listed tokens that begin it.

    A server lists single tokens, not whole choices: a choice has the probability of the listed tokens that are a
    beginning of it and of no other choice. Where none is, the score is -inf.
    """
    if chat:
        listed = {token.token: token.logprob for token in choice.logprobs.content[0].top_logprobs}
    else:
        listed = dict(choice.logprobs.top_logprobs[0])
    stripped = [text.strip() for text in choices]
    sums = [0.0] * len(choices)
    for token, log_probability in listed.items():
        begun = [n for n, text in enumerate(stripped) if token.strip() and text.startswith(token.strip())]
        if len(begun) == 1:
            sums[begun[0]] += math.exp(log_probability)
    return tuple(math.log(total) if total > 0 else -math.inf for total in sums)


def describe_cause(error: BaseException) -> str:
    """Return the innermost cause of a broken connection in one line."""
    while error.__cause__ is not None:
        error = error.__cause__
    return " ".join(str(error).split())[:200] or type(error).__name__


def without_password(url: str) -> str:
    """Return an http(s) address without user and password.

    Raises:
        BadInput: if it is not such an address.

    >>> without_password("http://a:b@host:1/v1")
    'http://host:1/v1'
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise BadInput(f"--server: {url!r} is not an address such as http://localhost:8000/v1") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise BadInput(f"--server: {url!r} is not an address such as http://localhost:8000/v1")
    host = parts.hostname if port is None else f"{parts.hostname}:{port}"
    return urlunsplit((parts.scheme, host, parts.path, "", ""))
