"""The first look: forms as people write them, other operations by name, and what it must not say."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import torch
from properties import written_forms as forms
from torch import Tensor

from attention_core.conformance import Implementation, check_implementation
from attention_core.conformance.engine.session import Session
from attention_core.conformance.first_look import FirstLook
from attention_core.conformance.first_look.findings import option_text
from attention_core.declaration.implementation import TargetError
from attention_core.declaration.sizes import SizeCondition
from attention_core.faults.bases.reference import correct

FOUND: dict[Any, dict[str, Any]] = {
    forms.plain: {},
    forms.with_einsum: {},
    forms.flash_like: {"layout": "bnhd", "causal": "bottom_right", "dead_rows": "nan"},
    forms.single_head: {"axes": 3},
    forms.one_sequence: {"axes": 2},
    forms.with_weights: {"returns": "out,weights"},
    forms.unscaled: {"scale": "1"},
    forms.always_causal: {"always_causal": True},
    forms.additive_masks: {"masks": "additive", "dead_rows": "nan"},
    forms.padding_masks: {"masks": "bool", "mask_true": "ignore", "dead_rows": "nan"},
    forms.in_numpy: {"array": "numpy"},
    forms.in_numpy_of_one_sequence: {"array": "numpy", "axes": 2, "dtypes": ("float64",)},
    forms.filled_with_a_billion: {"masks": "bool", "dead_rows": "uniform", "mask_fill": "-1e9"},
    forms.causal_at_the_end: {"causal": "bottom_right", "dead_rows": "nan"},
    forms.llama_like: {
        "out_layout": "bnhd", "returns": "out,weights", "masks": "additive", "dead_rows": "nan",
    },
    forms.rearranged: {"layout": "bnhd"},
    forms.annotated: {"returns": "out,weights", "masks": "bool", "dead_rows": "uniform", "mask_fill": "-1e9"},
    forms.scaled_dot_product_attention: {
        "returns": "out,weights", "masks": "binary", "mask_true": "ignore", "dead_rows": "nan",
    },
    forms.with_lse: {"returns": "out,lse"},
    forms.four_axes_alone: {
        "batch_axes": "one", "declines": ("IndexError",), "masks": "additive", "dead_rows": "nan",
    },
    forms.forward_only: {"gradients": False},
    forms.heads_shared_by_remainder: {"grouping": "modular"},
    forms.heads_repeated_in_turn: {"grouping": "modular", "batch_axes": "one"},
    forms.causal_flag_with_a_default: {},
    forms.second_result_is_none: {},
    forms.single_precision_softmax: {"dead_rows": "uniform", "dtypes": ("float32", "bfloat16", "float16")},
    forms.heads_joined: {"out_layout": "bne"},
    forms.additive_bias: {"masks": "additive", "dead_rows": "nan"},
    forms.sequence_first: {"layout": "nbhd"},
    forms.sequence_first_with_heads_joined: {"layout": "nbhd", "out_layout": "nbe"},
    forms.sequence_first_of_one_head: {"axes": 3, "layout": "nbhd"},
    forms.features_first: {"layout": "bhdn"},
    forms.features_first_but_of_the_output: {"layout": "bhdn", "out_layout": "bhnd"},
    forms.features_first_of_one_head: {"axes": 3, "layout": "bhdn"},
    forms.key_transposed: {"key_layout": "bhdn"},
    forms.with_position_bias: {"masks": "additive", "dead_rows": "nan"},
    forms.bool_masks_that_take_some_biases: {"masks": "bool"},
    forms.lowest_number_of_the_dtype: {"dead_rows": "unspecified"},
    forms.bool_masks_filled_and_float_masks_added: {"dead_rows": "unspecified"},
}  # fmt: skip
"""What is found of each form, beside what is declared of a bare function."""
SINGLE_INSIDE = (forms.single_precision_softmax,)
"""Their float64 is float32's."""


