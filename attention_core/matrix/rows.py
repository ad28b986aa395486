"""The rows of the matrix: what is verified under which contract, and what is argued of its refutations."""

from __future__ import annotations

from dataclasses import dataclass

HERE = "attention_core.peers"
METHOD = "finetune.contract_adapters.library_peft"


@dataclass(frozen=True)
class Row:
    """One implementation.

    Args:
        target: MODULE:NAME, as `attention-core verify` takes it.
        package: the distribution that ships it.
        runtime: what computes it.
        contract: which laws apply.
        options: its conventions, where they are declared at once or added to what a first run advises.
        declared: the options are given at the first run, which is the only one.
        environment: variables that the run needs.
        argued: names of `ARGUMENTS`, each of which accounts for laws that this row may break.
        imports: the module that has to be there, where it is not the package's name.
    """

    target: str
    package: str
    runtime: str = "torch"
    contract: str = "attention"
    options: tuple[str, ...] = ()
    declared: bool = False
    environment: tuple[tuple[str, str], ...] = ()
    argued: tuple[str, ...] = ()
    imports: str = ""

    @property
    def module(self) -> str:
        """The module whose absence says that the package is not installed."""
        return self.imports or self.package.replace("-", "_")


@dataclass(frozen=True)
class Argument:
    """Why a refutation is a flaw of the library or a convention of it, and what a user does about it.

    Args:
        kind: "flaw" or "convention".
        finding: its number in docs/findings.md.
        laws: those that it breaks.
        what: one line.
        avoid: one line.
        report: the page of docs/findings whose report can be sent, or "".
    """

    kind: str
    finding: int
    laws: tuple[str, ...]
    what: str
    avoid: str
    report: str = ""


