"""What constructors, configs and forwards call the same things: one explicit table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

SIZES: Mapping[str, str] = {
    name: size
    for size, names in {
        "E": "embed_dim d_model dim hidden_size n_embd emb_dim embedding_dim model_dim d_embed hidden_dim hid_dim "
        "embed_size emb_size n_state embed embedding_size model_size num_hiddens d_in d_out in_dim out_dim input_dim "
        "output_dim query_dim in_features out_features features dims n_units d_emb dmodel d_hidden dim_model n_embed "
        "model_dimension",
        "H": "num_heads n_heads heads n_head h nhead num_attention_heads nheads num_head n_attention_heads head_count "
        "num_attn_heads head_num n_attn_heads attention_heads number_of_heads",
        "H_kv": "num_kv_heads n_kv_heads kv_heads num_key_value_heads n_kv_head n_local_kv_heads num_kv_groups "
        "num_query_groups",
        "d": "head_dim dim_head d_head head_size d_k d_v d_kv attention_head_size rotary_dim",
        "n": "block_size max_seq_len max_seq_length context_length seq_len max_len max_position_embeddings n_positions "
        "n_ctx max_length sequence_length ctx_len max_context_length context_size seq_length",
    }.items()
    for name in names.split()
}  # fmt: skip
"""A parameter's or setting's name -> the size it holds: E features, H heads, H_kv of keys, d of a head, n at most."""
LONGEST = 256
"""What is given for n: no case is longer."""
PACKED = ("qkv", "QKV", "packed_qkv", "qkv_packed", "mixed_qkv", "query_key_value")
"""Names of one array that holds query, key and value."""
DROPOUTS = (
    "dropout", "attn_drop", "proj_drop", "attn_pdrop", "resid_pdrop", "embd_pdrop", "attention_dropout",
    "hidden_dropout", "attention_probs_dropout_prob", "hidden_dropout_prob", "dropout_p", "dropout_rate", "drop_rate",
    "drop", "attn_dropout", "resid_dropout", "proj_dropout", "p_dropout", "dropout_prob", "attention_dropout_rate",
    "embd_dropout", "p",
)  # fmt: skip
SWITCHES = (
    "is_decoder", "add_cross_attention", "is_cross_attention", "use_cache", "output_attentions", "causal", "is_causal",
    "flash", "use_flash", "use_rope", "rope",
)  # fmt: skip
CONSTANTS: Mapping[str, Any] = {
    **dict.fromkeys(DROPOUTS, 0.0),
    **dict.fromkeys(("layer_idx", "layer_id", "layer_index", "layer_number", "layer"), 0),
    **dict.fromkeys(("layer_norm_eps", "rms_norm_eps", "layer_norm_epsilon", "norm_eps", "eps"), 1e-6),
    **dict.fromkeys(("bias", "qkv_bias", "attention_bias", "use_bias", "add_bias", "attn_bias"), True),
    **dict.fromkeys(SWITCHES, False),
    **dict.fromkeys(("n_layer", "num_layers", "num_hidden_layers", "n_layers"), 1),
    "vocab_size": 64, "initializer_range": 0.02, "rope_theta": 10000.0, "attn_implementation": "eager",
    "_attn_implementation": "eager", "max_batch_size": 8, "position_embedding_type": "absolute", "batch_first": True,
    "chunk_size_feed_forward": 0, "pretraining_tp": 1, "scale_attn_weights": True, "reorder_and_upcast_attn": False,
    "scale_attn_by_inverse_layer_idx": False,
}  # fmt: skip
"""Settings that are not sizes, and what they get: no dropout, the first of the layers, plain attention."""
ALWAYS = ("batch_first",)
"""Constructor parameters that are given even where they have a default: sequences come first in this contract."""
CONTEXTS = (
    "context", "encoder_hidden_states", "key_value_states", "memory", "kv", "xkv", "x_kv", "encoder_out",
    "encoder_output", "cond",
)  # fmt: skip
INPUTS: Mapping[str, str] = {
    **dict.fromkeys(("query", "q", "queries", "Q"), "query"),
    **dict.fromkeys(("key", "k", "keys", "K"), "key"),
    **dict.fromkeys(("value", "v", "values", "V"), "value"),
    **dict.fromkeys(CONTEXTS, "context"),
}
"""Names of inputs beside the first -> what they are."""
PAIR_MASKS = (
    "attn_mask", "mask", "attention_mask", "src_mask", "attn_bias", "tgt_mask", "bias_mask", "attention_bias",
)  # fmt: skip
KEY_MASKS = ("key_padding_mask", "padding_mask", "src_key_padding_mask", "key_mask", "pad_mask", "kv_mask")
MASKS: Mapping[str, str] = {**dict.fromkeys(PAIR_MASKS, "pairs"), **dict.fromkeys(KEY_MASKS, "keys")}
"""Names of masks -> whether they are likelier of pairs or of keys."""
CAUSAL = ("is_causal", "causal", "use_causal_mask")
WEIGHTS = (
    "need_weights", "output_attentions", "return_attention_scores", "return_attention", "return_weights",
    "return_attn", "return_attn_weights",
)  # fmt: skip
"""Flags that ask for the weights."""
SAYS_WEIGHTS = ("need_weights", "output_attentions", "return_weights", "return_attn_weights")
"""Those of them that can mean nothing else: `return_attention` may ask for scores before the softmax."""
ROTATION = ("position_embeddings", "position_ids")
"""Given by the caller: a pair (cos, sin), each (1, n, d), or positions (B, n); 1 and 0, or 0, turn nothing."""
