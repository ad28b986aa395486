"""Correct methods of fine-tuning in one tiny classifier, written as a user would: what the faults beside are changes
of.

The model has grouped keys (two heads of queries, one of keys), matrices that are not square, a pooler before its head,
segments, and positions that count real tokens.
"""

from __future__ import annotations

import contextlib
import math
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from finetune.laws.peft.adapted import Adapted

E, D, P = 8, 4, 3


class Layer(nn.Module):
    """Attention with two heads of queries over one of keys, and a feed-forward part."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value, self.out = (
            nn.Linear(E, 2 * D),
            nn.Linear(E, D),
            nn.Linear(E, D),
            nn.Linear(E, E),
        )
        self.up, self.down, self.norm, self.last = nn.Linear(E, 10), nn.Linear(10, E), nn.LayerNorm(E), nn.LayerNorm(E)
        self.drop = nn.Dropout(0.1)

    def forward(self, x: Tensor, real: Tensor, past: Any) -> Tensor:
        q = self.query(x).unflatten(-1, (2, D)).transpose(1, 2)  # (B, 2, n, D)
        k, v = self.key(x), self.value(x)
        if past is not None:
            k, v = torch.cat((past[0].expand(len(x), -1, -1), k), 1), torch.cat((past[1].expand(len(x), -1, -1), v), 1)
        s = (q @ k[:, None].mT / math.sqrt(D)).masked_fill(~real[:, None, None], -math.inf)
        y = (s.softmax(-1) @ v[:, None]).transpose(1, 2).flatten(2)
        x = self.norm(x + self.drop(self.out(y)))
        found: Tensor = self.last(x + self.drop(self.down(torch.tanh(self.up(x)))))
        return found


class Tiny(nn.Module):
    """The classifier; the mean over real places goes through a pooler."""

    checkpointing = ""

    def __init__(self, layers: int = 1) -> None:
        super().__init__()
        self.words, self.places, self.kinds = nn.Embedding(20, E), nn.Embedding(16, E), nn.Embedding(2, E)
        self.layers = nn.ModuleList(Layer() for _ in range(layers))
        self.pooler, self.classifier = nn.Linear(E, E), nn.Linear(E, 3)

    def get_input_embeddings(self) -> nn.Embedding:
        return self.words

    def forward(
        self, input_ids: Any = None, attention_mask: Any = None, token_type_ids: Any = None, inputs_embeds: Any = None,
        past: Any = None, positions: Any = None,
    ) -> Tensor:  # fmt: skip
        x = self.words(input_ids) if inputs_embeds is None else inputs_embeds
        before = 0 if past is None else past[0][0].shape[1]
        real = x.new_ones(len(x), before + x.shape[1]) if attention_mask is None else attention_mask
        if positions is None:
            positions = (real.cumsum(1) - 1).clamp(min=0)[:, before:].long()
        segments = torch.zeros(x.shape[:2], dtype=torch.long) if token_type_ids is None else token_type_ids
        x = x + self.places(positions) + self.kinds(segments)
        for number, layer in enumerate(self.layers):
            x = self.through(layer, x, real > 0, None if past is None else past[number])
        return self.pooled(x, real[:, before:])

    def through(self, layer: nn.Module, x: Tensor, real: Tensor, past: Any) -> Tensor:
        if self.checkpointing and self.training:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what torch says of the fault is not what is to tell it
                found: Tensor = checkpoint(layer, x, real, past, use_reentrant=self.checkpointing == "reentrant")
            return found
        y: Tensor = layer(x, real, past)
        return y

    def pooled(self, x: Tensor, real: Tensor) -> Tensor:
        mean = (x * (real > 0)[..., None]).sum(1) / (real > 0).sum(1, keepdim=True)
        found: Tensor = self.classifier(torch.tanh(self.pooler(mean)))
        return found


class Method(Adapted):
    """What all of them share: everything is frozen but the head, which can be swapped for the old one, and is saved."""

    head = ("pooler", "classifier")
    segments = 2
    on = True

    def model(self) -> nn.Module:
        return Tiny()

    def inject(self, model: nn.Module) -> nn.Module:
        for name, parameter in model.named_parameters():
            parameter.requires_grad_(self.trains(name))
        self.old = {n: p.detach().clone() for n, p in model.named_parameters() if p.requires_grad}
        self.core = [model]  # in a list: not a second time a part of this module
        made = self.put_in(model)
        self.learning = {n for n, p in made.named_parameters() if p.requires_grad}  # frozen for serving, they are saved
        return made

    def trains(self, name: str) -> bool:
        return name.split(".")[0] in self.head

    def put_in(self, model: nn.Module) -> nn.Module:
        return model

    @torch.no_grad()
    def swap(self) -> None:
        for name, parameter in self.core[0].named_parameters():
            if name in self.old:
                now = parameter.clone()
                parameter.copy_(self.old[name])
                self.old[name] = now

    @contextlib.contextmanager
    def disabled(self) -> Iterator[None]:
        self.swap()
        self.switch(False)
        try:
            yield
        finally:
            self.switch(True)
            self.swap()

    def switch(self, on: bool) -> None:
        self.on = on

    def tensors(self) -> dict[str, Tensor]:
        return {n: p.detach().clone() for n, p in self.adapted.named_parameters() if n in self.learning}

    def save(self, folder: str) -> None:
        Path(folder).mkdir()
        save_file(self.tensors(), f"{folder}/adapter.safetensors")

    def load(self, model: nn.Module, folder: str) -> nn.Module:
        made = self.inject(model)
        found = load_file(f"{folder}/adapter.safetensors")
        with torch.no_grad():
            for name, parameter in made.named_parameters():
                if name in found:
                    parameter.copy_(found[name])
        return made

    def checkpoint(self) -> None:
        self.core[0].checkpointing = "each"  # type: ignore[assignment]


class HeadAlone(Method):
    """The head is trained, nothing else."""

    kind = "head"


class Biases(Method):
    """Everything called bias is trained, and the head."""

    kind = "bias"

    def trains(self, name: str) -> bool:
        return super().trains(name) or name.endswith("bias")


class Low(nn.Module):
    """A linear module with a thin product beside it."""

    def __init__(self, base: nn.Linear, rank: int, scale: float) -> None:
        super().__init__()
        self.base, self.scale, self.merged, self.on = base, scale, False, True
        self.lora_A = nn.Parameter(torch.randn(rank, base.in_features) / rank)
        self.lora_B = nn.Parameter(torch.zeros(base.out_features, rank))
        self.drop = nn.Dropout(0.2)

    def delta(self) -> Tensor:
        return self.scale * (self.lora_B @ self.lora_A)

    def product(self, x: Tensor) -> Tensor:
        found: Tensor = self.drop(x) @ self.lora_A.T @ self.lora_B.T * self.scale
        return found

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.base(x)
        return y if self.merged or not self.on else y + self.product(x)

    @torch.no_grad()
    def merge(self) -> None:
        if not self.merged:
            self.base.weight += self.delta()
            self.merged = True

    @torch.no_grad()
    def unmerge(self) -> None:
        if self.merged:
            self.base.weight -= self.delta()
            self.merged = False

    def switch(self, on: bool) -> None:
        self.again = self.merged if not on else getattr(self, "again", False)
        if not on:
            self.unmerge()
        elif self.again:
            self.merge()
        self.on = on


class LowRank(Method):
    """Rank-stabilised LoRA on three matrices of each layer, merged by adding and unmerged by subtracting."""

    kind, rank, scale = "lora", 3, 5 / math.sqrt(3)
    targets = ("query", "value", "up")
    layer: ClassVar[type[Low]] = Low

    def put_in(self, model: nn.Module) -> nn.Module:
        self.low: list[Low] = []
        for _, layer in list(model.named_modules()):
            for name in self.targets:
                if isinstance(getattr(layer, name, None), nn.Linear):
                    setattr(layer, name, self.made(getattr(layer, name)))
                    self.low.append(getattr(layer, name))
        return model

    def made(self, base: nn.Linear) -> Low:
        return self.layer(base, self.rank, self.scale).to(base.weight.dtype)

    def merge(self) -> None:
        for low in self.low:
            low.merge()

    def unmerge(self) -> None:
        for low in self.low:
            low.unmerge()

    def switch(self, on: bool) -> None:
        for low in self.low:
            low.switch(on)


class Around(nn.Module):
    """A model with a parameter beside it; what is done with it stands in the method."""

    method: Any

    def __init__(self, model: nn.Module, vectors: Tensor, method: Any) -> None:
        super().__init__()
        self.model, self.vectors = model, nn.Parameter(vectors)
        self.__dict__["method"] = method

    def forward(self, input_ids: Tensor, attention_mask: Any = None, token_type_ids: Any = None) -> Tensor:
        found: Tensor = self.method.run(self.model, self.vectors, input_ids, attention_mask, token_type_ids)
        return found


class SoftPrompt(Method):
    """Vectors in front of the embedded text, real to attention."""

    kind, length = "prompt", P

    def put_in(self, model: nn.Module) -> nn.Module:
        words: Any = model.words
        return Around(model, torch.randn(P, E, dtype=words.weight.dtype), self)

    def run(self, model: Any, vectors: Tensor, ids: Tensor, mask: Any, segments: Any) -> Any:
        if not self.on:
            return model(ids, mask, segments)
        mask = torch.ones_like(ids) if mask is None else mask
        segments = torch.zeros_like(ids) if segments is None else segments
        x = torch.cat((vectors.expand(len(ids), -1, -1), model.words(ids)), 1)
        return model(None, self.wider(mask), nn.functional.pad(segments, (P, 0)), x, positions=self.positions(mask))

    def wider(self, mask: Tensor) -> Tensor:
        return nn.functional.pad(mask, (P, 0), value=1)

    def positions(self, mask: Tensor) -> Tensor | None:
        return None


class KeysAndValues(Method):
    """Keys and values in front of the text's own, in every layer."""

    kind, length, layers, width = "prefix", P, 2, D

    def model(self) -> nn.Module:
        return Tiny(self.layers)

    def put_in(self, model: nn.Module) -> nn.Module:
        words: Any = model.words
        return Around(model, torch.randn(self.layers, 2, P, self.width, dtype=words.weight.dtype), self)

    def run(self, model: Any, vectors: Tensor, ids: Tensor, mask: Any, segments: Any) -> Any:
        if not self.on:
            return model(ids, mask, segments)
        mask = torch.ones_like(ids) if mask is None else mask
        return model(ids, self.wider(mask), segments, past=self.past(vectors), positions=self.positions(mask))

    def wider(self, mask: Tensor) -> Tensor:
        return nn.functional.pad(mask, (P, 0), value=1)

    def past(self, vectors: Tensor) -> Any:
        return vectors[:, :, None]

    def positions(self, mask: Tensor) -> Tensor | None:
        return None

    def by_hand(self, ids: Tensor, mask: Tensor | None) -> Tensor:
        """Text by text, without padding or mask: keys and values written out."""
        model: Any = self.core[0]
        rows = []
        for number, row in enumerate(ids):
            t = row if mask is None else row[mask[number] > 0]
            x = model.words(t) + model.places.weight[P : P + len(t)] + model.kinds.weight[0]
            for layer, (keys, values) in zip(model.layers, self.adapted.vectors, strict=True):  # type: ignore[arg-type]
                k, v = torch.cat((keys, layer.key(x))), torch.cat((values, layer.value(x)))
                heads = [(q @ k.T / math.sqrt(D)).softmax(-1) @ v for q in layer.query(x).split(D, -1)]
                x = layer.norm(x + layer.out(torch.cat(heads, -1)))
                x = layer.last(x + layer.down(torch.tanh(layer.up(x))))
            rows.append(model.classifier(torch.tanh(model.pooler(x.mean(0)))))
        return torch.stack(rows)


