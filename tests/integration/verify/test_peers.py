"""attention_core.peers: adapters run what they name, agree with the truth, and findings are still found.

A finding that no longer shows is news as well: then docs/findings.md and the kernel table are out of date.
"""

from __future__ import annotations

import os
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.attention.flex_attention import create_block_mask, flex_attention
from torch.utils._python_dispatch import TorchDispatchMode

from attention_core.conformance import Implementation, TargetError, check_implementation
from attention_core.conformance.engine.session import Session, select_laws
from attention_core.conformance.engine.verify import verify_target
from attention_core.declaration.implementation import Unavailable
from attention_core.peers import torch_mha, torch_sdpa
from attention_core.registry.table import KERNELS, implementation, kernel
from attention_core.worker.target import load_target

PEERS = [
    row.name for row in KERNELS if ".peers." in row.origin and row.record.get("contract", "attention") == "attention"
]
ON_CUDA = {"torch:efficient", "torch:cudnn", "torch:flex_compiled"}
FLASH = "aten._scaled_dot_product_flash_attention_for_cpu.default"
# flex says on every first call that uncompiled it is slow; the adapter is about what it computes.
quiet_flex = pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile:UserWarning")
# torch's own compiler calls what torch deprecates; without one there is nothing to see.
deprecated = pytest.mark.filterwarnings("ignore:.torch.jit.script(_method)?. is deprecated:DeprecationWarning")
compiler = pytest.mark.skipif(not shutil.which(os.environ.get("CXX", "g++")), reason="no C++ compiler")

X = torch.ones(1, 1, 3, 1)
V = torch.tensor([1.0, 3.0, 8.0]).reshape(1, 1, 3, 1)
"""With equal scores, the means of the first one, two and three values are 1, 2 and 4."""
ALL = torch.ones(3, 3, dtype=torch.bool)


