"""Laws of rotary positions: `f(x (*batch, H, n, d), positions (n,)) -> same`, pairing (and base) declared.

Angles may be computed in float32 (as all public implementations do), never in less: the budget below says what that
costs, so that phases in half precision are seen at large positions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from attention_core.conformance.budgets.budget import round_to
from attention_core.conformance.cases.counts import count_many, single_tokens
from attention_core.conformance.laws.gradients import NOT_DECLARED, differentiable
from attention_core.conformance.laws.rotation import Rotary
from attention_core.conformance.subjects.evidence import NotApplicable, Result, require_close, require_same
from attention_core.conformance.subjects.law import Law
from attention_core.conformance.subjects.parameter_case import (
    NARROW_FIRST,
    ParameterCase,
    Sizes,
    after,
    as_in_models,
    require_sizes,
    supports,
)
from attention_core.conformance.worker.exchange import NDArray
from attention_core.declaration.implementation import Implementation

CONTRACT = "rotary"
NEAR = 50
"""Largest start of ordinary positions."""
VIEWS = ("heads_last", "heads_chunk", "chunk", "transposed", "rows_first", "sliced")
"""How inputs may lie; tokens outside heads, as after a split, are the most usual."""


def draw_input(subject: Rotary, case: ParameterCase) -> tuple[NDArray, NDArray]:
    """An input and its positions from a drawn start: one after the other, with gaps, or in any order with repeats.

    Of the near starts a quarter lies below 0, as after padding on the left, if that is not ruled out; another quarter
    is 0 (half of them before gaps: 0, 2, 5, ... is not 0, 1, 2, ...).
    """
    x = case.values("x", case["B"], case["H"], case["n"], 2 * case["half"])
    rng, steps, start = case.rng("positions"), np.arange(case["n"]), case["start"]
    kind, place = rng.random(), rng.random()
    if kind > 0.75:
        steps = rng.integers(0, 2 * case["n"], size=case["n"])
    elif kind > 0.5:
        steps = np.cumsum(rng.integers(1, 4, size=case["n"]))
        steps = steps - steps[0]
    if start <= NEAR and place < (0.5 if 0.5 < kind <= 0.75 else 0.25):
        start = 0
    elif start <= NEAR and place > 0.75 and subject.negative:
        start = -1 - start
    return x, start + steps


def rotation_is_true(subject: Rotary, case: ParameterCase) -> None:
    """The output is the rotation by position times frequency, within the budget of float32 angles.

    Formula: (y_a, y_b) = R(t) (x_a, x_b), t = position base^(-2c/d)
    Source: Su et al., "RoFormer", eq. 34
    Fault: mixed_pairings
    """
    x, positions = draw_input(subject, case)
    bound = subject.bound(case, x, positions)
    require_close(subject.rotate(case, x, positions), subject.truth(x, positions), bound, "rotated vectors")


def norms_are_kept(subject: Rotary, case: ParameterCase) -> None:
    """A rotation keeps the length of every vector.

    Formula: ||f(x, p)|| = ||x||
    Source: orthogonality of R(t)
    Fault: mixed_pairings
    """
    x, positions = draw_input(subject, case)
    got = subject.rotate(case, x, positions)
    bound = subject.bound(case, x, positions)
    # | ||y'|| - ||y|| | <= ||y' - y||; the norm itself is taken here, in float64
    allowed = np.linalg.norm(bound, axis=-1) + 1e-14 * np.linalg.norm(x, axis=-1)
    norms = Result(np.linalg.norm(got.values, axis=-1), got.request)
    norms.expression = lambda *row: f"sum(float(x) ** 2 for x in {{out}}[{', '.join(map(str, row))}]) ** 0.5"
    require_close(norms, np.linalg.norm(x, axis=-1), allowed, "length of rotated vectors")


def scores_depend_on_the_distance_alone(subject: Rotary, case: ParameterCase) -> None:
    """Shifting all positions changes no score.

    Formula: <f(q, m + s), f(k, n + s)> = <f(q, m), f(k, n)>
    Source: Su et al., "RoFormer", eq. 16
    Fault: mixed_pairings
    """
    q, positions = draw_input(subject, case)
    k = case.values("k", *q.shape)
    moved = positions + 1 + case["shift"]
    here, there = (_scores(subject, case, q, k, p) for p in (positions, moved))
    bound = sum(_score_bound(subject, case, q, k, p) for p in (positions, moved))
    require_same(there, here, np.asarray(bound), f"scores with positions shifted by {1 + case['shift']}")


def _scores(subject: Rotary, case: ParameterCase, q: NDArray, k: NDArray, positions: NDArray) -> Result:
    """Scores of one call that turns queries and keys together: the keys stand after the queries in the batch."""
    if not supports(subject.implementation, case.with_(B=2 * case["B"])):
        raise NotApplicable("it asks for twice as many sequences")
    both = subject.rotate(case, np.concatenate([q, k]), positions)
    turned_q, turned_k = np.split(both.values, 2)
    scores, batch = Result(turned_q @ turned_k.swapaxes(-1, -2), both.request), len(q)
    heads_first = subject.implementation.layout == "bhnd"
    place: Callable[[int, int], str] = lambda h, i: f"{h}, {i}" if heads_first else f"{i}, {h}"  # noqa: E731
    scores.expression = lambda b, h, i, j: (
        f"sum(float(x) * float(y) for x, y in zip({{out}}[{b}, {place(h, i)}], {{out}}[{b + batch}, {place(h, j)}]))"
    )
    return scores


def _score_bound(subject: Rotary, case: ParameterCase, q: NDArray, k: NDArray, positions: NDArray) -> NDArray:
    """|<y', z'> - <y, z>| <= |dy| |z| + |y| |dz| + |dy| |dz| by coordinates, and the float64 product's own rounding."""
    y, z = np.abs(subject.truth(q, positions)), np.abs(subject.truth(k, positions)).swapaxes(-1, -2)
    dy, dz = subject.bound(case, q, positions), subject.bound(case, k, positions).swapaxes(-1, -2)
    return np.asarray(dy @ z + y @ dz + dy @ dz + (q.shape[-1] + 2) * 2.0**-52 * (y @ z))


