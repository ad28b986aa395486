"""What `attention(kernel="auto")` decided for a call of these sizes, kept so that the next one is not looked at again.

After a kernel of a millisecond Python's own code has left the processor's caches: what takes 3 microseconds in a loop
takes 60 then, nearly all of it waiting for memory. So a call that was met before runs as few lines as can be.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final, NamedTuple

import torch
from torch import Tensor
from torch.nn import Parameter
from torch.nn.functional import scaled_dot_product_attention

from attention_core.dispatch.tables import DEFAULT, PLANS, SPARSE, choose, computed_in, table, torch_skips
from attention_core.kernels.arguments import check_mask_fits, check_shapes
from attention_core.kernels.guarded import guarded_attention
from attention_core.kernels.upcast import upcast_attention
from attention_core.masking import Causal, Mask
from attention_core.masking.kept import dense_mask
from attention_core.registry.load import load

MOST = 4096
"""Plans that are kept: a decoder meets a new length with every token."""
UNSEEN: Final = object()


class CallPlan(NamedTuple):
    """How a call is answered: the arguments of its kernel beside query, key, value and scale.

    Args:
        function: the kernel.
        attn_mask: the mask, with two axes at least; None in a plan that is kept, as each call brings its own.
        is_causal: whether the kernel gets `is_causal` in place of a mask.
        enable_gqa: whether query heads share key heads.
        written: for a structured mask that is written out, the lengths, device and dtype that it is written for.
    """

    function: Callable[..., Tensor]
    attn_mask: Tensor | None
    is_causal: bool
    enable_gqa: bool
    written: tuple[int, int, torch.device, torch.dtype] | None = None


def plan_call(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | Mask | None, scale: float | None
) -> CallPlan | None:  # fmt: skip
    """The plan for a call; None where there is more to do than to call a kernel: for a mask that is cut into pieces.

    Raises: ValueError for sizes, heads or a mask that contradict each other.
    Example:
        >>> x = torch.ones(1, 2, 4, 8)
        >>> callable(plan_call(x, x, x, None, None).function)
        True
    """
    form: Any = None
    plans = PLANS
    if mask is not None:
        if isinstance(mask, Tensor):
            form = mask.shape, mask.dtype, mask.requires_grad
        elif type(mask) is Causal and (scale is None or scale > 0):
            form = mask.align
        elif isinstance(mask, Mask):
            plans, form = _plans_of(mask), scale is None or scale > 0
        else:
            return None
    try:
        gradients = (query.requires_grad or key.requires_grad or value.requires_grad) and torch.is_grad_enabled()
        what = (
            query.shape, key.shape, value.shape,
            query.is_contiguous() or query.stride(), key.is_contiguous() or key.stride(),
            value.is_contiguous() or value.stride(),
            query.dtype, key.dtype, value.dtype, query.is_cpu or query.device, type(query), gradients, form,
        )  # fmt: skip
        plan: CallPlan | None = plans.get(what, UNSEEN)
    except AttributeError:
        check_kinds(query, key, value, mask)
        raise
    except TypeError:  # sizes that are symbols, while a program is exported, have no hash
        return _new(query, key, value, mask, scale)[1]
    if plan is UNSEEN:
        plan, with_mask = _new(query, key, value, mask, scale)
        if len(plans) >= MOST:
            plans.clear()
        plans[what] = plan
        return with_mask
    if mask is None or plan is None or (plan.written is None and not isinstance(mask, Tensor)):
        return plan
    return _with_mask(plan, mask, query.ndim)


def _plans_of(mask: Mask) -> dict[tuple[Any, ...], Any]:
    """The plans for a structured mask, kept with it as what is written out of it is; of these tables alone."""
    kept: tuple[Any, dict[tuple[Any, ...], Any]] | None = mask.__dict__.get("_calls")
    if kept is None or kept[0] is not table():
        kept = mask.__dict__["_calls"] = table(), {}
    return kept[1]


def _with_mask(plan: CallPlan | None, mask: Tensor | Mask | None, axes: int) -> CallPlan | None:
    if plan is None or mask is None:
        return plan
    function, attn_mask, is_causal, grouped, written = plan  # made anew: `_replace` takes three times as long
    if isinstance(mask, Tensor):
        attn_mask = with_both_axes(mask)
    elif written is not None:
        attn_mask = squeeze_leading_axes(dense_mask(mask, *written), axes)
    return CallPlan(function, attn_mask, is_causal, grouped, written)


def _new(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | Mask | None, scale: float | None
) -> tuple[CallPlan | None, CallPlan | None]:  # fmt: skip
    """The plan without its mask, which is another one at every call, and with it."""
    grouped = shares_heads(query, key)
    check_shapes(query, key, value, grouped)
    plan = _plan(query, key, value, mask, scale, grouped)
    with_mask = _with_mask(plan, mask, query.ndim)
    if with_mask is not None and with_mask.attn_mask is not None:
        check_mask_fits(with_mask.attn_mask, query, key, grouped)
    return plan, with_mask


def _plan(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | Mask | None, scale: float | None, grouped: bool
) -> CallPlan | None:  # fmt: skip
    """What is decided for inputs that fit together."""
    plain, n_q, n_kv = is_plain(query), query.shape[-2], key.shape[-2]
    structured = isinstance(mask, Mask)
    is_causal = isinstance(mask, Mask) and torch_skips(mask, n_q, n_kv, scale)
    if structured and not is_causal and not plain:
        return None
    kernel = choose(query, key, value, mask) if plain else DEFAULT
    if kernel == SPARSE:
        return None
    dtype = computed_in(query, key, value) if plain else query.dtype
    written = None
    if structured and not is_causal:  # torch's own function adds a mask, others ask it
        written = n_q, n_kv, query.device, dtype if kernel == DEFAULT else torch.bool
    # torch's own function itself: the row of the table is one more call, which is felt where everything is cold
    own = scaled_dot_product_attention if query.is_cpu or not plain else guarded_attention
    function = own if kernel == DEFAULT else load(kernel)
    if dtype != query.dtype:
        function = partial(upcast_attention, inner=function)
    return CallPlan(function, None, is_causal, grouped, written)


def is_plain(query: Tensor) -> bool:
    """Whether this is a plain tensor, not a fake, nested or distributed one, which torch's own function handles."""
    return type(query) in (Tensor, Parameter)


