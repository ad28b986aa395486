"""A language model in this process: a folder of transformers, a GGUF file, or a package that carries one.

The sampling loop is written out: every control of a request is one line of it.
"""

from __future__ import annotations

import copy
import hashlib
import io
import math
from contextlib import redirect_stderr
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from finetune.errors import BadInput
from finetune.models.sampling import next_distribution
from finetune.prompting.packaged import PACKAGED, locate_packaged
from finetune.prompting.request import Answer, Controls, Request


class LocalModel:
    """A causal language model of transformers, loaded on the first request.

    Args:
        path: a folder with config.json and safetensors, a .gguf file, or a key of `PACKAGED`.
        device: where it runs.
    Raises:
        BadInput: if there is no such model.
    """

    parallel = 1

    def __init__(self, path: str, device: str = "cpu") -> None:
        self.path, self.device = locate(path), device
        self._read: list[int] = []
        self._cache: Any = None
        self._beginnings: list[tuple[list[int], Any]] = []

    @cached_property
    def identity(self) -> str:
        """The names of the files and a hash of their bytes: another file, another identity."""
        files = [self.path] if self.path.is_file() else weight_files(self.path)
        digest = hashlib.sha256()
        for file in files:
            with open(file, "rb") as stream:
                digest.update(hashlib.file_digest(stream, "sha256").digest())
        return f"local {self.path.name} {digest.hexdigest()[:16]}"

    @cached_property
    def _model(self) -> tuple[Any, Any]:
        """The tokenizer and the model. Raises: BadInput if transformers cannot read them."""
        from transformers import AutoModelForCausalLM, AutoTokenizer
        from transformers.utils import logging

        logging.disable_progress_bar()
        logging.set_verbosity_error()
        folder, options = str(self.path), {}
        if self.path.is_file():
            if find_spec("gguf") is None:
                raise BadInput("GGUF files need the library gguf: python -m pip install 'attention-core[prompt]'")
            folder, options = str(self.path.parent), {"gguf_file": self.path.name}
        try:
            with redirect_stderr(io.StringIO()):  # a progress bar that no setting turns off; errors are exceptions
                tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, **options)
                model = AutoModelForCausalLM.from_pretrained(
                    folder, local_files_only=True, use_safetensors=True, dtype=torch.float32, **options
                )
        except Exception as error:  # whatever a broken file raises is reported with the name of the file
            reason = " ".join(f"{type(error).__name__}: {error}".split())[:200]
            raise BadInput(f"{self.path} cannot be loaded as a causal language model: {reason}") from None
        return tokenizer, model.to(self.device).eval()

    @torch.no_grad()
    def answer(self, request: Request) -> Answer:
        """Go on with the prompt, or score the choices after it.

        Raises:
            BadInput: if the prompt is empty or longer than the context, or the model has no dialogue for chat.
        """
        _, model = self._model
        prompt = self._encode(request)
        limit = getattr(model.config, "max_position_embeddings", math.inf)
        needed = len(prompt) + (0 if request.choices else request.controls.max_tokens)
        if needed > limit:
            raise BadInput(
                f"a prompt of {len(prompt)} tokens with {needed - len(prompt)} more does not fit into the model's "
                f"context of {limit}: take fewer demonstrations (--shots), or cut the texts (--max_words)"
            )
        if request.choices:
            scores = tuple(self._score(request, prompt, choice) for choice in request.choices)
            return Answer((), (), len(prompt), 0, scores)
        drawn = [self._draw(request.controls, prompt, number) for number in range(request.controls.candidates)]
        best = sorted(drawn, key=lambda completion: completion.mean, reverse=True) if len(drawn) > 1 else drawn
        kept = best[: request.controls.n] if request.controls.best_of else drawn
        return Answer(
            tuple(completion.text for completion in kept), tuple(completion.finished for completion in kept),
            len(prompt), sum(completion.tokens for completion in drawn),
        )  # fmt: skip

    def close(self) -> None:
        """Forget the keys and values of the last text."""
        self._cache, self._read, self._beginnings = None, [], []

    def _encode(self, request: Request, more: str = "") -> list[int]:
        tokenizer, _ = self._model
        if request.mode == "chat":
            if not tokenizer.chat_template:
                raise BadInput(f"{self.path.name} has no dialogue: take --mode completion")
            messages = [{"role": "user", "content": request.prompt}]
            text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
            ids = tokenizer(text + more, add_special_tokens=False)["input_ids"]
        else:
            ids = tokenizer(request.prompt + more)["input_ids"]
        if not ids:
            raise BadInput("the prompt is empty")
        return [int(number) for number in ids]

    def _logits(self, ids: list[int], count: int = 1) -> Float[Tensor, "count vocab"]:
        """Return the logits after each of the last `count` ids.

        Keys and values of a common beginning with the text before are kept: demonstrations that all prompts share are
        read once.
        """
        cache = self._reuse_cache(ids, min(common(self._read, ids), len(ids) - count))
        output = self._read_on(ids, cache, count)
        self._cache, self._read = output.past_key_values, list(ids)
        logits: Tensor = output.logits
        return logits[0].float()

    def _read_on(self, ids: list[int], cache: Any, count: int) -> Any:
        """Run the model on the ids that the cache has not seen, and return its output for the last `count`."""
        _, model = self._model
        same = 0 if cache is None else cache.get_seq_length()
        fresh = torch.tensor([ids[same:]], device=self.device)
        return model(input_ids=fresh, past_key_values=cache, use_cache=True, logits_to_keep=count)

    def _reuse_cache(self, ids: list[int], same: int) -> Any:
        """Return the keys and values of the first `same` ids, which the text before has in common; None for none."""
        cache, self._cache = self._cache, None
        if cache is None or not same:
            return None
        surplus = cache.get_seq_length() - same
        if surplus > 0 and any(getattr(layer, "is_sliding", False) for layer in cache.layers):
            return self._fork_cache(ids[:same])
        if surplus > 0:
            cache.crop(-surplus)
        return cache

    def _fork_cache(self, ids: list[int]) -> Any:
        """Return a copy of a cache that ends after the ids, for models with sliding windows.

        A sliding window has forgotten what a shorter text needs, so that its cache cannot be cut. Beginnings that two
        texts shared are read once more, alone, and kept, each the beginning of the next: what all prompts share, and
        after it the prompt whose choices are scored.
        """
        while self._beginnings and common(self._beginnings[-1][0], ids) < len(self._beginnings[-1][0]):
            self._beginnings.pop()
        known, cache = self._beginnings[-1] if self._beginnings else ([], None)
        if len(known) < len(ids):
            cache = self._read_on(ids, copy.deepcopy(cache), 1).past_key_values
            self._beginnings.append((ids, cache))
        return copy.deepcopy(cache)

    def _score(self, request: Request, prompt: list[int], choice: str) -> float:
        """Return log p(choice | prompt) in nats, over the tokens that the choice adds or changes."""
        ids = self._encode(request, choice)
        start = max(common(prompt, ids), 1)
        if start >= len(ids):
            raise BadInput(f"the choice {choice!r} adds no token to the prompt")
        rows = torch.log_softmax(self._logits(ids[:-1], len(ids) - start), -1)
        return float(rows.gather(-1, torch.tensor(ids[start:], device=rows.device)[:, None]).sum())

    def _draw(self, controls: Controls, prompt: list[int], number: int) -> Completion:
        """Draw one completion; `number` tells the draws of one request apart."""
        tokenizer, model = self._model
        seed = int.from_bytes(hashlib.sha256(f"{controls.seed} {number}".encode()).digest()[:8], "big") >> 1
        generator = torch.Generator(self.device).manual_seed(seed)
        ends = end_tokens(tokenizer, model)
        ids: list[int] = []
        total, text = 0.0, ""
        while len(ids) < controls.max_tokens:
            logits = self._logits(prompt + ids)
            token = choose(penalize(logits, ids, controls), controls, generator)
            total += float(torch.log_softmax(logits, -1)[0, token])
            ids.append(token)
            if token in ends:
                return Completion(text, "stop", total, len(ids))
            text = tokenizer.decode(ids, skip_special_tokens=True)
            places = [text.find(stop) for stop in controls.stop if stop in text]
            if places:
                return Completion(text[: min(places)], "stop", total, len(ids))
        return Completion(text, "length", total, len(ids))