def position_zero_changes_nothing(subject: Rotary, case: ParameterCase) -> None:
    """At position 0 the input comes back (up to one rounding).

    Formula: f(x, 0) = x
    Source: R(0) = I
    Fault: positions_from_one
    """
    require_sizes(subject.implementation, case.with_(n=1))
    x, _ = draw_input(subject, case)
    x = x[..., :1, :]
    zero = np.zeros(1, dtype=np.int64)
    require_close(subject.rotate(case, x, zero), x, subject.bound(case, x, zero), "vectors at position 0")


def calls_leave_no_state(subject: Rotary, case: ParameterCase) -> None:
    """Positions of an earlier call of the same length do not come back.

    Formula: f(x, p), f(x, p + s), f(x, p) are each right
    Source: lucidrains/rotary-embedding-torch#11 (a table cached without its offset)
    Fault: table_cached_without_offset
    """
    x, positions = draw_input(subject, case)
    earlier = subject.past(x)
    for p in (positions, positions + 1 + case["shift"], positions):
        with after(earlier):
            earlier.append(subject.rotate(case, x, p))
            bound = subject.bound(case, x, p)
            require_close(earlier[-1], subject.truth(x, p), bound, "rotated vectors after another offset")


def a_less_precise_call_before_costs_no_precision(subject: Rotary, case: ParameterCase) -> None:
    """A float64 call after one of a less precise dtype is as precise as one of a width that was never asked for.

    The budget of a rotation allows float32 angles, and hides what is kept in float32 for float64. Here the share of it
    that the first call uses is the measure of the second: a hundred times that share, or 1e-6 of the budget.

    Formula: max |f(x, p) - t| / E after g(x, p) <= 100 max |f(y, q) - t| / E, g of a narrower dtype, widths all new
    Source: the definition of a function; tables that are kept by positions or width alone
    Fault: table_of_the_first_wide_dtype
    """
    rng, declared = case.rng("widths"), subject.implementation.dtypes
    narrow = [dtype for dtype in NARROW_FIRST[:-1] if dtype in declared]
    if "float64" not in declared or not narrow:
        raise NotApplicable("float64 and a less precise dtype are not both declared")
    one, other = (
        case.with_(half=int(half), dtype="float64", seed=case.seed + half) for half in rng.permutation(NEW)[:2]
    )
    require_sizes(subject.implementation, one, other)
    x, positions = draw_input(subject, one)
    alone = subject.rotate(one, x, positions)
    share = float(np.max(np.abs(alone.values - subject.truth(x, positions)) / subject.bound(one, x, positions)))
    x, _ = draw_input(subject, other)  # at the same positions: at 0 alone float32 makes no error
    dtype = str(rng.choice(narrow))
    before = subject.rotate(other.with_(dtype=dtype), round_to(x, dtype), positions)
    with after([before]):
        bound = max(100 * share, SMALL_SHARE) * subject.bound(other, x, positions)
        what = f"rotated vectors in float64 after the same ones in {dtype}"
        require_close(subject.rotate(other, x, positions), subject.truth(x, positions), bound, what)


