"""Attention that can be read, verified against a float64 truth, derived on paper and benchmarked.

Importing this package imports nothing heavy: the public names are looked up when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from attention_core.dispatch.attention import attention as attention

__version__ = "1.0.0rc1"
__all__ = ["__version__", "attention"]

# Public name -> module that holds it. A new public name is one more row.
_HOME = {"attention": "dispatch.attention"}


def __getattr__(name: str) -> object:
    """Import the module of a public name on first use of the name (PEP 562)."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
