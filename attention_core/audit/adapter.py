"""A function of the catalogue behind the signature and the conventions of the user's own.

A call is read by the user's signature into query, key and value (B, H, n, d) and options by their canonical names, is
put to the catalogue's function by its names, and the answer is laid out as the user's function lays it out. A call that
the catalogue's function does not take, or refuses, goes to the user's own function: the pair is wrong where the fault
is, and right everywhere else.
"""

from __future__ import annotations

import functools
import inspect
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from attention_core.conformance.subjects.binding import INPUTS, Binding, bind
from attention_core.conformance.subjects.outcomes import declines
from attention_core.conformance.worker.executor import describe_failure
from attention_core.conformance.worker.runner import LocalRunner
from attention_core.declaration.features import FEATURES, PAIRS, WINDOWS, sides_of, spell_window
from attention_core.declaration.implementation import Implementation, TargetError
from attention_core.declaration.scales import scale_of

Options = dict[str, Any]


class NotTaken(Exception):
    """The catalogue's function does not take this call, for the reason given."""


@dataclass(frozen=True)
class Form:
    """In what the user's function gives its results.

    Args:
        kind: "array" for one result, "tuple", "list", "dict", or "module:class" of a named tuple.
        keys: of a dict.
        empty: of each place, whether None stands there.
    """

    kind: str = "array"
    keys: tuple[str, ...] = ()
    empty: tuple[bool, ...] = ()

    def fill(self, values: Sequence[Any]) -> Any:
        """The results in this form.

        >>> Form("tuple", empty=(False, True)).fill([3])
        (3, None)
        """
        if self.kind == "array":
            return values[0]
        given = iter(values)
        places = [None if empty else next(given, None) for empty in self.empty or (False,) * len(values)]
        if self.kind == "dict":
            return dict(zip(self.keys, places, strict=True))
        if self.kind == "list":
            return places
        if self.kind == "tuple":
            return tuple(places)
        module, _, name = self.kind.partition(":")
        return functools.reduce(getattr, name.split("."), sys.modules[module])(*places)  # type: ignore[operator]


def form_of(result: Any) -> Form:
    """The form of a result.

    >>> form_of((1, None))
    Form(kind='tuple', keys=(), empty=(False, True))
    """
    if isinstance(result, Mapping):
        return Form("dict", tuple(map(str, result)), tuple(value is None for value in result.values()))
    if not isinstance(result, tuple | list):
        return Form()
    own = type(result)
    kind = own.__name__ if own in (tuple, list) else f"{own.__module__}:{own.__qualname__}"
    return Form(kind, (), tuple(value is None for value in result))


