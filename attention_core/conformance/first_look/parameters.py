"""The first look at rotations, masks, position tables and biases: under which declared parameters their laws hold.

A candidate is a set of changes of what is declared; the target agrees under it where the contract's own comparison
with the truth holds on a few small cases. The fewest changes come first, and what no call confirms is never proposed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from attention_core.conformance.first_look.findings import FirstLook, option_text
from attention_core.conformance.first_look.probes import Asker
from attention_core.conformance.laws.rotation import Rotary
from attention_core.conformance.subjects.evidence import NotApplicable, Refused, Violation
from attention_core.conformance.subjects.law import Law
from attention_core.conformance.subjects.parameter_case import draw_parameters, restrict_parameters
from attention_core.conformance.worker.exchange import NDArray
from attention_core.conformance.worker.runner import Runner
from attention_core.declaration.implementation import Implementation, TargetError

CASES = 48
"""Cases that a candidate is put to, the first that differs ends it: some of positions on both sides of 0 among them."""
BASES = (10000, 500000, 1000000, 100000, 1000, 100, 50000, 160000, 5000000, 10000000)
"""Bases of rotations and tables that models have."""
WIDE = "d > 2"
"""The case for targets that divide by d - 2, or by d / 2 - 1."""
Choices = Mapping[str, Sequence[Any]]
CHOICES: Mapping[str, Choices] = {
    "rotary": {
        "layout": ("bhnd", "bnhd"), "pairing": ("half", "interleaved"), "base": BASES, "min_position": (None, 0),
        "sizes": (None, WIDE),
    },
    "mask-builder": {
        "causal": ("top_left", "bottom_right"), "masks": ("any", "additive", "binary"),
        "mask_true": ("attend", "ignore"), "segments_causal": (None, True), "sizes": (None, "n_q == n_kv"),
    },
    "position-table": {"base": BASES, "frequencies": ("paper", "inclusive"), "sizes": (None, WIDE)},
    "linear-attention": {"kind": (None, "retention", "kda"), "layout": ("bhnd", "bnhd"), "tokens": (None, "bhnd")},
    "bias": {"slopes": (None, "geometric"), "sizes": (None, "n_q == n_kv", "n_q <= n_kv")},
}  # fmt: skip
"""Contract -> what may differ from what is declared: fields of the record, or parameters of the contract."""
MEANINGS: Mapping[tuple[str, Any], str] = {
    ("layout", "bnhd"): "takes (B, n, H, d)", ("layout", "bhnd"): "takes (B, H, n, d)",
    ("pairing", "interleaved"): "turns features 2c and 2c + 1 together",
    ("pairing", "half"): "turns features c and c + d/2 together",
    ("min_position", 0): "takes no positions below 0",
    ("causal", "bottom_right"): "aligns the last query with the last key",
    ("causal", "top_left"): "aligns the first query with the first key",
    ("masks", "additive"): "gives masks that are added to the scores",
    ("masks", "binary"): "gives masks of the numbers 1 and 0",
    ("mask_true", "ignore"): "hides what is True in its masks",
    ("mask_true", "attend"): "attends to what is True in its masks",
    ("segments_causal", True): "is causal within segments",
    ("frequencies", "inclusive"): "has frequencies from 1 to exactly 1/base",
    ("kind", "retention"): "is retention, whose state fades by 1 - 2^(-5-h) with every token",
    ("kind", "kda"): "is a delta rule whose decays are of features",
    ("tokens", "bhnd"): "takes (B, H, n, d), unlike the library whose parameters it has",
    ("slopes", "geometric"): "has the slopes 2^(-8h/H) at every H",
}  # fmt: skip
"""What is found, in words."""


class FromOne(Rotary):
    """A rotation by position + 1."""

    def truth(self, x: NDArray, positions: NDArray) -> NDArray:
        return super().truth(x, positions + 1)


class Backwards(Rotary):
    """A rotation the other way."""

    def truth(self, x: NDArray, positions: NDArray) -> NDArray:
        return super().truth(x, -positions)


NEAREST: Mapping[str, Sequence[tuple[str, Callable[..., Any]]]] = {
    "rotary": (("a rotation by position + 1", FromOne), ("a rotation the other way", Backwards))
}
"""Contract -> other things that a target may compute, in words and as a subject with their truth."""


@dataclass(frozen=True)
class Trial:
    """A contract's target, tried under changed declarations."""

    asker: Asker
    record: Implementation
    description: Mapping[str, Any]
    seed: int
    subject: Callable[..., Any]
    laws: Sequence[Law]
    all_laws: Sequence[Law]

    def holds(self, record: Implementation, laws: Sequence[Law] = ()) -> bool:
        """Whether some case agrees with the truth (or keeps `laws`) under a record, and none differs."""
        try:
            subject = self.subject(self.asker, record, self.description, self.seed)
        except TargetError:
            return False
        judged = 0
        for case, law in self.cases(subject, laws or self.laws):
            try:
                law.check(subject, case)
                judged += 1
            except (Refused, NotApplicable):
                continue
            except Violation:
                return False
        return judged > 0

    def cases(self, subject: Any, laws: Sequence[Law]) -> Iterator[tuple[Any, Law]]:
        """A few cases of each law, those of all laws in turn."""
        own = [law for law in laws if law.declares is None or law.declares(subject.implementation)]
        spaces = [(law, restrict_parameters(subject, law)) for law in own]
        draws = [(law, space, np.random.default_rng(0)) for law, space in spaces if space is not None]
        for _ in range(max(CASES // max(len(draws), 1), 4)):
            for law, space, rng in draws:
                case = draw_parameters(subject, space, rng)
                if case is not None:
                    yield case, law


def look_at_parameters(
    subject: Callable[..., Any], laws: Sequence[Law], runner: Runner, implementation: Implementation,
    description: Mapping[str, Any], seed: int,
) -> FirstLook:  # fmt: skip
    """Under which declared parameters a target agrees with the truth of its contract, whose laws are given.

    Raises: TargetError.
    """
    asker = Asker(runner, {}, runner.isolated)
    central = [law for law in laws if law.central]
    trial = Trial(asker, implementation, description, seed, subject, central, laws)
    for record, changes in candidates(implementation):
        if trial.holds(record):
            kept = dtypes(trial, record)
            found = {**fields_of(implementation, changes), **({"dtypes": kept} if kept != record.dtypes else {})}
            lines = tuple(sentences(implementation.contract, changes, found))
            unjudged = describe_other_sizes(changes)
            return FirstLook(lines, found, True, "", len(asker.known), unjudged=unjudged)
    for name, other in NEAREST.get(implementation.contract, ()):
        if any(replace(trial, subject=other).holds(record) for record, _ in candidates(implementation)):
            return FirstLook((f"agrees with: {name}",), {}, False, name, len(asker.known))
    lines = (f"agrees with the truth of {implementation.contract} under none of the parameters that were tried",)
    return FirstLook(lines, calls=len(asker.known))


def describe_other_sizes(changes: Mapping[str, Any]) -> str:
    """The remark about sizes that are left out: the target answers them, since a refusal needs no declaration."""
    return f"sizes other than {changes['sizes']}, where it is wrong, are then not judged" if "sizes" in changes else ""


def candidates(implementation: Implementation) -> Iterator[tuple[Implementation, dict[str, Any]]]:
    """The record as it is declared, then under each set of changes, the fewest first; those of sizes come last."""
    choices = CHOICES[implementation.contract]
    kept = {name: get_convention(implementation, name) for name in choices}
    fixed = {"sizes"} if implementation.sizes is not None else set()
    others = {
        name: [value for value in values if value not in (None, kept[name])] if name not in fixed else []
        for name, values in choices.items()
    }
    ways = [dict(zip(choices, way, strict=True)) for way in product(*([kept[n], *others[n]] for n in choices))]
    all_changes = [{name: value for name, value in way.items() if value != kept[name]} for way in ways]
    for changes in sorted(all_changes, key=lambda changes: ("sizes" in changes, len(changes))):
        yield implementation.with_(**fields_of(implementation, changes)), changes


def get_convention(implementation: Implementation, name: str) -> Any:
    """What is declared of a convention, or what holds where nothing is."""
    if name in implementation.__dataclass_fields__:
        return getattr(implementation, name)
    defaults = {"pairing": "half", "base": 10000, "frequencies": "paper"}
    return implementation.parameters.get(name, defaults.get(name))


def fields_of(implementation: Implementation, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Changes as fields of the record; those without a field are parameters of the contract."""
    from attention_core.declaration.sizes import SizeCondition

    own = {k: v for k, v in changes.items() if k in implementation.__dataclass_fields__}
    if isinstance(own.get("sizes"), str):
        own["sizes"] = SizeCondition(own["sizes"])
    others = {k: v for k, v in changes.items() if k not in own}
    return {**own, "parameters": {**implementation.parameters, **others}} if others else own


def dtypes(trial: Trial, record: Implementation) -> tuple[str, ...]:
    """The declared dtypes less float64, where its numbers have the precision of float32 alone."""
    rest = tuple(dtype for dtype in record.dtypes if dtype != "float64")
    if not rest or len(rest) == len(record.dtypes) or trial.holds(record.with_(dtypes=("float64",)), trial.all_laws):
        return record.dtypes
    return rest if trial.holds(record.with_(dtypes=rest), trial.all_laws) else record.dtypes


def sentences(contract: str, changes: Mapping[str, Any], found: Mapping[str, Any]) -> list[str]:
    """One or two plain lines."""
    meanings = [
        f"is right where {value}, and wrong at other sizes"
        if name == "sizes"
        else MEANINGS.get((name, value), f"has {name} {value}")
        for name, value in changes.items()
    ]
    lines = [f"it {', '.join(meanings)}"] if meanings else []
    options = " ".join(option_text(name, value) for name, value in found.items())
    under = f"under {options}, not as it is declared" if found else "as it is declared"
    return [*lines, f"agrees with the truth of {contract} {under}"]
