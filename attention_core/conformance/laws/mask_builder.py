"""Laws of mask builders: `f(n_q, n_kv, **params) -> bool (n_q, n_kv) or (B, 1, n_q, n_kv)`, for one declared kind.

Masks are sets: they are compared exactly with the oracle's own builder, never through an attention. A subject holds a
builder with its declared kind: how it is called, how its masks are read, and the set they should be.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from attention_core import oracle
from attention_core.conformance.subjects.evidence import (
    Evidence,
    NotApplicable,
    Result,
    Shown,
    Violation,
    require_close,
    require_same,
)
from attention_core.conformance.subjects.law import Law
from attention_core.conformance.subjects.parameter_case import (
    ParameterCase,
    ParameterSubject,
    Sizes,
    after,
    require_sizes,
)
from attention_core.conformance.worker.exchange import NDArray
from attention_core.declaration.implementation import Implementation, TargetError

KINDS = ("causal", "sliding_window", "prefix", "padding", "segments")
SPELLINGS = {
    "sliding_window": ("W", "window", "window_size", "width", "size"),
    "prefix": ("P", "prefix", "prefix_length", "prefix_len", "n_prefix"),
    "padding": ("lengths", "seq_lens", "seqlens", "key_lengths", "lens"),
    "segments": ("ids", "segment_ids", "segments", "doc_ids", "document_ids"),
}
ALIGNMENTS = ("align", "alignment", "causal")
BOTH = ("top_left", "bottom_right")
PER_SEQUENCE = ("padding", "segments")
"""Kinds whose masks differ from sequence to sequence: (B, 1, n_q, n_kv)."""


def _shape_violation(found: Result, message: str) -> Violation:
    return Violation(message, Evidence((Shown(found.request),), kind="shape"))


class MaskBuilder(ParameterSubject):
    """A mask builder with its declared kind."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.kind = str(self.parameters.get("kind", "")) or self.kind_by_name()
        self.first: list[Result] = []  # the first call of all: what a mask may have been built for
        if self.kind not in KINDS:
            raise TargetError(f"{self.implementation.name}: say which masks it builds: --kind {'|'.join(KINDS)}")

    def kind_by_name(self) -> str:
        """The kind that the names of its parameters tell: that of a third one by a usual name, causal without any."""
        names = self.names()
        kinds = [kind for kind, spellings in SPELLINGS.items() if {*spellings} & {*(names or ())}]
        others = [name for name in names or () if name not in ALIGNMENTS]
        return kinds[0] if len(kinds) == 1 else "causal" if names is not None and len(others) == 2 else ""

    def parameter(self, case: ParameterCase) -> Any:
        """The kind's own parameter for a case: a window, a prefix, lengths or ids; None for causal."""
        batch, n = case["B"], max(case["n_q"], case["n_kv"])
        if self.kind in ("sliding_window", "prefix"):
            return max(case["size"], 1 if self.kind == "sliding_window" else 0)
        rng = case.rng("lengths")
        if self.kind == "padding":
            lengths = rng.integers(0, case["n_kv"] + 1, size=batch)
            if batch > 1 and (lengths == lengths[0]).all():  # equal lengths would hide whose length is whose
                lengths[0] = case["n_kv"] - lengths[0] if 2 * lengths[0] != case["n_kv"] else case["n_kv"]
            return lengths
        if self.kind == "segments":
            if rng.random() < 0.3:  # a document may go on after another one
                return rng.integers(0, 3, size=(batch, n)) * int(rng.choice([1, 256]))  # ids beyond a byte, too
            return np.cumsum(rng.random((batch, n)) < 0.4, axis=1) + rng.integers(0, 3, size=(batch, 1))
        return None

    def arguments(self, case: ParameterCase, parameter: Any) -> tuple[list[Any], dict[str, Any]]:
        """What the target is called with, as it names it."""
        args: list[Any] = [case["n_q"], case["n_kv"]]
        kwargs: dict[str, Any] = {}
        if parameter is not None:
            name = self.find_name(*SPELLINGS[self.kind])
            if name is None:
                args.append(parameter)
            else:
                kwargs[name] = parameter
        align = self.find_name(*ALIGNMENTS)
        if align is not None and self.kind != "padding":
            kwargs[align] = self.alignment(case)
        return args, kwargs

    def alignment(self, case: ParameterCase) -> str:
        """The alignment of a case: the declared one, or either of them where a parameter claims both.

        A parameter with a default of another kind (`align=True`, `align="left"`) speaks another language, and one that
        is called `causal` may be a switch: such builders are called only as declared. Segments are not asked
        for bottom right where some queries stand before the first key: they would have no id.
        """
        declared, name = self.implementation.causal, self.find_name(*ALIGNMENTS[:2])
        if name is None or name in self.implementation.arguments or self.kind == "padding":
            return declared
        (parameter,) = (p for p in self.description["parameters"] if p["name"] == name)
        if parameter["default"] and parameter.get("word") not in BOTH:
            return declared
        other = BOTH[declared == BOTH[0]]
        if self.kind == "segments" and other == "bottom_right" and case["n_q"] > case["n_kv"]:
            return declared
        return other if case.rng("alignment").random() < 0.5 else declared

    def describe_masks(self, case: ParameterCase) -> str:
        """What the masks of a case are called."""
        align = self.alignment(case)
        return f"{self.kind} mask" + (f" aligned {align}" if align != self.implementation.causal else "")

    def build_mask(self, case: ParameterCase, parameter: Any = None, **fields: Any) -> Result:
        """The mask the target builds, True where attending, its form checked."""
        args, kwargs = self.arguments(case, self.parameter(case) if parameter is None else parameter)
        found = self.call(*args, **kwargs, **fields)
        self.first = self.first or [found]
        flat, full = (case["n_q"], case["n_kv"]), (case["B"], 1, case["n_q"], case["n_kv"])
        form = full if self.kind in PER_SEQUENCE else flat
        shapes = (form,) if form == full else (flat, (1, 1, *flat))
        got, dtype = found.values.shape, found.extra["dtype"]
        if got not in shapes:
            raise _shape_violation(found, f"got shape {got}, but should be {form}")
        self.require_kind_of_mask(found, dtype)
        return self.read(found, form)

    def require_kind_of_mask(self, found: Result, dtype: str) -> None:
        """Raise where a mask holds something else than what is declared: bools, 0 and -inf, or 1 and 0."""
        declared = self.implementation.masks
        if declared in ("any", "bool") and dtype != "bool":
            raise _shape_violation(found, f"got dtype {dtype}, but should be bool")
        if declared == "binary" and (dtype == "bool" or not np.isin(found.values, (0.0, 1.0)).all()):
            raise _shape_violation(found, f"got dtype {dtype}, but should be the numbers 1 and 0")
        if declared == "additive":
            lowest = {"float16": -65504.0, "float64": -1.7e308}.get(dtype, -3.3e38)
            right = (found.values == 0) | (found.values <= lowest)
            if dtype == "bool" or not right.all():
                raise _shape_violation(found, f"got dtype {dtype}, but should be 0 and -inf (or the lowest number)")

    def read(self, found: Result, form: tuple[int, ...]) -> Result:
        """The mask in its form, 1 where attending, and how to read it off the target's own."""
        ones = "" if found.values.ndim == len(form) else "0, 0, "
        if self.implementation.masks == "additive":
            found.values = (found.values == 0).astype(np.float64).reshape(form)
            found.expression = lambda *index: f"int({{out}}[{ones}{', '.join(map(str, index))}] == 0)"
            return found
        ignore = self.implementation.mask_true == "ignore"
        found.values = (1.0 - found.values if ignore else found.values).reshape(form)
        sign = "1 - " if ignore else ""
        found.expression = lambda *index: f"{sign}int({{out}}[{ones}{', '.join(map(str, index))}])"
        return found

    def truth(self, case: ParameterCase, parameter: Any = None) -> NDArray:
        """The oracle's mask for a case."""
        parameter = self.parameter(case) if parameter is None else parameter
        sizes, align = (case["n_q"], case["n_kv"]), self.alignment(case)
        if self.kind == "causal":
            return oracle.causal_mask(*sizes, align)
        if self.kind == "padding":
            return oracle.padding(*sizes, parameter)
        if self.kind == "segments" and self.parameters.get("segments_causal"):
            return oracle.segments(*sizes, parameter, align) & oracle.causal_mask(*sizes, align)
        build = {"sliding_window": oracle.sliding_window, "prefix": oracle.prefix, "segments": oracle.segments}
        return build[self.kind](*sizes, parameter, align)


