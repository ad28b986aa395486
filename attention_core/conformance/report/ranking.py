"""Which refuted laws say most about the cause: those are shown first.

One fault breaks many laws. A law about a cause (a later key seen, a mask dropped, a batch mixed up) is more telling
than the law that compares with the truth, and a call without any option is more telling than one with a mask.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import isfinite, prod
from typing import Any

from attention_core.conformance.report.flaky import DIFFERENT, SAME_CALL
from attention_core.conformance.report.law_result import AS_WRONG_ALONE, Counterexample, LawResult
from attention_core.conformance.subjects.outcomes import CHANGED

SHOWN = 3
"""Counterexamples written out on the terminal; the other outputs hold all."""

PLAIN = (
    "scale_may_move_into_the_query", "weights_are_a_distribution", "permuting_keys_changes_nothing",
    "permuting_queries_permutes_the_output", "output_is_affine_in_the_values", "a_leading_key_is_copied",
    "agrees_with_truth",
)  # fmt: skip
"""Laws about attention without options; where one fails on a plain call, nothing else needs to be read first."""
CAUSES = (
    "the_same_call_twice_agrees", "inputs_stay_as_they_were", "a_slice_alone_equals_itself_in_the_batch",
    "permuting_the_batch_permutes_the_output", "permuting_heads_permutes_the_output",
    "grouped_query_equals_repeated_keys", "no_row_sees_a_later_one", "causal_alignment_is_as_declared",
    "masked_keys_are_invisible", "a_bias_is_added_to_scaled_scores", "a_broadcast_mask_equals_its_expansion",
    "dead_rows_are_as_declared", "an_empty_key_sequence_leaves_dead_rows", "mask_and_causal_mean_both",
    "bool_and_additive_masks_agree", "padding_changes_nothing", "dropout_zero_is_no_dropout",
    "stays_finite",
)  # fmt: skip
"""Laws that name a cause, the plainest cause first."""
FAMILIES = ("causality", "masking", "heads_and_batch", "dropout", "lse", "value", "shapes", "state", "numerics")
"""Then the truth, then by family; gradients after these, since a wrong output makes wrong gradients."""
MIXING = ("heads_and_batch", "state")
"""Families whose laws are broken by a wrong answer of any cause, where nothing is mixed up: these then come last."""
TRUE_GRADIENT = "_gradient_is_true"
"""How the laws end that compare a gradient with the truth."""
OF_SIZES = ("shapes", "large_sizes")
"""Families of laws about sizes."""
LENGTHS = "every_length_around_blocks_has_true_gradients"
"""The law that names the lengths at which gradients go wrong."""
SMALL = 8
"""No block of a kernel is shorter: what fails within it does not depend on lengths."""
CONSEQUENCES = (3, 4)
"""Ranks of what is mostly the consequence of a fault that a law of rank 0 or 1 names."""
TWO_PATHS = "output_is_the_same_with_gradients"
"""Where the output depends on whether gradients are on, any other law tells of one of the two paths alone."""
FIRST = (0, -1 - len(PLAIN))
UNCHANGED, CHANGES = (0, -2 - len(PLAIN)), (3, -1)
"""Ranks of calls that write into an input: the law of that comes first, what other laws met is its consequence."""
READ_ANEW = "arrays_written_into_are_read_anew"
"""The law that names the cause where answers differ because one is kept by where its inputs lie."""
CAUSE_OF_DIFFERENCES = (-2, 0)
"""Its rank where its own case fails by itself, and other laws met that the same call gives different answers."""
REPEATED = "grouped_query_equals_repeated_keys"
"""The law that names the cause where nothing fails without groups of heads."""
GROUPED = "grouped_gradients_are_summed_over_the_group"
SLICE = "a_slice_alone_equals_itself_in_the_batch"
CIRCUMSTANCES = (
    "coinciding_sizes_are_not_confused", "broadcast_keys_are_refused_or_right", "one_problem_needs_no_batch_axis",
    "two_batch_axes_are_a_batch", "one_gradient_alone_is_the_same", "a_slice_alone_has_the_gradients_of_its_batch",
    SLICE,
)  # fmt: skip
"""Laws that ask for what is true in an extra circumstance, as all laws of state and of sharing do."""
CIRCUMSTANTIAL = ("state", "sharing")
LOW_PRECISION = ("bfloat16", "float16")
IN_LOW_PRECISION_ALONE = (4, 9)
"""The rank of a number that is wrong in low precision alone where others are wrong in float32 or float64, too."""
UNDER_A_CIRCUMSTANCE = 6
"""The rank of such a law where the same quantity is wrong without its circumstance, which then is not the cause."""
NOT_ALONE = 7
"""The rank of what was not seen to fail by itself, nor after any earlier call."""
ROUNDING = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}
FEW_ROUNDINGS = 16
"""Numbers so near, as fractions of them, differ by the order of sums, not because batches or heads are mixed up: what
should have been 0 is wrong in both."""
LAST = ("lengths_of_key_and_value_must_agree", "mask_must_not_enlarge_the_result")
"""Laws about calls that are rarely made on purpose come last."""


LISTED = ("refuted", "known_failure", "error", "unexpected_pass", "refused", "held", "not_applicable")
"""Statuses in the order in which lists of laws for people have them: what is wrong, not judged, right, left out."""
SHORT = LISTED.index("error")


def sort_worst_first(results: Sequence[LawResult]) -> list[LawResult]:
    """The results as people read them: what is refuted, the most telling first, what was not judged, then the rest.

    Equals keep their order, and so do the results of a report's JSON.

    >>> held, broken = LawResult("a", "held", 9, 0.1), LawResult("b", "refuted", 9, 0.1)
    >>> [result.law for result in sort_worst_first([held, broken])]
    ['b', 'a']
    """
    others = sorted((r for r in results if r.status != "refuted"), key=place_of)
    return order_results([r for r in results if r.status == "refuted"]) + others


def place_of(result: LawResult) -> int:
    """The place of a result's status in `LISTED`; too few cases count as not judged."""
    known = result.status in LISTED
    return LISTED.index(result.status) if known and result.minimum_met else SHORT


