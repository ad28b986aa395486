"""Advice.

Advice on conventions: a function that is right under other conventions is told which; a wrong one is told nothing.
The functions are built from the reference by turning one convention; only the laws that notice are run.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor

from attention_core.conformance import Implementation, check_implementation
from attention_core.conformance.engine.advice import advise_on_result, fails_without_keys
from attention_core.conformance.engine.session import Session
from attention_core.conformance.first_look.candidates import of_masks_and_causality, of_plain_calls
from attention_core.conformance.report.law_result import LawResult
from attention_core.declaration.implementation import CHOICES, CLAIMS
from attention_core.faults.bases import reference
from attention_core.faults.bases.reference import build, correct

LAWS = (
    "agrees_with_truth",
    "dead_rows_are_as_declared",
    "causal_alignment_is_as_declared",
    "dead_rows_have_finite_gradients",
)

pytestmark = pytest.mark.usefixtures("unshrunk", "fewest_cases")


def bottom_right(n_q: int, n_kv: int) -> Tensor:
    return torch.ones(n_q, n_kv, dtype=torch.bool).tril(n_kv - n_q)


def nan_rows(s: Tensor) -> Tensor:
    return torch.softmax(s, -1)


def nan_gradients(s: Tensor) -> Tensor:
    """Zeros in dead rows, but through a `where` whose other branch is NaN: a fault, not a convention."""
    return torch.where((s == -math.inf).all(-1, keepdim=True), 0.0, torch.softmax(s, -1))


def ignoring(s: Tensor, mask: Tensor | None, causal: Tensor | None) -> Tensor:
    return reference.bias(s, ~mask if mask is not None and mask.dtype == torch.bool else mask, causal)


def heads_third(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False
) -> Tensor:
    moved = (x.transpose(-3, -2) for x in (query, key, value))
    out: Tensor = correct(*moved, attn_mask, is_causal=is_causal)
    return out.transpose(-3, -2)


def advice(function: Any, laws: tuple[str, ...] = LAWS) -> str:
    record = Implementation(function, name="f", dtypes=("float32",))
    report = check_implementation(record, "quick", laws=laws)
    assert report.verdict in ("refuted", "error")
    return " ".join(report.advice)


EXPLAINED = [
    (build(weights=nan_rows), "refuted as dead_rows=zeros; consistent with --dead-rows nan"),
    (build(causal_allowed=bottom_right), "refuted as causal=top_left; consistent with --causal bottom_right"),
    (
        build(causal_allowed=bottom_right, weights=nan_rows),
        "refuted as causal=top_left, dead_rows=zeros; consistent with --causal bottom_right --dead-rows nan",
    ),
    (build(bias=ignoring), "refuted as mask_true=attend; consistent with --mask-true ignore"),
    (heads_third, "refuted as layout=bhnd; consistent with --layout bnhd"),
    (
        lambda query, key, value: (correct(query, key, value), torch.softmax(reference.scores(query, key, None), -1)),
        "not judged as returns=out; consistent with --returns out,weights",
    ),
]


@pytest.mark.parametrize(
    ("function", "expected"), EXPLAINED, ids=lambda x: x.partition("; ")[2] if isinstance(x, str) else ""
)
def test_other_conventions_are_found(function: Any, expected: str) -> None:
    assert advice(function) == expected


def test_what_a_convention_leaves_unexplained_is_named() -> None:
    found = advice(build(causal_allowed=bottom_right, weights=nan_gradients))
    assert found == (
        "refuted as causal=top_left; consistent with --causal bottom_right, "
        "except for 1 refuted law: dead_rows_have_finite_gradients"
    )


WRONG = [
    build(scores=lambda q, k, scale: 1.25 * reference.scores(q, k, scale)),
    build(weights=nan_gradients),  # nan rows would explain the gradients, but not the zeros
]


@pytest.mark.parametrize("function", WRONG)
def test_a_wrong_function_gets_no_advice(function: Any) -> None:
    assert advice(function) == ""


def test_a_function_that_raises_under_other_conventions_gets_its_verdict() -> None:
    def strict(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        if query.shape[-3] > query.shape[-2] or query.shape[-3] != key.shape[-3]:
            raise ValueError("more heads than rows")
        return 2 * correct(query, key, value)  # type: ignore[no-any-return]

    assert advice(strict, ("agrees_with_truth",)) == ""


def test_nan_in_dead_rows_beside_another_fault_is_pointed_out() -> None:
    shifted = build(causal_allowed=lambda n_q, n_kv: torch.ones(n_q, n_kv, dtype=torch.bool).tril(1), weights=nan_rows)
    assert advice(shifted) == (
        "rows without any key give NaN: if that is meant, declare --dead-rows nan (in Python dead_rows='nan')"
    )


def test_candidates_are_other_conventions_the_nearest_first() -> None:
    record = Implementation(len)
    for every in (of_plain_calls(record), of_masks_and_causality(record, CLAIMS)):
        assert every[0] == {} and every.count({}) == 1
        assert all(value in CHOICES.get(name, (value,)) for one in every for name, value in one.items())
        assert not any("unspecified" in one.values() for one in every)
        changes = [len(one) for one in every]
        assert changes == sorted(changes)


def of_one_kind(kind: type) -> Any:
    """The reference, which takes masks that are bool, or that are not."""

    def attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None) -> Tensor:
        if attn_mask is not None and (attn_mask.dtype == torch.bool) != (kind is bool):
            raise ValueError("not such a mask")
        return correct(query, key, value, attn_mask)

    return attention


@pytest.mark.parametrize(("kind", "advised"), [(bool, "--masks bool"), (float, "--masks additive")])
def test_masks_of_one_kind_that_are_all_refused_are_told_with_their_option(kind: type, advised: str) -> None:
    names = ("bool_and_additive_masks_agree", "a_bias_is_added_to_scaled_scores", "masked_keys_are_invisible")
    for function, told in ((of_one_kind(kind), [advised]), (correct, [])):
        with Session(Implementation(function, name="f", dtypes=("float32",)), effort="quick", looks=False) as session:
            results = [session.run(law) for law in session.laws if law.name in names]
            advice = session.report(results, complete=False).advice
        assert [option for option in (advised,) if any(option in line for line in advice)] == told, advice


def largest_first(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    scores = query @ key.mT * query.shape[-1] ** -0.5
    powers = torch.exp(scores - scores.amax(-1, keepdim=True))  # an IndexError where there is no key
    return powers @ value / powers.sum(-1, keepdim=True)


EMPTY = ("an_empty_key_sequence_leaves_dead_rows",)


def test_an_exception_without_keys_alone_is_declared_by_sizes() -> None:
    report = check_implementation(Implementation(largest_first), effort="quick", seed=0, laws=EMPTY)
    assert report.verdict == "refuted"
    assert report.advice == [
        "it raises an error only where there is no key: if that is meant, declare --sizes 'n_kv >= 1'"
    ]


@pytest.mark.thorough(keep=("beside",))
@pytest.mark.parametrize(
    ("scale", "laws"), [(1.0, (*EMPTY, "agrees_with_truth")), (1.0, ("agrees_with_truth",))], ids=["beside", "other"]
)
def test_a_fault_with_keys_is_not_declared_away(scale: float, laws: tuple[str, ...]) -> None:
    def wrong(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        return largest_first(query, key, value) + scale

    report = check_implementation(Implementation(wrong), effort="quick", seed=0, laws=laws)
    assert report.verdict == "refuted"
    assert not any("--sizes" in line for line in report.advice)


def test_an_exception_that_another_law_met_is_not_declared_away() -> None:
    raised = "a valid call raised IndexError: amax()"
    alone = [LawResult(EMPTY[0], "refuted", 1, 0.1, message=raised)]
    beside = [*alone, LawResult("stays_finite", "refuted", 1, 0.1, message=raised)]
    record = Implementation(largest_first)
    assert fails_without_keys(record, alone)
    assert not fails_without_keys(record, beside)
    assert not fails_without_keys(record, beside[1:])


@dataclass
class Output:
    attentions: Tensor | None
    hidden: Tensor


class Sometimes:
    """The reference, which hands out a dict in some of its calls."""

    def __init__(self, wrapped: Callable[[int], bool]) -> None:
        self.wrapped, self.calls = wrapped, 0

    def __call__(self, query: Tensor, key: Tensor, value: Tensor) -> Any:
        self.calls += 1
        out = correct(query, key, value)
        return {"out": out} if self.wrapped(self.calls) else out


def in_a_dict(query: Tensor, key: Tensor, value: Tensor) -> Any:
    return {"weights": None, "out": correct(query, key, value)}


def in_fields(query: Tensor, key: Tensor, value: Tensor) -> Any:
    return Output(None, correct(query, key, value))


ADAPTERS = [
    (
        in_a_dict, "dict with the keys 'weights' (NoneType), 'out' (Tensor)",
        "functools.wraps(in_a_dict)(lambda *args, **kwargs: in_a_dict(*args, **kwargs)['out'])",
    ),
    (
        in_fields, "Output with the fields 'attentions' (NoneType), 'hidden' (Tensor)",
        "functools.wraps(in_fields)(lambda *args, **kwargs: in_fields(*args, **kwargs).hidden)",
    ),
]  # fmt: skip


@pytest.mark.thorough(keep=("in_fields",))
@pytest.mark.parametrize(("function", "kind", "adapter"), ADAPTERS, ids=["in_a_dict", "in_fields"])
def test_an_array_in_a_container_is_an_error_whose_adapter_conforms(function: Any, kind: str, adapter: str) -> None:
    report = check_implementation(Implementation(function, name="f.py:" + function.__name__), "quick", laws=LAWS[:1])
    assert (report.verdict, report.counterexamples) == ("error", [])
    assert f"got {kind}; name an adapter: attention = {adapter}" in report.problem
    adapted = eval(adapter, {"functools": functools, function.__name__: function})
    assert check_implementation(Implementation(adapted), "quick", laws=LAWS[:1]).laws[0].status == "held"


@pytest.mark.parametrize("wrapped", [lambda n: n > 3, lambda n: n % 2 == 0, lambda n: n == 2])
def test_what_gives_arrays_in_some_calls_alone_is_refuted(wrapped: Callable[[int], bool]) -> None:
    report = check_implementation(Implementation(Sometimes(wrapped)), "quick", laws=LAWS[:1])
    assert report.verdict == "refuted", report
    assert "got dict with the keys 'out' (Tensor)" in report.counterexamples[0].message


def test_a_part_of_another_contract_that_gives_a_dict_is_an_error() -> None:
    def table(n: int, d: int) -> Any:
        return {"table": torch.zeros(n, d)}

    report = check_implementation(Implementation(table, contract="position-table"), "quick")
    assert (report.verdict, report.counterexamples) == ("error", [])
    assert "no call gave an array: expected a torch.Tensor, got dict with the keys 'table' (Tensor)" in report.problem


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("NoneType", "let it return its output"),
        ("generator", "no yield, no async"),
        ("ndarray", "name the library that it takes with --array"),
        ("str", "let it return its output alone, as an array of torch"),
    ],
)
def test_what_comes_back_has_its_advice(kind: str, words: str) -> None:
    assert words in advise_on_result(f"expected a torch.Tensor, got {kind}", Implementation(correct), {})
