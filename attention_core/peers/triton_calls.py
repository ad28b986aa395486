"""What adapters to kernels in Triton share: ends of texts, slots of pages, tables of angles, and one file of a package.

An adapter makes what a library's caller makes for it; whatever it computes of queries, keys and values is the
library's.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import torch
from torch import Tensor


def ends_of(query: Tensor) -> Tensor:
    """Where every text of (B, n, H, d) queries begins, one after the other, and the end of the last."""
    B, n = query.shape[:2]
    return torch.arange(B + 1, dtype=torch.int32, device=query.device) * n


def slots_of(block_table: Tensor, page: int) -> Tensor:
    """Where every token of a text lies among all slots of all pages: (B, columns page)."""
    places = torch.arange(page, dtype=torch.int32, device=block_table.device)
    return (block_table[:, :, None] * page + places).flatten(1)


def table_of_angles(x: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
    """cos and sin of the angles of (c, c + d/2), each for every position, (n, d), in the dtype of x."""
    d = x.shape[-1]
    frequencies = 10000.0 ** (-torch.arange(0, d, 2, device=x.device).double() / d)
    angles = (positions[:, None].double() * frequencies).repeat(1, 2)
    return angles.cos().to(x.dtype), angles.sin().to(x.dtype)


@cache
def load_alone(package: str, path: str, **stand_ins: Any) -> ModuleType:
    """One file of an installed package, without what the packages around it import for a whole server.

    `stand_ins` are modules that it imports, by their names with "__" for a point.
    """
    found = find_spec(package)
    assert found is not None and found.submodule_search_locations, f"{package} is not installed"
    file = Path(found.submodule_search_locations[0]) / path
    spec = spec_from_file_location(f"alone_{file.stem}", file)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    named = {name.replace("__", "."): made for name, made in stand_ins.items()}
    before = {name: sys.modules.get(name) for name in named}
    sys.modules.update(named)
    try:
        spec.loader.exec_module(module)
    finally:  # what else it imported stays: Triton cannot be imported a second time
        for name, known in before.items():
            if known is None:
                del sys.modules[name]
            else:
                sys.modules[name] = known
    return module


class NoDevice(SimpleNamespace):
    """What a library hears that asks what it runs on: whether torch finds a CUDA device, and no to all else."""

    @staticmethod
    def is_cuda() -> bool:
        """Whether there is a CUDA device."""
        return torch.cuda.is_available()

    def __getattr__(self, name: str) -> Any:
        return lambda *_: False

    __hash__ = object.__hash__  # type: ignore[assignment]


NONE = NoDevice()
