"""Fresh inputs for every timed call, from unpredictable numbers.

The secret comes from the system. Inputs are new, or share a part with the call before: other rows stand between first
and last ones that stay, or the same rows stand in another order, so that a few numbers, sums and norms of an input say
nothing about it.
"""

from __future__ import annotations

import hashlib
import secrets
from typing import Any

import numpy as np
import numpy.typing as npt

from attention_core.conformance.worker.exchange import encode
from attention_core.declaration.implementation import TargetError

Stored = npt.NDArray[Any]
KINDS = ("new", "new", "half", "moved")
"""How inputs come from those of the call before; the first are new."""


def new_secret() -> str:
    """A secret of 128 bits, in hexadecimal.

    >>> len(new_secret())
    32
    """
    return secrets.token_hex(16)


def check_secret(text: str) -> str:
    """A secret that was recorded.

    Raises: TargetError where it is not one.
    """
    if len(text) != 32 or set(text) - set("0123456789abcdef"):
        raise TargetError(f"--seed {text!r} is not 32 hexadecimal digits, as a result records them")
    return text


def generator(secret: str, *purpose: str | int) -> np.random.Generator:
    """Random numbers for a purpose.

    >>> bool(generator("00", "a").random() == generator("00", "a").random())
    True
    """
    digest = hashlib.sha256(repr((secret, purpose)).encode()).digest()
    return np.random.Generator(np.random.Philox(int.from_bytes(digest[:16], "little")))


class Draw:
    """Inputs of one call after another.

    Args:
        shapes: by name; all have the dtype.
        secret: whence all numbers come. who: another for each process, so that none sees the inputs of another.
    """

    def __init__(self, shapes: dict[str, tuple[int, ...]], dtype: str, secret: str, who: str) -> None:
        self.shapes, self.dtype, self.secret, self.who = shapes, dtype, secret, who
        self.last: dict[str, Stored] = {}
        self.count = 0

    def next(self) -> dict[str, Stored]:
        """Inputs in storage type."""
        rng = generator(self.secret, self.who, self.count)
        kind = KINDS[int(rng.integers(len(KINDS)))] if self.last else "new"
        self.count += 1
        fresh = {name: encode(rng.standard_normal(shape, dtype=np.float32), self.dtype) for name, shape in
                 self.shapes.items()}  # fmt: skip
        if kind == "half":
            fresh = {name: mix(self.last[name], value, rng) for name, value in fresh.items()}
        elif kind == "moved":
            fresh = {name: move(self.last[name], rng) for name in fresh}
        if self.last and all(np.array_equal(self.last[name], value) for name, value in fresh.items()):
            return self.next()  # so few rows that none was moved
        self.last = fresh
        return fresh


def mix(last: Stored, fresh: Stored, rng: np.random.Generator) -> Stored:
    """About half of the rows (axis -2) of each array are new; the first and the last stay."""
    rows = last.shape[-2]
    keep: npt.NDArray[np.bool_] = np.asarray(rng.random(rows) < 0.5)
    keep[[0, -1]] = True
    return np.where(keep[:, None], last, fresh)


def move(last: Stored, rng: np.random.Generator) -> Stored:
    """The same rows (axis -2) in another order; the first and the last stay."""
    rows = last.shape[-2]
    order = np.arange(rows)
    order[1:-1] = 1 + rng.permutation(max(rows - 2, 0))
    return np.ascontiguousarray(last[..., order, :])
