"""attention_core.conformance.built: which class of configs a class of transformers is built with."""

from __future__ import annotations

from attention_core.conformance.built import config_class_of, names_of_config


def test_a_config_made_of_two_others_is_passed_over_for_one_with_heads() -> None:
    from transformers.models.siglip.configuration_siglip import SiglipConfig
    from transformers.models.siglip.modeling_siglip import SiglipAttention

    found = config_class_of(SiglipAttention)
    assert found is not None and "num_attention_heads" in found["names"] and "hidden_size" in found["names"]
    assert "num_attention_heads" not in names_of_config(SiglipConfig)


def test_an_annotated_config_is_taken() -> None:
    from transformers.models.llama.modeling_llama import LlamaAttention

    found = config_class_of(LlamaAttention)
    assert found is not None and found["of"].endswith(":LlamaConfig")