ARGUMENTS: dict[str, Argument] = {
    "values counted for keys": Argument(
        "flaw", 1, ("lengths_of_key_and_value_must_agree",),
        "torch's fused kernel on the processor takes the number of keys from the value and reads past the key's end.",
        "compare both lengths before the call.", "pytorch",
    ),
    "masked before it is scaled": Argument(
        "flaw", 2, ("causal_holds_at_any_scale",),
        "torch's fused kernel on the processor masks before it scales: -inf times a scale of 0 or less is NaN or inf.",
        "move the sign, or the 0, into the query.", "pytorch",
    ),
    "NaN becomes 0": Argument(
        "flaw", 3, ("garbage_is_not_turned_into_a_number",),
        "torch's fused kernel on the processor gives 0 for a NaN query where there are few keys.",
        "look for NaN in the input or the gradients.", "pytorch",
    ),
    "flex without keys": Argument(
        "flaw", 4, ("an_empty_key_sequence_leaves_dead_rows", "no_queries_give_an_empty_output"),
        "flex_attention ends in an IndexError or an internal assertion where there is no key or no query.",
        "return early for empty inputs.", "pytorch",
    ),
    "-1e30 in float16": Argument(
        "flaw", 51, ("dead_rows_leave_neighbours_alone", "a_broadcast_mask_equals_its_expansion"),
        "masked scores are -1e30, in float16 -inf: a row without a key is NaN, and after the projection in all heads.",
        "bfloat16, or a key for every query.", "haiku",
    ),
    "a reshape of nothing": Argument(
        "flaw", 52,
        (
            "an_empty_query_sequence_moves_nothing", "no_queries_give_an_empty_output",
            "an_empty_batch_gives_an_empty_output",
        ),
        "without a query, or a batch, a reshape to -1 ends in a ZeroDivisionError.",
        "return early for empty inputs.", "haiku",
    ),
    "the last chunk moved back": Argument(
        "flaw", 53, ("round_sizes_and_sizes_beyond_are_right",),
        "beyond 1024 tokens, keys and queries of the last chunk count twice, unless the length is a multiple of 1024.",
        "lengths up to 1024, or its multiples.", "flash_attention_jax",
    ),
    "a context cut like the queries": Argument(
        "flaw", 50, ("heads_attend_to_a_context_as_the_formula_says", "gradients_of_inputs_are_true"),
        "keys and values of a context are viewed in the shape of the queries: another length is an error or wrong.",
        "queries and context of one length.", "transformers",
    ),
    "mask of one row": Argument(
        "flaw", 20,
        (
            "evaluation_has_no_dropout", "agrees_with_truth", "a_leading_key_is_copied", "zero_queries_average",
            "two_matching_keys_are_averaged", "mask_and_causal_mean_both", "stays_finite",
            "low_precision_rounds_as_declared", "head_sizes_may_be_odd_and_differ", "calls_in_between_leave_no_trace",
            "earlier_masks_are_forgotten", "results_outlive_the_next_call", "arrays_written_into_are_read_anew",
            "a_bias_constant_in_a_row_cancels", "zeros_and_subnormals_are_numbers",
        ),
        "a mask (1, n_kv) together with is_causal lets every query see key 0 alone.",
        "expand the mask to (n_q, n_kv).", "onnx",
    ),
    "diagonal at the first key": Argument(
        "flaw", 21,
        (
            "paged_keys_agree_with_the_truth", "unused_pages_and_tails_do_not_matter", "texts_may_share_pages",
            "entries_behind_the_last_page_are_not_followed", "query_heads_share_pages_heads_in_order",
            "many_pages_are_read_to_the_last", "pages_are_read_by_their_own_strides", "texts_without_keys_are_dead",
        ),
        "two or more new tokens after cached keys see the first keys, a single one sees those up to its own place.",
        "another kernel for chunks after a cache.", "kernels_in_triton",
    ),
    "single tokens turned twice": Argument(
        "flaw", 22,
        (
            "rotation_is_true", "scores_depend_on_the_distance_alone", "position_zero_changes_nothing",
            "calls_leave_no_state", "views_are_rotated_alike", "positions_written_into_are_read_anew",
            "gradients_turn_back", "large_positions_stay_precise",
        ),
        "a contiguous (B, H, 1, d) with two texts or more is rotated by overlapping rows.",
        "hand over (B, n, H, d), transposed.", "kernels_in_triton",
    ),
    "weight behind the last key": Argument(
        "flaw", 23, (),
        "keys that fill the last block up keep the weight of a score of 0.",
        "lengths that are multiples of 64.", "kernels_in_triton",
    ),
    "merge of nothing": Argument(
        "flaw", 24, ("rows_without_any_key_stay_empty",),
        "two parts without a key merge to NaN.",
        "look at rows without a key before the merge.", "kernels_in_triton",
    ),
    "last axis contiguous": Argument(
        "convention", 35, ("strides_are_followed", "slices_of_a_projection_are_read_by_their_strides"),
        "the last axis is taken as contiguous, which its own callers see to and nothing checks.",
        "call contiguous() where a tensor is a view.",
    ),
    "bfloat16 positions": Argument(
        "flaw", 29, ("bias_falls_by_its_slope", "bias_depends_on_distance_alone"),
        "Falcon's biases are multiplied in bfloat16: from key 257 on, neighbours share one.",
        "build the biases in float32.", "transformers",
    ),
    "a tracker without debug": Argument(
        "flaw", 33,
        (
            "heads_attend_as_the_formula_says", "batch_rows_are_independent", "training_without_dropout_is_evaluation",
            "lengths_may_change_between_calls", "outputs_outlive_the_next_call",
            "returned_weights_are_those_of_the_heads", "options_end_with_their_call", "large_scores_are_kept",
            "inputs_written_into_are_read_anew", "gradients_of_parameters_are_true", "gradients_of_inputs_are_true",
        ),
        "with today's labml every call raises AttributeError.",
        "an older labml.", "labml_nn",
    ),
    "no maximum of nothing": Argument(
        "flaw", 36, ("an_empty_key_sequence_leaves_dead_rows",),
        "without a key the call ends in an IndexError or a division by zero.",
        "return early where there is no key.", "memory_efficient_attention",
    ),
    "three diagonals": Argument(
        "flaw", 31,
        (
            "masked_pairs_pass_no_gradient", "no_row_sees_a_later_one", "causal_alignment_is_as_declared",
            "prefill_equals_step_by_step", "coinciding_sizes_are_not_confused", "head_sizes_may_be_odd_and_differ",
            "calls_in_between_leave_no_trace", "an_earlier_dtype_leaves_no_trace",
        ),
        "with fewer queries than keys FlashAttentionFunction follows no diagonal; square calls are right.",
        "a mask where lengths differ.", "memory_efficient_attention",
    ),
    "buckets move the diagonal": Argument(
        "flaw", 32,
        (
            "agrees_with_truth", "output_lies_in_the_hull", "a_leading_key_is_copied", "zero_queries_average",
            "two_matching_keys_are_averaged", "query_gradient_is_true", "key_gradient_is_true",
            "value_gradient_is_true", "one_gradient_alone_is_the_same", "no_row_sees_a_later_one",
            "later_rows_leave_gradients_alone", "causal_alignment_is_as_declared", "prefill_equals_step_by_step",
            "coinciding_sizes_are_not_confused", "stays_finite", "zeros_and_subnormals_are_numbers",
            "every_length_around_blocks_has_true_gradients", "head_sizes_may_be_odd_and_differ",
            "broadcast_keys_are_refused_or_right", "calls_in_between_leave_no_trace",
            "the_order_of_calls_does_not_matter", "an_earlier_dtype_leaves_no_trace",
        ),
        "with fewer queries than keys the bucket size moves the causal diagonal; square calls are right.",
        "a mask where lengths differ.", "ring_attention",
    ),
    "float16 sums": Argument(
        "flaw", 37, ("long_sums_keep_their_precision",),
        "values are added up in float16 before they are divided, and overflow.",
        "bfloat16 or float32.", "memory_efficient_attention",
    ),
    "values without keys": Argument(
        "flaw", 38, ("lengths_of_key_and_value_must_agree",),
        "values after the last chunk of keys are dropped.",
        "compare both lengths before the call.", "memory_efficient_attention",
    ),
    "quantizable heads": Argument(
        "flaw", 26,
        (
            "heads_attend_as_the_formula_says", "large_scores_are_kept", "gradients_of_parameters_are_true",
            "gradients_of_inputs_are_true",
        ),
        "with batch_first=True and two heads or more the output is wrong; tokens first, it is right.",
        "batch_first=False.", "pytorch",
    ),
    "frozen adapters thaw": Argument(
        "flaw", 19, ("what_was_frozen_stays_frozen",),
        "leaving disable_adapter() makes an adapter trainable that was frozen.",
        "freeze it again after every disable_adapter().", "peft",
    ),
    "disabled prompts raise": Argument(
        "flaw", 10,
        (
            "what_is_trained_stays_trained", "what_was_frozen_stays_frozen", "disabling_gives_the_plain_outputs",
            "enabling_again_gives_the_adapter_back",
        ),
        "disable_adapter() with a prompt or a prefix raises UnboundLocalError.",
        "call the base model itself.", "peft",
    ),
    "prefixes under checkpointing": Argument(
        "flaw", 11, ("checkpointing_lets_everything_learn",),
        "under gradient checkpointing that was turned on after wrapping, a prefix gets no gradient.",
        "no checkpointing with a prefix.", "peft",
    ),
    "negative scale": Argument(
        "flaw", 30,
        (
            "causal_holds_at_any_scale", "huge_masked_keys_are_invisible", "large_scales_pick_the_best_key",
            "a_common_key_vector_cancels", "coinciding_sizes_are_not_confused",
        ),
        "the square root of a negative scale is NaN.",
        "move the sign into the query.", "onnx",
    ),
    "unidirectional follows no diagonal": Argument(
        "flaw", 28,
        (
            "evaluation_has_no_dropout", "agrees_with_truth", "output_lies_in_the_hull", "a_leading_key_is_copied",
            "zero_queries_average", "two_matching_keys_are_averaged", "no_row_sees_a_later_one",
            "causal_alignment_is_as_declared", "prefill_equals_step_by_step", "coinciding_sizes_are_not_confused",
            "zeros_and_subnormals_are_numbers", "every_length_around_blocks_is_right",
            "head_sizes_may_be_odd_and_differ", "calls_in_between_leave_no_trace", "an_earlier_dtype_leaves_no_trace",
            "results_outlive_the_next_call", "arrays_written_into_are_read_anew",
        ),
        "with fewer queries than keys the first rows face the first keys, the last the last; square calls are right.",
        "a mask where lengths differ.", "onnxruntime",
    ),
    "a division by no channels": Argument(
        "flaw", 39, ("values_without_channels_give_an_empty_output",),
        "values without channels end the process by SIGFPE.",
        "no call without channels.", "onnxruntime",
    ),
    "bool masks and causality": Argument(
        "flaw", 40,
        (
            "grouped_query_equals_repeated_keys", "rows_dead_by_mask_and_causal_together",
            "a_slice_alone_equals_itself_in_the_batch", "the_same_call_twice_agrees",
        ),
        "a bool mask together with is_causal gives NaN, up to 1.22.0.",
        "a float mask, or a newer release.",
    ),
    "nothing written without keys": Argument(
        "flaw", 25, ("an_empty_key_sequence_leaves_dead_rows",),
        "without a key the output is what lay in memory.",
        "return zeros without a call where the keys are empty.", "openvino",
    ),
}  # fmt: skip
FUSED = ("values counted for keys", "NaN becomes 0")
"""What torch's fused kernel on the processor breaks reaches everything that calls it without a mask."""

