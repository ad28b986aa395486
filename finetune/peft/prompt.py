"""Prompt tuning: trained vectors in front of the embedded text; the model itself is untouched.

The first assignment calls this "prefix tuning" (P d parameters); what is called so elsewhere is in `prefix`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from finetune.errors import BadInput
from finetune.peft.files import Saved
from finetune.peft.model_parts import backbone_of, bind_arguments, head_of, table_of, takes, task_of
from finetune.peft.protocol import Adapter, Method, take

Outputs = Literal["text", "all"]
TEXT_POOLED = "FINETUNE_PROMPT_TEXT_POOLED"
"""A word that the library refuses: it would pool the prompt instead of the text, and give other numbers silently."""


@dataclass(frozen=True)
class Prompt(Method):
    """Options: P d parameters besides the head; 130 d + 2 with P = 128 and two classes.

    Args: length, P; outputs: "text" cuts the vectors of the prompt off what the backbone returns, so that shapes,
        labels and pooling are those of the text; "all" leaves them in front, as `peft` does, so that a classifier of
        transformers pools the first vector of the prompt; start: "vocabulary" for the vectors of drawn tokens, "random"
        for N(0, 1), which is `peft`'s.
    Raises: BadInput for values that cannot be.
    Source: Lester et al., "The Power of Scale for Parameter-Efficient Prompt Tuning" (2021), section 2; where the text
        is padded on the left, we put the prompt after the padding (huggingface/peft#54 is about the other place).
    """

    length: int = 20
    outputs: Outputs = "text"
    start: Literal["vocabulary", "random"] = "vocabulary"

    name = "prompt"
    peft_types = ("PROMPT_TUNING", TEXT_POOLED)

    def __post_init__(self) -> None:
        if self.length < 1 or self.outputs not in ("text", "all") or self.start not in ("vocabulary", "random"):
            raise BadInput(
                f"no prompt is {self.length} vectors long with outputs={self.outputs!r}, start={self.start!r}"
            )

    def inject(self, model: nn.Module) -> Adapter:
        """Put the vectors beside the backbone. Raises: BadInput where it does not take vectors in the place of ids."""
        backbone = backbone_of(model)
        table = table_of(backbone)
        if not takes(backbone, "inputs_embeds"):
            raise BadInput(f"{type(backbone).__name__} takes no inputs_embeds")
        if self.outputs == "all" and task_of(model) is None:
            raise BadInput("outputs='all' is for a model of transformers as it is: our heads read the text's vectors")
        head = head_of(model)
        like = table.weight
        vectors = nn.Embedding(self.length, table.embedding_dim, device=like.device, dtype=like.dtype)
        if self.start == "vocabulary":
            drawn = torch.randint(table.num_embeddings, (self.length,)).to(table.weight.device)
            vectors.weight.data = table.weight.detach()[drawn].clone()
        backbone.add_module("prompt_vectors", vectors)
        own = [name for name, p in model.named_parameters() if p is vectors.weight]
        return PromptAdapter(model, self, head, own, backbone, vectors)

    @classmethod
    def of_config(cls, saved: Saved, model: nn.Module) -> Prompt:
        """The options of an adapter by us or by `peft`."""
        length = int(saved.number("num_virtual_tokens"))
        pooled = saved.peft_type == TEXT_POOLED
        return cls(length, "all" if task_of(model) == "SEQ_CLS" and not pooled else "text")


class PromptAdapter(Adapter):
    """A prompt in a model: one hook in front of the backbone, and one after it."""

    def __init__(
        self,
        model: nn.Module,
        method: Prompt,
        head: list[str],
        own: list[str],
        backbone: nn.Module,
        vectors: nn.Embedding,
    ) -> None:
        super().__init__(model, method, head, own)
        self.backbone, self.vectors, self.options = backbone, vectors, method
        self.places: Tensor | None = None
        backbone.register_forward_pre_hook(self._before, with_kwargs=True)
        backbone.register_forward_hook(self._after)

    def _before(
        self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Any, dict[str, Any]] | None:
        """The call with the prompt in it."""
        if not self.enabled:
            return None
        given = bind_arguments(module, args, kwargs)
        if "position_ids" in given or "past_key_values" in given:
            raise BadInput("with a prompt, a call cannot have position_ids or past_key_values")
        ids = given.pop("input_ids", None)
        text = given.pop("inputs_embeds") if ids is None else table_of(module)(ids)
        B, P = len(text), self.options.length
        mask = given.get("attention_mask")
        prompt = self.vectors.weight.to(text.dtype).expand(B, -1, -1)
        together, order = join(prompt, text, mask)
        if order is not None and self.options.outputs == "all":
            raise BadInput("with outputs='all' padding must be on the right")
        given["inputs_embeds"] = together
        for name, value in (("attention_mask", 1), ("token_type_ids", 0)):
            if name in given:
                front = torch.full((B, P), value, dtype=given[name].dtype, device=text.device)
                given[name] = join(front, given[name], mask)[0]
        self.places = order
        return (), given

    def _after(self, module: nn.Module, args: tuple[Any, ...], output: Any) -> Any:
        """What the backbone returns, at the text alone."""
        if not self.enabled or self.options.outputs == "all":
            return None
        if isinstance(output, Tensor):
            return self._text(output)
        if isinstance(output, tuple):
            raise BadInput("with a prompt, a model must return its outputs by name (return_dict)")
        output.last_hidden_state = self._text(output.last_hidden_state)
        if getattr(output, "hidden_states", None) is not None:
            output.hidden_states = tuple(self._text(x) for x in output.hidden_states)
        if getattr(output, "pooler_output", None) is not None:
            output.pooler_output = module.pooler(output.last_hidden_state)  # type: ignore[operator]  # a module
        return output

    def _text(self, x: Float[Tensor, "B m E"]) -> Float[Tensor, "B n E"]:
        """The vectors of the text, n of m, in its order."""
        P = self.options.length
        if self.places is None:
            return x[:, P:]
        back = self.places.argsort(1)[:, P:]  # where each token of the text has gone
        return x.gather(1, back[..., None].expand(-1, -1, x.shape[-1]))

    def config(self) -> dict[str, Any]:
        """In the words of `peft`, or in one that it refuses where it would compute something else."""
        found: dict[str, Any] = {
            "num_virtual_tokens": self.options.length, "token_dim": self.vectors.embedding_dim,
            "num_transformer_submodules": 1, "prompt_tuning_init": "RANDOM",
        }  # fmt: skip
        if self.options.outputs == "text" and task_of(self.model) in (None, "SEQ_CLS"):
            found["peft_type"] = TEXT_POOLED
        return found

    def tensors(self) -> Mapping[str, Tensor]:
        """The vectors."""
        return {"prompt_embeddings": self.vectors.weight}

    def put_tensors(self, found: dict[str, Tensor], misfit: str) -> None:
        """The vectors."""
        take(found, "prompt_embeddings", self.vectors.weight, misfit)


def join(front: Tensor, text: Tensor, mask: Int[Tensor, "B n"] | None) -> tuple[Tensor, Tensor | None]:
    """Something of P places and something of n, the first in front of the first real token of each row.

    Args: front (B, P, ...), text (B, n, ...); mask (B, n), not 0 where real, None for everywhere.
    Returns: (B, P + n, ...), and where each place was taken from, (B, P + n); None where the order is as it was.
    """
    both = torch.cat((front, text), 1)
    if mask is None or bool((mask[:, 0] != 0).all()):
        return both, None
    P, place = front.shape[1], torch.arange(both.shape[1], device=both.device)[None]
    lead = mask.bool().to(torch.int8).argmax(1, keepdim=True)  # tokens of padding in front
    order = torch.where(place < lead, P + place, torch.where(place < lead + P, place - lead, place))
    index = order.reshape(*order.shape, *[1] * (both.ndim - 2)).expand(-1, -1, *both.shape[2:])
    return both.gather(1, index), order