@dataclass
class Adapter:
    """The user's function with another's numbers.

    Args:
        original: the user's function.
        binding: how it is called, under the conventions that were found.
        other: the catalogue's function, bound to what it declares.
        form: how the user's function gives its results.
        refuses: whether calls that the user's function refuses are refused, whatever the catalogue's does with them.
    """

    original: Callable[..., Any]
    binding: Binding
    other: Binding
    form: Form = Form()
    refuses: bool = False
    calls: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.signature = inspect.signature(self.original)
        names = [p.name for p in self.signature.parameters.values() if not p.kind.name.startswith("VAR_")]
        self.inputs = names[: 3 if self.declaration.qkv_axis is None else 1]
        self.canonical = {own: name for name, own in self.binding.names.items()}
        self.function = self.other.implementation.function

    @property
    def declaration(self) -> Implementation:
        """What the user's function declares."""
        return self.binding.implementation

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """The answer to a call of the user's function."""
        self.calls["all"] += 1
        if self.refuses:
            self.refuse_as_original(args, kwargs)
        try:
            (q, k, v), options = self.read(args, kwargs)
            results = self.answer(q, k, v, options)
        except NotTaken as reason:
            self.calls[f"passed on: {reason}"] += 1
            return self.original(*args, **kwargs)
        except Exception as error:
            if not declines(describe_failure(error)):
                raise
            self.calls["passed on: refused"] += 1
            return self.original(*args, **kwargs)
        self.calls["in place"] += 1
        return self.form.fill(results)

    def refuse_as_original(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """Refuse what the user's function refuses; it is called on copies, and draws no random number that others miss.

        Raises: NotImplementedError.
        """
        import torch

        try:
            with torch.random.fork_rng(devices=()), torch.no_grad():
                self.original(*map(copy_array, args), **{name: copy_array(value) for name, value in kwargs.items()})
        except Exception as error:
            raise NotImplementedError(f"{self.declaration.name} refuses this call: {error}") from error

    # --- from the user's call to a canonical one ---------------------------------------------------------

    def read(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[list[Any], Options]:
        """Query, key and value in canonical axes, and the options that are given.

        Raises:
            NotTaken: the call is not one that the declaration speaks of.
        """
        import torch

        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError:
            raise NotTaken("another signature") from None
        given = dict(bound.arguments)
        defaults = {name: p.default for name, p in self.signature.parameters.items()}
        try:
            arrays = [self.as_tensor(given.pop(name)) for name in self.inputs]
        except KeyError:
            raise NotTaken("fewer than three inputs") from None
        if self.declaration.qkv_axis is not None:
            arrays = list(arrays[0].unbind(self.declaration.qkv_axis))
        options: Options = {}
        for name, value in given.items():
            if name in self.canonical:
                options[self.canonical[name]] = value
            elif not self.is_default(name, value, defaults):
                raise NotTaken(f"a parameter that no law knows ({name})")
        for canonical, own in self.binding.names.items():  # a default that means something of its own
            if canonical not in options and defaults.get(own) is not inspect.Parameter.empty:
                options[canonical] = defaults.get(own)
        if not all(isinstance(array, torch.Tensor) and array.is_floating_point() for array in arrays):
            raise NotTaken("inputs that are not floating-point arrays")
        arrays = [self.to_canonical(name, array) for name, array in zip(INPUTS, arrays, strict=True)]
        return arrays, self.canonical_options(arrays, options)

    def is_default(self, name: str, value: Any, defaults: Mapping[str, Any]) -> bool:
        """Whether a parameter beside those that are known is left as every declared call leaves it."""
        if self.signature.parameters[name].kind.name.startswith("VAR_"):
            return not value
        usual = self.declaration.arguments.get(name, defaults[name])
        same = value is usual or (isinstance(value, bool | int | float | str) and value == usual)
        return bool(same)

    def as_tensor(self, value: Any) -> Any:
        """An array of the user's library as a tensor."""
        import torch

        if self.declaration.array != "numpy":
            return value
        try:
            with warnings.catch_warnings():  # torch warns of arrays that cannot be written to
                warnings.simplefilter("ignore")
                return torch.from_numpy(np.asarray(value))
        except (TypeError, ValueError):
            raise NotTaken("an array that torch does not have") from None

    def to_canonical(self, name: str, x: Any) -> Any:
        """An input in canonical axes; one that is contiguous stays so, since faults may ask how it lies in memory."""
        axes = self.declaration.axes
        if x.dim() != axes and not (axes == 4 and self.declaration.batch_axes == "any" and x.dim() >= 3):
            raise NotTaken(f"inputs of {x.dim()} axes")
        own = self.binding.axes_of(name)
        order = own.order(x.dim()) if axes == 4 else own.places(axes)
        turned = x.permute(*np.argsort(order).tolist())
        turned = turned.contiguous() if x.is_contiguous() else turned
        return {2: lambda: turned[None, None], 3: lambda: turned[:, None]}.get(axes, lambda: turned)()

    def canonical_options(self, arrays: Sequence[Any], options: Options) -> Options:
        """The options as the contract means them; those that ask for nothing are left out."""
        q, k, _ = arrays
        if q.shape[-3] != k.shape[-3] and k.shape[-3] and self.declaration.grouping == "modular":
            raise NotTaken("heads grouped by modulus")
        known = options.copy()
        found: Options = {}
        mask = known.pop("attn_mask", None)
        if mask is not None:
            found["attn_mask"] = self.canonical_mask(mask)
        if known.pop("is_causal", False) or self.declaration.always_causal:
            found["is_causal"] = True
        scale = known.pop("scale", None)
        if scale is not None and not isinstance(scale, float | int):
            raise NotTaken("a scale that is not a number")
        usual = scale_of(self.declaration.scale, q.shape[-1])
        found["scale"] = usual if scale is None else float(scale)
        if rate := known.pop("dropout_p", 0.0):
            if self.declaration.dropped_weights:
                raise NotTaken("weights after dropout")
            found["dropout_p"] = rate
        flag = known.pop("enable_gqa", None)
        if q.shape[-3] != k.shape[-3]:
            found["enable_gqa"] = flag if "enable_gqa" in self.binding.names else True
        for name, value in known.items():
            if name in FEATURES and not is_neutral(value):
                found[name] = self.canonical_feature(name, value)
        return found

    def canonical_mask(self, mask: Any) -> Any:
        """A mask as the contract means it: True attends, numbers are added."""
        import torch

        mask = self.as_tensor(mask)
        if not isinstance(mask, torch.Tensor):
            raise NotTaken("a mask that is not an array")
        kind = self.declaration.masks
        if kind == "binary":
            mask = mask != 0
        elif (mask.dtype != torch.bool and not mask.is_floating_point()) or (
            kind != "any" and (mask.dtype == torch.bool) != (kind == "bool")
        ):
            raise NotTaken("a mask of another kind")
        if mask.dtype == torch.bool and self.declaration.mask_true == "ignore":
            mask = ~mask
        if self.declaration.axes == 3 and mask.dim() == 3:
            mask = mask[:, None]
        return mask

    def canonical_feature(self, name: str, value: Any) -> Any:
        """A feature's value; a window as its sides."""
        if name != "window":
            return self.as_tensor(value) if isinstance(value, np.ndarray) else value
        kind = self.binding.window_kind
        if kind in WINDOWS and isinstance(value, int):
            return sides_of(kind, value)
        if kind in PAIRS and isinstance(value, tuple | list) and len(value) == 2:
            return (int(value[0]), int(value[1]))
        raise NotTaken("a window that is given in another way")

    # --- the catalogue's answer --------------------------------------------------------------------------

    def answer(self, q: Any, k: Any, v: Any, options: Options) -> list[Any]:
        """The results in the user's order and axes.

        Raises:
            NotTaken: the catalogue's function has no parameter for an option, or not this dtype or size.
        """
        found = self.function(q, k, v, **self.spell(q, k, v, options))
        values = list(found) if isinstance(found, tuple | list) else [found]
        own, others = self.declaration, self.other.implementation
        out = values[0]
        if own.dead_rows not in ("unspecified", others.dead_rows):
            out = self.with_dead_rows(out, q, k, v, options)
        results = [self.lay_out(out)]
        if own.returns != "out":
            second = values[1] if others.returns == own.returns else self.right_second(q, k, v, options)
            results.append(self.without_heads(second))
        if own.array == "numpy":
            results = [result.detach().numpy() for result in results]
        return results

    def spell(self, q: Any, k: Any, v: Any, options: Options) -> Options:
        """The options by the names of the catalogue's function."""
        import torch

        declared, names = self.other.implementation, self.other.names
        if str(q.dtype).removeprefix("torch.") not in declared.dtypes:
            raise NotTaken(f"dtype {q.dtype}")
        given = self.align(q, k, options)
        if given["scale"] == scale_of(declared.scale, q.shape[-1]):
            del given["scale"]
        if declared.always_causal != bool(given.get("is_causal")) and declared.always_causal:
            raise NotTaken("a call that is not causal")
        if declared.always_causal:
            given.pop("is_causal", None)
        if "window" in given and "window" in names:
            given["window"] = spell_window(self.other.window_kind, given["window"])
        unknown = [name for name in given if name not in names]
        if unknown:
            raise NotTaken(f"no {', '.join(unknown)}")
        mask = given.get("attn_mask")
        if mask is not None and declared.masks == "bool" and mask.dtype != torch.bool:
            raise NotTaken("masks that are added")
        return {names[name]: value for name, value in given.items()}

    def align(self, q: Any, k: Any, options: Options) -> Options:
        """The options with the causal diagonal where the catalogue's function has it, else as a mask."""
        given = options.copy()
        n_q, n_kv = q.shape[-2], k.shape[-2]
        if n_q == n_kv or self.declaration.causal == self.other.implementation.causal:
            return given
        if any(name in given for name in ("window", "key_lengths", "alibi_slopes")):
            raise NotTaken("a feature at the other corner")
        if not given.pop("is_causal", False):
            return given
        allowed, mask = self.causal(n_q, n_kv), given.get("attn_mask")
        if mask is None:
            given["attn_mask"] = allowed
        elif mask.dtype == allowed.dtype:
            given["attn_mask"] = mask & allowed
        else:
            given["attn_mask"] = mask.masked_fill(~allowed, -np.inf)
        return given

    def causal(self, n_q: int, n_kv: int) -> Any:
        """Which keys each query may see by causality, in the user's corner."""
        import torch

        shift = n_kv - n_q if self.declaration.causal == "bottom_right" else 0
        return torch.ones(n_q, n_kv, dtype=torch.bool).tril(shift)

    # --- and back ----------------------------------------------------------------------------------------

    def scores(self, q: Any, k: Any, options: Options) -> Any:
        """Scaled and masked scores, for results that the catalogue's function does not give."""
        import torch

        if any(name in FEATURES for name in options):
            raise NotTaken("a further result beside a feature")
        from attention_core.faults.bases import reference

        wide = torch.promote_types(q.dtype, torch.float32)
        keys, _ = reference.expand(k.to(wide), k, q.shape[-3])
        causal = self.causal(q.shape[-2], k.shape[-2]) if options.get("is_causal") else None
        return reference.bias(reference.scores(q.to(wide), keys, options["scale"]), options.get("attn_mask"), causal)

    def right_second(self, q: Any, k: Any, v: Any, options: Options) -> Any:
        """The right weights, or the right log-sum-exp."""
        from attention_core.faults.bases import reference
        from attention_core.faults.correct import log_sum_exp

        s = self.scores(q, k, options)
        if self.declaration.returns == "out,lse":
            return log_sum_exp(s)[..., 0]
        p = reference.weights(s)
        return (self.fill_dead(p, s, 1 / max(s.shape[-1], 1))).to(q.dtype)

    def with_dead_rows(self, out: Any, q: Any, k: Any, v: Any, options: Options) -> Any:
        """The output whose rows without a key hold what the user's function puts there."""
        from attention_core.faults.bases import reference

        mean: Any = 0.0
        if self.declaration.dead_rows == "uniform":
            mean = reference.expand(v, v, q.shape[-3])[0].mean(-2, keepdim=True)
        return self.fill_dead(out, self.scores(q, k, options), mean)

    def fill_dead(self, values: Any, s: Any, mean: Any) -> Any:
        """Values with rows without a key set to zeros, NaN or a mean."""
        import torch

        dead = (s == -np.inf).all(-1, keepdim=True)
        if not dead.any():
            return values
        fill = {"nan": np.nan, "uniform": mean}.get(self.declaration.dead_rows, 0.0)
        return torch.where(dead, torch.as_tensor(fill, dtype=values.dtype), values)

    def lay_out(self, out: Any) -> Any:
        """An output in the user's axes."""
        axes, own = self.declaration.axes, self.binding.out_axes
        if axes < 4:
            return self.without_heads(out).permute(*own.places(axes))
        turned = out.permute(*own.order(out.dim()))
        if own.joins(out.dim()):
            return turned.flatten(-2)
        return turned.contiguous() if own.layout != "bhnd" and out.is_contiguous() else turned

    def without_heads(self, values: Any) -> Any:
        """A result without the axes that the user's arrays do not have."""
        return {2: lambda: values[0, 0], 3: lambda: values[:, 0]}.get(self.declaration.axes, lambda: values)()


def copy_array(value: Any) -> Any:
    """An array as a copy that no gradient goes through; anything else as it is.

    >>> x = np.zeros(2)
    >>> copy_array(x) is x, copy_array("x")
    (False, 'x')
    """
    if isinstance(value, np.ndarray):
        return value.copy()
    return value.detach().clone() if hasattr(value, "detach") else value


def is_neutral(value: Any) -> bool:
    """Whether a feature's value asks for nothing.

    >>> is_neutral(None), is_neutral((-1, -1)), is_neutral(3)
    (True, True, False)
    """
    if value is None or value is False:
        return True
    if isinstance(value, tuple | list):
        return all(side is None or side == -1 for side in value)
    return isinstance(value, int | float) and value in (-1, 0)


def adapt(holder: Any, original: Callable[..., Any]) -> Callable[..., Any]:
    """The function to put in the user's place, which calls `holder.call`: its name and its signature are the user's."""

    @functools.wraps(original)
    def attention(*args: Any, **kwargs: Any) -> Any:
        return holder.call(*args, **kwargs)

    with suppress(TypeError, ValueError):  # a built-in function may have none
        attention.__signature__ = inspect.signature(original)  # type: ignore[attr-defined]
    return attention


def describe(function: Any, array: str = "torch") -> dict[str, Any]:
    """What `bind` needs to know of a function."""
    return LocalRunner(function, factory=False, array=array, device="cpu").describe()


def stand_in(
    original: Callable[..., Any], declared: Implementation, other: Implementation, form: Form, *, refuses: bool = False
) -> Adapter:
    """The adapter that puts one function of the catalogue in the place of the user's.

    Args:
        original: the user's function.
        declared: what it declares, with what was found of it.
        other: the catalogue's function and what it declares.
        form: how the user's function gives its results.
        refuses: as `Adapter` takes it.

    Raises: TargetError.
    """
    description = describe(original, declared.array)
    require_adaptable(declared, description)
    if hasattr(other.function, "eval"):
        other.function.eval()
    own = bind(declared.with_(function=original), description)
    return Adapter(original, own, bind(other, describe(other.function)), form, refuses)


def require_adaptable(declared: Implementation, description: Mapping[str, Any]) -> None:
    """Refuse targets that nothing of the catalogue can stand in for.

    Raises: TargetError.
    """
    if declared.array == "jax":
        raise TargetError("audit has no faults for JAX yet: it audits tests of functions of torch and NumPy")
    if description.get("parameters") is None:
        raise TargetError(f"{declared.name} has no signature that can be read: audit cannot stand in for it")
    if description.get("is_module") or description.get("is_class") or declared.factory:
        raise TargetError(
            f"{declared.name} is a module or a class: audit replaces functions of query, key and value; name the "
            "function that the module calls"
        )