__all__ = ["CONTRACT", "KINDS", "LAWS", "MaskBuilder"]

CONTRACT = "mask-builder"


def mask_is_the_exact_set(subject: MaskBuilder, case: ParameterCase) -> None:
    """The mask is True exactly on the declared set of (query, key) pairs.

    Formula: causal j <= i, sliding window i - W < j <= i, prefix j < P or j <= i, padding j < length, segments of equal
        ids
    Source: attention_core/masking/structured.py, the sets in its docstrings
    Fault: window_one_wider
    """
    require_close(subject.build_mask(case), subject.truth(case).astype(float), 0.0, subject.describe_masks(case))


def rows_count_what_they_may_see(subject: MaskBuilder, case: ParameterCase) -> None:
    """Every row counts as many keys as its set has: W in the interior of a window, i + 1 of a causal mask.

    Formula: sum_j m_ij = |{j : (i, j) allowed}|
    Source: huggingface/transformers#39408 (a window one too wide)
    Fault: window_one_wider
    """
    built = subject.build_mask(case)
    each = built.expression
    assert each is not None
    counted = Result(built.values.sum(-1), built.request)
    keys = range(case["n_kv"])
    counted.expression = lambda *row: f"sum({each(*row, 'j')} for j in {keys})"
    want = subject.truth(case).sum(-1)
    require_close(counted, want, 0.0, f"number of keys in each row of a {subject.describe_masks(case)}")


