"""A law: one sentence that every correct implementation of a contract obeys, and the check that can refute it.

Checks stand in the table of the law's family; a law is called as its function, and its sentence, formula, source and
fault stand in the function's docstring, in that order, so that `attention-core laws` and the reader see the same text.

Roles of laws: those that detect faults, and those that say what a fault is once another law has detected one.

The roles are a measurement, kept in docs/data/power_laws.csv and power_faults.csv. On every fault of the catalogue a
diagnosing law refuted what others refuted, too: it was never alone, and never the first at quick or at standard. At
effort "quick" such a law judges the fewest cases that a verdict needs, as long as no law refutes anything; where one
does, it judges all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from attention_core.conformance.cases.space import Space

ANYTHING = Space()
DETECT, DIAGNOSE = "detect", "diagnose"
"""Roles of laws; `roles` says how they were measured."""


@dataclass(frozen=True)
class Law:
    """One law of a contract.

    Args:
        check: `check(subject, case)`; raises `Violation`, `Refused` or `NotApplicable`, else the case is judged. May
            return the number of problems judged (default: all slices of the case).
        family: what it is filed under, mostly the name of its file; `docs/data/when_right.toml` has a text for each.
        contract: which targets it applies to.
        needs: claims ("attn_mask", "is_causal", "scale", "dropout_p", "enable_gqa") that must be made.
        declares: predicate over the implementation; False means the law does not apply (with `because`).
        space: which cases it wants.
        central: whether it is the contract's own comparison with the truth; a target that declines all of its cases
            does not conform.
        compares: whether it holds an output against a truth, or an exactly known answer; a target of which no such law
            judged a case does not conform.
        untested: what a target keeps untested where no case of this law says anything, as a name that `--untested`
            accepts.
        feature: the feature of calls that it holds against the truth; a target that declines all of its cases keeps the
            feature untested, whatever else it answers.
        absent: what a report notes of a target of which no case of this law says anything, or "".
        large, small: cases at effort "quick" from each source; other efforts multiply them.
        near: whether it meets cases near the sizes that are written in a target; comparisons with a truth do anyway.
        role: "detect", or "diagnose" where other laws were measured to refute all that it refutes before it does.
    """

    check: Callable[[Any, Any], int | None]
    family: str
    contract: str = "attention"
    needs: frozenset[str] = frozenset()
    declares: Callable[[Any], bool] | None = None
    because: str = ""
    space: Any = ANYTHING
    central: bool = False
    compares: bool = False
    untested: str = ""
    feature: str = ""
    absent: str = ""
    large: int = 4
    small: int = 12
    role: str = DETECT
    near: bool = False

    def _field(self, label: str) -> str:
        lines = [line.strip() for line in (self.check.__doc__ or "").splitlines()]
        for i, line in enumerate(lines):
            if line.startswith(f"{label}:"):
                rest = [line.removeprefix(f"{label}:").strip()]
                for more in lines[i + 1 :]:
                    if not more or more.split(":")[0] in ("Formula", "Source", "Fault"):
                        break
                    rest.append(more)
                return " ".join(rest)
        return ""

    @property
    def name(self) -> str:
        """What reports and `--law` call it."""
        return self.check.__name__

    @property
    def sentence(self) -> str:
        """The law in one sentence."""
        return (self.check.__doc__ or "").strip().splitlines()[0]

    @property
    def formula(self) -> str:
        return self._field("Formula")

    @property
    def source(self) -> str:
        return self._field("Source")

    @property
    def fault(self) -> str:
        """The fault this law was seen to refute (a fault of attention_core/faults or finetune/faults)."""
        return self._field("Fault")


def with_comparisons(laws: Sequence[Law], *names: str) -> tuple[Law, ...]:
    """The laws, those of these names marked as comparisons with a truth (as the central ones are anyway).

    Raises:
        ValueError: a name that none of them has, or no comparison at all.
    """
    unknown = set(names) - {law.name for law in laws}
    if unknown:
        raise ValueError(f"no law {sorted(unknown)[0]!r} among these")
    if not names and not any(law.central or law.compares for law in laws):
        raise ValueError("no law among these compares an output with a truth")
    return tuple(replace(law, compares=True) if law.central or law.name in names else law for law in laws)


def needs(*claims: str) -> frozenset[str]:
    """Short for `frozenset(claims)` in the tables of laws."""
    return frozenset(claims)


LEAST_REFUTED = 10
"""Faults that a law must have refuted beside others before it counts as diagnosing: fewer say nothing of its use."""
BESIDE_OTHERS = {
    "turning_queries_and_keys_together_changes_nothing": 41,
    "doubled_keys_change_nothing": 47,
    "scale_may_move_into_the_query": 29,
    "output_is_the_same_with_gradients": 15,
    "zero_cotangent_gives_zero": 15,
    "gradient_is_linear_in_the_cotangent": 16,
    "row_cotangent_moves_its_query_alone": 28,
    "masked_pairs_pass_no_gradient": 79,
    "masked_keys_get_no_gradient": 49,
    "masked_keys_leave_gradients_alone": 51,
    "dead_rows_have_finite_gradients": 39,
    "no_row_sees_a_later_one": 46,
    "later_rows_get_no_gradient": 46,
    "later_rows_leave_gradients_alone": 54,
    "causal_alignment_is_as_declared": 116,
    "prefill_equals_step_by_step": 77,
    "a_slice_alone_equals_itself_in_the_batch": 45,
    "a_slice_alone_has_the_gradients_of_its_batch": 32,
    "coinciding_sizes_are_not_confused": 165,
    "grouped_query_equals_repeated_keys": 24,
    "permuting_the_batch_permutes_the_output": 27,
    "permuting_heads_permutes_the_output": 32,
    "permuting_queries_permutes_the_output": 29,
    "permuting_keys_changes_nothing": 35,
    "permuting_keys_permutes_their_gradients": 51,
    "stays_finite": 125,
    "a_common_offset_cancels": 80,
    "a_bias_constant_in_a_row_cancels": 82,
    "zeros_and_subnormals_are_numbers": 123,
    "head_sizes_may_be_odd_and_differ": 191,
    "the_same_call_twice_agrees": 13,
    "the_same_gradients_twice_agree": 22,
    "calls_in_between_leave_no_trace": 155,
    "the_order_of_calls_does_not_matter": 121,
    "earlier_masks_are_forgotten": 125,
    "dropout_zero_is_no_dropout": 81,
}
"""Law of attention -> faults that it refuted at quick, each of them refuted by another law before."""


def with_roles(laws: Iterable[Law]) -> tuple[Law, ...]:
    """The laws, those that were measured to diagnose marked as such.

    Example:
        >>> from attention_core.conformance.laws import laws_of
        >>> {law.name: law.role for law in with_roles(laws_of("attention"))}["doubled_keys_change_nothing"]
        'diagnose'
    """
    return tuple(replace(law, role=DIAGNOSE) if law.name in BESIDE_OTHERS else law for law in laws)


def detectors_first(laws: Iterable[Law]) -> list[Law]:
    """The laws in their order, but those that detect before those that diagnose."""
    return sorted(laws, key=lambda law: law.role == DIAGNOSE)