def look_at(function: Any, **record: Any) -> FirstLook:
    with Session(Implementation(function, name="f", **record), effort="quick") as session:
        found = session.first_look
    assert found is not None
    return found


@pytest.mark.thorough(table=True)
@pytest.mark.filterwarnings("ignore")  # of NumPy functions that are called with tensors first
@pytest.mark.parametrize("function", FOUND, ids=lambda f: f.__name__)
def test_conventions_of_a_form_are_found(function: Any) -> None:
    look = look_at(function)
    assert dict(look.found) == FOUND[function] and look.agrees
    assert 1 <= len(look.lines) <= 4
    assert all(option_text(name, value) in look.options() for name, value in look.found.items())


@pytest.mark.thorough(keep=("plain", "in_numpy", "llama_like"))
@pytest.mark.filterwarnings("ignore")  # of NumPy functions that are called with tensors first
@pytest.mark.usefixtures("unshrunk", "fewest_cases")
@pytest.mark.parametrize("function", FOUND, ids=lambda f: f.__name__)
def test_a_form_gets_its_verdict_under_the_conventions_found(function: Any) -> None:
    dtypes = ("float32",) if function in SINGLE_INSIDE else ("float32", "float64")
    report = check_implementation(Implementation(function, name="f", dtypes=dtypes), "quick")
    judged = report if not FOUND[function] else report.under_found
    assert judged is not None and judged.with_status("refuted") == [], judged
    assert judged.verdict == "conforms" or all("parameter" in line for line in judged.missing()), judged
    assert (report.verdict == "conforms") == (not FOUND[function])


def scores(q: Tensor, k: Tensor) -> Tensor:
    return q @ k.mT / q.shape[-1] ** 0.5


