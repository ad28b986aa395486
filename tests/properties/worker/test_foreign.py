"""Targets that are not Python's: how their texts are read, and what they are called with."""

from __future__ import annotations

from typing import Any

import pytest

from attention_core.declaration.implementation import TargetError
from attention_core.registry.load import implementation_for
from attention_core.worker.foreign import ForeignFunction, split_foreign
from attention_core.worker.shared_library import Argument, parameter_of


class Sum(ForeignFunction):
    def call(self, values: dict[str, Any]) -> Any:
        return sum(values.values())


def test_arguments_go_by_place_and_by_name() -> None:
    names = [
        parameter_of(Argument("value", name, "int32", default=default)) for name, default in (("a", None), ("b", 2))
    ]
    add = Sum("add", names, ["float32"])
    assert (add(1), add(1, b=3), add(b=1, a=1)) == (3, 4, 2)
    with pytest.raises(TypeError, match="missing a required argument: 'a'"):
        add(b=1)


def test_a_library_alone_is_no_target() -> None:
    for text in ("lib/libattention.so", "libattention.so:attention", "a.dll"):
        with pytest.raises(TargetError, match="is a library, which does not say what its functions take: write a desc"):
            split_foreign(text)
    assert split_foreign("package.module:name") is split_foreign("core:tiled") is None


def test_they_are_called_with_numpy_and_without_gradients_unless_declared() -> None:
    record, origin = implementation_for("f.toml:g", {})
    assert (record.array, record.gradients, origin) == ("numpy", False, "f.toml:g")
    assert implementation_for("m.onnx", {"contract": "bias"})[0].array == "numpy"
