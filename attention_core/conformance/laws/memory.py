"""Laws of memory: how inputs lie there does not matter, what lies around is not read, nothing is written.

Refusing a layout is allowed. Whatever is outside a view is NaN (True in bool masks): one read of it shows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from attention_core.conformance.cases.case import Case
from attention_core.conformance.cases.space import Space
from attention_core.conformance.laws.derived import more_keys, take_heads, take_queries
from attention_core.conformance.laws.gradients import INPUTS, NOT_DECLARED, differentiable, limits
from attention_core.conformance.subjects.evidence import NotApplicable, require_same
from attention_core.conformance.subjects.law import Law
from attention_core.conformance.subjects.subject import Subject
from attention_core.conformance.worker.exchange import NDArray

AROUND_BLOCKS = (15, 16, 17, 31, 32, 33, 47, 48, 49, 63, 64, 65)
SCORES = 1 << 15
"""Bound on B H n_q n_kv of a case made larger."""
EXPANDED = ((-4,), (-3,), (-3,), (-4, -3))
"""Axes of stride 0: sequences, heads, both."""
OF_ONE_ROW = ("whole", "matrix", "sequences")
"""Shapes of masks whose rows are expanded from one: that of the scores, (n_q, n_kv) and (B, 1, n_q, n_kv)."""
SHARED = (("key", "value"), ("key", "value"), ("key",), ("value",), ("query",), INPUTS)
"""Inputs that lie expanded: keys and values of one head for all heads, most often."""


def compare_layouts(subject: Subject, case: Case, other: Case, what: str) -> None:
    """Output and gradients for `other`, which differs from `case` in memory alone, are those for `case`."""
    judged = ~subject.truth(case).dead[..., None] | (subject.implementation.dead_rows != "unspecified")
    bound = subject.bounds(case).out
    assert bound is not None
    first, second = subject.forward(case).out, subject.forward(other).out
    require_same(second, first, 2 * bound, f"output for {what}", where=judged)
    if differentiable(subject.implementation):
        compare_gradients(subject, case, other, what)


def compare_gradients(subject: Subject, case: Case, other: Case, what: str) -> None:
    """The part of `compare_layouts` that is about gradients; nothing where the contract leaves them open."""
    try:
        _, bounds = limits(subject, case)
    except NotApplicable:
        return
    before, after = subject.backward(case).gradients, subject.backward(other).gradients
    for name in INPUTS:
        require_same(after[name], before[name], 2 * getattr(bounds, name), f"gradient of {name} for {what}")


def draw_views(case: Case, kinds: Sequence[str]) -> tuple[Case, Case]:
    """The case with one of its arguments, and with some of them, laid out as one of `kinds`.

    One kind for all: where a kernel refuses one of them, the cases of the others are still judged. One alone, since a
    kernel that takes the strides of one argument for another's is right where both lie alike.
    """
    rng = case.rng("views")
    kind = str(rng.choice(kinds))
    names = [*INPUTS, "mask"] if case.mask is not None else list(INPUTS)
    shares = [1 / 6, 1 / 6, 1 / 6, 1 / 2] if case.mask is not None else None  # not every case has a mask
    alone = case.with_(views={str(rng.choice(names, p=shares)): kind})
    chosen = rng.random(len(names)) < 0.5
    chosen[3:] |= rng.random(len(names) - 3) < 0.5
    chosen[rng.integers(len(names))] = True
    return alone, case.with_(views={name: kind for name, use in zip(names, chosen, strict=True) if use})


def of_one_shape(subject: Subject, case: Case) -> Case:
    """Half of the time a case whose query, key and value have one shape: the strides of each would fit the others."""
    n_q, n_kv, d, d_v, *_ = case.sizes
    if case.rng("one shape").random() < 0.5 or case.slices * n_kv * n_kv > SCORES:
        return case
    d = min(d, d_v)
    one = take_queries(for_every_head(case), np.arange(n_kv) % n_q)
    one = one.with_(query=one.query[..., :d], key=one.key[..., :d], value=one.value[..., :d])
    return one if subject.allows(one) else case


def for_every_head(case: Case) -> Case:
    """The case with a key head of its own for every query head: the group's, repeated."""
    heads = np.arange(case.sizes[4])
    return take_heads(case, heads, heads // case.group)


def longer(subject: Subject, case: Case, purpose: str) -> Case:
    """Mostly a case with more keys: a length around a block's edge, often one above it."""
    rng = case.rng(purpose)
    n_q, n_kv, *_ = case.sizes
    above = rng.random() < 0.7
    lengths = [n for n in AROUND_BLOCKS if n > n_kv and case.slices * n_q * n <= SCORES and (n % 16 == 1) == above]
    if not lengths or rng.random() < 0.1:
        return case
    grown = more_keys(case, int(rng.choice(lengths)) - n_kv, rng)
    return grown if subject.allows(grown) else case


def describe_views(case: Case) -> str:
    """The views of a case in words."""
    return ", ".join(f"{view} {name}" for name, view in case.views.items())


def transposed_views_change_nothing(subject: Subject, case: Case) -> None:
    """Inputs whose axes lie in memory in another order give the same output and gradients.

    Formula: |f(view of x) - f(x)| <= 2 E(x)
    Source: design of the contract: transposed views may be refused, never misread
    Fault: strides_ignored
    """
    case = of_one_shape(subject, case)
    for other in draw_views(case, ("transposed", "heads_last", "rows_first", "heads_first")):
        compare_layouts(subject, case, other, describe_views(other))


def surroundings_of_views_are_not_read(subject: Subject, case: Case) -> None:
    """What lies between, before and after the elements of a view does not matter: NaN there changes nothing.

    Formula: |f(window of x in NaN) - f(x)| <= 2 E(x)
    Source: design of the contract: sliced, padded and offset views may be refused, never misread
    Fault: offset_ignored
    """
    case = of_one_shape(subject, case)
    for other in draw_views(case, ("sliced", "padded", "offset")):
        compare_layouts(subject, case, other, describe_views(other))


def expanded_views_change_nothing(subject: Subject, case: Case) -> None:
    """Inputs that repeat one sequence or one head, or a mask its rows, by a stride of 0 give what copies of them give.

    Formula: |f(expand(x)) - f(copies of x)| <= 2 E(x)
    Source: design of the contract: expanded views may be refused, never misread
    Fault: batch_stride_assumed
    """
    rng = case.rng("expanded")
    axes = EXPANDED[rng.integers(len(EXPANDED))]
    whole = for_every_head(case) if -3 in axes else case
    case = longer(subject, whole if subject.allows(whole) else case, "expanded length")
    names = SHARED[rng.integers(len(SHARED))]
    same: dict[str, NDArray] = {name: _repeat_first(getattr(case, name), axes) for name in names}
    views = dict.fromkeys(same, "broadcast")
    if case.mask is not None:
        views["mask"] = "one_row" if rng.random() < 0.5 else "broadcast"
        whole_mask = np.broadcast_to(case.mask, (*case.query.shape[:-1], case.sizes[1]))
        if views["mask"] == "one_row":
            same["mask"] = _repeat_first(reshape_mask(whole_mask, str(rng.choice(OF_ONE_ROW))), (-2,))
        else:
            rows = (-2,) if rng.random() < 0.6 else ()
            same["mask"] = _repeat_first(whole_mask, (*axes, *rows))
    copies = case.with_(**same)
    other = copies.with_(views=views)
    compare_layouts(subject, copies, other, describe_views(other))


def reshape_mask(mask: NDArray, form: str) -> NDArray:
    """A mask of the scores' shape as one of a form, that of the first sequence or head where it is one for all.

    Example:
        >>> reshape_mask(np.ones((2, 3, 5, 7)), "matrix").shape, reshape_mask(np.ones((2, 3, 5, 7)), "sequences").shape
        ((5, 7), (2, 1, 5, 7))
    """
    if form == "matrix":
        return np.asarray(mask.reshape(-1, *mask.shape[-2:])[0])
    return mask[..., :1, :, :] if form == "sequences" else mask


def _repeat_first(x: NDArray, axes: Sequence[int] = (-4,)) -> NDArray:
    """The array with the first element of some axes in place of all."""
    once = x
    for axis in axes:
        once = np.take(once, [0], axis=axis)
    return np.broadcast_to(once, x.shape).copy()


def layout_of_the_cotangent_changes_nothing(subject: Subject, case: Case) -> None:
    """A cotangent that is one number repeated (as that of a sum), expanded, transposed or a window gives the same.

    Formula: |d_x(view of dO) - d_x(dO)| <= 2 E_x
    Source: design of the contract: derivatives take any cotangent of the output's shape
    Fault: cotangent_strides_ignored
    """
    kinds = ["transposed", "heads_last", "sliced", "padded", "expanded", "pooled", "repeated", "repeated"]
    view = str(case.rng("cotangent view").choice(kinds))
    cotangent = case.cotangent()
    if view == "expanded":
        cotangent = _repeat_first(cotangent)
    elif view == "pooled":  # as that of a mean over the rows
        view, cotangent = "broadcast", _repeat_first(cotangent, (-2,))
    elif view == "repeated":
        cotangent = np.full_like(cotangent, 1.0 if cotangent.flat[0] == 0 else cotangent.flat[0])
    _, bounds = limits(subject, case, cotangent)
    before = subject.backward(case, cotangent).gradients
    after = subject.backward(case.with_(views={"cotangent": view}), cotangent).gradients
    for name in INPUTS:
        what = f"gradient of {name} for a cotangent that is {view}"
        require_same(after[name], before[name], 2 * getattr(bounds, name), what)


def inputs_stay_as_they_were(subject: Subject, case: Case) -> None:
    """The call and its derivatives leave every byte of their inputs, masks and surroundings as it was.

    Formula: memory of query, key, value, mask after = before
    Source: design of the contract: inputs unchanged byte for byte
    Fault: query_scaled_in_place
    """
    names = [*INPUTS, "mask"] if case.mask is not None else list(INPUTS)
    for one in (case, case.with_(views=dict.fromkeys(names, "padded"))):
        subject.forward(one, fresh=True)  # every call compares its inputs' memory before and after
        if differentiable(subject.implementation):
            subject.backward(one)


SPACE = Space(max_n=65)
BATCHES = Space(max_n=65, min_batch=2)
HEADS = BATCHES.with_(min_heads=2)

LAWS = (
    Law(transposed_views_change_nothing, "shapes", space=SPACE, large=8, small=16),
    Law(surroundings_of_views_are_not_read, "shapes", space=SPACE, large=6, small=14),
    Law(expanded_views_change_nothing, "shapes", space=HEADS, large=12, small=16),
    Law(
        layout_of_the_cotangent_changes_nothing, "shapes", space=BATCHES, large=6, small=12,
        declares=differentiable, because=NOT_DECLARED,
    ),
    Law(inputs_stay_as_they_were, "shapes", space=SPACE, large=3, small=8),
)  # fmt: skip
