"""Caches that take tokens back, or go on with other rows: which methods do so, and what their number means.

Speculative decoding takes rejected tokens back, beam search goes on with other rows of the batch. Libraries agree on
the methods' names, not on their number: `crop(n)` kept n tokens in transformers 4, `trim(n)` takes n away in mlx-lm.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from typing import Any

import numpy as np

from attention_core.conformance.laws.cache_steps import Cache
from attention_core.conformance.subjects.evidence import NotApplicable, Refused, Result, Violation, excess
from attention_core.conformance.subjects.outcomes import check_response
from attention_core.conformance.subjects.parameter_case import ParameterCase, supports
from attention_core.conformance.worker.exchange import Array, NDArray, Request

TRIMS = ("crop", "trim", "rollback", "truncate", "rewind")
"""Methods that take tokens back."""
REORDERS = ("reorder", "reorder_cache", "index_select", "batch_select_indices")
"""Methods that are given a row for each row to come."""
RESIZING = ("index_select", "batch_select_indices")
"""Those of them that may be given more rows, or fewer, than there are."""
REPEATS = ("batch_repeat_interleave",)
"""Methods that are given how many copies of each row come, one after the other."""
PLAIN = ("NoneType", "int", "bool", "float", "str", "list", "tuple", "dict")
"""Types of results of which none can be the changed cache."""
KEEPS, REMOVES, NEGATIVE, EVICTS = "keeps", "removes", "negative", "evicts"
"""What the number of a method that takes tokens back says: how many stay, how many go (below 0 in transformers since
5.20), or how many of the newest stay.
"""
LEFT_WORDS = ("len", "max", "size", "pos", "keep", "until", "upto", "offset", "index")
GONE_WORDS = ("num", "count", "step", "drop", "remove", "reject", "back")
"""Parts of a parameter's name that say how many tokens stay, or go."""
OLD, FIRST = 3, 1
"""Tokens of a trial, and the number that it gives."""


def read_number(method: str, parameter: str) -> str:
    """What the number of a method means by its names: `KEEPS`, `REMOVES`, or "" where they do not say.

    Example:
        >>> read_number("crop", "n"), read_number("trim", "num_tokens"), read_number("rollback", "n")
        ('keeps', 'removes', '')
    """
    if any(word in parameter.lower() for word in LEFT_WORDS):
        return KEEPS
    if any(word in parameter.lower() for word in GONE_WORDS):
        return REMOVES
    return KEEPS if method == "crop" else ""


class ChangingCache(Cache):
    """A cache factory whose objects may take tokens back, reorder rows or repeat them."""

    @cached_property
    def methods(self) -> Mapping[str, list[dict[str, Any]]]:
        """The parameters of the methods that its objects have, of those that are known here; looked up once."""
        number = self.fresh_instance()
        names = (*TRIMS, *REORDERS, *REPEATS)
        requests = {name: Request(instance=(number, self.arguments), method=name, describe=True) for name in names}
        answers = {name: self.runner.run(request) for name, request in requests.items()}
        return {
            name: answer.described["parameters"]
            for name, answer in answers.items() if answer.described.get("parameters") is not None
        }  # fmt: skip

    def choose_method(self, names: tuple[str, ...], case: ParameterCase, what: str) -> str:
        """One of some methods that its objects have and that can be called with one argument.

        Raises:
            NotApplicable: there is none; what is there and wants more is noted as not judged.
        """
        there = [name for name in names if name in self.methods]
        fitting = [name for name in there if takes_one(self.methods[name])]
        if not fitting:
            if there:
                wanted = ", ".join(p["name"] for p in self.methods[there[0]])
                self.unjudged = f"{there[0]}({wanted}) (it is called with one argument)"
            raise NotApplicable(f"it has no method that {what} ({', '.join(names)})")
        return fitting[case.seed % len(fitting)]

    def act(self, number: int, name: str, argument: Array | int) -> Result:
        """A call of a method that changes the cache in place: its result is its own affair.

        Raises:
            Refused: it declines. Violation: it raises otherwise, or writes into what it is given.
            NotApplicable: it gives another object, which is noted as not judged.
        """
        request = Request((argument,), {}, instance=(number, self.arguments), method=name)
        self.calls += 1
        response = self.runner.run(request)
        if response.failure is None or "WrongReturn" not in response.failure.types:
            check_response(response, request, self.implementation.declines)
        elif (kind := response.failure.message.rpartition("got ")[2].split(" ")[0]) not in PLAIN:
            self.unjudged = f"{name}, which gives an object of type {kind} (changes in place are)"
            raise NotApplicable(f"{name} gives an object of type {kind}: only changes in place are judged")
        return Result(np.zeros(0), request)

    @cached_property
    def numbers(self) -> dict[str, str]:
        """What the number of each method means, of those that were tried so far."""
        return {}

    def meaning(self, name: str, case: ParameterCase) -> str:
        """What the number of a method that takes tokens back means.

        As it is declared, as the names of the method and its parameter say, or else as one call of it shows.
        """
        if "trim" in self.parameters:
            return str(self.parameters["trim"])
        if name not in self.numbers:
            by_name = read_number(name, self.methods[name][0]["name"] if self.methods[name] else "")
            found = "" if by_name and name != "crop" else self._try_number(name, case)
            usual = KEEPS if name == "truncate" else REMOVES
            self.numbers[name] = NEGATIVE if found == NEGATIVE else by_name or found or usual
        return self.numbers[name]

    def _try_number(self, name: str, case: ParameterCase) -> str:
        """What the number means by a step after a trial; "" where that step fits no meaning, or several."""
        case = case.with_(n=OLD + 1, dtype="float32", options={})
        if not supports(self.implementation, case):
            return ""
        removes = NEGATIVE if name == "crop" and self._declines_above_zero(name, case) else REMOVES
        places = {KEEPS: range(FIRST), removes: range(OLD - FIRST), EVICTS: range(OLD - FIRST, OLD)}
        number, parts = self.fresh_instance(), self.inputs(case, "trial")
        with suppress(NotApplicable, Refused, Violation):
            self.run(case, number, parts, [0, OLD])
            self.act(number, name, -FIRST if removes == NEGATIVE else FIRST)
            (got,) = self.run(case, number, parts, [OLD, OLD + 1])
            found = [how for how, left in places.items() if self._fits(case, got.values, parts, [*left, OLD])]
            return found[0] if len(found) == 1 and (found != [EVICTS] or name in ("trim", "truncate")) else ""
        return ""

    def _declines_above_zero(self, name: str, case: ParameterCase) -> bool:
        """Whether the method declines a number above 0 and takes one below."""
        answers = []
        for n in (FIRST, -FIRST):
            number = self.fresh_instance()
            try:
                self.run(case, number, self.inputs(case, "trial"), [0, OLD])
                self.act(number, name, n)
                answers.append(True)
            except (Refused, Violation):
                answers.append(False)
        return answers == [False, True]

    def _fits(self, case: ParameterCase, got: NDArray, parts: tuple[NDArray, ...], left: list[int]) -> bool:
        """Whether the last row sees these tokens and no others."""
        q, k, v = (part[..., left, :] for part in parts)
        true, bound = self.truth(case, q, k, v, slice(len(left) - 1, None))
        return bool(got.shape == true.shape and np.max(excess(got, true, bound), initial=0) <= 1)


def takes_one(parameters: list[dict[str, Any]]) -> bool:
    """Whether a method can be called with one argument by place."""
    own = [p for p in parameters if not p["kind"].startswith("VAR_")]
    return all(p["default"] for p in own[1:]) and (not own or own[0]["kind"] != "KEYWORD_ONLY")
