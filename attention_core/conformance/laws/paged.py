"""Laws of paged keys and values: a block table says where a text's keys lie, its length how many of them count.

Queries are (B, n, H, d), the last n tokens of each text; pages (N, page, H_kv, d). Whatever lies after a text's last
key, in pages of no text, or in the table after its last page does not matter.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from attention_core.conformance.budgets.budget import round_to
from attention_core.conformance.cases.counts import count_many, share_heads
from attention_core.conformance.laws.varlen import (
    BESIDE,
    OPTIONS,
    check_pack,
    compare,
    count_power,
    fit_last_keys,
    heads_of,
    outputs_of,
)
from attention_core.conformance.subjects.evidence import (
    NotApplicable,
    Violation,
    require_close,
    require_same,
)
from attention_core.conformance.subjects.law import DIAGNOSE, Law
from attention_core.conformance.subjects.packed_case import PackedCase
from attention_core.conformance.subjects.packed_subject import Pack, Setting
from attention_core.conformance.subjects.paged_subject import GARBAGE, PagedSubject, Pages, Paging
from attention_core.conformance.subjects.parameter_case import APART, LARGE_SCORES, Sizes
from attention_core.conformance.worker.exchange import NDArray

CONTRACT = "paged"
GRADIENTS = False  # no law tests them: pages are for decoding


def null_models(
    subject: PagedSubject, case: PackedCase, pack: Pack, setting: Setting, paging: Paging
) -> dict[str, NDArray]:
    """What a call that misreads pages, table or lengths gives, by the name of what it gets wrong."""
    pages = subject.pages(case, pack, paging)
    counts = -(-pages.lengths // paging.page)
    rows = [row[:count] for row, count in zip(pages.table, counts, strict=True)]
    before = [row if len(row) else np.zeros(1, dtype=np.int64) for row in (*rows[-1:], *rows[:-1])]
    readings = {
        "pages in the order of their numbers": [np.sort(row) for row in rows],
        "the table of the text before": [np.resize(b, len(row)) for b, row in zip(before, rows, strict=True)],
        "pages one after the other from 0": [np.arange(len(row)) % len(pages.key) for row in rows],
    }
    found = {name: _read(subject, pack, pages, rows, pages.lengths, setting) for name, rows in readings.items()}
    found["the last page taken whole"] = _read(subject, pack, pages, rows, counts * paging.page, setting)
    found["the last page left out"] = _read(
        subject, pack, pages, rows, np.maximum(counts - 1, 0) * paging.page, setting
    )
    return found


def _read(
    subject: PagedSubject, pack: Pack, pages: Pages, rows: list[NDArray], lengths: NDArray, setting: Setting
) -> NDArray:
    """The outputs where text b's keys are read from some pages, so many of them."""
    keys, values = ([x[0, :0]] for x in (pages.key, pages.value))  # there may be no text
    for row, length in zip(rows, lengths, strict=True):
        for parts, x in ((keys, pages.key), (values, pages.value)):
            parts.append(x[row.astype(int)].reshape(-1, *x.shape[2:])[: int(length)])
    texts = tuple((n, len(k)) for (n, _), k in zip(pack.texts, keys[1:], strict=True))
    return outputs_of(subject, Pack(pack.query, np.concatenate(keys), np.concatenate(values), texts), setting)


def paging_of(case: PackedCase, **fields: Any) -> Paging:
    """The paging of a case, with some of its fields set."""
    return Paging(PagedSubject.page_of(case), order=case.seed % 7, **fields)


def paged_keys_agree_with_the_truth(subject: PagedSubject, case: PackedCase) -> None:
    """Attention to the keys that table and length name is attention to those keys, in their order.

    Formula: |f(q, pages, table, lengths) - t(q, keys of each text)| <= E_o, the n queries a text's last tokens
    Source: derivations/error_budget.md (output); Kwon et al., PagedAttention (2023); Dao-AILab/flash-attention PR2368
    Fault: pages_in_the_order_of_their_numbers
    """
    setting, paging = subject.setting(case), paging_of(case)
    pack, where = fit_last_keys(subject, case, subject.pack(case), setting)
    judged = subject.judge(case, pack, setting)
    more = null_models(subject, case, pack, setting, paging)
    count_power(subject, "paged_keys_agree_with_the_truth", pack, setting, judged, more)
    check_pack(subject, case, pack, setting, "out of paged keys", paging=paging, where=where)


