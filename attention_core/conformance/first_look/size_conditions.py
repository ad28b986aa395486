"""Which sizes a function takes, as a condition: others are probed one at a time around a call that it takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from attention_core.conformance.cases.case import Case
from attention_core.conformance.first_look.probes import problem
from attention_core.conformance.first_look.ranking import Comparer
from attention_core.declaration.implementation import Implementation

LENGTHS = (1, 2, 4, 5, 8, 12, 16, 24, 32, 48, 64, 96, 128)
WIDTHS = (2, 4, 5, 8, 12, 16, 24, 32, 48, 64, 96, 128)
"""Multiples of every power of two up to 64, numbers between them, and odd ones."""
STEPS = (2, 4, 8, 16, 32, 64, 128)
"""What sizes may have to be a multiple of."""


@dataclass(frozen=True)
class Sizes:
    """The lengths and widths of a call."""

    n_q: int
    n_kv: int
    d: int
    d_v: int


@dataclass(frozen=True)
class Pair:
    """Two sizes that a target may want to be equal or in order, and the values that are tried of each."""

    first: str
    second: str
    values: Sequence[int]


LENGTH_PAIR, WIDTH_PAIR = Pair("n_q", "n_kv", LENGTHS), Pair("d", "d_v", WIDTHS)


def find_conditions(comparer: Comparer, record: Implementation, taken: Case) -> list[str]:
    """The conditions on lengths and on widths that all calls around `taken` meet which are not declined; [] for none.

    Where each shape is compiled, few are probed: only whether the two lengths may differ.
    """
    n_q, n_kv, d, d_v, *_ = taken.sizes
    base = Sizes(n_q, n_kv, d, d_v)

    def takes(sizes: Sizes) -> bool:
        one = problem((1, taken.query.shape[1], sizes.n_q, sizes.n_kv, sizes.d, sizes.d_v), taken.dtype)
        return comparer.outcome(record, one) == "agrees"

    if record.shapes == "pool":
        both, one = replace(base, n_q=2 * n_q, n_kv=2 * n_q), replace(base, n_kv=2 * n_kv)
        return ["n_q == n_kv"] if takes(both) and not takes(one) else []
    lengths = describe_pair(LENGTH_PAIR, base, takes)
    widths = describe_pair(WIDTH_PAIR, base, takes)
    return [*lengths, *widths]


def describe_pair(pair: Pair, base: Sizes, takes: Callable[[Sizes], bool]) -> list[str]:
    """What two sizes have to meet where all others are those of `base`, a call that is taken."""

    def ask(first: int, second: int) -> bool:
        return takes(replace(base, **{pair.first: first, pair.second: second}))

    equal = [value for value in pair.values if ask(value, value)]
    if not equal:
        return [f"{name} == {getattr(base, name)}" for name in (pair.first, pair.second)]
    small, large = equal[0], equal[-1]
    ascends, descends = ask(small, large), ask(large, small)
    if not ascends and not descends:
        return [*describe_values(pair.first, equal, pair.values), f"{pair.first} == {pair.second}"]
    least, most = (large, small) if descends and not ascends else (small, large)  # partners that go with most values
    firsts = [value for value in pair.values if ask(value, most)]
    seconds = [value for value in pair.values if ask(least, value)]
    if ascends and descends:
        return [*describe_values(pair.first, firsts, pair.values), *describe_values(pair.second, seconds, pair.values)]
    below, above = [v for v in pair.values if v <= large], [v for v in pair.values if v >= small]
    some, others, sign = (below, above, "<=") if ascends else (above, below, ">=")
    own = [*describe_values(pair.first, firsts, some), *describe_values(pair.second, seconds, others)]
    return [*own, f"{pair.first} {sign} {pair.second}"]


def describe_values(name: str, taken: Sequence[int], probed: Sequence[int]) -> list[str]:
    """The simplest condition that holds for the sizes that were taken and for no other that was probed; [] for all.

    Example:
        >>> describe_values("d", [16, 32, 48, 64], [1, 8, 16, 24, 32, 48, 64])
        ['d % 16 == 0']
        >>> describe_values("d", [16, 32, 64], [8, 16, 32, 48, 64, 128]), describe_values("d", [1, 2], [1, 2])
        (['d in (16, 32, 64)'], [])
    """
    if list(taken) == list(probed):
        return []
    if len(taken) == 1:
        return [f"{name} == {taken[0]}"]
    low, high = taken[0], taken[-1]
    forms: list[tuple[str, Callable[[int], bool]]] = [
        (f"{name} <= {high}", lambda size: size <= high), (f"{name} >= {low}", lambda size: size >= low),
        *((f"{name} % {step} == 0", lambda size, step=step: size % step == 0) for step in STEPS),
        *((f"{name} % {step} == 0 and {name} <= {high}", lambda size, step=step: size % step == 0 and size <= high)
          for step in STEPS),
    ]  # fmt: skip
    fitting = (text for text, holds in forms if [size for size in probed if holds(size)] == list(taken))
    return [next(fitting, f"{name} in ({', '.join(map(str, taken))})")]
