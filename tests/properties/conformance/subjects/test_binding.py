"""The binding of a target.

From a canonical case to the call of a target and back: which parameters are claims, how they are spelled, how arrays
lie. Signatures are data here; the functions behind them are never called unless a test says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from judging import held, judged
from torch import Tensor, nn

from attention_core.conformance.cases.case import Case
from attention_core.conformance.subjects.binding import Binding, bind
from attention_core.conformance.worker.exchange import Array, decode
from attention_core.conformance.worker.executor import Executor
from attention_core.declaration.implementation import CLAIMS, Implementation, TargetError
from attention_core.faults.bases.reference import correct

# Distinct sizes, so that swapped axes cannot pass: B, H, H_kv, n_q, n_kv, d, d_v.
B, H, H_KV, N_Q, N_KV, D, D_V = 2, 6, 3, 5, 7, 4, 9


def binding(target: Any, **record: Any) -> Binding:
    return bind(Implementation(target, name="f", **record), Executor(target).describe())


def signature(text: str) -> Callable[..., Any]:
    """A function with the given parameters."""
    found: dict[str, Any] = {}
    exec(f"def f({text}): ...", found)
    function: Callable[..., Any] = found["f"]
    return function


def case(**changes: Any) -> Case:
    rng = np.random.default_rng(0)
    whole = lambda *shape: rng.integers(-3, 4, shape).astype(float)  # noqa: E731
    plain = Case("float32", whole(B, H, N_Q, D), whole(B, H_KV, N_KV, D), whole(B, H_KV, N_KV, D_V))
    return plain.with_(**changes)


def shown(spec: Any) -> Any:
    """The numbers of a contiguous request argument."""
    assert isinstance(spec, Array)
    assert spec.is_plain
    return decode(spec.base, spec.dtype).reshape(spec.shape)


CLAIMED = [
    ("q, k, v", {}),
    ("a, b, c", {}),
    ("query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False",
     {name: name for name in CLAIMS}),
    ("q, k, v, mask=None", {"attn_mask": "mask"}),
    ("q, k, v, attention_mask=None", {"attn_mask": "attention_mask"}),
    ("q, k, v, causal=False", {"is_causal": "causal"}),
    ("q, k, v, scaling=None", {"scale": "scaling"}),
    ("q, k, v, sm_scale=None", {"scale": "sm_scale"}),
    ("q, k, v, softmax_scale=None", {"scale": "softmax_scale"}),
    ("q, k, v, dropout=0.0", {"dropout_p": "dropout"}),
    ("q, k, v, *, scale=None", {"scale": "scale"}),
    ("q, k, v, window=3", {}),
    ("q, k, v, window=3, mask=None", {"attn_mask": "mask"}),
    ("*args, scale=None", {"scale": "scale"}),
    ("q, *args, is_causal=False, **kwargs", {"is_causal": "is_causal"}),
    ("q, k, v, **kwargs", {}),
    ("*args, **kwargs", {}),
]  # fmt: skip


@pytest.mark.parametrize(("text", "names"), CLAIMED)
def test_named_parameters_are_claims(text: str, names: dict[str, str]) -> None:
    found = binding(signature(text))
    assert dict(found.names) == names
    assert found.claims == names.keys()
    stars = re.findall(r"\*(\w+)", text)
    assert found.unread == (f"*{', *'.join(stars)} claims nothing by itself" if stars else "")


UNUSABLE = [
    (3, {}, "f is not callable (it is of type int)"),
    ("", {}, "f takes 0 parameters, but attention needs query, key and value"),
    ("q, k", {}, "f takes 2 parameters, but attention needs query, key and value (for another contract use --contract"),
    ("*, query, key, value", {}, "f takes 0 parameters by position, but attention needs query, key and value "
     "(name a function of (query, key, value) that passes them on by name)"),
    ("q, k, v, window", {}, "f has the parameter 'window' without a default: give --arg window=VALUE"),
    ("x, w_q, w_k, w_v", {}, "f has the parameter 'w_v' without a default, as a layer has: name a class that holds its weights"),
    ("q, k, v, in_proj_weight", {}, "give --contract multi-head, or a function of query, key and value alone"),
    ("q, k, v, *, window", {}, "f has the parameter 'window' without a default: give --arg window=VALUE"),
    ("query, value, key, mask=None", {}, "f takes query, value, key, but query, key and value are passed in this order: "
     "name a function (query, key, value, ...) that calls it"),
    ("v, k, q", {}, "f takes v, k, q, but"),
    ("q, k, v, cu_seqlens_q, cu_seqlens_k", {}, "as functions of another contract have: give --contract varlen"),
    ("q, k, v, cu_seqlens_q, block_table", {}, "as functions of another contract have: give --contract paged"),
    ("*args, window", {}, "f has the parameter 'window' without a default"),
    ("q, k, v", {"claims": ("scale", "is_causal")}, "f is declared to claim scale, is_causal, but has no such parameter"),
]  # fmt: skip


@pytest.mark.parametrize(("target", "record", "words"), UNUSABLE)
def test_unusable_targets_end_in_one_line(target: Any, record: dict[str, Any], words: str) -> None:
    with pytest.raises(TargetError, match=re.escape(words)):
        binding(signature(target) if isinstance(target, str) else target, **record)


@pytest.mark.parametrize(
    ("text", "kind"),
    [("window=(-1, -1)", "sides"), ("window=[-1, -1]", "sides"), ("window=None", "last"), ("window=(1.0, 2)", "last"),
     ("window_left=(-1, -1)", "sides"), ("window_left=-1", "before"), ("window=None, softcap=(0, 0)", "last")],
)  # fmt: skip
def test_a_window_whose_default_is_a_pair_is_one(text: str, kind: str) -> None:
    assert binding(signature(f"q, k, v, {text}")).window_kind == kind
    assert binding(signature(f"q, k, v, {text}"), window="within").window_kind == "within"


def test_declared_claims_replace_the_signature() -> None:
    found = binding(signature("q, k, v, mask=None, scale=None"), claims=("scale",))
    assert found.claims == {"scale"}
    assert found.names["scale"] == "scale"
    assert binding(signature("q, k, v, mask=None"), claims=()).claims == frozenset()


def test_claims_may_be_declared_of_keywords_and_of_builtins() -> None:
    found = binding(signature("q, k, v, **kwargs"), claims=("is_causal",))
    assert (found.claims, found.names["is_causal"]) == ({"is_causal"}, "is_causal")
    builtin = binding(torch.nn.functional.scaled_dot_product_attention, claims=("attn_mask", "scale"))
    assert builtin.claims == {"attn_mask", "scale"}
    assert builtin.unread == "it has no readable signature"
    assert binding(torch.nn.functional.scaled_dot_product_attention).claims == frozenset()


def test_head_groups_may_be_claimed_without_a_parameter() -> None:
    found = binding(signature("q, k, v"), claims=("enable_gqa",))
    assert found.claims == {"enable_gqa"}
    assert found.request(case()).kwargs == {}


def test_an_unknown_parameter_given_as_argument_is_passed_on() -> None:
    found = binding(signature("q, k, v, window, mask=None"), arguments={"window": (3, 0)})
    assert found.request(case()).kwargs == {"window": (3, 0)}


def test_a_claimed_parameter_given_as_argument_is_no_claim() -> None:
    found = binding(signature("q, k, v, scale=None"), arguments={"scale": None})
    assert found.claims == frozenset()
    assert found.request(case()).kwargs == {"scale": None}


def test_required_parameters_get_the_contracts_defaults() -> None:
    found = binding(signature("q, k, v, mask, causal, scale, dropout"))
    defaults = {"mask": None, "causal": False, "scale": 0.5, "dropout": 0.0}  # 1/sqrt(4)
    assert found.request(case()).kwargs == defaults
    assert found.request(case(is_causal=True, scale=3.0)).kwargs == {**defaults, "causal": True, "scale": 3.0}


def test_a_plain_case_is_a_plain_call() -> None:
    request = binding(correct).request(case(key=case().query[..., :N_Q, :], value=case().query))
    assert request.kwargs == {}
    for spec, name in zip(binding(correct).request(case()).args, ("query", "key", "value"), strict=True):
        np.testing.assert_array_equal(shown(spec), getattr(case(), name))


def test_everything_asked_for_is_spelled_as_the_target_does() -> None:
    found = binding(signature("q, k, v, mask=None, causal=False, scaling=None, dropout=0.0, enable_gqa=False"))
    mask = np.ones((N_Q, N_KV), dtype=bool)
    request = found.request(case(mask=mask, is_causal=True, scale=0.25), dropout=0.5, seed=3, mode="train")
    plain = {k: v for k, v in request.kwargs.items() if k != "mask"}
    assert plain == {"causal": True, "scaling": 0.25, "dropout": 0.5, "enable_gqa": True}
    np.testing.assert_array_equal(shown(request.kwargs["mask"]), mask)
    assert (request.seed, request.mode) == (3, "train")
    assert [found.argument(n) for n in ("query", "key", "value", "mask")] == ["0", "1", "2", "mask"]


def test_mask_polarity_is_turned_as_declared() -> None:
    mask = np.arange(N_Q * N_KV).reshape(N_Q, N_KV) % 3 > 0
    bias = np.where(mask, 1.0, -np.inf)
    for declared, expected in (("attend", mask), ("ignore", ~mask)):
        found = binding(correct, mask_true=declared)
        np.testing.assert_array_equal(shown(found.request(case(mask=mask)).kwargs["attn_mask"]), expected)
        # a float mask is added, whatever True means
        np.testing.assert_array_equal(shown(found.request(case(mask=bias)).kwargs["attn_mask"]), bias)


def test_layouts_put_heads_where_declared() -> None:
    request = binding(correct, layout="bnhd").request(case())
    assert [a.shape for a in request.args] == [(B, N_Q, H, D), (B, N_KV, H_KV, D), (B, N_KV, H_KV, D_V)]
    np.testing.assert_array_equal(shown(request.args[0]), case().query.swapaxes(1, 2))
    assert binding(correct, layout="bnhd").out_axes.layout == "bnhd"
    assert binding(correct, layout="bnhd", out_layout="bhnd").out_axes.layout == "bhnd"


def test_views_of_a_case_reach_the_request() -> None:
    views = {"key": "padded", "mask": "sliced"}
    request = binding(correct).request(case(mask=np.ones((N_Q, N_KV), dtype=bool), views=views))
    assert [a.is_plain for a in (*request.args, request.kwargs["attn_mask"])] == [True, False, True, False]


def sdpa(q: Tensor, k: Tensor, v: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False) -> Tensor:
    out: Tensor = correct(q, k, v, attn_mask, is_causal=is_causal)
    return out


def swapped(q: Tensor, k: Tensor, v: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False) -> Tensor:
    """Inputs (B, n, H, d), output as usual."""
    return sdpa(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), attn_mask, is_causal)


class Module(nn.Module):
    def forward(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
        if mask is not None and mask.dtype == torch.bool:
            mask = ~mask
        return sdpa(q, k, v, mask)


@pytest.mark.parametrize(
    ("target", "record"),
    [
        (swapped, {"layout": "bnhd", "out_layout": "bhnd"}),
        (lambda *a, **k: swapped(*a, **k).transpose(1, 2), {"layout": "bnhd", "claims": ("attn_mask", "is_causal")}),
        (Module(), {"mask_true": "ignore"}),
        (Module, {"mask_true": "ignore", "factory": True}),
    ],
    ids=["layouts", "keywords", "module", "factory"],
)
def test_conventions_are_only_conventions(target: Any, record: dict[str, Any]) -> None:
    declared = record | {"dtypes": ("float32",)}
    held("agrees_with_truth", target, **declared)
    assert judged("agrees_with_truth", target, **declared | {"mask_true": "attend", "layout": "bhnd"}).status != "held"


@pytest.mark.parametrize(
    ("parameters", "passed"),
    [
        ("q, k, v, causal=True", {"causal": False}),
        ("q, k, v, causal=False, sm_scale=None", {}),
        ("q, k, v, causal=None", {}),
        ("q, k, v, scale=1.0", {"scale": D**-0.5}),
        ("q, k, v, dropout_p=0.1", {"dropout_p": 0.0}),
        ("q, k, v, dropout=0", {}),
    ],
)
def test_a_default_that_means_something_of_its_own_is_never_left_to_itself(
    parameters: str, passed: dict[str, Any]
) -> None:
    assert dict(binding(signature(parameters)).request(case()).kwargs) == passed


def test_functions_with_such_defaults_are_judged_by_what_they_are_asked_for() -> None:
    def causal_by_default(
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Tensor | None = None,
        causal: bool = True,
        scale: float = 1.0,
    ) -> Tensor:
        return correct(query, key, value, attn_mask, 0.0, causal, scale)

    for law in ("agrees_with_truth", "mask_and_causal_mean_both", "no_row_sees_a_later_one"):
        held(law, causal_by_default)


@pytest.mark.parametrize("given", [{"causal": True}, {"sm_scale": 1.0}, {"dropout_p": 0.5}])
def test_arguments_that_change_what_every_call_means_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(TargetError, match="changes what every call of f means: leave it out, the laws pass"):
        binding(signature("q, k, v, causal=False, sm_scale=None, dropout_p=0.0"), arguments=given)
    neutral = {"causal": False, "sm_scale": None, "dropout_p": 0.0}
    assert not binding(signature("q, k, v, causal=False, sm_scale=None, dropout_p=0.0"), arguments=neutral).claims
