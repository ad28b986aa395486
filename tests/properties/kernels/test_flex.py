"""attention_core.kernels.flex: structured masks by the kernel that torch generates for them."""

from __future__ import annotations

import os
import shutil
import threading
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.autograd import forward_ad

from attention_core import attention
from attention_core.bench.targets import read_target
from attention_core.kernels import flex
from attention_core.kernels.dot_product import dot_product_attention
from attention_core.kernels.flex import flex_structured_attention, flex_written
from attention_core.masking import Mask, causal, padding, prefix, segments, sliding_window
from tests.properties.kernels.test_block_sparse import inputs
from tests.properties.mask_trees import SIZES, B, masks

CPU = torch.device("cpu")
compiler = pytest.mark.skipif(not shutil.which(os.environ.get("CXX", "g++")), reason="no C++ compiler")
# torch's own compiler calls what torch deprecates.
quiet = pytest.mark.filterwarnings("ignore:.torch.jit.script(_method)?. is deprecated:DeprecationWarning")


@settings(deadline=None, max_examples=60)
@given(st.data(), SIZES, st.integers(1, 12), st.integers(0, 99))
def test_outputs_are_those_of_the_dense_mask(
    data: st.DataObject, sizes: tuple[int, int], block: int, seed: int
) -> None:
    """Uncompiled, float64: |o| <= 4 and scores below 28, so that 24 terms differ by less than 4 * 24 * 60 u = 1e-12."""
    mask = data.draw(masks(*sizes))
    q, k, v = (x.detach() for x in inputs(*sizes, seed))
    dense = mask.dense(*sizes)
    wanted = dot_product_attention(q, k, v, dense, enable_gqa=True)
    for out in (
        flex_structured_attention(q, k, v, mask, block=block, compiled=False),
        flex_written(q, k, v, dense, enable_gqa=True, block=block, compiled=False),
    ):
        torch.testing.assert_close(out, wanted, rtol=0, atol=1e-11)


def by_heads(n: int) -> torch.Tensor:
    """A written mask that differs between heads: (B, 4, n, n)."""
    return torch.rand(B, 4, n, n, generator=torch.Generator().manual_seed(1)) < 0.5


IDS = torch.tensor([[0] * 20 + [1] * 50, [3] * 41 + [4] * 29])
KINDS: dict[str, Mask] = {
    "causal": causal(), "window": sliding_window(5), "prefix": prefix(7), "segments": segments(IDS),
    "causal_segments": segments(IDS) & causal(),
    "a_sequence_without_a_key": padding([0, 33]) & sliding_window(9),
    "asked_by_pairs": segments(IDS.roll(9, 1)) | sliding_window(3),  # its documents lie in two runs
}  # fmt: skip


@pytest.mark.thorough
@compiler
@quiet
@pytest.mark.parametrize("kind", KINDS)
def test_the_generated_kernel_computes_masks_of_every_kind(kind: str) -> None:
    """Float32, |o| <= 4, scores below 48 after scaling: 70 terms differ by less than 4 * (70 + 2 * 48) * 2^-23 = 8e-5.

    Each kind is compiled, some seconds of g++; uncompiled, every tree of masks is tried above.
    """
    n, mask = 70, KINDS[kind]
    q, k, v = (x.detach().float() for x in inputs(n, n, 3))
    with torch.no_grad():
        out = attention(q, k, v, mask, kernel="core:flex")
    wanted = dot_product_attention(q.double(), k.double(), v.double(), mask.dense(n, n), enable_gqa=True)
    torch.testing.assert_close(out.double(), wanted, rtol=0, atol=8e-5)


@pytest.mark.thorough
@compiler
@quiet
def test_the_generated_kernel_computes_written_masks() -> None:
    n = 70
    q, k, v = (x.detach().float() for x in inputs(n, n, 3))
    with torch.no_grad():
        written = flex_written(q, k, v, by_heads(n), enable_gqa=True, block=16)
    wanted = dot_product_attention(q.double(), k.double(), v.double(), by_heads(n), enable_gqa=True)
    torch.testing.assert_close(written.double(), wanted, rtol=0, atol=8e-5)


@pytest.mark.thorough
@compiler
@quiet
def test_the_generated_kernel_does_not_read_what_no_block_holds() -> None:
    q, k, v = torch.ones(1, 1, 64, 16), torch.ones(1, 1, 64, 16), torch.ones(1, 1, 64, 16)
    v[..., 16:48, :] = torch.nan
    ids = [[0] * 16 + [1] * 32 + [2] * 16]
    with torch.no_grad():
        out = flex_structured_attention(q, k, v, segments(ids), block=16)
    assert torch.isfinite(out[..., :16, :]).all()
    assert torch.isfinite(out[..., 48:, :]).all()
    assert torch.isnan(out[..., 16:48, :]).all()


def calls_of_own_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """torch.compile with a backend that runs what it is given, in place of a compiler."""
    real = torch.compile
    monkeypatch.setattr(torch, "compile", lambda function, **options: real(function, backend="eager", **options))
    monkeypatch.setattr(flex, "KERNELS", {})


