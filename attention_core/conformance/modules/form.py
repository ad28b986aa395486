"""The form of a module: how it is built, how it is called, and a mask in the form that it takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from attention_core.conformance.worker.exchange import NDArray, Settings
from attention_core.declaration.aliases import LONGEST

SHAPES: Mapping[str, str] = {
    "shared": "(n, n)", "by sequence": "(B, 1, n, n)", "rows": "(B, n, n)", "keys": "(B, n)",
    "wide keys": "(B, 1, 1, n)",
}  # fmt: skip
"""Masks by what they differ by, and the shapes in which they are handed over."""
KINDS = ("bool", "additive", "binary")
"""True and False; 0 and -inf added to the scores; 1 and 0 as whole numbers."""


@dataclass(frozen=True)
class Size:
    """A size as a constructor's argument: one of E, H, H_kv, d, n."""

    name: str


@dataclass(frozen=True)
class Config:
    """A config as a constructor's argument: values by name, some of them sizes."""

    values: Mapping[str, Any]
    of: str = ""
    keyed: bool = False


@dataclass(frozen=True)
class Construction:
    """A constructor's arguments by place and by name; sizes and a config among them stand for what a case gives."""

    places: tuple[Any, ...] = (Size("E"), Size("H"))
    names: Mapping[str, Any] = field(default_factory=dict)

    def arguments(self, sizes: Mapping[str, int]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments for sizes E, H, H_kv, d."""
        known = {**sizes, "n": LONGEST}
        return tuple(_resolve_argument(a, known) for a in self.places), {
            k: _resolve_argument(a, known) for k, a in self.names.items()
        }

    @property
    def config(self) -> Config | None:
        """The config among the arguments."""
        return next((a for a in (*self.places, *self.names.values()) if isinstance(a, Config)), None)

    def with_config(self, config: Config) -> Construction:
        """The same with another config."""
        places = tuple(config if isinstance(a, Config) else a for a in self.places)
        return Construction(places, {k: config if isinstance(a, Config) else a for k, a in self.names.items()})

    @property
    def constants(self) -> dict[str, Any]:
        """Return the values given by name that are not sizes, those of a config included.

        Example:
            >>> Construction((Config({"n_embd": Size("E"), "dropout": 0.0}),), {"bias": True}).constants
            {'dropout': 0.0, 'bias': True}
        """
        named = {**(self.config.values if self.config else {}), **self.names}
        return {name: value for name, value in named.items() if not isinstance(value, Size | Config)}

    def takes(self, size: str) -> bool:
        """Whether a size is among the arguments or in the config."""
        values = self.config.values.values() if self.config else ()
        return any(isinstance(a, Size) and a.name == size for a in (*self.places, *self.names.values(), *values))


def _resolve_argument(argument: Any, sizes: Mapping[str, int]) -> Any:
    if isinstance(argument, Size):
        return sizes[argument.name]
    if isinstance(argument, Config):
        return Settings(
            {k: _resolve_argument(v, sizes) for k, v in argument.values.items()}, argument.of, argument.keyed
        )
    return argument


@dataclass(frozen=True)
class MaskForm:
    """One mask parameter: its name, the shapes of `SHAPES` it is judged on, and the kind of `KINDS` it takes."""

    name: str
    shapes: tuple[str, ...]
    kind: str = "bool"

    def describe(self) -> str:
        """In words."""
        return f"{self.name}: {self.kind}, {' or '.join(SHAPES[s] for s in self.shapes)}"


@dataclass(frozen=True)
class Form:
    """How a module is built and called.

    Args:
        construction: the constructor's arguments.
        inputs: names of the inputs by what they are ("x", or "query", "key", "value", "context"); by place as long as
            the signature begins with them.
        places: how many of them go by place.
        masks: the mask parameters.
        required: mask parameters without a default, given None where nothing is masked.
        causal: the parameter that asks for causality, or "".
        rotation: the parameter that takes (cos, sin), or "".
        rotated: the part of each head that (cos, sin) are as wide as.
        output: which result is the output.
        grouped: whether keys and values may have fewer heads.
        multiple: what the number of heads is a multiple of.
        others: parameters that get no value.
        weights: the flag that was found to ask for the weights, or "".
    """

    construction: Construction = Construction()
    inputs: Mapping[str, str] = field(default_factory=lambda: {"x": "x"})
    places: int = 1
    masks: tuple[MaskForm, ...] = (MaskForm("attn_mask", ("shared", "by sequence")),)
    required: tuple[str, ...] = ()
    causal: str = "is_causal"
    rotation: str = ""
    rotated: float = 1.0
    output: int = 0
    grouped: bool = False
    multiple: int = 1
    others: tuple[str, ...] = ()
    weights: str = ""

    @property
    def crosses(self) -> bool:
        """Whether keys and values may come from another sequence than queries."""
        return "context" in self.inputs or {"key", "value"} <= self.inputs.keys()

    @property
    def even(self) -> int:
        """What a head size is a multiple of where the rotated part of it is even.

        Example:
            >>> Form().even, Form(rotated=0.25).even
            (2, 8)
        """
        return int(2 / self.rotated)

    def with_(self, **changes: Any) -> Form:
        """A copy with some fields changed."""
        return replace(self, **changes)

    def call(self) -> str:
        """The call in words, such as `module(hidden_states, attention_mask=...)`."""
        names = list(self.inputs.values())
        options = [m.name for m in self.masks] + [name for name in (self.causal, self.rotation) if name]
        return f"module({', '.join([*names, *(f'{name}=...' for name in options)])})"


@dataclass(frozen=True)
class Mask:
    """Which pairs are allowed, (n, m), (B, 1, n, m) or (B, 1, 1, m), and by which argument and in which shape.

    Numbers in place of True and False are biases, which additive masks alone can say. `view` is how it lies in memory.
    """

    pairs: NDArray
    form: MaskForm
    shape: str
    view: str = "contiguous"

    def of_one_row(self) -> Mask:
        """The mask with its first row in the place of all, each with its first key, and expanded from that row."""
        axis = -2 if self.shape in ("shared", "by sequence", "rows") else 0
        pairs = np.repeat(np.take(self.pairs, [0], axis=axis), self.pairs.shape[axis], axis=axis)
        pairs[..., 0] = True
        return replace(self, pairs=pairs, view="one_row")

    def argument(self, true: str) -> NDArray:
        """The mask as the module takes it; `true` says what True (or 1) means, "attend" or "ignore"."""
        pairs: NDArray = {"rows": lambda p: p[:, 0], "keys": lambda p: p[:, 0, 0]}.get(self.shape, lambda p: p)(
            self.pairs
        )
        if self.form.kind == "additive":
            return np.where(pairs, 0.0, -np.inf) if pairs.dtype == bool else pairs
        polar: NDArray = ~pairs if true == "ignore" else pairs
        return polar if self.form.kind == "bool" else polar.astype(np.int64)