def check_kinds(query: object, key: object, value: object, mask: object) -> None:
    """Raise TypeError unless query, key and value are tensors, and the mask is one, or a structured one, or None."""
    for name, given in (("query", query), ("key", key), ("value", value)):
        if not isinstance(given, Tensor):
            raise TypeError(f"{name} must be a torch tensor, got {type(given).__name__}")
    if not (mask is None or isinstance(mask, Tensor | Mask)):
        raise TypeError(f"mask must be a tensor or one of attention_core.masking, got {type(mask).__name__}")


def with_both_axes(mask: Tensor) -> Tensor:
    """A mask with the two axes, of queries and of keys, that torch's kernels want."""
    return mask if mask.ndim >= 2 else mask.reshape(1, -1)


def squeeze_leading_axes(mask: Tensor, axes: int) -> Tensor:
    """Drop the mask's leading axes of size one that inputs with fewer axes do not have.

    Example:
        >>> squeeze_leading_axes(torch.ones(1, 1, 4, 4), 3).shape
        torch.Size([1, 4, 4])
    """
    while mask.ndim > axes and mask.shape[0] == 1:
        mask = mask[0]
    return mask


def shares_heads(query: Tensor, key: Tensor) -> bool:
    """Whether query heads share key heads, to judge by their numbers."""
    # A branch, since a comparison of sizes is not a bool while a compiler traces it.
    if query.ndim < 3 or key.ndim < 3 or query.shape[-3] == key.shape[-3]:  # noqa: SIM103
        return False
    return True