@dataclass(frozen=True)
class Completion:
    """One drawn completion: its text, why it ended, the log-probability of its tokens, and their number."""

    text: str
    finished: str
    log_probability: float
    tokens: int

    @property
    def mean(self) -> float:
        """The log-probability of a token in the mean, by which best_of chooses."""
        return self.log_probability / self.tokens


def penalize(logits: Float[Tensor, "1 vocab"], drawn: list[int], controls: Controls) -> Float[Tensor, "1 vocab"]:
    """Lower the logits of tokens that the completion already has.

    z_t - c_t * frequency_penalty - [c_t > 0] * presence_penalty, where c_t counts token t in the completion.

    Source: the OpenAI API reference, "frequency and presence penalties".
    """
    if not drawn or not (controls.frequency_penalty or controls.presence_penalty):
        return logits
    counts = torch.bincount(torch.tensor(drawn, device=logits.device), minlength=logits.shape[-1]).to(logits.dtype)
    return logits - counts * controls.frequency_penalty - (counts > 0) * controls.presence_penalty


def choose(logits: Float[Tensor, "1 vocab"], controls: Controls, generator: torch.Generator) -> int:
    """Return the likeliest token at temperature 0, else one drawn from softmax(z / T) cut to the share top_p."""
    if controls.temperature == 0:
        return int(logits.argmax())
    shares = next_distribution(logits, controls.temperature, top_p=controls.top_p)
    return int(torch.multinomial(shares, 1, generator=generator))


def common(first: list[int], second: list[int]) -> int:
    """Return how many ids two texts have in common at their beginning.

    >>> common([1, 2, 3], [1, 2, 4, 5])
    2
    """
    count = 0
    for a, b in zip(first, second, strict=False):
        if a != b:
            break
        count += 1
    return count


def end_tokens(tokenizer: Any, model: Any) -> set[int]:
    """Return the ids after which a model has finished."""
    ends = model.generation_config.eos_token_id
    listed = ends if isinstance(ends, list) else [ends]
    return {int(end) for end in (*listed, tokenizer.eos_token_id) if end is not None}


def locate(path: str) -> Path:
    """Return the folder or file of a model.

    Raises:
        BadInput: if there is none, or a package that carries it is not installed.
    """
    if path in PACKAGED:
        return locate_packaged(path)
    found = Path(path)
    if found.is_dir():
        if not (found / "config.json").is_file():
            raise BadInput(f"{path} has no config.json: it is not a folder of a model")
        return found
    if found.is_file() and found.suffix == ".gguf":
        return found
    raise BadInput(
        f"no model at {path!r}: name a folder with config.json, a .gguf file, one of {', '.join(PACKAGED)}, "
        "or a server's model with --server URL"
    )


def weight_files(folder: Path) -> list[Path]:
    """Return the files that decide what a folder's model answers, in order of their names."""
    patterns = ("*.safetensors", "config.json", "generation_config.json", "tokenizer*", "chat_template*")
    return sorted({file for pattern in patterns for file in folder.glob(pattern)})
