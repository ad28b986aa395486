"""Sizes that are written in a target: which numbers of its source are read, and which are not."""

from __future__ import annotations

import functools
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

from attention_core.conformance.worker.written_sizes import MOST_SIZES, written_sizes

HELPERS = "PAGE = 48\nTABLE = 8 * 40\n\n\ndef cut(x, size=PAGE):\n    return x[:size]\n"
TARGETS = '''"""Of 77 lines."""
import sizes_helpers
from sizes_helpers import TABLE, cut

if True:
    CHUNK = 1 << 6
UNUSED = 999


def block(x):
    return x[: 2 ** 7]


class Cache:
    size = 24

    def step(self, query, key, value):
        return block(query)[..., -96:]


def function(query, key, value, width: int = 33):
    """A docstring of 55 numbers, 3 axes, and others that are none: 4096, 2.0, "12"."""
    return block(query.transpose(1, 2)) + CHUNK ** 2 + 4096 + 72.0 + float("12")


def elsewhere(query, key, value):
    return cut(query)[:TABLE] + sizes_helpers.PAGE


def recursive(query, key, value):
    return recursive(value, key, query)[: (1 << 5) + 1]


def many(x):
    return x[10], x[11], x[12], x[13], x[14], x[15], x[16], x[17], x[18]


def huge(x):
    return 9**9**9 + (1 << 999999) + x // (1 // 0)
'''


@pytest.fixture(scope="module")
def targets(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    folder = tmp_path_factory.mktemp("written")
    for name, text in (("sizes_helpers", HELPERS), ("sizes_targets", TARGETS)):
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    sys.path.insert(0, str(folder))
    try:
        spec = importlib.util.spec_from_file_location("_target_sizes", folder / "sizes_targets.py")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules["_target_sizes"] = module
        spec.loader.exec_module(module)
        yield module
    finally:
        sys.path.remove(str(folder))
        for name in ("sizes_helpers", "_target_sizes"):
            sys.modules.pop(name, None)


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("function", [33, 64, 128]),
        ("Cache", [24, 96, 128]),
        ("elsewhere", [48, 320]),
        ("recursive", [33]),
        ("many", [11, 12, 13, 14, 15, 16, 17, 18]),
        ("huge", [9]),
    ],
)
def test_numbers_of_what_a_target_is_and_uses_are_read(targets: ModuleType, name: str, sizes: list[int]) -> None:
    assert written_sizes(getattr(targets, name)) == sizes and len(sizes) <= MOST_SIZES


def test_objects_and_what_wraps_a_function_are_read_as_what_is_below(targets: ModuleType) -> None:
    cache = targets.Cache()
    assert written_sizes(cache) == written_sizes(cache.step) == [24, 96, 128]
    assert written_sizes(functools.partial(targets.recursive, chunk=40)) == [33, 40]
    assert written_sizes((targets.recursive, targets.Cache)) == [24, 33, 96, 128]

    @functools.wraps(targets.recursive)
    def wrapper(*args: Any) -> Any:
        return targets.recursive(*args)

    assert written_sizes(wrapper) == [33]


class Hostile:
    """An object whose attributes raise."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(name)


def test_where_no_source_is_to_be_had_nothing_is_read(tmp_path: Path) -> None:
    assert written_sizes(torch.nn.functional.scaled_dot_product_attention) == []
    assert written_sizes(np.add) == written_sizes(len) == written_sizes(3) == written_sizes(Hostile()) == []
    namespace: dict[str, Any] = {"__name__": "nowhere"}
    exec("def function(x):\n    return x[:64]\n", namespace)
    assert written_sizes(namespace["function"]) == []
