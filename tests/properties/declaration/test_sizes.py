"""`--sizes` and `--scale` of the contracts beside attention.

Declared sizes hold for every contract: cases outside of them are never asked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from judging import refuted
from judging_contracts import conforming, first_refuting

from attention_core.conformance import Implementation, TargetError
from attention_core.conformance.engine.session import Session
from attention_core.conformance.subjects.parameter_case import ParameterCase, find_nearest_sizes, supports
from attention_core.declaration.options import check_applies
from attention_core.declaration.sizes import NAMES, SizeCondition


def divides_by_d_less_2(x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    """A library's rotation: frequencies from linspace(0, -(d - 2) / d, d / 2), which it divides by d - 2."""
    d = x.shape[-1]
    exponents = [2 * c / (d - 2) * ((d - 2) / d) for c in range(d // 2)]
    frequencies = torch.tensor([10000.0**-e for e in exponents], dtype=torch.float64)
    angles = positions[..., None].double() * frequencies
    cos, sin = angles.cos(), angles.sin()
    first, second = x[..., ::2].double(), x[..., 1::2].double()
    turned = torch.stack([first * cos - second * sin, first * sin + second * cos], -1)
    return turned.flatten(-2).to(x.dtype)


def test_a_rotation_that_divides_by_d_less_2_conforms_at_the_sizes_it_declares() -> None:
    declared: dict[str, Any] = {"parameters": {"pairing": "interleaved"}}
    assert first_refuting(divides_by_d_less_2, "rotary", **declared)
    conforming(divides_by_d_less_2, "rotary", sizes=SizeCondition("d > 2"), **declared)


class Wide:
    """A cache that takes 64 features alone, and at most 8 tokens; anything else is an error of its own."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def __call__(self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        self.seen.append((key, value))
        k, v = (torch.cat([step[i] for step in self.seen], -2) for i in (0, 1))
        if query.shape[-1] != 64 or k.shape[-2] > 8:
            raise KeyError("sizes")
        mask = torch.ones(query.shape[-2], k.shape[-2], dtype=torch.bool).tril(k.shape[-2] - query.shape[-2])
        return torch.nn.functional.scaled_dot_product_attention(query, k, v, mask, scale=1.0)


def test_a_cache_of_one_width_is_judged_at_that_width_and_under_its_own_scale() -> None:
    sizes = SizeCondition("d == 64 and n <= 8")
    declared: dict[str, Any] = {"sizes": sizes, "dtypes": ("float32",), "parameters": {"inputs": "kept"}}
    conforming(Wide, "kv-cache", scale="1", **declared)
    refuted("chunks_equal_the_full_pass", Wide, "quick", contract="kv-cache", **declared)


def heads_of_eight(Q: Any, K: Any, V: Any, n_heads: int, causal: bool) -> Any:
    """Unscaled self-attention for heads of multiples of 8 features."""
    B, n, E = Q.shape
    assert E // n_heads % 8 == 0, AttributeError
    q, k, v = (x.reshape(B, n, n_heads, -1).transpose(1, 2) for x in (Q, K, V))
    out = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal, scale=1.0)
    return out.transpose(1, 2).reshape(B, n, E)


def test_self_attention_is_judged_at_declared_sizes_and_under_a_declared_scale() -> None:
    conforming(heads_of_eight, "self-attention", sizes=SizeCondition("E // H % 8 == 0"), scale="1")
    assert first_refuting(heads_of_eight, "self-attention", sizes=SizeCondition("d % 8 == 0"))


class Unscaled(torch.nn.Module):
    """A multi-head module without a scale, for heads of 16 features."""

    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim // num_heads != 16:
            raise KeyError("heads of 16")
        self.num_heads = num_heads
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = (torch.nn.Linear(embed_dim, embed_dim) for _ in "qkvo")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        parts = (
            p(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for p in (self.q_proj, self.k_proj, self.v_proj)
        )
        out = torch.nn.functional.scaled_dot_product_attention(*parts, scale=1.0)
        return self.out_proj(out.transpose(1, 2).flatten(2))


def test_a_module_is_judged_at_declared_sizes_and_under_a_declared_scale() -> None:
    conforming(Unscaled, "multi-head", sizes=SizeCondition("d == 16"), scale="1")
    assert first_refuting(Unscaled, "multi-head", sizes=SizeCondition("d == 16"))


@pytest.mark.parametrize("contract", [c for c in NAMES if not c.startswith("attention")])
def test_an_unknown_size_is_one_clear_line(contract: str) -> None:
    check_applies(contract, {"sizes": SizeCondition(f"{NAMES[contract][0]} > 1")})
    unknown = next(name for name in ("d_v", "E") if name not in NAMES[contract])
    with pytest.raises(
        TargetError, match=rf"the contract {contract} has no size '{unknown}', but: {NAMES[contract][0]}"
    ):
        check_applies(contract, {"sizes": SizeCondition(f"{unknown} > 1")})


def test_sizes_that_no_usual_case_has_are_not_applicable_and_no_conforms() -> None:
    record = Implementation(
        divides_by_d_less_2, contract="rotary", sizes=SizeCondition("d == 7"), parameters={"pairing": "interleaved"}
    )
    with Session(record, effort="quick") as session:
        report = session.report(list(session.results(session.laws)))
    assert report.verdict == "incomplete"
    assert "no core case lies in the declared sizes" in report.problem


def test_the_nearest_supported_case_changes_as_little_as_it_can() -> None:
    record = Implementation(None, contract="kv-cache", sizes=SizeCondition("d == 64"))
    case = ParameterCase({"B": 2, "H": 2, "n": 3, "d": 2})
    found = find_nearest_sizes(record, case)
    assert found is not None and dict(found.sizes) == {"B": 2, "H": 2, "n": 3, "d": 64}
    assert supports(record, found) and not supports(record, case)


def test_values_stay_as_wide_as_keys_where_both_are_replaced() -> None:
    case = ParameterCase({"H_kv": 2, "group": 1, "d": 8, "d_v": 8})
    for condition, sizes in (("d in (16, 32)", (16, 16)), ("d == 16 and d_v == 32", (16, 32))):
        found = find_nearest_sizes(Implementation(None, contract="paged", sizes=SizeCondition(condition)), case)
        assert found is not None and (found["d"], found["d_v"]) == sizes


def test_a_predicate_of_python_takes_sizes_by_name() -> None:
    keeps: Callable[..., bool] = lambda d, **others: d > 2  # noqa: E731
    record = Implementation(None, contract="rotary", sizes=keeps)
    assert not supports(record, ParameterCase({"half": 1, "n": 3}))
    assert supports(record, ParameterCase({"half": 2, "n": 3}))


def test_one_sign_of_equality_is_told_from_a_comparison() -> None:
    with pytest.raises(TargetError, match=r"write == for equal sizes, as in 'd == 16 and n_q <= 4', in a condition"):
        SizeCondition("d=16 and n_q <= 4")
    with pytest.raises(TargetError, match=r"\): write a condition over"):
        SizeCondition("d == 16 and")
