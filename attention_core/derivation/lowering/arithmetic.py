"""Lowering of arithmetic, functions, derivatives, expectations, reductions and matrix forms: the table of `lower`.

Leaves, sums and products, functions entry by entry, entries and slices.
Derivatives are taken and expectations are replaced by moments here, so that the graph holds neither.

Sums and extremes over indices, softmax and argmax, blocks and dotted matrices, determinants and inverses.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from attention_core.derivation.elaborate.intermediates import definition_of, intermediate, with_hole
from attention_core.derivation.graph.nodes import Graph, TooLarge, Undefined, gradients, substitute
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
    first, last = low.span(low.context.symbols[term.data])
    if not first <= which <= last:
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


@handles("marked")
def _mark(low: Lowering, term: Term, env: Env) -> Cells:
    """What a function is taken of, as nodes of its own: a derivative by it is not one by equal nodes elsewhere."""
    inner, graph = low.lower(term.args[0], env), low.graph
    cells = (graph.node("add", (cell, graph.zero), (term.data, place)) for place, cell in enumerate(inner.cells))
    return Cells(inner.rows, inner.cols, tuple(cells))


@handles("deriv")
def _deriv(low: Lowering, term: Term, env: Env) -> Cells:
    defined = intermediate(term.args[1])
    if defined is not None:
        return _deriv_through(low, term, defined, env)
    body, by = (low.lower(a, env) for a in term.args)
    rows = [gradients(low.graph, cell, by.cells) for cell in body.cells]
    return _slope(term, body, by, rows)


def _deriv_through(low: Lowering, term: Term, defined: Term, env: Env) -> Cells:
    """A derivative by a defined quantity: it is free where it is differentiated, and then takes its values."""
    low.holes += 1
    hole, (value, params) = f"|{low.holes}", definition_of(defined)
    body, by = (with_hole(a, value, hole, {}) for a in term.args)
    low.keep += [body, by]
    top, below = low.lower(body, env), low.lower(by, env)
    rows = [gradients(low.graph, cell, below.cells) for cell in top.cells]
    values = _values_of_hole(low, hole, value, params, [node for row in rows for node in row])
    return _slope(term, top, below, [substitute(low.graph, row, values) for row in rows])


def _values_of_hole(low: Lowering, hole: str, value: Term, params: tuple[str, ...], nodes: list[int]) -> dict[int, int]:
    """What the free numbers of a hole that stand below some nodes stand for."""
    out = {}
    for leaf in low.graph.leaves(nodes):
        name, (*member, row, col) = low.graph.data[leaf]
        if name == hole:
            cells = low.lower(value, {**low.top, **dict(zip(params, member, strict=True))})
            out[leaf] = cells.at(row - 1, col - 1)
    return out


@handles("hole")
def _hole(low: Lowering, term: Term, env: Env) -> Cells:
    return low.leaf(term.data, term.type, tuple(low.whole(one, env) for one in term.args))


def _slope(term: Term, body: Cells, by: Cells, rows: list[list[int]]) -> Cells:
    """The derivatives of each entry of a body by each of a variable, in the shape of the whole."""
    if len(body.cells) == 1:
        return Cells(by.rows, by.cols, tuple(rows[0]))
    if len(by.cells) == 1 and term.args[1].type.scalar:
        return Cells(body.rows, body.cols, tuple(row[0] for row in rows))
    return Cells(len(body.cells), len(by.cells), tuple(c for row in rows for c in row))


@handles("indicator")
def _indicator(low: Lowering, term: Term, env: Env) -> Cells:
    left, right = (low.number(a, env) for a in term.args)
    return one(low.graph.node("indicator", (left, right), term.data))


MAX_RANGE = 2000
EXPANDED, LARGEST = 5, 14  # how determinants are taken


def _values(low: Lowering, term: Term, env: Env, name: str) -> Iterator[Env]:
    first, last = low.whole(term.args[0], env), low.whole(term.args[1], env)
    if last - first > MAX_RANGE:
        raise TooLarge(f"the index {name} runs over more than {MAX_RANGE} values")
    low.graph.count(max(0, last - first))
    for value in range(first, last + 1):
        yield {**env, name: value}


@handles("reduce")
def _reduce(low: Lowering, term: Term, env: Env) -> Cells:
    op, name = term.data
    parts = []
    for inner in _values(low, term, env, name):
        if all(low.holds(test, inner) for test in term.args[3:]):
            parts.append(low.lower(term.args[2], inner))
    graph = low.graph
    if op in ("sum", "prod") and not parts:
        if op == "prod":
            return one(graph.one)
        rows, cols = low.shape(term.type)
        return Cells(rows, cols, (graph.zero,) * (rows * cols))
    if op == "sum":
        cells = tuple(graph.add(group) for group in zip(*(p.cells for p in parts), strict=True))
        return Cells(parts[0].rows, parts[0].cols, cells)
    if not parts:
        raise Undefined(f"the {op} over no index")
    if any(len(p.cells) != 1 for p in parts):
        raise Infeasible("a product or extreme of arrays")
    nodes = [p.cells[0] for p in parts]
    return one(graph.mul(nodes) if op == "prod" else graph.call(op, *nodes))


@handles("softmax", "argmax")
def _softmax(low: Lowering, term: Term, env: Env) -> Cells:
    inner, graph = low.lower(term.args[0], env), low.graph
    rows = [inner.cells] if term.type.vector else [
        inner.cells[i * inner.cols : (i + 1) * inner.cols] for i in range(inner.rows)
    ]  # fmt: skip
    out: list[int] = []
    for row in rows:
        if term.op == "softmax":
            powers = [graph.call("exp", c) for c in row]
            over = graph.inv(graph.add(powers))
            out += [graph.mul((p, over)) for p in powers]
        else:
            out += [graph.node("argmax", tuple(row), i) for i in range(len(row))] if len(row) > 1 else [graph.one]
    return Cells(inner.rows, inner.cols, tuple(out))


@handles("lse")
def _lse(low: Lowering, term: Term, env: Env) -> Cells:
    graph = low.graph
    return one(graph.call("log", graph.add(graph.call("exp", c) for c in low.lower(term.args[0], env).cells)))


@handles("eye")
def _eye(low: Lowering, term: Term, env: Env) -> Cells:
    rows, cols = low.shape(term.type)
    graph = low.graph
    return Cells(rows, cols, tuple(graph.one if i == j else graph.zero for i in range(rows) for j in range(cols)))


@handles("ones", "zeros")
def _fill_constant(low: Lowering, term: Term, env: Env) -> Cells:
    rows, cols = low.shape(term.type)
    return Cells(rows, cols, (low.graph.one if term.op == "ones" else low.graph.zero,) * (rows * cols))


@handles("diag")
def _diag(low: Lowering, term: Term, env: Env) -> Cells:
    line = low.lower(term.args[0], env).cells
    n, zero = len(line), low.graph.zero
    return Cells(n, n, tuple(line[i] if i == j else zero for i in range(n) for j in range(n)))


@handles("diagonal")
def _diagonal(low: Lowering, term: Term, env: Env) -> Cells:
    inner = low.lower(term.args[0], env)
    return Cells(inner.rows, 1, tuple(inner.at(i, i) for i in range(inner.rows)))


@handles("tr")
def _trace(low: Lowering, term: Term, env: Env) -> Cells:
    inner = low.lower(term.args[0], env)
    return one(low.graph.add(inner.at(i, i) for i in range(inner.rows)))


@handles("blocks")
def _blocks(low: Lowering, term: Term, env: Env) -> Cells:
    width = term.data
    parts = [low.lower(a, env) for a in term.args]
    lines = [parts[k : k + width] for k in range(0, len(parts), width)]
    return stack([_beside(line) for line in lines])


@handles("hcat", "vcat")
def _concatenate(low: Lowering, term: Term, env: Env) -> Cells:
    parts = [low.lower(term.args[2], inner) for inner in _values(low, term, env, term.data)]
    if not parts:
        raise Undefined("a matrix written with dots has no entries")
    return _beside(parts) if term.op == "hcat" else stack(parts)


def _beside(parts: list[Cells]) -> Cells:
    if len({p.rows for p in parts}) != 1:
        raise Infeasible("blocks of different heights stand side by side")
    rows = parts[0].rows
    cells = tuple(p.at(i, j) for i in range(rows) for p in parts for j in range(p.cols))
    return Cells(rows, sum(p.cols for p in parts), cells)


def stack(parts: list[Cells]) -> Cells:
    """Arrays one below the other."""
    if len({p.cols for p in parts}) != 1:
        raise Infeasible("blocks of different widths stand one below the other")
    return Cells(sum(p.rows for p in parts), parts[0].cols, tuple(c for p in parts for c in p.cells))


def determinant(graph: Graph, cells: Cells) -> int:
    """By expansion along the first row up to 5 x 5, else by Faddeev and LeVerrier."""
    n = cells.rows
    if n > EXPANDED:
        return adjugate(graph, cells)[1]
    if n == 1:
        return cells.cells[0]
    parts = []
    for j in range(n):
        sign = graph.one if j % 2 == 0 else graph.minus
        parts.append(graph.mul((sign, cells.at(0, j), determinant(graph, minor(cells, 0, j)))))
    return graph.add(parts)


def adjugate(graph: Graph, cells: Cells) -> tuple[Cells, int]:
    """Adjugate and determinant in n matrix products: M_k = A M_{k-1} + c_{n-k+1} I, c_{n-k} = -tr(A M_k) / k.

    The entries of a matrix of numbers stay exact; divisions are by whole numbers alone, so that nothing is undefined.
    """
    n = cells.rows
    if n > LARGEST:
        raise TooLarge(f"a determinant beyond {LARGEST} x {LARGEST}")
    turned = Cells(n, n, tuple(graph.one if i == j else graph.zero for i in range(n) for j in range(n)))
    c = graph.one
    for k in range(1, n + 1):
        product = matmul(graph, cells, turned)
        trace = graph.add(product.at(i, i) for i in range(n))
        c = graph.mul((graph.const(Fraction(-1, k)), trace))
        if k == n:
            break
        added = (graph.add((product.at(i, j), c)) if i == j else product.at(i, j) for i in range(n) for j in range(n))
        turned = Cells(n, n, tuple(added))
    sign = graph.minus if n % 2 == 0 else graph.one
    return Cells(n, n, tuple(graph.mul((sign, e)) for e in turned.cells)), graph.mul((graph.neg(sign), c))


def minor(cells: Cells, row: int, col: int) -> Cells:
    """The array without one row and one column."""
    kept = tuple(cells.at(i, j) for i in range(cells.rows) for j in range(cells.cols) if i != row and j != col)
    return Cells(cells.rows - 1, cells.cols - 1, kept)


@handles("det")
def _det(low: Lowering, term: Term, env: Env) -> Cells:
    return one(determinant(low.graph, low.lower(term.args[0], env)))


@handles("inv")
def _inverse(low: Lowering, term: Term, env: Env) -> Cells:
    inner, graph = low.lower(term.args[0], env), low.graph
    n = inner.rows
    if n > EXPANDED:
        cofactors, whole = adjugate(graph, inner)
        return Cells(n, n, tuple(graph.mul((e, graph.inv(whole))) for e in cofactors.cells))
    over = graph.inv(determinant(graph, inner))
    cells = []
    for i in range(n):
        for j in range(n):
            sign = graph.one if (i + j) % 2 == 0 else graph.minus
            cofactor = determinant(graph, minor(inner, j, i)) if n > 1 else graph.one
            cells.append(graph.mul((sign, cofactor, over)))
    return Cells(n, n, tuple(cells))


@handles("magnitudes")
def _magnitudes(low: Lowering, term: Term, env: Env) -> Cells:
    inner = low.lower(term.args[0], env)
    return Cells(inner.rows, inner.cols, tuple(low.graph.call("abs", c) for c in inner.cells))


@handles("filled")
def _filled_with(low: Lowering, term: Term, env: Env) -> Cells:
    rows, cols = low.shape(term.type)
    return Cells(rows, cols, (low.number(term.args[0], env),) * (rows * cols))


@handles("clip")
def _clip(low: Lowering, term: Term, env: Env) -> Cells:
    inner, bound = low.lower(term.args[0], env), low.number(term.args[1], env)
    return Cells(inner.rows, inner.cols, tuple(low.graph.call(term.data, c, bound) for c in inner.cells))
