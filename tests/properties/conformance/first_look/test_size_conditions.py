"""The sizes that a function takes, as a condition: what is found, and that no more is left out than the function declines."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from attention_core.conformance import Implementation, check_implementation
from attention_core.conformance.engine.session import Session
from attention_core.conformance.first_look.size_conditions import WIDTHS, describe_values
from attention_core.conformance.report.results import Report
from attention_core.declaration.sizes import SizeCondition

Rule = Callable[[int, int, int, int], bool]


def take_only(rule: Rule, asked: list[tuple[int, ...]] | None = None) -> Callable[..., Tensor]:
    """Attention that declines all sizes (n_q, n_kv, d, d_v) but those of a rule."""

    def limited(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        sizes = (query.shape[-2], key.shape[-2], query.shape[-1], value.shape[-1])
        fits = key.shape[-1] == sizes[2] and value.shape[-2] == sizes[1] and key.shape[-3] == query.shape[-3]
        if asked is not None:
            asked.append(sizes)
        if not fits or not rule(*sizes):
            raise ValueError("these sizes are not supported")
        scores = query @ key.transpose(-1, -2) * query.shape[-1] ** -0.5
        return torch.softmax(scores, -1) @ value

    return limited


def find_sizes(rule: Rule, **record: str) -> str:
    with Session(Implementation(take_only(rule), name="f", **record), effort="quick") as session:  # type: ignore[arg-type]
        assert session.first_look is not None and session.first_look.agrees
        condition = session.first_look.found.get("sizes")
    return "" if condition is None else str(condition.text)


ROWS: list[tuple[str, Rule]] = [
    ("d == 64", lambda n_q, n_kv, d, d_v: d == 64),
    ("d == 64 and d_v == 64", lambda n_q, n_kv, d, d_v: d == d_v == 64),
    ("d in (16, 32, 64) and d == d_v", lambda n_q, n_kv, d, d_v: d in (16, 32, 64) and d == d_v),
    ("d % 16 == 0", lambda n_q, n_kv, d, d_v: d % 16 == 0),
    ("n_q == n_kv and d % 8 == 0", lambda n_q, n_kv, d, d_v: n_q == n_kv and d % 8 == 0),
    ("n_q % 8 == 0 and n_q == n_kv", lambda n_q, n_kv, d, d_v: n_q % 8 == 0 and n_q == n_kv),
    ("n_q % 64 == 0 and d in (32, 64, 128)", lambda n_q, n_kv, d, d_v: n_q % 64 == 0 and d in (32, 64, 128)),
    ("n_q % 16 == 0 and n_kv % 16 == 0", lambda n_q, n_kv, d, d_v: n_q % 16 == n_kv % 16 == 0),
    ("n_q % 16 == 0 and n_q == n_kv", lambda n_q, n_kv, d, d_v: n_q % 16 == 0 and n_q == n_kv),
    ("n_q == n_kv", lambda n_q, n_kv, d, d_v: n_q == n_kv),
    (
        "n_q % 16 == 0 and n_kv % 16 == 0 and n_q <= n_kv",
        lambda n_q, n_kv, d, d_v: n_q % 16 == n_kv % 16 == 0 and n_q <= n_kv,
    ),
    ("n_q % 16 == 0 and n_q >= n_kv", lambda n_q, n_kv, d, d_v: n_q % 16 == 0 and n_q >= n_kv),
    ("n_q == 64 and n_kv == 64", lambda n_q, n_kv, d, d_v: n_q == n_kv == 64),
]


@pytest.mark.parametrize(("condition", "rule"), ROWS, ids=[text for text, _ in ROWS])
def test_the_condition_that_a_target_has_is_found(condition: str, rule: Rule) -> None:
    assert find_sizes(rule) == condition


@pytest.mark.parametrize("condition", [text for text, _ in ROWS])
def test_conditions_are_understood(condition: str) -> None:
    assert SizeCondition(condition)(64, 64, 64, 64, 2, 2)


def test_a_target_that_takes_other_lengths_is_not_asked_for_more() -> None:
    """Where only some sizes are declined, the verdict says so; the laws meet the others."""
    asked: list[tuple[int, ...]] = []
    limited = take_only(lambda n_q, n_kv, d, d_v: d % 4 == 0, asked)
    with Session(Implementation(limited, name="f"), effort="quick") as session:
        assert session.first_look is not None and not session.first_look.found
    assert not {(n, n, d, d) for n in (24, 96) for d in WIDTHS} & set(asked)


def test_compiled_targets_are_asked_few_sizes() -> None:
    assert find_sizes(lambda n_q, n_kv, d, d_v: n_q == n_kv, shapes="pool") == "n_q == n_kv"
    assert find_sizes(lambda n_q, n_kv, d, d_v: d == 64, shapes="pool") == ""


def judge(rule: Rule, wrong: bool = False) -> Report:
    limited = take_only(rule)

    def last_block_lost(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        limited(query, key, value)
        kept = key.shape[-2] - 64 * (key.shape[-2] > 128)
        return limited(query, key[..., :kept, :], value[..., :kept, :])

    function = last_block_lost if wrong else limited
    return check_implementation(Implementation(function, name="f", dtypes=("float32",)), effort="quick")


def of_blocks(n_q: int, n_kv: int, d: int, d_v: int) -> bool:
    return n_q % 64 == n_kv % 64 == 0 and d in (32, 64)


@pytest.mark.thorough
@pytest.mark.usefixtures("unshrunk", "fewest_cases")
def test_a_kernel_of_whole_blocks_conforms_on_whole_blocks() -> None:
    """Its sizes are found, and cases of these are drawn."""
    found = judge(of_blocks).under_found
    assert found is not None and found.verdict == "conforms", found


@pytest.mark.thorough
@pytest.mark.usefixtures("unshrunk", "fewest_cases")
def test_what_is_wrong_on_whole_blocks_alone_is_refuted_there() -> None:
    found = judge(of_blocks, wrong=True).under_found
    assert found is not None and found.verdict == "refuted", found


def test_the_simplest_condition_comes_first() -> None:
    asked = [1, 2, 4, 5, 8, 16, 24, 32, 48, 64]
    assert describe_values("d", [1, 2, 4, 5, 8, 16], asked) == ["d <= 16"]
    assert describe_values("d", [8, 16, 24, 32], asked) == ["d % 8 == 0 and d <= 32"]
    assert describe_values("d", [5, 8, 16, 24, 32, 48, 64], asked) == ["d >= 5"]
    assert describe_values("d", [8, 32], asked) == ["d in (8, 32)"]
