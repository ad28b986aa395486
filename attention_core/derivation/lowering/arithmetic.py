"""Lowering of arithmetic, functions, derivatives and expectations.

Leaves, sums and products, functions entry by entry, entries and slices: the first half of the table of `lower`.
Derivatives are taken and expectations are replaced by moments here, so that the graph holds neither.
"""

from __future__ import annotations

from fractions import Fraction

from attention_core.derivation.graph.nodes import Graph, Undefined, gradients
from attention_core.derivation.lowering.lower import Cells, Env, Infeasible, Lowering, handles, one
from attention_core.derivation.terms.terms import Term


@handles("const", "size", "int")
def _rational(low: Lowering, term: Term, env: Env) -> Cells:
    return one(low.scalar(term, env))


@handles("leaf")
def _leaf(low: Lowering, term: Term, env: Env) -> Cells:
    return low.leaf(term.data, term.type)


@handles("member")
def _member(low: Lowering, term: Term, env: Env) -> Cells:
    which = low.whole(term.args[0], env)
    family = low.context.symbols[term.data]
    assert family.lowest is not None and family.highest is not None
    if not family.lowest.value(low.top) <= which <= family.highest.value(low.top):
        raise Undefined(f"{term.data}_{which} does not exist")
    return low.leaf(term.data, term.type, (which,))


@handles("bind")
def _bind(low: Lowering, term: Term, env: Env) -> Cells:
    inner = dict(low.top)
    for name, value in zip(term.data, term.args[1:], strict=True):
        inner[name] = low.whole(value, env)
    return low.lower(term.args[0], inner)


@handles("neg")
def _neg(low: Lowering, term: Term, env: Env) -> Cells:
    inner = low.lower(term.args[0], env)
    return Cells(inner.rows, inner.cols, tuple(low.graph.neg(c) for c in inner.cells))


@handles("add")
def _add(low: Lowering, term: Term, env: Env) -> Cells:
    parts = [low.lower(a, env) for a in term.args]
    if len({(p.rows, p.cols) for p in parts}) != 1:
        raise Infeasible("arrays of different shapes are added")
    cells = tuple(low.graph.add(group) for group in zip(*(p.cells for p in parts), strict=True))
    return Cells(parts[0].rows, parts[0].cols, cells)


@handles("mul")
def _mul(low: Lowering, term: Term, env: Env) -> Cells:
    left, right = (low.lower(a, env) for a in term.args)
    if not term.args[0].type.scalar:
        left, right = right, left
    return Cells(right.rows, right.cols, tuple(low.graph.mul((left.cells[0], c)) for c in right.cells))


@handles("hadamard")
def _hadamard(low: Lowering, term: Term, env: Env) -> Cells:
    left, right = (low.lower(a, env) for a in term.args)
    cells = tuple(low.graph.mul(pair) for pair in zip(left.cells, right.cells, strict=True))
    return Cells(left.rows, left.cols, cells)


@handles("matmul")
def _matmul(low: Lowering, term: Term, env: Env) -> Cells:
    left, right = (low.lower(a, env) for a in term.args)
    return matmul(low.graph, left, right)


def matmul(graph: Graph, left: Cells, right: Cells) -> Cells:
    """The matrix product."""
    if left.cols != right.rows:
        raise Infeasible("the shapes of a product do not fit at these sizes")
    graph.count(left.rows * left.cols * right.cols)
    cells = []
    for i in range(left.rows):
        for j in range(right.cols):
            cells.append(graph.add(graph.mul((left.at(i, k), right.at(k, j))) for k in range(left.cols)))
    return Cells(left.rows, right.cols, tuple(cells))


@handles("transpose")
def _transpose(low: Lowering, term: Term, env: Env) -> Cells:
    inner = low.lower(term.args[0], env)
    return Cells(inner.cols, inner.rows, tuple(inner.at(i, j) for j in range(inner.cols) for i in range(inner.rows)))


@handles("div")
def _div(low: Lowering, term: Term, env: Env) -> Cells:
    top, bottom = low.lower(term.args[0], env), low.number(term.args[1], env)
    over = low.graph.inv(bottom)
    return Cells(top.rows, top.cols, tuple(low.graph.mul((c, over)) for c in top.cells))


