"""Shapes by name, by sizes, or from a TOML file: where workloads come from.

`BERT-base:512`, `Llama-3-8B` (its usual lengths), `B=1,H=8,n=1024,d=64`, `shapes.toml`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attention_core.bench.json_fields import DIGITS, parse_whole_number, shorten
from attention_core.bench.workloads.masks import MaskSpec, read_mask
from attention_core.bench.workloads.workload import SIZES, Workload
from attention_core.declaration.implementation import TargetError

SIZE_FORM = "write sizes as B=1,H=8,n=1024,d=64 (also H_kv, n_q, n_kv, d_v)"


@dataclass(frozen=True)
class Model:
    """Attention of a known model: sizes, the lengths it is met at, whether it is causal, and where this is written."""

    name: str
    sizes: Mapping[str, int]
    lengths: tuple[int, ...]
    mask: str
    source: str


MODELS = (
    Model("BERT-base", {"H": 12, "d": 64}, (128, 512), "none", "Devlin et al. (2019), section 3: L=12, H=768, A=12"),
    Model("GPT-2", {"H": 12, "d": 64}, (256, 1024), "causal", "Radford et al. (2019), table 2, the smallest: d=768"),
    Model(
        "Llama-3-8B",
        {"H": 32, "H_kv": 8, "d": 128},
        (512, 2048, 8192),
        "causal",
        "Llama Team (2024), table 3: 4,096 wide, 32 heads, 8 key/value heads",
    ),
)


@dataclass(frozen=True)
class Shape:
    """Sizes of a workload, and a mask where the shape brings its own."""

    label: str
    sizes: Mapping[str, int]
    mask: str = ""


def read_shapes(texts: Iterable[str]) -> list[Shape]:
    """Shapes from words.

    Raises: TargetError for what is none, with the way to write it.
    Example:
        >>> read_shapes(["BERT-base:128"])[0].sizes["n_kv"]
        128
    """
    found: list[Shape] = []
    for text in texts:
        name, _, length = text.partition(":")
        models = [m for m in MODELS if m.name.lower() == name.lower()]
        if models:
            found += of_model(models[0], length)
        elif text.endswith(".toml"):
            found += from_file(Path(text))
        elif "=" in text:
            found.append(Shape("", sizes_of(_pairs(text), text)))
        else:
            known = ", ".join(m.name for m in MODELS)
            raise TargetError(
                f"shape {shorten(text)!r} is not one of {known} (or NAME:LENGTH), nor a TOML file; {SIZE_FORM}"
            )
    return found


def of_model(model: Model, length: str) -> list[Shape]:
    """A model's attention at one length, or at its usual ones."""
    chosen = parse_whole_number(length)
    if length and not chosen:
        raise TargetError(f"shape {model.name}:{shorten(length)}: write a length of at least 1")
    lengths = (chosen,) if chosen else model.lengths
    return [Shape(f"{model.name} {n}", {**model.sizes, "n_q": n, "n_kv": n}, model.mask) for n in lengths]


def _pairs(text: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for part in text.split(","):
        name, equals, value = part.strip().partition("=")
        number = parse_whole_number(value.removeprefix("-"))
        if not equals or number is None:
            raise TargetError(f"size {shorten(part.strip())!r} is not understood: {SIZE_FORM}")
        if name in found:
            raise TargetError(f"{shorten(text)}: {name} is given twice")
        found[name] = -number if value.startswith("-") else number
    return found


def sizes_of(given: Mapping[str, Any], where: str) -> dict[str, int]:
    """Sizes by name; `n` stands for n_q and n_kv."""
    sizes = dict(given)
    if "n" in sizes:
        n = sizes.pop("n")
        sizes = {"n_q": n, "n_kv": n, **sizes}
    for name, value in sizes.items():
        if name not in SIZES:
            raise TargetError(f"{where}: no size is called {name!r}; there are n, {', '.join(SIZES)}")
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise TargetError(f"{where}: {name}={value!r} is not a whole number of at least 1")
        if value >= 10**DIGITS:
            raise TargetError(f"{where}: {name} has more than {DIGITS} digits")
    return sizes


def from_file(path: Path) -> list[Shape]:
    """Shapes of a TOML file: tables [[shape]] with sizes, and optionally name and mask, and nothing else."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise TargetError(f"{path} cannot be read: {error.strerror}") from error
    except ValueError as error:  # also text that is not UTF-8, and numbers too long to be read
        raise TargetError(f"{path} is not valid TOML: {error}") from error
    except RecursionError:
        raise TargetError(f"{path} cannot be read as TOML: it is nested too deeply") from None
    unknown = [name for name in data if name != "shape"]
    if unknown:  # left unread without a word, a slip in the name would time another shape than is meant
        raise TargetError(f"{path}: {shorten(repr(unknown[0]))} is not understood: write every shape under [[shape]]")
    tables = data.get("shape")
    if not isinstance(tables, list) or not tables or not all(isinstance(t, dict) for t in tables):
        raise TargetError(f"{path} holds no tables [[shape]]")
    found = []
    for number, table in enumerate(tables, 1):
        where = f"{path}, shape {number}"
        label, mask = table.pop("name", ""), table.pop("mask", "")
        if not isinstance(label, str) or not isinstance(mask, str):
            raise TargetError(f"{where}: name and mask are texts")
        if mask:
            read_mask(mask)
        found.append(Shape(label, sizes_of(table, where), mask))
    return found


def workloads(
    shapes: Sequence[Shape], dtypes: Sequence[str], masks: Sequence[str], directions: Sequence[str],
    *, lengths: Sequence[int] = (), decode: bool = False, seed: int = 0, form: str = "plain",
) -> list[Workload]:  # fmt: skip
    """Every combination, each once; a shape's own mask holds where no option names one.

    Args: lengths, of keys, in place of each shape's own; decode, one query against the keys instead of as many; form,
    of the tensors.
    Raises: TargetError as for `Workload`.
    """
    found: dict[str, Workload] = {}
    for shape in shapes:
        for length in lengths or (0,):
            sizes = dict(shape.sizes)
            label = shape.label
            if length:
                sizes |= {"n_q": length, "n_kv": length}
                label = f"{label.rsplit(' ', 1)[0]} {length}" if label else ""
            if decode:
                sizes["n_q"] = 1
                label = f"{label}, decoding" if label else ""
            for dtype in dtypes:
                for mask in masks or (shape.mask or "none",):
                    for direction in directions:
                        spec: MaskSpec = read_mask(mask)
                        options: dict[str, Any] = {**sizes, "label": label, "seed": seed, "form": form}
                        made = Workload(dtype=dtype, mask=spec, direction=direction, **options)
                        found[made.key()] = made
    return list(found.values())
