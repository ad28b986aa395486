"""attention_core.variants.flex: structured masks by the kernel that torch generates for them."""

from __future__ import annotations

import os
import shutil

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_core import attention
from attention_core.bench.targets import read_target
from attention_core.dot_product import dot_product_attention
from attention_core.masking import Mask, causal, padding, prefix, segments, sliding_window
from attention_core.variants import flex
from attention_core.variants.flex import flex_structured_attention, flex_written
from tests.properties.mask_trees import SIZES, B, masks
from tests.properties.test_block_sparse import inputs

CPU = torch.device("cpu")
compiler = pytest.mark.skipif(not shutil.which(os.environ.get("CXX", "g++")), reason="no C++ compiler")
# torch's own compiler calls what torch deprecates.
quiet = pytest.mark.filterwarnings("ignore:.torch.jit.script_method. is deprecated:DeprecationWarning")


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


@compiler
@quiet
def test_the_generated_kernel_computes_masks_of_every_kind() -> None:
    """Float32, |o| <= 4, scores below 48 after scaling: 70 terms differ by less than 4 * (70 + 2 * 48) * 2^-23 = 8e-5."""
    n = 70
    q, k, v = (x.detach().float() for x in inputs(n, n, 3))
    ids = torch.tensor([[0] * 20 + [1] * 50, [3] * 41 + [4] * 29])
    kinds: list[Mask] = [
        causal(), sliding_window(5), prefix(7),
        segments(ids), segments(ids) & causal(), padding([0, 33]) & sliding_window(9),  # a sequence without a key
        segments(ids.roll(9, 1)) | sliding_window(3),  # its documents lie in two runs: pairs are asked for
    ]  # fmt: skip
    with torch.no_grad():
        for mask in kinds:
            out = attention(q, k, v, mask, kernel="core:flex")
            wanted = dot_product_attention(q.double(), k.double(), v.double(), mask.dense(n, n), enable_gqa=True)
            torch.testing.assert_close(out.double(), wanted, rtol=0, atol=8e-5)
        written = flex_written(q, k, v, by_heads(n), enable_gqa=True, block=16)
    wanted = dot_product_attention(q.double(), k.double(), v.double(), by_heads(n), enable_gqa=True)
    torch.testing.assert_close(written.double(), wanted, rtol=0, atol=8e-5)


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


@quiet
def test_more_sizes_than_torch_compiles_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Torch gives up at its eighth kernel. A backend that runs what it is given stands for the compiler."""
    eager = torch.compile(flex.torch_flex.flex_attention, backend="eager", dynamic=False, fullgraph=True)
    monkeypatch.setattr(flex, "_generated", lambda: eager)
    with torch.no_grad():
        for n in range(16, 28):
            x = torch.zeros(1, 1, n, 16)
            assert torch.equal(flex_structured_attention(x, x, x, causal()), x)


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


def test_empty_calls_and_calls_without_a_mask() -> None:
    x = torch.ones(1, 1, 3, 4)
    assert attention(x[:, :, :0], x, x, causal(), kernel="core:flex").shape == (1, 1, 0, 4)
    assert torch.equal(attention(x, x[:, :, :0], x[:, :, :0], kernel="core:flex"), torch.zeros_like(x))
    assert torch.equal(flex_structured_attention(x, x, x, None, compiled=False), x)


def test_bench_judges_it_uncompiled_and_times_it_compiled() -> None:
    row, public = read_target("core:flex"), read_target("auto:core:flex")
    assert row.target == public.target == "core:flex"
    assert row.implementation.arguments == {}
    assert public.implementation.arguments == {"kernel": "core:flex"}
    assert public.structured
    assert read_target("auto:core:flex@returns=out", "cuda").fields == {"returns": "out", "device": "cuda"}
    assert not public.implementation.gradients
    assert read_target("auto:core:fused").target == "attention_core:attention"
