"""Hand-ins of the exercise with four given keys and values: a query, a matrix of queries or a third key, and its error.

The error is the one that the exercise's notebook prints: the largest coordinate of output minus target. Vectors are
numbers, or sums of multiples of the given keys, and are read by a small parser: nothing is evaluated.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from attention_core.declaration.implementation import TargetError
from attention_core.oracle import attention

Array = npt.NDArray[np.float64]
KEYS: Array = np.array([[0.47, 0.65, 0.60], [0.64, 0.50, -0.59], [-0.03, -0.48, -0.88], [0.43, -0.83, 0.35]])
VALUES: Array = np.array([[-0.07, -0.88, 0.47], [0.37, -0.93, -0.07], [-0.25, -0.75, 0.61], [0.94, 0.20, 0.28]])
ALLOWED = 0.05
"""The error that the exercise allows."""
TERM = re.compile(r"([+-]?)\s*(?:([0-9.]+(?:e[+-]?[0-9]+)?)\s*\*?\s*)?([kv])_?([0-3])\s*", re.IGNORECASE)


@dataclass(frozen=True)
class Part:
    """One part of the exercise.

    Args: number, in the source; words, the question; needs, the hand-ins that answer it; target, what should come out.
    """

    number: str
    words: str
    needs: tuple[str, ...]
    target: Callable[[], Array]


PARTS = (
    Part("1.2.1", "q selects v_0", ("q",), lambda: VALUES[:1]),
    Part("1.2.2", "Q selects each value", ("Q",), lambda: VALUES),
    Part("1.3.1", "q averages all values", ("q",), lambda: VALUES.mean(0, keepdims=True)),
    Part("1.3.2", "q averages v_0 and v_1", ("q",), lambda: VALUES[:2].mean(0, keepdims=True)),
    Part("1.4.1", "k_2 lets q average v_0, v_1 and v_2", ("q", "k_2"), lambda: VALUES[:3].mean(0, keepdims=True)),
    Part("1.4.2", "k_2 of length 1 lets q return v_2", ("q", "k_2"), lambda: VALUES[2:3]),
)


@dataclass(frozen=True)
class Marked:
    """One part as it was answered: its error, and what else is wrong, in words."""

    part: Part
    error: float
    objection: str | None = None

    @property
    def met(self) -> bool:
        """Whether the part is answered: an error of at most `ALLOWED`, and no objection."""
        return self.error <= ALLOWED and self.objection is None


def read_vector(text: str) -> Array:
    """Read three numbers, or a sum of multiples of k_0 ... k_3, v_0 ... v_3 of the exercise.

    Raises: TargetError for anything else.

    >>> read_vector("[4.7, 6.5 6.0]")
    array([4.7, 6.5, 6. ])
    >>> read_vector("10 * k_0 - k_1")
    array([4.06, 6. , 6.59])
    """
    numbers = text.strip().strip("[]()").replace(",", " ").split()
    try:
        found = np.array([float(number) for number in numbers])
    except ValueError:
        found = _combination(text)
    if found.shape != (3,):
        raise TargetError(f"{text!r} has {len(numbers)} numbers, but a vector of the exercise has 3")
    if not np.isfinite(found).all():
        raise TargetError(f"{text!r} is not finite")
    return found


def _combination(text: str) -> Array:
    total, rest = np.zeros(3), text.strip().strip("[]() ")
    first = True
    while rest:
        match = TERM.match(rest)
        if match is None or not (first or match[1]):
            raise TargetError(f"{text!r} is neither three numbers nor a sum such as 10*k_0 + 10*k_1")
        rows = KEYS if match[3].lower() == "k" else VALUES
        try:
            factor = float(match[2] or 1) * (-1 if match[1] == "-" else 1)
        except ValueError:
            raise TargetError(f"{match[2]!r} in {text!r} is not a number") from None
        total, rest, first = total + factor * rows[int(match[4])], rest[match.end() :], False
    return total


def read_matrix(text: str) -> Array:
    """Read four vectors with semicolons between them. Raises: TargetError for another number of rows."""
    rows = [read_vector(row) for row in text.strip().strip("[]").split(";") if row.strip()]
    if len(rows) != 4:
        raise TargetError(f"{text!r} has {len(rows)} rows, but Q has 4, with semicolons between them")
    return np.stack(rows)


def mark(q: str | None = None, matrix: str | None = None, k_2: str | None = None) -> list[Marked]:
    """Mark every part that the hand-ins answer.

    Args: q, a query; matrix, four queries; k_2, in the place of the third key, for the query q.
    Raises: TargetError where nothing is handed in, or k_2 without q.
    Source: source 001, section 1: attention without scaling, one head.

    >>> [round(each.error, 4) for each in mark(q="10*k_0 + 10*k_1") if each.met]
    [0.0058]
    """
    given = {name: text for name, text in (("q", q), ("Q", matrix), ("k_2", k_2)) if text is not None}
    if not given:
        raise TargetError("hand in --q, --Q, or --q with --k2")
    if "k_2" in given and "q" not in given:
        raise TargetError("--k2 is judged with the query of 1.3.2: give it as --q")
    found = []
    for part in PARTS:
        # A q beside k_2 belongs to the parts about k_2 alone: it is the one of 1.3.2, which is marked as well.
        if set(part.needs) <= set(given) and not (part.needs == ("q",) and k_2 is not None and part.number != "1.3.2"):
            found.append(_mark(part, given))
    return found


def _mark(part: Part, given: dict[str, str]) -> Marked:
    queries = read_matrix(given["Q"]) if "Q" in part.needs else read_vector(given["q"])[None]
    keys, objection = KEYS.copy(), None
    if "k_2" in part.needs:
        keys[2] = read_vector(given["k_2"])
        length = float(np.linalg.norm(keys[2]))
        # A key that was typed with so many digits as the given ones has its length to about 0.005.
        if part.number == "1.4.2" and abs(length - 1) > 0.01:
            objection = f"its length is {length:.3f}, and should be 1"
    output = attention(queries[None, None], keys[None, None], VALUES[None, None], scale=1.0).out[0, 0]
    return Marked(part, float(np.abs(output - part.target()).max()), objection)


def to_json(marked: Sequence[Marked]) -> str:
    """Return what was marked as JSON; the schema is attention_core/schemas/exercise.json.

    >>> json.loads(to_json(mark(q="10*k_0 + 10*k_1")))["parts"][2]["answered"]
    True
    """
    parts = [
        {
            "part": each.part.number, "question": each.part.words, "answered": each.met, "error": each.error,
            "allowed": ALLOWED, "objection": each.objection or "",
        }
        for each in marked
    ]  # fmt: skip
    return json.dumps({"schema_version": 1, "exercise": "selection", "parts": parts}, indent=1) + "\n"
