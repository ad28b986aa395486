"""Laws of calls with few tokens: queries that continue a long cache, and wide heads of a few tokens in views."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import product

import numpy as np

from attention_core.conformance.budgets.rounding import round_to
from attention_core.conformance.cases.case import Case
from attention_core.conformance.cases.space import Profile, Space, some
from attention_core.conformance.laws.shapes import attribute_failures, judge_output, judge_weights
from attention_core.conformance.subjects.evidence import NotApplicable, Refused
from attention_core.conformance.subjects.law import Law
from attention_core.conformance.subjects.subject import Subject
from attention_core.conformance.worker.exchange import NDArray

SHAPES = tuple(product((1, 4, 8), (65, 147, 513)))
"""Numbers of queries and keys: a token, and a few that were guessed; one key beyond a block of 64, between blocks, one
beyond eight of them."""
VIEWS = ("transposed", "heads_last", "rows_first", "heads_first", "sliced", "chunk", "padded", "offset")
WIDTHS = (64, 128)
FORMS = ("plain", "lengths", "bottom right")


def decoding_shapes_are_right(subject: Subject, case: Case) -> int:
    """One, four or eight queries of several sequences over 65, 147 and 513 keys give true results.

    Formula: |f(x) - t(x)| <= E_o(x), n_q in {1, 4, 8}, n_kv in {65, 147, 513}, B >= 2; whole, to lengths, bottom right
    Source: derivations/error_budget.md (output); split decoding kernels; flashinfer-ai/flashinfer#4347
    Fault: tail_of_the_first_sequence
    """
    return judge_each(subject, [case] if case.given else decoding_problems(subject, case))


def decoding_problems(subject: Subject, case: Case) -> Iterator[Case]:
    """A problem for each of `SHAPES`, in one of `FORMS`."""
    rng, profile = case.rng("decoding"), subject.binding.profile()
    for number, (n_q, n_kv) in some([*enumerate(SHAPES)], case, profile):
        heads = int(rng.integers(1, 4))
        one = draw_plain_problem(case, rng, (2 + number % 2, heads, n_q, n_kv, 16))
        if not profile.allows(one.sizes):
            continue
        forms = FORMS if "attn_mask" in profile.claims else FORMS[:1]
        mask = mask_of(forms[int(rng.integers(len(forms)))], one, rng)
        causal = mask is None and "is_causal" in profile.claims and profile.alignment == "bottom_right"
        yield one.with_(mask=mask, is_causal=causal and rng.random() < 0.5)


def views_of_wide_heads_change_nothing(subject: Subject, case: Case) -> int:
    """Few tokens of heads of 64 or 128 features give true results in views, too.

    Formula: |f(view of x) - t(x)| <= E_o(x), d in {64, 128}, n_q <= 3; or the view is refused
    Source: pytorch/pytorch#181133, design of the contract: views may be refused, never misread
    Fault: wide_rows_read_as_they_lie
    """
    return judge_each(subject, [case] if case.given else wide_problems(case, subject.binding.profile()))


def wide_problems(case: Case, profile: Profile) -> Iterator[Case]:
    """A problem for each of `VIEWS`, of one of `WIDTHS`."""
    rng = case.rng("wide views")
    for view in some(VIEWS, case, profile):
        d = int(rng.choice(WIDTHS))
        one = draw_plain_problem(
            case, rng, (2, int(rng.integers(2, 4)), int(rng.integers(1, 4)), int(rng.integers(2, 9)), d)
        )
        yield one.with_(views=dict.fromkeys(("query", "key", "value"), view))


def judge_each(subject: Subject, problems: Iterable[Case]) -> int:
    """Judge the output of problems that are declared and not refused; how many slices they have."""
    count, profile = 0, subject.binding.profile()
    for one in problems:
        if not profile.allows(one.sizes):
            continue
        n_q, n_kv, d, _, heads, _ = one.sizes
        views = "".join(f" and {view} views" for view in sorted(set(one.views.values())))
        with suppress(Refused), attribute_failures(one):
            remark = f"for B={one.query.shape[0]} H={heads} n_q={n_q} n_kv={n_kv} d={d}{views}"
            judge_output(subject, one, remark)
            judge_weights(subject, one, remark)
            count += one.slices
    if not count:
        raise NotApplicable("no such size is declared and accepted")
    return count


def draw_plain_problem(case: Case, rng: np.random.Generator, sizes: tuple[int, int, int, int, int]) -> Case:
    """A plain problem of the case's dtype and scale, of sizes B, H, n_q, n_kv, d."""
    B, H, n_q, n_kv, d = sizes
    shapes = (B, H, n_q, d), (B, H, n_kv, d), (B, H, n_kv, d)
    query, key, value = (round_to(rng.standard_normal(shape), case.dtype) for shape in shapes)
    return case.with_(query=query, key=key, value=value, mask=None, is_causal=False, views={})


def mask_of(form: str, case: Case, rng: np.random.Generator) -> NDArray | None:
    """No mask; one of lengths, another for each sequence; or the causal one of queries at the end."""
    n_q, n_kv, *_ = case.sizes
    if form == "plain":
        return None
    keys = np.arange(n_kv)
    if form == "lengths":
        lengths = np.asarray(rng.integers(n_kv // 2, n_kv + 1, case.query.shape[0]))
        return np.broadcast_to(keys < lengths[:, None, None, None], (len(lengths), 1, n_q, n_kv)).copy()
    return (keys <= np.arange(n_kv - n_q, n_kv)[:, None])[None, None]


PLAIN = Space(masks=("none",), causal=(False,), small=False, max_n=8, regimes=("normal",), grouped=False)
LAWS = (
    Law(decoding_shapes_are_right, "decoding", space=PLAIN, compares=True, large=2, small=0),
    Law(views_of_wide_heads_change_nothing, "decoding", space=PLAIN, compares=True, large=2, small=0),
)
