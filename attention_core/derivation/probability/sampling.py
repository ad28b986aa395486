"""Random samples of nodes with certified rounding errors.

Samples of a node in float64, each with a bound of its own error: no rounding can tip a test.
What the generator returns is taken as draws from the standard laws; all that is computed from them is bounded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attention_core.derivation.graph.nodes import Graph, Unsettled

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Sampled = tuple[Any, Any]  # values and bounds of their errors, arrays or numbers

EPS = 2.3e-16  # more than one unit in the last place of a rounding
MATH = 4 * EPS  # elementary functions are off by less than 4 units in the last place


def evaluate_samples(
    graph: Graph, roots: Sequence[int], leaves: Mapping[int, Sampled], known: Mapping[int, Sampled] | None = None
) -> list[Sampled]:
    """Values and error bounds of the roots; `leaves` gives the leaves theirs, `known` other nodes."""
    import numpy as np

    found: dict[int, Sampled] = dict(known or {})
    with np.errstate(all="ignore"):
        for node in graph.reachable(roots):
            if node in found:
                continue
            op, data = graph.ops[node], graph.data[node]
            if op == "const":
                found[node] = number(data)
            elif op == "leaf":
                found[node] = leaves[node]
            else:
                rule = RULES.get(op)
                if rule is None:
                    raise Unsettled(f"{op} cannot be sampled")
                found[node] = rule([found[a] for a in graph.args[node]], data)
    return [found[root] for root in roots]


def number(value: Any) -> Sampled:
    """An exact or enclosed number."""
    from flint import arb

    ball = value if isinstance(value, arb) else arb(value)
    middle = float(ball.mid())
    return middle, abs(middle) * EPS + float(ball.rad()) * 2


def _add(args: list[Sampled], _: Any) -> Sampled:
    total, error, size = args[0][0], args[0][1], abs(args[0][0])
    for value, e in args[1:]:
        total, size = total + value, size + abs(value)
        error = error + e
    return total, error + len(args) * EPS * size


def times(a: Sampled, b: Sampled) -> Sampled:
    """The product of two samples."""
    value = a[0] * b[0]
    return value, abs(a[0]) * b[1] + abs(b[0]) * a[1] + a[1] * b[1] + EPS * abs(value) + 1e-300


def _mul(args: list[Sampled], _: Any) -> Sampled:
    result = args[0]
    for other in args[1:]:
        result = times(result, other)
    return result


def _inv(args: list[Sampled], _: Any) -> Sampled:
    import numpy as np

    (x, e) = args[0]
    low = abs(x) - e
    value = 1 / np.asarray(x, dtype=float)
    return value, np.where(low > 0, e / np.where(low > 0, abs(x) * low, 1.0), np.inf) * (1 + 1e-12) + EPS * abs(value)


def _powi(args: list[Sampled], whole: int) -> Sampled:
    if abs(whole) > 64:
        raise Unsettled("a power that is too high to be sampled")
    base = _inv(args, None) if whole < 0 else args[0]
    return _mul([base] * abs(whole), None)


def _exp(args: list[Sampled], _: Any) -> Sampled:
    import numpy as np

    x, e = args[0]
    value = np.exp(x)
    return value, value * np.expm1(e) * (1 + 1e-12) + MATH * value + 1e-300


def _log(args: list[Sampled], _: Any) -> Sampled:
    import numpy as np

    x, e = args[0]
    low = np.asarray(x - e)
    value = np.log(x)
    return value, np.where(low > 0, e / np.where(low > 0, low, 1.0), np.inf) * (1 + 1e-12) + MATH * abs(value)


def _sqrt(args: list[Sampled], _: Any) -> Sampled:
    import numpy as np

    x, e = args[0]
    if np.any(x + e < 0):
        raise Unsettled("the square root of a negative number was drawn")
    value = np.sqrt(np.maximum(x, 0))
    low, high = np.sqrt(np.maximum(x - e, 0)), np.sqrt(np.maximum(x + e, 0))
    return value, (high - low) + 4 * EPS * high


def _abs(args: list[Sampled], _: Any) -> Sampled:
    return abs(args[0][0]), args[0][1]


def _extreme(args: list[Sampled], largest: bool) -> Sampled:
    import numpy as np

    pick = np.maximum if largest else np.minimum
    value, error = args[0]
    for v, e in args[1:]:
        value, error = pick(value, v), np.maximum(error, e)
    return value, error


def _sign(args: list[Sampled], _: Any) -> Sampled:
    import numpy as np

    x, e = args[0]
    return np.sign(x), np.where(abs(x) > e, 0.0, np.where(np.asarray(e) == 0, 0.0, 2.0))


def _indicator(args: list[Sampled], op: str) -> Sampled:
    import numpy as np

    (a, ea), (b, eb) = args
    gap, error = a - b, ea + eb + EPS * (abs(a) + abs(b))
    tests: dict[str, Callable[[Any], Any]] = {
        "=": lambda g: g == 0, "!=": lambda g: g != 0, "<": lambda g: g < 0, "<=": lambda g: g <= 0,
        ">": lambda g: g > 0, ">=": lambda g: g >= 0,
    }  # fmt: skip
    whole = (np.asarray(a) == np.rint(a)) & (np.asarray(b) == np.rint(b)) & (error < 0.25)
    return tests[op](gap).astype(float) if hasattr(gap, "astype") else float(tests[op](gap)), np.where(
        (abs(gap) > error) | whole, 0.0, 1.0
    )


def _argmax(args: list[Sampled], which: int) -> Sampled:
    import numpy as np

    chosen, error = args[which]
    value: Any = 1.0
    doubt: Any = 0.0
    for k, (other, e) in enumerate(args):
        if k != which:
            gap = chosen - other
            slack = error + e + EPS * (abs(chosen) + abs(other))
            value = value * (gap > 0)
            doubt = np.maximum(doubt, np.where(abs(gap) > slack, 0.0, 1.0))
    return value, doubt


def _wave(name: str) -> Callable[[list[Sampled], Any], Sampled]:
    def rule(args: list[Sampled], _: Any) -> Sampled:
        import numpy as np

        x, e = args[0]
        return getattr(np, name)(x), e + MATH

    return rule


def _error_function(name: str) -> Callable[[list[Sampled], Any], Sampled]:
    def rule(args: list[Sampled], _: Any) -> Sampled:
        from scipy import special

        x, e = args[0]
        return getattr(special, name)(x), 1.13 * e + 4 * MATH

    return rule


def _whole(args: list[Sampled], name: str) -> Sampled:
    import numpy as np

    x, e = args[0]
    near = abs(x - np.rint(x)) <= e
    sure = (np.asarray(e) == 0) | ~near
    return getattr(np, name)(x), np.where(sure, 0.0, 1.0)


def _pow(args: list[Sampled], _: Any) -> Sampled:
    return _exp([times(args[1], _log([args[0]], None))], None)


RULES: dict[str, Callable[[list[Any], Any], Any]] = {
    "add": _add,
    "mul": _mul,
    "inv": _inv,
    "powi": _powi,
    "pow": _pow,
    "exp": _exp,
    "log": _log,
    "sqrt": _sqrt,
    "abs": _abs,
    "max": lambda a, _: _extreme(a, True),
    "min": lambda a, _: _extreme(a, False),
    "sign": _sign,
    "indicator": _indicator,
    "argmax": _argmax,
    "sin": _wave("sin"),
    "cos": _wave("cos"),
    "arctan": _wave("arctan"),
    "erf": _error_function("erf"),
    "erfc": _error_function("erfc"),
    "pi": lambda a, _: (3.141592653589793, 2e-16),
    "floor": lambda a, _: _whole(a, "floor"),
    "ceil": lambda a, _: _whole(a, "ceil"),
}


def draws(law: str, parameters: Sequence[Sampled], count: int, rng: Any) -> Sampled:
    """Draws of one number from its law, with the error of scaling them."""
    import numpy as np

    if law == "normal":
        mean, variance = parameters
        standard = rng.standard_normal(count)
        spread = _sqrt([variance], None)
        return _add([mean, times(spread, (standard, 0.0))], None)
    if law == "uniform":
        a, b = parameters
        width = _add([b, (-a[0], a[1])], None)
        return _add([a, times(width, (rng.random(count), 0.0))], None)
    if law == "geometric":
        return rng.geometric(parameters[0][0], count).astype(float), 0.0
    if law == "exponential":
        return times((rng.standard_exponential(count), 0.0), _inv([parameters[0]], None))
    if law == "rademacher":
        return 2.0 * rng.integers(0, 2, count) - 1.0, 0.0
    if law == "range":
        return rng.integers(int(parameters[0][0]), int(parameters[1][0]), count, endpoint=True).astype(float), 0.0
    if law == "bernoulli":
        return (rng.random(count) < parameters[0][0]).astype(float), 0.0
    if law == "categorical":
        edges = np.cumsum([p[0] for p in parameters])[:-1]
        return 1.0 + np.searchsorted(edges, rng.random(count), side="right"), 0.0
    raise Unsettled(f"the law {law} cannot be sampled")