def unused_pages_and_tails_do_not_matter(subject: PagedSubject, case: PackedCase) -> None:
    """NaN (unless declared) and huge numbers past the last key of a text, or in unused pages, change nothing.

    Formula: f(pages with NaN or 1e30 where no key lies) = f(pages)
    Source: Dao-AILab/flash-attention#2374, vllm-project/vllm PR936, vllm-project/vllm PR53856 (a last page read whole)
    Fault: last_page_read_whole_and_weighed_by_zero
    """
    nan = subject.implementation.masked_nan == "ignored" and case.seed % 3
    what = f"out of pages whose rest is {'NaN (if that may leak, declare --masked-nan unspecified)' if nan else 'huge'}"
    paging = paging_of(case, fill="nan" if nan else "huge", spare=3)
    check_pack(subject, case, subject.pack(case), subject.setting(case), what, paging=paging)


def entries_behind_the_last_page_are_not_followed(subject: PagedSubject, case: PackedCase) -> None:
    """A table may be wider than a text needs; what stands there, -1 or numbers of other pages, does not matter.

    Formula: f(table with -1 or any page after ceil(length / page)) = f(table)
    Source: vllm-project/vllm#42494 (stale entries of a block table); tables are allocated for the longest text
    Fault: length_from_the_table
    """
    garbage = GARBAGE[case.seed % len(GARBAGE)]
    fill = "nan" if subject.implementation.masked_nan == "ignored" and case.seed % 2 else "stale"
    paging = paging_of(case, wider=1 + case.seed % 4, garbage=garbage, fill=fill)
    what = f"out of a table with {garbage.replace('zero', '0').replace('valid', 'other pages')} past its last page"
    check_pack(subject, case, subject.pack(case), subject.setting(case), what, paging=paging)


