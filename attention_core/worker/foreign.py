"""Targets that are not written in Python: an ONNX model, or a function of a shared library that a TOML file describes.

`model.onnx` and `model.onnx:reference`, `attention.toml` and `attention.toml:name` are targets as `file.py:name` is.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from attention_core.declaration.implementation import TargetError

MODEL, DESCRIPTION = ".onnx", ".toml"
SUFFIXES = (MODEL, DESCRIPTION)
LIBRARIES = (".so", ".dylib", ".dll")


class ForeignFunction(ABC):
    """A function of arrays that is not Python's: it is called with NumPy's arrays, and has no gradient.

    Args:
        name: what messages call it.
        parameters: as Python would have them, in the order of its arguments.
        dtypes: of query, key and value that it takes.
    """

    def __init__(self, name: str, parameters: Sequence[inspect.Parameter], dtypes: Sequence[str]) -> None:
        self.__name__ = self.__qualname__ = name
        self.__signature__ = inspect.Signature(list(parameters))
        self.dtypes = tuple(dtypes)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it as Python calls a function, and give its array, or a tuple of them.

        Raises:
            TypeError: the arguments do not fit its parameters. ValueError: it declines their shapes or dtypes.
        """
        bound = self.__signature__.bind(*args, **kwargs)
        bound.apply_defaults()
        return self.call(bound.arguments)

    @abstractmethod
    def call(self, values: dict[str, Any]) -> Any:
        """Call it with a value for each parameter."""


def split_foreign(text: str) -> tuple[str, str] | None:
    """Split the text of such a target into its file and a name, "" where it has none; None for any other text.

    Raises:
        TargetError: it names a library itself.

    Example:
        >>> split_foreign("model.onnx"), split_foreign("kernels/c.toml:flash"), split_foreign("file.py:name")
        (('model.onnx', ''), ('kernels/c.toml', 'flash'), None)
    """
    whole = text.endswith((*SUFFIXES, *LIBRARIES))
    where, _, name = (text, "", "") if whole else text.rpartition(":")
    if where.endswith(LIBRARIES):
        raise TargetError(
            f"target {text!r} is a library, which does not say what its functions take: write a description and name "
            f"it, FILE{DESCRIPTION} (docs/how_to/other_languages.md)"
        )
    return (where, name) if where.endswith(SUFFIXES) else None
