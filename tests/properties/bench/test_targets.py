"""Targets of benchmarks.

Kernels in words become calls in their own conventions: layouts, polarity, flags, structure; or say why they cannot.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest
import torch

from attention_core.bench.targets import Call, CannotRun, load, prepare, read_target
from attention_core.bench.workloads.inputs import draw
from attention_core.bench.workloads.masks import read_mask
from attention_core.bench.workloads.workload import Workload
from attention_core.declaration.implementation import TargetError

KERNELS = """
import numpy, torch
from torch.nn.functional import scaled_dot_product_attention as sdpa

def plain(query, key, value):
    return sdpa(query, key, value)

def masked(query, key, value, mask=None):
    return sdpa(query, key, value, mask)

def ignoring(query, key, value, attn_mask=None):
    return sdpa(query, key, value, None if attn_mask is None else ~attn_mask)

def other_layout(query, key, value, is_causal=False):
    q, k, v = (x.transpose(1, 2) for x in (query, key, value))
    assert all(x.is_contiguous() for x in (query, key, value))
    return sdpa(q, k, v, is_causal=is_causal).transpose(1, 2)

def features_first(query, key, value, is_causal=False):
    return sdpa(*(x.mT for x in (query, key, value)), is_causal=is_causal).mT

def tokens_first(query, key, value, is_causal=False):
    out = sdpa(*(x.permute(1, 2, 0, 3) for x in (query, key, value)), is_causal=is_causal)
    return out.permute(2, 0, 1, 3)

def aligned_right(query, key, value, is_causal=False):
    n_q, n_kv = query.shape[-2], key.shape[-2]
    return sdpa(query, key, value, torch.ones(n_q, n_kv, dtype=torch.bool).tril(n_kv - n_q) if is_causal else None)

def with_weights(query, key, value):
    return sdpa(query, key, value), None

def in_numpy(query, key, value):
    s = query @ numpy.swapaxes(key, -1, -2) / query.shape[-1] ** 0.5
    p = numpy.exp(s - s.max(-1, keepdims=True))
    return p / p.sum(-1, keepdims=True) @ value

def build():
    return masked

def needs_scale(query, key, value, scale):
    return sdpa(query, key, value, scale=scale)
"""
SMALL = {"H": 4, "n_q": 5, "n_kv": 9, "d": 8}


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    path = tmp_path_factory.mktemp("targets") / "k.py"
    path.write_text(KERNELS)
    return lambda name: f"{path}:{name}"


def bound(text: str, workload: Workload) -> Call:
    named = read_target(text)
    return prepare(named, *load(named), draw(workload))


def same(text: str, workload: Workload) -> None:
    """The kernel's results are those of the reference, in the canonical layout."""
    got, want = bound(text, workload).results(), bound("core:dot_product", workload).results()
    assert set(got) == set(want)
    for name in want:
        torch.testing.assert_close(got[name], want[name])


@functools.cache
def masks() -> tuple[str, ...]:
    return ("none", "causal", "bool", "bias", "window:3", "segments:2+causal", "bias+causal")


@pytest.mark.parametrize("mask", masks())
@pytest.mark.parametrize("text", ["torch:default", "torch:math", "core:tiled", "auto", "auto:core:tiled", "torch:mha"])
def test_every_mask(text: str, mask: str) -> None:
    same(text, Workload(**SMALL, mask=read_mask(mask), direction="bwd"))


@pytest.mark.parametrize("text", ["torch:default", "core:dot_product", "auto"])
def test_grouped_heads_value_size_and_decoding(text: str) -> None:
    same(text, Workload(H=4, H_kv=2, n_q=1, n_kv=9, d=8, d_v=3, mask=read_mask("causal"), direction="bwd"))


@pytest.mark.parametrize("form", ["3d", "5d", "strided"])
@pytest.mark.parametrize("text", ["torch:default", "core:tiled", "auto"])
def test_other_forms_of_tensors(text: str, form: str) -> None:
    workload = Workload(**{**SMALL, "n_q": 9}, mask=read_mask("causal"), direction="bwd", form=form)
    same(text, workload)
    query = bound(text, workload).tensors[0]
    assert {"3d": query.ndim == 3, "5d": query.ndim == 5, "strided": query.stride(-1) == 2}[form]


@pytest.mark.parametrize("n_q", [9, 5, 1])
@pytest.mark.parametrize("name", ["masked", "ignoring@mask_true=ignore", "aligned_right@causal=bottom_right"])
def test_conventions_of_masks(kernel: Callable[[str], str], name: str, n_q: int) -> None:
    same(kernel(name), Workload(**{**SMALL, "n_q": n_q}, mask=read_mask("causal"), direction="bwd"))


@pytest.mark.parametrize("mask", ["none", "causal"])
@pytest.mark.parametrize("text", ["other_layout@layout=bnhd", "features_first@layout=bhdn", "tokens_first@layout=nbhd"])
def test_another_layout(kernel: Callable[[str], str], text: str, mask: str) -> None:
    workload = Workload(**{**SMALL, "n_q": 9}, mask=read_mask(mask), direction="bwd")
    same(kernel(text), workload)


@pytest.mark.parametrize(
    "name",
    ["with_weights@returns=out,weights,layout=bhnd", "in_numpy@array=numpy", "build@factory=true", "needs_scale"],
)
def test_other_forms(kernel: Callable[[str], str], name: str) -> None:
    same(kernel(name), Workload(**SMALL))