def texts_may_share_pages(subject: PagedSubject, case: PackedCase) -> None:
    """Two texts with a common beginning may have its pages in common, or the later ones of these alone.

    Formula: f = t where rows 0 and 1 of the table have the same pages, from the first or a later one on
    Source: prefix caches (Zheng et al., SGLang, 2024); cascades of a prefix that all texts of a batch have
    Fault: page_belongs_to_its_last_text
    """
    page, texts = PagedSubject.page_of(case), case.texts
    shared = min(n_kv for _, n_kv in texts[:2]) // page * page if len(texts) > 1 else 0
    if not shared:
        raise NotApplicable
    pack, setting = subject.pack(case), subject.setting(case)
    if subject.storage is not None and subject.storage.granularity == "sequence":
        raise NotApplicable("texts that share pages have scales of their own")
    first, second = (pack.rows(b, 1).start for b in (0, 1))
    arrays = [x.copy() for x in (pack.key, pack.value, *(pack.scales or ()))]
    for x in arrays:
        x[second : second + shared] = x[first : first + shared]
    scales = None if pack.scales is None else (arrays[2], arrays[3])
    pack = replace(pack, key=arrays[0], value=arrays[1], scales=scales)
    unshared = page * (case.seed // 3 % (shared // page)) if case.seed % 3 else 0
    paging = paging_of(case, shared=shared, unshared=unshared)
    check_pack(subject, case, pack, setting, "out of texts that share pages", paging=paging)


def texts_without_keys_are_dead(subject: PagedSubject, case: PackedCase) -> None:
    """A text of length 0 has no key: its rows are 0, or as declared, and others are right.

    Formula: lengths_b = 0 implies f_b = 0 (or as --dead-rows says)
    Source: flashinfer-ai/flashinfer#4484, flashinfer-ai/flashinfer#4452 (rows without keys of paged prefill)
    Fault: empty_text_reads_its_first_page
    """
    if all(n_kv for _, n_kv in case.texts):
        raise NotApplicable
    paging = paging_of(case, wider=1)
    check_pack(
        subject, case, subject.pack(case), subject.setting(case), "out of texts some without keys", paging=paging
    )


def query_heads_share_pages_heads_in_order(subject: PagedSubject, case: PackedCase) -> None:
    """Several query heads share a key head of the pages, neighbours the same one.

    Formula: head h of the queries attends to head h // (H / H_kv) of the pages (h mod H_kv if declared)
    Source: Ainslie et al., GQA (2023); PSAL-POSTECH/ONNXim PR34
    Fault: paged_heads_shared_in_turn
    """
    if case["group"] < 2 or case["H_kv"] < 2:
        raise NotApplicable
    check_pack(subject, case, subject.pack(case), subject.setting(case), "out of shared heads", paging=paging_of(case))


def many_pages_are_read_to_the_last(subject: PagedSubject, case: PackedCase) -> None:
    """Long texts of many pages, pages of one key and of 64, and dozens of texts are read to their last key.

    Formula: |f - t| <= E_o, lengths up to 280, page from 1 to 64, up to 40 texts
    Source: flashinfer-ai/flashinfer#4347 (a page beyond a size skipped)
    Fault: pages_beyond_the_sixteenth_skipped
    """
    check_pack(subject, case, subject.pack(case), subject.setting(case), "out of many pages", paging=paging_of(case))


def new_tokens_are_appended(subject: PagedSubject, case: PackedCase) -> None:
    """New keys and values are written past a text's last key, in the page that the table names, and attended to.

    Formula: f(q, pages, k, v, table, lengths) = t(q, [keys; k]), and the pages hold k and v there, nothing else moved
    Source: Dao-AILab/flash-attention, flash_attn_with_kvcache; tenstorrent/tt-metal#56324
    Fault: new_tokens_at_the_start_of_their_page
    """
    if not subject.appends:
        raise NotApplicable("it appends nothing")
    pack, setting, m = subject.pack(case), subject.setting(case), case.texts[0][0] if case.texts else 0
    if not m or any(n_kv < m for _, n_kv in case.texts):
        raise NotApplicable
    full = subject.pages(case, pack, paging_of(case))
    before = Pages(full.key.copy(), full.value.copy(), full.table, full.lengths - m)
    new_key, new_value = (
        np.stack([x[full.places(b, n_kv - m, n_kv)] for b, (_, n_kv) in enumerate(pack.texts)])
        for x in (full.key, full.value)
    )
    for x in (before.key, before.value):
        for b, (_, n_kv) in enumerate(pack.texts):
            x[full.places(b, n_kv - m, n_kv)] = round_to(np.asarray(-7.0), case.dtype)
    out, key, value = subject.append(case, pack, before, setting, (new_key, new_value))
    what = f"out of a call that appends{setting.describe()}"
    compare(subject, case, out, None, subject.judge(case, pack, setting), what)
    require_close(key, full.key, 0.0, "pages of keys after a call that appends")
    require_close(value, full.value, 0.0, "pages of values after a call that appends")


def pages_are_read_by_their_own_strides(subject: PagedSubject, case: PackedCase) -> None:
    """Pages of keys and pages of values may be views of larger arrays, each in its own way, features side by side.

    Formula: f(q, views of the pages) = f(q, pages), views of keys and values apart
    Source: vllm-project/vllm, a cache that holds keys and values in one array; slices of it differ in their strides
    Fault: value_pages_by_the_strides_of_keys
    """
    rng = case.rng("views")
    first, second = (str(view) for view in rng.choice(VIEWS, size=2, replace=False))
    views = (first, second) if rng.random() < 0.7 else (first, first)
    what = f"out of pages whose memory is {' and '.join(dict.fromkeys(views)).replace('_', ' ')}"
    pack, setting = subject.pack(case), subject.setting(case)
    check_pack(subject, case, pack, setting, what, paging=paging_of(case), views=views)


def values_may_have_more_features_than_keys(subject: PagedSubject, case: PackedCase) -> None:
    """Where the output of wider values is as wide as they are, all of its features are right.

    A kernel that gives as many features as queries have, or refuses, takes one size alone and is left out.

    Formula: |f(q, k, v) - t(q, k, v)| <= E_o, v of d_v > d features
    Source: vllm-project/vllm, flashinfer-ai/flashinfer (MLA: queries of 192 features, values of 128)
    Fault: value_pages_by_the_strides_of_keys
    """
    pack, setting = subject.pack(case), subject.setting(case)
    judged = subject.judge(case, pack, setting)
    try:
        out, lse = subject.attend(case, pack, setting, paging=paging_of(case))
    except Violation as violation:
        if violation.evidence.event == "wrong shape":
            raise NotApplicable("its output has another size than values that are wider than keys") from None
        raise
    what = "out of values wider than keys (if it takes one size alone, declare --sizes 'd == d_v')"
    compare(subject, case, out, lse, judged, what)


def the_numbers_of_pages_do_not_matter(subject: PagedSubject, case: PackedCase) -> None:
    """Pages under other numbers, with a table that says so, give the same.

    Formula: |f(pages permuted, table permuted) - f(pages, table)| <= 2 E_o
    Source: Kwon et al., PagedAttention (2023): a page may lie anywhere
    Fault: pages_in_the_order_of_their_numbers
    """
    pack, setting = subject.pack(case), subject.setting(case)
    judged = subject.judge(case, pack, setting)
    first, _ = subject.attend(case, pack, setting, paging=paging_of(case))
    second, _ = subject.attend(
        case, pack, setting, paging=replace(paging_of(case), order=100 + case.seed % 11, spare=4)
    )
    where = ~judged.dead[..., None]
    require_same(second, first, 2 * judged.out_bound, "out of pages under other numbers", where=where)


def without_page(sizes: dict[str, int], rng: np.random.Generator) -> dict[str, int]:
    """Values as wide as keys: pages of both have one form in most libraries."""
    sizes = {**sizes, "d_v": sizes["d"]}
    return {**sizes, "d": 32, "d_v": 32, "most": 20} if rng.random() < 0.2 else sizes


def _pages_of_any_size(sizes: dict[str, int], rng: np.random.Generator) -> dict[str, int]:
    return {**sizes, "d_v": sizes["d"], "page": int(rng.choice([1, 2, 8, 16, 64]))}


def wider_values(sizes: dict[str, int], rng: np.random.Generator) -> dict[str, int]:
    """Values of more features than keys."""
    return {**sizes, "d_v": sizes["d"] + sizes["d_v"]}


PAGED = heads_of(page=(1, 5))
VIEWS = ("chunk", "padded", "offset", "heads_first", "heads_last", "contiguous")
"""How pages lie in memory (see `array`), two of them at a time: features side by side, as every cache has them."""
USUAL = Sizes(
    PAGED,
    {**OPTIONS, **LARGE_SCORES, "last": (None, None, "fits"), "lengths": ("any", "same", "decode", "edges", "one")},
    adjust=without_page,
)
FEW = Sizes(
    {**PAGED, "most": (3, 12)}, {**OPTIONS, **BESIDE, "lengths": ("any", "same")}, adjust=count_many(without_page, 0.15)
)
SHARED_PAGES = Sizes(
    {**PAGED, "most": (8, 16), "page": (1, 3)},
    {"causal": (False, True), "lengths": ("any", "same")},
    adjust=without_page,
)
EMPTY = Sizes(PAGED, {**BESIDE, "causal": (False, True), "lengths": ("empty",)}, adjust=without_page)
SHARED = Sizes(
    {**PAGED, "H_kv": (2, 5), "group": (2, 8)},
    {"causal": (False, True), **APART, "lengths": ("any", "decode")},
    adjust=share_heads(without_page),
)
STRIDED = Sizes(
    {**PAGED, "H_kv": (2, 3), "d": (2, 8), "page": (2, 5)},
    {"causal": (False, True), "lengths": ("any", "same")},
    adjust=without_page,
)
WIDER = Sizes(
    {**PAGED, "H_kv": (1, 2)},
    {"causal": (False, True), "lengths": ("any", "same")},
    adjust=wider_values,
    related=lambda sizes: sizes["d_v"] > sizes["d"],
)
LARGE = Sizes(
    heads_of(H_kv=(1, 1), d=(1, 4), page=(1, 64)),
    {"causal": (False, True), "lengths": ("long", "steps", "many", "edges", "steps")},
    adjust=_pages_of_any_size,
)
ROW: dict[str, Any] = {"contract": CONTRACT, "family": "paged", "large": 12, "small": 0, "space": FEW}
LAWS = (
    Law(paged_keys_agree_with_the_truth, **{**ROW, "large": 32, "space": USUAL}, central=True),
    Law(unused_pages_and_tails_do_not_matter, **ROW),
    Law(entries_behind_the_last_page_are_not_followed, **ROW),
    Law(texts_may_share_pages, **{**ROW, "space": SHARED_PAGES}),
    Law(texts_without_keys_are_dead, **{**ROW, "space": EMPTY}),
    Law(query_heads_share_pages_heads_in_order, **{**ROW, "large": 16, "space": SHARED}),
    Law(pages_are_read_by_their_own_strides, **{**ROW, "large": 8, "space": STRIDED}),
    Law(values_may_have_more_features_than_keys, **{**ROW, "large": 8, "space": WIDER}),
    Law(many_pages_are_read_to_the_last, **{**ROW, "large": 14, "space": LARGE}),
    Law(new_tokens_are_appended, **ROW),
    Law(the_numbers_of_pages_do_not_matter, **{**ROW, "large": 8}, role=DIAGNOSE),
)  # fmt: skip
COMPARISONS = (
    "unused_pages_and_tails_do_not_matter", "entries_behind_the_last_page_are_not_followed", "texts_may_share_pages",
    "texts_without_keys_are_dead", "query_heads_share_pages_heads_in_order", "pages_are_read_by_their_own_strides",
    "values_may_have_more_features_than_keys", "many_pages_are_read_to_the_last", "new_tokens_are_appended",
)  # fmt: skip
