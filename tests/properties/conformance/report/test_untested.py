"""No parameter of a target passes in silence: each is tested, bound, refused or named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from attention_core.conformance import Implementation, check_implementation
from attention_core.conformance.cases.draw import draw
from attention_core.conformance.cases.space import Space
from attention_core.conformance.contracts import contracts
from attention_core.conformance.engine.session import Session, select_laws
from attention_core.conformance.laws.features import draw_features
from attention_core.conformance.report.results import Report
from attention_core.conformance.report.untested import (
    PARTS,
    RecordingRunner,
    fates_of,
    join,
    silent_parameters,
    what_to_do,
)
from attention_core.conformance.worker.bound_parameters import named_parameters
from attention_core.conformance.worker.exchange import Response
from attention_core.declaration.features import FEATURES
from attention_core.declaration.implementation import TargetError
from attention_core.kernels.dot_product import dot_product_attention
from attention_core.registry.table import KERNELS, implementation

pytestmark = pytest.mark.usefixtures("fewest_cases")

LAWS = ("agrees_with_truth", "full_dropout_gives_zeros")
"""Two laws whose calls give every parameter of the contract a value of its own."""
INPUTS = {"query", "key", "value", "q", "k", "v", "Q", "K", "V"}


def stub(signature: str) -> Callable[..., Any]:
    """A function of exactly this signature that answers with zeros of the right shape."""
    space: dict[str, Any] = {"torch": torch}
    exec(f"def target({signature}):\n    return answer(locals())\n", space)  # texts of this file alone

    def three(given: dict[str, Any]) -> Tensor:
        q, _, v = [value for name, value in given.items() if name != "module"][:3]
        return torch.zeros(*q.shape[:-1], v.shape[-1], dtype=q.dtype)

    space["answer"] = three
    made: Callable[..., Any] = space["target"]
    return made


# name, signature, arguments of --arg, what is tested beside the inputs, what is named; or the words of an error.
SIGNATURES: list[tuple[str, str, dict[str, Any], str, str]] = [
    ("torch.scaled_dot_product_attention",
     "query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False", {},
     "attn_mask dropout_p is_causal scale enable_gqa", ""),
    ("flash_attn_func",
     "q, k, v, dropout_p=0.0, softmax_scale=None, causal=False, window_size=(-1, -1), softcap=0.0, alibi_slopes=None, "
     "deterministic=False, return_attn_probs=False", {"return_attn_probs": False},
     "dropout_p softmax_scale causal window_size softcap alibi_slopes", "deterministic"),
    ("flash_attn_varlen_func",
     "q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, dropout_p=0.0, softmax_scale=None, "
     "causal=False, window_size=(-1, -1), softcap=0.0, alibi_slopes=None, block_table=None", {},
     "error", "cu_seqlens_q cu_seqlens_k max_seqlen_q max_seqlen_k"),
    ("flash_attn_with_kvcache",
     "q, k_cache, v_cache, k=None, v=None, rotary_cos=None, rotary_sin=None, cache_seqlens=None, cache_batch_idx=None, "
     "cache_leftpad=None, block_table=None, softmax_scale=None, causal=False, window_size=(-1, -1), softcap=0.0, "
     "rotary_interleaved=True, alibi_slopes=None, num_splits=0, return_softmax_lse=False", {},
     "softmax_scale causal cache_seqlens window_size softcap alibi_slopes",
     "k v rotary_cos rotary_sin cache_batch_idx cache_leftpad block_table rotary_interleaved num_splits "
     "return_softmax_lse"),
    ("flash_attn_interface (3)",
     "q, k, v, softmax_scale=None, causal=False, qv=None, q_descale=None, k_descale=None, v_descale=None, "
     "window_size=(-1, -1), attention_chunk=0, softcap=0.0, num_splits=1, pack_gqa=None, deterministic=False, "
     "sm_margin=0, sinks=None", {},
     "softmax_scale causal window_size softcap sinks",
     "qv q_descale k_descale v_descale attention_chunk num_splits pack_gqa deterministic sm_margin"),
    ("xformers.memory_efficient_attention",
     "query, key, value, attn_bias=None, p=0.0, scale=None, *, op=None, output_dtype=None", {},
     "scale", "attn_bias p op output_dtype"),
    ("flex_attention",
     "query, key, value, score_mod=None, block_mask=None, scale=None, enable_gqa=False, return_lse=False, "
     "kernel_options=None, *, return_aux=None", {"return_lse": False},
     "scale enable_gqa", "score_mod block_mask kernel_options return_aux"),
    ("torch varlen_attn",
     "query, key, value, cu_seq_q, cu_seq_k, max_q, max_k, is_causal=False, return_aux=None", {},
     "error", "cu_seq_q cu_seq_k max_q max_k"),
    ("transformers attention_interface",
     "module, query, key, value, attention_mask, scaling=None, dropout=0.0, **kwargs", {},
     "attention_mask scaling dropout", ""),
    ("vllm unified_attention", "query, key, value, layer_name", {"layer_name": "layer.0"}, "", ""),
    ("vllm triton unified_attention",
     "q, k, v, out, cu_seqlens_q, max_seqlen_q, seqused_k, max_seqlen_k, softmax_scale, causal, window_size, "
     "block_table, softcap, q_descale, k_descale, v_descale, alibi_slopes=None, sinks=None", {},
     "error",
     "out cu_seqlens_q max_seqlen_q max_seqlen_k window_size block_table softcap q_descale k_descale v_descale"),
    ("sglang extend_attention_fwd",
     "q_extend, k_extend, v_extend, o_extend, k_buffer, v_buffer, qo_indptr, kv_indptr, kv_indices, custom_mask, "
     "is_causal, mask_indptr, max_len_extend, sm_scale=None, logit_cap=0.0, skip_prefix_custom_mask=True, "
     "sliding_window_size=-1, sinks=None", {},
     "error",
     "o_extend k_buffer v_buffer qo_indptr kv_indptr kv_indices custom_mask mask_indptr max_len_extend"),
    ("sglang decode_attention_fwd",
     "q, k_buffer, v_buffer, o, kv_indptr, kv_indices, attn_logits, attn_lse, num_kv_splits, max_kv_splits, sm_scale, "
     "logit_cap=0.0, sinks=None", {},
     "error", "o kv_indptr kv_indices attn_logits attn_lse num_kv_splits max_kv_splits"),
    ("flashinfer.single_prefill_with_kv_cache",
     "q, k, v, scale_q=None, scale_k=None, scale_v=None, o_dtype=None, custom_mask=None, packed_custom_mask=None, "
     "causal=False, kv_layout='NHD', pos_encoding_mode='NONE', use_fp16_qk_reduction=False, sm_scale=None, "
     "window_left=-1, logits_soft_cap=None, rope_scale=None, rope_theta=None, backend='auto', return_lse=False",
     {"kv_layout": "NHD"},
     "causal sm_scale window_left logits_soft_cap",
     "scale_q scale_k scale_v o_dtype custom_mask packed_custom_mask pos_encoding_mode use_fp16_qk_reduction "
     "rope_scale rope_theta backend return_lse"),
    ("fla chunk_gla",
     "q, k, v, g, scale=None, initial_state=None, output_final_state=False, cu_seqlens=None", {},
     "error", "g"),
    ("onnx Attention",
     "Q, K, V, attn_mask=None, past_key=None, past_value=None, nonpad_kv_seqlen=None, is_causal=0, kv_num_heads=None, "
     "q_num_heads=None, qk_matmul_output_mode=0, scale=None, softcap=0.0, softmax_precision=None", {},
     "attn_mask is_causal scale nonpad_kv_seqlen softcap",
     "past_key past_value kv_num_heads q_num_heads qk_matmul_output_mode softmax_precision"),
    ("onnxruntime GroupQueryAttention",
     "query, key, value, past_key, past_value, seqlens_k, total_sequence_length, cos_cache=None, sin_cache=None, "
     "num_heads=1, kv_num_heads=1, scale=None, local_window_size=-1, do_rotary=0, softcap=0.0, smooth_softmax=0", {},
     "error", "past_key past_value seqlens_k total_sequence_length"),
    ("mlx fast.scaled_dot_product_attention",
     "q, k, v, *, scale, mask=None, sinks=None, stream=None", {}, "scale mask sinks", "stream"),
    ("jax.nn.dot_product_attention",
     "query, key, value, bias=None, mask=None, *, scale=None, is_causal=False, query_seq_lengths=None, "
     "key_value_seq_lengths=None, local_window_size=None, implementation=None, return_residual=False", {},
     "mask scale is_causal key_value_seq_lengths local_window_size",
     "bias query_seq_lengths implementation return_residual"),
    ("keras.ops.dot_product_attention",
     "query, key, value, bias=None, mask=None, scale=None, is_causal=False, flash_attention=None, "
     "attn_logits_soft_cap=None", {},
     "mask scale is_causal attn_logits_soft_cap", "bias flash_attention"),
    ("triton tutorial attention",
     "q, k, v, causal, sm_scale, warp_specialize=True", {"warp_specialize": False}, "causal sm_scale", ""),
    ("nanoGPT CausalSelfAttention.forward", "x", {}, "error", "attention needs query, key and value"),
    ("BertSelfAttention.forward",
     "hidden_states, attention_mask=None, past_key_values=None, cache_position=None, **kwargs", {},
     "", "attention_mask cache_position"),
    ("minGPT attention", "x, layer_past=None", {}, "error", "attention needs query, key and value"),
    ("x-transformers Attend.forward",
     "q, k, v, mask=None, attn_bias=None, prev_attn=None", {}, "mask", "attn_bias prev_attn"),
    ("local-attention forward",
     "q, k, v, mask=None, input_mask=None, attn_bias=None, window_size=None", {},
     "mask window_size", "input_mask attn_bias"),
    ("timm Attention (functional)", "q, k, v, attn_mask=None, is_causal=False", {}, "attn_mask is_causal", ""),
    ("diffusers AttnProcessor2_0",
     "attn, hidden_states, encoder_hidden_states=None, attention_mask=None, temb=None", {},
     "attention_mask", "temb"),
    ("seed self_attention", "Q, K, V, n_heads, causal=False", {"n_heads": 1}, "causal", ""),
    ("annotated transformer attention", "query, key, value, mask=None, dropout=None", {}, "mask dropout", ""),
    ("nn.MultiheadAttention.forward",
     "query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None, average_attn_weights=True, "
     "is_causal=False", {"need_weights": False},
     "attn_mask is_causal", "key_padding_mask average_attn_weights"),
]  # fmt: skip
NAMED = [row for row in SIGNATURES if row[3] != "error"]
ERRORS = [row for row in SIGNATURES if row[3] == "error"]


def fates(signature: str, arguments: dict[str, Any], **fields: Any) -> tuple[list[str], list[str]]:
    """The parameters that calls of drawn cases give a value, and those that are named as untested."""
    record = Implementation(
        stub(signature), name="target", dtypes=("float32",), gradients=False, arguments=arguments, **fields
    )
    with Session(record, effort="quick", shrink=False) as session:
        profile, rng = session.subject.binding.profile(), np.random.default_rng(0)
        for _ in range(40):
            case = draw(profile.restrict(Space(max_n=8)), profile, rng)
            session.subject.forward(case, **({"dropout": 0.5} if "dropout_p" in profile.claims else {}))
            for feature in profile.claims.intersection(FEATURES):
                session.subject.forward(case, features=draw_features(session.subject, case, feature))
        tested = [name for (_, name), fate in session.recorder.fates.items() if fate == "tested"]
        return tested, session.list_untested_parameters([])


def test_there_are_at_least_25_signatures() -> None:
    assert len({row[0] for row in SIGNATURES}) == len(SIGNATURES) >= 25


@pytest.mark.parametrize("row", NAMED, ids=[row[0] for row in NAMED])
def test_every_parameter_of_a_real_signature_is_tested_bound_or_named(row: Any) -> None:
    _, signature, arguments, wanted, named = row
    tested, untested = fates(signature, arguments)
    assert untested == named.split()
    inputs = [name for name, _, _ in named_parameters(stub(signature)) if name != "module"][:3]
    assert set(wanted.split()) <= set(tested)
    every = {name for name, _, _ in named_parameters(stub(signature))} - {"module"}  # the stand-in fills it
    assert every == set(inputs) | set(wanted.split()) | set(arguments) | set(untested)


@pytest.mark.parametrize("row", ERRORS, ids=[row[0] for row in ERRORS])
def test_what_nobody_fills_is_named_all_at_once(row: Any) -> None:
    _, signature, arguments, _, words = row
    with pytest.raises(TargetError) as raised:
        fates(signature, arguments)
    told = str(raised.value)
    if "give --arg" in told:
        assert [part.split("=")[0] for part in told.split("--arg ")[1:]] == words.split()
    else:
        assert words.replace(",", "") in told.replace("'", "").replace(",", "")


# --- the verdict -----------------------------------------------------------------------------------


def silent(q: Tensor, k: Tensor, v: Tensor, attn_mask: Tensor | None = None, chunk: int = 0, quantiser: Any = None) -> Any:  # fmt: skip
    return dot_product_attention(q, k, v, attn_mask)


def checked(function: Any = silent, **fields: Any) -> Report:
    return check_implementation(
        Implementation(function, masked_nan="ignored", dtypes=("float32",), gradients=False, **fields), "quick"
    )


def test_silent_parameters_keep_a_target_from_conforming() -> None:
    report = checked()
    assert (report.verdict, report.untested) == ("incomplete", ["chunk", "quantiser"])
    assert "no law tests chunk, quantiser" in report.reason()
    assert "--arg NAME=VALUE" in report.reason()
    assert report.to_dict()["untested"] == ["chunk", "quantiser"]


def test_accepted_ones_are_named_in_the_verdict() -> None:
    report = checked(untested=("quantiser",), arguments={"chunk": 0})
    assert (report.verdict, report.untested, report.accepted_untested) == ("conforms", [], ["quantiser"])
    assert str(report).endswith("; not tested: quantiser)")


def test_chosen_laws_say_nothing_of_parameters() -> None:
    implementation = Implementation(silent, dtypes=("float64",))
    report = check_implementation(implementation, "quick", laws=["agrees_with_truth"])
    assert (report.passed, report.untested) == (True, [])


@pytest.mark.parametrize(("name", "hint"), [("quantizer", "did you mean quantiser"), ("zzz", "it has: q, k, v")])
def test_an_accepted_name_that_the_target_lacks_is_refused(name: str, hint: str) -> None:
    with pytest.raises(TargetError, match=f"--untested {name}: .*{hint}"):
        Session(Implementation(silent, untested=(name,)))


def test_what_the_claims_leave_out_is_named() -> None:
    record = Implementation(silent, dtypes=("float64",), claims=(), untested=("chunk", "quantiser"))
    with Session(record, effort="quick") as session:
        results = [session.run(law) for law in select_laws(session.laws, LAWS)]
        assert session.list_untested_parameters(results) == ["attn_mask", "chunk", "quantiser"]


def test_a_partial_binds_what_it_fixes() -> None:
    from functools import partial

    fixed = partial(silent, chunk=0)
    with Session(Implementation(fixed, dtypes=("float64",), name="fixed"), effort="quick") as session:
        results = [session.run(law) for law in select_laws(session.laws, LAWS)]
        assert session.list_untested_parameters(results) == ["quantiser"]


def test_what_is_always_refused_is_no_silent_parameter() -> None:
    def unmasked(q: Tensor, k: Tensor, v: Tensor, attn_mask: Tensor | None = None) -> Tensor:
        if attn_mask is not None:
            raise NotImplementedError("no masks yet")
        return dot_product_attention(q, k, v)

    with Session(Implementation(unmasked, dtypes=("float64",)), effort="quick") as session:
        results = [session.run(law) for law in select_laws(session.laws, LAWS)]
        assert session.list_untested_parameters(results) == []
        assert ("", "attn_mask") in session.recorder.fates


def test_a_feature_that_is_declined_in_every_form_is_named() -> None:
    def capped(query: Tensor, key: Tensor, value: Tensor, softcap: Any = None) -> Tensor:
        if softcap is not None:
            raise TypeError("a cap is an object")
        return dot_product_attention(query, key, value)

    report = check_implementation(Implementation(capped, dtypes=("float32",), gradients=False), effort="quick")
    assert (report.verdict, report.untested) == ("incomplete", ["softcap"])


# --- other contracts ---------------------------------------------------------------------------------


class Module(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, qk_norm: bool = False) -> None:
        super().__init__()
        self.inner = nn.MultiheadAttention(embed_dim, num_heads, batch_first=True)

    def forward(self, x: Tensor, past_key_values: Any = None, position_bias: Tensor | None = None) -> Tensor:
        out: Tensor = self.inner(x, x, x, need_weights=False)[0]
        return out


def moved(x: Tensor, positions: Tensor, seq_dim: int = 1, xpos: bool = False) -> Tensor:
    return x


def window(n_q: int, n_kv: int, W: int, sinks: int = 0) -> Tensor:
    rows, columns = torch.arange(n_q)[:, None], torch.arange(n_kv)
    return (columns <= rows) & (columns > rows - W)


class Steps:
    def __init__(self, quantized: bool = False) -> None:
        self.past: list[Tensor] = []

    def __call__(self, q: Tensor, k: Tensor, v: Tensor, cache_position: Any = None) -> Tensor:
        return torch.zeros(*q.shape[:-1], v.shape[-1], dtype=q.dtype)


OTHERS = [
    ("multi-head", Module, {}, {"qk_norm", "past_key_values", "position_bias"}),
    ("rotary", moved, {"parameters": {"pairing": "half"}}, {"seq_dim", "xpos"}),
    ("mask-builder", window, {"parameters": {"kind": "sliding_window"}}, {"sinks"}),
    ("kv-cache", Steps, {}, {"quantized", "cache_position"}),
]


@pytest.mark.parametrize(("contract", "target", "fields", "names"), OTHERS, ids=[row[0] for row in OTHERS])
def test_no_contract_forgets_a_parameter(contract: str, target: Any, fields: Any, names: set[str]) -> None:
    record = Implementation(target, name="target", contract=contract, **fields)
    with Session(record, effort="quick", shrink=False) as session:
        results = [session.run(law) for law in session.laws[:4]]
        assert names <= set(session.list_untested_parameters(results))


class Dropping(nn.Module):
    """Dropouts of a constructor, which the first look sets to 0."""

    def __init__(self, dim: int, num_heads: int, qk_norm: bool = False, attn_drop: float = 0.0, proj_drop: float = 0.1):
        super().__init__()
        self.inner, self.drop = (
            nn.MultiheadAttention(dim, num_heads, attn_drop, batch_first=True),
            nn.Dropout(proj_drop),
        )

    def forward(self, x: Tensor, flash: bool = False) -> Tensor:
        out: Tensor = self.drop(self.inner(x, x, x, need_weights=False)[0])
        return out


def test_dropouts_that_a_module_is_built_without_are_fixed_and_named() -> None:
    report = check_implementation(Implementation(Dropping, "target", "multi-head", dtypes=("float32",)), "quick")
    assert report.untested == ["qk_norm", "flash"]
    fixed = "fixed in the constructor, where no other value is tested but in evaluation: "
    assert f"{fixed}attn_drop=0.0 (0.5 in evaluation), proj_drop=0.0 (0.5 in evaluation)" in report.notes
    assert "fix their values with --arg NAME=VALUE (qk_norm with --config NAME=VALUE), or" in report.reason()
    fields = {"config": {"qk_norm": False}, "untested": ("flash",), "dtypes": ("float32",)}
    report = check_implementation(Implementation(Dropping, "target", "multi-head", **fields), "quick")
    assert report.verdict == "conforms", report.reason()
    assert any(note.startswith(f"{fixed}qk_norm=False, attn_drop=0.0 (0.5 in") for note in report.notes), report.notes


def test_a_factory_fixes_what_nothing_else_can() -> None:
    told = what_to_do(["quantized"], ["quantized"], configured=False)
    assert told.startswith("no law tests quantized: fix its value in a factory of your own, or accept it")


def test_another_process_adds_what_its_laws_tested() -> None:
    runner = RecordingRunner(None)
    runner.fates[("", "mask")] = "left"
    assert silent_parameters(runner.fates, Implementation(None)) == ["mask"]
    from attention_core.conformance.report.untested import join

    join(runner.fates, {("", "mask"): "tested"})
    join(runner.fates, {("", "mask"): "left"})
    assert silent_parameters(runner.fates, Implementation(None)) == []


def test_the_sentence_names_one_or_several() -> None:
    assert what_to_do(["a", "b"]) == (
        "no law tests a, b: fix their values with --arg NAME=VALUE, or accept them with --untested a,b"
    )


def test_no_value_is_asked_for_what_is_not_a_parameter() -> None:
    """A log-sum-exp without a gradient is a part of the result: `--arg lse_gradient=...` would only be refused."""
    assert {law.untested for contract in contracts().values() for law in contract.laws} - {""} == PARTS.keys()
    assert what_to_do(["block_table", "lse_gradient"]) == (
        "no law tests block_table, lse_gradient (the log-sum-exp has no gradient): fix the value of block_table with "
        "--arg block_table=VALUE, or accept them with --untested block_table,lse_gradient"
    )


@pytest.mark.parametrize("row", [row for row in KERNELS if row.untested], ids=lambda row: row.name)
def test_the_table_gives_a_reason_for_what_it_leaves_untested(row: Any) -> None:
    assert all(row.untested.values())
    assert implementation(row.name).untested == tuple(row.untested)


def test_a_bias_is_a_mask_where_additive_masks_are_declared() -> None:
    tested, untested = fates("q, k, v, attn_bias=None", {}, masks="additive")
    assert ("attn_bias" in tested, untested) == (True, [])
    assert fates("q, k, v, attn_bias=None", {})[1] == ["attn_bias"]


def test_what_a_graded_trainer_leaves_alone_is_named() -> None:
    from finetune.laws.trainer.probe import make_target

    def train(model: Any, loss: Any, examples: Any, config: Any, ema: float = 0.0) -> None: ...

    with Session(Implementation(make_target(train), name="train", contract="trainer"), effort="quick") as session:
        results = [session.run(law) for law in session.laws[:1]]
        assert "ema" in session.list_untested_parameters(results)


def test_what_forward_is_given_a_call_of_the_module_is_given_too() -> None:
    given, left = ({"forward": {"segments": "given"}}, {"": {"segments": "left"}})
    fates: Any = {}
    for bound in (given, left):
        join(fates, fates_of(Response("ok", bound=bound)))
    assert silent_parameters(fates, Implementation(None)) == []