def linear(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    q, k = torch.nn.functional.elu(q) + 1, torch.nn.functional.elu(k) + 1
    return q @ (k.mT @ v) / (q @ k.sum(-2, keepdim=True).mT)


def with_sink(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    s = scores(q, k)
    return torch.cat([s, torch.zeros_like(s[..., :1])], -1).softmax(-1)[..., :-1] @ v


def window(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    s = scores(q, k)
    behind = torch.arange(s.shape[-2])[:, None] - torch.arange(s.shape[-1])
    return s.masked_fill((behind < 0) | (behind >= 3), -torch.inf).softmax(-1) @ v


def alibi(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    s = scores(q, k)
    slopes = torch.tensor([2.0**-4, 2.0**-8, 2.0**-2][: s.shape[-3]], dtype=s.dtype)
    distance = (torch.arange(s.shape[-2])[:, None] - torch.arange(s.shape[-1])).abs()
    return (s - slopes[:, None, None] * distance).softmax(-1) @ v


def causal_alibi(q: Tensor, k: Tensor, v: Tensor, end: bool = False, geometric: bool = False) -> Tensor:
    """Always causal; its slopes are the paper's, or 2^(-8h/H) whatever H is; `end`: the last query faces the last key."""
    n_q, n_kv, heads = q.shape[-2], k.shape[-2], q.shape[-3]
    powers = torch.tensor([4.0, 8.0, 2.0][:heads]) if heads == 3 and not geometric else None
    powers = 8 * torch.arange(1, heads + 1) / heads if powers is None else powers
    behind = torch.arange(n_q)[:, None] + (n_kv - n_q if end else 0) - torch.arange(n_kv)
    s = scores(q, k) - (2.0**-powers).to(q.dtype)[:, None, None] * behind.to(q.dtype)
    return s.masked_fill(behind < 0, -torch.inf).softmax(-1) @ v


def window_at_the_end(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Where there are more queries than keys, the first rows are left without any."""
    s = scores(q, k)
    behind = torch.arange(s.shape[-1] - s.shape[-2], s.shape[-1])[:, None] - torch.arange(s.shape[-1])
    return s.masked_fill((behind < 0) | (behind >= 2), -torch.inf).softmax(-1) @ v


def cosine(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    q, k = torch.nn.functional.normalize(q, dim=-1), torch.nn.functional.normalize(k, dim=-1)
    return (10 * q @ k.mT).softmax(-1) @ v


def top_3(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    s = scores(q, k)
    return s.masked_fill(s < s.topk(3, -1).values[..., -1:], -torch.inf).softmax(-1) @ v


OPERATIONS: list[tuple[Any, str]] = [
    (lambda q, k, v: torch.sigmoid(scores(q, k)) @ v, "sigmoid attention"),
    (linear, "linear attention (features elu + 1)"),
    (lambda q, k, v: (50 * torch.tanh(scores(q, k) / 50)).softmax(-1) @ v, "attention with logits soft-capped at 50"),
    (with_sink, "attention with a sink (a key of logit 0 without a value)"),
    (window, "attention in a causal window of 3"),
    (window_at_the_end, "attention in a causal window of 2 (the last query faces the last key)"),
    (alibi, "attention with ALiBi on both sides"),
    (causal_alibi, "causal attention with ALiBi"),
    (partial(causal_alibi, end=True), "causal attention with ALiBi (the last query faces the last key)"),
    (partial(causal_alibi, geometric=True), "causal attention with ALiBi of slopes 2^(-8h/H)"),
    (
        partial(causal_alibi, end=True, geometric=True),
        "causal attention with ALiBi of slopes 2^(-8h/H) (the last query faces the last key)",
    ),
    (cosine, "attention with cosine scores times 10"),
    (lambda q, k, v: scores(q, k) @ v, "dot-product (no softmax) attention"),
    (lambda q, k, v: scores(q, k).softmax(-2) @ v, "attention with a softmax over the queries"),
    (lambda q, k, v: torch.relu(scores(q, k)) @ v / k.shape[-2], "ReLU (divided by n) attention"),
    (top_3, "attention to the top 3 keys of each query"),
    (lambda q, k, v: scores(q, k).softmax(-1).tril() @ v, "causal attention with a mask after the softmax"),
    (lambda q, k, v: torch.tanh(scores(q, k)) @ v, "tanh attention"),
]


@pytest.mark.thorough(keep=("linear attention*", "causal attention with ALiBi", "*top 3 keys*", "*causal window of 3"))
@pytest.mark.parametrize(("function", "name"), OPERATIONS, ids=[name for _, name in OPERATIONS])
def test_another_operation_is_named(function: Any, name: str) -> None:
    look = look_at(function)
    assert look.nearest == name and not look.agrees and not look.found
    assert look.lines == (f"not softmax attention; agrees with: {name}",)


@pytest.mark.thorough(keep=("zeros",))
@pytest.mark.parametrize(
    "function",
    [
        lambda q, k, v: 1.01 * forms.plain(q, k, v),
        lambda q, k, v: forms.plain(q, k.roll(1, -2), v),
        lambda q, k, v: torch.zeros_like(q),
        lambda q, k, v: q,
    ],
    ids=["nearly_right", "other_keys", "zeros", "the_query"],
)
def test_a_wrong_function_gets_no_conventions_and_no_name(function: Any) -> None:
    look = look_at(function)
    assert not look.found and not look.nearest and not look.agrees
    assert look.lines == ("agrees with softmax attention under none of the conventions that were tried",)


@pytest.mark.usefixtures("unshrunk", "fewest_cases")
def test_a_fault_beside_a_convention_is_refuted_under_it() -> None:
    def shifted(query: Tensor, key: Tensor, value: Tensor, is_causal: bool = False) -> Tensor:
        """(B, n, H, d), and one key too many where it is causal."""
        s = scores(query.transpose(1, 2), key.transpose(1, 2))
        if is_causal:
            s = s.masked_fill(~torch.ones(s.shape[-2:], dtype=torch.bool).tril(1), -torch.inf)
        return (s.softmax(-1) @ value.transpose(1, 2)).transpose(1, 2)

    report = check_implementation(Implementation(shifted, name="f", dtypes=("float32",)), "quick")
    assert report.verdict == "refuted" and report.first_look is not None
    assert report.first_look.found == {"layout": "bnhd"}
    assert "its causal calls agree with a diagonal one key too far" in report.first_look.lines[-1]
    assert report.under_found is not None and report.under_found.verdict == "refuted"
    assert "no_row_sees_a_later_one" in {r.law for r in report.under_found.with_status("refuted")}


def test_a_diagonal_one_key_too_short_is_named_where_the_first_row_loses_its_only_key() -> None:
    """A diagonal that is left out: row 0 is NaN and not judged, and all rows below it agree."""

    def strict(query: Tensor, key: Tensor, value: Tensor, is_causal: bool = False) -> Tensor:
        s = scores(query, key)
        if is_causal:
            s = s.masked_fill(~torch.ones(s.shape[-2:], dtype=torch.bool).tril(-1), -torch.inf)
        return s.softmax(-1) @ value

    assert "its causal calls agree with a diagonal one key too short" in look_at(strict).lines[-1]

    def broken(query: Tensor, key: Tensor, value: Tensor, is_causal: bool = False) -> Tensor:
        return strict(query, key, value, is_causal) if not is_causal else torch.full_like(query, torch.nan)

    assert "too short" not in look_at(broken).lines[-1]


def test_a_call_that_is_refused_every_time_is_told() -> None:
    def stubborn(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        raise ValueError("not today")

    assert look_at(stubborn).lines == ("no call of query, key and value was accepted: not today",)


def test_what_is_declared_rightly_changes_nothing() -> None:
    look = look_at(forms.rearranged, layout="bnhd")
    assert not look.found and look.lines[-1] == "agrees with softmax attention as it is declared"


def test_dead_rows_of_a_function_that_is_causal_in_every_call_are_those_that_have_keys() -> None:
    """Without any key the sum over none is 0, where a row that may see none of its keys is NaN."""

    def windowed(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        hidden = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).triu(1 + k.shape[-2] - q.shape[-2])
        return (q @ k.mT * q.shape[-1] ** -0.5).masked_fill(hidden, -torch.inf).softmax(-1) @ v

    assert look_at(windowed, always_causal=True, causal="bottom_right").found == {"dead_rows": "nan"}
    assert look_at(windowed, always_causal=True, causal="bottom_right", dead_rows="nan").found == {}


def test_a_switch_without_which_nothing_is_dropped_is_found() -> None:
    def switched(q: Tensor, k: Tensor, v: Tensor, dropout_p: float = 0.0, training: bool = False) -> Tensor:
        weights = (q @ k.mT * q.shape[-1] ** -0.5).softmax(-1)
        return torch.nn.functional.dropout(weights, dropout_p, training) @ v

    def by_itself(q: Tensor, k: Tensor, v: Tensor, dropout_p: float = 0.0, training: bool = False) -> Tensor:
        return switched(q, k, v, dropout_p, training=True)

    look = look_at(switched)
    assert look.found == {"arguments": {"training": True}} and look.options() == "--arg training=True"
    assert look.lines[1] == "it applies dropout only with training=True"
    assert not look_at(switched, arguments={"training": True}).found and not look_at(by_itself).found


def test_declared_sizes_are_heeded() -> None:
    asked: list[tuple[int, int]] = []

    def aligned(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        asked.append((query.shape[-1], query.shape[-2]))
        out: Tensor = correct(query, key, value)
        return out

    look = look_at(aligned, sizes=lambda n_q, n_kv, d, d_v, H, H_kv: d % 16 == 0 and n_q % 16 == 0)
    assert look.agrees and not look.found
    assert {(d % 16, n % 16) for d, n in asked} == {(0, 0)}


def test_sizes_that_are_declined_are_found() -> None:
    look = look_at(forms.self_attention_alone)
    assert look.agrees and look.options() == "--sizes 'n_q == n_kv and d == d_v'"
    assert look.to_dict()["found"] == {"sizes": "n_q == n_kv and d == d_v"}
    assert look.lines[-1] == "agrees with softmax attention as it is declared where n_q == n_kv and d == d_v"


def in_half_precision_alone(q: Tensor, k: Tensor, v: Tensor, causal: bool = False) -> Tensor:
    """As flash-attn: (B, n, H, d), the last query faces the last key, and nothing wider is taken."""
    if q.dtype not in (torch.float16, torch.bfloat16):
        raise RuntimeError("only fp16 and bf16 are supported")
    if q.shape[2] != k.shape[2] or k.shape[1] != v.shape[1] or q.shape[-1] != k.shape[-1]:
        raise ValueError("shapes differ")
    scores = torch.einsum("bihd,bjhd->bhij", q.float(), k.float()) * q.shape[-1] ** -0.5
    if causal:
        later = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1 + k.shape[1] - q.shape[1])
        scores = scores.masked_fill(later, -torch.inf)
    return torch.einsum("bhij,bjhe->bihe", torch.softmax(scores, -1), v.float()).to(q.dtype)


def test_kernels_that_take_half_precision_alone_are_looked_at_in_it() -> None:
    look = look_at(in_half_precision_alone)
    assert look.agrees
    assert look.options() == "--layout bnhd --causal bottom_right --dead-rows nan --dtype bfloat16,float16"
    assert "takes bfloat16 and float16 alone" in look.lines[1]
    alone = look_at(lambda q, k, v: in_half_precision_alone(*(x.transpose(1, 2) for x in (q, k, v))).transpose(1, 2))
    assert alone.lines[-1] == "agrees with softmax attention as it is declared in bfloat16 and float16"
    one = look_at(in_half_precision_alone, dtypes=("float32", "float16"))
    assert one.found["dtypes"] == ("float16",)


def test_what_is_wrong_in_single_precision_is_not_looked_at_in_half_precision() -> None:
    """A wide budget may forgive it; only calls that are all declined lead there."""
    look = look_at(lambda q, k, v: forms.plain(q, k, v) * 1.0005)
    assert not look.agrees and not look.found


def test_shared_heads_are_found_where_one_length_is_taken() -> None:
    def one_length(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        assert q.shape[-2] == k.shape[-2]
        return forms.heads_shared_by_remainder(q, k, v)

    assert look_at(one_length).options() == "--sizes 'n_q == n_kv' --grouping modular"


@pytest.mark.filterwarnings("ignore")
def test_arrays_of_numpy_are_tried_where_no_call_is_accepted() -> None:
    def of_numpy(q: Any, k: Any, v: Any) -> Any:
        q.dtype.type(1)  # which torch's dtypes do not have
        return forms.in_numpy(q, k, v)

    assert look_at(of_numpy).found["array"] == "numpy"


def test_a_scale_of_single_precision_is_found_where_it_is_rounded() -> None:
    assert look_at(forms.scale_of_single_precision).options() == "--dtype float32,bfloat16,float16"


def test_what_is_right_in_float64_keeps_it() -> None:
    def coarse(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """Wrong by more than float32 rounds, in float64 alone."""
        return forms.plain(q, k, v) * (1 + 1e-3 * (q.dtype == torch.float64))

    assert "dtypes" not in look_at(forms.plain).found
    assert "dtypes" not in look_at(coarse).found


def test_heads_that_are_cut_inside_are_judged_by_the_contract_that_asks_for_several() -> None:
    look = look_at(forms.exercise)
    assert look.found == {"contract": "self-attention", "axes": 2} and look.agrees
    assert look_at(forms.exercise, contract="self-attention").found == {"axes": 2}
    report = check_implementation(Implementation(forms.exercise, name="f", contract="self-attention", axes=2), "quick")
    assert report.verdict == "conforms", report


@pytest.mark.usefixtures("unshrunk", "fewest_cases")
def test_a_fault_of_several_heads_is_refuted_under_the_contract_found() -> None:
    wrong = forms.exercise_scaled_by_all_features
    report = check_implementation(Implementation(wrong, name="f", dtypes=("float32",)), "quick")
    assert report.under_found is not None and report.under_found.verdict == "refuted"
    assert "self_attention_is_multi_head_attention" in {r.law for r in report.under_found.with_status("refuted")}


def test_a_fill_that_leaks_at_scores_that_models_have_is_no_convention() -> None:
    def leaks(q: Tensor, k: Tensor, v: Tensor, mask: forms.Mask = None) -> Tensor:
        s = scores(q, k)
        return (s if mask is None else s.masked_fill(mask == 0, -1e4)).softmax(-1) @ v

    assert "mask_fill" not in look_at(leaks).found
    with pytest.raises(TargetError, match="write -inf or a number of at most -1e"):
        Implementation(leaks, mask_fill="-1e4")


@pytest.mark.thorough
def test_a_refusal_without_words_is_told() -> None:
    def stubborn(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        raise AssertionError

    look = look_at(stubborn)
    assert look.lines == ("no call of query, key and value was accepted: AssertionError without a message",)


def masks_after_the_softmax(q: Tensor, k: Tensor, v: Tensor, causal: bool = False) -> Tensor:
    weights = scores(q, k).softmax(-1)
    return (weights.tril() if causal else weights) @ v


def masks_with_zeros(q: Tensor, k: Tensor, v: Tensor, mask: forms.Mask = None) -> Tensor:
    s = scores(q, k)
    return (s if mask is None else s.masked_fill(~mask, 0.0)).softmax(-1) @ v


def ignores_its_flag(q: Tensor, k: Tensor, v: Tensor, is_causal: bool = False) -> Tensor:
    return forms.plain(q, k, v)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (masks_after_the_softmax, "its causal calls agree with a mask after the softmax"),
        (masks_with_zeros, "its calls with masks agree with masked scores of 0, which keep weight"),
        (ignores_its_flag, "its causal calls agree with no mask at all"),
    ],
)
def test_what_a_flag_or_a_mask_does_instead_is_named(function: Any, words: str) -> None:
    look = look_at(function)
    assert look.lines[-1] == f"agrees with softmax attention as it is declared in plain calls; {words}"


def mask_scaled_too(q: Tensor, k: Tensor, v: Tensor, mask: forms.Mask = None) -> Tensor:
    s = q @ k.mT
    if mask is not None:
        s = s.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else s + mask
    return (s / q.shape[-1] ** 0.5).softmax(-1) @ v


def mask_subtracted(q: Tensor, k: Tensor, v: Tensor, mask: forms.Mask = None) -> Tensor:
    s = scores(q, k)
    if mask is not None:
        s = s.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else s - mask
    return s.softmax(-1) @ v


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (mask_scaled_too, "a mask that is added is scaled as well"),
        (mask_subtracted, "a mask that is to be added is subtracted"),
    ],
)
def test_what_becomes_of_an_added_mask_is_named_and_not_left_out(function: Any, words: str) -> None:
    look = look_at(function)
    assert "masks" not in look.found and look.lines[-1].endswith(f"; {words}"), look


def test_inputs_that_are_written_into_are_told_and_the_answer_is_compared() -> None:
    def scales_in_place(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        out: Tensor = (q.mul_(q.shape[-1] ** -0.5) @ k.mT).softmax(-1) @ v
        return out

    look = look_at(scales_in_place, gradients=False)
    assert look.agrees and not look.found
    assert look.lines[-1] == "it writes into its inputs (query), which should stay as they are"


def test_a_target_of_one_query_is_looked_at_with_one_query() -> None:
    """Decoding kernels declare it; no look may say that they agree with nothing because nothing was asked."""
    look = look_at(forms.plain, sizes=SizeCondition("n_q == 1"))
    assert look.agrees and not look.found
    assert look.lines[-1] == "agrees with softmax attention as it is declared"
    wrong = look_at(lambda q, k, v: 1.01 * forms.plain(q, k, v), sizes=SizeCondition("n_q == 1"))
    assert not wrong.agrees