def mask_alignment_is_as_declared(subject: MaskBuilder, case: ParameterCase) -> None:
    """With n_q != n_kv the diagonal starts where it is declared, or asked by a parameter `align`, to start.

    Formula: the last query of a bottom-right mask sits at the last key, the first of a top-left one at the first
    Source: pytorch/pytorch#103082, Dao-AILab/flash-attention#282
    Fault: causal_aligned_top_left
    """
    if case["n_q"] == case["n_kv"]:
        raise NotApplicable
    if subject.kind == "segments" and subject.alignment(case) == "bottom_right" and case["n_q"] > case["n_kv"]:
        raise NotApplicable  # such queries would have no id
    require_close(
        subject.build_mask(case),
        subject.truth(case).astype(float),
        0.0,
        f"{subject.describe_masks(case)} where n_q != n_kv",
    )


def batch_order_is_kept(subject: MaskBuilder, case: ParameterCase) -> None:
    """Each batch row's mask follows from its own lengths or ids, in their order.

    Formula: m(lengths[perm]) = m(lengths)[perm]
    Source: lucidrains/vit-pytorch#71 (the batch axis broadcast onto heads)
    Fault: lengths_shared_by_the_batch
    """
    if case["B"] < 2:
        raise NotApplicable
    parameter = subject.parameter(case)
    order = np.roll(np.arange(case["B"]), 1)
    first = subject.build_mask(case, parameter)
    each = first.expression
    assert each is not None
    moved = Result(first.values[order], first.request)
    moved.expression = lambda b, *rest: each(order[b], *rest)
    require_same(subject.build_mask(case, parameter[order]), moved, 0.0, "mask for a permuted batch")


