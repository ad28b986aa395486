"""The first look at a function of the contracts `attention` and `attention-lse`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from attention_core.conformance.cases.case import Case
from attention_core.conformance.first_look.candidates import (
    Changes,
    list_changes,
    of_masks_and_causality,
    of_plain_calls,
    records,
)
from attention_core.conformance.first_look.features import window_convention
from attention_core.conformance.first_look.findings import FirstLook
from attention_core.conformance.first_look.operations import Named, apply_biases, apply_masks, operations
from attention_core.conformance.first_look.probes import ONE_QUERY, SIZES, Asker, iterate_masks, problem
from attention_core.conformance.first_look.ranking import ENOUGH, Comparer, agrees, apply_record
from attention_core.conformance.first_look.restrictions import (
    declined_sizes,
    is_single_inside,
    mask_fill,
    one_batch_axis,
)
from attention_core.conformance.first_look.whole_rows import look_for_heads
from attention_core.conformance.first_look.words import sentences
from attention_core.conformance.subjects.binding import bind
from attention_core.conformance.subjects.evidence import NotApplicable, Refused, Violation, excess
from attention_core.conformance.subjects.outcomes import input_name
from attention_core.conformance.subjects.subject import Forward
from attention_core.conformance.worker.exchange import NDArray
from attention_core.conformance.worker.runner import Runner
from attention_core.declaration.implementation import Implementation, TargetError, Unavailable
from attention_core.oracle import causal_mask

GROUPED = ((2, 4, 5, 7, 4, 4), (2, 4, 5, 5, 4, 4))
"""Problems with 4 query heads, called with 2 key heads: the first whose sizes are declared."""


def look_at_function(
    runner: Runner, implementation: Implementation, description: Mapping[str, Any], seed: int
) -> FirstLook | None:
    """What a few calls find of a function: how it is called, and under which conventions it agrees with the truth.

    Returns: None where the target cannot be called as a function of query, key and value.

    Raises: TargetError.
    """
    if heads := look_for_heads(runner, implementation, description, seed):
        return heads
    bind(implementation, description)  # what is not such a function is refused at once
    look = Look(runner, implementation, description)
    found = look.changes()
    if found is None:
        arrays = other_arrays(implementation, description, look.failures)
        others = [look_with_arrays(array, runner, implementation, description) for array in arrays]
        working = [other for other in others if other is not None]
        if working:
            return next((other for other in working if other.agrees), working[0])
    return look.result(found)


def calls_of(kind: str, record: Implementation, case: Case) -> list[tuple[Case, NDArray]]:
    """Calls of a kind, each with the pairs that are allowed where every row keeps a key."""
    n_q, n_kv = case.sizes[:2]
    if kind == "causal":
        allowed = causal_mask(n_q, n_kv, record.causal)
        return [(case.with_(is_causal=True), allowed)] if allowed.any(axis=-1).all() else []
    if kind == "masks":
        masks = [
            one.mask
            for name, one in iterate_masks(case)
            if name == "bool" and one.mask is not None and one.mask.ndim == 2
        ]
        return [(case.with_(mask=mask), mask) for mask in masks]
    return []


def other_arrays(record: Implementation, description: Mapping[str, Any], failures: list[str]) -> list[str]:
    """The array libraries that a target may want instead, where it takes no call: what its file imports, and NumPy."""
    imported = [name for name in ("numpy", "torch", "jax") if name in (description.get("libraries") or [])]
    return [name for name in dict.fromkeys([*imported, "numpy"]) if name != record.array] if failures else []


def look_with_arrays(
    array: str, runner: Runner, implementation: Implementation, description: Mapping[str, Any]
) -> FirstLook | None:
    """The look with arrays of another library; None where the target takes no call with those either."""
    other: Runner | None = None
    try:
        other = runner.with_array(array)
        look = Look(other, implementation.with_(array=array), description)
        found = look.changes()
        if found is None:
            return None if look.failures else replace(look.result(None), found={"array": array})
        return look.result({"array": array, **found})
    except (TargetError, Unavailable):
        return None
    finally:
        if other is not None:
            other.close()


HALF = frozenset({"float16", "bfloat16"})
DECLINED = "IndexError"
"""What indexing an axis that is not there raises, in code that takes masks of four axes alone."""


SWITCHES: Mapping[str, bool] = {
    "training": True, "is_training": True, "train": True, "deterministic": False, "inference": False,
}  # fmt: skip
"""Parameters of functions that switch dropout on -> by which value."""


def find_switches(record: Implementation, description: Mapping[str, Any]) -> dict[str, bool]:
    """The switches of dropout that a function has, each with the value that is not its default."""
    free = [p for p in description.get("parameters") or () if p["name"] not in record.arguments]
    return {p["name"]: on for p in free if (on := SWITCHES.get(p["name"])) is not None and p.get("value") is not on}


WRONG_LSE = "its output agrees with softmax attention, but its second result is not the log-sum-exp of the scores"


def output_agrees(comparer: Comparer, record: Implementation, case: Case) -> bool | None:
    """Whether the output of a call agrees with the truth, whatever else comes back; None where it is declined."""
    try:
        subject, case = comparer.subject(record), apply_record(record, case)
        found = subject.forward(case, fresh=True)
    except (NotApplicable, Refused):
        return None
    except (TargetError, Violation):
        return False
    return agrees(subject, case, Forward(found.out))


class Look:
    """A first look in progress: the calls made and what they showed."""

    def __init__(self, runner: Runner, implementation: Implementation, description: Mapping[str, Any]) -> None:
        self.record, self.description = implementation, description
        self.asker = Asker(runner, {}, runner.isolated)
        self.comparer = Comparer(self.asker, description)
        self.dtype = implementation.dtypes[0]
        self.unsettled: list[str] = []  # kinds of calls that agree under none of the conventions
        self.of_biases = ""  # what becomes of masks that are added, where they mean something else

    @property
    def failures(self) -> list[str]:
        """What was raised, if every call raised; [] otherwise."""
        answers = list(self.asker.known.values())
        if any(answer.status == "ok" for answer in answers):
            return []
        failures = [answer.failure for answer in answers if answer.failure is not None]
        return [failure.message or f"{failure.types[0]} without a message" for failure in failures]

    def problems(self, dtype: str, purpose: int = 0) -> list[Case]:
        """Plain problems of the sizes that are declared."""
        allows = self.record.sizes or (lambda *sizes: True)
        declared = [s for s in SIZES if allows(*s[2:], s[1], s[1])]
        declared = declared or [s for s in ONE_QUERY if allows(*s[2:], s[1], s[1])]
        return [problem(s, dtype, purpose) for s in declared]

    def changes(self) -> dict[str, Any] | None:
        """What to change in the record so that the target agrees with the truth; None where nothing helps."""
        wide = [dtype for dtype in ("float32", "float64") if dtype in self.record.dtypes]
        plain = self.plain(wide or self.record.dtypes[:1])
        if plain is None and wide and self.failures:  # kernels of a GPU may take nothing wider
            plain = self.plain([dtype for dtype in ("float16", "bfloat16") if dtype in self.record.dtypes])
        if plain is None:
            return None
        found = dict(plain)
        for stage in (
            self.batch_axes,
            self.sizes,
            self.masks_and_causality,
            self.window,
            self.grouping,
            self.weights,
            self.training,
            self.gradients,
            self.dtypes,
            self.dead_rows,
            self.fill,
        ):
            found |= stage(self.record.with_(**found))
        return {name: value for name, value in found.items() if value != getattr(self.record, name)}

    def plain(self, dtypes: Sequence[str]) -> Changes | None:
        """What to change so that plain calls agree, in the first of these dtypes in which they do."""
        for self.dtype in dtypes:
            plain = self.comparer.plain(self.record, of_plain_calls(self.record), self.problems(self.dtype))
            if plain is not None:
                return plain
        return None

    def batch_axes(self, record: Implementation) -> Changes:
        """Whether it takes one batch axis alone."""
        return one_batch_axis(self.comparer, record, self.problems(self.dtype))

    def sizes(self, record: Implementation) -> Changes:
        """Which sizes it takes, where it declines all others."""
        return declined_sizes(self.comparer, record, self.problems(self.dtype))

    def fill(self, record: Implementation) -> Changes:
        """The finite number that it writes over masked scores."""
        if "attn_mask" not in bind(record, self.description).claims or "masks" in self.unsettled:
            return {}
        return next((mask_fill(self.comparer, record, case) for case in self.find_accepted_cases(record)), {})

    def masks_and_causality(self, record: Implementation) -> Changes:
        """How masks and the causal flag are taken, and what rows without a key hold."""
        claims = bind(record, self.description).claims
        added = record.with_(masks="additive") if record.masks == "any" else record
        if "attn_mask" not in claims and "attn_mask" in bind(added, self.description).claims:  # a parameter `bias`
            return {"masks": "additive", **self.masks_and_causality(added)}
        groups: dict[str, list[Case]] = {}
        for case in self.find_accepted_cases(record):
            if "attn_mask" in claims:
                for kind, one in iterate_masks(case):
                    groups.setdefault("dead" if kind == "dead" else "masks", []).append(one)
            if "is_causal" in claims or record.always_causal:  # where every call is causal, the plain ones show it
                more = case.sizes[0] > case.sizes[1]
                groups.setdefault("dead" if more else "causal", []).append(case.with_(is_causal=True))
        free = claims - {"is_causal"} if record.always_causal else claims
        best = self.best_of_masks(record, free, groups)
        best = self.and_without_keys(record, free, groups, best)
        other = record.with_(**best)
        self.unsettled = [name for name, cases in groups.items() if not self.comparer.is_confirmed(other, cases)]
        if "masks" in self.unsettled and DECLINED not in record.declines:  # masks of four axes alone, say
            declining = {"declines": (*record.declines, DECLINED)}
            ways = self.best_of_masks(record.with_(**declining), free, groups)
            other = record.with_(**declining, **ways)
            if all(self.comparer.is_confirmed(other, cases) for cases in groups.values()):
                best, self.unsettled = {**declining, **ways}, []
        if best.get("masks") == "bool" or "masks" in self.unsettled:
            best = self.keep_additive_masks(record, best)
        if len(self.unsettled) > 1:  # what is wrong in every row is wrong in these too
            self.unsettled = [name for name in self.unsettled if name != "dead"]
        return best

    def window(self, record: Implementation) -> Changes:
        """What a window is given as, and its corner where no causal flag has one."""
        claims = bind(record, self.description).claims
        if "window" not in claims:
            return {}
        found = window_convention(self.comparer, record, claims, self.find_accepted_cases(record))
        if found is None:
            self.unsettled.append("window")
        return found or {}

    def keep_additive_masks(self, record: Implementation, best: Changes) -> Changes:
        """The conventions without that of bool masks alone, where a fault is known that added masks meet.

        To leave such masks out would hide the fault.
        """
        kept = {name: value for name, value in best.items() if name != "masks"}
        other = record.with_(**kept)
        calls = [one for case in self.find_accepted_cases(other) for kind, one in iterate_masks(case) if kind == "bias"]
        matching = [self.matching_names(other, case, apply_biases) for case in calls]
        common = [name for name in matching[0] if all(name in names for names in matching)] if matching else []
        if not common:
            return best
        self.of_biases = common[0]
        self.unsettled = [name for name in self.unsettled if name != "masks"]
        return kept

    def and_without_keys(
        self,
        record: Implementation,
        claims: frozenset[str] | set[str],
        groups: Mapping[str, Sequence[Case]],
        best: Changes,
    ) -> Changes:
        """The conventions that hold without any key, too, where these explain no group of calls less than the best."""
        cases = [
            case.with_(key=case.key[..., :0, :], value=case.value[..., :0, :])
            for case in self.find_accepted_cases(record)
        ]
        empty = [case for case in cases[:1] if self.gives(record, case) == "gives"]
        if not empty or self.comparer.is_confirmed(record.with_(**best), empty):
            return best
        other = self.best_of_masks(record, claims, {**groups, "empty": empty})
        named = [name for name, some in groups.items() if self.comparer.is_confirmed(record.with_(**best), some)]
        kept = all(self.comparer.is_confirmed(record.with_(**other), groups[name]) for name in named)
        return other if kept and self.comparer.is_confirmed(record.with_(**other), empty) else best

    def best_of_masks(
        self, record: Implementation, claims: frozenset[str] | set[str], groups: Mapping[str, Sequence[Case]]
    ) -> Changes:
        """The conventions of masks and causality under which most groups of cases agree."""
        return self.comparer.best(record, of_masks_and_causality(record, claims), groups) if groups else {}

    def find_accepted_cases(self, record: Implementation) -> list[Case]:
        """A few plain problems that the target takes, of different relations between n_q and n_kv."""
        taken: dict[int, Case] = {}
        for case in self.problems(self.dtype):
            relation = int(np.sign(case.sizes[0] - case.sizes[1]))
            if relation not in taken and self.comparer.outcome(record, case) == "agrees":
                taken[relation] = case
        return list(taken.values())

    def grouping(self, record: Implementation) -> Changes:
        """Which key head a query head shares, where fewer key heads are taken."""
        declared = [s for s in GROUPED if record.sizes is None or record.sizes(*s[2:], s[1], 2)]
        if record.axes < 4 or not declared:
            return {}
        groups = {"grouped": [problem(declared[0], self.dtype, heads=2)]}
        ways = [{"grouping": "interleaved"}, {"grouping": "modular"}]
        return self.comparer.best(record, list_changes(record, ways), groups)

    def weights(self, record: Implementation) -> Changes:
        """Whether the weights that it returns are those after dropout."""
        if record.returns != "out,weights" or "dropout_p" not in bind(record, self.description).claims:
            return {}
        for case in self.find_accepted_cases(record)[:1]:
            subject, case = self.comparer.subject(record), apply_record(record, case)
            try:
                kept, dropped = (subject.forward(case, dropout=p, seed=1, fresh=True).weights for p in (0.0, 0.5))
            except (NotApplicable, Refused, TargetError, Violation):
                continue
            if kept is not None and dropped is not None and (dropped.values == 0).any() and (kept.values != 0).all():
                return {"dropped_weights": True}
        return {}

    def training(self, record: Implementation) -> Changes:
        """The switch without which a dropout probability has no effect, where it has one of its own that is off."""
        if "dropout_p" not in bind(record, self.description).claims:
            return {}
        switches = find_switches(record, self.description)
        cases = self.find_accepted_cases(record)[:1] if switches else []
        for case, (name, value) in product(cases, switches.items()):
            on = record.with_(arguments={**record.arguments, name: value})
            kept, dropped = (self.has_dropout(one, case) for one in (record, on))
            if kept is False and dropped is True and self.comparer.outcome(on, case) == "agrees":
                return {"arguments": on.arguments}
        return {}

    def has_dropout(self, record: Implementation, case: Case) -> bool | None:
        """Whether a probability of 0.5 changes the output of a call; None where one of the two is not answered."""
        try:
            subject, case = self.comparer.subject(record), apply_record(record, case)
            whole, dropped = (subject.forward(case, dropout=p, seed=1, fresh=True).out.values for p in (0.0, 0.5))
        except (NotApplicable, Refused, TargetError, Violation):
            return None
        return not np.array_equal(whole, dropped, equal_nan=True)

    def gradients(self, record: Implementation) -> Changes:
        """Whether the output carries a gradient where one is declared."""
        cases = self.find_accepted_cases(record)[:1] if record.gradients else []
        for case in cases:
            subject, case = self.comparer.subject(record), apply_record(record, case)
            try:
                request = subject.binding.request(case, wrt=("0", "1", "2"), cotangent=subject.binding.cotangent(case))
            except NotApplicable:
                continue
            answer = self.asker.run(request)
            if answer.status == "ok" and not answer.has_graph:
                return {"gradients": False}
        return {}

    def dtypes(self, record: Implementation) -> Changes:
        """The declared dtypes less those that it does not take: it raises what is not a refusal, gives another dtype,
        or computes float64 in float32. Of a target of half precision alone those that it declines are left out, too.
        """
        if self.dtype in HALF and not HALF.issuperset(record.dtypes):
            kept = [d for d in record.dtypes if any(self.gives(record, p) == "gives" for p in self.problems(d))]
            return {"dtypes": tuple(kept)} if kept else {}
        kept = []
        single = "float64" in record.dtypes and is_single_inside(self.comparer, record, self.problems("float32"))
        for dtype in record.dtypes:
            if dtype == "float64" and single:
                continue
            case = next((p for p in self.problems(dtype) if self.gives(record, p) != "declines"), None)
            if case is None or self.gives(record, case) == "gives":
                kept.append(dtype)
        return {"dtypes": tuple(kept)} if kept and tuple(kept) != record.dtypes else {}

    def dead_rows(self, record: Implementation) -> Changes:
        """Whether rows without a key are a mean of the values in the dtype first tried, but not in every way.

        A score beside the lowest number of its dtype is swallowed, but still gets a gradient; in float16 it is not
        even swallowed.
        """
        if record.dead_rows != "uniform" or "attn_mask" not in bind(record, self.description).claims:
            return {}
        unspecified = record.with_(dead_rows="unspecified")
        for dtype in record.dtypes:
            cases = [
                one for case in self.problems(dtype)[:ENOUGH] for kind, one in iterate_masks(case) if kind == "dead"
            ]
            if record.masks == "any":  # fused kernels fill bool masks with a finite number, and add -inf as it is
                cases += [one.with_(mask=np.where(np.asarray(one.mask), 0.0, -np.inf)) for one in cases]
            mean = self.comparer.is_confirmed(record, cases) and not any(
                self.queries_matter(record, c) for c in cases[:1]
            )
            if not mean and self.comparer.is_confirmed(unspecified, cases):
                return {"dead_rows": "unspecified"}
        return {}

    def queries_matter(self, record: Implementation, case: Case) -> bool:
        """Whether the query of a row without a key gets a gradient."""
        if not record.gradients:
            return False
        subject, case = self.comparer.subject(record), apply_record(record, case)
        try:
            got = subject.backward(case).gradients["query"].values
        except (NotApplicable, Refused, TargetError, Violation):
            return False
        truth = subject.true_gradients(case, case.cotangent())
        bound = subject.gradient_bounds(case, case.cotangent(), truth).query
        assert bound is not None
        return bool((excess(got, truth.query, bound) > 1)[subject.truth(case).dead].any())

    def gives(self, record: Implementation, case: Case) -> str:
        """Whether a plain call "gives" a result of the right form, "declines", or "fails"."""
        try:
            self.comparer.subject(record).forward(apply_record(record, case), fresh=True)
        except (NotApplicable, Refused):
            return "declines"
        except Violation as violation:  # who writes into an input takes its dtype all the same: a fault for the laws
            return "gives" if violation.evidence.kind == "mutated" else "fails"
        except TargetError:
            return "fails"
        return "gives"

    def lse_alone_differs(self) -> bool:
        """Whether outputs agree with the truth, and what comes back beside them is not their log-sum-exp."""
        if self.record.contract != "attention-lse" and self.record.returns != "out,lse":
            return False
        with_lse = self.record.with_(returns="out,lse")
        cases = self.problems(self.dtype)
        ways = [record for _, record in records(with_lse, of_plain_calls(with_lse)) if record.returns == "out,lse"]
        for record in ways:
            found: list[bool | None] = []
            for case in cases:
                found.append(output_agrees(self.comparer, record, case))
                if found[-1] is False:  # no other problem makes up for it
                    break
            if found.count(True) >= ENOUGH and False not in found:
                return True
        return False

    def nearest(self) -> str:
        """The first other operation with whose truth the target agrees on two problems; "" if there is none.

        Float64 tells more apart, and code with a table of float32 is right in float32 alone.
        """
        dtypes = [dtype for dtype in ("float64", "float32") if dtype in self.record.dtypes] if self.asker.known else []
        ways = [way for way in of_plain_calls(self.record) if not {"scale", "always_causal"} & set(way)]
        for dtype, (_, record) in product(dtypes, list(records(self.record, ways))):
            common: list[str] = []
            for number, (case, out) in enumerate(self.outputs(record, dtype)):
                names = self.matching(case, out)
                common = [name for name in common if name in names] if number else names
                if not common:
                    break
            if common:
                return common[0]
        return ""

    @staticmethod
    def matching(case: Case, out: NDArray) -> list[str]:
        """The operations that an output agrees with."""
        return [name for name, result in operations(case) if result.agrees(out)]

    def causes(self, record: Implementation) -> dict[str, str]:
        """Kind of calls that no convention explains -> what agrees with them instead."""
        found = {}
        for kind in self.unsettled:
            calls = [call for case in self.find_accepted_cases(record) for call in calls_of(kind, record, case)]
            matching = [set(self.names_of(record, case, allowed)) for case, allowed in calls]
            common = set.intersection(*matching) if matching else set()
            if common:
                found[kind] = next(name for name in self.names_of(record, *calls[0]) if name in common)
        return found

    def names_of(self, record: Implementation, case: Case, allowed: NDArray) -> list[str]:
        """What agrees with the answer to one call."""
        return self.matching_names(record, case, lambda case: apply_masks(case, allowed))

    def matching_names(self, record: Implementation, case: Case, others: Callable[[Case], Named]) -> list[str]:
        """What agrees with the answer to one call, of what `others` give on it."""
        try:
            out = self.comparer.subject(record).forward(apply_record(record, case), fresh=True).out.values
        except (NotApplicable, Refused, TargetError, Violation):
            return []
        return [name for name, result in others(case.with_(default_scale=record.scale)) if result.agrees(out)]

    def outputs(self, record: Implementation, dtype: str) -> Iterator[tuple[Case, Any]]:
        """Two plain problems that the target takes, each with its output."""
        taken = 0
        for case in self.problems(dtype):
            try:
                found = self.comparer.subject(record).forward(apply_record(record, case), fresh=True)
            except (NotApplicable, Refused, TargetError, Violation):
                continue
            taken += 1
            yield case, found.out.values
            if taken == ENOUGH:
                return

    def result(self, found: dict[str, Any] | None) -> FirstLook:
        """The findings in words."""
        if found is None and self.lse_alone_differs():
            return FirstLook((WRONG_LSE,), {}, False, "", len(self.asker.known))
        nearest = self.nearest() if found is None else ""
        record = self.record if found is None else self.record.with_(**found)
        causes = {} if found is None else self.causes(record)
        unsettled = {kind: causes.get(kind, "") for kind in self.unsettled}
        unsettled |= {"bias": self.of_biases} if self.of_biases else {}
        lines = sentences(record, bind(record, self.description), found, nearest, self.failures, unsettled)
        if self.asker.changed:
            names = ", ".join(map(input_name, sorted(self.asker.changed)))
            lines.append(f"it writes into its inputs ({names}), which should stay as they are")
        return FirstLook(tuple(lines), found or {}, found is not None, nearest, len(self.asker.known))