@pytest.mark.thorough
def test_more_forms_of_call_than_torch_compiles_of_one_function(monkeypatch: pytest.MonkeyPatch) -> None:
    """Torch gives up at the ninth kernel of a code object: nine sizes, and nine scales of one size."""
    calls_of_own_code(monkeypatch)
    for n in range(16, 28):
        x = torch.zeros(1, 1, n, 16)
        assert torch.equal(flex_structured_attention(x, x, x, causal()), x)
    for scale in range(12):
        x = torch.zeros(1, 1, 16, 16)
        assert torch.equal(flex_structured_attention(x, x, x, causal(), scale / 8), x)
    assert len(flex.KERNELS) == 12
    monkeypatch.setattr(flex, "MOST", 3)
    flex_structured_attention(x, x, x[..., :8], None)
    assert len(flex.KERNELS) == 3


@pytest.fixture
def dynamo() -> Iterator[None]:
    """What a test does to torch's own function is undone."""
    yield
    torch._dynamo.reset()


@pytest.mark.thorough
def test_the_limit_of_others_is_not_ours(monkeypatch: pytest.MonkeyPatch, dynamo: None) -> None:
    """Whoever compiles torch's function beyond its limit gets it uncompiled from then on, with n x n scores."""
    theirs = torch.compile(flex.torch_flex.flex_attention, backend="eager", dynamic=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n in range(16, 28):
            theirs(*[torch.zeros(1, 1, n, 16)] * 3)
    compiled: list[int] = []
    real = torch.compile

    def backend(graph: torch.fx.GraphModule, inputs: list[torch.Tensor]) -> object:
        compiled.append(1)
        return graph.forward

    monkeypatch.setattr(torch, "compile", lambda function, **options: real(function, backend=backend, **options))
    monkeypatch.setattr(flex, "KERNELS", {})
    x = torch.zeros(1, 1, 40, 16)
    assert torch.equal(flex_structured_attention(x, x, x, causal()), x)
    assert compiled


def test_what_it_cannot_do_is_refused() -> None:
    x = torch.ones(3, 1, 8, 4, requires_grad=True)
    with pytest.raises(NotImplementedError, match="no gradients on a processor: use kernel='core:block_sparse'"):
        attention(x, x, x, causal(), kernel="core:flex")
    wide = torch.ones(3, 1, 8, 4, dtype=torch.float64)
    with pytest.raises(NotImplementedError, match="no float64 on a processor"):
        attention(wide, wide, wide, causal(), kernel="core:flex")
    with pytest.raises(ValueError, match=r"a mask of 2 sequences does not broadcast to the scores \(3, 1, 8, 8\)"):
        attention(x, x, x, padding([1, 2]), kernel="core:flex")
    with pytest.raises(ValueError, match="head size"):
        attention(x, x[..., :2], x, causal(), kernel="core:flex")


@pytest.mark.parametrize("block", [0, -2, 7, 2.5, True])
def test_blocks_are_even_numbers(block: Any) -> None:
    x = torch.ones(1, 1, 8, 4)
    with pytest.raises(ValueError, match=f"block must be .*, got {block}"):
        flex_structured_attention(x, x, x, causal(), block=block)
    with pytest.raises(ValueError, match=f"block must be .*, got {block}"):
        flex_written(x, x, x, is_causal=True, block=block)


@quiet
def test_forward_derivatives_are_refused() -> None:
    x = torch.ones(1, 1, 8, 4)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, x)
        with pytest.raises(NotImplementedError, match="no forward-mode derivatives"):
            flex_structured_attention(x, dual, x, causal())


def test_without_a_compiler_it_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    from torch._inductor.exc import InductorError  # brings in a second's worth of torch's compiler

    def missing(*_: object, **__: object) -> torch.Tensor:
        raise InductorError(RuntimeError("No working C++ compiler found"), first_useful_frame=None)

    monkeypatch.setattr(flex, "KERNELS", {})
    monkeypatch.setattr(torch, "compile", lambda *_, **__: missing)
    x = torch.ones(1, 1, 8, 4)
    with pytest.raises(RuntimeError, match=r"wants a C\+\+ compiler .*: use kernel='core:block_sparse'"):
        flex_structured_attention(x, x, x, causal())


def test_parameters_may_be_given_where_no_gradient_is_wanted() -> None:
    x = torch.nn.Parameter(torch.zeros(1, 1, 3, 4))
    with torch.no_grad():
        assert torch.equal(flex_structured_attention(x, x, x, causal(), compiled=False), x)
    with torch.inference_mode():
        assert torch.equal(flex_structured_attention(x, x, x, causal(), compiled=False), x)


