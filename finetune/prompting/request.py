"""Requests to a language model, and its answers: frozen records; a request's canonical form is its key in the store."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Protocol

from finetune.errors import BadInput

Mode = Literal["completion", "chat"]


@dataclass(frozen=True)
class Controls:
    """How a completion is sampled, under the names of the OpenAI API.

    Args:
        temperature: 0 takes the likeliest token; at most 2.
        top_p: draw from the fewest tokens whose probabilities reach this share; above 0, at most 1.
        max_tokens: the longest completion, in tokens.
        stop: texts before which a completion ends; at most four.
        frequency_penalty: subtracted from a token's logit for each time the completion already has it; -2 to 2.
        presence_penalty: subtracted once if the completion already has it; -2 to 2.
        n: completions of one prompt.
        best_of: completions that are drawn, of which the `n` likeliest are kept; None for `n`.
        seed: the same seed, the same draws, where a server honours it.
    Raises:
        BadInput: for a value outside its range.

    >>> Controls(temperature=0.7, stop=("\\n",)).max_tokens
    16
    """

    temperature: float = 0.0
    top_p: float = 1.0
    max_tokens: int = 16
    stop: tuple[str, ...] = ()
    frequency_penalty: float = 0.0
    presence_penalty: float = 0.0
    n: int = 1
    best_of: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        ranges = {
            "temperature": (0 <= self.temperature <= 2, "0 to 2"),
            "top_p": (0 < self.top_p <= 1, "above 0, at most 1"),
            "max_tokens": (self.max_tokens >= 1, "at least 1"),
            "stop": (len(self.stop) <= 4 and all(self.stop), "at most four texts, none of them empty"),
            "frequency_penalty": (-2 <= self.frequency_penalty <= 2, "-2 to 2"),
            "presence_penalty": (-2 <= self.presence_penalty <= 2, "-2 to 2"),
            "n": (self.n >= 1, "at least 1"),
            "best_of": (self.best_of is None or self.best_of >= self.n, f"at least n = {self.n}"),
        }
        for name, (holds, allowed) in ranges.items():
            if not holds:
                raise BadInput(f"{name} = {getattr(self, name)!r}: it must be {allowed}")

    @property
    def candidates(self) -> int:
        """How many completions are drawn for one prompt."""
        return self.n if self.best_of is None else self.best_of


@dataclass(frozen=True)
class Request:
    """One prompt for one model.

    Args:
        model: the identity of the model (see `Model.identity`): the same identity, the same distribution of answers.
        prompt: the text to go on with, or in chat mode the user's message.
        controls: how to sample; ignored where `choices` are scored.
        mode: "completion" goes on with the text, "chat" puts it into the model's dialogue.
        choices: texts whose log-probability after the prompt is wanted in place of a completion.

    >>> len(Request("m", "Say yes.", Controls()).key())
    64
    """

    model: str
    prompt: str
    controls: Controls = field(default_factory=Controls)
    mode: Mode = "completion"
    choices: tuple[str, ...] = ()

    def key(self) -> str:
        """Return SHA-256 of the canonical JSON of all fields, in hexadecimal."""
        text = json.dumps(asdict(self), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True)
class Answer:
    """What a model answered to one request.

    Args:
        texts: the completions, the likeliest first where `best_of` chose; empty where choices were scored.
        finished: for each, "stop" or "length" (cut at `max_tokens`).
        prompt_tokens: tokens of the prompt.
        completion_tokens: tokens of all completions drawn, those that were not kept included.
        scores: the log-probability of each choice in nats; -inf where a server did not list it.
    """

    texts: tuple[str, ...] = ()
    finished: tuple[str, ...] = ()
    prompt_tokens: int = 0
    completion_tokens: int = 0
    scores: tuple[float, ...] = ()

    def to_json(self) -> str:
        """Return the answer as JSON; an infinite score is null."""
        record = asdict(self) | {"scores": [s if math.isfinite(s) else None for s in self.scores]}
        return json.dumps(record, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Answer:
        """Read what `to_json` wrote.

        Raises:
            ValueError: if the text is not such an answer.

        >>> Answer.from_json(Answer(("yes",), ("stop",)).to_json()).texts
        ('yes',)
        """
        record = json.loads(text)
        if not isinstance(record, dict) or set(record) != set(cls.__dataclass_fields__):
            raise ValueError("not an answer")
        return cls(**{name: _frozen(name, value) for name, value in record.items()})


def _frozen(name: str, value: Any) -> Any:
    if name == "scores":
        return tuple(-math.inf if score is None else float(score) for score in value)
    return tuple(value) if isinstance(value, list) else value


class Unanswered(Exception):
    """A request that the model did not answer this time (busy, broken off, malformed); asking again may help."""


class Model(Protocol):
    """A language model that answers requests.

    `answer` raises `Unanswered` for what may pass, and BadInput for what will not.
    """

    @property
    def identity(self) -> str:
        """The model and where it runs, without a secret; part of every cache key."""
        ...

    @property
    def parallel(self) -> int:
        """How many requests may run at once; 1 for a model in this process."""
        ...

    def answer(self, request: Request) -> Answer:
        """Answer one request."""
        ...

    def close(self) -> None:
        """Let go of connections and memory."""
        ...


def describe_usage(prompt_tokens: int, completion_tokens: int, prices: Mapping[str, float] | None = None) -> str:
    """Return tokens, and their cost where prices are known.

    Args:
        prompt_tokens: tokens that were sent.
        completion_tokens: tokens that were drawn.
        prices: dollars for a million tokens, by "input" and "output".

    >>> describe_usage(2_000_000, 1000, {"input": 1.5, "output": 2.0})
    '2,000,000 tokens in, 1,000 tokens out, $3.0020'
    """
    text = f"{prompt_tokens:,} tokens in, {completion_tokens:,} tokens out"
    if prices is None:
        return text
    cost = (prompt_tokens * prices["input"] + completion_tokens * prices["output"]) / 1e6
    return f"{text}, ${cost:.4f}"
