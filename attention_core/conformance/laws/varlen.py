"""Laws of packed texts: several texts of any lengths in one call, each of which is attention by itself.

Queries of all texts lie one after the other, (T_q, H, d), and so do keys and values; prefix sums of the lengths, or
the lengths, say where texts end. With fewer queries than keys, the queries are the last tokens, unless
`--causal` says otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from attention_core.conformance.budgets.budget import round_to
from attention_core.conformance.cases.counts import count_many, share_heads
from attention_core.conformance.cases.features import NULLS, OTHER_CORNER, pose
from attention_core.conformance.cases.null_models import SEPARATION
from attention_core.conformance.subjects.axes import put_heads_in_order
from attention_core.conformance.subjects.evidence import NotApplicable, Result, require_close, require_same
from attention_core.conformance.subjects.law import DIAGNOSE, Law
from attention_core.conformance.subjects.packed_case import PackedCase
from attention_core.conformance.subjects.packed_subject import Judged, Pack, PackedSubject, Setting
from attention_core.conformance.subjects.parameter_case import (
    APART,
    LARGE_SCORES,
    UNDECLARED_SIZES,
    Sizes,
    as_argument,
    supports,
)
from attention_core.conformance.worker.exchange import NDArray
from attention_core.declaration.implementation import Implementation

CONTRACT = "varlen"
FITTING = 2.0**15
"""A score that outweighs every number which is added in place of -inf, but those below -32768."""
LARGEST = {"float16": 2.0**15}
"""The largest number of such a key, so that it stays finite in its dtype."""
HUGE = {"float16": 1e3}
"""A number far from all others whose products stay finite: 1e30, and less in float16."""


# --- what each law compares ---------------------------------------------------------------------------------


def check_pack(
    subject: PackedSubject, case: PackedCase, pack: Pack, setting: Setting, what: str, *,
    where: NDArray | None = None, truth_of: Pack | None = None, **how: Any,
) -> Result:  # fmt: skip
    """One call agrees with the truth at every row (where `where` (T_q,) is true), log-sum-exps too if they come back.

    The truth is that of `truth_of` where the pack holds other numbers in rows that should not matter.
    """
    judged = subject.judge(case, truth_of or pack, setting)
    out, lse = subject.attend(case, pack, setting, **how)
    compare(subject, case, out, lse, judged, what + setting.describe(), where)
    return out


def compare(
    subject: PackedSubject, case: PackedCase, out: Result, lse: Result | None, judged: Judged, what: str,
    where: NDArray | None = None,
) -> None:  # fmt: skip
    """Results against truth and budget."""
    rows = np.ones(judged.dead.shape, dtype=bool)
    rows[_total(case) :] = False
    if where is not None:
        rows &= where[:, None]
    compared = rows & judged.declared
    ratio = require_close(out, judged.out, judged.out_bound, what, where=compared[..., None])
    key = (case.dtype, subject.implementation.contract)
    subject.ratios[key] = max(subject.ratios.get(key, 0.0), ratio)
    if lse is not None and judged.has_lse:
        require_close(lse, judged.lse, judged.lse_bound, f"lse of {what}", where=compared)


def _total(case: PackedCase) -> int:
    """Queries of all texts."""
    return sum(n_q for n_q, _ in case.texts)


def null_models(subject: PackedSubject, pack: Pack, setting: Setting) -> dict[str, NDArray]:
    """What a call with one thing missing, shifted or on the wrong side gives, by the name of what it gets wrong."""
    texts, T_q, T_k = list(pack.texts), int(pack.ends(0)[-1]), int(pack.ends(1)[-1])
    found = {"texts that see each other": (replace(pack, texts=((T_q, T_k),)), setting)}
    if len(texts) > 1 and texts[0][1] and texts[1][1]:
        (q, k), (q2, k2), *others = texts
        found["the first end one key late"] = replace(pack, texts=((q, k + 1), (q2, k2 - 1), *others)), setting
        found["the first end one key early"] = replace(pack, texts=((q, k - 1), (q2, k2 + 1), *others)), setting
    if setting.causal:
        found["causality ignored"] = pack, replace(setting, causal=False)
    if setting.scale is not None:
        found["scale ignored"] = pack, replace(setting, scale=None)
    for name in setting.features.given():
        for wrong, features in NULLS[name](setting.features, subject.window_kind):
            found[wrong] = pack, replace(setting, features=features)
    results = {name: outputs_of(subject, *given) for name, given in found.items()}
    if setting.causal and any(q != k for q, k in texts):
        results["the other alignment"] = outputs_of(subject, pack, setting, other_side=True)
    return results


def fit_last_keys(
    subject: PackedSubject, case: PackedCase, pack: Pack, setting: Setting
) -> tuple[Pack, NDArray | None]:
    """The pack, whose last keys fit every query in some causal cases, and the rows that do not see them; None for all.

    A mask that lowers scores by 50 or 10,000, in place of -inf, lets these keys through.
    """
    scale = subject.scale(setting, pack)
    others = setting.features.given().keys() - {"window"}
    if case.options.get("last") != "fits" or not setting.causal or others or scale <= 0:
        return pack, None
    query, key, where = np.ones_like(pack.query), pack.key.copy(), np.ones(len(pack.query), dtype=bool)
    for i, (n_q, n_kv) in enumerate(pack.texts):
        if n_kv:
            fitting = min(FITTING / (scale * case["d"]), LARGEST.get(case.dtype, np.inf))
            key[pack.rows(i, 1).stop - 1] = round_to(np.asarray(fitting), case.dtype)
            first = n_kv - 1 - (n_kv - n_q if subject.implementation.causal == "bottom_right" else 0)
            where[pack.rows(i)] = np.arange(n_q) < first
    return replace(pack, query=query, key=key), where


def outputs_of(subject: PackedSubject, pack: Pack, setting: Setting, *, other_side: bool = False) -> NDArray:
    """The outputs of a pack in float64, one after the other."""
    corner = subject.implementation.causal
    corner = OTHER_CORNER[corner] if other_side else corner
    return subject.outputs(pack, setting, lambda i, case, features: pose(case, features, corner))


def count_power(
    subject: PackedSubject, law: str, pack: Pack, setting: Setting, judged: Judged,
    more: Mapping[str, NDArray] = MappingProxyType({}),
) -> None:  # fmt: skip
    """Note which null models a case could tell from the truth; `more` are outputs of further ones.

    Raises: NotApplicable where it could tell none: such a case cannot fail.
    """
    if not note_power(subject, law, judged, {**null_models(subject, pack, setting), **more}):
        raise NotApplicable("no wrong attention that is tried would stand out")


def note_power(subject: PackedSubject, law: str, judged: Judged, nulls: Mapping[str, NDArray]) -> bool:
    """Note which null models stand out from the truth; whether any does."""
    live, some = ~judged.dead[..., None], False
    for name, out in nulls.items():
        apart = np.where(live, np.abs(out - judged.out), 0.0)
        separated = bool((apart > SEPARATION * judged.out_bound).any())
        subject.relevant[law, name] += bool((apart > 1e-9).any())
        subject.powers[law, name] += separated
        some |= separated
    return some


# --- laws ---------------------------------------------------------------------------------------------------


def packed_texts_agree_with_the_truth(subject: PackedSubject, case: PackedCase) -> None:
    """Every text of a pack is attention by itself, whatever the lengths of the others.

    Formula: |f(pack)[text] - softmax(scale q k^T + mask) v| <= E_o(text), mask causal or a window
    Source: derivations/error_budget.md (output); fla-org/flash-linear-attention PR842
    Fault: one_text_of_all
    """
    setting = subject.setting(case)
    pack, where = fit_last_keys(subject, case, subject.pack(case), setting)
    count_power(subject, "packed_texts_agree_with_the_truth", pack, setting, subject.judge(case, pack, setting))
    check_pack(subject, case, pack, setting, "out of packed texts", where=where)


def empty_texts_take_no_rows(subject: PackedSubject, case: PackedCase) -> None:
    """Texts without queries or without keys, first, between, last or all, leave the others as they are.

    Formula: n_q = 0 takes no row; n_kv = 0 gives dead rows, 0 or as --dead-rows says; other texts as without it
    Source: Dao-AILab/flash-attention#2562, Dao-AILab/flash-attention#1537, Dao-AILab/flash-attention PR1155
    Fault: empty_text_gets_the_next_ones_key
    """
    if all(n_q and n_kv for n_q, n_kv in case.texts):
        raise NotApplicable
    check_pack(subject, case, subject.pack(case), subject.setting(case), "out of texts of which some are empty")


def nothing_leaks_between_texts(subject: PackedSubject, case: PackedCase) -> None:
    """Huge numbers in one text, and NaN unless declared otherwise, do not reach any other text.

    Formula: f(pack')[text] = f(pack)[text] where pack' has 1e30 or NaN in the keys and values of another text
    Source: Dao-AILab/flash-attention#2374 (0 * NaN past the end of a text)
    Fault: block_reads_into_the_next_text
    """
    texts, rng = case.texts, case.rng("poison")
    full = [i for i, pair in enumerate(texts) if pair[1]]
    if len(texts) < 2 or not full:
        raise NotApplicable
    chosen, pack, setting = int(rng.choice(full)), subject.pack(case), subject.setting(case)
    nan = rng.random() < 0.6 and subject.implementation.masked_nan == "ignored"
    poison = np.nan if nan else round_to(np.asarray(HUGE.get(case.dtype, 1e30)), case.dtype).item()
    key, value, rows = pack.key.copy(), pack.value.copy(), pack.rows(chosen, 1)
    key[rows], value[rows] = poison, poison
    others = np.ones(len(pack.query), dtype=bool)
    others[pack.rows(chosen)] = False
    if not others.any():
        raise NotApplicable
    poisoned = replace(pack, key=key, value=value)
    what = f"out of texts beside one of {'NaN (if that may leak, declare --masked-nan unspecified)' if nan else poison}"
    check_pack(subject, case, poisoned, setting, what, where=others, truth_of=pack)


def rows_beyond_the_last_text_do_not_matter(subject: PackedSubject, case: PackedCase) -> None:
    """Rows that belong to no text, after the last one, change nothing, whatever they hold.

    Formula: f(pack with rows of NaN or 1e30 past the last text)[texts] = f(pack)
    Source: pytorch/pytorch#176793, fla-org/flash-linear-attention PR892, Dao-AILab/flash-attention#1661 (unused rows)
    Fault: last_text_reaches_the_end
    """
    pack, setting = subject.pack(case, more=1 + case.seed % 9), subject.setting(case)
    poison = np.nan if subject.implementation.masked_nan == "ignored" and case.seed % 2 else 1e3
    query, key, value = (x.copy() for x in (pack.query, pack.key, pack.value))
    for x, which in ((query, 0), (key, 1), (value, 1)):
        x[pack.ends(which)[-1] :] = poison
    where = np.arange(len(pack.query)) < pack.ends(0)[-1]
    changed = Pack(query, key, value, pack.texts)
    check_pack(subject, case, changed, setting, "out of texts before unused rows", where=where, truth_of=pack)


def a_larger_maximum_changes_nothing(subject: PackedSubject, case: PackedCase) -> None:
    """A larger number for the largest length changes nothing: it sizes a launch.

    Formula: f(pack, max_seqlen + m) = f(pack, max_seqlen), m up to 200
    Source: flashinfer-ai/flashinfer#4647; captured graphs that are launched at the largest length there may be
    Fault: lengths_from_the_maximum
    """
    if not subject.roles.keys() & {"max", "max_q", "max_k"}:
        raise NotApplicable("it has no parameter for the largest length")
    slack = int(case.rng("slack").choice([1, 7, 64, 200]))
    what = f"out where the largest length is given as {slack} more"
    check_pack(subject, case, subject.pack(case), subject.setting(case), what, slack=slack)


def query_heads_share_key_heads_in_order(subject: PackedSubject, case: PackedCase) -> None:
    """Several query heads share a key head, neighbours the same one.

    Formula: head h of the queries attends to head h // (H / H_kv) of the keys, in every text (h mod H_kv if declared)
    Source: Ainslie et al., GQA (2023); Dao-AILab/flash-attention#1619
    Fault: heads_shared_in_turn
    """
    if case["group"] < 2 or case["H_kv"] < 2:
        raise NotApplicable
    check_pack(subject, case, subject.pack(case), subject.setting(case), "out of shared key heads")


def long_and_many_texts_are_attended_whole(subject: PackedSubject, case: PackedCase) -> None:
    """A long text among short ones, dozens of texts, and lengths at the edges of blocks are attended to their last key.

    Formula: |f(pack)[text] - t(text)| <= E_o(text), lengths up to 280, up to 40 texts, 1 around 8, 16, 32, 64, 128
    Source: flashinfer-ai/flashinfer#4347 (a block beyond a size skipped)
    Fault: keys_beyond_128_skipped
    """
    check_pack(subject, case, subject.pack(case), subject.setting(case), "out of long, short and many texts")


def slices_of_a_projection_are_read_by_their_strides(subject: PackedSubject, case: PackedCase) -> None:
    """Query, key and value may be slices of one array, or lie in memory in another order.

    Formula: f(views of x) = f(x)
    Source: Dao-AILab/flash-attention, flash_attn_varlen_qkvpacked_func; slices of a fused projection
    Fault: rows_read_one_after_the_other
    """
    view = str(case.rng("view").choice(["chunk", "sliced", "padded", "offset", "heads_first", "heads_last"]))
    what = f"out of arrays whose memory is {view.replace('_', ' ')}"
    check_pack(subject, case, subject.pack(case), subject.setting(case), what, view=view)


def a_text_alone_is_the_text_in_the_pack(subject: PackedSubject, case: PackedCase) -> None:
    """A text by itself gives what it gives in a pack, within both budgets (the same bits are another matter).

    Formula: |f(pack)[text] - f(text)| <= 2 E_o(text)
    Source: vllm-project/vllm#48305 (batch invariance asks for more)
    Fault: one_text_of_all
    """
    if len(case.texts) < 2:
        raise NotApplicable
    pack, setting = subject.pack(case), subject.setting(case)
    full = [i for i, (n_q, n_kv) in enumerate(case.texts) if n_q and n_kv]
    if not full:
        raise NotApplicable
    full = [i for i in full if supports(subject.implementation, case.with_texts([case.texts[i]]))]
    if not full:
        raise NotApplicable(UNDECLARED_SIZES)
    chosen = int(case.rng("text").choice(full))
    _require_alike(subject, case, pack, setting, [chosen], "a text in a pack against the text alone")


def the_order_of_texts_does_not_matter(subject: PackedSubject, case: PackedCase) -> None:
    """Texts in another order give the same outputs in that order.

    Formula: |f(permuted pack) - permuted f(pack)| <= 2 E_o
    Source: the texts of a pack do not know each other
    Fault: first_text_offsets_all
    """
    order = [int(i) for i in case.rng("order").permutation(len(case.texts))]
    if len(order) < 2:
        raise NotApplicable
    what = "texts in another order against the texts"
    _require_alike(subject, case, subject.pack(case), subject.setting(case), order, what)


def require_gradients(subject: PackedSubject, case: PackedCase, pack: Pack, setting: Setting, what: str = "") -> None:
    """Gradients of query, key, value, and of sinks where there are some, are true.

    Raises: NotApplicable where the call carries no gradient.
    """
    down = case.values("cotangent", *pack.query.shape[:2], pack.value.shape[-1])
    down[_total(case) :] = 0.0
    judged = subject.true_gradients(case, pack, setting, down)
    down, order = subject.own_heads(pack, down[: subject.rows_that_come_back(case, pack, setting)]), subject.order(pack)
    places = {"query": "0", "key": "1", "value": "2"}
    places |= {"sinks": subject.roles["sinks"]} if "sinks" in judged else {}
    request = subject.request_of(
        case, pack, setting, wrt_=tuple(places.values()),
        cotangent_=as_argument(subject.write_cotangent(down), case.dtype),
    )  # fmt: skip
    response = subject.send(request)
    if not response.has_graph:
        raise NotApplicable("it carries no gradient")
    for name, (true, bound) in judged.items():
        found = response.gradients.get(places[name])
        got = Result(np.zeros(true.shape), request, f"grad:{places[name]}")
        got.extra["missing"] = found is None
        if found is not None:
            got.values = found.values.astype(np.float64)
            got = got if name == "sinks" else subject.read_gradient(got)
        if name in PER_QUERY_HEAD:
            got = put_heads_in_order(got, PER_QUERY_HEAD[name], order)
        ratio = require_close(got, true, bound, f"gradient of {THE[name]}{what}")
        key = (case.dtype, f"{name} of {subject.implementation.contract}")
        subject.ratios[key] = max(subject.ratios.get(key, 0.0), ratio)


PER_QUERY_HEAD = {"query": 1, "sinks": 0}
"""What has query heads -> along which axis."""
THE = {"query": "the query", "key": "the key", "value": "the value", "sinks": "the sinks"}


def _require_alike(
    subject: PackedSubject, case: PackedCase, pack: Pack, setting: Setting, order: list[int], what: str
) -> None:
    """Some texts, in an order, give what they give in the pack."""
    judged = subject.judge(case, pack, setting)
    first, _ = subject.attend(case, pack, setting)
    second, _ = subject.attend(case, pack.reorder(order), setting)
    rows = np.concatenate([np.arange(len(pack.query))[pack.rows(i)] for i in order])
    live = ~judged.dead[rows][..., None]
    moved = Result(first.values[rows], first.request, first.quantity, lambda i: (int(rows[i[0]]), *i[1:]))
    moved.back = lambda i: (int(np.flatnonzero(rows == i[0])[0]), *i[1:])
    moved.heads = first.heads
    require_same(second, moved, 2 * judged.out_bound[rows], what, where=live)


def packed_gradients_are_true(subject: PackedSubject, case: PackedCase) -> None:
    """Gradients of query, key and value are those of every text by itself, with empty texts among them.

    A kernel that carries no gradient is left out, and the report says so.

    Formula: |d_x' - d_x| <= E_x for x of query, key, value of every text; rows of no text get none
    Source: derivations/softmax_backward.md (d-query, d-key, d-value); Dao-AILab/flash-attention PR2333, PR2568
    Fault: gradients_of_the_first_text
    """
    more = case.seed % 3 if case.seed % 2 else 0
    pack, setting = subject.pack(case, more=more), subject.setting(case)
    require_gradients(subject, case, pack, setting)


def _differentiable(implementation: Implementation) -> bool:
    return implementation.gradients and implementation.array == "torch"


def heads_of(**ranges: tuple[int, int]) -> dict[str, tuple[int, int]]:
    """Ranges of a case's sizes: heads, their sizes and the longest usual length."""
    return {"H_kv": (1, 3), "group": (1, 1), "d": (1, 8), "d_v": (1, 8), "most": (1, 12), **ranges}


def as_in_models(sizes: dict[str, int], rng: np.random.Generator) -> dict[str, int]:
    """Head sizes of models in a quarter of the cases, and as wide values as keys in most."""
    if rng.random() < 0.25:
        sizes = {**sizes, "d": int(rng.choice([16, 32, 64])), "most": 20}
    return {**sizes, "d_v": sizes["d"]} if rng.random() < 0.7 else sizes


SIDES = (None, (-1, -1), (2, 0), (1, 1), (3, 2), (0, 0), (-1, 1), (2, -1), (-1, 0))
OPTIONS = {"causal": (False, True, True), "scale": (None, None, 0.5, 1.0, 0.0, -0.5), "sides": SIDES}
"""What calls ask for. A scale of 0 makes the weights of the keys that a row sees equal, and is false in Python."""
USUAL = Sizes(
    heads_of(),
    {
        **OPTIONS,
        **LARGE_SCORES,
        "last": (None, None, None, "fits"),
        "lengths": ("any", "same", "chunk", "decode", "one", "edges"),
    },
    adjust=as_in_models,
)
BESIDE = {"softcap": (None, None, None, 1.0), "sinks": (False, False, True), "slopes": (False, False, True)}
"""Features that stand beside what a law is about, where the target has them."""
FEW = Sizes(
    heads_of(most=(1, 8)), {**OPTIONS, **BESIDE, "lengths": ("any", "same", "chunk")}, adjust=count_many(share=0.15)
)
EMPTY = Sizes(heads_of(most=(1, 6)), {**OPTIONS, **BESIDE, "lengths": ("empty",)})
SHARED = Sizes(
    heads_of(H_kv=(2, 5), group=(2, 8)), {"causal": (False, True), **APART, "lengths": ("any", "same", "decode")},
    adjust=share_heads(),
)  # fmt: skip
LARGE = Sizes(
    heads_of(H_kv=(1, 1), d=(1, 4)),
    {"causal": (False, True), "lengths": ("long", "steps", "many", "edges", "steps")},
)
VIEWS = Sizes(heads_of(H_kv=(2, 3), d=(2, 8)), {"causal": (False, True), "lengths": ("same", "any")})
SINGLE = Sizes(
    heads_of(H_kv=(1, 5), most=(1, 8)), {**OPTIONS, "lengths": ("any", "same", "empty", "chunk")},
    adjust=share_heads(share=0.7),
)  # fmt: skip
"""Of gradients: some cases share no heads, so that a kernel that declines these is judged, too."""
ROW: dict[str, Any] = {"contract": CONTRACT, "family": "varlen", "large": 12, "small": 0, "space": FEW}
GRADIENTS: dict[str, Any] = {
    "declares": _differentiable, "because": "gradients are not declared, or not of torch's arrays",
    "absent": "gradients are not tested",
}  # fmt: skip
LAWS = (
    Law(packed_texts_agree_with_the_truth, **{**ROW, "large": 32, "space": USUAL}, central=True),
    Law(empty_texts_take_no_rows, **{**ROW, "space": EMPTY}),
    Law(nothing_leaks_between_texts, **ROW),
    Law(rows_beyond_the_last_text_do_not_matter, **ROW),
    Law(a_larger_maximum_changes_nothing, **ROW),
    Law(query_heads_share_key_heads_in_order, **{**ROW, "large": 16, "space": SHARED}),
    Law(long_and_many_texts_are_attended_whole, **{**ROW, "large": 14, "space": LARGE}),
    Law(slices_of_a_projection_are_read_by_their_strides, **{**ROW, "space": VIEWS}),
    Law(a_text_alone_is_the_text_in_the_pack, **{**ROW, "large": 8}, role=DIAGNOSE),
    Law(the_order_of_texts_does_not_matter, **{**ROW, "large": 8}, role=DIAGNOSE),
    Law(packed_gradients_are_true, **{**ROW, "space": SINGLE}, **GRADIENTS),
)  # fmt: skip
COMPARISONS = (
    "empty_texts_take_no_rows", "nothing_leaks_between_texts", "rows_beyond_the_last_text_do_not_matter",
    "a_larger_maximum_changes_nothing", "query_heads_share_key_heads_in_order",
    "long_and_many_texts_are_attended_whole", "slices_of_a_projection_are_read_by_their_strides",
    "packed_gradients_are_true",
)  # fmt: skip
