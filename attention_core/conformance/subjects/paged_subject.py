"""Attention to keys and values that lie in pages: how a target is called, and how a pack of texts becomes pages.

Queries are (B, n, H, d), the same number of every text, or packed, (T_q, H, d), where the target is given where texts
end; a page holds `page` keys, (pages, page, H_kv, d), and row b of a block table names the pages of text b in their
order. A list of all texts' pages with the ends of each (CSR) says the same.
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
from attention_core.conformance.subjects.packed_subject import Pack, PackedSubject, Setting, whole, without_batch
from attention_core.conformance.subjects.page_storage import IN_PAGES, Storage, StoredPages, read_storage
from attention_core.conformance.subjects.parameter_case import ParameterCase
from attention_core.conformance.worker.exchange import NDArray, Request, Response, array
from attention_core.declaration.features import window_kind
from attention_core.declaration.implementation import TargetError

FILLS = ("stale", "nan", "huge")
"""What lies in unused pages and past the last key of a text: numbers as any, NaN, or 1e30 (1e3 in float16)."""
GARBAGE = ("zero", "minus one", "valid")
"""What stands in a row of the table after its text's last page."""


@dataclass(frozen=True)
class Paging:
    """How the keys of a pack lie in pages.

    Args:
        page: keys of a page. order: seed of the pages' numbers. spare: pages that belong to no text.
        fill: of `FILLS`. wider: columns of the table beyond the longest text. garbage: of `GARBAGE`.
        shared: keys of the first text that the second has, too, in the same pages. unshared: how many of these, the
            first ones, it has in pages of its own all the same.
    """

    page: int
    order: int = 0
    spare: int = 2
    fill: str = "stale"
    wider: int = 0
    garbage: str = "zero"
    shared: int = 0
    unshared: int = 0


