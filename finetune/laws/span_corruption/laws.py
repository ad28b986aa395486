"""Laws of span corruption: what the assignment's autograder asks of a `CharCorruptionDataset`.

Laws about chance raise a false alarm with probability below 1e-9 a case; the bounds say how.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from attention_core.conformance.laws.process_state import law_of
from attention_core.conformance.subjects.evidence import Evidence, NotApplicable, Shown, Violation, require_close
from attention_core.conformance.subjects.law import Law
from attention_core.conformance.subjects.parameter_case import ParameterCase, Sizes
from finetune.laws.span_corruption.strings import Grader, Item, Parts

CONTRACT = "span-corruption"
SHORTEST = 4
ALARM = 1e-9
LONG_ENOUGH = 32
"""Of a shorter document a quarter leaves little to choose from."""
PAIRS = 193
"""log(1e12) / KL(1/2 || 1/4), rounded up."""
EIGHTHS = 8
SHARE = 3
"""A length or a place counts as possible with a third of the probability that it has where all are equally likely."""


def longest(case: ParameterCase) -> int:
    """The largest allowed length of the cut document."""
    return min(case["n"], case["block"] * 7 // 8)


def a_few(subject: Grader, case: ParameterCase) -> list[tuple[Item, Parts]]:
    """Six items of a case, taken apart."""
    return [(item, subject.parts(item)) for item in subject.items(case, 6)]


def pairs_have_the_declared_length(subject: Grader, case: ParameterCase) -> None:
    """Inputs and targets are as long as declared: one less than the string of block + 1 characters, or block.

    Formula: |x| = |y| = total - 1, total = block + 1, or block where the variant "block" is declared
    Source: the assignment's skeleton, steps 3 and 4; it exists in both forms
    Fault: one_character_short
    """
    want = subject.total(case["block"]) - 1
    for item in subject.items(case, 2):
        for name, result in (("x", item.x), ("y", item.y)):
            got = len(result.values)
            if got != want:
                other = "block" if got == case["block"] - 1 else "block + 1"
                hint = f" (of the other public form? declare --parameter 'variant={other}')"
                hint = hint if got in (case["block"], case["block"] - 1) else ""
                where = "{out}" if name == "x" else "{out}[1]"
                shown = Shown(result.request, result.quantity, (0,), f"{where}.shape[0]")
                raise Violation(
                    f"{name} of a block of {case['block']}: got {got} characters, but should be {want}{hint}",
                    Evidence((shown,), float(got), float(want), 0.0),
                )


def targets_are_inputs_one_place_ahead(subject: Grader, case: ParameterCase) -> None:
    """Targets are the inputs one place ahead: the target of a character is the one after it.

    Formula: y_i = x_(i+1)
    Source: the assignment's skeleton, step 4: input masked_string[:-1], output masked_string[1:]
    Fault: targets_are_the_inputs
    """
    for item in subject.items(case, 3):
        if len(item.x.values) != len(item.y.values):
            raise Violation(
                f"got x of {len(item.x.values)} and y of {len(item.y.values)}, but should be equally long",
                Evidence((Shown(item.x.request),), kind="crash"),
            )
        ahead = item.y
        ahead.values = ahead.values[:-1]
        require_close(ahead, item.x.values[1:], 0.0, "y against x one place ahead")


def strings_have_the_form(subject: Grader, case: ParameterCase) -> None:
    """The string is prefix, mask, suffix, mask, masked characters, then padding alone.

    Formula: s = prefix M suffix M masked (M) PAD ... PAD
    Source: the assignment's skeleton, step 3
    Fault: padded_in_front
    """
    a_few(subject, case)


def the_masked_stretch_is_not_empty(subject: Grader, case: ParameterCase) -> None:
    """Something is masked in every item, in long documents and in short ones.

    Formula: |masked| >= 1
    Source: the assignment's skeleton, step 2; of two public solutions one masks nothing 0.2 % of the time
    Fault: empty_now_and_then
    """
    for item in subject.items(case, 60):
        if not subject.parts(item).masked:
            raise subject.wrong(item, "got an empty masked stretch, but should be at least 1 character", 1, 0, 1)


def documents_come_back(subject: Grader, case: ParameterCase) -> None:
    """Masked characters put back between prefix and suffix give the beginning of the document that was requested.

    Formula: prefix + masked + suffix = document[:T], ids: PAD 0, MASK 1, then the sorted characters
    Source: the assignment's skeleton, steps 0 to 3 and its vocabulary
    Fault: masked_and_suffix_swapped
    """
    document = subject.document(case)
    for item, parts in a_few(subject, case):
        want = document[: parts.length]
        if parts.document != want:
            first = next((n for n, (a, b) in enumerate(zip(parts.document, want, strict=False)) if a != b), len(want))
            got, should = parts.document[first : first + 1], want[first : first + 1]
            raise Violation(
                f"prefix + masked + suffix: got {got or 'nothing'} at {first}, but the document has "
                f"{should or 'nothing'} there",
                Evidence((Shown(item.x.request),), kind="crash"),
            )


def lengths_stay_in_range(subject: Grader, case: ParameterCase) -> None:
    """A document is cut to no less than 4 characters and no more than 7/8 of the block.

    Formula: 4 <= T <= min(n, int(7/8 block))
    Source: the assignment's skeleton, step 1
    Fault: cut_to_the_whole_block
    """
    for item in subject.items(case, 40):
        length, top = subject.parts(item).length, longest(case)
        if not SHORTEST <= length <= top:
            raise subject.wrong(
                item, f"got a document of {length} characters, but should be {SHORTEST} to {top}", 1, length, top
            )


def every_length_is_possible(subject: Grader, case: ParameterCase) -> None:
    """Every length from 4 to 7/8 of the block comes about.

    Formula: k lengths, N = 3 k ln(k / 1e-9) items: one with a third of its equal share is missed by them with
        probability (1 - 1/(3k))^N <= 1e-9 / k
    Source: the assignment's skeleton, step 1: "each length should have some possibility of being chosen"
    Fault: always_as_long_as_possible
    """
    lengths = range(SHORTEST, longest(case) + 1)
    count = math.ceil(SHARE * len(lengths) * math.log(len(lengths) / ALARM))
    items = subject.items(case, count)
    seen = {subject.parts(item).length for item in items}
    missing = [length for length in lengths if length not in seen]
    if missing:
        message = f"lengths of {count} items: {missing[:6]} never occur, but {lengths[0]} to {lengths[-1]} all should"
        raise Violation(message, Evidence((Shown(items[0].x.request),), kind="crash"))


def long_blocks_are_used_to_their_end(subject: Grader, case: ParameterCase) -> None:
    """In a long block documents of every eighth of the lengths from 4 to 7/8 of the block come about.

    Formula: as every_length_is_possible for k = 8 stretches of lengths
    Source: a largest length that is a number of its own, right for the block that it was written for
    Fault: never_beyond_56
    """
    edges = np.linspace(SHORTEST, longest(case) + 1, EIGHTHS + 1)
    items = subject.items(case, math.ceil(SHARE * EIGHTHS * math.log(EIGHTHS / ALARM)))
    lengths = [subject.parts(item).length for item in items]
    counts, _ = np.histogram(lengths, edges)
    if not counts.all():
        first, last = math.ceil(edges[counts.argmin()]), math.ceil(edges[counts.argmin() + 1]) - 1
        message = (
            f"lengths of {len(items)} items: {first} to {last} never occur, but {SHORTEST} to {longest(case)} should"
        )
        raise Violation(message, Evidence((Shown(items[0].x.request),), kind="crash"))


def a_quarter_is_masked(subject: Grader, case: ParameterCase) -> None:
    """A quarter of the cut document is masked on average.

    Formula: |mean(m - T/4)| <= 3/4 + 6.5 s / sqrt(N): rounding down or up moves the mean by at most 3/4, and a mean of
        N draws is off by 6.5 standard errors with probability 8e-11
    Source: the assignment's skeleton, step 2; a public solution masks .282
    Fault: more_than_a_quarter
    """
    count = 3000
    items = subject.items(case, count)
    parts = [subject.parts(item) for item in items]
    off = np.array([len(p.masked) - p.length / 4 for p in parts])
    allowed = 0.75 + 6.5 * float(off.std()) / math.sqrt(count)
    if abs(float(off.mean())) > allowed:
        ratio = sum(len(p.masked) for p in parts) / sum(p.length for p in parts)
        raise Violation(
            f"masked characters of {count} items: got {ratio:.4f} of the text, but should be a quarter (the mean is "
            f"off by {off.mean():.2f} characters, allowed are {allowed:.2f})",
            Evidence((Shown(items[0].x.request),), kind="crash"),
        )


def the_masked_length_varies(subject: Grader, case: ParameterCase) -> None:
    """How much is masked is random: two items of documents cut to one length mostly differ in it.

    Formula: P(m = m' | T = T') <= 1/2 over N pairs; one that draws from four lengths or more (P <= 1/4) exceeds it with
        probability exp(-N KL(1/2 || 1/4)), below 1e-12 from N = 193 on (Chernoff)
    Source: the assignment's skeleton, step 2: the length is to be random
    Fault: always_a_quarter
    """
    count = 1500
    items = subject.items(case, count)
    lengths: dict[int, list[int]] = {}
    for item in items:
        parts = subject.parts(item)
        if parts.length >= LONG_ENOUGH:
            lengths.setdefault(parts.length, []).append(len(parts.masked))
    pairs = [pair for found in lengths.values() for pair in zip(found[::2], found[1::2], strict=False)]
    if len(pairs) < PAIRS:
        raise NotApplicable(f"only {len(pairs)} pairs of {count} items have one length")
    equal = sum(one == other for one, other in pairs)
    if 2 * equal > len(pairs):
        raise Violation(
            f"masked characters: got as many in {equal} of {len(pairs)} pairs of documents cut to one length, but "
            "should be in half of them at most: the length is to be random",
            Evidence((Shown(items[0].x.request),), kind="crash"),
        )


def every_place_is_masked_at_times(subject: Grader, case: ParameterCase) -> None:
    """Every place of the cut document may be masked, its first and its last character among them, short or long.

    Formula: N = 6 k ln(k / 1e-9) items for k places, and first and last of the shorter and of the longer half of the
        cut documents: see every_length_is_possible
    Source: the assignment's skeleton, step 2: [prefix] and [suffix] may be empty
    Fault: first_character_never_masked
    """
    top = longest(case)
    count = math.ceil(2 * SHARE * top * math.log((top + 4) / ALARM))
    items = subject.items(case, count)
    seen: set[int] = set()
    ends: set[str] = set()
    for item in items:
        parts = subject.parts(item)
        start, size = len(parts.prefix), "longer" if 2 * parts.length > SHORTEST + top else "shorter"
        seen |= set(range(start, start + len(parts.masked)))
        ends |= ({f"the first character of a {size} text"} if start == 0 else set()) | (
            {f"the last character of a {size} text"} if not parts.suffix else set()
        )
    wanted = {f"the {end} character of a {size} text" for end in ("first", "last") for size in ("shorter", "longer")}
    missing = [f"place {place}" for place in range(top - 1) if place not in seen] + sorted(wanted - ends)
    if missing:
        message = missing[0]
        raise Violation(
            f"masked places among {count} items: got {message} never, but every place should be masked at times",
            Evidence((Shown(items[0].x.request),), kind="crash"),
        )


ANY = Sizes({"block": (24, 136), "n": (4, 200), "documents": (1, 4)})
TINY = Sizes({"block": (24, 24), "n": (30, 30), "documents": (1, 2)})
WIDE = Sizes({"block": (256, 256), "n": (300, 300), "documents": (1, 1)})
ROW: dict[str, Any] = {"contract": CONTRACT, "family": CONTRACT, "large": 8, "small": 0, "space": ANY}
LAWS = (
    *(
        Law(check, **ROW)
        for check in (
            pairs_have_the_declared_length, targets_are_inputs_one_place_ahead, strings_have_the_form,
            the_masked_stretch_is_not_empty, documents_come_back, lengths_stay_in_range,
        )
    ),
    Law(every_length_is_possible, **{**ROW, "space": TINY, "large": 1}),
    Law(every_place_is_masked_at_times, **{**ROW, "space": TINY, "large": 1}),
    law_of(CONTRACT, ANY),
    Law(long_blocks_are_used_to_their_end, **{**ROW, "space": WIDE, "large": 1}),
    Law(the_masked_length_varies, **{**ROW, "space": WIDE, "large": 1}),
    Law(a_quarter_is_masked, **{**ROW, "space": WIDE, "large": 1}),
)  # fmt: skip
COMPARISONS = ("documents_come_back", "targets_are_inputs_one_place_ahead")