NEW = range(17, 33)
"""Halves of widths that no other law asks for."""
SMALL_SHARE = 1e-6
"""Of the budget of float32 angles; float64 rounds at 2^-29 of it."""


def large_positions_stay_precise(subject: Rotary, case: ParameterCase) -> None:
    """Large positions are rotated as well as small ones, in low precision too.

    Formula: as rotation_is_true, positions up to 4096, and to the declared `max_position` (131072 if none is)
    Source: EleutherAI/gpt-neox#1003 (positions and phases in half precision)
    Fault: phases_in_half_precision
    """
    last = int(subject.parameters.get("max_position", 2**17))
    near, room = 1000 + 61 * case["start"], last - 2 * case["n"]
    start = near if case.rng("far").random() < 0.6 else int(case.rng("far").integers(near, max(room, near + 1)))
    rotation_is_true(subject, case.with_(start=max(0, min(start, room))))


def sequences_keep_their_own_positions(subject: Rotary, case: ParameterCase) -> None:
    """Sequences of a batch that start at different positions, as after padding on the left, are turned by their own.

    Formula: f(x, p)[b] = f(x[b], p[b]) for p (B, 1, n)
    Source: unslothai/unsloth#3699, ndif-team/nnsight PR673
    Fault: positions_of_the_first_sequence
    """
    x, positions = draw_input(subject, case)
    rng = case.rng("left padding")
    own = positions + rng.permutation(case["B"])[:, None, None] * (1 + case["shift"])
    if case.seed % 2 and case["n"] > 1:  # sequences that begin at one place, and go on at several
        steps = rng.integers(1, 4, size=(case["B"], 1, case["n"])).cumsum(-1)
        own = positions[0] + steps - steps[..., :1]
    require_close(subject.rotate(case, x, own), subject.truth(x, own), subject.bound(case, x, own), "rotated vectors")


def gradients_turn_back(subject: Rotary, case: ParameterCase) -> None:
    """The gradient of a rotation is the cotangent turned back by the same angles.

    A rotation is linear in its input and orthogonal: its gradient has the roundings of a rotation by -t.

    Formula: dx = R(t)^T dy = R(-t) dy, within the budget of a rotation of dy
    Source: orthogonality of R(t); Su et al., "RoFormer", eq. 34
    Fault: backward_turns_on
    """
    x, positions = draw_input(subject, case)
    down = case.values("cotangent", *x.shape)
    bound = subject.bound(case, down, positions)
    require_close(subject.gradient(case, x, positions, down), subject.truth(down, -positions), bound, "gradient of x")


def rotations_outlive_the_next_call(subject: Rotary, case: ParameterCase) -> None:
    """A rotated tensor still holds its numbers after another call of the same shape.

    Formula: y = f(x, p), f(x', p'), then y = R(p) x
    Source: the definition of a function
    Fault: rotations_share_one_buffer
    """
    x, positions = draw_input(subject, case)
    after = positions + 1 + case["shift"]
    between = subject.request(
        subject.to_target_axes(case.values("other", *x.shape)), after.astype(np.int64), dtype=case.dtype
    )
    got, bound = subject.rotate(case, x, positions, between_=between), subject.bound(case, x, positions)
    require_close(got, subject.truth(x, positions), bound, "rotated vectors, looked at after another call")