@dataclass(frozen=True)
class Pages:
    """What a call is given: pages (N, page, H_kv, d), the table (B, columns) and the lengths of keys (B,).

    Where pages hold numbers, `stored` has them, and `key` and `value` are what these stand for.
    """

    key: NDArray
    value: NDArray
    table: NDArray
    lengths: NDArray
    stored: StoredPages | None = None

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
            (("table", "indices"), "a block table (block_table)"),
            (("lengths_k", "lengths", "used_k", "cu_k", "last", "scratch_out"), "lengths (cache_seqlens)"),
        ):
            if not self.roles.keys() & set(roles):
                raise TargetError(f"{self.implementation.name} has no parameter for {what}")
        self._check_storage()
        if "indices" in self.roles and "indptr" not in self.roles:
            raise TargetError(
                f"{self.implementation.name} has no parameter that says where each text's {self.roles['indices']} "
                "begin: name it kv_indptr"
            )

    def _check_storage(self) -> None:
        """Raise TargetError where it takes scales and does not say what of, or declares what it does not take."""
        declared, scale = read_storage(self.parameters), self.roles.get("key_scale", "k_scale")
        if declared is None and "key_scale" in self.mandatory and not scale.endswith("descale"):
            raise TargetError(
                f"{self.implementation.name} has to be given {scale}: declare how pages are stored, --parameter "
                f"stored=int8 (float8_e4m3fn, float8_e5m2), or fix the scales, --arg {scale}=1.0"
            )
        if declared is not None and not {"key_scale", "value_scale"} <= self.roles.keys():
            raise TargetError(
                f"--parameter stored={declared.kind}: {self.implementation.name} has no parameters for the scales of "
                "keys and values: name them k_scale and v_scale"
            )
        if declared is not None and declared.granularity == "block":
            raise TargetError("--parameter scales=block: pages have scales of tensor, head, sequence, page or token")

    @property
    def storage(self) -> Storage | None:
        """How pages are stored; None where they hold keys and values."""
        return read_storage(self.parameters)

    @property
    def appends(self) -> bool:
        """Whether it takes new keys and values, which it writes into the pages."""
        return {"new_key", "new_value"} <= self.roles.keys() and not self.packs_queries and self.storage is None

    @property
    def packs_queries(self) -> bool:
        """Whether queries of all texts lie one after the other: where it has to know where texts end."""
        axes = self.parameters.get("query")
        if self.takes_slots:
            return False
        return axes == "nhd" if axes else bool(self.mandatory & {"cu", "cu_q", "lengths_q"})

    @property
    def window_kind(self) -> str:
        """What a window is given as; that of a wrapper that plans bounds the keys before a query alone."""
        declared = self.implementation.window or ("before_and_later" if self.description.get("planned") else "")
        return window_kind(declared, self.roles.get("window", ""))

    @property
    def query_axes(self) -> Arrangement:
        """How queries and outputs lie: (B, n, H, d), packed (T_q, H, d), or as declared."""
        one = self.takes_slots or self.description.get("planned") == "decode"
        usual = "bhd" if one else "nhd" if self.packs_queries else "bnhd"
        return Arrangement("bnhd", str(self.parameters.get("query", usual)))

    @property
    def takes_slots(self) -> bool:
        """Whether it takes one token of each text and keys one by one, as SGLang's decode_attention_fwd does."""
        return "scratch_out" in self.mandatory and "indices" in self.roles

    def adapt_case(self, case: ParameterCase) -> ParameterCase:
        """The case with lengths of texts, all of them with as many queries, unless they are packed."""
        if self.takes_slots and case.sizes.get("page", 1) > 1:
            case = case.with_(page=1, minimum={**case.minimum, "page": 1})
        if isinstance(case, PackedCase):
            return case
        drawn = {**case.options, "lengths": str(case.options.get("lengths", "any"))}
        rng, empty = case.rng("lengths"), drawn["lengths"] == "empty"
        texts = draw_texts(drawn["lengths"], rng, most=case.sizes.get("most", 12), reach="near" in drawn)
        n = int(rng.integers(1, 4)) if rng.random() < 0.5 and "n" in self.query_axes.own else 1
        counts = [n_q if self.packs_queries else n for n_q, _ in texts]
        pairs = [[n_q, n_kv if empty else max(n_kv, n_q)] for n_q, (_, n_kv) in zip(counts, texts, strict=True)]
        sizes = {k: v for k, v in case.sizes.items() if k != "most"}
        minimum = {k: v for k, v in case.minimum.items() if k != "most"}
        options = {**drawn, "texts": pairs, "uniform": not self.packs_queries}
        if self.storage is not None:  # numbers of a byte do not reach as far
            options |= {name: None for name in ("last", "scores") if name in options and options[name] != "large"}
        return PackedCase(sizes, minimum, options, case.dtype, case.seed, case.plain)

    def pack(self, case: PackedCase, more: int = 0) -> Pack:
        """The arrays of a case, drawn; keys and values are numbers times scales where that is declared."""
        plain, storage = super().pack(case, more), self.storage
        return plain if storage is None else storage.fill(case, plain)

    # --- pages ------------------------------------------------------------------------------------------

    def pages(self, case: ParameterCase, pack: Pack, paging: Paging) -> Pages:
        """The pages of a pack: numbered at random, the tail of a last page and spare pages filled."""
        lengths = np.array([n_kv for _, n_kv in pack.texts], dtype=np.int64)
        counts = -(-lengths // paging.page)
        first, last = (n // paging.page if len(lengths) > 1 else 0 for n in (paging.unshared, paging.shared))
        number = int(counts.sum()) - (last - first) + paging.spare
        rng = np.random.default_rng([case.seed, paging.order])
        free = list(rng.permutation(max(number, 1)))
        table = np.zeros((len(lengths), int(counts.max(initial=0)) + paging.wider), dtype=np.int64)
        for b, count in enumerate(counts):
            own = [free.pop() for _ in range(count - (last - first if b == 1 else 0))]
            table[b, :count] = [*own[:first], *table[0, first:last], *own[first:]] if b == 1 else own
            self._fill_row(table[b, count:], paging.garbage, max(number, 1), rng)
        shape = (max(number, 1), paging.page, pack.key.shape[1])
        key, value = (
            self._fill_pages(case, (*shape, x.shape[-1]), paging, i) for i, x in enumerate((pack.key, pack.value))
        )  # fmt: skip
        found = Pages(key, value, table, lengths)
        places = [found.places(b, 0, int(length)) for b, length in enumerate(lengths)]
        if pack.scales is not None:
            return self._store(case, pack, found, places, paging)
        for b, where in enumerate(places):
            found.key[where], found.value[where] = pack.key[pack.rows(b, 1)], pack.value[pack.rows(b, 1)]
        return found

    def _store(
        self, case: ParameterCase, pack: Pack, pages: Pages, places: list[tuple[NDArray, NDArray]], paging: Paging
    ) -> Pages:
        """Pages of numbers, with their scales; a scale of what is not used may be NaN, numbers of a byte are not."""
        storage = self.storage
        assert storage is not None and pack.scales is not None
        unused = {"nan": np.nan, "huge": 2.0**40}.get(paging.fill)
        scales = storage.of_call(case, pack, places, pages.key.shape[:3], unused)
        numbers = [
            storage.fill_pages(case, x.shape, i, ends=paging.fill != "stale")
            for i, x in enumerate((pages.key, pages.value))
        ]
        for x, own, spread, values in zip(
            numbers, (pages.key, pages.value), pack.scales, (pack.key, pack.value), strict=True
        ):
            own[...] = x
            for b, where in enumerate(places):
                rows = pack.rows(b, 1)
                x[where] = values[rows] / spread[rows][..., None]  # exact: a few bits times those of float32
                own[where] = values[rows]
        return replace(pages, stored=StoredPages(numbers[0], numbers[1], scales))

    @staticmethod
    def _fill_row(row: NDArray, garbage: str, number: int, rng: np.random.Generator) -> None:
        """What stands past a text's last page."""
        row[:] = {"zero": 0, "minus one": -1}.get(garbage, rng.integers(0, number, size=len(row)))

    def _fill_pages(self, case: ParameterCase, shape: tuple[int, ...], paging: Paging, which: int) -> NDArray:
        """Pages before any key is written."""
        if paging.fill == "stale":
            return case.values(f"stale{which}", *shape)
        huge = 1e3 if case.dtype == "float16" else round_to(np.asarray(1e30), case.dtype).item()
        return np.full(shape, np.nan if paging.fill == "nan" else huge)

    # --- calls ------------------------------------------------------------------------------------------

    def arguments_of_pages(self, case: ParameterCase, pages: Pages, setting: Setting, pack: Pack) -> dict[str, Any]:
        """The arguments after query and pages, by the target's names."""
        page, longest = pages.key.shape[1], int(pages.lengths.max(initial=0))
        queries, counts = np.diff(pack.ends(0)), -(-pages.lengths // page)
        values: dict[str, Any] = {
            "table": whole(pages.table), "lengths": whole(pages.lengths), "lengths_k": whole(pages.lengths),
            "used_k": whole(pages.lengths), "page_size": page, "max": longest, "max_k": longest,
            "indptr": whole(np.cumsum([0, *counts])), "last": whole(pages.lengths - (counts - 1) * page),
            "indices": whole(np.concatenate([row[:n] for row, n in zip(pages.table, counts, strict=True)] or [counts])),
        }  # fmt: skip
        if self.packs_queries:
            ends = whole(pack.ends(0))
            values |= {"cu": ends, "cu_q": ends, "lengths_q": whole(queries), "max_q": int(queries.max(initial=0))}
        if not self.roles.keys() & {"lengths_k", "used_k"}:  # a library takes one of them
            values["cu_k"] = whole(pack.ends(1))
        return self.by_name({**values, **self.options_of(case, setting, pack), **self.fillers(case, pack)})

    def shape_of_out(self, pack: Pack) -> tuple[int, ...]:
        """The output's canonical shape, (1, T_q, H, d_v) where queries are packed, else (B, n, H, d_v)."""
        B = 1 if self.packs_queries else len(pack.texts)
        return (B, len(pack.query) // max(B, 1), pack.query.shape[1], pack.value.shape[-1])

    def request_of_pages(
        self, case: ParameterCase, pack: Pack, pages: Pages, setting: Setting,
        new: tuple[NDArray, NDArray] | None = None, views: tuple[str, str] = ("contiguous", "contiguous"),
    ) -> Request:  # fmt: skip
        """The call for some pages, which lie in memory as `views` say; it is to append keys and values `new`.

        Args: new: both (B, m, H_kv, d); views: of the pages of keys and of those of values.
        """
        query = self.own_heads(pack, pack.query)
        query = self.query_axes.to_target(query.reshape(*self.shape_of_out(pack)[:2], *query.shape[1:]))
        kind = case.dtype if self.storage is None else self.storage.kind
        both = zip(self.pages_to_target(pages), views, strict=True)
        arrays = [array(query, case.dtype), *(array(x, kind, view) for x, view in both)]
        given = {**self.arguments_of_pages(case, pages, setting, pack), **self._scales_of(pages)}
        if new is not None:
            names = (self.roles["new_key"], self.roles["new_value"])
            given |= {name: array(x, case.dtype) for name, x in zip(names, new, strict=True)}
        if self.description["parameters"] is None:
            return Request((*arrays, *given.values()), dict(self.implementation.arguments))
        return Request(tuple(arrays), {**given, **self.implementation.arguments}, written=self.output_argument())

    def attend(
        self, case: ParameterCase, pack: Pack, setting: Setting, paging: Paging | None = None, **how: Any
    ) -> tuple[Result, Result | None]:
        """(out, lse) of one call, one text after the other: out (B n, H, d_v), lse (B n, H)."""
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
        usual = str(self.parameters.get("pages", "phd" if self.takes_slots else "pshd"))
        return Arrangement("pshd", str(self.parameters.get("key_pages", usual))), Arrangement("pshd", usual)

    def pages_to_target(self, pages: Pages) -> tuple[NDArray, NDArray]:
        """The pages of keys and of values in the target's axes."""
        of_keys, of_values = self.pages_axes
        own = pages.stored or pages
        return of_keys.to_target(own.key), of_values.to_target(own.value)

    def _scales_of(self, pages: Pages) -> dict[str, Any]:
        """The scales of stored pages by the target's names; those of tokens lie as the pages do, without features."""
        if pages.stored is None or self.storage is None:
            return {}
        found: dict[str, Any] = {}
        for role, axes, scale in zip(("key_scale", "value_scale"), self.pages_axes, pages.stored.scales, strict=True):
            if self.storage.granularity in IN_PAGES:
                own = axes.own.replace("d", "")
                own = own.replace("s", "") if scale.ndim == 2 else own
                scale = Arrangement("ph" if scale.ndim == 2 else "psh", own).to_target(scale)
            default = next(p.get("value") for p in self.description["parameters"] if p["name"] == self.roles[role])
            as_number = scale.ndim == 0 and isinstance(default, float | int)
            found[role] = float(scale) if as_number else array(scale, "float32")
        return self.by_name(found)

    def read_pages(
        self, case: ParameterCase, request: Request, response: Response, pack: Pack
    ) -> tuple[Result, Result | None]:
        """The results of a call, one text after the other."""
        shape = self.shape_of_out(pack)
        found = [one for one in self.read(case, request, response, shape) if one is not None]
        lines = [without_batch(one) if self.packs_queries else _behind(one, shape[1]) for one in found]
        out, *heights = (put_heads_in_order(one, 1, self.order(pack)) for one in lines)
        return out, heights[0] if heights else None

    @property
    def out_axes(self) -> Arrangement:
        """How the output lies, as the queries do."""
        return self.query_axes

    @property
    def lse_axes(self) -> Arrangement:
        """How the log-sum-exp lies: (B, H, n), of packed queries (H, T_q); tokens first where that is declared."""
        own = "nh" if self.parameters.get("lse") == "nh" else "hn"
        return Arrangement("bnh", own if self.packs_queries else f"b{own}")

    @staticmethod
    def page_of(case: ParameterCase) -> int:
        """Keys of a page."""
        return int(case.sizes.get("page", 4))


def _behind(result: Result, n: int) -> Result:
    """A result (B, n, ...) as one text after the other, (B n, ...)."""
    place, back = result.place, result.back
    assert place is not None and back is not None
    moved = replace(result, values=result.values.reshape(-1, *result.values.shape[2:]))
    moved.place = lambda at: place((at[0] // n, at[0] % n, *at[1:]))

    def join(at: tuple[int, ...]) -> tuple[int, ...]:
        b, i, *rest = back(at)
        return (b * n + i, *rest)

    moved.back = join
    return moved