def masks_outlive_the_next_call(subject: MaskBuilder, case: ParameterCase) -> None:
    """A mask still holds its entries after one of the same shape, for other lengths or ids, was built.

    Formula: m = f(lengths), f(lengths[perm]), then m = f(lengths)
    Source: the definition of a function
    Fault: masks_share_one_buffer
    """
    parameter = subject.parameter(case)
    args, kwargs = subject.arguments(case, np.roll(parameter, 1, axis=0))
    found = subject.build_mask(case, parameter, between_=subject.request(*args, **kwargs))
    want = subject.truth(case, parameter).astype(float)
    require_close(found, want, 0.0, f"{subject.kind} mask, looked at after another call")


def sizes_may_change_between_calls(subject: MaskBuilder, case: ParameterCase) -> None:
    """A call with other sizes in between leaves no trace: nothing is built once and kept.

    Formula: f(x), f(y), f(x) again all right
    Source: facebookresearch/xformers PR660 (a causal mask sized by the first call)
    Fault: mask_built_once
    """
    other = case.with_(n_q=case["n_q"] + 2, n_kv=case["n_kv"] + 2, size=case["size"] + 1)
    require_sizes(subject.implementation, other)
    earlier = list(subject.first)
    for one in (case, other, case):
        with after(earlier):
            earlier.append(subject.build_mask(one))
            want = subject.truth(one).astype(float)
            require_close(earlier[-1], want, 0.0, f"{subject.describe_masks(one)} after other sizes")


def _fitting(sizes: dict[str, int], rng: np.random.Generator) -> dict[str, int]:
    """n_q <= n_kv half of the time, as many queries as keys sometimes, the window smaller than the sequence mostly."""
    if rng.random() < 0.2:  # lengths beyond a byte, with few queries
        sizes["n_q"], sizes["n_kv"] = int(rng.integers(1, 9)), int(rng.integers(120, 301))
    elif rng.random() < 0.5:
        sizes["n_q"], sizes["n_kv"] = sorted((sizes["n_q"], sizes["n_kv"]))
    if rng.random() < 0.15:  # the plainest use, and the only one that some builders have
        sizes["n_q"] = sizes["n_kv"]
    if rng.random() < 0.7:
        sizes["size"] = int(rng.integers(0, max(sizes["n_kv"], 1)))
    return sizes


def _unequal(sizes: dict[str, int], rng: np.random.Generator) -> dict[str, int]:
    sizes = _fitting(sizes, rng)
    if sizes["n_q"] == sizes["n_kv"]:
        sizes["n_kv"] += 1
    return sizes


def _per_sequence(implementation: Implementation) -> bool:
    return implementation.parameters.get("kind") in PER_SEQUENCE


def _is_aligned(implementation: Implementation) -> bool:
    return implementation.parameters.get("kind") != "padding"


RANGES = {"n_q": (1, 70), "n_kv": (1, 70), "size": (0, 80), "B": (1, 5)}
ANY = Sizes(RANGES, adjust=_fitting)
UNEQUAL = Sizes(RANGES, adjust=_unequal, related=lambda sizes: sizes["n_q"] != sizes["n_kv"])
MANY = Sizes({**RANGES, "B": (2, 5)}, adjust=_fitting)
ROW: dict[str, Any] = {"contract": CONTRACT, "large": 24, "small": 0, "space": ANY}
LAWS = (
    Law(mask_is_the_exact_set, "mask_builder", **ROW, central=True),
    Law(rows_count_what_they_may_see, "mask_builder", **ROW),
    Law(
        mask_alignment_is_as_declared, "mask_builder", **{**ROW, "space": UNEQUAL},
        declares=_is_aligned, because="a padding mask has no diagonal",
    ),
    Law(
        batch_order_is_kept, "mask_builder", **{**ROW, "space": MANY},
        declares=_per_sequence, because="masks of this kind are the same for every sequence",
    ),
    Law(
        masks_outlive_the_next_call, "mask_builder", **{**ROW, "space": MANY},
        declares=_per_sequence, because="masks of this kind are the same for every sequence",
    ),
    Law(sizes_may_change_between_calls, "mask_builder", **ROW),
)  # fmt: skip
COMPARISONS = ("rows_count_what_they_may_see", "mask_alignment_is_as_declared")
