"""Operators that a task forbids: their names in Python, and kernels of torch's dispatcher that refuse in their place.

A forbidden operator raises under every name and from every caller, since all names meet in the dispatcher. The call is
recorded, even if the submission swallows the exception.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from attention_core.declaration.implementation import TargetError

FUNCTIONS: Mapping[str, tuple[str, ...]] = {
    "attention": (
        "torch.nn.functional.scaled_dot_product_attention", "torch._C._nn.scaled_dot_product_attention",
        "torch.nn.MultiheadAttention", "torch.nn.functional.multi_head_attention_forward",
        "torch.nn.attention.flex_attention.flex_attention", "torch.nn.attention.flex_attention",
        "torch.ops.aten.scaled_dot_product_attention", "torch.nn.attention.varlen.varlen_attn",
        "torch.nn.TransformerEncoderLayer",
    ),
    "matmul": (
        "torch.matmul", "torch.bmm", "torch.mm", "torch.einsum", "torch.baddbmm", "torch.addmm", "torch.tensordot",
        "torch.nn.functional.linear",
    ),
    "softmax": ("torch.softmax", "torch.nn.functional.softmax", "torch.special.softmax", "torch.log_softmax"),
}  # fmt: skip
"""Functions by group, as source code names them."""
GROUPS: Mapping[str, tuple[str, ...]] = {
    "attention": (
        "scaled_dot_product_attention", "_scaled_dot_product_flash_attention_for_cpu",
        "_scaled_dot_product_attention_math", "_native_multi_head_attention", "_transformer_encoder_layer_fwd",
    ),
    "matmul": ("mm", "bmm", "addmm", "baddbmm", "mv", "dot"),
    "softmax": ("_softmax", "_log_softmax"),
}  # fmt: skip
"""Operators of the dispatcher by group."""


def check_groups(names: Iterable[str]) -> tuple[str, ...]:
    """The groups of a task.

    Raises: TargetError for a name that is not one.

    >>> check_groups(["attention"])
    ('attention',)
    """
    found = tuple(names)
    for name in found:
        if name not in GROUPS:
            raise TargetError(f"forbid: {name!r} is not one of {', '.join(GROUPS)}")
    return found


def mentions_compiler(paths: Iterable[Path]) -> bool:
    """Whether a Python file among some speaks of torch's compiler."""
    return any("compile" in path.read_text(errors="replace") for path in paths if path.suffix == ".py")


class Forbidden:
    """Refuses the operators of some groups in this process from now on.

    Args:
        groups: names of `GROUPS`.
        compiles: whether torch's compiler is kept from putting the library's attention in the place of one that is
            written out, which its author has not called.
    """

    def __init__(self, groups: Iterable[str], compiles: bool = False) -> None:
        self.called: dict[str, int] = {}
        self.libraries: list[Any] = []  # what is registered ends with its library
        names = [name for group in groups for name in GROUPS[group]]
        if not names:
            return
        import torch

        if compiles:
            import torch._inductor.config

            settings: Any = torch._inductor.config
            settings.pattern_matcher = False

        make: Any = torch.library.Library  # torch types it not
        library = make("aten", "IMPL")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that a kernel is replaced is what is wanted
            for name in names:
                library.impl(name, self._refusal(name), "CPU")
        self.libraries.append(library)

    def _refusal(self, name: str) -> Any:
        def refuse(*_: Any, **__: Any) -> None:
            self.called[name] = self.called.get(name, 0) + 1
            raise RuntimeError(f"the task forbids aten::{name}")

        return refuse