def order_results(results: Sequence[LawResult]) -> list[LawResult]:
    """The results, the most telling first; equals keep their order."""
    ranks = rank_results(results)
    return sorted(results, key=lambda result: ranks[id(result)])


def rank_results(results: Sequence[LawResult]) -> dict[int, tuple[int, int]]:
    """The rank of each result, by its `id`, among these: what a plain law says too is put after it."""
    plain = [result for result in results if not of_circumstance(result)]
    true = [result for result in plain if result.law.endswith(TRUE_GRADIENT)]
    ranks = {id(result): rank(result) for result in results}
    first = [result for result in results if ranks[id(result)][0] == 0]
    if first and all(is_grouped(result) for result in first):  # without groups the plain laws hold
        ranks.update({id(r): FIRST for r in results if r.law == REPEATED and names_its_cause(r)})
    for result in results:
        own = ranks[id(result)]
        if of_circumstance(result) and any(says_the_same(other, result) for other in plain):
            ranks[id(result)] = UNDER_A_CIRCUMSTANCE, own[0]
        if result.law == GROUPED and own[0] == 4 and all(is_grouped(r) for r in true):
            ranks[id(result)] = 4, -1  # without groups the gradients are right
    if any(differs(result) for result in results):
        ranks.update({id(r): CAUSE_OF_DIFFERENCES for r in results if r.law == READ_ANEW and fails_alone(r)})
    numbers = [result for result in results if 0 <= ranks[id(result)][0] <= IN_LOW_PRECISION_ALONE[0]]
    if any(dtype_of(result) not in ("", *LOW_PRECISION) for result in numbers):
        ranks.update({id(r): IN_LOW_PRECISION_ALONE for r in numbers if dtype_of(r) in LOW_PRECISION})
    return ranks


def dtype_of(result: LawResult) -> str:
    """The dtype of a counterexample, which is a low one only where the law holds on its case in wider ones."""
    data: Any = {} if result.counterexample is None else result.counterexample.data
    return str(data.get("dtype", ""))


