"""Laws of pages that hold numbers of one byte: what is attended to is each number times its scale.

Truth and budget are those of the dequantised keys and values, as for `quantised`; the scales of pages and tokens lie
where the block table says. All other laws of pages are put to such a target, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from attention_core.conformance.cases.counts import count_many, share_heads
from attention_core.conformance.laws.paged import CONTRACT, PAGED, paging_of, without_page
from attention_core.conformance.laws.varlen import check_pack, note_power, outputs_of
from attention_core.conformance.subjects.evidence import NotApplicable
from attention_core.conformance.subjects.law import Law
from attention_core.conformance.subjects.packed_case import PackedCase
from attention_core.conformance.subjects.packed_subject import Pack
from attention_core.conformance.subjects.paged_subject import PagedSubject, Paging
from attention_core.conformance.subjects.parameter_case import Sizes, after
from attention_core.conformance.worker.exchange import NDArray

NOT_STORED = "its pages hold keys and values (stored numbers: --parameter stored=int8)"


def wrong_scales(subject: PagedSubject, case: PackedCase, pack: Pack, paging: Paging) -> Iterator[tuple[str, Pack]]:
    """Packs whose scales are read wrongly, by what is wrong."""
    assert pack.scales is not None and subject.storage is not None
    (keys, values), granularity = pack.scales, subject.storage.granularity
    yield "scale of keys ignored", rescale(pack, np.ones_like(keys), values)
    yield "scale of values ignored", rescale(pack, keys, np.ones_like(values))
    yield "scale of keys applied twice", rescale(pack, keys**2, values)
    yield "scale of values applied twice", rescale(pack, keys, values**2)
    yield "scales of keys and values exchanged", rescale(pack, values, keys)
    if granularity != "tensor" and keys.size:
        first = (np.full_like(x, x.flat[0]) for x in (keys, values))
        yield "one scale for all", rescale(pack, *first)
        if keys.shape[1] > 1:
            yield "scales of the head before", rescale(pack, *(np.roll(x, 1, 1) for x in (keys, values)))
    if granularity == "sequence":
        yield "scales of the text before", rescale(pack, *(_of_text_before(pack, x) for x in (keys, values)))
    if granularity in ("page", "token"):
        pages = subject.pages(case, pack, paging)
        yield "scales not found by the table", rescale(pack, *(_by_number(pack, x, pages) for x in (keys, values)))
        yield "scales of the key before", rescale(pack, *(np.roll(x, 1, 0) for x in (keys, values)))


def rescale(pack: Pack, keys: NDArray, values: NDArray) -> Pack:
    """The pack with other scales of the same numbers."""
    assert pack.scales is not None
    key, value = (
        x / own[..., None] * other[..., None]
        for x, own, other in zip((pack.key, pack.value), pack.scales, (keys, values), strict=True)
    )
    return replace(pack, key=key, value=value)


def _of_text_before(pack: Pack, scales: NDArray) -> NDArray:
    """Each text with the scales of the one before, as far as that has keys."""
    found = scales.copy()
    for b in range(len(pack.texts)):
        own, other = pack.rows(b, 1), pack.rows(b - 1 if b else len(pack.texts) - 1, 1)
        if other.start < other.stop:
            found[own] = scales[other.start]
    return found


def _by_number(pack: Pack, scales: NDArray, pages: Any) -> NDArray:
    """The scale that lies in the page whose number is a key's place in its text, and not what the table has there."""
    page = pages.key.shape[1]
    of_pages = np.ones((*pages.key.shape[:2], scales.shape[1]))
    for b, length in enumerate(pages.lengths):
        of_pages[pages.places(b, 0, int(length))] = scales[pack.rows(b, 1)]
    found = scales.copy()
    for b, length in enumerate(pages.lengths):
        at = np.arange(int(length))
        found[pack.rows(b, 1)] = of_pages[at // page % len(of_pages), at % page]
    return found


def _agree(subject: PagedSubject, case: PackedCase, law: str, what: str, regime: str = "normal") -> None:
    """A call on stored pages agrees with the truth, where some wrong scale would stand out."""
    if subject.storage is None:
        raise NotApplicable(NOT_STORED)
    drawn = case.with_(options={**case.options, "regime": regime})
    assert isinstance(drawn, PackedCase)
    setting, paging, pack = subject.setting(drawn), paging_of(drawn, fill="nan"), subject.pack(drawn)
    if subject.implementation.masked_nan != "ignored":
        paging = replace(paging, fill="huge")
    nulls = {name: outputs_of(subject, one, setting) for name, one in wrong_scales(subject, drawn, pack, paging)}
    if not note_power(subject, law, subject.judge(drawn, pack, setting), nulls):
        raise NotApplicable("no wrong scale would stand out")
    check_pack(subject, drawn, pack, setting, what, paging=paging)


def stored_pages_agree_with_the_truth(subject: PagedSubject, case: PackedCase) -> None:
    """Attention to stored pages is attention to each number times its own scale; scales that no key has do not matter.

    Formula: |f(q, pages n, s, table, lengths) - t(q, s n of each text)| <= E_o
    Source: derivations/quantised.md (scale-after, weight-after); vllm-project/vllm#49716, sgl-project/sglang#34765
    Fault: page_scales_not_found_by_the_table
    """
    _agree(subject, case, "stored_pages_agree_with_the_truth", "out of stored pages")


def scales_of_pages_may_lie_far_apart(subject: PagedSubject, case: PackedCase) -> None:
    """Scales that differ by powers of ten, of heads, texts, pages or tokens, are each that of their own numbers.

    Formula: |f - t| <= E_o for scales from 2^-12 to 2^10
    Source: derivations/quantised.md (scale-after); lablup/mlxcel PR717 (scales below 1 raised to 1)
    Fault: small_page_scales_raised
    """
    _agree(subject, case, "scales_of_pages_may_lie_far_apart", "out of pages with scales far apart", "apart")


def all_numbers_of_stored_pages_are_read(subject: PagedSubject, case: PackedCase) -> None:
    """The least, the largest and the smallest numbers of the format count as what they are.

    Formula: |f - t| <= E_o for n in {-128, 127, 1, 0}; of float8 {+-448, +-2^-9, ...}
    Source: Micikevicius et al., FP8 Formats for Deep Learning (2022); two's complement has one negative number more
    Fault: page_numbers_read_unsigned
    """
    _agree(subject, case, "all_numbers_of_stored_pages_are_read", "out of pages of the ends of the format", "ends")


def query_heads_share_stored_heads_and_scales(subject: PagedSubject, case: PackedCase) -> None:
    """Several query heads share a key head of stored pages with its scale, neighbours the same one.

    Formula: head h of the queries attends to head h // (H / H_kv) of the pages, times that head's scale
    Source: Ainslie et al., GQA (2023); Dao-AILab/flash-attention PR1210 (descale of (B, H_kv))
    Fault: page_scale_of_the_query_head
    """
    _agree(subject, case, "query_heads_share_stored_heads_and_scales", "out of shared heads of stored pages")


def an_earlier_call_leaves_no_page_scale(subject: PagedSubject, case: PackedCase) -> None:
    """Every call has its own scales, whatever was called before.

    Formula: f(n, s) after f(n', s') = f(n, s)
    Source: vllm-project/vllm PR51091 (scales that a layer computes in its first call)
    Fault: page_scales_of_the_first_call
    """
    if subject.storage is None:
        raise NotApplicable(NOT_STORED)
    other, setting = case.with_(seed=case.seed + 1), subject.setting(case)
    assert isinstance(other, PackedCase)
    earlier, _ = subject.attend(other, subject.pack(other), setting, paging=paging_of(case))
    with after([earlier]):
        check_pack(
            subject, case, subject.pack(case), setting, "out after a call with other scales", paging=paging_of(case)
        )


OPTIONS: dict[str, tuple[Any, ...]] = {"causal": (False, True), "lengths": ("any", "same", "decode", "edges")}
FEW = Sizes({**PAGED, "H_kv": (1, 3), "most": (3, 12)}, OPTIONS, adjust=count_many(without_page, 0.15))
SHARED = Sizes({**PAGED, "H_kv": (2, 4), "group": (2, 4), "most": (2, 8)}, OPTIONS, adjust=share_heads(without_page))
ROW: dict[str, Any] = {"contract": CONTRACT, "family": "stored_pages", "large": 10, "small": 0, "space": FEW}
LAWS = (
    Law(stored_pages_agree_with_the_truth, **{**ROW, "large": 16}),
    Law(scales_of_pages_may_lie_far_apart, **ROW),
    Law(all_numbers_of_stored_pages_are_read, **ROW),
    Law(query_heads_share_stored_heads_and_scales, **{**ROW, "space": SHARED}),
    Law(an_earlier_call_leaves_no_page_scale, **{**ROW, "large": 4}),
)
COMPARISONS = tuple(law.name for law in LAWS)
