"""LoRA: beside a frozen matrix W the product of two thin ones, y = W x + b + s B A dropout(x).

B starts at 0, so that nothing changes at first; merged, the model costs what it did, and its bits come back.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor, nn

from finetune.errors import BadInput
from finetune.peft.files import Saved
from finetune.peft.model_parts import backbone_of, head_of
from finetune.peft.protocol import Adapter, Method, take

TARGETS = (("query", "value"), ("q_lin", "v_lin"), ("q_proj", "v_proj"), ("c_attn",))
"""The layers adapted by default: the first row whose names are all there; the paper's choice, under many names."""
UNSUPPORTED = (
    "use_dora", "alpha_pattern", "lora_bias", "trainable_token_indices", "target_parameters", "layer_replication",
    "use_qalora", "megatron_config", "arrow_config", "use_bdlora", "velora_config", "monteclora_config",
)  # fmt: skip
"""Options of `peft` that change what is computed; with tensors of their own or without."""


@dataclass(frozen=True)
class LoRA(Method):
    """Options: s = alpha / rank, or alpha / sqrt(rank) where rank-stabilised.

    Args: rank; alpha; dropout, on what goes into A; rank_stabilised, which keeps the size of the change when the rank
        grows; targets, the ends of the names of linear modules in the backbone, None for `TARGETS`.
    Raises: BadInput for values that cannot be. r (d_in + d_out) parameters a matrix: 2 d r for a square one.
    Source: Hu et al., "LoRA" (2022), section 4.1; Kalajdzievski, "rsLoRA" (2023), theorem 3.2.
    """

    rank: int = 8
    alpha: float = 16.0
    dropout: float = 0.0
    rank_stabilised: bool = False
    targets: tuple[str, ...] | None = None
    ranks: Mapping[str, int] | None = None
    """Ranks of single modules by their names, as a saved adapter may have them."""

    name = "lora"
    peft_types = ("LORA",)

    def __post_init__(self) -> None:
        if min([self.rank, *(self.ranks or {}).values()]) < 1 or not 0 <= self.dropout < 1:
            raise BadInput(f"a rank is at least 1, a dropout from 0 to below 1; got {self.rank}, {self.dropout}")

    def scale(self, rank: int) -> float:
        """The factor of B A."""
        return self.alpha / (math.sqrt(rank) if self.rank_stabilised else rank)

    def inject(self, model: nn.Module) -> Adapter:
        """Wrap the targets. Raises: BadInput where there is none."""
        chosen = self._choose_modules(model)
        # A matrix after the backbone, such as the pooler's, is adapted or trained, not both.
        head = [n for n in head_of(model) if n.rpartition(".")[0] not in chosen]
        for name in chosen:
            rank = (self.ranks or {}).get(name, self.rank)
            wrapped = LoRALinear(model.get_submodule(name), rank, self.scale(rank), self.dropout)
            parent, _, last = name.rpartition(".")
            setattr(model.get_submodule(parent), last, wrapped)
        own = [f"{name}.{part}.weight" for name in chosen for part in ("lora_A", "lora_B")]
        return LoRAAdapter(model, self, head, own, chosen)

    def _choose_modules(self, model: nn.Module) -> list[str]:
        """The names of the modules to wrap, all in the backbone."""
        inside = {id(module) for module in backbone_of(model).modules()}
        linear = [n for n, m in model.named_modules() if is_linear(m) and id(m) in inside]
        if self.ranks is not None:
            return [n for n in self.ranks if n in linear or _missing(n, model)]
        rows = TARGETS if self.targets is None else (self.targets,)
        for row in rows:
            found = {end: [n for n in linear if n == end or n.endswith(f".{end}")] for end in row}
            if row and all(found.values()):
                return [n for n in linear if any(n in names for names in found.values())]
        message = " or ".join(" and ".join(row) for row in rows)
        raise BadInput(
            f"{type(model).__name__} has no linear modules called {message or 'nothing'}: name others as targets"
        )

    @classmethod
    def of_config(cls, saved: Saved, model: nn.Module) -> LoRA:
        """The options of an adapter by us or by `peft`; which modules, and their ranks, is read from its tensors."""
        saved.refuse(*UNSUPPORTED)
        if saved.config.get("bias", "none") != "none":
            raise BadInput(f"{saved.path}: bias={saved.config['bias']!r} is not supported here")
        end = ".lora_A.weight"
        ranks = {
            name.removeprefix(LoRAAdapter.prefix).removesuffix(end): int(value.shape[0])
            for name, value in saved.tensors.items() if name.endswith(end) and value.ndim == 2
        }  # fmt: skip
        if not ranks:
            raise BadInput(f"{saved.path} holds no matrix A of LoRA")
        return cls(
            int(saved.number("r", 8)), saved.number("lora_alpha", 8), float(saved.number("lora_dropout", 0.0)),
            bool(saved.config.get("use_rslora")), None, ranks,
        )  # fmt: skip


def _missing(name: str, model: nn.Module) -> bool:
    raise BadInput(f"{type(model).__name__} has no linear module {name}")


