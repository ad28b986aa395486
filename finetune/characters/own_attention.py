"""A user's own attention function in a GPT: verified by the engine first, then put into every block.

The model is otherwise the one of `--model vanilla`, with the same start. Without dropout a right function trains to the
same losses; with it the weights of one's own function have none, since the contracts have no such parameter.
"""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from jaxtyping import Float
from torch import Tensor, nn

from attention_core.conformance.engine.verify import verify_target
from attention_core.declaration.implementation import TargetError, summarize_error
from attention_core.kernels.heads import merge_heads, split_heads
from attention_core.worker.target import load_target
from finetune.errors import BadInput
from finetune.models.gpt import GPT

CONTRACTS = ("self-attention", "attention")


def contract_of(function: Callable[..., Any]) -> str:
    """Return the contract of a function by its parameters: one about heads makes it self-attention.

    >>> contract_of(lambda Q, K, V, n_heads, causal: Q)
    'self-attention'
    >>> contract_of(lambda query, key, value, is_causal=False: query)
    'attention'
    """
    return CONTRACTS[0] if any("head" in name for name in inspect.signature(function).parameters) else CONTRACTS[1]


def load_own_attention(target: str) -> Callable[..., Any]:
    """Return the function of FILE.py:NAME. Raises: BadInput if there is none, or it is not a function."""
    try:
        function = load_target(target)
    except TargetError as error:
        raise BadInput(str(error)) from None
    if isinstance(function, type) or not callable(function):
        forms = "f(Q, K, V, n_heads, causal) or f(query, key, value, is_causal=...)"
        raise BadInput(f"{target} is not a function {forms}")
    return cast(Callable[..., Any], function)


def verify_own_attention(target: str, contract: str) -> str:
    """Put a function through the laws of its contract, and return the verdict with its reason.

    Raises:
        BadInput: if it is refuted, or cannot be judged; the text says how to see more, and how to train all the same.
    """
    report = verify_target(target, {"contract": contract}, effort="quick")
    line = f"{target}: {report.verdict} ({report.reason()})"
    if report.verdict in ("conforms", "incomplete"):
        return line
    raise BadInput(
        f"{line}; see more with `attention-core verify --contract {contract} {shlex.quote(target)}`, or train all the "
        "same with --unverified"
    )


class OwnAttention(nn.Module):
    """Projections as in `DotProductAttention`, and a user's function between them.

    Args:
        own: the attention of a block, whose projections are used.
        function: of one of the two contracts.
        contract: which.
        target: its name for messages.
    """

    def __init__(self, own: Any, function: Callable[..., Any], contract: str, target: str) -> None:
        super().__init__()
        self.key, self.query, self.value, self.proj = own.key, own.query, own.value, own.proj
        self.n_head, self.function, self.contract, self.target = own.n_head, function, contract, target
        self.names = set(inspect.signature(function).parameters)

    def new_cache(self) -> None:
        """Raise: the function sees whole stretches. Raises: BadInput."""
        raise BadInput("a function of one's own keeps no cache; write with cached=False")

    def forward(self, x: Float[Tensor, "B n E"], start: int, cache: Any) -> Float[Tensor, "B n E"]:
        """Project, call the function, project."""
        q, k, v = self.query(x), self.key(x), self.value(x)
        try:
            y = self.call(q, k, v)
        except Exception as error:
            raise BadInput(f"{self.target} failed on {tuple(x.shape)}: {summarize_error(error)}") from None
        if not isinstance(y, Tensor) or y.shape != x.shape:
            got = tuple(y.shape) if isinstance(y, Tensor) else type(y).__name__
            raise BadInput(f"{self.target} returned {got}, but should return {tuple(x.shape)}")
        return cast(Tensor, self.proj(y))

    def call(self, q: Tensor, k: Tensor, v: Tensor) -> Any:
        """Call the function as its contract says: settings by name if the signature has the names."""
        if self.contract == "self-attention":
            named = {"n_heads": self.n_head, "causal": True}
            if named.keys() <= self.names:
                return self.function(q, k, v, **named)
            return self.function(q, k, v, *named.values())
        y = self.function(*(split_heads(x, self.n_head) for x in (q, k, v)), is_causal=True)
        return merge_heads(y)


def plug_own_attention(model: GPT, target: str, *, unverified: bool = False) -> str:
    """Put a user's function into every block of a model, after the engine has judged it.

    Args:
        model: with dot-product attention.
        target: FILE.py:NAME.
        unverified: whether to leave the engine out.
    Returns:
        The verdict with its reason, or that there is none.
    Raises:
        BadInput: as `load_own_attention` and `verify_own_attention`, and for what is not FILE.py:NAME.
    """
    where = target.rpartition(":")[0]
    if not Path(where).is_file():
        raise BadInput(f"--attention {target}: should be FILE.py:NAME, and there is no file {where or target!r}")
    contract = contract_of(load_own_attention(target))
    verdict = f"{target}: not verified" if unverified else verify_own_attention(target, contract)
    function = load_own_attention(target)
    for block in model.blocks:
        own = cast(Any, block)
        own.attn = OwnAttention(own.attn, function, contract, target)
    return verdict


def source_of(target: str) -> str:
    """Return the text of the file of FILE.py:NAME: a run does not go on with another function."""
    return Path(target.rpartition(":")[0]).read_text(encoding="utf-8", errors="replace")


def is_plugged(model: nn.Module) -> bool:
    """Say whether a model has a user's function in it."""
    return any(isinstance(module, OwnAttention) for module in model.modules())


__all__ = ["OwnAttention", "contract_of", "is_plugged", "plug_own_attention", "source_of"]