def test_a_kernel_by_name_is_held_to_its_own_accuracy() -> None:
    """Otherwise the suite would refute `auto:core:half_accuracy` for the rounding that it declares.

    And `auto`, whose window and choice of kernel no law would test, would be incomplete.
    """
    assert read_target("auto").implementation.window == "sides"
    assert read_target("auto").implementation.untested == ("kernel",)
    assert read_target("auto@untested=kernel,sinks").implementation.untested == ("kernel", "sinks")
    assert read_target("auto:core:half_accuracy").implementation.accumulate == "input"
    assert read_target("auto:core:tiled").implementation.accumulate == "float32"
    assert read_target("auto:core:half_accuracy@accumulate=float32").implementation.accumulate == "float32"
    assert read_target("auto:core:half_accuracy").implementation.arguments == {"kernel": "core:half_accuracy"}


def test_a_kernel_by_name_has_what_its_row_declares() -> None:
    assert read_target("auto:transformers:eager").implementation.dtypes == ("float32", "bfloat16", "float16")
    assert read_target("auto:torch:flex").implementation.gradients is False
    assert read_target("auto:torch:math").implementation.masked_nan == "propagates"


@pytest.mark.parametrize("direction", ["fwd", "bwd"])
@pytest.mark.parametrize("form", ["plain", "3d", "strided"])
def test_gradients_are_wanted_backward_alone(form: str, direction: str) -> None:
    """A forward pass that keeps a graph would be timed with what it does for it."""
    tensors = bound("torch:default", Workload(**SMALL, form=form, direction=direction)).tensors
    assert [t.requires_grad for t in tensors] == [direction == "bwd"] * 3


def test_structure_is_handed_over() -> None:
    call = bound("auto", Workload(**SMALL, mask=read_mask("window:3")))
    assert type(call.kwargs["mask"]).__name__ == "SlidingWindow"
    assert bound("torch:default", Workload(**SMALL, mask=read_mask("window:3"))).kwargs["attn_mask"].dtype == torch.bool


def test_causality_is_a_flag_where_it_may_be() -> None:
    square = Workload(H=2, n_q=4, n_kv=4, mask=read_mask("causal"))
    assert bound("torch:default", square).kwargs == {"is_causal": True}
    oblong = bound("torch:default", Workload(H=2, n_q=3, n_kv=4, mask=read_mask("causal"))).kwargs
    assert set(oblong) == {"attn_mask"}  # torch's own causality is aligned to the left
    assert bound("torch:default", Workload(H=2, n_q=1, n_kv=4, mask=read_mask("causal"))).kwargs == {}


REASONS: list[tuple[str, dict[str, Any], str]] = [
    ("plain", {"mask": read_mask("bool")}, "it claims no mask (a parameter attn_mask)"),
    ("plain", {"mask": read_mask("causal")}, "it claims no mask (a parameter attn_mask)"),  # no flag for 5 by 9
    ("plain", {"mask": read_mask("causal"), "n_q": 9}, "it claims no mask (a parameter attn_mask, or is_causal)"),
    ("plain", {"H": 4, "H_kv": 2}, "it does not claim grouped queries (a parameter enable_gqa)"),
    ("plain@dtypes=float64", {}, "it does not declare float32"),
    ("plain@sizes=d % 16 == 0", {"d": 8}, "it declares sizes d % 16 == 0"),
    ("plain@gradients=false", {"direction": "bwd"}, "it declares no gradients"),
    ("in_numpy@array=numpy", {"direction": "bwd"}, "it declares no gradients"),
    ("in_numpy@array=numpy", {"dtype": "bfloat16"}, "NumPy has no bfloat16"),
    ("plain@array=jax", {}, "jax arrays are not timed"),
]


@pytest.mark.parametrize(("name", "changes", "words"), REASONS)
def test_a_kernel_that_cannot_says_why(
    kernel: Callable[[str], str], name: str, changes: dict[str, Any], words: str
) -> None:
    with pytest.raises(CannotRun) as found:
        bound(kernel(name), Workload(**{**SMALL, **changes}))
    assert words in str(found.value)


def test_another_contract_is_not_attention() -> None:
    assert read_target("core:rotary").why_not(Workload()) == "its contract is rotary"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("nonsense", "target 'nonsense' is not understood"),
        ("torch:nothing", "no kernel 'torch:nothing' in the table; there are: torch:default"),
        ("auto:nothing", "unknown kernel 'nothing'; known are core:attention"),
        ("B=1,H=8,n=256,d=64", "is not a kernel: each value needs its own option, --shapes B=1,H=8,n=256,d=64"),
        ("GPT-2:256", "needs its own option, --shapes GPT-2:256"),
        ("causal+window:64", "needs its own option, --mask causal+window:64"),
        ("bfloat16", "needs its own option, --dtype bfloat16"),
        ("B=1,H=8,n=two", "target 'B=1,H=8,n=two' is not understood"),
        ("torch:flash@layout", "write TARGET@FIELD=VALUE"),
        ("torch:flash@colour=red", "no field 'colour'"),
        ("torch:flash@layout=upright", "layout='upright' is not one of bhnd, bnhd"),
    ],
)
def test_bad_names(text: str, words: str) -> None:
    with pytest.raises(TargetError) as found:
        read_target(text)
    assert words in str(found.value)


def test_the_same_seed_draws_the_same() -> None:
    first, again, other = draw(Workload(**SMALL)), draw(Workload(**SMALL)), draw(Workload(**SMALL, seed=1))
    assert torch.equal(first.query, again.query)
    assert not torch.equal(first.query, other.query)
    assert not torch.equal(first.key, first.value)
    assert first.cotangent is None and draw(Workload(**SMALL, direction="bwd")).query.requires_grad
