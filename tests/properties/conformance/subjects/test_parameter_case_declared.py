"""Laws that make further calls, or set lengths themselves, keep to the sizes that are declared."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import pytest
from torch import Tensor

from attention_core.conformance import Implementation
from attention_core.conformance.engine.session import Session, select_laws
from attention_core.conformance.subjects.parameter_case import UNDECLARED_SIZES, ParameterCase, find_nearest_sizes
from attention_core.declaration.sizes import SizeCondition
from attention_core.faults import (
    bias,
    latent_attention,
    linear_attention,
    merge,
    multi_head,
    position_table,
    quantised,
    rotary,
    split_merge_heads,
    varlen,
)

Row = tuple[str, str, Any, str, Callable[..., bool]]


def causal(n_q: int, n_kv: int) -> Tensor:
    import torch

    return torch.ones(n_q, n_kv, dtype=torch.bool).tril()


class EightTokens(multi_head.MultiHead):
    def forward(self, query: Tensor, *rest: Any, **options: Any) -> Any:
        if query.shape[1] < 4:
            raise KeyError("beyond what is declared")
        return super().forward(query, *rest, **options)


AROUND, LINEAR, OUTS = "lengths_around_blocks_agree", "linear-attention", "results_are_the_callers_own"
ROWS: list[Row] = [
    (LINEAR, AROUND, linear_attention.build("linear"), "n <= 40", lambda q, *_: q.shape[2] <= 40),
    (LINEAR, AROUND, linear_attention.build("linear"), "n <= 9", lambda q, *_: q.shape[2] <= 9),
    (
        LINEAR, "parts_that_carry_the_state_equal_the_whole", linear_attention.build("linear"), "n % 4 == 0",
        lambda q, *_: q.shape[2] % 4 == 0,
    ),
    (
        "quantised", "lengths_around_blocks_have_their_scales", quantised.build(), "n_kv <= 40",
        lambda q, k, *_: k.shape[2] <= 40,
    ),
    (
        "mla", "latents_at_the_edge_of_a_block_are_read", latent_attention.build(), "n_kv <= 40",
        lambda q, r, c, *_: c.shape[1] <= 40,
    ),
    ("bias", "last_row_serves_decoding", bias.correct, "n_q == 1", lambda H, n_q, n_kv: n_q == 1),
    ("bias", OUTS, bias.correct, "n_q > 3", lambda H, n_q, n_kv: n_q > 3),
    (
        "mask-builder", "sizes_may_change_between_calls", causal, "n_q <= 20 and n_kv <= 20",
        lambda n_q, n_kv: max(n_q, n_kv) <= 20,
    ),
    (
        "position-table", "a_table_is_a_prefix_of_a_longer_one", position_table.correct, "n <= 20",
        lambda n, d: n <= 20,
    ),
    ("rotary", "position_zero_changes_nothing", rotary.correct, "n > 1", lambda x, positions: x.shape[2] > 1),
    (
        "varlen", "a_text_alone_is_the_text_in_the_pack", varlen.a_loop_over_texts, "B > 1",
        lambda q, k, v, cu, *_: len(cu) > 2,
    ),
]  # fmt: skip


def run(contract: str, law: str, function: Any, sizes: str, **record: Any) -> tuple[str, str]:
    """Status and message of a law over a target that breaks, and does not decline, beyond its sizes."""
    made = Implementation(
        function, "under test", contract, sizes=SizeCondition(sizes), dtypes=("float32",), gradients=False, **record
    )
    with Session(made, effort="quick", shrink=False) as session:
        (chosen,) = select_laws(session.laws, [law])
        result = session.run(chosen)
        return result.status, result.message


@pytest.mark.parametrize("contract, law, function, sizes, within", ROWS, ids=[f"{row[0]}-{row[1]}" for row in ROWS])
def test_laws_keep_to_the_declared_sizes(
    contract: str, law: str, function: Any, sizes: str, within: Callable[..., bool]
) -> None:
    @wraps(function)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        if not within(*args, *kwargs.values()):
            raise KeyError("beyond what is declared")
        return function(*args, **kwargs)

    status, message = run(contract, law, guarded, sizes)
    assert status == "held" or (status == "not_applicable" and UNDECLARED_SIZES in message), (status, message)


def test_so_do_those_of_modules_heads_and_parts() -> None:
    assert run("multi-head", "lengths_may_change_between_calls", EightTokens, "n >= 4")[0] == "held"
    split, join = split_merge_heads.correct()

    def guarded(x: Tensor, H: int) -> Tensor:
        if H > 3:
            raise KeyError("beyond what is declared")
        return split(x, H)

    assert run("heads", "uneven_splits_are_refused", (guarded, join), "H <= 3")[0] == "held"
    assert run("merge", "merging_is_associative", merge.correct, "parts > 2") == ("not_applicable", UNDECLARED_SIZES)


@pytest.mark.parametrize(
    ("text", "sizes", "found"),
    [
        ("E == 64 and H == 4", {"B": 1, "n": 3, "H": 2, "d": 7}, None),
        ("E == 64 and H == 8", {"B": 1, "n": 3, "H": 2, "d": 7}, {"B": 1, "n": 3, "H": 8, "d": 8}),
        ("n % 16 == 0", {"B": 1, "n": 3, "H": 2, "d": 7}, {"B": 1, "n": 16, "H": 2, "d": 7}),
        ("d == 64", {"n": 3, "half": 3}, {"n": 3, "half": 32}),
        ("E == 63", {"B": 1, "n": 3, "H": 2, "d": 7}, None),
    ],
)
def test_only_sizes_that_a_condition_speaks_of_are_varied(
    text: str, sizes: dict[str, int], found: dict[str, int] | None
) -> None:
    """A function, of which all sizes are varied, finds the same case in a hundred times as long."""
    condition, case = SizeCondition(text), ParameterCase(sizes)
    nearest = find_nearest_sizes(Implementation(None, name="f", sizes=condition), case)
    assert (None if nearest is None else dict(nearest.sizes)) == found
    assert len(condition._known) <= 36
    of_all = find_nearest_sizes(Implementation(None, name="f", sizes=lambda **named: condition(**named)), case)
    assert (None if of_all is None else dict(of_all.sizes)) == found