def differs(result: LawResult) -> bool:
    """Whether the failing call gave another answer when it was made again."""
    return result.counterexample is not None and result.counterexample.event == DIFFERENT


def fails_alone(result: LawResult) -> bool:
    """Whether a counterexample fails where no other call was made before, and gave the same answer again."""
    return result.counterexample is not None and result.counterexample.alone and not differs(result)


def met_a_change(results: Sequence[LawResult]) -> list[LawResult]:
    """The results that a write into an input refuted, the law of that first; [] where a single one met it."""
    changed = [result for result in order_results(results) if result.message.startswith(CHANGED)]
    return changed if len(changed) > 1 else []


def of_circumstance(result: LawResult) -> bool:
    """Whether a law asks for something plain in an extra circumstance."""
    if result.law in CAUSES and result.law != SLICE:
        return False
    return result.law in CIRCUMSTANCES or result.family in CIRCUMSTANTIAL


def says_the_same(plain: LawResult, result: LawResult) -> bool:
    """Whether a plain law found the quantity wrong that another found wrong in its circumstance."""
    if plain.counterexample is not None and plain.counterexample.event:
        return False
    about, wrong = quantity(result), quantity(plain)
    if result.law == SLICE:  # a failure in one slice, without options, shows that batches and heads are not the cause
        return plain.law in PLAIN[:-1] and is_plain(plain) and slices(plain) == 1
    if about == "output":
        return wrong == about and (plain.law in PLAIN or plain.family in ("value", "numerics"))
    one = about.startswith("gradient of one tensor") and wrong.startswith("gradient of ")
    return bool(about) and plain.law.endswith(TRUE_GRADIENT) and (one or wrong == about)


def quantity(result: LawResult) -> str:
    """What a message says is wrong: "output", "gradient of key", ..., or "" where no number came."""
    message = result.message if result.counterexample is None else result.counterexample.message
    if message.startswith("gradient of one tensor"):
        return "gradient of one tensor"
    found = re.match(r"output|gradient of \w+", message)
    return found[0] if found else ""


def data_shapes(result: LawResult) -> list[list[int]]:
    """The shapes of query and key in a counterexample; [] where it has none."""
    data: Any = {} if result.counterexample is None else result.counterexample.data
    return [data[name]["shape"] for name in ("query", "key") if isinstance(data.get(name), dict)]


def slices(result: LawResult) -> int:
    """How many problems a counterexample holds; 0 where that is not known."""
    return max((prod(shape[:-2]) for shape in data_shapes(result)), default=0)


def is_grouped(result: LawResult) -> bool:
    """Whether the query of a counterexample has more heads than its key."""
    shapes = data_shapes(result)
    return len(shapes) == 2 and shapes[0][-3] != shapes[1][-3]


def rank(result: LawResult) -> tuple[int, int]:
    """Smaller is more telling."""
    name, gradient = result.law, "gradient" in result.law or "cotangent" in result.law
    if result.counterexample is not None and not result.counterexample.alone:
        return NOT_ALONE, 0
    if differs(result):
        return -1, 0
    if result.message.startswith(CHANGED):
        return UNCHANGED if name == "inputs_stay_as_they_were" else CHANGES
    if result.message.endswith(AS_WRONG_ALONE):
        return UNDER_A_CIRCUMSTANCE, 0
    if name == TWO_PATHS and result.counterexample is not None and finite(result.counterexample.got):
        return FIRST
    if name in PLAIN and is_plain(result):
        broken = result.counterexample is not None and result.counterexample.got is None  # no number came back at all
        return 0, PLAIN.index(name) - (len(PLAIN) if broken and name == PLAIN[-1] else 0)
    if gradient_is_wrong(result):
        return 4, of_lengths(result)
    if name in CAUSES and names_its_cause(result):
        return 1, CAUSES.index(name)
    if name in CAUSES and result.family in MIXING:
        return 3, len(FAMILIES) + 1
    if name in PLAIN:
        return 2, PLAIN.index(name)
    if result.family == "refusal":
        return 5, LAST.index(name) + 1 if name in LAST else 0
    if gradient or result.family == "gradients":
        return 4, of_lengths(result)
    return 3, FAMILIES.index(result.family) if result.family in FAMILIES else len(FAMILIES)