class Operators(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Writes down the operators that torch runs."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.seen: set[str] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen.add(str(func))
        return func(*args, **(kwargs or {}))


def loaded(name: str) -> Implementation:
    """A row with its function, or a skip with the reason it cannot run here."""
    try:
        return implementation(name).with_(function=load_target(kernel(name).origin))
    except Unavailable as reason:
        pytest.skip(str(reason))


def flat(out: Tensor) -> list[float]:
    """The numbers of an output for X and V."""
    return [float(x) for x in out.flatten()]


@pytest.mark.thorough(
    keep=("*-torch:default", "*-torch:mha", "*-transformers:sdpa")
)  # `tox run -e verify` has every row
@pytest.mark.slow
@quiet_flex
@pytest.mark.parametrize("name", PEERS)
@pytest.mark.parametrize("law", ["agrees_with_truth", "query_gradient_is_true"])
def test_adapters_obey_the_law(name: str, law: str) -> None:
    record = loaded(name)
    result = check_implementation(record, "quick", laws=[law]).laws[0]
    applies = record.gradients or law == "agrees_with_truth"
    assert result.status == ("held" if applies else "not_applicable"), result.message


@quiet_flex
@pytest.mark.parametrize(
    ("name", "law"), [(row.name, law) for row in KERNELS for law in row.known_failures if row.name in PEERS]
)
def test_saved_cases_show_the_known_failures(name: str, law: str) -> None:
    """Without the list of known failures the saved case refutes the kernel."""
    record = loaded(name)
    known: Any = record.known_failures[law]
    with Session(record.with_(known_failures={})) as session:
        result = session.replay(select_laws(session.laws, [law])[0], known.case)
    assert result.status == "refuted", result.message


@pytest.mark.parametrize("name", sorted(ON_CUDA))
@pytest.mark.skipif(torch.cuda.is_available(), reason="says what happens without a CUDA device")
def test_without_a_cuda_device_a_row_says_why_it_cannot_run(name: str) -> None:
    with pytest.raises(Unavailable, match="CUDA"):
        load_target(kernel(name).origin)


def test_an_import_that_fails_is_an_error_and_not_unavailable() -> None:
    with pytest.raises(TargetError, match="no module named"):
        load_target("attention_core.peers.nothing:at_all")


@quiet_flex
@pytest.mark.parametrize("name", [name for name in PEERS if name not in ON_CUDA])
def test_snippets_compute_what_the_adapter_computes(name: str) -> None:
    function, space = loaded(name).function, {}  # type: ignore[var-annotated]
    exec("import torch\n" + kernel(name).record["parameters"]["snippet"], space)
    torch.manual_seed(0)
    q, k, v = torch.randn(2, 2, 3, 4), torch.randn(2, 2, 5, 4), torch.randn(2, 2, 5, 4)
    for mask in (None, torch.rand(3, 5) < 0.7, torch.randn(2, 1, 3, 5)):
        ours, theirs = function(q, k, v, attn_mask=mask), space["attention"](q, k, v, attn_mask=mask)
        pairs = zip(ours, theirs, strict=True) if isinstance(ours, tuple) else [(ours, theirs)]
        assert all(torch.equal(a.nan_to_num(7.0), b.nan_to_num(7.0)) for a, b in pairs)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("options", [{}, {"is_causal": True}, {"attn_mask": ALL.tril()}, {"enable_gqa": True}], ids=str)
@pytest.mark.parametrize("grad", [False, True])
def test_flash_runs_flash_and_math_does_not(dtype: torch.dtype, options: dict[str, Any], grad: bool) -> None:
    q, k = torch.ones(2, 4, 3, 2, dtype=dtype), torch.ones(2, 4, 3, 2, dtype=dtype)
    k = k[:, :2] if "enable_gqa" in options else k
    for function, expected in ((torch_sdpa.flash, True), (torch_sdpa.math, False)):
        with Operators() as operators:
            function(q.requires_grad_(grad), k, k, **options)
        assert (FLASH in operators.seen) is expected, operators.seen


@pytest.mark.parametrize(
    "call",
    [
        lambda f: f(X[0], X[0], V[0]),
        lambda f: f(X, X, V.expand(1, 1, 3, 2).contiguous()),
        lambda f: f(X, X, V, ALL.float().requires_grad_()),
        lambda f: f(X, X, V, dropout_p=0.5),
        lambda f: f(X, X, V.expand(1, 1, 3, 1).as_strided((1, 1, 3, 1), (3, 3, 1, 0))),
    ],
    ids=["three axes", "d_v is not d", "gradient of the mask", "dropout", "value without stride"],
)
def test_what_flash_cannot_take_it_refuses_and_default_hands_to_another(call: Callable[[Any], Any]) -> None:
    with warnings.catch_warnings():  # torch says why in warnings before it raises
        warnings.simplefilter("ignore")
        with pytest.raises(RuntimeError, match="No available kernel"):
            call(torch_sdpa.flash)
    with Operators() as operators:
        call(torch_sdpa.default)
    assert FLASH not in operators.seen


def test_finding_1_flash_counts_keys_by_the_values() -> None:
    """Two keys of which the value has one: torch raises nowhere, and reads past the key in the other case."""
    keys = torch.ones(1, 1, 3, 1)
    assert flat(torch_sdpa.default(X, keys, V[:, :, :1])) == [1.0, 1.0, 1.0]
    with pytest.raises(RuntimeError, match="Expected size"):
        torch_sdpa.math(X, keys, V[:, :, :1])


@pytest.mark.parametrize("scale", [-1.0, 0.0])
def test_finding_2_flash_masks_before_it_scales(scale: float) -> None:
    got = flat(torch_sdpa.flash(X, X, V, is_causal=True, scale=scale))
    assert [x != x for x in got] == [True, True, False]
    assert flat(torch_sdpa.flash(X, X, V, attn_mask=ALL.tril(), scale=scale)) == [1.0, 2.0, 4.0]
    assert flat(torch_sdpa.math(X, X, V, is_causal=True, scale=scale)) == [1.0, 2.0, 4.0]


@pytest.mark.parametrize("bad", ["nan", "inf"])
def test_finding_3_flash_turns_garbage_to_zeros_where_keys_are_few(bad: str) -> None:
    query = torch.full((1, 1, 1, 1), float(bad))
    mixed = torch.tensor([0.0, 1.0, -1.0]).reshape(1, 1, 3, 1)  # infinity * 0 is NaN
    assert flat(torch_sdpa.default(query, 0 * X, V)) == [0.0]
    assert all(x != x for x in flat(torch_sdpa.math(query, mixed, V)))
    many = torch.zeros(1, 1, 64, 1)
    assert all(x != x for x in flat(torch_sdpa.flash(query, many, many)))


@quiet_flex
def test_finding_4_flex_has_no_answer_to_empty_calls() -> None:
    flex = load_target(kernel("torch:flex").origin)
    with pytest.raises(IndexError):
        flex(X, X[:, :, :0], V[:, :, :0])
    with pytest.raises(RuntimeError, match="INTERNAL ASSERT"):
        flex(X[:, :, :0], X[:, :, :1], V[:, :, :1], attn_mask=ALL[:1, :1])
    assert flat(torch_sdpa.default(X, X[:, :, :0], V[:, :, :0])) == [0.0, 0.0, 0.0]


@pytest.mark.thorough
@deprecated
@compiler
def test_finding_17_flex_compiled_for_the_cpu_turns_nan_to_zeros() -> None:
    flex = torch.compile(lambda *given, **options: flex_attention(*given, **options), dynamic=False)
    x = torch.ones(1, 1, 3, 16)
    query = x.clone()
    query[0, 0, 0] = torch.nan
    assert flex(query, x, x)[0, 0, :, 0].tolist() == [0.0, 1.0, 1.0]
    assert torch_sdpa.math(query, x, x)[0, 0, 0].isnan().all()


@pytest.mark.thorough  # it compiles twice
@deprecated
@compiler
@pytest.mark.skipif(
    not torch.cpu._is_amx_tile_supported() or "ONEDNN_MAX_CPU_ISA" in os.environ,
    reason="this processor has no AMX, or it is turned off",
)
def test_finding_18_odd_blocks_of_bfloat16_are_garbage() -> None:
    """Outputs are below 4 and off by some roundings of 2^-8; the other block is far from them, or no number."""
    flex = torch.compile(lambda *given, **options: flex_attention(*given, **options), dynamic=False)
    x = torch.randn(1, 1, 128, 16, generator=torch.Generator().manual_seed(1)).bfloat16()
    wanted = torch_sdpa.math(x, x, x, is_causal=True)

    def distance(block: int) -> float:
        blocks = create_block_mask(lambda b, h, i, j: j <= i, 1, 1, 128, 128, device="cpu", BLOCK_SIZE=block)
        return float((flex(x, x, x, block_mask=blocks) - wanted).abs().nan_to_num(9).max())

    assert distance(32) < 0.05
    assert distance(33) > 1


def test_finding_6_default_takes_mask_and_causal_together_where_flash_can() -> None:
    assert flat(torch_sdpa.default(X, X, V, attn_mask=ALL, is_causal=True)) == [1.0, 2.0, 4.0]
    with pytest.raises(RuntimeError, match="attn_mask should not be set"):
        torch_sdpa.default(X, X, V.expand(1, 1, 3, 2).contiguous(), attn_mask=ALL, is_causal=True)


def test_finding_7_multihead_attention_drops_the_mask_or_causality() -> None:
    module, x, v = torch_mha.identity_module(1, 1, X), X[0], V[0]
    last = torch.tensor([[True, False, False]]).expand(3, 3)  # True: may not attend
    both: Any = {"attn_mask": last, "is_causal": True}
    assert flat(module(x, x, v, **both, need_weights=False)[0]) == [1.0, 2.0, 4.0]  # the mask is dropped
    assert flat(module(x, x, v, **both, need_weights=True)[0]) == [5.5, 5.5, 5.5]  # causality is dropped


def test_finding_7_multihead_attention_without_a_key_depends_on_need_weights() -> None:
    module, x, v = torch_mha.identity_module(1, 1, X), X[0], V[0]
    assert flat(module(x, x, v, attn_mask=ALL, need_weights=False)[0]) == [0.0, 0.0, 0.0]
    assert all(x != x for x in flat(module(x, x, v, attn_mask=ALL, need_weights=True)[0]))


def test_finding_8_transformers_adds_a_bool_mask_to_the_scores() -> None:
    from transformers.models.llama.modeling_llama import eager_attention_forward

    module = SimpleNamespace(num_key_value_groups=1, training=False)
    added = torch.softmax(ALL.tril().float(), -1) @ V[0, 0]
    got = eager_attention_forward(module, 0 * X, X, V, ALL.tril(), 1.0)[0]
    assert flat(got) == flat(added) != [1.0, 2.0, 4.0]


def test_finding_8_transformers_computes_a_float64_softmax_in_float32() -> None:
    from transformers.models.llama.modeling_llama import eager_attention_forward

    module = SimpleNamespace(num_key_value_groups=1, training=False)
    x = torch.zeros(1, 1, 3, 1, dtype=torch.float64)
    weights = eager_attention_forward(module, x, x, x, None, 1.0)[1]
    assert weights.dtype == torch.float64
    # 1/3 rounded to float32, which no float64 softmax returns.
    assert set(flat(weights)) == {float(torch.tensor(1 / 3, dtype=torch.float32))}


def test_finding_9_transformers_reads_causality_off_the_call() -> None:
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    def sdpa(query: Tensor, mask: Tensor | None = None, **options: Any) -> list[float]:
        return flat(sdpa_attention_forward(SimpleNamespace(), query, X, V, mask, **options)[0])

    assert sdpa(X, is_causal=True) == [1.0, 2.0, 4.0]
    assert sdpa(X) == [1.0, 2.0, 4.0]  # causal unless the module or the call says otherwise
    assert sdpa(X, ALL[None, None], is_causal=True) == [4.0, 4.0, 4.0]  # not with a mask
    assert sdpa(X[:, :, :1], is_causal=True) == [4.0]  # one query is the last position,
    assert sdpa(X[:, :, :2], is_causal=True) == [1.0, 2.0]  # two are the first two


def rows_of_nan(dtype: torch.dtype, inner: int) -> list[int]:
    """Which rows of a product hold NaN, where row 46 of its first factor does."""
    weights = torch.zeros(59, inner, dtype=dtype)
    weights[46] = torch.nan
    product = weights @ torch.zeros(inner, 10, dtype=dtype)
    return [int(row) for row in product.isnan().any(-1).nonzero()]


def test_finding_16_bfloat16_products_carry_nan_into_the_row_before() -> None:
    assert rows_of_nan(torch.float32, 7) == rows_of_nan(torch.bfloat16, 8) == [46]
    if not torch.cpu._is_amx_tile_supported() or "ONEDNN_MAX_CPU_ISA" in os.environ:
        assert rows_of_nan(torch.bfloat16, 7) == [46]
        pytest.skip("this processor has no AMX, or it is turned off")
    assert rows_of_nan(torch.bfloat16, 7) == [45, 46]


def test_verify_hands_on_which_code_runs_on_this_processor(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Else nobody could tell with `verify` whether it is the processor's code that is wrong."""
    (tmp_path / "tells.py").write_text(
        "import os\n\ndef tells(query, key, value):\n    raise RuntimeError(os.environ.get('ONEDNN_MAX_CPU_ISA'))\n"
    )
    monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", "AVX2")
    report = verify_target(
        f"{tmp_path}/tells.py:tells",
        {"array": "numpy", "gradients": False},
        laws=["agrees_with_truth"],
        effort="quick",
        shrink=False,
    )
    (found,) = report.laws
    assert "RuntimeError: AVX2" in found.message
