"""Laws of key-value caches that take tokens back, or go on with other rows, as speculative decoding and beams need it.

A cache without such methods is left in peace. A method changes the cache in place; what it returns is its own affair.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from attention_core.conformance.laws.cache_methods import (
    EVICTS,
    KEEPS,
    NEGATIVE,
    REORDERS,
    REPEATS,
    RESIZING,
    TRIMS,
    ChangingCache,
)
from attention_core.conformance.laws.kv_cache import CONTRACT
from attention_core.conformance.subjects.evidence import (
    Evidence,
    NotApplicable,
    Refused,
    Result,
    Shown,
    Violation,
    require_close,
)
from attention_core.conformance.subjects.law import Law
from attention_core.conformance.subjects.parameter_case import ParameterCase, Sizes, after, require_sizes
from attention_core.conformance.worker.exchange import NDArray, array


@dataclass
class Text:
    """A text in a cache: what every row of it has seen so far, and the calls that brought it there.

    Args:
        subject, case: whose cache it is, and what its tokens follow from.
        number: of the cache.
        parts: queries, keys and values so far, each (rows, H, tokens, d); None before the first step.
        results: of all calls so far.
        changed: the last change in words, "" before the first one.
        declined: why a window did not take tokens back, "" if it never declined.
        turns: how many steps there were.
    """

    subject: ChangingCache
    case: ParameterCase
    number: int
    parts: tuple[NDArray, ...] | None = None
    results: list[Result] = field(default_factory=list)
    changed: str = ""
    declined: str = ""
    turns: int = 0

    @property
    def rows(self) -> int:
        return self.case["B"] if self.parts is None else len(self.parts[0])

    @property
    def length(self) -> int:
        return 0 if self.parts is None else int(self.parts[0].shape[2])

    def go_on(self, tokens: int, cuts: Sequence[int] = ()) -> None:
        """Steps of new tokens, cut at some of them, give the rows of a full pass over all that is left.

        Raises:
            Violation: they do not, or are declined though a new cache takes the same tokens.
        """
        start, case = self.length, self.case.with_(n=tokens, B=self.rows)
        require_sizes(self.subject.implementation, case.with_(n=start + tokens))
        new = self.subject.inputs(case, f"turn {self.turns}")
        pairs = zip(self.parts or new, new, strict=True)
        q, k, v = new if self.parts is None else (np.concatenate(pair, axis=2) for pair in pairs)
        self.parts, self.turns = (q, k, v), self.turns + 1
        true, bound = self.subject.truth(self.case, q, k, v, slice(start, start + tokens))
        for low, high in pairwise(sorted({0, *(c for c in cuts if 0 < c < tokens), tokens})):
            chunk = [part[:, :, low:high] for part in new]
            with after(self.results):
                result = self._step(chunk, start + low)
                what = f"rows {start + low} to {start + high - 1}{self.changed}"
                require_close(result, true[:, :, low:high], bound[:, :, low:high], what)
            self.results.append(result)

    def _step(self, chunk: Sequence[NDArray], start: int) -> Result:
        """One step; declined after a change, where a new cache takes it, it is a violation."""
        subject = self.subject
        try:
            return subject.step(self.case, chunk, **subject.step_fields(self.number))
        except Refused as refused:
            if not self.changed or refused.request is None:
                raise
            assert self.parts is not None
            other = subject.step_fields(subject.fresh_instance())
            if start:
                subject.step(self.case, [part[:, :, :start] for part in self.parts], **other)
            subject.step(self.case, chunk, **other)  # declined by a new cache, too?
            message = f"a step{self.changed} was declined, which a new cache of these tokens takes: {refused}"
            raise Violation(message, Evidence((Shown(refused.request),), kind="crash")) from None

    def take_back(self, name: str, left: int) -> bool:
        """Whether tokens were taken back, so that `left` of them stay.

        A window that has dropped what would be seen again may decline, and goes on as if there had been no call.
        """
        assert self.parts is not None
        meaning = self.subject.meaning(name, self.case)
        if meaning == EVICTS:
            self.subject.unjudged = f"{name}(n), which keeps the newest n tokens"
            raise NotApplicable(f"{name}(n) keeps the newest n tokens")
        n = left if meaning == KEEPS else self.length - left
        does = f"{'keeps' if meaning == KEEPS else 'takes back'} {n} token{'' if n == 1 else 's'}"
        n = -n if meaning == NEGATIVE else n
        with after(self.results):
            try:
                self.results.append(self.subject.act(self.number, name, n))
            except Refused as refused:
                if self.subject.window is None or not left < self.length > self.subject.window - 1:
                    raise
                self.declined = str(refused)
                return False
        self.parts = tuple(part[:, :, :left] for part in self.parts)
        self.changed = f" after {name}({n}), which {does}"
        return True

    def put_rows(self, name: str, chosen: NDArray, argument: Any, shown: str) -> None:
        """Go on with some of the rows, as a method that is given an argument makes it do."""
        assert self.parts is not None
        with after(self.results):
            self.results.append(self.subject.act(self.number, name, argument))
        self.parts = tuple(part[chosen] for part in self.parts)
        self.changed = f" after {name}({shown})"


def begin(subject: ChangingCache, case: ParameterCase) -> Text:
    """A new cache, in which the first tokens of a case are."""
    text, rng = Text(subject, case, subject.fresh_instance()), case.rng("cuts")
    text.go_on(case["n"], [int(rng.integers(1, case["n"] + 1))])
    return text


def draw_length(rng: np.random.Generator, length: int) -> int:
    """How many tokens stay: all but a few half of the time, any number else."""
    return max(0, length - int(rng.integers(1, 4))) if rng.random() < 0.5 else int(rng.integers(0, length + 1))


def tokens_taken_back_are_forgotten(subject: ChangingCache, case: ParameterCase) -> None:
    """Where a cache can take tokens back, steps go on after those that stay, as if the others had never come.

    Formula: step(x[:n]), trim(n - m), step(y) = full(x[:m], y)[m:]
    Source: huggingface/transformers, DynamicCache.crop; ml-explore/mlx-lm PR1512; sgl-project/sglang#20278
    Fault: crop_keeps_one_more
    """
    name = subject.choose_method(TRIMS, case, "takes tokens back")
    text, rng = begin(subject, case), case.rng("turns")
    taken = 0
    for tokens in (int(rng.integers(2, 5)), 3, 1):
        taken += text.take_back(name, draw_length(rng, text.length))
        text.go_on(tokens, [1] if rng.random() < 0.5 else [])
    if not taken:
        raise Refused(text.declined)


def rows_go_on_with_the_tokens_of_their_beams(subject: ChangingCache, case: ParameterCase) -> None:
    """Where rows can be put in another order, every row goes on with the tokens of the row that it comes from.

    Where tokens can be taken back as well, that is done between two orders in half of the cases.

    Formula: step(x), reorder(p), step(y)_b = full(x_p(b), y_b)[n:]
    Source: huggingface/transformers, Cache.reorder_cache; facebookresearch/fairseq2#307
    Fault: keys_reordered_alone
    """
    name = subject.choose_method(REORDERS, case, "puts rows in another order")
    trims = [trim for trim in TRIMS if trim in subject.methods and case.seed % 2]
    text, rng = begin(subject, case), case.rng("beams")
    for _ in range(2):
        rows = text.rows
        size = int(rng.integers(1, rows + 2)) if name in RESIZING and rng.random() < 0.5 else rows
        chosen = np.roll(np.arange(rows), 1) if rng.random() < 0.4 else rng.integers(rows, size=size)
        text.put_rows(name, chosen, array(chosen, "int64"), str(chosen.tolist()))
        text.go_on(int(rng.integers(1, 4)))
        if trims:
            text.take_back(subject.choose_method(TRIMS, case, "takes tokens back"), draw_length(rng, text.length))
            trims = []
    text.go_on(1)


def copies_of_a_row_lie_beside_it(subject: ChangingCache, case: ParameterCase) -> None:
    """Where every row can be repeated, its copies lie one after the other, each with its tokens.

    Formula: step(x), repeat_interleave(r), step(y)_b = full(x_(b // r), y_b)[n:]
    Source: huggingface/transformers, Cache.batch_repeat_interleave (several answers to one prompt)
    Fault: rows_repeated_in_turn
    """
    name = subject.choose_method(REPEATS, case, "repeats rows")
    text, times = begin(subject, case), 2 + case.seed % 2
    text.put_rows(name, np.repeat(np.arange(text.rows), times), times, str(times))
    text.go_on(2, [1])


RANGES = {"B": (1, 3), "H": (1, 3), "n": (2, 14), "d": (1, 8)}
SPACE = Sizes({**RANGES, "n": (1, 24)})
ROWS = Sizes({**RANGES, "B": (2, 4)})
ROW: dict[str, Any] = {"contract": CONTRACT, "family": "cache_changes", "large": 12, "small": 0}
LAWS = (
    Law(tokens_taken_back_are_forgotten, space=SPACE, **ROW),
    Law(rows_go_on_with_the_tokens_of_their_beams, space=ROWS, **ROW),
    Law(copies_of_a_row_lie_beside_it, space=ROWS, **{**ROW, "large": 6}),
)
COMPARISONS = tuple(law.name for law in LAWS)
