"""ONNX Runtime's operator GroupQueryAttention as a function of its inputs and attributes: called over pages.

The operator takes queries and new keys with heads merged, (B, n, H d), the past (B, H_kv, P, d), and of every text the
number of its keys less one. It gives back the output and the past with what is new. What lies in pages is its past.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np

from attention_core.conformance.worker.planned import parameters_of

INPUTS = ("query", "key", "value", "past_key", "past_value", "seqlens_k", "total_sequence_length")
SIZES = ("num_heads", "kv_num_heads")
PAGED = ("query", "k_cache", "v_cache", "block_table", "cache_seqlens")
NEW = ("k", "v")


def is_grouped_operator(target: Any) -> bool:
    """Whether a function has the inputs of GroupQueryAttention.

    Example:
        >>> def gqa(query, key, value, past_key, past_value, seqlens_k, total_sequence_length): ...
        >>> is_grouped_operator(gqa), is_grouped_operator(len)
        (True, False)
    """
    return inspect.isroutine(target) and set(INPUTS) <= parameters_of(target).keys()


def call_over_pages(target: Any) -> Any:
    """The function of queries (B, n, H, d), pages, a block table and lengths that calls the operator.

    One token of each text is one call. Of several tokens every text is a call of its own, as the operator has a batch
    of them without a past alone.
    """
    named = parameters_of(target)

    def attend(
        query: Any, k_cache: Any, v_cache: Any, block_table: Any, cache_seqlens: Any, k: Any = None, v: Any = None,
        **options: Any,
    ) -> Any:  # fmt: skip
        if k_cache.shape[-1] != v_cache.shape[-1]:
            raise NotImplementedError("keys and values of one size alone")
        if options.get("scale") == 0:
            raise NotImplementedError("the operator's scale of 0 stands for 1/sqrt(d)")
        appends, n = k is not None, query.shape[1]
        places = find_places(block_table, cache_seqlens, k_cache.shape[1], n if appends else 0)
        if any(len(page) < n for page, _ in places):
            raise NotImplementedError("a call brings the keys of its own tokens: no text has fewer")
        out = zeros(query, (*query.shape[:3], v_cache.shape[-1]))
        batches = [range(len(places))] if n == 1 and places else [[b] for b in range(len(places))]
        for texts in batches:
            rows = [places[b] for b in texts]
            pages = [(cache, new) for cache, new in ((k_cache, k), (v_cache, v))]
            news = [take_new(cache, None if x is None else x[list(texts)], rows, n) for cache, x in pages]
            pasts = [take_past(cache, rows, n) for cache in (k_cache, v_cache)]
            found = target(**operands(named, query[list(texts)], news, pasts, rows), **options)
            result, *present = found if isinstance(found, tuple | list) else (found,)
            out[list(texts)] = result.reshape(out[list(texts)].shape)
            if appends:
                write_back((k_cache, v_cache), present, rows, n)
        return out

    both, empty = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.empty
    own = [inspect.Parameter(name, both, default=empty) for name in PAGED]
    own += [inspect.Parameter(name, both, default=None) for name in NEW]
    rest = [p for name, p in named.items() if name not in (*INPUTS, *SIZES)]
    own += [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in rest]
    attend.__signature__ = inspect.Signature(own)  # type: ignore[attr-defined]
    attend.__name__ = attend.__qualname__ = getattr(target, "__name__", type(target).__name__)
    attend.__module__ = getattr(target, "__module__", "")
    attend.operator = "GroupQueryAttention"  # type: ignore[attr-defined]
    return attend


Places = tuple[list[int], list[int]]


def find_places(table: Any, lengths: Any, page: int, more: int) -> list[Places]:
    """Of every text the pages of its keys and the places in them, with so many more than its length."""
    found = []
    for row, length in zip(table.tolist(), lengths.tolist(), strict=True):
        at = range(length + more)
        found.append(([row[i // page] for i in at], [i % page for i in at]))
    return found


def take_new(cache: Any, new: Any, rows: list[Places], n: int) -> Any:
    """The keys or values of n new tokens, (B, n, H_kv d): those given, or the last ones that lie in pages."""
    if new is None:
        page, at = ([x[i][len(x[i]) - n :] for x in rows] for i in (0, 1))
        new = cache[page, at]
    return new.reshape(len(rows), n, -1)


def take_past(cache: Any, rows: list[Places], n: int) -> Any:
    """The keys or values before n new tokens, (B, H_kv, P, d) for the longest of them; what is behind others is 0."""
    most = max(len(page) - n for page, _ in rows)
    past = zeros(cache, (len(rows), most, *cache.shape[2:]))
    for b, (page, at) in enumerate(rows):
        past[b, : len(page) - n] = cache[page[: len(page) - n], at[: len(page) - n]]
    return past.swapaxes(1, 2)


def operands(named: Mapping[str, Any], query: Any, news: list[Any], pasts: list[Any], rows: list[Places]) -> Any:
    """The operator's inputs, and its numbers of heads, by their names."""
    lengths = [len(page) - 1 for page, _ in rows]
    counts = whole_numbers(query, lengths), whole_numbers(query, max(lengths) + 1)
    heads = {"num_heads": query.shape[2], "kv_num_heads": pasts[0].shape[1]}
    merged = query.reshape(*query.shape[:2], -1)
    values = dict(zip(INPUTS, (merged, *news, *pasts, *counts), strict=True))
    return values | {name: size for name, size in heads.items() if name in named}


def zeros(like: Any, shape: tuple[int, ...]) -> Any:
    """Zeros of the library and the dtype of an array."""
    return like.new_zeros(shape) if hasattr(like, "new_zeros") else np.zeros(shape, like.dtype)


def whole_numbers(like: Any, values: Any) -> Any:
    """An int32 array of an array's library."""
    if hasattr(like, "new_tensor"):
        import torch

        return torch.tensor(values, dtype=torch.int32, device=like.device)
    return np.array(values, dtype=np.int32)


def write_back(caches: tuple[Any, Any], present: list[Any], rows: list[Places], n: int) -> None:
    """Write the new tokens of what came back into the pages."""
    for cache, both in zip(caches, present[:2], strict=True):
        for b, (page, at) in enumerate(rows):
            first = len(page) - n
            cache[page[first:], at[first:]] = both[b, :, first : len(page)].swapaxes(0, 1)