MODELS = (
    ("bert.modeling_bert", "BertSelfAttention"),
    ("gpt2.modeling_gpt2", "GPT2Attention"),
    ("llama.modeling_llama", "LlamaAttention"),
    ("mistral.modeling_mistral", "MistralAttention"),
    ("qwen2.modeling_qwen2", "Qwen2Attention"),
    ("opt.modeling_opt", "OPTAttention"),
    ("bart.modeling_bart", "BartAttention"),
    ("clip.modeling_clip", "CLIPAttention"),
    ("vit.modeling_vit", "ViTAttention"),
    ("distilbert.modeling_distilbert", "DistilBertSelfAttention"),
    ("whisper.modeling_whisper", "WhisperAttention"),
    ("roberta.modeling_roberta", "RobertaSelfAttention"),
    ("electra.modeling_electra", "ElectraSelfAttention"),
    ("xlm_roberta.modeling_xlm_roberta", "XLMRobertaSelfAttention"),
    ("mbart.modeling_mbart", "MBartAttention"),
    ("pegasus.modeling_pegasus", "PegasusAttention"),
    ("marian.modeling_marian", "MarianAttention"),
    ("deit.modeling_deit", "DeiTAttention"),
    ("siglip.modeling_siglip", "SiglipAttention"),
    ("dinov2.modeling_dinov2", "Dinov2Attention"),
    ("wav2vec2.modeling_wav2vec2", "Wav2Vec2Attention"),
    ("gemma.modeling_gemma", "GemmaAttention"),
    ("starcoder2.modeling_starcoder2", "Starcoder2Attention"),
    ("stablelm.modeling_stablelm", "StableLmAttention"),
    ("qwen3.modeling_qwen3", "Qwen3Attention"),
    ("olmo2.modeling_olmo2", "Olmo2Attention"),
    ("granite.modeling_granite", "GraniteAttention"),
    ("phi.modeling_phi", "PhiAttention"),
    ("phi3.modeling_phi3", "Phi3Attention"),
    ("mixtral.modeling_mixtral", "MixtralAttention"),
    ("cohere.modeling_cohere", "CohereAttention"),
    ("gpt_neox.modeling_gpt_neox", "GPTNeoXAttention"),
    ("camembert.modeling_camembert", "CamembertSelfAttention"),
    ("blenderbot.modeling_blenderbot", "BlenderbotAttention"),
    ("hubert.modeling_hubert", "HubertAttention"),
    ("unispeech.modeling_unispeech", "UniSpeechAttention"),
    ("plbart.modeling_plbart", "PLBartAttention"),
    ("blenderbot_small.modeling_blenderbot_small", "BlenderbotSmallAttention"),
    ("m2m_100.modeling_m2m_100", "M2M100Attention"),
    ("xglm.modeling_xglm", "XGLMAttention"),
    ("speech_to_text.modeling_speech_to_text", "Speech2TextAttention"),
    ("biogpt.modeling_biogpt", "BioGptAttention"),
    ("ernie.modeling_ernie", "ErnieSelfAttention"),
    ("layoutlm.modeling_layoutlm", "LayoutLMSelfAttention"),
    ("rembert.modeling_rembert", "RemBertSelfAttention"),
    ("olmo.modeling_olmo", "OlmoAttention"),
    ("glm.modeling_glm", "GlmAttention"),
    ("qwen2_moe.modeling_qwen2_moe", "Qwen2MoeAttention"),
    ("vit_mae.modeling_vit_mae", "ViTMAEAttention"),
    ("smollm3.modeling_smollm3", "SmolLM3Attention"),
    ("nemotron.modeling_nemotron", "NemotronAttention"),
)
CUT = (
    ("megatron_bert.modeling_megatron_bert", "MegatronBertSelfAttention"),
    ("esm.modeling_esm", "EsmSelfAttention"),
    ("tapas.modeling_tapas", "TapasSelfAttention"),
)
"""Attention modules of transformers that cut a context by the queries' length."""
"""Attention classes of transformers, verified as they are, without an adapter."""

