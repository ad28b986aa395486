"""Attention to keys and values that lie in pages: how a target is called, and how a pack of texts becomes pages.

Queries are (B, n, H, d), the same number of every text; a page holds `page` keys, (pages, page, H_kv, d), and row b of
a block table names the pages of text b in their order.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from attention_core.conformance.budgets.budget import round_to
from attention_core.conformance.subjects.axes import Arrangement, put_heads_in_order
from attention_core.conformance.subjects.evidence import Evidence, Result, Shown, Violation
from attention_core.conformance.subjects.outcomes import check_response
from attention_core.conformance.subjects.packed_case import PackedCase, draw_texts
from attention_core.conformance.subjects.packed_subject import Pack, PackedSubject, Setting, whole
from attention_core.conformance.subjects.parameter_case import ParameterCase
from attention_core.conformance.worker.exchange import NDArray, Request, Response, array
from attention_core.declaration.implementation import TargetError

FILLS = ("stale", "nan", "huge")
"""What lies in unused pages and behind the last key of a text: numbers as any, NaN, or 1e30 (1e3 in float16)."""
GARBAGE = ("zero", "minus one", "valid")
"""What stands in a row of the table behind its text's last page."""


@dataclass(frozen=True)
class Paging:
    """How the keys of a pack lie in pages.

    Args:
        page: keys of a page. order: seed of the pages' numbers. spare: pages that belong to no text.
        fill: of `FILLS`. wider: columns of the table beyond the longest text. garbage: of `GARBAGE`.
        shared: keys of the first text that the second has, too, in the same pages.
    """

    page: int
    order: int = 0
    spare: int = 2
    fill: str = "stale"
    wider: int = 0
    garbage: str = "zero"
    shared: int = 0