@pytest.mark.parametrize("kernel", ["core:flex", "core:block_sparse"])
def test_heads_without_channels_weigh_what_the_mask_leaves(kernel: str) -> None:
    """Scores of no channel are all 0: outputs are the means so far."""
    value = torch.tensor([1.0, 3.0, 8.0]).reshape(1, 1, 1, 3, 1).expand(2, 1, 2, 3, 1)
    nothing = value[..., :0]
    for mask in (causal(), causal().dense(3, 3)):
        out = attention(nothing, nothing, value, mask, kernel=kernel)
        assert torch.equal(out, torch.tensor([1.0, 2.0, 4.0]).reshape(3, 1).expand(2, 1, 2, 3, 1))
    assert torch.equal(attention(nothing[0], nothing[0], value[0], causal(), kernel=kernel), out[0])


@pytest.mark.parametrize("kernel", ["core:flex", "core:block_sparse"])
@pytest.mark.parametrize("mask", [padding([99, 1]), segments([[1, 2]]), padding([1, 2, 3]), padding([])])
def test_masks_that_do_not_fit_are_refused_by_empty_calls_too(kernel: str, mask: Mask) -> None:
    x = torch.ones(2, 1, 8, 4)
    for query in (x, x[:, :, :0]):
        with pytest.raises(ValueError, match=r"exceeds|do not cover|does not broadcast"):
            attention(query, x, x, mask, kernel=kernel)


def test_empty_calls_and_calls_without_a_mask() -> None:
    x = torch.ones(1, 1, 3, 4)
    assert attention(x[:, :, :0], x, x, causal(), kernel="core:flex").shape == (1, 1, 0, 4)
    assert torch.equal(attention(x, x[:, :, :0], x[:, :, :0], kernel="core:flex"), torch.zeros_like(x))
    assert torch.equal(flex_structured_attention(x, x, x, None, compiled=False), x)


def test_written_masks_and_causality_and_numbers() -> None:
    """Equal scores: every row is the mean of what it attends to. Numbers that are added go to another kernel."""
    x, v = torch.zeros(1, 1, 3, 1), torch.tensor([1.0, 3.0, 8.0]).reshape(1, 1, 3, 1)
    last = torch.tensor([[True, True, True], [False, True, True], [True, True, True]])
    out = flex_written(x, x, v, last, is_causal=True, compiled=False)
    assert out.flatten().tolist() == [1.0, 3.0, 4.0]
    numbers = torch.zeros(3, 3).masked_fill(~last, -torch.inf)
    assert flex_written(x, x, v, numbers, is_causal=True, compiled=False).flatten().tolist() == [1.0, 3.0, 4.0]
    with pytest.raises(ValueError, match="does not broadcast"):
        flex_written(x, x, v, last[:, :2], compiled=False)


def test_scale_may_be_a_number_of_numpy_or_a_tensor() -> None:
    """A scale of 0 makes the scores equal; exp(-104) is 0 in float32."""
    x, v = torch.tensor([[[[0.0], [4.0]]]]), torch.tensor([[[[1.0], [3.0]]]])
    for zero, much in ((np.float64(0), np.float32(26)), (torch.tensor(0.0), torch.tensor(26))):
        assert flex_structured_attention(x, x, v, None, zero, compiled=False)[0, 0, 1] == 2  # type: ignore[arg-type]
        assert flex_structured_attention(x, x, v, None, much, compiled=False)[0, 0, 1] == 3  # type: ignore[arg-type]


def test_kernels_are_given_plain_numbers_and_the_dtype_of_autocast(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tensor as scale does not compile."""
    given: list[Any] = []

    def kernel(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, **options: Any) -> torch.Tensor:
        given.append((type(options["scale"]), query.dtype, key.dtype, value.dtype))
        return query

    monkeypatch.setattr(flex, "KERNELS", {})
    monkeypatch.setattr(torch, "compile", lambda *_, **__: kernel)
    x = torch.ones(1, 1, 3, 4)
    with torch.autocast("cpu", torch.bfloat16):
        flex_structured_attention(x, x, x, causal(), torch.tensor(0.5))  # type: ignore[arg-type]
    assert given == [(float, *[torch.bfloat16] * 3)]


def test_threads_leave_torchs_switch_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flex.torch_flex, "_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG", False)
    x = torch.ones(1, 1, 3, 4)
    inside: list[int] = []

    def call() -> None:
        inside.extend(len(flex_structured_attention(x, x, x, causal(), compiled=False)) for _ in range(20))

    threads = [threading.Thread(target=call) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(inside) == 160
    assert flex.torch_flex._FLEX_ATTENTION_DISABLE_COMPILE_DEBUG is False


def test_bench_judges_it_uncompiled_and_times_it_compiled() -> None:
    row, public = read_target("core:flex"), read_target("auto:core:flex")
    assert row.target == public.target == "core:flex"
    assert row.implementation.arguments == {}
    assert public.implementation.arguments == {"kernel": "core:flex"}
    assert public.structured
    assert read_target("auto:core:flex@returns=out", "cuda").fields == {"returns": "out", "device": "cuda"}
    assert not public.implementation.gradients
    assert read_target("auto:core:fused").target == "attention_core:attention"
