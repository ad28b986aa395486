"""Formulas of derivations/ as numbers.

The values of formulas of a document: read by the derivation engine at a step, computed in ball arithmetic.
Tests compare them with what the code computes, so that neither can change alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from flint import ctx, fmpq

from attention_core.derivation.claims import claim_of
from attention_core.derivation.elaborate.expressions import Elaborator
from attention_core.derivation.graph.numbers import evaluate
from attention_core.derivation.latex.parse import parse_expression
from attention_core.derivation.latex.printer import symbol_name
from attention_core.derivation.latex.syntax import Expr, Sub, children
from attention_core.derivation.lowering.lower import Cells, Lowering
from attention_core.derivation.probability.operations import register
from attention_core.derivation.reading.step import Step
from attention_core.derivation.reading.steps import steps_of

register()
HOME = Path(__file__).resolve().parents[2] / "derivations"
Array = npt.NDArray[np.float64]
Given = npt.ArrayLike  # a number, a line (members of a family, or entries of a vector), a table, or lines of a family


@cache
def steps_named(document: str, name: str) -> list[Step]:
    """The steps of a document that share this name, in their order."""
    steps = steps_of((HOME / document).read_text(encoding="utf-8"))[0]
    found = [s for s in steps if s.id.split("[")[0] == name]
    assert found, f"{document} has no step {name}"
    return [s for s in found if isinstance(s, Step)]


def value_of(document: str, name: str, formula: str, sizes: Mapping[str, int], given: Mapping[str, Given]) -> float:
    """The value of a formula of a step, or of a symbol that is defined there.

    A formula that stands in no step of this name is refused: it would be the test's own, and nothing would hold it to
    the document.
    """
    steps = steps_named(document, name)
    step, expr = steps[0], parse_expression(formula)
    base = symbol_name(expr.base) if isinstance(expr, Sub) else None
    symbol = step.context.symbols.get(symbol_name(expr) or "") or step.context.symbols.get(base or "")
    defined = symbol is not None and symbol.kind == "definition"
    assert defined or any(stands_in(expr, one) for one in steps), f"{document} ({name}) does not have {formula}"
    low = Lowering(step.context, dict(sizes))
    term = Elaborator(step.context).term(expr)
    return float(numbers(low, [low.lower(term)], given)[0].item())


def stands_in(expr: Expr, step: Step) -> bool:
    """Whether an expression is a part of a step as it is written."""
    todo: list[object] = [step.left, step.right]
    while todo:
        one = todo.pop()
        if one == expr:
            return True
        todo += children(one)
    return False


def sides_of(
    document: str, name: str, sizes: Mapping[str, int], given: Mapping[str, Given], number: int = 1
) -> tuple[Array, Array]:
    """Both sides of a step as tables; `number` tells apart the steps that share a name."""
    step = steps_named(document, name)[number - 1]
    context, claim, _ = claim_of(step)
    low = Lowering(context, dict(sizes))
    left, right = numbers(low, [low.lower(claim.left), low.lower(claim.right)], given)
    return left, right


def numbers(low: Lowering, tables: list[Cells], given: Mapping[str, Given]) -> list[Array]:
    """The values of tables of nodes."""
    nodes = [n for t in tables for n in t.cells]
    leaves = {}
    for one in low.graph.reachable(nodes):
        if low.graph.ops[one] == "leaf":
            symbol, place = low.graph.data[one]
            leaves[one] = fmpq(*float(entry(np.asarray(given[symbol], dtype=float), place)).as_integer_ratio())
    with ctx.workprec(256):
        found = [number(v) for v in evaluate(low.graph, nodes, leaves)]
    out, start = [], 0
    for one in tables:
        out.append(np.array(found[start : start + len(one.cells)]).reshape(one.rows, one.cols))
        start += len(one.cells)
    return out


def entry(value: Array, place: tuple[int, ...]) -> float:
    """One entry: places count from 1; what has one row or column alone may be given without that axis."""
    index = [k - 1 for k in place]
    while len(index) > value.ndim:
        del index[len(index) - 1 - index[::-1].index(0)]
    return float(value[tuple(index)])


def number(value: Any) -> float:
    """A fraction or a ball as a float."""
    return float(value.p) / float(value.q) if isinstance(value, fmpq) else float(value)
