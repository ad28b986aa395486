"""The first look at rotations, masks, position tables and biases: what it finds, and what it must not propose."""

from __future__ import annotations

import math
from collections.abc import Callable
from pkgutil import resolve_name
from typing import Any

import pytest
import torch
from torch import Tensor

from attention_core.conformance import Implementation, check_implementation
from attention_core.conformance.engine.session import Session
from attention_core.conformance.first_look import FirstLook
from attention_core.conformance.report.render_text import under_found_lines
from attention_core.declaration.implementation import TargetError
from attention_core.registry.table import implementation, kernel


def look_at(function: Any, contract: str, **record: Any) -> FirstLook:
    with Session(Implementation(function, name="f", contract=contract, **record), effort="quick") as session:
        found = session.first_look
    assert found is not None
    return found


def rotate(
    x: Tensor, positions: Tensor, base: float = 10000.0, pairing: str = "half", width: int | None = None
) -> Tensor:
    d = x.shape[-1]
    angle = positions[:, None].double() * base ** (-torch.arange(0, d, 2).double() / (width or d))
    a, b = (x[..., : d // 2], x[..., d // 2 :]) if pairing == "half" else (x[..., ::2], x[..., 1::2])
    turned = (a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos())
    out = torch.cat(turned, -1) if pairing == "half" else torch.stack(turned, -1).flatten(-2)
    return out.to(x.dtype)


def interleaved(x: Tensor, positions: Tensor) -> Tensor:
    return rotate(x, positions, pairing="interleaved")


def of_llama_3(x: Tensor, positions: Tensor) -> Tensor:
    return rotate(x, positions, 500000.0)


def tokens_before_heads(x: Tensor, positions: Tensor) -> Tensor:
    return rotate(x.transpose(-3, -2), positions, pairing="interleaved").transpose(-3, -2)


def from_a_table(x: Tensor, positions: Tensor) -> Tensor:
    table = torch.arange(2**18)
    if (positions < 0).all():
        raise ValueError("no such position")
    return rotate(x, table[positions])


def divided_by_d_less_2(x: Tensor, positions: Tensor) -> Tensor:
    return rotate(x, positions, width=x.shape[-1]) / (x.shape[-1] - 2) * (x.shape[-1] - 2)


def in_float32(x: Tensor, positions: Tensor) -> Tensor:
    return rotate(x.float(), positions).to(x.dtype)


def causal_at_the_end(n_q: int, n_kv: int) -> Tensor:
    return torch.ones(n_q, n_kv, dtype=torch.bool).tril(n_kv - n_q)


def causal_to_add(n_q: int, n_kv: int) -> Tensor:
    return torch.full((n_q, n_kv), -torch.inf).triu(1)


def causal_of_numbers(n_q: int, n_kv: int) -> Tensor:
    return torch.tril(torch.ones(n_q, n_kv))


def hidden_keys(n_q: int, n_kv: int, lengths: Tensor) -> Tensor:
    beyond = torch.arange(n_kv) >= lengths[:, None]
    return beyond[:, None, None].expand(-1, 1, n_q, n_kv).clone()


def whole_window(n_q: int, n_kv: int, window: int) -> Tensor:
    behind = torch.arange(n_q)[:, None] - torch.arange(n_kv)
    return (behind >= 0) & (behind < window)


def of_whisper(n: int, d: int) -> Tensor:
    assert d % 2 == 0
    step = math.log(10000) / (d // 2 - 1)
    angle = torch.arange(n)[:, None] * torch.exp(-step * torch.arange(d // 2))
    return torch.cat([angle.sin(), angle.cos()], 1)


def geometric(H: int, n_q: int, n_kv: int) -> Tensor:
    slopes = 2.0 ** (-8.0 * torch.arange(1, H + 1) / H)
    return -slopes[:, None, None] * (torch.arange(n_kv - n_q, n_kv)[:, None] - torch.arange(n_kv))


def retention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    wide = torch.promote_types(q.dtype, torch.float32)
    fade = (1 - 2.0 ** (-5 - torch.arange(q.shape[2], dtype=wide)))[:, None, None]
    state, out = torch.zeros((), dtype=wide), []
    for a, b, c in zip(*(x.to(wide).unbind(1) for x in (q * q.shape[-1] ** -0.5, k, v)), strict=True):
        state = state * fade + b[..., None] * c[..., None, :]
        out.append((a[..., None, :] @ state)[..., 0, :])
    return torch.stack(out, 1).to(q.dtype)


ROWS: list[tuple[Callable[..., Any], str, str]] = [
    (rotate, "rotary", ""),
    (interleaved, "rotary", "--parameter pairing=interleaved"),
    (of_llama_3, "rotary", "--parameter base=500000"),
    (tokens_before_heads, "rotary", "--layout bnhd --parameter pairing=interleaved"),
    (from_a_table, "rotary", "--parameter min_position=0"),
    (divided_by_d_less_2, "rotary", "--sizes 'd > 2'"),
    (in_float32, "rotary", ""),
    (causal_at_the_end, "mask-builder", "--causal bottom_right"),
    (causal_to_add, "mask-builder", "--masks additive"),
    (causal_of_numbers, "mask-builder", "--masks binary"),
    (hidden_keys, "mask-builder", "--mask-true ignore"),
    (whole_window, "mask-builder", ""),
    (of_whisper, "position-table", "--sizes 'd > 2' --parameter frequencies=inclusive"),
    (geometric, "bias", "--parameter slopes=geometric"),
    (retention, "linear-attention", "--layout bnhd --parameter kind=retention"),
]
"""Functions that are right under some declaration, and what is found of each."""


def base_of_no_model(x: Tensor, positions: Tensor) -> Tensor:
    return rotate(x, positions, 777.0)


def without_fading(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    wide = torch.promote_types(q.dtype, torch.float32)
    states = (k.to(wide)[..., None] * v.to(wide)[..., None, :]).cumsum(1)
    return ((q * q.shape[-1] ** -0.5).to(wide)[..., None, :] @ states)[..., 0, :].to(q.dtype)


DECLARED: list[tuple[Callable[..., Any], str, dict[str, Any]]] = [
    (base_of_no_model, "rotary", {"base": 777}),
    (without_fading, "linear-attention", {"kind": "linear"}),
]
"""Functions that are right as they are declared, with values that are tried of no other function."""


@pytest.mark.parametrize(("function", "contract", "parameters"), DECLARED, ids=lambda x: getattr(x, "__name__", None))
def test_what_is_declared_is_tried_first(
    function: Callable[..., Any], contract: str, parameters: dict[str, Any]
) -> None:
    layout = {"layout": "bnhd"} if contract == "linear-attention" else {}
    look = look_at(function, contract, parameters=parameters, **layout)
    assert look.agrees and not look.found
    assert look.lines == (f"agrees with the truth of {contract} as it is declared",)


@pytest.mark.parametrize("name", ["linear", "gated_linear", "gated_delta", "kimi_delta"])
def test_a_kernel_of_the_table_agrees_as_it_is_declared(name: str) -> None:
    record = implementation(f"core:{name}").with_(function=resolve_name(kernel(f"core:{name}").origin))
    with Session(record, effort="quick") as session:
        assert session.first_look is not None and session.first_look.agrees and not session.first_look.found


@pytest.mark.thorough(keep=("*geometric*", "interleaved*"))
@pytest.mark.parametrize(("function", "contract", "options"), ROWS, ids=lambda x: getattr(x, "__name__", None))
def test_parameters_are_found_and_declared_they_conform(
    function: Callable[..., Any], contract: str, options: str
) -> None:
    look = look_at(function, contract)
    assert look.agrees and look.options() == options and look.explains == bool(options)
    record = Implementation(function, name="f", contract=contract, untested=untested(function))
    report = check_implementation(record.with_(**look.found), "quick")
    assert report.verdict == "conforms", report


def untested(function: Callable[..., Any]) -> tuple[str, ...]:
    """What a test's own function has beside its contract."""
    return ("base", "pairing", "width") if function is rotate else ()


@pytest.mark.parametrize(
    ("function", "contract"),
    [
        (lambda x, positions: rotate(x, positions, 10001.0), "rotary"),
        (lambda x, positions: x, "rotary"),
        (lambda n_q, n_kv: torch.ones(n_q, n_kv, dtype=torch.bool).tril(-1), "mask-builder"),
        (lambda n_q, n_kv: torch.full((n_q, n_kv), -9.0).triu(1), "mask-builder"),
        (lambda n, d: torch.zeros(n, d), "position-table"),
        (lambda H, n_q, n_kv: torch.zeros(H, n_q, n_kv), "bias"),
    ],
)
def test_a_fault_gets_no_parameters(function: Callable[..., Any], contract: str) -> None:
    look = look_at(function, contract)
    assert not look.agrees and not look.found and "under none of the parameters" in look.lines[-1]


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (lambda x, positions: rotate(x, positions + 1), "a rotation by position + 1"),
        (lambda x, positions: rotate(x, -positions, pairing="interleaved"), "a rotation the other way"),
    ],
)
def test_another_rotation_is_named(function: Callable[..., Any], name: str) -> None:
    look = look_at(function, "rotary")
    assert look.nearest == name and not look.found and look.lines == (f"agrees with: {name}",)


def test_the_kind_of_a_mask_is_read_from_names_alone() -> None:
    def nameless(n_q: int, n_kv: int, c: int) -> Tensor:
        return whole_window(n_q, n_kv, c)

    with pytest.raises(TargetError, match="say which masks it builds: --kind"):
        look_at(nameless, "mask-builder")
    assert look_at(nameless, "mask-builder", parameters={"kind": "sliding_window"}).agrees


def window_of_equal_lengths(n_q: int, n_kv: int, window: int) -> Tensor:
    """Right where n_q == n_kv; an answer at other sizes, too."""
    i, j, offset = torch.arange(n_q)[:, None], torch.arange(n_kv), n_kv - n_q
    return (j <= i + offset) & (j > i + max(-offset, 0) - window)


def test_sizes_that_are_left_out_are_said_not_to_be_judged() -> None:
    record = Implementation(window_of_equal_lengths, name="f", contract="mask-builder")
    report = check_implementation(record, "quick")
    assert report.first_look is not None and report.first_look.options() == "--sizes 'n_q == n_kv'"
    assert report.first_look.lines[0] == "it is right where n_q == n_kv, and wrong at other sizes"
    told = "sizes other than n_q == n_kv, where it is wrong, are then not judged"
    assert report.advice[0].endswith(f"; {told}")
    assert under_found_lines(report)[0].endswith(f"; {told}")