def is_linear(module: nn.Module) -> bool:
    """Whether a module multiplies by one matrix: nn.Linear, or transformers' Conv1D, which keeps it transposed."""
    return isinstance(module, nn.Linear) or is_transposed(module)


def is_transposed(module: nn.Module) -> bool:
    """Whether a module keeps its matrix as (in, out), as GPT-2's Conv1D does."""
    return type(module).__name__ == "Conv1D" and getattr(module, "weight", torch.empty(0)).ndim == 2


class LoRALinear(nn.Module):
    """A linear module with a thin product beside it.

    Args: base, frozen; rank; scale, of the product; dropout.
    """

    def __init__(self, base: nn.Module, rank: int, scale: float, dropout: float) -> None:
        super().__init__()
        self.base, self.scale, self.enabled = base, scale, True
        weight = cast(Tensor, base.weight)
        self.transposed = is_transposed(base)
        n_out, n_in = weight.shape[::-1] if self.transposed else weight.shape
        made = {"device": weight.device, "dtype": weight.dtype}
        self.lora_A = nn.Linear(n_in, rank, bias=False, **made)  # starts as torch's linear modules do
        self.lora_B = nn.Linear(rank, n_out, bias=False, **made)
        nn.init.zeros_(self.lora_B.weight)
        self.drop = nn.Dropout(dropout)
        self.kept: Tensor | None = None
        self.train(base.training)  # new modules train, whatever the model around them does

    @property
    def weight(self) -> Tensor:
        """The matrix that the base multiplies by; some models look at the dtype of it."""
        return cast(Tensor, self.base.weight)

    def delta(self) -> Tensor:
        """s B A, as (out, in), or transposed where the base keeps its matrix so."""
        product = self.scale * (self.lora_B.weight @ self.lora_A.weight)
        return product.T if self.transposed else product

    def forward(self, x: Tensor) -> Tensor:
        """Base and product; the base alone where merged or disabled."""
        y: Tensor = self.base(x)
        if self.kept is not None or not self.enabled:
            return y
        out: Tensor = y + self.lora_B(self.lora_A(self.drop(x))) * self.scale
        return out

    @torch.no_grad()
    def merge(self) -> None:
        """W + s B A in the place of W, which is kept; a second time does nothing."""
        if self.kept is None:
            weight = cast(nn.Parameter, self.base.weight)
            self.kept = weight.data
            weight.data = weight.data + self.delta().to(weight.dtype)

    def unmerge(self) -> None:
        """W as it was, to the bit: subtracting s B A would round twice."""
        if self.kept is not None:
            cast(nn.Parameter, self.base.weight).data, self.kept = self.kept, None


class LoRAAdapter(Adapter):
    """LoRA in a model."""

    prefix = "base_model.model."

    def __init__(self, model: nn.Module, method: LoRA, head: list[str], own: list[str], chosen: list[str]) -> None:
        super().__init__(model, method, head, own)
        self.layers = {name: cast(LoRALinear, model.get_submodule(name)) for name in chosen}
        self.options = method

    def merge(self) -> None:
        """Put every product into its matrix."""
        for layer in self.layers.values():
            layer.merge()

    def unmerge(self) -> None:
        """Take every product out of its matrix, to the bits that were there."""
        for layer in self.layers.values():
            layer.unmerge()

    @contextmanager
    def disabled(self) -> Iterator[None]:
        """The model as it was; one that is merged is unmerged meanwhile."""
        merged = [layer for layer in self.layers.values() if layer.kept is not None]
        before = {name: layer.enabled for name, layer in self.layers.items()}
        for layer in self.layers.values():
            layer.unmerge()
            layer.enabled = False
        try:
            with super().disabled():
                yield
        finally:
            for name, layer in self.layers.items():
                layer.enabled = before[name]
            for layer in merged:
                layer.merge()

    def config(self) -> dict[str, Any]:
        """In the words of `peft`."""
        rank = {name: layer.lora_A.out_features for name, layer in self.layers.items()}
        common = max(set(rank.values()), key=list(rank.values()).count)
        return {
            "r": common, "lora_alpha": self.options.alpha, "lora_dropout": self.options.dropout, "bias": "none",
            "use_rslora": self.options.rank_stabilised, "target_modules": list(self.layers),
            "rank_pattern": {name: r for name, r in rank.items() if r != common},
            "fan_in_fan_out": any(layer.transposed for layer in self.layers.values()),
        }  # fmt: skip

    def tensors(self) -> Mapping[str, Tensor]:
        """A and B of every target; what is merged is saved as it is unmerged."""
        return {
            f"{self.prefix}{name}.{part}.weight": getattr(layer, part).weight
            for name, layer in self.layers.items() for part in ("lora_A", "lora_B")
        }  # fmt: skip

    def put_tensors(self, found: dict[str, Tensor], misfit: str) -> None:
        """A and B of every target."""
        for name, layer in self.layers.items():
            for part in ("lora_A", "lora_B"):
                take(found, f"{self.prefix}{name}.{part}.weight", getattr(layer, part).weight, misfit)
