"""Relations of SymPy for tests, which import this inside a test: SymPy takes a second, too long for collecting."""

from __future__ import annotations

from typing import Any

import sympy
from sympy import Eq, Ge, IndexedBase, Le, MatrixSymbol, Sum, exp, log, sqrt

x, y = sympy.symbols("x y")
p, r = sympy.symbols("p r", positive=True)
n, d = sympy.symbols("n d", integer=True, positive=True)
i, j = sympy.symbols("i j", integer=True)
A, B, Q, K = (MatrixSymbol(name, *shape) for name, shape in zip("ABQK", ((n, n), (n, n), (n, d), (n, d)), strict=True))
v = MatrixSymbol("v", n, 1)
a, beta = IndexedBase("a"), IndexedBase("beta")

TRUE: list[Any] = [
    ((x + y) ** 2, x**2 + 2 * x * y + y**2),
    ((Q * K.T).T, K * Q.T),
    ((A * B).T, B.T * A.T),
    (Sum(exp(a[i]), (i, 1, n)) ** 2, Sum(exp(a[i] + a[j]), (j, 1, n), (i, 1, n))),
    ((v.T * v)[0, 0], sympy.Trace(v * v.T)),
    (sympy.Derivative(x**3, x), 3 * x**2),
    (A * sympy.Identity(n), A),
    (sympy.OneMatrix(1, n) * v, sympy.Trace(sympy.OneMatrix(n, 1) * v.T)),
    (sympy.Matrix([[x, y], [0, 1]]) * sympy.Matrix([1, 2]), sympy.Matrix([x + 2 * y, 2])),
    (Sum(sympy.Piecewise((a[i], Eq(i, 1)), (0, True)), (i, 1, n)), a[1]),
    (x / (2 * p) - sympy.Rational(1, 2), (x - p) / (2 * p)),
    (sympy.Symbol("scores") + sympy.Symbol("W_Q"), sympy.Symbol("W_Q") + sympy.Symbol("scores")),
    Ge((p + r) / 2, sqrt(p * r)),
    Le(log(1 + exp(x)), 1 + abs(x)),
    sympy.Ne(x**2 + 1, 0),
]
FALSE: list[Any] = [Eq(A * B, B * A), x > y, Eq(A[0, 0], A[1, 1]), Eq(Sum(a[i], (i, 1, n)), n)]
UNWRITABLE: list[Any] = [
    (Eq(sympy.Integral(exp(-(x**2)), (x, 0, y)), 1), "Integral has no form"),
    (Eq(x, x), "hand over the pair"),
    (Eq(sympy.Symbol("k", integer=True), 1), "need not be positive"),
    (Eq(a[i], 1), "how many members"),
    (Eq(sympy.Symbol("x!"), 1), "the name 'x!'"),
    (x + y, "a relation such as"),
]
