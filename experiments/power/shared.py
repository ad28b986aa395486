"""Truths and budgets that targets of one process share: correct targets at one seed meet mostly the same cases.

The functions of the oracle and of the budgets are pure, so a result is kept under the bytes of its arguments. What is
kept cannot be written to: a law that would change a truth raises, and is counted as odd. `alarms.py` uses it; where
seconds are published (`run.py`, `peers.py`) nothing is shared.
"""

from __future__ import annotations

import functools
import hashlib
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from attention_core import oracle
from attention_core.conformance.budgets import budget
from attention_core.conformance.search import small_search

MOST = 1 << 30
"""Bytes of results that are kept, the oldest forgotten first."""

SHARED = (
    (oracle, "attention"), (oracle, "gradients"), (budget, "forward_bound"), (budget, "backward_bound"),
    (small_search, "pool"),
)  # fmt: skip


class Unknown(Exception):
    """An argument whose content is not known."""


class Memory:
    """Results by function and arguments."""

    def __init__(self, most: int = MOST) -> None:
        self.most, self.bytes, self.hits, self.misses = most, 0, 0, 0
        self.results: OrderedDict[Hashable, Any] = OrderedDict()
        self._keys: dict[int, Hashable] = {}  # of results that are kept, by identity
        self._digests: dict[int, tuple[weakref.ref[Any], bytes]] = {}

    def of(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, asked once for arguments of one content."""

        @functools.wraps(function)
        def remembered(*args: Any, **options: Any) -> Any:
            try:
                key = (function, *map(self.content, args), *((k, self.content(v)) for k, v in sorted(options.items())))
            except Unknown:
                return function(*args, **options)
            if key in self.results:
                self.hits += 1
                self.results.move_to_end(key)
                return self.results[key]
            self.misses += 1
            return self._keep(key, function(*args, **options))

        return remembered

    def content(self, argument: Any) -> Hashable:
        """What an argument holds, as something that can be looked up."""
        if isinstance(argument, np.ndarray):
            return argument.shape, argument.dtype.str, self._digest(argument)
        if argument is None or isinstance(argument, (bool, int, float, str)):
            return type(argument), repr(argument)
        if id(argument) in self._keys:
            return self._keys[id(argument)]
        raise Unknown

    def _digest(self, array: np.ndarray[Any, Any]) -> bytes:
        if array.flags.writeable or array.base is not None:  # it may hold something else by now
            return hashlib.blake2b(array.tobytes(), digest_size=16).digest()
        known = self._digests.get(id(array))
        if known is None or known[0]() is not array:
            digest = hashlib.blake2b(array.tobytes(), digest_size=16).digest()
            known = self._digests[id(array)] = weakref.ref(array), digest
        return known[1]

    def _keep(self, key: Hashable, result: Any) -> Any:
        self.bytes += freeze(result)
        self.results[key] = result
        self._keys[id(result)] = key
        while self.bytes > self.most and len(self.results) > 1:
            _, old = self.results.popitem(last=False)
            del self._keys[id(old)]
            self.bytes -= freeze(old)
        return result


def freeze(result: Any) -> int:
    """Make the arrays of a result read-only; returns their bytes."""
    if isinstance(result, np.ndarray):
        result.flags.writeable = False
        return int(result.nbytes)
    if is_dataclass(result):
        return sum(freeze(getattr(result, field.name)) for field in fields(result))
    return 0


def pools(draw: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
    """Small cases, drawn once for targets of one profile, in place of `small_search.pool`."""
    known: dict[Hashable, list[Any]] = {}

    def remembered(contract: Any, subject: Any, space: Any, count: int, seed: int) -> list[Any]:
        if contract.name != "attention":
            return draw(contract, subject, space, count, seed)
        size = small_search.POOL_STEP * -(-count // small_search.POOL_STEP)
        name = space.for_small(), subject.binding.profile(), size, seed
        try:
            hash(name)
        except TypeError:  # sizes that are declared by a function
            return draw(contract, subject, space, count, seed)
        if name not in known:
            known[name] = draw(contract, subject, space, size, seed)
        return known[name][:count]

    return remembered


def share() -> Memory:
    """From now on this process remembers truths, gradients, budgets and small cases."""
    memory = Memory()
    *functions, (module, name) = SHARED
    setattr(module, name, pools(getattr(module, name)))
    for module, name in functions:
        setattr(module, name, memory.of(getattr(module, name)))
    return memory
