"""Pages of one-byte numbers: what they hold, times its scale, is the keys and values that were drawn."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_core.conformance.subjects.packed_subject import Pack
from attention_core.conformance.subjects.page_storage import IN_PAGES, Storage, read_storage
from attention_core.conformance.subjects.parameter_case import ParameterCase
from attention_core.conformance.subjects.quantised_subject import ENDS

HEADS, WIDTH = 2, 3
PARTS = ("tensor", "head", "sequence", *IN_PAGES)

lengths = st.lists(st.integers(0, 9), min_size=1, max_size=4)
stores = st.builds(Storage, st.sampled_from(sorted(ENDS)), st.sampled_from(PARTS))
cases = st.builds(
    lambda page, seed, plain, regime: ParameterCase({"page": page}, options={"regime": regime}, seed=seed, plain=plain),
    st.integers(1, 5), st.integers(0, 99), st.integers(0, 2), st.sampled_from(("normal", "ends", "apart")),
)  # fmt: skip


def packed(texts: list[int]) -> Pack:
    """A pack of texts of these lengths, whose keys and values are still to be drawn."""
    blank = np.zeros((sum(texts), HEADS, WIDTH))
    return Pack(np.zeros((len(texts), HEADS, WIDTH)), blank, blank, tuple((1, n) for n in texts))


def places_of(texts: list[int], page: int) -> tuple[list[tuple[np.ndarray, np.ndarray]], int]:
    """(page, place in it) of each text's keys, where pages go from the last one down; and how many pages there are."""
    counts = [-(-n // page) for n in texts]
    free, places = sum(counts), []
    for n, count in zip(texts, counts, strict=True):
        places.append((free - 1 - np.arange(n) // page, np.arange(n) % page))
        free -= count
    return places, sum(counts)


@given(lengths, stores, cases)
def test_keys_and_values_are_numbers_of_the_format_times_scales(
    texts: list[int], storage: Storage, case: ParameterCase
) -> None:
    pack = storage.fill(case, packed(texts))
    low, high = ENDS[storage.kind]
    for values, scales in zip((pack.key, pack.value), pack.scales, strict=True):
        numbers = values / scales[..., None]
        np.testing.assert_array_equal(numbers * scales[..., None], values)
        assert np.all((low <= numbers) & (numbers <= high)) and np.all(scales > 0)
        if storage.kind == "int8":
            np.testing.assert_array_equal(numbers, np.rint(numbers))


@given(lengths, stores, cases)
def test_a_scale_belongs_to_what_is_declared(texts: list[int], storage: Storage, case: ParameterCase) -> None:
    pack = storage.fill(case, packed(texts))
    page = case.sizes["page"]
    for scales in pack.scales:
        if storage.granularity == "tensor":
            assert len(np.unique(scales)) <= 1
        elif storage.granularity == "head":
            assert len(np.unique(scales, axis=0)) <= 1
        for text in range(len(texts)):
            own = scales[pack.rows(text, 1)]
            if storage.granularity == "sequence":
                assert len(np.unique(own, axis=0)) <= 1
            elif storage.granularity == "page":
                np.testing.assert_array_equal(own, own[np.arange(len(own)) // page * page])


@given(lengths, st.sampled_from(sorted(ENDS)), st.sampled_from(PARTS), st.integers(1, 5), st.integers(0, 99))
def test_parts_have_scales_of_their_own(texts: list[int], kind: str, part: str, page: int, seed: int) -> None:
    pack = Storage(kind, part).fill(ParameterCase({"page": page}, seed=seed), packed(texts))
    parts = {
        "tensor": 1, "head": HEADS, "sequence": HEADS * sum(n > 0 for n in texts),
        "page": HEADS * sum(-(-n // page) for n in texts), "token": HEADS * sum(texts),
    }  # fmt: skip
    for scales in pack.scales:
        assert len(np.unique(scales)) == (parts[part] if sum(texts) else 0)


@given(lengths, stores, cases, st.sampled_from((None, np.nan, 2.0**40)))
def test_the_scales_of_a_call_are_those_of_the_keys(
    texts: list[int], storage: Storage, case: ParameterCase, unused: float | None
) -> None:
    pack, page = storage.fill(case, packed(texts)), case.sizes["page"]
    places, number = places_of(texts, page)
    found = storage.of_call(case, pack, places, (number, page, HEADS), unused)
    for scales, drawn in zip(found, pack.scales, strict=True):
        for text, at in enumerate(places):
            rows = drawn[pack.rows(text, 1)]
            index = {"sequence": text, "page": at[0], "token": at}.get(storage.granularity, ...)
            of_text = scales[index]
            np.testing.assert_array_equal(np.broadcast_to(of_text, rows.shape), rows)
        if storage.granularity == "token" and unused is not None:
            others = np.ones((number, page), dtype=bool)
            for at in places:
                others[at] = False
            np.testing.assert_array_equal(scales[others], unused)


@pytest.mark.parametrize("kind", sorted(ENDS))
def test_pages_before_a_key_is_written_hold_the_largest_number_or_any(kind: str) -> None:
    storage, case = Storage(kind, "page"), ParameterCase({"page": 4}, seed=3)
    assert np.all(storage.fill_pages(case, (2, 4, HEADS, WIDTH), 0, ends=True) == ENDS[kind][1])
    stale = [storage.fill_pages(case, (2, 4, HEADS, WIDTH), which, ends=False) for which in (0, 1)]
    assert len(np.unique(stale[0])) > 4 and not np.array_equal(*stale)


def test_storage_is_what_is_declared() -> None:
    assert read_storage({}) is None and read_storage({"scales": "token"}) is None
    assert read_storage({"stored": "int8"}) == Storage("int8", "tensor")
    assert read_storage({"stored": "int8", "scales": "page"}) == Storage("int8", "page")
