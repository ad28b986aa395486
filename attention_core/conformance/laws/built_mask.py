"""A mask builder with its declared kind: how it is called, how its masks are read, and the set they should be."""

from __future__ import annotations

from typing import Any

import numpy as np

from attention_core import oracle
from attention_core.conformance.subjects.evidence import Evidence, Result, Shown, Violation
from attention_core.conformance.subjects.parameter_case import ParameterCase, ParameterSubject
from attention_core.conformance.worker.exchange import NDArray
from attention_core.declaration.implementation import TargetError

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
        is called `causal` may be a switch: such builders are asked for what is declared alone. Segments are not asked
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
