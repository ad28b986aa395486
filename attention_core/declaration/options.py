"""From words (command line, pytest options) to an `Implementation`: one option for every field of the record.

Values are parsed as data: numbers, literals and a small arithmetic of sizes. Nothing is evaluated as code.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attention_core.conformance.subjects.declared_sizes import NAMES, OF_ATTENTION
from attention_core.declaration.implementation import CHOICES, CLAIMS, DTYPES, Implementation, TargetError

DECLARED: Mapping[str, tuple[str, ...]] = {
    "kind": (
        "causal",
        "sliding_window",
        "prefix",
        "padding",
        "segments",
        "split_heads",
        "merge_heads",
        "pairwise_similarities",
        "attn_scaled",
        "attn_softmax",
        "compute_outputs",
        "make_causal_mask",
        "apply_causal_mask",
    ),
    "pairing": ("half", "interleaved"),
}
"""Parameters of other contracts that have options of their own: `--kind`, `--pairing`."""
SIZE_NAMES = OF_ATTENTION
_ANY_SIZE = tuple(dict.fromkeys(name for names in NAMES.values() for name in names))
_BINARY: Mapping[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Mod: operator.mod,
    ast.FloorDiv: operator.floordiv, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge, ast.Eq: operator.eq, ast.NotEq: operator.ne,
    ast.In: lambda a, b: a in b, ast.NotIn: lambda a, b: a not in b,
}  # fmt: skip

FLAGS = (
    "deterministic", "gradients", "mask_gradient", "second_gradients", "validates", "factory", "always_causal",
    "dropped_weights",
)  # fmt: skip
HELP: Mapping[str, str] = {
    "name": "What reports call it.",
    "contract": "Which laws apply; see `attention-core laws`.",
    "layout": "Axis order of query, key and value.",
    "out_layout": "Axis order of the output, if another.",
    "returns": "What the call returns.",
    "dropped_weights": "Returned weights are those after dropout.",
    "causal": "Where the causal diagonal starts when n_q != n_kv.",
    "mask_true": "What True means in a bool mask.",
    "mask_fill": "What a masked score is set to: -inf, or a number of at most -1e7 that no score comes near.",
    "grouping": "Which key head query head h shares: h // (H / H_kv), interleaved, or h mod H_kv, modular.",
    "dead_rows": "What a row without any key returns.",
    "masked_nan": "What NaN in a masked key or value does.",
    "accumulate": "Dtype of intermediates in low precision.",
    "merges": "Parts of the keys are added times exp(lse - total), without dividing by the sum of these shares.",
    "deterministic": "The same call gives the same bits.",
    "gradients": "It is differentiable.",
    "mask_gradient": "A float mask gets a gradient.",
    "second_gradients": "Second derivatives are supported.",
    "validates": "It refuses what only broadcasting would let pass, e.g. a mask that enlarges the result.",
    "factory": "TARGET builds the callable (no arguments).",
    "device": "Where it runs.",
    "array": "The array library of its arguments.",
    "dtypes": f"Supported dtypes, comma separated, of {', '.join(DTYPES)}.",
    "claims": f"Supported parameters, comma separated, of {', '.join(CLAIMS)}; '' for none. Default: the signature's.",
    "untested": "Parameters that no law tests, comma separated: accepted, and named in the verdict. Repeatable.",
    "sizes": f"Supported sizes as a condition over {', '.join(SIZE_NAMES)} (of other contracts: B, n, H, d, ...), "
    "e.g. 'd % 8 == 0 and n_kv >= 1'.",
    "arguments": "NAME=VALUE passed on every call; repeatable.",
    "axes": "Axes of query, key and value: 4 (B, H, n, d), 3 (B, n, d), 2 (n, d); of self-attention 2 for (n, E).",
    "batch_axes": "Axes before the heads: any number of them, none included, or exactly one.",
    "masks": "Which masks it takes: bool or additive ones, one kind alone, or whole numbers 0 and 1 (binary).",
    "always_causal": "Every call is causal, and no parameter says so.",
    "scale": "What a call without a scale means: 1/sqrt(d), 1/d, sqrt(d), or a number (1: unscaled).",
    "declines": "A further exception that declines a case, by class name (dotted or plain); repeatable.",
    "config": "NAME=VALUE given to a module's constructor or its config; E, H, H_kv, d, n are sizes; repeatable.",
    "parameters": "NAME=VALUE parameter of another contract (kind, pairing, ...); repeatable.",
}


_ALWAYS = frozenset(["name", "contract", "factory", "device", "array", "dtypes", "arguments", "parameters"])
_ALWAYS |= {"declines", "untested", "sizes"}
_BUILT = _ALWAYS - {"factory"}
APPLIES: Mapping[str, frozenset[str]] = {
    "attention": frozenset(HELP) - {"config"},
    "attention-lse": frozenset(HELP) - {"config"},
    "mask-builder": _ALWAYS | {"causal", "mask_true", "masks"},
    "heads": _ALWAYS,
    "multi-head": _BUILT | {"mask_true", "masks", "always_causal", "config", "scale", "dead_rows"},
    "rotary": _ALWAYS | {"layout"},
    "bias": _ALWAYS,
    "position-table": _ALWAYS,
    "kv-cache": _BUILT | {"accumulate", "scale"},
    "self-attention": _ALWAYS | {"accumulate", "scale", "axes"},
    "self-attention-steps": _ALWAYS | {"scale"},
}
"""Fields of the record that say something about the targets of a contract; contracts of others take every field."""
PARAMETERS: Mapping[str, tuple[str, ...]] = {
    "attention": (), "attention-lse": (), "mask-builder": ("kind", "segments_causal", "results"), "heads": (),
    "multi-head": ("weights_flag", "q_proj", "k_proj", "v_proj", "out_proj", "batch_first"),
    "bias": ("slopes", "results"),
    "rotary": ("pairing", "base", "positions", "min_position", "max_position"),
    "position-table": ("base", "frequencies", "results"), "kv-cache": ("window", "inputs"),
    "self-attention": (), "self-attention-steps": ("kind",),
}  # fmt: skip
"""What `--parameter` can declare by contract (`--kind` and `--pairing` are two of these)."""
NUMBERS: Mapping[str, tuple[Any, float, str]] = {
    "window": (int, 1, "a whole number of keys, at least 1"), "base": (int | float, 1e-300, "a positive number"),
    "min_position": (int, -(2**31), "a whole number"), "max_position": (int, 0, "a whole number of at least 0"),
}  # fmt: skip
"""Parameters that are numbers: their type, the least of them, and what to write."""
WORDS: Mapping[str, str] = {"inputs": "kept", "results": "shared"}
"""Parameters with one value: whose memory it is that a cache keeps, or that a builder hands out."""


def check_applies(contract: str, fields: Mapping[str, Any]) -> None:
    """Refuse options that say nothing about the targets of a contract: who gives one expects something of it.

    Raises:
        TargetError: one does not apply; the text says to which contracts it does.
    """
    if contract not in APPLIES:
        return
    for name in fields:
        if name in HELP and name not in APPLIES[contract]:
            built = " (its target is the factory itself)" if name == "factory" else ""
            where = ", ".join(c for c, names in APPLIES.items() if name in names)
            raise TargetError(f"{option_of(name)} does not apply to the contract {contract}{built}, but to: {where}")
    for name in fields.get("parameters", {}):
        if name not in (*PARAMETERS[contract], "snippet"):
            option = f"--{name}" if name in DECLARED else f"--parameter {name}"
            where = ", ".join(c for c, names in PARAMETERS.items() if name in names)
            known = (
                f"but to --contract {where}" if where else f"which knows: {', '.join(PARAMETERS[contract]) or 'none'}"
            )
            raise TargetError(f"{option} does not apply to the contract {contract}, {known}")
    check_numbers(fields.get("parameters", {}))
    if isinstance(fields.get("sizes"), SizeCondition):
        fields["sizes"].check_names(NAMES[contract], f"the contract {contract}")


def check_numbers(parameters: Mapping[str, Any]) -> None:
    """Refuse numbers and words among declared parameters that mean nothing, or nothing together.

    Raises:
        TargetError: one line, with what the number should be.
    """
    for name, (kind, least, words) in NUMBERS.items():
        value = parameters.get(name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, kind) or not least <= value < float("inf"):
            raise TargetError(f"--parameter {name}={value}: {name} is {words}")
    for name, word in WORDS.items():
        if parameters.get(name) not in (None, word):
            raise TargetError(f"--parameter {name}={parameters[name]}: {name} is {word}, or not declared")
    first, last = parameters.get("min_position"), parameters.get("max_position")
    if last is not None and last < (first or 0):
        raise TargetError(f"--parameter max_position={last} lies before the first position, {first or 0}")


def option_of(name: str) -> str:
    """The command line's option for a field of the record."""
    named = {"dtypes": "--dtype", "arguments": "--arg", "parameters": "--parameter"}
    return named.get(name, f"--{name.replace('_', '-')}")


