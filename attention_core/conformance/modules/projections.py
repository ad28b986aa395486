"""Finds the projections of a multi-head module among its named parameters: query, key, value and, if any, output.

Names tell the parts; where one parameter holds several parts, or a list holds them by number, their order is a
convention of the module (learned weights fit any), so `LAYOUTS` lists those in use and a probe tells which one it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import permutations

import numpy as np

from attention_core.conformance.subjects.evidence import NotApplicable
from attention_core.conformance.worker.exchange import NDArray

_OUT = "o out output outputs wo bo oproj toout proj projection dense unify merge combine final fc"
WORDS: Mapping[str, frozenset[str]] = {
    **{
        part: frozenset([part, f"{part}s", *(f"{prefix}{part}" for prefix in ("w", "b", "to")), f"{part}proj", *words])
        for part, words in {"q": ("query", "queries"), "k": ("key", "keys"), "v": ("value", "values")}.items()
    },
    "out": frozenset(_OUT.split(" ")),
}
"""What names call each part; the output's words are looked at last (`v_proj` is a value's)."""
LATENT = re.compile(r"kv_?(a|b|down|up)(_|\.|$)|kv_lora|latent")
"""Names of projections to and from a latent of keys and values."""
DECLARE = "say where projections are with --parameter q_proj=NAME (k_proj, v_proj, out_proj)"


@dataclass(frozen=True)
class Projections:
    """Weights (E, E), or (H_kv d, E) of fewer heads, and biases by part; a part's projection is y = x W^T + b.

    `norms` holds the weights of a norm on queries or keys, of a head's size or of all features; it is a layer norm
    where `shifts` holds its bias, else an RMS norm.
    """

    weights: Mapping[str, NDArray]
    biases: Mapping[str, NDArray]
    norms: Mapping[str, NDArray] = field(default_factory=dict)
    shifts: Mapping[str, NDArray] = field(default_factory=dict)


@dataclass(frozen=True)
class Shape:
    """H heads of queries, H_kv of keys and values, d features of each; E of a token, H d where none is given."""

    heads: int
    keys: int
    d: int
    own: int = 0

    def rows(self, part: str) -> int:
        """Features of a part."""
        return self.d * (self.keys if part in "kv" else self.heads)

    @property
    def size(self) -> int:
        """H d, the features of all heads."""
        return self.heads * self.d

    @property
    def features(self) -> int:
        """E, the features of a token."""
        return self.own or self.size

    @property
    def fused_size(self) -> int:
        """Features of all three parts."""
        return self.size + 2 * self.keys * self.d


@dataclass(frozen=True)
class Layout:
    """How parts lie where names do not say it.

    Args:
        order: of query, key and value within one parameter, or in a list.
        inner: what changes fastest in a fused parameter's features: "blocks" (part, head, d), "heads" (head, part, d),
            with several heads of queries for each of keys, "features" (head, d, part), "quarters" (4, part, head, d).
        transposed: square weights act as x W, not as x W^T.
    """

    order: str = "qkv"
    inner: str = "blocks"
    transposed: bool = False


LAYOUTS = tuple(
    Layout("".join(order), inner, transposed)
    for transposed in (False, True)
    for inner in ("blocks", "heads", "features", "quarters")
    for order in permutations("qkv")
)
"""All layouts, the most usual first; "quarters" is that of CodeGen, made for four processors."""


def find_projections(
    values: Mapping[str, NDArray], shape: Shape, layout: Layout, named: Mapping[str, str] | None = None
) -> Projections:
    """The parts of a module; `named` says where some are ("q_proj" -> a parameter's name or its beginning).

    Raises:
        NotApplicable: a parameter is not recognised, a part is there twice, or one is missing; the text says which.
    """
    if not values:
        raise NotApplicable("the module shows no parameters, so its projections cannot be filled")
    latent = next((name for name in values if LATENT.search(name)), None)
    if latent and not named:
        raise NotApplicable(
            f"keys and values come from a latent ({latent}), as in MLA, which is not modelled: "
            "verify the attention inside it as a function of query, key and value"
        )
    values = join_heads(values, shape)
    found: dict[tuple[str, int], NDArray] = {}
    norms: dict[str, NDArray] = {}
    shifts: dict[str, NDArray] = {}
    for name, value in values.items():
        if is_norm(name):
            (shifts if _is_shift(name, value, values) else norms).update(_norm(name, value, shape))
            continue
        value = _as_matrix(value, shape)
        for part, piece in _pieces(name, value, list(values), shape, layout, named or {}):
            if (part, value.ndim) in found:
                raise NotApplicable(f"two parameters look like the projection {part!r}: {', '.join(values)}")
            found[part, value.ndim] = piece
    missing = [part for part in "qkv" if (part, 2) not in found]
    if missing:
        raise NotApplicable(f"no weight of {', '.join(missing)} among the parameters {', '.join(values)}: {DECLARE}")
    weights = {part: value for (part, axes), value in found.items() if axes == 2}
    biases = {part: value for (part, axes), value in found.items() if axes == 1}
    if not biases.keys() <= weights.keys():
        raise NotApplicable(f"a bias without its weight among the parameters {', '.join(values)}")
    if not shifts.keys() <= norms.keys():
        raise NotApplicable(f"a norm's bias without its weight among the parameters {', '.join(values)}")
    return Projections(weights, biases, norms, shifts)


def join_heads(values: Mapping[str, NDArray], shape: Shape) -> Mapping[str, NDArray]:
    """The parameters, where a list has one of (d, E) or (d,) for each head as one of all heads, in their order.

    Example:
        >>> found = join_heads({"q.0.weight": np.zeros((2, 4)), "q.1.weight": np.ones((2, 4))}, Shape(2, 2, 2))
        >>> {name: value.shape for name, value in found.items()}
        {'q.weight': (4, 4)}
    """
    lists: dict[str, dict[int, str]] = {}
    for name, value in values.items():
        numbered = re.fullmatch(r"(.*?)\.?(\d+)\.?(.*)", name)
        if numbered and value.shape in ((shape.d, shape.features), (shape.d,)):
            before, number, behind = numbered.groups()
            lists.setdefault(".".join(filter(None, (before, behind))), {})[int(number)] = name
    whole = {name: members for name, members in lists.items() if len(members) in {shape.heads, shape.keys} - {1}}
    taken = {name for members in whole.values() for name in members.values()}
    joined = {name: np.concatenate([values[m[i]] for i in sorted(m)]) for name, m in whole.items()}
    return {**{name: value for name, value in values.items() if name not in taken}, **joined}


def is_norm(name: str) -> bool:
    """Whether a parameter's name says that it belongs to a norm.

    Example:
        >>> is_norm("q_norm.weight"), is_norm("q_proj.bias")
        (True, False)
    """
    words = [word.lower() for word in _words(name)]
    return any(word in ("norm", "rmsnorm", "layernorm", "ln", "gamma") or word.endswith("norm") for word in words)


def _is_shift(name: str, value: NDArray, values: Mapping[str, NDArray]) -> bool:
    """Whether a norm's parameter is its bias: of two of one norm, the one that is called so."""
    home, _, own = name.rpartition(".")
    others = [n for n, v in values.items() if n != name and n.rpartition(".")[0] == home and v.shape == value.shape]
    return bool(others) and own in ("bias", "b", "beta", "shift", "offset")


def _norm(name: str, value: NDArray, shape: Shape) -> dict[str, NDArray]:
    """The part that a norm belongs to -> its weight, or its bias."""
    words = {word.lower() for word in _words(name)}
    parts = [p for p in "qk" if words & {*WORDS[p], f"{p}norm", f"{p}layernorm", f"{p}ln"}]
    if len(parts) != 1:
        raise NotApplicable(f"the parameter {name} is not recognised as a projection: {DECLARE}")
    if value.shape not in ((shape.d,), (shape.rows(parts[0]),)):
        raise NotApplicable(f"the norm {name} of shape {value.shape} is not of a head or of all features")
    return {parts[0]: value}


def _as_matrix(value: NDArray, shape: Shape) -> NDArray:
    """A weight with an axis of its own for the heads, (E, H, d) in and (H, d, E) out, as (features out, in)."""
    heads = {(shape.heads, shape.d), (shape.keys, shape.d)}
    if value.ndim == 3 and value.shape[1:] in heads and value.shape[0] == shape.features:
        return value.reshape(value.shape[0], -1).T
    if value.ndim == 3 and value.shape[:2] in heads and value.shape[2] == shape.features:
        return value.reshape(-1, value.shape[2]).T
    return value.reshape(-1) if value.ndim == 2 and value.shape in heads and 1 not in value.shape else value


def _pieces(
    name: str, value: NDArray, names: list[str], shape: Shape, layout: Layout, named: Mapping[str, str]
) -> Iterator[tuple[str, NDArray]]:  # fmt: skip
    """The parts that one parameter holds."""
    size, fused, part = shape.features, shape.fused_size, _find_declared_part(name, named)
    if part is None and value.shape in ((fused, size), (size, fused), (fused,)):
        rows = value.T if value.shape == (size, fused) and fused != size else value
        yield from _split_rows(rows, shape, layout, _order(name, layout)).items()
        return
    both = 2 * shape.keys * shape.d
    part = part or _part(name, names, layout)
    if part in (None, "kv") and value.shape in ((both, size), (both,), (size, both)) and (part or both != size):
        rows = value.T if value.shape == (size, both) and both != size else value
        yield from zip(_order(name, layout).replace("q", ""), np.split(rows, 2), strict=True)
        return
    if part is None or part == "kv":
        if value.shape not in ((size, size), (size,)):
            raise NotApplicable(f"the parameter {name} of shape {value.shape} is not a projection of {size} features")
        raise NotApplicable(f"the parameter {name} is not recognised as a projection: {DECLARE}")
    rows_of, size = (size, shape.size) if part == "out" else (shape.rows(part), size)
    if value.shape == (size, rows_of) and (layout.transposed or rows_of != size):
        yield part, value.T
    elif value.shape in ((rows_of, size), (rows_of,)):
        yield part, value
    else:
        raise NotApplicable(f"the parameter {name} of shape {value.shape} is not a projection of {size} features")


def _find_declared_part(name: str, named: Mapping[str, str]) -> str | None:
    """The part that was declared for a parameter."""
    parts = {"q_proj": "q", "k_proj": "k", "v_proj": "v", "out_proj": "out"}
    return next((parts[p] for p, own in named.items() if name == own or name.startswith(f"{own}.")), None)


def _split_rows(rows: NDArray, shape: Shape, layout: Layout, order: str) -> dict[str, NDArray]:
    """The three parts of a fused parameter's rows, each (features, ...)."""
    rest, d, group = rows.shape[1:], shape.d, shape.heads // shape.keys
    if layout.inner == "blocks":
        cuts = np.cumsum([shape.rows(part) for part in order])[:-1]
        return dict(zip(order, np.split(rows, cuts), strict=True))
    if layout.inner == "heads":  # for each head of keys: its heads of queries, a key, a value
        each = rows.reshape(shape.keys, group + 2, d, *rest)
        cuts = np.cumsum([group if part == "q" else 1 for part in order])[:-1]
        pieces = np.split(each, cuts, axis=1)
        return {part: piece.reshape(shape.rows(part), *rest) for part, piece in zip(order, pieces, strict=True)}
    if group > 1 or (layout.inner == "quarters" and shape.size % 4):
        raise NotApplicable("a fused parameter of other sizes than this layout has")
    axis, cut = (2, (shape.heads, d, 3)) if layout.inner == "features" else (1, (4, 3, shape.size // 4))
    taken = [np.take(rows.reshape(*cut, *rest), i, axis).reshape(shape.size, *rest) for i in range(3)]
    return dict(zip(order, taken, strict=True))


def _words(name: str) -> list[str]:
    """The words of a parameter's name."""
    return re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)


def _order(name: str, layout: Layout) -> str:
    """The order of parts: as the name says (`qkv`, `query_key_value`), else the layout's.

    A name that spells one says nothing of quarters: CodeGen's `qkv_proj` holds query, value, key.
    """
    low = re.sub("query|queries", "q", re.sub("keys?", "k", re.sub("values?", "v", name.lower())))
    spelled = re.search("|".join("_?".join(order) for order in permutations("qkv")), low)
    return spelled[0].replace("_", "") if spelled and layout.inner != "quarters" else layout.order


def _part(name: str, names: list[str], layout: Layout) -> str | None:
    """The part a name says: by its words, or by its number in a list of three or four."""
    words = _words(name)
    if {"kv"} & {word.lower() for word in words}:
        return "kv"
    named: set[str] = {part for part in "qkv" if WORDS[part] & {word.lower() for word in words}}
    if len(named) == 1:
        return named.pop()
    if named:
        return None
    listed = re.fullmatch(r"(.*?)\.?(\d+)(\.\w+|)", name)
    if listed:
        pattern = re.compile(rf"{re.escape(listed[1])}\.?(\d+){re.escape(listed[3])}")
        numbers = sorted(int(m[1]) for other in names if (m := pattern.fullmatch(other)))
        if len(numbers) in (3, 4):
            parts: tuple[str, ...] = (*layout.order, "out")
            return parts[numbers.index(int(listed[2]))]
    return "out" if WORDS["out"] & {word.lower() for word in words} else None