class Tokens(SoftPrompt):
    """The same in a model without a head, that gives a vector for each token of the text."""

    head = ()  # type: ignore[assignment]

    def model(self) -> nn.Module:
        class Vectors(Tiny):
            def __init__(self) -> None:
                super().__init__()
                del self.pooler, self.classifier

            def pooled(self, x: Tensor, real: Tensor) -> Tensor:
                return x

        return Vectors()

    def run(self, *given: Any) -> Any:
        found = super().run(*given)
        return found[:, P:] if self.on else found


class Scales(Method):
    """A method of one's own: each layer's keys are scaled by a trained vector that begins at 1."""

    kind, neutral = "scales", True

    def put_in(self, model: nn.Module) -> nn.Module:
        layers: Any = model.layers
        for layer in layers:
            layer.by = nn.Parameter(torch.ones(D, dtype=layer.key.weight.dtype))
            layer.key.register_forward_hook(lambda m, i, y, layer=layer: y * layer.by if self.on else None)
        return model

    def count(self) -> int:
        return D + E * E + E + 3 * E + 3

    def by_hand(self, ids: Tensor, mask: Tensor | None) -> Tensor:
        model: Any = Tiny().to(self.core[0].words.weight.dtype).eval()  # type: ignore[union-attr,arg-type]
        model.load_state_dict({n: v for n, v in self.core[0].state_dict().items() if not n.endswith(".by")})
        with torch.no_grad():
            for layer, own in zip(model.layers, self.core[0].layers, strict=True):  # type: ignore[arg-type]
                layer.key.weight *= own.by[:, None]
                layer.key.bias *= own.by
        found: Tensor = model(ids, mask)
        return found


class WithStatistics(LowRank):
    """LoRA in a model with a batch norm, which is kept in evaluation mode, as its frozen statistics ask for."""

    def model(self) -> nn.Module:
        class Normed(Tiny):
            def __init__(self) -> None:
                super().__init__()
                self.norm = nn.BatchNorm1d(E)

            def pooled(self, x: Tensor, real: Tensor) -> Tensor:
                return super().pooled(self.norm(x.mT).mT, real)

        return Normed()

    def train(self, mode: bool = True) -> Any:
        super().train(mode)
        self.still()
        return self

    def still(self) -> None:
        for module in self.modules():
            if isinstance(module, nn.BatchNorm1d):
                module.eval()


CORRECT = (LowRank, HeadAlone, Biases, SoftPrompt, Tokens, KeysAndValues, Scales, WithStatistics)