def fields_from_text(given: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of the record from option texts; options that were not given (None, ()) are left out.

    Raises:
        TargetError: a value that cannot be read, with the way to write it.
    """
    fields: dict[str, Any] = {}
    for name, value in given.items():
        if value is None or value == ():
            continue
        if name in ("dtypes", "claims", "declines", "untested"):
            parts = [p.strip() for v in ([value] if isinstance(value, str) else value) for p in v.split(",")]
            fields[name] = tuple(p for p in parts if p)
        elif name == "axes":
            fields[name] = int(value) if str(value).isdigit() else value
        elif name == "sizes":
            fields[name] = SizeCondition(value)
        elif name in ("arguments", "parameters", "config"):
            fields[name] = dict(assignment(text, option_of(name)) for text in value)
        elif name in FLAGS:
            fields[name] = value if isinstance(value, bool) else as_flag(name, value)
        elif name in HELP:
            fields[name] = value
        else:
            raise TargetError(f"no field {name!r}; there are: {', '.join(HELP)}")
    return fields


def as_flag(name: str, text: str) -> bool:
    """ "true"/"false" (also yes/no, 1/0) as a bool."""
    words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
    if text.lower() not in words:
        raise TargetError(f"{name}={text!r}: write true or false")
    return words[text.lower()]


def assignment(text: str, option: str = "--arg") -> tuple[str, Any]:
    """NAME=VALUE with VALUE a Python literal (number, string, True, None, tuple, ...) or a bare word."""
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise TargetError(f"{option} {text!r}: write NAME=VALUE")
    try:
        found = ast.literal_eval(value)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return name, value
    if not crosses(found):
        kinds = "a number, a string, True, None, or a list, tuple or dict of these"
        raise TargetError(f"{option} {text[:80]!r}: write {kinds}")
    return name, found


def crosses(value: Any) -> bool:
    """Whether a literal can be sent to the process of the target."""
    if isinstance(value, tuple | list):
        return all(map(crosses, value))
    if isinstance(value, dict):
        return all(crosses(k) and crosses(v) for k, v in value.items())
    return value is None or isinstance(value, bool | int | float | str)


class SizeCondition:
    """A condition over the sizes of a case, such as `d % 8 == 0 and n_q <= n_kv`.

    Comparisons, `and`, `or`, `not`, + - * // %, whole numbers, tuples of them, and n_q, n_kv, d, d_v, H, H_kv in this
    order, or the sizes of another contract by name.

    Example:
        >>> SizeCondition("d % 8 == 0 and H == H_kv")(5, 7, 16, 16, 4, 4), SizeCondition("n > 2")(B=1, n=2)
        (True, False)
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._known: dict[tuple[tuple[str, int], ...], bool] = {}
        try:
            self.tree = ast.parse(text, mode="eval").body
            self._value(self.tree, dict.fromkeys(_ANY_SIZE, 8) | dict(zip(SIZE_NAMES, (2, 3, 8, 8, 4, 2), strict=True)))
        except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError) as error:
            reason = error.msg if isinstance(error, SyntaxError) else error
            raise TargetError(
                f"sizes={text[:80]!r} is not understood ({reason}): write a condition over {', '.join(SIZE_NAMES)}"
            ) from None
        except ZeroDivisionError:
            raise TargetError(f"sizes={text!r} divides by zero") from None

    def __call__(self, *sizes: int, **named: int) -> bool:
        names = named or dict(zip(SIZE_NAMES, sizes, strict=True))
        key = tuple(names.items())
        if key not in self._known:
            try:
                self._known[key] = bool(self._value(self.tree, names))
            except ZeroDivisionError:  # at these sizes it says nothing, so they are not among those it names
                self._known[key] = False
            except ValueError as error:
                raise TargetError(f"sizes={self.text!r}: {error}; there are: {', '.join(names)}") from None
        return self._known[key]

    def check_names(self, known: Sequence[str], of: str) -> None:
        """Refuse names that are not among the sizes of a contract.

        Raises:
            TargetError: one is not.
        """
        unknown = [n.id for n in ast.walk(self.tree) if isinstance(n, ast.Name) and n.id not in known]
        if unknown:
            raise TargetError(f"sizes={self.text!r}: {of} has no size {unknown[0]!r}, but: {', '.join(known)}")

    def _value(self, node: ast.expr, names: Mapping[str, int]) -> Any:
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return node.value
        if isinstance(node, ast.Name) and node.id in names:
            return names[node.id]
        if isinstance(node, ast.Tuple):
            return tuple(self._value(e, names) for e in node.elts)
        if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
            left, right = self._value(node.left, names), self._value(node.right, names)
            if not isinstance(left, int) or not isinstance(right, int):
                raise ValueError("arithmetic is for whole numbers")
            return _BINARY[type(node.op)](left, right)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
            value = self._value(node.operand, names)
            return (not value) if isinstance(node.op, ast.Not) else -value
        if isinstance(node, ast.BoolOp):
            values = [self._value(v, names) for v in node.values]
            return all(values) if isinstance(node.op, ast.And) else any(values)
        if isinstance(node, ast.Compare):
            left, result = self._value(node.left, names), True
            for op, right_node in zip(node.ops, node.comparators, strict=True):
                if type(op) not in _BINARY:
                    raise ValueError(f"{type(op).__name__} is not allowed")
                right = self._value(right_node, names)
                holds = bool(_BINARY[type(op)](left, right))
                result = result and holds
                left = right
            return result
        if isinstance(node, ast.Name):
            raise ValueError(f"no size is called {node.id!r}")
        raise ValueError(f"{type(node).__name__} is not allowed")


def implementation_for(target: str, fields: Mapping[str, Any]) -> tuple[Implementation, str]:
    """The record for a TARGET text and the origin a worker loads: a row of the kernel table, or a bare function.

    Raises:
        TargetError: the text is no target.
    """
    from attention_core.conformance.worker.target import split_target
    from attention_core.registry import table as kernels

    rows = {row.name: row for row in kernels.KERNELS}
    if target in rows:
        record = kernels.implementation(target)
        check_applies(fields.get("contract", record.contract), fields)
        if "parameters" in fields:
            fields = {**fields, "parameters": {**record.parameters, **fields["parameters"]}}
        return record.with_(**fields), rows[target].origin
    family = target.partition(":")[0]
    near = [name for name in rows if name.startswith(f"{family}:")]
    if near and not target.endswith(".py"):
        raise TargetError(f"no kernel {target!r} in the table; there are: {', '.join(near)}")
    split_target(target)
    check_applies(fields.get("contract", "attention"), fields)
    fields = {"name": target, **fields}
    return Implementation(None, **fields), target


def choices(name: str) -> Sequence[str] | None:
    """The allowed words of a field, or None."""
    return CHOICES.get(name)