@handles("pow")
def _pow(low: Lowering, term: Term, env: Env) -> Cells:
    return one(low.graph.power(low.number(term.args[0], env), low.number(term.args[1], env)))


@handles("sqrt", "abs")
def _unary(low: Lowering, term: Term, env: Env) -> Cells:
    return one(low.graph.call(term.op, low.number(term.args[0], env)))


@handles("norm")
def _norm(low: Lowering, term: Term, env: Env) -> Cells:
    inner = low.lower(term.args[0], env)
    return one(
        low.graph.call("sqrt", low.graph.add(low.graph.power(c, low.graph.const(Fraction(2))) for c in inner.cells))
    )


@handles("norm1", "normmax")
def _other_norm(low: Lowering, term: Term, env: Env) -> Cells:
    sizes = [low.graph.call("abs", c) for c in low.lower(term.args[0], env).cells]
    return one(low.graph.add(sizes) if term.op == "norm1" else low.graph.call("max", *sizes))


@handles("pi")
def _pi(low: Lowering, term: Term, env: Env) -> Cells:
    return one(low.graph.node("pi"))


@handles("max", "min")
def _extreme(low: Lowering, term: Term, env: Env) -> Cells:
    return one(low.graph.call(term.op, *(low.number(a, env) for a in term.args)))


@handles("maxof", "minof")
def _extreme_of(low: Lowering, term: Term, env: Env) -> Cells:
    return one(low.graph.call(term.op[:3], *low.lower(term.args[0], env).cells))


@handles("relu")
def _relu(low: Lowering, term: Term, env: Env) -> Cells:
    inner = low.lower(term.args[0], env)
    return Cells(inner.rows, inner.cols, tuple(low.graph.call("max", c, low.graph.zero) for c in inner.cells))


@handles("sigmoid", "tanh")
def _sigmoid(low: Lowering, term: Term, env: Env) -> Cells:
    graph, inner = low.graph, low.lower(term.args[0], env)
    out = []
    for cell in inner.cells:
        if term.op == "sigmoid":
            out.append(graph.inv(graph.add((graph.one, graph.call("exp", graph.neg(cell))))))
        else:
            double = graph.call("exp", graph.mul((graph.const(Fraction(2)), cell)))
            out.append(graph.div(graph.add((double, graph.minus)), graph.add((double, graph.one))))
    return Cells(inner.rows, inner.cols, tuple(out))


@handles("entry")
def _entry(low: Lowering, term: Term, env: Env) -> Cells:
    base = low.lower(term.args[0], env)
    i, j = (low.whole(a, env) for a in term.args[1:])
    if not (1 <= i <= base.rows and 1 <= j <= base.cols):
        raise Undefined(f"the entry {i}, {j} does not exist")
    return one(base.at(i - 1, j - 1))


@handles("slice")
def _slice(low: Lowering, term: Term, env: Env) -> Cells:
    base = low.lower(term.args[0], env)
    top, bottom, left, right = (low.whole(a, env) for a in term.args[1:])
    if not (1 <= top <= bottom <= base.rows and 1 <= left <= right <= base.cols):
        raise Undefined("a slice leaves its array")
    cells = tuple(base.at(i, j) for i in range(top - 1, bottom) for j in range(left - 1, right))
    return Cells(bottom - top + 1, right - left + 1, cells)


@handles("deriv")
def _deriv(low: Lowering, term: Term, env: Env) -> Cells:
    body, by = (low.lower(a, env) for a in term.args)
    rows = [gradients(low.graph, cell, by.cells) for cell in body.cells]
    if len(body.cells) == 1:
        return Cells(by.rows, by.cols, tuple(rows[0]))
    if len(by.cells) == 1 and term.args[1].type.scalar:
        return Cells(body.rows, body.cols, tuple(row[0] for row in rows))
    return Cells(len(body.cells), len(by.cells), tuple(c for row in rows for c in row))


@handles("indicator")
def _indicator(low: Lowering, term: Term, env: Env) -> Cells:
    left, right = (low.number(a, env) for a in term.args)
    return one(low.graph.node("indicator", (left, right), term.data))