CAUSAL_AT_THE_END = ("--causal", "bottom_right", "--sizes", "n_q <= n_kv")
CAUSAL_ALWAYS = ("--always-causal", *CAUSAL_AT_THE_END, "--grouping", "modular")
WIDE = ("--dtype", "float32,bfloat16,float16")
NUMPY = ("--array", "numpy")
EVEN = ("--sizes", "d % 2 == 0")
JAX = ("--array", "jax")
BNHD = ("--layout", "bnhd")
RECURRENCE = (*BNHD, *WIDE)
"""Options that several rows share."""


def peer(
    module: str, name: str, package: str, runtime: str = "torch", contract: str = "attention", **more: object
) -> Row:
    """The row of an adapter of `attention_core.peers`."""
    return Row(f"{HERE}.{module}:{name}", package, runtime, contract, **more)  # type: ignore[arg-type]


def triton(module: str, name: str, package: str, contract: str, *options: str, **more: object) -> Row:
    """The row of a kernel in Triton, whose conventions are declared: no first look finds those of a library."""
    always = ("--runtime", "triton", *WIDE, *options)
    return peer(module, name, package, "Triton's interpreter", contract, options=always, declared=True, **more)


IN_TORCH = (
    peer("torch_functions", "sdpa", "torch", argued=FUSED),
    peer("torch_functions", "sdpa_math", "torch"),
    peer(
        "torch_functions", "sdpa_flash", "torch", options=("--sizes", "d == d_v"), declared=True,
        argued=(*FUSED, "masked before it is scaled"),
    ),
    peer("torch_functions", "flex", "torch", argued=("flex without keys",)),
    peer("torch_functions", "flex_causal", "torch", argued=("flex without keys",)),
    peer(
        "torch_functions", "flex_blocks", "torch", contract="block-mask", options=("--no-gradients",), declared=True
    ),
    peer("torch_functions", "nested_tensors", "torch", contract="varlen"),
    peer("torch_functions", "MultiHead", "torch", contract="multi-head"),
    peer("torch_functions", "EncoderMultiHead", "torch", contract="multi-head"),
    peer(
        "torch_functions", "QuantizableMultiHead", "torch", contract="multi-head",
        argued=("quantizable heads",),
    ),
    peer("torch_functions", "QuantizableSequenceFirst", "torch", contract="multi-head"),
    peer("torch_functions", "causal_mask", "torch", contract="mask-builder"),
    peer("x_transformers", "attend", "x-transformers"),
    peer("x_transformers", "flash", "x-transformers", argued=FUSED),
    peer("x_transformers", "causal", "x-transformers", options=(*CAUSAL_ALWAYS, *WIDE), declared=True),
    peer("x_transformers", "causal_flash", "x-transformers", options=CAUSAL_ALWAYS, declared=True, argued=FUSED),
    peer("x_transformers", "MultiHead", "x-transformers", contract="multi-head"),
    peer("x_transformers", "rotary", "x-transformers", contract="rotary"),
    peer("x_transformers", "alibi", "x-transformers", contract="bias"),
    peer("x_transformers", "table", "x-transformers", contract="position-table"),
    peer("diffusers", "MultiHead", "diffusers", contract="multi-head"),
    peer("diffusers", "rotary", "diffusers", contract="rotary"),
    peer("diffusers", "table", "diffusers", contract="position-table"),
    Row("timm.layers:Attention", "timm", contract="multi-head", imports="timm.layers"),
    Row("timm.layers:AttentionRope", "timm", contract="multi-head", imports="timm.layers"),
    peer("timm", "rotary_half", "timm", contract="rotary", imports="timm.layers"),
    peer("timm", "rotary_interleaved", "timm", contract="rotary", imports="timm.layers"),
    peer("attn_gym", "causal_mask", "attn-gym", contract="mask-builder"),
    peer("attn_gym", "window_mask", "attn-gym", contract="mask-builder"),
    peer("attn_gym", "prefix_mask", "attn-gym", contract="mask-builder"),
    peer("attn_gym", "alibi", "attn-gym", contract="bias"),
    peer("attn_gym", "softcap", "attn-gym", argued=("flex without keys",)),
    peer("xformers", "causal_mask", "xformers", contract="mask-builder"),
    peer("xformers", "causal_mask_at_the_end", "xformers", contract="mask-builder"),
    peer("xformers", "window_mask", "xformers", contract="mask-builder"),
    peer("torchscale", "MultiHead", "torchscale", contract="multi-head"),
    peer("torchtune", "MultiHead", "torchtune", contract="multi-head", imports="torchtune.modules"),
    peer("torchtune", "rotary", "torchtune", contract="rotary", imports="torchtune.modules"),
    peer("litgpt", "rotary", "litgpt", contract="rotary", imports="litgpt.model"),
    peer("labml_nn", "MultiHead", "labml-nn", contract="multi-head", argued=("a tracker without debug",)),
    peer("labml_nn", "rotary", "labml-nn", contract="rotary"),
    peer("labml_nn", "alibi", "labml-nn", contract="bias"),
    peer("labml_nn", "table", "labml-nn", contract="position-table", options=EVEN, declared=True),
    peer(
        "curated_transformers", "scorer", "curated-transformers", declared=True,
        options=(*CAUSAL_AT_THE_END, "--dead-rows", "uniform", "--batch-axes", "one", "--masks", "bool"),
    ),
    peer("curated_transformers", "rotary", "curated-transformers", contract="rotary"),
    peer("curated_transformers", "alibi", "curated-transformers", contract="bias"),
    peer(
        "curated_transformers", "table", "curated-transformers", contract="position-table", options=EVEN, declared=True
    ),
    peer("ring_attention_pytorch", "plain", "ring-attention-pytorch"),
    peer(
        "ring_attention_pytorch", "flash", "ring-attention-pytorch",
        argued=("buckets move the diagonal", "no maximum of nothing"),
    ),
    peer("ring_attention_pytorch", "rotary", "ring-attention-pytorch", contract="rotary"),
    peer(
        "memory_efficient_attention_pytorch", "plain", "memory-efficient-attention-pytorch",
        argued=("no maximum of nothing",),
    ),
    peer(
        "memory_efficient_attention_pytorch", "chunks", "memory-efficient-attention-pytorch",
        argued=("no maximum of nothing", "float16 sums", "values without keys"),
    ),
    peer(
        "memory_efficient_attention_pytorch", "flash", "memory-efficient-attention-pytorch", argued=("three diagonals",)
    ),
    peer("rotary_embedding_torch", "rotary", "rotary-embedding-torch", contract="rotary"),
    peer("performer_pytorch", "rotary", "performer-pytorch", contract="rotary"),
    peer("local_attention", "rotary", "local-attention", contract="rotary"),
    peer(
        "fla", "naive_attention", "fla-core", imports="fla", declared=True,
        options=(*BNHD, "--sizes", "n_q == n_kv and n_kv > 0"),
    ),
    peer("fla", "naive_gla", "fla-core", contract="linear-attention", imports="fla", options=RECURRENCE, declared=True),
    peer(
        "fla", "naive_gated_delta", "fla-core", contract="linear-attention", imports="fla", declared=True,
        options=RECURRENCE,
    ),
)  # fmt: skip
TRANSFORMERS = (
    *(
        peer("transformers_functions", name, "transformers")
        for name in ("llama_eager", "mistral_eager", "bert_eager", "whisper_eager")
    ),
    peer("transformers_functions", "sdpa", "transformers", argued=FUSED),
    peer("transformers_functions", "llama_rotary", "transformers", contract="rotary"),
    peer("transformers_functions", "gptj_rotary", "transformers", contract="rotary"),
    peer("transformers_functions", "mpt_alibi", "transformers", contract="bias"),
    peer("transformers_functions", "bloom_alibi", "transformers", contract="bias"),
    peer(
        "transformers_functions", "falcon_alibi", "transformers", contract="bias", argued=("bfloat16 positions",)
    ),
    peer("transformers_functions", "whisper_table", "transformers", contract="position-table"),
    peer("transformers_functions", "causal_mask", "transformers", contract="mask-builder"),
    peer("transformers_functions", "window_mask", "transformers", contract="mask-builder"),
    peer("transformers_functions", "DynamicCacheStep", "transformers", contract="kv-cache"),
    peer(
        "transformers_functions", "SlidingWindowCacheStep", "transformers", contract="kv-cache",
        options=("--parameter", "window=3"), declared=True,
    ),
    *(Row(f"transformers.models.{family}:{name}", "transformers", contract="multi-head") for family, name in MODELS),
    *(
        Row(
            f"transformers.models.{family}:{name}", "transformers", contract="multi-head",
            argued=("a context cut like the queries",),
        )
        for family, name in CUT
    ),
)  # fmt: skip
ON_ARRAYS = (
    peer(
        "onnx", "attention", "onnx", "NumPy", options=NUMPY,
        argued=("mask of one row", "negative scale", "bool masks and causality"),
    ),
    peer("onnx", "rotary", "onnx", "NumPy", "rotary", options=NUMPY),
    peer("onnxruntime", "attention", "onnxruntime", "ONNX Runtime", options=NUMPY),
    peer(
        "onnxruntime", "multi_head", "onnxruntime", "ONNX Runtime", options=(*NUMPY, *BNHD),
        argued=("unidirectional follows no diagonal", "a division by no channels"),
    ),
    peer("onnxruntime", "rotary", "onnxruntime", "ONNX Runtime", "rotary", options=NUMPY),
    peer("mlx", "fast", "mlx", "MLX", options=NUMPY, imports="mlx.core"),
    peer("mlx", "fast_causal", "mlx", "MLX", options=NUMPY, imports="mlx.core"),
    peer("mlx", "rope", "mlx", "MLX", "rotary", options=NUMPY, imports="mlx.core"),
    peer(
        "mlx", "LanguageModelCache", "mlx-lm", "MLX", "kv-cache", declared=True,
        options=(*NUMPY, "--dtype", "float32,float16"),
    ),
    peer("openvino", "attention", "openvino", "OpenVINO", options=NUMPY, argued=("nothing written without keys",)),
    peer("keras", "dot_product", "keras", "Keras on torch", environment=(("KERAS_BACKEND", "torch"),), argued=FUSED),
    peer(
        "keras", "dot_product", "keras", "Keras on JAX", environment=(("KERAS_BACKEND", "jax"),), declared=True,
        options=("--array", "jax", *BNHD, "--masks", "bool", "--dead-rows", "uniform", "--sizes", "d == d_v", *WIDE),
    ),
    peer(
        "keras", "dot_product", "keras", "Keras on NumPy", environment=(("KERAS_BACKEND", "numpy"),), declared=True,
        options=(*NUMPY, *BNHD, "--masks", "bool", "--dead-rows", "uniform", "--dtype", "float32"),
    ),
    peer(
        "keras", "dot_product_read", "keras", "Keras on TensorFlow", environment=(("KERAS_BACKEND", "tensorflow"),),
        options=(*NUMPY, *BNHD, "--masks", "bool", "--dead-rows", "uniform", "--dtype", "float32"), declared=True,
        imports="tensorflow",
    ),
)  # fmt: skip
UNIFORM = ("--dead-rows", "uniform")
IN_JAX = (
    peer(
        "jax", "dot_product", "jax", "JAX", declared=True,
        options=(*JAX, *BNHD, "--sizes", "d == d_v", *UNIFORM, *WIDE, "--untested", "mask,is_causal,scale"),
    ),
    peer(
        "flax", "linen", "flax", "JAX", declared=True,
        options=(*JAX, *BNHD, "--masks", "bool", *UNIFORM, *WIDE, "--untested", "mask"),
    ),
    peer("equinox", "dot_product", "equinox", "JAX", declared=True, options=(*JAX, "--masks", "bool", *UNIFORM, *WIDE)),
    peer("flax", "nnx", "flax", "JAX", declared=True, options=(*JAX, *BNHD, "--sizes", "d == d_v", *WIDE)),
    peer(
        "haiku", "identity_heads", "dm-haiku", "JAX", declared=True, imports="haiku",
        argued=("-1e30 in float16", "a reshape of nothing"),
        options=(*JAX, "--masks", "bool", "--dead-rows", "unspecified", *WIDE),
    ),
    peer(
        "flash_attention_jax", "flash", "flash-attention-jax", "JAX", declared=True,
        options=(*JAX, "--dtype", "float32", "--sizes", "d == d_v", "--misfits", "unspecified"),
        argued=("the last chunk moved back",),
    ),
)  # fmt: skip
ONE_TOKEN = ("--parameter", "query=bhd")
FLA = (*BNHD, "--no-gradients", "--accumulate", "float32")
POWERS = ("--sizes", "d in (16, 32, 64) and d == d_v")
PAGES = ("--sizes", "d in (16, 32, 64) and d == d_v and page in (1, 2, 4, 8, 16, 32, 64)")
UNSPECIFIED = ("--dead-rows", "unspecified", "--masked-nan", "unspecified")
CONCH = "conch-triton-kernels"
IN_TRITON = (
    triton("fla", "rotary", "fla-core", "rotary", imports="fla"),
    triton("liger_kernel", "rotary", "liger-kernel", "rotary", argued=("single tokens turned twice",)),
    triton(
        "sglang", "merge", "sglang", "merge", "--untested", "v_merged,s_merged",
        argued=("merge of nothing", "last axis contiguous"),
    ),
    triton("sglang", "decode", "sglang", "paged", *ONE_TOKEN, "--dead-rows", "nan"),
    triton(
        "sglang", "prefill", "sglang", "varlen", "--no-gradients", "--sizes", "d == d_v",
        argued=("last axis contiguous",),
    ),
    triton("lightllm", "decode", "lightllm", "paged", *ONE_TOKEN, *POWERS),
    triton("lightllm", "prefill", "lightllm", "varlen", "--no-gradients", "--always-causal", *POWERS),
    triton("conch", "unified_attention", CONCH, "paged", *PAGES, *UNSPECIFIED, "--always-causal", imports="conch"),
    triton("conch", "paged_attention", CONCH, "paged", *ONE_TOKEN, *PAGES, "--dead-rows", "nan", imports="conch"),
    triton(
        "conch", "varlen", CONCH, "paged", *PAGES, *UNSPECIFIED, imports="conch",
        argued=("diagonal at the first key",),
    ),
    triton("trinix", "flash", "trinix", "attention", *FLA, "--sizes", "n_q == n_kv and d == d_v"),
    triton(
        "cuda_triton_multiarch", "flash", "cuda-triton-multiarch", "attention", "--no-gradients", "--sizes",
        "n_q == n_kv and d == d_v and d in (16, 32, 64)", imports="kernels", argued=("weight behind the last key",),
    ),
)  # fmt: skip
METHODS = (
    Row(f"{METHOD}:LibraryLoRA", "peft", contract="peft", argued=("frozen adapters thaw",)),
    Row(
        f"{METHOD}:LibraryPrompt", "peft", contract="peft", options=("--dtype", "float32"), declared=True,
        argued=("disabled prompts raise",),
    ),
    Row(
        f"{METHOD}:LibraryPrefix", "peft", contract="peft", options=("--dtype", "float32"), declared=True,
        argued=("disabled prompts raise", "prefixes under checkpointing"),
    ),
)  # fmt: skip
"""Not attention but around it: the contract `peft` is finetune's, and so are the adapters."""
ROWS: tuple[Row, ...] = (*IN_TORCH, *TRANSFORMERS, *ON_ARRAYS, *IN_JAX, *IN_TRITON, *METHODS)
"""All rows, in the order of the page."""