@dataclass(frozen=True)
class Pages:
    """What a call is given: pages (N, page, H_kv, d), the table (B, columns) and the lengths of keys (B,)."""

    key: NDArray
    value: NDArray
    table: NDArray
    lengths: NDArray

    def places(self, text: int, start: int, stop: int) -> tuple[NDArray, NDArray]:
        """(page, place in it) of some keys of a text."""
        at = np.arange(start, stop)
        page = self.key.shape[1]
        return self.table[text][at // page], at % page


class PagedSubject(PackedSubject):
    """A function of queries, pages of keys and values, a block table and lengths."""

    usual = ("block_table", "cache_seqlens")

    def check_roles(self) -> None:
        """Raise TargetError where there is no block table, or nothing says how long texts are."""
        for roles, what in (
            (("table",), "a block table (block_table)"),
            (("lengths_k", "lengths"), "lengths (cache_seqlens)"),
        ):
            if not self.roles.keys() & set(roles):
                raise TargetError(f"{self.implementation.name} has no parameter for {what}")

    @property
    def appends(self) -> bool:
        """Whether it takes new keys and values, which it writes into the pages."""
        return {"new_key", "new_value"} <= self.roles.keys()

    @property
    def query_axes(self) -> Arrangement:
        """How queries and outputs lie: (B, n, H, d), or as declared."""
        return Arrangement("bnhd", str(self.parameters.get("query", "bnhd")))

    def adapt_case(self, case: ParameterCase) -> ParameterCase:
        """The case with lengths of texts, all of them with as many queries."""
        if isinstance(case, PackedCase):
            return case
        drawn = {**case.options, "lengths": str(case.options.get("lengths", "any"))}
        rng = case.rng("lengths")
        texts = draw_texts(drawn["lengths"], rng, most=case.sizes.get("most", 12), reach="near" in drawn)
        n = int(rng.integers(1, 4)) if rng.random() < 0.5 and "n" in self.query_axes.own else 1
        keys = [n_kv if drawn["lengths"] == "empty" else max(n_kv, n) for _, n_kv in texts]
        sizes = {k: v for k, v in case.sizes.items() if k != "most"}
        minimum = {k: v for k, v in case.minimum.items() if k != "most"}
        options = {**drawn, "texts": [[n, n_kv] for n_kv in keys], "uniform": True}
        return PackedCase(sizes, minimum, options, case.dtype, case.seed, case.plain)

    # --- pages ------------------------------------------------------------------------------------------

    def pages(self, case: ParameterCase, pack: Pack, paging: Paging) -> Pages:
        """The pages of a pack: numbered at random, the tail of a last page and spare pages filled."""
        lengths = np.array([n_kv for _, n_kv in pack.texts], dtype=np.int64)
        counts = -(-lengths // paging.page)
        shared = paging.shared // paging.page if len(lengths) > 1 else 0
        number = int(counts.sum()) - shared + paging.spare
        rng = np.random.default_rng([case.seed, paging.order])
        free = list(rng.permutation(max(number, 1)))
        table = np.zeros((len(lengths), int(counts.max(initial=0)) + paging.wider), dtype=np.int64)
        for b, count in enumerate(counts):
            own = [free.pop() for _ in range(count - (shared if b == 1 else 0))]
            table[b, :count] = [*table[0, :shared], *own] if b == 1 else own
            self._fill_row(table[b, count:], paging.garbage, max(number, 1), rng)
        shape = (max(number, 1), paging.page, pack.key.shape[1])
        key, value = (
            self._fill_pages(case, (*shape, x.shape[-1]), paging, i) for i, x in enumerate((pack.key, pack.value))
        )  # fmt: skip
        found = Pages(key, value, table, lengths)
        for b, length in enumerate(lengths):
            where = found.places(b, 0, int(length))
            found.key[where], found.value[where] = pack.key[pack.rows(b, 1)], pack.value[pack.rows(b, 1)]
        return found

    @staticmethod
    def _fill_row(row: NDArray, garbage: str, number: int, rng: np.random.Generator) -> None:
        """What stands behind a text's last page."""
        row[:] = {"zero": 0, "minus one": -1}.get(garbage, rng.integers(0, number, size=len(row)))

    def _fill_pages(self, case: ParameterCase, shape: tuple[int, ...], paging: Paging, which: int) -> NDArray:
        """Pages before any key is written."""
        if paging.fill == "stale":
            return case.values(f"stale{which}", *shape)
        huge = 1e3 if case.dtype == "float16" else round_to(np.asarray(1e30), case.dtype).item()
        return np.full(shape, np.nan if paging.fill == "nan" else huge)

    # --- calls ------------------------------------------------------------------------------------------

    def arguments_of_pages(self, case: ParameterCase, pages: Pages, setting: Setting, pack: Pack) -> dict[str, Any]:
        """The arguments behind query and pages, by the target's names."""
        values: dict[str, Any] = {
            "table": whole(pages.table), "lengths": whole(pages.lengths), "lengths_k": whole(pages.lengths),
            "page_size": pages.key.shape[1], "max": int(pages.lengths.max(initial=0)),
            "max_k": int(pages.lengths.max(initial=0)),
        }  # fmt: skip
        return self.by_name({**values, **self.options_of(case, setting, pack)})

    def request_of_pages(
        self, case: ParameterCase, pack: Pack, pages: Pages, setting: Setting,
        new: tuple[NDArray, NDArray] | None = None, views: tuple[str, str] = ("contiguous", "contiguous"),
    ) -> Request:  # fmt: skip
        """The call for some pages, which lie in memory as `views` say; it is to append keys and values `new`.

        Args: new: both (B, m, H_kv, d); views: of the pages of keys and of those of values.
        """
        B = len(pack.texts)
        query = self.own_heads(pack, pack.query)
        query = self.query_axes.to_target(query.reshape(B, -1, *query.shape[1:]))
        pairs = ((query, "contiguous"), *zip(self.pages_to_target(pages), views, strict=True))
        arrays = [array(x, case.dtype, view) for x, view in pairs]
        given = self.arguments_of_pages(case, pages, setting, pack)
        if new is not None:
            names = (self.roles["new_key"], self.roles["new_value"])
            given |= {name: array(x, case.dtype) for name, x in zip(names, new, strict=True)}
        if self.description["parameters"] is None:
            return Request((*arrays, *given.values()), dict(self.implementation.arguments))
        return Request(tuple(arrays), {**given, **self.implementation.arguments})

    def attend(
        self, case: ParameterCase, pack: Pack, setting: Setting, paging: Paging | None = None, **how: Any
    ) -> tuple[Result, Result | None]:
        """(out, lse) of one call, one text behind the other: out (B n, H, d_v), lse (B n, H)."""
        pages = self.pages(case, pack, paging or Paging(self.page_of(case)))
        request = self.request_of_pages(case, pack, pages, setting, **how)
        return self.read_pages(case, request, self.send(request), pack)

    def append(
        self, case: ParameterCase, pack: Pack, pages: Pages, setting: Setting, new: tuple[NDArray, NDArray]
    ) -> tuple[Result, Result, Result]:
        """The output of a call that appends, and the pages of keys and of values that it leaves."""
        request = self.request_of_pages(case, pack, pages, setting, new)
        self.calls += 1
        response = self.runner.run(request)
        written = [name for name in response.mutated if name not in ("1", "2")]
        if written:
            message = f"the call changed its argument {written[0]}, but should write into the pages alone"
            raise Violation(message, Evidence((Shown(request),), kind="mutated"))
        response = check_response(replace(response, mutated=()), request, self.implementation.declines)
        out, _ = self.read_pages(case, request, response, pack)
        after = replace(request, written=("1", "2"))
        left = self.send(after)
        key, value = (
            own.result(left.outputs[i], x.shape, after, ("out", "out1")[i], "pages")
            for i, (own, x) in enumerate(zip(self.pages_axes, (pages.key, pages.value), strict=True))
        )
        return out, key, value

    @property
    def pages_axes(self) -> tuple[Arrangement, Arrangement]:
        """How pages of keys and pages of values lie: (pages, page, H_kv, d), or as declared."""
        usual = str(self.parameters.get("pages", "pshd"))
        return Arrangement("pshd", str(self.parameters.get("key_pages", usual))), Arrangement("pshd", usual)

    def pages_to_target(self, pages: Pages) -> tuple[NDArray, NDArray]:
        """The pages of keys and of values in the target's axes."""
        of_keys, of_values = self.pages_axes
        return of_keys.to_target(pages.key), of_values.to_target(pages.value)

    def read_pages(
        self, case: ParameterCase, request: Request, response: Response, pack: Pack
    ) -> tuple[Result, Result | None]:
        """The results of a call, one text behind the other."""
        B, n = len(pack.texts), len(pack.query) // max(len(pack.texts), 1)
        out, lse = self.read(case, request, response, (B, n, pack.query.shape[1], pack.value.shape[-1]))
        out, *heights = (
            put_heads_in_order(_behind(one, n), 1, self.order(pack)) for one in (out, lse) if one is not None
        )
        return out, heights[0] if heights else None

    @property
    def out_axes(self) -> Arrangement:
        """How the output lies, as the queries do."""
        return self.query_axes

    @property
    def lse_axes(self) -> Arrangement:
        """How the log-sum-exp lies: (B, H, n), or (B, n, H) where that is declared."""
        return Arrangement("bnh", "bnh" if self.parameters.get("lse") == "nh" else "bhn")

    @staticmethod
    def page_of(case: ParameterCase) -> int:
        """Keys of a page."""
        return int(case.sizes.get("page", 4))


def _behind(result: Result, n: int) -> Result:
    """A result (B, n, ...) as one text behind the other, (B n, ...)."""
    place, back = result.place, result.back
    assert place is not None and back is not None
    moved = replace(result, values=result.values.reshape(-1, *result.values.shape[2:]))
    moved.place = lambda at: place((at[0] // n, at[0] % n, *at[1:]))

    def join(at: tuple[int, ...]) -> tuple[int, ...]:
        b, i, *rest = back(at)
        return (b * n + i, *rest)

    moved.back = join
    return moved
