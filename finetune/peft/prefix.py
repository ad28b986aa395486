"""Prefix tuning: in every layer, P trained keys and values that each token attends to besides the text's own.

What stands in `past_key_values` of a call; the text's positions go on after the prefix.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from finetune.errors import BadInput
from finetune.models.encoder import Encoder, KeysAndValues
from finetune.peft.files import Saved
from finetune.peft.model_parts import backbone_of, bind_arguments, head_of, sizes_of, takes
from finetune.peft.protocol import Adapter, Method, take

START = 0.02
"""Standard deviation of the numbers at the start, that of the models' own matrices."""


@dataclass(frozen=True)
class Prefix(Method):
    """Options: 2 L P H_kv d_head parameters besides the head, which is 2 L P d without grouped queries.

    Args: length, P. Raises: BadInput where it is below 1.
    Source: Li and Liang, "Prefix-Tuning" (2021), section 4.2, without its reparametrisation, which is for training
        alone; Liu et al., "P-Tuning v2" (2022), for encoders.
    """

    length: int = 20

    name = "prefix"
    peft_types = ("PREFIX_TUNING",)

    def __post_init__(self) -> None:
        if self.length < 1:
            raise BadInput(f"a prefix is at least 1 long, got {self.length}")

    def inject(self, model: nn.Module) -> Adapter:
        """Put keys and values beside the backbone. Raises: BadInput where it does not take any from outside."""
        backbone = backbone_of(model)
        if not takes(backbone, "past_key_values"):
            raise BadInput(
                f"{type(backbone).__name__} takes no past_key_values; as an encoder of ours (load_encoder) the same "
                "weights do"
            )
        layers, heads, size = sizes_of(backbone)
        like = next(backbone.parameters())
        head = head_of(model)
        table = nn.Embedding(self.length, 2 * layers * heads * size, device=like.device, dtype=like.dtype)
        nn.init.normal_(table.weight, std=START)
        backbone.add_module("prefix_table", table)
        own = [name for name, p in model.named_parameters() if p is table.weight]
        return PrefixAdapter(model, self, head, own, backbone, table)

    @classmethod
    def of_config(cls, saved: Saved, model: nn.Module) -> Prefix:
        """The options of an adapter by us or by `peft`, which saves what a projection has made of its vectors."""
        return cls(int(saved.number("num_virtual_tokens")))


class PrefixAdapter(Adapter):
    """A prefix in a model: one hook in front of the backbone."""

    def __init__(
        self,
        model: nn.Module,
        method: Prefix,
        head: list[str],
        own: list[str],
        backbone: nn.Module,
        table: nn.Embedding,
    ) -> None:
        super().__init__(model, method, head, own)
        self.table, self.options, self.backbone = table, method, backbone
        self.sizes = sizes_of(backbone)
        backbone.register_forward_pre_hook(self._before, with_kwargs=True)

    def pairs(self, B: int) -> list[KeysAndValues]:
        """For each layer, keys and values (B, H_kv, P, d_head): row p of the table holds k_1, v_1, k_2, v_2, ..."""
        layers, heads, size = self.sizes
        table = self.table.weight.view(self.options.length, 2 * layers, heads, size).permute(1, 2, 0, 3)
        wide = table[:, None].expand(-1, B, -1, -1, -1)  # (2 L, B, H_kv, P, d_head)
        return [(wide[2 * number], wide[2 * number + 1]) for number in range(layers)]

    def _before(
        self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Any, dict[str, Any]] | None:
        """The call with the prefix in it."""
        if not self.enabled:
            return None
        given = bind_arguments(module, args, kwargs)
        if "past_key_values" in given:
            raise BadInput("with a prefix, a call cannot have past_key_values of its own")
        if module.training and any(getattr(part, "gradient_checkpointing", False) for part in module.modules()):
            raise BadInput("gradient checkpointing drops past_key_values: the prefix would not be trained; turn it off")
        text = given["inputs_embeds"] if "inputs_embeds" in given else given["input_ids"]
        B, P = len(text), self.options.length
        if "attention_mask" in given:
            mask = given["attention_mask"]
            given["attention_mask"] = torch.cat((mask.new_ones(B, P), mask), 1)
        if "position_ids" in given:
            given["position_ids"] = given["position_ids"] + P
        given["past_key_values"] = self.pairs(B) if isinstance(module, Encoder) else cache_of(self.pairs(B))
        return (), given

    def config(self) -> dict[str, Any]:
        """In the words of `peft`."""
        layers, heads, size = self.sizes
        return {
            "num_virtual_tokens": self.options.length, "num_layers": layers, "num_attention_heads": heads,
            "token_dim": heads * size, "encoder_hidden_size": heads * size, "prefix_projection": False,
            "num_transformer_submodules": 1,
        }  # fmt: skip

    def tensors(self) -> Mapping[str, Tensor]:
        """The table."""
        return {"prompt_embeddings": self.table.weight}

    def put_tensors(self, found: dict[str, Tensor], misfit: str) -> None:
        """The table."""
        take(found, "prompt_embeddings", self.table.weight, misfit)


def cache_of(pairs: list[KeysAndValues]) -> Any:
    """Keys and values as a model of transformers wants them."""
    from transformers import DynamicCache

    return DynamicCache(pairs)