def gradient_is_wrong(result: LawResult) -> bool:
    """Whether a law of sizes met a wrong gradient, of which laws of gradients say more."""
    return result.family in OF_SIZES and result.message.startswith("gradient of ")


def of_lengths(result: LawResult) -> int:
    """Among gradients: what fails at small lengths, then the law of lengths, then what fails at large ones alone.

    At small lengths the law that compares with the truth comes first, and laws about sizes come last.
    """
    if result.law == LENGTHS:
        return 3
    if longest(result) > SMALL:
        return 4
    return 0 if result.law.endswith(TRUE_GRADIENT) else 2 if result.family in OF_SIZES else 1


def longest(result: LawResult) -> int:
    """The number of queries or keys of a counterexample, whichever is more; 0 where it has none."""
    return max((shape[-2] for shape in data_shapes(result)), default=0)


def names_its_cause(result: LawResult) -> bool:
    """Whether the numbers bear out what the law is about: a mixed-up batch gives other numbers, an overflow none."""
    found = result.counterexample
    numbers = found is None or (finite(found.got) and finite(found.want))
    if result.law == "stays_finite":
        return not numbers
    return (numbers and not nearly_equal(result)) or result.family not in MIXING


def nearly_equal(result: LawResult) -> bool:
    """Whether the two numbers of a counterexample differ by a few roundings of its dtype."""
    found = result.counterexample
    if found is None or found.got is None or found.want is None:
        return False
    near = FEW_ROUNDINGS * ROUNDING.get(dtype_of(result), 0.0) * max(abs(found.got), abs(found.want))
    return abs(found.got - found.want) <= near and found.got != found.want


def finite(x: float | None) -> bool:
    """Whether there is a number, and it is one."""
    return x is not None and isfinite(x)


def without_consequences(results: Sequence[LawResult]) -> list[LawResult]:
    """The results, the most telling first, without what a shown cause explains; all where no cause is shown."""
    if any(differs(r) for r in results):  # laws that compare numbers then say nothing about the cause
        return [r for r in order_results(results) if differs(r) or r.family in CIRCUMSTANTIAL]
    ranks = rank_results(results)
    ordered = [r for r in order_results(results) if ranks[id(r)][0] != UNDER_A_CIRCUMSTANCE]
    if not ordered or ranks[id(ordered[0])][0] > 1:
        return ordered
    # a log-sum-exp is computed beside the output: what is wrong there is another fault as often as not
    return [r for r in ordered if ranks[id(r)][0] not in CONSEQUENCES or r.family == "lse"]


def is_plain(result: LawResult) -> bool:
    """Whether the counterexample is a call without mask and causality."""
    data: Any = {} if result.counterexample is None else result.counterexample.data
    return data.get("mask") is None and not data.get("is_causal")


def choose_counterexamples(results: Sequence[LawResult], explained: Sequence[str] = ()) -> list[Counterexample]:
    """A few counterexamples: one of what is `explained`, the first of every family before the second of any."""
    refuted = order_results([r for r in results if r.status == "refuted" and r.counterexample is not None])
    causes = without_consequences([r for r in results if r.status == "refuted" and r.law not in explained])
    named = [r.law for r in causes]
    # the advice says enough of the others
    chosen = [r for r in refuted if r.law in explained][:1] + [r for r in refuted if r.law in named]
    first = list({r.family: r for r in reversed(chosen)}.values())
    order = [r.counterexample for r in sorted(chosen, key=lambda r: r not in first) if r.counterexample is not None]
    different = {news(found.message): found for found in reversed(order)}
    return [found for found in order if found in different.values()][:SHOWN]


def news(message: str) -> str:
    """A message without its numbers, or what a call raised, so that each is shown once."""
    if message.startswith(SAME_CALL):
        return SAME_CALL
    raised = re.search(r"(?:raised|got) (\w+(?:Error|Exception|Warning)\b.*?)(?:, but should|$)", message)
    return raised[1] if raised else re.sub(r"[\d.]+", "", message)