def views_are_rotated_alike(subject: Rotary, case: ParameterCase) -> None:
    """Where the numbers lie in memory changes nothing: heads inside tokens, a chunk of a wider projection, gaps.

    Formula: f(x, p) is the same for every stride of x
    Source: strides are not part of a tensor's value; projections are joined, and heads split by transposing
    Fault: rows_counted_in_memory
    """
    x, positions = draw_input(subject, case)
    got = subject.rotate(case, x, positions, str(case.rng("view").choice(VIEWS)))
    require_close(got, subject.truth(x, positions), subject.bound(case, x, positions), "rotated vectors of a view")


def _coinciding(sizes: dict[str, int], rng: np.random.Generator) -> dict[str, int]:
    """Sometimes as many heads or sequences as tokens: a wrong axis then has the right length."""
    chance = rng.random()
    if chance < 0.2:
        sizes["n"] = sizes["H"]
    elif chance < 0.4:
        sizes["n"] = sizes["B"]
    return sizes


def _has_batched_positions(implementation: Implementation) -> bool:
    return implementation.parameters.get("positions") == "batched"


def positions_written_into_are_read_anew(subject: Rotary, case: ParameterCase) -> None:
    """A call reads its arrays as they are then, also where an earlier call got the same arrays with other numbers.

    Formula: f(x', p'), then x into the array of x' and p into that of p', then |f(x, p) - t(x, p)| <= E
    Source: the definition of a function; a tensor of positions is counted up in place while a text is decoded
    Fault: angles_kept_by_identity
    """
    x, positions = draw_input(subject, case)
    other = positions[::-1] if case["n"] > 1 and positions[0] != positions[-1] else positions + 1
    earlier = subject.request(subject.to_target_axes(0.0 - x), other.astype(np.int64), dtype=case.dtype)
    got = subject.rotate(case, x, positions, earlier_=earlier)
    what = "rotated vectors after the caller wrote other numbers into the arrays of the call before"
    require_close(got, subject.truth(x, positions), subject.bound(case, x, positions), what)


RANGES = {"B": (1, 3), "H": (1, 3), "n": (1, 9), "half": (1, 16), "start": (0, NEAR), "shift": (0, 40)}
MODELS = {"half": (33, 64)}
"""Half of a head size of up to 128."""
ANY = Sizes(RANGES, adjust=as_in_models(MODELS, _coinciding))
VIEWED = replace(ANY, adjust=single_tokens(count_many(ANY.adjust, 0.2), 0.35))
LOW = Sizes(RANGES, dtypes=("float32", "bfloat16", "float16"), adjust=_coinciding)
SEVERAL = Sizes({**RANGES, "B": (2, 3)})
ROW: dict[str, Any] = {"contract": CONTRACT, "large": 24, "small": 0, "space": ANY}
LAWS = (
    *(
        Law(check, "rotary", **ROW, central=check is rotation_is_true)
        for check in (
            rotation_is_true,
            norms_are_kept,
            scores_depend_on_the_distance_alone,
            position_zero_changes_nothing,
            calls_leave_no_state,
            rotations_outlive_the_next_call,
        )
    ),
    Law(views_are_rotated_alike, "rotary", **{**ROW, "space": VIEWED}),
    Law(
        positions_written_into_are_read_anew, "rotary", **{**ROW, "large": 6}, declares=lambda i: i.array != "jax",
        because="arrays of JAX cannot be written into",
    ),
    Law(a_less_precise_call_before_costs_no_precision, "rotary", **{**ROW, "large": 5}),
    Law(gradients_turn_back, "rotary", **ROW, declares=differentiable, because=NOT_DECLARED),
    Law(large_positions_stay_precise, "rotary", **{**ROW, "space": LOW}),
    Law(
        sequences_keep_their_own_positions, "rotary", **{**ROW, "space": SEVERAL},
        declares=_has_batched_positions,
        because="positions of shape (B, 1, n) are not declared (--parameter positions=batched)",
    ),
)  # fmt: skip
COMPARISONS = ("large_positions_stay_precise", "sequences_keep_their_own_positions")
